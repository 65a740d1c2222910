"""Every diagnostic of chapter 30 §8.6: what brings it up, and what does not."""

from __future__ import annotations

import json
from typing import Any

import pytest

from ascendctl.snapshot.cluster import Cluster
from ascendctl.snapshot.diagnostics import CODES, by_code
from ascendctl.snapshot.load import load_snapshot
from ascendctl.snapshot.profiles import LoadOptions
from tests.snapshot import objects as o

ALL = o.names(range(8))
LISTS = o.device_list(ALL)
DEFAULT, STRICT = LoadOptions(), LoadOptions(strict=True)
CHAPTER = (
    {302, 303, 304, 305, 306, 307}
    | set(range(310, 335))
    | {335, 336, 337, 338}
)  # fmt: skip


def load(*objects: dict[str, Any], options: LoadOptions = DEFAULT, device: bool = True) -> Cluster:
    return load_snapshot([*objects, *([o.DEVICE_MODE] if device else [])], options=options)


def codes(*objects: dict[str, Any], **more: Any) -> list[str]:
    return [d.code for d in load(*objects, **more).diagnostics]


def unlabelled(found: dict[str, Any]) -> dict[str, Any]:
    del found["metadata"]["labels"]
    return found


def homeless(found: dict[str, Any]) -> dict[str, Any]:
    del found["metadata"]["namespace"]
    return found


def test_the_table_has_the_codes_of_the_chapter() -> None:
    assert {f"S{number}" for number in CHAPTER} <= set(CODES)
    for code in CODES.values():
        assert code.severity in ("error", "warning", "info")
        assert code.title and code.effect and code.remedy
    assert {name: CODES[name].severity for name in ("S302", "S312", "S314", "S321", "S329", "S338")} == {
        "S302": "warning",
        "S312": "info",
        "S314": "error",
        "S321": "error",
        "S329": "warning",
        "S338": "info",
    }


def test_a_sound_dump_has_none() -> None:
    pod = o.pod(
        "p",
        annotations={"huawei.com/AscendReal": "Ascend910-0", "predicate-time": "18446744073709551615"},
        requests={"huawei.com/Ascend910": "1"},
    )
    lists = o.device_list(o.names(range(1, 8)))
    assert codes(o.node(), pod, o.device_map(lists)) == []
    assert codes(o.node(), pod, o.shard(0, o.entry(lists)), o.shard(1), device=False) == []


def test_s302_source_switched() -> None:
    assert codes(o.node(), o.device_map(LISTS), device=False) == ["S302"]
    assert codes(o.node(), o.shard(0, o.entry(LISTS))) == ["S302"]
    strict = load(o.node(), o.device_map(LISTS), device=False, options=STRICT)
    assert strict.clusterd_mode and strict.resources["huawei.com/Ascend910"].list_length[0] == -1
    forced = load(o.node(), o.device_map(LISTS), device=False, options=LoadOptions(cm_source="device"))
    assert not forced.clusterd_mode and not forced.diagnostics


def test_s303_label_missing() -> None:
    maps = unlabelled(o.device_map(LISTS))
    assert codes(o.node(), maps) == ["S303"]
    assert load(o.node(), maps).resources["huawei.com/Ascend910"].list_length[0] == 8
    strict = load(o.node(), maps, options=STRICT)
    assert strict.resources["huawei.com/Ascend910"].list_length[0] == -1 and [d.code for d in strict.diagnostics] == [
        "S303"
    ]
    assert codes(o.node(), unlabelled(o.shard(0, o.entry(LISTS))), device=False) == ["S303"]


def test_s304_values_that_are_no_text() -> None:
    node = o.node(labels={"x": 5, "y": True, "z": None})  # type: ignore[dict-item]
    cluster = load(node, o.device_map(LISTS))
    assert [(d.code, d.object) for d in cluster.diagnostics] == [("S304", "Node n1")]
    assert (cluster.labels.get(0, "x"), cluster.labels.get(0, "y")) == ("5", "true")
    leaves = o.config_map(
        "basic-tor-node-cm", "kube-system", {"tor_level": 1, "tor_info": '{"server_list":[{"tor_ip":"a"}]}'}
    )
    assert codes(o.node(), o.device_map(LISTS), leaves) == ["S304"]
    binary = o.device_map(LISTS) | {"binaryData": {"x": "AA=="}}
    assert codes(o.node(), binary) == ["S304"]
    odd = o.pod("p")
    odd["metadata"]["annotations"] = {"hccl/rankIndex": 3}
    found = load(o.node(), o.device_map(LISTS), odd)
    assert [d.code for d in found.diagnostics] == ["S304"] and found.pods.rank.tolist() == [3]


def test_s305_namespace_missing() -> None:
    assert codes(o.node(), homeless(o.device_map(LISTS))) == ["S305"]
    assert load(o.node(), homeless(o.device_map(LISTS))).resources["huawei.com/Ascend910"].list_length[0] == 8
    strict = load(o.node(), homeless(o.device_map(LISTS)), options=STRICT)
    assert strict.resources["huawei.com/Ascend910"].list_length[0] == -1
    assert load(o.node(), homeless(o.pod("p")), o.device_map(LISTS)).pods.namespaces == ("default",)


def test_s306_the_newer_copy_counts() -> None:
    old = o.device_map(o.device_list(o.names([0])), time=1)
    new = o.device_map(o.device_list(o.names([0, 1])), time=2)
    old["metadata"]["resourceVersion"], new["metadata"]["resourceVersion"] = "9", "10"
    config = o.scheduler_config(useClusterInfoManager="false", **{"self-maintain-available-card": "false"})
    for order in ([old, new], [new, old]):
        cluster = load_snapshot([o.node(), *order, config])
        assert [d.code for d in cluster.diagnostics] == ["S306"]
        assert cluster.resources["huawei.com/Ascend910"].list_length[0] == 2
    first, second = o.node(labels={"x": "1"}), o.node(labels={"x": "2"})
    assert load(first, second, o.device_map(LISTS)).labels.get(0, "x") == "2"
    first["metadata"]["managedFields"] = [{"time": "2026-08-29T10:00:00Z"}]
    second["metadata"]["managedFields"] = [{"time": "2026-08-29T09:00:00Z"}]
    assert load(first, second, o.device_map(LISTS)).labels.get(0, "x") == "1"
    pods = [o.pod("p", phase="Running"), o.pod("p", phase="Failed")]
    assert load(o.node(), *pods, o.device_map(LISTS)).pods.phase == ("Failed",)


def test_s307_and_s332_times() -> None:
    def scheduled(seconds: int) -> dict[str, Any]:
        return o.pod("p", annotations={"predicate-time": f"{o.NOW + seconds}000000000"})

    assert codes(o.node(), scheduled(301), o.device_map(LISTS)) == ["S307"]
    assert codes(o.node(), scheduled(299), o.device_map(LISTS)) == []
    assert codes(o.node(), scheduled(-301), o.device_map(LISTS)) == ["S332"]
    assert codes(o.node(), scheduled(-299), o.device_map(LISTS)) == []
    for text in ("18446744073709551615", "x", "", "99999999999999999999999"):
        assert codes(o.node(), o.pod("p", annotations={"predicate-time": text}), o.device_map(LISTS)) == []
    assert codes(o.node(), scheduled(-999) | {"status": {"phase": "Succeeded"}}, o.device_map(LISTS)) == []


def test_s312_old_rows_in_device_mode_only() -> None:
    nodes = [o.node("n1"), o.node("n2")]
    assert codes(*nodes, o.device_map(LISTS, "n1", time=o.NOW - 601), o.device_map(LISTS, "n2")) == ["S312"]
    assert codes(*nodes, o.device_map(LISTS, "n1", time=o.NOW - 600), o.device_map(LISTS, "n2")) == []
    shard = o.shard(0, o.entry(LISTS, "n1", time=5), o.entry(LISTS, "n2"))
    assert codes(*nodes, shard, device=False) == []


def test_s313_heartbeat() -> None:
    info = {"FaultDevList": [], "HeartbeatTime": 1729850400, "HeartbeatInterval": 5, "NodeStatus": "Healthy"}
    code = "856156d9952c88ebb7d14bf1f5327d61cebc5c9df0324c6d3acda1682378d8c3"
    data = {"NodeInfo": o.compact({"NodeInfo": info, "CheckCode": code})}
    host = o.config_map("mindx-dl-nodeinfo-n1", "mindx-dl", data, "mx-consumer-cim")
    assert codes(o.node(), o.device_map(LISTS), host) == ["S313"]


@pytest.mark.parametrize("text", [None, "", "null", "  "])
def test_s314_empty_row(text: str | None) -> None:
    found = o.device_map(LISTS)
    if text is None:
        del found["data"]["DeviceInfoCfg"]
    else:
        found["data"]["DeviceInfoCfg"] = text
    cluster = load(o.node(), found)
    assert [d.code for d in cluster.diagnostics] == ["S314"] and cluster.superpod.tolist() == [0]


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ('"SuperPodID":-2', '"SuperPodID":"2"'),
        ('"SuperPodID":-2', '"SuperPodID":2.0'),
        ('"SuperPodID":-2', '"SuperPodID":4294967295'),
        ('"UpdateTime":1788000000', '"UpdateTime":1e9'),
        ('"huawei.com/Ascend910-Unhealthy":""', '"huawei.com/Ascend910-Unhealthy":[]'),
        ('"CheckCode"', "CheckCode"),
        ("}", "}}"),
        ('{"DeviceInfo"', '[{"DeviceInfo"'),
    ],
)
def test_s315_rows_that_cannot_be_decoded(old: str, new: str) -> None:
    found = o.device_map(LISTS)
    found["data"]["DeviceInfoCfg"] = found["data"]["DeviceInfoCfg"].replace(old, new)
    cluster = load(o.node(), found)
    assert [d.code for d in cluster.diagnostics] == ["S315"]
    assert (
        cluster.resources["huawei.com/Ascend910"].list_length[0] == -1
        if "huawei.com/Ascend910" in cluster.resources
        else 1
    )


def test_s315_of_the_other_objects() -> None:
    for name, data in (
        ("cluster-info-device-0", {"other": "{}"}),
        ("cluster-info-device-0", {"cluster-info-device-0": "["}),
        ("cluster-info-device-0", {"cluster-info-device-0": "[]"}),
        ("cluster-info-node-cm", {"cluster-info-node-cm": '{"mindx-dl-nodeinfo-n1":{"NodeStatus":5}}'}),
        ("cluster-info-switch-0", {"cluster-info-switch-0": '{"mindx-dl-switchinfo-n1":[]}'}),
    ):
        broken = o.config_map(name, "mindx-dl", data, "mx-consumer-volcano")
        good = o.shard(1, o.entry(LISTS))
        assert codes(o.node(), good, broken, device=False) == ["S315"]
    assert codes(o.node(), o.device_map(LISTS, SwitchInfoCfg="{")) == ["S315"]
    missing = o.host_map("UnHealthy")
    del missing["data"]["NodeInfo"]
    assert codes(o.node(), o.device_map(LISTS), missing) == ["S315"]
    pods = o.config_map("super-pod-2", "cluster-system", {"superPodDevice": "{"})
    assert codes(o.node(), o.device_map(LISTS), pods) == ["S315"]


def test_an_empty_row_of_the_aggregates_counts_as_nothing() -> None:
    null = o.config_map("cluster-info-device-0", "mindx-dl", {"cluster-info-device-0": "null"}, "mx-consumer-volcano")
    assert codes(o.node(), null, device=False) == []
    entry = o.config_map(
        "cluster-info-device-0",
        "mindx-dl",
        {"cluster-info-device-0": '{"mindx-dl-deviceinfo-n1":null}'},
        "mx-consumer-volcano",
    )
    assert codes(o.node(), entry, device=False) == ["S325"]


def test_s317_rows_without_node() -> None:
    assert codes(o.node(), o.device_map(LISTS), o.device_map(LISTS, "gone")) == ["S317"]
    alone = load(o.device_map(LISTS), o.device_map(LISTS, "n2"))
    assert [(d.code, d.message) for d in alone.diagnostics] == [
        ("S317", "2 device rows, but no Node object in the dump")
    ]
    assert alone.size == 0


def test_s318_and_s319_types_of_the_row() -> None:
    mixed = LISTS | {"huawei.com/Ascend310P-Fault": "[]"}
    assert codes(o.node(), o.device_map(mixed)) == ["S318"]
    npu = o.device_list("", resource="huawei.com/npu")
    assert codes(o.node(), o.device_map(npu)) == ["S318"]
    assert codes(o.node(), o.device_map({"example.com/Chip": "x"})) == ["S319"]
    assert codes(o.node(resource="huawei.com/npu"), o.device_map({})) == []


def test_s320_super_pods() -> None:
    noted = o.node(annotations={"superPodID": "3"})
    assert codes(noted, o.device_map(LISTS, superpod=2)) == ["S320"]
    assert codes(noted, o.device_map(LISTS, superpod=3)) == []
    assert codes(noted, o.device_map(LISTS, superpod=-2)) == []
    listed = {"Version": "A3", "SuperPodID": "2", "NodeDeviceMap": {"n1": {"NodeName": "n1"}, "other": {}}}
    pod_map = o.config_map("super-pod-2", "cluster-system", {"superPodDevice": o.compact(listed)})
    assert codes(o.node(), o.device_map(LISTS, superpod=4), pod_map) == ["S320"]
    assert codes(o.node(), o.device_map(LISTS, superpod=2), pod_map) == []
    nodes = [o.node("n1"), o.node("n2"), o.node("n3")]
    maps = [o.device_map(LISTS, name, superpod=sp, index=7) for name, sp in (("n1", 1), ("n2", 1), ("n3", 2))]
    found = load(*nodes, *maps).diagnostics
    assert [(d.code, d.node, d.message) for d in found] == [
        ("S320", "n2", "ServerIndex 7 of SuperPod 1 is also that of n1")
    ]


@pytest.mark.parametrize(
    "text",
    [None, "", "[]", "x", '{"Ascend910-0":5}', '{"Ascend910-0":{"SuperDeviceID":-1}}', '{"Ascend910-0":{"IP":5}}'],
)
def test_s321_base_infos(text: str | None) -> None:
    cluster = load(o.node(annotations={"baseDeviceInfos": text}), o.device_map(LISTS))
    assert [d.code for d in cluster.diagnostics] == ["S321"] and not cluster.has_base_info[0]


def test_s321_is_not_for_nodes_without_chips_nor_for_old_versions() -> None:
    rdma = o.node(
        capacity={"huawei.com/ub_rdma": "1"}, annotations={"baseDeviceInfos": None}, labels={"accelerator": None}
    )
    assert codes(rdma) == []
    cpu = o.node(capacity={}, annotations={"baseDeviceInfos": None})
    assert codes(cpu) == []
    bare = o.node(annotations={"baseDeviceInfos": None})
    assert codes(bare, o.device_map(LISTS), options=LoadOptions(profile="7.0")) == []


def test_s322_s323_pods_whose_chips_do_not_count() -> None:
    carried = {"huawei.com/AscendReal": "Ascend910-0"}
    assert codes(o.node(), o.pod("Bad_Name", annotations=carried), o.device_map(LISTS)) == ["S322"]
    many = {
        "huawei.com/AscendReal": ",".join(f"Ascend910-{i}" for i in range(101)),
        "huawei.com/Ascend910": "Ascend910-3",
    }
    cluster = load(o.node(), o.pod("p", annotations=many), o.device_map(LISTS))
    assert [d.code for d in cluster.diagnostics] == ["S323"]
    assert cluster.used.tolist() == [0] and cluster.resources["huawei.com/Ascend910"].free.tolist() == [255]


def test_s324_device_id_map() -> None:
    labels = {"node.kubernetes.io/npu.chip.name": "Ascend950PR"}
    lists = o.device_list(o.names(range(2), "npu-"), resource="huawei.com/npu")
    bases = {
        "complete": o.base_infos(["npu-0", "npu-1"], [8, 9]),
        "none": o.base_infos(["npu-0", "npu-1"]),
        "one": '{"npu-0":{"DeviceID":8,"IP":"","SuperDeviceID":0},"npu-1":{"IP":"","SuperDeviceID":1}}',
        "dashes": o.base_infos(["npu-0", "npu-2c-100-1"], [8, 9]),
    }
    for name, base in bases.items():
        node = o.node(chips=2, resource="huawei.com/npu", labels=labels, base=base)
        cluster = load(node, o.device_map(lists))
        assert bool(cluster.visible[0]) == (name == "complete"), name
        assert ("S324" in [d.code for d in cluster.diagnostics]) == (name != "complete"), name


def test_s325_update_time_zero() -> None:
    config = o.scheduler_config(useClusterInfoManager="false", **{"self-maintain-available-card": "false"})
    found = load_snapshot([o.node(), o.device_map(LISTS, time=0, superpod=3), config])
    assert [d.code for d in found.diagnostics] == ["S325"] and found.superpod.tolist() == [0]
    assert codes(o.node(), o.device_map(LISTS, time=0)) == []  # self-maintain stamps the time anew


@pytest.mark.parametrize(
    ("text", "length", "bad", "code"),
    [
        ("Ascend910-0,Ascend910-x", 2, True, "S326"),
        ("Ascend910-0,,Ascend910-1", 3, True, "S326"),
        ("Ascend910-64", 1, True, "S326"),
        ("Ascend910--1", 1, True, "S326"),
        ("npu-0", 1, True, "S326"),
        ("Ascend910-0,Ascend910-0", 2, True, "S331"),
        ("Ascend910-+3", 1, False, "S326"),
        ("3,Ascend910-04", 2, False, "S326"),
    ],
)
def test_s326_lists(text: str, length: int, bad: bool, code: str) -> None:
    config = o.scheduler_config(useClusterInfoManager="false", **{"self-maintain-available-card": "false"})
    cluster = load_snapshot([o.node(), o.device_map(o.device_list(text)), config])
    columns = cluster.resources["huawei.com/Ascend910"]
    assert (int(columns.list_length[0]), bool(columns.list_bad[0])) == (length, bad)
    assert [d.code for d in cluster.diagnostics] == [code]


def test_s327_faults() -> None:
    for text in ("{", "5", "[5]"):
        cluster = load(o.node(), o.device_map(o.device_list(ALL, fault=text)))
        assert [d.code for d in cluster.diagnostics] == ["S327"] and cluster.health.tolist() == [0]
    for text in ("", "null", "[]"):
        assert codes(o.node(), o.device_map(o.device_list(ALL, fault=text))) == []


def test_s328_link_down() -> None:
    def fault(level: str, code: str = "40F84E00,81078603") -> dict[str, str]:
        return {"npu_name": "Ascend910-3", "fault_handling": level, "fault_code": code}

    on = LoadOptions(link_down=True)
    lists = o.device_list(ALL, fault=[fault("NotHandleFault")])
    assert codes(o.node(), o.device_map(lists)) == []
    cluster = load(o.node(), o.device_map(lists), options=on)
    assert [d.code for d in cluster.diagnostics] == ["S328"]
    assert cluster.resources["huawei.com/Ascend910"].network_unhealthy.tolist() == [8]
    for other in (fault("SubHealthFault"), fault("NotHandleFault", "81078607")):
        assert codes(o.node(), o.device_map(o.device_list(ALL, fault=[other])), options=on) == []


def test_s329_super_pod_nodes_without_id() -> None:
    a3 = {"accelerator-type": "module-a3-16-super-pod"}
    assert codes(o.node(labels=a3), o.device_map(LISTS, superpod=None)) == ["S329"]
    assert codes(o.node(labels={"huawei.com/topotree.superpodid": "1"}), o.device_map(LISTS, superpod=None)) == ["S329"]
    assert codes(o.node(labels=a3), o.device_map(LISTS, superpod=0)) == []
    assert codes(o.node(), o.device_map(LISTS, superpod=None)) == []


def test_s330_blanks() -> None:
    lists = {key + " ": value.replace(",", ", ") for key, value in o.device_list("Ascend910-0,Ascend910-1").items()}
    config = o.scheduler_config(useClusterInfoManager="false", **{"self-maintain-available-card": "false"})
    for objects in (
        [o.device_map(lists), config],
        [o.shard(0, o.entry(lists)), o.scheduler_config(**{"self-maintain-available-card": "false"})],
    ):
        cluster = load_snapshot([o.node(), *objects])
        assert [d.code for d in cluster.diagnostics] == ["S330"]
        assert cluster.resources["huawei.com/Ascend910"].free.tolist() == [3]
        strict = load_snapshot([o.node(), *objects], options=STRICT)
        assert strict.resources["huawei.com/Ascend910"].list_length.tolist() == [-1]


def test_s331_lists_that_contradict() -> None:
    assert codes(o.node(), o.device_map(o.device_list(ALL, "Ascend910-5"))) == ["S331"]
    assert codes(o.node(chips=4), o.device_map(o.device_list(o.names(range(4)), "Ascend910-5"))) == ["S331"]
    assert (
        codes(o.node(), o.device_map(o.device_list(o.names(range(7)), "Ascend910-7", recovering="Ascend910-7"))) == []
    )


def test_s333_is_told_once_a_job() -> None:
    pods = [o.pod(f"p{i}", annotations={"scheduling.k8s.io/group-name": "job"}) for i in range(3)]
    found = load(o.node(), *pods, o.device_map(LISTS)).diagnostics
    assert [(d.code, d.object) for d in found] == [("S333", "PodGroup ns1/job")]


def test_s334_chip_of_two_pods() -> None:
    carried, one = {"huawei.com/AscendReal": "Ascend910-1"}, {"huawei.com/Ascend910": "1"}
    pods = [o.pod(f"p{i}", annotations=carried, requests=one) for i in (1, 2)]
    assert codes(o.node(), *pods, o.device_map(LISTS)) == ["S334"]
    shared = o.node(
        labels={"huawei.com/scheduler.chip1softsharedev.enable": "true"}, capacity={"huawei.com/Ascend910": 800}
    )
    assert codes(shared, *pods, o.device_map(LISTS)) == []
    done = o.pod("p1", annotations=carried, requests=one, phase="Failed")
    assert codes(o.node(), done, pods[1], o.device_map(LISTS)) == []


def test_s335_count_differs_from_request() -> None:
    def holder(names: str, request: str) -> dict[str, Any]:
        carried = {"huawei.com/AscendReal": names} if names else {}
        return o.pod("p", annotations=carried, requests={"huawei.com/Ascend910": request})

    assert codes(o.node(), holder("Ascend910-0", "2"), o.device_map(LISTS)) == ["S335"]
    assert codes(o.node(), holder("", "2"), o.device_map(LISTS)) == ["S335"]
    assert codes(o.node(), holder("Ascend910-0,Ascend910-1", "2"), o.device_map(LISTS)) == []
    core = o.pod("p", annotations={"huawei.com/AscendReal": "Ascend910-0"}, requests={"huawei.com/npu-core": "4"})
    assert codes(o.node(), core, o.device_map(LISTS)) == []


def test_s336_s337_capacity_and_label() -> None:
    assert codes(o.node(capacity={"huawei.com/Ascend910": "7"}), o.device_map(LISTS)) == ["S336"]
    assert codes(o.node(labels={"accelerator": "huawei-npu"}), o.device_map(LISTS)) == ["S337"]
    assert codes(o.node(labels={"accelerator": None}), o.device_map(LISTS)) == []


def test_s338_device_ids_translated_on_demand() -> None:
    lists = o.device_list(o.names(range(8), "npu-"), resource="huawei.com/npu")
    labels = {"node.kubernetes.io/npu.chip.name": "Ascend950PR"}
    base = o.base_infos([f"npu-{i}" for i in range(8)], list(range(8, 16)))
    node = o.node(resource="huawei.com/npu", labels=labels, base=base)
    pod = o.pod("p", annotations={"huawei.com/npu": "npu-8,npu-9"}, requests={"huawei.com/npu": "2"})
    plain = load(node, pod, o.device_map(lists))
    assert plain.pods.chips.tolist() == [3] and plain.used.tolist() == [0] and not plain.diagnostics
    assert plain.resources["huawei.com/npu"].free.tolist() == [255]
    translated = load(node, pod, o.device_map(lists), options=LoadOptions(translate_device_ids=True))
    assert translated.used.tolist() == [3] and translated.resources["huawei.com/npu"].free.tolist() == [252]
    assert [d.code for d in translated.diagnostics] == ["S338"]


def test_s339_parameters() -> None:
    config = o.scheduler_config(useClusterInfoManager="false", **{"shared-tor-num": "5"})
    assert [d.code for d in load_snapshot([o.node(), o.device_map(LISTS), config]).diagnostics] == ["S339"]


def test_places_and_groups(tmp_path: Any) -> None:
    path = tmp_path / "all.json"
    path.write_text(
        json.dumps({"kind": "List", "items": [o.node("n2"), o.node("n1", annotations={"baseDeviceInfos": "x"})]})
    )
    (found,) = load_snapshot(path).diagnostics
    assert (found.code, found.node, found.object, found.source) == ("S321", "n1", "Node n1", f"{path}#1")
    assert found.severity == "error"
    many = load(o.node("n1"), o.node("n2", labels={"accelerator": "huawei-npu"}), o.device_map(LISTS, "gone"))
    assert [(code, len(group)) for code, group in by_code(many.diagnostics)] == [("S317", 1), ("S337", 1)]
