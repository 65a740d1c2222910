"""Atlas 350, and the Atlas 800 server with chip4-node8: meshes of four chips (chapter 11.13, chapter 10 §6.7)."""

from __future__ import annotations

from typing import Final

import numpy as np
from numpy.typing import NDArray

from ascendctl.engine.wired.masks import Counts, Masks, count, first_of_size, group, lowest
from ascendctl.engine.wirings import Ask
from ascendctl.snapshot.cluster import ResourceColumns

CODE = "E_TOPOLOGY"
BASE_CHECK = False
MESHES: Final = range(4)
"""The scheduler counts four meshes at most, whatever the node."""
WEIGHT: Final = {8: 16, 16: 64}


def in_meshes(n: int) -> bool:
    """True for the counts that the policy keeps inside whole meshes: up to 4, and multiples of 4."""
    return n <= 4 or n % 4 == 0


def _suitable(ask: Ask, free: Masks) -> tuple[Counts, int]:
    """How many meshes could serve the pod, or a quarter of it, and how many it needs."""
    each = min(ask.n, 4)
    meshes = [count(group(free, 4, k)) >= each for k in MESHES]
    return np.sum(meshes, axis=0, dtype=np.int64), max(ask.n // 4, 1)


def fits(ask: Ask, free: Masks) -> NDArray[np.bool_]:
    """One mesh with enough chips, or enough free meshes; other counts take any chips."""
    if not in_meshes(ask.n):
        return count(free) >= ask.n
    available, need = _suitable(ask, free)
    return available >= need


def raw_score(ask: Ask, free: Masks, columns: ResourceColumns) -> Counts:
    """Fewest spare suitable meshes first, then fewest spare chips; counts without affinity: fewest spare chips."""
    size, has = ask.wiring.max_node, count(free)
    spare = np.where(has >= ask.n, has - ask.n, size)
    if in_meshes(ask.n):
        available, need = _suitable(ask, free)
        score = WEIGHT[size] * (WEIGHT[size] - (size * (available - need) + spare))
    else:
        score = size * (size - spare)
    return np.where((has >= 1) & (1 <= ask.n <= size), score, 0)


def pick(ask: Ask, free: Masks) -> Masks:
    """The mesh with the least left over; whole meshes in order; without affinity the lowest chips."""
    if not in_meshes(ask.n):
        return np.where(count(free) >= ask.n, lowest(free, ask.n), np.uint64(0))
    meshes = [group(free, 4, k) for k in MESHES]
    if ask.n < 4:
        return lowest(first_of_size(meshes, range(ask.n, 5))[0], ask.n)
    taken, left = np.zeros_like(free), np.full(len(free), ask.n // 4, dtype=np.int64)
    for mesh in meshes:
        hit = (count(mesh) == 4) & (left > 0)
        taken |= np.where(hit, mesh, np.uint64(0))
        left -= hit
    return np.where(left == 0, taken, np.uint64(0))
