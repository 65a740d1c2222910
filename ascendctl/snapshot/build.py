"""Collected fields -> Cluster (chapter 30 §6, §9)."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ascendctl.manifest.job import parse_go_int
from ascendctl.snapshot.chip_lists import CHIP_TYPES
from ascendctl.snapshot.cluster import Chips, Cluster, ResourceColumns
from ascendctl.snapshot.collect import Collected
from ascendctl.snapshot.columns import StringColumn, StringTable
from ascendctl.snapshot.config import SchedulerConfig
from ascendctl.snapshot.derive import (
    PREFIX,
    Effective,
    RowColumns,
    UsedChips,
    WorkingMap,
    effective_lists,
    free_lists,
    row_columns,
)
from ascendctl.snapshot.health import ACCELERATOR, accelerator_kinds, health_bits, link_down_masks
from ascendctl.snapshot.job_table import job_table
from ascendctl.snapshot.node_columns import NodeColumns
from ascendctl.snapshot.pod_columns import PodColumns
from ascendctl.snapshot.pod_requests import milli
from ascendctl.snapshot.pod_table import BoundPods, Holdings, bind, holdings, pod_table, waiting_pods
from ascendctl.snapshot.profiles import LoadOptions, Profile
from ascendctl.snapshot.provenance import provenance
from ascendctl.snapshot.rows import Rows
from ascendctl.wellknown import CHIP_NAME

SOFT_LABEL = "huawei.com/scheduler.chip1softsharedev.enable"
MEMORY_LABEL = "mind-cluster/npu-chip-memory"
DEVICE_ID_CHIP = "Ascend950"
NO_SERVER_INDEX = -(1 << 31)


@dataclass(frozen=True)
class Frame:
    """What the steps of a build share, for N nodes in natural name order. `numbers_devices` bool[N]: pods of the node
    are given DeviceIDs."""

    collected: Collected
    nodes: NodeColumns
    device: RowColumns
    effective: Effective
    working: WorkingMap
    is_npu: NDArray[np.bool_]
    soft: NDArray[np.bool_]
    numbers_devices: NDArray[np.bool_]
    pods: PodColumns
    bound: BoundPods
    held: Holdings


def build(collected: Collected, rows: Rows, config: SchedulerConfig, profile: Profile, options: LoadOptions) -> Frame:
    """Tables of the nodes, what the rows say, and what pods hold."""
    nodes = collected.nodes.columns()
    soft = nodes.labels.column(SOFT_LABEL).equals("true")
    is_npu = np.zeros(len(nodes.names), np.bool_)
    for column in nodes.capacity.columns.values():
        is_npu |= column.codes >= 0
    device = row_columns(rows.device, nodes.names)
    effective = effective_lists(device, nodes.base, soft, is_npu, config.self_maintain_available_card, profile)
    chip_name = nodes.labels.column(CHIP_NAME)
    numbers_devices = chip_name.spread([name.startswith(DEVICE_ID_CHIP) for name in chip_name.values], False, np.bool_)
    pods = collected.pods.columns()
    bound = bind(collected, pods, {name: i for i, name in enumerate(nodes.names)})
    held = holdings(
        collected,
        pods,
        bound,
        effective.chip_type,
        effective.maintained & (nodes.base.kind != effective.chip_type),
        _device_id_maps(nodes.base.chips, numbers_devices),
        options.translate_device_ids,
    )
    working = WorkingMap(effective.lists, nodes.annotations)
    return Frame(collected, nodes, device, effective, working, is_npu, soft, numbers_devices, pods, bound, held)


def _device_id_maps(chips: Chips, numbers_devices: NDArray[np.bool_]) -> Callable[[int], Mapping[int, int] | None]:
    """DeviceID -> chip id of a node whose pods are given DeviceIDs; None for other nodes."""

    def of(node: int) -> Mapping[int, int] | None:
        if not numbers_devices[node]:
            return None
        part = slice(int(chips.ptr[node]), int(chips.ptr[node + 1]))
        pairs = zip(chips.device_id[part].tolist(), chips.physical_id[part].tolist(), strict=True)
        return {device: chip for device, chip in pairs if device >= 0}

    return of


def finish(frame: Frame, rows: Rows, config: SchedulerConfig, profile: Profile) -> Cluster:
    """The Cluster of a frame, without leaves and diagnostics."""
    nodes = frame.nodes
    resources = resource_columns(frame, config)
    accelerators = accelerator_kinds(nodes.labels.column(ACCELERATOR))
    kind = chip_kinds(frame, resources, accelerators)
    total = total_masks(frame, resources, kind)
    return Cluster(
        names=nodes.names,
        addresses=nodes.address,
        visible=nodes.ready & nodes.scalars & ~(frame.is_npu & frame.numbers_devices & ~nodes.base.complete),
        is_npu=frame.is_npu,
        unschedulable=nodes.cordoned,
        kind=kind,
        total=total,
        used=frame.held.used & total,
        superpod=np.where(frame.effective.identified, frame.device.super_pod, 0).astype(np.int32),
        rack=np.where(frame.effective.identified & profile.rack, frame.device.rack, 0).astype(np.int32),
        server_index=_server_index(nodes.annotations),
        health=health_bits(frame.working, nodes.annotations, nodes.names, frame.is_npu, accelerators, rows, profile),
        soft_share=frame.soft,
        chip_memory_mb=_chip_memory(nodes.labels),
        virtual_names=nodes.base.virtual,
        has_base_info=nodes.base.readable,
        base_count=nodes.base.count,
        taints=nodes.taints,
        labels=nodes.labels,
        annotations=nodes.annotations,
        resources=resources,
        chips=nodes.base.chips,
        pods=pod_table(frame.pods, frame.bound, frame.held, tuple(resources)),
        jobs=job_table(frame.collected, frame.pods, frame.bound),
        config=config,
        skipped=dict(sorted(frame.collected.skipped.items())),
        clusterd_mode=rows.clusterd,
        waiting=waiting_pods(frame.pods),
        provenance=provenance(
            frame.collected.sources,
            nodes.names,
            nodes.place,
            rows,
            frame.device,
            frame.effective,
            frame.working,
            kind,
        ),
        profile=profile.name,
    )


def _server_index(annotations: StringTable) -> NDArray[np.int32]:
    def number(text: str) -> int:
        value = parse_go_int(text)
        return NO_SERVER_INDEX if value is None or not -(1 << 31) <= value < 1 << 31 else value

    column = annotations.column("serverIndex")
    return column.spread([number(text) for text in column.values], NO_SERVER_INDEX, np.int32)


def _chip_memory(labels: StringTable) -> NDArray[np.int32]:
    def number(text: str) -> int:
        value = parse_go_int(text.replace("G", ""))
        return 0 if value is None or not 0 <= value < 1 << 20 else value * 1024

    column = labels.column(MEMORY_LABEL)
    return column.spread([number(text) for text in column.values], 0, np.int32)


def resource_columns(frame: Frame, config: SchedulerConfig) -> dict[str, ResourceColumns]:
    """Columns of every huawei.com/ resource that a node offers or lists, by name in text order."""
    capacity, allocatable = frame.nodes.capacity, frame.nodes.allocatable
    listed = {PREFIX + kind for kind in CHIP_TYPES if _is_listed(frame.working, PREFIX + kind)}
    requested = _requested(frame)
    used = UsedChips(frame.held.used, frame.held.odd)
    result = {}
    for name in sorted(capacity.columns.keys() | allocatable.columns.keys() | listed):
        offered, ready = _quantities(capacity.column(name)), _quantities(allocatable.column(name))
        idle = ready - requested[name] if name in requested else ready
        result[name] = _columns(frame, config, name, used, offered, ready, idle)
    return result


def _requested(frame: Frame) -> dict[str, NDArray[np.int64]]:
    """int64[N] by resource: thousandths that pods which have not finished request."""
    pods, bound = frame.pods, frame.bound
    node = np.full(len(pods.names), -1, np.int64)
    node[bound.rows] = bound.node
    node[~pods.active] = -1
    result = {}
    for name, (rows, amounts) in pods.requests.items():
        counts = node[rows] >= 0
        column = np.zeros(len(frame.nodes.names), np.int64)
        np.add.at(column, node[rows[counts]], amounts[counts])
        result[name] = column
    return result


_UNDEFINED = -(1 << 62)


def _quantities(column: StringColumn) -> NDArray[np.int64]:
    """Thousandths by node; what is absent or no quantity is undefined."""
    amounts = [milli(text) for text in column.values]
    return column.spread([_UNDEFINED if amount is None else amount for amount in amounts], _UNDEFINED, np.int64)


def _units(column: NDArray[np.int64], undefined: int, defined: NDArray[np.bool_]) -> NDArray[np.int32]:
    whole = np.sign(column) * (np.abs(column) // 1000)
    return np.where(defined, np.clip(whole, -(1 << 31), (1 << 31) - 1), undefined).astype(np.int32)


def _is_listed(working: WorkingMap, key: str) -> bool:
    return bool((working.column(key).codes >= 0).any())


def _columns(
    frame: Frame,
    config: SchedulerConfig,
    name: str,
    used: UsedChips,
    capacity: NDArray[np.int64],
    allocatable: NDArray[np.int64],
    idle: NDArray[np.int64],
) -> ResourceColumns:
    n = len(frame.nodes.names)
    tail = name.removeprefix(PREFIX)
    defined = allocatable != _UNDEFINED
    numbers = (
        _units(capacity, -1, capacity != _UNDEFINED),
        _units(allocatable, -1, defined),
        _units(idle, 0, defined),
        defined,
    )
    if tail not in CHIP_TYPES:
        zero, no = np.zeros(n, np.uint64), np.zeros(n, np.bool_)
        column = frame.working.column(name)
        parts = column.spread([value.count(",") + 1 if value else 0 for value in column.values], -1, np.int32)
        return ResourceColumns(*numbers, parts, zero, zero, zero, zero, np.zeros(n, np.int32), no, no)
    free = free_lists(CHIP_TYPES.index(tail), frame.working, frame.effective, frame.nodes.base, used)
    unhealthy = frame.working.chips(name + "-Unhealthy", tail)
    recovering = frame.working.chips(name + "-Recovering", tail)
    network_key = (name if tail == "npu" else PREFIX + "Ascend910") + "-NetworkUnhealthy"
    network = frame.working.chips(network_key, tail)
    network_mask = np.where(network.bad, np.uint64(0), network.mask)
    if config.link_down_as_network_fault:
        network_mask = network_mask | link_down_masks(frame.working.column(name + "-Fault"), tail)
    return ResourceColumns(
        *numbers,
        free.length,
        free.free,
        unhealthy.mask,
        network_mask,
        recovering.mask,
        np.where(unhealthy.bad, 0, unhealthy.count).astype(np.int32),
        network.defined,
        free.bad,
    )


def chip_kinds(
    frame: Frame, resources: Mapping[str, ResourceColumns], accelerators: Sequence[str | None]
) -> NDArray[np.int8]:
    """int8[N]: chip type with the largest capacity; of a node that offers AI cores only, that of its label."""
    n = len(frame.nodes.names)
    best, kind = np.zeros(n, np.int32), np.full(n, -1, np.int8)
    for i, name in enumerate(CHIP_TYPES):
        columns = resources.get(PREFIX + name)
        if columns is not None:
            more = (columns.capacity > best) | ((columns.capacity == 0) & (kind < 0))
            kind = np.where(more, np.int8(i), kind)
            best = np.maximum(best, columns.capacity)
    rest = frame.is_npu & (kind < 0) & ((frame.nodes.base.mask != 0) | frame.nodes.base.virtual)
    for i in np.flatnonzero(rest).tolist():
        label = accelerators[i]
        if label in CHIP_TYPES:
            kind[i] = CHIP_TYPES.index(label)
    return kind.astype(np.int8)


def total_masks(frame: Frame, resources: Mapping[str, ResourceColumns], kind: NDArray[np.int8]) -> NDArray[np.uint64]:
    """uint64[N]: chips that baseDeviceInfos names; without it as many as the capacity counts."""
    total: NDArray[np.uint64] = frame.nodes.base.mask.copy()
    for i in np.flatnonzero((total == 0) & (kind >= 0)).tolist():
        columns = resources.get(PREFIX + CHIP_TYPES[int(kind[i])])
        count = int(columns.capacity[i]) if columns is not None else 0
        count = min(max(0, count // 100 if frame.soft[i] else count), 64)
        total[i] = np.uint64((1 << count) - 1)
    return total
