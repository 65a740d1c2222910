"""The planners of switch affinity against the pseudo-code of chapter 23 (§5.2, §6.1, §7, §9.2), on random leaves."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from ascendctl.engine.policies.switch_leaves import Leaves, Plan
from ascendctl.engine.policies.switch_restart import Remaining, black_list, list_v2
from ascendctl.engine.policies.switch_single import plan_single
from ascendctl.engine.policies.switch_v1 import plan_v1
from ascendctl.engine.policies.switch_v2 import plan_v2
from ascendctl.topology.leaf import LeafTopology
from tests.engine.policies import plain_switch as plain

STATES = [(0, 0), (0, 0), (2, 0), (1, 0), (1, 1)]
MANY = settings(max_examples=400, deadline=None)


@dataclass(frozen=True)
class World:
    """`usable[i]`: usable positions of leaf i of `sizes[i]` servers; `slices[i]`: their slice ids."""

    width: int
    sizes: tuple[int, ...]
    usable: tuple[tuple[int, ...], ...]
    slices: tuple[tuple[int, ...], ...]
    states: tuple[tuple[int, int], ...]
    marks: tuple[bool, ...]

    def leaves(self, usable: Sequence[Sequence[int]] | None = None) -> Leaves:
        count, total = len(self.sizes), sum(self.sizes)
        topology = LeafTopology(
            tuple(f"L{i}" for i in range(count)),
            tuple(range(count)),
            np.cumsum([0, *self.sizes], dtype=np.int32),
            np.arange(total, dtype=np.int32),
            np.array([s for leaf in self.slices for s in leaf], dtype=np.int32),
            ("",) * total,
            None,
            self.width,
        )
        flags = [
            p in positions
            for size, positions in zip(self.sizes, usable or self.usable, strict=True)
            for p in range(size)
        ]
        state, health = np.array(self.states, dtype=np.int8).reshape(count, 2).T
        return Leaves(topology, np.array(flags, dtype=np.bool_), state, health)

    def servers(self, found: Any, topology: LeafTopology) -> list[plain.Server]:
        leaf, position = topology.server_leaf[found], topology.server_position[found]
        return list(zip(leaf.tolist(), position.tolist(), strict=True))


@st.composite
def worlds(draw: st.DrawFn) -> World:
    width, count = draw(st.integers(1, 5)), draw(st.integers(1, 6))
    sizes = tuple(draw(st.sampled_from([width, width, width, width - 1])) for _ in range(count))
    flags = draw(st.lists(st.booleans(), min_size=sum(sizes), max_size=sum(sizes)))
    bits = iter(flags)
    usable = tuple(tuple(p for p in range(size) if next(bits)) for size in sizes)
    ordered = draw(st.booleans())
    slices = tuple(
        tuple(range(size)) if ordered else tuple(draw(st.permutations(range(width)))[:size]) for size in sizes
    )
    states = tuple(draw(st.sampled_from(STATES)) for _ in range(count))
    return World(width, sizes, usable, slices, states, tuple(draw(st.booleans()) for _ in range(count)))


@st.composite
def jobs(draw: st.DrawFn) -> tuple[int, str]:
    pods = draw(st.integers(1, 18))
    return pods, draw(st.sampled_from(["normal", "large" if pods >= 4 else "filler"]))


def compare(world: World, leaves: Leaves, plan: Plan, expected: str | plain.Groups, pods: int) -> None:
    if isinstance(expected, str):
        assert plan.code == expected
    else:
        assert plan.code == ""
        assert world.servers(plan.servers[:pods], leaves.topology) == plain.ranked(expected, world.slices)[:pods]


@MANY
@given(worlds(), jobs())
def test_version_one(world: World, job: tuple[int, str]) -> None:
    (pods, kind), leaves = job, world.leaves()
    plan = plan_v1(leaves, world.width, pods, kind, np.array(world.marks))
    compare(world, leaves, plan, plain.version_one(world.usable, world.width, pods, kind, world.marks), pods)


@MANY
@given(worlds(), jobs(), st.sampled_from([1, 2]))
def test_version_two(world: World, job: tuple[int, str], limit: int) -> None:
    (pods, kind), leaves = job, world.leaves()
    plan = plan_v2(leaves, world.width, limit, pods, kind, np.array(world.marks))
    expected, states = plain.version_two(world.usable, world.states, world.width, limit, pods, kind, world.marks)
    compare(world, leaves, plan, expected, pods)
    assert plan.state is not None and plan.health is not None
    assert list(zip(plan.state.tolist(), plan.health.tolist(), strict=True)) == states


@MANY
@given(worlds(), st.integers(1, 6))
def test_single_layer(world: World, pods: int) -> None:
    leaves = world.leaves()
    plan = plan_single(leaves, world.width, pods, pods)
    compare(world, leaves, plan, plain.single_layer(world.usable, world.width, pods), pods)


@MANY
@given(worlds(), st.integers(1, 6), st.sampled_from([1, 2]), st.sampled_from(["large", "normal", "filler"]), st.data())
def test_restart_of_version_two(world: World, lost: int, limit: int, kind: str, data: st.DataObject) -> None:
    held = [
        data.draw(st.sets(st.sampled_from(range(size)), max_size=2)) if size else set[int]() for size in world.sizes
    ]
    starts = np.cumsum([0, *world.sizes])
    servers = np.array([starts[i] + p for i, positions in enumerate(held) for p in sorted(positions)], dtype=np.int64)
    topology = world.leaves().topology
    single = data.draw(st.booleans())
    remaining = Remaining(topology, servers, single)
    shared = np.array([state for state, _ in world.states], dtype=np.int8)
    closed = black_list(remaining, shared, limit)
    used = [bool(positions) for positions in held]
    budget = limit - sum(state[0] == 1 for state, there in zip(world.states, used, strict=True) if there)
    for i, there in enumerate(used):
        state = world.states[i][0]
        assert closed[i] == (not there and (single or state == 2 or (state == 1 and budget <= 0)))
    usable = [
        () if closed[i] else tuple(p for p in world.usable[i] if p not in held[i]) for i in range(len(world.sizes))
    ]
    leaves = world.leaves(usable)
    listing = list_v2(leaves, remaining, limit, lost, kind, np.zeros(len(leaves.usable), dtype=np.int64))
    expected, states = plain.restart_two(usable, world.states, list(map(len, held)), limit, lost, kind, world.slices)
    assert listing.plan.state is not None
    assert listing.plan.state.tolist() == [state for state, _ in states]
    if isinstance(expected, str):
        assert listing.plan.code == expected
    else:
        assert listing.plan.code == ""
        assert world.servers(listing.servers, topology) == expected
