"""Rescheduling of a super-pod job: who is scheduled again, what stays, where the rest goes (chapter 20 §9)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from ascendctl.engine.fault import Fault, FormerPod, settle
from ascendctl.engine.finish import refused
from ascendctl.engine.policies.superpod import finish, locate, note_batch, ranked_pods, sequence
from ascendctl.engine.policies.superpod_fault import Loss, OldPlan, Recovery, fault_stage, repair_in_place
from ascendctl.engine.policies.superpod_levels import HEALTHY_GRACE, levels_of, lost_pods, missing_label, waited_for
from ascendctl.engine.policies.superpod_plan import Plan, gather, plan_queues
from ascendctl.engine.policies.superpod_scene import ATLAS_850, Scene, make_scene, narrow, path_of, plan_path
from ascendctl.engine.request import Request
from ascendctl.engine.result import Placement, Unschedulable
from ascendctl.engine.state import new_state
from ascendctl.manifest.job import parse_go_int
from ascendctl.snapshot.cluster import NODE_UNHEALTHY, PRE_SEPARATE

RANK, HOME = "super-pod-rank", "super-pod-id"


@dataclass(frozen=True)
class Attempt:
    """One attempt at one level. `order`: indices of Job.pods with NPUs in rank order; `former`: what ran for each of
    them, by the same index; `lost`: indices that are scheduled again, `broken`: those of them on broken nodes; `home`:
    index -> logical SuperPoD before the fault; `old`: the earlier plan; `helpers`: pods without NPUs -> their node, -1
    if it broke."""

    request: Request
    fault: Fault
    level: str
    order: tuple[int, ...]
    former: Mapping[int, FormerPod]
    lost: frozenset[int]
    broken: frozenset[int]
    home: Mapping[int, int]
    old: OldPlan
    helpers: Mapping[int, int]
    notes: list[str] = field(default_factory=list)

    @property
    def surviving(self) -> list[int]:
        """Indices of the pods that stay, in rank order."""
        return [i for i in self.order if i not in self.lost]


def recover(request: Request, fault: Fault) -> Placement | Unschedulable:
    """Plan at the level of the fault; with level "auto" at the first level that works."""
    levels = levels_of(request.job, fault) if fault.kind == "auto" else (fault.kind,)
    for level in levels:
        attempt = _make_attempt(request, fault, level)
        if fault.kind == "auto":
            attempt.notes.append(f"{level} level, reached {waited_for(level)}")
        result = _run(attempt)
        if isinstance(result, Placement):
            return result
    return result


def _make_attempt(request: Request, fault: Fault, level: str) -> Attempt:
    job = request.job
    order = tuple(ranked_pods(job))
    by_name = {pod.name: pod for pod in fault.pods if pod.name}
    by_rank = {pod.rank: pod for pod in fault.pods if pod.npus or len(fault.pods) == len(order)}
    former = {}
    for i in order:
        pod = by_name.get(job.pods[i].name) or by_rank.get(job.pods[i].rank)
        if pod is not None:
            former[i] = pod
    helpers = {
        i: -1 if (old := by_name[pod.name]).node in fault.faulty_names else old.index
        for i, pod in enumerate(job.pods)
        if i not in former and pod.name in by_name
    }
    size = max(1, job.sp_block // request.wiring.max_node)
    home = _former_blocks(order, former, fault, size)
    broken = frozenset(
        i for i in order if i not in former or former[i].node in fault.faulty_names or former[i].index < 0
    )
    lost = lost_pods(level, order, broken, home)
    attempt = Attempt(
        request, fault, level, order, former, lost, broken, home, _old_plan(request, order, former, home), helpers
    )
    if (missing := missing_label(job)) and broken:
        attempt.notes.append(missing)
    return attempt


def _former_blocks(order: Sequence[int], former: Mapping[int, FormerPod], fault: Fault, size: int) -> dict[int, int]:
    """Index -> logical SuperPoD: annotation super-pod-rank, else the blocks of the result, else position // S."""
    listed = {node: number for key, nodes in fault.blocks.items() for node in nodes if (number := _id(key)) is not None}
    home = {}
    for position, i in enumerate(order):
        pod = former.get(i)
        number = _id(pod.annotations.get(RANK, "")) if pod else None
        if number is None and pod:
            number = listed.get(pod.node)
        home[i] = position // size if number is None else number
    return home


def _id(text: str) -> int | None:
    number = parse_go_int(text)
    return number if number is not None and number >= 0 else None


def _old_plan(
    request: Request, order: Sequence[int], former: Mapping[int, FormerPod], home: Mapping[int, int]
) -> OldPlan:
    """Nodes by logical SuperPoD in rank order; a node that is gone gets a negative number of its own."""
    blocks: dict[int, list[int]] = {}
    superpods: dict[int, int] = {}
    for i in order:
        pod, lsp = former.get(i), home[i]
        here = pod is not None and pod.index >= 0
        blocks.setdefault(lsp, []).append(pod.index if pod is not None and here else -1 - i)
        told = parse_go_int(pod.annotations.get(HOME, "")) if pod else None
        known = int(request.cluster.superpod[pod.index]) if pod is not None and here else told
        if known is not None:
            superpods.setdefault(lsp, known)
    return OldPlan({lsp: tuple(blocks[lsp]) for lsp in sorted(blocks)}, {lsp: superpods.get(lsp, -1) for lsp in blocks})


def _run(attempt: Attempt) -> Placement | Unschedulable:
    request, job = attempt.request, attempt.request.job
    state = new_state(request.cluster, job.resource)
    former = attempt.former
    gone, stay = (
        [former[i] for i in attempt.order if i in attempt.lost and i in former],
        [former[i] for i in attempt.surviving],
    )
    switching = _hot_switch(attempt)
    settle(state, request.cluster, job.namespace, () if switching else gone, stay)
    pending = len(job.pods) if len(attempt.lost) == len(attempt.order) else len(attempt.lost)
    first = min(attempt.lost, default=attempt.order[0])
    scene = make_scene(request, state, pending, job.pods[first].role)
    if not attempt.lost:
        plan = Plan(dict(attempt.old.blocks), notes=["no pod of the job ran on the broken nodes: nothing moves"])
        return _finish(attempt, scene, plan, {})
    if switching:
        return _switch_over(attempt, scene)
    mask, reject = narrow(scene)
    if reject:
        return refused(request, *reject, scene.codes, notes=attempt.notes)
    if not attempt.broken:
        return _restart(attempt, scene, mask)
    if path_of(request) != "queues":
        return _without_stage(attempt, scene, mask)
    return _with_stage(attempt, scene, mask)


def _with_stage(attempt: Attempt, scene: Scene, mask: NDArray[np.bool_]) -> Placement | Unschedulable:
    """Fault stage, then the queues for what is not ready; at pod level corrected so that no running pod moves."""
    candidates = gather(mask, scene.superpod, None)
    pools = {superpod: pool.tolist() for superpod, pool in zip(candidates.ids, candidates.pools, strict=True)}
    loss = _loss(attempt, scene)
    recovery = fault_stage(attempt.old, loss, pools, scene.demand.shape.size, scene.names)
    if recovery.reject:
        return refused(scene.request, *recovery.reject, scene.codes, steps=recovery.steps, notes=attempt.notes)
    plan = _fill(scene, recovery, attempt)
    nodes = _by_rank(attempt, plan) if plan.reject is None else None
    if nodes is not None:
        return _finish(attempt, scene, plan, nodes)
    if not attempt.surviving:
        return _refuse(attempt, scene, plan)
    corrected = repair_in_place(attempt.old, loss, pools, scene.names)
    if corrected is None:
        if plan.reject is None:
            lsps = sorted({attempt.home[i] for i in attempt.lost} & {attempt.home[i] for i in attempt.surviving})
            text = f"logical SuperPoDs {', '.join(map(str, lsps))} have running pods, but no free nodes beside them"
            plan.reject = ("UNSCHEDULABLE_IN_SUPERPOD", text)
        return _refuse(attempt, scene, plan)
    second = _fill(scene, corrected, attempt)
    if second.reject:
        return _refuse(attempt, scene, second)
    attempt.notes.append(
        "several logical SuperPoDs lost single pods: the reference scheduler spends a whole block of spares on one of "
        "them and may refuse the job or split a logical SuperPoD; here lost pods stay in the SuperPoD of their peers"
    )
    return _finish(attempt, scene, second, _in_place(attempt, second))


def _loss(attempt: Attempt, scene: Scene) -> Loss:
    nodes = {
        i: node
        for lsp in attempt.old.blocks
        for i, node in zip(_members(attempt, lsp), attempt.old.blocks[lsp], strict=True)
    }
    job, fault, demand = attempt.request.job, attempt.fault, scene.demand
    pod_level = demand.pending != demand.pods
    if attempt.request.selection.policy == ATLAS_850:
        on = job.labels.get("pod-rescheduling") == "on" and fault.pending_sessions < 12
        pod_level = on or job.labels.get("process-recover-enable") == "on"
    return Loss(
        fault=frozenset(nodes[i] for i in attempt.broken),
        lost=frozenset(nodes[i] for i in attempt.lost),
        pending=demand.pending,
        pod_level=pod_level,
        released=fault.waited_seconds is None or fault.waited_seconds > HEALTHY_GRACE,
    )


def _members(attempt: Attempt, lsp: int) -> list[int]:
    return [i for i in attempt.order if attempt.home[i] == lsp]


def _fill(scene: Scene, recovery: Recovery, attempt: Attempt) -> Plan:
    """Place the logical SuperPoDs that are not ready on the candidates that are left."""
    mask = np.zeros(scene.request.cluster.size, dtype=np.bool_)
    mask[[node for nodes in recovery.left.values() for node in nodes]] = True
    known = sorted({*range(scene.demand.blocks), *attempt.old.blocks})
    if recovery.plan.keys() >= set(known) and sum(map(len, recovery.plan.values())) >= scene.demand.nodes:
        return Plan(dict(recovery.plan), list(recovery.steps))
    candidates = gather(mask, scene.superpod, scene.request.cluster.sub_healthy)
    plan = plan_queues(candidates, scene.demand, recovery.plan, known, scene.names)
    plan.steps[:0] = recovery.steps
    return plan


def _by_rank(attempt: Attempt, plan: Plan) -> dict[int, int] | None:
    """Index -> node as the reference scores pods: the rank counts through the logical SuperPoDs. None if a lost pod
    would not land on a free node in the SuperPoD of its running peers."""
    nodes = {i: node for i, node in zip(attempt.order, sequence(plan), strict=False) if i in attempt.lost}
    superpod = attempt.request.cluster.superpod
    running = {attempt.home[i] for i in attempt.surviving}
    occupied = {attempt.former[i].index for i in attempt.surviving}
    for i, node in nodes.items():
        beside = attempt.home[i] not in running or int(superpod[node]) == attempt.old.home[attempt.home[i]]
        if node < 0 or node in occupied or not beside:
            return None
    return nodes if len(nodes) == len(attempt.lost) else None


def _in_place(attempt: Attempt, plan: Plan) -> dict[int, int]:
    """Index -> node by position in the logical SuperPoD; pods of those that were lost whole take the new ones in
    order."""
    running = {attempt.home[i] for i in attempt.surviving}
    nodes, homeless = {}, []
    for lsp in attempt.old.blocks:
        members = _members(attempt, lsp)
        if lsp in running:
            nodes.update({i: node for i, node in zip(members, plan.blocks[lsp], strict=True) if i in attempt.lost})
        else:
            homeless += members
    fresh = (node for lsp in sorted(plan.blocks) if lsp not in running for node in plan.blocks[lsp])
    return nodes | dict(zip(sorted(homeless), fresh, strict=False))


def _restart(attempt: Attempt, scene: Scene, mask: NDArray[np.bool_]) -> Placement | Unschedulable:
    """No fault: the stored plan is used again if all its nodes are free, else the job is planned anew."""
    config = attempt.request.config
    nodes = {i: attempt.former[i].index for i in attempt.order}
    if (config.prefer_previous_node or not config.given) and all(mask[node] for node in nodes.values()):
        plan = Plan(
            dict(attempt.old.blocks), notes=["no fault and every node is free again: the earlier plan is reused"]
        )
        return _finish(attempt, scene, plan, nodes)
    plan = plan_path(scene, mask)
    if plan.reject:
        return _refuse(attempt, scene, plan)
    return _finish(attempt, scene, plan, _by_rank(attempt, plan) or {})


def _without_stage(attempt: Attempt, scene: Scene, mask: NDArray[np.bool_]) -> Placement | Unschedulable:
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


def _hot_switch(attempt: Attempt) -> bool:
    """True if backup pods start while their sources still run on sub-healthy nodes (chapter 20 §9.6)."""
    job, cluster = attempt.request.job, attempt.request.cluster
    if (
        job.sub_healthy_strategy != "hotSwitch"
        or attempt.level != "pod"
        or attempt.request.selection.policy == ATLAS_850
    ):
        return False
    running = {(cluster.pods.names[row], int(cluster.pods.node[row])) for row in np.flatnonzero(cluster.pods.active)}
    return all(
        (pod := attempt.former.get(i)) is not None
        and (pod.name, pod.index) in running
        and bool(cluster.sub_healthy[pod.index])
        and not int(cluster.health[pod.index]) & (NODE_UNHEALTHY | PRE_SEPARATE)
        for i in attempt.lost
    )


def _switch_over(attempt: Attempt, scene: Scene) -> Placement | Unschedulable:
    """Every backup pod takes the first free node in the SuperPoD of its source; running ranks stay."""
    free = scene.mask.copy()
    plan, nodes = Plan(dict(attempt.old.blocks)), {}
    for i in sorted(attempt.lost):
        superpod, lsp = attempt.old.home[attempt.home[i]], attempt.home[i]
        spare = np.flatnonzero(free & (scene.superpod == superpod))
        if not len(spare):
            plan.reject = ("UNSCHEDULABLE_IN_SUPERPOD", f"SuperPoD {superpod} has no free node for a backup pod")
            return _refuse(attempt, scene, plan)
        node = nodes[i] = int(spare[0])
        free[node] = False
        source = attempt.former[i].index
        plan.blocks[lsp] = tuple(node if old == source else old for old in plan.blocks[lsp])
        text = f"hot switch: {scene.names[source]} -> {scene.names[node]} in SuperPoD {superpod}"
        plan.steps.append((text, {"stage": "hot switch", "lsp": lsp, "superpod": superpod}))
    return _finish(attempt, scene, plan, nodes)


def _finish(attempt: Attempt, scene: Scene, plan: Plan, fresh: Mapping[int, int]) -> Placement | Unschedulable:
    """Lost pods on new nodes, the others where they are."""
    former, job = attempt.former, attempt.request.job
    nodes = {
        i: fresh[i] if i in attempt.lost else former[i].index
        for i in attempt.order
        if i in fresh or i not in attempt.lost
    }
    if len(nodes) < len(attempt.order):
        plan.reject = ("INCOMPLETE_PLAN", f"the plan covers {len(nodes)} of {len(attempt.order)} pods")
        return _refuse(attempt, scene, plan)
    blocks = locate(plan) | {former[i].index: attempt.home[i] for i in attempt.surviving}
    lengths = [len(block) for _, block in sorted(attempt.old.blocks.items())]
    if not attempt.surviving and [len(plan.blocks[lsp]) for lsp in sorted(plan.blocks)] != lengths:
        plan.notes.append("logical SuperPoDs changed their length: ranks behind them shift")
    note_batch(scene, plan)
    moving = sum(nodes[i] != former[i].index for i in attempt.order if i in former)
    text = (
        f"{len(attempt.lost)} of {len(attempt.order)} pods are scheduled again ({attempt.level} level), {moving} move"
    )
    ranks = [job.pods[i].rank for i in sorted(attempt.lost)]
    plan.steps.insert(0, (text, {"stage": "level", "ranks": ranks, "moving": moving}))
    plan.notes[:0] = attempt.notes
    kept = {i: former[i].npus for i in attempt.surviving}
    before = {i: pod.index for i, pod in former.items()} | dict(attempt.helpers)
    others = {} if attempt.level == "job" else {i: node for i, node in attempt.helpers.items() if node >= 0}
    return finish(scene, plan, nodes, blocks, kept, others, before)


def _refuse(attempt: Attempt, scene: Scene, plan: Plan) -> Unschedulable:
    code, message = plan.reject or ("INCOMPLETE_PLAN", "the plan does not cover every pod")
    return refused(attempt.request, code, message, scene.codes, steps=plan.steps, notes=(*attempt.notes, *plan.notes))
