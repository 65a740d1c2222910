"""What holds for every placement under switch affinity, on random topologies."""

from __future__ import annotations

from typing import Any

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from ascendctl.engine.policies.switch_leaves import Leaves
from ascendctl.engine.policies.switch_restart import Remaining, black_list, list_v2
from ascendctl.engine.policies.switch_single import plan_single
from ascendctl.engine.policies.switch_v1 import plan_v1
from ascendctl.engine.policies.switch_v2 import plan_v2
from ascendctl.topology.leaf import LeafTopology
from ascendctl.topology.leaf_states import EXCLUSIVE, IDLE, SHARED
from tests.engine.policies.switch_world import answer, case

PAIRS = [(0, 0), (0, 0), (2, 0), (1, 0), (1, 1)]


@st.composite
def worlds(draw: st.DrawFn) -> tuple[Leaves, int]:
    """Leaves of a common width, some shorter, some servers unusable, slices in any order."""
    width, count = draw(st.integers(1, 6)), draw(st.integers(1, 8))
    sizes = [draw(st.sampled_from([width, width, width, max(0, width - 1)])) for _ in range(count)]
    total = sum(sizes)
    slices = [s for size in sizes for s in draw(st.permutations(range(width)))[:size]]
    states = [draw(st.sampled_from(PAIRS)) for _ in range(count)]
    topology = LeafTopology(
        tuple(f"L{i}" for i in range(count)),
        tuple(range(count)),
        np.cumsum([0, *sizes], dtype=np.int32),
        np.arange(total, dtype=np.int32),
        np.array(slices, dtype=np.int32),
        ("",) * total,
        None,
        width,
    )
    usable = np.array(draw(st.lists(st.booleans(), min_size=total, max_size=total)), dtype=np.bool_)
    state, health = np.array(states, dtype=np.int8).reshape(count, 2).T
    return Leaves(topology, usable, state, health), width


@st.composite
def jobs(draw: st.DrawFn) -> tuple[int, str]:
    pods = draw(st.integers(1, 16))
    return pods, draw(st.sampled_from(["normal", "large" if pods >= 4 else "filler"]))


marks = st.lists(st.booleans(), min_size=8, max_size=8)


def _homes(leaves: Leaves, servers: Any) -> list[int]:
    found: list[int] = leaves.topology.server_leaf[servers].tolist()
    return found


def _sound(leaves: Leaves, servers: Any, pods: int) -> None:
    assert len(servers) == pods == len(set(servers.tolist()))
    assert leaves.usable[servers].all()


@given(worlds(), jobs(), marks)
@settings(max_examples=200, deadline=None)
def test_version_one(world: tuple[Leaves, int], job: tuple[int, str], closed: list[bool]) -> None:
    (leaves, width), (pods, kind) = world, job
    blocked = np.array(closed[: len(leaves.free)], dtype=np.bool_)
    plan = plan_v1(leaves, width, pods, kind, blocked)
    open_leaves = leaves.free[~blocked | (leaves.free >= pods)]
    if plan.code:
        assert kind != "normal" or int(open_leaves.sum()) < pods
        return
    _sound(leaves, plan.servers, pods)
    homes = set(_homes(leaves, plan.servers))
    assert not any(blocked[home] and leaves.free[home] < pods for home in homes)
    if pods < width and (kind == "filler" or int(leaves.free.max()) >= pods):
        assert plan.step == "single" and len(homes) == 1
        assert leaves.free[homes.pop()] == min(f for f in leaves.free.tolist() if f >= pods)
    for group in plan.groups:
        slices = leaves.topology.server_slice[group].tolist()
        assert slices == sorted(slices)
        if plan.step == "logical":
            positions = leaves.topology.server_position[group].tolist()
            assert len(set(positions)) == len(positions)


@given(worlds(), jobs(), marks, st.sampled_from([1, 2]))
@settings(max_examples=300, deadline=None)
def test_version_two(world: tuple[Leaves, int], job: tuple[int, str], spared: list[bool], limit: int) -> None:
    (leaves, width), (pods, kind) = world, job
    protected = np.array(spared[: len(leaves.free)], dtype=np.bool_)
    plan = plan_v2(leaves, width, limit, pods, kind, protected)
    assert plan.state is not None and plan.health is not None
    if plan.code:
        assert (plan.state == leaves.state).all() and (plan.health == leaves.health).all()
        return
    servers = plan.servers[:pods]
    _sound(leaves, servers, pods)
    homes = set(_homes(leaves, servers))
    used = {home: _homes(leaves, servers).count(home) for home in homes}
    if kind == "filler" and pods < width:
        assert len(homes) == 1
    if plan.step == "single":
        assert len(homes) == 1 and (plan.state == leaves.state).all()
        return
    shared = [home for home in homes if plan.state[home] == SHARED]
    for home in homes:
        if leaves.state[home] == IDLE and plan.state[home] == EXCLUSIVE:
            assert used[home] == leaves.free[home]
    if plan.step == "overflow":
        assert kind == "normal"
        assert all(plan.health[home] == 1 for home in shared)
        assert not any(protected[home] and (leaves.state[home], leaves.health[home]) != (1, 1) for home in shared)
    else:
        assert len(shared) <= limit and (plan.health == leaves.health).all()
        assert all((leaves.state[home], leaves.health[home]) in ((0, 0), (1, 0)) for home in homes)


@given(worlds(), jobs())
@settings(max_examples=100, deadline=None)
def test_single_layer(world: tuple[Leaves, int], job: tuple[int, str]) -> None:
    (leaves, width), (pods, _) = world, job
    plan = plan_single(leaves, width, pods, pods)
    fits = [f for f in leaves.free.tolist() if f >= pods]
    assert bool(plan.code) == (pods > width or not fits)
    if not plan.code:
        _sound(leaves, plan.servers, pods)
        (home,) = set(_homes(leaves, plan.servers))
        assert leaves.free[home] == min(fits)
        assert not any(f == min(fits) for f in leaves.free.tolist()[home + 1 :])


@given(worlds(), st.integers(1, 5), st.sampled_from([1, 2]), marks, st.booleans())
@settings(max_examples=200, deadline=None)
def test_restart(world: tuple[Leaves, int], lost: int, limit: int, bound: list[bool], single: bool) -> None:
    leaves, _ = world
    topology = leaves.topology
    held = np.flatnonzero(np.array([bound[i % 8] for i in range(len(leaves.usable))], dtype=np.bool_))
    remaining = Remaining(topology, held, single)
    usable = leaves.usable.copy()
    usable[held] = False
    usable &= ~black_list(remaining, leaves.state, limit)[topology.server_leaf]
    leaves = Leaves(topology, usable, leaves.state, leaves.health)
    listing = list_v2(leaves, remaining, limit, lost, "large", np.zeros(len(usable), dtype=np.int64))
    plan = listing.plan
    assert plan.state is not None
    if plan.code:
        assert (plan.state == leaves.state).all() and not len(listing.servers)
        return
    assert len(listing.servers) >= lost and usable[listing.servers].all()
    assert len(set(listing.servers.tolist())) == len(listing.servers)
    homes = set(_homes(leaves, listing.servers)) | set(np.flatnonzero(remaining.used).tolist())
    assert sum(plan.state[home] == SHARED for home in homes) <= limit
    if single:
        assert homes == set(np.flatnonzero(remaining.used).tolist())
    scores = listing.scores.tolist()
    assert scores == sorted(scores, reverse=True) and set(scores) <= {99, 100}


@given(st.integers(0, 1000), st.sampled_from(["1.0", "2.0"]), st.sampled_from(["large 6", "normal 5", "filler 3"]))
@settings(max_examples=15, deadline=None)
def test_object_order_does_not_matter(seed: int, version: str, job: str) -> None:
    others = ("normal@L1.0,L2.1", "large@L3.0 [1/0]")
    example = case(4, "L1{1,2,3} L2{0,2,3} L3{1,2,3} L4{0,1,2,3}", job, others, version=version)
    assert answer(example, seed=seed) == answer(example, "device", seed=seed + 1) == answer(example)
