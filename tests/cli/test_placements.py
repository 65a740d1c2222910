"""Placements that an earlier command printed, as reschedule, ranktable, patch and topology read them."""

from __future__ import annotations

import json
from copy import deepcopy
from pathlib import Path
from typing import Any

import pytest

from tests import cases
from tests.cli.world import dump, manifest, run
from tests.engine.policies.tree_world import make_case


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("world")
    dump(folder / "dump")
    manifest(folder)
    return folder


@pytest.fixture(scope="module")
def placement(world: Path) -> dict[str, Any]:
    result = run("place", world / "job.yaml", "-s", world / "dump", "-o", "json")
    document: dict[str, Any] = json.loads(result.stdout)
    assert document["outcome"] == "placed"
    return document


def commands(world: Path, file: Path | str) -> list[list[str | Path]]:
    given = [world / "job.yaml", "-s", world / "dump"]
    return [
        ["reschedule", *given, "--previous", file],
        ["ranktable", *given, "--placement", file],
        ["patch", *given, "--placement", file],
        ["topology", "show", world / "dump", "--placement", file],
    ]


def saved(folder: Path, document: object) -> Path:
    path = folder / "placement.json"
    path.write_text(json.dumps(document), encoding="utf-8")
    return path


ODD = [None, True, -1, 1.5, 10**30, "", "x", [], {}, [None], [1, [2]], {"a": 1}]


@pytest.mark.parametrize("field", ["name", "node", "rank", "npus", "annotations"])
@pytest.mark.parametrize("value", ODD, ids=repr)
def test_odd_values_in_a_pod(world: Path, placement: dict[str, Any], tmp_path: Path, field: str, value: Any) -> None:
    document = deepcopy(placement)
    document["pods"][1][field] = value
    for command in commands(world, saved(tmp_path, document)):
        result = run(*command)  # an exception that is no error of click's fails here
        assert result.exit_code in (0, 1, 2)
        assert result.exit_code != 2 or (result.stdout == "" and result.stderr.startswith(("error: ", "Usage: ")))


@pytest.mark.parametrize("field", ["kind", "outcome", "job", "pods", "blocks", "fault", "metrics"])
@pytest.mark.parametrize("value", ODD, ids=repr)
def test_odd_values_at_the_top(world: Path, placement: dict[str, Any], tmp_path: Path, field: str, value: Any) -> None:
    for document in (placement | {field: value}, {"kind": "List", "items": [value]}, {"kind": "List", "items": value}):
        for command in commands(world, saved(tmp_path, document)):
            result = run(*command)
            assert result.exit_code in (0, 1, 2)
            assert result.exit_code != 2 or (result.stdout == "" and result.stderr.startswith(("error: ", "Usage: ")))


def test_the_jobs_own_placement_among_several(world: Path, placement: dict[str, Any], tmp_path: Path) -> None:
    other = deepcopy(placement) | {"outcome": "unschedulable", "pods": []}
    other["job"]["name"] = "other"
    file = saved(tmp_path, {"apiVersion": "ascendctl/v1", "kind": "List", "items": [other, placement]})
    for command in commands(world, file)[:2]:
        assert run(*command).exit_code == 0
    file = saved(tmp_path, {"kind": "List", "items": [placement, placement]})
    assert "holds 2 placements of default/train" in run(*commands(world, file)[0]).stderr


def test_a_placement_of_another_job(world: Path, placement: dict[str, Any], tmp_path: Path) -> None:
    document = deepcopy(placement)
    document["job"]["name"] = "other"
    for command in commands(world, saved(tmp_path, document))[:2]:
        result = run(*command)
        assert result.exit_code == 2
        assert "is about default/other, not about default/train" in result.stderr


def test_a_broken_node_that_nobody_knows(world: Path, placement: dict[str, Any], tmp_path: Path) -> None:
    command = commands(world, saved(tmp_path, placement))[0]
    result = run(*command, "--faulty", "n6", "--faulty", "n5,nix")
    assert result.exit_code == 2
    assert "no node nix, neither in the dump nor in the placement" in result.stderr
    document = deepcopy(placement) | {"fault": {"nodes": ["gone"]}}
    assert "no node gone" in run(*commands(world, saved(tmp_path, document))[0]).stderr


def test_a_broken_node_that_works_in_the_dump(world: Path, placement: dict[str, Any], tmp_path: Path) -> None:
    command = commands(world, saved(tmp_path, placement))[0]
    assert {pod["node"] for pod in placement["pods"]} == {"n5", "n6"}  # of their SuperPoD only n10 is left
    result = run(*command, "--faulty", "n5,n6")
    assert result.exit_code == 0
    assert result.stderr.startswith("note: in the dump n") and "works, so pods return there" in result.stderr
    result = run(*command, "--faulty", "n5")
    assert (result.exit_code, result.stderr) == (0, "")


def test_how_far_a_multi_level_recovery_may_go(tmp_path: Path) -> None:
    """V05, V06, V07 of chapter 22 §9.5: the group of a lost pod moves only where that is allowed."""
    fleet = "G0{S0:a0 a1; S1:b0 b1 b2; S4:e0 e1} G1{S2:c0 c1 c2; S3:d0 d1 d2}"
    nodes = ["a0", "a1", "b0", "b1", "c0", "c1", "d0", "d1"]
    previous = [{"rank": i, "node": name, "chips": "0xffff"} for i, name in enumerate(nodes)]
    fault = {"previous": previous, "faulty": ["a0"], "kind": "pod"}
    case = make_case(
        fleet, 8, "level1=2,level2=4", reserve=1, fault=fault, survivors=" ".join(nodes[1:]),
        more={"a0": {"status": "UnHealthy"}},
    )  # fmt: skip
    folder, job = dump(tmp_path / "dump", case), manifest(tmp_path, case)
    file = saved(tmp_path, {"kind": "PlacementResult", **(cases.previous(case) or {})})
    command = ("reschedule", job, "-s", folder, "--previous", file, "--faulty", "a0", "--kind", "pod", "-o", "json")
    refused = run(*command, "--max-escalation", "0")
    assert refused.exit_code == 1 and json.loads(refused.stdout)["code"] == "ML-R01"
    for limit in ("1", "job"):
        moved = json.loads(run(*command, "--max-escalation", limit).stdout)
        assert [pod["node"] for pod in moved["pods"]] == ["e0", "e1", *nodes[2:]]
    assert json.loads(run(*command).stdout)["code"] == "ML-R01"
    wrong = run(*command, "--max-escalation", "-1")
    assert wrong.exit_code == 2 and "neither a number of levels nor job" in wrong.stderr
