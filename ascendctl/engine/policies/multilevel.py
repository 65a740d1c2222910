"""Policy `multilevel`: the whole job is planned at once on one tree of node labels (chapter 22).

Every pod takes all usable NPUs of a node. Parts: candidates in `multilevel_context`, shapes and choice of the tree in
`multilevel_plan`, the search of one tree in `multilevel_search`, lost pods in `multilevel_recover`.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ascendctl.engine.fault import Fault, settle
from ascendctl.engine.finish import refused
from ascendctl.engine.policies.multilevel_context import Context, make_context
from ascendctl.engine.policies.multilevel_explain import no_plan_message, plan_steps, recovery_steps
from ascendctl.engine.policies.multilevel_history import make_history, max_escalation
from ascendctl.engine.policies.multilevel_plan import OBJECTIVES, Plan, attempts, plan, shape
from ascendctl.engine.policies.multilevel_recover import Recovery, Situation, recover
from ascendctl.engine.policies.multilevel_result import finish
from ascendctl.engine.predicate import ACCEPTED
from ascendctl.engine.request import Request
from ascendctl.engine.result import Placement, Unschedulable
from ascendctl.engine.state import new_state
from ascendctl.manifest.job import Job
from ascendctl.snapshot.cluster import Cluster
from ascendctl.validate.rule import Violation
from ascendctl.validate.rules import multilevel as rules


def check(job: Job, cluster: Cluster, request: Request) -> list[Violation]:
    """The scheduler's job validation (chapter 22 §3.3); messages are the scheduler's."""
    return [replace(found, message=str(found.values["reference"])) for found in rules.check(job)]


def place(job: Job, cluster: Cluster, request: Request) -> Placement | Unschedulable:
    """Plan the job on the candidate nodes for `request.objective`. Raises ValueError for an unknown objective."""
    if request.objective not in OBJECTIVES:
        raise ValueError(f"objective must be one of {', '.join(OBJECTIVES)}, not {request.objective!r}")
    context = make_context(request)
    codes = context.codes(context.role(0))
    candidates = codes == ACCEPTED
    if _too_few(context, candidates):
        return _not_enough(context, candidates, codes)
    deepest = max((len(tree.levels) for tree in context.trees), default=0)
    tries = attempts(len(context.tasks), context.groups, request.objective, deepest)
    found = plan(context.trees, candidates, tries, context.groups[0], context.ranks)
    steps = plan_steps(found, cluster.names)
    if isinstance(found, Plan):
        metrics = _metrics(found, cluster)
        return finish(context, found.nodes, codes, found.best.tree, request.state, steps=steps, metrics=metrics)
    if found.deep_enough:
        return refused(request, "ML-P03", no_plan_message(found), codes, steps=steps, notes=context.notes)
    message = f"no resource tree found for npu nodes: no tree has the {len(context.groups)} levels of the job"
    return refused(request, "ML-P02", message, codes, steps=steps, notes=context.notes)


def reschedule(job: Job, cluster: Cluster, request: Request, fault: Fault) -> Placement | Unschedulable:
    """Replace the lost pods (chapter 22 §6, §8.7). `fault.max_escalation` says how far the search may give up pods that
    are not lost: see `multilevel_history.max_escalation`. Raises FaultError if it cannot be read."""
    context, pods = make_context(request), fault.pods
    history = make_history(context, fault)
    settle(
        request.state,
        cluster,
        job.namespace,
        [pods[i] for i in history.deleted],
        [pod for i, pod in enumerate(pods) if i not in history.deleted],
    )
    gone = [slot for slot, index in enumerate(history.slots) if index in history.deleted]
    codes = context.codes(context.role(gone[0] if gone else 0))
    candidates = codes == ACCEPTED
    if history.all_deleted and _too_few(context, candidates):
        return _not_enough(context, candidates, codes)
    if -1 in history.slots:
        message = f"the previous placement names no pod with NPUs of rank {history.slots.index(-1)}"
        return refused(request, "ML-R01", message, codes, notes=context.notes)
    former = np.array([history.pod(slot).index for slot in range(len(history.slots))], dtype=np.int32)
    lost = [slot for slot in gone if former[slot] < 0 or not candidates[former[slot]]]
    released = new_state(cluster, job.resource)
    settle(released, cluster, job.namespace, pods, ())
    if not lost:
        home = next((tree for tree in context.trees if tree.complete[former].all()), None)
        text = "every node of the job can be used: the earlier placement stays unchanged"
        unchanged = {"tree": home.name} if home else {}
        return finish(context, former, codes, home, released, steps=[(text, {})], metrics=unchanged, history=history)
    sizes = shape(len(context.tasks), context.groups)
    limit = max_escalation(job, fault, len(sizes), 0 in lost and not _is_worker(context))
    releasable = context.codes(context.role(0), released) == ACCEPTED
    recovery = recover(Situation(context.trees, sizes, former, candidates, releasable, context.ranks), lost, limit)
    steps = recovery_steps(recovery, former.tolist(), cluster.names)
    notes = [*_corrections(context, recovery, sizes, limit)]
    if recovery.nodes is None:
        message = f"rescheduleWithSuperPods: all escalation levels exhausted: {recovery.rounds[-1].failure}"
        if limit < len(sizes):
            message += f"; max_escalation was {limit}, a higher one gives up more pods of the job, 'job' all of them"
        return refused(request, "ML-R01", message, codes, steps=steps, notes=(*context.notes, *notes))
    home = next(tree for tree in context.trees if tree.name == recovery.tree)
    metrics = {"tree": home.name, "attempts": len(recovery.rounds)}
    return finish(
        context, recovery.nodes, codes, home, released, steps=steps, metrics=metrics, notes=notes, history=history
    )


def _is_worker(context: Context) -> bool:
    """True if rank 0 is a worker, whose loss does not take the job down."""
    return context.job.roles[context.role(0)].name.lower() == "worker"


def _too_few(context: Context, candidates: NDArray[np.bool_]) -> bool:
    """The scheduler counts the candidates only for a gang of all pods."""
    return len(context.tasks) > candidates.sum() and context.job.min_available == len(context.job.pods)


def _not_enough(context: Context, candidates: NDArray[np.bool_], codes: NDArray[np.int16]) -> Unschedulable:
    text = f"{len(context.tasks)} pods with NPUs, {candidates.sum()} candidate nodes"
    message = f"select node failed by not enough node: {text}"
    return refused(context.request, "ML-P01", message, codes, notes=context.notes)


def _metrics(found: Plan, cluster: Cluster) -> dict[str, Any]:
    spares = found.best.field.layout.nodes[found.solution.spares]
    return {
        "tree": found.best.tree.name,
        "fragment_score": found.best.field.score,
        "attempt": found.best.attempt.name,
        "vector": list(found.best.attempt.sizes),
        "phase": found.solution.phase,
        "reserved_nodes_used": [cluster.names[i] for i in spares.tolist()],
    }


def _corrections(context: Context, recovery: Recovery, sizes: tuple[int, ...], limit: int) -> Iterator[str]:
    """Where the scheduler itself would go wrong in this recovery (chapter 22 §10)."""
    if len(context.groups) == 1:
        yield (
            "the scheduler fits a job with level1 only into one level2 unit during recovery and fails on trees of one "
            "level; here its own shape is kept"
        )
    widened = recovery.rounds[1:]
    if widened and limit > 1:
        yield "the scheduler can repeat a failed step without end once whole groups are given up; here it widens"
    if recovery.whole is not None and len(context.trees) > 1:
        yield "the whole job moves to the tree with the smallest fragment score; the scheduler takes any that fits"
