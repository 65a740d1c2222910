"""Parameter resource-level-config (chapter 22 §1.2, §1.3, facts of §9.7) and affinity-config (§3.2)."""

from __future__ import annotations

import json

import pytest

from ascendctl.snapshot.config import TreeLevel
from ascendctl.topology.affinity import group_sizes, parse_affinity
from ascendctl.topology.levels import parse_resource_levels


def test_field_names_compare_without_case() -> None:
    found = parse_resource_levels('{"tree1":{"level1":{"Label":"level1","RESERVEDNODE":2}}}')
    assert found.trees == {"tree1": (TreeLevel("level1", "level1", 2),)}
    assert found.problems == ()


def test_levels_are_sorted_by_number_not_by_text() -> None:
    text = json.dumps({"t": {f"level{i}": {"label": f"l{i}"} for i in (10, 2, 1, 3, 4, 5, 6, 7, 8, 9)}})
    found = parse_resource_levels(text)
    assert [level.label for level in found.trees["t"]] == [f"l{i}" for i in range(1, 11)]
    assert [problem.code for problem in found.problems] == ["ML-C09"]


def test_reserved_nodes_count_on_level1_only() -> None:
    text = '{"t":{"level1":{"label":"a","reservedNode":1},"level2":{"label":"b","reservedNode":9}}}'
    found = parse_resource_levels(text)
    assert [level.reserved_nodes for level in found.trees["t"]] == [1, 0]
    assert [(problem.code, problem.severity) for problem in found.problems] == [("ML-C07", "warning")]


@pytest.mark.parametrize(
    "text",
    [
        "x",
        "",
        "[]",
        "3",
        '{"t":[]}',
        '{"t":{"level1":"rack"}}',
        '{"t":{"level1":{"label":1}}}',
        '{"t":{"level1":{"label":"a","reservedNode":"1"}}}',
        '{"t":{"level1":{"label":"a","reservedNode":1.0}}}',
        '{"t":{"level1":{"label":"a","reservedNode":1e1}}}',
        '{"t":{"level1":{"label":"a","reservedNode":true}}}',
        '{"t":{"level1":{"label":"a","reservedNode":9223372036854775808}}}',
        '{"t":{"level1":{"label":"a","reservedNode":NaN}}}',
        '{"t":{"level1":{"label":"a"}},"u":{"level1":3}}',
        '{"t":{"level1":{"label":"a"},"foo":3}}',
        '{"t":{"level1":{"label":"a"}}} x',
        "[" * 100_000,
        '{"t":{"level1":{"label":"a","reservedNode":' + "9" * 5000 + "}}}",
    ],
)
def test_what_cannot_be_decoded_loses_all_trees(text: str) -> None:
    found = parse_resource_levels(text)
    assert found.trees == {}
    assert [problem.code for problem in found.problems] == ["ML-C02"]


@pytest.mark.parametrize(
    ("tree", "kept"),
    [
        ({"level2": {"label": "a"}}, False),
        ({"level1": {"label": "a"}, "level3": {"label": "b"}}, False),
        ({"level1": {"label": "a"}, "foo": {"label": "b"}}, False),
        ({"Level1": {"label": "a"}}, False),
        ({"level01": {"label": "a"}}, False),
        ({"level1": {"label": "a"}, "level2": {"label": "b"}}, True),
    ],
)
def test_a_gap_loses_only_its_tree(tree: dict[str, object], kept: bool) -> None:
    found = parse_resource_levels(json.dumps({"t": tree, "u": {"level1": {"label": "c"}}}))
    assert ("t" in found.trees) == kept
    assert "u" in found.trees
    assert [problem.code for problem in found.problems] == ([] if kept else ["ML-C03"])


@pytest.mark.parametrize(
    ("text", "codes"),
    [
        (None, ["ML-C01"]),
        ("{}", ["ML-C04"]),
        ("null", ["ML-C04"]),
        ('{"t":{"level2":{"label":"a"}}}', ["ML-C03", "ML-C04"]),
        ('{"t":{}}', ["ML-C10"]),
        ('{"t":null}', ["ML-C10"]),
        ('{"t":{"level1":{}}}', ["ML-C05"]),
        ('{"t":{"level1":null}}', ["ML-C05"]),
        ('{"t":{"level1":{"label":null,"reservedNode":null}}}', ["ML-C05"]),
        ('{"t":{"level1":{"label":"a","reservedNode":-1}}}', ["ML-C06"]),
        ('{"t":{"level1":{"label":"a"},"level2":{"label":"a"}}}', ["ML-C08"]),
        ('{"t":{"level1":{"label":"huawei.com/topotree"}}}', ["ML-C08"]),
        ('{"t":{"level1":{"label":"a","color":"red"}}}', ["ML-C02"]),
        ('{"t":{"level1":{"label":"a","note":1.5}}}', ["ML-C02"]),
    ],
)
def test_problems(text: str | None, codes: list[str]) -> None:
    assert [problem.code for problem in parse_resource_levels(text).problems] == codes


def test_tree_without_levels_is_accepted() -> None:
    assert parse_resource_levels('{"t":{}}').trees == {"t": ()}


def test_last_of_repeated_keys_counts() -> None:
    text = '{"t":{"level2":{"label":"x"}},"t":{"level1":{"label":"a","label":"b","Label":"c","label":null}}}'
    assert parse_resource_levels(text).trees == {"t": (TreeLevel("level1", "c"),)}


@pytest.mark.parametrize(
    ("text", "sizes"),
    [
        ("level1=2,level2=4", {"level1": 2, "level2": 4}),
        ("level1=2,level1=4", {"level1": 4}),
        ("level1=+2", {"level1": 2}),
        ("level1=-2", {"level1": -2}),
        (" level1=2", {" level1": 2}),
        ("=3", {"": 3}),
        ("", None),
        ("level1", None),
        ("level1=", None),
        ("level1=2,", None),
        ("level1=2=3", None),
        ("level1=2.0", None),
        ("level1= 2", None),
        ("level1=0x2", None),
        ("level1=٢", None),
        ("level1=9223372036854775808", None),
    ],
)
def test_affinity_config(text: str, sizes: dict[str, int] | None) -> None:
    assert parse_affinity(text) == sizes


def test_group_sizes() -> None:
    assert group_sizes("level2=8,level1=2") == (2, 8)
    with pytest.raises(ValueError, match="does not name level1"):
        group_sizes("level2=8")
