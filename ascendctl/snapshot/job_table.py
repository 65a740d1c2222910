"""PodGroups and pods -> JobTable: attributes merged as the scheduler plugin does (chapter 10 §3)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from ascendctl.manifest.attributes import COPIED_ANNOTATIONS, merge
from ascendctl.snapshot.cluster import JobTable
from ascendctl.snapshot.collect import Collected, RawGroup
from ascendctl.snapshot.columns import Pool, StringColumn, StringTable, renumber
from ascendctl.snapshot.pod_columns import PodColumns
from ascendctl.snapshot.pod_table import BoundPods

Groups = Sequence[RawGroup | None]


def job_table(collected: Collected, pods: PodColumns, bound: BoundPods) -> JobTable:
    """Jobs of the bound pods: the PodGroup where the dump has it, labels and annotations merged."""
    groups: Groups = [collected.groups.get(key) for key in bound.jobs]
    # pods by job, lowest rank first; within a job they keep the order of the table
    rank = np.where(bound.rank < 0, 1 << 31, bound.rank.astype(np.int64))
    order = np.lexsort((rank, bound.job))
    order = order[bound.job[order] >= 0]
    ptr = np.searchsorted(bound.job[order], np.arange(len(bound.jobs) + 1))
    rows = bound.rows[order]
    return JobTable(
        names=tuple(name for _, name in bound.jobs),
        namespaces=tuple(namespace for namespace, _ in bound.jobs),
        phases=tuple(group.phase if group else "" for group in groups),
        min_available=np.array([group.min_member if group else -1 for group in groups], np.int32),
        labels=_labels(pods.labels, rows, ptr, groups),
        annotations=_annotations(pods.annotations, rows, ptr, groups),
        owners=tuple(group.owner if group else "" for group in groups),
    )


def _labels(table: StringTable, rows: NDArray[np.int64], ptr: NDArray[np.int64], groups: Groups) -> StringTable:
    """Values of PodGroup and pods, different ones joined with '|'."""
    of_groups = {job: group.labels for job, group in enumerate(groups) if group}
    columns = {}
    for key in sorted(table.columns.keys() | {key for labels in of_groups.values() for key in labels}):
        column = table.column(key)
        codes = column.codes[rows]
        first, single = _first_values(codes, ptr)
        result, pool = first.copy(), Pool({value: i for i, value in enumerate(column.values)})
        single[[job for job, labels in of_groups.items() if key in labels]] = False
        for job in np.flatnonzero(~single).tolist():
            values = [column.values[code] for code in codes[ptr[job] : ptr[job + 1]].tolist() if code >= 0]
            given = of_groups.get(job, {})
            base = {key: given[key]} if key in given else {}
            result[job] = pool[merge(base, ({key: value} for value in dict.fromkeys(values)))[key]]
        columns[key] = renumber(result, tuple(pool))
    return _table(len(groups), columns)


def _first_values(codes: NDArray[np.int32], ptr: NDArray[np.int64]) -> tuple[NDArray[np.int32], NDArray[np.bool_]]:
    """By job: the code that its pods have (-1 = none of them has any), and whether they have no two."""
    if len(ptr) < 2:
        return np.zeros(0, np.int32), np.zeros(0, np.bool_)
    starts = ptr[:-1]
    largest = np.maximum.reduceat(codes, starts)
    smallest = np.minimum.reduceat(np.where(codes < 0, np.iinfo(np.int32).max, codes), starts)
    return largest, (largest < 0) | (largest == smallest)


def _annotations(table: StringTable, rows: NDArray[np.int64], ptr: NDArray[np.int64], groups: Groups) -> StringTable:
    """Annotations of the PodGroup; the copied keys that it lacks come from the pod with the lowest rank."""
    of_groups = {job: group.annotations for job, group in enumerate(groups) if group}
    keys = sorted({*COPIED_ANNOTATIONS, *(key for given in of_groups.values() for key in given)})
    leaders = rows[ptr[:-1]]
    columns = {}
    for key in keys:
        column = table.column(key) if key in COPIED_ANNOTATIONS else StringColumn(np.full(table.rows, -1, np.int32), ())
        codes, pool = column.codes[leaders], Pool({value: i for i, value in enumerate(column.values)})
        for job, given in of_groups.items():
            if key in given:
                codes[job] = pool[given[key]]
        columns[key] = renumber(codes, tuple(pool))
    return _table(len(groups), columns)


def _table(rows: int, columns: Mapping[str, StringColumn]) -> StringTable:
    return StringTable(rows, {key: column for key, column in columns.items() if column.values})
