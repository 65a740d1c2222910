"""Jobs of an inference service: blocks go where the service already runs (chapter 20 §8.2, chapter 21 §8.2)."""

from __future__ import annotations

import heapq
from collections.abc import Collection, Sequence

import numpy as np
from numpy.typing import NDArray

from ascendctl.manifest.job import Job, parse_go_int
from ascendctl.snapshot.cluster import Cluster
from ascendctl.wellknown import SERVICE, SUPER_POD_ID


def service_pods(cluster: Cluster, job: Job) -> NDArray[np.bool_]:
    """bool[M]: unfinished pods of other jobs of the same inference service; none if the job belongs to no service."""
    pods, jobs, service = cluster.pods, cluster.jobs, job.labels.get(SERVICE, "")
    if not service or not jobs.names:
        return np.zeros(len(pods.names), dtype=np.bool_)
    members = jobs.labels.column(SERVICE).equals(service) & ~jobs.named(job.namespace, job.name)
    mask = pods.active & (pods.job >= 0)
    mask[mask] = members[pods.job[mask]]
    return mask


def service_superpods(cluster: Cluster, job: Job) -> frozenset[int]:
    """Ids of the SuperPoDs where the service runs: annotation super-pod-id of its pods, else the SuperPoD of their
    node."""
    column = cluster.pods.annotations.column(SUPER_POD_ID)
    found = set()
    for row in np.flatnonzero(service_pods(cluster, job)).tolist():
        given = parse_go_int(column.get(row) or "")
        found.add(int(cluster.superpod[cluster.pods.node[row]]) if given is None else given)
    return frozenset(found)


def plan_blocks(free: Sequence[int], hosts: Collection[int], size: int, count: int) -> list[int]:
    """SuperPoD number of each block of `size` nodes, at most `count`; a shorter list means that no more fit.

    `free[i]` counts the candidate nodes of SuperPoD i (ascending id), `hosts` are the numbers of those that run the
    service. Hosts come first, then more free nodes, then the lower number; a chosen SuperPoD becomes a host.
    """
    hosts = set(hosts)
    members = [(-n, i) for i, n in enumerate(free) if i in hosts and n >= size]
    others = [(-n, i) for i, n in enumerate(free) if i not in hosts and n >= size]
    heapq.heapify(members)
    heapq.heapify(others)
    chosen: list[int] = []
    while len(chosen) < count and (members or others):
        negative, superpod = heapq.heappop(members or others)
        chosen.append(superpod)
        if -negative - size >= size:
            heapq.heappush(members, (negative + size, superpod))
    return chosen
