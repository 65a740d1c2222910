"""What a snapshot holds of the very job that is asked about: its own pods and PodGroups."""

from __future__ import annotations

from collections.abc import Collection
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ascendctl.manifest.job import Job
from ascendctl.snapshot.cluster import Cluster


class OwnRows(NamedTuple):
    """`jobs` bool[J] and `pods` bool[M]: the rows of Cluster.jobs and Cluster.pods that are the job's own, finished
    pods among them."""

    jobs: NDArray[np.bool_]
    pods: NDArray[np.bool_]


def own_rows(cluster: Cluster, job: Job, former: Collection[str] = ()) -> OwnRows:
    """The job's rows: of the jobs that have its name or one of its pods, and the pods of these. `former`: names of
    earlier pods, which count too."""
    pods, names = cluster.pods, {pod.name for pod in job.pods}.union(former)
    same = np.zeros(len(pods.names), dtype=np.bool_)
    if not names.isdisjoint(pods.names):
        rows = zip(pods.names, pods.namespaces, strict=True)
        same[:] = [namespace == job.namespace and name in names for name, namespace in rows]
    jobs = cluster.jobs.named(job.namespace, job.name)
    jobs[pods.job[same & (pods.job >= 0)]] = True
    return OwnRows(jobs, same | np.append(jobs, False)[pods.job])  # row -1: pods without a job


def running_note(cluster: Cluster, job: Job) -> tuple[str, ...]:
    """A note if pods of the job hold nodes of the snapshot already; empty if none does."""
    pods = cluster.pods
    rows = np.flatnonzero(own_rows(cluster, job).pods & pods.active)
    if not len(rows):
        return ()
    count, first = len(rows), int(rows[0])
    who, node = "pod of the job runs" if count == 1 else "pods of the job run", cluster.names[int(pods.node[first])]
    return (
        f"{count} {who} in the snapshot already, such as {pods.names[first]} on {node}: what they hold stays taken, "
        "and all pods of the job are placed once more; reschedule replaces lost pods only",
    )
