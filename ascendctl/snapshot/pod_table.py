"""Pods of a dump -> PodTable and JobTable, and the chips that they hold (chapter 30 §5.4, §6.3)."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ascendctl.manifest.attributes import merge, merge_annotations
from ascendctl.manifest.job import parse_go_int
from ascendctl.names import natural_order
from ascendctl.snapshot.chip_lists import CHIP_TYPES, parse_list
from ascendctl.snapshot.cluster import JobTable, PodTable
from ascendctl.snapshot.collect import Collected, RawPod
from ascendctl.snapshot.columns import StringTable, TextColumn
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
    """Pods of the dump that the tables hold, in table order, with node, job (-1 = none) and rank (-1 = none)."""

    pods: Sequence[RawPod]
    node: Sequence[int]
    job: Sequence[int]
    rank: Sequence[int]
    jobs: Sequence[Key]


def bind(collected: Collected, node_index: Mapping[str, int]) -> BoundPods:
    """Order the pods, find their nodes and jobs, and give ranks to those without (chapter 30 §5.4, E38)."""
    pods = list(collected.pods.values())
    order = natural_order([pod.name for pod in pods])
    order.sort(key=lambda i: pods[i].namespace)
    bound: list[RawPod] = []
    nodes: list[int] = []
    members: dict[Key, list[RawPod]] = {}
    with_bound: set[Key] = set()
    for i in order:
        pod = pods[i]
        node = node_index.get(pod.node, -1)
        group = pod.annotations.get(GROUP_NAME)
        if group:
            key = pod.namespace, group
            members.setdefault(key, []).append(pod)
            if node >= 0:
                with_bound.add(key)
        if node >= 0:
            bound.append(pod)
            nodes.append(node)
    jobs = list(with_bound)
    jobs = [jobs[i] for i in natural_order([name for _, name in jobs])]
    jobs.sort(key=lambda key: key[0])
    number = {key: i for i, key in enumerate(jobs)}
    rank: dict[Key, int] = {}
    for key in jobs:
        rank |= _ranks(collected, key, members[key])
    job = [number.get((pod.namespace, pod.annotations.get(GROUP_NAME, "")), -1) for pod in bound]
    for pod, of_job in zip(bound, job, strict=True):
        if of_job < 0:
            rank |= _ranks(collected, None, [pod])
    return BoundPods(bound, nodes, job, [rank.get((pod.namespace, pod.name), -1) for pod in bound], jobs)


def _ranks(collected: Collected, job: Key | None, pods: Sequence[RawPod]) -> dict[Key, int]:
    """Ranks of the pods of one job, by namespace and name; pods without get the free numbers in name order unless one is
    terminating."""
    texts: dict[Key, str] = {}
    open_pods = []
    for pod in pods:
        key, given = (pod.namespace, pod.name), pod.annotations.get(RANK_INDEX)
        if given and pod.phase != "Failed":
            texts[key] = given
        elif (own := pod.labels.get(STATEFUL_LABEL)) is not None:
            texts[key] = own.rpartition("-")[2]
        elif pod.task_index or given:
            texts[key] = pod.task_index or given or ""
        else:
            open_pods.append(key)
    if job is not None and open_pods and not any(pod.terminating for pod in pods):
        used = set(texts.values())
        free = (number for number in range(len(pods)) if str(number) not in used)
        texts |= {key: str(number) for key, number in zip(open_pods, free, strict=False)}
        if len(pods) > 1:
            message = f"{len(open_pods)} pods carry no rank; they are numbered in name order"
            collected.findings.add("S333", message, f"PodGroup {job[0]}/{job[1]}")
    return {key: rank for key, text in texts.items() if (rank := _rank(text)) >= 0}


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


def chip_text(annotations: Mapping[str, str], chip_type: int) -> tuple[str, bool]:
    """The list of chips of a pod and whether it is the physical one (AscendReal); "" = none."""
    for key in (REAL, PREFIX + CHIP_TYPES[chip_type]):
        text = annotations.get(key)
        if text and (len(text) <= MAX_LIST_BYTES >> 2 or len(text.encode()) <= MAX_LIST_BYTES):
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
    kinds, odd_list = chip_type.tolist(), odd_nodes.tolist()
    used, chips, parts = [0] * len(kinds), [], []
    texts: dict[int, list[str]] = {}
    cache: dict[tuple[int, str], tuple[int, int, int]] = {}
    for pod, node in zip(bound.pods, bound.node, strict=True):
        text, physical = chip_text(pod.annotations, kinds[node])
        if not text:
            chips.append(0)
            parts.append(-1)
            continue
        facts = cache.get((kinds[node], text))
        if facts is None:
            facts = cache[kinds[node], text] = parse_list(text, CHIP_TYPES[kinds[node]])[:3]
        count, held, exact = facts
        if not physical and (chip_of := device_ids(node)) is not None:
            held = _translated(held, chip_of)
            if translate:
                exact = held
                _tell(collected, "S338", "DeviceIDs are read as the chips they mean", pod)
        chips.append(held)
        counted = pod.phase not in FINISHED and _counts(collected, pod, count)
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


def _counts(collected: Collected, pod: RawPod, count: int) -> bool:
    if not legal(pod.name, pod.namespace):
        _tell(collected, "S322", "the name is none that Kubernetes allows; its chips are not counted", pod)
        return False
    if count > MAX_PARTS:
        _tell(collected, "S323", f"{count} chips named; they are not counted", pod)
        return False
    return True


def _tell(collected: Collected, code: str, message: str, pod: RawPod) -> None:
    collected.findings.add(code, message, pod.title, pod.node, collected.where(pod.place))


def pod_table(bound: BoundPods, held: Holdings, resources: Sequence[str]) -> PodTable:
    """The table of bound pods; `resources` are the names that its column `resource` indexes."""
    pods = bound.pods
    index = {name: i for i, name in enumerate(resources)}
    names = [min(pod.requests, default="") for pod in pods]
    return PodTable(
        names=tuple(pod.name for pod in pods),
        namespaces=tuple(pod.namespace for pod in pods),
        uids=TextColumn.of([pod.uid for pod in pods]),
        node=np.array(bound.node, np.int32),
        job=np.array(bound.job, np.int32),
        rank=np.array(bound.rank, np.int32),
        resource=np.array([index.get(name, -1) for name in names], np.int16),
        request=np.array([units(pod.requests.get(name, 0)) for pod, name in zip(pods, names, strict=True)], np.int32),
        chips=held.chips,
        active=np.array([pod.phase not in FINISHED for pod in pods], np.bool_),
        terminating=np.array([pod.terminating for pod in pods], np.bool_),
        phase=tuple(pod.phase for pod in pods),
        labels=StringTable.from_rows([pod.labels for pod in pods]),
        annotations=StringTable.from_rows([pod.annotations for pod in pods]),
    )


def job_table(collected: Collected, bound: BoundPods) -> JobTable:
    """Jobs of the bound pods: PodGroup where the dump has it, labels and annotations merged as the scheduler does."""
    members: list[list[int]] = [[] for _ in bound.jobs]
    for row, job in enumerate(bound.job):
        if job >= 0:
            members[job].append(row)
    labels, annotations = [], []
    groups = [collected.groups.get(key) for key in bound.jobs]
    for group, rows in zip(groups, members, strict=True):
        rows.sort(key=lambda row: bound.rank[row] if bound.rank[row] >= 0 else 1 << 31)
        pods = [bound.pods[row] for row in rows]
        if group is None and len(pods) == 1:
            labels.append(pods[0].labels)
        else:
            labels.append(merge(group.labels if group else {}, (pod.labels for pod in pods)))
        annotations.append(merge_annotations(group.annotations if group else {}, (pod.annotations for pod in pods)))
    return JobTable(
        names=tuple(name for _, name in bound.jobs),
        namespaces=tuple(namespace for namespace, _ in bound.jobs),
        phases=tuple(group.phase if group else "" for group in groups),
        min_available=np.array([group.min_member if group else -1 for group in groups], np.int32),
        labels=StringTable.from_rows(labels),
        annotations=StringTable.from_rows(annotations),
        owners=tuple(group.owner if group else "" for group in groups),
    )
