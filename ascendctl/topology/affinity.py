"""Annotation `huawei.com/affinity-config`: the group sizes that a multi-level job asks for (chapter 22 §3.2)."""

from __future__ import annotations

from ascendctl.manifest.job import parse_go_int

AFFINITY_CONFIG = "huawei.com/affinity-config"


def parse_affinity(text: str) -> dict[str, int] | None:
    """Level key -> pods per group, as the scheduler reads `level1=x,level2=y`; None where it gives up.

    Nothing is trimmed, so blanks make other keys or no numbers; of repeated keys the last counts.
    """
    sizes: dict[str, int] = {}
    for part in text.split(","):
        key, equals, number = part.partition("=")
        value = parse_go_int(number)
        if not equals or value is None:
            return None
        sizes[key] = value
    return sizes


def group_sizes(text: str) -> tuple[int, ...]:
    """Pods per group, level1 first, of a valid annotation. Raises ValueError if its levels are not level1 .. levelk."""
    sizes = parse_affinity(text) or {}
    keys = [f"level{i}" for i in range(1, len(sizes) + 1)]
    if not sizes or set(keys) != set(sizes):
        raise ValueError(f"affinity-config {text!r} does not name level1 .. levelk")
    return tuple(sizes[key] for key in keys)
