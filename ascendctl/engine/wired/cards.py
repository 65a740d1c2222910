"""Atlas 300I and 300I Duo by card: a pod stays on one card of four or two chips (chapter 11.6, 11.9)."""

from __future__ import annotations

from typing import Final

import numpy as np
from numpy.typing import NDArray

from ascendctl.engine.wired.masks import Counts, Masks, count, first_of_size, group, groups_of, lowest
from ascendctl.engine.wirings import Ask
from ascendctl.snapshot.cluster import ResourceColumns

CODE = "E_TOPOLOGY"
BASE_CHECK = False
SIZES: Final[dict[int, dict[int, tuple[int, ...]]]] = {
    4: {1: (1, 3, 2, 4), 2: (2, 3, 4), 3: (3, 4), 4: (4,)},
    2: {1: (1, 2), 2: (2,)},
}
"""Chips of a card -> request -> free chips of the card, best first; the position is its cost."""


def _cards(ask: Ask, free: Masks) -> list[Masks]:
    return [group(free, ask.wiring.group, k) for k in groups_of(ask.wiring.group, 64)]


def fits(ask: Ask, free: Masks) -> NDArray[np.bool_]:
    """Some card has enough free chips; a request above a card's size fits nowhere."""
    largest = np.max([count(card) for card in _cards(ask, free)], axis=0)
    return np.asarray(largest >= ask.n)


def raw_score(ask: Ask, free: Masks, columns: ResourceColumns) -> Counts:
    """8 points a cost level of the best card; 0 for a request above a card's size."""
    size = ask.wiring.group
    sizes = SIZES[size].get(ask.n, ())
    _, position = first_of_size(_cards(ask, free), sizes)
    return 8 * (size - np.where(position < len(sizes), position, size))


def pick(ask: Ask, free: Masks) -> Masks:
    """The lowest chips of the first card whose size comes first."""
    card, _ = first_of_size(_cards(ask, free), SIZES[ask.wiring.group].get(ask.n, ()))
    return lowest(card, ask.n)
