"""A fault of a running job, as `reschedule` reads it (chapters 20 §9, 21 §11, 22 §6, 23 §8).

What the policies share: where the pods ran, which nodes broke, how far deletion went, and which chips of the snapshot
are free or taken once the lost pods are gone.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ascendctl.engine.state import State
from ascendctl.manifest.job import Job
from ascendctl.snapshot.cluster import Cluster

KINDS = ("job", "pod", "lsp", "auto")


class FaultError(ValueError):
    """`previous` is no placement that a fault can hit; the text says which field is wrong."""


@dataclass(frozen=True, slots=True)
class FormerPod:
    """A pod of the earlier placement. `index` is the node's index in the snapshot, -1 if it is no longer there;
    `npus` are physical chip ids in the order in which the scheduler wrote them."""

    name: str
    role: str
    rank: int
    node: str
    index: int
    npus: tuple[int, ...] = ()
    annotations: Mapping[str, str] = field(default_factory=dict)

    @property
    def chips(self) -> int:
        """Bit mask of `npus`."""
        return sum(1 << i for i in set(self.npus))


@dataclass(frozen=True)
class Fault:
    """`pods` stand in rank order, `faulty` are the names of the broken nodes in the order given.

    `kind` says whose pods were deleted: "job" all, "pod" those on faulty nodes, "lsp" all of every logical SuperPoD
    with a faulty node, "auto" = the policy tries its levels in order. `pending_sessions` counts the sessions since the
    deleted pods were created again; `max_escalation` is the text or number of the multilevel option, None = its
    default; `waited_seconds` is the time since the first attempt, None = long enough. `blocks` are the logical groups
    as the earlier result lists them.
    """

    pods: tuple[FormerPod, ...]
    faulty: tuple[str, ...]
    kind: str = "job"
    pending_sessions: int = 0
    max_escalation: int | str | None = None
    waited_seconds: float | None = None
    blocks: Mapping[str, tuple[str, ...]] = field(default_factory=dict)

    @cached_property
    def faulty_names(self) -> frozenset[str]:
        """The broken nodes as a set."""
        return frozenset(self.faulty)

    @cached_property
    def fault_pods(self) -> tuple[FormerPod, ...]:
        """Pods that ran on a broken node, in rank order."""
        return tuple(p for p in self.pods if p.node in self.faulty_names)


def only_fault_pods(job: Job) -> bool:
    """True if nothing but the pods on broken nodes is ever deleted: recover_policy_path "pod", or a pod of an inference
    controller (chapter 20 §9.1, chapter 21 §11.2)."""
    return (
        job.annotations.get("huawei.com/recover_policy_path") == "pod"
        or job.labels.get("app") in ("mindie-ms-controller", "mindie-ms-coordinator")
        or "ome.io/inferenceservice" in job.labels
    )


def former_pods(job: Job, fault: Fault) -> dict[int, FormerPod]:
    """Index in Job.pods -> where the pod ran: by name, pods with NPUs else by rank."""
    all_npu = len(fault.pods) == len(job.npu_positions)
    by_name = {pod.name: pod for pod in fault.pods if pod.name}
    by_rank = {pod.rank: pod for pod in fault.pods if pod.npus or all_npu}
    found = {}
    for i, spec in enumerate(job.pods):
        pod = by_name.get(spec.name) or (by_rank.get(spec.rank) if job.roles[spec.role].is_npu else None)
        if pod is not None:
            found[i] = pod
    return found


def read_fault(previous: Mapping[str, Any], faulty: Iterable[str], cluster: Cluster) -> Fault:
    """The fault that a PlacementResult document, its optional `fault` entry and the names of broken nodes describe.

    Raises FaultError if a field is missing or has the wrong type.
    """
    if not isinstance(previous, Mapping):
        raise FaultError("the previous placement is not a mapping")
    if previous.get("outcome", "placed") != "placed":
        raise FaultError(f"the previous result is '{previous['outcome']}', not a placement")
    pods = _former_pods(previous.get("pods"), cluster)
    extra = previous.get("fault") or {}
    blocks = previous.get("blocks") or {}
    if not isinstance(extra, Mapping) or not isinstance(blocks, Mapping):
        raise FaultError("fields 'fault' and 'blocks' of the previous placement must be mappings")
    kind = extra.get("kind") or "job"
    if kind not in KINDS:
        raise FaultError(f"fault.kind is {kind!r}, expected one of {', '.join(KINDS)}")
    escalation = extra.get("max_escalation")
    if escalation is not None and (isinstance(escalation, bool) or not isinstance(escalation, (int, str))):
        raise FaultError(f"fault.max_escalation is {escalation!r}, expected a number or a text")
    waited = extra.get("waited_seconds")
    if waited is not None and (isinstance(waited, bool) or not isinstance(waited, (int, float))):
        raise FaultError(f"fault.waited_seconds is {waited!r}, expected a number")
    return Fault(
        pods=tuple(sorted(pods, key=lambda p: p.rank)),
        faulty=tuple(dict.fromkeys(faulty)),
        kind=kind,
        pending_sessions=_count(extra.get("pending_sessions", 0), "fault.pending_sessions"),
        max_escalation=escalation,
        waited_seconds=waited,
        blocks={str(key): _names(nodes, f"blocks[{key!r}]") for key, nodes in blocks.items()},
    )


def settle(
    state: State, cluster: Cluster, namespace: str, lost: Iterable[FormerPod], surviving: Iterable[FormerPod]
) -> NDArray[np.bool_]:
    """Bring the working arrays to the moment of planning, in place: chips that `lost` pods still hold in the snapshot
    become free unless they are unhealthy, chips of `surviving` pods that the snapshot shows as free become taken.
    Returns bool[M]: rows of Cluster.pods that are lost pods."""
    deleted = np.zeros(len(cluster.pods.names), dtype=np.bool_)
    rows = _snapshot_rows(cluster, namespace)
    pods, fixed, names = cluster.pods, state.fixed, cluster.resource_names
    for pod in lost:
        row, node = rows.get(pod.name, -1), pod.index
        if row < 0 or node < 0 or int(pods.node[row]) != node:
            continue
        deleted[row] = True
        held = (
            int(pods.chips[row]) & int(cluster.total[node]) & ~int(fixed.unhealthy[node]) & ~int(fixed.recovering[node])
        )
        fresh = held & ~int(state.free[node])
        state.free[node] |= np.uint64(fresh)
        if state.list_length[node] >= 0:
            state.list_length[node] += fresh.bit_count()
        if pods.resource[row] >= 0 and names[pods.resource[row]] == state.resource:
            state.idle[node] += pods.request[row]
    for pod in surviving:
        if pod.index >= 0 and pod.name not in rows:
            fresh = pod.chips & int(state.free[pod.index])
            state.take(pod.index, fresh, fresh.bit_count())
    return deleted


def _snapshot_rows(cluster: Cluster, namespace: str) -> dict[str, int]:
    """Name -> row of the pods of a namespace that are bound and not finished."""
    pods = cluster.pods
    active = pods.active.tolist()
    return {
        name: i
        for i, (name, ns) in enumerate(zip(pods.names, pods.namespaces, strict=True))
        if ns == namespace and active[i]
    }


def _former_pods(entries: Any, cluster: Cluster) -> list[FormerPod]:
    if not isinstance(entries, Sequence) or isinstance(entries, str) or not entries:
        raise FaultError("the previous placement lists no pods")
    pods = [_former_pod(entry, i, cluster) for i, entry in enumerate(entries)]
    seen: set[str] = set()
    for i, pod in enumerate(pods):
        if pod.name and pod.name in seen:
            raise FaultError(f"pods[{i}]: pod {pod.name} is listed twice")
        seen.add(pod.name)
    return pods


def _former_pod(entry: Any, position: int, cluster: Cluster) -> FormerPod:
    where = f"pods[{position}]"
    if not isinstance(entry, Mapping):
        raise FaultError(f"{where} of the previous placement is not a mapping")
    node, npus, annotations = entry.get("node"), entry.get("npus") or (), entry.get("annotations") or {}
    if not isinstance(node, str) or not node:
        raise FaultError(f"{where}.node of the previous placement is missing or not a text")
    if not isinstance(annotations, Mapping):
        raise FaultError(f"{where}.annotations of the previous placement is not a mapping")
    if isinstance(npus, str) or not isinstance(npus, Sequence):
        raise FaultError(f"{where}.npus of the previous placement is not a list")
    if not {type(chip) for chip in npus} <= {int} or not all(0 <= chip < 64 for chip in npus):
        raise FaultError(f"{where}.npus of the previous placement must list chip ids from 0 to 63")
    return FormerPod(
        name=str(entry.get("name") or ""),
        role=str(entry.get("role") or ""),
        rank=_count(entry.get("rank", position), f"{where}.rank"),
        node=node,
        index=cluster.index.get(node, -1),
        npus=tuple(npus),
        annotations={str(key): str(value) for key, value in annotations.items()},
    )


def _count(value: Any, where: str) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or value < 0:
        raise FaultError(f"{where} is {value!r}, expected a whole number from 0")
    return value


def _names(value: Any, where: str) -> tuple[str, ...]:
    if isinstance(value, str) or not isinstance(value, Sequence) or not all(isinstance(name, str) for name in value):
        raise FaultError(f"{where} of the previous placement is not a list of node names")
    return tuple(value)
