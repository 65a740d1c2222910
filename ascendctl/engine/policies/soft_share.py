"""Soft sharing: each pod gets a share of one chip's cores and memory (chapter 11.15)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Final

import numpy as np
from numpy.typing import NDArray

from ascendctl.engine.chips import list_codes
from ascendctl.engine.fault import Fault, FormerPod, settle
from ascendctl.engine.finish import placed, refused
from ascendctl.engine.kernels.take_best import REFUSED
from ascendctl.engine.predicate import ACCEPTED, refuse, resource_codes
from ascendctl.engine.request import Request
from ascendctl.engine.result import Placement, Unschedulable
from ascendctl.engine.running import own_rows
from ascendctl.engine.scores import best_scores, final_scores
from ascendctl.engine.soft_nodes import WHOLE, soft_pods
from ascendctl.engine.state import State, usable
from ascendctl.engine.turns import NO_STOP, Adjustments, adjustments, attempts, choose, kept_and_lost
from ascendctl.engine.wirings import WIRINGS
from ascendctl.manifest.job import Job, Role, parse_go_int
from ascendctl.snapshot.cluster import Cluster
from ascendctl.validate.rule import Violation
from ascendctl.validate.rules import soft_share as rules
from ascendctl.wellknown import SOFT_SHARE

SCORE_UNIT: Final = 16
UNUSED: Final = -1
Counts = NDArray[np.int64]
Flags = NDArray[np.bool_]


def check(job: Job, cluster: Cluster, request: Request) -> list[Violation]:
    """The scheduler's validation of the quota labels."""
    return rules.check(job)


@dataclass(frozen=True)
class Quota:
    """What one pod takes of a chip: percent of its cores, MB of its memory; `sharing` is the index of its policy."""

    cores: int
    memory: int
    sharing: int


@dataclass(frozen=True)
class Shares:
    """What soft pods use. Per node and chip, [N, W]: `cores` in percent, `memory` in MB, `sharing` policy (UNUSED = no
    soft pod on the chip). Per node, [N]: `limit`, the memory of a chip in MB (0 = unknown); `enabled`: soft sharing is
    on; `roomy`: all pods of the job fit on the node together."""

    cores: Counts
    memory: Counts
    sharing: Counts
    limit: Counts
    enabled: Flags
    roomy: Flags

    def at(self, node: int) -> Shares:
        """Views of the arrays at one node only."""
        return Shares(*(getattr(self, field.name)[node : node + 1] for field in fields(self)))


def place(job: Job, cluster: Cluster, request: Request) -> Placement | Unschedulable:
    """All pods of a new job, or none."""
    return _run(request, adjustments(request), {}, np.zeros(len(cluster.pods.names), dtype=np.bool_))


def reschedule(job: Job, cluster: Cluster, request: Request, fault: Fault) -> Placement | Unschedulable:
    """The pods that a fault deleted; at pod level the others keep their nodes and chips."""
    return attempts(request, fault, _restart)


def _restart(request: Request, fault: Fault) -> Placement | Unschedulable:
    kept, lost = kept_and_lost(fault)
    gone = settle(request.state, request.cluster, request.job.namespace, lost, ())
    return _run(request, adjustments(request, fault), kept, gone)


def _run(
    request: Request, adjust: Adjustments, kept: Mapping[str, FormerPod], gone: NDArray[np.bool_]
) -> Placement | Unschedulable:
    """Pods in rank order; of each role what the nodes offer, kept up to date at the nodes that pods take."""
    job, cluster, state = request.job, request.cluster, request.state
    quota = quota_of(job)
    shares = _shares(request, quota, gone)
    nodes = [kept[pod.name].index if pod.name in kept else -1 for pod in job.pods]
    chips = [kept[pod.name].npus if pod.name in kept else () for pod in job.pods]
    in_snapshot = {cluster.pods.names[row] for row in np.flatnonzero(own_rows(cluster, job).pods).tolist()}
    for i, pod in enumerate(job.pods):
        if pod.name in kept and pod.name not in in_snapshot:
            _book(state, shares, nodes[i], chips[i], pod.npus, quota)
    codes: NDArray[np.int16] | None = None
    scores: tuple[tuple[str, int], ...] = ()
    offers: dict[int, tuple[NDArray[np.int16], Counts]] = {}
    for i, pod in enumerate(job.pods):
        if nodes[i] >= 0:
            continue
        role = job.roles[pod.role]
        if pod.role not in offers:
            offers[pod.role] = _offer(role, request.fixed_codes(pod.role), state, shares, quota)
        offered, raw = offers[pod.role]
        if codes is None:
            codes, scores = offered.copy(), best_scores(cluster, final_scores(raw, adjust.penalty))
        node = choose(raw, NO_STOP, pod.rank, adjust)
        if node < 0:
            message = f"no node for pod {pod.name} (rank {pod.rank})"
            return refused(request, "NodePredicateFailed", message, offered)
        nodes[i] = node
        if role.is_npu:
            chips[i] = (_pick(state, shares, node, quota),)
            _book(state, shares, node, chips[i], role.npus, quota)
            for other, (its_codes, its_raw) in offers.items():
                fixed = request.fixed_codes(other)[node : node + 1]
                again = _offer(job.roles[other], fixed, state.at(node), shares.at(node), quota)
                its_codes[node], its_raw[node] = again[0][0], again[1][0]
    written = {key: job.labels[key] for key in rules.KEYS}
    return placed(
        request,
        nodes,
        chips,
        codes,
        annotations=[written if job.roles[pod.role].is_npu else {} for pod in job.pods],
        moved=[pod.name not in kept for pod in job.pods],
        scores=scores,
    )


def quota_of(job: Job) -> Quota:
    """The quota labels of a job that passed `check`."""
    cores, memory = parse_go_int(job.labels[rules.CORES]), parse_go_int(job.labels[rules.MEMORY])
    return Quota(cores or 0, memory or 0, rules.SHARING_POLICIES.index(job.labels[rules.SHARING]))


def _shares(request: Request, quota: Quota, gone: Flags) -> Shares:
    """Used quota of every chip, from the annotations of the snapshot's pods without the job's deleted ones."""
    cluster, state, own = request.cluster, request.state, own_rows(request.cluster, request.job).pods
    used = [pod for pod in soft_pods(cluster, state.resource) if not gone[pod.row]]
    listed = int(np.bitwise_or.reduce(state.free, initial=0)).bit_length()
    width = max([1, listed, *(pod.chip + 1 for pod in used)])
    shape = (cluster.size, width)
    cores, memory, sharing = np.zeros(shape, np.int64), np.zeros(shape, np.int64), np.full(shape, UNUSED, np.int64)
    others = cores.copy(), memory.copy(), sharing.copy()
    for pod in used:
        at = pod.node, pod.chip
        for part in ((cores, memory, sharing),) if own[pod.row] else ((cores, memory, sharing), others):
            part[0][at] += pod.cores
            part[1][at] += pod.memory
            part[2][at] = pod.sharing
    limit = cluster.chip_memory_mb.astype(np.int64)
    counted = _listed(state, width) & ((others[2] == UNUSED) | (others[2] == quota.sharing))
    room_cores = np.sum(np.where(counted, _whole(WHOLE - others[0], quota.cores), 0), axis=1)
    room_memory = np.sum(np.where(counted, _whole(limit[:, None] - others[1], quota.memory), 0), axis=1)
    count = request.job.npu_pod_count
    roomy = (quota.cores * count <= room_cores) & (quota.memory * count <= room_memory)
    return Shares(cores, memory, sharing, limit, cluster.soft_share, roomy)


def _whole(amount: Counts, part: int) -> Counts:
    """The largest multiple of `part` in an amount, rounded towards zero as integer division in Go does."""
    whole: Counts = np.sign(amount) * (np.abs(amount) // part) * part
    return whole


def _listed(state: State, width: int) -> Flags:
    """bool[N, W]: chips in the free list."""
    masks = usable(state, False, False)[:, None]
    flags: Flags = (masks >> np.arange(width, dtype=np.uint64)) & np.uint64(1) != 0
    return flags


def _offer(
    role: Role, fixed: NDArray[np.int16], state: State, shares: Shares, quota: Quota
) -> tuple[NDArray[np.int16], Counts]:
    """(codes, raw scores) of nodes for a pod of the role; REFUSED = not a candidate."""
    codes = fixed.copy()
    resource_codes(codes, state, role)
    if not role.is_npu:
        return codes, np.where(codes == ACCEPTED, 0, REFUSED)
    refuse(codes, ~shares.enabled, "E_SOFT_LABEL")
    list_codes(WIRINGS[SOFT_SHARE], state, False, codes)
    refuse(codes, shares.limit <= 0, "E_SOFT_MEM")
    refuse(codes, ~shares.roomy, "E_SOFT_NODE_TOTAL")
    free = _listed(state, shares.cores.shape[1])
    refuse(codes, np.asarray(~_takes(free, shares, quota).any(axis=1)), "E_SOFT_NO_CHIP")
    in_use = shares.sharing != UNUSED
    fitting = free & in_use & _has_room(shares, quota)
    best = np.max(np.where(fitting, WHOLE + shares.cores + quota.cores, -1), axis=1)
    chips_in_use = np.sum(in_use, axis=1)
    raw = SCORE_UNIT * np.where(chips_in_use == 0, 0, np.where(best >= 0, best, chips_in_use))
    return codes, np.where(codes == ACCEPTED, raw, REFUSED)


def _has_room(shares: Shares, quota: Quota) -> Flags:
    room: Flags = (shares.cores <= WHOLE - quota.cores) & (shares.memory <= shares.limit[:, None] - quota.memory)
    return room


def _takes(free: Flags, shares: Shares, quota: Quota) -> Flags:
    """bool[N, W]: chips that can take the pod: unused ones, and used ones of the same sharing policy with room."""
    alike = (shares.sharing == UNUSED) | (shares.sharing == quota.sharing)
    takes: Flags = free & alike & _has_room(shares, quota)
    return takes


def _pick(state: State, shares: Shares, node: int, quota: Quota) -> int:
    """The chip of a node that the pod gets: the fullest one of the same policy, else the lowest unused one."""
    here = shares.at(node)
    takes = _takes(_listed(state.at(node), shares.cores.shape[1]), here, quota)[0]
    in_use = here.sharing[0] != UNUSED
    shared = np.where(takes & in_use, here.cores[0], -1)
    return int(np.argmax(shared)) if (takes & in_use).any() else int(np.argmax(takes))


def _book(state: State, shares: Shares, node: int, chips: tuple[int, ...], percent: int, quota: Quota) -> None:
    """Count a pod on a chip. The free list does not shrink: a chip stays listed until the device plugin has confirmed
    its pods."""
    for chip in chips:
        if chip < shares.cores.shape[1]:
            shares.cores[node, chip] += quota.cores
            shares.memory[node, chip] += quota.memory
            shares.sharing[node, chip] = quota.sharing
    state.idle[node] -= percent
