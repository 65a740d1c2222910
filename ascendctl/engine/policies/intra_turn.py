"""One turn of the pod-by-pod loop: pods of one role that follow each other, and so ask for the same (chapter 10 §2.6 to
§2.8, §6). What a node says to a pod depends on the node alone."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from ascendctl.engine.chips import chip_order, chip_scores, fit_codes, list_codes, pick_masks
from ascendctl.engine.jit import kernel
from ascendctl.engine.kernels.take_best import REFUSED, take_best
from ascendctl.engine.predicate import ACCEPTED, refuse, resource_codes
from ascendctl.engine.scores import final_scores
from ascendctl.engine.state import State, usable
from ascendctl.engine.turns import NO_STOP, Adjustments, choose
from ascendctl.engine.wired.masks import count
from ascendctl.engine.wirings import Wiring
from ascendctl.manifest.job import Role

TURN_SECONDS = 2e-5
"""Rough interpreted time of one pod in the kernel."""
Seat = tuple[int, tuple[int, ...]]


@dataclass(frozen=True)
class Turn:
    """What the pods of a turn ask for, over N nodes.

    `wiring` None: no chips are chosen. `fixed` int16[N]: refusals that hold for the whole turn. `label` bool[N]: nodes
    whose label the policy refuses, None = the policy reads none. `apart`: the pods keep off each other's nodes. `stop`:
    score at which the scheduler stops scoring (A3), NO_STOP = never.
    """

    role: Role
    distributed: bool
    wiring: Wiring | None
    state: State
    fixed: NDArray[np.int16]
    label: NDArray[np.bool_] | None = None
    apart: bool = False
    stop: int = NO_STOP

    @property
    def n(self) -> int:
        """NPUs of one pod."""
        return self.role.npus

    def at(self, nodes: NDArray[np.intp]) -> Turn:
        """The turn seen at some nodes (indices) only; its arrays are copies."""
        label = None if self.label is None else self.label[nodes]
        return replace(self, state=self.state.of(nodes), fixed=self.fixed[nodes], label=label)


@dataclass(frozen=True)
class Offer:
    """What N nodes offer to the next pod: refusals, raw scores (REFUSED = not a candidate), the chips it would get, and
    the usable chips before."""

    codes: NDArray[np.int16]
    raw: NDArray[np.int64]
    chips: NDArray[np.uint64]
    free: NDArray[np.uint64]


def offer(turn: Turn) -> Offer:
    """What the nodes offer to a pod of the turn on the turn's present state."""
    state, w, codes = turn.state, turn.wiring, turn.fixed.copy()
    resource_codes(codes, state, turn.role)
    if w is None:
        none = np.zeros(len(codes), dtype=np.uint64)
        return Offer(codes, np.where(codes == ACCEPTED, np.int64(0), np.int64(REFUSED)), none, none)
    list_codes(w, state, turn.distributed, codes)
    if turn.label is not None:
        refuse(codes, turn.label, "E_CARD_LABEL")
    fit_codes(w, state, turn.n, turn.distributed, codes)
    chips = pick_masks(w, state, turn.n, turn.distributed)
    refuse(codes, count(chips) != turn.n, "SELECT_FAILED")
    accepted = codes == ACCEPTED
    raw = np.where(accepted, chip_scores(w, state, turn.n, turn.distributed, accepted), np.int64(REFUSED))
    return Offer(codes, raw, np.where(accepted, chips, np.uint64(0)), usable(state, turn.distributed, w.network_aware))


def seat(turn: Turn, ranks: Sequence[int], first: Offer, adjust: Adjustments, compiled: bool | None) -> Iterator[Seat]:
    """Node and chips of each pod in turn, ending early where one finds no node. `first` is the offer to the first pod.
    The state is brought up to date with every pod."""
    if not turn.role.is_npu and not turn.apart:
        node = choose(first.raw, NO_STOP, -1, Adjustments(np.zeros_like(first.raw)))
        yield from ((node, ()) for _ in ranks if node >= 0)
    elif turn.wiring is None or not (adjust.home or (turn.stop != NO_STOP and adjust.penalty.any())):
        yield from _by_levels(turn, len(ranks), first, adjust, compiled)
    else:
        yield from _one_by_one(turn, ranks, first, adjust)


def _by_levels(turn: Turn, pods: int, first: Offer, adjust: Adjustments, compiled: bool | None) -> Iterator[Seat]:
    """Where the order of candidates does not matter: level k holds what each node offers after k pods, and the kernel
    takes the best node again and again. Of N nodes only the best `pods` can be taken."""
    scores = final_scores(first.raw, adjust.penalty)
    nodes = np.sort(np.argsort(-scores, kind="stable")[:pods])
    nodes = nodes[scores[nodes] != REFUSED]
    if not len(nodes):
        return
    here, penalty = turn.at(nodes), adjust.penalty[nodes]
    offers = [Offer(first.codes[nodes], first.raw[nodes], first.chips[nodes], first.free[nodes])]
    while len(offers) < pods and not turn.apart:
        _take_everywhere(here, offers[-1])
        following = offer(here)
        if not (following.codes == ACCEPTED).any():
            break
        offers.append(following)
    keys = np.stack([final_scores(each.raw, penalty) for each in offers])
    run = kernel(take_best, pods * TURN_SECONDS, compiled)
    level = [0] * len(nodes)
    for i in run(keys, pods, max(1, round(len(nodes) ** 0.5))).tolist():
        if i < 0:
            return
        each = offers[level[i]]
        level[i] += 1
        yield _sit(turn, int(nodes[i]), int(each.free[i]), int(each.chips[i]))


def _take_everywhere(turn: Turn, taken: Offer) -> None:
    """Bring a turn's state to where every node that could take a pod has taken one."""
    state, took = turn.state, taken.codes == ACCEPTED
    state.free[:] &= ~taken.chips
    state.idle[took] -= turn.n
    state.list_length[:] -= count(taken.chips).astype(np.int32)
    refused = ~took
    turn.fixed[refused] = taken.codes[refused]


def _one_by_one(turn: Turn, ranks: Sequence[int], first: Offer, adjust: Adjustments) -> Iterator[Seat]:
    """Where other nodes' scores or former nodes matter: choose among all nodes, then look again at the chosen one."""
    raw, chips, free = first.raw.copy(), first.chips.copy(), first.free.copy()
    for rank in ranks:
        node = choose(raw, turn.stop, rank, adjust)
        if node < 0:
            return
        yield _sit(turn, node, int(free[node]), int(chips[node]))
        if turn.apart:
            raw[node] = REFUSED
            continue
        again = offer(turn.at(np.array([node], dtype=np.intp)))
        raw[node], chips[node], free[node] = again.raw[0], again.chips[0], again.free[0]


def _sit(turn: Turn, node: int, free: int, chips: int) -> Seat:
    turn.state.take(node, chips, turn.n)
    if turn.wiring is None:
        return node, ()
    return node, chip_order(turn.wiring, turn.n, turn.distributed, free, chips)
