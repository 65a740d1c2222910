"""Network quality in the metrics of a placement (chapter 50 §7)."""

from __future__ import annotations

from typing import Any

import pytest

from ascendctl.engine.result import JobHead, PlacedPod, Placement
from ascendctl.ranks.groups import ParallelError
from ascendctl.ranks.metrics import network_metrics
from ascendctl.report.quality import render
from tests.ranks.world import a2, a3, acjob, placed, two_leaves

SP = {"selector": "module-a3-16-super-pod", "policy": "chip2-node16-sp"}


def measured(text: str, where: Any, parallel: str = "") -> dict[str, Any]:
    job, found = placed(text, where)
    return network_metrics(job, found, where, parallel)


def test_hard_blocks_in_one_superpod_lose_ub_between_them() -> None:
    where = a3(a0=1, a1=1, a2=1, a3=1)
    text = acjob({"Master": (1, 16), "Worker": (3, 16)}, annotations='sp-block: "32"', **SP)
    network = measured(text, where)["network"]
    assert network["visible"]["grouping"] == "logical SuperPoDs of 2 servers"
    assert network["physical"]["commonDivisor"] == 4
    assert (network["physical"]["ubReach"], network["visible"]["ubReach"]) == (1.0, 0.3333)
    assert network["roceInsideSuperPod"] == [{"superPod": 1, "ranks": [[0, 1], [2, 3]]}]
    assert network["visible"]["lostPairs"] == 4
    assert network["ranksContiguous"] is True


def test_hcf_of_uneven_soft_groups() -> None:
    """Q-03 with real pods: 4 + 2 servers, soft."""
    where = a3(**{f"a{i}": 1 for i in range(4)}, b0=2, b1=2)
    text = acjob(
        {"Master": (1, 16), "Worker": (5, 16)}, annotations='sp-block: "16"', labels="super-pod-affinity: soft", **SP
    )
    job, found = placed(text, where)
    nodes = ["a0", "a1", "a2", "a3", "b0", "b1"]
    groups = ["0", "0", "0", "0", "1", "1"]
    pods = tuple(
        PlacedPod(p.name, p.role, i, nodes[i], p.npus, p.annotations, groups[i]) for i, p in enumerate(found.pods)
    )
    network = network_metrics(job, Placement(JobHead("demo", "default", "AscendJob"), pods), where)["network"]
    assert network["visible"]["superPods"] == [
        {"id": "0", "servers": 4, "pieces": 2}, {"id": "1", "servers": 2, "pieces": 1},
    ]  # fmt: skip
    assert (network["visible"]["logicalSuperPods"], network["visible"]["loss"]) == (3, 0.5714)
    assert network["roceInsideSuperPod"] == [{"superPod": 1, "ranks": [[0, 1], [2, 3]]}]


def test_a_pin_without_sp_block_claims_ub_that_is_not_there() -> None:
    """§10 no. 25."""
    where = a3(a0=1, b0=2)
    pinned = acjob({"Master": (1, 16), "Worker": (1, 16)}, **SP)
    for host in ("h-a0", "h-b0"):
        pinned = pinned.replace(
            "{accelerator-type: module-a3-16-super-pod}",
            f"{{accelerator-type: module-a3-16-super-pod, kubernetes.io/hostname: {host}}}", 1,
        )  # fmt: skip
    found = measured(pinned, where, "tp=32")
    assert found["network"]["ubClaimedAcross"] == [0]
    assert found["network"]["parallel"]["verdict"] == "FAIL"
    assert "UB that does not exist" in render(found)


def test_without_superpods_there_is_no_ub() -> None:
    found = measured(acjob({"Master": (1, 8), "Worker": (1, 8)}), a2("a", "b"), "tp=8")
    assert found["network"]["visible"]["ubReach"] == 0
    assert "physical" not in found["network"] and "fragment" not in found
    assert found["network"]["parallel"]["worst"] == {"tp": "T0", "dp": "TX"}
    assert found["network"]["parallel"]["verdict"] == "OK"


def test_fragment_score_before_and_after() -> None:
    """Capacities 2 and 2; one node of the first SuperPoD, then both."""
    where = a3(a0=1, a1=1, b0=2, b1=2)
    job, found = placed(acjob({"Master": (1, 16)}, **SP), where)
    fragment = network_metrics(job, found, where)["fragment"]
    assert fragment["of"] == "2 SuperPoDs"
    # nothing used: every ratio is nodes + 1: 10 * (10 * 3 + 5); then 10 * (10 * 2 / 1 + 4 / 1)
    assert (fragment["before"]["score"], fragment["after"]["score"]) == (350.0, 240.0)


def test_leaf_switches() -> None:
    from tests.ranks.world import cluster

    nodes, leaves = two_leaves(4)
    where = cluster(nodes, leaves=leaves)
    found = measured(acjob({"Master": (1, 8), "Worker": (7, 8)}), where)["network"]["leaves"]
    assert sorted(found["switches"].values()) == [4, 4]
    assert (found["pairsBelowOneLeaf"], found["share"]) == (12, 0.4286)  # 12 of 28


def test_sizes_must_fit() -> None:
    with pytest.raises(ParallelError, match="NQ-01"):
        measured(acjob({"Master": (1, 8), "Worker": (1, 8)}), a2("a", "b"), "tp=3")


def test_text() -> None:
    where = a3(a0=1, a1=1, a2=1, a3=1)
    text = acjob({"Master": (1, 16), "Worker": (3, 16)}, annotations='sp-block: "32"', **SP)
    lines = render(measured(text, where, "tp=16,ep=2")).splitlines()
    assert any("1: 4; greatest common divisor 4" in line for line in lines)
    assert any("ranks 0-1 | 2-3" in line for line in lines)
    assert any(line.split()[:3] == ["ep", "2", "32"] for line in lines)
    assert render({}) == ""


def test_sizing_rule_and_order_of_ranks() -> None:
    """Four servers a0 b0 a1 b1 of two SuperPoDs of two: tp * ep = 32 takes two servers (§7.5); ranks 0, 2, 1, 3 would
    follow each other (§7.3)."""
    where = a3(a0=1, a1=1, b0=2, b1=2)
    text = acjob({"Master": (1, 16), "Worker": (3, 16)}, annotations='sp-block: "16"', **SP)
    job, found = placed(text, where)
    nodes = ["a0", "b0", "a1", "b1"]
    pods = tuple(PlacedPod(p.name, p.role, i, nodes[i], p.npus, p.annotations) for i, p in enumerate(found.pods))
    metrics = network_metrics(job, Placement(JobHead("demo", "default", "AscendJob"), pods), where, "tp=16,ep=2")
    network = metrics["network"]
    assert (network["ranksContiguous"], network["contiguousOrder"]) == (False, [0, 2, 1, 3])
    assert network["parallel"]["spBlock"] == {"smallest": 32, "recommended": 32}
    shown = render(metrics)
    assert "in the order 0, 2, 1, 3 they would" in shown
    assert "sp-block 32 is the smallest that keeps each tp, cp, ep group in one logical SuperPoD; 32 suits" in shown


@pytest.mark.parametrize("parallel", ["dp=2,pp=16", "tp=16,pp=2,order=pp:tp:dp", "tp=3,dp=8,pp=2"])
def test_no_sizing_without_heavy_groups_inside(parallel: str) -> None:
    where = a3(a0=1, a1=1) if "tp=3" not in parallel else a3(a0=1, a1=1, a2=1)
    text = acjob({"Master": (1, 16), "Worker": (len(where.names) - 1, 16)}, annotations='sp-block: "16"', **SP)
    assert "spBlock" not in measured(text, where, parallel)["network"]["parallel"]


def test_superpod_ids_may_be_large() -> None:
    """Ids are any number: what is counted is nodes, the two of the larger SuperPoD here."""
    where = a3(a0=2_000_000_000, a1=2_000_000_000, b0=5)
    assert where.largest_superpod(where.has_npus) == (2_000_000_000, 2)
    text = acjob({"Master": (1, 16), "Worker": (1, 16)}, annotations='sp-block: "32"', **SP)
    parallel = measured(text, where, "tp=16,dp=2")["network"]["parallel"]
    assert parallel["spBlock"] == {"smallest": 16, "recommended": 32}


def test_largest_superpod() -> None:
    where = a3(a0=4, a1=4, b0=2, b1=2, c0=-1)
    assert where.largest_superpod(where.has_npus) == (2, 2)  # the lower id of two with as many nodes
    assert where.largest_superpod(where.superpod == 4) == (4, 2)
    assert where.largest_superpod(where.superpod < 0) == (-1, 0)
