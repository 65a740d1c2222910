"""Placement on logical SuperPoDs: worked examples 12.5 and 12.7, traps and discrepancies of chapter 20."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ascendctl.engine.api import place
from ascendctl.engine.result import Invalid, Placement
from ascendctl.manifest.job import Job, Role
from ascendctl.snapshot.cluster import NODE_UNHEALTHY, PRE_SEPARATE, SUB_HEALTHY_CARD
from tests.engine.build import A910, NPU
from tests.engine.policies.superpods import ATLAS_850, blocks, code, config, counted, node, request, world

SUB = SUB_HEALTHY_CARD


def only(result: Any) -> tuple[str, tuple[int, ...]]:
    """Node and chips of a one-pod job."""
    assert isinstance(result, Placement), result
    (pod,) = result.pods
    return pod.node, pod.npus


def codes(result: Any) -> dict[str, str]:
    return {name: group.code for group in result.rejected for name in group.nodes}


# ------------------------------------------------------------------------------------------------ whole jobs
def test_ranks_are_consecutive_inside_a_logical_superpod() -> None:
    result = place(request(4, block=2), counted({0: 3, 1: 5}, config(limit=10)))  # A6
    assert isinstance(result, Placement)
    assert [(pod.rank, pod.node, pod.group) for pod in result.pods] == [
        (0, "s1-n00", "0"),
        (1, "s1-n01", "0"),
        (2, "s0-n00", "1"),
        (3, "s0-n01", "1"),
    ]
    assert all(pod.npus == tuple(range(16)) for pod in result.pods)
    first, last = result.pods[0].annotations, result.pods[3].annotations
    assert (first["super-pod-rank"], first["super-pod-id"], first["distributed-job"]) == ("0", "1", "true")
    assert (last["super-pod-rank"], last["super-pod-id"]) == ("1", "0")
    assert result.metrics == {"logicalSuperPods": 2, "superPods": 2}
    assert result.trace.scores == (("s1-n00", 10_000_000_000),)


def test_sub_healthy_nodes_come_last_in_their_superpod_only() -> None:
    sub, well = {"health": SUB}, {}

    def made(*health: dict[str, int], more: int = 0) -> Any:
        first = [node(f"s0-n{k:02}", **kind) for k, kind in enumerate(health)]
        return world({0: first, 1: [node(f"s1-n{k:02}") for k in range(more)]}, config(limit=10))

    assert blocks(place(request(2, block=2), made(sub, sub, sub, well, more=4))) == {"0": ["s0-n03", "s0-n00"]}  # E1
    assert blocks(place(request(2, block=2), made(sub, well, well, well, more=6))) == {"0": ["s0-n01", "s0-n02"]}  # E2
    assert blocks(place(request(4, block=2), made(sub, well, well, well))) == {
        "0": ["s0-n01", "s0-n02"],
        "1": ["s0-n03", "s0-n00"],
    }  # E3
    strict = request(2, block=2, labels={"subHealthyStrategy": "graceExit"})
    result = place(strict, made(sub, sub, sub, well, more=4))
    assert blocks(result) == {"0": ["s1-n00", "s1-n01"]}
    assert codes(result)["s0-n00"] == "NODE_SUBHEALTHY"


def test_incomplete_plans_are_refused_with_what_was_found() -> None:
    result = place(request(5, block=1), counted({0: 5}, config(5, 10)))  # G1
    assert code(result) == "INCOMPLETE_PLAN"
    assert "2 of 5" in result.message and "reserve-nodes" in result.message
    taken = [data["nodes"] for _, data in result.trace.steps if "nodes" in data]
    assert taken == [["s0-n00"], ["s0-n01"]]
    assert any("reference scheduler would go on" in note for note in result.trace.notes)
    assert code(place(request(8, block=2), counted({0: 6, 1: 3}, config(5, 10)))) == "INCOMPLETE_PLAN"  # G2
    eight = counted({0: 6, 1: 3}, config(5, 10), chips=8, resource=NPU)
    assert code(place(request(8, 8, 2, ATLAS_850), eight)) == "INCOMPLETE_PLAN"  # G3
    short = replace(request(5, block=2), npus=64, min_available=4)
    assert code(place(short, counted({0: 5, 1: 3}, config(limit=10)))) == "INCOMPLETE_PLAN"  # G7


def test_superpods_larger_than_the_limit() -> None:
    result = place(request(16, block=16), counted({0: 70}))  # G4
    assert code(result) == "SUPER_POD_SIZE_TOO_SMALL"
    assert "70" in result.message and any("crashes" in note for note in result.trace.notes)
    assert len(blocks(place(request(16, block=16), counted({0: 49})))["0"]) == 16  # G5
    eight = counted({0: 49}, chips=8, resource=NPU)
    assert code(place(request(16, 8, 16, ATLAS_850), eight)) == "SUPER_POD_SIZE_TOO_SMALL"  # G6


def test_order_of_refusals() -> None:
    busy = world({0: [node("a0", ()), node("a1", (), unhealthy=range(16))], -1: [node("z0"), node("z1"), node("z2")]})
    result = place(request(2, block=2), busy)
    assert code(result) == "NodePredicateFailed"
    assert codes(result) == {
        "a0": "NPU_SHORTAGE",
        "a1": "NPU_SHORTAGE",
        **dict.fromkeys(("z0", "z1", "z2"), "NO_SUPERPOD_ID"),
    }
    few = counted({0: 2, 1: 1, -1: 4}, config(limit=10))
    assert code(place(request(4, block=2), few)) == "NOT_ENOUGH_NODES"  # trap 25: before any SuperPoD logic
    assert code(place(request(4, block=4), counted({0: 3, 1: 3}))) == "NOT_ENOUGH_LOGICAL_SUPERPODS"


def test_node_codes_in_order() -> None:
    made = world(
        {
            0: [node(f"ok{i}") for i in range(4)],
            1: [
                node("dead", health=NODE_UNHEALTHY),
                node("separate", health=PRE_SEPARATE),
                node("unstable", idle=8),
                node("part", range(14)),
                node("odd", [*range(1, 16, 2)], idle=16),
                node("nokey", net=None),
                node("netbad", net=[3]),
            ],
        }
    )
    result = place(request(4, block=2), made)
    assert codes(result) == {
        "dead": "NODE_UNHEALTHY",
        "separate": "NODE_PRESEPARATE",
        "unstable": "RES_UNSTABLE",
        "part": "NPU_SHORTAGE",
        "odd": "NPU_SHORTAGE",
        "nokey": "NO_NET_KEY",
        "netbad": "NPU_SHORTAGE",
    }
    sixteen = counted({0: 4}, config(limit=10))
    eight = world({0: [node("small0", chips=8), node("small1", chips=8)], 1: [node("large")]})
    assert code(place(request(2, 8, 1), sixteen)) == "NodePredicateFailed"
    assert codes(place(request(2, 8, 1), eight)) == {"large": "FREE_LIST_TOO_LONG"}
    # P9 limits the length of the list, not its ids: half a 16-chip node serves a pod of 8
    half = world({0: [node("upper", range(8, 16)), node("odd", range(1, 16, 2)), node("nine", range(9))]})
    result = place(request(1, 8, name="chip2-node8-sp"), half)
    assert isinstance(result, Placement) and result.pods[0].npus == tuple(range(8, 16))
    assert codes(result) == {"nine": "FREE_LIST_TOO_LONG", "odd": "DIE_PAIR_NOT_MET"}


def test_network_health_counts_only_between_logical_superpods() -> None:
    """Traps 11 and 22."""
    made = world({0: [node("a0", net=[1]), node("a1", net=None), node("a2"), node("a3")]}, config(limit=10))
    assert blocks(place(request(4, block=4), made)) == {"0": ["a0", "a1", "a2", "a3"]}
    result = place(request(4, block=2), made)
    assert code(result) == "NOT_ENOUGH_NODES"
    assert codes(result) == {"a0": "NPU_SHORTAGE", "a1": "NO_NET_KEY"}


def test_soft_is_a_label_with_one_exact_value() -> None:
    """Trap 6 and the discrepancy of merged values."""
    cluster = counted({0: 3, 1: 3, 2: 3}, config(limit=10))
    soft = place(request(8, block=4, labels={"super-pod-affinity": "soft"}), cluster)
    assert blocks(soft) == {
        "0": ["s0-n00", "s0-n01", "s0-n02"],
        "1": ["s1-n00", "s1-n01", "s1-n02"],
        "2": ["s2-n00", "s2-n01"],
    }
    assert any("1 nodes of the plan get no pod" in note for note in soft.trace.notes)  # trap 17
    for value in ("Soft", "hard", "soft|hard", ""):
        labels = {"super-pod-affinity": value}
        assert code(place(request(8, block=4, labels=labels), cluster)) == "NOT_ENOUGH_LOGICAL_SUPERPODS"


def test_soft_ranks_follow_the_lengths_of_fragments() -> None:
    """F5 and trap 7: L1 has one node, so rank 4 alone is in L1."""
    result = place(
        request(8, block=4, labels={"super-pod-affinity": "soft"}), counted({0: 5, 1: 3, 2: 2, 3: 1}, config(limit=10))
    )
    assert isinstance(result, Placement)
    assert [pod.group for pod in result.pods] == ["0", "0", "0", "0", "1", "2", "2", "3"]
    assert result.pods[7].node == "s1-n00"


def test_batch_scheduling_with_fragments_is_noted() -> None:
    """Trap 9."""
    labels = {"super-pod-affinity": "soft", "podgroup-sched-enable": "true"}
    result = place(request(8, block=4, labels=labels), counted({0: 5, 1: 3, 2: 2, 3: 1}, config(limit=10)))
    assert any("podgroup-sched-enable" in note for note in result.trace.notes)
    plain = place(request(4, block=4, labels=labels), counted({0: 8}, config(limit=10)))
    assert not any("podgroup-sched-enable" in note for note in plain.trace.notes)


def test_more_logical_superpods_than_superpods_is_fine() -> None:
    """D4."""
    assert len(blocks(place(request(6, block=2), counted({0: 8}, config(limit=10))))) == 3


def test_scheduler_pod_without_npus_takes_no_part() -> None:
    roles = (
        Role("worker", 2, 16, A910, task_spec="worker"),
        Role("scheduler", 1, 0, "", task_spec="scheduler"),
    )
    made = world({0: [node("a0", ()), node("a1"), node("a2"), node("a3")]})
    result = place(request(2, block=2, roles=roles), made)
    assert isinstance(result, Placement)
    assert [(pod.node, len(pod.npus), pod.group) for pod in result.pods] == [
        ("a1", 16, "0"),
        ("a2", 16, "0"),
        ("a0", 0, ""),
    ]


def test_a_role_that_its_planned_node_refuses() -> None:
    roles = (
        Role("master", 1, 16, A910, task_spec="master"),
        Role("worker", 1, 16, A910, task_spec="worker", selector={"zone": "b"}),
    )
    made = world({0: [node("a0", labels={"zone": "b"}), node("a1"), node("a2", labels={"zone": "b"})]})
    result = place(request(2, block=2, roles=roles), made)
    assert code(result) == "INCOMPLETE_PLAN"
    assert "a1" in result.message and "NODE_SELECTOR" in result.message


# ------------------------------------------------------------------------------------------------ one pod
@pytest.mark.parametrize(
    ("npus", "nodes", "expected"),
    [
        (
            2,
            {0: [("s0-n00", [0, 2, 3, 4]), ("s0-n01", range(16))], 1: [("s1-n00", range(16))]},
            ("s0-n00", (2, 3)),
        ),  # P1
        (1, {0: [("s0-n00", [0, 4, 5])]}, ("s0-n00", (0,))),  # P2
        (4, {0: [("s0-n00", [0, 1, 3, 4, 5, 6, 7])]}, ("s0-n00", (0, 1, 4, 5))),  # P3
        (2, {0: [("s0-n00", [0, 2, 4]), ("s0-n01", range(16))]}, ("s0-n01", (0, 1))),  # P4
        (
            2,
            {
                0: [("s0-n00", [6, 7])],
                1: [("s1-n00", [0, 1]), ("s1-n01", [0, 1]), ("s1-n02", [0, 1]), ("s1-n03", range(16))],
            },
            ("s1-n00", (0, 1)),
        ),  # P5, trap 14
    ],
)
def test_one_pod_examples(npus: int, nodes: Any, expected: tuple[str, tuple[int, ...]]) -> None:
    made = world({s: [node(name, free) for name, free in members] for s, members in nodes.items()})
    assert only(place(request(1, npus, name="chip2-node16-sp"), made)) == expected


def test_one_pod_of_a_whole_node_and_sub_health() -> None:
    assert only(place(request(1), counted({0: 2, 1: 3, 2: 40}))) == ("s1-n00", tuple(range(16)))  # P6
    pair = world({0: [node("s0-n00", [0, 1], health=SUB), node("s0-n01", [0, 1])]})
    assert only(place(request(1, 2, name="chip2-node16-sp"), pair)) == ("s0-n01", (0, 1))  # P7
    small = world({0: [node("s0-n00", range(6), chips=8)]})
    result = place(request(1, 8), small)  # P8
    assert codes(result) == {"s0-n00": "NPU_SHORTAGE"}
    assert (
        code(
            place(
                request(1, 8, name="chip2-node8-sp", total=8),
                world({0: [node("x", range(6), chips=8), node("y", (0, 1), chips=8)]}),
            )
        )
        == "NodePredicateFailed"
    )


def test_least_idle_uses_idle_devices_not_the_list() -> None:
    """Trap 15: a node with an unhealthy chip has fewer chips in its list than are idle."""
    made = world({0: [node("a0", range(4), idle=6), node("a1", range(6), idle=6), node("a2", range(5), idle=5)]})
    assert only(place(request(1, 2, name="chip2-node16-sp"), made))[0] == "a2"


def test_atlas_850_takes_any_chips() -> None:
    made = world({0: [node("a0", [1, 3, 6], chips=8, resource=NPU), node("a1", range(8), chips=8, resource=NPU)]})
    result = place(request(1, 3, name=ATLAS_850), made)
    assert only(result) == ("a0", (1, 3, 6))
    assert isinstance(result, Placement) and result.pods[0].annotations["distributed-job"] == "false"


def test_remarks_on_jobs_that_the_scheduler_accepts() -> None:
    """D9, D14 and trap 10."""
    eight = world({0: [node(f"a{i}", chips=8, resource=NPU) for i in range(4)]})
    assert any("1, 2, 4 and 8" in note for note in place(request(1, 5, name=ATLAS_850), eight).trace.notes)
    assert not place(request(1, 4, name=ATLAS_850), eight).trace.notes
    small = request(2, 8, name=ATLAS_850)
    small.annotations["sp-block"] = "4"
    result = place(small, eight)
    assert blocks(result) == {"0": ["a0"], "1": ["a1"]}
    assert any("logical SuperPoD of its own" in note for note in result.trace.notes)
    service = request(2, block=2, labels={"inferserviceid": "x", "pod-rescheduling": "on"})
    assert any("leave the SuperPoD" in note for note in place(service, counted({0: 4})).trace.notes)


def test_invalid_jobs_carry_the_reference_reason() -> None:
    cluster = counted({0: 8})
    cases = [("abc", "InvalidArgument"), ("24", "InvalidArgument"), ("48", "InvalidResourceRequest")]
    for text, reason in cases:
        job = request(4)
        job.annotations["sp-block"] = text
        result = place(job, cluster)
        assert isinstance(result, Invalid) and result.code == reason
    assert isinstance(place(request(1, 3, name="chip2-node16-sp"), cluster), Invalid)  # trap 23


# ------------------------------------------------------------------------------------------------ trace
def test_trace_explains_the_plan() -> None:
    result = place(request(4, block=2), counted({0: 3, 1: 5, 2: 1, 3: 20}, config(limit=20)))
    steps = result.trace.steps
    overview = steps[0][1]
    assert overview["superpods"] == [0, 1, 2, 3]
    assert overview["free"] == [3, 5, 1, 20]
    assert overview["whole"] == [1, 2, 0, 10] and overview["withReserve"] == [0, 1, 0, 9]
    assert list(zip(overview["row"], overview["column"], strict=True)) == [(1, 0), (1, 1), (1, 0), (0, 9)]
    assert overview["order"]["1a"] == [[3], [1]] and overview["order"]["2"] == [[0], [1], [3]]
    took = [data for _, data in steps if "lsp" in data]
    assert [(t["stage"], t["lsp"], t["superpod"], t["before"], t["after"]) for t in took] == [
        ("1a", 0, 1, 5, 3),
        ("1b", 1, 3, 20, 18),
    ]
    unused = {text: data["superpods"] for text, data in steps if "not used" in text}
    assert sorted(unused.values()) == [[0], [2]]
    assert any("reserve" in text for text in unused)


# ------------------------------------------------------------------------------------------------ properties
def random_world(draw: Any) -> tuple[Any, Job]:
    sizes = draw(st.lists(st.integers(1, 12), min_size=1, max_size=5))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    made: dict[int, list[Any]] = {}
    for superpod, count in enumerate(sizes):
        for k in range(count):
            free = range(16) if rng.random() < 0.85 else range(int(rng.integers(0, 16)))
            health = SUB if rng.random() < 0.2 else 0
            made.setdefault(superpod * 7 % 5, []).append(node(f"n{superpod}-{k}", free, health=health))
    size, count = draw(st.integers(1, 4)), draw(st.integers(1, 4))
    labels = {"super-pod-affinity": "soft"} if draw(st.booleans()) else {}
    job = request(size * count, block=size, labels=labels) if size * count > 1 else request(1)
    return world(made, config(draw(st.integers(0, 3)), 60)), job


@given(st.data())
@settings(max_examples=150, deadline=None)
def test_invariants(data: Any) -> None:
    cluster, job = random_world(data.draw)
    result = place(job, cluster)
    if not isinstance(result, Placement):
        return
    nodes = [pod.node for pod in result.pods]
    assert len(set(nodes)) == len(nodes)
    home = {name: int(cluster.superpod[i]) for i, name in enumerate(cluster.names)}
    soft, size = "super-pod-affinity" in job.labels, job.sp_block // 16
    order = []
    for pod in result.pods:
        if not order or order[-1] != pod.group:
            order.append(pod.group)
        assert home[pod.node] == int(pod.annotations["super-pod-id"])
        assert pod.npus == tuple(range(16))
    assert len(set(order)) == len(order)  # ranks of a logical SuperPoD are consecutive
    for members in result.blocks.values():
        assert len({home[name] for name in members}) == 1
        assert soft or len(members) == size
    free = cluster.resources[A910].free
    left: dict[int, int] = {}
    for i, name in enumerate(cluster.names):
        whole = int(free[i]) == 0xFFFF
        left[home[name]] = left.get(home[name], 0) + (whole and name not in nodes)
    reserve = cluster.config.reserve_nodes
    before = {s: n + sum(home[name] == s for name in nodes) for s, n in left.items()}
    if soft or reserve > size or len(nodes) == 1:  # a single pod counts only healthy nodes with least idle chips
        return
    if sum(max(0, n - reserve) // size for n in before.values()) >= job.npus // job.sp_block:
        assert all(left[s] >= reserve for s in {home[name] for name in nodes})


@given(st.data(), st.integers(0, 2**32 - 1))
@settings(max_examples=40, deadline=None)
def test_result_is_the_same_whatever_the_superpod_numbers_mean(data: Any, seed: int) -> None:
    """Shifting all SuperPoD ids by a constant keeps their order and so the plan."""
    cluster, job = random_world(data.draw)
    shifted = replace(cluster, superpod=cluster.superpod + np.int32(seed % 1000))
    first, second = place(job, cluster).to_dict(), place(job, shifted).to_dict()
    assert [(p["rank"], p["node"], p["npus"]) for p in first["pods"]] == [
        (p["rank"], p["node"], p["npus"]) for p in second["pods"]
    ]
    assert first["blocks"] == second["blocks"] and first["code"] == second["code"]
