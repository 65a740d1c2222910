"""Job validation, candidates, scores and pods outside the plan of policy multilevel (chapter 22 §2.3, §3, §5)."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from ascendctl.engine.api import place as place_job
from ascendctl.engine.result import Invalid, Placement, Unschedulable
from tests.engine.policies.tree_world import A, H, Z, groups, inputs, make_case, place

EMPTY = "affinity blocks is empty"
NOT_EXIST = "affinity block {} is not exist, please check if level numbers are continuous"


@pytest.mark.parametrize(
    ("config", "code", "message"),
    [
        (None, "ML-J01", EMPTY),
        ("", "ML-J02", EMPTY),
        ("level1", "ML-J02", EMPTY),
        ("level1=2,", "ML-J02", EMPTY),
        ("level1=2=3", "ML-J02", EMPTY),
        ("level1=x", "ML-J02", EMPTY),
        ("level1=2.0", "ML-J02", EMPTY),
        ("level1= 2", "ML-J07", EMPTY),
        ("level1=2, level2=4", "ML-J07", NOT_EXIST.format("level2")),
        ("level2=4", "ML-J03", NOT_EXIST.format("level1")),
        ("level1=2,level3=8", "ML-J03", NOT_EXIST.format("level2")),
        ("Level1=2", "ML-J03", NOT_EXIST.format("level1")),
        ("level01=2", "ML-J03", NOT_EXIST.format("level1")),
        ("level1=3", "ML-J04", "affinity block level1's value 3 can not be divided by upper level's value 8"),
        ("level1=2,level2=3", "ML-J04", "affinity block level2's value 3 can not be divided by upper level's value 8"),
        ("level1=3,level2=4", "ML-J04", "affinity block level1's value 3 can not be divided by upper level's value 4"),
        ("level1=0", "ML-J05", None),
        ("level1=2,level2=0", "ML-J05", None),
        ("level1=-2", "ML-J05", None),
        ("level1=-3", "ML-J05", None),
        ("level1=99999999999999999999", "ML-J02", EMPTY),
    ],
)
def test_invalid(config: str | None, code: str, message: str | None) -> None:
    result = place(make_case(A, 8, config))
    assert isinstance(result, Invalid)
    assert result.code == code
    assert message is None or result.message == message
    assert result.rules[0][0].startswith("MLV-")


def test_nine_pods_two_by_three() -> None:
    result = place(make_case(A, 9, "level1=2,level2=3"))
    assert result.message == "affinity block level1's value 2 can not be divided by upper level's value 3"


@pytest.mark.parametrize(
    ("config", "vector"),
    [
        ("level1=2,level2=4", [8, 4, 2, 1]),
        ("level2=4,level1=2", [8, 4, 2, 1]),
        ("level1=4,level2=4", [8, 4, 4, 1]),
        ("level1=2,level1=1", [8, 8, 1, 1]),
        ("level1=+2,level2=+4", [8, 4, 2, 1]),
        ("level1=02,level2=4", [8, 4, 2, 1]),
    ],
)
def test_vector(config: str, vector: list[int]) -> None:
    fleet = "G0{S0:a0..a3; S1:b0..b3} G1{S2:c0..c3; S3:d0..d3}"
    assert place(make_case(fleet, 8, config)).metrics["vector"] == vector


def test_pod_without_npus_is_refused() -> None:
    roles = [{"name": "Master", "replicas": 1, "npus": 0}, {"name": "Worker", "replicas": 4, "npus": 16}]
    result = place(make_case(A, 4, "level1=2", roles=roles))
    assert (result.outcome, result.code) == ("invalid", "npu num is invalid")
    assert result.message == "distributed job require full node npu, instead of 0"


def test_exempt_pod_without_npus_is_placed_beside_the_plan() -> None:
    roles = [{"name": "scheduler", "replicas": 1, "npus": 0}, {"name": "worker", "replicas": 4, "npus": 16}]
    result = place(make_case(A, 4, "level1=2", roles=roles, kind="vcjob", busy="n0"))
    assert isinstance(result, Placement)
    assert groups(result) == "n4,n5 | n6,n7"
    assert [(pod.role, pod.node, pod.npus, pod.group) for pod in result.pods[:2]] == [
        ("scheduler", "n0", (), ""),
        ("worker", "n4", tuple(range(16)), "0"),
    ]
    assert any("the order of the pods stands for them" in note for note in result.trace.notes)


def test_backup_pods_are_left_out_of_the_plan() -> None:
    """N = NPU pods less backup pods; a backup pod takes any candidate that is left."""
    roles = [{"name": "worker", "replicas": 2, "npus": 16}, {"name": "backup", "replicas": 1, "npus": 16}]
    job, cluster = inputs(make_case(A, 3, "level1=2", roles=roles, kind="vcjob"))
    spare = replace(job.roles[1], annotations={**job.roles[1].annotations, "podType": "backup"})
    result = place_job(replace(job, roles=(job.roles[0], spare)), cluster)
    assert groups(result) == "n0,n1"
    assert [pod.node for pod in result.pods] == ["n0", "n1", "n2"]
    assert result.pods[2].npus == tuple(range(16))


@pytest.mark.parametrize(("fleet", "backup"), [("S0:m0 m1 m2; S1:a0", "m2"), ("S0:m0 m1; S1:a0", None)])
def test_backup_pods_start_in_the_unit_of_their_source(fleet: str, backup: str | None) -> None:
    """Chapter 22 §2.3 no. 6: same tree and level1 label as the node of the pod that they stand in for."""
    roles = [{"name": "worker", "replicas": 2, "npus": 16}, {"name": "backup", "replicas": 1, "npus": 16}]
    job, cluster = inputs(make_case(fleet, 3, "level1=2", roles=roles, kind="vcjob"))
    marks = {"podType": "backup", "backupSourcePodName": job.pods[1].name}
    spare = replace(job.roles[1], annotations={**job.roles[1].annotations, **marks})
    result = place_job(replace(job, roles=(job.roles[0], spare)), cluster)
    if backup is None:
        assert isinstance(result, Unschedulable) and result.code == "NodePredicateFailed"
        assert "ML-N07" in {refusal.code for refusal in result.rejected}
    else:
        assert [pod.node for pod in result.pods] == ["m0", "m1", backup]


def test_pods_of_different_sizes_find_no_common_node() -> None:
    roles = [{"name": "Master", "replicas": 1, "npus": 8}, {"name": "Worker", "replicas": 1, "npus": 16}]
    result = place(make_case("S0:a0 a1", 2, "level1=2", roles=roles, more={"a0": {"used": "0xff"}}))
    assert isinstance(result, Unschedulable)


def test_planned_node_refuses_the_pod_of_another_role() -> None:
    """The first pod's candidates are planned on; a later role that may not go there leaves the job pending."""
    roles = [{"name": "master", "replicas": 1, "npus": 16}, {"name": "worker", "replicas": 1, "npus": 16}]
    job, cluster = inputs(make_case("S0:a0 a1; S1:b0 b1", 2, "level1=2", roles=roles, kind="vcjob"))
    pinned = replace(job.roles[1], node_name="b1")
    result = place_job(replace(job, roles=(job.roles[0], pinned)), cluster)
    assert (result.outcome, result.code) == ("unschedulable", "NodePredicateFailed")
    assert result.message == "rank 1 belongs on a1, which refuses the pod: NODE_SELECTOR"


@pytest.mark.parametrize(
    ("node", "code"),
    [
        ({"labels": {"huawei.com/topotree": "lab"}}, "ML-N01"),
        ({"labels": {"huawei.com/topotree": ""}}, "ML-N01"),
        ({"labels": {"huawei.com/topotree.superpodid": None}}, "ML-N02"),
        ({"net_unhealthy": "0x1"}, "ML-N03"),
        ({"net_unhealthy": None}, "ML-N04"),
        ({"chips": 17}, "ML-N04"),
        ({"used": "0x1"}, "NPU_SHORTAGE"),
        ({"status": "UnHealthy"}, "NODE_UNHEALTHY"),
    ],
)
def test_candidates(node: dict[str, Any], code: str) -> None:
    case = make_case(A, 2, "level1=2", more={"n0": node})
    job, cluster = inputs(case, mode="device")
    result = place_job(job, cluster)
    assert groups(result) == "n2,n3"
    assert {name: entry.code for entry in result.rejected for name in entry.nodes} == {"n0": code}


def test_single_pod_never_gets_network_unhealthy_chips() -> None:
    result = place(make_case("S0:a0 a1", 1, "level1=1", npus=8, more={"a0": {"used": "0x7f", "net_unhealthy": "0x80"}}))
    assert result.pods[0].node == "a0"
    assert result.pods[0].npus == tuple(range(8, 16))
    assert any("network-unhealthy" in note for note in result.trace.notes)


def test_no_candidate_at_all_and_too_few_for_part_of_a_gang() -> None:
    short = place(make_case(A, 8, "level1=2,level2=4", more={"n0": {"net_unhealthy": "0x1"}}))
    assert short.code == "ML-P01"
    job, cluster = inputs(make_case(A, 8, "level1=2,level2=4", more={"n0": {"net_unhealthy": "0x1"}}))
    partly = place_job(replace(job, min_available=4), cluster)
    assert partly.code == "ML-P03"


def test_no_configured_tree() -> None:
    case = make_case(A, 2, "level1=2")
    case["params"] = {}
    result = place(case)
    assert result.code == "ML-P01"
    assert {entry.code for entry in result.rejected} == {"ML-N01"}


def test_scores_per_pod() -> None:
    result = place(make_case(A, 4, "level1=2", busy="n0 n4"))
    assert result.trace.scores[:2] == (("n2", 10_000_000_000), ("n1", 0))


def test_scores_in_batch_mode() -> None:
    """Every pending pod's target scores 10^8 - rank, times 100; a sub-healthy node one less (chapter 22 §5.3)."""
    case = make_case(A, 4, "level1=2", labels={"podgroup-sched-enable": "true"}, more={"n1": {"sub_healthy": True}})
    case["job"]["kind"] = "vcjob"
    result = place(case)
    assert groups(result) == "n0,n1 | n2,n3"
    assert dict(result.trace.scores[:4]) == {
        "n0": 10_000_000_000,
        "n1": 9_999_999_800,
        "n2": 9_999_999_800,
        "n3": 9_999_999_700,
    }


def test_annotations_blocks_and_groups() -> None:
    result = place(make_case(A, 4, "level1=2"))
    assert result.blocks == {"0": ("n0", "n1"), "1": ("n2", "n3")}
    assert [pod.group for pod in result.pods] == ["0", "0", "1", "1"]
    chips = ",".join(f"Ascend910-{i}" for i in range(16))
    assert result.pods[3].annotations[H + "Ascend910"] == chips


def test_reserved_nodes_used_are_reported() -> None:
    result = place(make_case(Z, 8, "level1=2,level2=4", busy="a0", reserve=1))
    assert result.metrics["reserved_nodes_used"] == ["a2"]


def test_unknown_objective() -> None:
    with pytest.raises(ValueError, match="objective"):
        place(make_case(A, 2, "level1=2"), "speed")


def test_negative_reserve_counts_as_zero() -> None:
    case = make_case(A, 2, "level1=2", reserve=-1)
    result = place(case)
    assert groups(result) == "n0,n1"
    assert any("counts as 0" in note for note in result.trace.notes)


def test_steps_name_what_was_left_and_why() -> None:
    result = place(make_case("R0:p0 p1; R1:q0 q1 q2; R2:r0..r5; R3:s0", 4, "level1=2"))
    texts = [text for text, _ in result.trace.steps]
    assert (
        texts[1] == "tree 'default', plain shape [4, 2, 1]: can host the job without reserved nodes, fragment score 22"
    )
    choice = dict(result.trace.steps[3][1])
    assert choice["taken"] == [{"unit": "R0", "groups": 1}, {"unit": "R1", "groups": 1}]
    assert choice["left"] == {
        "bigger than what was still needed": {"count": 1, "examples": ["R2"]},
        "no complete group without reserved nodes": {"count": 1, "examples": ["R3"]},
    }


def test_steps_of_a_failure_name_the_level_and_the_largest_job() -> None:
    result = place(make_case(A, 6, "level1=2,level2=6"))
    assert result.message == (
        "no valid task tree found: tree 'default': its level2 units can hold 0 of 1 groups of 6 pods; "
        "the largest job of this shape that fits has 0 pods"
    )
    assert result.trace.steps[0][1]["levels"] == [
        {"level": "tree", "units": 1, "pods_per_group": 6, "groups_available": 0, "groups_needed": 1},
        {"level": "level2", "units": 2, "pods_per_group": 6, "groups_available": 0, "groups_needed": 1},
        {"level": "level1", "units": 4, "pods_per_group": 2, "groups_available": 4, "groups_needed": 3},
    ]


def test_same_document_for_any_order_of_objects() -> None:
    case = make_case({"alpha": Z, "beta": A}, 4, "level1=2,level2=4", reserve=1)
    documents = {str(place(case, seed=seed).to_dict()) for seed in range(4)}
    swapped = {
        **case,
        "params": {"resource-level-config": dict(reversed(case["params"]["resource-level-config"].items()))},
    }
    documents.add(str(place(swapped, seed=1).to_dict()))
    assert len(documents) == 1
