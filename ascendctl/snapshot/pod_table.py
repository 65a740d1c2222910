"""Which pods stand on which nodes, for which job, with which rank and chips (chapter 30 §5.4, §6.3)."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ascendctl.manifest.job import parse_go_int
from ascendctl.names import natural_order
from ascendctl.snapshot.chip_lists import CHIP_TYPES, parse_lists
from ascendctl.snapshot.cluster import PodTable, WaitingPods
from ascendctl.snapshot.collect import Collected
from ascendctl.snapshot.columns import StringColumn, StringTable, distinct, renumber
from ascendctl.snapshot.derive import PREFIX
from ascendctl.snapshot.pod_columns import PodColumns
from ascendctl.snapshot.pod_requests import MAX_UNITS
from ascendctl.wellknown import GROUP_NAME, RANK, REAL

STATEFUL_LABEL = "statefulset.kubernetes.io/pod-name"
MAX_LIST_BYTES = 1 << 20
MAX_PARTS = 100
NO_RANK = -1

_POD_NAME = re.compile(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*")
_NAMESPACE = re.compile(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?")


@dataclass(frozen=True)
class BoundPods:
    """The M pods that stand on a node of the snapshot: `rows` of `PodColumns`, node, job (-1 = none), rank (-1 = none).
    `jobs` are namespace and name of the jobs."""

    rows: NDArray[np.int64]
    node: NDArray[np.int32]
    job: NDArray[np.int32]
    rank: NDArray[np.int32]
    jobs: Sequence[tuple[str, str]]


def bind(collected: Collected, pods: PodColumns, node_index: Mapping[str, int]) -> BoundPods:
    """Find nodes and jobs of the pods, and give ranks to those without (chapter 30 §5.4, E38)."""
    node = pods.node.spread([node_index.get(name, -1) for name in pods.node.values], -1, np.int32)
    bound = np.flatnonzero(node >= 0)
    job, jobs = _jobs(pods, bound)
    rank, open_pods = _given_ranks(pods)
    _number_open_pods(collected, pods, job, jobs, rank, open_pods)
    return BoundPods(bound, node[bound], job[bound], rank[bound], jobs)


def _jobs(pods: PodColumns, bound: NDArray[np.int64]) -> tuple[NDArray[np.int32], list[tuple[str, str]]]:
    """Job of every pod (-1 = none, or none of its pods is bound) and the jobs, by namespace, then natural name."""
    group = pods.annotations.column(GROUP_NAME)
    named = group.spread([bool(name) for name in group.values], False, np.bool_)
    pair = np.where(named, pods.namespace.codes.astype(np.int64) * (len(group.values) + 1) + group.codes, -1)
    found = distinct(pair[bound])
    found = found[found >= 0]
    keys = [divmod(number, len(group.values) + 1) for number in found.tolist()]
    jobs = [(pods.namespace.values[namespace], group.values[name]) for namespace, name in keys]
    order = natural_order([name for _, name in jobs])
    order.sort(key=[namespace for namespace, _ in jobs].__getitem__)
    number = np.empty(len(jobs) + 1, np.int32)
    number[order] = np.arange(len(jobs), dtype=np.int32)
    number[-1] = -1
    at = np.searchsorted(found, pair)
    known = (at < len(found)) & (found[np.minimum(at, len(found) - 1)] == pair) if len(found) else at < 0
    return number[np.where(known, at, len(jobs))], [jobs[i] for i in order]


def _rank(text: str) -> int:
    number = parse_go_int(text)
    return number if number is not None and 0 <= number < 1 << 31 else NO_RANK


def _given_ranks(pods: PodColumns) -> tuple[NDArray[np.int32], NDArray[np.bool_]]:
    """Ranks that the pods carry, and the pods that carry none in any form."""
    given, own = pods.annotations.column(RANK), pods.labels.column(STATEFUL_LABEL)
    has_given = given.spread([bool(text) for text in given.values], False, np.bool_)
    by_annotation = given.spread([_rank(text) for text in given.values], NO_RANK, np.int32)
    by_label = own.spread([_rank(text.rpartition("-")[2]) for text in own.values], NO_RANK, np.int32)
    by_index = pods.task_index.spread([_rank(text) for text in pods.task_index.values], NO_RANK, np.int32)
    has_label, has_index = own.codes >= 0, pods.task_index.codes >= 0
    first = has_given & ~pods.phase.equals("Failed")
    rank = np.select(
        [first, has_label, has_index, has_given], [by_annotation, by_label, by_index, by_annotation], NO_RANK
    )
    return rank.astype(np.int32), ~(has_given | has_label | has_index)


def _number_open_pods(
    collected: Collected,
    pods: PodColumns,
    job: NDArray[np.int32],
    jobs: Sequence[tuple[str, str]],
    rank: NDArray[np.int32],
    open_pods: NDArray[np.bool_],
) -> None:
    """Give the pods of a job that carry no rank the free numbers in name order, unless one of its pods is
    terminating."""
    order = np.argsort(job, kind="stable")
    ptr = np.searchsorted(job[order], np.arange(len(jobs) + 1))
    alone = np.diff(ptr) == 1
    only = order[ptr[:-1][alone]]
    rank[only[open_pods[only] & ~pods.terminating[only]]] = 0
    waiting_jobs = distinct(job[open_pods & (job >= 0)])
    for number in waiting_jobs[~alone[waiting_jobs]].tolist():
        members = order[ptr[number] : ptr[number + 1]]
        if pods.terminating[members].any():
            continue
        waiting = members[open_pods[members]]
        used = {_rank_text(pods, row) for row in members.tolist()}
        free = (i for i in range(len(members)) if str(i) not in used)
        for row, value in zip(waiting.tolist(), free, strict=False):
            rank[row] = value
        message = f"{len(waiting)} pods carry no rank; they are numbered in name order"
        collected.findings.add("S333", message, f"PodGroup {jobs[number][0]}/{jobs[number][1]}")


def _rank_text(pods: PodColumns, row: int) -> str:
    """The text that a pod's rank is taken from; used ranks are compared as texts."""
    given = pods.annotations.get(row, RANK) or ""
    if given and pods.phase.get(row) != "Failed":
        return given
    own = pods.labels.get(row, STATEFUL_LABEL)
    return own.rpartition("-")[2] if own is not None else pods.task_index.get(row) or given


def legal(name: str, namespace: str) -> bool:
    """True if the plugin accepts the pod's name and namespace; otherwise it does not count its chips."""
    return (
        len(name) <= 253
        and _POD_NAME.fullmatch(name) is not None
        and len(namespace) <= 63
        and _NAMESPACE.fullmatch(namespace) is not None
    )


@dataclass(frozen=True)
class Holdings:
    """What the pods of the table hold. `chips` uint64[M] physical ids by pod, `used` uint64[N] what counts as used of a
    node in the scheduler's eyes, `parts` int32[M] names written (-1 = none or not counted), `odd` the same as texts by
    node for the nodes asked for."""

    chips: NDArray[np.uint64]
    used: NDArray[np.uint64]
    parts: NDArray[np.int32]
    odd: Mapping[int, Sequence[str]]


def holdings(
    collected: Collected,
    pods: PodColumns,
    bound: BoundPods,
    chip_type: NDArray[np.int8],
    odd_nodes: NDArray[np.bool_],
    device_ids: Callable[[int], Mapping[int, int] | None],
    translate: bool,
) -> Holdings:
    """Chips of every pod (chapter 30 §6.3). `device_ids` gives the map from DeviceID to physical id of a node whose
    annotations speak of DeviceIDs; the scheduler does not translate them, `translate` makes them count as used."""
    m = len(bound.rows)
    held, exact = np.zeros(m, np.uint64), np.zeros(m, np.uint64)
    parts = np.full(m, -1, np.int32)
    real = pods.annotations.column(REAL).take(bound.rows)
    physical = real.spread([_usable(text) for text in real.values], False, np.bool_)
    odd: dict[int, list[str]] = {}
    active = pods.active[bound.rows]
    for kind in distinct(chip_type[bound.node]).tolist():
        same = chip_type[bound.node] == kind
        wanted = pods.annotations.column(PREFIX + CHIP_TYPES[kind]).take(bound.rows)
        chosen = wanted.spread([_usable(text) for text in wanted.values], False, np.bool_)
        for column, rows in ((real, same & physical), (wanted, same & ~physical & chosen)):
            _fill(column, CHIP_TYPES[kind], rows, held, exact, parts)
            for i in np.flatnonzero(rows & odd_nodes[bound.node] & active).tolist():
                odd.setdefault(int(bound.node[i]), []).extend((column.get(i) or "").split(","))
    for i in np.flatnonzero((parts >= 0) & ~physical).tolist():
        chip_of = device_ids(int(bound.node[i]))
        if chip_of is not None:
            held[i] = _translated(int(held[i]), chip_of)
            if translate:
                exact[i] = held[i]
                _tell(collected, pods, bound, i, "S338", "DeviceIDs are read as the chips they mean")
    counted = _counted(collected, pods, bound, parts, active)
    used = np.zeros(len(chip_type), np.uint64)
    np.bitwise_or.at(used, bound.node[counted], exact[counted])
    return Holdings(held, used, np.where(counted, parts, -1).astype(np.int32), odd)


def _usable(text: str) -> bool:
    return bool(text) and (len(text) <= MAX_LIST_BYTES >> 2 or len(text.encode("utf-8", "replace")) <= MAX_LIST_BYTES)


def _fill(
    column: StringColumn,
    chip_type: str,
    rows: NDArray[np.bool_],
    held: NDArray[np.uint64],
    exact: NDArray[np.uint64],
    parts: NDArray[np.int32],
) -> None:
    """Enter the lists of some pods, each distinct text parsed once."""
    if rows.any():
        codes = column.codes[rows]
        known, at = np.unique(codes, return_inverse=True)
        facts = parse_lists([column.values[code] for code in known.tolist()], chip_type)
        held[rows], exact[rows], parts[rows] = facts.mask[at], facts.exact[at], facts.count[at]


def _translated(mask: int, chip_of: Mapping[int, int]) -> int:
    result = 0
    for number in range(mask.bit_length()):
        if mask >> number & 1 and number in chip_of:
            result |= 1 << chip_of[number]
    return result


def _counted(
    collected: Collected, pods: PodColumns, bound: BoundPods, parts: NDArray[np.int32], active: NDArray[np.bool_]
) -> NDArray[np.bool_]:
    """bool[M]: pods whose chips the plugin counts."""
    counted = active & (parts >= 0)
    for i in np.flatnonzero(counted).tolist():
        row = int(bound.rows[i])
        if not legal(pods.names[row], pods.namespace.get(row) or ""):
            message = "the name is none that Kubernetes allows; its chips are not counted"
            _tell(collected, pods, bound, i, "S322", message)
        elif parts[i] > MAX_PARTS:
            _tell(collected, pods, bound, i, "S323", f"{parts[i]} chips named; they are not counted")
        else:
            continue
        counted[i] = False
    return counted


def _tell(collected: Collected, pods: PodColumns, bound: BoundPods, i: int, code: str, message: str) -> None:
    row = int(bound.rows[i])
    where = collected.where(int(pods.place[row]))
    collected.findings.add(code, message, pods.title(row), pods.node.get(row) or "", where)


def pod_table(pods: PodColumns, bound: BoundPods, held: Holdings, resources: Sequence[str]) -> PodTable:
    """The table of bound pods; `resources` are the names that its column `resource` indexes. Of several resources a pod
    counts with the first."""
    rows = bound.rows
    resource = np.full(len(pods.names), -1, np.int16)
    request = np.zeros(len(pods.names), np.int64)
    for i, name in reversed(list(enumerate(resources))):
        if name in pods.requests:
            asking, amounts = pods.requests[name]
            resource[asking], request[asking] = i, amounts // 1000
    row_list = rows.tolist()
    namespaces, phases = pods.namespace.take(rows).to_list(), pods.phase.take(rows).to_list()
    return PodTable(
        names=tuple(map(pods.names.__getitem__, row_list)),
        namespaces=tuple(namespace or "" for namespace in namespaces),
        uids=pods.uids.take(rows),
        ips=pods.ips.take(rows),
        node=bound.node,
        job=bound.job,
        rank=bound.rank,
        resource=resource[rows],
        request=np.clip(request[rows], 0, MAX_UNITS).astype(np.int32),
        chips=held.chips,
        active=pods.active[rows],
        terminating=pods.terminating[rows],
        phase=tuple(phase or "" for phase in phases),
        labels=_taken(pods.labels, rows),
        annotations=_taken(pods.annotations, rows),
    )


def waiting_pods(pods: PodColumns) -> WaitingPods:
    """The pods that no node has yet."""
    rows = np.flatnonzero((pods.node.codes < 0) & pods.active)
    return WaitingPods(
        names=tuple(map(pods.names.__getitem__, rows.tolist())),
        namespaces=tuple(namespace or "" for namespace in pods.namespace.take(rows).to_list()),
        uids=pods.uids.take(rows),
    )


def _taken(table: StringTable, rows: NDArray[np.int64]) -> StringTable:
    """Some rows of a table, values numbered again."""
    columns = {key: renumber(column.codes[rows], column.values) for key, column in table.columns.items()}
    return StringTable(len(rows), {key: column for key, column in columns.items() if column.values})
