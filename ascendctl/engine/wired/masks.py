"""Arithmetic on arrays of chip masks (uint64)."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

Masks = NDArray[np.uint64]
Counts = NDArray[np.int64]
ONE = np.uint64(1)


def count(masks: Masks) -> Counts:
    """Number of chips in each mask."""
    return np.bitwise_count(masks).astype(np.int64)


def lowest(masks: Masks, n: int) -> Masks:
    """The n lowest chips of each mask; all of them where there are fewer."""
    rest, taken = masks.copy(), np.zeros_like(masks)
    for _ in range(n):
        bit = rest & (~rest + ONE)
        taken |= bit
        rest ^= bit
    return taken


def lowest_each(masks: Masks, n: Counts) -> Masks:
    """The n[i] lowest chips of mask i; all of them where there are fewer."""
    rest, taken = masks.copy(), np.zeros_like(masks)
    for done in range(int(n.max(initial=0))):
        bit = np.where(n > done, rest & (~rest + ONE), np.uint64(0))
        taken |= bit
        rest ^= bit
    return taken


def group(masks: Masks, size: int, index: int) -> Masks:
    """The part of each mask inside one group of `size` chips, at its place."""
    part: Masks = masks & np.uint64(((1 << size) - 1) << (size * index))
    return part


def groups_of(size: int, chips: int) -> range:
    """Indices of the groups of `size` chips on a node of `chips` chips."""
    return range((chips + size - 1) // size)


def first_of_size(parts: Sequence[Masks], sizes: Sequence[int]) -> tuple[Masks, Counts]:
    """For each node: the first part that has exactly sizes[0] chips, else exactly sizes[1] ...; parts in order where
    several do. Also the position of that size in `sizes`, len(sizes) and an empty mask where no part matches."""
    counts = [count(part) for part in parts]
    chosen, rank = np.zeros_like(parts[0]), np.full(len(parts[0]), len(sizes), dtype=np.int64)
    for position, size in enumerate(sizes):
        for part, has in zip(parts, counts, strict=True):
            hit = (has == size) & (rank == len(sizes))
            chosen = np.where(hit, part, chosen)
            rank = np.where(hit, position, rank)
    return chosen, rank
