"""The cluster as arrays (chapter 30 §9). N nodes in natural name order; every index below counts in that order."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ascendctl.snapshot.columns import StringColumn, StringTable, distinct
from ascendctl.snapshot.config import SchedulerConfig
from ascendctl.snapshot.diagnostics import Diagnostic
from ascendctl.topology.leaf import LeafTopology

# bits of Cluster.health (chapter 30 §9.1)
NODE_UNHEALTHY = 1
PRE_SEPARATE = 2
SUB_HEALTHY_CARD = 4
SUB_HEALTHY_SWITCH = 8
UNKNOWN_ACCELERATOR = 16
CARD_UNHEALTHY = 32
CARD_NETWORK_UNHEALTHY = 64

CHIP_RESOURCES = ("huawei.com/Ascend910", "huawei.com/npu", "huawei.com/Ascend310P", "huawei.com/Ascend310")
"""Whole-chip resources, the order in which a resource wins where a node offers the same amount of two."""

UID_LENGTH = 36


@dataclass(frozen=True)
class ResourceColumns:
    """What the nodes offer of one resource name; all arrays have length N.

    `capacity`, `allocatable`, `idle` (int32): whole units (chips, percent with soft sharing, AI cores of npu-core);
    capacity and allocatable are -1 where undefined; `idle` = allocatable less the requests of all unfinished pods, may
    be negative, valid where `idle_defined`. `list_length` (int32): parts of the free list's text, -1 = key undefined.
    `free`, `unhealthy`, `network_unhealthy`, `recovering` (uint64): bit i = physical chip i, free as the scheduler
    lists it. `unhealthy_count` (int32): names in the -Unhealthy list. `network_defined` (bool): the -NetworkUnhealthy
    key is there. `list_bad` (bool): the free list has a malformed or repeated part, so the scheduler sees no usable
    chip although `list_length` counts. `network_list` side text is not kept.
    """

    capacity: NDArray[np.int32]
    allocatable: NDArray[np.int32]
    idle: NDArray[np.int32]
    idle_defined: NDArray[np.bool_]
    list_length: NDArray[np.int32]
    free: NDArray[np.uint64]
    unhealthy: NDArray[np.uint64]
    network_unhealthy: NDArray[np.uint64]
    recovering: NDArray[np.uint64]
    unhealthy_count: NDArray[np.int32]
    network_defined: NDArray[np.bool_]
    list_bad: NDArray[np.bool_]


@dataclass(frozen=True)
class Chips:
    """The chips that `baseDeviceInfos` names, in CSR by node: node i owns rows ptr[i]:ptr[i+1], ascending by id.

    `physical_id` int16, `device_id` int32 (-1 = none), `super_device_id` int64 (-1 = none), `ip` one text a row.
    `levels` keeps the raw JSON text of levelList, "" = none.
    """

    ptr: NDArray[np.int32]
    physical_id: NDArray[np.int16]
    device_id: NDArray[np.int32]
    super_device_id: NDArray[np.int64]
    ip: Sequence[str]
    levels: Sequence[str]


@dataclass(frozen=True)
class PodTable:
    """Pods bound to a node of the snapshot (any phase), M rows ordered by namespace, then natural name.

    `node` int32 (node index), `job` int32 (index of Cluster.jobs, -1 = none), `rank` int32 (hccl/rankIndex or
    the task index; -1 = none), `request` int32 of `resource` (int16, index of Cluster.resource_names, -1 = none),
    `chips` uint64 (physical ids it holds, from AscendReal or the resource annotation), `active` bool (phase neither
    Succeeded nor Failed), `terminating` bool. `labels` and `annotations` hold the keys that a policy reads. `ips`:
    status.podIP, "" = none; no entries at all = unknown.
    """

    names: tuple[str, ...]
    namespaces: tuple[str, ...]
    uids: Sequence[str]
    node: NDArray[np.int32]
    job: NDArray[np.int32]
    rank: NDArray[np.int32]
    resource: NDArray[np.int16]
    request: NDArray[np.int32]
    chips: NDArray[np.uint64]
    active: NDArray[np.bool_]
    terminating: NDArray[np.bool_]
    phase: tuple[str, ...]
    labels: StringTable
    annotations: StringTable
    ips: Sequence[str] = ()


@dataclass(frozen=True)
class WaitingPods:
    """Pods that have not finished and stand on no node yet, by namespace, then natural name."""

    names: tuple[str, ...] = ()
    namespaces: tuple[str, ...] = ()
    uids: Sequence[str] = ()


@dataclass(frozen=True)
class JobTable:
    """Jobs (PodGroups) that the pods of the snapshot belong to: namespace, name, PodGroup phase ("" = not in the dump),
    merged labels and annotations of PodGroup and pods. `min_available` -1 = unknown. `owners`: name of the PodGroup's
    first owner, which is the workload's own name; "" = unknown."""

    names: tuple[str, ...]
    namespaces: tuple[str, ...]
    phases: tuple[str, ...]
    min_available: NDArray[np.int32]
    labels: StringTable
    annotations: StringTable
    owners: tuple[str, ...] = ()

    def named(self, namespace: str, name: str) -> NDArray[np.bool_]:
        """bool[J]: the rows of one workload, by its own name or that of the PodGroup, to which Volcano may append the
        UID of the workload."""
        owners, head, length = self.owners or ("",) * len(self.names), name + "-", len(name) + 1 + UID_LENGTH
        return np.array(
            [
                ns == namespace and (name in (own, owner) or (len(own) == length and own.startswith(head)))
                for ns, own, owner in zip(self.namespaces, self.names, owners, strict=True)
            ],
            dtype=np.bool_,
        )


LIST_NONE, LIST_REPORTED, LIST_COMPUTED, LIST_ANNOTATED = 0, 1, 2, 3
"""Where a node's free list came from: nowhere; the device row as it is; computed from the node's chips and pods; an
annotation of the Node object."""
PLACE_BITS = 40
"""A place in a dump is the number of the file, shifted by so many bits, plus the number of the object in it."""


def place_text(files: Sequence[str], place: int) -> str:
    """A place as "<file>#<number>"; "" for objects that were given in memory."""
    file, number = divmod(place, 1 << PLACE_BITS)
    return f"{files[file]}#{number}" if files[file] else ""


class TextSource(NamedTuple):
    """A data value of a ConfigMap: "ConfigMap <namespace>/<name>", file and number of the object in it ("" = given in
    memory), SHA-256 of the text in hexadecimal."""

    object: str
    where: str
    sha256: str


@dataclass(frozen=True)
class Provenance:
    """Where the facts about N nodes came from. `files` are the inputs. `node` int64[N]: place of the Node object.
    `device`, `switch`, `host` int32[N]: which of K texts has the node's device row, on-board switch status and NodeD
    status, -1 = none. `titles`, `places` (int64[K]) and `digests` (uint8[32 K], SHA-256) are of the texts.
    `update_time` int64[N]: UpdateTime of the device row, 0 = none. `list_source` int8[N]: LIST_... above. `faults`: the
    -Fault text of the node's chips."""

    files: tuple[str, ...]
    node: NDArray[np.int64]
    device: NDArray[np.int32]
    switch: NDArray[np.int32]
    host: NDArray[np.int32]
    titles: Sequence[str]
    places: NDArray[np.int64]
    digests: NDArray[np.uint8]
    update_time: NDArray[np.int64]
    list_source: NDArray[np.int8]
    faults: StringColumn

    def text(self, number: int) -> TextSource | None:
        """One of the texts; None for -1."""
        if number < 0:
            return None
        digest = self.digests[32 * number : 32 * number + 32].tobytes().hex()
        return TextSource(self.titles[number], place_text(self.files, int(self.places[number])), digest)


@dataclass(frozen=True)
class Cluster:
    """A snapshot as a struct of arrays, all of length N unless said otherwise.

    `visible` bool: the scheduler plugin has a view of the node (Ready, capacity known, DeviceID map good). `is_npu`
    bool: capacity names a huawei.com/ resource. `unschedulable` bool: cordoned. `kind` int8: index of
    `CHIP_RESOURCES` for the node's chips, -1 = none. `total`, `used` uint64 chip masks: chips that exist, and chips
    that active pods hold. `superpod`, `rack` int32 as reported (0 when no row, negative kept; negative ids never form
    groups). `server_index` int32 (-2147483648 = none). `health`: bits above. `soft_share` bool: node label of soft
    sharing is "true"; `chip_memory_mb` int32. `virtual_names` bool: a baseDeviceInfos name with two dashes.
    `has_base_info` bool: baseDeviceInfos present and readable. `base_count` int32: its entries. `taints`: per node
    JSON text of spec.taints, "" = none.
    `resources`: columns by resource name, every huawei.com/ name that some node offers or lists.
    `leaves`: the leaf topology, None where the dump has none or the scheduler cannot read it: then `leaves_error` says
    why; `leaves_source`: file and number of its ConfigMap in the dump.
    `diagnostics`: what is wrong with the dump; `read`: objects that were read, `skipped`: those that nobody reads, by
    kind; `clusterd_mode`: which ConfigMaps the device data came from; `profile`: the version of the plugin whose
    behaviour was applied; `hypernodes`: HyperNode objects by name, read by `topology.hypernode`; `waiting`: pods
    without node; `provenance`: where the facts came from, None for a cluster that was not read from a dump.
    """

    names: tuple[str, ...]
    addresses: tuple[str, ...]
    visible: NDArray[np.bool_]
    is_npu: NDArray[np.bool_]
    unschedulable: NDArray[np.bool_]
    kind: NDArray[np.int8]
    total: NDArray[np.uint64]
    used: NDArray[np.uint64]
    superpod: NDArray[np.int32]
    rack: NDArray[np.int32]
    server_index: NDArray[np.int32]
    health: NDArray[np.uint8]
    soft_share: NDArray[np.bool_]
    chip_memory_mb: NDArray[np.int32]
    virtual_names: NDArray[np.bool_]
    has_base_info: NDArray[np.bool_]
    base_count: NDArray[np.int32]
    taints: tuple[str, ...]
    labels: StringTable
    annotations: StringTable
    resources: Mapping[str, ResourceColumns]
    chips: Chips
    pods: PodTable
    jobs: JobTable
    config: SchedulerConfig = field(default_factory=SchedulerConfig)
    leaves: LeafTopology | None = None
    leaves_source: str = ""
    leaves_error: str = ""
    diagnostics: tuple[Diagnostic, ...] = ()
    read: Mapping[str, int] = field(default_factory=dict)
    skipped: Mapping[str, int] = field(default_factory=dict)
    hypernodes: tuple[Mapping[str, Any], ...] = ()
    clusterd_mode: bool = True
    profile: str = "26.1"
    waiting: WaitingPods = field(default_factory=WaitingPods)
    provenance: Provenance | None = None

    @cached_property
    def has_npus(self) -> NDArray[np.bool_]:
        """bool[N]: nodes that offer NPUs or have chips."""
        flags: NDArray[np.bool_] = self.is_npu | (self.total != 0)
        return flags

    @property
    def size(self) -> int:
        """N."""
        return len(self.names)

    @cached_property
    def index(self) -> Mapping[str, int]:
        """Node name -> index."""
        return {name: i for i, name in enumerate(self.names)}

    def largest_superpod(self, nodes: NDArray[np.bool_]) -> tuple[int, int]:
        """(id, how many) of the SuperPoD with most of some nodes (bool[N]), the lowest id where several have as many;
        (-1, 0) if none of them is in one. Ids may be large, so nothing is made that long."""
        ids = self.superpod[nodes & (self.superpod >= 0)]
        known = distinct(ids)
        if not len(known):
            return -1, 0
        counts = np.bincount(np.searchsorted(known, ids))
        best = int(counts.argmax())
        return int(known[best]), int(counts[best])

    @property
    def resource_names(self) -> tuple[str, ...]:
        """Names that `PodTable.resource` indexes."""
        return tuple(self.resources)

    @property
    def sub_healthy(self) -> NDArray[np.bool_]:
        """bool[N]: a card or the on-board switch is sub-healthy."""
        flags: NDArray[np.bool_] = (self.health & (SUB_HEALTHY_CARD | SUB_HEALTHY_SWITCH)) != 0
        return flags
