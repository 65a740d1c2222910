"""What holds for every dump: both modes agree, order does not matter, the identities of chapter 30 §9.4."""

from __future__ import annotations

import random
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from ascendctl.snapshot.cluster import CHIP_RESOURCES, Cluster
from ascendctl.snapshot.load import load_snapshot
from ascendctl.snapshot.pack import pack
from tests.snapshot import objects as o

PRODUCTS = (("huawei.com/Ascend910", 8), ("huawei.com/Ascend910", 16), ("huawei.com/npu", 8))
STATUSES = ("", "Healthy", "UnHealthy", "PreSeparate", "SubHealthy")


@dataclass(frozen=True)
class Machine:
    """A node as a test wants it; masks of chips."""

    resource: str
    chips: int
    held: int
    unmounted: bool
    unhealthy: int
    recovering: int
    network: int
    reported: int
    superpod: int
    rack: int
    switch: str
    host: str
    sub_healthy: bool
    ready: bool


@st.composite
def machines(draw: st.DrawFn) -> Machine:
    resource, chips = draw(st.sampled_from(PRODUCTS))
    masks = st.integers(0, (1 << chips) - 1)
    return Machine(
        resource,
        chips,
        held=draw(masks),
        unmounted=draw(st.booleans()),
        unhealthy=draw(masks) & draw(masks),
        recovering=draw(masks) & draw(masks),
        network=draw(masks) & draw(masks),
        reported=draw(masks),
        superpod=draw(st.integers(-2, 3)),
        rack=draw(st.integers(-1, 2)),
        switch=draw(st.sampled_from(STATUSES)),
        host=draw(st.sampled_from(STATUSES[1:4])),
        sub_healthy=draw(st.booleans()),
        ready=draw(st.booleans()),
    )


def ids(mask: int) -> list[int]:
    return [i for i in range(mask.bit_length()) if mask >> i & 1]


def objects(cluster: list[Machine], mode: str, self_maintain: bool) -> list[dict[str, Any]]:
    """All objects of a made-up cluster."""
    flags = {"self-maintain-available-card": "true" if self_maintain else "false"}
    result = [o.scheduler_config(useClusterInfoManager="true" if mode == "clusterd" else "false", **flags)]
    entries, switches, hosts = [], {}, {}
    for i, machine in enumerate(cluster):
        name, kind = f"node-{i}", machine.resource.removeprefix("huawei.com/")
        prefix = f"{kind}-"
        offered = machine.chips - machine.unhealthy.bit_count()
        result.append(
            o.node(
                name,
                machine.chips,
                machine.resource,
                allocatable={machine.resource: str(offered)},
                ready=machine.ready,
                address=f"10.0.0.{i}",
            )
        )
        if machine.held:
            key = machine.resource if machine.unmounted else "huawei.com/AscendReal"
            carried = {key: o.names(ids(machine.held), prefix)}
            requests = {machine.resource: str(machine.held.bit_count())}
            result.append(o.pod(f"pod-{i}", name, annotations=carried, requests=requests))
        level = {"fault_handling": "SubHealthFault", "npu_name": f"{prefix}0", "fault_code": "81AD8605"}
        lists = o.device_list(
            o.names(ids(machine.reported), prefix),
            o.names(ids(machine.unhealthy), prefix),
            o.names(ids(machine.network), prefix),
            o.names(ids(machine.recovering), prefix),
            [level] if machine.sub_healthy else [],
            machine.resource,
        )
        if mode == "device":
            more = {"SwitchInfoCfg": o.switch_info(machine.switch)} if machine.switch else {}
            result.append(o.device_map(lists, name, superpod=machine.superpod, rack=machine.rack, **more))
            if machine.host != "Healthy":
                result.append(o.host_map(machine.host, name))
        else:
            entries.append(o.entry(lists, name, superpod=machine.superpod, rack=machine.rack))
            if machine.switch:
                switches[f"mindx-dl-switchinfo-{name}"] = {"NodeStatus": machine.switch}
            hosts[f"mindx-dl-nodeinfo-{name}"] = {"NodeStatus": machine.host}
    if mode == "clusterd":
        half = len(entries) // 2
        result += [o.shard(0, *entries[:half]), o.shard(1, *entries[half:]), o.shard(2)]
        result += [o.aggregate("cluster-info-switch-0", switches), o.aggregate("cluster-info-node-cm", hosts)]
    return result


def same(a: Cluster, b: Cluster) -> bool:
    """True if two clusters are the same to the last byte, but for where their facts stood in the dump."""
    return pack(replace(a, provenance=None)) == pack(replace(b, provenance=None))


CLUSTERS = st.lists(machines(), max_size=6)


@settings(max_examples=120, deadline=None)
@given(CLUSTERS, st.booleans(), st.randoms(use_true_random=False))
def test_modes_agree_and_order_does_not_matter(cluster: list[Machine], maintain: bool, rng: random.Random) -> None:
    device, clusterd = objects(cluster, "device", maintain), objects(cluster, "clusterd", maintain)
    first, second = load_snapshot(device), load_snapshot(clusterd)
    for found in (device, clusterd):
        rng.shuffle(found)
    assert same(load_snapshot(device), first)
    assert same(load_snapshot(clusterd), second)
    alike = replace(second, config=first.config, clusterd_mode=False, diagnostics=first.diagnostics, read=first.read)
    assert same(alike, first)


@settings(max_examples=120, deadline=None)
@given(CLUSTERS, st.booleans())
def test_identities_and_the_numbers_of_each_node(cluster: list[Machine], maintain: bool) -> None:
    found = load_snapshot(objects(cluster, "clusterd", maintain))
    assert found.names == tuple(f"node-{i}" for i in range(len(cluster)))
    for i, machine in enumerate(cluster):
        columns = found.resources[machine.resource]
        kind = CHIP_RESOURCES.index(machine.resource)
        everything = (1 << machine.chips) - 1
        free, length = int(columns.free[i]), int(columns.list_length[i])
        assert found.kind[i] == kind and int(found.total[i]) == everything
        assert free.bit_count() == length and not columns.list_bad[i]
        assert int(found.used[i]) == machine.held
        if maintain:
            assert free == everything & ~machine.held & ~machine.unhealthy & ~machine.recovering
            assert not free & machine.held
        else:
            assert free == machine.reported
        assert (int(columns.unhealthy[i]), int(columns.recovering[i])) == (machine.unhealthy, machine.recovering)
        assert int(columns.unhealthy_count[i]) == machine.unhealthy.bit_count()
        assert int(columns.network_unhealthy[i]) == machine.network and columns.network_defined[i]
        offered = machine.chips - machine.unhealthy.bit_count()
        assert int(columns.capacity[i]) == machine.chips and int(columns.allocatable[i]) == offered
        assert int(columns.idle[i]) == offered - machine.held.bit_count() and columns.idle_defined[i]
        assert (int(found.superpod[i]), int(found.rack[i])) == (machine.superpod, machine.rack)
        assert bool(found.visible[i]) == machine.ready
        assert bool(found.sub_healthy[i]) == (machine.sub_healthy or machine.switch == "SubHealthy")
        unhealthy = "UnHealthy" in (machine.switch, machine.host)
        assert bool(found.health[i] & 1) == unhealthy
        assert bool(found.health[i] & 2) == (machine.host == "PreSeparate")
        part = slice(int(found.chips.ptr[i]), int(found.chips.ptr[i + 1]))
        assert found.chips.physical_id[part].tolist() == list(range(machine.chips))
        assert found.chips.ip[part][0] == "192.168.10.1"
    assert np.array_equal(found.pods.chips, [m.held for m in cluster if m.held])
    assert found.pods.node.tolist() == [i for i, machine in enumerate(cluster) if machine.held]


NAMES = st.lists(
    st.sampled_from(["node-1", "node-2", "node-10", "node1", "a1-node2", "a10-node1", "a2-node3", "x", "node-01"]),
    unique=True,
    min_size=1,
)


@given(NAMES, st.randoms(use_true_random=False))
def test_nodes_and_pods_stand_in_natural_order(names: list[str], rng: random.Random) -> None:
    from ascendctl.names import natural_key, natural_order

    wanted = tuple(sorted(names, key=natural_key))
    assert [names[i] for i in natural_order(names)] == list(wanted)
    found = [o.node(name) for name in names] + [
        o.pod(name, names[0], namespace=space) for name in names for space in "ba"
    ]
    rng.shuffle(found)
    cluster = load_snapshot(found)
    assert cluster.names == wanted
    assert cluster.pods.names == wanted * 2
    assert cluster.pods.namespaces == ("a",) * len(names) + ("b",) * len(names)
