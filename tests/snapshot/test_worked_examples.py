"""The worked examples of chapter 30 §10, in both modes."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from ascendctl.snapshot.cluster import (
    NODE_UNHEALTHY,
    PRE_SEPARATE,
    SUB_HEALTHY_CARD,
    SUB_HEALTHY_SWITCH,
    UNKNOWN_ACCELERATOR,
    Cluster,
)
from ascendctl.snapshot.load import load_snapshot
from tests.snapshot import objects as o

TEXT = (Path(__file__).parent / "worked_examples.jsonl").read_text(encoding="utf-8")
EXAMPLES = {example["id"]: example for example in map(json.loads, TEXT.splitlines())}


def objects_of(given: dict[str, Any], mode: str) -> list[dict[str, Any]]:
    """The objects of an example's input, by the shorthand of §10."""
    resource, prefix = given.get("R", "huawei.com/Ascend910"), given.get("P", "Ascend910-")
    chips = given.get("chips", 8)
    entries = [f"{prefix}{i}" for i in range(chips)] + given.get("extra_names", [])
    node = o.node(
        chips=chips,
        resource=resource,
        labels=given.get("labels", {}),
        annotations=given.get("annotations", {}),
        capacity=given.get("cap", {resource: chips}),
        allocatable=given.get("alloc"),
        ready=given.get("ready", True),
        base=o.base_infos(entries, given.get("device_ids")),
    )
    pods = []
    for item in given.get("pods", []):
        carried = dict(item.get("ann", {}))
        for key, chip_key in (("real", "huawei.com/AscendReal"), ("want", resource)):
            if key in item:
                value = item[key]
                carried[chip_key] = value if isinstance(value, str) else o.names(value, prefix)
        requests = {resource: item["req"]} if item.get("req") else {}
        pods.append(o.pod(item["name"], annotations=carried, requests=requests, phase=item.get("phase", "Running")))
    maps = []
    row, switch, host = given.get("row"), given.get("switch", ""), given.get("noded", "")
    lists = None if row is None else _lists(row, resource, prefix)
    if mode == "device":
        if row is not None:
            more = {"SwitchInfoCfg": o.switch_info(switch)} if switch else {}
            extra = {"time": row.get("ut", o.NOW), "superpod": row.get("sp", -2), "rack": row.get("rack", 0)}
            maps.append(o.device_map(lists, **extra, **more))
        if host:
            maps.append(o.host_map(host))
    else:
        if row is not None:
            numbers = {"time": row.get("ut", o.NOW), "superpod": row.get("sp", -2), "rack": row.get("rack", 0)}
            maps.append(o.shard(0, o.entry(lists, **numbers)))
        if switch:
            maps.append(o.aggregate("cluster-info-switch-0", {"mindx-dl-switchinfo-n1": {"NodeStatus": switch}}))
        if host:
            maps.append(o.aggregate("cluster-info-node-cm", {"mindx-dl-nodeinfo-n1": {"NodeStatus": host}}))
    config = o.scheduler_config(
        useClusterInfoManager="false" if mode == "device" else "true",
        **{"self-maintain-available-card": "true" if given.get("self_maintain", True) else "false"},
    )
    return [node, *pods, *maps, config]


def _lists(row: dict[str, Any], resource: str, prefix: str) -> dict[str, str]:
    if "DeviceList" in row:
        return dict(row["DeviceList"])
    texts = {
        key: value if isinstance(value := row.get(key, []), str) else o.names(value, prefix)
        for key in ("avail", "unhealthy", "net", "recovering")
    }
    faults = [
        {"fault_type": kind, "npu_name": f"{prefix}{chip}", "fault_handling": level, "fault_level": level}
        | {"large_model_fault_level": level, "fault_code": code}
        for kind, chip, level, code in row.get("fault", [])
    ]
    return o.device_list(texts["avail"], texts["unhealthy"], texts["net"], texts["recovering"], faults, resource)


def output_of(cluster: Cluster, resource: str, maximum: int) -> dict[str, Any]:
    """The numbers of §6.6 and §6.7 of the only node."""
    columns = cluster.resources.get(resource)
    health = int(cluster.health[0])
    states = (
        (UNKNOWN_ACCELERATOR, "not in session"),
        (NODE_UNHEALTHY, "node unhealthy"),
        (PRE_SEPARATE, "PreSeparate"),
        (SUB_HEALTHY_CARD | SUB_HEALTHY_SWITCH, "subhealthy"),
    )
    state = next((name for bits, name in states if health & bits), "ok")
    result: dict[str, Any] = {"health": state, "sp": int(cluster.superpod[0]), "rack": int(cluster.rack[0])}
    if columns is None:
        missing = "not has(or not same)"
        return result | {
            "L": -1,
            "idle": None,
            "cap": None,
            "stable": missing,
            "usable": "error",
            "usable_dist": "error",
        }
    length, idle, cap = int(columns.list_length[0]), int(columns.idle[0]), int(columns.capacity[0])
    if length < 0 or not columns.idle_defined[0] or cap < 0:
        stable = "not has(or not same)"
    else:
        stable = "ok" if length <= idle and length <= cap and idle <= cap else "not stable"
    free, network = int(columns.free[0]), int(columns.network_unhealthy[0])
    if columns.list_bad[0]:
        free = 0
    usable: Any = "error" if length <= 0 or free.bit_count() > maximum else ids(free)
    distributed = "error" if usable == "error" or not columns.network_defined[0] else ids(free & ~network)
    return result | {
        "L": length,
        "idle": idle,
        "cap": cap,
        "stable": stable,
        "usable": usable,
        "usable_dist": distributed,
    }


def ids(mask: int) -> list[int]:
    return [i for i in range(64) if mask >> i & 1]


def test_the_chapter_has_34_examples_in_this_form() -> None:
    assert list(EXAMPLES) == [f"E{i}" for i in range(1, 35)]


@pytest.mark.parametrize("mode", ["device", "clusterd"])
@pytest.mark.parametrize("name", EXAMPLES)
def test_example(name: str, mode: str) -> None:
    given, wanted = EXAMPLES[name]["in"], EXAMPLES[name]["out"]
    cluster = load_snapshot(objects_of(given, mode))
    assert cluster.clusterd_mode == (mode == "clusterd")
    if "absent" in wanted:
        assert not cluster.visible[0]
        return
    assert cluster.visible[0]
    assert output_of(cluster, given.get("R", "huawei.com/Ascend910"), given.get("M", 8)) == wanted


def test_e35_a_number_outside_int32_poisons_its_shard() -> None:
    from ascendctl.snapshot.profiles import LoadOptions

    lists = o.device_list(o.names(range(8)))
    dump = [
        o.node("n1"),
        o.node("n2", address="10.0.0.2"),
        o.shard(0, o.entry(lists, "n1", superpod=5), o.entry(lists, "n2", superpod=4294967295)),
    ]
    lenient, strict = load_snapshot(dump), load_snapshot(dump, options=LoadOptions(strict=True))
    assert lenient.resources["huawei.com/Ascend910"].list_length.tolist() == [8, -1]
    assert lenient.superpod.tolist() == [5, 0]
    assert [(d.code, d.node) for d in lenient.diagnostics] == [("S315", "n2")]
    assert strict.resources["huawei.com/Ascend910"].list_length.tolist() == [-1, -1]
    assert strict.superpod.tolist() == [0, 0]


def test_e36_wrong_check_code() -> None:
    from ascendctl.snapshot.profiles import LoadOptions

    lists = o.device_list("Ascend910-0,Ascend910-1")
    code = "8247ae405a6f122000752d2af17b065005ac132534759afcaa4a0b6dd2568f9d"
    dump = [o.node(chips=2), o.device_map(lists, time=o.NOW + 1, code=code), o.DEVICE_MODE]
    today = load_snapshot(dump)
    assert today.resources["huawei.com/Ascend910"].list_length.tolist() == [2]
    assert [d.code for d in today.diagnostics] == ["S310"]
    old = load_snapshot(dump, options=LoadOptions(profile="6.0"))
    assert old.resources["huawei.com/Ascend910"].list_length.tolist() == [-1]
    assert old.superpod.tolist() == [0]
    right = "9f85106670cdbd5dfa63e185a22d6e29d55287f69d7cd5a18d1e3261bd62312a"
    assert not load_snapshot(
        [o.node(chips=2), o.device_map(lists, time=o.NOW + 1, code=right), o.DEVICE_MODE]
    ).diagnostics


def test_e37_node_in_two_shards() -> None:
    first = o.shard(0, o.entry(o.device_list("Ascend910-0"), time=o.NOW))
    second = o.shard(1, o.entry(o.device_list("Ascend910-0,Ascend910-1"), time=o.NOW + 300))
    config = o.scheduler_config(**{"self-maintain-available-card": "false"})
    for dump in ([first, second], [second, first]):
        cluster = load_snapshot([o.node(), *dump, config])
        assert cluster.resources["huawei.com/Ascend910"].list_length.tolist() == [2]
        assert [d.code for d in cluster.diagnostics] == ["S316"]
    emptied = load_snapshot([o.node(), first, o.shard(1), config])
    assert emptied.resources["huawei.com/Ascend910"].list_length.tolist() == [1]
    assert not emptied.diagnostics


def rank_pods(**more: Any) -> list[dict[str, Any]]:
    group = {"scheduling.k8s.io/group-name": "job"}
    return [
        o.pod("w-0", annotations=group | {"hccl/rankIndex": "2"}),
        o.pod(
            "w-1",
            annotations=group | {"hccl/rankIndex": "3"},
            labels={"statefulset.kubernetes.io/pod-name": "w-1"},
            phase="Failed",
        ),
        o.pod("w-10", annotations=group),
        o.pod("w-2", annotations=group, **more),
    ]


def test_e38_rank_assignment() -> None:
    cluster = load_snapshot([o.node(), *rank_pods()])
    assert dict(zip(cluster.pods.names, cluster.pods.rank.tolist(), strict=True)) == {
        "w-0": 2,
        "w-1": 1,
        "w-2": 0,
        "w-10": 3,
    }
    assert [d.code for d in cluster.diagnostics if d.code == "S333"] == ["S333"]
    ending = load_snapshot([o.node(), *rank_pods(deletionTimestamp="2026-08-29T10:39:12Z")])
    assert dict(zip(ending.pods.names, ending.pods.rank.tolist(), strict=True)) == {
        "w-0": 2,
        "w-1": 1,
        "w-2": -1,
        "w-10": -1,
    }


def test_e39_parameters() -> None:
    text = """
configurations:
- name: init-params
  arguments: {nslb-version: 2.0, super-pod-size: "0", reserve-nodes: "50", useClusterInfoManager: , grace-over-time: 3601}
"""
    config = o.config_map("volcano-scheduler-configmap", "volcano-system", {"volcano-scheduler.conf": text})
    found = load_snapshot([o.node(), config]).config
    assert found.nslb_version == "1.0"
    assert (found.super_pod_size, found.configured_super_pod_size, found.reserve_nodes) == (48, 0, 2)
    assert not found.use_cluster_info_manager
    assert found.grace_over_time == 900
    assert found.self_maintain_available_card and found.force_enqueue
    assert not found.preset_virtual_device and not found.prefer_previous_node


def test_e40_virtual_npu_totals() -> None:
    node = o.node(
        chips=3,
        resource="huawei.com/Ascend310P",
        labels={"servertype": "Ascend310P-8", "node.kubernetes.io/npu.chip.name": "310P3"},
        capacity={"huawei.com/npu-core": "24"},
    )
    lists = {"huawei.com/Ascend310P": "", "huawei.com/Ascend310P-Fault": "[]", "huawei.com/Ascend310P-Unhealthy": ""}
    pods = [o.pod(f"p{i}", annotations={"huawei.com/AscendReal": f"Ascend310P-{i}"}) for i in range(3)]
    cluster = load_snapshot([node, *pods, o.device_map(lists), o.DEVICE_MODE])
    cores, chips = cluster.resources["huawei.com/npu-core"], cluster.resources["huawei.com/Ascend310P"]
    assert (int(cores.capacity[0]), int(cores.idle[0])) == (24, 24)
    assert int(chips.list_length[0]) == 0 and int(chips.capacity[0]) == -1
    assert cluster.labels.get(0, "servertype") == "Ascend310P-8"
    assert np.bitwise_count(cluster.total)[0] == 3
