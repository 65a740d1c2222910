"""Switch affinity 2.0 for a whole job (chapter 23 §6): one leaf, exclusive leaves, shared leaves, overflow."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ascendctl.engine.policies.switch_leaves import (
    Leaves,
    Plan,
    Servers,
    Step,
    ascending,
    capacity,
    descending,
    state_word,
    tie_note,
)
from ascendctl.topology.leaf_states import EXCLUSIVE, IDLE, SHARED, UNHEALTHY

NO_LEAF = "tor check failed not enough resource for fill job"
NO_CAPACITY = "set tor failed by not enough nodes"
NO_OVERFLOW = "not enough node for normal job to schedule"


@dataclass
class Draft:
    """A plan in the making: groups in rank order, leaf states as they change, the explanation so far."""

    leaves: Leaves
    state: NDArray[np.int8]
    health: NDArray[np.int8]
    groups: list[Servers] = field(default_factory=list)
    homes: list[int] = field(default_factory=list)
    steps: list[Step] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)

    @classmethod
    def of(cls, leaves: Leaves) -> Draft:
        """Nothing planned, states as they are."""
        steps: list[Step] = [("leaf switches with usable nodes", {"leaves": leaves.table()})]
        return cls(leaves, leaves.state.copy(), leaves.health.copy(), steps=steps)

    def take(self, leaf: int, servers: Servers) -> None:
        """Append a group of one leaf."""
        self.groups.append(self.leaves.by_slice(servers))
        self.homes.append(leaf)

    def say(self, text: str, **data: Any) -> None:
        """Explain."""
        self.steps.append((text, data))

    def done(self, step: str) -> Plan:
        """The finished plan."""
        return Plan(step, tuple(self.groups), "", self.state, self.health, tuple(self.steps), tuple(self.notes))

    def refuse(self, code: str) -> Plan:
        """The plan that is none; states stay as they were."""
        return Plan(code=code, state=self.leaves.state, health=self.leaves.health, steps=tuple(self.steps),
                    notes=tuple(self.notes))  # fmt: skip


def plan_v2(leaves: Leaves, width: int, limit: int, pods: int, kind: str, protected: NDArray[np.bool_]) -> Plan:
    """Plan all `pods` pods of a job; at most `limit` shared leaves. `kind` is "normal", "filler" or "large";
    `protected` bool[L] are leaves that a large-model job crosses, which the overflow spares."""
    draft = Draft.of(leaves)
    if pods < width:
        if _one_leaf(draft, pods):
            return draft.done("single")
        if kind == "filler":
            return draft.refuse(NO_LEAF)
    free = leaves.free
    idle, shared = leaves.in_state(IDLE), leaves.in_state(SHARED)
    room = int(free[idle].sum()), capacity(free[shared], limit)
    text = f"capacity: {room[0]} usable nodes under idle leaf switches, {room[1]} under at most {limit} shared ones"
    draft.say(text, needed=pods)
    if pods > sum(room):
        if kind != "normal":
            return draft.refuse(NO_CAPACITY)
        return _overflow(draft, pods, protected)
    rest, partial = fill_idle(draft, descending(idle, free), pods)
    if kind == "filler":
        draft.notes.append(
            "a job with fewer than 4 pods crosses leaf switches here, because a leaf is not wider than the job"
        )
    if not rest:
        return draft.done("exclusive")
    if partial < 0 or rest <= room[1]:
        order = ascending(shared, free)
        reuse_shared(draft, order, rest, limit)
        if limit > 1 and len(draft.homes) == 1 and draft.homes[0] in order[:-2]:
            draft.notes.append(
                "the job stays in one leaf switch and is annotated so; the scheduler lists further pairs of shared "
                "leaf switches and would annotate isSharedTor 1"
            )
        return draft.done("shared")
    open_leaf(draft, partial, rest, SHARED)
    return draft.done("new-shared")


def fill_idle(draft: Draft, order: NDArray[np.int64], pods: int) -> tuple[int, int]:
    """Step 3: take idle leaves whole in the order given while they fit, exclusive from now on. Returns the pods that
    are left and the first leaf that is larger than the rest, -1 if there is none."""
    free, rest, partial = draft.leaves.free, pods, -1
    taken: dict[str, int] = {}
    for leaf in order[free[order] > 0].tolist():
        if rest < free[leaf]:
            partial = leaf
            break
        draft.take(leaf, draft.leaves.first(leaf))
        draft.state[leaf] = EXCLUSIVE
        taken[draft.leaves.ip(leaf)] = int(free[leaf])
        rest -= int(free[leaf])
    if taken:
        draft.say("exclusive: idle leaf switches taken whole", taken=taken)
    if rest and partial >= 0:
        draft.say(f"exclusive: {draft.leaves.ip(partial)} has more usable nodes than the {rest} pods that are left",
                  leaf=draft.leaves.ip(partial), usable=int(free[partial]))  # fmt: skip
    draft.notes += tie_note(order, free, [*draft.homes, *([partial] if partial >= 0 else [])])
    return rest, partial


def reuse_shared(draft: Draft, order: NDArray[np.int64], rest: int, limit: int) -> None:
    """Step 4 with leaves that are shared already, ascending; their capacity was tested before."""
    leaves, free = draft.leaves, draft.leaves.free
    sizes = {leaves.ip(i): int(free[i]) for i in order}
    if limit == 1:
        leaf = int(order[free[order] >= rest][0])
        draft.take(leaf, leaves.first(leaf, rest))
        draft.say(f"shared: {leaves.ip(leaf)} is the smallest shared leaf switch that holds the {rest} pods left",
                  visited=sizes)  # fmt: skip
    elif len(order) == 1:
        leaf = int(order[0])
        draft.take(leaf, leaves.first(leaf, rest))
        draft.say(f"shared: {leaves.ip(leaf)} is the only shared leaf switch and holds the {rest} pods left",
                  visited=sizes)  # fmt: skip
    else:
        pairs = free[order[:-1]] + free[order[1:]]
        k = int(np.flatnonzero(pairs >= rest)[0])
        low, high = int(order[k]), int(order[k + 1])
        alone = free[low] >= rest
        if free[low]:  # all of its nodes are listed, the pods that are left take the lowest slices
            draft.take(low, leaves.first(low))
        if not alone:
            draft.take(high, leaves.first(high, rest - int(free[low])))
        where = leaves.ip(low) if alone else f"{leaves.ip(low)} and {leaves.ip(high)}"
        draft.say(f"shared: the first neighbours by size that hold the {rest} pods left; used: {where}", visited=sizes,
                  pair=leaves.ips([low, high]))  # fmt: skip
    draft.notes += tie_note(order, free, draft.homes)


def open_leaf(draft: Draft, leaf: int, rest: int, state: int) -> None:
    """Step 4 with an idle leaf that gets `state` from now on."""
    draft.take(leaf, draft.leaves.first(leaf, rest))
    draft.state[leaf] = state
    word = state_word(state, 0)
    draft.say(f"{word}: idle leaf switch {draft.leaves.ip(leaf)} becomes {word} for the {rest} pods left",
              leaf=draft.leaves.ip(leaf), usable=int(draft.leaves.free[leaf]))  # fmt: skip


def _one_leaf(draft: Draft, pods: int) -> bool:
    """Step 1: the smallest sufficient leaf of the first state that has one; no leaf changes its state."""
    leaves, free = draft.leaves, draft.leaves.free
    visited: dict[str, Any] = {}
    for state, health in ((EXCLUSIVE, 0), (SHARED, UNHEALTHY), (SHARED, 0), (IDLE, 0)):
        order = ascending(leaves.in_state(state, health), free)
        fits = order[free[order] >= pods]
        word = state_word(state, health)
        if fits.size:
            leaf = int(fits[0])
            draft.take(leaf, leaves.first(leaf, pods))
            draft.say(f"single: {leaves.ip(leaf)} is the smallest {word} leaf switch that holds {pods} pods",
                      leaf=leaves.ip(leaf), usable=int(free[leaf]), too_small=visited)  # fmt: skip
            draft.notes += tie_note(order, free, [leaf])
            return True
        visited[word] = int(free[order].max(initial=0))
    draft.say(f"single: no leaf switch has {pods} usable nodes", most_by_state=visited)
    return False


def _overflow(draft: Draft, pods: int, protected: NDArray[np.bool_]) -> Plan:
    leaves, free = draft.leaves, draft.leaves.free
    rest = pods
    taken: dict[str, int] = {}
    for leaf in descending(leaves.in_state(IDLE), free).tolist():
        if free[leaf]:
            draft.take(leaf, leaves.first(leaf))
            draft.state[leaf] = EXCLUSIVE
            taken[leaves.ip(leaf)] = int(free[leaf])
            rest -= int(free[leaf])
    unhealthy, shared, exclusive = (
        ascending(leaves.in_state(*pair), free) for pair in ((SHARED, UNHEALTHY), (SHARED, 0), (EXCLUSIVE, 0))
    )
    spared = [i for i in (*shared, *exclusive) if protected[i] and free[i]]
    for leaf in _open([*unhealthy, *(i for i in (*shared, *exclusive) if not protected[i])], free):
        if not rest:
            break
        servers = leaves.first(leaf, rest)
        draft.take(leaf, servers)
        draft.state[leaf], draft.health[leaf] = SHARED, UNHEALTHY
        taken[leaves.ip(leaf)] = len(servers)
        rest -= len(servers)
    draft.say("overflow: idle leaf switches, then unhealthy, shared and exclusive ones, the smallest first",
              taken=taken, spared_for_large_model_jobs=leaves.ips(spared))  # fmt: skip
    if rest:
        draft.say(f"overflow: {rest} pods find no node")
        return draft.refuse(NO_OVERFLOW)
    if np.any((draft.health != leaves.health) & (leaves.state != IDLE)):
        draft.notes.append("shared and exclusive leaf switches that the overflow enters become unhealthy shared ones")
    return draft.done("overflow")


def _open(order: Iterable[int], free: NDArray[np.int64]) -> list[int]:
    return [int(i) for i in order if free[i]]
