"""Checks of nodes and their device rows against each other (chapter 30 §8.5). They report only; nothing is changed."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ascendctl.manifest.job import parse_go_int
from ascendctl.snapshot.build import Frame
from ascendctl.snapshot.chip_lists import CHIP_TYPES, chip_names, parse_list
from ascendctl.snapshot.cluster import Cluster
from ascendctl.snapshot.collect import SUPER_POD_PREFIX
from ascendctl.snapshot.derive import AMBIGUOUS, CLEAR, FOREIGN, PREFIX
from ascendctl.snapshot.gojson import loads
from ascendctl.snapshot.health import ACCELERATOR, faults, link_down_masks
from ascendctl.snapshot.profiles import PROFILES
from ascendctl.snapshot.rows import Rows
from ascendctl.wellknown import ACCELERATOR_TYPE

STALE_SECONDS = 600
SUPER_POD_WORD = "super"
SUPER_POD_LABEL = "huawei.com/topotree.superpodid"
LIST_SUFFIXES = ("", "-Unhealthy", "-NetworkUnhealthy", "-Recovering")
NO_NUMBER = -(1 << 40)
_SHOWN = 60


def check_nodes(frame: Frame, rows: Rows, cluster: Cluster) -> None:
    """All checks of nodes; what they find goes to the frame's findings."""
    _orphans(frame, rows)
    _missing_data(frame, cluster)
    _row_types(frame, cluster)
    _ages(frame, rows)
    for name in CHIP_TYPES:
        if PREFIX + name in cluster.resources:
            _lists(frame, cluster, name)
    _faults(frame, cluster)
    _super_pods(frame, cluster)
    _counts(frame, cluster)


def _tell(frame: Frame, code: str, node: int, message: str, of_row: bool = False) -> None:
    """Report something about a node; the place is that of its row or of the Node object."""
    name = frame.nodes.names[node]
    place = int(frame.device.place[node] if of_row and frame.device.place[node] >= 0 else frame.nodes.place[node])
    frame.collected.findings.add(code, message, f"Node {name}", name, frame.collected.where(place))


def _nodes(flags: NDArray[np.bool_]) -> list[int]:
    found: list[int] = np.flatnonzero(flags).tolist()
    return found


def _orphans(frame: Frame, rows: Rows) -> None:
    """S317: rows of nodes that the dump does not have."""
    collected = frame.collected
    orphans = rows.device.keys() - set(frame.nodes.names)
    if orphans and not frame.nodes.names:
        collected.findings.add("S317", f"{len(orphans)} device rows, but no Node object in the dump", "Node")
        return
    for name in sorted(orphans):
        place = collected.where(rows.device[name].place)
        collected.findings.add("S317", "the device row belongs to no Node of the dump", f"Node {name}", name, place)


def _missing_data(frame: Frame, cluster: Cluster) -> None:
    """S321, S324, S325: what makes a node lose its chips altogether."""
    base, present = frame.nodes.base, frame.device.present
    needed = PROFILES[cluster.profile].base_info_needed != "never"
    for node in _nodes(frame.is_npu & ~base.readable & (present | (cluster.kind >= 0)) & needed):
        _tell(frame, "S321", node, "annotation baseDeviceInfos is missing or cannot be decoded")
    for node in _nodes(frame.is_npu & frame.numbers_devices & base.readable & ~base.complete):
        _tell(frame, "S324", node, f"some of the {base.count[node]} chips in baseDeviceInfos have no DeviceID")
    for node in _nodes(frame.is_npu & present & ~frame.effective.identified):
        _tell(frame, "S325", node, "UpdateTime of the device row is 0", of_row=True)


def _row_types(frame: Frame, cluster: Cluster) -> None:
    """S318, S319, S337: what kind of chips row, capacity and label speak of."""
    effective = frame.effective
    for node in _nodes((effective.clarity == AMBIGUOUS) & frame.is_npu):
        taken = CHIP_TYPES[int(effective.chip_type[node])]
        _tell(frame, "S318", node, f"keys of several chip types; {taken} is taken", of_row=True)
    for node in _nodes(effective.clarity == FOREIGN):
        keys = ", ".join(sorted(frame.device.lists[node]))
        _tell(frame, "S319", node, f"DeviceList has only {_short(keys)}", of_row=True)
    clear = np.array([bool(lists) for lists in frame.device.lists], np.bool_) & (effective.clarity == CLEAR)
    for node in _nodes(effective.applied & clear & (cluster.kind >= 0) & (effective.chip_type != cluster.kind)):
        row_type, offered = CHIP_TYPES[int(effective.chip_type[node])], CHIP_TYPES[int(cluster.kind[node])]
        _tell(frame, "S318", node, f"the device row is about {row_type}, the node offers {offered}", of_row=True)
    column = frame.nodes.labels.column(ACCELERATOR)
    for code, value in enumerate(column.values):
        named = value.split("-")[1] if "-" in value else ""
        own = CHIP_TYPES.index(named) if named in CHIP_TYPES else len(CHIP_TYPES)
        for node in _nodes((column.codes == code) & (cluster.kind >= 0) & (cluster.kind != own)) if named else ():
            offered = CHIP_TYPES[int(cluster.kind[node])]
            _tell(frame, "S337", node, f"label accelerator names {named}, the node offers {offered}")


def _ages(frame: Frame, rows: Rows) -> None:
    """S312: rows that their device plugin no longer refreshes. ClusterD keeps old times, so only in device mode."""
    if rows.clusterd or not rows.device:
        return
    times = frame.device.update_time
    newest = max(row.update_time for row in rows.device.values())
    for node in _nodes((times > 0) & (times < newest - STALE_SECONDS)):
        minutes = (newest - int(times[node])) // 60
        _tell(frame, "S312", node, f"the row is {minutes} minutes older than the newest one", of_row=True)


def _lists(frame: Frame, cluster: Cluster, name: str) -> None:
    """S326, S331: lists with names that cannot be read, or that contradict each other."""
    seen = np.zeros(cluster.size, np.uint64)
    free, unhealthy = (frame.working.chips(PREFIX + name + suffix, name).mask for suffix in LIST_SUFFIXES[:2])
    for suffix in LIST_SUFFIXES:
        column = frame.working.column(PREFIX + name + suffix)
        if not column.values:
            continue
        facts = frame.working.chips(PREFIX + name + suffix, name)
        odd = facts.bad | (facts.mask != facts.exact)
        for node in _nodes(odd):
            code, message = _odd_list(column.get(node) or "", name)
            _tell(frame, code, node, f"{PREFIX}{name}{suffix}: {message}", of_row=True)
        seen |= facts.mask
    for node in _nodes((free & unhealthy) != 0):
        both = chip_names(int(free[node] & unhealthy[node]), name)
        _tell(frame, "S331", node, f"{_short(both)} both in the free list and in -Unhealthy", of_row=True)
    base = frame.nodes.base
    strange = seen & ~base.mask & base.readable * np.uint64(0xFFFFFFFFFFFFFFFF)
    own = cluster.kind == CHIP_TYPES.index(name)
    for node in _nodes((strange != 0) & own):
        names = chip_names(int(strange[node]), name)
        _tell(frame, "S331", node, f"{_short(names)} in a list, but not in baseDeviceInfos", of_row=True)


def _odd_list(text: str, name: str) -> tuple[str, str]:
    """Code and message of a list that is not plain."""
    parts = text.split(",")
    bad = [part for part in parts if parse_list(part, name)[3] or not part]
    if bad:
        return "S326", f"'{_short(bad[0])}' is no chip name, so the whole list counts as empty"
    repeated = [part for i, part in enumerate(parts) if part in parts[:i]]
    if repeated:
        return "S331", f"'{repeated[0]}' stands there twice, so the list is not used"
    other = next((part for part in parts if parse_list(part, name)[2] == 0), text)
    return "S326", f"'{_short(other)}' is not written as the device plugin does"


def _faults(frame: Frame, cluster: Cluster) -> None:
    """S327, S328: -Fault texts that cannot be decoded, and chips that the link-down rule touches."""
    for key in sorted(key for key in frame.effective.lists.columns if key.endswith("-Fault")):
        column = frame.effective.lists.column(key)
        for code, text in enumerate(column.values):
            if faults(text) is None:
                for node in _nodes(column.codes == code):
                    _tell(frame, "S327", node, f"{key} cannot be decoded", of_row=True)
    if not cluster.config.link_down_as_network_fault:
        return
    for name in CHIP_TYPES:
        masks = link_down_masks(frame.working.column(f"{PREFIX}{name}-Fault"), name)
        for node in _nodes(masks != 0):
            chips = chip_names(int(masks[node]), name)
            _tell(frame, "S328", node, f"{_short(chips)} count as network-unhealthy", of_row=True)


def _super_pods(frame: Frame, cluster: Cluster) -> None:
    """S320, S329: SuperPod ids and indices."""
    labels, annotations = frame.nodes.labels, frame.nodes.annotations
    accelerator = labels.column(ACCELERATOR_TYPE)
    says_super = accelerator.spread([SUPER_POD_WORD in value.lower() for value in accelerator.values], False, np.bool_)
    says_super |= labels.column(SUPER_POD_LABEL).codes >= 0
    rows, known = frame.device, frame.effective.identified
    for node in _nodes(known & ~rows.has_super_pod & says_super):
        _tell(frame, "S329", node, "the row has no SuperPodID, which counts as SuperPod 0", of_row=True)
    member = known & rows.has_super_pod & (rows.super_pod >= 0)
    noted = annotations.column("superPodID")
    numbers = [NO_NUMBER if (number := parse_go_int(text)) is None else number for text in noted.values]
    noted_ids = noted.spread(numbers, NO_NUMBER, np.int64)
    for node in _nodes(member & (noted.codes >= 0) & (noted_ids != rows.super_pod)):
        message = f"SuperPod {rows.super_pod[node]} in the device row, '{_short(noted.get(node) or '')}' in annotation "
        _tell(frame, "S320", node, message + "superPodID")
    for name, other in sorted(_super_pod_maps(frame).items()):
        index = cluster.index.get(name, -1)
        if index >= 0 and member[index] and other != str(rows.super_pod[index]):
            message = f"SuperPod {rows.super_pod[index]} in the device row, in ConfigMap super-pod-{_short(other)}"
            _tell(frame, "S320", index, message)
    placed = np.flatnonzero(member & (rows.server_index >= 0))
    place = rows.super_pod[placed].astype(np.int64) << 32 | rows.server_index[placed]
    order = np.argsort(place, kind="stable")
    again = np.flatnonzero(place[order][1:] == place[order][:-1]) + 1
    for node, other in zip(placed[order[again]].tolist(), placed[order[again - 1]].tolist(), strict=True):
        message = f"ServerIndex {rows.server_index[node]} of SuperPod {rows.super_pod[node]} is also that of "
        _tell(frame, "S320", node, message + cluster.names[other], of_row=True)


def _super_pod_maps(frame: Frame) -> Mapping[str, str]:
    """Node name -> SuperPod id, from the super-pod-<id> ConfigMaps."""
    found: dict[str, str] = {}
    for one in frame.collected.maps.values():
        if not one.name.startswith(SUPER_POD_PREFIX) or "superPodDevice" not in one.data:
            continue
        try:
            value: Any = loads(one.data["superPodDevice"])
        except ValueError as error:
            message, where = f"superPodDevice is no JSON: {error}", frame.collected.where(one.place)
            frame.collected.findings.add("S315", message, one.title, source=where)
            continue
        members = value.get("NodeDeviceMap") if isinstance(value, dict) else None
        for node in members if isinstance(members, dict) else ():
            found[node] = str(value.get("SuperPodID"))
    return found


def _counts(frame: Frame, cluster: Cluster) -> None:
    """S336: as many chips as kubelet counts."""
    base = frame.nodes.base
    chips = np.bitwise_count(base.mask)
    for kind, name in enumerate(CHIP_TYPES):
        columns = cluster.resources.get(PREFIX + name)
        if columns is None:
            continue
        units = np.where(frame.soft, 100, 1) * chips.astype(np.int64)
        own = (cluster.kind == kind) & base.readable & ~base.virtual & (columns.capacity >= 0)
        for node in _nodes(own & (units != columns.capacity)):
            message = f"{chips[node]} chips in baseDeviceInfos, capacity {PREFIX}{name} {columns.capacity[node]}"
            _tell(frame, "S336", node, message + (" (100 a chip)" if frame.soft[node] else ""))


def _short(text: str) -> str:
    """A text cut to what a line can show."""
    return text if len(text) <= _SHOWN else text[: _SHOWN - 3] + "..."
