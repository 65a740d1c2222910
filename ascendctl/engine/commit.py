"""A snapshot after a placement: what the next job finds when several are placed one after the other."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import numpy as np

from ascendctl.engine.result import Placement
from ascendctl.manifest.job import Job
from ascendctl.snapshot.cluster import Cluster, JobTable, PodTable
from ascendctl.snapshot.columns import StringColumn, StringTable


def commit(cluster: Cluster, job: Job, placement: Placement) -> Cluster:
    """The cluster with the pods of a placement running on it; the given one stays as it is."""
    columns = cluster.resources.get(job.resource)
    nodes = np.array([cluster.index[pod.node] for pod in placement.pods], dtype=np.int32)
    masks = np.array([sum(1 << i for i in pod.npus) for pod in placement.pods], dtype=np.uint64)
    asked = np.array([spec.npus for spec in job.pods], dtype=np.int32)
    used = cluster.used.copy()
    np.bitwise_or.at(used, nodes, masks)
    resources = dict(cluster.resources)
    if columns is not None:
        free, idle, listed = columns.free.copy(), columns.idle.copy(), columns.list_length.copy()
        np.bitwise_and.at(free, nodes, ~masks)
        np.subtract.at(idle, nodes, asked)
        taken = np.zeros_like(listed)
        np.add.at(taken, nodes, np.bitwise_count(masks).astype(np.int32))
        listed = np.where(listed >= 0, np.maximum(listed - taken, 0), listed).astype(np.int32)
        resources[job.resource] = replace(columns, free=free, idle=idle, list_length=listed)
    return replace(
        cluster,
        used=used,
        resources=resources,
        pods=_with_pods(cluster, job, placement, nodes, masks, asked),
        jobs=_with_job(cluster.jobs, job),
    )


def _with_pods(
    cluster: Cluster, job: Job, placement: Placement, nodes: np.ndarray, masks: np.ndarray, asked: np.ndarray
) -> PodTable:
    pods, count = cluster.pods, len(placement.pods)
    names = cluster.resource_names
    resource = names.index(job.resource) if job.resource in names else -1
    roles = [job.roles[spec.role] for spec in job.pods]
    labels = [{**job.labels, **role.labels} for role in roles]
    annotations = [{**role.annotations, **pod.annotations} for role, pod in zip(roles, placement.pods, strict=True)]
    return PodTable(
        names=pods.names + tuple(pod.name for pod in placement.pods),
        namespaces=pods.namespaces + (job.namespace,) * count,
        uids=(*pods.uids, *("",) * count),
        node=np.concatenate([pods.node, nodes]),
        job=np.concatenate([pods.job, np.full(count, len(cluster.jobs.names), dtype=np.int32)]),
        rank=np.concatenate([pods.rank, np.array([pod.rank for pod in placement.pods], dtype=np.int32)]),
        resource=np.concatenate([pods.resource, np.full(count, resource, dtype=np.int16)]),
        request=np.concatenate([pods.request, asked]),
        chips=np.concatenate([pods.chips, masks]),
        active=np.concatenate([pods.active, np.ones(count, dtype=np.bool_)]),
        terminating=np.concatenate([pods.terminating, np.zeros(count, dtype=np.bool_)]),
        phase=pods.phase + ("Running",) * count,
        labels=_append(pods.labels, labels),
        annotations=_append(pods.annotations, annotations),
    )


def _with_job(jobs: JobTable, job: Job) -> JobTable:
    return JobTable(
        names=(*jobs.names, job.name),
        namespaces=(*jobs.namespaces, job.namespace),
        phases=(*jobs.phases, "Running"),
        min_available=np.append(jobs.min_available, np.int32(job.min_available)).astype(np.int32),
        labels=_append(jobs.labels, [job.labels]),
        annotations=_append(jobs.annotations, [job.annotations]),
        owners=(*(jobs.owners or ("",) * len(jobs.names)), ""),
    )


def _append(table: StringTable, rows: list[Mapping[str, str]] | list[dict[str, str]]) -> StringTable:
    """A string table with rows added at its end."""
    added = StringTable.from_rows(rows)
    columns = {}
    for key in sorted({*table.columns, *added.columns}):
        old, new = table.column(key), added.column(key)
        pool = {value: i for i, value in enumerate(old.values)}
        codes = np.array([pool.setdefault(value, len(pool)) for value in new.values] + [-1], dtype=np.int32)
        columns[key] = StringColumn(np.concatenate([old.codes, codes[new.codes]]), tuple(pool))
    return StringTable(table.rows + len(rows), columns)
