"""Pods one after the other: chapter 10 §13.7, the adjustments of §2.7, gangs, anti-affinity, faults."""

from __future__ import annotations

from dataclasses import replace

import pytest

from ascendctl.engine.api import place, reschedule
from ascendctl.engine.result import Placement, Unschedulable
from ascendctl.manifest.job import Role
from ascendctl.snapshot.config import SchedulerConfig
from tests.engine.build import (
    A310P,
    A910,
    NPU,
    SUBHEALTHY,
    Node,
    Pod,
    cluster,
    job,
    policy,
)

FULL = range(8)


def seats(result):
    """[(node, chips)] in rank order."""
    assert isinstance(result, Placement), result
    return [(pod.node, list(pod.npus)) for pod in result.pods]


def codes(result):
    return {name: group.code for group in result.rejected for name in group.nodes}


def a3(free, name, **more):
    return Node(name, free, chips=16, **more)


def test_chips_are_taken_as_they_are_assigned():
    """P1: the second pod goes to the only node that is left."""
    result = place(job(4, 2), cluster([Node("n1", FULL), Node("n2", range(4, 8))]))
    assert seats(result) == [("n2", [4, 5, 6, 7]), ("n1", [0, 1, 2, 3])]


def test_two_pods_may_share_a_node():
    """P14."""
    assert seats(place(job(4, 2), cluster([Node("n", FULL)]))) == [("n", [0, 1, 2, 3]), ("n", [4, 5, 6, 7])]


def test_natural_node_order_breaks_ties():
    result = place(job(8), cluster([Node("node10", FULL), Node("node2", FULL)]))
    assert seats(result) == [("node2", list(FULL))]


@pytest.mark.parametrize(("sick", "winner"), [("a", "a"), ("b", "a")])
def test_early_stop_of_a3_lets_the_first_exact_node_win(sick, winner):
    """P2: the first node in order scores 512 (511 if sub-healthy), the later ones keep 0."""
    nodes = [a3(range(16), name, health=SUBHEALTHY if name == sick else 0) for name in ("a", "b")]
    found = job(16, annotations=policy("chip2-node16"))
    result = place(found, cluster(nodes))
    assert seats(result)[0][0] == winner
    assert result.trace.scores == (("a", 51100 if sick == "a" else 51200), ("b", 0))


def test_early_stop_examples():
    """T7, T8, T15: nodes after the exact one keep 0."""
    t7 = cluster([a3(range(10), "a"), a3(range(16), "b"), a3(range(11), "c")])
    result = place(job(10, annotations=policy("chip2-node16")), t7)
    assert result.trace.scores == (("a", 51200), ("b", 0), ("c", 0))
    t8 = cluster([a3([0, 1, 2, 4], "a"), a3([0, 1], "b"), a3([0, 1, 2, 3, 6, 7], "c")])
    result = place(job(2, 2, annotations=policy("chip2-node16")), t8)
    assert result.trace.scores == (("b", 51200), ("a", 48000), ("c", 0))
    assert seats(result)[0] == ("b", [0, 1])
    t15 = cluster([a3([0], "a"), a3([4], "b"), a3([0, 1], "c")])
    assert seats(place(job(1, annotations=policy("chip2-node16")), t15)) == [("a", [0])]


def test_early_stop_can_be_switched_off():
    nodes = [a3(range(16), "a", health=SUBHEALTHY), a3(range(16), "b")]
    made = cluster(nodes, (), SchedulerConfig(a3_early_stop=False))
    result = place(job(16, annotations=policy("chip2-node16")), made)
    assert result.trace.scores == (("b", 51200), ("a", 51100))


def test_sub_healthy_node_loses_a_point_or_is_refused():
    """P3, P4."""
    made = cluster([Node("a", FULL, health=SUBHEALTHY), Node("b", FULL)])
    result = place(job(8), made)
    assert seats(result)[0][0] == "b"
    assert result.trace.scores == (("b", 25600), ("a", 25500))
    result = place(job(8, labels={"subHealthyStrategy": "graceExit"}), made)
    assert codes(result) == {"a": "NODE_SUBHEALTHY"}


def test_a_gang_is_all_or_nothing():
    """P12."""
    result = place(job(8, 3), cluster([Node("a", FULL), Node("b", FULL), Node("c", FULL, idle=7)]))
    assert isinstance(result, Unschedulable)
    assert (result.code, codes(result)["c"]) == ("JobEnqueueFailed", "RES_UNSTABLE")
    made = cluster([Node("a", FULL), Node("b", FULL), Node("c", [0, 1, 2, 4, 5, 6]), Node("d", [0, 1])])
    result = place(job(8, 3), made)
    assert (result.code, result.message) == ("NodePredicateFailed", "no node for pod job-worker-2 (rank 2)")
    assert codes(result) == dict.fromkeys("abcd", "NPU_SHORTAGE")


def test_free_list_and_idle_must_agree():
    """P9."""
    result = place(job(1), cluster([Node("a", range(4), idle=3), Node("b", range(2), idle=6), Node("c", FULL, idle=9)]))
    assert seats(result)[0][0] == "b"
    assert codes(result) == {"a": "RES_UNSTABLE", "c": "RES_UNSTABLE"}


def test_box16_prefers_the_used_node():
    """P15."""
    made = cluster([Node("a", [0], 16, allocatable=15), Node("b", [0, 1], 16)])
    result = place(job(1, annotations=policy("chip8-node16")), made)
    assert result.trace.scores == (("a", 25500), ("b", 25400))


def test_pod_without_npus_takes_the_first_healthy_node():
    """The plugin scores nothing for such a pod; node health counts all the same."""
    roles = [Role("master", 2, 0, ""), Role("worker", 1, 8, A910)]
    made = cluster([Node("a", [0], health=1), Node("b", [0]), Node("c", FULL)])
    assert seats(place(job(0, roles=roles), made)) == [("b", []), ("b", []), ("c", list(FULL))]


def test_static_vnpus_get_a_node_and_no_chips():
    """L1."""
    name = "huawei.com/Ascend310P-2c.1cpu"
    nodes = [Node(n, [], 4, resource=name, capacity=4, allocatable=4, idle=idle, listed=-1) for n, idle in
             (("n1", 1), ("n2", 4), ("n3", 0))]  # fmt: skip
    result = place(job(1, 3, resource=name), cluster(nodes))
    assert seats(result) == [("n1", []), ("n2", []), ("n2", [])]
    assert all(not pod.annotations for pod in result.pods)
    assert codes(result) == {"n3": "NPU_SHORTAGE"}


def test_duo_needs_the_card_label():
    duo = {"infer-card-type": "card-300i-duo"}
    made = cluster([Node("a", FULL, resource=A310P), Node("b", FULL, resource=A310P, labels=duo)])
    result = place(job(3, resource=A310P, labels={"duo": "true"}), made)
    assert seats(result) == [("b", [0, 1, 2])]
    assert codes(result) == {"a": "E_CARD_LABEL"}
    result = place(job(3, resource=A310P, labels={"duo": "true", "distributed": "true"}), made)
    assert result.trace.scores == (("b", 100 * 40),)
    result = place(job(1, resource=A310P, labels={"duo": "true", "npu-310-strategy": "card"}), made)
    assert seats(result)[0][0] == "a"  # card strategy does not look at the label


def test_whole_chips_keep_off_soft_share_nodes():
    """S16: the reference would place them; the device plugin then refuses the pod."""
    soft = {"huawei.com/scheduler.chip1softsharedev.enable": "true"}
    made = cluster([Node("a", FULL, capacity=800, allocatable=800, idle=800, labels=soft), Node("b", FULL)])
    result = place(job(8, annotations=policy("chip8-node8")), made)
    assert (seats(result)[0][0], codes(result)) == ("b", {"a": "E_SOFT_NODE"})
    allowed = replace(made, config=SchedulerConfig(whole_npus_on_shared_nodes=True))
    assert seats(place(job(8, annotations=policy("chip8-node8")), allowed))[0][0] == "a"


def preferring(free, pods, **more):
    nodes = [Node(name, chips, **more) for name, chips in free.items()]
    return cluster(nodes, pods, SchedulerConfig(prefer_previous_node=True))


FREE = {"n1": [0, 1], "n2": [0, 1, 2], "n3": [0, 1, 2, 3], "n4": [0, 1, 2, 3, 4]}


def earlier(ranks):
    return [Pod(f"job-worker-{rank}", node, job="job", rank=rank) for rank, node in ranks.items()]


def test_previous_node_wins_over_the_score():
    """P6: a pod's own former node first; else a node that no pod of the job used, else one that another pod used."""
    found = job(1, 2, annotations=policy("chip8-node8"))
    made = preferring(FREE, earlier({0: "n4", 1: "n1"}))
    assert [node for node, _ in seats(place(found, made))] == ["n4", "n1"]
    assert [node for node, _ in seats(place(found, replace(made, config=SchedulerConfig())))] == ["n1", "n1"]
    made = preferring(FREE, earlier({5: "n1", 6: "n2"}))
    assert [node for node, _ in seats(place(found, made))] == ["n3", "n3"]
    made = preferring({"n1": [0], "n2": [0, 1]}, earlier({5: "n1", 6: "n2"}))
    assert [node for node, _ in seats(place(found, made))] == ["n1", "n2"]


def test_previous_node_and_early_stop():
    """Nodes behind an exact one keep 0, so the first other node in order wins."""
    nodes = [a3([0, 1], "a"), a3(range(4), "b"), a3(range(3), "c")]
    made = cluster(nodes, earlier({3: "a"}), SchedulerConfig(prefer_previous_node=True))
    assert seats(place(job(2, annotations=policy("chip2-node16")), made)) == [("b", [0, 1])]


def anti_affinity(labels, key="kubernetes.io/hostname"):
    term = {"topologyKey": key, "labelSelector": {"matchLabels": labels}}
    return {"requiredDuringSchedulingIgnoredDuringExecution": [term]}


def test_own_anti_affinity_keeps_pods_apart():
    roles = [Role("worker", 3, 2, A910, labels={"app": "x"}, pod_anti_affinity=anti_affinity({"app": "x"}))]
    made = cluster([Node(f"n{i}", FULL) for i in range(3)])
    apart = job(0, roles=roles, annotations=policy("chip8-node8"))
    assert [node for node, _ in seats(place(apart, made))] == ["n0", "n1", "n2"]
    result = place(replace(apart, pods=(*apart.pods, replace(apart.pods[0], name="more", rank=3))), made)
    assert codes(result) == dict.fromkeys(("n0", "n1", "n2"), "POD_AFFINITY")


def test_own_anti_affinity_by_another_topology():
    roles = [Role("worker", 2, 2, A910, labels={"app": "x"}, pod_anti_affinity=anti_affinity({"app": "x"}, "zone"))]
    made = cluster([Node(f"n{i}", FULL, labels={"zone": zone}) for i, zone in enumerate("aab")])
    apart = job(0, roles=roles, annotations=policy("chip8-node8"))
    assert [node for node, _ in seats(place(apart, made))] == ["n0", "n2"]


def test_anti_affinity_between_roles():
    roles = [
        Role("master", 1, 2, A910, labels={"app": "m"}),
        Role("worker", 2, 2, A910, labels={"app": "w"}, pod_anti_affinity=anti_affinity({"app": "m"})),
    ]
    made = cluster([Node("a", FULL), Node("b", FULL)])
    result = place(job(0, roles=roles, annotations=policy("chip8-node8")), made)
    assert [node for node, _ in seats(result)] == ["a", "b", "b"]


def test_notes_name_what_the_reader_should_know():
    made = cluster([Node("a", FULL, resource=NPU)])
    result = place(job(2, 2, resource=NPU, annotations=policy("chip8-node8")), made)
    assert any("share a" in note and "collective communication" in note for note in result.trace.notes)
    result = place(job(5, resource=NPU, annotations=policy("chip4-node8")), made)
    assert any("no affinity to meshes of 4" in note for note in result.trace.notes)
    result = place(job(8, annotations=policy("nonsense")), cluster([Node("a", FULL)]))
    assert "silently falls through to policy module" in result.trace.notes[0]


def fault(result, kind):
    return result.to_dict() | {"fault": {"kind": kind}}


def test_reschedule_moves_the_pods_of_the_broken_node():
    found = job(8, 2)
    healthy = cluster([Node(name, FULL) for name in ("a", "b", "c")])
    before = place(found, healthy)
    assert [node for node, _ in seats(before)] == ["a", "b"]
    broken = cluster([Node("a", FULL, health=1), Node("b", FULL), Node("c", FULL)])
    result = reschedule(found, broken, fault(before, "pod"), ["a"])
    assert seats(result) == [("c", list(FULL)), ("b", list(FULL))]
    assert [pod.moved for pod in result.pods] == [True, False]
    result = reschedule(found, broken, fault(before, "job"), ["a"])
    assert seats(result) == [("b", list(FULL)), ("c", list(FULL))]
    assert all(pod.moved for pod in result.pods)


def test_automatic_level_falls_back_to_the_whole_job():
    found = job(4, 2)
    before = place(found, cluster([Node("a", range(4)), Node("b", FULL)]))
    assert [node for node, _ in seats(before)] == ["a", "b"]
    now = cluster([Node("a", range(4), health=1), Node("b", FULL), Node("c", range(4))])
    result = reschedule(found, now, fault(before, "auto"), ["a"])
    assert seats(result) == [("b", [4, 5, 6, 7]), ("b", [0, 1, 2, 3])]
    assert [pod.moved for pod in result.pods] == [True, False]
    now = cluster([Node("a", range(4), health=1), Node("b", FULL, idle=7), Node("c", FULL)])
    result = reschedule(found, now, fault(before, "auto"), ["a"])
    assert [node for node, _ in seats(result)] == ["c", "b"]
    now = cluster([Node("a", range(4), health=1), Node("b", [0, 1, 2, 3, 4]), Node("c", [0, 1, 4, 5])])
    result = reschedule(found, now, fault(before, "auto"), ["a"])
    assert result.code == "NodePredicateFailed"
    assert any("the whole job starts again" in note for note in result.trace.notes)


def test_a_node_where_a_pod_failed_loses_64_points():
    """P5."""
    found = job(4)
    before = place(found, cluster([Node("n1", range(4, 8)), Node("n2", FULL, allocatable=8)]))
    assert seats(before)[0][0] == "n1"
    made = cluster([Node("n1", range(4, 8)), Node("n2", FULL)])
    result = reschedule(found, made, fault(before, "job"), ["n1"])
    assert result.trace.scores == (("n2", 25600), ("n1", 100 * (260 - 64)))
    assert seats(result)[0][0] == "n2"


def test_a_failed_pod_leaves_its_former_node():
    config = SchedulerConfig(prefer_previous_node=True)
    found = job(8, 2)
    made = cluster([Node(name, FULL) for name in ("a", "b", "c", "d")], (), config)
    before = place(found, made)
    result = reschedule(found, made, fault(before, "job"), ["a"])
    assert [node for node, _ in seats(result)] == ["c", "b"]


def test_empty_cluster():
    result = place(job(1), cluster([]))
    assert isinstance(result, Unschedulable)
    assert result.code == "JobEnqueueFailed"
    static = place(job(1, resource="huawei.com/Ascend310P-1c"), cluster([]))
    assert (static.outcome, static.code) == ("unschedulable", "NodePredicateFailed")
