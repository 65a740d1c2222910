"""Logical SuperPoDs: chip2-node16-sp, chip2-node8-sp and chip8-node8-sp (chapter 20)."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from ascendctl.engine.fault import Fault
from ascendctl.engine.finish import placed, refused
from ascendctl.engine.policies.superpod_plan import Plan
from ascendctl.engine.policies.superpod_scene import Scene, make_scene, narrow, pick, plan_path, remarks, unfit_pod
from ascendctl.engine.predicate import ACCEPTED
from ascendctl.engine.request import Request
from ascendctl.engine.result import Placement, Unschedulable
from ascendctl.engine.scores import PLANNED, WEIGHT
from ascendctl.manifest.job import Job
from ascendctl.snapshot.cluster import Cluster
from ascendctl.validate.rule import Violation
from ascendctl.wellknown import BATCH, SUPER_POD_ID, SUPER_POD_RANK


def check(job: Job, cluster: Cluster, request: Request) -> list[Violation]:
    """The scheduler's validation of the job, shared with `validate`."""
    from ascendctl.validate.rules.superpod import check as rules

    return rules(job, cluster.config, request.selection.policy)


def place(job: Job, cluster: Cluster, request: Request) -> Placement | Unschedulable:
    """Plan the whole job at once and put its pods on the planned nodes in rank order."""
    scene = make_scene(request, request.state, len(job.pods), npu_role(job))
    mask, reject = narrow(scene)
    plan = Plan(reject=reject) if reject else plan_path(scene, mask)
    plan.notes[:0] = remarks(request)
    if plan.reject:
        return refused(request, *plan.reject, scene.codes, steps=plan.steps, notes=plan.notes)
    note_batch(scene, plan)
    nodes = dict(zip(job.npu_positions, sequence(plan), strict=False))
    return finish(scene, plan, nodes, locate(plan))


def reschedule(job: Job, cluster: Cluster, request: Request, fault: Fault) -> Placement | Unschedulable:
    """Where the pods go after a fault (chapter 20 §9)."""
    from ascendctl.engine.policies.superpod_recover import recover

    return recover(request, fault)


def npu_role(job: Job) -> int:
    """Index of the first role whose pods ask for NPUs."""
    return next(i for i, role in enumerate(job.roles) if role.is_npu and role.replicas)


def sequence(plan: Plan) -> list[int]:
    """Nodes of a plan in rank order: logical SuperPoDs by id, each in its own order."""
    return [node for lsp in sorted(plan.blocks) for node in plan.blocks[lsp]]


def note_batch(scene: Scene, plan: Plan) -> None:
    """Batch scoring takes rank // S for the logical SuperPoD, which is wrong behind a fragment."""
    demand = scene.demand
    lengths = [len(plan.blocks[lsp]) for lsp in sorted(plan.blocks)][:-1]
    batch = scene.request.job.labels.get(BATCH) == "true" and not demand.shape.atlas_850
    if batch and any(length != demand.shape.size for length in lengths):
        plan.notes.append(
            f"label {BATCH} with fragments: the reference scheduler takes all logical SuperPoDs for equally long and "
            "may call this plan not ready"
        )


def locate(plan: Plan) -> dict[int, int]:
    """Node -> logical SuperPoD of a plan."""
    return {node: lsp for lsp, nodes in plan.blocks.items() for node in nodes}


def finish(
    scene: Scene,
    plan: Plan,
    nodes: Mapping[int, int],
    blocks: Mapping[int, int],
    kept: Mapping[int, tuple[int, ...]] | None = None,
    others: Mapping[int, int] | None = None,
    before: Mapping[int, int] | None = None,
) -> Placement | Unschedulable:
    """The result; pods go by their index in Job.pods.

    `nodes`: pod -> node for the pods with NPUs; `blocks`: node -> logical SuperPoD; `kept`: chips of the pods that stay
    as they are; `others`: pod -> node for pods without NPUs that stay; `before`: pod -> node before a fault.
    """
    request, job, kept = scene.request, scene.request.job, kept or {}
    fresh = {i: node for i, node in nodes.items() if i not in kept}
    problem = unfit_pod(scene, fresh)
    if problem:
        return refused(request, "INCOMPLETE_PLAN", problem, scene.codes, steps=plan.steps, notes=plan.notes)
    chips = dict(kept)
    for npus in {job.pods[i].npus for i in fresh}:
        same = [i for i in fresh if job.pods[i].npus == npus]
        chips.update(zip(same, pick(scene, [fresh[i] for i in same], npus), strict=True))
    homes = dict(nodes) | dict(others or {})
    for number in sorted({pod.role for i, pod in enumerate(job.pods) if i not in homes}):
        codes = request.codes_for(number, scene.state)
        first = int(np.argmax(codes == ACCEPTED))
        if codes[first] != ACCEPTED:
            text = f"no node can take the pods of role {job.roles[number].name}, which ask for no NPUs"
            return refused(request, "NodePredicateFailed", text, codes, steps=plan.steps, notes=plan.notes)
        homes |= {i: first for i, pod in enumerate(job.pods) if pod.role == number and i not in homes}
    members: dict[int, list[str]] = {}
    for i in sorted(nodes):
        members.setdefault(blocks[nodes[i]], []).append(scene.names[nodes[i]])
    leader = min(fresh, default=-1)
    order = range(len(job.pods))
    return placed(
        request,
        [homes[i] for i in order],
        [chips.get(i, ()) for i in order],
        scene.codes,
        annotations=[_annotations(scene, blocks, nodes[i]) if i in nodes else {} for i in order],
        groups=[str(blocks[nodes[i]]) if i in nodes else "" for i in order],
        blocks={str(lsp): tuple(members[lsp]) for lsp in sorted(members)},
        moved=None if before is None else [homes[i] != before.get(i) for i in order],
        metrics={
            "logicalSuperPods": len(members),
            "superPods": len({int(scene.superpod[node]) for node in nodes.values()}),
        },
        scores=((scene.names[fresh[leader]], _score(scene, leader, fresh[leader])),) if fresh else (),
        steps=plan.steps,
        notes=plan.notes,
    )


def _annotations(scene: Scene, blocks: Mapping[int, int], node: int) -> dict[str, str]:
    return {SUPER_POD_RANK: str(blocks[node]), SUPER_POD_ID: str(int(scene.superpod[node]))}


def _score(scene: Scene, pod: int, node: int) -> int:
    """Final score of a pod's planned node; every other node has 0 (chapter 20 §7.2)."""
    request = scene.request
    batch = request.job.labels.get(BATCH) == "true" and not scene.demand.shape.atlas_850
    raw = PLANNED - (request.job.pods[pod].rank if batch else 0)
    return WEIGHT * (raw - int(request.cluster.sub_healthy[node]))
