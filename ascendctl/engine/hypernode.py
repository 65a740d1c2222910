"""Jobs with Volcano's `networkTopology`, planned on the tree that the HyperNodes of a snapshot make (chapter 22 §7.5).

The constraint becomes group sizes of a multi-level job, lowest tier first; the first that fits is where the job goes.
That holds if every pod takes a whole node. What HyperNodes mean beyond that, resources instead of nodes and jobs placed
in part, is not modelled.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from ascendctl.engine.api import Result, place
from ascendctl.engine.result import Placement
from ascendctl.engine.state import new_state
from ascendctl.manifest.job import Job, parse_go_int
from ascendctl.snapshot.cluster import Cluster
from ascendctl.topology.affinity import AFFINITY_CONFIG
from ascendctl.topology.hypernode import HyperNodes, hypernode_cluster, read_hypernodes, resolve
from ascendctl.topology.hypernode_jobs import (
    Constraint,
    TopologyError,
    Weights,
    group_tries,
    hypernode_scores,
    read_constraint,
)
from ascendctl.validate.rules.multilevel import planned_pods
from ascendctl.wellknown import POLICY

MAX_SCORES = 20
MODE, HIGHEST_TIER = "volcano.sh/network-topology-mode", "volcano.sh/network-topology-highest-tier"


def place_in_hypernodes(job: Job, cluster: Cluster, reserve: int = 0) -> Result:
    """Place a job on the HyperNodes of the snapshot, with `reserve` spare nodes per lowest unit.

    A multi-level job keeps its affinity-config. Another job follows its networkTopology; the answer is that of the
    first try that fits, else of the last. Raises HyperNodeError for HyperNodes that Volcano would not take,
    TopologyError for a constraint that no tree can express (ML-H08).
    """
    found, problems = hypernode_cluster(cluster, reserve)
    forest = resolve(read_hypernodes(cluster.hypernodes)[0], cluster)
    tries = (job,) if job.policy_name == "multilevel" else constrained_jobs(job, forest)
    result = place(tries[0], found)
    for one in tries[1:]:
        if isinstance(result, Placement):
            break
        result = place(one, found)
    notes = tuple(f"{problem.code}: {problem.message}" for problem in problems)
    steps = (*result.trace.steps, _score_step(job, cluster, forest))
    return replace(result, trace=replace(result.trace, steps=steps, notes=(*result.trace.notes, *notes)))


def follows_hypernodes(job: Job) -> bool:
    """True for jobs that HyperNodes concern: multi-level ones, and those with a network topology of Volcano's."""
    if job.policy_name == "multilevel" or any(MODE in role.annotations for role in job.roles):
        return True
    tasks = _spec(job).get("tasks")
    partitioned = isinstance(tasks, list) and any(isinstance(t, Mapping) and "partitionPolicy" in t for t in tasks)
    return job.kind == "vcjob" and (partitioned or "networkTopology" in _spec(job))


def _score_step(job: Job, cluster: Cluster, forest: HyperNodes) -> tuple[str, Mapping[str, Any]]:
    """Bin-pack scores of the HyperNodes for the whole job, by its NPUs alone."""
    columns = new_state(cluster, job.resource).fixed
    sums = {}
    for name in forest.items:
        nodes = forest.all_nodes(name)
        total, idle = (int(np.maximum(a[nodes], 0).sum()) for a in (columns.allocatable, columns.idle))
        sums[name] = {job.resource: total - idle}, {job.resource: total}
    scores = hypernode_scores({job.resource: job.npus}, sums, Weights(resources={job.resource: 1}))
    best = {name: round(score, 4) for name, score in list(scores.items())[:MAX_SCORES]}
    return "what Volcano would score the HyperNodes with weight 1 on NPUs and none on CPU and memory", {"scores": best}


def constrained_jobs(job: Job, forest: HyperNodes) -> tuple[Job, ...]:
    """The job as multi-level jobs to try in order. Raises TopologyError."""
    constraint = _constraint(job, forest) or Constraint()
    size, inner = _partition(job, forest)
    tries = group_tries(planned_pods(job), forest.tiers, constraint, size, inner)
    return tuple(_as_multilevel(job, groups) for groups in tries)


def _as_multilevel(job: Job, groups: tuple[int, ...]) -> Job:
    text = ",".join(f"level{i}={size}" for i, size in enumerate(groups, 1))
    return replace(job, annotations={**job.annotations, POLICY: "multilevel", AFFINITY_CONFIG: text})


def _spec(job: Job) -> Mapping[str, Any]:
    value = job.source.document.value if job.source.document is not None else None
    spec = value.get("spec") if isinstance(value, Mapping) else None
    return spec if isinstance(spec, Mapping) else {}


def _constraint(job: Job, forest: HyperNodes) -> Constraint | None:
    """The constraint of a Volcano Job, or that of the pod annotations."""
    if job.kind == "vcjob" and "networkTopology" in _spec(job):
        return read_constraint(_spec(job)["networkTopology"], forest)
    annotations = next((role.annotations for role in job.roles if MODE in role.annotations), None)
    if annotations is None:
        return None
    tier = parse_go_int(annotations.get(HIGHEST_TIER, ""))
    return Constraint(annotations[MODE].lower() != "soft", tier if tier is not None and tier >= 0 else None)


def _partition(job: Job, forest: HyperNodes) -> tuple[int, Constraint | None]:
    """Pods of one partition and its constraint, the same for all tasks with NPUs; 0 = no partitions."""
    tasks = _spec(job).get("tasks") if job.kind == "vcjob" else None
    policies = [
        (task.get("partitionPolicy"), role)
        for task, role in zip(tasks if isinstance(tasks, list) else [], job.roles, strict=False)
        if isinstance(task, Mapping) and role.npus > 0
    ]
    if not any(policy for policy, _ in policies):
        return 0, None
    found: set[tuple[int, Constraint | None]] = set()
    for policy, role in policies:
        given: Mapping[str, Any] = policy if isinstance(policy, Mapping) else {}
        total, size = given.get("totalPartitions"), given.get("partitionSize")
        if type(total) is not int or type(size) is not int or total < 1 or size < 1:
            raise TopologyError(
                "ML-H08: every task with NPUs needs a partitionPolicy with totalPartitions, partitionSize"
            )
        if total * size != role.replicas:
            raise TopologyError(f"{total} partitions of {size} are not the {role.replicas} replicas of {role.name}")
        found.add((size, read_constraint(given.get("networkTopology"), forest)))
    if len(found) > 1:
        raise TopologyError("ML-H08: the partitions of the tasks differ, one tree shape cannot express that")
    return found.pop()
