"""How many more jobs of one shape a cluster takes."""

from __future__ import annotations

from dataclasses import dataclass, replace

from ascendctl.engine.api import Result, place
from ascendctl.engine.commit import commit
from ascendctl.engine.result import Placement
from ascendctl.manifest.job import Job
from ascendctl.snapshot.cluster import Cluster


@dataclass(frozen=True)
class Capacity:
    """`placements` of the copies that fit, one after the other; `end` is what the next one got, None if the limit was
    reached first; `cluster` is what they leave behind."""

    placements: tuple[Placement, ...]
    end: Result | None
    cluster: Cluster


def capacity(job: Job, cluster: Cluster, limit: int) -> Capacity:
    """Place copies of a job, each with a name of its own, until one finds no place or `limit` of them have one."""
    placements: list[Placement] = []
    while len(placements) < limit:
        copy = _copy(job, len(placements) + 1)
        result = place(copy, cluster)
        if not isinstance(result, Placement):
            return Capacity(tuple(placements), result, cluster)
        placements.append(result)
        cluster = commit(cluster, copy, result)
    return Capacity(tuple(placements), None, cluster)


def _copy(job: Job, number: int) -> Job:
    name = f"{job.name}-copy{number}"
    pods = tuple(replace(pod, name=name + pod.name.removeprefix(job.name)) for pod in job.pods)
    return replace(job, name=name, pods=pods)
