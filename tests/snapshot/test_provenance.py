"""Which object of the dump each fact about a node came from (chapter 30 §9.5)."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

import pytest

from ascendctl.report.node import node_document
from ascendctl.report.snapshot import sources
from ascendctl.snapshot.cluster import LIST_ANNOTATED, LIST_COMPUTED, LIST_NONE, LIST_REPORTED, Cluster
from ascendctl.snapshot.load import load_snapshot
from ascendctl.snapshot.pack import pack, unpack
from tests.snapshot import objects as o

LISTS = o.device_list(o.names(range(8)))


def sha(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


def write(folder: Path, **files: list[dict[str, Any]]) -> Cluster:
    for name, items in files.items():
        listed = {"apiVersion": "v1", "kind": "List", "items": items}
        (folder / f"{name}.json").write_text(json.dumps(listed), encoding="utf-8")
    return load_snapshot(str(folder))


def test_device_mode(tmp_path: Path) -> None:
    maps = [
        o.DEVICE_MODE,
        o.device_map(LISTS, "n2", SwitchInfoCfg=o.switch_info("Healthy")),
        o.host_map("UnHealthy", "n2"),
    ]
    cluster = write(tmp_path, maps=maps, nodes=[o.node("n10"), o.node("n2")])
    assert sources(cluster, cluster.index["n2"]) == {
        "node": f"{tmp_path}/nodes.json#1",
        "deviceRow": {
            "object": "ConfigMap kube-system/mindx-dl-deviceinfo-n2",
            "source": f"{tmp_path}/maps.json#1",
            "sha256": sha(maps[1]["data"]["DeviceInfoCfg"]),
        },
        "switchRow": {
            "object": "ConfigMap kube-system/mindx-dl-deviceinfo-n2",
            "source": f"{tmp_path}/maps.json#1",
            "sha256": sha(maps[1]["data"]["SwitchInfoCfg"]),
        },
        "hostRow": {
            "object": "ConfigMap mindx-dl/mindx-dl-nodeinfo-n2",
            "source": f"{tmp_path}/maps.json#2",
            "sha256": sha(maps[2]["data"]["NodeInfo"]),
        },
    }
    nothing = {"node": f"{tmp_path}/nodes.json#0", "deviceRow": None, "switchRow": None, "hostRow": None}
    assert sources(cluster, cluster.index["n10"]) == nothing
    assert sources(unpack(pack(cluster)), cluster.index["n2"]) == sources(cluster, cluster.index["n2"])


def test_clusterd_mode(tmp_path: Path) -> None:
    """The shard whose entry counts is named: of a node in two shards the later one."""
    shards = [o.shard(0, o.entry(LISTS, "n1")), o.shard(1, o.entry(LISTS, "n1", time=o.NOW + 1), o.entry(LISTS, "n2"))]
    host = o.aggregate("cluster-info-node-cm", {"mindx-dl-nodeinfo-n2": {"NodeStatus": "UnHealthy"}})
    cluster = write(tmp_path, a=[o.node("n1"), o.node("n2"), *shards, host])
    for name in ("n1", "n2"):
        found = sources(cluster, cluster.index[name])
        assert found is not None
        assert found["deviceRow"] == {
            "object": "ConfigMap mindx-dl/cluster-info-device-1",
            "source": f"{tmp_path}/a.json#3",
            "sha256": sha(shards[1]["data"]["cluster-info-device-1"]),
        }
        assert found["switchRow"] is None
        assert (found["hostRow"] is None) == (name == "n1")


@pytest.mark.parametrize(
    ("objects", "source"),
    [
        ([o.node(), o.device_map(LISTS)], LIST_COMPUTED),
        (
            [o.node(labels={"huawei.com/scheduler.chip1softsharedev.enable": "true"}), o.device_map(LISTS)],
            LIST_REPORTED,
        ),
        ([o.node(annotations={"huawei.com/Ascend910": "Ascend910-0"})], LIST_ANNOTATED),
        ([o.node(annotations={"huawei.com/Ascend910": "Ascend910-0"}), o.device_map(LISTS)], LIST_COMPUTED),
        ([o.node()], LIST_NONE),
        ([o.node(annotations={"baseDeviceInfos": None}), o.device_map(LISTS)], LIST_NONE),
    ],
)
def test_where_a_free_list_comes_from(objects: list[dict[str, Any]], source: int) -> None:
    found = load_snapshot([*objects, o.DEVICE_MODE]).provenance
    assert found is not None and found.list_source.tolist() == [source]


def test_the_page_of_a_node() -> None:
    """Example 3.1a of the chapter: chips 0 and 1 in use, 3 network-unhealthy, 5 dropped; 7 is withheld."""
    fault = [
        {"fault_type": "CardNetworkUnhealthy", "npu_name": "Ascend910-3", "fault_handling": "PreSeparateNPU"}
        | {"fault_code": "81078603"},
        {"fault_type": "CardUnhealthy", "npu_name": "Ascend910-5", "fault_handling": "RestartNPU"}
        | {"fault_code": "40F84E00"},
    ]
    lists = o.device_list(o.names([2, 3, 4, 6]), unhealthy="Ascend910-5", network="Ascend910-3", fault=fault)
    held = o.pod("p-a", annotations={"huawei.com/AscendReal": o.names([0, 1])}, requests={"huawei.com/Ascend910": "2"})
    params = o.scheduler_config(**{"useClusterInfoManager": "false", "self-maintain-available-card": "false"})
    node = o.node(allocatable={"huawei.com/Ascend910": "7"})
    found = node_document(load_snapshot([node, held, params, o.device_map(lists)]), "n1")
    assert found["npus"] == {
        "total": [*range(8)], "free": [2, 3, 4, 6], "used": [0, 1], "unhealthy": [5], "recovering": [],
        "networkUnhealthy": [3], "withheld": [7],
    }  # fmt: skip
    assert [found[key] for key in ("capacity", "allocatable", "idle", "listLength")] == [8, 7, 5, 4]
    assert found["pods"] == [
        {"name": "ns1/p-a", "npus": [0, 1], "requests": 2, "phase": "Running", "terminating": False}
    ]
    assert [(one["npu"], one["level"], one["codes"]) for one in found["faults"]] == [
        ("3", "PreSeparateNPU", "81078603"), ("5", "RestartNPU", "40F84E00"),
    ]  # fmt: skip
    assert found["flags"] == ["a card is unhealthy", "a card is network-unhealthy"]
    assert (found["code"], found["updateTime"]) == ("", o.NOW)
    assert found["listSource"] == "as the device row has it"
