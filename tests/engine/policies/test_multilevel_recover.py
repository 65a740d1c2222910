"""Rescheduling of multi-level jobs: worked examples of chapter 22 §9.5, the rules of §6 and §8.7."""

from __future__ import annotations

from typing import Any

import pytest

from ascendctl.engine.api import reschedule
from ascendctl.engine.fault import FaultError
from ascendctl.engine.result import Placement, Unschedulable
from tests import cases
from tests.engine.policies.tree_world import Z, groups, inputs, make_case, units

JOB_Z = "a0,a1 | b0,b1 | c0,c1 | d0,d1"
Z_E = "G0{S0:a0 a1 a2; S1:b0 b1 b2; S4:e0 e1} G1{S2:c0 c1 c2; S3:d0 d1 d2}"
Z_F = "G0{S0:a0 a1 a2; S1:b0 b1 b2} G1{S2:c0 c1 c2; S3:d0 d1 d2; S5:f0 f1}"
Z_GH = Z + " G2{S6:g0..g2; S7:h0..h2}"
FLAT = "R0:p0 p1 p2; R1:q0 q1; R2:r0 r1"


def recover(
    fleet: str,
    before: str,
    lost: str,
    free: str,
    escalation: int | str | None,
    *,
    reserve: int = 1,
    config: str = "level1=2,level2=4",
    kind: str = "pod",
    working: str = "",
    **more: Any,
) -> Any:
    """Lose the nodes `lost` of a job; `free` are all nodes that are free then, `working` lost nodes that work again."""
    nodes = before.replace("|", " ").replace(",", " ").split()
    previous = [{"rank": i, "node": name, "chips": "0xffff"} for i, name in enumerate(nodes)]
    faulty = lost.split()
    fault = {"previous": previous, "faulty": faulty, "kind": kind, "max_escalation": escalation}
    everything = [name for _, name in units(fleet)]
    survivors = [name for name in nodes if name not in faulty] if kind == "pod" else []
    busy = [n for n in everything if n not in free.split() and n not in nodes]
    broken = {name: {"status": "UnHealthy"} for name in faulty if name not in working.split()}
    case = make_case(
        fleet, len(nodes), config, reserve=reserve, fault=fault,
        busy=" ".join(busy), survivors=" ".join(survivors), more=broken, **more,
    )  # fmt: skip
    job, cluster = inputs(case)
    return reschedule(job, cluster, cases.previous(case) or {}, faulty)


PLACED = [
    ("V01", Z, "b1", "a2 b2 c2 d2", 0, "a0,a1 | b0,b2 | c0,c1 | d0,d1"),
    ("V02", Z, "b0", "a2 b2 c2 d2", 0, "a0,a1 | b2,b1 | c0,c1 | d0,d1"),
    ("V03", Z, "a0 c1", "a2 b2 c2 d2", 0, "a2,a1 | b0,b1 | c0,c2 | d0,d1"),
    ("V06", Z_E, "a0", "b2 c2 d2 e0 e1", 1, "e0,e1 | b0,b1 | c0,c1 | d0,d1"),
    ("V08", Z_E, "a0 a1", "a2 b2 e0 e1", 0, "e0,e1 | b0,b1 | c0,c1 | d0,d1"),
    ("V10", Z_GH, "a0 a1", "a2 g0 g1 g2 h0 h1 h2", 4, "g0,g1 | h0,h1 | c0,c1 | d0,d1"),
]


@pytest.mark.parametrize("row", PLACED, ids=[row[0] for row in PLACED])
def test_placed(row: tuple[Any, ...]) -> None:
    _, fleet, lost, free, escalation, expected = row
    result = recover(fleet, JOB_Z, lost, free, escalation)
    assert isinstance(result, Placement)
    assert groups(result) == expected
    before = JOB_Z.replace("|", " ").replace(",", " ").split()
    assert [pod.moved for pod in result.pods] == [pod.node != before[pod.rank] for pod in result.pods]
    assert "fragment_score" not in result.metrics
    assert result.metrics["tree"] == "default"


@pytest.mark.parametrize(
    ("fleet", "lost", "free", "escalation"),
    [
        (Z, "a0", "b2 c2 d2", 0),
        (Z, "a0", "b2 c2 d2", 1),
        (Z_E, "a0", "b2 c2 d2 e0 e1", 0),
        (Z_F, "a0 a1", "a2 b2 f0 f1", 1),
        (Z, "a0 a1", "a2 b2 c2 d2", 4),
    ],
    ids=["V04", "V05", "V07", "V09", "V11"],
)
def test_no_replacement(fleet: str, lost: str, free: str, escalation: int) -> None:
    result = recover(fleet, JOB_Z, lost, free, escalation)
    assert isinstance(result, Unschedulable)
    assert result.code == "ML-R01"
    assert result.message.startswith("rescheduleWithSuperPods: all escalation levels exhausted")


@pytest.mark.parametrize(
    ("lost", "escalation", "expected"),
    [
        ("p1", 0, "p0,p2 | q0,q1"),
        ("q0 q1", 0, "p0,p1 | r0,r1"),
        ("q1", 0, None),
        ("q1", 1, "p0,p1 | r0,r1"),
    ],
    ids=["V12", "V13", "V14", "V15"],
)
def test_one_level(lost: str, escalation: int, expected: str | None) -> None:
    result = recover(FLAT, "p0,p1 | q0,q1", lost, "p2 r0 r1", escalation, reserve=0, config="level1=2")
    if expected is None:
        assert result.code == "ML-R01"
    else:
        assert groups(result) == expected
    assert any("level1 only" in note for note in result.trace.notes)


def test_v16_whole_job_with_too_few_candidates() -> None:
    result = recover(FLAT, "p0,p1 | q0,q1", "p0 p1 q0 q1", "p2 r0 r1", 3, reserve=0, config="level1=2")
    assert result.code == "ML-P01"


def test_node_that_works_again_is_kept() -> None:
    result = recover(Z, JOB_Z, "b1", "a2 b2 c2 d2", 0, working="b1")
    assert groups(result) == JOB_Z
    assert not any(pod.moved for pod in result.pods)
    assert result.metrics["tree"] == "default"
    assert result.trace.scores == (("b1", 9_999_993_600), ("a2", 0), ("b2", 0), ("c2", 0), ("d2", 0))


def test_whole_job_recreated_moves_only_the_broken_node() -> None:
    result = recover(Z, JOB_Z, "b0", "a2 b2 c2 d2", "job", kind="job")
    assert groups(result) == "a0,a1 | b2,b1 | c0,c1 | d0,d1"
    assert [pod.rank for pod in result.pods if pod.moved] == [2]


def test_whole_job_lost_keeps_places_in_the_same_group() -> None:
    """A node that returns to its old group keeps its local position (chapter 22 §5.1 item 4)."""
    result = recover("S0:a0 a1 a2", "a1,a0", "a1 a0", "a2", "job", reserve=0, config="level1=2", working="a0")
    assert groups(result) == "a2,a0"


def test_chips_of_survivors_and_of_new_pods() -> None:
    result = recover(Z, JOB_Z, "b1", "a2 b2 c2 d2", 0)
    assert {pod.npus for pod in result.pods} == {tuple(range(16))}
    assert [pod.name for pod in result.pods][:2] == ["train-master-0", "train-worker-0"]


def test_survivor_given_up_may_return_to_its_node() -> None:
    """V05 with a free neighbour in the same unit as the survivor: the group is rebuilt around it."""
    fleet = "G0{S0:a0 a1 a2; S1:b0 b1 b2; S4:e0} G1{S2:c0 c1 c2; S3:d0 d1 d2}"
    result = recover(fleet, JOB_Z, "a0", "a2 e0", 1)
    assert groups(result) == "a2,a1 | b0,b1 | c0,c1 | d0,d1"


def test_unit_of_the_parent_is_found_through_lost_nodes_too() -> None:
    """A node that left the snapshot: the other pods of its group tell the unit."""
    case = make_case(Z, 8, "level1=2,level2=4", reserve=1, survivors="a0 a1 b0 c0 c1 d0 d1")
    case["nodes"] = [node for node in case["nodes"] if node["name"] != "b1"]
    before = JOB_Z.replace("|", " ").replace(",", " ").split()
    case["job"]["fault"] = {
        "previous": [{"rank": i, "node": n, "chips": "0xffff"} for i, n in enumerate(before)],
        "faulty": ["b1"], "kind": "pod",
    }  # fmt: skip
    job, cluster = inputs(case)
    result = reschedule(job, cluster, cases.previous(case) or {}, ["b1"])
    assert groups(result) == "a0,a1 | b0,b2 | c0,c1 | d0,d1"


def test_steps_tell_what_stays_and_moves() -> None:
    texts = [text for text, _ in recover(Z_E, JOB_Z, "a0", "b2 c2 d2 e0 e1", 1).trace.steps]
    assert texts == [
        "attempt 1: 1 pod(s) lost, 7 keep node and rank",
        "attempt 1 failed: G0/S0 has no place for rank 0: 0 free nodes there",
        "attempt 2: 2 pod(s) given up together, 6 keep node and rank",
        "ranks 0 to 1 placed again inside G0: e0, e1, of which 1 kept in reserve until now",
    ]


@pytest.mark.parametrize("escalation", ["whole", -1, "1.5", "-2"])
def test_unreadable_escalation(escalation: int | str) -> None:
    with pytest.raises(FaultError, match="max_escalation"):
        recover(Z, JOB_Z, "b1", "a2 b2 c2 d2", escalation)


@pytest.mark.parametrize(("lost", "free"), [("a0", "a1 b2 c2"), ("b1", "a1 a2 b2")])
def test_two_former_pods_on_a_node(lost: str, free: str) -> None:
    with pytest.raises(FaultError, match="run on node a0, but each takes a whole node"):
        recover(Z, "a0,a0 | b0,b1 | c0,c1 | d0,d1", lost, free, 0)


def test_escalation_as_text_and_by_default() -> None:
    assert groups(recover(Z_E, JOB_Z, "a0", "e0 e1", "1")) == "e0,e1 | b0,b1 | c0,c1 | d0,d1"
    assert recover(Z_E, JOB_Z, "a0", "e0 e1", None).code == "ML-R01"


@pytest.mark.parametrize(
    ("sessions", "labels", "lost", "moved"),
    [
        (5, {"pod-rescheduling": "on"}, "b0", False),
        (6, {"pod-rescheduling": "on"}, "b0", True),
        (1, {}, "b0", True),
        (12, {"pod-rescheduling": "on"}, "b0", True),
        (3, {"pod-rescheduling": "on"}, "a0", True),
    ],
    ids=["one session below", "level1", "no pod rescheduling", "whole job", "master lost"],
)
def test_sessions_waited(sessions: int, labels: dict[str, str], lost: str, moved: bool) -> None:
    """Chapter 22 §6.2, where the fault says how long the pods have waited but sets no limit."""
    nodes = JOB_Z.replace("|", " ").replace(",", " ").split()
    fault = {
        "previous": [{"rank": i, "node": name, "chips": "0xffff"} for i, name in enumerate(nodes)],
        "faulty": [lost], "kind": "pod", "pending_sessions": sessions,
    }  # fmt: skip
    case = make_case(
        Z_E, 8, "level1=2,level2=4", fault=fault, labels=labels, busy="a2 b2 c2 d2",
        survivors=" ".join(name for name in nodes if name != lost), more={lost: {"status": "UnHealthy"}},
    )  # fmt: skip
    job, cluster = inputs(case)
    result = reschedule(job, cluster, cases.previous(case) or {}, [lost])
    assert (result.outcome == "placed") == moved


def test_limit_pod_forbids_widening() -> None:
    result = recover(Z_E, JOB_Z, "a0", "e0 e1", None, annotations={"huawei.com/recover_policy_path": "pod"})
    assert result.code == "ML-R01"


def test_level1_groups_deleted_together() -> None:
    """Kind "lsp": every pod of a level-1 group with a broken node was deleted; only the broken node is replaced."""
    nodes = JOB_Z.replace("|", " ").replace(",", " ").split()
    fault = {
        "previous": [{"rank": i, "node": name, "chips": "0xffff"} for i, name in enumerate(nodes)],
        "faulty": ["b1"], "kind": "lsp",
    }  # fmt: skip
    case = make_case(
        Z, 8, "level1=2,level2=4", fault=fault, survivors="a0 a1 c0 c1 d0 d1", more={"b1": {"status": "UnHealthy"}}
    )
    job, cluster = inputs(case)
    result = reschedule(job, cluster, cases.previous(case) or {}, ["b1"])
    assert groups(result) == "a0,a1 | b0,b2 | c0,c1 | d0,d1"


def test_previous_without_a_rank() -> None:
    case = make_case(Z, 8, "level1=2,level2=4", survivors="a0")
    job, cluster = inputs(case)
    previous = {"outcome": "placed", "pods": [{"name": "x", "rank": 0, "node": "a0", "npus": list(range(16))}]}
    result = reschedule(job, cluster, previous, ["b0"])
    assert result.code == "ML-R01"
    assert "rank 1" in result.message


def test_nodes_that_left_their_unit() -> None:
    """The labels changed since: the parent has no unit any more, so the pod cannot be replaced below it."""
    more = {"b0": {"labels": {"huawei.com/topotree.rackid": "S9"}}, "b1": {"status": "UnHealthy"}}
    case = make_case(Z, 8, "level1=2,level2=4", survivors="a0 a1 b0 c0 c1 d0 d1", more=more)
    nodes = JOB_Z.replace("|", " ").replace(",", " ").split()
    case["job"]["fault"] = {
        "previous": [{"rank": i, "node": n, "chips": "0xffff"} for i, n in enumerate(nodes)],
        "faulty": ["b1"], "kind": "pod",
    }  # fmt: skip
    job, cluster = inputs(case)
    result = reschedule(job, cluster, cases.previous(case) or {}, ["b1"])
    assert result.code == "ML-R01"
    assert "no longer share one level1 unit" in result.message
