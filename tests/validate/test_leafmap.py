"""Findings on the leaf topology of the dump beside those on manifests (chapter 23 §1.1)."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import jsonschema
import lxml.etree
import pytest

from ascendctl.snapshot.load import load_snapshot
from ascendctl.validate.api import inspect
from ascendctl.validate.finding import Finding
from ascendctl.validate.options import Options
from ascendctl.validate.reporters import FORMATS, render
from ascendctl.validate.schemas import load
from tests import cases
from tests.cli.world import run
from tests.engine.policies.switch_world import case

DATA = Path(__file__).parents[1] / "data"
MESSAGE = "1 leaf addresses are empty or stand for several leaf switches: L2"

YAML = """\
apiVersion: v1
kind: ConfigMap
metadata:
  annotations:
    kubectl.kubernetes.io/last-applied-configuration: |
      {"data":{"tor_info":"{}"},"metadata":{"name":"basic-tor-node-cm"}}
  name: basic-tor-node-cm
  namespace: kube-system
data:
  tor_level: double_layer
  tor_info: '%s'
"""


def world(label: str = "normal-schema") -> dict[str, Any]:
    """Two leaves with one tor_ip; the job has the label."""
    example = case(4, "L1{0,1,2,3} L2{0,1,2,3}", "normal 2")
    example["leaves"]["tor_info"]["server_list"][0]["tor_ip"] = "L2"
    example["job"]["labels"]["tor-affinity"] = label
    return example


def dump(folder: Path) -> Path:
    """The dump in two files, the topology as YAML."""
    folder.mkdir()
    example = world()
    info = json.dumps(example["leaves"]["tor_info"])
    objects = cases.objects(example | {"leaves": None})
    (folder / "a.json").write_text(json.dumps({"kind": "List", "items": objects}), encoding="utf-8")
    (folder / "leaves.yaml").write_text(YAML % info, encoding="utf-8")
    return folder


def leaf_findings(paths: list[Path], folder: Path, **options: Any) -> list[Finding]:
    report = inspect([str(path) for path in paths], Options(snapshot=load_snapshot(str(folder)), **options))
    return [finding for finding in report.findings if finding.rule.startswith("SW-")]


def job(folder: Path, label: str = "normal-schema", name: str = "job.yaml") -> Path:
    path = folder / name
    path.write_text(cases.manifest(world(label)), encoding="utf-8")
    return path


def test_place_of_a_finding(tmp_path: Path) -> None:
    folder = dump(tmp_path / "dump")
    (found,) = leaf_findings([job(tmp_path)], folder)
    assert (found.file, found.line, found.column) == (f"{folder}/leaves.yaml", 11, 3)
    assert (found.rule, found.severity, found.message) == ("SW-05", "error", MESSAGE)
    assert (found.path, found.pointer) == ("$.data.tor_info", "/data/tor_info")
    assert found.object == "ConfigMap kube-system/basic-tor-node-cm"


@pytest.mark.parametrize("label", [None, "null"])
def test_silent_where_no_job_asks_for_switch_affinity(label: str | None, tmp_path: Path) -> None:
    example = world()
    if label is None:
        del example["job"]["labels"]["tor-affinity"]
    else:
        example["job"]["labels"]["tor-affinity"] = label
    path = tmp_path / "job.yaml"
    path.write_text(cases.manifest(example), encoding="utf-8")
    folder = dump(tmp_path / "dump")
    assert leaf_findings([path], folder) == []
    assert len(leaf_findings([path, job(tmp_path, name="other.yaml")], folder)) == 1


def test_said_once_for_all_files_and_processes(tmp_path: Path) -> None:
    paths = [job(tmp_path, name=f"{i}.yaml") for i in range(4)]
    options = Options(snapshot=load_snapshot(str(dump(tmp_path / "dump"))))
    serial, parallel = (inspect([str(p) for p in paths], options, workers=n) for n in (1, 2))
    assert serial.findings == parallel.findings
    assert [finding.rule for finding in serial.findings].count("SW-05") == 1
    assert serial.summary["files"] == 4


def test_severities_of_options_and_of_a_config_file(tmp_path: Path) -> None:
    folder, path = dump(tmp_path / "dump"), job(tmp_path)
    assert leaf_findings([path], folder, disabled=frozenset(["SW-05"])) == []
    (tmp_path / ".ascendctl.yaml").write_text("severity: {SW-05: warning}\n", encoding="utf-8")
    assert [finding.severity for finding in leaf_findings([path], folder)] == ["warning"]


def test_text_given_in_memory_and_objects_without_a_file() -> None:
    report = inspect(cases.manifest(world()), Options(snapshot=load_snapshot(cases.objects(world()))))
    (found,) = [finding for finding in report.findings if finding.rule == "SW-05"]
    assert (found.file, found.line, found.column) == ("snapshot", 1, 1)


def test_packed_snapshot_and_standard_input(tmp_path: Path) -> None:
    folder, path, packed = dump(tmp_path / "dump"), job(tmp_path), tmp_path / "cluster.snap"
    assert run("snapshot", "pack", folder, "--to", packed).exit_code == 0
    text = run("validate", path, "-s", packed).stdout
    assert f"{folder}/leaves.yaml:11:3: error SW-05 {MESSAGE}" in text
    (folder / "leaves.yaml").unlink()
    assert f"{folder}/leaves.yaml:1:1: error SW-05" in run("validate", path, "-s", packed).stdout
    objects = json.dumps({"kind": "List", "items": cases.objects(world())})
    assert "<stdin>:1:1: error SW-05" in run("validate", path, "-s", "-", stdin=objects).stdout


def test_every_report_format(tmp_path: Path) -> None:
    options = Options(snapshot=load_snapshot(str(dump(tmp_path / "dump"))))
    report = inspect(str(job(tmp_path)), options)
    texts = {name: render(report, name) for name in FORMATS}
    assert [name for name, text in texts.items() if "SW-05" not in text or "leaves.yaml" not in text] == []
    jsonschema.Draft202012Validator(load("output/validation-report")).validate(json.loads(texts["json"]))
    sarif = json.loads((DATA / "schemas" / "sarif-schema-2.1.0.json").read_text(encoding="utf-8"))
    jsonschema.Draft7Validator(sarif).validate(json.loads(texts["sarif"]))
    xml = lxml.etree.XMLSchema(lxml.etree.parse(str(DATA / "schemas" / "JUnit.xsd")))
    xml.assertValid(lxml.etree.fromstring(texts["junit"].encode()))
