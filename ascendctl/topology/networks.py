"""Trees to look at, from whatever a snapshot says of its network: configured levels, HyperNodes, SuperPoDs and racks,
leaf switches, or labels that the user names."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from ascendctl.snapshot.cluster import Cluster
from ascendctl.snapshot.columns import distinct
from ascendctl.snapshot.config import TreeLevel
from ascendctl.topology.hypernode import HyperNodeError, hypernode_cluster
from ascendctl.topology.leaf_states import node_servers
from ascendctl.topology.tree import NO_UNIT, Tree, build_trees, ranked_values
from ascendctl.wellknown import ACCELERATOR_TYPE

SOURCES = ("levels", "hypernodes", "superpods", "leaves")
SUPER_PODS, LEAVES, LABELS = "SuperPoDs", "leaf switches", "labels"


@dataclass(frozen=True)
class Network:
    """One tree over the nodes of a snapshot. `source` is one of `SOURCES` or "labels"; `order` int64[N] ranks the nodes
    of a unit, None = by name; `notes` say what is wrong with it beyond its labels."""

    source: str
    tree: Tree
    order: NDArray[np.int64] | None = None
    notes: tuple[str, ...] = ()


class NoNetwork(ValueError):
    """The snapshot does not say what was asked for; the text tells what is missing."""


def networks(cluster: Cluster, source: str = "auto", labels: Sequence[str] = ()) -> list[Network]:
    """The trees of one source; "auto" = of every source that the snapshot has. `labels`, level1 first, make a tree of
    their own. Raises NoNetwork if there is none."""
    if labels:
        return [Network(LABELS, _of_npu_nodes(label_tree(cluster, labels), cluster))]
    found: list[Network] = []
    for name in SOURCES if source == "auto" else (source,):
        try:
            found += _BUILDERS[name](cluster, source == "auto")
        except NoNetwork:
            if source != "auto":
                raise
    if not found:
        raise NoNetwork(
            "the dump says nothing of the network: no resource-level-config, HyperNodes, SuperPoD ids above 0, or "
            "basic-tor-node-cm; name node labels with --levels, or what to draw with --by"
        )
    return found


def _of_npu_nodes(tree: Tree, cluster: Cluster) -> Tree:
    """The tree without nodes that have no NPUs, such as those of the control plane."""
    return replace(tree, member=tree.member & cluster.has_npus)


def _levels(cluster: Cluster, auto: bool) -> list[Network]:
    if not cluster.config.resource_levels:
        raise NoNetwork("volcano-scheduler-configmap has no usable resource-level-config; try --levels LABEL,...")
    return [Network("levels", _of_npu_nodes(tree, cluster)) for tree in build_trees(cluster)]


def _hypernodes(cluster: Cluster, auto: bool) -> list[Network]:
    try:
        found, problems = hypernode_cluster(cluster)
    except HyperNodeError as error:
        raise NoNetwork(str(error)) from None
    notes = tuple(f"{problem.code}: {problem.message}" for problem in problems)
    return [Network("hypernodes", _of_npu_nodes(tree, cluster), notes=notes) for tree in build_trees(found)]


def _super_pods(cluster: Cluster, auto: bool) -> list[Network]:
    """SuperPoDs by the ids of the device data, with their racks where the cluster has any. An id of 0 may mean that
    there is none (chapter 30 §9.3), so where no node says of itself that it is in one they must be asked for."""
    counted = cluster.has_npus
    known = counted & (cluster.superpod >= 0)
    servers = cluster.labels.column(ACCELERATOR_TYPE).values
    named = any("superpod" in server.replace("-", "").lower() for server in servers)
    if not known.any() or (auto and not named and not (cluster.superpod[known] > 0).any()):
        raise NoNetwork("no node has a SuperPoD id")
    rows = [_numbered(cluster.superpod, known, "SuperPoD")]
    labels = ["SuperPoD id of the device data"]
    if (cluster.rack[known] > 0).any():
        rows.insert(0, _numbered(cluster.rack, known & (cluster.rack >= 0), "rack"))
        labels.insert(0, "rack id of the device data")
    reserve = cluster.config.reserve_nodes if len(rows) == 1 else 0
    levels = [TreeLevel(f"level{i}", label, reserve if i == 1 else 0) for i, label in enumerate(labels, 1)]
    units = np.stack([units for units, _ in rows])
    tree = Tree(SUPER_PODS, tuple(levels), counted, units, tuple(values for _, values in rows))
    return [Network("superpods", tree, np.arange(cluster.size))]


def _numbered(ids: NDArray[np.int32], known: NDArray[np.bool_], word: str) -> tuple[NDArray[np.int32], tuple[str, ...]]:
    """Units by ascending id, and their names."""
    values = distinct(ids[known])
    units = np.where(known, np.searchsorted(values, ids), NO_UNIT).astype(np.int32)
    return units, tuple(f"{word} {value}" for value in values.tolist())


def _leaves(cluster: Cluster, auto: bool) -> list[Network]:
    topology = cluster.leaves
    if topology is None:
        why = f": {cluster.leaves_error}" if cluster.leaves_error else ""
        raise NoNetwork(f"the dump has no usable ConfigMap kube-system/basic-tor-node-cm{why}")
    servers = node_servers(cluster, topology)
    units = np.append(topology.server_leaf, np.int32(NO_UNIT))[servers].astype(np.int32)
    names = tuple(f"leaf {number} {ip}" for number, ip in zip(topology.leaf_ids, topology.leaf_ips, strict=True))
    level = TreeLevel("level1", f"{topology.level or 'double_layer'} network of basic-tor-node-cm")
    tree = Tree(LEAVES, (level,), cluster.is_npu | (units != NO_UNIT), units[None, :], (names,))
    return [Network("leaves", tree, servers.astype(np.int64))]


def label_tree(cluster: Cluster, labels: Sequence[str]) -> Tree:
    """A tree of all nodes by node labels, level1 first. Raises NoNetwork if no node has one of them."""
    missing = [label for label in labels if label not in cluster.labels.columns]
    if missing:
        raise NoNetwork(f"no node has the label {', '.join(missing)}")
    rows = [ranked_values(cluster.labels.column(label)) for label in labels]
    levels = tuple(TreeLevel(f"level{i}", label) for i, label in enumerate(labels, 1))
    everyone = np.ones(cluster.size, np.bool_)
    return Tree(LABELS, levels, everyone, np.stack([units for units, _ in rows]), tuple(values for _, values in rows))


_BUILDERS = {"levels": _levels, "hypernodes": _hypernodes, "superpods": _super_pods, "leaves": _leaves}
