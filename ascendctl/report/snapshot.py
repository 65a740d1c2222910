"""A snapshot as a report: its nodes, totals and problems, and the SnapshotReport document."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ascendctl.engine.result import API_VERSION
from ascendctl.report.occupancy import BROKEN, STATE_KEYS, STATES, NodeChips, Unit, node_chips, units
from ascendctl.report.problems import Problem, matching, problems
from ascendctl.report.text import printable
from ascendctl.snapshot.chip_lists import chip_ids
from ascendctl.snapshot.cluster import CHIP_RESOURCES, Cluster, place_text
from ascendctl.snapshot.config import SchedulerConfig
from ascendctl.snapshot.config_load import ATTRIBUTES

BROKEN_OBJECTS = ("(no object)", "(no kind)")
PARAMETERS = {names[0]: key for key, names in ATTRIBUTES.items()}
"""Attributes of SchedulerConfig and their names in init-params."""
SOURCE_ROWS = (("deviceRow", "device"), ("switchRow", "switch"), ("hostRow", "host"))
"""Names of the rows of a node in documents, and their columns in `Provenance`."""
RACK_KIND = CHIP_RESOURCES.index("huawei.com/npu")
"""Only nodes with these chips are in racks."""


@dataclass(frozen=True)
class Shown:
    """What a report is about: a snapshot, the nodes with NPUs that the filters leave (`nodes`, int64 indices), and
    their problems. `by` says what is mapped: node, superpod, rack or leaf."""

    cluster: Cluster
    chips: NodeChips
    nodes: NDArray[np.int64]
    problems: Sequence[Problem]
    by: str = "node"

    @property
    def units(self) -> list[Unit]:
        """The units to map, without nodes that the filters leave out."""
        kept = [
            Unit(unit.title, unit.nodes[np.isin(unit.nodes, self.nodes)], unit.reserve)
            for unit in units(self.cluster, self.chips, self.by)
        ]
        return [unit for unit in kept if len(unit.nodes)]


@dataclass(frozen=True)
class NodeFacts:
    """Numbers of one node. `resource` is that of its chips, or the first that it offers; None = undefined or none."""

    resource: str
    idle: int | None
    allocatable: int | None
    capacity: int | None
    superpod: int | None
    rack: int | None


def examine(cluster: Cluster, by: str = "node", globs: Sequence[str] = (), only_problems: bool = False) -> Shown:
    """Gather what a report says. `globs` keep the nodes whose names match one of them, `only_problems` those that have
    a problem or a bad chip, are sub-healthy or take no pod."""
    chips = node_chips(cluster)
    found = matching(problems(cluster), globs)
    keep = cluster.has_npus.copy()
    if globs:
        keep &= np.array([any(fnmatchcase(name, glob) for glob in globs) for name in cluster.names], np.bool_)
    if only_problems:
        named = {problem.node for problem in found}
        odd = np.array([name in named for name in cluster.names], np.bool_)
        keep &= odd | (chips.state == BROKEN) | (chips.bad != 0) | cluster.sub_healthy
    return Shown(cluster, chips, np.flatnonzero(keep), found, by)


def facts(cluster: Cluster, node: int) -> NodeFacts:
    """The numbers of a node."""
    kind = int(cluster.kind[node])
    own = CHIP_RESOURCES[kind] if kind >= 0 else ""
    superpod, rack = int(cluster.superpod[node]), int(cluster.rack[node])
    groups = superpod if superpod >= 0 else None, rack if rack >= 0 and kind == RACK_KIND else None
    for name in (own, *cluster.resources):
        columns = cluster.resources.get(name)
        if columns is not None and columns.capacity[node] >= 0:
            known = bool(columns.idle_defined[node])
            idle = int(columns.idle[node]) if known else None
            allocatable = int(columns.allocatable[node]) if known else None
            return NodeFacts(name, idle, allocatable, int(columns.capacity[node]), *groups)
    return NodeFacts(own, None, None, None, *groups)


def leaf_names(cluster: Cluster) -> list[str]:
    """The leaf switch of each node by its address; "" = none."""
    names = [""] * cluster.size
    topology = cluster.leaves
    if topology is not None:
        servers = topology.server_of_node(cluster.size)
        for node in np.flatnonzero(servers >= 0).tolist():
            names[node] = topology.leaf_ips[int(topology.server_leaf[servers[node]])]
    return names


def codes_by_node(found: Sequence[Problem]) -> Mapping[str, tuple[str, ...]]:
    """Node name -> codes of its problems, each once."""
    codes: dict[str, dict[str, None]] = {}
    for problem in found:
        codes.setdefault(problem.node, {})[problem.code] = None
    return {node: tuple(names) for node, names in codes.items()}


def state_counts(chips: NodeChips, nodes: NDArray[np.int64]) -> list[int]:
    """How many of some nodes are in each of `STATES`."""
    counts: list[int] = np.bincount(chips.state[nodes], minlength=len(STATES)).tolist()
    return counts


def resource_totals(shown: Shown) -> dict[str, dict[str, int]]:
    """Chips by resource name, of the nodes that are shown."""
    chips = shown.chips
    result = {}
    for kind, name in enumerate(CHIP_RESOURCES):
        nodes = shown.nodes[shown.cluster.kind[shown.nodes] == kind]
        if len(nodes):
            masks = {
                "npus": chips.total,
                "free": chips.free,
                "used": chips.used,
                "unhealthy": chips.unhealthy,
                "recovering": chips.recovering,
                "networkUnhealthy": chips.network,
            }
            counts = {key: int(np.bitwise_count(mask[nodes]).sum()) for key, mask in masks.items()}
            result[name] = {"nodes": len(nodes), **counts}
    return result


def objects(cluster: Cluster) -> dict[str, dict[str, int]]:
    """Objects of the dump by what became of them, and by kind: read, skipped (nobody reads them), broken."""
    broken = {
        kind: count
        for kind, count in cluster.skipped.items()
        if kind in BROKEN_OBJECTS or kind.endswith("without a usable name")
    }
    skipped = {kind: count for kind, count in cluster.skipped.items() if kind not in broken}
    return {"read": dict(cluster.read), "skipped": skipped, "broken": broken}


def pack_line(cluster: Cluster, file: str, size: int) -> str:
    """What a packed snapshot holds."""
    counts = f"{cluster.size} nodes, {len(cluster.pods.names)} bound pods, {len(cluster.diagnostics)} problems"
    amount = f"{size / (1 << 20):.1f} MiB" if size >= 1 << 20 else f"{size / 1024:.1f} KiB"
    return f"{printable(file)}: {counts}, {amount}"


def sources(cluster: Cluster, node: int) -> dict[str, Any] | None:
    """Node object and ConfigMap texts that the facts about a node came from; None if nothing is known of them."""
    origin = cluster.provenance
    if origin is None:
        return None
    found: dict[str, Any] = {"node": place_text(origin.files, int(origin.node[node]))}
    for key, column in SOURCE_ROWS:
        text = origin.text(int(getattr(origin, column)[node]))
        found[key] = None if text is None else {"object": text.object, "source": text.where, "sha256": text.sha256}
    return found


def as_document(shown: Shown) -> dict[str, Any]:
    """The SnapshotReport document."""
    cluster = shown.cluster
    codes, leaves = codes_by_node(shown.problems), leaf_names(cluster)
    states = dict(zip(STATE_KEYS, state_counts(shown.chips, shown.nodes), strict=True))
    document: dict[str, Any] = {
        "apiVersion": API_VERSION,
        "kind": "SnapshotReport",
        "source": {
            "mode": "clusterd" if cluster.clusterd_mode else "device",
            "profile": cluster.profile,
            "objects": objects(cluster),
        },
        "config": config_values(cluster.config),
        "totals": {
            "nodes": cluster.size,
            "shown": len(shown.nodes),
            "states": states,
            "resources": resource_totals(shown),
        },
        "nodes": [_node(shown, node, codes, leaves[node]) for node in shown.nodes.tolist()],
        "problems": [problem.to_dict() for problem in shown.problems],
    }
    if shown.by != "node":
        document["units"] = [_unit(shown, unit) for unit in shown.units]
    return document


def config_values(config: SchedulerConfig) -> dict[str, Any]:
    """The scheduler parameters in force, by their names in init-params."""
    values = {name: getattr(config, field) for field, name in PARAMETERS.items()}
    values["resource-level-config"] = {
        tree: {level.name: {"label": level.label, "reservedNode": level.reserved_nodes} for level in levels}
        for tree, levels in config.resource_levels.items()
    }
    return values


def _node(shown: Shown, node: int, codes: Mapping[str, tuple[str, ...]], leaf: str) -> dict[str, Any]:
    cluster, chips, numbers = shown.cluster, shown.chips, facts(shown.cluster, node)
    masks = {
        "total": chips.total,
        "free": chips.free,
        "used": chips.used,
        "unhealthy": chips.unhealthy,
        "recovering": chips.recovering,
        "networkUnhealthy": chips.network,
    }
    return {
        "name": cluster.names[node],
        "address": cluster.addresses[node],
        "state": STATE_KEYS[chips.state[node]],
        "code": chips.why(node),
        "cordoned": bool(cluster.unschedulable[node]),
        "subHealthy": bool(cluster.sub_healthy[node]),
        "resource": numbers.resource,
        "idle": numbers.idle,
        "allocatable": numbers.allocatable,
        "capacity": numbers.capacity,
        "npus": {key: list(chip_ids(int(mask[node]))) for key, mask in masks.items()},
        "superpod": numbers.superpod,
        "rack": numbers.rack,
        "leaf": leaf or None,
        "problems": list(codes.get(cluster.names[node], ())),
        "sources": sources(cluster, node),
    }


def _unit(shown: Shown, unit: Unit) -> dict[str, Any]:
    names = shown.cluster.names
    return {
        "name": unit.title,
        "nodes": [names[node] for node in unit.nodes.tolist()],
        "reserve": [names[node] for node in sorted(unit.reserve)],
        "states": dict(zip(STATE_KEYS, state_counts(shown.chips, unit.nodes), strict=True)),
        "freeNpus": int(np.bitwise_count(shown.chips.free[unit.nodes]).sum()),
    }
