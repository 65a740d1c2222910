"""Texts and what `sigs.k8s.io/yaml`, the reader of kubectl, makes of them (YAMLToJSON, one chunk each)."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from ascendctl.yamlio.blockscan import Scanner, Unsure, is_scannable
from ascendctl.yamlio.chunks import find_control
from ascendctl.yamlio.compose import Refused, compose

FILE = Path(__file__).parents[1] / "data" / "yaml-go-reader.jsonl"
CASES = [json.loads(line) for line in FILE.read_text(encoding="utf-8").splitlines()]


def as_json(value: Any) -> Any:
    """Numbers as JSON has them: 1 and 1.0 are the same."""
    if isinstance(value, dict):
        return {key: as_json(item) for key, item in value.items()}
    if isinstance(value, list):
        return [as_json(item) for item in value]
    return float(value) if isinstance(value, int | float) and not isinstance(value, bool) else value


def test_cases_are_there() -> None:
    assert len(CASES) == 400 and sum("error" in case for case in CASES) == 60


@pytest.mark.parametrize("case", CASES, ids=range(len(CASES)))
def test_same_values_as_kubectl(case: dict[str, Any]) -> None:
    text = case["text"]
    if "error" in case:
        if not find_control(text):
            with pytest.raises(Refused):
                compose(text)
        return
    assert as_json(compose(text).value) == as_json(case["value"])
    assert as_json(compose(text, with_marks=False).value) == as_json(case["value"])
    try:
        scanned = Scanner().scan(text) if is_scannable(text) and "\n---" not in text else None
    except Unsure:
        return
    assert scanned is None or as_json(scanned) == as_json(case["value"])
