"""The examples of chapter 40 §5 with their broken variants, and the manifests modelled on public ones."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from ascendctl.validate.api import inspect
from ascendctl.validate.options import Options

DATA = Path(__file__).parents[1] / "data"
SUPERPOD, VCJOB, DUO, MULTILEVEL = (
    (DATA / "examples" / f"{name}.yaml").read_text()
    for name in ("a-superpod-acjob", "b-a800-vcjob", "c-duo-deployment", "d-multilevel-acjob")
)
CONFIG = "$.metadata.annotations['huawei.com/affinity-config']"
BLOCK = "$.metadata.annotations['sp-block']"
POD = "spec.containers[0].resources"


def after(marker: str, text: str, old: str, new: str) -> str:
    head, found, tail = text.partition(marker)
    return head + found + tail.replace(old, new)


VARIANTS = [
    (SUPERPOD, set()),
    (SUPERPOD.replace('sp-block: "32"', 'sp-block: "40"'), {("SPB-03", BLOCK)}),
    (
        SUPERPOD.replace("replicas: 3", "replicas: 4").replace("minAvailable: 4", "minAvailable: 5"),
        {("SPB-07", BLOCK)},
    ),
    (SUPERPOD.replace("replicas: 3", "replicas: 4"), set()),
    (
        SUPERPOD.replace("Ascend910: 16", "Ascend910: 8"),
        {("SPB-08", f"$.spec.replicaSpecs.Master.template.{POD}.requests['huawei.com/Ascend910']")},
    ),
    (SUPERPOD.replace("    Master:", "    master:"), {("ACJ-04", "$.spec.replicaSpecs.master")}),
    (
        SUPERPOD.replace("      queue: default\n", ""),
        {("ACJ-13", "$.spec.runPolicy.schedulingPolicy.queue")},
    ),
    (VCJOB, set()),
    (
        VCJOB.replace("Ascend910: 8", "Ascend910: 5"),
        {("RES-04", f"doc[1]:$.spec.tasks[0].template.{POD}.requests['huawei.com/Ascend910']")},
    ),
    (
        after("limits:", VCJOB, "Ascend910: 8", "Ascend910: 4"),
        {("K8S-11", f"doc[1]:$.spec.tasks[0].template.{POD}.limits['huawei.com/Ascend910']")},
    ),
    (VCJOB.replace("minAvailable: 2", "minAvailable: 3"), {("VCJ-07", "doc[1]:$.spec.minAvailable")}),
    (VCJOB.replace("resnet-a800", "resnet", 1), {("RTB-03", "doc[0]:$.metadata.name")}),
    (VCJOB.replace("PodEvicted", "OutOfSync"), {("VCJ-11", "doc[1]:$.spec.policies[0].event")}),
    (DUO, set()),
    (
        DUO.replace("strategy: card", "strategy: cards"),
        {("D31-02", "$.spec.template.metadata.labels['npu-310-strategy']")},
    ),
    (
        DUO.replace("Ascend310P: 2", "Ascend310P: 3"),
        {("D31-07", f"$.spec.template.{POD}.requests['huawei.com/Ascend310P']")},
    ),
    (
        DUO.replace('distributed: "false"', 'distributed: "true"'),
        {("D31-06", "$.spec.template.metadata.labels.distributed")},
    ),
    (
        DUO.replace('minAvailable: "1"', 'minAvailable: "two"'),
        {("WLD-02", "$.spec.template.metadata.annotations['huawei.com/schedule_minAvailable']")},
    ),
    (DUO.replace('duo: "true"', "duo: true"), {("DOC-08", "$.spec.template.metadata.labels.duo")}),
    (MULTILEVEL, set()),
    (MULTILEVEL.replace("level2=4", "level3=4"), {("MLV-03", CONFIG)}),
    (MULTILEVEL.replace("level1=2,level2=4", "level1=3,level2=6"), {("MLV-05", CONFIG)}),
    (MULTILEVEL.replace("level1=2", "level1=0"), {("MLV-04", CONFIG)}),
    (MULTILEVEL.replace(",level2", ", level2"), {("MLV-02", CONFIG)}),
    (
        after("Worker:", MULTILEVEL, "name: ascend\n", "name: main\n"),
        {("ACJ-10", "$.spec.replicaSpecs.Worker.template.spec.containers")},
    ),
]
WARNINGS = {
    0: {("SPB-13", BLOCK)},
    3: {
        ("SPB-13", BLOCK),
        ("ACJ-15", "$.spec.runPolicy.schedulingPolicy.minAvailable"),
        ("SPB-17", "$.spec.runPolicy.schedulingPolicy.minAvailable"),
    },
    5: {("SPB-13", BLOCK)},
    6: {("SPB-13", BLOCK)},
    11: {("RTB-06", "doc[1]:$.spec.tasks[0].template.spec.volumes[0].configMap.name")},
    16: {("WLD-07", "$.spec.template.metadata.labels.distributed")},
}
"""Expected warnings by number of the variant; the others have none."""


@pytest.mark.parametrize("number", range(len(VARIANTS)))
def test_variants_of_the_examples(number: int) -> None:
    text, errors = VARIANTS[number]
    found = inspect(text).findings
    assert {(f.rule, f.path) for f in found if f.severity == "error"} == errors
    assert {(f.rule, f.path) for f in found if f.severity == "warning"} == WARNINGS.get(number, set())
    assert all(f.line > 0 and f.column > 0 for f in found)


def header(path: Path) -> dict[str, list[str]]:
    lines: dict[str, list[str]] = {}
    for line in path.read_text().splitlines():
        match = re.fullmatch(r"# (\w+): (.*)", line)
        if match:
            lines.setdefault(match[1], []).append(match[2])
    return lines


@pytest.mark.parametrize("path", sorted((DATA / "manifests").glob("*.yaml")), ids=lambda path: path.stem)
def test_manifests_give_what_their_header_says(path: Path) -> None:
    wanted = header(path)
    shown = inspect(str(path)).findings
    everything = inspect(str(path), Options(verbose=True)).findings
    errors = [f"{f.rule} {f.path}" for f in shown if f.severity == "error"]
    assert bool(errors) is (wanted["expect"] == ["invalid"])
    assert len(errors) == len(wanted.get("error", []))
    for line in wanted.get("error", []):
        assert any(error.startswith(line) for error in errors)
    for line in wanted.get("warning", []):
        assert any(f"{f.rule} {f.path}".startswith(line) for f in shown if f.severity == "warning")
    for line in wanted.get("info", []):
        assert any(f"{f.rule} {f.path}".startswith(line) for f in everything if f.severity == "info")
    for line in wanted.get("not", []):
        assert not any(f"{f.rule} {f.path}".startswith(line) for f in everything)
    if wanted["expect"] == ["valid"]:
        assert {f.rule for f in shown} <= {line.split()[0] for line in wanted.get("warning", [])}


@pytest.mark.parametrize("path", sorted((DATA / "manifests").glob("*.yaml")), ids=lambda path: path.stem)
def test_the_product_of_a_manifest_agrees(path: Path) -> None:
    product = header(path)["product"][0]
    plain = [f for f in inspect(str(path)).findings if f.severity == "error"]
    named = [f for f in inspect(str(path), Options(product=product)).findings if f.severity == "error"]
    assert named == plain
