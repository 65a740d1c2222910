"""A snapshot after a placement: what the next job finds when several are placed one after the other."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ascendctl.engine.kube import pod_labels
from ascendctl.engine.result import PlacedPod, Placement
from ascendctl.manifest.job import Job, Role
from ascendctl.snapshot.cluster import CHIP_RESOURCES, Cluster, JobTable, PodTable, ResourceColumns
from ascendctl.snapshot.columns import StringColumn, StringTable
from ascendctl.wellknown import NPU_CORE, REAL

INT32 = (-(1 << 31), (1 << 31) - 1)


def commit(cluster: Cluster, job: Job, placement: Placement) -> Cluster:
    """The cluster with the pods of a placement running on it, their chips confirmed by the device plugin, as a later
    dump would show it; the given one stays as it is. Which vGroups the device plugin will give to vNPUs is not known,
    so none of them count as used. Raises KeyError for a node that the cluster does not have."""
    seats = [_seat(cluster, job.roles[spec.role], pod) for spec, pod in zip(job.pods, placement.pods, strict=True)]
    nodes = np.array([seat.node for seat in seats], dtype=np.int32)
    masks = np.array([seat.chips for seat in seats], dtype=np.uint64)
    used = cluster.used.copy()
    np.bitwise_or.at(used, nodes, masks)
    jobs, row = _with_job(cluster.jobs, job)
    running = replace(cluster, used=used, pods=_with_pods(cluster, job, placement, seats, row), jobs=jobs)
    return replace(running, resources={name: _columns(running, name, seats) for name in cluster.resources})


@dataclass(frozen=True)
class _Seat:
    """A pod on a node (index). `chips`: the mask of the whole or shared chips that it holds, 0 for a slice of a chip
    that was cut; `resource` is what these chips are counted by. `asks`: requests by resource. `real`: its
    AscendReal."""

    node: int
    chips: int
    resource: str
    asks: Mapping[str, int]
    real: str


def _seat(cluster: Cluster, role: Role, pod: PlacedPod) -> _Seat:
    node = cluster.index[pod.node]
    resource = role.resource
    if resource not in CHIP_RESOURCES:
        resource = CHIP_RESOURCES[int(cluster.kind[node])] if cluster.kind[node] >= 0 else ""
    prefix, asks = resource.removeprefix("huawei.com/"), role.requests or {role.resource: role.npus}
    cut = pod.annotations.get(NPU_CORE, "")
    if "-" in cut:
        return _Seat(node, 0, resource, asks, f"{prefix}-{cut}")
    names = ",".join(sorted(f"{prefix}-{chip}" for chip in pod.npus))
    return _Seat(node, sum(1 << chip for chip in pod.npus), resource, asks, names)


def _columns(cluster: Cluster, name: str, seats: Sequence[_Seat]) -> ResourceColumns:
    """The columns of one resource with the pods on their nodes. `cluster` has the pods already."""
    columns = cluster.resources[name]
    asked, held = np.zeros(cluster.size, dtype=np.int64), np.zeros(cluster.size, dtype=np.uint64)
    for seat in seats:
        asked[seat.node] += min(seat.asks.get(name, 0), INT32[1])
        if seat.resource == name and not cluster.soft_share[seat.node]:
            held[seat.node] |= np.uint64(seat.chips)
    idle = np.where(columns.idle_defined, np.clip(columns.idle - asked, *INT32), columns.idle).astype(np.int32)
    if any(seat.resource == name and cluster.soft_share[seat.node] for seat in seats):
        from ascendctl.engine.soft_nodes import used_up

        held |= np.where(cluster.soft_share, used_up(cluster, name), np.uint64(0))
    left = np.bitwise_count(columns.free & held).astype(np.int32)
    length = np.where(columns.list_length >= 0, np.maximum(columns.list_length - left, 0), columns.list_length)
    return replace(columns, free=columns.free & ~held, idle=idle, list_length=length.astype(np.int32))


def _with_pods(cluster: Cluster, job: Job, placement: Placement, seats: Sequence[_Seat], row: int) -> PodTable:
    """The pods of the cluster and those of the job, which is row `row` of the job table."""
    pods, count, names = cluster.pods, len(seats), cluster.resource_names
    roles = [job.roles[spec.role] for spec in job.pods]
    first = [next((i for i, name in enumerate(names) if name in seat.asks), -1) for seat in seats]
    amounts = [min(seat.asks[names[i]], INT32[1]) if i >= 0 else 0 for i, seat in zip(first, seats, strict=True)]
    annotations = [
        {**role.annotations, **({REAL: seat.real} if seat.real else {}), **pod.annotations}
        for role, seat, pod in zip(roles, seats, placement.pods, strict=True)
    ]

    def added(column: NDArray[Any], values: Sequence[int | bool]) -> NDArray[Any]:
        return np.concatenate([column, np.array(values, dtype=column.dtype)])

    return PodTable(
        names=pods.names + tuple(pod.name for pod in placement.pods),
        namespaces=pods.namespaces + (job.namespace,) * count,
        uids=(*pods.uids, *("",) * count),
        node=added(pods.node, [seat.node for seat in seats]),
        job=added(pods.job, [row] * count),
        rank=added(pods.rank, [pod.rank for pod in placement.pods]),
        resource=added(pods.resource, first),
        request=added(pods.request, amounts),
        chips=added(pods.chips, [seat.chips for seat in seats]),
        active=added(pods.active, [True] * count),
        terminating=added(pods.terminating, [False] * count),
        phase=pods.phase + ("Running",) * count,
        labels=_append(pods.labels, [pod_labels(job, role) for role in roles]),
        annotations=_append(pods.annotations, annotations),
        ips=(*pods.ips, *("",) * count) if len(pods.ips) else (),
    )


def _with_job(jobs: JobTable, job: Job) -> tuple[JobTable, int]:
    """The jobs with this one among them, and its row."""
    known = np.flatnonzero(jobs.named(job.namespace, job.name))
    if len(known):
        return jobs, int(known[0])
    more = JobTable(
        names=(*jobs.names, job.name),
        namespaces=(*jobs.namespaces, job.namespace),
        phases=(*jobs.phases, "Running"),
        min_available=np.append(jobs.min_available, np.int32(job.min_available)).astype(np.int32),
        labels=_append(jobs.labels, [job.labels]),
        annotations=_append(jobs.annotations, [job.annotations]),
        owners=(*(jobs.owners or ("",) * len(jobs.names)), ""),
    )
    return more, len(jobs.names)


def _append(table: StringTable, rows: Sequence[Mapping[str, str]]) -> StringTable:
    """A string table with rows added at its end."""
    added = StringTable.from_rows(rows)
    columns = {}
    for key in sorted({*table.columns, *added.columns}):
        old, new = table.column(key), added.column(key)
        pool = {value: i for i, value in enumerate(old.values)}
        codes = np.array([pool.setdefault(value, len(pool)) for value in new.values] + [-1], dtype=np.int32)
        columns[key] = StringColumn(np.concatenate([old.codes, codes[new.codes]]), tuple(pool))
    return StringTable(table.rows + len(rows), columns)
