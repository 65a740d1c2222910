"""Inference service jobs under the rack policy: chapter 21 §8.1, worked examples I01 to I10."""

from __future__ import annotations

from dataclasses import replace

import pytest

from ascendctl.engine.result import Placement, Unschedulable
from tests.engine.policies.rack_world import FULL, Node, Running, blocks, by_rank, expand, expected, job_of, plan, world

SVC = {"inferserviceid": "svc"}
FIRST = "S0{r0:8,r1:3} S1{r0:8,r1:8}"


def instance(racks: str, service: str = "svc") -> tuple[list[Node], list[Running]]:
    """Busy nodes with running pods of a service, one a (SuperPoD, rack) of a text like `0/1 1/0`."""
    nodes, pods = [], []
    for i, pair in enumerate(racks.split()):
        superpod, _, rack = pair.partition("/")
        nodes.append(Node(f"busy-{i}", int(superpod), int(rack), used=FULL))
        pods.append(Running(f"other-{i}", f"other-{i}-0", f"busy-{i}", FULL, 0, {"inferserviceid": service}))
    return nodes, pods


@pytest.mark.parametrize(
    ("number", "cluster", "service", "job", "ranks"),
    [
        ("I01", FIRST, "", job_of(2, sp=16, ra=16, labels=SVC), "S1/r0:n0-1"),
        ("I02", FIRST, "0/1", job_of(2, sp=16, ra=16, labels=SVC), "S0/r1:n0-1"),
        ("I03", "S0{r0:8,r1:1,r2:5} S1{r0:8,r1:8}", "0/1", job_of(2, sp=16, ra=16, labels=SVC), "S0/r0:n0-1"),
        (
            "I04",
            "S0{r0:1,r1:1} S1{r0:4,r1:6} S2{r0:8,r1:2}",
            "0/0",
            job_of(2, sp=16, ra=16, labels=SVC),
            "S2/r0:n0-1",
        ),
        (
            "I06",
            "S0{r0:8,r1:8} S1{r0:8}",
            "",
            job_of(12, sp=32, ra=32, labels=SVC),
            "S0/r0:n0-7 S0/r1:n0-3",
        ),
        ("I07", "S0{r0:2,r1:8} S1{r0:5}", "0/0 1/0", job_of(2, sp=16, ra=16, labels=SVC), "S1/r0:n0-1"),
        ("I08", "S0{r0:8}", "", job_of(2, sp=4, ra=4, labels=SVC), "S0/r0:n0-1"),
    ],
)
def test_placed(number, cluster, service, job, ranks):
    busy, pods = instance(service)
    assert by_rank(plan(world(cluster) + busy, job, running=pods)) == expand(ranks), number


def test_i08_reserves_more_blocks_than_pods():
    result = plan("S0{r0:8}", job_of(2, sp=4, ra=4, labels=SVC))
    assert len([text for text, data in result.trace.steps if "block" in data]) == 4
    assert blocks(result) == expected("0: S0/r0:n0; 1: S0/r0:n1; 2: S0/r0:n2; 3: S0/r0:n3")
    assert result.metrics["logicalSuperPods"] == 2
    short = plan("S0{r0:3}", job_of(2, sp=4, ra=4, labels=SVC))
    assert isinstance(short, Unschedulable)
    assert short.message == "infer service schedule failed, required 4 sp-block, got 3"


def test_fewer_blocks_than_pods_need():
    # minAvailable 2 of 4 pods: Q is 16, so one block of two nodes is planned for four pods
    job = replace(job_of(4, sp=16, ra=16, labels=SVC), npus=16, min_available=2)
    result = plan("S0{r0:8}", job)
    assert isinstance(result, Unschedulable)
    assert (result.code, result.message.partition(":")[0]) == ("INCOMPLETE_PLAN", "the plan has 2 nodes for 4 pods")


@pytest.mark.parametrize(
    ("number", "cluster", "job", "needed", "got"),
    [
        ("I05", "S0{r0:3,r1:3} S1{r0:3}", job_of(4, sp=32, ra=16, labels=SVC), 1, 0),
        ("I10", "S0{r0:8,r1:8}", job_of(16, sp=128, ra=64, labels=SVC), 1, 0),
        ("second block", "S0{r0:7,r1:3}", job_of(8, sp=32, ra=8, labels=SVC), 2, 1),
    ],
)
def test_refused(number, cluster, job, needed, got):
    result = plan(cluster, job)
    assert isinstance(result, Unschedulable), number
    message = f"infer service schedule failed, required {needed} sp-block, got {got}"
    assert (result.code, result.message) == ("NOT_ENOUGH_LOGICAL_SUPERPODS", message), number


def test_i09_single_pod_is_filtered_by_idle_chips_first():
    nodes = [Node("a0", 0, 0, used=0xF), Node("a1", 0, 0), Node("b0", 1, 0, used=0x3)]
    busy, pods = instance("1/0")
    assert by_rank(plan(nodes + busy, job_of(1, 4, labels=SVC), running=pods)) == ["a0"]


def test_an_oversized_superpod_does_not_matter():
    assert isinstance(plan("S0{r0:8,r1:8}", job_of(2, sp=16, ra=16, labels=SVC), 4), Placement)


def test_other_services_do_not_attract():
    busy, pods = instance("0/1", "another")
    assert by_rank(plan(world(FIRST) + busy, job_of(2, sp=16, ra=16, labels=SVC), running=pods)) == expand("S1/r0:n0-1")


def test_a_chosen_rack_attracts_the_next_block():
    # block 0 takes the rack of the SuperPoD with more idle racks; block 1 stays in that rack, though others are larger
    result = plan("S0{r0:8,r1:8} S1{r0:8}", job_of(8, sp=32, ra=32, labels=SVC))
    assert by_rank(result) == expand("S0/r0:n0-7")


def test_empty_label_takes_the_usual_chain():
    result = plan("S0{r0:3,r1:3}", job_of(4, sp=32, ra=8, labels={"inferserviceid": ""}))
    assert by_rank(result) == expand("S0/r0:n0-2 S0/r1:n0")


def test_annotation_alone_has_no_effect():
    # D16: only the label counts
    job = job_of(4, sp=32, ra=8, annotations={"huawei.com/infer_service_schedule": "true"})
    assert by_rank(plan("S0{r0:3,r1:3}", job)) == expand("S0/r0:n0-2 S0/r1:n0")
