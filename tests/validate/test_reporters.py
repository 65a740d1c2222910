"""Reports: every format is what its readers take, whatever a manifest holds."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import jsonschema
import lxml.etree
import pytest

from ascendctl.validate.api import inspect
from ascendctl.validate.finding import Finding
from ascendctl.validate.options import Options
from ascendctl.validate.report import Checked, Report
from ascendctl.validate.reporters import FORMATS, render
from ascendctl.validate.reporters.sarif import MAX_RESULTS, document, uri
from ascendctl.validate.schemas import load

DATA = Path(__file__).parents[1] / "data"
MANIFESTS = DATA / "manifests"

HOSTILE = """apiVersion: v1
kind: Pod
metadata:
  name: "\\e[31m::error file=x::,\\u202e%0A"
  labels: {"a\\r\\n::warning ::b]]>&<": "]]>\\"'"}
spec:
  containers: []
"""


@pytest.fixture(scope="module")
def some() -> Report:
    return inspect(str(MANIFESTS), Options(verbose=True))


@pytest.fixture(scope="module")
def hostile() -> Report:
    return inspect(HOSTILE, Options(verbose=True), stdin_filename="a,b:c\u2028%.yaml")


CLEAN = inspect("apiVersion: v1\nkind: Secret\nmetadata: {name: a}\n")


@pytest.fixture(scope="module")
def sarif_schema() -> Any:
    return json.loads((DATA / "schemas" / "sarif-schema-2.1.0.json").read_text())


@pytest.fixture(scope="module")
def junit_schema() -> lxml.etree.XMLSchema:
    return lxml.etree.XMLSchema(lxml.etree.parse(str(DATA / "schemas" / "JUnit.xsd")))


def reports(request: pytest.FixtureRequest) -> list[Report]:
    unreadable = Report(unreadable=(("a.yaml", "cannot be read"),), files=(Checked("b.yaml"),))
    return [request.getfixturevalue("some"), request.getfixturevalue("hostile"), CLEAN, Report(), unreadable]


def test_json(request: pytest.FixtureRequest) -> None:
    checker = jsonschema.Draft202012Validator(load("output/validation-report"))
    for report in reports(request):
        checker.validate(json.loads(render(report, "json")))
    shape = json.loads(render(CLEAN, "json"))
    assert shape["findings"] == []
    assert shape["summary"] == {
        "files": 1, "documents": 1, "errors": 0, "warnings": 0, "infos": 0, "skipped": 1, "partial": 0,
    }  # fmt: skip


def test_yaml_says_the_same_as_json(some: Report) -> None:
    import yaml

    assert yaml.safe_load(render(some, "yaml")) == json.loads(render(some, "json"))


def test_sarif(request: pytest.FixtureRequest, sarif_schema: Any) -> None:
    checker = jsonschema.Draft7Validator(sarif_schema)
    for report in reports(request):
        log = json.loads(render(report, "sarif"))
        checker.validate(log)
        run = log["runs"][0]
        ids = [rule["id"] for rule in run["tool"]["driver"]["rules"]]
        assert len(ids) == len(set(ids))
        assert len(run["results"]) == len(report.findings)
        for result in run["results"]:
            assert ids[result["ruleIndex"]] == result["ruleId"]
            place = result["locations"][0]["physicalLocation"]
            assert place["region"]["startLine"] >= 1 and place["region"]["startColumn"] >= 1
            address = place["artifactLocation"]["uri"]
            assert address and not address.startswith(("/", "./")) and "\\" not in address


def test_sarif_levels_and_fingerprints(some: Report) -> None:
    results = document(some)["runs"][0]["results"]
    assert {result["level"] for result in results} == {"error", "warning", "note"}
    prints = [result["partialFingerprints"]["ascendctl/v1"] for result in results]
    assert len(set(prints)) == len(prints)
    moved = Report(tuple(Finding(**{**f.__dict__, "line": f.line + 7}) for f in some.findings))
    assert [r["partialFingerprints"] for r in document(moved)["runs"][0]["results"]] == [
        r["partialFingerprints"] for r in results
    ]


def test_sarif_keeps_the_worst(sarif_schema: Any) -> None:
    many = [Finding("a.yaml", n, 1, "K8S-03", "info", "m", path=f"$[{n}]") for n in range(1, MAX_RESULTS + 10)]
    log = document(Report((*many, Finding("b.yaml", 1, 1, "DOC-01", "error", "m"))))
    results = log["runs"][0]["results"]
    assert len(results) == MAX_RESULTS
    assert results[-1]["ruleId"] == "DOC-01"
    note = log["runs"][0]["invocations"][0]["toolExecutionNotifications"][0]["message"]["text"]
    assert note == "10 more findings were left out"


def test_uris(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.chdir(tmp_path)
    assert uri("./a b/ü.yaml") == "a%20b/%C3%BC.yaml"
    assert uri(str(tmp_path / "x" / "y.yaml")) == "x/y.yaml"


def test_junit(request: pytest.FixtureRequest, junit_schema: lxml.etree.XMLSchema) -> None:
    for report in reports(request):
        tree = lxml.etree.fromstring(render(report, "junit").encode())
        junit_schema.assertValid(tree)
        failing = {(f.file, f.document, f.object) for f in report.findings if f.severity == "error"}
        assert len(tree.findall(".//failure")) == len(failing)
        assert len(tree.findall("testsuite")) == len(report.files) + len(report.unreadable)


def test_junit_fails_for_warnings_under_strict() -> None:
    path = str(MANIFESTS / "07-deployment-a3-block-misplaced.yaml")
    assert "<failure" not in render(inspect(path), "junit")
    assert "<failure" in render(inspect(path, Options(strict=True)), "junit")


def test_github(request: pytest.FixtureRequest) -> None:
    for report in reports(request):
        lines = render(report, "github").splitlines()
        assert len(lines) == len(report.findings) + 1
        for line, finding in zip(lines, report.findings, strict=False):
            command, _, rest = line.removeprefix("::").partition(" ")
            assert command == {"error": "error", "warning": "warning", "info": "notice"}[finding.severity]
            properties, _, text = rest.partition("::")
            assert sorted(p.partition("=")[0] for p in properties.split(",")) == ["col", "file", "line", "title"]
            assert text


def test_no_text_of_a_manifest_is_a_command_or_an_escape(hostile: Report) -> None:
    for name in ("github", "text", "table"):
        text = render(hostile, name)
        assert "\x1b" not in text and "\u202e" not in text and "\r" not in text
    for line in render(hostile, "github").splitlines()[:-1]:
        assert line.startswith("::") and "::warning ::b" not in line[2:].partition("::")[0]


def test_gitlab(request: pytest.FixtureRequest) -> None:
    for report in reports(request):
        issues = json.loads(render(report, "gitlab"))
        assert len(issues) == len(report.findings)
        assert len({issue["fingerprint"] for issue in issues}) == len(issues)
        for issue in issues:
            assert issue["severity"] in ("info", "minor", "major", "critical", "blocker")
            assert issue["location"]["lines"]["begin"] >= 1


def test_text() -> None:
    report = inspect(str(MANIFESTS / "12-gang-larger-than-job.yaml"))
    lines = render(report, "text").splitlines()
    assert lines[0].split(": ", 2)[0].endswith("12-gang-larger-than-job.yaml:16:17")
    assert lines[0].split(": ", 1)[1].startswith("error VCJ-07 minAvailable 3, pods 2")
    assert lines[1].strip() == "hint: write 2"
    assert lines[2] == "1 file, 1 document: 1 error, no warnings"
    assert "\x1b" not in render(report, "text")
    assert "\x1b[31merror\x1b[0m" in render(report, "text", color=True)


def test_table_names_the_object() -> None:
    text = render(inspect(str(MANIFESTS / "12-gang-larger-than-job.yaml")), "table")
    assert "Job research/waits-for-ever" in text and "VCJ-07" in text


def test_quiet_says_nothing_when_all_is_well() -> None:
    assert render(CLEAN, "text", quiet=True) == ""
    assert render(CLEAN, "text") == "1 file, 1 document: no errors, no warnings, 1 object skipped"
    assert render(CLEAN, "table", quiet=True) == ""


def test_unknown_formats() -> None:
    with pytest.raises(KeyError):
        render(CLEAN, "html")


@pytest.mark.parametrize("name", FORMATS)
def test_the_same_bytes_twice(name: str) -> None:
    first, second = (render(inspect(str(MANIFESTS), Options(verbose=True)), name) for _ in range(2))
    assert first == second
