"""What every switch-affinity planner shares: the leaves with their usable nodes, and the plan that comes out.

Servers are counted through all leaves in file order, leaves in file order (chapter 23 §11 rule 1); every sort is
stable (rule 2).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ascendctl.topology.leaf import LeafTopology

Servers = NDArray[np.int64]
Step = tuple[str, Mapping[str, Any]]

STABLE_SORT = 12
"""The scheduler's sort keeps the order of equal elements up to this many; beyond, ties fall by chance (§11 rule 2)."""

STATE_NAMES = {(0, 0): "idle", (2, 0): "exclusive", (1, 0): "shared", (1, 1): "unhealthy shared"}


@dataclass(frozen=True)
class Leaves:
    """S servers under L leaves as a job finds them. `usable` bool[S]: the node passed every predicate for the job's
    first pod. `state`, `health` int8[L]: states of switch affinity 2.0, all idle otherwise."""

    topology: LeafTopology
    usable: NDArray[np.bool_]
    state: NDArray[np.int8]
    health: NDArray[np.int8]

    @cached_property
    def free(self) -> NDArray[np.int64]:
        """int64[L]: usable servers of each leaf."""
        leaf = self.topology.server_leaf[self.usable]
        return np.bincount(leaf, minlength=len(self.topology.leaf_ips)).astype(np.int64)

    def first(self, leaf: int, count: int | None = None) -> Servers:
        """The first `count` usable servers of a leaf in list order, all of them without `count`."""
        start, end = self.topology.server_ptr[leaf : leaf + 2].tolist()
        servers: Servers = np.flatnonzero(self.usable[start:end]) + start
        return servers[:count]

    def without(self, leaves: NDArray[np.bool_]) -> Leaves:
        """The same without the servers of the marked leaves."""
        return Leaves(self.topology, self.usable & ~leaves[self.topology.server_leaf], self.state, self.health)

    def in_state(self, state: int, health: int = 0) -> NDArray[np.int64]:
        """Leaves in a state, in file order."""
        return np.flatnonzero((self.state == state) & (self.health == health))

    def by_slice(self, servers: Servers) -> Servers:
        """The servers of a group in rank order: by slice id (§8.1)."""
        return servers[np.argsort(self.topology.server_slice[servers], kind="stable")]

    def ip(self, leaf: int) -> str:
        """tor_ip of a leaf."""
        return self.topology.leaf_ips[leaf]

    def ips(self, leaves: Sequence[int] | NDArray[np.int64]) -> list[str]:
        """tor_ips of leaves."""
        return [self.topology.leaf_ips[i] for i in leaves]

    def table(self) -> list[dict[str, Any]]:
        """Leaves with usable servers and their state, for the trace."""
        rows = np.flatnonzero(self.free > 0).tolist()
        free, state, health = self.free.tolist(), self.state.tolist(), self.health.tolist()
        return [
            {"leaf": self.ip(i), "usable": free[i], "state": STATE_NAMES.get((state[i], health[i]), "unusable")}
            for i in rows
        ]


@dataclass(frozen=True)
class Plan:
    """`groups` in rank order, each already sorted by slice: server number r of all groups together takes rank r. The
    last group may list more servers than there are pods.

    `step` is the step that matched (§11 rule 6). `code` is the rejection text, "" = planned. `state`, `health` int8[L]
    are the leaf states after the placement. `steps` and `notes` explain it.
    """

    step: str = ""
    groups: tuple[Servers, ...] = ()
    code: str = ""
    state: NDArray[np.int8] | None = None
    health: NDArray[np.int8] | None = None
    steps: tuple[Step, ...] = ()
    notes: tuple[str, ...] = ()

    @cached_property
    def servers(self) -> Servers:
        """All listed servers, in rank order."""
        return np.concatenate(self.groups) if self.groups else np.zeros(0, dtype=np.int64)


def descending(leaves: NDArray[np.int64], free: NDArray[np.int64]) -> NDArray[np.int64]:
    """Leaves by usable servers, most first, ties in the order given."""
    return leaves[np.argsort(-free[leaves], kind="stable")]


def ascending(leaves: NDArray[np.int64], free: NDArray[np.int64]) -> NDArray[np.int64]:
    """Leaves by usable servers, fewest first, ties in the order given."""
    return leaves[np.argsort(free[leaves], kind="stable")]


def tie_note(
    sorted_leaves: NDArray[np.int64], free: NDArray[np.int64], chosen: Sequence[int] | NDArray[np.int64]
) -> tuple[str, ...]:
    """A note if equal leaves of a long list competed for a chosen one (§11 rule 2)."""
    if len(sorted_leaves) <= STABLE_SORT:
        return ()
    alike = np.bincount(free[sorted_leaves])
    if not any(alike[free[i]] > 1 for i in chosen):
        return ()
    return (
        f"a tie among {len(sorted_leaves)} sorted leaf switches was decided by the order of the file; with more than "
        f"{STABLE_SORT} the scheduler's own sort leaves ties to chance",
    )


def capacity(free: NDArray[np.int64], limit: int) -> int:
    """How many pods the shared leaves with these counts can take, at most `limit` leaves (§6.1 step 2)."""
    if limit <= 0 or not free.size:
        return 0
    return int(np.sort(free)[::-1][:limit].sum())


def state_word(state: int, health: int) -> str:
    """Word for a pair of state and health."""
    return STATE_NAMES.get((int(state), int(health)), "unusable")
