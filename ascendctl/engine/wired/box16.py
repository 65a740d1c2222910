"""A2 Box16: two HCCS rings of eight; chips i and i+8 have matching addresses (chapter 10 §6.5)."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ascendctl.engine.wired.masks import Counts, Masks, count, first_of_size, group, lowest, lowest_each
from ascendctl.engine.wirings import Ask
from ascendctl.snapshot.chip_lists import chip_ids
from ascendctl.snapshot.cluster import ResourceColumns

CODE = "TOPO_NOT_MET"
BASE_CHECK = False
SHIFT = np.uint64(8)


def _rings(free: Masks) -> tuple[Masks, Masks]:
    return group(free, 8, 0), group(free, 8, 1)


def _pairs(ask: Ask, free: Masks) -> tuple[Masks, Masks]:
    """Chips of both rings that can form pairs across them, equally many on each side: those with matching addresses for
    a single pod, the lowest of each ring for a distributed job."""
    left, right = _rings(free)
    if not ask.distributed:
        aligned = left & (right >> SHIFT)
        return aligned, aligned << SHIFT
    half = np.minimum(count(left), count(right))
    return lowest_each(left, half), lowest_each(right, half)


def _cross(ask: Ask, free: Masks) -> Counts:
    return 2 * count(_pairs(ask, free)[0])


def fits(ask: Ask, free: Masks) -> NDArray[np.bool_]:
    """One ring serves up to eight; 10, 12 and 14 take pairs across the rings; 16 the whole node."""
    if ask.n < 1 or ask.n > 16 or ask.n in ask.wiring.illegal:
        return np.zeros(len(free), dtype=np.bool_)
    if ask.n == 16:
        return np.asarray(count(free) == 16)
    if ask.n > 8:
        return _cross(ask, free) >= ask.n
    left, right = _rings(free)
    return np.asarray((count(left) >= ask.n) | (count(right) >= ask.n))


def raw_score(ask: Ask, free: Masks, columns: ResourceColumns) -> Counts:
    """16 a healthy chip, -16 a chip that the ring (or pair list) has too many, 1 a used chip; 0 where allocatable is
    unknown."""
    cost: Counts | int = 0
    if 8 < ask.n < 16:
        cost = (_cross(ask, free) - ask.n) // 2
    elif ask.n <= 8:
        _, cost = first_of_size(_rings(free), range(ask.n, 9))
    healthy = columns.allocatable.astype(np.int64)
    return np.where(healthy < 0, 0, 16 * (healthy - cost) + 16 - count(free))


def pick(ask: Ask, free: Masks) -> Masks:
    """The lowest chips of the smallest ring that is large enough, left before right; the lowest pairs above eight."""
    if ask.n == 16:
        return np.where(count(free) == 16, free, np.uint64(0))
    if ask.n > 8:
        left, right = _pairs(ask, free)
        return np.where(2 * count(left) >= ask.n, lowest(left, ask.n // 2) | lowest(right, ask.n // 2), np.uint64(0))
    ring, _ = first_of_size(_rings(free), range(ask.n, 9))
    return lowest(ring, ask.n)


def order(ask: Ask, free: int, chips: int) -> tuple[int, ...]:
    """Pairs are written one after the other: left, right, left, right."""
    left, right = chip_ids(chips & 0xFF), chip_ids(chips & 0xFF00)
    if 8 < len(left) + len(right) < 16:
        return tuple(chip for pair in zip(left, right, strict=True) for chip in pair)
    return left + right
