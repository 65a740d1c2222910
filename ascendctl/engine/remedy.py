"""What an unschedulable job lacks, and which single change would make it fit. Every change is tried: the changed job is
placed."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Set
from dataclasses import replace
from json import loads
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from ascendctl.engine.api import Result, place
from ascendctl.engine.kube import open_nodes
from ascendctl.engine.predicate import ACCEPTED
from ascendctl.engine.request import make_request
from ascendctl.engine.result import Unschedulable
from ascendctl.engine.select import select_policy
from ascendctl.manifest.job import Job, Role
from ascendctl.manifest.scale import with_replicas
from ascendctl.snapshot.cluster import Cluster
from ascendctl.topology.affinity import AFFINITY_CONFIG, group_sizes
from ascendctl.wellknown import SP_BLOCK, SUB_HEALTHY, SUPER_POD_AFFINITY
from ascendctl.wording import counted

Place = Callable[[Job, Cluster], Result]
Name = TypeVar("Name", str, tuple[str, str])
TRIED = 16
"""Node selectors, and taints, that are tried at most: those that keep the job off most nodes."""


def supply(job: Job, cluster: Cluster) -> tuple[str, ...]:
    """Need and supply, side by side: pods and NPUs, free NPUs on nodes that are open to the job, the SuperPoD with most
    nodes for it. Empty for jobs without NPUs."""
    asked: Counter[int] = Counter()
    for role in job.roles:
        asked[role.npus] += role.replicas
    most = max(asked, default=0)
    if most < 1:
        return ()
    lead = next(i for i, role in enumerate(job.roles) if role.npus == most)
    request = make_request(job, cluster, select_policy(job, cluster))
    state, is_open = request.state, request.fixed_codes(lead) == ACCEPTED
    idle = np.where(is_open & state.fixed.idle_defined, np.maximum(state.idle, 0), 0)
    fit = request.codes_for(lead) == ACCEPTED
    pods = ", ".join(f"{counted(asked[n], 'pod')} of {n}" for n in sorted(asked, reverse=True) if n)
    where = f"{int(idle.sum())} on {counted(int(is_open.sum()), 'node')} open to the job"
    spread = f"{int(idle.max(initial=0))} at most on one, {counted(int(fit.sum()), 'node')} with {most}"
    lines = [f"asked: {pods} {job.resource}; free: {where}, {spread}"]
    largest, nodes = cluster.largest_superpod(fit)
    if request.selection.module in ("superpod", "rack") and nodes:
        lines.append(f"SuperPoD with most of these: {largest}, {counted(nodes, 'node')}")
    return tuple(lines)


def remedies(job: Job, cluster: Cluster, result: Unschedulable, again: Place = place) -> tuple[str, ...]:
    """The changes of which each alone makes the job fit, those to the job first, each in a few words. `result` says
    which constraints refused nodes, `again` places."""
    codes = {group.code for group in result.rejected}
    changes = _changes(job, cluster, codes)
    helpful = tuple(text for text, changed, where in changes if again(changed, where).outcome == "placed")
    return helpful + _smaller_block(job, cluster, again) + _fewer(job, cluster, again)


def _changes(job: Job, cluster: Cluster, codes: Set[str]) -> Iterator[tuple[str, Job, Cluster]]:
    """The single changes worth trying where nodes were refused for these codes: in words, and what they make of job and
    cluster."""
    policy = select_policy(job)
    if "NODE_SUBHEALTHY" in codes:
        yield f"label {SUB_HEALTHY}: ignore", _labelled(job, SUB_HEALTHY, "ignore"), cluster
    if policy.module in ("superpod", "rack") and not job.is_soft:
        yield f"label {SUPER_POD_AFFINITY}: soft", _labelled(job, SUPER_POD_AFFINITY, "soft"), cluster
    for key, value in _selectors(job, cluster) if "NODE_SELECTOR" in codes else ():
        changed = _unselected(job, key)
        if select_policy(changed).policy == policy.policy:
            yield f"no node selector {key}: {value}", changed, cluster
    for key in _taint_keys(cluster) if "NODE_TAINTED" in codes else ():
        yield f"a toleration of taint {key}", _tolerant(job, key), cluster
    if "NODE_UNSCHEDULABLE" in codes:
        uncordoned = replace(cluster, unschedulable=np.zeros_like(cluster.unschedulable))
        yield "the cordoned nodes uncordoned", job, uncordoned
    if policy.module in ("superpod", "rack") and cluster.config.reserve_nodes:
        generous = replace(cluster, config=replace(cluster.config, reserve_nodes=0))
        yield "scheduler parameter reserve-nodes=0", job, generous


def _labelled(job: Job, key: str, value: str) -> Job:
    roles = tuple(replace(role, labels={**role.labels, key: value}) for role in job.roles)
    return replace(job, labels={**job.labels, key: value}, roles=roles)


def _selectors(job: Job, cluster: Cluster) -> list[tuple[str, str]]:
    """The node selectors that alone keep pods off some node: to leave out another cannot help."""
    off: dict[tuple[str, str], NDArray[np.bool_]] = {}
    for role in job.roles:
        for key, value in role.selector.items():
            alone = Role(role.name, role.replicas, 0, "", selector={key: value}, tolerations=({"operator": "Exists"},))
            off[key, value] = ~open_nodes(alone, cluster)
    nodes: Counter[tuple[str, str]] = Counter()
    for role in job.roles:
        reasons = sum((off[item].astype(np.int64) for item in role.selector.items()), np.zeros(cluster.size, np.int64))
        for item in role.selector.items():
            nodes[item] += int((off[item] & (reasons == 1)).sum())
    return _foremost(nodes)


def _foremost(nodes: Mapping[Name, int]) -> list[Name]:
    """The names with most nodes, `TRIED` of them at most."""
    found = sorted((-count, name) for name, count in nodes.items() if count)
    return [name for _, name in found[:TRIED]]


def _unselected(job: Job, key: str) -> Job:
    def rest(selector: Mapping[str, str]) -> dict[str, str]:
        return {k: v for k, v in selector.items() if k != key}

    roles = tuple(replace(role, selector=rest(role.selector)) for role in job.roles)
    return replace(job, selector=rest(job.selector), roles=roles)


def _tolerant(job: Job, key: str) -> Job:
    more = {"key": key, "operator": "Exists"}
    return replace(job, roles=tuple(replace(role, tolerations=(*role.tolerations, more)) for role in job.roles))


def _taint_keys(cluster: Cluster) -> list[str]:
    """Keys of taints that a toleration is an answer to: not those that Kubernetes puts on nodes itself."""
    nodes: Counter[str] = Counter()
    for text, count in Counter(cluster.taints).items():
        taints: list[Any] = (loads(text) if text else None) or []
        for key in {str(taint["key"]) for taint in taints if isinstance(taint, Mapping) and taint.get("key")}:
            nodes[key] += 0 if key.startswith("node.kubernetes.io/") else count
    return _foremost(nodes)


def _smaller_block(job: Job, cluster: Cluster, again: Place) -> tuple[str, ...]:
    """The largest smaller sp-block that fits."""
    if SP_BLOCK not in job.annotations or select_policy(job).module not in ("superpod", "rack"):
        return ()
    npus = max(role.npus for role in job.roles)
    for nodes in range(job.sp_block // npus - 1, 0, -1):
        if job.sp_block % (nodes * npus) == 0:
            annotations = {**job.annotations, SP_BLOCK: str(nodes * npus)}
            if again(replace(job, annotations=annotations), cluster).outcome == "placed":
                return (f"{SP_BLOCK} {nodes * npus} instead of {job.sp_block}",)
    return ()


def _fewer(job: Job, cluster: Cluster, again: Place) -> tuple[str, ...]:
    """The largest number of replicas of the largest role that fits, by bisection over whole blocks of pods."""
    role = max(range(len(job.roles)), key=lambda i: (job.roles[i].npus > 0, job.roles[i].replicas), default=None)
    if role is None or job.roles[role].npus < 1:
        return ()
    step, others = _pods_of_block(job), len(job.pods) - job.roles[role].replicas
    low, high = others // step, -(-len(job.pods) // step)
    best = ""
    while high - low > 1:
        middle = (low + high) // 2
        smaller = with_replicas(job, role, middle * step - others)
        if smaller is not None and again(smaller, cluster).outcome == "placed":
            low, best = middle, _replicas(job, smaller, role)
        else:
            high = middle
    return (best,) if best else ()


def _replicas(job: Job, smaller: Job, role: int) -> str:
    """The numbers to write: the gang, too, where the manifest asks for a larger one than is left."""
    before, after, gang = job.roles[role], smaller.roles[role], job.source.origins.get(("min_available",))
    what = f"replicas of {before.name}" if before.name else "replicas"
    text = f"{after.replicas} {what} instead of {before.replicas}"
    return f"{text}, {gang[-1]} {smaller.min_available}" if gang and smaller.min_available < job.min_available else text


def _pods_of_block(job: Job) -> int:
    """Pods that belong together: the job's number of pods is a multiple of it."""
    if select_policy(job).module == "multilevel":
        return max(group_sizes(job.annotations[AFFINITY_CONFIG]))
    most = max(role.npus for role in job.roles)
    return max(1, job.sp_block // most) if SP_BLOCK in job.annotations else 1
