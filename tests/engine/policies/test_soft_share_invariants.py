"""Soft sharing on random nodes: the engine against a plain restatement of chapter 11.15, and what must hold always."""

from __future__ import annotations

import random
from dataclasses import dataclass, field

from hypothesis import given, settings
from hypothesis import strategies as st

from ascendctl.engine.api import place
from ascendctl.engine.result import Placement
from tests.engine.build import A910, NPU, SUBHEALTHY, Node, Pod, cluster, job, policy

SHARE = "huawei.com/scheduler.softShareDev."
KEYS = (SHARE + "aicoreQuota", SHARE + "hbmQuota", SHARE + "policy")
REAL = "huawei.com/AscendReal"
WORDS = ("fixed-share", "elastic", "best-effort")


@dataclass
class Share:
    """A pod on a chip: percent of its cores, MB of its memory, sharing policy; `own`: of the job that is placed."""

    chip: int
    cores: int
    memory: int
    sharing: str
    own: bool = False


@dataclass
class World:
    """One node. `memory` is the text of its label, None = no label. `free`: the free list."""

    name: str
    chips: int
    free: list[int]
    memory: str | None
    enabled: bool
    sub_healthy: bool
    idle: int
    shares: list[Share] = field(default_factory=list)
    broken: int = 0
    """Pods whose chip cannot be read."""


@dataclass(frozen=True)
class Wanted:
    cores: int
    memory: int
    sharing: str
    pods: int


def used(shares: list[Share], chip: int) -> tuple[int, int, str | None]:
    """Sums of cores and memory on a chip, and the policy of the last pod; None = no pod."""
    here = [share for share in shares if share.chip == chip]
    return sum(s.cores for s in here), sum(s.memory for s in here), here[-1].sharing if here else None


def megabytes(text: str | None) -> int | None:
    bare = "" if text is None else text.replace("G", "")
    return int(bare) * 1024 if bare.isdigit() else None


def code(node: World, want: Wanted) -> str:
    """Why a node refuses a pod, "" if it takes it: stage 0, then 11.15.3 in its order."""
    capacity = 100 * node.chips
    if len(node.free) > node.idle or len(node.free) > capacity or node.idle > capacity:
        return "RES_UNSTABLE"
    if node.idle < want.cores:
        return "NPU_SHORTAGE"
    if not node.enabled:
        return "E_SOFT_LABEL"
    if not node.free:
        return "NO_FREE_LIST"
    if len(node.free) > 16:
        return "FREE_LIST_TOO_LONG"
    limit = megabytes(node.memory)
    if limit is None:
        return "E_SOFT_MEM"
    others = [share for share in node.shares if not share.own]
    cores = memory = 0
    for chip in node.free:
        taken, held, sharing = used(others, chip)
        if sharing in (None, want.sharing):
            cores += int((100 - taken) / want.cores) * want.cores
            memory += int((limit - held) / want.memory) * want.memory
    if want.cores * want.pods > cores or want.memory * want.pods > memory:
        return "E_SOFT_NODE_TOTAL"
    return "" if any(takes(node, chip, want) for chip in node.free) else "E_SOFT_NO_CHIP"


def takes(node: World, chip: int, want: Wanted) -> bool:
    limit = megabytes(node.memory) or 0
    taken, held, sharing = used(node.shares, chip)
    if sharing is None:
        return want.memory <= limit
    return taken + want.cores <= 100 and held + want.memory <= limit and sharing == want.sharing


def score(node: World, want: Wanted) -> int:
    """Raw score of a node that accepts (11.15.4); the policy of the chips is not compared."""
    limit, in_use = megabytes(node.memory) or 0, {share.chip for share in node.shares}
    if not in_use:
        return 0
    sums = [used(node.shares, chip)[:2] for chip in in_use & set(node.free)]
    fitting = [100 + a + want.cores for a, h in sums if a + want.cores <= 100 and h + want.memory <= limit]
    return 16 * (max(fitting) if fitting else len(in_use))


def pick(node: World, want: Wanted) -> int:
    """11.15.5."""
    able = [chip for chip in node.free if takes(node, chip, want)]
    shared = [chip for chip in able if used(node.shares, chip)[2] is not None]
    return min(shared, key=lambda chip: (-used(node.shares, chip)[0], chip)) if shared else min(able)


def seats(nodes: list[World], want: Wanted) -> tuple[list[tuple[str, int]], dict[str, str]]:
    """(node, chip) of the pods, one after the other; and the refusals that the pod without a node met, {} = all sit."""
    found = []
    for _ in range(want.pods):
        refusals = {node.name: code(node, want) for node in nodes}
        scores = {n.name: max(0, score(n, want) - n.sub_healthy) for n in nodes if not refusals[n.name]}
        if not scores:
            return found, refusals
        best = max(scores, key=lambda name: (scores[name], -int(name[1:])))
        node = next(node for node in nodes if node.name == best)
        chip = pick(node, want)
        node.shares.append(Share(chip, want.cores, want.memory, want.sharing, own=True))
        node.idle -= want.cores
        found.append((best, chip))
    return found, {}


QUOTAS = st.sampled_from([1, 5, 10, 20, 25, 30, 33, 40, 50, 60, 70, 80, 100])
MEMORIES = st.sampled_from([1, 1000, 1024, 4096, 8192, 10240, 16384, 30000, 32768])


@st.composite
def nodes_of(draw, want):
    """Nodes of up to 16 chips, at times more; some disabled or without a readable memory label; pods of other jobs and
    of the job itself on random chips, over-committed ones too."""
    found = []
    for i in range(draw(st.integers(1, 5))):
        chips = draw(st.sampled_from([1, 2, 2, 4, 8, 16, 18]))
        gone = draw(st.lists(st.integers(0, chips - 1), max_size=3)) if draw(st.booleans()) else []
        shares = [
            Share(
                draw(st.integers(0, min(chips, 3) - 1)),
                draw(QUOTAS),
                draw(MEMORIES),
                draw(st.sampled_from([want.sharing, want.sharing, *WORDS])),
                draw(st.sampled_from([False, False, False, True])),
            )
            for _ in range(draw(st.integers(0, 5)))
        ]
        held = draw(st.sampled_from([0, 0, sum(share.cores for share in shares)]))
        found.append(
            World(
                f"n{i}",
                chips,
                [chip for chip in range(chips) if chip not in gone],
                draw(st.sampled_from(["8G", "32G", "32G", "64G", "64", "big", None])),
                draw(st.sampled_from([True, True, True, True, False])),
                draw(st.sampled_from([False, False, True])),
                100 * chips - held,
                shares,
                draw(st.sampled_from([0, 0, 1])),
            )
        )
    return found


@st.composite
def worlds(draw):
    want = Wanted(draw(QUOTAS), draw(MEMORIES), draw(st.sampled_from(WORDS)), draw(st.integers(1, 6)))
    return want, draw(nodes_of(want)), draw(st.sampled_from([A910, NPU]))


def made_cluster(nodes: list[World], resource: str, order: random.Random | None = None):
    """The nodes and their pods as a snapshot. Of the pods on one chip the last by name is the last that is seen."""
    prefix, built, pods = resource.removeprefix("huawei.com/") + "-", [], []
    for node in nodes:
        labels = {"huawei.com/scheduler.chip1softsharedev.enable": "true"} if node.enabled else {}
        labels |= {} if node.memory is None else {"mind-cluster/npu-chip-memory": node.memory}
        size = 100 * node.chips
        built.append(
            Node(node.name, node.free, node.chips, resource=resource, capacity=size, allocatable=size, idle=node.idle,
                 health=SUBHEALTHY if node.sub_healthy else 0, labels=labels)
        )  # fmt: skip
        for number, share in enumerate(node.shares):
            quota = dict(zip(KEYS, (str(share.cores), str(share.memory), share.sharing), strict=True))
            where = {REAL if number % 2 else resource: f"{prefix}{share.chip}"}
            name = f"p{number}-{node.name}"
            pods.append(Pod(name, node.name, "job" if share.own else "other", chips=[share.chip],
                            annotations=quota | where, resource=resource, asks=share.cores))  # fmt: skip
        if node.broken:
            quota = dict(zip(KEYS, ("90", "99999", WORDS[0]), strict=True))
            several = {REAL: f"{prefix}0,{prefix}1"}
            pods.append(Pod(f"q-{node.name}", node.name, "other", annotations=quota | several, resource=resource))
    if order is not None:
        order.shuffle(built)
        order.shuffle(pods)
    return cluster(built, pods)


def made_job(want: Wanted, resource: str):
    labels = dict(zip(KEYS, (str(want.cores), str(want.memory), want.sharing), strict=True))
    annotations = policy("chip1-softShareDev")
    return job(want.cores, want.pods, resource=resource, labels=labels, annotations=annotations)


def refusals(result) -> dict[str, str]:
    return {name: group.code for group in result.rejected for name in group.nodes}


@given(worlds())
@settings(max_examples=250, deadline=None)
def test_engine_equals_the_chapter(world):
    want, nodes, resource = world
    result = place(made_job(want, resource), made_cluster(nodes, resource))
    first = {node.name: score(node, want) for node in nodes if not code(node, want)}
    wanted, refused = seats(nodes, want)
    if isinstance(result, Placement):
        assert [(pod.node, *pod.npus) for pod in result.pods] == wanted
        assert not refused
        penalty = {node.name: int(node.sub_healthy) for node in nodes}
        assert dict(result.trace.scores) == {name: 100 * max(0, raw - penalty[name]) for name, raw in first.items()}
    elif result.code != "JobEnqueueFailed" or refused:
        assert refusals(result) == refused


@given(worlds())
@settings(max_examples=120, deadline=None)
def test_invariants(world):
    want, nodes, resource = world
    found = made_job(want, resource)
    result = place(found, made_cluster(nodes, resource))
    again = made_cluster(nodes, resource, random.Random(want.cores))
    assert place(found, again).to_dict() == result.to_dict()
    for compiled in (True, False):
        assert place(found, made_cluster(nodes, resource), compiled=compiled).to_dict() == result.to_dict()
    if not isinstance(result, Placement):
        return
    for pod in result.pods:
        node = next(node for node in nodes if node.name == pod.node)
        (chip,) = pod.npus
        assert node.enabled and chip in node.free
        node.shares.append(Share(chip, want.cores, want.memory, want.sharing, own=True))
        cores, memory, _ = used(node.shares, chip)
        assert cores <= 100 and memory <= (megabytes(node.memory) or 0)
        before = [share for share in node.shares[:-1] if share.chip == chip]
        assert not before or before[-1].sharing == want.sharing
    assert len(result.pods) == want.pods


@given(worlds(), st.data())
@settings(max_examples=60, deadline=None)
def test_refused_nodes_change_nothing(world, data):
    """Nodes that refuse every pod may be there or not."""
    want, nodes, resource = world
    found = made_job(want, resource)
    result = place(found, made_cluster(nodes, resource))
    off = [World(f"n{9 - i}", 8, list(range(8)), "32G", False, False, 800) for i in range(data.draw(st.integers(1, 3)))]
    more = place(found, made_cluster([*nodes, *off], resource))
    if isinstance(result, Placement):
        assert [(p.node, p.npus) for p in more.pods] == [(p.node, p.npus) for p in result.pods]
    else:
        assert not isinstance(more, Placement)
