"""Clusters and jobs made in memory, without files: what a node's free list says is given directly."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from ascendctl.manifest.attributes import merge, merge_annotations
from ascendctl.manifest.job import Job, PodSpec, Role
from ascendctl.names import natural_key
from ascendctl.snapshot.cluster import (
    CHIP_RESOURCES,
    NODE_UNHEALTHY,
    PRE_SEPARATE,
    SUB_HEALTHY_CARD,
    UNKNOWN_ACCELERATOR,
    Chips,
    Cluster,
    JobTable,
    PodTable,
    ResourceColumns,
)
from ascendctl.snapshot.columns import StringTable
from ascendctl.snapshot.config import SchedulerConfig

A910, NPU, A310, A310P = "huawei.com/Ascend910", "huawei.com/npu", "huawei.com/Ascend310", "huawei.com/Ascend310P"


def mask(chips: Iterable[int]) -> int:
    """Bit mask of chip ids."""
    return sum(1 << chip for chip in set(chips))


@dataclass(frozen=True)
class Node:
    """One node. `free`, `unhealthy`, `net` are chip ids (`net` None: the key is absent). What is None follows from the
    chips: capacity = chips, allocatable = healthy chips, idle = free chips, list = free chips."""

    name: str
    free: Iterable[int] = ()
    chips: int = 8
    unhealthy: Iterable[int] = ()
    net: Iterable[int] | None = ()
    resource: str = A910
    capacity: int | None = None
    allocatable: int | None = None
    idle: int | None = None
    listed: int | None = None
    bad: bool = False
    health: int = 0
    visible: bool = True
    cordoned: bool = False
    taints: str = ""
    labels: Mapping[str, str] = field(default_factory=dict)
    annotations: Mapping[str, str] = field(default_factory=dict)
    devices: Mapping[int, int] = field(default_factory=dict)
    more: Mapping[str, tuple[int, int, int]] = field(default_factory=dict)
    """Other resources: name -> (capacity, allocatable, idle)."""


@dataclass(frozen=True)
class Pod:
    """A pod bound to a node of the snapshot. `asks` of `resource`; None = as many as it has chips."""

    name: str
    node: str
    job: str = ""
    rank: int = -1
    chips: Iterable[int] = ()
    annotations: Mapping[str, str] = field(default_factory=dict)
    labels: Mapping[str, str] = field(default_factory=dict)
    namespace: str = "default"
    resource: str = ""
    asks: int | None = None


UNHEALTHY, PRESEPARATE, SUBHEALTHY, NO_ACCELERATOR = NODE_UNHEALTHY, PRE_SEPARATE, SUB_HEALTHY_CARD, UNKNOWN_ACCELERATOR


def cluster(nodes: Sequence[Node], pods: Sequence[Pod] = (), config: SchedulerConfig | None = None) -> Cluster:
    """A Cluster of these nodes, in natural name order whatever their order here."""
    nodes = sorted(nodes, key=lambda n: natural_key(n.name))
    size, names = len(nodes), tuple(n.name for n in nodes)
    resources: dict[str, ResourceColumns] = {}
    for name in sorted({n.resource for n in nodes} | {extra for n in nodes for extra in n.more}):
        resources[name] = _columns(nodes, name)
    total = np.array([mask(range(n.chips)) for n in nodes], dtype=np.uint64)
    used = np.array([mask(range(n.chips)) & ~mask(n.free) & ~mask(n.unhealthy) for n in nodes], dtype=np.uint64)
    base = [sorted(n.devices) or list(range(n.chips)) for n in nodes]
    return Cluster(
        names=names,
        addresses=tuple(f"10.0.0.{i}" for i in range(size)),
        visible=np.array([n.visible for n in nodes], dtype=np.bool_),
        is_npu=np.ones(size, dtype=np.bool_),
        unschedulable=np.array([n.cordoned for n in nodes], dtype=np.bool_),
        kind=np.array(
            [CHIP_RESOURCES.index(n.resource) if n.resource in CHIP_RESOURCES else -1 for n in nodes], np.int8
        ),
        total=total,
        used=used,
        superpod=np.full(size, -1, dtype=np.int32),
        rack=np.full(size, -1, dtype=np.int32),
        server_index=np.full(size, -(1 << 31), dtype=np.int32),
        health=np.array([n.health for n in nodes], dtype=np.uint8),
        soft_share=np.array(
            [n.labels.get("huawei.com/scheduler.chip1softsharedev.enable") == "true" for n in nodes], dtype=np.bool_
        ),
        chip_memory_mb=np.array([_memory(n) for n in nodes], dtype=np.int32),
        virtual_names=np.zeros(size, dtype=np.bool_),
        has_base_info=np.ones(size, dtype=np.bool_),
        base_count=np.array([n.chips for n in nodes], dtype=np.int32),
        taints=tuple(n.taints for n in nodes),
        labels=StringTable.from_rows([n.labels for n in nodes]),
        annotations=StringTable.from_rows([n.annotations for n in nodes]),
        resources=resources,
        chips=Chips(
            ptr=np.cumsum([0, *map(len, base)]).astype(np.int32),
            physical_id=np.array([i for ids in base for i in ids], dtype=np.int16),
            device_id=np.array(
                [n.devices.get(i, -1) for n, ids in zip(nodes, base, strict=True) for i in ids], np.int32
            ),
            super_device_id=np.full(sum(map(len, base)), -1, dtype=np.int64),
            ip=("",) * sum(map(len, base)),
            levels=("",) * sum(map(len, base)),
        ),
        pods=_pods(pods, names, resources),
        jobs=_jobs(pods),
        config=config or SchedulerConfig(),
    )


def _memory(node: Node) -> int:
    text = node.labels.get("mind-cluster/npu-chip-memory", "").replace("G", "")
    return int(text) * 1024 if text.isdigit() else 0


def _columns(nodes: Sequence[Node], name: str) -> ResourceColumns:
    rows = []
    for n in nodes:
        if n.resource == name:
            free, unhealthy = mask(n.free), mask(n.unhealthy)
            healthy = n.chips - unhealthy.bit_count()
            capacity = n.chips if n.capacity is None else n.capacity
            allocatable = healthy if n.allocatable is None else n.allocatable
            idle = free.bit_count() if n.idle is None else n.idle
            listed = free.bit_count() if n.listed is None else n.listed
            rows.append(
                (
                    capacity,
                    allocatable,
                    idle,
                    True,
                    listed,
                    free,
                    unhealthy,
                    mask(n.net or ()),
                    n.net is not None,
                    n.bad,
                )
            )
        elif name in n.more:
            rows.append((*n.more[name], True, -1, 0, 0, 0, False, False))
        else:
            rows.append((-1, -1, 0, False, -1, 0, 0, 0, False, False))
    columns = list(zip(*rows, strict=True)) if rows else [()] * 10
    unhealthy_masks = np.array(columns[6], dtype=np.uint64)
    return ResourceColumns(
        capacity=np.array(columns[0], dtype=np.int32),
        allocatable=np.array(columns[1], dtype=np.int32),
        idle=np.array(columns[2], dtype=np.int32),
        idle_defined=np.array(columns[3], dtype=np.bool_),
        list_length=np.array(columns[4], dtype=np.int32),
        free=np.array(columns[5], dtype=np.uint64),
        unhealthy=unhealthy_masks,
        network_unhealthy=np.array(columns[7], dtype=np.uint64),
        recovering=np.zeros(len(nodes), dtype=np.uint64),
        unhealthy_count=np.bitwise_count(unhealthy_masks).astype(np.int32),
        network_defined=np.array(columns[8], dtype=np.bool_),
        list_bad=np.array(columns[9], dtype=np.bool_),
    )


def _jobs(pods: Sequence[Pod]) -> JobTable:
    names = tuple(sorted({p.job for p in pods if p.job}))
    none = StringTable(len(names))
    return JobTable(names, ("default",) * len(names), ("",) * len(names), np.ones(len(names), np.int32), none, none)


def _pods(pods: Sequence[Pod], nodes: Sequence[str], resources: Mapping[str, ResourceColumns]) -> PodTable:
    pods = sorted(pods, key=lambda p: (p.namespace, natural_key(p.name)))
    jobs = _jobs(pods).names
    size = len(pods)
    return PodTable(
        names=tuple(p.name for p in pods),
        namespaces=tuple(p.namespace for p in pods),
        uids=tuple(f"uid-{i}" for i in range(size)),
        node=np.array([nodes.index(p.node) for p in pods], dtype=np.int32),
        job=np.array([jobs.index(p.job) if p.job else -1 for p in pods], dtype=np.int32),
        rank=np.array([p.rank for p in pods], dtype=np.int32),
        resource=np.array([list(resources).index(p.resource) if p.resource else 0 for p in pods], dtype=np.int16),
        request=np.array([len(set(p.chips)) if p.asks is None else p.asks for p in pods], dtype=np.int32),
        chips=np.array([mask(p.chips) for p in pods], dtype=np.uint64),
        active=np.ones(size, dtype=np.bool_),
        terminating=np.zeros(size, dtype=np.bool_),
        phase=("Running",) * size,
        labels=StringTable.from_rows([p.labels for p in pods]),
        annotations=StringTable.from_rows([p.annotations for p in pods]),
    )


def job(
    npus: int | Sequence[int],
    pods: int = 1,
    *,
    resource: str = A910,
    kind: str = "vcjob",
    labels: Mapping[str, str] | None = None,
    annotations: Mapping[str, str] | None = None,
    selector: Mapping[str, str] | None = None,
    roles: Sequence[Role] = (),
    name: str = "job",
    total: int | None = None,
    min_available: int | None = None,
) -> Job:
    """A job of one role with `pods` pods of `npus` NPUs, of one pod for each entry of `npus`, or of the given roles."""
    counts = [npus] if isinstance(npus, int) else list(npus)
    each = pods if isinstance(npus, int) else 1
    roles = tuple(roles) or tuple(
        Role(f"worker{i}" if len(counts) > 1 else "worker", each, n, resource, task_spec=f"worker{i}")
        for i, n in enumerate(counts)
    )
    specs = [(i, k) for i, role in enumerate(roles) for k in range(role.replicas)]
    named = [PodSpec(f"{name}-{roles[i].name}-{k}", i, k, rank, roles[i].npus) for rank, (i, k) in enumerate(specs)]
    asked = sum(role.replicas * role.npus for role in roles)
    resources = [role.resource for role in roles if role.resource]
    return Job(
        name=name,
        namespace="default",
        kind=kind,
        roles=roles,
        pods=tuple(named),
        labels=merge(labels or {}, [role.labels for role in roles]),
        annotations=merge_annotations(annotations or {}, [role.annotations for role in roles]),
        selector=merge(selector or {}, [role.selector for role in roles]),
        resource=resources[0] if resources else "",
        npus=asked if total is None else total,
        min_available=len(named) if min_available is None else min_available,
    )


def policy(value: str) -> dict[str, str]:
    """The annotation that names a policy."""
    return {"huawei.com/schedule_policy": value}
