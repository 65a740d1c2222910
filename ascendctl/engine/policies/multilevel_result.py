"""From a multi-level plan to the result: chips, other pods, scores, metrics, cautions (chapter 22 §5, §8.3)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ascendctl.engine.finish import placed, refused
from ascendctl.engine.policies.multilevel_context import Context, usable_chips
from ascendctl.engine.policies.multilevel_history import History
from ascendctl.engine.policies.multilevel_score import article_score
from ascendctl.engine.predicate import ACCEPTED, CODES, refuse
from ascendctl.engine.result import Placement, Unschedulable
from ascendctl.engine.scores import best_scores, penalties, planned_scores
from ascendctl.engine.state import State
from ascendctl.snapshot.chip_lists import chip_ids
from ascendctl.snapshot.cluster import NODE_UNHEALTHY, PRE_SEPARATE
from ascendctl.topology.diagnose import tree_problems
from ascendctl.topology.tree import Tree
from ascendctl.wellknown import BATCH

BACKUP_SOURCE = "backupSourcePodName"

Steps = Sequence[tuple[str, Mapping[str, Any]]]


class _Refused(Exception):
    """No node, or not the planned one, takes a pod. Carries the message and the codes that the pod met."""

    def __init__(self, message: str, codes: NDArray[np.int16]) -> None:
        super().__init__(message)
        self.codes = codes


def finish(
    context: Context,
    nodes: NDArray[np.int32],
    codes: NDArray[np.int16],
    tree: Tree | None,
    state: State,
    *,
    steps: Steps,
    metrics: Mapping[str, Any],
    notes: Sequence[str] = (),
    history: History | None = None,
) -> Placement | Unschedulable:
    """The result for a plan. `nodes` int32 by slot, `codes` the refusals to report, `tree` the tree of the plan. In
    `state` all planned pods find their chips free; survivors of a fault that keep their node keep their chips."""
    job, names = context.job, context.cluster.names
    everything = (*context.notes, *notes)
    try:
        target, chips = _chips(context, nodes, state, history)
        others = _others(context, nodes, state, history)
    except _Refused as failure:
        return refused(
            context.request, "NodePredicateFailed", str(failure), failure.codes, steps=steps, notes=everything
        )
    usable = usable_chips(state)
    for position, node in others.items():
        target[position] = node
        chips[position] = chip_ids(int(usable[node])) if job.pods[position].npus else ()
    size, slots = context.groups[0], {position: slot for slot, position in enumerate(context.tasks)}
    ordered = [names[i] for i in nodes.tolist()]
    return placed(
        context.request,
        [target[i] for i in range(len(job.pods))],
        [chips[i] for i in range(len(job.pods))],
        codes,
        groups=[str(slots[i] // size) if i in slots else "" for i in range(len(job.pods))],
        blocks={str(i // size): tuple(ordered[i : i + size]) for i in range(0, len(ordered), size)},
        moved=[_moved(context, i, target[i], slots, history) for i in range(len(job.pods))],
        metrics=dict(metrics) | _units(tree, nodes, size) | _article(context, tree, nodes, state, history),
        scores=_scores(context, nodes, codes, history),
        steps=steps,
        notes=(*everything, *_cautions(context, tree, nodes, state)),
    )


def _chips(
    context: Context, nodes: NDArray[np.int32], state: State, history: History | None
) -> tuple[dict[int, int], dict[int, tuple[int, ...]]]:
    """Node and chips of each planned pod by its position in `job.pods`: all usable chips of the node, ascending."""
    target: dict[int, int] = {}
    chips: dict[int, tuple[int, ...]] = {}
    refusals: dict[int, NDArray[np.int16]] = {}
    usable = usable_chips(state)
    for slot, node in enumerate(nodes.tolist()):
        position, role = context.tasks[slot], context.role(slot)
        target[position] = node
        if history is not None and history.survives(slot, node):
            chips[position] = history.pod(slot).npus or chip_ids(int(usable[node]))
            continue
        if role not in refusals:
            refusals[role] = context.codes(role, state)
        code = refusals[role][node]
        if code != ACCEPTED:
            where = context.cluster.names[node]
            raise _Refused(f"rank {slot} belongs on {where}, which refuses the pod: {CODES[code]}", refusals[role])
        chips[position] = chip_ids(int(usable[node]))
    return target, chips


def _others(context: Context, nodes: NDArray[np.int32], state: State, history: History | None) -> dict[int, int]:
    """Nodes of the pods outside the plan, by position: pods without NPUs, and backup pods of a hot switch, each on the
    first node that takes it (all have the same score). What survived a fault stays."""
    job, planned, taken = context.job, set(context.tasks), set(nodes.tolist())
    stay = (
        {}
        if history is None
        else {p.name: p.index for i, p in enumerate(history.fault.pods) if i not in history.deleted}
    )
    found: dict[int, int] = {}
    for position, pod in enumerate(job.pods):
        if position in planned:
            continue
        node = stay.get(pod.name, -1)
        if node < 0:
            codes = context.codes(pod.role, state) if pod.npus else context.request.codes_for(pod.role, state)
            refuse(codes, ~_beside_source(context, pod.role, nodes), "ML-N07")
            free = [i for i in np.flatnonzero(codes == ACCEPTED).tolist() if not pod.npus or i not in taken]
            if not free:
                raise _Refused(f"no node takes pod {pod.name}", codes)
            node = free[0]
        found[position] = node
        if pod.npus:
            taken.add(node)
    return found


def _beside_source(context: Context, role: int, nodes: NDArray[np.int32]) -> NDArray[np.bool_]:
    """bool[N]: nodes in the tree and the level1 unit of the pod that the pods of a role stand in for; all nodes if they
    stand in for none of the plan (chapter 22 §2.3 no. 6)."""
    everywhere = np.ones(context.cluster.size, dtype=np.bool_)
    source = context.job.roles[role].annotations.get(BACKUP_SOURCE)
    slot = next((s for s, i in enumerate(context.tasks) if context.job.pods[i].name == source), -1)
    if source is None or slot < 0:
        return everywhere
    home = next((tree for tree in context.trees if tree.complete[nodes[slot]]), None)
    return everywhere if home is None else home.complete & (home.units[0] == home.units[0][nodes[slot]])


def _moved(context: Context, position: int, node: int, slots: Mapping[int, int], history: History | None) -> bool:
    if history is None:
        return True
    if position in slots:
        return history.pod(slots[position]).index != node
    name = context.job.pods[position].name
    return all(pod.name != name or pod.index != node for pod in history.fault.pods)


def _scores(
    context: Context, nodes: NDArray[np.int32], codes: NDArray[np.int16], history: History | None
) -> tuple[tuple[str, int], ...]:
    """Best node scores of the first pod to be placed (chapter 22 §5.3)."""
    job, cluster = context.job, context.cluster
    pending = [slot for slot, node in enumerate(nodes.tolist()) if history is None or not history.survives(slot, node)]
    if not pending:
        return ()
    planned = {int(nodes[pending[0]]): 0}
    if job.labels.get(BATCH) == "true":
        first = job.roles[context.role(pending[0])].task_spec
        alike = [slot for slot in pending if job.roles[context.role(slot)].task_spec == first]
        planned = {int(nodes[slot]): slot for slot in alike}
    lost = () if history is None else history.fault.fault_pods
    penalty = penalties(cluster, (pod.index for pod in lost if pod.index >= 0))
    return best_scores(cluster, planned_scores(codes, planned, penalty))


def _units(tree: Tree | None, nodes: NDArray[np.int32], size: int) -> dict[str, Any]:
    """The full path of each group's level-1 unit, top level first, with all levels of the tree."""
    if tree is None:
        return {}
    levels = range(len(tree.levels), 0, -1)
    firsts = enumerate(nodes[::size].tolist())
    return {"units": {str(i): "/".join(tree.unit(level, node) for level in levels) for i, node in firsts}}


def _article(
    context: Context, tree: Tree | None, nodes: NDArray[np.int32], state: State, history: History | None
) -> dict[str, Any]:
    """The article's fragment score after the placement."""
    cluster = context.cluster
    if tree is None:
        return {}
    healthy = cluster.visible & ((cluster.health & (NODE_UNHEALTHY | PRE_SEPARATE)) == 0) & (state.fixed.unhealthy == 0)
    held = cluster.used.copy()
    for pod in () if history is None else history.fault.pods:
        if pod.index >= 0:
            held[pod.index] &= np.uint64(~pod.chips & 0xFFFFFFFFFFFFFFFF)
    used = held != 0
    used[nodes] = True
    found = article_score(tree, healthy, used, context.ranks)
    return {} if found is None else {"article_score": found.to_dict()}


def _cautions(context: Context, tree: Tree | None, nodes: NDArray[np.int32], state: State) -> Iterator[str]:
    cluster, asked = context.cluster, context.job.roles[context.role(0)].npus
    partial = [i for i in nodes.tolist() if int(cluster.total[i]).bit_count() > asked]
    if partial:
        first = partial[0]
        yield (
            f"{len(partial)} node(s) keep NPUs that no multi-level job can use, such as {cluster.names[first]}: "
            f"{int(cluster.total[first]).bit_count()} NPUs, the pod takes {asked}"
        )
    bad = state.fixed.network_unhealthy & state.fixed.free
    if len(nodes) == 1 and bad[nodes[0]]:
        yield "the scheduler would give this single pod network-unhealthy chips, which are left out here"
    if tree is not None:
        for problem in tree_problems(tree, cluster.names):
            if problem.code in ("ML-N05", "ML-N06"):
                yield f"{problem.code}: {problem.message}"
