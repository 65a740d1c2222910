"""Search of one tree for one job shape (chapter 22 §4.2 to §4.6), in the deterministic form of §8.1.

A shape is the vector [pods, ..., pods per level-1 group, 1], top to bottom: `sizes[d]` pods make one task of depth d.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from ascendctl.topology.tree import Layout

FRAGMENT_SCALE = 10


@dataclass(frozen=True)
class Field:
    """Free nodes of a tree, scored for one shape. D = len(sizes) - 1.

    `capacity[d]` and `fragments[d]` (int64[V_d], d < D): tasks that a vertex can deliver without its reserved nodes,
    and its fragment score. `short` bool[V_(D-1)]: level-1 units with fewer than `reserve` free nodes, which the first
    phase does not see. `spares` int64[V_(D-1)]: position in `layout.nodes` of a unit's first reserved node; reserved
    are its last min(reserve, n) nodes.
    """

    sizes: tuple[int, ...]
    reserve: int
    layout: Layout
    capacity: tuple[NDArray[np.int64], ...]
    fragments: tuple[NDArray[np.int64], ...]
    short: NDArray[np.bool_]
    spares: NDArray[np.int64]

    @property
    def score(self) -> int:
        """Fragment score of the root, before anything is placed."""
        return int(self.fragments[0][0])


@dataclass(frozen=True)
class Choice:
    """What the first phase did at one vertex that had to deliver `quota` tasks, that is `need` tasks of its children.

    `taken`: children used up as far as they go, with their number of tasks, in that order; `opened`: the bigger child
    that gave the rest, with that number, (-1, 0) if none was needed or there; `missing`: tasks still lacking.
    """

    depth: int
    vertex: int
    quota: int
    need: int
    taken: tuple[tuple[int, int], ...]
    opened: tuple[int, int]
    missing: int


@dataclass(frozen=True)
class Solution:
    """A complete job. `slots` int64[pods]: positions in `layout.nodes` in depth-first order of the task tree, groups in
    the order in which they were completed. `phase` is 2 if reserved nodes had to be used; `spares` are the positions
    of those in `slots`. `choices` explain the first phase."""

    slots: NDArray[np.int64]
    phase: int
    spares: NDArray[np.int64]
    choices: tuple[Choice, ...]


def score_field(layout: Layout, sizes: tuple[int, ...], reserve: int) -> Field:
    """Score the vertices bottom-up for a shape; `len(sizes)` = depth of the layout + 1."""
    depth = layout.depth
    first, end = layout.children[-1][:-1], layout.children[-1][1:]
    short = end - first < reserve
    spares = np.maximum(end - reserve, first)
    total = spares - first
    capacity, fragments = [total // sizes[depth - 1]], [total % sizes[depth - 1]]
    seen = ~short
    for d in range(depth - 2, -1, -1):
        needed = sizes[d] // sizes[d + 1]
        total = _sums(np.where(seen, capacity[0], 0), layout.children[d])
        below = _sums(np.where(seen, fragments[0], 0), layout.children[d])
        capacity.insert(0, total // needed)
        fragments.insert(0, total % needed * sizes[d + 1] + FRAGMENT_SCALE * below)
        seen = np.ones(len(total), dtype=np.bool_)
    return Field(sizes, reserve, layout, tuple(capacity), tuple(fragments), short, spares)


def _sums(values: NDArray[np.int64], limits: NDArray[np.int64]) -> NDArray[np.int64]:
    running = np.concatenate([np.zeros(1, dtype=np.int64), np.cumsum(values)])
    sums: NDArray[np.int64] = running[limits[1:]] - running[limits[:-1]]
    return sums


def full_capacity(layout: Layout, sizes: tuple[int, ...]) -> tuple[NDArray[np.int64], ...]:
    """cap0 of every vertex, by depth: tasks that it can deliver with all its nodes. The tree can host the job exactly
    if the root's is at least 1."""
    return score_field(layout, sizes, 0).capacity


def solve(field: Field) -> Solution | None:
    """Build the job: first without reserved nodes, then, keeping what is complete, with them. None = impossible."""
    search = _Search(field)
    slots = search.walk(0, 0, 1)
    phase = 1
    if slots is None:
        phase, slots = 2, search.spend_reserved()
    if slots is None:
        return None
    found = np.array(slots, dtype=np.int64)
    unit = np.searchsorted(field.layout.leaves[-1], found, side="right") - 1
    return Solution(found, phase, found[found >= field.spares[unit]], tuple(search.choices))


class _Search:
    """The buffers of one search: pods of finished child tasks that wait at a vertex for the rest of its task."""

    def __init__(self, field: Field) -> None:
        self.field = field
        self.sizes = field.sizes
        self.last = len(field.sizes) - 2
        self.waiting: list[dict[int, list[int]]] = [{} for _ in range(self.last + 1)]
        self.used: dict[int, int] = {}
        self.choices: list[Choice] = []

    def emit(self, depth: int, vertex: int, pods: list[int]) -> list[int] | None:
        """Hand a finished task of `depth`, built at `vertex`, upwards; the whole job once the root is complete."""
        while depth > 0:
            vertex, depth = int(self.field.layout.parents[depth][vertex]), depth - 1
            buffer = self.waiting[depth].setdefault(vertex, [])
            buffer += pods
            if len(buffer) < self.sizes[depth]:
                return None
            pods = self.waiting[depth].pop(vertex)
        return pods

    def deliver(self, unit: int, quota: int) -> list[int] | None:
        """Cut `quota` groups from the first nodes of a level-1 unit. It has enough of them, unless it is the root."""
        size, first = self.sizes[self.last], int(self.field.layout.leaves[-1][unit])
        self.used[unit] = min(quota * size, int(self.field.spares[unit]) - first)
        end = first + self.used[unit]
        for start in range(first, end - size + 1, size):
            done = self.emit(self.last, unit, list(range(start, start + size)))
            if done is not None:
                return done
        self.waiting[self.last][unit] = list(range(end - self.used[unit] % size, end))
        return None

    def walk(self, depth: int, vertex: int, quota: int) -> list[int] | None:
        """Deliver `quota` tasks of a vertex (phase 1). Children that fit into the need, cleanest first; then the
        smallest of the bigger ones."""
        if depth == self.last:
            return self.deliver(vertex, quota)
        field = self.field
        first, end = field.layout.children[depth][vertex : vertex + 2].tolist()
        capacity, fragments = field.capacity[depth + 1][first:end], field.fragments[depth + 1][first:end]
        open_ = capacity > 0
        if depth + 1 == self.last:
            open_ &= ~field.short[first:end]
        order = np.lexsort([capacity, fragments])
        order = order[open_[order]]
        need = asked = quota * (self.sizes[depth] // self.sizes[depth + 1])
        taken: list[tuple[int, int]] = []
        bigger: list[tuple[int, int, int]] = []
        mark, done = len(self.choices), None
        for child, size in zip((first + order).tolist(), capacity[order].tolist(), strict=True):
            if size > need:
                bigger.append((size, int(fragments[child - first]), child))
                continue
            taken.append((child, size))
            need -= size
            done = self.walk(depth + 1, child, size)
            if done is not None or need == 0:
                break
        opened = (-1, 0)
        if need and bigger:
            opened = (min(bigger)[2], need)
            done = self.walk(depth + 1, opened[0], need)
            need = 0
        self.choices.insert(mark, Choice(depth, vertex, quota, asked, tuple(taken), opened, need))
        return done

    def spend_reserved(self) -> list[int] | None:
        """Phase 2: units with most spares left give one up first, together with their other free nodes."""
        field, leaves = self.field, self.field.layout.leaves[-1]
        lanes: list[list[tuple[int, range]]] = [[] for _ in range(min(field.reserve, int(leaves[-1])) + 1)]
        for unit, (first, end) in enumerate(pairwise(leaves.tolist())):
            begin, spare = first + self.used.get(unit, 0), int(field.spares[unit])
            lane = end - spare
            if lane == 0:
                lanes[0].append((unit, range(begin, end)))
                continue
            lanes[lane].append((unit, range(begin, spare + 1)))
            for extra in range(spare + 1, end):
                lane -= 1
                lanes[lane].append((unit, range(extra, extra + 1)))
        for lane_groups in reversed(lanes):
            for unit, group in lane_groups:
                for leaf in group:
                    done = self.emit_leaf(unit, leaf)
                    if done is not None:
                        return done
        return None

    def emit_leaf(self, unit: int, leaf: int) -> list[int] | None:
        """Hand one node to its level-1 unit."""
        buffer = self.waiting[self.last].setdefault(unit, [])
        buffer.append(leaf)
        if len(buffer) < self.sizes[self.last]:
            return None
        return self.emit(self.last, unit, self.waiting[self.last].pop(unit))
