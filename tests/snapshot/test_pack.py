"""Packed snapshots: nothing is lost, and no file does harm."""

from __future__ import annotations

import gzip
import json
import zlib
from dataclasses import fields, is_dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ascendctl.snapshot.cluster import Cluster, WaitingPods
from ascendctl.snapshot.load import load_snapshot
from ascendctl.snapshot.pack import pack, unpack
from ascendctl.snapshot.profiles import LoadOptions
from ascendctl.yamlio.errors import ReadError
from tests.snapshot import objects as o

LEVELS = '{"default":{"level1":{"label":"rack","reservedNode":1},"level2":{"label":"pod"}}}'
TORS = {
    "version": "1.0",
    "tor_count": 2,
    "server_list": [
        {"tor_id": 0, "tor_ip": "10.9.0.1", "server": [{"server_ip": "10.0.0.1", "npu_count": 8, "slice_id": 0}]},
        {"tor_id": 1, "tor_ip": "10.9.0.2", "server": [{"server_ip": "10.0.0.9", "npu_count": 8, "slice_id": 0}]},
    ],
}


def dump() -> list[dict[str, Any]]:
    """Objects that fill every field of a Cluster."""
    nodes = [
        o.node(f"n{i}", address=f"10.0.0.{i}", labels={"rack": f"r{i % 3}", "note": "two\nlines" if i == 4 else "one"})
        for i in range(1, 13)
    ]
    nodes[2]["spec"] = {"unschedulable": True, "taints": [{"key": "k", "value": "ü", "effect": "NoSchedule"}]}
    nodes[3]["metadata"]["annotations"]["baseDeviceInfos"] = "broken"
    pods = [
        o.pod(
            f"train-worker-{i}",
            f"n{i + 1}",
            annotations={"huawei.com/AscendReal": "Ascend910-0", "scheduling.k8s.io/group-name": "train"}
            | {"hccl/rankIndex": str(i)},
            labels={"app": "train"},
            requests={"huawei.com/Ascend910": "1"},
        )
        for i in range(9)
    ]
    pods[0]["status"]["podIP"] = "10.244.1.7"
    pods += [o.pod("later-0", "", phase="Pending"), o.pod("later-1", "n77")]
    group = {
        "apiVersion": "scheduling.volcano.sh/v1beta1",
        "kind": "PodGroup",
        "metadata": {"name": "train", "namespace": "ns1", "ownerReferences": [{"name": "owner"}]},
        "spec": {"minMember": 9},
        "status": {"phase": "Running"},
    }
    hyper = {"apiVersion": "topology.volcano.sh/v1alpha1", "kind": "HyperNode", "metadata": {"name": "h"}}
    hyper["spec"] = {"tier": 1, "members": [{"type": "Node", "selector": {"exactMatch": {"name": "n1"}}}]}
    maps = [o.device_map(o.device_list(o.names(range(1, 8))), f"n{i}", superpod=i // 4) for i in range(1, 13)]
    leaves = o.config_map("basic-tor-node-cm", "kube-system", {"tor_info": json.dumps(TORS)})
    config = o.scheduler_config(useClusterInfoManager="false", **{"resource-level-config": LEVELS})
    return [*nodes, *pods, group, hyper, *maps, leaves, config, {"kind": "Secret", "metadata": {"name": "x"}}]


def equal(a: Any, b: Any) -> bool:
    """Deep equality of what a Cluster is made of."""
    if is_dataclass(a) and not isinstance(a, type):
        return type(a) is type(b) and all(equal(getattr(a, f.name), getattr(b, f.name)) for f in fields(a))
    if isinstance(a, np.ndarray):
        return a.dtype == b.dtype and np.array_equal(a, b)
    if isinstance(a, dict):
        return list(a) == list(b) and all(equal(a[key], b[key]) for key in a)
    return bool(a == b)


@pytest.fixture(scope="module")
def cluster() -> Cluster:
    return load_snapshot(dump())


def test_the_cluster_fills_every_field(cluster: Cluster) -> None:
    empty = [f.name for f in fields(cluster) if not np.size(np.asarray(getattr(cluster, f.name), dtype=object))]
    assert not empty
    assert cluster.pods.ips[0] == "10.244.1.7" and cluster.waiting.names == ("later-0",)
    assert cluster.leaves is not None and cluster.config.resource_levels and cluster.hypernodes and cluster.diagnostics


def test_nothing_is_lost(cluster: Cluster) -> None:
    data = pack(cluster)
    again = unpack(data)
    assert equal(cluster, again)
    assert pack(again) == data


def test_files_of_the_first_format(cluster: Cluster) -> None:
    """They have neither addresses of pods, nor waiting pods, nor provenance."""
    data = pack(cluster)
    size = int.from_bytes(data[12:16], "little")
    header = json.loads(data[24 : 24 + size])
    members = header["tree"]["Cluster"]
    del members["waiting"], members["provenance"], members["pods"]["PodTable"]["ips"]
    old = json.dumps(header, separators=(",", ":")).encode().ljust(size)
    found = unpack(with_checksum(data[:8] + b"\1\0\0\0" + data[12:24] + old + data[24 + size :]))
    bare = replace(cluster, waiting=WaitingPods(), provenance=None, pods=replace(cluster.pods, ips=()))
    assert equal(found, bare)


def test_a_small_cluster_and_one_without_pods() -> None:
    for objects in ([o.node()], [o.node("n2"), o.node("n10"), o.shard(0)]):
        cluster = load_snapshot(objects)
        assert equal(cluster, unpack(pack(cluster)))


def test_a_file_in_place_of_a_dump(cluster: Cluster, tmp_path: Path) -> None:
    plain, packed = tmp_path / "cluster.asnap", tmp_path / "cluster.asnap.gz"
    plain.write_bytes(pack(cluster))
    packed.write_bytes(gzip.compress(pack(cluster)))
    assert equal(load_snapshot(str(plain)), cluster)
    assert equal(load_snapshot([packed]), cluster)


def test_a_packed_file_stands_alone(cluster: Cluster, tmp_path: Path) -> None:
    path, other = tmp_path / "a.asnap", tmp_path / "b.json"
    path.write_bytes(pack(cluster))
    other.write_text(json.dumps(o.node()))
    with pytest.raises(ReadError, match=r"a\.asnap: a packed snapshot stands alone, but 2 files are given"):
        load_snapshot([path, other])


def test_parameters_of_a_packed_file_can_be_replaced(cluster: Cluster, tmp_path: Path) -> None:
    path = tmp_path / "a.asnap"
    path.write_bytes(pack(cluster))
    changed = load_snapshot(path, options=LoadOptions(params={"super-pod-size": "2", "nslb-version": "2.0"})).config
    assert (changed.super_pod_size, changed.reserve_nodes, changed.nslb_version) == (2, 0, "2.0")
    assert changed.resource_levels == cluster.config.resource_levels
    assert {"super-pod-size", "nslb-version", "resource-level-config"} <= changed.given
    for options in (LoadOptions(profile="7.3"), LoadOptions(params={"useClusterInfoManager": "true"})):
        with pytest.raises(ReadError, match="cannot be applied to a packed snapshot"):
            load_snapshot(path, options=options)


def with_checksum(data: bytes) -> bytes:
    """The file with a right checksum, as somebody who means harm would write it."""
    return data[:16] + zlib.crc32(data[24:]).to_bytes(4, "little") + data[20:]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda data: data[:20], "cut off"),
        (lambda data: data[:-1], "checksum does not match"),
        (lambda data: data[:100] + b"x" + data[101:], "checksum does not match"),
        (lambda data: data[:8] + b"\3\0\0\0" + data[12:], "packed in format 3, this program reads formats 1 to 2"),
        (lambda data: data[:8] + b"\0\0\0\0" + data[12:], "packed in format 0, this program reads formats 1 to 2"),
        (lambda data: data[:12] + b"\xff\xff\xff\xff" + data[16:], "the header does not fit"),
        (lambda data: with_checksum(data[:-16]), "outside of the file"),
        (lambda data: with_checksum(data.replace(b'"Cluster"', b'"Popen__"')), "unknown kind 'Popen__'"),
        (lambda data: with_checksum(data.replace(b'"names"', b'"nomes"')), "nomes"),
        (lambda data: with_checksum(data.replace(b'{"array":', b'{"array": ', 1)), "not readable|does not"),
    ],
)
def test_broken_files(cluster: Cluster, change: Any, message: str) -> None:
    with pytest.raises(ReadError, match=message) as caught:
        unpack(change(pack(cluster)), "file.asnap")
    assert str(caught.value).startswith("file.asnap: ") and "pack the dump again" in str(caught.value)


@settings(max_examples=150, deadline=None)
@given(st.data())
def test_no_change_of_a_file_does_harm(cluster: Cluster, data: st.DataObject) -> None:
    packed = bytearray(pack(cluster))
    for _ in range(data.draw(st.integers(1, 3))):
        place = data.draw(st.integers(24, len(packed) - 1))
        packed[place] = data.draw(st.integers(0, 255))
    try:
        found = unpack(with_checksum(bytes(packed)))
    except ReadError:
        return
    # what is accepted is sound: every index points at something
    for i in range(len(found.pods.names)):
        assert found.names[int(found.pods.node[i])]
        found.pods.labels.row(i)
    for table in (found.labels, found.annotations):
        table.row(found.size - 1)
    assert len(found.chips.ip) == int(found.chips.ptr[-1])
    pack(found)
