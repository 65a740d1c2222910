"""What `reschedule` reads of an earlier placement, and the working arrays at the moment of planning."""

from __future__ import annotations

from typing import Any

import pytest

from ascendctl.engine.fault import Fault, FaultError, read_fault, settle
from ascendctl.engine.state import new_state
from tests.engine.build import A910, Node, Pod, cluster

NODES = [Node("n0", ()), Node("n1", range(4, 8), unhealthy=[0]), Node("n2", range(8))]
PODS = [
    Pod("job-0", "n0", "job", 0, range(8)),
    Pod("job-1", "n1", "job", 1, range(4)),
    Pod("other-0", "n0", "other", 0),
]


def previous(**more: Any) -> dict[str, Any]:
    pods = [
        {"name": "job-1", "role": "Worker", "rank": 1, "node": "n1", "npus": [1, 2, 3], "annotations": {"k": 1}},
        {"name": "job-0", "role": "Master", "rank": 0, "node": "n0", "npus": list(range(8))},
    ]
    return {"outcome": "placed", "pods": pods, "blocks": {"0": ["n0", "n1"]}} | more


def test_reads_a_result_document() -> None:
    fault = read_fault(previous(fault={"kind": "pod", "pending_sessions": 7}), ["n1", "gone", "n1"], cluster(NODES))
    assert [(pod.rank, pod.node, pod.index) for pod in fault.pods] == [(0, "n0", 0), (1, "n1", 1)]
    assert fault.pods[1].chips == 0b1110 and fault.pods[1].annotations == {"k": "1"}
    assert (fault.kind, fault.pending_sessions, fault.faulty) == ("pod", 7, ("n1", "gone"))
    assert fault.blocks == {"0": ("n0", "n1")}
    assert [pod.rank for pod in fault.fault_pods] == [1]


def test_absent_fault_means_the_first_attempt_at_job_level() -> None:
    fault = read_fault(previous(), [], cluster(NODES))
    assert (fault.kind, fault.pending_sessions, fault.max_escalation, fault.waited_seconds) == ("job", 0, None, None)


@pytest.mark.parametrize(
    ("document", "text"),
    [
        ([], "not a mapping"),
        ({"outcome": "unschedulable"}, "not a placement"),
        ({"pods": []}, "no pods"),
        ({"pods": "x"}, "no pods"),
        (previous(fault=[1]), "must be mappings"),
        (previous(fault={"kind": "rack"}), "expected one of job, pod, lsp, auto"),
        (previous(fault={"pending_sessions": -1}), "fault.pending_sessions"),
        (previous(fault={"pending_sessions": True}), "fault.pending_sessions"),
        (previous(fault={"max_escalation": []}), "fault.max_escalation"),
        (previous(fault={"waited_seconds": "5"}), "fault.waited_seconds"),
        (previous(blocks={"0": "n0"}), "not a list of node names"),
        ({"pods": [{"name": "p", "node": "n0"}, {"name": "p", "node": "n1"}]}, "pods[1]: pod p is listed twice"),
        ({"pods": ["x"]}, "pods[0] of the previous placement is not a mapping"),
        ({"pods": [{"node": 3}]}, "pods[0].node"),
        ({"pods": [{"node": "n0", "npus": "0"}]}, "pods[0].npus"),
        ({"pods": [{"node": "n0", "npus": [64]}]}, "chip ids from 0 to 63"),
        ({"pods": [{"node": "n0", "npus": [1.5]}]}, "pods[0].npus"),
        ({"pods": [{"node": "n0", "rank": "1"}]}, "pods[0].rank"),
        ({"pods": [{"node": "n0", "annotations": [1]}]}, "pods[0].annotations"),
    ],
)
def test_bad_documents_are_named(document: Any, text: str) -> None:
    with pytest.raises(FaultError) as raised:
        read_fault(document, [], cluster(NODES))
    assert text in str(raised.value)


def settled(lost: tuple[int, ...], stay: tuple[int, ...], pods: list[Pod], namespace: str = "default") -> Any:
    made = cluster(NODES, pods)
    fault: Fault = read_fault(previous(), [], made)
    state = new_state(made, A910)
    deleted = settle(state, made, namespace, [fault.pods[i] for i in lost], [fault.pods[i] for i in stay])
    return state, deleted, made


def test_lost_pods_give_their_healthy_chips_back() -> None:
    state, deleted, made = settled((0, 1), (), PODS)
    assert state.free.tolist() == [0xFF, 0xFE, 0xFF]  # chip 0 of n1 is unhealthy
    assert state.idle.tolist() == [8, 8, 8]
    assert state.list_length.tolist() == [8, 7, 8]
    assert [made.pods.names[i] for i in range(3) if deleted[i]] == ["job-0", "job-1"]
    assert made.resources[A910].free.tolist() == [0, 0xF0, 0xFF]  # the snapshot itself never changes


def test_pods_of_other_names_namespaces_or_nodes_keep_theirs() -> None:
    assert settled((0,), (), PODS, "elsewhere")[0].free[0] == 0
    moved = [Pod("job-0", "n2", "job", 0, range(8)), *PODS[1:]]
    assert settled((0,), (), moved)[0].free[0] == 0


def test_survivors_unknown_to_the_snapshot_take_their_chips() -> None:
    made = cluster([Node("n0", range(8)), Node("n1", range(8))])
    fault = read_fault(previous(), [], made)
    state = new_state(made, A910)
    settle(state, made, "default", [], fault.pods)
    assert state.free.tolist() == [0, 0xF1]
    assert state.idle.tolist() == [0, 5]


def test_survivors_in_the_snapshot_are_not_counted_twice() -> None:
    state, deleted, _ = settled((), (0, 1), PODS)
    assert state.idle.tolist() == [0, 4, 8] and not deleted.any()
