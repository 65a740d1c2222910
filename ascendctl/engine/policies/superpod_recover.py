"""Rescheduling of a super-pod job: what stays, what moves, and where to (chapter 20 §9)."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from ascendctl.engine.fault import Fault, settle
from ascendctl.engine.finish import refused
from ascendctl.engine.policies.superpod import finish, locate, note_batch, sequence
from ascendctl.engine.policies.superpod_fault import Loss, Recovery, fault_stage, repair_in_place
from ascendctl.engine.policies.superpod_former import Attempt, is_hot_switch, make_attempt
from ascendctl.engine.policies.superpod_levels import RELEASE_WAIT, escalation, levels_of, reached
from ascendctl.engine.policies.superpod_plan import Plan, gather, plan_queues
from ascendctl.engine.policies.superpod_scene import ATLAS_850, Scene, make_scene, narrow, path_of, plan_path
from ascendctl.engine.request import Request
from ascendctl.engine.result import Placement, Unschedulable
from ascendctl.engine.state import new_state

Mask = NDArray[np.bool_]


def recover(request: Request, fault: Fault) -> Placement | Unschedulable:
    """Plan at the level of the fault; with level "auto" at the first level that works."""
    levels = levels_of(request.job, fault) if fault.kind == "auto" else (fault.kind,)
    for level in levels:
        attempt = make_attempt(request, fault, level)
        if fault.kind == "auto":
            attempt.notes.append(f"{level} level, reached {reached(level)}")
        result = _run(attempt)
        if isinstance(result, Placement):
            return result
    return result


def _run(attempt: Attempt) -> Placement | Unschedulable:
    request, job, former = attempt.request, attempt.request.job, attempt.former
    state = new_state(request.cluster, job.resource)
    switching = is_hot_switch(attempt)
    gone = [] if switching else [former[i] for i in attempt.order if i in attempt.lost and i in former]
    deleted = settle(state, request.cluster, job.namespace, gone, [former[i] for i in attempt.surviving])
    pending = len(job.pods) if len(attempt.lost) == len(attempt.order) else len(attempt.lost)
    first = min(attempt.lost, default=attempt.order[0])
    scene = make_scene(request, state, pending, job.pods[first].role, deleted)
    if not attempt.lost:
        plan = Plan(dict(attempt.old.blocks), notes=["no pod of the job ran on the broken nodes: nothing moves"])
        return _finish(attempt, scene, plan, {})
    if switching:
        return _switch_over(attempt, scene)
    mask, reject = narrow(scene)
    if reject:
        return _refuse(attempt, scene, Plan(reject=reject))
    if not attempt.broken:
        return _restart(attempt, scene, mask)
    if path_of(request) != "queues":
        return _without_stage(attempt, scene, mask)
    return _with_stage(attempt, scene, mask)


def _with_stage(attempt: Attempt, scene: Scene, mask: Mask) -> Placement | Unschedulable:
    """Fault stage, then the queues for what is not ready; at pod level corrected so that no running pod moves."""
    candidates = gather(mask, scene.superpod, None)
    pools = {superpod: pool.tolist() for superpod, pool in zip(candidates.ids, candidates.pools, strict=True)}
    loss = _loss(attempt, scene)
    recovery = fault_stage(attempt.old, loss, pools, scene.demand.shape.size, scene.names)
    if recovery.reject:
        return _refuse(attempt, scene, Plan(steps=recovery.steps, reject=recovery.reject))
    plan = _fill(attempt, scene, recovery)
    nodes = _by_rank(attempt, plan) if plan.reject is None else None
    if nodes is not None:
        planned = dict(zip(attempt.order, sequence(plan), strict=False))
        if any(planned.get(i) != attempt.key[i] for i in attempt.surviving):
            plan.notes.append(
                "the plan that the reference scheduler stores names other nodes for pods that still run; they stay"
            )
        return _finish(attempt, scene, plan, nodes)
    if not attempt.surviving:
        return _refuse(attempt, scene, plan)
    corrected = repair_in_place(attempt.old, loss, pools, scene.names)
    if corrected is None:
        if plan.reject is None:
            split = sorted({attempt.home[i] for i in attempt.lost} & attempt.running)
            text = (
                f"logical SuperPoDs {', '.join(map(str, split))} have running pods, but too few free nodes beside them"
            )
            plan.reject = ("UNSCHEDULABLE_IN_SUPERPOD", text)
        return _refuse(attempt, scene, plan)
    second = _fill(attempt, scene, corrected)
    if second.reject:
        return _refuse(attempt, scene, second)
    attempt.notes.append(
        "several logical SuperPoDs lost single pods: the reference scheduler spends a whole block of spares on one of "
        "them and may refuse the job or split a logical SuperPoD; here lost pods stay in the SuperPoD of their peers"
    )
    return _finish(attempt, scene, second, _in_place(attempt, second))


def _loss(attempt: Attempt, scene: Scene) -> Loss:
    job, fault, demand = attempt.request.job, attempt.fault, scene.demand
    pod_level = demand.pending != demand.pods
    if attempt.request.selection.policy == ATLAS_850:
        on = job.labels.get("pod-rescheduling") == "on" and fault.pending_sessions < 12
        pod_level = on or job.labels.get("process-recover-enable") == "on"
    return Loss(
        fault=frozenset(attempt.key[i] for i in attempt.broken),
        lost=frozenset(attempt.key[i] for i in attempt.lost),
        pending=demand.pending,
        pod_level=pod_level,
        released=fault.waited_seconds is None or fault.waited_seconds > RELEASE_WAIT,
    )


def _fill(attempt: Attempt, scene: Scene, recovery: Recovery) -> Plan:
    """Place the logical SuperPoDs that are not ready on the candidates that are left."""
    known = sorted({*range(scene.demand.blocks), *attempt.old.blocks})
    mask = np.zeros(scene.request.cluster.size, dtype=np.bool_)
    mask[[node for nodes in recovery.left.values() for node in nodes]] = True
    candidates = gather(mask, scene.superpod, scene.request.cluster.sub_healthy)
    plan = plan_queues(candidates, scene.demand, recovery.plan, known, scene.names)
    plan.steps[:0] = recovery.steps
    return plan


def _by_rank(attempt: Attempt, plan: Plan) -> dict[int, int] | None:
    """Pod -> node as the reference scores pods: the rank counts through the logical SuperPoDs. None if a lost pod
    would not land on a free node in the SuperPoD of its running peers."""
    nodes = {i: node for i, node in zip(attempt.order, sequence(plan), strict=False) if i in attempt.lost}
    superpod, running = attempt.request.cluster.superpod, attempt.running
    occupied = {attempt.key[i] for i in attempt.surviving}
    for i, node in nodes.items():
        beside = attempt.home[i] not in running or int(superpod[node]) == attempt.old.home[attempt.home[i]]
        if node < 0 or node in occupied or not beside:
            return None
    return nodes if len(nodes) == len(attempt.lost) else None


def _in_place(attempt: Attempt, plan: Plan) -> dict[int, int]:
    """Pod -> node by position in the logical SuperPoD; pods of those that were lost whole take the new ones in
    order."""
    running = attempt.running
    nodes: dict[int, int] = {}
    homeless: list[int] = []
    for lsp, members in attempt.members.items():
        if lsp in running:
            nodes.update({i: node for i, node in zip(members, plan.blocks[lsp], strict=True) if i in attempt.lost})
        else:
            homeless += members
    fresh = (node for lsp in sorted(plan.blocks) if lsp not in running for node in plan.blocks[lsp])
    return nodes | dict(zip(sorted(homeless), fresh, strict=False))


def _restart(attempt: Attempt, scene: Scene, mask: Mask) -> Placement | Unschedulable:
    """No fault: the stored plan is used again if all its nodes are free, else the job is planned anew."""
    config = attempt.request.config
    if (config.prefer_previous_node or not config.given) and all(mask[node] for node in attempt.key.values()):
        text = "no fault and every node is free again: the earlier plan is reused"
        return _finish(attempt, scene, Plan(dict(attempt.old.blocks), notes=[text]), attempt.key)
    plan = plan_path(scene, mask)
    if plan.reject:
        return _refuse(attempt, scene, plan)
    return _finish(attempt, scene, plan, dict(zip(attempt.order, sequence(plan), strict=False)))


def _without_stage(attempt: Attempt, scene: Scene, mask: Mask) -> Placement | Unschedulable:
    """MindIE and infer-service jobs have no fault stage: lost pods are planned as if the whole job were new."""
    plan = plan_path(scene, mask)
    if attempt.surviving:
        attempt.notes.append(
            "MindIE and infer-service jobs are planned as if they were new: free nodes for the whole job are needed, "
            "and a lost pod may leave the SuperPoD of its peers"
        )
    if plan.reject:
        return _refuse(attempt, scene, plan)
    nodes = {i: node for i, node in zip(attempt.order, sequence(plan), strict=False) if i in attempt.lost}
    return _finish(attempt, scene, plan, nodes)


def _switch_over(attempt: Attempt, scene: Scene) -> Placement | Unschedulable:
    """Every backup pod takes the first free node in the SuperPoD of its source; running ranks stay."""
    free = scene.mask.copy()
    plan, nodes = Plan(dict(attempt.old.blocks)), {}
    for i in sorted(attempt.lost):
        source, lsp = attempt.key[i], attempt.home[i]
        superpod = int(scene.superpod[source])
        spare = np.flatnonzero(free & (scene.superpod == superpod))
        if not len(spare):
            plan.reject = ("UNSCHEDULABLE_IN_SUPERPOD", f"SuperPoD {superpod} has no free node for a backup pod")
            return _refuse(attempt, scene, plan)
        node = nodes[i] = int(spare[0])
        free[node] = False
        plan.blocks[lsp] = tuple(node if old == source else old for old in plan.blocks[lsp])
        text = f"hot switch: {scene.names[source]} -> {scene.names[node]} in SuperPoD {superpod}"
        plan.steps.append((text, {"stage": "hot switch", "lsp": lsp, "superpod": superpod}))
    return _finish(attempt, scene, plan, nodes)


def _finish(attempt: Attempt, scene: Scene, plan: Plan, fresh: Mapping[int, int]) -> Placement | Unschedulable:
    """Lost pods on new nodes, the others where they are."""
    former, lost, job = attempt.former, attempt.lost, attempt.request.job
    nodes = {i: fresh.get(i, -1) if i in lost else attempt.key[i] for i in attempt.order}
    if missing := sum(node < 0 for node in nodes.values()):
        plan.reject = ("INCOMPLETE_PLAN", f"the plan has no node for {missing} of {len(nodes)} pods")
        return _refuse(attempt, scene, plan)
    blocks = locate(plan) | {attempt.key[i]: attempt.home[i] for i in attempt.surviving}
    before = [len(block) for _, block in sorted(attempt.old.blocks.items())]
    if not attempt.surviving and [len(plan.blocks[lsp]) for lsp in sorted(plan.blocks)] != before:
        plan.notes.append("logical SuperPoDs changed their length: ranks behind them shift")
    note_batch(scene, plan)
    moving = sum(nodes[i] != attempt.key[i] for i in attempt.order)
    ranks = [job.pods[i].rank for i in sorted(lost)]
    text = f"{len(lost)} of {len(nodes)} pods are scheduled again ({attempt.level} level), {moving} move"
    plan.steps.insert(0, (text, {"stage": "level", "ranks": ranks, "moving": moving}))
    plan.notes[:0] = attempt.notes
    stay = {} if attempt.level == "job" else {i: node for i, node in attempt.helpers.items() if node >= 0}
    kept = {i: former[i].npus for i in attempt.surviving}
    return finish(scene, plan, nodes, blocks, kept, stay, dict(attempt.key) | dict(attempt.helpers))


def _refuse(attempt: Attempt, scene: Scene, plan: Plan) -> Unschedulable:
    code, message = plan.reject or ("INCOMPLETE_PLAN", "the plan does not cover every pod")
    notes = [*attempt.notes, *plan.notes, *escalation(attempt.request.job, attempt.level)]
    return refused(attempt.request, code, message, scene.codes, steps=plan.steps, notes=notes)
