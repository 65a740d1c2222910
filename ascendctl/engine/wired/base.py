"""No wiring inside the node: any free chips will do, the lowest first (chapter 10 §5.6, chapter 11.4)."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ascendctl.engine.wired.masks import Counts, Masks, count, lowest
from ascendctl.engine.wirings import Ask
from ascendctl.snapshot.cluster import ResourceColumns

CODE = "NPU_SHORTAGE"
BASE_CHECK = True


def fits(ask: Ask, free: Masks) -> NDArray[np.bool_]:
    """At least n free chips."""
    return count(free) >= ask.n


def raw_score(ask: Ask, free: Masks, columns: ResourceColumns) -> Counts:
    """Fewest unhealthy chips first, then fewest free ones; the request does not matter."""
    unhealthy = 0 if ask.wiring.blind else columns.unhealthy_count.astype(np.int64)
    return 100 * (ask.wiring.max_node - unhealthy) - count(free)


def pick(ask: Ask, free: Masks) -> Masks:
    """The n lowest chips."""
    return np.where(count(free) >= ask.n, lowest(free, ask.n), np.uint64(0))
