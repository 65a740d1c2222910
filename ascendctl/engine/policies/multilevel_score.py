"""The article's fragment score of a tree after a placement: reported, never decided on (chapter 22 §4.9, §8.6)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ascendctl.topology.tree import Layout, Tree, arrange

SCALE = 10


@dataclass(frozen=True)
class ArticleScore:
    """`root`: A(root); `norm`: A(root) over its least value, 1 = every touched unit is completely used; `units`: A of
    each used unit by path, upper levels first."""

    root: float
    norm: float
    units: dict[str, float]

    def to_dict(self) -> dict[str, object]:
        """For Placement.metrics, rounded to 4 decimals."""
        units = {name: round(value, 4) for name, value in self.units.items()}
        return {"root": round(self.root, 4), "norm": round(self.norm, 4), "units": units}


def article_score(
    tree: Tree, healthy: NDArray[np.bool_], used: NDArray[np.bool_], ranks: NDArray[np.int64]
) -> ArticleScore | None:
    """Score of the whole tree with all its levels. `healthy` bool[N]: nodes that count at all; `used` bool[N]: nodes
    with an NPU pod. None if the tree has no levels or no such node."""
    nodes = np.flatnonzero(tree.complete & healthy).astype(np.int32)
    if not tree.levels or not len(nodes):
        return None
    layout = arrange(tree, nodes, len(tree.levels), ranks)
    total, busy = _counts(layout, used)
    share = [np.where(u > 0, t / np.maximum(u, 1), t + 1.0) for t, u in zip(total, busy, strict=True)]
    last = layout.depth - 1
    scores = [SCALE * share[last] + share[last - 1][layout.parents[last]]]
    for depth in range(last - 1, -1, -1):
        mean = _means(scores[0], busy[depth + 1] > 0, layout.children[depth])
        scores.insert(0, SCALE * mean + (share[depth - 1][layout.parents[depth]] if depth else 0.0))
    root = float(scores[0][0])
    least = SCALE * (SCALE ** (len(tree.levels) + 1) - 1) / 9
    units = {
        layout.unit_name(tree, depth, vertex): float(scores[depth][vertex])
        for depth in range(1, last + 1)
        for vertex in np.flatnonzero(busy[depth]).tolist()
    }
    return ArticleScore(root, root / least, units)


def _counts(layout: Layout, used: NDArray[np.bool_]) -> tuple[list[NDArray[np.int64]], list[NDArray[np.int64]]]:
    """Nodes, and used nodes, below every vertex, by depth."""
    running = np.concatenate([[0], np.cumsum(used[layout.nodes], dtype=np.int64)])
    return [np.diff(leaves) for leaves in layout.leaves], [np.diff(running[leaves]) for leaves in layout.leaves]


def _means(values: NDArray[np.float64], counted: NDArray[np.bool_], limits: NDArray[np.int64]) -> NDArray[np.float64]:
    """Mean over the counted children of each vertex, over all where none is counted."""
    weights = counted.astype(np.float64)
    some = np.add.reduceat(weights, limits[:-1])
    sums = np.add.reduceat(values * weights, limits[:-1])
    means: NDArray[np.float64] = np.where(
        some > 0,
        sums / np.maximum(some, 1),
        np.add.reduceat(values, limits[:-1]) / np.diff(limits),
    )
    return means
