from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from jsonschema import Draft202012Validator

from ascendctl.cli import cli
from ascendctl.report.schemas import all_schemas, bundle, find_schema
from ascendctl.validate.schemas import at_pointer
from tests.cli.world import manifest

NAMES = [f"{group}/{name}" for group, name, _ in all_schemas()]


def run(*args: str) -> Any:
    return CliRunner().invoke(cli, ["schema", *args])


def references(node: Any) -> Iterator[str]:
    if isinstance(node, list):
        for item in node:
            yield from references(item)
    elif isinstance(node, dict):
        if isinstance(node.get("$ref"), str):
            yield node["$ref"]
        for key, value in node.items():
            if key not in ("examples", "const", "enum", "default"):
                yield from references(value)


def test_list() -> None:
    lines = run().output.splitlines()
    assert lines[0].split() == ["NAME", "GROUP", "TITLE"]
    assert {"ascendjob", "a3-pod", "job"} <= {line.split()[0] for line in lines}


@pytest.mark.parametrize("name", NAMES)
def test_every_schema_stands_alone(name: str) -> None:
    schema = bundle(name)
    Draft202012Validator.check_schema(schema)
    for reference in references(schema):
        assert reference.startswith("#")
        at_pointer(schema, reference[1:])
    validator = Draft202012Validator(schema)
    assert all(validator.is_valid(example) for example in schema.get("examples", []))


@pytest.mark.parametrize(
    ("wanted", "found"),
    [
        ("AscendJob", "kinds/ascendjob"),
        ("acjob", "kinds/ascendjob"),
        ("deploy", "kinds/deployment"),
        ("a3-pod", "products/a3-pod"),
        ("output/job", "output/job"),
        ("nothing", None),
    ],
)
def test_names(wanted: str, found: str | None) -> None:
    assert find_schema(wanted) == found


def test_print_one() -> None:
    result = run("a3-pod")
    assert result.exit_code == 0
    assert json.loads(result.output)["$id"].endswith("/products/a3-pod.json")


def test_copies_of_references_are_followed() -> None:
    schema = bundle("kinds/inferservice")
    refused = {"apiVersion": "mindcluster.huawei.com/v1", "kind": "InferService", "metadata": {"labels": {"a": 1}}}
    assert [error.json_path for error in Draft202012Validator(schema).iter_errors(refused)]


def test_normalised_jobs(tmp_path: Path) -> None:
    result = run("--job", str(manifest(tmp_path)))
    job = json.loads(result.output)
    assert (job["kind"], job["name"], job["npuPods"]) == ("Job", "train", 2)
    for name in ("output/job", "products/a3-pod"):
        assert Draft202012Validator(bundle(name)).is_valid(job)


def test_unknown_name() -> None:
    result = run("vcjobs")
    assert result.exit_code == 2
    assert "did you mean vcjob?" in result.stderr
