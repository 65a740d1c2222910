"""Every recorded case of the real scheduler, through the public API, from dumps in files: in both snapshot modes, once
from YAML and once from JSON."""

from __future__ import annotations

from pathlib import Path

import pytest

import ascendctl
from tests import cases

FOLDER = Path(__file__).parent / "vectors"
FAMILIES = sorted(path.name.removesuffix(".jsonl.gz") for path in FOLDER.glob("*.jsonl.gz"))
BEHIND_ENQUEUE = ("intra-", "switch-", "multilevel")
"""Families recorded behind the enqueue stage: there a job that asks for more NPUs than are free in all is refused
with the policy's code, here by the stage before it (JobEnqueueFailed)."""


def answer(case: cases.Case, mode: str, form: str, folder: Path) -> cases.Obj:
    """The PlacementResult document for a case that is written into files first."""
    manifest, *dump = sorted(cases.dump(case, folder, form, mode), key=lambda path: path.name != "job.yaml")
    cluster = ascendctl.load_snapshot([path for path in dump if path.name != "previous.json"])
    (job,) = ascendctl.load_jobs(manifest)
    before = cases.previous(case)
    result = (
        ascendctl.place(job, cluster)
        if before is None
        else ascendctl.reschedule(job, cluster, before, cases.faulty(case))
    )
    return result.to_dict()


def differences(case: cases.Case, found: cases.Obj) -> list[str]:
    """All differences in outcome, nodes, chips, codes, groups, order of chips and annotations."""
    lines = cases.compare(case, found)
    if found["code"] == "JobEnqueueFailed" and case["id"].startswith(BEHIND_ENQUEUE):
        lines = [line for line in lines if not line.startswith("code:")]
    return lines


def test_all_families_are_here() -> None:
    assert len(FAMILIES) == 36


@pytest.mark.parametrize("mode", ["clusterd", "device"])
@pytest.mark.parametrize("family", FAMILIES)
def test_family(family: str, mode: str, tmp_path: Path) -> None:
    failed = {}
    for number, case in enumerate(cases.load(FOLDER / f"{family}.jsonl.gz")):
        form = "yaml" if (number % 2 == 0) == (mode == "clusterd") else "json"
        if lines := differences(case, answer(case, mode, form, tmp_path)):
            failed[case["id"]] = lines
    assert not failed
