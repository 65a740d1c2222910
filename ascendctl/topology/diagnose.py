"""What is wrong with the labels of a tree, seen from the nodes (chapter 22 §1.3 ML-C11, §2.2, §8.5, trap 3)."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ascendctl.snapshot.columns import distinct
from ascendctl.topology.levels import LevelProblem
from ascendctl.topology.tree import NO_UNIT, Tree


def tree_problems(tree: Tree, names: Sequence[str]) -> list[LevelProblem]:
    """Missing labels (ML-N02), unit names used below several parents (ML-N05), empty ones (ML-N06), and more reserved
    nodes than a level-1 unit has (ML-C11). `names` are the node names of the snapshot."""
    found: list[LevelProblem] = []
    members = int(tree.member.sum())
    for level, units in zip(tree.levels, tree.units, strict=True):
        lacking = np.flatnonzero(tree.member & (units == NO_UNIT))
        if len(lacking):
            text = f"{len(lacking)} of {members} nodes lack the label {level.label} of {level.name}"
            found.append(_warning("ML-N02", tree, f"{text}, such as {names[lacking[0]]}"))
        empty = (
            [i for i in np.flatnonzero(tree.complete).tolist() if units[i] == 0] if _has_empty(tree, level.name) else []
        )
        if empty:
            found.append(_warning("ML-N06", tree, f"the label {level.label} is empty on {names[empty[0]]}: a unit too"))
    found += [
        _warning(
            "ML-N05",
            tree,
            f"values of {tree.levels[level].label} are used below different parents; a job with fewer levels takes "
            "them for one unit",
        )
        for level in reused_levels(tree)
    ]
    complete = np.flatnonzero(tree.complete)
    if tree.reserve and len(complete):
        sizes = np.bincount(tree.units[0][complete])
        small = [tree.values[0][unit] for unit in np.flatnonzero((sizes > 0) & (sizes <= tree.reserve)).tolist()]
        if small:
            text = f"{len(small)} level1 units have no more than the {tree.reserve} reserved nodes, such as {small[0]}"
            found.append(_warning("ML-C11", tree, f"{text}: they are used only when nothing else is left"))
    return found


def _warning(code: str, tree: Tree, text: str) -> LevelProblem:
    return LevelProblem(code, "warning", f"tree '{tree.name}': {text}", tree.name)


def _has_empty(tree: Tree, level: str) -> bool:
    """True if the empty name is a unit of the level; it is the first in byte order then."""
    values = tree.values[int(level.removeprefix("level")) - 1]
    return bool(values) and values[0] == ""


def reused_levels(tree: Tree) -> list[int]:
    """Rows of `tree.units` whose unit names occur below more than one parent, top level first."""
    complete = np.flatnonzero(tree.complete)
    path = np.zeros(len(complete), dtype=np.int64)
    reused = []
    for row in range(len(tree.levels) - 1, -1, -1):
        units = tree.units[row][complete]
        path = np.unique(path * (len(tree.values[row]) + 1) + units, return_inverse=True)[1].reshape(-1)
        if len(complete) and int(path.max()) + 1 > len(distinct(units)):
            reused.append(row)
    return reused
