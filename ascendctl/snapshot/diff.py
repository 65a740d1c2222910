"""What changed between two snapshots of a cluster."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ascendctl.names import natural_order
from ascendctl.snapshot.cluster import (
    CHIP_RESOURCES,
    NODE_UNHEALTHY,
    PRE_SEPARATE,
    SUB_HEALTHY_CARD,
    SUB_HEALTHY_SWITCH,
    UNKNOWN_ACCELERATOR,
    Cluster,
)

CHIP_FIELDS = ("free", "used", "unhealthy", "networkUnhealthy", "recovering", "total")
HEALTH_NAMES = (
    (NODE_UNHEALTHY, "node unhealthy"),
    (PRE_SEPARATE, "PreSeparate"),
    (SUB_HEALTHY_CARD, "card sub-healthy"),
    (SUB_HEALTHY_SWITCH, "switch sub-healthy"),
    (UNKNOWN_ACCELERATOR, "accelerator label unusable"),
)
_HEALTH_BITS = np.uint8(sum(bit for bit, _ in HEALTH_NAMES))


@dataclass(frozen=True)
class ChipChange:
    """Chip ids of a node that joined and left one set: free, used, unhealthy, networkUnhealthy, recovering, total."""

    field: str
    added: tuple[int, ...]
    removed: tuple[int, ...]


@dataclass(frozen=True)
class ValueChange:
    """Another change of a node: field name (seen, schedulable, health, superpod, rack, capacity, idle, "label X"), the
    old and the new value; None = none."""

    field: str
    before: Any
    after: Any


@dataclass(frozen=True)
class NodeChange:
    """A node that is in both snapshots and not the same."""

    node: str
    chips: tuple[ChipChange, ...]
    values: tuple[ValueChange, ...]


@dataclass(frozen=True)
class JobPods:
    """Pods of a job (or "" = of no job) in one snapshot: namespace, name, and (pod, node) of each."""

    namespace: str
    name: str
    pods: tuple[tuple[str, str], ...]


@dataclass(frozen=True)
class JobChange:
    """A job that is in both snapshots: pods (name, node) that came and went, and those that moved (name, old, new)."""

    namespace: str
    name: str
    came: tuple[tuple[str, str], ...]
    went: tuple[tuple[str, str], ...]
    moved: tuple[tuple[str, str, str], ...]


@dataclass(frozen=True)
class SnapshotDiff:
    """All differences; nodes and jobs in natural name order. Empty sequences = nothing changed."""

    nodes_added: tuple[str, ...]
    nodes_removed: tuple[str, ...]
    nodes: tuple[NodeChange, ...]
    jobs_added: tuple[JobPods, ...]
    jobs_removed: tuple[JobPods, ...]
    jobs: tuple[JobChange, ...]
    parameters: tuple[ValueChange, ...]

    @property
    def is_empty(self) -> bool:
        """True if nothing changed."""
        return not any(getattr(self, name) for name in self.__dataclass_fields__)


def diff(before: Cluster, after: Cluster, labels: bool = True) -> SnapshotDiff:
    """Compare two snapshots; `labels` False leaves node labels out."""
    old, new = before.index, after.index
    common = [name for name in after.names if name in old]
    jobs_before, jobs_after = _jobs(before), _jobs(after)
    both = [key for key in jobs_after if key in jobs_before]
    changes = [_job_change(key, jobs_before[key], jobs_after[key]) for key in both]
    return SnapshotDiff(
        nodes_added=tuple(name for name in after.names if name not in old),
        nodes_removed=tuple(name for name in before.names if name not in new),
        nodes=tuple(_nodes(before, after, common, labels)),
        jobs_added=tuple(_listed(key, jobs_after[key]) for key in jobs_after if key not in jobs_before),
        jobs_removed=tuple(_listed(key, jobs_before[key]) for key in jobs_before if key not in jobs_after),
        jobs=tuple(change for change in changes if change.came or change.went or change.moved),
        parameters=tuple(_parameters(before, after)),
    )


def _masks(cluster: Cluster) -> dict[str, NDArray[np.uint64]]:
    """The chip sets of every node, of the resource that its chips are counted by."""
    zero = np.zeros(cluster.size, np.uint64)
    masks = {field: zero.copy() for field in CHIP_FIELDS}
    masks["used"], masks["total"] = cluster.used, cluster.total
    for kind, name in enumerate(CHIP_RESOURCES):
        columns = cluster.resources.get(name)
        if columns is None:
            continue
        own = cluster.kind == kind
        for field, mask in (
            ("free", columns.free),
            ("unhealthy", columns.unhealthy),
            ("networkUnhealthy", columns.network_unhealthy),
            ("recovering", columns.recovering),
        ):
            masks[field] = np.where(own, mask, masks[field])
    return masks


def _health(cluster: Cluster, node: int) -> str:
    bits = int(cluster.health[node])
    return ", ".join(name for bit, name in HEALTH_NAMES if bits & bit) or "ok"


Reader = Callable[[Cluster, int], Any]


def _number(cluster: Cluster, node: int, column: str) -> int | None:
    """capacity or idle of the node's chips; None = undefined."""
    kind = int(cluster.kind[node])
    columns = cluster.resources.get(CHIP_RESOURCES[kind]) if kind >= 0 else None
    if columns is None or (column == "idle" and not columns.idle_defined[node]):
        return None
    value = int(getattr(columns, column)[node])
    return None if column == "capacity" and value < 0 else value


_VALUES: tuple[tuple[str, Reader], ...] = (
    ("seen", lambda cluster, node: bool(cluster.visible[node])),
    ("schedulable", lambda cluster, node: not cluster.unschedulable[node]),
    ("health", _health),
    ("superpod", lambda cluster, node: int(cluster.superpod[node])),
    ("rack", lambda cluster, node: int(cluster.rack[node])),
    ("capacity", lambda cluster, node: _number(cluster, node, "capacity")),
    ("idle", lambda cluster, node: _number(cluster, node, "idle")),
)


def _nodes(before: Cluster, after: Cluster, common: Sequence[str], labels: bool) -> list[NodeChange]:
    a = np.array([before.index[name] for name in common], np.int64)
    b = np.array([after.index[name] for name in common], np.int64)
    old_masks, new_masks = _masks(before), _masks(after)
    label_keys = sorted(before.labels.columns.keys() | after.labels.columns.keys()) if labels else []
    old_labels = {key: before.labels.column(key).to_list() for key in label_keys}
    new_labels = {key: after.labels.column(key).to_list() for key in label_keys}
    changes = []
    for i, (old, new) in enumerate(zip(a.tolist(), b.tolist(), strict=True)):
        chips = tuple(
            ChipChange(field, _ids(int(new_masks[field][new] & ~old_masks[field][old])), _ids(int(gone)))
            for field in CHIP_FIELDS
            if new_masks[field][new] != (kept := old_masks[field][old]) and (gone := kept & ~new_masks[field][new]) >= 0
        )
        values = [
            ValueChange(name, first, second)
            for name, read in _VALUES
            if (first := read(before, old)) != (second := read(after, new))
        ]
        values += [
            ValueChange(f"label {key}", old_labels[key][old], new_labels[key][new])
            for key in label_keys
            if old_labels[key][old] != new_labels[key][new]
        ]
        if chips or values:
            changes.append(NodeChange(common[i], chips, tuple(values)))
    return changes


def _ids(mask: int) -> tuple[int, ...]:
    return tuple(i for i in range(mask.bit_length()) if mask >> i & 1)


Key = tuple[str, str]


def _jobs(cluster: Cluster) -> dict[Key, dict[str, str]]:
    """Pod name -> node by job, of the pods that have not finished; jobs by namespace, then natural name. Pods of no job
    stand under their namespace and ""."""
    pods, jobs = cluster.pods, cluster.jobs
    found: dict[Key, dict[str, str]] = {}
    for i in np.flatnonzero(pods.active).tolist():
        job = int(pods.job[i])
        key = (jobs.namespaces[job], jobs.names[job]) if job >= 0 else (pods.namespaces[i], "")
        found.setdefault(key, {})[pods.names[i]] = cluster.names[int(pods.node[i])]
    keys = list(found)
    order = natural_order([name for _, name in keys])
    order.sort(key=lambda i: keys[i][0])
    return {keys[i]: found[keys[i]] for i in order}


def _listed(key: Key, pods: Mapping[str, str]) -> JobPods:
    return JobPods(key[0], key[1], tuple(pods.items()))


def _job_change(key: Key, old: Mapping[str, str], new: Mapping[str, str]) -> JobChange:
    return JobChange(
        key[0],
        key[1],
        tuple((pod, node) for pod, node in new.items() if pod not in old),
        tuple((pod, node) for pod, node in old.items() if pod not in new),
        tuple((pod, old[pod], node) for pod, node in new.items() if pod in old and old[pod] != node),
    )


def _parameters(before: Cluster, after: Cluster) -> list[ValueChange]:
    """Scheduler parameters in force that differ, by attribute name."""
    names = [name for name in before.config.__dataclass_fields__ if name != "given"]
    pairs = [(name, getattr(before.config, name), getattr(after.config, name)) for name in names]
    return [ValueChange(name, first, second) for name, first, second in pairs if first != second]
