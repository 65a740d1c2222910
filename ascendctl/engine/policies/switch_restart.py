"""Lost pods of a job that is still running: which nodes may take them, and which are best (chapter 23 §9)."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from ascendctl.engine.policies.switch_leaves import Leaves, Plan, Servers, Step, ascending, capacity
from ascendctl.engine.policies.switch_v2 import Draft, fill_idle, open_leaf, reuse_shared
from ascendctl.topology.leaf import LeafTopology
from ascendctl.topology.leaf_states import EXCLUSIVE, IDLE, SHARED

FILLER_RESTART = "check node err by: large model job can not over tor"
OUTSIDE_FILE = "node is not in tor node list by not get server"
WRONG_SLICE = "node sliceId is not meet task require"
BLACK_LISTED = "tor check failed node by nslb2.0"

OVER_LIMIT = "shared tor num is over global shared tor num"
NO_FILLER_ROOM = "not enough tor for fill job restart"
NO_ROOM = "not enough tor for job restart"


@dataclass(frozen=True)
class Remaining:
    """The pods of the job that are still bound. `servers` int64: their servers, -1 = a node outside the file.
    `single`: a pod says isSharedTor "0", the job lives in one leaf."""

    topology: LeafTopology
    servers: Servers
    single: bool = False

    @cached_property
    def inside(self) -> Servers:
        """Servers without the nodes outside the file."""
        return self.servers[self.servers >= 0]

    @cached_property
    def count(self) -> NDArray[np.int64]:
        """int64[L]: remaining pods below each leaf."""
        leaf = self.topology.server_leaf[self.inside]
        return np.bincount(leaf, minlength=len(self.topology.leaf_ips)).astype(np.int64)

    @cached_property
    def used(self) -> NDArray[np.bool_]:
        """bool[L]: leaves with a remaining pod."""
        return self.count > 0


@dataclass(frozen=True)
class Listing:
    """Nodes for the lost pods, best first. `servers` int64, `scores` int64 (100, 99, 0) before sub-health and weight.
    `plan` holds states, rejection and explanation, its groups the new leaves. `leaves` counts the listed leaves."""

    plan: Plan
    servers: Servers
    scores: NDArray[np.int64]
    leaves: int = 0


def enabled_slice(remaining: Remaining, width: int, fewest: bool = False) -> int:
    """The one slice id that 1.0 admits for lost pods: the largest in use, 0 if none is (§9.1). With `fewest` the slice
    with the fewest pods among those in use, the larger one on ties."""
    slices = remaining.topology.server_slice[remaining.inside]
    counts = np.bincount(slices[(slices >= 0) & (slices < width)], minlength=1)
    used = np.flatnonzero(counts)
    if not used.size:
        return 0
    return int(used[counts[used] == counts[used].min()][-1] if fewest else used[-1])


def refused_v1(
    topology: LeafTopology, server: NDArray[np.int32], kind: str, slice_id: int, crossed: NDArray[np.bool_]
) -> list[tuple[NDArray[np.bool_], str]]:
    """Nodes that 1.0 refuses for a lost pod, with the text, in the order of the tests. `server` int32[N]."""
    outside = server < 0
    slices, shut = np.append(topology.server_slice, -1), np.append(crossed[topology.server_leaf], False)
    wrong = (slices[server] != slice_id) | shut[server]
    everywhere = np.full(len(server), kind == "filler")
    return [(everywhere, FILLER_RESTART), (outside, OUTSIDE_FILE), (~outside & wrong, WRONG_SLICE)]


def list_v1(leaves: Leaves, remaining: Remaining, slice_id: int) -> Listing:
    """Order of the accepted nodes: leaves that the job uses first, file order, position. All score 0."""
    servers = np.flatnonzero(leaves.usable)
    used = remaining.used[leaves.topology.server_leaf[servers]]
    servers = servers[np.argsort(~used, kind="stable")]
    steps: list[Step] = [
        (
            f"restart: only nodes of slice {slice_id} may take lost pods, the largest slice id in use",
            {"used": leaves.ips(np.flatnonzero(remaining.used)), "leaves": leaves.table()},
        )
    ]
    notes = (
        "among the accepted nodes the scheduler has no preference; here the former node comes first, then leaf "
        "switches of the job, then the order of the file",
    )
    return Listing(Plan("slice", steps=tuple(steps), notes=notes), servers, np.zeros(len(servers), dtype=np.int64))


def black_list(remaining: Remaining, state: NDArray[np.int8], limit: int) -> NDArray[np.bool_]:
    """bool[L]: leaves that 2.0 refuses for a lost pod (§9.2)."""
    budget = limit - int((remaining.used & (state == SHARED)).sum())
    refused = state == EXCLUSIVE
    if budget <= 0:
        refused = refused | (state == SHARED)
    if remaining.single:
        refused = np.ones(len(state), dtype=np.bool_)
    marks: NDArray[np.bool_] = refused & ~remaining.used
    return marks


def list_v2(
    leaves: Leaves, remaining: Remaining, limit: int, pods: int, kind: str, minus: NDArray[np.int64]
) -> Listing:
    """Leaves for `pods` lost pods: those in use, if they do not suffice new ones (§9.2). `leaves.usable` are the nodes
    that passed every predicate and hold no pod of the job; `minus` int64[S] is what a server's score loses by
    sub-health and earlier faults (§8.2)."""
    draft, free, used = Draft.of(leaves), leaves.free, remaining.used
    add = limit - int((used & (leaves.state == SHARED)).sum())
    room = int(free[used].sum())
    if add < 0:
        draft.say(f"restart: the job uses {limit - add} shared leaf switches, the limit is {limit}")
        return _none(draft.refuse(OVER_LIMIT))
    old = np.flatnonzero(used)
    draft.say(
        f"restart: {pods} lost pods, {room} usable nodes under the leaf switches that the job uses",
        used={leaves.ip(i): int(free[i]) for i in old.tolist()},
        further_shared_leaves=add,
    )
    if pods <= room:
        _adopt(draft, remaining, old, add)
        return _ranked(draft, old, minus, "used")
    if kind == "filler":
        return _none(draft.refuse(NO_FILLER_ROOM))
    need = pods - room
    idle, shared = (leaves.in_state(s)[~used[leaves.in_state(s)]] for s in (IDLE, SHARED))
    spare = int(free[idle].sum()), capacity(free[shared], add)
    draft.say(f"restart: {spare[0]} usable nodes under other idle leaf switches, {spare[1]} under other shared ones",
              needed=need)  # fmt: skip
    if sum(spare) < need:
        return _none(draft.refuse(NO_ROOM))
    draft.state[old[draft.state[old] == IDLE]] = EXCLUSIVE
    rest, partial = fill_idle(draft, ascending(idle, free), need)
    if not rest:
        return _ranked(draft, old, minus, "exclusive")
    if partial < 0 or rest <= spare[1]:
        reuse_shared(draft, ascending(shared, free), rest, add)
        return _ranked(draft, old, minus, "shared")
    open_leaf(draft, partial, rest, SHARED if add > 0 else EXCLUSIVE)
    return _ranked(draft, old, minus, "new-shared" if add > 0 else "exclusive")


def _adopt(draft: Draft, remaining: Remaining, old: NDArray[np.int64], add: int) -> None:
    """Idle leaves in use get a state: shared while the limit allows and nodes are left over, else exclusive."""
    for leaf in old[draft.state[old] == IDLE].tolist():
        shared = add > 0 and int(draft.leaves.free[leaf]) > int(remaining.count[leaf]) + 1
        draft.state[leaf] = SHARED if shared else EXCLUSIVE
        add -= shared


def _ranked(draft: Draft, old: NDArray[np.int64], minus: NDArray[np.int64], step: str) -> Listing:
    """Listed servers by score, leaves of the job first, then file order and slice."""
    leaves, topology = draft.leaves, draft.leaves.topology
    used = [leaves.first(i) for i in old.tolist()]
    servers = np.concatenate([*used, *draft.groups]) if used or draft.groups else np.zeros(0, dtype=np.int64)
    leaf = topology.server_leaf[servers]
    scores = np.where(draft.state[leaf] == SHARED, 99, 100).astype(np.int64)
    new = np.arange(len(servers)) >= sum(map(len, used))
    final = np.maximum(scores - minus[servers], 0)
    order = np.lexsort((topology.server_slice[servers], leaf, new, -scores, -final))
    homes = [*old.tolist(), *draft.homes]
    words = {leaves.ip(i): "shared" if draft.state[i] == SHARED else "exclusive" for i in homes}
    draft.say("restart: listed leaf switches, nodes of exclusive ones before those of shared ones", listed=words)
    return Listing(draft.done(step), servers[order], scores[order], len(homes))


def _none(plan: Plan) -> Listing:
    return Listing(plan, np.zeros(0, dtype=np.int64), np.zeros(0, dtype=np.int64))
