"""Plan of one job over all trees: attempts, choice of the tree, rank order (chapter 22 §4.1, §4.7, §5.1, §8.4)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ascendctl.engine.policies.multilevel_search import Field, Solution, full_capacity, score_field, solve
from ascendctl.topology.tree import Tree, arrange

OBJECTIVES = ("fragmentation", "bandwidth")


@dataclass(frozen=True)
class Attempt:
    """One shape to try on every tree that is deep enough. `name` says which: "plain", "strict", "one level2 unit"..."""

    name: str
    sizes: tuple[int, ...]

    @property
    def levels(self) -> int:
        """Middle levels that a tree needs."""
        return len(self.sizes) - 2


@dataclass(frozen=True)
class Trial:
    """Outcome of one attempt on one tree; `solution` None = the tree cannot host the job in this shape."""

    attempt: Attempt
    tree: Tree
    field: Field
    solution: Solution | None


@dataclass(frozen=True)
class Plan:
    """The whole job on one tree, in rank order. `nodes` int32[pods] are indices of the snapshot, cut into blocks of
    `group_size` (g_1); `trials` all that was tried, `best` the one that won, with `solution`; `shallow` names the trees
    without the levels of an attempt."""

    nodes: NDArray[np.int32]
    group_size: int
    best: Trial
    solution: Solution
    trials: tuple[Trial, ...]
    shallow: tuple[tuple[Attempt, str], ...]


@dataclass(frozen=True)
class NoPlan:
    """No tree can host the job. `deep_enough` False: no tree has the levels that the job asks for."""

    deep_enough: bool
    trials: tuple[Trial, ...]
    shallow: tuple[tuple[Attempt, str], ...]


def shape(pods: int, groups: Sequence[int]) -> tuple[int, ...]:
    """The job's own vector from its group sizes, level1 first."""
    return (pods, *reversed(groups), 1)


def attempts(pods: int, groups: Sequence[int], objective: str, deepest: int) -> tuple[Attempt, ...]:
    """Shapes to try in order. `groups` level1 first; `deepest` = levels of the deepest tree.

    A job with level1 only is first tried inside one level2 unit. Objective "bandwidth" tries one unit of each level
    instead, lowest first, and the plain shape last.
    """
    plain = Attempt("plain", shape(pods, groups))
    if objective == "bandwidth":
        filled = [groups[min(i, len(groups) - 1)] for i in range(max(deepest - 1, 0))]
        return (
            *(Attempt(f"one level{d} unit", (pods, *shape(pods, filled[: d - 1]))) for d in range(1, deepest + 1)),
            plain,
        )
    if len(groups) == 1:
        return Attempt("strict", (pods, *plain.sizes)), plain
    return (plain,)


def plan(
    trees: Sequence[Tree],
    candidates: NDArray[np.bool_],
    tries: Sequence[Attempt],
    group_size: int,
    ranks: NDArray[np.int64],
    former: Mapping[int, int] | None = None,
) -> Plan | NoPlan:
    """Try each shape on all trees that are deep enough; the first shape that any tree can host wins, on the tree with
    the smallest root score (equal scores: first name).

    `trees` ascend by name; `candidates` bool[N]; `ranks` int64[N] byte order of the node names; `former` maps nodes of
    an earlier placement to the slot that they had.
    """
    trials: list[Trial] = []
    shallow: list[tuple[Attempt, str]] = []
    for attempt in tries:
        solved = []
        for tree in trees:
            if len(tree.levels) < attempt.levels:
                shallow.append((attempt, tree.name))
                continue
            nodes = np.flatnonzero(tree.complete & candidates).astype(np.int32)
            field = score_field(arrange(tree, nodes, attempt.levels, ranks), attempt.sizes, tree.reserve)
            # the search is complete, so it need not run where even the reserved nodes are too few
            possible = full_capacity(field.layout, attempt.sizes)[0][0] > 0
            trial = Trial(attempt, tree, field, solve(field) if possible else None)
            trials.append(trial)
            if trial.solution is not None:
                solved.append((trial, trial.solution))
        if solved:
            best, solution = min(solved, key=lambda pair: pair[0].field.score)
            ordered = order_groups(best.field.layout.nodes[solution.slots], group_size, ranks, former or {})
            return Plan(ordered, group_size, best, solution, tuple(trials), tuple(shallow))
    return NoPlan(bool(trials), tuple(trials), tuple(shallow))


def order_groups(
    slots: NDArray[np.int32], size: int, ranks: NDArray[np.int64], former: Mapping[int, int]
) -> NDArray[np.int32]:
    """Rank order inside the groups of `size` slots: a node that was in the same group keeps its place, the others fill
    the free places in name order."""
    ordered = np.empty_like(slots)
    for begin in range(0, len(slots), size):
        group = slots[begin : begin + size]
        group = group[np.argsort(ranks[group])]
        kept = {former[node]: node for node in group.tolist() if begin <= former.get(node, -1) < begin + size}
        stay = set(kept.values())
        others = iter([node for node in group.tolist() if node not in stay])
        for place in range(begin, begin + size):
            ordered[place] = kept[place] if place in kept else next(others)
    return ordered


def largest_job(trial: Trial) -> int:
    """Pods of the largest job of the same groups that the tree could host, ignoring reserved nodes."""
    sizes = trial.attempt.sizes
    capacity = full_capacity(trial.field.layout, sizes)
    below = capacity[1] if len(capacity) > 1 else np.array([len(trial.field.layout.nodes)])
    return int(below.sum()) * sizes[1]
