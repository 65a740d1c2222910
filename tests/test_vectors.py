"""Every recorded case of the real scheduler, through the public API, in both snapshot modes."""

from __future__ import annotations

from pathlib import Path

import pytest

import ascendctl
from tests import cases

FOLDER = Path(__file__).parent / "vectors"
FAMILIES = sorted(path.name.removesuffix(".jsonl.gz") for path in FOLDER.glob("*.jsonl.gz"))


def test_all_families_are_here() -> None:
    assert len(FAMILIES) == 36


@pytest.mark.parametrize("mode", ["clusterd", "device"])
@pytest.mark.parametrize("family", FAMILIES)
def test_family(family: str, mode: str) -> None:
    failed = {}
    for case in cases.load(FOLDER / f"{family}.jsonl.gz"):
        if differences := cases.compare(case, cases.answer(ascendctl, case, mode)):
            failed[case["id"]] = differences
    assert not failed
