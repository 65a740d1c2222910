"""Recovery under the rack policy: chapter 21 §11, worked examples W60 to W78 of §15.4."""

from __future__ import annotations

import pytest

from ascendctl.engine.result import Placement, Unschedulable
from tests.engine.policies.rack_world import FULL, Node, blocks, by_rank, expand, expected, job_of, recover

POD = {"fault-scheduling": "force", "pod-rescheduling": "on"}
PROCESS = {"fault-scheduling": "force", "process-recover-enable": "on"}
NONE = {"fault-scheduling": "force"}
AC = "0: S0/r0:n0-3; 1: S0/r1:n0-3"
CA = "0: S0/r1:n0-3; 1: S0/r0:n0-3"
WIDE = "0: S0/r4:n0-7; 1: S0/r0:n0-3 S0/r1:n0-3"
PAIRS = "0: S0/r0:n0,n1; 1: S0/r0:n2,n3"
S1 = "S1/r0:n0-7"
FROM_SCRATCH = "0: S0/r1:n0-3; 1: S0/r1:n4-7"


def job32(labels=POD, **more):
    return job_of(8, sp=32, ra=32, labels=labels, **more)


def job64():
    return job_of(16, sp=64, ra=32, labels=POD)


def pairs(labels=POD):
    return job_of(4, sp=16, ra=8, labels=labels)


# columns: nodes free besides those of the job's pods, earlier blocks, job, faulty ranks, p, result
PLACED = [
    ("W60", f"S0/r0:n4,n5 S0/r1:n4 {S1}", AC, job32(), [2], 1, "0: S0/r0:n0,n1,n4,n3; 1: S0/r1:n0-3"),
    ("W62", "S0/r0:n4,n5 S0/r1:n4", AC, job32(), [2, 6], 2, "0: S0/r0:n0,n1,n4,n3; 1: S0/r1:n0,n1,n4,n3"),
    ("W64", "S0/r2:n0-7", WIDE, job64(), [10, 14], 3, "0: S0/r4:n0-7; 1: S0/r2:n0-7"),
    ("W65", "S0/r0:n5 S0/r1:n4-7", CA, job32(), [6], 3, "0: S0/r1:n0-3; 1: S0/r0:n0,n1,n5,n3"),
    ("W66", "S0/r1:n4-7 S1/r0:n0-3", CA, job32(), [6], 6, "0: S0/r1:n0-3; 1: S0/r1:n4-7"),
    ("W67", "S0/r1:n4-7 S0/r2:n0-4", CA, job32(), [6], 4, "0: S0/r1:n0-3; 1: S0/r1:n4-7"),
    ("W69", f"S0/r1:n4-6 {S1}", CA, job32(), [6], 6, "0: S0/r1:n0-3; 1: S1/r0:n0-3"),
    ("W70", "S0/r1:n4-7", AC, job32(), [0], 0, FROM_SCRATCH),
    ("W71", "S0/r0:n4 S0/r1:n4-7", AC, job32(NONE), [2], 0, FROM_SCRATCH),
    ("W72", "S0/r0:n4 S0/r1:n4-7", AC, job32(), [2], 12, FROM_SCRATCH),
    ("W73", "S0/r1:n0,n1 S0/r2:n0", PAIRS, pairs(), [1], 3, "0: S0/r0:n0 S0/r2:n0; 1: S0/r0:n2,n3"),
    ("W74", "S0/r1:n0,n1 S0/r2:n0 S0/r0:n7", PAIRS, pairs(), [1], 3, "0: S0/r0:n0,n7; 1: S0/r0:n2,n3"),
    ("W78", "S0/r0:n5 S0/r1:n4-7", CA, job32(PROCESS), [6], 5, "0: S0/r1:n0-3; 1: S0/r0:n0,n1,n5,n3"),
]


@pytest.mark.parametrize(("number", "free", "previous", "job", "faulty", "sessions", "result"), PLACED)
def test_placed(number, free, previous, job, faulty, sessions, result):
    assert blocks(recover(free, previous, job, faulty, sessions)) == expected(result), number


@pytest.mark.parametrize(
    ("number", "free", "previous", "job", "faulty", "sessions", "code"),
    [
        ("W61", f"S0/r1:n4,n5 {S1}", AC, job32(), [2], 1, "REPAIR_INCOMPLETE"),
        ("W63", "S0/r2:n0-3 S0/r3:n0-3", WIDE, job64(), [10, 14], 3, "REPAIR_INCOMPLETE"),
        ("W68", f"S0/r1:n4-6 {S1}", CA, job32(), [6], 5, "NO_RACK_FOR_REPAIR"),
        ("W75", "S0/r0:n2", "0: S0/r0:n0,n1; 1: S0/r0:n3,n4", pairs(), [1, 3], 1, "REPAIR_INCOMPLETE"),
    ],
)
def test_refused(number, free, previous, job, faulty, sessions, code):
    result = recover(free, previous, job, faulty, sessions)
    assert isinstance(result, Unschedulable), number
    assert result.code == code, number


def test_w68_and_w61_messages():
    w68 = recover(f"S0/r1:n4-6 {S1}", CA, job32(), [6], 5)
    assert w68.message == "there is no enough nodes for whole rack schedule"
    w61 = recover(f"S0/r1:n4,n5 {S1}", AC, job32(), [2], 1)
    assert w61.message == "selected nodes map[0:[S0-r0-n0 S0-r0-n1 S0-r0-n3]] is invalid"


def test_one_candidate_is_planned_too():
    # trap 23: the scheduler would bind the lost pod to the only candidate, in the wrong rack
    result = recover("S0/r1:n4", AC, job32(), [2], 1)
    assert result.code == "REPAIR_INCOMPLETE"
    assert any("exactly one candidate" in note for note in result.trace.notes)


def test_w76_a_pod_that_still_terminates():
    result = recover("S0/r0:n4,n5", AC, job32(), [2], 1, terminating=[2])
    assert (result.code, result.message) == (
        "POD_TERMINATING",
        "pod train-worker-2 is being graceful delete, unable to reschedule",
    )


def test_w77_soft_placements_cannot_be_repaired_in_place():
    job = job_of(8, sp=64, ra=16, soft=True, labels=POD)
    earlier = "0: S0/r0:n0-1; 8: S0/r1:n0-3; 7: S1/r1:n0-1"
    result = recover("S0/r1:n4", earlier, job, [3], 1)
    assert isinstance(result, Unschedulable)
    assert result.code == "REPAIR_INCOMPLETE"


def test_healthy_pods_keep_nodes_and_chips():
    result = recover(f"S0/r0:n4,n5 {S1}", AC, job32(), [2], 1)
    assert isinstance(result, Placement)
    assert [pod.rank for pod in result.pods if pod.moved] == [2]
    assert all(pod.npus == tuple(range(8)) for pod in result.pods)
    numbers = {key: result.metrics[key] for key in ("stage", "lostPods", "keptPods", "logicalSuperPods", "racks")}
    assert numbers == {"stage": 1, "lostPods": 1, "keptPods": 7, "logicalSuperPods": 2, "racks": 2}


def test_a_repaired_node_is_the_last_choice():
    # the faulty node works again: a free one in the rack comes first, else it takes its pod back
    assert by_rank(recover("S0/r0:n4", AC, job32(), [2], 1, repaired=[2]))[2] == "S0-r0-n4"
    assert by_rank(recover("S0/r1:n5", AC, job32(), [2], 1, repaired=[2]))[2] == "S0-r0-n2"


def test_deletion_of_stage_two_needs_sp_block_under_pod_level_but_not_under_process_level():
    # rank 6 is lost; its window of 4 ranks is deleted too, unless pod-level recovery lacks the annotation sp-block
    free, earlier = "S0/r2:n0-3", "0: S0/r0:n0-3 S0/r1:n0-3"
    by_pod = recover(free, earlier, job_of(8, ra=32, labels=POD), [6], 4)
    assert [pod.rank for pod in by_pod.pods if pod.moved] == [6]
    by_process = recover(free, earlier, job_of(8, ra=32, labels=PROCESS), [6], 4)
    assert [pod.rank for pod in by_process.pods if pod.moved] == [4, 5, 6, 7]


def test_process_level_never_leaves_stage_two():
    free = f"S0/r1:n4-6 {S1}"
    assert recover(free, CA, job32(PROCESS), [6], 30).code == "NO_RACK_FOR_REPAIR"
    assert recover(free, CA, job32(), [6], 30).outcome == "placed"


def test_master_window_and_block():
    # rank 0 shares the logical rack (p >= 3), the logical SuperPoD (p >= 6) of the faulty rank: from scratch
    window = recover("S0/r1:n4-7", AC, job32(), [2], 3)
    assert blocks(window) == expected(FROM_SCRATCH)
    job = job_of(8, sp=64, ra=16, labels=POD)
    block = recover("S0/r1:n4-7", "0: S0/r0:n0-3 S0/r1:n0-3", job, [6], 6)
    assert blocks(block) == expected("0: S0/r0:n0-3 S0/r1:n0-1 S0/r1:n3-4")
    assert block.metrics["lostPods"] == 8


def test_master_window_counts_beyond_stage_two():
    # an earlier soft placement: rank 3 is in group 8, rank 0 in group 0, but both are in the first window of 4 ranks
    job = job_of(8, sp=64, ra=32, soft=True, labels=POD)
    earlier = "0: S0/r0:n0-1; 8: S0/r1:n0-3; 7: S1/r1:n0-1"
    result = recover("S0/r2:n0-7", earlier, job, [3], 7)
    assert blocks(result) == expected("0: S0/r2:n0-7")
    assert result.metrics["lostPods"] == 8


def test_recover_policy_path_pod_deletes_faulty_pods_only():
    job = job32(annotations={"huawei.com/recover_policy_path": "pod"})
    # stage 2 without deleted neighbours: the origin rack has one node (< 4), the smallest rack with 4 takes the pod
    result = recover("S0/r0:n5 S0/r1:n4-7", CA, job, [6], 4)
    assert blocks(result) == expected("0: S0/r1:n0-3; 1: S0/r0:n0,n1 S0/r1:n4 S0/r0:n3")
    assert [pod.rank for pod in result.pods if pod.moved] == [6]


def test_inference_instances_are_planned_anew():
    # block 1 needs four free nodes of one rack although only one pod is lost, and may leave its old neighbours
    job = job32(POD | {"inferserviceid": "svc"})
    result = recover("S0/r0:n4 S0/r1:n4-7 S1/r0:n0-3", AC, job, [6], 1)
    assert [pod.rank for pod in result.pods if pod.moved] == [6]
    assert by_rank(result)[6] == "S1-r0-n2"
    assert recover("S0/r0:n4", AC, job, [6], 1).code == "NOT_ENOUGH_LOGICAL_SUPERPODS"


def test_kind_job_places_all_pods_anew():
    result = recover("S0/r0:n4 S0/r1:n4-7", AC, job32(), [2], 0, kind="job")
    assert blocks(result) == expected(FROM_SCRATCH)


@pytest.mark.parametrize(
    ("free", "stage", "sessions"),
    [
        ("S0/r0:n4", 1, 0),
        ("S0/r1:n4-7 S0/r2:n0-4", 2, 3),
        (f"S0/r1:n4-6 {S1}", 3, 6),
    ],
)
def test_auto_takes_the_first_stage_that_works(free, stage, sessions):
    previous, faulty = CA, [6]
    result = recover(free, previous, job32(), faulty, 0, kind="auto")
    assert isinstance(result, Placement)
    assert result.metrics["stage"] == stage
    assert any(f"waits {sessions} pending sessions" in note for note in result.trace.notes)


def test_auto_ends_with_the_whole_job():
    # block 1 cannot move (no rack with 4 free nodes), but with all pods deleted rack 1 holds the job
    result = recover("S0/r1:n4-7", "0: S0/r1:n0-3; 1: S2/r0:n0-3", job32(), [6], 0, kind="auto")
    assert isinstance(result, Placement)
    assert result.metrics["stage"] in (3, 4)


def test_auto_without_rescheduling_labels_is_the_whole_job():
    result = recover("S0/r0:n4 S0/r1:n4-7", AC, job32(NONE), [2], 0, kind="auto")
    assert blocks(result) == expected(FROM_SCRATCH)
    assert result.metrics["stage"] == 4


def test_fault_scheduling_off_is_told():
    result = recover("S0/r0:n4", AC, job32({"pod-rescheduling": "on"}), [2], 0)
    assert any("fault-scheduling" in note for note in result.trace.notes)


def test_explanation_names_what_moves():
    result = recover(f"S0/r0:n4,n5 {S1}", AC, job32(), [2], 1)
    first, last = result.trace.steps[0], result.trace.steps[-1]
    assert first[1] == {"stage": 1, "faultyNodes": ["S0-r0-n2"], "lostRanks": [2]}
    assert last[1]["moves"] == [{"rank": 2, "from": "S0-r0-n2", "to": "S0-r0-n4", "where": "same rack"}]


def test_nothing_lost_nothing_moves():
    result = recover("S0/r0:n4", AC, job32(), [], 1)
    assert isinstance(result, Placement)
    assert not any(pod.moved for pod in result.pods)


def test_an_oversized_superpod_stops_a_repair_too():
    result = recover(f"S0/r0:n4 {S1}", AC, job32(), [2], 1, size=7)
    assert result.code == "SUPER_POD_SIZE_TOO_SMALL"


def test_stage_three_counts_kept_nodes_as_taken():
    # T = 8 candidates are asked for in one SuperPoD although only 4 nodes are needed
    result = recover("S0/r2:n0-3 S1/r0:n0-7", CA, job32(), [6], 7)
    assert blocks(result) == expected("0: S0/r1:n0-3; 1: S1/r0:n0-3")


def test_soft_job_after_an_earlier_soft_placement_gets_all_pods_placed():
    job = job_of(12, sp=48, ra=16, soft=True, labels=POD)
    earlier = "0: S0/r0:n0-5; 1: S0/r1:n0-1; 12: S1/r0:n0-3"
    result = recover("S1/r0:n4-7 S0/r1:n2", earlier, job, [8], 7)
    assert isinstance(result, Placement)
    assert len(set(by_rank(result))) == 12
    assert by_rank(result)[:6] == expand("S0/r0:n0-5")


def test_node_that_left_the_snapshot_counts_as_faulty():
    from ascendctl.engine.api import reschedule
    from tests.engine.policies.rack_world import Running, cluster_of

    job = job_of(2, sp=16, ra=8, labels=POD)
    nodes = [Node("a", 0, 0, used=FULL), Node("c", 0, 1)]
    document = {
        "pods": [
            {"name": job.pods[i].name, "rank": i, "node": name, "npus": list(range(8))} for i, name in enumerate("ab")
        ],
        "fault": {"kind": "pod", "pending_sessions": 4},
    }
    running = [Running("train", job.pods[0].name, "a", FULL, 0, job.labels)]
    result = reschedule(job, cluster_of(nodes, 64, running), document, [])
    assert by_rank(result) == ["a", "c"]


def test_a_pod_without_npus_stays_while_its_node_is_fine():
    from ascendctl.engine.api import reschedule
    from tests.engine.policies.rack_world import Running, cluster_of

    job = job_of(1, 8, 8, 8, helpers=1, labels=POD)
    nodes = [Node("a", 0, 0), Node("b", 0, 0, used=FULL, healthy=False), Node("c", 0, 0)]
    document = {
        "pods": [
            {"name": job.pods[0].name, "rank": 0, "node": "b", "npus": list(range(8))},
            {"name": job.pods[1].name, "rank": 1, "node": "c", "npus": []},
        ],
        "fault": {"kind": "pod", "pending_sessions": 1},
    }
    running = [Running("train", job.pods[0].name, "b", FULL, 0, job.labels)]
    result = reschedule(job, cluster_of(nodes, 64, running), document, ["b"])
    assert [(pod.node, pod.moved) for pod in result.pods] == [("a", True), ("c", False)]
