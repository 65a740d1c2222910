"""From blocks to pods: the node of each rank, its chips, the scores and the answer (chapter 21 §9, §10)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ascendctl.engine.chips import chip_order, pick_masks
from ascendctl.engine.finish import best_scores, placed, refused
from ascendctl.engine.kernels.take_best import REFUSED
from ascendctl.engine.policies.rack_order import Nodes, Run
from ascendctl.engine.predicate import ACCEPTED, CODES
from ascendctl.engine.request import Request
from ascendctl.engine.result import Placement, Unschedulable
from ascendctl.engine.state import State, usable
from ascendctl.engine.wired.masks import ids

PLANNED_SCORE = 100_000_000
LAST_FAULT_NODE = 64


@dataclass(frozen=True, slots=True)
class Seat:
    """Node and block of a pod with NPUs. `npus` are given for a pod that stays where it is, else None."""

    node: int
    block: int
    npus: tuple[int, ...] | None = None


def seat(
    ranks: Sequence[int], blocks: Mapping[int, Nodes], soft_ids: Sequence[int], size: int, taken: frozenset[int]
) -> tuple[list[Seat], list[int]]:
    """The seat of every rank given, and the ranks that had no entry of their own.

    Entry of rank r: blocks[r div size][r mod size]. Ranks without one, or whose entry is used already, take the nodes
    that are left in pick order: blocks by id, then the soft groups in visiting order (chapter 21 §9.2). Nodes in
    `taken` are not given away. The blocks must hold as many other nodes as there are ranks.
    """
    lists = {block: nodes.tolist() for block, nodes in blocks.items()}
    used = set(taken)
    seats: dict[int, Seat] = {}
    for i, rank in enumerate(ranks):
        block, position = divmod(rank, size)
        nodes = lists.get(block, [])
        if position < len(nodes) and nodes[position] not in used:
            seats[i] = Seat(nodes[position], block)
            used.add(nodes[position])
    waiting = sorted((i for i in range(len(ranks)) if i not in seats), key=lambda i: ranks[i])
    soft = dict.fromkeys(soft_ids)
    order = [*sorted(b for b in lists if b not in soft), *soft]
    left = iter([Seat(node, block) for block in order for node in lists[block] if node not in used] if waiting else ())
    for i in waiting:
        seats[i] = next(left)
    return [seats[i] for i in range(len(ranks))], [ranks[i] for i in waiting]


def planned_score(rank: int, batch: bool, sub_healthy: bool, last_fault: bool) -> int:
    """Score of the node of a rank before the factor of 100 (chapter 21 §9.3); every other node has 0."""
    base = PLANNED_SCORE - rank if batch else PLANNED_SCORE
    return max(0, base - (1 if sub_healthy else 0) - (LAST_FAULT_NODE if last_fault else 0))


def conclude(
    request: Request,
    state: State,
    run: Run,
    codes: NDArray[np.int16],
    seats: Mapping[int, Seat],
    unplanned: Sequence[int] = (),
    fault_nodes: frozenset[int] = frozenset(),
    metrics: Mapping[str, Any] | None = None,
) -> Placement | Unschedulable:
    """The answer: `seats` by index in `job.pods`, one for every pod with NPUs. `unplanned` are ranks that the scheduler
    gives no score; `fault_nodes` the nodes that this job lost."""
    job, cluster = request.job, request.cluster
    if conflict := _conflict(request, seats):
        return refused(request, "INCOMPLETE_PLAN", conflict, codes, steps=run.steps, notes=run.notes)
    chips = _Chips.of(request, state)
    nodes: list[int] = []
    npus: list[tuple[int, ...]] = []
    groups: list[str] = []
    moved: list[bool] = []
    without: list[str] = []
    for i, pod in enumerate(job.pods):
        place = seats.get(i)
        if place is None:
            node = _helper_node(request, pod.role)
            if node < 0:
                text = f"no node for pod {pod.name}, which asks for no NPUs"
                return refused(request, "NodePredicateFailed", text, request.fixed_codes(pod.role), steps=run.steps)
            nodes.append(node)
            npus.append(())
            groups.append("")
            moved.append(True)
            continue
        picked = place.npus
        if picked is None:
            picked = chips.pick(place.node)
            if not picked:
                without.append(pod.name)
                run.notes.append(f"pod {pod.name} is bound without NPUs: {chips.error(place.node)}")
        nodes.append(place.node)
        npus.append(picked)
        groups.append(str(place.block))
        moved.append(place.npus is None)
    blocks: dict[int, list[str]] = {}
    for i, place in sorted(seats.items()):
        blocks.setdefault(place.block, []).append(cluster.names[nodes[i]])
    used = [seats[i].node for i in sorted(seats)]
    numbers = dict(metrics or {})
    numbers["logicalSuperPods"] = len(blocks)
    numbers["superPods"] = len(np.unique(cluster.superpod[used]))
    numbers["racks"] = len(np.unique(np.stack((cluster.superpod[used], cluster.rack[used])), axis=1).T)
    if without:
        numbers["podsWithoutNpus"] = without
    return placed(
        request,
        nodes,
        npus,
        codes,
        groups=groups,
        blocks={str(block): tuple(blocks[block]) for block in sorted(blocks)},
        moved=moved,
        metrics=numbers,
        scores=_scores(request, codes, seats, unplanned, fault_nodes),
        steps=run.steps,
        notes=run.notes,
    )


@dataclass(frozen=True)
class _Chips:
    """What each node has for a pod of this job (all NPU pods ask for the same count): usable chips and the picked
    ones, uint64[N]."""

    request: Request
    state: State
    npus: int
    free: NDArray[np.uint64]
    picked: NDArray[np.uint64]

    @classmethod
    def of(cls, request: Request, state: State) -> _Chips:
        job, wiring = request.job, request.wiring
        npus = next(role.npus for role in job.roles if role.is_npu)
        free = usable(state, job.distributed, wiring.network_aware)
        return cls(request, state, npus, free, pick_masks(wiring, state, npus, job.distributed))

    def pick(self, node: int) -> tuple[int, ...]:
        """Chips for the pod, empty if the node has too few or, for a distributed job, no network health."""
        if self.request.job.distributed and not self.state.fixed.network_defined[node]:
            return ()
        chips, free = int(self.picked[node]), int(self.free[node])
        return chip_order(self.request.wiring, self.npus, self.request.job.distributed, free, chips) if chips else ()

    def error(self, node: int) -> str:
        """The scheduler's text for a node without chips for the pod."""
        name = self.request.cluster.names[node]
        if self.request.job.distributed and not self.state.fixed.network_defined[node]:
            key = f"{self.state.resource}-NetworkUnhealthy"
            return f"selectNPUFromNode err: node<{name}> don't have resource<{key}>"
        top = " ".join(map(str, ids(int(self.free[node]))))
        return f"NPUResourceShortage: selectNPUFromNode node<{name}> top<[{top}]> not meet task req<{self.npus}>"


def _helper_node(request: Request, role: int) -> int:
    """The first node, by name, for a pod without NPUs beside a single-pod job; -1 if none takes it."""
    fits = np.flatnonzero(request.fixed_codes(role) == ACCEPTED)
    return int(fits[0]) if len(fits) else -1


def _conflict(request: Request, seats: Mapping[int, Seat]) -> str:
    """The plan follows the candidates of one pod. The first pod of another role whose own filters refuse the node that
    it got, as a sentence; "" = none."""
    job = request.job
    for i, place in seats.items():
        code = int(request.fixed_codes(job.pods[i].role)[place.node]) if place.npus is None else ACCEPTED
        if code != ACCEPTED:
            name, pod, role = request.cluster.names[place.node], job.pods[i].name, job.roles[job.pods[i].role].name
            return (
                f"the plan gives node {name} to pod {pod}, whose role {role} the node refuses ({CODES[code]}): the "
                "plan is made on the candidates of the first pod, so give all pods the same selectors"
            )
    return ""


def _scores(
    request: Request,
    codes: NDArray[np.int16],
    seats: Mapping[int, Seat],
    unplanned: Sequence[int],
    fault_nodes: frozenset[int],
) -> tuple[tuple[str, int], ...]:
    """Scores that the first pod meets: its own node, and 0 for all other candidates."""
    job, cluster = request.job, request.cluster
    scores = np.where(codes == ACCEPTED, 0, REFUSED).astype(np.int64)
    first = next((i for i in sorted(seats) if seats[i].npus is None), None)
    if first is not None and job.pods[first].rank not in unplanned:
        node, batch = seats[first].node, job.labels.get("podgroup-sched-enable") == "true"
        scores[node] = planned_score(job.pods[first].rank, batch, bool(cluster.sub_healthy[node]), node in fault_nodes)
    return best_scores(cluster, scores)
