"""Chips inside a node: which nodes fit a pod, how good they are, which chips it gets (chapter 10 §5, §6; chapter 11).

Every policy uses these functions; the rule behind a policy name is one module of `engine.wired`.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ascendctl.engine.predicate import refuse
from ascendctl.engine.state import State, usable
from ascendctl.engine.wired.masks import count
from ascendctl.engine.wirings import WIRINGS, Ask, Wiring
from ascendctl.snapshot.chip_lists import chip_ids

CHECKED_IDS = ("module", "chip8-node16", "chip2-node16")
"""Policies that refuse a free list with chip ids beyond the node size; the reference misbehaves there (chapter 10 §11).
Logical SuperPoDs only limit its length: half a 16-chip node may serve chip2-node8-sp (chapter 20 §4.2, P9)."""


def wiring(policy: str) -> Wiring:
    """The wiring of a policy name. Raises KeyError for policies without chips (static and dynamic vNPU)."""
    return WIRINGS[policy]


def _rule(w: Wiring) -> Any:
    return import_module(f"ascendctl.engine.wired.{w.rule}")


def list_codes(w: Wiring, state: State, distributed: bool, codes: NDArray[np.int16]) -> None:
    """Refuse, in place, nodes whose free list cannot be used at all (chapter 10 §5.3)."""
    length = np.where(state.fixed.list_bad, 0, state.list_length)
    refuse(codes, state.list_length <= 0, "NO_FREE_LIST")
    refuse(codes, length > w.max_node, "FREE_LIST_TOO_LONG")
    if w.policy in CHECKED_IDS:
        beyond = ~np.uint64((1 << w.max_node) - 1)
        refuse(codes, ~state.fixed.list_bad & ((state.free & beyond) != 0), "BAD_TOPOLOGY")
    if distributed and w.network_aware:
        refuse(codes, ~state.fixed.network_defined, "NO_NET_KEY")


def fit_codes(w: Wiring, state: State, n: int, distributed: bool, codes: NDArray[np.int16]) -> None:
    """Refuse, in place, nodes whose usable chips do not serve a pod of n chips."""
    rule, free = _rule(w), usable(state, distributed, w.network_aware)
    if rule.BASE_CHECK:
        if not 1 <= n <= w.max_node:
            refuse(codes, np.ones(len(codes), dtype=np.bool_), "BAD_COUNT")
        refuse(codes, count(free) < n, "NPU_SHORTAGE")
    refuse(codes, ~rule.fits(Ask(w, n, distributed), free), rule.CODE)


def chip_codes(w: Wiring, state: State, n: int, distributed: bool, codes: NDArray[np.int16]) -> None:
    """Refuse, in place, the nodes that a pod of n chips cannot use. `codes` int16[N], index of `predicate.CODES`."""
    list_codes(w, state, distributed, codes)
    fit_codes(w, state, n, distributed, codes)


def chip_scores(w: Wiring, state: State, n: int, distributed: bool, accepted: NDArray[np.bool_]) -> NDArray[np.int64]:
    """int64[N]: raw scores of the accepted nodes, 0 elsewhere. Every node gets its true score; stopping early on an
    exact fit (A3) is the loop's business."""
    free = usable(state, distributed, w.network_aware)
    scores: NDArray[np.int64] = np.where(accepted, _rule(w).raw_score(Ask(w, n, distributed), free, state.fixed), 0)
    return scores


def pick_masks(w: Wiring, state: State, n: int, distributed: bool) -> NDArray[np.uint64]:
    """uint64[N]: the chips that a pod of n chips gets on each node; 0 where it gets none."""
    picked: NDArray[np.uint64] = _rule(w).pick(Ask(w, n, distributed), usable(state, distributed, w.network_aware))
    return picked


def chip_order(w: Wiring, n: int, distributed: bool, free: int, chips: int) -> tuple[int, ...]:
    """Picked chips in the order in which the scheduler writes them. `free`: the node's usable chips before the pick."""
    order = getattr(_rule(w), "order", None)
    return order(Ask(w, n, distributed), free, chips) if order else chip_ids(chips)


def pick_chips(w: Wiring, state: State, node: int, n: int, distributed: bool) -> tuple[int, ...]:
    """Chip ids for a pod of n chips on one node, in the order of selection; empty if it cannot have them."""
    one = state.at(node)
    chips = int(pick_masks(w, one, n, distributed)[0])
    free = int(usable(one, distributed, w.network_aware)[0])
    return chip_order(w, n, distributed, free, chips) if chips.bit_count() == n else ()
