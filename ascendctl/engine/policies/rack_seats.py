"""From blocks to pods: the node of each rank, its chips, the scores and the answer (chapter 21 §9, §10)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ascendctl.engine.chips import chip_order, pick_masks
from ascendctl.engine.finish import placed, refused
from ascendctl.engine.policies.rack_order import Nodes, Run
from ascendctl.engine.predicate import ACCEPTED, CODES
from ascendctl.engine.request import Request
from ascendctl.engine.result import Placement, Unschedulable
from ascendctl.engine.scores import best_scores, penalties, planned_scores
from ascendctl.engine.state import State, usable
from ascendctl.snapshot.chip_lists import chip_ids
from ascendctl.wellknown import BATCH


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


def conclude(
    request: Request,
    state: State,
    run: Run,
    codes: NDArray[np.int16],
    seats: Mapping[int, Seat],
    unplanned: Sequence[int] = (),
    fault_nodes: frozenset[int] = frozenset(),
    before: Mapping[int, int] | None = None,
    metrics: Mapping[str, Any] | None = None,
) -> Placement | Unschedulable:
    """The answer: `seats` by index in `job.pods`, one for every pod with NPUs. `unplanned` are ranks that the scheduler
    gives no score; `fault_nodes` the nodes that this job lost; `before` the nodes where pods ran before a fault."""
    job, cluster, former = request.job, request.cluster, before or {}
    if conflict := _conflict(request, seats):
        return refused(request, "INCOMPLETE_PLAN", conflict, codes, steps=run.steps, notes=run.notes)
    helpers = {i: _helper_node(request, i, former) for i in range(len(job.pods)) if i not in seats}
    lonely = next((i for i, node in helpers.items() if node < 0), None)
    if lonely is not None:
        text = f"no node for pod {job.pods[lonely].name}, which asks for no NPUs"
        refusals = request.fixed_codes(job.pods[lonely].role)
        return refused(request, "NodePredicateFailed", text, refusals, steps=run.steps, notes=run.notes)
    order = range(len(job.pods))
    nodes = [seats[i].node if i in seats else helpers[i] for i in order]
    npus = _chips(request, state, run, seats)
    blocks = _blocks(run, seats, planned=before is None)
    used = [nodes[i] for i in seats]
    numbers = dict(metrics or {}) | {
        "logicalSuperPods": len({seat.block for seat in seats.values()}),
        "superPods": len(set(cluster.superpod[used].tolist())),
        "racks": len(set(zip(cluster.superpod[used].tolist(), cluster.rack[used].tolist(), strict=True))),
    }
    if without := [job.pods[i].name for i, chips in npus.items() if not chips]:
        numbers["podsWithoutNpus"] = without
    return placed(
        request,
        nodes,
        [npus.get(i, ()) for i in order],
        codes,
        groups=[str(seats[i].block) if i in seats else "" for i in order],
        blocks=blocks,
        moved=None if before is None else [nodes[i] != former.get(i) for i in order],
        metrics=numbers,
        scores=_scores(request, codes, seats, unplanned, fault_nodes),
        steps=run.steps,
        notes=run.notes,
    )


def _blocks(run: Run, seats: Mapping[int, Seat], planned: bool) -> dict[str, tuple[str, ...]]:
    """Node names by logical SuperPoD, those of the pods in rank order. `planned`: also the blocks that nobody fills, as
    an inference service can reserve more than its pods need (chapter 21 §8.1)."""
    nodes: dict[int, list[int]] = {}
    for i in sorted(seats):
        nodes.setdefault(seats[i].block, []).append(seats[i].node)
    for block, reserved in run.blocks.items() if planned else ():
        nodes.setdefault(block, reserved.tolist())
    return {str(block): tuple(run.name_list(nodes[block])) for block in sorted(nodes)}


def _chips(request: Request, state: State, run: Run, seats: Mapping[int, Seat]) -> dict[int, tuple[int, ...]]:
    """Chips of every pod with NPUs (all ask for the same count). A pod that finds none is still bound: the plan ignores
    chips that only the choice of chips refuses (chapter 21 §10, §14 D13)."""
    job, wiring, together = request.job, request.wiring, request.job.distributed
    asked = next(role.npus for role in job.roles if role.is_npu)
    free = usable(state, together, wiring.network_aware)
    picked = pick_masks(wiring, state, asked, together)
    found: dict[int, tuple[int, ...]] = {}
    for i in sorted(seats):
        node, kept = seats[i].node, seats[i].npus
        if kept is not None:
            found[i] = kept
            continue
        blind = together and not state.fixed.network_defined[node]
        chips = 0 if blind else int(picked[node])
        found[i] = chip_order(wiring, asked, together, int(free[node]), chips) if chips else ()
        if not chips:
            name, top = request.cluster.names[node], " ".join(map(str, chip_ids(int(free[node]))))
            text = (
                f"selectNPUFromNode err: node<{name}> don't have resource<{state.resource}-NetworkUnhealthy>"
                if blind
                else f"NPUResourceShortage: selectNPUFromNode node<{name}> top<[{top}]> not meet task req<{asked}>"
            )
            run.notes.append(f"pod {job.pods[i].name} is bound without NPUs: {text}")
    return found


def _helper_node(request: Request, pod: int, former: Mapping[int, int]) -> int:
    """A node for a pod without NPUs: the one where it ran, else the first by name; -1 if none takes it."""
    fits = request.fixed_codes(request.job.pods[pod].role) == ACCEPTED
    old = former.get(pod, -1)
    if old >= 0 and fits[old]:
        return old
    return int(np.argmax(fits)) if fits.any() else -1


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
    first = next((i for i in sorted(seats) if seats[i].npus is None), None)
    planned = {}
    if first is not None and job.pods[first].rank not in unplanned:
        planned[seats[first].node] = job.pods[first].rank if job.labels.get(BATCH) == "true" else 0
    penalty = penalties(cluster, (node for node in fault_nodes if node >= 0))
    return best_scores(cluster, planned_scores(codes, planned, penalty))
