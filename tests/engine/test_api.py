"""Job validation and the enqueue stage (chapter 10 §2.3, §2.4; chapter 11.19.2)."""

from __future__ import annotations

from dataclasses import replace

import pytest

from ascendctl.engine.api import place, reschedule
from ascendctl.engine.enqueue import cluster_total
from ascendctl.engine.fault import FaultError
from ascendctl.engine.request import make_request
from ascendctl.engine.result import Invalid
from ascendctl.engine.select import select_policy
from ascendctl.manifest.job import Role
from tests.engine.build import A310, A310P, A910, NPU, Node, cluster, job, policy

BIG = cluster([Node(f"n{i}", range(8)) for i in range(4)])


def reason(found):
    result = place(found, BIG)
    return (result.code, result.rules[0][0] if result.rules else "") if isinstance(result, Invalid) else result.outcome


def duo(strategy, pods=1, n=1, **labels):
    return job(n, pods, resource=A310P, labels={"duo": "true", "npu-310-strategy": strategy} | labels)


COUNT = "InvalidResourceRequest"


@pytest.mark.parametrize(
    ("example", "found", "expected"),
    [
        ("A12", job(3), (COUNT, "RES-04")),
        ("H2", job(3, annotations=policy("chip4-node4")), (COUNT, "RES-04")),
        ("B5", job(9, annotations=policy("chip8-node8")), (COUNT, "RES-04")),
        ("X6", job(9, annotations=policy("chip8-node16")), (COUNT, "RES-04")),
        ("zero", job(0), (COUNT, "RES-04")),
        ("T3", job(3, annotations=policy("chip2-node16")), (COUNT, "RES-07")),
        ("T4", job(1, 2, annotations=policy("chip2-node16")), (COUNT, "RES-07")),
        ("T4", job(1, 3, annotations=policy("chip2-node16")), (COUNT, "RES-07")),
        ("T14", job(18, annotations=policy("chip2-node16")), (COUNT, "RES-07")),
        ("J=1", job(1, 2, total=1, annotations=policy("chip2-node16")), (COUNT, "RES-06")),
        ("S12", job(2, resource="huawei.com/Ascend910-4c.1cpu"), (COUNT, "VNP-08")),
        ("K1", job(1, resource=A310, labels={"npu-310-strategy": "foo"}), ("NotSupportPolicy", "")),
        ("K2", job(65, resource=A310, labels={"npu-310-strategy": "card"}), (COUNT, "D31-04")),
        ("K3", duo("card", 2, distributed="true"), (COUNT, "D31-06")),
        ("K3", duo("chip", 2, distributed="true"), (COUNT, "D31-06")),
        ("K4", duo("chip", 1, 17), (COUNT, "D31-04")),
        ("K5", duo("chip", 3), "unschedulable"),
        ("K6", job(1, resource=NPU), ("NotSupportPolicy", "")),
        ("K7", job(9, resource=NPU, annotations=policy("chip1-node8")), (COUNT, "RES-04")),
        ("K7", job(17, resource=NPU, annotations=policy("chip1-node16")), (COUNT, "RES-04")),
        ("K8", job(12, 2, annotations=policy("chip4-node8")), (COUNT, "RES-09")),
        ("K9", job([8, 9], annotations=policy("chip4-node8")), "unschedulable"),
        ("K10", job(16, 4, total=16, min_available=1, annotations=policy("chip4-node8")), "unschedulable"),
        ("L6", job(1, resource="huawei.com/Ascend310P-V"), ("NotSupportPolicy", "")),
        ("gang", job(8, 2, min_available=3), ("NotEnoughPod", "")),
        ("minAvailable", job(8, annotations={"huawei.com/schedule_minAvailable": "two"}), ("InvalidArgument", "")),
    ],
)
def test_reasons(example, found, expected):
    assert reason(found) == expected


def test_a3_pods_without_npus():
    worker = Role("worker", 1, 2, A910, task_spec="worker")
    for master, expected in (
        (Role("master", 1, 0, "", task_spec="master"), (COUNT, "RES-08")),
        (Role("scheduler", 1, 0, "", task_spec="scheduler"), "placed"),
        (Role("master", 1, 0, "", annotations={"huawei.com/skip-ascend-plugin": "enabled"}), "placed"),
    ):
        assert reason(job(0, roles=[master, worker], annotations=policy("chip2-node16"))) == expected


def test_invalid_says_what_is_allowed():
    result = place(job(3), BIG)
    assert result.message == (
        "3 NPUs per pod (worker) are illegal for policy module: allowed are 1, 2, 4, 8, for the chips are wired in two "
        "rings of 4"
    )
    assert result.to_dict()["findings"] == [{"rule": "RES-04", "message": result.message}]


def test_unregistered_job_is_refused_on_every_node():
    """S11."""
    result = place(job(1, resource="huawei.com/npu-core", labels={"ring-controller.atlas": "ascend-npu"}), BIG)
    assert [(group.code, len(group.nodes)) for group in result.rejected] == [("JOB_UNKNOWN", 4)]


def test_enqueue_counts_stable_free_lists_only():
    """P13."""
    made = cluster([Node("a", range(8)), Node("b", range(8), idle=7)])
    found = job(8, 2)
    assert cluster_total(make_request(found, made, select_policy(found))) == 8
    result = place(found, made)
    assert result.code == "JobEnqueueFailed"
    assert result.message == "the job requires 16 of huawei.com/Ascend910, but the cluster has 8 free"
    assert ("b",) in [group.nodes for group in result.rejected]


def test_enqueue_counts_hundred_a_chip_with_soft_sharing():
    labels = {"huawei.com/scheduler.chip1softsharedev.enable": "true"}
    made = cluster([Node("a", range(8), capacity=800, allocatable=800, idle=800, labels=labels), Node("b", range(8))])
    found = job(8)
    assert cluster_total(make_request(found, made, select_policy(found))) == 808


def test_enqueue_ignores_topology_and_health():
    made = cluster([Node("a", [0, 4], health=1)])
    assert place(job(2), made).code == "NodePredicateFailed"


def test_reschedule_wants_a_placement():
    with pytest.raises(FaultError):
        reschedule(job(1), BIG, {"outcome": "invalid"}, [])
    before = place(job(1), BIG).to_dict()
    assert reschedule(job(3), BIG, before, []).outcome == "invalid"


def test_compiled_and_interpreted_kernels_agree():
    nodes = [Node(f"n{i}", range(i % 8 + 1)) for i in range(40)]
    found = job(1, 60, annotations=policy("chip8-node8"))
    plain = place(found, cluster(nodes), compiled=False)
    assert plain.outcome == "placed"
    assert place(found, cluster(nodes), compiled=True) == plain


def test_place_never_changes_the_snapshot():
    before = BIG.resources[A910].free.copy()
    place(job(8, 4), BIG)
    assert (BIG.resources[A910].free == before).all()


def test_job_without_npus_at_all():
    roles = [Role("main", 2, 0, "")]
    result = place(job(0, roles=roles), BIG)
    assert [pod.node for pod in result.pods] == ["n0", "n0"]
    assert place(replace(job(0, roles=roles), labels={"tor-affinity": "normal-schema"}), BIG).outcome == "placed"
