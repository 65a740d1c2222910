"""Kubernetes quantities: "8", 8, "2Gi", "500m" (chapter 40 §1.2)."""

from __future__ import annotations

import re
from decimal import Decimal
from typing import Any

_QUANTITY = re.compile(
    r"([+-]?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+))(?:([KMGTPE]i)|([numkMGTPE])|[eE]([+-]?[0-9]+(?:\.[0-9]*)?))?"
)
_BINARY: dict[str, int] = {unit + "i": 1024 ** (i + 1) for i, unit in enumerate("KMGTPE")}
_DECIMAL = {"n": -9, "u": -6, "m": -3, "k": 3, "M": 6, "G": 9, "T": 12, "P": 15, "E": 18}
MAX_WHOLE = (1 << 63) - 1
"""What Kubernetes makes of a larger quantity."""


def parse_quantity(value: Any) -> Decimal | None:
    """The number that a quantity stands for; None if it is none."""
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        return None
    match = _QUANTITY.fullmatch(str(value).strip()) if len(str(value)) <= 64 else None
    if match is None:
        return None
    number, binary, decimal, exponent = match.groups()
    if binary:
        return Decimal(number) * _BINARY[binary]
    power = _DECIMAL[decimal] if decimal else int(Decimal(exponent)) if exponent else 0
    return Decimal(number).scaleb(power) if abs(power) <= 100 else None


def is_count(value: Any) -> bool:
    """True for a quantity that is a whole number from 0, as a count of devices must be."""
    if type(value) is int and 0 <= value <= MAX_WHOLE:
        return True
    number = parse_quantity(value)
    return number is not None and number >= 0 and number == number.to_integral_value()


def whole(value: Any) -> int | None:
    """A quantity as a whole number, cut towards zero as the scheduler does, and to 64 bits as Kubernetes keeps it; None
    if it is no quantity."""
    if type(value) is int and -MAX_WHOLE <= value <= MAX_WHOLE:
        return value
    number = parse_quantity(value)
    return None if number is None else max(-MAX_WHOLE, min(MAX_WHOLE, int(number)))
