"""Whole placements under switch affinity, with other jobs in the cluster, against chapter 23 read word by word."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from tests.engine.policies import plain_switch as plain
from tests.engine.policies.switch_world import answer, case, node

KINDS = ("normal", "large", "filler", "plain")
State = tuple[int, int]


@dataclass(frozen=True)
class World:
    """`usable[i]`: candidates of leaf i; `others`: (kind, servers, state that its pods carry) of running jobs."""

    width: int
    usable: tuple[tuple[int, ...], ...]
    others: tuple[tuple[str, tuple[plain.Server, ...], State | None], ...]
    job: str

    def case(self, version: str, limit: int, level: str | None) -> dict[str, Any]:
        leaves = " ".join(f"L{i + 1}{{{','.join(map(str, leaf))}}}" for i, leaf in enumerate(self.usable))
        others = []
        for kind, servers, mark in self.others:
            where = ",".join(f"L{leaf + 1}.{position}" for leaf, position in servers)
            others.append(f"{kind}@{where}" + (f" [{mark[0]}/{mark[1]}]" if mark else ""))
        return case(self.width, leaves, self.job, tuple(others), version=version, limit=limit, level=level)

    @property
    def pods(self) -> int:
        return int(self.job.split()[1])

    @property
    def kind(self) -> str:
        return self.job.split()[0]

    @property
    def slices(self) -> list[range]:
        return [range(self.width) for _ in self.usable]

    def crossing(self, leaf: int, large: bool = False) -> bool:
        """§4.1, §4.2: a job has pods here and elsewhere."""
        return any(
            {leaf} < {i for i, _ in servers} and (not large or (kind == "large" and len(servers) >= 4))
            for kind, servers, _ in self.others
        )

    def only_normal(self, leaf: int) -> bool:
        return all(kind == "normal" for kind, servers, _ in self.others if leaf in {i for i, _ in servers})

    def states(self) -> list[State]:
        """§4.2, conflicts as ascendctl decides them."""
        found = []
        for leaf in range(len(self.usable)):
            marks = {mark for _, servers, mark in self.others if mark and leaf in {i for i, _ in servers}}
            shared = {s for s, _ in marks}
            found.append((1 if 1 in shared else 2 if 2 in shared else 0, int(any(h for _, h in marks))))
        return found


@st.composite
def worlds(draw: st.DrawFn) -> World:
    width, count = draw(st.integers(1, 4)), draw(st.integers(1, 4))
    left = [(i, p) for i in range(count) for p in range(width)]
    others = []
    for _ in range(draw(st.integers(0, 3))):
        if len(left) < 2:
            break
        servers = draw(st.lists(st.sampled_from(left), min_size=1, max_size=min(5, len(left)), unique=True))
        left = [server for server in left if server not in servers]
        kind = draw(st.sampled_from(KINDS))
        kind = kind if kind in ("normal", "plain") else "large" if len(servers) >= 4 else "filler"
        mark = draw(st.sampled_from([None, (0, 0), (1, 0), (1, 1), (2, 0)]))
        others.append((kind, tuple(servers), mark))
    usable = tuple(tuple(p for i, p in left if i == leaf and draw(st.integers(0, 3))) for leaf in range(count))
    pods = draw(st.integers(1, 8))
    kind = draw(st.sampled_from(["normal", "large" if pods >= 4 else "filler"]))
    return World(width, usable, tuple(others), f"{kind} {pods}")


def compare(world: World, result: dict[str, Any], expected: str | plain.Groups) -> bool:
    """True if the job is placed."""
    if sum(map(len, world.usable)) < world.pods and isinstance(expected, str):
        assert result["outcome"] == "unschedulable"
        return False
    if isinstance(expected, str):
        assert (result["outcome"], result["code"]) == ("unschedulable", expected)
        return False
    servers = plain.ranked(expected, world.slices)[: world.pods]
    assert [pod["node"] for pod in result["pods"]] == [node(f"L{i + 1}.{p}") for i, p in servers]
    return True


EXAMPLES = settings(max_examples=60, deadline=None)


@EXAMPLES
@given(worlds())
def test_version_one(world: World) -> None:
    blocked = [
        world.crossing(i) and not (world.kind == "normal" and world.only_normal(i)) for i in range(len(world.usable))
    ]
    expected = plain.version_one(world.usable, world.width, world.pods, world.kind, blocked)
    compare(world, answer(world.case("1.0", 2, None)), expected)


@EXAMPLES
@given(worlds(), st.sampled_from([1, 2]))
def test_version_two(world: World, limit: int) -> None:
    protected = [world.crossing(i, large=True) for i in range(len(world.usable))]
    expected, states = plain.version_two(
        world.usable, world.states(), world.width, limit, world.pods, world.kind, protected
    )
    result = answer(world.case("2.0", limit, None))
    if not compare(world, result, expected):
        return
    found = result["metrics"]["leaf_states"]
    assert [(s["IsSharedTor"], s["IsHealthy"]) for s in found.values()] == states
    several = len({pod["group"] for pod in result["pods"]}) > 1
    for pod in result["pods"]:
        shared, health = states[int(pod["group"][1:]) - 1] if several else (0, 0)
        marks = pod["annotations"]
        assert (marks["isSharedTor"], marks["isHealthy"]) == (str(shared), str(health))
        assert marks.get("sharedTorIp") == (pod["group"] if shared == 1 else None)


@EXAMPLES
@given(worlds(), st.sampled_from(["1.0", "2.0"]))
def test_single_layer(world: World, version: str) -> None:
    expected = plain.single_layer(world.usable, world.width, world.pods)
    result = answer(world.case(version, 2, "single_layer"))
    if compare(world, result, expected):
        assert not any("isSharedTor" in pod["annotations"] for pod in result["pods"])
