"""What changed between two snapshots of a cluster."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ascendctl.names import natural_order
from ascendctl.snapshot.chip_lists import chip_ids
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
_CHIP_COLUMNS = {
    "free": "free",
    "unhealthy": "unhealthy",
    "networkUnhealthy": "network_unhealthy",
    "recovering": "recovering",
}
_UNDEFINED = -(1 << 40)
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


def _of_kind(cluster: Cluster, attribute: str, empty: int, dtype: type) -> NDArray[Any]:
    """A resource column, for each node that of the resource that its chips are counted by."""
    result: NDArray[Any] = np.full(cluster.size, empty, dtype)
    for kind, name in enumerate(CHIP_RESOURCES):
        columns = cluster.resources.get(name)
        if columns is not None:
            result = np.where(cluster.kind == kind, getattr(columns, attribute), result)
    return result


def _masks(cluster: Cluster) -> dict[str, NDArray[np.uint64]]:
    """uint64[N]: the chip sets of every node."""
    masks = {field: _of_kind(cluster, attribute, 0, np.uint64) for field, attribute in _CHIP_COLUMNS.items()}
    return masks | {"used": cluster.used, "total": cluster.total}


def _values(cluster: Cluster) -> dict[str, NDArray[Any]]:
    """Other facts of every node."""
    capacity = _of_kind(cluster, "capacity", -1, np.int32)
    idle = _of_kind(cluster, "idle", 0, np.int64)
    return {
        "seen": cluster.visible,
        "schedulable": ~cluster.unschedulable,
        "health": cluster.health & _HEALTH_BITS,
        "superpod": cluster.superpod,
        "rack": cluster.rack,
        "capacity": capacity,
        "idle": np.where(_of_kind(cluster, "idle_defined", 0, np.bool_), idle, _UNDEFINED),
    }


def _shown(field: str, value: Any) -> Any:
    """A value as the report has it."""
    if field == "health":
        return ", ".join(name for bit, name in HEALTH_NAMES if int(value) & bit) or "ok"
    if field in ("seen", "schedulable"):
        return bool(value)
    number = int(value)
    return None if number == _UNDEFINED or (field == "capacity" and number < 0) else number


def _nodes(before: Cluster, after: Cluster, common: Sequence[str], labels: bool) -> Iterator[NodeChange]:
    a = np.array([before.index[name] for name in common], np.int64)
    b = np.array([after.index[name] for name in common], np.int64)
    changed = np.zeros(len(common), np.bool_)
    old_masks, new_masks, old_values, new_values = _masks(before), _masks(after), _values(before), _values(after)
    pairs: list[tuple[Mapping[str, NDArray[Any]], Mapping[str, NDArray[Any]]]] = [
        (old_masks, new_masks),
        (old_values, new_values),
    ]
    for first, second in pairs:
        for field in first:
            changed |= first[field][a] != second[field][b]
    keys = sorted(before.labels.columns.keys() | after.labels.columns.keys()) if labels else []
    for key in keys:
        olds, news = before.labels.column(key).to_list(), after.labels.column(key).to_list()
        differs = [olds[i] != news[j] for i, j in zip(a.tolist(), b.tolist(), strict=True)]
        changed |= np.array(differs, np.bool_)
    for number in np.flatnonzero(changed).tolist():
        i, j = int(a[number]), int(b[number])
        chips = []
        for field in CHIP_FIELDS:
            was, now = int(old_masks[field][i]), int(new_masks[field][j])
            if was != now:
                chips.append(ChipChange(field, chip_ids(now & ~was), chip_ids(was & ~now)))
        values = [
            ValueChange(field, _shown(field, old_values[field][i]), _shown(field, new_values[field][j]))
            for field in old_values
            if old_values[field][i] != new_values[field][j]
        ]
        for key in keys:
            old, new = before.labels.get(i, key), after.labels.get(j, key)
            if old != new:
                values.append(ValueChange(f"label {key}", old, new))
        yield NodeChange(common[number], tuple(chips), tuple(values))


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
