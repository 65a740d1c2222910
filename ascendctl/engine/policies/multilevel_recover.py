"""New nodes for the lost pods of a multi-level job (chapter 22 §6.4, §6.5, in the corrected form of §8.7).

The job's task tree is cut by rank: task number j of depth d has the ranks [j·a_d, (j+1)·a_d). What is not lost keeps
its node and rank; a replacement stays below the unit of the task's parent.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ascendctl.engine.policies.multilevel_plan import Attempt, NoPlan, Plan, order_groups, plan
from ascendctl.engine.policies.multilevel_search import score_field, solve
from ascendctl.topology.tree import NO_UNIT, Tree, arrange


@dataclass(frozen=True)
class Situation:
    """What a recovery starts from. N nodes, P pods.

    `sizes` is the job's vector [P, g_k, ..., g_1, 1]; `former` int32[P] the earlier node of each rank, -1 = unknown;
    `free` bool[N] candidates as things stand; `releasable` bool[N] nodes that are candidates once the job's surviving
    pods give up their NPUs; `ranks` int64[N] byte order of names.
    """

    trees: tuple[Tree, ...]
    sizes: tuple[int, ...]
    former: NDArray[np.int32]
    free: NDArray[np.bool_]
    releasable: NDArray[np.bool_]
    ranks: NDArray[np.int64]

    @property
    def group_size(self) -> int:
        """g_1."""
        return self.sizes[-2]

    @property
    def slots(self) -> dict[int, int]:
        """Earlier node -> rank."""
        return {node: rank for rank, node in enumerate(self.former.tolist()) if node >= 0}


@dataclass(frozen=True)
class Move:
    """One task that was placed again: ranks [first, end) below a unit (`unit`, the tree's name for the whole tree).
    `spares`: nodes in it that were kept in reserve; `phase` as in a fresh search."""

    first: int
    end: int
    unit: str
    nodes: tuple[int, ...]
    phase: int
    spares: tuple[int, ...]


@dataclass(frozen=True)
class Round:
    """One attempt: the ranks counted as lost, what was placed, and why it failed ("" = it did not)."""

    lost: tuple[int, ...]
    moves: tuple[Move, ...]
    failure: str = ""


@dataclass(frozen=True)
class Recovery:
    """`nodes` int32[P] in rank order, None if there is no replacement. `whole`: the plan, if the whole job moved."""

    nodes: NDArray[np.int32] | None
    tree: str
    rounds: tuple[Round, ...]
    whole: Plan | None = None


class _Failed(Exception):
    """An attempt cannot be completed; the text says why."""


def recover(situation: Situation, lost: Sequence[int], max_escalation: int) -> Recovery:
    """Replace the pods of the lost ranks; while that fails and `max_escalation` allows it, give up the rest of the
    smallest task around each lost part as well. The number compares with the levels of what is lost: 1 = a pod, 2 = a
    level-1 group, and so on."""
    home = _home(situation)
    gone = set(lost)
    rounds: list[Round] = []
    while True:
        moves: list[Move] = []
        try:
            nodes, whole = _attempt(situation, home, gone, moves)
            rounds.append(Round(tuple(sorted(gone)), tuple(moves)))
            name = whole.best.tree.name if whole else home.name if home else ""
            return Recovery(nodes, name, tuple(rounds), whole)
        except _Failed as failure:
            rounds.append(Round(tuple(sorted(gone)), tuple(moves), str(failure)))
        parts = list(_parts(situation.sizes, gone))
        wider = gone.union(*(_parent(situation.sizes, depth, first) for depth, first in parts))
        if max(len(situation.sizes) - depth for depth, _ in parts) > max_escalation or wider == gone:
            return Recovery(None, home.name if home else "", tuple(rounds))
        gone = wider


def _home(situation: Situation) -> Tree | None:
    """The tree of the earlier placement; None if its nodes are unknown, or no longer in one tree that has the job's
    levels."""
    known, levels = situation.former[situation.former >= 0], len(situation.sizes) - 2
    homes = (tree for tree in situation.trees if len(tree.levels) >= levels and tree.complete[known].all())
    return next(homes, None) if len(known) else None


def _parts(sizes: tuple[int, ...], lost: set[int]) -> Iterator[tuple[int, int]]:
    """(depth, first rank) of the largest tasks that are completely lost, by first rank."""
    rest = set(lost)
    for rank in sorted(lost):
        if rank not in rest:
            continue
        for depth, size in enumerate(sizes):
            first = rank - rank % size
            if rest.issuperset(range(first, first + size)):
                rest.difference_update(range(first, first + size))
                yield depth, first
                break


def _parent(sizes: tuple[int, ...], depth: int, first: int) -> range:
    """Ranks of the task around a task."""
    size = sizes[max(depth - 1, 0)]
    return range(first - first % size, first - first % size + size)


def _attempt(
    situation: Situation, home: Tree | None, lost: set[int], moves: list[Move]
) -> tuple[NDArray[np.int32], Plan | None]:
    former, sizes = situation.former, situation.sizes
    known = former >= 0
    gone = np.zeros(len(former), dtype=np.bool_)
    gone[list(lost)] = True
    available = situation.free.copy()
    given_up = former[known & gone]
    available[given_up] = situation.releasable[given_up]
    available[former[known & ~gone]] = False
    slots = former.copy()
    for depth, first in _parts(sizes, lost):
        if depth == 0:
            found = plan(
                situation.trees,
                available,
                (Attempt("plain", sizes),),
                situation.group_size,
                situation.ranks,
                situation.slots,
            )
            if isinstance(found, NoPlan):
                raise _Failed("no tree can host the whole job")
            spares = tuple(found.best.field.layout.nodes[found.solution.spares].tolist())
            nodes = tuple(found.nodes.tolist())
            moves.append(Move(0, sizes[0], found.best.tree.name, nodes, found.solution.phase, spares))
            return found.nodes, found
        if home is None:
            raise _Failed("the nodes of the earlier placement are not in one tree")
        move = _replace(situation, home, available, gone, depth, first)
        slots[first : move.end] = move.nodes
        available[list(move.nodes)] = False
        moves.append(move)
    return order_groups(slots, situation.group_size, situation.ranks, situation.slots), None


def _replace(
    situation: Situation,
    home: Tree,
    available: NDArray[np.bool_],
    gone: NDArray[np.bool_],
    depth: int,
    first: int,
) -> Move:
    """Place one lost task below the unit of its parent."""
    sizes, former = situation.sizes, situation.former
    last = len(sizes) - 1
    around = np.array(_parent(sizes, depth, first))
    around = around[former[around] >= 0]
    if not len(around):
        raise _Failed(f"nothing is left that tells the unit of ranks {first} to {first + sizes[depth] - 1}")
    witness = int(former[around[np.argmin(gone[around])]])
    inside = available & home.complete
    for level in range(last - depth + 1, last):
        unit = home.units[level - 1, witness]
        if unit == NO_UNIT or (home.units[level - 1, former[around]] != unit).any():
            raise _Failed(f"ranks {around[0]} to {around[-1]} no longer share one level{level} unit")
        inside &= home.units[level - 1] == unit
    name = "/".join(home.unit(level, witness) for level in range(last - 1, last - depth, -1)) or home.name
    part = (sizes[depth], *sizes[depth:])
    layout = arrange(home, np.flatnonzero(inside).astype(np.int32), last - depth, situation.ranks)
    solution = solve(score_field(layout, part, home.reserve))
    if solution is None:
        what = f"rank {first}" if depth == last else f"ranks {first} to {first + sizes[depth] - 1}"
        raise _Failed(f"{name} has no place for {what}: {len(layout.nodes)} free nodes there")
    return Move(
        first,
        first + sizes[depth],
        name,
        tuple(layout.nodes[solution.slots].tolist()),
        solution.phase,
        tuple(layout.nodes[solution.spares].tolist()),
    )
