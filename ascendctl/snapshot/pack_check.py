"""Is a Cluster sound? What is read from a packed file is checked before anybody relies on it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields
from typing import Any

import numpy as np

from ascendctl.snapshot.cluster import (
    CHIP_RESOURCES,
    LIST_ANNOTATED,
    LIST_NONE,
    PLACE_BITS,
    Cluster,
    Provenance,
    ResourceColumns,
    WaitingPods,
)
from ascendctl.snapshot.columns import StringColumn, StringTable
from ascendctl.snapshot.config import SchedulerConfig, TreeLevel
from ascendctl.snapshot.diagnostics import CODES, Diagnostic
from ascendctl.snapshot.profiles import PROFILES
from ascendctl.snapshot.texts import TextColumn
from ascendctl.topology.leaf import LeafTopology

_NODE_ARRAYS = {
    "visible": np.bool_,
    "is_npu": np.bool_,
    "unschedulable": np.bool_,
    "kind": np.int8,
    "total": np.uint64,
    "used": np.uint64,
    "superpod": np.int32,
    "rack": np.int32,
    "server_index": np.int32,
    "health": np.uint8,
    "soft_share": np.bool_,
    "chip_memory_mb": np.int32,
    "virtual_names": np.bool_,
    "has_base_info": np.bool_,
    "base_count": np.int32,
}
_RESOURCE_ARRAYS = {
    "capacity": np.int32,
    "allocatable": np.int32,
    "idle": np.int32,
    "idle_defined": np.bool_,
    "list_length": np.int32,
    "free": np.uint64,
    "unhealthy": np.uint64,
    "network_unhealthy": np.uint64,
    "recovering": np.uint64,
    "unhealthy_count": np.int32,
    "network_defined": np.bool_,
    "list_bad": np.bool_,
}
_POD_ARRAYS = {
    "node": np.int32,
    "job": np.int32,
    "rank": np.int32,
    "resource": np.int16,
    "request": np.int32,
    "chips": np.uint64,
    "active": np.bool_,
    "terminating": np.bool_,
}


def check_cluster(cluster: Cluster) -> None:
    """Raises ValueError unless all columns have their type and length, and all indices point at something."""
    n = len(cluster.names)
    _texts(cluster.names, n, "names")
    if len(set(cluster.names)) != n:
        raise ValueError("a node stands there twice")
    _texts(cluster.addresses, n, "addresses")
    _texts(cluster.taints, n, "taints")
    _arrays(cluster, _NODE_ARRAYS, n)
    _within(cluster.kind, -1, len(CHIP_RESOURCES), "kind")
    _table(cluster.labels, n, "labels")
    _table(cluster.annotations, n, "annotations")
    if not isinstance(cluster.resources, Mapping):
        raise ValueError("resources is no map")
    for name, columns in cluster.resources.items():
        if not isinstance(name, str) or not isinstance(columns, ResourceColumns):
            raise ValueError("resources is no map of resources")
        _arrays(columns, _RESOURCE_ARRAYS, n)
    _chips(cluster, n)
    _pods(cluster, n)
    _config(cluster.config)
    _leaves(cluster.leaves, n)
    _provenance(cluster.provenance, n)
    _rest(cluster)


def _array(value: Any, dtype: type, length: int, what: str) -> None:
    if not isinstance(value, np.ndarray) or value.dtype != dtype or value.shape != (length,):
        raise ValueError(f"{what} has not {length} values of type {np.dtype(dtype).name}")


def _arrays(owner: Any, types: Mapping[str, Any], length: int) -> None:
    for name, dtype in types.items():
        _array(getattr(owner, name), dtype, length, name)


def _within(values: Any, low: int, high: int, what: str) -> None:
    """All of low <= value < high."""
    if len(values) and not low <= int(values.min()) <= int(values.max()) < high:
        raise ValueError(f"{what} points at nothing")


def _texts(value: Any, length: int, what: str, kind: tuple[type, ...] = (tuple,)) -> None:
    if not isinstance(value, kind) or len(value) != length:  # type: ignore[arg-type]
        raise ValueError(f"{what} has not {length} texts")
    if isinstance(value, tuple) and not set(map(type, value)) <= {str}:
        raise ValueError(f"{what} holds other things than texts")


def _table(value: Any, rows: int, what: str) -> None:
    if not isinstance(value, StringTable) or value.rows != rows or not isinstance(value.columns, Mapping):
        raise ValueError(f"{what} is no table of {rows} rows")
    for key, column in value.columns.items():
        if not isinstance(key, str) or not isinstance(column, StringColumn):
            raise ValueError(f"{what} has a bad column")
        _array(column.codes, np.int32, rows, what)
        _texts(column.values, len(column.values) if isinstance(column.values, tuple) else -1, what)
        _within(column.codes, -1, len(column.values), f"a value of {what}")


def _ptr(values: Any, groups: int, members: int, what: str) -> None:
    """Row pointers: 0 at the start, never falling, the number of members at the end."""
    _array(values, np.int32, groups + 1, what)
    if int(values[0]) != 0 or int(values[-1]) != members or (values[1:] < values[:-1]).any():
        raise ValueError(f"{what} does not divide {members} rows")


def _chips(cluster: Cluster, n: int) -> None:
    chips = cluster.chips
    count = len(chips.ip)
    _ptr(chips.ptr, n, count, "chips")
    _arrays(chips, {"physical_id": np.int16, "device_id": np.int32, "super_device_id": np.int64}, count)
    _within(chips.physical_id, 0, 64, "a chip id")
    _texts(chips.ip, count, "ip", (tuple, TextColumn))
    _texts(chips.levels, count, "levels", (tuple, TextColumn))


def _pods(cluster: Cluster, n: int) -> None:
    pods, jobs = cluster.pods, cluster.jobs
    m, j = len(pods.names), len(jobs.names)
    for name in ("names", "namespaces", "phase"):
        _texts(getattr(pods, name), m, f"pod {name}")
    _texts(pods.uids, m, "uids", (tuple, TextColumn))
    _texts(pods.ips, m if len(pods.ips) else 0, "ips", (tuple, TextColumn))
    _arrays(pods, _POD_ARRAYS, m)
    _within(pods.node, 0, n, "the node of a pod")
    _within(pods.job, -1, j, "the job of a pod")
    _within(pods.resource, -1, len(cluster.resources), "the resource of a pod")
    _table(pods.labels, m, "pod labels")
    _table(pods.annotations, m, "pod annotations")
    _waiting(cluster.waiting)
    for name in ("names", "namespaces", "phases"):
        _texts(getattr(jobs, name), j, f"job {name}")
    _texts(jobs.owners, j if jobs.owners else 0, "job owners")
    _array(jobs.min_available, np.int32, j, "min_available")
    _table(jobs.labels, j, "job labels")
    _table(jobs.annotations, j, "job annotations")


def _waiting(waiting: Any) -> None:
    if not isinstance(waiting, WaitingPods):
        raise ValueError("there is no table of waiting pods")
    for name in ("names", "namespaces", "uids"):
        _texts(getattr(waiting, name), len(waiting.names), f"waiting {name}", (tuple, TextColumn))


def _provenance(table: Any, n: int) -> None:
    if table is None:
        return
    if not isinstance(table, Provenance):
        raise ValueError("provenance is none")
    count = len(table.titles)
    _texts(table.files, len(table.files), "files")
    _texts(table.titles, count, "titles", (tuple, TextColumn))
    _array(table.node, np.int64, n, "places of nodes")
    _array(table.places, np.int64, count, "places of texts")
    _array(table.digests, np.uint8, 32 * count, "digests")
    for places in (table.node, table.places):
        _within(places, 0, len(table.files) << PLACE_BITS, "a place")
    _array(table.update_time, np.int64, n, "update_time")
    _array(table.list_source, np.int8, n, "list_source")
    _within(table.list_source, LIST_NONE, LIST_ANNOTATED + 1, "list_source")
    _table(StringTable(n, {"faults": table.faults}), n, "faults")
    for name in ("device", "switch", "host"):
        _array(getattr(table, name), np.int32, n, name)
        _within(getattr(table, name), -1, count, f"the {name} text")


def _config(config: Any) -> None:
    if not isinstance(config, SchedulerConfig):
        raise ValueError("there are no scheduler parameters")
    default = SchedulerConfig()
    for one in fields(default):
        if one.name in ("resource_levels", "given"):
            continue
        if type(getattr(config, one.name)) is not type(getattr(default, one.name)):
            raise ValueError(f"scheduler parameter {one.name} has another type")
    if not isinstance(config.resource_levels, Mapping):
        raise ValueError("resource_levels is no map")
    for levels in config.resource_levels.values():
        if not isinstance(levels, tuple) or not all(isinstance(level, TreeLevel) for level in levels):
            raise ValueError("resource_levels is no map of levels")
        for level in levels:
            if (type(level.name), type(level.label), type(level.reserved_nodes)) != (str, str, int):
                raise ValueError("a level has fields of another type")


def _leaves(leaves: Any, n: int) -> None:
    if leaves is None:
        return
    if not isinstance(leaves, LeafTopology):
        raise ValueError("leaves are no leaf topology")
    count, servers = len(leaves.leaf_ips), len(leaves.server_ip)
    _texts(leaves.leaf_ips, count, "leaf_ips")
    _texts(leaves.server_ip, servers, "server_ip")
    _ptr(leaves.server_ptr, count, servers, "servers of leaves")
    _arrays(leaves, {"server_node": np.int32, "server_slice": np.int32}, servers)
    _within(leaves.server_node, -1, n, "a server")
    for name, length in (
        ("leaf_ids", count),
        ("server_npus", servers),
        ("seed_shared", count),
        ("seed_healthy", count),
    ):
        numbers = getattr(leaves, name)
        if not isinstance(numbers, tuple) or len(numbers) not in (0, length) or not set(map(type, numbers)) <= {int}:
            raise ValueError(f"{name} has not {length} numbers")
    if type(leaves.tor_count) is not int or not isinstance(leaves.level, str | None):
        raise ValueError("a field of the leaf topology has another type")


def _rest(cluster: Cluster) -> None:
    for one in cluster.diagnostics:
        if not isinstance(one, Diagnostic) or one.code not in CODES:
            raise ValueError("a diagnostic that this program does not know")
        if not {type(getattr(one, name.name)) for name in fields(one)} <= {str}:
            raise ValueError("a diagnostic with fields of another type")
    for counts in (cluster.read, cluster.skipped):
        if not isinstance(counts, Mapping) or not set(map(type, counts.values())) <= {int}:
            raise ValueError("counts of objects are none")
    if not isinstance(cluster.hypernodes, tuple) or not all(isinstance(item, dict) for item in cluster.hypernodes):
        raise ValueError("hypernodes are no objects")
    if not {type(cluster.leaves_source), type(cluster.leaves_error)} <= {str}:
        raise ValueError("source or error of the leaf topology are no texts")
    if type(cluster.clusterd_mode) is not bool or cluster.profile not in PROFILES:
        raise ValueError("mode or profile are unknown")
