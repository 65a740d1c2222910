"""Natural order of names: node2 < node10. The tie-break wherever the reference leaves a choice to chance."""

from __future__ import annotations

import re
from collections.abc import Sequence

_DIGITS = re.compile(r"([0-9]+)")
_FEW_HEADS, _FEW_NAMES = 64, 200


def natural_key(name: str) -> tuple[tuple[str | int, ...], str]:
    """Sort key: digit runs compare as numbers, the rest as text; equal ones (node1, node01) by the plain text."""
    parts = _DIGITS.split(name)
    return tuple(int(p) if i % 2 else p for i, p in enumerate(parts)), name


def natural_order(names: Sequence[str]) -> list[int]:
    """Positions of `names` in the order of `natural_key`, equal names in their given order.

    Names that are a few common heads with a number behind them (node-17), as node names nearly always are, sort
    without taking each one apart.
    """
    heads = [name.rstrip("0123456789") for name in names]
    ranks = _head_ranks(set(heads))
    if ranks is None:
        keys = [_list_key(name) for name in names]
        return sorted(range(len(names)), key=keys.__getitem__)
    tails = [int(name[len(head) :] or -1) for name, head in zip(names, heads, strict=True)]
    if len(names) < _FEW_NAMES or max(tails) >= 1 << 62:
        plain = list(zip([ranks[head] for head in heads], tails, names, strict=True))
        return sorted(range(len(names)), key=plain.__getitem__)
    import numpy as np

    rank, tail = np.array([ranks[head] for head in heads]), np.array(tails)
    order: list[int] = np.lexsort((tail, rank)).tolist()
    rank, tail = rank[order], tail[order]
    if ((rank[1:] == rank[:-1]) & (tail[1:] == tail[:-1])).any():  # node1 and node01
        return sorted(range(len(names)), key=lambda i: (ranks[heads[i]], tails[i], names[i]))
    return order


def _list_key(name: str) -> tuple[list[str | int], str]:
    """As `natural_key`, a little faster, for sorting only."""
    parts: list[str | int] = _DIGITS.split(name)
    parts[1::2] = map(int, parts[1::2])
    return parts, name


def _head_ranks(heads: set[str]) -> dict[str, int] | None:
    """Rank of each head among the heads; None if the heads alone do not decide: too many, or one continues another
    (rack, rack1-node), so that a number would compare with the other's digits."""
    if len(heads) > _FEW_HEADS:
        return None
    parts = sorted((natural_key(head)[0], head) for head in heads)
    for i, (part, _) in enumerate(parts):
        if any(other[: len(part)] == part for other, _ in parts[i + 1 :]):
            return None
    return {head: rank for rank, (_, head) in enumerate(parts)}
