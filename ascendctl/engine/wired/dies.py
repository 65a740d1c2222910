"""A3: die pairs {0,1}, {2,3} ... share a card (chapter 10 §6.6, chapter 20 §7.4)."""

from __future__ import annotations

from typing import Final

import numpy as np
from numpy.typing import NDArray

from ascendctl.engine.wired.masks import ONE, Counts, Masks, count, lowest
from ascendctl.engine.wirings import Ask
from ascendctl.snapshot.cluster import ResourceColumns

CODE = "DIE_PAIR_NOT_MET"
BASE_CHECK = True
LOWER: Final = np.uint64(0x5555555555555555)
EXACT: Final = 512
"""Score of a node that has exactly the chips asked for: the scheduler stops scoring there."""


def _pairs(free: Masks) -> Masks:
    """Lower chip of every die pair that is completely free."""
    pairs: Masks = free & (free >> ONE) & LOWER
    return pairs


def fits(ask: Ask, free: Masks) -> NDArray[np.bool_]:
    """One chip, or enough complete die pairs."""
    if ask.n == 1:
        return count(free) >= 1
    return 2 * count(_pairs(free)) >= ask.n


def raw_score(ask: Ask, free: Masks, columns: ResourceColumns) -> Counts:
    """Fewest free chips first; for one chip, every node with a half-free die before all others."""
    has = count(free)
    surplus = has - ask.n
    if ask.n == 1:
        surplus = np.where(has == 2 * count(_pairs(free)), surplus + 16, surplus)
    return 16 * (32 - surplus)


def pick(ask: Ask, free: Masks) -> Masks:
    """All chips if they are exactly enough; a half-free die for one chip; else the lowest complete pairs."""
    has, pairs = count(free), _pairs(free)
    if ask.n == 1:
        halves = free & ~(pairs | (pairs << ONE))
        return lowest(np.where(halves != 0, halves, free), 1)
    chosen = lowest(pairs, ask.n // 2)
    enough = 2 * count(pairs) >= ask.n if ask.n % 2 == 0 else np.zeros(len(free), dtype=np.bool_)
    return np.where(has == ask.n, free, np.where(enough, chosen | (chosen << ONE), np.uint64(0)))
