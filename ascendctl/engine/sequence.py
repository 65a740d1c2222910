"""Several jobs one after the other: each sees what the earlier ones took."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from ascendctl.engine.api import Result, place
from ascendctl.engine.commit import commit
from ascendctl.engine.result import Placement
from ascendctl.manifest.job import Job
from ascendctl.snapshot.cluster import Cluster

Finish = Callable[[Job, Result, Cluster], Result]


def place_in_order(
    jobs: Sequence[Job],
    cluster: Cluster,
    *,
    objective: str = "fragmentation",
    hypernodes: int | None = None,
    finish: Finish | None = None,
) -> tuple[list[Result], Cluster]:
    """What each job gets, in order, and the cluster that the last one was placed on.

    `finish` may add to a result what depends on the cluster that it was made on. `objective` as in `api.place`.
    `hypernodes`: jobs that HyperNodes concern are placed on those of the snapshot, with so many spare nodes in each
    lowest one; None = none are. Raises what `hypernode.place_in_hypernodes` raises.
    """
    results: list[Result] = []
    for number, job in enumerate(jobs, 1):
        result = place_one(job, cluster, objective, hypernodes)
        result = finish(job, result, cluster) if finish else result
        if isinstance(result, Placement) and number < len(jobs):
            cluster = commit(cluster, job, result)
        results.append(result)
    return results, cluster


def place_one(job: Job, cluster: Cluster, objective: str = "fragmentation", hypernodes: int | None = None) -> Result:
    """One job, on HyperNodes where they concern it; arguments as in `place_in_order`."""
    if hypernodes is not None:
        from ascendctl.engine.hypernode import follows_hypernodes, place_in_hypernodes

        if follows_hypernodes(job):
            return place_in_hypernodes(job, cluster, hypernodes)
    return place(job, cluster, objective=objective)
