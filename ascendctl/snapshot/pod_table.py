"""Pods of a dump -> PodTable and JobTable, and the chips that they hold (chapter 30 §5.4, §6.3)."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ascendctl.manifest.attributes import merge, merge_annotations
from ascendctl.manifest.job import parse_go_int
from ascendctl.names import natural_order
from ascendctl.snapshot.chip_lists import CHIP_TYPES, parse_lists
from ascendctl.snapshot.cluster import JobTable, PodTable
from ascendctl.snapshot.collect import Collected, RawPods
from ascendctl.snapshot.columns import StringTable
from ascendctl.snapshot.derive import PREFIX
from ascendctl.snapshot.pod_requests import units

GROUP_NAME = "scheduling.k8s.io/group-name"
RANK_INDEX = "hccl/rankIndex"
STATEFUL_LABEL = "statefulset.kubernetes.io/pod-name"
REAL = "huawei.com/AscendReal"
FINISHED = ("Succeeded", "Failed")
MAX_LIST_BYTES = 1 << 20
MAX_PARTS = 100

_POD_NAME = re.compile(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*")
_NAMESPACE = re.compile(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?")

Key = tuple[str, str]


@dataclass(frozen=True)
class BoundPods:
    """Rows of the dump's pods that the tables hold, in table order, with their node and job."""

    rows: Sequence[int]
    node: Sequence[int]
    job: Sequence[int]
    jobs: Sequence[Key]
    rank: Mapping[int, int]


def bind(collected: Collected, node_index: Mapping[str, int]) -> BoundPods:
    """Order the pods, find their nodes and jobs, and give ranks to those without (chapter 30 §5.4, E38)."""
    raw, dropped = collected.pods, collected.dropped_pods
    order = natural_order(raw.names)
    namespaces = {name: i for i, name in enumerate(sorted(set(raw.namespaces)))}
    order.sort(key=[namespaces[name] for name in raw.namespaces].__getitem__)
    members: dict[Key, list[int]] = {}
    rows, nodes = [], []
    for row in order:
        if row in dropped:
            continue
        group = raw.annotations[row].get(GROUP_NAME)
        if type(group) is str and group:
            members.setdefault((raw.namespaces[row], group), []).append(row)
        node = node_index.get(raw.node[row], -1)
        if node >= 0:
            rows.append(row)
            nodes.append(node)
    bound = set(rows)
    keys = [key for key, pods in members.items() if not bound.isdisjoint(pods)]
    keys = [keys[i] for i in natural_order([key[1] for key in keys])]
    keys.sort(key=lambda key: key[0])
    job_of = {row: number for number, key in enumerate(keys) for row in members[key]}
    rank: dict[int, int] = {}
    for key in keys:
        rank |= _ranks(collected, key, members[key])
    for row in rows:
        if row not in job_of:
            rank |= _ranks(collected, None, [row])
    return BoundPods(rows, nodes, [job_of.get(row, -1) for row in rows], keys, rank)


def _ranks(collected: Collected, key: Key | None, pods: Sequence[int]) -> dict[int, int]:
    """Ranks of the pods of one job; pods without get the free numbers in name order unless one is terminating."""
    raw = collected.pods
    texts: dict[int, str] = {}
    open_rows = []
    for row in pods:
        given = raw.annotations[row].get(RANK_INDEX)
        given = given if type(given) is str else ""
        own = raw.labels[row].get(STATEFUL_LABEL)
        if given and raw.phase[row] != "Failed":
            texts[row] = given
        elif type(own) is str:
            texts[row] = own.rpartition("-")[2]
        elif raw.task_index[row]:
            texts[row] = raw.task_index[row]
        elif given:
            texts[row] = given
        else:
            open_rows.append(row)
    if key is not None and open_rows and not any(raw.terminating[row] for row in pods):
        used = set(texts.values())
        free = (number for number in range(len(pods)) if str(number) not in used)
        texts |= {row: str(number) for row, number in zip(open_rows, free, strict=False)}
        if len(pods) > 1:
            message = f"{len(open_rows)} pods carry no rank; they are numbered in name order"
            collected.findings.add("S333", message, f"PodGroup {key[0]}/{key[1]}")
    return {row: rank for row, text in texts.items() if (rank := _rank(text)) >= 0}


def _rank(text: str) -> int:
    number = parse_go_int(text)
    return number if number is not None and 0 <= number < 1 << 31 else -1


def legal(name: str, namespace: str) -> bool:
    """True if the plugin accepts the pod's name and namespace; otherwise it does not count its chips."""
    return (
        len(name) <= 253
        and _POD_NAME.fullmatch(name) is not None
        and len(namespace) <= 63
        and _NAMESPACE.fullmatch(namespace) is not None
    )


def chip_text(annotations: Mapping[str, Any], chip_type: int) -> tuple[str, bool]:
    """The list of chips of a pod and whether it is the physical one (AscendReal); "" = none."""
    for key in (REAL, PREFIX + CHIP_TYPES[chip_type]):
        text = annotations.get(key)
        if type(text) is str and text and (len(text) <= MAX_LIST_BYTES >> 2 or len(text.encode()) <= MAX_LIST_BYTES):
            return text, key == REAL
    return "", False


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
    bound: BoundPods,
    chip_type: NDArray[np.int8],
    odd_nodes: NDArray[np.bool_],
    device_ids: Callable[[int], Mapping[int, int] | None],
    translate: bool,
) -> Holdings:
    """Chips of every pod (chapter 30 §6.3). `device_ids` gives the map from DeviceID to physical id of a node whose
    annotations speak of DeviceIDs; the scheduler does not translate them, `translate` makes them count as used."""
    raw, size = collected.pods, len(chip_type)
    kinds, odd_list = chip_type.tolist(), odd_nodes.tolist()
    used, chips, parts = [0] * size, [], []
    texts: dict[int, list[str]] = {}
    cache: dict[tuple[int, str], tuple[int, int, int]] = {}
    for row, node in zip(bound.rows, bound.node, strict=True):
        text, physical = chip_text(raw.annotations[row], kinds[node])
        if not text:
            chips.append(0)
            parts.append(-1)
            continue
        facts = cache.get((kinds[node], text))
        if facts is None:
            found = parse_lists([text], CHIP_TYPES[kinds[node]])
            facts = cache[kinds[node], text] = (int(found.exact[0]), int(found.mask[0]), int(found.count[0]))
        exact, held, count = facts
        if not physical and (chip_of := device_ids(node)) is not None:
            held = _translated(held, chip_of)
            if translate:
                exact = held
                _tell(collected, "S338", "DeviceIDs are read as the chips they mean", row)
        chips.append(held)
        counted = raw.phase[row] not in FINISHED and _counts(collected, row, count)
        parts.append(count if counted else -1)
        if counted:
            used[node] |= exact
            if odd_list[node]:
                texts.setdefault(node, []).extend(text.split(","))
    return Holdings(np.array(chips, np.uint64), np.array(used, np.uint64), np.array(parts, np.int32), texts)


def _translated(mask: int, device_ids: Mapping[int, int]) -> int:
    result = 0
    for number in range(mask.bit_length()):
        if mask >> number & 1 and number in device_ids:
            result |= 1 << device_ids[number]
    return result


def _counts(collected: Collected, row: int, count: int) -> bool:
    raw = collected.pods
    if not legal(raw.names[row], raw.namespaces[row]):
        _tell(collected, "S322", "the name is none that Kubernetes allows; its chips are not counted", row)
        return False
    if count > MAX_PARTS:
        _tell(collected, "S323", f"{count} chips named; they are not counted", row)
        return False
    return True


def _tell(collected: Collected, code: str, message: str, row: int) -> None:
    raw = collected.pods
    title = f"Pod {raw.namespaces[row]}/{raw.names[row]}"
    collected.findings.add(code, message, title, raw.node[row], collected.where(raw.places[row]))


def active(raw: RawPods, bound: BoundPods) -> NDArray[np.bool_]:
    """bool[M]: pods that have not finished."""
    return np.array([raw.phase[row] not in FINISHED for row in bound.rows], np.bool_)


def pod_table(collected: Collected, bound: BoundPods, held: Holdings, resources: Sequence[str]) -> PodTable:
    """The table of bound pods; `resources` are the names that its column `resource` indexes."""
    raw, rows = collected.pods, bound.rows
    index = {name: i for i, name in enumerate(resources)}
    resource, request = [], []
    for row in rows:
        name = next(iter(sorted(raw.requests[row])), "")
        resource.append(index.get(name, -1))
        request.append(units(raw.requests[row][name]) if name else 0)
    return PodTable(
        names=tuple(raw.names[row] for row in rows),
        namespaces=tuple(raw.namespaces[row] for row in rows),
        uids=tuple(raw.uids[row] for row in rows),
        node=np.array(bound.node, np.int32),
        job=np.array(bound.job, np.int32),
        rank=np.array([bound.rank.get(row, -1) for row in rows], np.int32),
        resource=np.array(resource, np.int16),
        request=np.array(request, np.int32),
        chips=held.chips,
        active=active(raw, bound),
        terminating=np.array([raw.terminating[row] for row in rows], np.bool_),
        phase=tuple(raw.phase[row] for row in rows),
        labels=StringTable.from_rows([raw.labels[row] for row in rows]),
        annotations=StringTable.from_rows([raw.annotations[row] for row in rows]),
    )


def job_table(collected: Collected, bound: BoundPods) -> JobTable:
    """Jobs of the bound pods: PodGroup where the dump has it, labels and annotations merged as the scheduler does."""
    raw = collected.pods
    members: list[list[int]] = [[] for _ in bound.jobs]
    for row, job in zip(bound.rows, bound.job, strict=True):
        if job >= 0:
            members[job].append(row)
    labels, annotations = [], []
    groups = [collected.groups.get(key) for key in bound.jobs]
    for group, rows in zip(groups, members, strict=True):
        rows.sort(key=lambda row: bound.rank.get(row, 1 << 31))
        labels.append(merge(group.labels if group else {}, (raw.labels[row] for row in rows)))
        annotations.append(
            merge_annotations(group.annotations if group else {}, (raw.annotations[row] for row in rows))
        )
    return JobTable(
        names=tuple(name for _, name in bound.jobs),
        namespaces=tuple(namespace for namespace, _ in bound.jobs),
        phases=tuple(group.phase if group else "" for group in groups),
        min_available=np.array([group.min_member if group else -1 for group in groups], np.int32),
        labels=StringTable.from_rows(labels),
        annotations=StringTable.from_rows(annotations),
        owners=tuple(group.owner if group else "" for group in groups),
    )
