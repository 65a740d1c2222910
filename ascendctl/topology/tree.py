"""Interconnect trees from node labels, and nodes sorted into the units of a tree (chapter 22 §1.4, §2).

Names of nodes, units and trees compare byte by byte here, not naturally: node10 < node2 (chapter 22 §8.1).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from ascendctl.snapshot.cluster import Cluster
from ascendctl.snapshot.columns import StringColumn
from ascendctl.snapshot.config import TreeLevel
from ascendctl.topology.levels import DEFAULT_TREE, TREE_LABEL

NO_UNIT = -1


@dataclass(frozen=True)
class Tree:
    """One configured tree over the N nodes of a snapshot.

    `levels` level1 first, m of them. `member` bool[N]: the node's tree label names this tree. `units` int32[m, N]: row
    i is the unit of level i+1 that holds the node, an index of `values[i]` (ascending names), `NO_UNIT` where the node
    lacks the label or belongs to another tree.
    """

    name: str
    levels: tuple[TreeLevel, ...]
    member: NDArray[np.bool_]
    units: NDArray[np.int32]
    values: tuple[tuple[str, ...], ...]

    @cached_property
    def complete(self) -> NDArray[np.bool_]:
        """bool[N]: members that carry the label of every level."""
        complete: NDArray[np.bool_] = self.member & (self.units != NO_UNIT).all(axis=0)
        return complete

    @property
    def reserve(self) -> int:
        """R, spare nodes to keep per level-1 unit; a negative number counts as 0."""
        return max(0, self.levels[0].reserved_nodes) if self.levels else 0

    def unit(self, level: int, node: int) -> str:
        """Name of the level-`level` unit (from 1) that holds a node; "" if it has none."""
        index = int(self.units[level - 1, node])
        return "" if index == NO_UNIT else self.values[level - 1][index]


@dataclass(frozen=True)
class Layout:
    """Some nodes of a tree, sorted by unit names from the top level down, then by node name.

    Depth 0 is the root, depth D the nodes, depth D - i the units of level i. `nodes` int32[n] are indices of the
    snapshot in that order. For each depth d < D, `children[d]` and `leaves[d]` (int64[V_d + 1]) delimit what lies below
    the V_d vertices: vertex v owns vertices children[d][v]:children[d][v+1] of depth d+1 and nodes
    leaves[d][v]:leaves[d][v+1]. `parents[d]` (int64[V_d]) leads from depth d >= 1 to depth d-1.
    """

    nodes: NDArray[np.int32]
    children: tuple[NDArray[np.int64], ...]
    leaves: tuple[NDArray[np.int64], ...]
    parents: tuple[NDArray[np.int64], ...]

    @property
    def depth(self) -> int:
        """D."""
        return len(self.children)

    def unit_name(self, tree: Tree, depth: int, vertex: int) -> str:
        """Name of a vertex: of the tree, of a unit (parents joined by '/'), the reader's word for it."""
        if depth == 0:
            return tree.name
        node = int(self.nodes[self.leaves[depth][vertex]])
        return "/".join(tree.unit(self.depth - d, node) for d in range(1, depth + 1))


def byte_ranks(names: Sequence[str]) -> NDArray[np.int64]:
    """int64[N]: position of each name in byte order."""
    ranks = np.empty(len(names), dtype=np.int64)
    ranks[sorted(range(len(names)), key=names.__getitem__)] = np.arange(len(names))
    return ranks


def build_trees(cluster: Cluster) -> tuple[Tree, ...]:
    """The configured trees of a snapshot, ascending by name. Nodes without a tree label belong to tree `default`."""
    owner = cluster.labels.column(TREE_LABEL)
    ranked = {
        label: ranked_values(cluster.labels.column(label))
        for levels in cluster.config.resource_levels.values()
        for label in {level.label for level in levels}
    }
    trees = []
    for name, levels in sorted(cluster.config.resource_levels.items()):
        member = owner.equals(name)
        if name == DEFAULT_TREE:
            member = member | (owner.codes < 0)
        units = np.full((len(levels), cluster.size), NO_UNIT, dtype=np.int32)
        for i, level in enumerate(levels):
            units[i] = np.where(member, ranked[level.label][0], NO_UNIT)
        trees.append(Tree(name, levels, member, units, tuple(ranked[level.label][1] for level in levels)))
    return tuple(trees)


def ranked_values(column: StringColumn) -> tuple[NDArray[np.int32], tuple[str, ...]]:
    """A column with its codes in the order of the values."""
    order = sorted(range(len(column.values)), key=column.values.__getitem__)
    ranks = np.full(len(order) + 1, NO_UNIT, dtype=np.int32)
    ranks[order] = np.arange(len(order), dtype=np.int32)
    return ranks[column.codes], tuple(column.values[i] for i in order)


def arrange(tree: Tree, nodes: NDArray[np.int32], levels: int, ranks: NDArray[np.int64]) -> Layout:
    """Sort nodes into the units of level `levels` .. level 1; higher levels are left out, so equal names below
    different parents of a left-out level become one unit. `nodes` are complete members, `ranks` of `byte_ranks`."""
    keys = [tree.units[i][nodes] for i in range(levels)]
    order = np.lexsort([ranks[nodes], *keys])
    nodes, n = nodes[order], len(nodes)
    starts = [np.zeros(1, dtype=np.int64)]
    new = np.zeros(n, dtype=np.bool_)
    new[:1] = True
    for key in reversed(keys):
        sorted_key = key[order]
        new[1:] |= sorted_key[1:] != sorted_key[:-1]
        starts.append(np.flatnonzero(new))
    starts.append(np.arange(n, dtype=np.int64))
    children, parents = [], [np.zeros(0, dtype=np.int64)]
    for upper, lower in pairwise(starts):
        below = np.searchsorted(lower, upper)
        children.append(np.append(below, len(lower)))
        parents.append(np.repeat(np.arange(len(upper)), np.diff(children[-1])))
    return Layout(nodes, tuple(children), tuple(np.append(start, n) for start in starts[:-1]), tuple(parents))
