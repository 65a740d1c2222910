"""Logical SuperPoDs of MindIE jobs: a heap of SuperPoDs, pod affinity, `sp-fit` (chapter 20 §8.1)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ascendctl.engine.policies.superpod_queues import Block
from ascendctl.snapshot.cluster import Cluster

_PREFERRED = "preferredDuringSchedulingIgnoredDuringExecution"


def is_mindie(labels: Mapping[str, str]) -> bool:
    """True if both labels of a MindIE job are there, whatever their values."""
    return "app" in labels and "jobID" in labels


def affinity_labels(pod_affinity: Mapping[str, Any]) -> dict[str, str]:
    """matchLabels of the first preferred term; weight, topology key, expressions and further terms have no effect."""
    terms = pod_affinity.get(_PREFERRED)
    node: Any = terms[0] if isinstance(terms, Sequence) and terms else {}
    for key in ("podAffinityTerm", "labelSelector", "matchLabels"):
        node = node.get(key) if isinstance(node, Mapping) else None
    return {str(k): str(v) for k, v in node.items()} if isinstance(node, Mapping) else {}


def affine_nodes(
    cluster: Cluster, wanted: Mapping[str, str], deleted: NDArray[np.bool_] | None = None
) -> NDArray[np.bool_]:
    """bool[N]: nodes that run a pod whose job carries every wanted label; none if nothing is wanted. `deleted`
    (bool[M]): pods that run no more."""
    nodes = np.zeros(cluster.size, dtype=np.bool_)
    if not wanted:
        return nodes
    jobs = np.ones(len(cluster.jobs.names), dtype=np.bool_)
    for key, value in wanted.items():
        jobs &= cluster.jobs.labels.column(key).equals(value)
    pods = cluster.pods
    matching = pods.active & (pods.job >= 0)
    if deleted is not None:
        matching &= ~deleted
    matching[matching] = jobs[pods.job[matching]]
    nodes[pods.node[matching]] = True
    return nodes


def plan_mindie(
    free: Sequence[int], affine: Sequence[int], size: int, reserve: int, count: int, idlest: bool, with_affinity: bool
) -> list[Block] | None:
    """Blocks of `size` nodes for `count` logical SuperPoDs, None if they do not fit.

    `free[i]`: candidate nodes of SuperPoD i (ascending id); `affine[i]`: nodes there that are no candidates and run an
    affine pod. Ties follow the steps of Go's container/heap with SuperPoDs pushed in ascending id.
    """
    left, affinity = list(free), list(affine)
    if sum(n // size for n in left) < count:
        return None

    def before(a: int, b: int) -> bool:
        keeps_a, keeps_b = left[a] - reserve >= size, left[b] - reserve >= size
        if keeps_a != keeps_b:
            return keeps_a
        if affinity[a] != affinity[b]:
            return affinity[a] > affinity[b]
        return left[a] >= left[b] if idlest else left[a] < left[b]

    heap: list[int] = []

    def push(superpod: int) -> None:
        heap.append(superpod)
        child = len(heap) - 1
        while child > 0 and before(heap[child], heap[parent := (child - 1) // 2]):
            heap[child], heap[parent] = heap[parent], heap[child]
            child = parent

    def pop() -> int:
        heap[0], heap[-1] = heap[-1], heap[0]
        top, parent = heap.pop(), 0
        while (child := 2 * parent + 1) < len(heap):
            if child + 1 < len(heap) and before(heap[child + 1], heap[child]):
                child += 1
            if not before(heap[child], heap[parent]):
                break
            heap[child], heap[parent] = heap[parent], heap[child]
            parent = child
        return top

    for superpod, nodes in enumerate(left):
        if nodes >= size:
            push(superpod)
    blocks = []
    for lsp in range(count):
        superpod = pop()
        blocks.append(Block(lsp, superpod, size, "mindie", left[superpod]))
        left[superpod] -= size
        if with_affinity:
            affinity[superpod] += size
        if left[superpod] >= size:
            push(superpod)
    return blocks
