"""Rescheduling of super-pod jobs: worked examples 12.10, §9 and the traps of chapter 20."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ascendctl.engine.api import place, reschedule
from ascendctl.engine.fault import FaultError
from ascendctl.engine.policies.superpod_fault import Loss, OldPlan, fault_stage
from ascendctl.engine.result import Placement
from ascendctl.snapshot.cluster import SUB_HEALTHY_CARD, Cluster
from tests.engine.build import NPU, Pod
from tests.engine.policies.superpods import ATLAS_850, blocks, code, config, earlier, lettered, node, request, world

OLD = ("a0", "a1", "b0", "b1")
POD = {"pod-rescheduling": "on", "fault-scheduling": "force"}
SOFT = {"super-pod-affinity": "soft", "fault-scheduling": "force"}


def again(
    free: str,
    faulty: str,
    kind: str,
    *,
    old: Sequence[str] = OLD,
    size: int = 2,
    labels: dict[str, str] | None = None,
    dead: bool = True,
    name: str = "chip2-node16-sp",
    cluster: Cluster | None = None,
    **fault: Any,
) -> Any:
    """Reschedule a job that ran on `old`. `free`: names of the candidates, released ones included; survivors hold their
    nodes. `dead` False: the faulty nodes work again and are among the candidates."""
    chips = 8 if name == ATLAS_850 else 16
    job = request(len(old), chips, size, name, {"fault-scheduling": "force"} | (labels or {}))
    broken = faulty.split()
    blocks = {i // size for i, at in enumerate(old) if at in broken}
    alive = [
        at
        for i, at in enumerate(old)
        if (kind == "pod" and at not in broken) or (kind == "lsp" and i // size not in blocks)
    ]
    candidates = free.split()
    if cluster is None:
        missing = [at for at in old if at not in candidates and at not in broken and at not in alive]
        cluster = lettered(candidates, chips, broken if dead else (), [*alive, *missing])
        if name == ATLAS_850:
            cluster = replace(cluster, resources={NPU: next(iter(cluster.resources.values()))})
    return reschedule(job, cluster, earlier(job, old, size, chips, kind=kind, **fault), broken)


def at(result: Any) -> list[str]:
    """Nodes by rank."""
    assert isinstance(result, Placement), result
    return [pod.node for pod in result.pods]


def test_r1_job_level_keeps_positions() -> None:
    result = again("a0 a1 a2 b1 b2", "b0", "job")
    assert blocks(result) == {"0": ["a0", "a1"], "1": ["b2", "b1"]}
    assert [pod.moved for pod in result.pods] == [False, False, True, False]
    assert [pod.annotations["super-pod-rank"] for pod in result.pods] == ["0", "0", "1", "1"]
    texts = [text for text, _ in result.trace.steps]
    assert texts[0] == "4 of 4 pods are scheduled again (job level), 1 move"
    assert "L0 keeps its 2 nodes in SuperPoD 0" in texts
    assert "L1 is repaired in SuperPoD 1: b0 -> b2" in texts


def test_r2_logical_superpod_moves_if_its_superpod_is_short() -> None:
    result = again("a0 a1 b1 c0 c1 c2", "b0", "job")
    assert blocks(result) == {"0": ["a0", "a1"], "1": ["c0", "c1"]}
    assert any("L1 cannot be repaired: SuperPoD 1 has 1 free nodes, 2 are needed" in t for t, _ in result.trace.steps)


def test_r3_no_superpod_can_take_it() -> None:
    result = again("a0 a1 a2 b1", "b0", "job")
    assert code(result) == "NOT_ENOUGH_LOGICAL_SUPERPODS"
    assert "1 logical SuperPoDs of 2 nodes are needed, 0 fit" in result.message


def test_r4_pod_level_replaces_one_node() -> None:
    result = again("b2 c0 c1", "b0", "pod", labels=POD)
    assert at(result) == ["a0", "a1", "b2", "b1"]
    assert [pod.moved for pod in result.pods] == [False, False, True, False]
    assert all(len(pod.npus) == 16 for pod in result.pods)


def test_r5_pod_level_without_spare() -> None:
    result = again("c0 c1", "b0", "pod", labels=POD)
    assert code(result) == "UNSCHEDULABLE_IN_SUPERPOD"
    assert "SuperPoD 1 has 0 free nodes for 1 lost pods" in result.message
    assert any("after 6 sessions" in note and "after 12 sessions" in note for note in result.trace.notes)


def test_r6_r7_level_of_the_logical_superpod() -> None:
    assert at(again("b1 c0 c1", "b0", "lsp", labels=POD)) == ["a0", "a1", "c0", "c1"]
    assert at(again("b1 b2 c0 c1", "b0", "lsp", labels=POD)) == ["a0", "a1", "b2", "b1"]


def test_r8_r9_pod_level_with_s_or_more_spares() -> None:
    eight = again("b2 b3", "b0", "pod", labels=POD)
    assert at(eight) == ["a0", "a1", "b2", "b1"]
    assert any("names other nodes for pods that still run" in note for note in eight.trace.notes)
    assert at(again("b2 b3 b4", "b0", "pod", labels=POD)) == ["a0", "a1", "b4", "b1"]


def test_r10_r11_waiting_for_released_nodes() -> None:
    waiting = again("a0 b1 b2", "b0", "job", waited_seconds=5)
    assert code(waiting) == "NOT_ENOUGH_NODES"  # three candidates for four pods: refused before the fault stage
    waiting = again("a0 b1 b2 c0", "b0", "job", waited_seconds=5)
    assert code(waiting) == "WAIT_RELEASE"
    assert "a1" in waiting.message
    result = again("a0 b1 b2 c0 c1", "b0", "job", waited_seconds=11)
    assert blocks(result) == {"0": ["c0", "c1"], "1": ["b2", "b1"]}
    assert at(again("a0 b1 b2 c0 c1", "b0", "job")) == ["c0", "c1", "b2", "b1"]


def test_r12_r13_two_broken_logical_superpods_in_one_superpod() -> None:
    """D13: the healthy node of the second one is taken last."""
    old = ("a0", "a1", "a2", "a3")
    moved = again("a1 a3 a4 b0 b1 b2", "a0 a2", "job", old=old)
    assert blocks(moved) == {"0": ["a4", "a1"], "1": ["b0", "b1"]}
    stayed = again("a1 a3 a4 a5", "a0 a2", "job", old=old)
    assert blocks(stayed) == {"0": ["a4", "a1"], "1": ["a5", "a3"]}


def test_r14_a_repaired_fault_node_is_the_last_resort() -> None:
    assert at(again("a0 a1 b0 b1", "b0", "job", dead=False)) == ["a0", "a1", "b0", "b1"]
    assert at(again("a0 a1 b0 b1 b2", "b0", "job", dead=False)) == ["a0", "a1", "b2", "b1"]


@pytest.mark.parametrize(("name", "fits"), [(ATLAS_850, 3), ("chip2-node16-sp", 5)])
def test_a_superpod_above_the_limit_refuses_the_job_even_if_nothing_is_left_to_place(name: str, fits: int) -> None:
    """§5 and §6.2: classify follows the fault stage whatever that has repaired. Z=3, S=2, R=2: Atlas 850 tolerates 3
    candidates, the A3 table has two columns and holds up to 5."""
    chips = 8 if name == ATLAS_850 else 16

    def run(count: int) -> Any:
        free = " ".join(["a0", "a1", "b1", "b2", *(f"c{i}" for i in range(count))])
        made = lettered(free.split(), chips, ["b0"], ())
        if name == ATLAS_850:
            made = replace(made, resources={NPU: next(iter(made.resources.values()))})
        return again(free, "b0", "job", name=name, cluster=replace(made, config=config(limit=3)))

    assert at(run(fits)) == ["a0", "a1", "b2", "b1"]
    assert code(run(fits + 1)) == "SUPER_POD_SIZE_TOO_SMALL"


def test_r15_two_fault_positions() -> None:
    old = ("a0", "a1", "a2", "a3")
    assert at(again("a4 a5", "a1 a3", "pod", old=old, size=4, labels=POD)) == ["a0", "a4", "a2", "a5"]


def test_r16_soft_fragments_get_new_ids() -> None:
    result = again("a0 a1 b1 c0", "b0", "job", labels=SOFT)
    assert blocks(result) == {"0": ["a0", "a1"], "1": ["b1"], "2": ["c0"]}


def test_r17_soft_ranks_shift_behind_a_shortened_block() -> None:
    result = again("b0 b1 c0 d0", "a0 a1", "job", labels=SOFT)
    assert blocks(result) == {"0": ["c0"], "1": ["b0", "b1"], "2": ["d0"]}
    assert at(result) == ["c0", "b0", "b1", "d0"]
    assert any("shift" in note for note in result.trace.notes)


def test_r18_soft_takes_no_fragments_at_the_level_between() -> None:
    assert code(again("b1 c0", "b0", "lsp", labels=SOFT | POD)) == "NOT_ENOUGH_LOGICAL_SUPERPODS"


def test_the_stage_itself_reports_r8() -> None:
    """§9.5: the stored plan gives both positions new nodes, although only the lost one is used."""
    a0, a1, b0, b1, b2, b3 = range(6)
    old = OldPlan({0: (a0, a1), 1: (b0, b1)}, {0: 0, 1: 1})
    loss = Loss(frozenset({b0}), frozenset({b0}), 1, pod_level=True)
    result = fault_stage(old, loss, {1: [b2, b3]}, 2, ["a0", "a1", "b0", "b1", "b2", "b3"])
    assert result.plan == {0: (a0, a1), 1: (b2, b3)}
    assert result.left == {1: []}


@pytest.mark.parametrize(("spares", "corrected"), [("a8 a9", False), ("a8 a9 a10 a11 a12", True)])
def test_two_logical_superpods_with_one_lost_pod_each(spares: str, corrected: bool) -> None:
    """§9.5: two blocks of four in one SuperPoD; with five spares the reference spends four of them on the first block."""
    old = tuple(f"a{i}" for i in range(8))
    result = again(spares, "a1 a6", "pod", old=old, size=4, labels=POD)
    nodes = at(result)
    assert [i for i in range(8) if nodes[i] != old[i]] == [1, 6]
    assert nodes[1] in spares.split() and nodes[6] in spares.split()
    assert any("several logical SuperPoDs lost single pods" in note for note in result.trace.notes) is corrected


def test_a_partly_lost_block_never_leaves_its_superpod() -> None:
    """One block is lost whole, so the reference would go on; the other has no spare beside its running pod."""
    old = ("a0", "a1", "b0", "b1")
    result = again("c0 c1 c2 c3 c4 c5", "a0 a1 b0", "pod", old=old, labels=POD)
    assert code(result) == "UNSCHEDULABLE_IN_SUPERPOD"


def test_atlas_850_levels_follow_the_labels() -> None:
    assert at(again("b2 c0", "b1", "pod", labels={"process-recover-enable": "on"}, name=ATLAS_850)) == [
        "a0",
        "a1",
        "b0",
        "b2",
    ]
    assert blocks(again("a0 a1 a2 b1 b2", "b0", "job", name=ATLAS_850)) == {"0": ["a0", "a1"], "1": ["b2", "b1"]}
    # all pods deleted although pod-rescheduling is on (master fault): nobody is given a node twice
    result = again("a0 a1 b1 b2", "b0", "job", labels=POD, name=ATLAS_850, pending_sessions=3)
    assert at(result) == ["a0", "a1", "b2", "b1"]


# ------------------------------------------------------------------------------------------------ levels
def test_auto_takes_the_first_level_that_works() -> None:
    job = request(4, block=2, labels=POD)
    pods = [Pod(f"{job.name}-worker-{i}", at, "job", i, range(16)) for i, at in enumerate(OLD)]

    def run(spares: str) -> Any:
        names = [*OLD, *spares.split()]
        made: dict[int, list[Any]] = {}
        for name in names:
            made.setdefault(ord(name[0]) - 97, []).append(
                node(name, () if name in OLD else None, health=1 if name == "b0" else 0)
            )
        before = earlier(job, OLD, 2, kind="auto")
        # rank 0 belongs to a worker, so its fault is no master fault either
        for pod in before["pods"]:
            pod["role"] = "Worker"
        return reschedule(job, world(made, pods=pods), before, ["b0"])

    one = run("b2")
    assert at(one) == ["a0", "a1", "b2", "b1"] and any("pod level, reached at once" in n for n in one.trace.notes)
    two = run("c0 c1")
    assert at(two) == ["a0", "a1", "c0", "c1"] and any("lsp level, reached after 6" in n for n in two.trace.notes)
    three = run("")
    assert code(three) == "NOT_ENOUGH_NODES"
    assert any("job level" in note for note in three.trace.notes)


def test_nothing_moves_if_no_pod_ran_on_the_broken_node() -> None:
    result = again("b2", "c9", "pod", labels=POD)
    assert at(result) == list(OLD)
    assert any("nothing moves" in note for note in result.trace.notes)


def test_a_missing_label_is_noted() -> None:
    result = again("b2", "b0", "pod", labels={"fault-scheduling": "off"})
    assert any("label fault-scheduling is 'off'" in note for note in result.trace.notes)


def test_a_node_that_left_the_snapshot_counts_as_broken() -> None:
    job = request(4, block=2, labels=POD)
    cluster = lettered(["b2", "b3"], busy=["a0", "a1", "b1"])  # b0 is gone altogether
    before = earlier(job, OLD, 2, kind="pod")
    before["pods"][3]["annotations"]["super-pod-id"] = "1"
    assert at(reschedule(job, cluster, before, ["b0"])) == ["a0", "a1", "b2", "b1"]
    assert at(reschedule(job, cluster, before, [])) == ["a0", "a1", "b2", "b1"]


def test_restart_without_fault_reuses_the_plan() -> None:
    """§9.7: prefer-previous-node decides; the plan of a fresh job would start at b0."""
    job = request(2, block=2)
    free = {0: [node(f"a{i}") for i in range(6)], 1: [node(f"b{i}") for i in range(4)]}
    before = earlier(job, ("a3", "a1"), 2, kind="job")
    assert at(reschedule(job, world(free, config(prefer_previous_node=True)), before, [])) == ["a3", "a1"]
    assert at(reschedule(job, world(free, config()), before, [])) == ["b0", "b1"]
    taken = {0: [node("a1", ()), *free[0][2:5]], 1: free[1]}
    assert at(reschedule(job, world(taken, config(prefer_previous_node=True)), before, [])) == ["b0", "b1"]


def test_old_plan_without_annotations_counts_ranks() -> None:
    """Trap 8: an empty super-pod-rank falls back to rank // S."""
    job = request(4, block=2, labels=POD)
    before = earlier(job, OLD, 2, kind="pod")
    for pod in before["pods"]:
        pod["annotations"] = {"super-pod-rank": ""}
    cluster = lettered(["b2", "a2"], faulty=["b0"], busy=["a0", "a1", "b1"])
    result = reschedule(job, cluster, before, ["b0"])
    assert blocks(result) == {"0": ["a0", "a1"], "1": ["b2", "b1"]}


def test_chips_that_lost_pods_hold_in_the_snapshot_are_free() -> None:
    job = request(4, block=2)
    pods = [Pod(f"{job.name}-worker-{i}", at, "job", i, range(16)) for i, at in enumerate(OLD)]
    made = {
        0: [node("a0", ()), node("a1", ())],
        1: [node("b0", (), health=1), node("b1", ()), node("b2")],
    }
    assert at(reschedule(job, world(made, pods=pods), earlier(job, OLD, 2, kind="job"), ["b0"])) == [
        "a0",
        "a1",
        "b2",
        "b1",
    ]


def test_survivors_that_the_snapshot_does_not_know_keep_their_nodes() -> None:
    """place, then reschedule on the same snapshot, in which the job does not run yet."""
    job = request(4, block=2, labels=POD)
    cluster = world({s: [node(f"{'ab'[s]}{i}") for i in range(5)] for s in range(2)})
    first = place(job, cluster)
    before = first.to_dict() | {"fault": {"kind": "pod"}}
    broken = at(first)[2]
    after = at(reschedule(job, cluster, before, [broken]))
    assert [i for i in range(4) if after[i] != at(first)[i]] in ([], [2])
    assert len(set(after)) == 4


def test_two_pods_on_one_node_are_no_placement_of_such_a_job() -> None:
    with pytest.raises(FaultError, match="two pods of the previous placement run on node b0"):
        again("b2", "b0", "job", old=("a0", "a1", "b0", "b0"))


def test_hot_switch_takes_the_first_free_node_of_the_superpod() -> None:
    job = request(4, block=2, labels={"subHealthyStrategy": "hotSwitch", "fault-scheduling": "force"})
    pods = [Pod(f"{job.name}-worker-{i}", at, "job", i, range(16)) for i, at in enumerate(OLD)]
    made = {
        0: [node("a0", ()), node("a1", ()), node("a2")],
        1: [node("b0", (), health=SUB_HEALTHY_CARD), node("b1", ()), *(node(f"b{i}") for i in range(2, 7))],
    }
    result = reschedule(job, world(made, pods=pods), earlier(job, OLD, 2, kind="pod"), ["b0"])
    assert at(result) == ["a0", "a1", "b2", "b1"]
    assert any("hot switch: b0 -> b2" in text for text, _ in result.trace.steps)
    none = {0: made[0], 1: made[1][:2]}
    assert code(reschedule(job, world(none, pods=pods), earlier(job, OLD, 2, kind="pod"), ["b0"])) == (
        "UNSCHEDULABLE_IN_SUPERPOD"
    )


def test_hot_switch_looks_at_the_pods_of_the_job_only() -> None:
    """Pods of the same names in another namespace are no running sources."""
    job = request(4, block=2, labels={"subHealthyStrategy": "hotSwitch", "fault-scheduling": "force"})
    made = {
        0: [node("a0", ()), node("a1", ()), node("a2")],
        1: [node("b0", (), health=SUB_HEALTHY_CARD), node("b1", ()), *(node(f"b{i}") for i in range(2, 7))],
    }
    for namespace, owner, switches in (("default", "job", True), ("elsewhere", "other", False)):
        pods = [Pod(f"{job.name}-worker-{i}", at, owner, i, range(16), namespace=namespace) for i, at in enumerate(OLD)]
        result = reschedule(job, world(made, pods=pods), earlier(job, OLD, 2, kind="pod"), ["b0"])
        assert any("hot switch" in text for text, _ in result.trace.steps) is switches


def test_mindie_and_service_jobs_have_no_fault_stage() -> None:
    """Trap 10: one lost pod needs free nodes for the whole job."""
    for labels in ({"app": "x", "jobID": "y"}, {"inferserviceid": "s"}):
        assert code(again("b2 c0", "b0", "pod", labels=POD | labels)) == "NOT_ENOUGH_LOGICAL_SUPERPODS"
        result = again("b2 c0 c1 c2 c3", "b0", "pod", labels=POD | labels)
        assert at(result) == ["a0", "a1", "c2", "b1"]
        assert any("planned as if they were new" in note for note in result.trace.notes)


def test_a_pod_without_npus_stays_where_it_is() -> None:
    from ascendctl.manifest.job import Role
    from tests.engine.build import A910

    roles = (Role("worker", 2, 16, A910, task_spec="worker"), Role("scheduler", 1, 0, "", task_spec="scheduler"))
    job = request(2, block=2, roles=roles, labels=POD)
    before = earlier(job, ("b0", "b1", "b1"), 3, kind="pod")
    before["pods"][2]["npus"] = []
    cluster = lettered(["a0", "b2"], faulty=["b0"], busy=["b1"])
    assert at(reschedule(job, cluster, before, ["b0"])) == ["b2", "b1", "b1"]


# ------------------------------------------------------------------------------------------------ properties
@given(st.data())
@settings(max_examples=120, deadline=None)
def test_healthy_pods_keep_their_nodes(data: Any) -> None:
    draw = data.draw
    size, count = draw(st.integers(1, 3)), draw(st.integers(1, 3))
    per_superpod = draw(st.lists(st.integers(3, 9), min_size=2, max_size=4))
    soft = draw(st.booleans())
    labels = POD | ({"super-pod-affinity": "soft"} if soft else {})
    job = request(size * count, block=size, labels=labels) if size * count > 1 else request(1, labels=labels)
    made = {s: [node(f"{chr(97 + s)}{i}") for i in range(n)] for s, n in enumerate(per_superpod)}
    cluster = world(made)
    first = place(job, cluster)
    if not isinstance(first, Placement):
        return
    nodes = at(first)
    broken = draw(st.lists(st.sampled_from(nodes), min_size=1, max_size=3, unique=True))
    kind = draw(st.sampled_from(["pod", "lsp", "job"]))
    hurt = cluster.health.copy()
    for name in broken:
        hurt[cluster.index[name]] = 1
    sick = replace(cluster, health=hurt)
    result = reschedule(job, sick, first.to_dict() | {"fault": {"kind": kind}}, broken)
    if not isinstance(result, Placement):
        return
    after, home = at(result), cluster.superpod
    assert len(set(after)) == len(after)
    assert not set(after) & set(broken)
    hit = {pod.group for pod in first.pods if pod.node in broken}
    for pod, new in zip(first.pods, result.pods, strict=True):
        if (kind == "pod" and pod.node not in broken) or (kind == "lsp" and pod.group not in hit):
            assert (new.node, new.npus, new.moved) == (pod.node, pod.npus, False)
    for members in result.blocks.values():
        assert soft or len(members) == size
        assert len({int(home[cluster.index[name]]) for name in members}) == 1
    if not soft and kind == "job":
        whole = {pod.group for pod in first.pods} - hit
        assert all(result.blocks[key] == first.blocks[key] for key in whole)


def test_results_do_not_depend_on_hash_order() -> None:
    """Sets are used for membership only: the same call gives the same document."""
    one, two = (again("a1 a3 a4 a5", "a0 a2", "job", old=("a0", "a1", "a2", "a3")).to_dict() for _ in range(2))
    assert one == two
    assert np.all([p["npus"] == list(range(16)) for p in one["pods"]])
