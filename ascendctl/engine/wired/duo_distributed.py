"""Atlas 300I Duo with label distributed: whole cards, and one half card for an odd count (chapter 11.10)."""

from __future__ import annotations

from typing import Final

import numpy as np
from numpy.typing import NDArray

from ascendctl.engine.wired import fragments
from ascendctl.engine.wired.masks import Counts, Masks, count, lowest
from ascendctl.engine.wirings import Ask
from ascendctl.snapshot.cluster import ResourceColumns

CODE = "E_TOPOLOGY"
BASE_CHECK = False
WORST: Final = 16
order = fragments.order


def _halves_and_full(ask: Ask, free: Masks) -> tuple[Masks, Masks]:
    return fragments.of_size(ask, free, 1), fragments.of_size(ask, free, 2)


def fits(ask: Ask, free: Masks) -> NDArray[np.bool_]:
    """An even count fills free cards; an odd one may take one half card, or open a free one."""
    if not 1 <= ask.n <= ask.wiring.max_node:
        return np.zeros(len(free), dtype=np.bool_)
    halves, full = (count(part) for part in _halves_and_full(ask, free))
    if ask.n % 2 == 0:
        return full >= ask.n
    return (full >= ask.n - 1) & (halves + full >= ask.n)


def raw_score(ask: Ask, free: Masks, columns: ResourceColumns) -> Counts:
    """Fewest free chips first, odd counts rather where a half card exists; nothing above eight chips."""
    has, halves = count(free), count(fragments.of_size(ask, free, 1)) > 0
    level = np.full(len(free), WORST, dtype=np.int64)
    if ask.n <= 8:
        opened = (has % 2 == 0) & (has >= ask.n + 1) & (has <= 8)
        close = (has >= ask.n) & (has <= 8)
        if ask.n % 2:
            close = halves & (has >= ask.n) & (has <= 7)
            level = np.where(opened, 9 + (has - ask.n - 1) // 2, level)
        level = np.where(close, has - ask.n + 1, level)
    return 8 * (WORST - level)


def pick(ask: Ask, free: Masks) -> Masks:
    """The first half card's chip for an odd count where there is one, then chips of free cards, lowest first."""
    halves, full = _halves_and_full(ask, free)
    plain = np.where(count(full) >= ask.n, lowest(full, ask.n), np.uint64(0))
    if ask.n % 2 == 0:
        return plain
    with_half = np.where(count(full) >= ask.n - 1, lowest(halves, 1) | lowest(full, ask.n - 1), np.uint64(0))
    return np.where(halves != 0, with_half, plain)
