"""From candidate nodes to logical SuperPoDs with nodes: grouping, the paths of chapter 20 §5, completeness, trace."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ascendctl.engine.policies.infer_service import plan_blocks
from ascendctl.engine.policies.superpod_mindie import plan_mindie
from ascendctl.engine.policies.superpod_queues import Block, Buckets, Shape, cell_of, classify, run_queues

Step = tuple[str, Mapping[str, Any]]

QUEUES = {
    "1a": "queue 1a: SuperPoDs that can be used down to their reserve",
    "1b": "queue 1b: the smallest SuperPoD that holds all the rest and its reserve",
    "2": "queue 2: SuperPoDs that must give up their reserve, fullest first, one logical SuperPoD each",
    "3": "queue 3: fragments",
    "mindie": "MindIE: SuperPoDs that keep the reserve, then affinity, then sp-fit",
    "infer": "inference service: SuperPoDs that run the service, then the one with most free nodes",
}


@dataclass(frozen=True)
class Field:
    """Candidate nodes by SuperPoD. `ids` ascending; `pools[i]`: node indexes of SuperPoD ids[i], healthy nodes first,
    each part in natural name order."""

    ids: tuple[int, ...]
    pools: tuple[NDArray[np.int64], ...]

    @property
    def free(self) -> list[int]:
        """Candidate nodes of each SuperPoD."""
        return [len(pool) for pool in self.pools]


@dataclass(frozen=True)
class Demand:
    """What the job needs. `nodes`: pods with NPUs (N); `pods`: all pods of the job; `pending`: pods to schedule, -1 if
    the scheduler does not count them (minAvailable differs from the number of pods)."""

    nodes: int
    pods: int
    pending: int
    shape: Shape

    @property
    def blocks(self) -> int:
        """Number of logical SuperPoDs (K)."""
        return self.nodes // self.shape.size


@dataclass
class Plan:
    """`blocks`: logical SuperPoD -> nodes in rank order (a soft plan may hold more nodes than pods). `reject`: code and
    sentence if the job cannot be placed; blocks then hold what the queues had found."""

    blocks: dict[int, tuple[int, ...]] = field(default_factory=dict)
    steps: list[Step] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    reject: tuple[str, str] | None = None


def gather(mask: NDArray[np.bool_], superpod: NDArray[np.int32], sub_healthy: NDArray[np.bool_] | None) -> Field:
    """Group the nodes of a mask (bool[N]) by SuperPoD id; without `sub_healthy` in plain name order."""
    nodes = np.flatnonzero(mask)
    keys = superpod[nodes]
    late = np.zeros(len(nodes), dtype=np.bool_) if sub_healthy is None else sub_healthy[nodes]
    order = np.lexsort((nodes, late, keys))
    ids, starts = np.unique(keys[order], return_index=True)
    return Field(tuple(ids.tolist()), tuple(np.split(nodes[order], starts[1:])) if len(ids) else ())


def plan_queues(
    candidates: Field, demand: Demand, ready: Mapping[int, tuple[int, ...]], known: Sequence[int], names: Sequence[str]
) -> Plan:
    """The ordinary path. `ready`: logical SuperPoDs that a fault left whole; `known`: all ids of the job.

    Candidates are classified even if nothing is left to place: one SuperPoD above the limit refuses the job.
    """
    shape, plan = demand.shape, Plan(dict(ready))
    unready = [lsp for lsp in sorted(known) if lsp not in ready]
    need = demand.nodes - sum(len(nodes) for nodes in ready.values())
    free = candidates.free
    buckets = classify(free, shape)
    if not unready and need <= 0 and buckets.oversized < 0:
        return plan
    plan.steps.append(_overview(candidates, buckets, shape))
    if buckets.oversized >= 0:
        superpod, count = candidates.ids[buckets.oversized], free[buckets.oversized]
        plan.reject = (
            "SUPER_POD_SIZE_TOO_SMALL",
            f"SuperPoD {superpod} has {count} candidate nodes, super-pod-size is {shape.limit}",
        )
        if not shape.atlas_850:
            plan.notes.append("the reference scheduler crashes on a SuperPoD this much larger than super-pod-size")
        return plan
    whole_only = not shape.soft or 1 < demand.pending < demand.pods
    if buckets.whole < len(unready) and whole_only:
        plan.reject = (
            "NOT_ENOUGH_LOGICAL_SUPERPODS",
            f"{len(unready)} logical SuperPoDs of {shape.size} nodes are needed, {buckets.whole} fit",
        )
        return plan
    blocks = run_queues(free, buckets, shape, unready, known, need)
    _materialise(plan, candidates, blocks, names)
    plan.steps += _unused(candidates, blocks, shape)
    _check_complete(plan, demand, {block.lsp for block in blocks})
    return plan


def plan_affine(
    candidates: Field, demand: Demand, affine: Sequence[int], idlest: bool, with_affinity: bool, names: Sequence[str]
) -> Plan:
    """The MindIE path; `affine[i]`: nodes of SuperPoD i that run affine pods and are no candidates."""
    shape, plan, free = demand.shape, Plan(), candidates.free
    data: dict[str, Any] = {"superpods": list(candidates.ids), "free": free}
    if with_affinity:
        data["affine"] = list(affine)
    fit = "emptiest first (sp-fit: idlest)" if idlest else "fullest first"
    plan.steps.append((f"MindIE job: SuperPoDs that keep {shape.reserve} nodes come first, then {fit}", data))
    blocks = plan_mindie(free, affine, shape.size, shape.reserve, demand.blocks, idlest, with_affinity)
    if blocks is None:
        whole = sum(n // shape.size for n in free)
        plan.reject = (
            "NOT_ENOUGH_LOGICAL_SUPERPODS",
            f"{demand.blocks} logical SuperPoDs of {shape.size} nodes are needed, {whole} fit",
        )
        return plan
    _materialise(plan, candidates, blocks, names)
    _check_complete(plan, demand, set(plan.blocks))
    return plan


def plan_service(candidates: Field, demand: Demand, blocks: int, hosts: frozenset[int], names: Sequence[str]) -> Plan:
    """The path of an inference service; `hosts`: ids of SuperPoDs that run it, `blocks`: logical SuperPoDs (M)."""
    shape, plan, free = demand.shape, Plan(), candidates.free
    numbers = [i for i, superpod in enumerate(candidates.ids) if superpod in hosts]
    text = "inference service: SuperPoDs that run it come first, then the one with most free nodes; no reserve is kept"
    plan.steps.append((text, {"superpods": list(candidates.ids), "free": free, "hosts": sorted(hosts)}))
    chosen = plan_blocks(free, numbers, shape.size, blocks)
    if len(chosen) < blocks:
        plan.reject = (
            "NOT_ENOUGH_LOGICAL_SUPERPODS",
            f"{blocks} logical SuperPoDs of {shape.size} nodes are needed, {len(chosen)} fit",
        )
        return plan
    left = list(free)
    taken = []
    for lsp, superpod in enumerate(chosen):
        taken.append(Block(lsp, superpod, shape.size, "infer", left[superpod]))
        left[superpod] -= shape.size
    _materialise(plan, candidates, taken, names)
    _check_complete(plan, demand, set(plan.blocks))
    return plan


def _materialise(plan: Plan, candidates: Field, blocks: Sequence[Block], names: Sequence[str]) -> None:
    """Give nodes to the blocks: the first ones left of the SuperPoD, healthy before sub-healthy."""
    position = [0] * len(candidates.ids)
    for block in blocks:
        start = position[block.superpod]
        position[block.superpod] += block.count
        nodes = candidates.pools[block.superpod][start : start + block.count].tolist()
        plan.blocks[block.lsp] = tuple(nodes)
        superpod = candidates.ids[block.superpod]
        data: dict[str, Any] = {
            "stage": block.stage,
            "lsp": block.lsp,
            "superpod": superpod,
            "before": block.before,
            "after": block.before - block.count,
            "nodes": [names[node] for node in nodes],
        }
        if block.row >= 0:
            data |= {"row": block.row, "column": block.column}
        text = (
            f"L{block.lsp}: {block.count} of {block.before} free nodes of SuperPoD {superpod} ({QUEUES[block.stage]})"
        )
        plan.steps.append((text, data))


def _overview(candidates: Field, buckets: Buckets, shape: Shape) -> Step:
    """SuperPoDs with free nodes, their cells, and the order in which the queues visit them."""
    free, ids = candidates.free, candidates.ids
    cells = [cell_of(count, shape) for count in free]
    visits = {
        "1a": sorted(cell for cell in buckets.cells if cell[1] >= 1),
        "1b": sorted((cell for cell in buckets.cells if cell[1] >= 1), key=lambda cell: (cell[1], cell[0])),
        "2": sorted(buckets.cells, key=lambda cell: (-cell[0], cell[1])),
    }
    kind = "soft" if shape.soft else "hard"
    text = (
        f"{len(ids)} SuperPoDs have candidate nodes, {buckets.whole} logical SuperPoDs of {shape.size} nodes fit if no "
        f"reserve is kept ({kind}, reserve {shape.reserve}, super-pod-size {shape.limit})"
    )
    return text, {
        "superpods": list(ids),
        "free": free,
        "row": [row for row, _ in cells],
        "column": [column for _, column in cells],
        "whole": [count // shape.size for count in free],
        "withReserve": [max(0, count - shape.reserve) // shape.size for count in free],
        "order": {queue: [[ids[i] for i in buckets.cells[cell]] for cell in order] for queue, order in visits.items()},
    }


def _unused(candidates: Field, blocks: Sequence[Block], shape: Shape) -> list[Step]:
    """Why SuperPoDs with candidates gave nothing."""
    used = {block.superpod for block in blocks}
    reasons: dict[str, list[int]] = {}
    for i, count in enumerate(candidates.free):
        if i in used:
            continue
        if count < shape.size:
            reason = "not used: no fragment needed" if shape.soft else f"not used: fewer than {shape.size} free nodes"
        elif count < shape.size + shape.reserve:
            reason = "not used: its reserve would be broken, others served first"
        else:
            reason = "not used: SuperPoDs earlier in the order sufficed"
        reasons.setdefault(reason, []).append(candidates.ids[i])
    return [(f"{reason} ({len(ids)} SuperPoDs)", {"superpods": ids}) for reason, ids in reasons.items()]


def _check_complete(plan: Plan, demand: Demand, fresh: set[int]) -> None:
    """Chapter 20 §6.7: the reference takes a plan that does not cover every pod; here it is refused."""
    placed, size = sum(len(nodes) for nodes in plan.blocks.values()), demand.shape.size
    partial = [] if demand.shape.soft else [lsp for lsp in sorted(fresh) if len(plan.blocks[lsp]) != size]
    surplus = placed - demand.nodes
    if surplus >= 0 and not partial:
        if surplus:
            plan.notes.append(f"{surplus} nodes of the plan get no pod: fragments are taken whole")
        return
    text = f"the queues found nodes for {min(placed, demand.nodes)} of {demand.nodes} pods"
    if partial:
        text += f"; logical SuperPoDs {', '.join(map(str, partial))} are shorter than {size} nodes"
    if demand.shape.reserve > size:
        text += "; reserve-nodes is larger than the logical SuperPoD"
    if demand.nodes % size:
        text += f"; {demand.nodes} pods are no multiple of {size}"
    plan.reject = ("INCOMPLETE_PLAN", text)
    plan.notes.append("the reference scheduler would go on with the short plan and put the other pods on any node")
