"""Collected fields -> Cluster (chapter 30 §6, §9)."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ascendctl.manifest.job import parse_go_int
from ascendctl.names import natural_order
from ascendctl.snapshot.base_devices import BaseInfos, read_base_infos
from ascendctl.snapshot.chip_lists import CHIP_TYPES
from ascendctl.snapshot.cluster import Chips, Cluster, ResourceColumns
from ascendctl.snapshot.collect import Collected, RawNode
from ascendctl.snapshot.columns import StringTable, transpose
from ascendctl.snapshot.config import SchedulerConfig
from ascendctl.snapshot.derive import (
    PREFIX,
    Effective,
    UsedChips,
    WorkingMap,
    effective_lists,
    free_lists,
    node_lists,
)
from ascendctl.snapshot.health import ACCELERATOR, accelerator_kinds, health_bits, link_down_masks
from ascendctl.snapshot.pod_requests import milli
from ascendctl.snapshot.pod_table import FINISHED, BoundPods, Holdings, bind, holdings, job_table, pod_table
from ascendctl.snapshot.profiles import LoadOptions, Profile
from ascendctl.snapshot.rows import DeviceRow, Rows

SOFT_LABEL = "huawei.com/scheduler.chip1softsharedev.enable"
MEMORY_LABEL = "mind-cluster/npu-chip-memory"
CHIP_NAME_LABEL = "node.kubernetes.io/npu.chip.name"
DEVICE_ID_CHIP = "Ascend950"
NO_SERVER_INDEX = -(1 << 31)
NPU_CORE = "huawei.com/npu-core"


@dataclass(frozen=True)
class Frame:
    """What the steps of a build share. `rows` are the node entries of the dump in natural name order; all arrays and
    sequences have length N in that order."""

    collected: Collected
    nodes: Sequence[RawNode]
    names: tuple[str, ...]
    device: Sequence[DeviceRow | None]
    labels: StringTable
    annotations: StringTable
    base: BaseInfos
    effective: Effective
    working: WorkingMap
    is_npu: NDArray[np.bool_]
    soft: NDArray[np.bool_]
    numbers_devices: NDArray[np.bool_]
    unclear: Sequence[int]
    bound: BoundPods
    held: Holdings


def build(collected: Collected, rows: Rows, config: SchedulerConfig, profile: Profile, options: LoadOptions) -> Frame:
    """Tables of the nodes, what the rows say, and what pods hold."""
    found = list(collected.nodes.values())
    nodes = [found[i] for i in natural_order([node.name for node in found])]
    names = tuple(node.name for node in nodes)
    labels = StringTable.from_rows([node.labels for node in nodes])
    annotations = StringTable.from_rows([node.annotations for node in nodes])
    base = read_base_infos([node.base_info for node in nodes])
    soft = labels.column(SOFT_LABEL).equals("true")
    is_npu = np.array([bool(node.capacity) for node in nodes], np.bool_)
    device = [rows.device.get(name) for name in names]
    effective, unclear = effective_lists(device, base, soft, is_npu, config.self_maintain_available_card, profile)
    chip_name = labels.column(CHIP_NAME_LABEL)
    prefixed = np.array([*(value.startswith(DEVICE_ID_CHIP) for value in chip_name.values), False], np.bool_)
    numbers_devices = prefixed[chip_name.codes]
    bound = bind(collected, {name: i for i, name in enumerate(names)})
    held = holdings(
        collected,
        bound,
        effective.chip_type,
        effective.maintained & (base.kind != effective.chip_type),
        _device_id_maps(base.chips, numbers_devices),
        options.translate_device_ids,
    )
    return Frame(
        collected,
        nodes,
        names,
        device,
        labels,
        annotations,
        base,
        effective,
        WorkingMap(effective.lists, annotations),
        is_npu,
        soft,
        numbers_devices,
        unclear,
        bound,
        held,
    )


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
    nodes, names = frame.nodes, frame.names
    n = len(nodes)
    resources = resource_columns(frame, config)
    accelerators = accelerator_kinds(frame.labels.column(ACCELERATOR))
    visible = np.array([node.ready and node.scalars for node in nodes], np.bool_)
    visible &= ~(frame.is_npu & frame.numbers_devices & ~frame.base.complete)
    identified = frame.effective.identified.tolist()
    kind = chip_kinds(frame, resources, accelerators)
    bound = frame.bound
    return Cluster(
        names=names,
        addresses=tuple(node.address for node in nodes),
        visible=visible,
        is_npu=frame.is_npu,
        unschedulable=np.array([node.cordoned for node in nodes], np.bool_),
        kind=kind,
        total=total_masks(frame, resources, kind),
        used=frame.held.used,
        superpod=_row_numbers(frame.device, identified, "super_pod"),
        rack=_row_numbers(frame.device, identified, "rack") if profile.rack else np.zeros(n, np.int32),
        server_index=_server_index(frame.annotations),
        health=health_bits(frame.working, frame.annotations, names, frame.is_npu, accelerators, rows, profile),
        soft_share=frame.soft,
        chip_memory_mb=_chip_memory(frame.labels),
        virtual_names=frame.base.virtual,
        has_base_info=frame.base.readable,
        base_count=frame.base.count,
        taints=tuple(_taints(node.taints) for node in nodes),
        labels=frame.labels,
        annotations=frame.annotations,
        resources=resources,
        chips=frame.base.chips,
        pods=pod_table(bound, frame.held, tuple(resources)),
        jobs=job_table(frame.collected, bound),
        config=config,
        skipped=dict(sorted(frame.collected.skipped.items())),
        clusterd_mode=rows.clusterd,
        profile=profile.name,
    )


def _row_numbers(device: Sequence[DeviceRow | None], identified: Sequence[bool], attribute: str) -> NDArray[np.int32]:
    pairs = zip(device, identified, strict=True)
    return np.array([getattr(row, attribute) if row is not None and used else 0 for row, used in pairs], np.int32)


def _taints(value: object) -> str:
    if not value:
        return ""
    import orjson

    return orjson.dumps(value, option=orjson.OPT_SORT_KEYS).decode()


def _pooled(table: StringTable, key: str, number: Callable[[str], int], absent: int) -> NDArray[np.int32]:
    """A number a node from a label or annotation, computed once a distinct value."""
    column = table.column(key)
    return np.array([*map(number, column.values), absent], np.int32)[column.codes]


def _server_index(annotations: StringTable) -> NDArray[np.int32]:
    def number(text: str) -> int:
        value = parse_go_int(text)
        return NO_SERVER_INDEX if value is None or not -(1 << 31) <= value < 1 << 31 else value

    return _pooled(annotations, "serverIndex", number, NO_SERVER_INDEX)


def _chip_memory(labels: StringTable) -> NDArray[np.int32]:
    def number(text: str) -> int:
        value = parse_go_int(text.replace("G", ""))
        return 0 if value is None or not 0 <= value < 1 << 20 else value * 1024

    return _pooled(labels, MEMORY_LABEL, number, 0)


def _quantities(maps: Sequence[Mapping[str, object]]) -> dict[str, tuple[list[int], list[int]]]:
    """Nodes and thousandths by resource name; values that are no quantity are left out."""
    found: dict[str, tuple[list[int], list[int]]] = {}
    for name, (nodes, values) in transpose(maps).items():
        amounts = list(map(milli, values))
        good = [i for i, amount in enumerate(amounts) if amount is not None]
        found[name] = [nodes[i] for i in good], [amounts[i] or 0 for i in good]
    return found


def resource_columns(frame: Frame, config: SchedulerConfig) -> dict[str, ResourceColumns]:
    """Columns of every huawei.com/ resource that a node offers or lists, by name in text order."""
    n = len(frame.nodes)
    capacity = _quantities([node.capacity for node in frame.nodes])
    allocatable = _quantities([node.allocatable for node in frame.nodes])
    listed = {PREFIX + kind for kind in CHIP_TYPES if _is_listed(frame.working, PREFIX + kind)}
    requested = _requested(frame)
    used = UsedChips(frame.held.used, frame.held.odd)
    result = {}
    for name in sorted(capacity.keys() | allocatable.keys() | listed):
        offered, ready = _spread(capacity.get(name), n), _spread(allocatable.get(name), n)
        idle = ready.copy()
        if name in requested:
            idle -= requested[name]
        result[name] = _columns(frame, config, name, used, offered, ready, idle)
    return result


def _requested(frame: Frame) -> dict[str, NDArray[np.int64]]:
    """int64[N] by resource: thousandths that pods which have not finished request."""
    pairs = zip(frame.bound.pods, frame.bound.node, strict=True)
    active = [(pod.requests, node) for pod, node in pairs if pod.requests and pod.phase not in FINISHED]
    result = {}
    for name, (rows, amounts) in transpose([requests for requests, _ in active]).items():
        column = np.zeros(len(frame.nodes), np.int64)
        np.add.at(column, [active[row][1] for row in rows], amounts)
        result[name] = column
    return result


_UNDEFINED = -(1 << 62)


def _spread(found: tuple[list[int], list[int]] | None, n: int) -> NDArray[np.int64]:
    column = np.full(n, _UNDEFINED, np.int64)
    if found is not None:
        column[found[0]] = found[1]
    return column


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
    n = len(frame.nodes)
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
        parts = np.array([*(value.count(",") + 1 if value else 0 for value in column.values), -1], np.int32)
        return ResourceColumns(*numbers, parts[column.codes], zero, zero, zero, zero, np.zeros(n, np.int32), no, no)
    free = free_lists(CHIP_TYPES.index(tail), frame.working, frame.effective, frame.base, used)
    unhealthy = node_lists(frame.working.column(name + "-Unhealthy"), tail)
    recovering = node_lists(frame.working.column(name + "-Recovering"), tail)
    network_key = (name if tail == "npu" else PREFIX + "Ascend910") + "-NetworkUnhealthy"
    network = node_lists(frame.working.column(network_key), tail)
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
    n = len(frame.nodes)
    best, kind = np.zeros(n, np.int32), np.full(n, -1, np.int8)
    for i, name in enumerate(CHIP_TYPES):
        columns = resources.get(PREFIX + name)
        if columns is not None:
            more = (columns.capacity > best) | ((columns.capacity == 0) & (kind < 0))
            kind = np.where(more, np.int8(i), kind)
            best = np.maximum(best, columns.capacity)
    rest = frame.is_npu & (kind < 0) & ((frame.base.mask != 0) | frame.base.virtual)
    for i in np.flatnonzero(rest).tolist():
        label = accelerators[i]
        if label in CHIP_TYPES:
            kind[i] = CHIP_TYPES.index(label)
    return kind.astype(np.int8)


def total_masks(frame: Frame, resources: Mapping[str, ResourceColumns], kind: NDArray[np.int8]) -> NDArray[np.uint64]:
    """uint64[N]: chips that baseDeviceInfos names; without it as many as the capacity counts."""
    total = frame.base.mask.copy()
    for i in np.flatnonzero((total == 0) & (kind >= 0)).tolist():
        columns = resources.get(PREFIX + CHIP_TYPES[int(kind[i])])
        count = int(columns.capacity[i]) if columns is not None else 0
        count = min(max(0, count // 100 if frame.soft[i] else count), 64)
        total[i] = np.uint64((1 << count) - 1)
    return total
