"""The worked examples of chapter 22 §9.1 to §9.4, through the public API."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from ascendctl.engine.policies.multilevel_search import score_field
from ascendctl.engine.result import Placement, Unschedulable
from ascendctl.topology.tree import arrange
from tests.engine.policies.tree_world import A, B, F, K, Q, T, Z, groups, make_case, mask, place, ranks, tree_of

W19 = "G0{S0:a0..a3; S1:a4 a5} G1{S2:b0..b4}"
W25 = "S0:a0..a3; S1:b0..b4"
W29 = "S0:a0 a1; S1:b0..b5"

# id, fleet, busy, reserved, pods, affinity-config, groups, phase, F, A(root), norm
PLACED = [
    ("W01", A, "", 0, 8, "level1=2,level2=4", "n0,n1 | n2,n3 | n4,n5 | n6,n7", 1, 0, 1110, 1),
    ("W02", A, "n0", 0, 4, "level1=2,level2=4", "n4,n5 | n6,n7", 1, 120, 1766, 1.5910),
    ("W03", A, "n0 n2", 0, 4, "level1=2,level2=4", "n4,n5 | n6,n7", 1, 200, 1663.3333, 1.4985),
    ("W05", A, "n0 n4", 0, 4, "level1=2", "n2,n3 | n6,n7", 1, 20, 1646.6667, 1.4835),
    ("W06", A, "", 0, 4, "level1=2", "n0,n1 | n2,n3", 1, 0, 1120, 1.0090),
    ("W07", A, "", 0, 6, "level1=2", "n0,n1 | n2,n3 | n4,n5", 1, 2, 1163.3333, 1.0480),
    ("W09", A, "n1 n2", 0, 2, "level1=2", "n4,n5", 1, 200, 1720, 1.5495),
    ("W10", A, "", 0, 3, "level1=1", "n0 | n1 | n2", 1, 20, 1660, 1.4955),
    ("W11", Q, "", 0, 4, "level1=2,level2=4", "b0,b1 | b2,b3", 1, 20, 1145, 1.0315),
    ("W12", Q, "", 0, 8, "level1=2,level2=4", "b0,b1 | b2,b3 | a0,a1 | a2,a3", 1, 20, 1147.5, 1.0338),
    ("W13", Q, "b0", 0, 8, "level1=2,level2=4", "c0,c1 | c2,c3 | c4,c5 | c6,c7", 1, 144, 1770, 1.5946),
    ("W14", Q, "", 0, 8, "level1=2", "c0,c1 | c2,c3 | c4,c5 | c6,c7", 1, 100, 1122.5, 1.0113),
    ("W15", Q, "", 0, 10, "level1=2", "a0,a1 | a2,a3 | a4,a5 | b0,b1 | b2,b3", 1, 8, 1118, 1.0072),
    ("W16", K, "", 0, 6, "level1=2", "p0,p1 | s0,s1 | s2,s3", 1, 12, 125, 1.1364),
    ("W17", K, "", 0, 4, "level1=2", "p0,p1 | q0,q1", 1, 12, 162.5, 1.4773),
    ("W18", "R2:r0..r5; R3:s0..s3", "", 0, 2, "level1=2", "s0,s1", 1, 0, 250, 2.2727),
    ("W19", W19, "", 0, 4, "level1=4", "b0,b1,b2,b3", 1, 300, 1402.5, 1.2635),
    ("W20", F, "", 0, 8, "level1=2,level2=8", "a0,a1 | a2,a3 | a4,a5 | a6,a7", 1, 300, 1123.75, 1.0124),
    ("W21", F, "a0", 0, 8, "level1=2,level2=8", "b9,ba | b0,b1 | b3,b4 | b6,b7", 1, 460, 2177.3611, 1.9616),
    ("W23", T, "b0", 0, 8, "level1=2,level2=4,level3=8", "c0,c1 | c2,c3 | d0,d1 | d2,d3", 1, 1240, 17967.7778, 1.6173),
    ("W24", T, "b0", 0, 8, "level1=2,level2=4", "a0,a1 | a2,a3 | c0,c1 | c2,c3", 1, 124, 14447.7778, 1.3004),
    ("W25", W25, "", 1, 8, "level1=4", "b0,b1,b2,b3 | a0,a1,a2,a3", 2, 34, 123.75, 1.1250),
    ("W26", B, "", 1, 6, "level1=3", "a0,a1,a2 | b0,b1,b2", 1, 0, 1480, 1.3333),
    ("W27", B, "", 1, 8, "level1=4", "a0,a1,a2,a3 | b0,b1,b2,b3", 2, 600, 1110, 1),
    ("W28", B, "", 2, 6, "level1=3", "a0,a1,a2 | b0,b1,b2", 2, 400, 1480, 1.3333),
    ("W29", W29, "", 3, 2, "level1=2", "b0,b1", 1, 10, 340, 3.0909),
    ("W30", W29, "", 3, 6, "level1=2", "b0,b1 | b2,b3 | a0,a1", 2, 12, 138.3333, 1.2576),
    ("W31", Z, "a0", 1, 8, "level1=2,level2=4", "c0,c1 | d0,d1 | a1,a2 | b0,b1", 2, 124, 1523.3333, 1.3724),
    ("W32", Z, "a0 c0", 1, 6, "level1=3", "b0,b1,b2 | d0,d1,d2", 2, 60, 2165, 1.9505),
    ("W41", "S0:node1 node2 node9 node10", "", 0, 2, "level1=2", "node1,node10", 1, 0, None, None),
    ("W41 R=1", "S0:node1 node2 node9 node10", "", 1, 2, "level1=2", "node1,node10", 1, 10, None, None),
]


@pytest.mark.parametrize("row", PLACED, ids=[row[0] for row in PLACED])
def test_placed(row: tuple[Any, ...]) -> None:
    _, fleet, busy, reserve, pods, config, expected, phase, score, root, norm = row
    result = place(make_case(fleet, pods, config, busy=busy, reserve=reserve))
    assert isinstance(result, Placement)
    assert groups(result) == expected
    assert result.metrics["phase"] == phase
    assert result.metrics["fragment_score"] == score
    assert result.metrics["tree"] == "default"
    if root is not None:
        assert result.metrics["article_score"]["root"] == pytest.approx(root, abs=1e-4)
        assert result.metrics["article_score"]["norm"] == pytest.approx(norm, abs=1e-4)


@pytest.mark.parametrize(
    ("fleet", "busy", "pods", "config"),
    [
        (A, "n0 n4", 4, "level1=2,level2=4"),
        (A, "", 6, "level1=2,level2=6"),
        (F, "a0 b9", 8, "level1=2,level2=8"),
    ],
    ids=["W04", "W08", "W22"],
)
def test_no_tree_can_host(fleet: str, busy: str, pods: int, config: str) -> None:
    result = place(make_case(fleet, pods, config, busy=busy))
    assert isinstance(result, Unschedulable)
    assert result.code == "ML-P03"
    assert result.message.startswith("no valid task tree found")


# id, fleet, busy, reserved, vector, "unit capacity/fragments"
SCORES = [
    ("W01", A, "", 0, (8, 4, 2, 1), "S0 1/0, S3 1/0, G0 1/0, G1 1/0, root 1/0"),
    ("W02", A, "n0", 0, (4, 4, 2, 1), "S0 0/1, S1 1/0, G0 0/12, G1 1/0, root 1/120"),
    ("W03", A, "n0 n2", 0, (4, 4, 2, 1), "S0 0/1, S1 0/1, G0 0/20, G1 1/0, root 1/200"),
    ("W04", A, "n0 n4", 0, (4, 4, 2, 1), "S0 0/1, S1 1/0, S2 0/1, S3 1/0, G0 0/12, G1 0/12, root 0/240"),
    ("W05 plain", A, "n0 n4", 0, (4, 2, 1), "S0 0/1, S1 1/0, S2 0/1, S3 1/0, root 1/20"),
    ("W07 strict", A, "", 0, (6, 6, 2, 1), "G0 0/4, G1 0/4, root 0/80"),
    ("W07 plain", A, "", 0, (6, 2, 1), "S0 1/0, root 1/2"),
    ("W09", A, "n1 n2", 0, (2, 2, 2, 1), "S0 0/1, S1 0/1, G0 0/20, G1 2/0, root 2/200"),
    ("W10", A, "", 0, (3, 3, 1, 1), "S0 2/0, G0 1/1, G1 1/1, root 2/20"),
    ("W11", Q, "", 0, (4, 4, 2, 1), "G0 1/2, G1 1/0, G2 2/0, root 4/20"),
    ("W12", Q, "", 0, (8, 4, 2, 1), "G0 1/2, G1 1/0, G2 2/0, root 2/20"),
    ("W13", Q, "b0", 0, (8, 4, 2, 1), "S3 0/1, G0 1/2, G1 0/12, G2 2/0, root 1/144"),
    ("W14", Q, "", 0, (8, 8, 2, 1), "G0 0/6, G1 0/4, G2 1/0, root 1/100"),
    ("W15 strict", Q, "", 0, (10, 10, 2, 1), "G0 0/6, G1 0/4, G2 0/8"),
    ("W15 plain", Q, "", 0, (10, 2, 1), "root 1/8"),
    ("W16", K, "", 0, (6, 2, 1), "R0 1/0, R1 1/1, R2 3/0, R3 2/0, root 2/12"),
    ("W17", K, "", 0, (4, 2, 1), "root 3/12"),
    ("W18", "R2:r0..r5; R3:s0..s3", "", 0, (2, 2, 1), "R2 3/0, R3 2/0, root 5/0"),
    ("W19", W19, "", 0, (4, 4, 4, 1), "S0 1/0, S1 0/2, S2 1/1, G0 1/20, G1 1/10, root 2/300"),
    ("W20", F, "", 0, (8, 8, 2, 1), "F0 1/0, F3 1/0, F4 1/1, F6 1/1, F7 1/0, SP0 1/0, SP1 1/30, root 2/300"),
    ("W21", F, "a0", 0, (8, 8, 2, 1), "F0 0/1, SP0 0/16, SP1 1/30, root 1/460"),
    ("W22", F, "a0 b9", 0, (8, 8, 2, 1), "SP0 0/16, F7 0/1, SP1 0/46, root 0/620"),
    ("W23", T, "b0", 0, (8, 8, 4, 2, 1), "S2 0/1, G0 1/0, G1 0/12, G2 1/0, G3 1/0, Z0 0/124, Z1 1/0, root 1/1240"),
    ("W24", T, "b0", 0, (8, 4, 2, 1), "G0 1/0, G1 0/12, G2 1/0, G3 1/0, root 1/124"),
    ("W25", W25, "", 1, (8, 4, 1), "S0 0/3, S1 1/0, root 0/34"),
    ("W26", B, "", 1, (6, 6, 3, 1), "S0 1/0, S1 1/0, G0 1/0, root 1/0"),
    ("W27", B, "", 1, (8, 8, 4, 1), "S0 0/3, G0 0/60, root 0/600"),
    ("W28", B, "", 2, (6, 6, 3, 1), "S0 0/2, G0 0/40, root 0/400"),
    ("W29", W29, "", 3, (2, 2, 1), "S0 0/0, S1 1/1, root 1/10"),
    ("W30", W29, "", 3, (6, 2, 1), "root 0/12"),
    ("W31", Z, "a0", 1, (8, 4, 2, 1), "S0 0/1, S1 1/0, G0 0/12, G1 1/0, root 0/124"),
    ("W32", Z, "a0 c0", 1, (6, 3, 1), "S0 0/1, S1 0/2, S2 0/1, S3 0/2, root 0/60"),
]


@pytest.mark.parametrize("row", SCORES, ids=[row[0] for row in SCORES])
def test_capacities_and_fragments(row: tuple[Any, ...]) -> None:
    _, fleet, busy, reserve, sizes, expected = row
    tree, cluster = tree_of(fleet, reserve)
    nodes = np.flatnonzero(tree.complete & mask(cluster, busy)).astype(np.int32)
    field = score_field(arrange(tree, nodes, len(sizes) - 2, ranks(cluster)), sizes, reserve)
    found = {"root": f"{field.capacity[0][0]}/{field.fragments[0][0]}"}
    for depth in range(1, field.layout.depth):
        for vertex in range(len(field.capacity[depth])):
            name = field.layout.unit_name(tree, depth, vertex).rpartition("/")[2]
            found[name] = f"{field.capacity[depth][vertex]}/{field.fragments[depth][vertex]}"
    wanted = dict(part.split(" ") for part in expected.split(", "))
    assert {name: found[name] for name in wanted} == wanted


def test_w29_short_unit_is_marked() -> None:
    tree, cluster = tree_of(W29, 3)
    field = score_field(arrange(tree, np.arange(8, dtype=np.int32), 1, ranks(cluster)), (2, 2, 1), 3)
    assert field.short.tolist() == [True, False]


ALPHA1 = "R0:a0..a3"
BETA2 = "H0{Q0:b0 b1; Q1:b2 b3}"


@pytest.mark.parametrize(
    ("trees", "busy", "pods", "config", "tree", "expected", "score"),
    [
        ({"alpha": ALPHA1, "beta": BETA2}, "", 4, "level1=2", "beta", "b0,b1 | b2,b3", 0),
        ({"alpha": ALPHA1, "beta": BETA2}, "b0", 4, "level1=2", "alpha", "a0,a1 | a2,a3", 0),
        ({"alpha": "R0:a0 a1 a2; R1:a3 a4", "beta": "Q0:b0 b1; Q1:b2 b3"}, "", 4, "level1=2", "beta", "b0,b1 | b2,b3", 0),
        (
            {"alpha": "R0:a0 a1 a2; R1:a3 a4", "beta": "Q0:b0 b1; Q1:b2 b3"},
            "a2", 4, "level1=2", "alpha", "a0,a1 | a3,a4", 0,
        ),
        ({"alpha": "R0:a0 a1", "beta": "Q0:b0 b1 b2; Q1:b3 b4 b5"}, "", 4, "level1=2", "beta", "b0,b1 | b3,b4", 20),
        (
            {"alpha": "R0:a0 a1; R1:a2 a3", "beta": "H0{Q0:b0 b1 b2; Q1:b3 b4}"},
            "", 4, "level1=2,level2=4", "beta", "b3,b4 | b0,b1", 100,
        ),
    ],
    ids=["W33", "W34", "W35", "W36", "W37", "W38"],
)  # fmt: skip
def test_several_trees(
    trees: dict[str, str], busy: str, pods: int, config: str, tree: str, expected: str, score: int
) -> None:
    result = place(make_case(trees, pods, config, busy=busy))
    assert groups(result) == expected
    assert (result.metrics["tree"], result.metrics["fragment_score"]) == (tree, score)


def test_w33_strict_attempt_is_named() -> None:
    result = place(make_case({"alpha": ALPHA1, "beta": BETA2}, 4, "level1=2"))
    assert (result.metrics["attempt"], result.metrics["vector"]) == ("strict", [4, 4, 2, 1])
    assert result.trace.steps[0][0] == (
        "tree 'alpha' is not looked at for the strict shape [4, 4, 2, 1]: it has fewer than 2 level(s)"
    )


def test_w39_no_tree_deep_enough() -> None:
    result = place(make_case({"alpha": "R0:a0 a1; R1:a2 a3"}, 4, "level1=2,level2=4"))
    assert result.code == "ML-P02"


def test_w40_reused_unit_names_merge_once_trimmed() -> None:
    result = place(make_case("G0{S0:x0} G1{S0:y0}", 2, "level1=2"))
    assert groups(result) == "x0,y0"
    assert any(note.startswith("ML-N05") for note in result.trace.notes)


W42 = "G0{S0:u0 u1 u2 u3 u4 u5}"
W42_NODES = {
    "u1": {"labels": {"huawei.com/topotree.superpodid": None}},
    "u2": {"labels": {"huawei.com/topotree": "lab"}},
    "u3": {"used": "0xff00"},
    "u4": {"net_unhealthy": "0x8"},
}


def test_w42_filters() -> None:
    result = place(make_case(W42, 2, "level1=2", more=W42_NODES))
    assert groups(result) == "u0,u5"
    codes = {node: entry.code for entry in result.rejected for node in entry.nodes}
    assert codes == {"u1": "ML-N02", "u2": "ML-N01", "u3": "NPU_SHORTAGE", "u4": "ML-N03"}


def test_w42_exact_count_not_at_least() -> None:
    """Rule 5: a node with more usable chips than asked is refused, one with exactly as many is taken."""
    result = place(
        make_case("S0:u0 u1 u2", 2, "level1=2", npus=8, more={"u0": {"used": "0xff00"}, "u2": {"used": "0xf0f0"}})
    )
    assert groups(result) == "u0,u2"
    assert [pod.npus for pod in result.pods] == [tuple(range(8)), (0, 1, 2, 3, 8, 9, 10, 11)]
    assert {node: entry.code for entry in result.rejected for node in entry.nodes} == {"u1": "ML-N03"}
    assert any("keep NPUs that no multi-level job can use" in note for note in result.trace.notes)


def test_w43_too_few_candidates() -> None:
    """u4 has enough free NPUs for the enqueue stage, so the policy's own count decides."""
    nodes = W42_NODES | {"u3": {"net_unhealthy": "0x1"}}
    result = place(make_case(W42, 4, "level1=2", more=nodes))
    assert result.code == "ML-P01"


def test_w44_gap() -> None:
    result = place(make_case(A, 8, "level1=2,level3=8"))
    assert result.outcome == "invalid"
    assert result.code == "ML-J03"
    assert result.message == "affinity block level2 is not exist, please check if level numbers are continuous"


@pytest.mark.parametrize(
    ("fleet", "pods", "config", "expected", "vector", "score"),
    [
        (K, 6, "level1=2", "r0,r1 | r2,r3 | r4,r5", [6, 6, 1], 90),
        (K, 4, "level1=2", "s0,s1 | s2,s3", [4, 4, 1], 70),
        (K, 8, "level1=2", "p0,p1 | s0,s1 | s2,s3 | q0,q1", [8, 2, 1], 16),
        (Q, 8, "level1=2,level2=4", "c0,c1 | c2,c3 | c4,c5 | c6,c7", [8, 8, 2, 1], 100),
        ({"alpha": ALPHA1, "beta": BETA2}, 4, "level1=2", "a0,a1 | a2,a3", [4, 4, 1], 0),
    ],
    ids=["W16 fleet 6", "W16 fleet 4", "W16 fleet 8", "W12", "W33"],
)
def test_objective_bandwidth(fleet: Any, pods: int, config: str, expected: str, vector: list[int], score: int) -> None:
    result = place(make_case(fleet, pods, config), "bandwidth")
    assert groups(result) == expected
    assert (result.metrics["vector"], result.metrics["fragment_score"]) == (vector, score)


def test_article_score_step_by_step() -> None:
    """Chapter 22 §9.4."""
    w02 = place(make_case(A, 4, "level1=2,level2=4", busy="n0")).metrics["article_score"]["units"]
    assert w02 == {"G0": 241.6, "G1": 111.6, "G0/S0": 24.0, "G1/S2": 11.0, "G1/S3": 11.0}
    w17 = place(make_case(K, 4, "level1=2")).metrics["article_score"]["units"]
    assert w17 == {"R0": 13.75, "R1": 18.75}
