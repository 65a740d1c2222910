"""What every pod-by-pod loop shares: score adjustments and the choice of one node (chapter 10 §2.7, §11)."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from ascendctl.engine.fault import Fault, FormerPod
from ascendctl.engine.kernels.take_best import REFUSED
from ascendctl.engine.request import Request
from ascendctl.engine.result import Placement, Unschedulable
from ascendctl.engine.running import own_rows
from ascendctl.engine.scores import Scores, final_scores, penalties
from ascendctl.engine.state import new_state
from ascendctl.snapshot.cluster import Cluster

NO_STOP = REFUSED
"""`stop` of policies that score every candidate."""


@dataclass(frozen=True)
class Adjustments:
    """What changes the policy's scores. `penalty` int64[N] is taken off each node, down to 0: 1 on a sub-healthy node,
    64 on a node where a pod of the job failed. `home`: rank -> node where the pod of that rank ran before; `known`
    bool[N]: nodes in `home`; both empty unless prefer-previous-node is on. `failed`: ranks of pods that failed."""

    penalty: Scores
    home: Mapping[int, int] = field(default_factory=dict)
    known: NDArray[np.bool_] | None = None
    failed: frozenset[int] = frozenset()


def adjustments(request: Request, fault: Fault | None = None) -> Adjustments:
    """The adjustments for a job, fresh or after a fault."""
    cluster = request.cluster
    lost = () if fault is None else fault.fault_pods
    penalty = penalties(cluster, (pod.index for pod in lost if pod.index >= 0))
    failed = frozenset(pod.rank for pod in lost)
    if not request.config.prefer_previous_node or request.selection.superpod_job or request.selection.switch:
        return Adjustments(penalty, failed=failed)
    home = _former(request, fault)
    known = np.zeros(cluster.size, dtype=np.bool_)
    known[list(home.values())] = True
    return Adjustments(penalty, home, known, failed)


def _former(request: Request, fault: Fault | None) -> dict[int, int]:
    """Rank -> node of the earlier pods: of the placement before a fault, else of the job's pods in the snapshot."""
    if fault is not None:
        return {pod.rank: pod.index for pod in fault.pods if pod.index >= 0}
    pods = request.cluster.pods
    rows = np.flatnonzero(own_rows(request.cluster, request.job).pods & (pods.rank >= 0))
    return dict(zip(pods.rank[rows].tolist(), pods.node[rows].tolist(), strict=True))


def kept_and_lost(fault: Fault) -> tuple[dict[str, FormerPod], list[FormerPod]]:
    """Pods that keep their nodes, by name, and the others: at pod level those on broken or missing nodes, else all."""
    kept = {p.name: p for p in fault.pods if fault.kind == "pod" and p.node not in fault.faulty_names and p.index >= 0}
    return kept, [p for p in fault.pods if p.name not in kept]


def attempts(
    request: Request, fault: Fault, run: Callable[[Request, Fault], Placement | Unschedulable]
) -> Placement | Unschedulable:
    """Recover at the level that the fault names; "auto": first the pods of broken nodes alone, then the whole job."""
    if fault.kind != "auto":
        return run(request, fault)
    result = run(request, replace(fault, kind="pod"))
    if isinstance(result, Placement):
        return result
    fresh = replace(request, state=new_state(request.cluster, request.job.resource))
    note = f"the lost pods alone cannot be placed ({result.code}): the whole job starts again"
    return run(replace(fresh, notes=(*request.notes, note)), replace(fault, kind="job"))


def seen_scores(raw: Scores, stop: int) -> Scores:
    """Raw scores as the scheduler leaves them. With `stop` it ends scoring at the first candidate that reaches it (A3):
    the later ones keep 0."""
    exact = np.flatnonzero(raw == stop)
    if stop == NO_STOP or not len(exact):
        return raw
    seen: Scores = raw.copy()
    later = seen[exact[0] + 1 :]
    later[later != REFUSED] = 0
    return seen


def choose(raw: Scores, stop: int, rank: int, adjust: Adjustments) -> int:
    """Index of the node that the pod of one rank takes, -1 = none. `raw` int64[N], REFUSED = not a candidate.

    The best node after all adjustments, the first one if several are equally good. With former nodes: the pod's own,
    else the best node that no pod of the job used, else the best one; a failed pod leaves its own node.
    """
    seen = seen_scores(raw, stop)
    if adjust.known is not None and adjust.home:
        own = adjust.home.get(rank, -1)
        own = own if own >= 0 and raw[own] != REFUSED else -1
        if own >= 0 and rank not in adjust.failed:
            return own
        other = best(np.where(adjust.known, REFUSED, seen))
        if other >= 0:
            return other
        if own >= 0:
            return own
        if rank not in adjust.failed:
            return best(seen)
    return best(final_scores(seen, adjust.penalty))


def best(scores: Scores) -> int:
    """Index of the first best node, -1 if no node is a candidate."""
    if not len(scores):
        return -1
    node = int(np.argmax(scores))
    return node if scores[node] != REFUSED else -1


def shared_nodes(cluster: Cluster, nodes: list[int]) -> tuple[str, ...]:
    """Names of nodes that occur more than once, in natural order."""
    counts = np.bincount(np.array(nodes, dtype=np.int64))
    return tuple(cluster.names[i] for i in np.flatnonzero(counts > 1).tolist())
