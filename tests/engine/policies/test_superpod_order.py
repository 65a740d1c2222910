"""The order of objects in a dump changes nothing: recorded cases of super-pod jobs, shuffled."""

from __future__ import annotations

from pathlib import Path

import pytest

import ascendctl
from tests import cases

FOLDER = Path(__file__).parents[2] / "vectors"
FAMILIES = ("superpod", "superpod-850", "superpod-infer", "superpod-reschedule")


@pytest.mark.parametrize("family", FAMILIES)
def test_shuffled_objects(family: str) -> None:
    small = [case for case in cases.load(FOLDER / f"{family}.jsonl.gz") if 8 <= len(case["nodes"]) <= 60][:8]
    assert len(small) == 8
    for case in small:
        answers = [cases.answer(ascendctl, case, "clusterd", seed) for seed in (0, 1, 2)]
        assert answers[1] == answers[0] and answers[2] == answers[0], case["id"]
