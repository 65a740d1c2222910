"""Atlas 800 training server: two HCCS rings of four, {0-3} and {4-7} (chapter 10 §6.1)."""

from __future__ import annotations

from typing import Final

import numpy as np
from numpy.typing import NDArray

from ascendctl.engine.wired.masks import Counts, Masks, count, first_of_size, group, lowest
from ascendctl.engine.wirings import Ask
from ascendctl.snapshot.cluster import ResourceColumns

CODE = "TOPO_NOT_MET"
BASE_CHECK = False
SIZES: Final[dict[int, tuple[int, ...]]] = {1: (1, 3, 2, 4), 2: (2, 4, 3), 4: (4,)}
"""Request -> free chips of a ring, best first; the position is the cost of the reference's table."""
IMPOSSIBLE: Final = 4


def _rings(free: Masks) -> tuple[Masks, Masks]:
    return group(free, 4, 0), group(free, 4, 1)


def fits(ask: Ask, free: Masks) -> NDArray[np.bool_]:
    """One ring serves the pod, or the pod takes the whole node."""
    if ask.n == 8:
        return np.asarray(count(free) == 8)
    if ask.n not in SIZES:
        return np.zeros(len(free), dtype=np.bool_)
    left, right = _rings(free)
    return np.asarray((count(left) >= ask.n) | (count(right) >= ask.n))


def raw_score(ask: Ask, free: Masks, columns: ResourceColumns) -> Counts:
    """32 a healthy chip, -8 a cost level of the better ring, 1 a used chip; 0 where allocatable is unknown."""
    cost: Counts | int = 0
    if ask.n != 8:
        sizes = SIZES.get(ask.n, ())
        _, position = first_of_size(_rings(free), sizes)
        cost = np.where(position < len(sizes), position, IMPOSSIBLE)
    healthy = columns.allocatable.astype(np.int64)
    return np.where(healthy < 0, 0, 8 * (4 * healthy - cost) + 8 - count(free))


def pick(ask: Ask, free: Masks) -> Masks:
    """The lowest chips of the ring whose size comes first, the left one if both have it; all chips for eight."""
    if ask.n == 8:
        return np.where(count(free) == 8, free, np.uint64(0))
    ring, _ = first_of_size(_rings(free), SIZES.get(ask.n, ()))
    return lowest(ring, ask.n)
