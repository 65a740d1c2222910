"""Clusters of SuperPoDs, jobs and earlier placements for the tests of chapter 20, in the notation of its examples."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from ascendctl.engine.result import Placement, Unschedulable
from ascendctl.manifest.job import Job
from ascendctl.snapshot.cluster import Cluster
from ascendctl.snapshot.config import SchedulerConfig
from tests.engine.build import A910, NPU, Node, Pod, cluster, job, policy

POLICY = {16: "chip2-node16-sp", 8: "chip2-node8-sp"}
ATLAS_850 = "chip8-node8-sp"


def config(reserve: int = 2, limit: int = 48, **more: Any) -> SchedulerConfig:
    """Scheduler parameters with R and Z."""
    return SchedulerConfig(super_pod_size=limit, reserve_nodes=reserve, given=frozenset({"super-pod-size"}), **more)


def node(name: str, free: Iterable[int] | None = None, chips: int = 16, **more: Any) -> Node:
    """A node, all chips free unless said otherwise."""
    return Node(name, range(chips) if free is None else free, chips, **more)


def world(
    superpods: Mapping[int, Sequence[Node]], settings: SchedulerConfig | None = None, pods: Sequence[Pod] = ()
) -> Cluster:
    """A cluster of SuperPoDs: id -> its nodes."""
    home = {n.name: superpod for superpod, nodes in superpods.items() for n in nodes}
    made = cluster([n for nodes in superpods.values() for n in nodes], pods, settings or config())
    return replace(made, superpod=np.array([home[name] for name in made.names], dtype=np.int32))


def counted(
    counts: Mapping[int, int], settings: SchedulerConfig | None = None, chips: int = 16, **more: Any
) -> Cluster:
    """SuperPoDs of free nodes s<id>-n00, s<id>-n01 ..., as the worked examples name them."""
    made = {s: [node(f"s{s}-n{k:02}", chips=chips, **more) for k in range(n)] for s, n in counts.items()}
    return world(made, settings)


def lettered(names: Iterable[str], chips: int = 16, faulty: Iterable[str] = (), busy: Iterable[str] = ()) -> Cluster:
    """SuperPoD 0 = nodes a.., 1 = b.. and so on; faulty nodes are unhealthy, busy ones have no free chip."""
    from ascendctl.snapshot.cluster import NODE_UNHEALTHY

    gone, taken = set(faulty), set(busy)
    made: dict[int, list[Node]] = {}
    for name in [*names, *sorted(gone | taken)]:
        free = () if name in taken else None
        health = NODE_UNHEALTHY if name in gone else 0
        made.setdefault(ord(name[0]) - ord("a"), []).append(node(name, free, chips, health=health))
    return world(made)


def request(
    pods: int,
    npus: int = 16,
    block: int | None = None,
    name: str | None = None,
    labels: Mapping[str, str] | None = None,
    **more: Any,
) -> Job:
    """A job of `pods` pods; `block` nodes of a logical SuperPoD, None = no sp-block."""
    annotations = policy(name or POLICY.get(npus, "chip2-node16-sp"))
    if block is not None:
        annotations["sp-block"] = str(block * npus)
    resource = NPU if name == ATLAS_850 else A910
    return job(npus, pods, labels=labels, annotations=annotations, resource=resource, **more)


def blocks(result: Any) -> dict[str, list[str]]:
    """Logical SuperPoD -> nodes of a placement."""
    assert isinstance(result, Placement), result
    return {key: list(nodes) for key, nodes in result.blocks.items()}


def code(result: Any) -> str:
    """Reason code of a refusal."""
    assert isinstance(result, Unschedulable), result
    return result.code


def earlier(made: Job, nodes: Sequence[str], block: int, chips: int = 16, **fault: Any) -> dict[str, Any]:
    """The result document of a job that ran on these nodes in rank order, with the fault's entry."""
    pods = [
        {"name": pod.name, "rank": pod.rank, "node": at, "npus": list(range(chips)), "annotations": {}}
        for pod, at in zip(made.pods, nodes, strict=True)
    ]
    for i, pod in enumerate(pods):
        pod["annotations"] = {"super-pod-rank": str(i // block)}
    return {"outcome": "placed", "pods": pods, "fault": fault}
