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
from ascendctl.snapshot.cluster import NODE_UNHEALTHY, Chips, Cluster, JobTable, PodTable, ResourceColumns
from ascendctl.snapshot.columns import StringTable
from ascendctl.snapshot.config import SchedulerConfig

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
    labels: Mapping[str, Any] | None = None,
) -> Cluster:
    """A snapshot of such nodes; `size` is super-pod-size, None = unset. Chips of running pods must be `used` too."""
    nodes = sorted(nodes, key=lambda node: natural_key(node.name))
    count = len(nodes)
    index = {node.name: i for i, node in enumerate(nodes)}
    used, bad = _masks(n.used for n in nodes), _masks(n.unhealthy for n in nodes)
    total = _masks([FULL] * count)
    free = total & ~used & ~bad
    capacity = np.full(count, 8, dtype=np.int32)
    allocatable = (capacity - np.bitwise_count(bad)).astype(np.int32)
    columns = ResourceColumns(
        capacity=capacity,
        allocatable=allocatable,
        idle=(allocatable - np.bitwise_count(used & ~bad)).astype(np.int32),
        idle_defined=np.ones(count, dtype=np.bool_),
        list_length=np.bitwise_count(free).astype(np.int32),
        free=free,
        unhealthy=bad,
        network_unhealthy=_masks(n.network or 0 for n in nodes),
        recovering=_masks([0] * count),
        unhealthy_count=np.bitwise_count(bad).astype(np.int32),
        network_defined=np.array([n.network is not None for n in nodes], dtype=np.bool_),
        list_bad=np.zeros(count, dtype=np.bool_),
    )
    owners = sorted({pod.job for pod in running})
    owner_labels = {pod.job: pod.labels for pod in running}
    size_fields = {} if size is None else {"super_pod_size": size or 48, "configured_super_pod_size": size}
    return Cluster(
        names=tuple(node.name for node in nodes),
        addresses=("",) * count,
        visible=np.ones(count, dtype=np.bool_),
        is_npu=np.ones(count, dtype=np.bool_),
        unschedulable=np.zeros(count, dtype=np.bool_),
        kind=np.ones(count, dtype=np.int8),
        total=total,
        used=used,
        superpod=np.array([n.superpod for n in nodes], dtype=np.int32),
        rack=np.array([n.rack for n in nodes], dtype=np.int32),
        server_index=np.zeros(count, dtype=np.int32),
        health=np.array(
            [(0 if n.healthy else NODE_UNHEALTHY) | (4 if n.sub_healthy else 0) for n in nodes], dtype=np.uint8
        ),
        soft_share=np.zeros(count, dtype=np.bool_),
        chip_memory_mb=np.zeros(count, dtype=np.int32),
        virtual_names=np.zeros(count, dtype=np.bool_),
        has_base_info=np.ones(count, dtype=np.bool_),
        base_count=np.full(count, 8, dtype=np.int32),
        taints=("",) * count,
        labels=StringTable.from_rows([dict((labels or {}).get(node.name, {})) for node in nodes]),
        annotations=StringTable(count),
        resources={NPU: columns},
        chips=Chips(
            np.zeros(count + 1, dtype=np.int32),
            np.zeros(0, np.int16),
            np.zeros(0, np.int32),
            np.zeros(0, np.int64),
            (),
            (),
        ),
        pods=PodTable(
            names=tuple(pod.name for pod in running),
            namespaces=("default",) * len(running),
            uids=("",) * len(running),
            node=np.array([index[pod.node] for pod in running], dtype=np.int32),
            job=np.array([owners.index(pod.job) for pod in running], dtype=np.int32),
            rank=np.array([pod.rank for pod in running], dtype=np.int32),
            resource=np.zeros(len(running), dtype=np.int16),
            request=np.array([pod.chips.bit_count() for pod in running], dtype=np.int32),
            chips=_masks(pod.chips for pod in running),
            active=np.ones(len(running), dtype=np.bool_),
            terminating=np.array([pod.terminating for pod in running], dtype=np.bool_),
            phase=("Running",) * len(running),
            labels=StringTable.from_rows([pod.labels for pod in running]),
            annotations=StringTable(len(running)),
        ),
        jobs=JobTable(
            names=tuple(owners),
            namespaces=("default",) * len(owners),
            phases=("Running",) * len(owners),
            min_available=np.ones(len(owners), dtype=np.int32),
            labels=StringTable.from_rows([owner_labels[name] for name in owners]),
            annotations=StringTable(len(owners)),
        ),
        config=SchedulerConfig(**size_fields),
    )


def _masks(values: Iterable[int]) -> np.ndarray:
    return np.array(list(values), dtype=np.uint64)


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
