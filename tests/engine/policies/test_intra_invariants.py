"""Random nodes: the engine against the naive re-statement, and what must hold whatever the cluster."""

from __future__ import annotations

import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ascendctl.engine.api import place
from ascendctl.engine.result import Invalid, Placement
from tests.engine import naive
from tests.engine.build import A310, A310P, A910, NPU, SUBHEALTHY, Node, cluster, job, policy

RESOURCES = {"310-card": A310, "310-chip": A310, "310P": A310P, "duo-card": A310P, "duo-chip": A310P}
SELECTED = {
    "module": ({}, {}, {}),
    "850-Atlas-8p-8": ({}, {"accelerator-type": "850-Atlas-8p-8"}, {}),
    "310-card": ({}, {}, {"npu-310-strategy": "card"}),
    "310-chip": ({}, {}, {}),
    "310P": ({}, {}, {}),
    "duo-card": ({}, {}, {"duo": "true", "npu-310-strategy": "card"}),
    "duo-chip": ({}, {}, {"duo": "true"}),
}
POLICIES = sorted(naive.MAX)


def resource_of(name):
    return RESOURCES.get(name, NPU if name in ("chip1-node8", "chip1-node16", "chip4-node16") else A910)


def largest(name):
    return min(naive.MAX[name], 16)


@st.composite
def worlds(draw, name):
    """(request, pods, distributed Duo, nodes) with nodes of up to 16 chips in random states."""
    chips = largest(name)
    bits = st.integers(0, (1 << chips) - 1)
    nodes = []
    for i in range(draw(st.integers(1, 6))):
        taken, sick, net = draw(bits) & draw(bits), draw(bits) & draw(bits) & draw(bits), draw(bits) & draw(bits)
        nodes.append(
            Node(
                f"n{i}",
                [c for c in range(chips) if not (taken | sick) >> c & 1],
                chips,
                [c for c in range(chips) if sick >> c & 1 and not taken >> c & 1],
                draw(st.sampled_from([[c for c in range(chips) if net >> c & 1], [], []])),
                resource_of(name),
                health=draw(st.sampled_from([0, 0, 0, SUBHEALTHY])),
                labels={"infer-card-type": draw(st.sampled_from(["card-300i-duo", "card-300i-duo", "card-300i"]))},
            )
        )
    distributed = name == "duo-chip" and draw(st.booleans())
    pods = 1 if distributed else draw(st.sampled_from([1, 1, 2, 3, 5]))
    return draw(st.integers(1, largest(name))), pods, distributed, nodes


def made_job(name, n, pods, distributed):
    annotations, selector, labels = SELECTED.get(name, (policy(name), {}, {}))
    labels = labels | ({"distributed": "true"} if distributed else {})
    return job(n, pods, resource=resource_of(name), annotations=annotations, selector=selector, labels=labels)


def expected(name, n, pods, distributed, nodes):
    """[(node index, chips)] by the naive rules, shorter where a pod finds no node."""
    free = [list(node.free) for node in nodes]
    sub_healthy = [node.health == SUBHEALTHY for node in nodes]
    seats = []
    for _ in range(pods):
        views = [
            naive.View(
                free[i],
                None if node.net is None else list(node.net),
                node.chips - len(list(node.unhealthy)),
                len(list(node.unhealthy)),
                node.labels["infer-card-type"] == "card-300i-duo",
            )
            for i, node in enumerate(nodes)
        ]
        best = naive.best_node(name, views, n, pods, distributed, sub_healthy)
        if best < 0:
            break
        chips = naive.pick(name, views[best], n, pods, distributed)
        seats.append((best, chips))
        free[best] = [chip for chip in free[best] if chip not in chips]
    return seats


@pytest.mark.parametrize("name", POLICIES)
@given(data=st.data())
@settings(max_examples=60, deadline=None)
def test_engine_equals_the_naive_rules(name, data):
    n, pods, distributed, nodes = data.draw(worlds(name))
    result = place(made_job(name, n, pods, distributed), cluster(nodes))
    if isinstance(result, Invalid):
        return
    seats = expected(name, n, pods, distributed, nodes)
    if not isinstance(result, Placement):
        assert len(seats) < pods
        return
    assert [(int(pod.node[1:]), list(pod.npus)) for pod in result.pods] == seats


@pytest.mark.parametrize("name", POLICIES)
@given(data=st.data())
@settings(max_examples=25, deadline=None)
def test_invariants(name, data):
    n, pods, distributed, nodes = data.draw(worlds(name))
    found = made_job(name, n, pods, distributed)
    result = place(found, cluster(nodes))
    shuffled = list(nodes)
    random.Random(n).shuffle(shuffled)
    assert place(found, cluster(shuffled)).to_dict() == result.to_dict()
    assert place(found, cluster(nodes), compiled=True).to_dict() == result.to_dict()
    if not isinstance(result, Placement):
        return
    taken: set[tuple[str, int]] = set()
    for pod in result.pods:
        node = nodes[int(pod.node[1:])]
        assert len(pod.npus) == len(set(pod.npus)) == n
        assert set(pod.npus) <= set(node.free) - set(node.unhealthy)
        if pods > 1 and name in naive.NET:
            assert not set(pod.npus) & set(node.net)
        mine = {(pod.node, chip) for chip in pod.npus}
        assert not mine & taken
        taken |= mine


@pytest.mark.parametrize("size", [2, 4])
@given(st.integers(0, 0xFFFF), st.integers(1, 4))
@settings(max_examples=80, deadline=None)
def test_groups_are_kept_whole(size, free, n):
    """A3 pods of two or more take whole dies; mesh pods of up to four stay in one mesh, larger ones fill meshes."""
    name = {2: "chip2-node16", 4: "chip4-node16"}[size]
    node = Node("n0", [c for c in range(16) if free >> c & 1], 16, resource=resource_of(name))
    result = place(made_job(name, size * n, 1, False), cluster([node]))
    if isinstance(result, Placement):
        groups = {chip // size for chip in result.pods[0].npus}
        assert len(groups) == n
