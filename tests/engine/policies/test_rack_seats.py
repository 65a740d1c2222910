"""Chips, ranks and scores of the rack policy: chapter 21 §9 and §10, worked examples C1 to C7 of §15.5."""

from __future__ import annotations

import numpy as np

from ascendctl.engine.kernels.take_best import REFUSED
from ascendctl.engine.policies.rack_seats import Seat, seat
from ascendctl.engine.result import Placement
from ascendctl.engine.scores import planned_scores
from tests.engine.policies.rack_world import Node, by_rank, change, expand, job_of, plan, world


def npus(result):
    assert isinstance(result, Placement), result
    return [pod.npus for pod in result.pods]


def test_c1_a_single_pod_ignores_network_faults():
    assert npus(plan([Node("a", 0, 0, used=0xFF & ~0b10100100, network=0b100)], job_of(1, 2))) == [(2, 5)]


def test_c2_a_distributed_pod_takes_the_whole_node():
    result = plan("S0{r0:2}", job_of(2, sp=16, ra=16))
    assert npus(result) == [tuple(range(8))] * 2
    assert [pod.annotations["distributed-job"] for pod in result.pods] == ["true", "true"]


def test_c3_network_faulty_chip_of_a_distributed_pod():
    nodes = change(world("S0{r0:2}"), "S0/r0:n1", network=0b1000)
    result = plan(nodes, job_of(2, sp=16, ra=16))
    assert npus(result) == [tuple(range(8)), ()]
    assert result.metrics["podsWithoutNpus"] == ["train-worker-1"]
    text = "NPUResourceShortage: selectNPUFromNode node<S0-r0-n1> top<[0 1 2 4 5 6 7]> not meet task req<8>"
    assert any(text in note for note in result.trace.notes)
    assert "huawei.com/npu" not in result.pods[1].annotations


def test_c4_missing_network_key():
    nodes = change(world("S0{r0:2}"), "S0/r0:n0", network=None)
    result = plan(nodes, job_of(2, sp=16, ra=16))
    assert npus(result) == [(), tuple(range(8))]
    text = "selectNPUFromNode err: node<S0-r0-n0> don't have resource<huawei.com/npu-NetworkUnhealthy>"
    assert any(text in note for note in result.trace.notes)
    single = plan([Node("a", 0, 0, network=None)], job_of(1, 8))
    assert npus(single) == [tuple(range(8))]


def test_c5_rank_to_block_and_position():
    result = plan("S0{r0:4,r1:4}", job_of(8, sp=32, ra=16))
    assert result.pods[5].group == "1"
    assert result.blocks["1"][1] == result.pods[5].node


def test_c6_score_of_the_planned_node():
    penalty = np.array([0, 0, 1, 64, 65])
    plain = planned_scores(np.zeros(5, np.int16), dict.fromkeys(range(5), 0), penalty).tolist()
    assert plain == [100_000_000, 100_000_000, 99_999_999, 99_999_936, 99_999_935]
    assert planned_scores(np.array([0, 7, 0], np.int16), {0: 5}, penalty[:3]).tolist() == [99_999_995, REFUSED, 0]
    result = plan("S0{r0:4,r1:4}", job_of(8, sp=32, ra=16))
    assert result.trace.scores[:2] == (("S0-r0-n0", 10_000_000_000), ("S0-r0-n1", 0))
    batch = plan("S0{r0:3}", job_of(2, sp=16, ra=16, ranks=[1, 0], labels={"podgroup-sched-enable": "true"}))
    assert batch.trace.scores[0] == ("S0-r0-n1", 9_999_999_900)


def test_c6_sub_healthy_node_of_the_rank():
    nodes = change(world("S0{r0:2}"), "S0/r0:n0", sub_healthy=True)
    assert plan(nodes, job_of(2, sp=16, ra=16)).trace.scores[0] == ("S0-r0-n0", 9_999_999_900)


def test_c7_rank_without_a_block():
    result = plan("S0{r0:2}", job_of(1, ranks=[3]))
    assert by_rank(result) == ["S0-r0-n0"]
    assert {score for _, score in result.trace.scores} == {0}
    assert any("ranks 3" in note for note in result.trace.notes)


def test_policy_writes_no_superpod_annotations():
    result = plan("S0{r0:2}", job_of(2, sp=16, ra=16))
    assert not {"super-pod-rank", "super-pod-id"} & set(result.pods[0].annotations)


def test_repeated_ranks_get_different_nodes():
    # two task groups count from 0 each: the second pod of a rank takes what is left
    result = plan("S0{r0:8}", job_of(4, sp=32, ra=16, ranks=[0, 1, 0, 1]))
    assert by_rank(result) == expand("S0/r0:n0-3")
    assert len(set(by_rank(result))) == 4


def test_seat_prefers_own_entries_and_fills_in_pick_order():
    lists = {0: [1, 2], 2: [9], 7: [5, 6], 1: [3]}
    blocks = {block: np.array(nodes, dtype=np.int64) for block, nodes in lists.items()}
    seats, unplanned = seat(range(6), blocks, [7, 1], 2, frozenset())
    # own entries: ranks 0, 1 in block 0, rank 2 in block 1, rank 4 in block 2; ranks 3 and 5 take block 7, picked first
    assert seats == [Seat(1, 0), Seat(2, 0), Seat(3, 1), Seat(5, 7), Seat(9, 2), Seat(6, 7)]
    assert unplanned == [3, 5]


def test_seat_leaves_taken_nodes_alone():
    seats, unplanned = seat([1], {0: np.array([4, 5, 6])}, [], 3, frozenset({5}))
    assert (seats, unplanned) == ([Seat(4, 0)], [1])
