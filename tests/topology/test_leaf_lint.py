"""Checks SW-01 .. SW-12 (chapter 23 §1.1): each fires on its defect alone, and through the commands."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import ascendctl
from ascendctl.topology.leaf_lint import lint
from ascendctl.validate.rules.leaves import RULES
from tests import cases
from tests.cli.world import dump, manifest, run
from tests.engine.policies.switch_world import case

Info = dict[str, Any]
TWO = "L1{0,1,2,3} L2{0,1,2,3}"


def _example(change: Callable[[Info], object] | None = None, level: str | None = None) -> dict[str, Any]:
    example = case(4, TWO, "normal 2", level=level)
    if change is not None:
        change(example["leaves"]["tor_info"])
    return example


def _found(change: Callable[[Info], object] | None = None, level: str | None = None) -> dict[str, dict[str, Any]]:
    cluster = ascendctl.load_snapshot(cases.objects(_example(change, level)))
    return {violation.rule: dict(violation.values) for violation in lint(cluster)}


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
    assert cluster.leaves is not None and lint(cluster) == []
    wide = ascendctl.load_snapshot(cases.objects(case(5, "L1/2{0,1} L2/3{0}", "normal 2")))
    assert [v.rule for v in lint(wide)] == ["SW-04"]


def test_snapshot_without_nodes() -> None:
    example = case(4, TWO, "normal 2")
    cluster = ascendctl.load_snapshot(cases.objects(example | {"nodes": []}))
    assert [violation.rule for violation in lint(cluster)] == ["SW-09"]


def test_snapshot_without_the_configmap() -> None:
    assert lint(ascendctl.load_snapshot(cases.objects(case(4, TWO, "normal 2") | {"leaves": None}))) == []


def test_nodes_that_are_not_ready_are_listed_all_the_same() -> None:
    objects = cases.objects(_example())
    for value in objects:
        if value["kind"] == "Node" and value["metadata"]["name"] == "l1-0":
            value["status"]["conditions"] = [{"type": "Ready", "status": "False"}]
    cluster = ascendctl.load_snapshot(objects)
    assert not cluster.visible[cluster.index["l1-0"]] and lint(cluster) == []


def test_inference_cards_need_no_leaf_switch() -> None:
    """Switch affinity is not made for Ascend310 and Ascend310P (chapter 23 §2)."""
    example = _example()
    example["nodes"].append({"name": "duo", "ip": "10.7.7.7", "resource": "huawei.com/Ascend310P", "chips": 8})
    assert lint(ascendctl.load_snapshot(cases.objects(example))) == []


DEFECTS: dict[str, tuple[Callable[[Info], object], str | None]] = {
    "SW-01": (lambda info: info.update(server_list=[]), None),
    "SW-02": (lambda info: info.update(tor_count=129), None),
    "SW-03": (lambda info: info.update(tor_count=3), None),
    "SW-04": (lambda info: info.update(tor_count=5), None),
    "SW-05": (_set("tor_ip", "L2"), None),
    "SW-06": (_set("server_ip", "10.2.0.1", 0, 0), None),
    "SW-07": (_set("slice_id", 0, 0, 1), None),
    "SW-08": (_set("slice_id", 4, 0, 3), None),
    "SW-09": (_set("server_ip", "10.7.0.1", 0, 0), None),
    "SW-10": (lambda info: info["server_list"][1]["server"].pop(), None),
    "SW-11": (lambda info: None, "single-layer"),
    "SW-12": (_set("npu_count", 16, 1, 0), None),
}


@pytest.mark.parametrize("rule", sorted(DEFECTS))
def test_by_the_commands(rule: str, tmp_path: Path) -> None:
    """Each defect is told by `snapshot show`, `snapshot lint` and `validate --snapshot`."""
    example = _example(*DEFECTS[rule])
    folder, job = dump(tmp_path / "dump", example), manifest(tmp_path, example)
    severity = next(one.severity for one in RULES if one.id == rule)
    shown = run("snapshot", "show", folder).stdout.splitlines()
    assert [line.split()[:2] for line in shown if rule in line] == [[severity, rule]]
    linted = run("snapshot", "lint", folder, "-o", "json")
    problems = json.loads(linted.stdout)["problems"]
    assert linted.exit_code == any(one["severity"] == "error" for one in problems)
    (problem,) = [one for one in problems if one["code"] == rule]
    assert problem["object"] == "ConfigMap kube-system/basic-tor-node-cm"
    assert problem["source"].startswith(f"{folder}/objects.json#")
    checked = run("validate", job, "-s", folder, "-v", "-o", "json")
    (finding,) = [one for one in json.loads(checked.stdout)["findings"] if one["rule"] == rule]
    assert (finding["severity"], finding["file"]) == (severity, f"{folder}/objects.json")
    assert finding["message"] == problem["message"]
    text = (folder / "objects.json").read_text(encoding="utf-8").splitlines()[finding["line"] - 1]
    key = "tor_level" if rule == "SW-11" else "tor_info"
    assert text[finding["column"] - 1 :].startswith(f'"{key}": ')
    disabled = run("validate", job, "-s", folder, "-v", "-o", "json", "--disable", rule)
    assert rule not in {one["rule"] for one in json.loads(disabled.stdout)["findings"]}
    assert run("explain", rule).stdout.startswith(f"{rule} ({severity}, leaf topology")


def test_sound_dump_by_the_commands(tmp_path: Path) -> None:
    folder, job = dump(tmp_path / "dump", _example()), manifest(tmp_path, _example())
    for args in (("snapshot", "show", folder), ("snapshot", "lint", folder), ("validate", job, "-s", folder, "-v")):
        result = run(*args)
        assert result.exit_code == 0 and "SW-" not in result.stdout
