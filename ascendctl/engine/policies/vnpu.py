"""Dynamic vNPU: each pod gets a slice of one chip by template, or whole chips (chapter 11.14.3)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ascendctl.engine.fault import Fault, FormerPod, settle
from ascendctl.engine.finish import placed, refused
from ascendctl.engine.kernels.take_best import REFUSED
from ascendctl.engine.kube import offering_nodes
from ascendctl.engine.predicate import ACCEPTED, refuse, resource_codes
from ascendctl.engine.request import Request
from ascendctl.engine.result import Placement, Unschedulable
from ascendctl.engine.running import own_rows
from ascendctl.engine.scores import best_scores, final_scores
from ascendctl.engine.state import State
from ascendctl.engine.turns import NO_STOP, Adjustments, adjustments, attempts, choose, kept_and_lost
from ascendctl.engine.vnpu_nodes import (
    KEYS,
    NONE,
    TEMPLATE_NAMES,
    VIDEO_FREE,
    VIDEO_TAKEN,
    VirtualNodes,
    add_pending,
    book,
    key_of,
    node_kinds,
    parse_cut,
    virtual_nodes,
)
from ascendctl.engine.vnpu_templates import (
    CHIP_310P,
    DVPP,
    TEMPLATES,
    Template,
    downgraded,
    name_of,
    template_for,
)
from ascendctl.manifest.job import Job, Role
from ascendctl.snapshot.cluster import Cluster
from ascendctl.snapshot.columns import distinct
from ascendctl.validate.rule import Violation
from ascendctl.validate.rules import vnpu as rules
from ascendctl.wellknown import NPU_CORE

LEVEL, VIDEO = "vnpu-level", "vnpu-dvpp"
FIRST, NEXT = 16, 8
Codes = NDArray[np.int16]
Flags = NDArray[np.bool_]
Ints = NDArray[np.int64]


def check(job: Job, cluster: Cluster, request: Request) -> list[Violation]:
    """The scheduler's validation of core counts and labels."""
    return rules.check(job, cluster.config, template_keys(job, cluster))


def template_keys(job: Job, cluster: Cluster) -> tuple[str, ...]:
    """Template keys of the nodes that offer AI cores and that Kubernetes lets the job's pods on, sorted. Nodes that no
    template is made for count only where there are no others."""
    if NPU_CORE not in cluster.resources:
        return ()
    role = next((role for role in job.roles if role.is_npu), job.roles[0])
    kinds = zip(node_kinds(cluster), offering_nodes(role, cluster, NPU_CORE).tolist(), strict=True)
    keys = {key_of(*kind) for kind, here in kinds if here} - {""}
    return tuple(sorted(keys & set(KEYS) or keys))


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


@dataclass(frozen=True)
class Demand:
    """What a pod of one role asks of every node, [N]: `cores`, `cpus`, `video` (index of DVPP), `whole` chips or a
    slice, `template` (index of TEMPLATE_NAMES, NONE). `small_cpus`, `small_template`: the downgraded form, 0 and NONE
    where there is none. `unknown`: the request turns into no template."""

    cores: Ints
    cpus: Ints
    video: Ints
    whole: Flags
    template: Ints
    small_cpus: Ints
    small_template: Ints
    unknown: Flags

    def at(self, node: int) -> Demand:
        """Views of the arrays at one node only."""
        here = slice(node, node + 1)
        return Demand(
            self.cores[here], self.cpus[here], self.video[here], self.whole[here], self.template[here],
            self.small_cpus[here], self.small_template[here], self.unknown[here],
        )  # fmt: skip


@dataclass(frozen=True)
class Offer:
    """What the nodes say to a pod, [N]: refusals, and where it is downgraded; a node that refuses it even so is
    remembered too, which changes the scores of the others."""

    codes: Codes
    small: Flags


def _run(
    request: Request, adjust: Adjustments, kept: Mapping[str, FormerPod], gone: NDArray[np.bool_]
) -> Placement | Unschedulable:
    """Pods in rank order; of each role what the nodes offer, kept up to date at the nodes that pods take."""
    job, cluster, state = request.job, request.cluster, request.state
    nodes = virtual_nodes(cluster, gone)
    seats = [kept[pod.name].index if pod.name in kept else -1 for pod in job.pods]
    chips = [kept[pod.name].npus if pod.name in kept else () for pod in job.pods]
    written: list[dict[str, str]] = [{} for _ in job.pods]
    in_snapshot = {cluster.pods.names[row] for row in np.flatnonzero(own_rows(cluster, job).pods).tolist()}
    for i, pod in enumerate(job.pods):
        if pod.name in kept and (text := kept[pod.name].annotations.get(NPU_CORE)):
            written[i] = {NPU_CORE: text}
            if pod.name not in in_snapshot:
                _hold(state, nodes, seats[i], text, pod.npus)
    demands: dict[int, Demand] = {}
    offers: dict[int, Offer] = {}
    codes: Codes | None = None
    scores: tuple[tuple[str, int], ...] = ()
    for i, pod in enumerate(job.pods):
        if seats[i] >= 0:
            continue
        role = job.roles[pod.role]
        if pod.role not in offers:
            demands[pod.role] = demand_of(role, nodes)
            offers[pod.role] = _offer(role, request.fixed_codes(pod.role), state, nodes, demands[pod.role])
        raw = score(offers[pod.role], state.idle)
        if codes is None:
            codes, scores = offers[pod.role].codes.copy(), best_scores(cluster, final_scores(raw, adjust.penalty))
        node = choose(raw, NO_STOP, pod.rank, adjust)
        if node < 0:
            message = f"no node for pod {pod.name} (rank {pod.rank})"
            return refused(request, "NodePredicateFailed", message, offers[pod.role].codes)
        seats[i] = node
        small = bool(offers[pod.role].small[node])
        chips[i], text = _take(state, nodes, node, demands[pod.role].at(node), small, role.npus)
        written[i] = {NPU_CORE: text}
        for other in offers:
            fixed = request.fixed_codes(other)[node : node + 1]
            again = _offer(job.roles[other], fixed, state.at(node), nodes.at(node), demands[other].at(node))
            offers[other].codes[node], offers[other].small[node] = again.codes[0], again.small[0]
    moved = [pod.name not in kept for pod in job.pods]
    return placed(request, seats, chips, codes, annotations=written, moved=moved, scores=scores)


def demand_of(role: Role, nodes: VirtualNodes) -> Demand:
    """What a pod of the role asks of each node (chapter 11.14.3 C)."""
    level, video = role.labels.get(LEVEL, "low"), role.labels.get(VIDEO, "null")
    size = len(nodes.key)
    demand = Demand(
        np.full(size, role.npus, np.int64), np.zeros(size, np.int64), np.full(size, DVPP.index("null"), np.int64),
        (nodes.chip_cores > 0) & (role.npus % np.maximum(nodes.chip_cores, 1) == 0), np.full(size, NONE, np.int64),
        np.zeros(size, np.int64), np.full(size, NONE, np.int64), np.zeros(size, np.bool_),
    )  # fmt: skip
    chips = nodes.total_cores // np.maximum(nodes.chip_cores, 1)
    whole_cpus = role.npus * nodes.chip_cpus * chips // np.maximum(nodes.total_cores, 1)
    demand.cpus[:] = np.where(demand.whole, whole_cpus, 0)
    for key in distinct(nodes.key).tolist():
        here = (nodes.key == key) & ~demand.whole
        name = template_for(KEYS[key], role.npus, level, video) if key != NONE and video in DVPP else None
        if name is None:
            demand.unknown[here] = True
            continue
        template = TEMPLATES[KEYS[key]][name]
        demand.cpus[here], demand.video[here] = template.cpus, DVPP.index(template.dvpp)
        demand.template[here] = TEMPLATE_NAMES.index(name)
        small = downgraded(KEYS[key], template)
        if small is not None:
            demand.small_cpus[here] = small.cpus
            demand.small_template[here] = _template_number(KEYS[key], small)
    return demand


def _template_number(key: str, template: Template) -> int:
    name = name_of(key, template)
    return NONE if name is None else TEMPLATE_NAMES.index(name)


def fits(nodes: VirtualNodes, cores: Ints, cpus: Ints, video: Ints) -> Flags:
    """bool[N, W]: chips that can take so much, [N] each; `video` is an index of DVPP."""
    room = nodes.present & (nodes.cores >= cores[:, None]) & (nodes.cpus >= cpus[:, None])
    is_310p = (nodes.key == KEYS.index(CHIP_310P))[:, None]
    crowded = ((nodes.groups == 3) & (cores >= 4)[:, None]) | ((nodes.groups == 4) & (cores >= 2)[:, None])
    wants, shares = (video == DVPP.index("yes"))[:, None], (video == DVPP.index("null"))[:, None]
    video_ok = (~wants | (nodes.video == VIDEO_FREE)) & (~shares | (nodes.video != VIDEO_TAKEN))
    flags: Flags = room & ~(is_310p & nodes.cut & crowded) & video_ok
    return flags


def _enough(nodes: VirtualNodes, demand: Demand, cpus: Ints) -> Flags:
    """bool[N]: the node as a whole and one of its chips, or enough uncut chips, can take the demand."""
    total: Flags = np.sum(np.where(nodes.present, nodes.cores, 0), axis=1) >= demand.cores
    total &= np.sum(np.where(nodes.present, nodes.cpus, 0), axis=1) >= cpus
    uncut = np.sum(nodes.present & ~nodes.cut & (nodes.cores != 0), axis=1)
    chips = demand.cores // np.maximum(nodes.chip_cores, 1) <= uncut
    slices = (fits(nodes, demand.cores, cpus, demand.video) & ~nodes.unstable).any(axis=1)
    total &= np.where(demand.whole, chips, slices)
    return total


def _offer(role: Role, fixed: Codes, state: State, nodes: VirtualNodes, demand: Demand) -> Offer:
    """Refusals of the nodes for a pod of the role (chapter 11.14.3 C, D)."""
    codes = fixed.copy()
    resource_codes(codes, state, role)
    refuse(codes, nodes.total_cores == 0, "E_VNODE_INVALID")
    refuse(codes, demand.unknown, "E_VNPU_TEMPLATE")
    refuse(codes, ~nodes.valid, "E_VNODE_INVALID")
    enough = _enough(nodes, demand, demand.cpus)
    small = (codes == ACCEPTED) & ~enough & (demand.small_template != NONE)
    refuse(codes, ~enough & ~(small & _enough(nodes, demand, demand.small_cpus)), "E_VNPU_SHORT")
    template = np.where(small, demand.small_template, demand.template)
    refuse(codes, (nodes.pending != NONE) & ((nodes.pending != template) | (template == NONE)), "E_VNPU_PENDING")
    return Offer(codes, small)


def score(offer: Offer, idle: NDArray[np.int32]) -> Ints:
    """int64[N]: the node with the fewest idle cores comes first; if the pod would be downgraded somewhere, the first
    one where it would not (chapter 11.14.3 E). REFUSED = not a candidate."""
    accepted = offer.codes == ACCEPTED
    raw: Ints = np.where(accepted, np.int64(0), np.int64(REFUSED))
    candidates = np.flatnonzero(accepted)
    if not len(candidates):
        return raw
    order = candidates[np.argsort(idle[candidates], kind="stable")]
    small = offer.small[order]
    if not offer.small.any():
        raw[order[0]] = NEXT
        return raw
    before = len(order) if small.all() else int(np.argmin(small))
    raw[order[:before]] = NEXT
    raw[order[before : before + 1]] = FIRST
    return raw


def _take(
    state: State, nodes: VirtualNodes, node: int, demand: Demand, small: bool, cores: int
) -> tuple[tuple[int, ...], str]:
    """Chips and annotation text of a pod on a node, booked: the chip with the least left that fits, or whole chips."""
    here = nodes.at(node)
    state.idle[node] -= cores
    if demand.whole[0]:
        count = int(demand.cores[0] // here.chip_cores[0])
        fitting = fits(here, here.chip_cores, demand.cpus // count, demand.video)[0] & ~here.cut[0]
        chips = tuple(_fullest_first(here, fitting)[:count])
        for chip in chips:
            book(nodes, node, chip, None, whole_shares_video=True)
        return chips, ",".join(map(str, chips))
    cpus = demand.small_cpus if small else demand.cpus
    fitting = fits(here, demand.cores, cpus, demand.video)[0] & ~here.unstable[0]
    chip = _fullest_first(here, fitting)[0]
    name = TEMPLATE_NAMES[int((demand.small_template if small else demand.template)[0])]
    book(nodes, node, chip, name)
    add_pending(nodes, node, name)
    return (chip,), f"{chip}-{name}"


def _hold(state: State, nodes: VirtualNodes, node: int, text: str, cores: int) -> None:
    """Count a pod that keeps its place but is not in the snapshot."""
    state.idle[node] -= cores
    chips, template = parse_cut(text)
    for chip in chips:
        if chip < nodes.present.shape[1] and nodes.present[node, chip]:
            book(nodes, node, chip, template)
    if template is not None:
        add_pending(nodes, node, template)


def _fullest_first(here: VirtualNodes, fitting: Flags) -> list[int]:
    chips: list[int] = np.flatnonzero(fitting).tolist()
    return sorted(chips, key=lambda chip: (int(here.cores[0, chip]), int(here.cpus[0, chip]), chip))
