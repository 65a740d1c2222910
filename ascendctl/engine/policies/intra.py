"""Policies that work inside one node: pods one after the other in rank order, each on the node that is best at its turn
(chapter 10 §2.6 to §2.8, §6; chapter 11.6 to 11.13). Also jobs that no policy places: static vNPUs, pods without NPUs.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby

import numpy as np
from numpy.typing import NDArray

from ascendctl.engine.fault import Fault, FormerPod, settle
from ascendctl.engine.finish import placed, refused
from ascendctl.engine.kube import Exclusion, excluded_nodes, own_exclusions
from ascendctl.engine.policies.intra_turn import Turn, offer, seat
from ascendctl.engine.predicate import refuse
from ascendctl.engine.request import Request
from ascendctl.engine.result import Placement, Unschedulable
from ascendctl.engine.scores import best_scores, final_scores
from ascendctl.engine.state import State, new_state
from ascendctl.engine.turns import NO_STOP, Adjustments, adjustments, attempts, seen_scores, shared_nodes
from ascendctl.engine.wired import dies, mesh
from ascendctl.engine.wirings import WIRINGS
from ascendctl.manifest.job import Job
from ascendctl.snapshot.cluster import Cluster
from ascendctl.validate.rule import Violation
from ascendctl.validate.rules import counts, inference
from ascendctl.wellknown import DUO_CARD, DUO_LABEL, HOSTNAME, NPU

NO_NODE_INTERNAL_TRAFFIC = ("chip1-node8", "chip1-node16", "chip4-node8", "chip4-node16", "chip8-node8")


def check(job: Job, cluster: Cluster, request: Request) -> list[Violation]:
    """The scheduler's count checks of the policy."""
    policy = request.selection.policy
    return inference.check(job, policy) if policy in inference.LIMITS else counts.check(job, policy)


def place(job: Job, cluster: Cluster, request: Request) -> Placement | Unschedulable:
    """All pods of a new job, or none."""
    return _run(request, range(len(job.pods)), adjustments(request), _Seats.empty(len(job.pods)))


def reschedule(job: Job, cluster: Cluster, request: Request, fault: Fault) -> Placement | Unschedulable:
    """The pods that a fault deleted: those of broken nodes if the fault is at pod level, else all. The others keep
    their nodes and chips."""
    return attempts(request, fault, _restart)


def _restart(request: Request, fault: Fault) -> Placement | Unschedulable:
    job, cluster = request.job, request.cluster
    positions = {pod.name: i for i, pod in enumerate(job.pods)}
    seats = _Seats.empty(len(job.pods))
    kept: list[FormerPod] = []
    lost: list[FormerPod] = []
    for pod in fault.pods:
        stays = fault.kind == "pod" and pod.node not in fault.faulty_names and pod.index >= 0 and pod.name in positions
        (kept if stays else lost).append(pod)
    for pod in kept:
        seats.nodes[positions[pod.name]], seats.chips[positions[pod.name]] = pod.index, pod.npus
    settle(request.state, cluster, job.namespace, lost, kept)
    moving = [i for i, node in enumerate(seats.nodes) if node < 0]
    return _run(request, moving, adjustments(request, fault), seats)


@dataclass
class _Seats:
    """Where the pods sit so far, in the order of Job.pods; node -1 = nowhere yet. `codes` and `scores`: what the first
    pod met."""

    nodes: list[int]
    chips: list[tuple[int, ...]]
    codes: NDArray[np.int16] | None = None
    scores: tuple[tuple[str, int], ...] = ()

    @classmethod
    def empty(cls, pods: int) -> _Seats:
        return cls([-1] * pods, [()] * pods)


def _run(request: Request, positions: Sequence[int], adjust: Adjustments, seats: _Seats) -> Placement | Unschedulable:
    job, cluster = request.job, request.cluster
    exclusions = own_exclusions(job)
    states = {request.state.resource: request.state}
    for pods in _turns(job, positions, exclusions):
        turn = _turn(request, pods[0], states, seats, exclusions)
        first = offer(turn)
        if seats.codes is None:
            final = final_scores(seen_scores(first.raw, turn.stop), adjust.penalty)
            seats.codes, seats.scores = first.codes, best_scores(cluster, final)
        ranks = tuple(job.pods[i].rank for i in pods)
        done = 0
        for i, (node, chips) in zip(pods, seat(turn, ranks, first, adjust, request.compiled), strict=False):
            seats.nodes[i], seats.chips[i] = node, chips
            done += 1
        if done < len(pods):
            failed = job.pods[pods[done]]
            turn = _turn(request, pods[done], states, seats, exclusions)
            message = f"no node for pod {failed.name} (rank {failed.rank})"
            return refused(request, "NodePredicateFailed", message, offer(turn).codes, notes=_notes(request, seats))
    moving = set(positions)
    return placed(
        request,
        seats.nodes,
        seats.chips,
        seats.codes,
        moved=[i in moving for i in range(len(job.pods))],
        scores=seats.scores,
        notes=_notes(request, seats),
    )


def _turns(job: Job, positions: Sequence[int], exclusions: Sequence[Exclusion]) -> Iterator[tuple[int, ...]]:
    """Runs of pods of one role; single pods where pods of the role keep off groups of nodes that others of it use."""
    apart = {e.first for e in exclusions if e.first == e.second and e.topology_key != HOSTNAME}
    for role, group in groupby(positions, key=lambda i: job.pods[i].role):
        pods = tuple(group)
        yield from ((i,) for i in pods) if role in apart else (pods,)


def _turn(request: Request, pod: int, states: dict[str, State], seats: _Seats, exclusions: Sequence[Exclusion]) -> Turn:
    """The turn that starts with a pod (position in Job.pods), as the nodes are now."""
    job, cluster, policy = request.job, request.cluster, request.selection.policy
    role = job.pods[pod].role
    asked = job.roles[role]
    resource = asked.resource or job.resource
    if resource not in states:
        states[resource] = new_state(cluster, resource)
    wiring, label = WIRINGS.get(policy) if asked.is_npu else None, None
    if policy == "duo-chip":
        label = ~cluster.labels.column(DUO_LABEL).equals(DUO_CARD)
        if job.labels.get("distributed") == "true":
            wiring = WIRINGS["duo-chip-distributed"] if asked.is_npu else None
    fixed, blocked = request.fixed_codes(role), _blocked(request, pod, seats, exclusions)
    if blocked is not None:
        fixed = fixed.copy()
        refuse(fixed, blocked, "POD_AFFINITY")
    apart = any(e.first == e.second == role for e in exclusions)
    early = wiring is not None and wiring.rule == "dies" and request.config.a3_early_stop
    stop = dies.EXACT if early else NO_STOP
    return Turn(asked, job.distributed, wiring, states[resource], fixed, label, apart, stop)


def _blocked(request: Request, pod: int, seats: _Seats, exclusions: Sequence[Exclusion]) -> NDArray[np.bool_] | None:
    """bool[N]: nodes that the job's own anti-affinity closes to a pod; None if it closes none."""
    job, role = request.job, request.job.pods[pod].role
    flags = None
    for exclusion in exclusions:
        taken = [n for i, n in enumerate(seats.nodes) if n >= 0 and job.pods[i].role == exclusion.second]
        if exclusion.first == role and taken:
            closed = excluded_nodes(request.cluster, np.array(taken, dtype=np.int64), exclusion.topology_key)
            flags = closed if flags is None else flags | closed
    return flags


def _notes(request: Request, seats: _Seats) -> list[str]:
    job, policy, notes = request.job, request.selection.policy, []
    counts_asked = sorted({role.npus for role in job.roles if role.is_npu})
    if policy in ("chip4-node8", "chip4-node16"):
        loose = [str(n) for n in counts_asked if not mesh.in_meshes(n)]
        if loose:
            notes.append(f"{', '.join(loose)} NPUs per pod: no affinity to meshes of 4 is guaranteed")
    if policy == "duo-chip" and job.labels.get("distributed") != "true":
        notes.append("without label distributed=true a pod may be split over half cards, and nodes are not ranked")
    nodes = [n for i, n in enumerate(seats.nodes) if n >= 0 and job.roles[job.pods[i].role].is_npu]
    shared = shared_nodes(request.cluster, nodes)
    if shared and job.distributed and (policy in NO_NODE_INTERNAL_TRAFFIC and job.resource == NPU):
        notes.append(
            f"several pods of the job share {', '.join(shared[:3])}{' ...' if len(shared) > 3 else ''}: collective "
            "communication between pods on one node is not supported; a podAntiAffinity keeps them apart"
        )
    return notes
