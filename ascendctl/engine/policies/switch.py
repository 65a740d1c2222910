"""Switch affinity: jobs labelled tor-affinity below leaf switches (chapter 23).

The policy of the job's NPUs says which nodes and chips fit; this one says which of these nodes the pods take, in which
order, and what is annotated. Its scores replace those of the NPU policy.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from importlib import import_module
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ascendctl.engine.chips import chip_order, pick_masks
from ascendctl.engine.fault import Fault, settle
from ascendctl.engine.finish import refused
from ascendctl.engine.policies.superpod_levels import missing_label
from ascendctl.engine.policies.switch_leaves import Leaves, Plan
from ascendctl.engine.policies.switch_restart import (
    BLACK_LISTED,
    NO_FILLER_ROOM,
    NO_ROOM,
    Listing,
    black_list,
    enabled_slice,
    list_v1,
    list_v2,
    refused_v1,
)
from ascendctl.engine.policies.switch_result import LEAF_SCORE, SHARED_SCORE, Choice, placement, remarks
from ascendctl.engine.policies.switch_scene import SINGLE_LAYER, V1, V2, Scene, after_fault
from ascendctl.engine.policies.switch_single import plan_single
from ascendctl.engine.policies.switch_v1 import plan_v1
from ascendctl.engine.policies.switch_v2 import plan_v2
from ascendctl.engine.predicate import ACCEPTED, refuse
from ascendctl.engine.request import Request
from ascendctl.engine.result import Placement, Unschedulable
from ascendctl.engine.state import new_state, usable
from ascendctl.engine.turns import attempts
from ascendctl.manifest.job import Job
from ascendctl.snapshot.cluster import Cluster
from ascendctl.topology.leaf import LeafTopology
from ascendctl.topology.leaf_states import SHARED
from ascendctl.validate.rule import Violation
from ascendctl.validate.rules.switch import check as check_rules

Result = Placement | Unschedulable

NO_NODE = "NodePredicateFailed"
LEFT_OUT = "label tor-affinity was left out: switch affinity is made for whole NPUs of training and A2 nodes"


def check(job: Job, cluster: Cluster, request: Request) -> list[Violation]:
    """The scheduler's job validation (§10.1); it comes after that of the NPU policy."""
    return check_rules(job, cluster.leaves is not None)


def place(job: Job, cluster: Cluster, request: Request) -> Result:
    """Place all pods of a job that has none yet."""
    if not request.selection.whole_chips:
        return _noted(_own_policy(request).place(job, cluster, request), LEFT_OUT)
    notes: tuple[str, ...] = ()
    if request.selection.superpod_job:  # where that policy finds no plan, the switch policy is not asked (§3.1)
        alone = replace(request, state=new_state(cluster, job.resource))
        first: Result = _own_policy(request).place(job, cluster, alone)
        if not isinstance(first, Placement):
            return first
        notes = (f"policy {request.selection.policy} planned the job too, but the switch policy overrides its nodes",)
    return _solve(Scene(replace(request, notes=(*request.notes, *notes)), _topology(cluster)))


def reschedule(job: Job, cluster: Cluster, request: Request, fault: Fault) -> Result:
    """Place the pods that a fault took (§9). A fault of kind "auto" first replaces the pods of the broken nodes; if
    that fails, the whole job starts again."""
    if not request.selection.whole_chips:
        return _noted(_own_policy(request).reschedule(job, cluster, request, fault), LEFT_OUT)
    result, unlabelled = attempts(request, fault, _restart), missing_label(job)
    return _noted(result, unlabelled) if unlabelled else result


def _own_policy(request: Request) -> Any:
    return import_module(f"ascendctl.engine.policies.{request.selection.module}")


def _topology(cluster: Cluster) -> LeafTopology:
    if cluster.leaves is None:
        raise ValueError("switch affinity without a leaf topology: job validation refuses such jobs")
    return cluster.leaves


def _noted(result: Result, note: str) -> Result:
    return replace(result, trace=replace(result.trace, notes=(*result.trace.notes, note)))


def _restart(request: Request, fault: Fault) -> Result:
    scene = after_fault(request, _topology(request.cluster), fault)
    lost = [pod for i, pod in scene.former.items() if i not in scene.kept]
    settle(request.state, request.cluster, request.job.namespace, lost, scene.kept.values())
    return _solve(scene)


def _solve(scene: Scene) -> Result:
    waiting = [i for i in scene.waiting if scene.is_npu(i)]
    if not waiting:
        nothing = np.zeros(0, dtype=np.int64)
        return _finish(scene, Choice(Plan(), {}, nothing, nothing), None)
    codes = _codes(scene, waiting[0])
    if not (codes == ACCEPTED).any():
        message = f"no node passes the checks for pod {scene.job.pods[waiting[0]].name}"
        return refused(scene.request, NO_NODE, message, codes, notes=remarks(scene))
    choice = _choose(scene, scene.leaves(codes), codes, waiting)
    plan = choice.plan
    if plan.code:
        message = plan.steps[-1][0] if plan.steps else plan.code
        return refused(scene.request, plan.code, message, codes, steps=plan.steps,
                       notes=(*remarks(scene), *plan.notes))  # fmt: skip
    return _finish(scene, choice, codes)


def _codes(scene: Scene, position: int) -> NDArray[np.int16]:
    """int16[N]: refusals that a waiting pod meets, the switch rules included (§9, §10.3)."""
    codes = scene.chip_codes(position)
    if scene.version == V1 and not scene.whole:
        slice_id = enabled_slice(scene.remaining, scene.topology.tor_count, scene.request.config.restart_fewest_slice)
        for where, text in refused_v1(scene.topology, scene.server, scene.kind, slice_id, scene.use.crossed):
            refuse(codes, where, text)
    elif scene.version == V2 and not scene.whole:
        closed = black_list(scene.remaining, scene.states.shared, scene.limit)
        refuse(codes, np.append(closed[scene.topology.server_leaf], False)[scene.server], BLACK_LISTED)
    return scene.hold(codes)


def _choose(scene: Scene, leaves: Leaves, codes: NDArray[np.int16], waiting: Sequence[int]) -> Choice:
    width, kind = scene.topology.tor_count, scene.kind
    if scene.version == SINGLE_LAYER:
        return _choose_single(scene, leaves, waiting)
    if scene.version == V1:
        if scene.whole:
            blocked = scene.use.crossed & ~(scene.use.only_normal & (kind == "normal"))
            return _by_rank(scene, plan_v1(leaves, width, scene.scheduling, kind, blocked), waiting)
        slice_id = enabled_slice(scene.remaining, width, scene.request.config.restart_fewest_slice)
        return _by_listing(scene, list_v1(leaves, scene.remaining, slice_id), codes, waiting)
    if scene.whole and scene.scheduling == scene.job.npu_pod_count:
        plan = plan_v2(leaves, width, scene.limit, scene.scheduling, kind, scene.use.large_crossed)
        return _by_rank(scene, plan, waiting)
    if scene.whole:
        text = "2.0 takes a job with pods without NPUs for one whose lost pods come back, and finds no leaf it uses"
        plan = Plan(code=NO_FILLER_ROOM if kind == "filler" else NO_ROOM, steps=((text, {}),))
        return _by_rank(scene, plan, waiting)
    minus = np.append(scene.minus, 0)[leaves.topology.server_node]
    listing = list_v2(leaves, scene.remaining, scene.limit, scene.scheduling, kind, minus)
    return _by_listing(scene, listing, codes, waiting, open_end=True)


def _choose_single(scene: Scene, leaves: Leaves, waiting: Sequence[int]) -> Choice:
    free_choice = scene.request.config.restart_any_leaf
    only = scene.remaining.used if scene.remaining.used.any() and not free_choice else None
    width, npu_pods = scene.topology.tor_count, scene.job.npu_pod_count
    plan = plan_single(leaves, width, scene.scheduling, npu_pods, only)
    if scene.whole or scene.scheduling < 0 or free_choice:
        return _by_rank(scene, plan, waiting)
    note = (
        "lost pods stay below the leaf switch of the others; the scheduler itself takes the leaf switch that fits best"
    )
    nodes = scene.topology.server_node[plan.servers].astype(np.int64)
    exact = dict(zip(waiting, nodes.tolist(), strict=False))
    return Choice(plan, exact, nodes, np.full(len(nodes), LEAF_SCORE), leaves=1, notes=(note,))


def _by_rank(scene: Scene, plan: Plan, waiting: Sequence[int]) -> Choice:
    """Server number r takes the pod of rank r (§8.1); the other listed nodes score less, all others 0 (§8.2)."""
    nodes = scene.topology.server_node[plan.servers].astype(np.int64)
    exact = {i: int(nodes[scene.job.pods[i].rank]) for i in waiting if scene.job.pods[i].rank < len(nodes)}
    leaf = scene.topology.server_leaf[plan.servers]
    several = len(set(leaf.tolist())) > 1
    shared = np.zeros(len(nodes), dtype=np.bool_) if plan.state is None else (plan.state[leaf] == SHARED) & several
    scores = np.where(shared, SHARED_SCORE, LEAF_SCORE).astype(np.int64)
    order = np.lexsort((nodes, -np.maximum(scores - scene.minus[nodes], 0)))
    return Choice(plan, exact, nodes[order], scores[order], True, len(plan.groups), by_rank=True)


def _by_listing(
    scene: Scene, listing: Listing, codes: NDArray[np.int16], waiting: Sequence[int], open_end: bool = False
) -> Choice:
    """The former node first where it is listed, then the best listed one (§9.1, §9.2)."""
    nodes = scene.topology.server_node[listing.servers].astype(np.int64)
    known = set(nodes.tolist())
    exact = {i: scene.former[i].index for i in waiting if i in scene.former and scene.former[i].index in known}
    return Choice(listing.plan, exact, nodes, listing.scores, open_end, listing.leaves)


def _finish(scene: Scene, choice: Choice, codes: NDArray[np.int16] | None) -> Result:
    """Give every waiting pod its node and chips, in rank order."""
    job, request = scene.job, scene.request
    nodes, chips = [-1] * len(job.pods), [()] * len(job.pods)  # type: list[int], list[tuple[int, ...]]
    taken = scene.held.copy()
    accepted: dict[int, NDArray[np.bool_]] = {}
    free = usable(request.state, job.distributed, request.wiring.network_aware)
    picked: dict[int, NDArray[np.uint64]] = {}
    for i, spec in enumerate(job.pods):
        if i in scene.kept:
            nodes[i], chips[i] = scene.kept[i].index, scene.kept[i].npus
            continue
        if spec.role not in accepted:
            found = _codes(scene, i) if scene.is_npu(i) else request.codes_for(spec.role)
            accepted[spec.role] = found == ACCEPTED
        fits = accepted[spec.role] & ~taken if scene.is_npu(i) else accepted[spec.role]
        node = _pick(scene, choice, i, fits)
        if node < 0:
            message = f"no node is left for pod {spec.name}"
            return refused(request, NO_NODE, message, codes, steps=choice.plan.steps,
                           notes=(*remarks(scene), *choice.plan.notes))  # fmt: skip
        nodes[i] = node
        if scene.is_npu(i):
            if spec.npus not in picked:  # every pod has a node of its own, so one look at all nodes is enough
                picked[spec.npus] = pick_masks(request.wiring, request.state, spec.npus, job.distributed)
            mask = int(picked[spec.npus][node])
            if mask.bit_count() == spec.npus:
                chips[i] = chip_order(request.wiring, spec.npus, job.distributed, int(free[node]), mask)
            taken[node] = True
    return placement(scene, choice, codes, nodes, chips)


def _pick(scene: Scene, choice: Choice, position: int, fits: NDArray[np.bool_]) -> int:
    """The node of a pod among those that fit it, -1 if there is none."""
    node = choice.exact.get(position, -1)
    if node >= 0 and fits[node]:
        return node
    if scene.is_npu(position):
        listed = choice.listed[fits[choice.listed]]
        if listed.size or not choice.open_end:
            return int(listed[0]) if listed.size else -1
    rest = np.flatnonzero(fits)
    return int(rest[0]) if rest.size else -1
