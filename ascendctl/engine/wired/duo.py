"""Atlas 300I Duo by chip: half-used cards first, no preference between nodes (chapter 11.10)."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ascendctl.engine.wired import fragments
from ascendctl.engine.wired.masks import Counts, Masks, count
from ascendctl.engine.wirings import Ask
from ascendctl.snapshot.cluster import ResourceColumns

CODE = "E_TOPOLOGY"
BASE_CHECK = False
pick = fragments.pick
order = fragments.order


def fits(ask: Ask, free: Masks) -> NDArray[np.bool_]:
    """Enough free chips, on whatever cards."""
    return (count(free) >= ask.n) & (1 <= ask.n <= ask.wiring.max_node)


def raw_score(ask: Ask, free: Masks, columns: ResourceColumns) -> Counts:
    """0 for every node."""
    return np.zeros(len(free), dtype=np.int64)
