"""Nodes as soft sharing sees them: what the pods of a snapshot use of every chip (chapter 11.15.1, 11.15.6)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ascendctl.manifest.job import parse_go_int
from ascendctl.snapshot.cluster import Cluster
from ascendctl.validate.rules.soft_share import KEYS, SHARING_POLICIES
from ascendctl.wellknown import REAL

WHOLE: Final = 100
MAX_QUOTA: Final = 1 << 40
"""More than any chip has; larger numbers in annotations count as this, so that sums stay in 64 bits."""


class SoftPod(NamedTuple):
    """An unfinished pod of the snapshot (row of Cluster.pods) with quotas: percent of the cores and MB of the memory of
    one chip. `sharing` is the index of its policy, len(SHARING_POLICIES) = another word. `confirmed`: the device plugin
    has given it the chip."""

    row: int
    node: int
    chip: int
    cores: int
    memory: int
    sharing: int
    confirmed: bool


def soft_pods(cluster: Cluster, resource: str) -> Iterator[SoftPod]:
    """The pods whose quotas count, in the order of the snapshot."""
    pods = cluster.pods
    columns = [pods.annotations.column(key) for key in KEYS]
    rows = pods.active & np.logical_and.reduce([column.codes >= 0 for column in columns])
    for row in np.flatnonzero(rows).tolist():
        texts = [column.get(row) or "" for column in columns]
        cores, memory = (parse_go_int(text) for text in texts[:2])
        real = pods.annotations.get(row, REAL)
        chip = _chip(real or pods.annotations.get(row, resource) or "", resource)
        if cores is None or memory is None or chip < 0:
            continue
        sharing = SHARING_POLICIES.index(texts[2]) if texts[2] in SHARING_POLICIES else len(SHARING_POLICIES)
        yield SoftPod(row, int(pods.node[row]), chip, _cut(cores), _cut(memory), sharing, bool(real))


def _cut(quota: int) -> int:
    return max(-MAX_QUOTA, min(quota, MAX_QUOTA))


def _chip(text: str, resource: str) -> int:
    """The chip that a pod's annotation names, as the scheduler reads it (device ids are not translated); -1 if it names
    no single chip."""
    chip = parse_go_int(text.removeprefix(resource.removeprefix("huawei.com/") + "-"))
    return chip if chip is not None and 0 <= chip < 64 else -1


def used_up(cluster: Cluster, resource: str) -> NDArray[np.uint64]:
    """uint64[N]: chips that leave the free list of a node with soft sharing, because confirmed pods use all cores or
    all memory of them. Of an unknown memory every share is all."""
    sums: dict[tuple[int, int], tuple[int, int]] = {}
    for pod in soft_pods(cluster, resource):
        if pod.confirmed:
            cores, memory = sums.get((pod.node, pod.chip), (0, 0))
            sums[pod.node, pod.chip] = cores + pod.cores, memory + pod.memory
    masks = np.zeros(cluster.size, dtype=np.uint64)
    for (node, chip), (cores, memory) in sums.items():
        if cores >= WHOLE or memory >= cluster.chip_memory_mb[node]:
            masks[node] |= np.uint64(1 << chip)
    return masks
