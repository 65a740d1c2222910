"""Atlas 300I by chip: any chips will do, those of the most used cards first (chapter 11.7)."""

from __future__ import annotations

import numpy as np

from ascendctl.engine.wired import base
from ascendctl.engine.wired.masks import Masks, count, group, groups_of, lowest_each
from ascendctl.engine.wirings import Ask
from ascendctl.snapshot.chip_lists import chip_ids

CODE = base.CODE
BASE_CHECK = base.BASE_CHECK
fits = base.fits
raw_score = base.raw_score


def of_size(ask: Ask, free: Masks, size: int) -> Masks:
    """The free chips of all cards that have exactly `size` free."""
    found = np.zeros_like(free)
    for k in groups_of(ask.wiring.group, 64):
        card = group(free, ask.wiring.group, k)
        found |= np.where(count(card) == size, card, np.uint64(0))
    return found


def pick(ask: Ask, free: Masks) -> Masks:
    """Cards with one free chip first, then those with two, and so on; the lowest chips of each kind."""
    taken, left = np.zeros_like(free), np.full(len(free), ask.n, dtype=np.int64)
    for size in range(1, ask.wiring.group + 1):
        part = lowest_each(of_size(ask, free, size), left)
        taken |= part
        left -= count(part)
    return np.where(left == 0, taken, np.uint64(0))


def order(ask: Ask, free: int, chips: int) -> tuple[int, ...]:
    """As they were taken: by free chips of the card before the pod came, then by id."""
    size = ask.wiring.group

    def key(chip: int) -> tuple[int, int]:
        return (free >> chip // size * size & (1 << size) - 1).bit_count(), chip

    return tuple(sorted(chip_ids(chips), key=key))
