"""Who uses the leaf switches, and the leaf states that follow from the annotations of bound pods (chapter 23 §4)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from ascendctl.manifest.job import parse_go_int
from ascendctl.topology.leaf import LeafTopology

if TYPE_CHECKING:
    from ascendctl.snapshot.cluster import Cluster
    from ascendctl.snapshot.columns import StringColumn

IDLE, SHARED, EXCLUSIVE = 0, 1, 2
HEALTHY, UNHEALTHY = 0, 1

IS_SHARED, IS_HEALTHY, SHARED_IP = "isSharedTor", "isHealthy", "sharedTorIp"

LABEL = "tor-affinity"
NORMAL, LARGE_MODEL = "normal-schema", "large-model-schema"
LARGE_MODEL_PODS = 4
"""A job labelled large-model-schema with fewer NPU pods is a filler (chapter 23 §2)."""


@dataclass(frozen=True)
class LeafUse:
    """What bound pods mean for a job, L leaves in file order (chapter 23 §4.1).

    `crossed` bool[L]: another running job has pods under the leaf and elsewhere; `large_crossed` bool[L]: such a job
    is a large-model job; `only_normal` bool[L]: all jobs under the leaf are normal jobs (True without any).
    """

    crossed: NDArray[np.bool_]
    large_crossed: NDArray[np.bool_]
    only_normal: NDArray[np.bool_]


@dataclass(frozen=True)
class LeafStates:
    """`shared` int8[L]: IDLE, SHARED or EXCLUSIVE; `health` int8[L]: HEALTHY or UNHEALTHY. `conflicts` bool[L]: pods
    of the leaf name different states, so that the scheduler's answer depends on chance. `illegal` holds annotation
    values outside the legal ones, which count as 0."""

    shared: NDArray[np.int8]
    health: NDArray[np.int8]
    conflicts: NDArray[np.bool_]
    illegal: tuple[str, ...] = ()


def node_servers(cluster: Cluster, topology: LeafTopology) -> NDArray[np.int32]:
    """int32[N]: the server that each node is, -1 = outside the file, or a node that the scheduler does not see: it maps
    addresses to nodes with a view only (§1.1)."""
    found = topology.server_of_node(cluster.size)
    found[~cluster.visible] = -1
    return found


def node_leaves(cluster: Cluster, topology: LeafTopology) -> NDArray[np.int32]:
    """int32[N]: the leaf of each node, -1 where `node_servers` is."""
    return np.append(topology.server_leaf, np.int32(-1))[node_servers(cluster, topology)]


def leaf_use(cluster: Cluster, topology: LeafTopology, own: NDArray[np.bool_]) -> LeafUse:
    """Crossing jobs of every leaf. `own` bool[J] marks the rows of `cluster.jobs` that are the planned job itself."""
    count, jobs = len(topology.leaf_ips), cluster.jobs
    known = cluster.pods.job >= 0
    job, leaf = cluster.pods.job[known], node_leaves(cluster, topology)[cluster.pods.node[known]]
    outside = count  # one place for all nodes that the file does not list
    keys = np.sort(job.astype(np.int64) * (count + 1) + np.where(leaf < 0, outside, leaf))
    users, places = np.divmod(keys[np.diff(keys, prepend=-1) > 0], count + 1)
    spread = np.bincount(users, minlength=len(jobs.names)) > 1
    label = jobs.labels.column(LABEL)
    normal = label.equals(NORMAL)
    large = label.equals(LARGE_MODEL) & (_npu_pods(cluster) >= LARGE_MODEL_PODS)
    crossing = spread & _in_phase(cluster, "Running") & ~own
    users, places = users[places != outside], places[places != outside]

    def leaves(chosen: NDArray[np.bool_]) -> NDArray[np.bool_]:
        marks = np.zeros(count, dtype=np.bool_)
        marks[places[chosen[users]]] = True
        return marks

    return LeafUse(leaves(crossing), leaves(crossing & large), ~leaves(~normal))


def leaf_states(
    cluster: Cluster,
    topology: LeafTopology,
    rows: NDArray[np.bool_] | None = None,
    more: Sequence[tuple[int, str | None, str | None]] = (),
) -> LeafStates:
    """States of all leaves. `rows` bool[M]: pods of the snapshot that count (default all); `more`: further pods as
    (leaf, isSharedTor, isHealthy), None = no annotation.

    Where pods of a leaf disagree, shared wins over exclusive, and unhealthy over healthy (chapter 23 §4.2).
    """
    pods, count = cluster.pods, len(topology.leaf_ips)
    live = (pods.job >= 0) & (pods.resource >= 0)
    live[live] = _in_phase(cluster, "Running", "Unknown")[pods.job[live]]
    if rows is not None:
        live &= rows
    leaf = node_leaves(cluster, topology)[pods.node]
    bound = np.flatnonzero(live & (leaf >= 0))
    illegal: list[str] = []
    shared = _numbers(pods.annotations.column(IS_SHARED), bound, IS_SHARED, EXCLUSIVE, illegal)
    health = _numbers(pods.annotations.column(IS_HEALTHY), bound, IS_HEALTHY, UNHEALTHY, illegal)
    extra = [(i, _number(s, EXCLUSIVE) or 0, _number(h, UNHEALTHY) or 0) for i, s, h in more if i >= 0]
    leaf = np.concatenate([leaf[bound], [i for i, _, _ in extra]]).astype(np.int64)
    shared = np.concatenate([shared, [s for _, s, _ in extra]]).astype(np.int8)
    health = np.concatenate([health, [h for _, _, h in extra]]).astype(np.int8)

    says = [np.bincount(leaf[shared == value], minlength=count) > 0 for value in (SHARED, EXCLUSIVE)]
    found = np.where(says[0], SHARED, np.where(says[1], EXCLUSIVE, IDLE)).astype(np.int8)
    ill = (np.bincount(leaf[health == UNHEALTHY], minlength=count) > 0).astype(np.int8)
    if topology.seed_shared:
        seed = _seed(topology.seed_shared, EXCLUSIVE, IS_SHARED, illegal)
        found = np.where(seed != IDLE, seed, found)
        says = [s & (seed == IDLE) for s in says]
    if topology.seed_healthy:
        ill = np.maximum(ill, _seed(topology.seed_healthy, UNHEALTHY, IS_HEALTHY, illegal))
    return LeafStates(found, ill, says[0] & says[1], tuple(illegal))


def _in_phase(cluster: Cluster, *phases: str) -> NDArray[np.bool_]:
    """bool[J]: jobs in one of the phases. A job without PodGroup in the dump counts as running while a pod runs."""
    count = len(cluster.jobs.names)
    busy = cluster.pods.job[cluster.pods.active & (cluster.pods.job >= 0)]
    alive = np.bincount(busy, minlength=count) > 0
    named = np.array([phase in phases for phase in cluster.jobs.phases], dtype=np.bool_)
    unknown = np.array([phase == "" for phase in cluster.jobs.phases], dtype=np.bool_)
    return named | (unknown & alive)


def _npu_pods(cluster: Cluster) -> NDArray[np.int64]:
    """int64[J]: NPU pods of each job: those bound, or, if more, minAvailable less the bound pods without NPU."""
    pods, count = cluster.pods, len(cluster.jobs.names)
    npu = np.bincount(pods.job[(pods.job >= 0) & (pods.resource >= 0)], minlength=count)
    other = np.bincount(pods.job[(pods.job >= 0) & (pods.resource < 0)], minlength=count)
    expected: NDArray[np.int64] = cluster.jobs.min_available.astype(np.int64) - other
    return np.maximum(npu, expected)


def _number(text: str | None, top: int) -> int | None:
    """A state annotation as the scheduler reads it: no number = 0; None for a number outside 0..top."""
    value = parse_go_int(text) if text is not None else None
    return 0 if value is None else value if 0 <= value <= top else None


def _numbers(column: StringColumn, rows: NDArray[np.int64], key: str, top: int, illegal: list[str]) -> NDArray[np.int8]:
    codes = column.codes[rows]
    values = [_number(text, top) for text in column.values]
    seen = sorted(set(codes[codes >= 0].tolist()))
    illegal += [f"{key}={column.values[code]}" for code in seen if values[code] is None]
    return np.array([value or 0 for value in values] + [0], dtype=np.int8)[codes]


def _seed(values: tuple[int, ...], top: int, key: str, illegal: list[str]) -> NDArray[np.int8]:
    illegal += [f"{key}={value}" for value in values if not 0 <= value <= top]
    return np.array([value if 0 <= value <= top else 0 for value in values], dtype=np.int8)
