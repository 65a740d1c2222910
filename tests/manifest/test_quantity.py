"""Kubernetes quantities (chapter 40 §1.2)."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import pytest

from ascendctl.manifest.quantity import parse_quantity, whole


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("8", 8), (8, 8), (2.0, 2), ("0.5", "0.5"), (".5", "0.5"), ("1.", 1), ("500m", "0.5"), ("1k", 1000), ("2Ki", 2048),
        ("1Gi", 1 << 30), ("1e3", 1000), ("1E3", 1000), ("1E", 10**18), ("+3", 3), ("-3", -3), ("3n", "0.000000003"),
    ],
)  # fmt: skip
def test_good(text: Any, value: Any) -> None:
    assert parse_quantity(text) == Decimal(value)


@pytest.mark.parametrize("text", ["", "eight", "8 8", "8KB", "1e", "0x8", True, None, [8], "1e999999999", "9" * 100])
def test_bad(text: Any) -> None:
    assert parse_quantity(text) is None


def test_whole_cuts_towards_zero() -> None:
    assert [whole("1500m"), whole("-1500m"), whole("x")] == [1, -1, None]
