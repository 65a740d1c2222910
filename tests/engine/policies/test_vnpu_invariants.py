"""Virtual NPUs on random nodes: the engine against a plain restatement of chapter 11.14, and what must hold always."""

from __future__ import annotations

import random
from dataclasses import dataclass, replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ascendctl.engine.api import place
from ascendctl.engine.result import Placement
from ascendctl.manifest.job import Role
from tests.engine.build import SUBHEALTHY, Node, Pod, cluster, job
from tests.engine.policies import vnpu_naive as naive
from tests.engine.policies.test_vnpu import CORE, KINDS, REAL, core_node

LEGAL = {
    "310P": [1, 1, 2, 2, 4, 4, 8, 16, 10],
    "910B1": [6, 12, 25, 50],
    "910B3": [5, 10, 20, 40],
    "910B4": [5, 10, 10, 20],
    "A3-24": [6, 12, 24, 48],
}


@dataclass(frozen=True)
class World:
    """Nodes as the plain rules see them, the same as a snapshot is made of, and the pods (cores, level, dvpp)."""

    kind: str
    servers: list[naive.Server]
    nodes: list[Node]
    running: list[Pod]
    pods: list[tuple[int, str, str]]


@st.composite
def worlds(draw, kind):
    servers, nodes, running = [], [], []
    each = KINDS[kind][3]
    for i in range(draw(st.integers(1, 4))):
        chips = draw(st.integers(1, 4))
        sick = [c for c in range(chips) if draw(st.integers(0, 7)) == 0]
        held = draw(pods_on(kind, each, chips))
        busy = {chip for pod in held for chip in pod.chips}
        free = [chip for chip in range(chips) if chip not in busy and chip not in sick]
        taken = sum(each * len(p.chips) if p.template is None else naive.TABLES[kind][p.template][0] for p in held)
        server = naive.build(f"n{i}", kind, each, chips, free, sick, held)
        server.idle = draw(st.sampled_from([each * (chips - len(sick)) - taken, each * chips]))
        server.sub_healthy = draw(st.sampled_from([False, False, True]))
        node = core_node(kind, chips, free, f"n{i}", each * chips - server.idle, unhealthy=sick,
                         health=SUBHEALTHY if server.sub_healthy else 0)  # fmt: skip
        if draw(st.integers(0, 9)) == 0:  # cores that are no multiple of a chip's
            server.valid, server.total = False, server.total + 1
            node = replace(node, more={CORE: (server.total, server.total, server.idle)})
        servers.append(server)
        nodes.append(node)
        for number, pod in enumerate(held):
            real = {} if pod.group is None else {REAL: f"vnpu-{number}_{pod.group}"}
            running.append(Pod(f"p{number}-n{i}", f"n{i}", "other", annotations={CORE: pod.text} | real, asks=0))
    return World(kind, servers, nodes, running, draw(asked(kind)))


@st.composite
def pods_on(draw, kind, each, chips):
    """Pods that fit on the chips of a node, in template form or whole."""
    held, left = [], {chip: [each, naive.CPUS[kind]] for chip in range(chips)}
    for chip in range(chips):
        for _ in range(draw(st.integers(0, 4))):
            name = draw(st.sampled_from([None, *sorted(naive.TABLES[kind])]))
            cores, cpus = (each, naive.CPUS[kind]) if name is None else naive.TABLES[kind][name][:2]
            if left[chip][0] < cores or left[chip][1] < cpus:
                continue
            left[chip] = [left[chip][0] - cores, left[chip][1] - cpus]
            confirmed = draw(st.integers(0, 5)) > 0
            group = draw(st.integers(0, 3)) if confirmed else None
            held.append(naive.Held([chip], name, group))
    return held


@st.composite
def asked(draw, kind):
    """One or two roles."""
    found = []
    for _ in range(draw(st.sampled_from([1, 1, 2]))):
        cores = draw(st.sampled_from(LEGAL[kind]))
        level, dvpp = "low", "null"
        if kind == "310P":
            level = draw(st.sampled_from(["low", "high", "high"]))
            dvpp = draw(st.sampled_from(["null", "yes", "no", "what"])) if cores == 4 else "null"
        elif kind == "910B4" and cores == 10:
            dvpp = draw(st.sampled_from(["null", "yes", "no"]))
        found += [(cores, level, dvpp)] * draw(st.integers(1, 4))
    return found


def made_job(world):
    ring = {"ring-controller.atlas": KINDS[world.kind][5]}
    wanted = list(dict.fromkeys(world.pods))
    roles = [
        Role(f"r{i}", world.pods.count(ask), ask[0], CORE, labels=ring | {"vnpu-level": ask[1], "vnpu-dvpp": ask[2]})
        for i, ask in enumerate(wanted)
    ]
    return job(0, roles=roles)


def in_rank_order(world):
    """The pods as the job has them: role by role."""
    return [ask for ask in dict.fromkeys(world.pods) for _ in range(world.pods.count(ask))]


def found_seats(result):
    return [(pod.node, pod.annotations[CORE]) for pod in result.pods]


@pytest.mark.parametrize("kind", sorted(LEGAL))
@given(data=st.data())
@settings(max_examples=80, deadline=None)
def test_engine_equals_the_chapter(kind, data):
    world = data.draw(worlds(kind))
    result = place(made_job(world), cluster(world.nodes, world.running))
    seats, refused, raw = naive.place(world.servers, in_rank_order(world))
    if isinstance(result, Placement):
        assert not refused
        assert found_seats(result) == seats
        lost = {server.name: int(server.sub_healthy) for server in world.servers}
        assert dict(result.trace.scores) == {name: 100 * max(0, value - lost[name]) for name, value in raw.items()}
    elif result.code != "JobEnqueueFailed" or refused:
        assert {name: group.code for group in result.rejected for name in group.nodes} == refused


@pytest.mark.parametrize("kind", sorted(LEGAL))
@given(data=st.data())
@settings(max_examples=30, deadline=None)
def test_invariants(kind, data):
    world = data.draw(worlds(kind))
    found = made_job(world)
    result = place(found, cluster(world.nodes, world.running))
    order = random.Random(len(world.nodes))
    nodes, running = order.sample(world.nodes, len(world.nodes)), order.sample(world.running, len(world.running))
    assert place(found, cluster(nodes, running)).to_dict() == result.to_dict()
    for compiled in (True, False):
        again = place(found, cluster(world.nodes, world.running), compiled=compiled)
        assert again.to_dict() == result.to_dict()
    if not isinstance(result, Placement):
        return
    servers = {server.name: server for server in world.servers}
    cut: dict[str, set[str]] = {}
    for pod, (cores, _, dvpp) in zip(result.pods, in_rank_order(world), strict=True):
        server, text = servers[pod.node], pod.annotations[CORE]
        if "-" not in text:
            ids = [int(part) for part in text.split(",")]
            assert len(set(ids)) == len(ids) == cores // server.each
            for chip in ids:
                here = server.chips[chip]
                assert not here.segmented and here.cores == server.each
                here.cores = here.cpus = 0
            continue
        number, _, name = text.partition("-")
        here, template = server.chips[int(number)], naive.TABLES[kind][name]
        assert template[0] == cores and not here.unstable
        assert template[2] == dvpp or not (kind in ("310P", "910B4") and cores in (4, 10))
        here.cores, here.cpus = here.cores - template[0], here.cpus - template[1]
        assert here.cores >= 0 and here.cpus >= 0
        here.segmented = True
        here.used.append(template[2])
        assert here.used.count("yes") <= 1 and not {"yes", "null"} <= set(here.used)
        cut.setdefault(pod.node, set(server.pending)).add(name)
    assert all(len(names) == 1 for names in cut.values())


@given(
    st.lists(st.tuples(st.integers(0, 6), st.booleans()), min_size=1, max_size=5),
    st.sampled_from(["Ascend310P-2c.1cpu", "Ascend310P-4c.4cpu.dvpp", "Ascend910-12c.3cpu.32g", "Ascend910-16c"]),
    st.integers(1, 8),
)
@settings(max_examples=120, deadline=None)
def test_static_vnpus(amounts, name, pods):
    """11.14.2: a node needs one idle vNPU of the type, all nodes are equally good, no chip is chosen; what the node's
    numbers say of each other does not matter."""
    resource = "huawei.com/" + name
    nodes = [
        Node(f"n{i}", range(8), 8, more={resource: (6, 6, idle)}, health=SUBHEALTHY if sub else 0)
        for i, (idle, sub) in enumerate(amounts)
    ]
    result = place(job(1, pods, resource=resource), cluster(nodes))
    shuffled = random.Random(pods).sample(nodes, len(nodes))
    assert place(job(1, pods, resource=resource), cluster(shuffled)).to_dict() == result.to_dict()
    wanted = [f"n{i}" for i, (idle, _) in enumerate(amounts) for _ in range(idle)]
    if len(wanted) < pods:
        assert not isinstance(result, Placement)
        return
    assert [pod.node for pod in result.pods] == wanted[:pods]
    assert all(not pod.npus and not dict(pod.annotations) for pod in result.pods)
