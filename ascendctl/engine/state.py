"""The working arrays of one placement: what changes while pods of a job are placed."""

from __future__ import annotations

from dataclasses import dataclass, fields, replace

import numpy as np
from numpy.typing import NDArray

from ascendctl.snapshot.cluster import Cluster, ResourceColumns
from ascendctl.snapshot.profiles import StableRule, profile_of


@dataclass(frozen=True)
class State:
    """Copies of the columns of one resource (length N) that `take` changes; the snapshot itself never changes.

    `free` uint64, `idle`, `list_length` int32 as in ResourceColumns; `fixed` are the columns that stay.
    `rule`: which nodes the version of the plugin takes for stable.
    """

    resource: str
    fixed: ResourceColumns
    free: NDArray[np.uint64]
    idle: NDArray[np.int32]
    list_length: NDArray[np.int32]
    rule: StableRule = "bounded"

    @property
    def stable(self) -> NDArray[np.bool_]:
        """bool[N]: nodes on which list, idle and capacity agree (chapter 30 §6.6, §7)."""
        exact = self.rule in ("equal", "equal-unless-over")
        agree: NDArray[np.bool_] = self.list_length == self.idle if exact else self.list_length <= self.idle
        if self.rule == "bounded":
            agree &= (self.list_length <= self.fixed.capacity) & (self.idle <= self.fixed.capacity)
        elif self.rule == "equal-unless-over":
            agree |= self.idle < 0
        return agree

    def copy(self) -> State:
        """The same with working arrays of its own."""
        return replace(self, free=self.free.copy(), idle=self.idle.copy(), list_length=self.list_length.copy())

    def at(self, node: int) -> State:
        """The same arrays seen at one node only (length 1 views)."""
        return self._part(slice(node, node + 1))

    def of(self, nodes: NDArray[np.intp]) -> State:
        """Copies of the arrays at some nodes (indices), in their order."""
        return self._part(nodes)

    def _part(self, here: slice | NDArray[np.intp]) -> State:
        fixed = ResourceColumns(*(getattr(self.fixed, field.name)[here] for field in fields(self.fixed)))
        return State(self.resource, fixed, self.free[here], self.idle[here], self.list_length[here], self.rule)

    def take(self, node: int, chips: int, count: int) -> None:
        """Give `count` chips (bit mask `chips`) of a node to a pod."""
        self.free[node] &= np.uint64(~chips & 0xFFFFFFFFFFFFFFFF)
        self.idle[node] -= count
        self.list_length[node] = max(0, int(self.list_length[node]) - chips.bit_count())


def undefined(size: int) -> ResourceColumns:
    """Columns of a resource that no node offers."""
    none, zero = np.full(size, -1, dtype=np.int32), np.zeros(size, dtype=np.uint64)
    no = np.zeros(size, dtype=np.bool_)
    return ResourceColumns(
        none, none, np.zeros(size, dtype=np.int32), no, none, zero, zero, zero, zero, np.zeros(size, np.int32), no, no
    )


def new_state(cluster: Cluster, resource: str) -> State:
    """Fresh working arrays for one resource name."""
    columns = cluster.resources.get(resource) or undefined(cluster.size)
    rule = profile_of(cluster.profile).stable
    return State(resource, columns, columns.free.copy(), columns.idle.copy(), columns.list_length.copy(), rule)


def usable(state: State, distributed: bool, network_aware: bool) -> NDArray[np.uint64]:
    """uint64[N]: chips that a policy may use (chapter 10 §5.3): the free ones, without network-unhealthy chips for a
    distributed job of a policy that watches the network; none where the list is malformed."""
    free = np.where(state.fixed.list_bad, np.uint64(0), state.free)
    return free & ~state.fixed.network_unhealthy if distributed and network_aware else free
