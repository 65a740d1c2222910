"""Natural order of names: node2 < node10. The tie-break wherever the reference leaves a choice to chance."""

from __future__ import annotations

import re

_DIGITS = re.compile(r"([0-9]+)")


def natural_key(name: str) -> tuple[tuple[str | int, ...], str]:
    """Sort key: digit runs compare as numbers, the rest as text; equal ones (node1, node01) by the plain text."""
    parts = _DIGITS.split(name)
    return tuple(int(p) if i % 2 else p for i, p in enumerate(parts)), name
