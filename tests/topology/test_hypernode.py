"""HyperNode objects: reading, checking, the tree that they make, scores (chapter 22 §7, worked examples §9.6)."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

import ascendctl
from ascendctl.engine.api import place
from ascendctl.engine.policies.multilevel_plan import Attempt, NoPlan, Plan, plan, shape
from ascendctl.snapshot.cluster import Cluster
from ascendctl.topology.hypernode import (
    ROOT,
    HyperNodeError,
    HyperNodes,
    compile_pattern,
    hypernode_cluster,
    overlay,
    read_hypernodes,
    resolve,
)
from ascendctl.topology.hypernode_jobs import (
    Constraint,
    TopologyError,
    Weights,
    group_tries,
    hypernode_scores,
    read_constraint,
)
from ascendctl.topology.tree import build_trees, byte_ranks
from tests import cases
from tests.engine.policies.tree_world import groups, inputs, make_case


def hypernode(name: str, tier: int, *members: Any, tier_name: str = "") -> dict[str, Any]:
    """A HyperNode; members are names (s... = HyperNode, else node) or whole entries."""
    entries = [
        m if isinstance(m, dict)
        else {"type": "HyperNode" if m[0] == "s" else "Node", "selector": {"exactMatch": {"name": m}}}
        for m in members
    ]  # fmt: skip
    spec = {"tier": tier, "members": entries} | ({"tierName": tier_name} if tier_name else {})
    return {"apiVersion": "topology.volcano.sh/v1alpha1", "kind": "HyperNode", "metadata": {"name": name}, "spec": spec}


def snapshot(names: str = "node0..node7", labels: dict[str, dict[str, str]] | None = None) -> Cluster:
    more = {name: {"labels": value} for name, value in (labels or {}).items()}
    return inputs(make_case(f"X:{names}", 1, "level1=1", more=more))[1]


H01 = [
    hypernode("s0", 1, "node0", "node1"),
    hypernode("s1", 1, "node2", "node3"),
    hypernode("s2", 1, "node4", "node5"),
    hypernode("s3", 1, "node6", "node7"),
    hypernode("s4", 2, "s0", "s1"),
    hypernode("s5", 2, "s2", "s3"),
    hypernode("s6", 3, "s4", "s5"),
]


def forest(objects: list[dict[str, Any]], cluster: Cluster) -> HyperNodes:
    items, problems = read_hypernodes(objects)
    assert not problems
    return resolve(items, cluster)


def test_h01_tiers_become_levels() -> None:
    cluster = snapshot()
    found, problems = overlay(cluster, forest(H01[::-1], cluster))
    assert problems == ()
    (tree,) = build_trees(found)
    assert tree.name == ROOT
    assert [level.name for level in tree.levels] == ["level1", "level2", "level3"]
    assert tree.values == (("s0", "s1", "s2", "s3"), ("s4", "s5"), ("s6",))
    assert [tree.unit(1, i) for i in range(8)] == ["s0", "s0", "s1", "s1", "s2", "s2", "s3", "s3"]
    assert [tree.unit(2, i) for i in range(8)] == ["s4"] * 4 + ["s5"] * 4
    assert tree.complete.all()
    assert tree.reserve == 0


def run(tries: tuple[tuple[int, ...], ...], pods: int) -> str:
    cluster = snapshot()
    found, _ = overlay(cluster, forest(H01, cluster))
    trees = build_trees(found)
    attempts = [Attempt("tier", shape(pods, groups)) for groups in tries]
    result = plan(trees, trees[0].complete, attempts, tries[-1][0], byte_ranks(found.names))
    if isinstance(result, NoPlan):
        return "no tree"
    assert isinstance(result, Plan)
    return " ".join(found.names[i] for i in result.nodes)


def test_h02_no_tier1_hypernode_holds_the_job() -> None:
    tries = group_tries(4, (1, 2, 3), Constraint(tier=1))
    assert tries == ((4,),)
    assert run(tries, 4) == "no tree"


def test_h03_tier_2() -> None:
    tries = group_tries(4, (1, 2, 3), Constraint(tier=2))
    assert tries == ((4,), (1, 4))
    assert run(tries, 4) == "node0 node1 node2 node3"


def test_h04_partitions() -> None:
    tries = group_tries(8, (1, 2, 3), Constraint(tier=3), 2, Constraint(tier=1))
    assert tries == ((8,), (2, 8), (2, 2, 8))
    assert run(tries, 8) == "node0 node1 node2 node3 node4 node5 node6 node7"


def test_partition_limit_is_clipped_and_soft_jobs_may_span_everything() -> None:
    assert group_tries(8, (1, 2, 3), Constraint(tier=3), 4, Constraint(tier=2)) == ((8,), (1, 8), (1, 4, 8))
    assert group_tries(8, (1, 2), Constraint(hard=False), 4, Constraint(tier=1)) == ((8,), (4, 8), (4, 4))
    assert group_tries(8, (1, 2), Constraint(hard=False)) == ((8,), (1, 8), (1,))
    assert group_tries(8, (1, 2), Constraint()) == ((1,),)
    assert group_tries(8, (2, 5), Constraint(tier=4), 2, Constraint(hard=False)) == ((8,),)


def test_h08_no_tier_that_low() -> None:
    with pytest.raises(TopologyError, match="ML-H08"):
        group_tries(4, (2, 3), Constraint(tier=1))
    with pytest.raises(TopologyError, match="partitions of 3"):
        group_tries(4, (1,), Constraint(tier=1), 3)


def test_h05_bin_pack() -> None:
    request = {"cpu": 8, "memory": 8}
    totals = {"s4": (8, 8), "s6": (8, 16), "s1": (12, 16), "s2": (12, 32), "s0": (24, 48), "s3": (4, 8)}
    candidates: Any = {name: ({}, {"cpu": cpu, "memory": memory}) for name, (cpu, memory) in totals.items()}
    scores = hypernode_scores(request, candidates, Weights())
    assert {name: round(score, 1) for name, score in scores.items()} == {
        "s4": 100, "s6": 75, "s1": 58.3, "s2": 45.8, "s0": 25, "s3": 0,
    }  # fmt: skip
    assert list(scores) == ["s4", "s6", "s1", "s2", "s0", "s3"]


def test_h07_npus_count_where_they_are_listed() -> None:
    weights = Weights(resources={"cpu": 0, "memory": 0, "huawei.com/Ascend910": 1})
    npu = "huawei.com/Ascend910"
    scores = hypernode_scores({npu: 16, "cpu": 4}, {"X": ({npu: 16}, {npu: 32}), "Y": ({}, {npu: 32})}, weights)
    assert scores == {"X": 100, "Y": 50}


def test_equal_best_scores_are_decided_by_pods_there() -> None:
    candidates: Any = {"a": ({}, {"cpu": 8}), "b": ({}, {"cpu": 8})}
    scores = hypernode_scores({"cpu": 4}, candidates, Weights(resources={"cpu": -1}), {"b": 1}, 4)
    assert scores == {"b": 75, "a": 50}
    assert hypernode_scores({"gpu": 1}, candidates, Weights()) == {"a": 0, "b": 0}


# ------------------------------------------------------------------------------------------------- membership
def test_skipped_tier_and_early_end_of_a_chain() -> None:
    """A pass-through unit is named after the nearest lower HyperNode, or after the node itself."""
    cluster = snapshot("node0..node5")
    objects = [
        hypernode("s0", 1, "node0", "node1"),
        hypernode("s9", 3, "s0", "node4"),
        hypernode("s1", 2, "node2", "node3"),
    ]
    found, problems = overlay(cluster, forest(objects, cluster))
    (tree,) = build_trees(found)
    rows = {found.names[i]: [tree.unit(level, i) for level in (1, 2, 3)] for i in range(6)}
    assert rows == {
        "node0": ["s0", "s0", "s9"],
        "node1": ["s0", "s0", "s9"],
        "node2": ["node2", "s1", "s1"],
        "node3": ["node3", "s1", "s1"],
        "node4": ["node4", "node4", "s9"],
        "node5": ["", "", ""],
    }
    assert tree.complete.tolist() == [True] * 5 + [False]
    assert [problem.code for problem in problems] == ["ML-H07"]


def test_members_by_pattern_and_label() -> None:
    cluster = snapshot("node0 node1 node10 node2", {"node2": {"rack": "r1"}, "node0": {"rack": "r0", "spare": "x"}})
    entry: Any = {"type": "Node", "selector": {"regexMatch": {"pattern": "node1"}}}
    by_label: Any = {
        "type": "Node",
        "selector": {
            "labelMatch": {
                "matchLabels": {"rack": "r1"},
                "matchExpressions": [
                    {"key": "rack", "operator": "In", "values": ["r0", "r1"]},
                    {"key": "spare", "operator": "DoesNotExist"},
                    {"key": "zone", "operator": "NotIn", "values": ["z"]},
                ],
            }
        },
    }
    empty: Any = {"type": "Node", "selector": {"labelMatch": {}}}
    ignored: Any = {"type": "HyperNode", "selector": {"regexMatch": {"pattern": "s"}}}
    found = forest(
        [hypernode("s0", 1, entry), hypernode("s1", 1, by_label), hypernode("s2", 1, empty, ignored)], cluster
    )
    named = {name: [cluster.names[i] for i in nodes] for name, nodes in found.nodes.items()}
    assert named == {"s0": ["node1", "node10"], "s1": ["node2"], "s2": []}
    assert found.parents == {}


def test_shared_nodes_missing_members_and_tiers_that_do_not_rise() -> None:
    cluster = snapshot()
    objects = [
        hypernode("s0", 1, "node0", "node9"),
        hypernode("s1", 1, "node0"),
        hypernode("s2", 1, "s0", "s7"),
    ]
    found = forest(objects, cluster)
    assert [problem.code for problem in found.problems] == ["ML-H05", "ML-H05", "ML-H04"]
    shown, problems = overlay(cluster, found)
    assert [problem.code for problem in problems] == ["ML-H06", "ML-H06", "ML-H07"]
    assert build_trees(shown)[0].unit(1, 0) == "s0"


def test_two_parents_and_cycles_stop_everything() -> None:
    cluster = snapshot()
    with pytest.raises(HyperNodeError, match="ML-H02: HyperNode s0 already has a parent s1"):
        forest([hypernode("s0", 1, "node0"), hypernode("s1", 2, "s0"), hypernode("s2", 2, "s0")], cluster)
    with pytest.raises(HyperNodeError, match="ML-H03: cyclic dependency detected: s0 -> s1 -> s0"):
        forest([hypernode("s0", 1, "s1"), hypernode("s1", 2, "s0")], cluster)


@pytest.mark.parametrize(
    ("change", "text"),
    [
        ({"tier": -1}, "spec.tier"),
        ({"tier": "1"}, "spec.tier"),
        ({"tier": True}, "spec.tier"),
        ({"tierName": "x" * 254}, "spec.tierName"),
        ({"members": []}, "member must have at least one member"),
        ({"members": [{"type": "Rack"}]}, "type must be Node or HyperNode"),
        ({"members": [{"type": "Node", "selector": {}}]}, "exactly one of"),
        (
            {"members": [{"type": "Node", "selector": {"exactMatch": {"name": "a"}, "regexMatch": {"pattern": "a"}}}]},
            "exactly one of",
        ),
        ({"members": [{"type": "Node", "selector": {"exactMatch": {"name": "A_"}}}]}, "no name of an object"),
        ({"members": [{"type": "Node", "selector": {"regexMatch": {"pattern": "("}}}]}, "no regular expression"),
        ({"members": [{"type": "Node", "selector": {"regexMatch": {"pattern": ""}}}]}, "is empty"),
        ({"members": "node0"}, "at least one member"),
        (None, "spec is missing"),
    ],
)
def test_h01_refused_objects(change: dict[str, Any] | None, text: str) -> None:
    value = hypernode("s0", 1, "node0")
    value["spec"] = None if change is None else value["spec"] | change
    items, problems = read_hypernodes([value, {"kind": "Node"}, hypernode("s1", 1, "node1")])
    assert [item.name for item in items] == ["s1"]
    assert [problem.code for problem in problems] == ["ML-H01"]
    assert text in problems[0].message


@pytest.mark.parametrize("pattern", ["(a+)+$", "(a|aa)*b", "(a?){20}", ".*a.*b.*c.*d.*", "a?" * 9, r"(x)\1", "(?=a)"])
def test_patterns_that_could_run_forever_or_that_go_does_not_know(pattern: str) -> None:
    with pytest.raises(ValueError, match="pattern"):
        compile_pattern(pattern)


@pytest.mark.parametrize(
    ("pattern", "name"),
    [
        ("^node-(1|2)$", "node-2"),
        (r"rack\d+-n[0-9]{1,3}", "x-rack12-n7"),
        ("[*+?|]a", "*a"),
        (r"a\+\*", "a+*"),
        ("(?:ab)+", "abab"),
    ],
)
def test_usual_patterns(pattern: str, name: str) -> None:
    assert compile_pattern(pattern).search(name)


def test_constraints_of_jobs() -> None:
    cluster = snapshot()
    named = forest([*H01[:6], hypernode("s6", 3, "s4", "s5", tier_name="zone")], cluster)
    assert read_constraint(None, named) is None
    assert read_constraint({"highestTierName": "zone"}, named) == Constraint(True, 3)
    assert read_constraint({"highestTierName": "moon"}, named) == Constraint(True, None)
    assert read_constraint({"mode": "soft"}, named) == Constraint(False, None)
    for value in ({"mode": "firm"}, {"highestTierAllowed": -1}, {"highestTierAllowed": 1, "highestTierName": "z"}, []):
        with pytest.raises(TopologyError):
            read_constraint(value, named)


def test_hypernodes_of_a_dump_place_a_job() -> None:
    """Objects in the dump, also as a typed list whose items name no kind; the job is planned on their tree."""
    case = make_case("X:node0..node7", 4, "level1=2,level2=4", busy="node0")
    job = ascendctl.load_jobs(cases.manifest(case))[0]
    bare = [{key: value for key, value in item.items() if key not in ("kind", "apiVersion")} for item in H01[4:]]
    objects = [*cases.objects(case), *H01[:4], {"kind": "HyperNodeList", "items": bare}]
    cluster = ascendctl.load_snapshot(objects)
    assert [item["metadata"]["name"] for item in cluster.hypernodes] == ["s0", "s1", "s2", "s3", "s4", "s5", "s6"]
    assert "HyperNode" not in cluster.skipped
    found, problems = hypernode_cluster(cluster, reserve=1)
    assert problems == ()
    result = place(job, found)
    assert groups(result) == "node4,node5 | node6,node7"
    assert result.metrics["tree"] == ROOT
    assert result.metrics["units"] == {"0": "s6/s5/s2", "1": "s6/s5/s3"}


def test_dump_without_hypernodes() -> None:
    with pytest.raises(HyperNodeError, match="kubectl get hypernodes"):
        hypernode_cluster(snapshot())
    broken = hypernode("s0", -1, "node0")
    with pytest.raises(HyperNodeError, match=r"spec\.tier"):
        hypernode_cluster(replace(snapshot(), hypernodes=(broken,)))


def test_long_chains_need_no_deep_recursion() -> None:
    cluster = snapshot("node0 node1")
    chain = [hypernode("s0", 0, "node0"), *(hypernode(f"s{i}", i, f"s{i - 1}") for i in range(1, 3000))]
    found = forest(chain, cluster)
    assert found.all_nodes("s2999").tolist() == [0]
