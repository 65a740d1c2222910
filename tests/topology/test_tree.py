"""Trees from node labels, their layout and what is wrong with labels (chapter 22 §2.1, §2.2, §8.1, facts of §9.7)."""

from __future__ import annotations

import numpy as np

from ascendctl.topology.diagnose import reused_levels, tree_problems
from ascendctl.topology.tree import arrange, build_trees, byte_ranks
from tests.engine.policies.tree_world import LABELS, TREE, A, inputs, make_case


def test_byte_order_of_names() -> None:
    assert byte_ranks(("node1", "node2", "node9", "node10", "Node3")).tolist() == [1, 3, 4, 2, 0]


def test_unlabelled_nodes_belong_to_default_and_unknown_trees_to_nobody() -> None:
    case = make_case(A, 2, "level1=2", more={"n1": {"labels": {TREE: "lab"}}, "n2": {"labels": {TREE: "default"}}})
    _, cluster = inputs(case)
    (tree,) = build_trees(cluster)
    assert tree.member.tolist() == [True, False, True, True, True, True, True, True]
    assert tree.unit(1, 1) == ""


def test_a_missing_label_makes_a_node_incomplete() -> None:
    _, cluster = inputs(make_case(A, 2, "level1=2", more={"n1": {"labels": {LABELS[2]: None}}}))
    (tree,) = build_trees(cluster)
    assert tree.member.all()
    assert np.flatnonzero(~tree.complete).tolist() == [1]
    assert tree.unit(1, 1) == "S0"


def test_trees_ascend_by_name_and_units_by_bytes() -> None:
    _, cluster = inputs(make_case({"b": "rack2:n1; rack10:n2", "a": "R:m1"}, 1, "level1=1"))
    trees = build_trees(cluster)
    assert [tree.name for tree in trees] == ["a", "b"]
    b = trees[1]
    layout = arrange(b, np.flatnonzero(b.complete).astype(np.int32), 1, byte_ranks(cluster.names))
    assert [layout.unit_name(b, 1, i) for i in range(2)] == ["rack10", "rack2"]


def test_layout_limits() -> None:
    _, cluster = inputs(make_case("G0{S0:a0 a1; S1:a2} G1{S2:b0}", 1, "level1=1"))
    (tree,) = build_trees(cluster)
    layout = arrange(tree, np.array([3, 2, 1, 0], dtype=np.int32), 2, byte_ranks(cluster.names))
    assert layout.depth == 3
    assert layout.nodes.tolist() == [0, 1, 2, 3]
    assert [limits.tolist() for limits in layout.children] == [[0, 2], [0, 2, 3], [0, 2, 3, 4]]
    assert [limits.tolist() for limits in layout.leaves] == [[0, 4], [0, 3, 4], [0, 2, 3, 4]]
    assert [parents.tolist() for parents in layout.parents] == [[], [0, 0], [0, 0, 1], [0, 0, 1, 2]]
    assert layout.unit_name(tree, 0, 0) == "default"
    assert layout.unit_name(tree, 2, 1) == "G0/S1"


def test_left_out_level_merges_units_of_one_name() -> None:
    _, cluster = inputs(make_case("G0{S0:x0} G1{S0:y0}", 1, "level1=1"))
    (tree,) = build_trees(cluster)
    nodes, ranks = np.arange(2, dtype=np.int32), byte_ranks(cluster.names)
    assert len(arrange(tree, nodes, 2, ranks).leaves[2]) == 3
    assert len(arrange(tree, nodes, 1, ranks).leaves[1]) == 2
    assert reused_levels(tree) == [0]
    assert [problem.code for problem in tree_problems(tree, cluster.names)] == ["ML-N05"]


def test_layout_of_no_nodes() -> None:
    _, cluster = inputs(make_case(A, 1, "level1=1"))
    (tree,) = build_trees(cluster)
    layout = arrange(tree, np.zeros(0, dtype=np.int32), 2, byte_ranks(cluster.names))
    assert [limits.tolist() for limits in layout.leaves] == [[0, 0], [0], [0]]


def test_problems_of_labels() -> None:
    more = {"n0": {"labels": {LABELS[2]: None}}, "n2": {"labels": {LABELS[1]: ""}}, "n3": {"labels": {LABELS[1]: ""}}}
    _, cluster = inputs(make_case(A, 1, "level1=1", reserve=1, more=more))
    (tree,) = build_trees(cluster)
    problems = tree_problems(tree, cluster.names)
    assert [(problem.code, problem.severity) for problem in problems] == [
        ("ML-N06", "warning"),
        ("ML-N02", "warning"),
        ("ML-C11", "warning"),
    ]
    assert "n2" in problems[0].message
    assert "n0" in problems[1].message
    assert "S0" in problems[2].message


def test_config_without_trees() -> None:
    case = make_case(A, 1, "level1=1")
    case["params"] = {}
    assert build_trees(inputs(case)[1]) == ()
