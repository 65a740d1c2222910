"""Job validation of chip8-node8-ra64-sp: chapter 21 §2, worked examples V1 to V22 of §15.1."""

from __future__ import annotations

import pytest

from ascendctl.engine.api import place
from ascendctl.engine.result import Invalid, Placement
from ascendctl.manifest.job import Role
from tests.engine.policies.rack_world import NPU, by_rank, cluster_of, job_of, plan, world

SP = "Parameter sp-block is invalid."
RA = "Parameter ra-block is invalid."
SIZE = "Parameter super-pod-size is invalid."
PODS = "job task num is invalid"
COUNT = "npu num is invalid"


@pytest.mark.parametrize(
    ("number", "pods", "npus", "sp", "ra", "size", "reason", "rule"),
    [
        ("V1", 1, 8, 10, 1, 32, SP, "SPB-03"),
        ("V2", 5, 8, 32, 1, 32, PODS, "RAB-06"),
        ("V3", 1, 8, "abc", 8, 64, SP, "SPB-01"),
        ("V4", 4, 8, 32, 32, None, SIZE, "RAB-08"),
        ("V5", 4, 8, 32, 8, 1025, SIZE, "RAB-08"),
        ("V6", 4, 8, 32, 1, 2, SIZE, "RAB-08"),
        ("V7", 4, 8, 32, 128, 32, RA, "RAB-01"),
        ("V8", 2, 8, 16, "x", 32, RA, "RAB-01"),
        ("V9", 8, 8, 64, 48, 32, RA, "RAB-02"),
        ("V10", 2, 8, 16, 32, 32, RA, "RAB-03"),
        ("V11", 1, 4, 4, 64, 32, RA, "RAB-03"),
        ("V12", 3, 8, 24, 16, 32, RA, "RAB-04"),
        ("V13", 12, 8, 24, 16, 32, RA, "RAB-05"),
        ("V14", 1, 9, 1, 1, 32, COUNT, "SPB-05"),
        ("V15", 1, 1, 2, 1, 32, COUNT, "SPB-06"),
        ("V16", 2, 8, 6, 1, 32, COUNT, "SPB-07"),
        ("V17", 2, 5, 2, 8, 32, COUNT, "RAB-07"),
        ("V18", 3, 6, 1, 1, 32, COUNT, "SPB-08"),
        ("negative sp-block", 2, 8, -16, 8, 32, SP, "SPB-01"),
        ("blank in sp-block", 2, 8, " 16", 8, 32, SP, "SPB-01"),
        ("ra-block 0", 2, 8, 16, 0, 32, RA, "RAB-01"),
        ("super-pod-size 0", 4, 8, 32, 8, 0, SIZE, "RAB-08"),
    ],
)
def test_first_failing_check_decides(number, pods, npus, sp, ra, size, reason, rule):
    result = plan("S0{r0:8}", job_of(pods, npus, sp, ra), size)
    assert isinstance(result, Invalid), number
    assert (result.code, [name for name, _ in result.rules]) == (reason, [rule]), number


def test_v19_a_pod_without_npus_kills_a_distributed_job():
    result = plan("S0{r0:8}", job_of(2, 8, 16, 8, helpers=1), 32)
    assert isinstance(result, Invalid)
    assert (result.code, result.rules[0][0]) == (COUNT, "SPB-09")


def test_a_single_pod_job_may_have_helpers():
    result = plan("S0{r0:8}", job_of(1, 8, 8, 8, helpers=1), 32)
    assert isinstance(result, Placement)
    assert [(pod.node, len(pod.npus)) for pod in result.pods] == [("S0-r0-n0", 8), ("S0-r0-n0", 0)]


def test_one_pod_with_another_count_is_enough():
    job = job_of(2, 8, 4, 4, roles=(Role("a", 1, 8, NPU), Role("b", 1, 4, NPU)))
    result = plan("S0{r0:8}", job, 32)
    assert isinstance(result, Invalid)
    assert result.rules[0][0] == "SPB-08"


def test_v20_ub_memory_has_1024_npus():
    result = plan("S0{r0:8}", job_of(256, 8, 2, 1, ub=True), 32)
    assert isinstance(result, Invalid)
    assert (result.code, result.rules[0][0]) == (COUNT, "RAB-09")


def test_ub_memory_counts_only_with_the_exact_word():
    job = job_of(256, 8, 2, 1, annotations={"huawei.com/schedule_ubmemory": "True"})
    assert not isinstance(plan("S0{r0:8}", job, 32), Invalid)


def test_v21_blocks_below_a_node_take_a_node():
    result = plan("S0{r0:2}", job_of(2, 8, 4, 4), 32)
    assert result.to_dict()["blocks"] == {"0": ["S0-r0-n0"], "1": ["S0-r0-n1"]}


def test_v22_single_pod_with_default_sp_block():
    assert by_rank(plan("S0{r0:1}", job_of(1, 4, None, 4), 32)) == ["S0-r0-n0"]


def test_a_pod_of_16_npus_has_a_default_block_of_two_nodes():
    result = plan("S0{r0:8}", job_of(1, 16), 32)
    assert isinstance(result, Invalid)
    assert result.code == PODS


def test_an_explicit_plus_sign_is_a_number():
    assert by_rank(plan("S0{r0:2}", job_of(2, 8, "+16", "+16"), 32)) == ["S0-r0-n0", "S0-r0-n1"]


def test_super_pod_size_must_be_set_though_its_default_is_48():
    job = job_of(4, 8, 32, 32)
    assert isinstance(place(job, cluster_of(world("S0{r0:8}"), None)), Invalid)
    assert isinstance(place(job, cluster_of(world("S0{r0:8}"), 48)), Placement)


def test_message_names_the_numbers():
    result = plan("S0{r0:8}", job_of(12, 8, 24, 16), 32)
    assert isinstance(result, Invalid)
    assert "24" in result.message
    assert "16" in result.message
