"""Checks SW-01 .. SW-12 (chapter 23 §1.1): each fires on its defect alone."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

import ascendctl
from ascendctl.topology.leaf_lint import RULES, lint, lint_configmap
from tests import cases
from tests.engine.policies.switch_world import case

Info = dict[str, Any]
TWO = "L1{0,1,2,3} L2{0,1,2,3}"


def _found(change: Callable[[Info], object] | None = None, level: str | None = None) -> dict[str, dict[str, Any]]:
    example = case(4, TWO, "normal 2", level=level)
    cluster = ascendctl.load_snapshot(cases.objects(example))
    info = example["leaves"]["tor_info"]
    if change is not None:
        change(info)
    data = {"tor_info": json.dumps(info)} | ({} if level is None else {"tor_level": level})
    return {violation.rule: dict(violation.values) for violation in lint_configmap(data, cluster)}


def _server(info: Info, leaf: int, position: int) -> Info:
    server: Info = info["server_list"][leaf]["server"][position]
    return server


def _set(key: str, value: object, leaf: int = 0, position: int | None = None) -> Callable[[Info], None]:
    def change(info: Info) -> None:
        target = info["server_list"][leaf] if position is None else _server(info, leaf, position)
        target[key] = value

    return change


def test_good_topology() -> None:
    assert _found() == {}
    assert _found(level="single_layer") == {} == _found(level="double_layer")


@pytest.mark.parametrize(
    ("change", "rules"),
    [
        (lambda info: info.update(server_list=[]), {"SW-01"}),
        (lambda info: info.update(tor_count="4"), {"SW-01"}),
        (lambda info: info.update(tor_count=0), {"SW-02", "SW-03", "SW-07"}),
        (lambda info: info.update(tor_count=129), {"SW-02", "SW-04"}),
        (lambda info: info.update(tor_count=3), {"SW-03", "SW-07"}),
        (lambda info: info.update(tor_count=5), {"SW-04"}),
        (lambda info: info["server_list"][1]["server"].pop(), {"SW-04", "SW-10"}),
        (_set("tor_ip", "L2"), {"SW-05"}),
        (_set("tor_ip", ""), {"SW-05"}),
        (_set("server_ip", "10.2.0.1", 0, 0), {"SW-06", "SW-10"}),
        (_set("slice_id", 4, 0, 3), {"SW-07", "SW-08"}),
        (_set("slice_id", 0, 0, 1), {"SW-07", "SW-08"}),
        (_set("server_ip", "10.7.0.1", 0, 0), {"SW-09", "SW-10"}),
        (_set("npu_count", 16, 1, 0), {"SW-12"}),
    ],
)
def test_one_defect(change: Callable[[Info], None], rules: set[str]) -> None:
    assert set(_found(change)) == rules


def test_swapped_slices_are_a_warning_only() -> None:
    def swap(info: Info) -> None:
        _server(info, 0, 0)["slice_id"], _server(info, 0, 1)["slice_id"] = 1, 0

    assert _found(swap)["SW-08"]["count"] == 2


def test_other_level() -> None:
    assert _found(level="Single") == {"SW-11": {"level": "Single"}}


def test_messages_are_complete() -> None:
    """Every template finds its values; the counts and examples say where."""
    by_id = {rule.id: rule for rule in RULES}
    assert list(by_id) == [f"SW-{n:02}" for n in range(1, 13)]
    found = _found(_set("server_ip", "10.7.0.1", 0, 0))
    text = by_id["SW-09"].message.format(**found["SW-09"])
    assert text == "1 servers are no node of the snapshot: 10.7.0.1"
    for rule, values in _found(lambda info: info.update(tor_count=0)).items():
        assert "{" not in by_id[rule].message.format(**values)


def test_topology_of_a_snapshot() -> None:
    cluster = ascendctl.load_snapshot(cases.objects(case(5, "L1{0,1} L2{0}", "normal 2")))
    assert cluster.leaves is not None and lint(cluster.leaves, cluster) == []
    wide = ascendctl.load_snapshot(cases.objects(case(5, "L1/2{0,1} L2/3{0}", "normal 2")))
    assert wide.leaves is not None and [v.rule for v in lint(wide.leaves, wide)] == ["SW-04"]


def test_snapshot_without_nodes() -> None:
    example = case(4, TWO, "normal 2")
    cluster = ascendctl.load_snapshot(cases.objects(example | {"nodes": []}))
    assert cluster.leaves is not None
    assert [violation.rule for violation in lint(cluster.leaves, cluster)] == ["SW-09"]
