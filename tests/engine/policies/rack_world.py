"""Small Atlas 950 clusters and jobs in the notation of chapter 21 §15: `S0{r0:8,r1:4} S1{r0:8}` are SuperPoDs with
racks and their free nodes. Node `n2` of rack 1 of SuperPoD 0 is called `S0-r1-n2`."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ascendctl.engine.api import Result, place, reschedule
from ascendctl.engine.result import Placement
from ascendctl.manifest.job import Job, PodSpec, Role
from ascendctl.names import natural_key
from ascendctl.snapshot.chip_lists import chip_ids
from ascendctl.snapshot.cluster import NODE_UNHEALTHY, SUB_HEALTHY_CARD, Cluster
from ascendctl.snapshot.columns import StringTable
from ascendctl.snapshot.config import SchedulerConfig
from tests.engine import build

NPU = "huawei.com/npu"
POLICY = "chip8-node8-ra64-sp"
FULL = 0xFF


@dataclass(frozen=True)
class Node:
    """One node: chip masks, SuperPoD and rack id. `network` None = the key is missing."""

    name: str
    superpod: int
    rack: int
    used: int = 0
    unhealthy: int = 0
    network: int | None = 0
    healthy: bool = True
    sub_healthy: bool = False


def world(text: str) -> list[Node]:
    """Nodes of a cluster in the notation above; `S-1` is the SuperPoD id -1."""
    nodes = []
    for superpod, racks in re.findall(r"S(-?\d+)\{([^}]*)\}", text):
        for rack, count in re.findall(r"r(-?\d+):(\d+)", racks):
            nodes += [Node(f"S{superpod}-r{rack}-n{i}", int(superpod), int(rack)) for i in range(int(count))]
    return nodes


def change(nodes: Iterable[Node], names: str, **fields: Any) -> list[Node]:
    """The nodes with some fields of those whose names stand in `names` (see `expand`) replaced."""
    chosen = set(expand(names))
    return [replace(node, **fields) if node.name in chosen else node for node in nodes]


def expand(text: str) -> list[str]:
    """Node names of a list like `S0/r0:n0-3,n5 S1/r1:n0`, in that order."""
    names = []
    for superpod, rack, parts in re.findall(r"S(-?\d+)/r(-?\d+):(\S+)", text):
        for part in parts.split(","):
            first, _, last = part.removeprefix("n").partition("-")
            names += [f"S{superpod}-r{rack}-n{i}" for i in range(int(first), int(last or first) + 1)]
    return names


@dataclass(frozen=True)
class Running:
    """A bound pod of some job."""

    job: str
    name: str
    node: str
    chips: int
    rank: int
    labels: Mapping[str, str]
    terminating: bool = False


def cluster_of(
    nodes: Sequence[Node],
    size: int | None = 64,
    running: Sequence[Running] = (),
    labels: Mapping[str, Mapping[str, str]] | None = None,
) -> Cluster:
    """A snapshot of such nodes; `size` is super-pod-size, None = unset. Chips of running pods must be `used` too."""
    config = SchedulerConfig(super_pod_size=size or 48, configured_super_pod_size=size or 0)
    nodes = sorted(nodes, key=lambda node: natural_key(node.name))
    snapshot = build.cluster([_built(node, labels or {}) for node in nodes], [_bound(pod) for pod in running], config)
    owner_labels = {pod.job: pod.labels for pod in running}
    ending = {pod.name for pod in running if pod.terminating}
    return replace(
        snapshot,
        superpod=np.array([n.superpod for n in nodes], dtype=np.int32),
        rack=np.array([n.rack for n in nodes], dtype=np.int32),
        jobs=replace(snapshot.jobs, labels=StringTable.from_rows([owner_labels[name] for name in snapshot.jobs.names])),
        pods=replace(snapshot.pods, terminating=np.array([name in ending for name in snapshot.pods.names], np.bool_)),
    )


def _built(node: Node, labels: Mapping[str, Mapping[str, str]]) -> build.Node:
    return build.Node(
        node.name,
        free=chip_ids(FULL & ~node.used & ~node.unhealthy),
        unhealthy=chip_ids(node.unhealthy),
        net=None if node.network is None else chip_ids(node.network),
        resource=NPU,
        health=(0 if node.healthy else NODE_UNHEALTHY) | (SUB_HEALTHY_CARD if node.sub_healthy else 0),
        labels=labels.get(node.name, {}),
    )


def _bound(pod: Running) -> build.Pod:
    return build.Pod(pod.name, pod.node, job=pod.job, rank=pod.rank, chips=chip_ids(pod.chips), labels=pod.labels)


def job_of(
    pods: int,
    npus: int = 8,
    sp: int | str | None = None,
    ra: int | str | None = None,
    *,
    soft: bool = False,
    ub: bool = False,
    labels: Mapping[str, str] | None = None,
    annotations: Mapping[str, str] | None = None,
    helpers: int = 0,
    roles: tuple[Role, ...] | None = None,
    ranks: Sequence[int] | None = None,
) -> Job:
    """A job `pods`x`npus` with sp-block and ra-block; `helpers` pods without NPUs come last."""
    given = {"huawei.com/schedule_policy": POLICY} | dict(annotations or {})
    given |= {key: str(value) for key, value in (("sp-block", sp), ("ra-block", ra)) if value is not None}
    given |= {"huawei.com/schedule_ubmemory": "true"} if ub else {}
    if roles is None:
        roles = (Role("worker", pods, npus, NPU),) + ((Role("helper", helpers, 0, ""),) if helpers else ())
    numbers = [(i, k) for i, role in enumerate(roles) for k in range(role.replicas)]
    return Job(
        name="train",
        namespace="default",
        kind="vcjob",
        roles=roles,
        pods=tuple(
            PodSpec(f"train-{roles[i].name}-{k}", i, k, ranks[n] if ranks else n, roles[i].npus)
            for n, (i, k) in enumerate(numbers)
        ),
        labels=({"super-pod-affinity": "soft"} if soft else {}) | dict(labels or {}),
        annotations=given,
        resource=NPU,
        npus=sum(role.replicas * role.npus for role in roles),
        min_available=len(numbers),
    )


def plan(text: str | Sequence[Node], job: Job, size: int | None = 64, running: Sequence[Running] = ()) -> Result:
    """Place a job on a cluster in the notation above."""
    return place(job, cluster_of(world(text) if isinstance(text, str) else text, size, running))


def by_rank(result: Result) -> list[str]:
    """Nodes of the pods with NPUs in rank order; the message of the result where the job is not placed."""
    assert isinstance(result, Placement), f"{result.code}: {result.message}"
    return [pod.node for pod in result.pods if pod.role != "helper"]


def blocks(result: Result) -> dict[str, list[str]]:
    """Block id -> nodes in position order."""
    assert isinstance(result, Placement), f"{result.code}: {result.message}"
    return {block: list(nodes) for block, nodes in result.blocks.items()}


def expected(text: str) -> dict[str, list[str]]:
    """Blocks of a table cell: `0: S0/r0:n0-1 S0/r1:n0-1; 1: S1/r1:n0`."""
    cells = (cell.split(":", 1) for cell in text.split(";"))
    return {block.strip(): expand(nodes) for block, nodes in cells}


def recover(
    free: str,
    previous: str,
    job: Job,
    faulty_ranks: Iterable[int],
    sessions: int,
    *,
    size: int = 64,
    kind: str = "pod",
    terminating: Iterable[int] = (),
    repaired: Iterable[int] = (),
) -> Result:
    """Reschedule after a fault: `free` are the nodes that no pod of the job holds, `previous` the earlier blocks. The
    nodes of `faulty_ranks` are unhealthy unless their rank is in `repaired`; all earlier pods are still in the
    snapshot."""
    earlier = expected(previous)
    names = [name for nodes in earlier.values() for name in nodes]
    if job.labels.get("super-pod-affinity") == "soft":
        names = _soft_ranks(earlier, job)
    broken = {names[rank] for rank in faulty_ranks}
    works = {names[rank] for rank in repaired}
    nodes = []
    for name in dict.fromkeys([*expand(free), *names]):
        superpod, rack = re.fullmatch(r"S(-?\d+)-r(-?\d+)-n\d+", name).groups()  # type: ignore[union-attr]
        held = FULL if name in names else 0
        nodes.append(Node(name, int(superpod), int(rack), used=held, healthy=name not in broken or name in works))
    going = set(terminating)
    running = [
        Running("train", job.pods[rank].name, name, FULL, rank, job.labels, rank in going)
        for rank, name in enumerate(names)
    ]
    document = {
        "outcome": "placed",
        "pods": [
            {"name": job.pods[rank].name, "rank": rank, "node": name, "npus": list(range(8))}
            for rank, name in enumerate(names)
        ],
        "blocks": earlier,
        "fault": {"kind": kind, "pending_sessions": sessions},
    }
    return reschedule(job, cluster_of(nodes, size, running), document, sorted(broken))


def _soft_ranks(earlier: Mapping[str, list[str]], job: Job) -> list[str]:
    """Nodes by rank of a soft placement, by its own rule (chapter 21 §9.2), for blocks given in pick order."""
    size = max(1, job.sp_block // 8)
    names: list[str | None] = [None] * len(job.pods)
    left = []
    for block, nodes in earlier.items():
        for position, name in enumerate(nodes):
            rank = int(block) * size + position
            if position < size and rank < len(names):
                names[rank] = name
            else:
                left.append(name)
    waiting = iter(left)
    return [name or next(waiting) for name in names]
