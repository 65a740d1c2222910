"""Every recorded case of the real scheduler, through the public API, in both snapshot modes."""

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


def differences(case: cases.Case, mode: str) -> list[str]:
    """All differences in outcome, nodes, chips, codes, groups, order of chips and annotations."""
    answer = cases.answer(ascendctl, case, mode)
    found = cases.compare(case, answer)
    if answer["code"] == "JobEnqueueFailed" and case["id"].startswith(BEHIND_ENQUEUE):
        found = [line for line in found if not line.startswith("code:")]
    return found


def test_all_families_are_here() -> None:
    assert len(FAMILIES) == 36


@pytest.mark.parametrize("mode", ["clusterd", "device"])
@pytest.mark.parametrize("family", FAMILIES)
def test_family(family: str, mode: str) -> None:
    failed = {case["id"]: d for case in cases.load(FOLDER / f"{family}.jsonl.gz") if (d := differences(case, mode))}
    assert not failed
