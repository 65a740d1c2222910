"""What the commands print validates against the schemas that ship."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from ascendctl.report.schemas import bundle
from ascendctl.validate.schemas import names
from tests.cli.test_snapshot import AFTER, broken_dump
from tests.cli.test_topology import LABELLED, UNDER_LEAVES
from tests.cli.world import EIGHT, dump, fleet, manifest, run


def check(name: str, document: Any) -> None:
    errors = [
        f"{e.json_path}: {e.message}" for e in Draft202012Validator(bundle(f"output/{name}")).iter_errors(document)
    ]
    assert not errors


def output(*args: str | Path, code: int = 0) -> Any:
    result = run(*args, "-o", "json")
    assert result.exit_code == code, result.stderr
    return json.loads(result.stdout)


@pytest.mark.parametrize("name", names("output"))
def test_schema_is_sound_and_documented(name: str) -> None:
    schema = bundle(f"output/{name}")
    Draft202012Validator.check_schema(schema)
    assert schema["$id"].endswith(f"/output/{name}.json")
    assert schema["title"] and schema["description"] and schema["examples"]
    for document in schema["examples"]:
        check(name, document)


def job(**changes: Any) -> Any:
    return fleet({}, job=EIGHT["job"] | changes)["job"]


@pytest.mark.parametrize(
    ("changes", "outcome", "code"),
    [
        ({}, "placed", 0),
        ({"roles": [{"name": "Master", "replicas": 1, "npus": 3}]}, "invalid", 1),
        ({"roles": [{"name": "Worker", "replicas": 8, "npus": 16}]}, "unschedulable", 1),
    ],
)
def test_place(tmp_path: Path, changes: Any, outcome: str, code: int) -> None:
    case = EIGHT | {"job": job(**changes)}
    result = output("place", manifest(tmp_path, case), "-s", dump(tmp_path / "dump"), "--explain", code=code)
    assert result["outcome"] == outcome
    check("placement-result", result)


def test_several_jobs_are_a_list(tmp_path: Path) -> None:
    path = manifest(tmp_path)
    text = path.read_text(encoding="utf-8")
    path.write_text(f"{text}\n---\n{text}", encoding="utf-8")
    result = output("place", path, "-s", dump(tmp_path / "dump"), code=1)
    assert (result["kind"], len(result["items"])) == ("List", 2)
    for item in result["items"]:
        check("placement-result", item)


def test_reschedule(tmp_path: Path) -> None:
    folder, path, before = dump(tmp_path / "dump"), manifest(tmp_path), tmp_path / "before.json"
    assert run("place", path, "-s", folder, "-o", f"json={before}").exit_code == 0
    result = output("reschedule", path, "-s", folder, "--previous", before, "--faulty", "n5")
    check("placement-result", result)


def test_validate(tmp_path: Path) -> None:
    path = manifest(tmp_path)
    check("validation-report", json.loads(run("validate", path, "-o", "json").stdout))
    path.write_text("kind: AscendJob\n", encoding="utf-8")
    report = json.loads(run("validate", path, "-o", "json").stdout)
    assert report["findings"]
    check("validation-report", report)


@pytest.mark.parametrize("by", ["node", "superpod", "rack", "leaf"])
def test_snapshot_show(tmp_path: Path, by: str) -> None:
    for number, case in enumerate((EIGHT, LABELLED, UNDER_LEAVES)):
        check("snapshot-report", output("snapshot", "show", dump(tmp_path / str(number), case), "--by", by))


def test_snapshot_with_problems(tmp_path: Path) -> None:
    folder = broken_dump(tmp_path)
    check("snapshot-report", output("snapshot", "show", folder))
    check("snapshot-lint", output("snapshot", "lint", folder, code=1))


def test_snapshot_diff_and_commands(tmp_path: Path) -> None:
    before, after = dump(tmp_path / "before"), dump(tmp_path / "after", AFTER)
    check("snapshot-diff", output("snapshot", "diff", before, after))
    levels = dump(tmp_path / "levels", LABELLED)
    check("snapshot-diff", output("snapshot", "diff", before, levels))
    check("snapshot-commands", output("snapshot", "commands"))


def test_topology_show(tmp_path: Path) -> None:
    for number, case in enumerate((EIGHT, LABELLED, UNDER_LEAVES)):
        check("topology-report", output("topology", "show", dump(tmp_path / str(number), case)))
