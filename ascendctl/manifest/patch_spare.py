"""Spare nodes for the set of a job that its policy plans as a whole (chapter 50 §6.3)."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ascendctl.engine.result import Placement
from ascendctl.manifest.patch_pins import Target, has_one_set
from ascendctl.snapshot.cluster import Cluster


def spare_nodes(target: Target, result: object, cluster: Cluster) -> frozenset[str]:
    """The other candidates in the SuperPoDs (top units of a tree) of a job; empty if it has no set to widen.

    Inside its own nodes alone a policy may number its groups in another order: how many nodes a unit has left is what
    it goes by. With all candidates of the same units the plan stays as it is. `result` is the job's Placement.
    """
    if not isinstance(result, Placement) or not has_one_set(target, "auto"):
        return frozenset()
    units = _units(result, cluster)
    used = np.array(sorted({cluster.index[s.node] for part in target.seats for s in part}), dtype=np.int64)
    open_nodes = np.isin(units, np.unique(units[used])) & (units >= 0)
    open_nodes[used] = False
    open_nodes[[cluster.index[name] for group in result.rejected for name in group.nodes]] = False
    return frozenset(cluster.names[i] for i in np.flatnonzero(open_nodes).tolist())


def _units(result: Placement, cluster: Cluster) -> NDArray[np.int32]:
    """int32[N]: SuperPoD of every node, or top unit of the tree that a multi-level job was planned on; -1 = none."""
    name = result.metrics.get("tree")
    if name is None:
        return cluster.superpod
    from ascendctl.topology.tree import build_trees

    tree = next(tree for tree in build_trees(cluster) if tree.name == name)
    return tree.units[-1] if len(tree.units) else np.full(cluster.size, -1, dtype=np.int32)
