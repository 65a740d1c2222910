"""Node annotation `baseDeviceInfos`: the chips that a node has (chapter 30 §5.3, §6.2, §6.5)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import chain
from operator import itemgetter
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ascendctl.manifest.job import parse_go_int
from ascendctl.snapshot.base_scan import Scan, scan
from ascendctl.snapshot.chip_lists import CHIP_TYPES, MAX_CHIP_ID
from ascendctl.snapshot.cluster import Chips
from ascendctl.snapshot.gojson import INT32, GoTypeError, integer, loads, members, text
from ascendctl.snapshot.texts import TextColumn

UINT32 = (0, (1 << 32) - 1)
_FIELDS = frozenset(("DeviceID", "IP", "SuperDeviceID", "levelList"))
NO_DEVICE_ID = 1 << 40
NO_CHIPS = Chips(
    np.zeros(1, np.int32),
    np.zeros(0, np.int16),
    np.zeros(0, np.int32),
    np.zeros(0, np.int64),
    TextColumn.blank(0),
    TextColumn.blank(0),
)


@dataclass(frozen=True)
class Shape:
    """What the names of one annotation say; nodes of a product share a few shapes.

    `names` as written. `base` are those with at most one dash, the chips that self-maintain counts with. `rows` are
    (position in names, id) of those with an id of 0..63, ascending by id, `mask` the same ids. `chip_type` is set if
    all of `base` are exactly <type>-<id> of one type. `virtual`: a name has two dashes or more. `regular`: every name
    is <x>-<number>, as the DeviceID map needs.
    """

    names: tuple[str, ...]
    base: tuple[str, ...]
    mask: int
    chip_type: str
    rows: tuple[tuple[int, int], ...]
    virtual: bool
    regular: bool


@lru_cache(maxsize=256)
def shape_of(names: tuple[str, ...]) -> Shape:
    """Take the names of an annotation apart."""
    base = tuple(name for name in names if name.count("-") <= 1)
    rows, types, mask = [], set(), 0
    for position, name in enumerate(names):
        chip_type, dash, number = name.partition("-")
        chip = parse_go_int(number) if dash else None
        if name in base and chip is not None and 0 <= chip <= MAX_CHIP_ID and not mask >> chip & 1:
            rows.append((position, chip))
            mask |= 1 << chip
            types.add(chip_type if name == f"{chip_type}-{chip}" else "")
    one_type = types.pop() if len(types) == 1 and len(rows) == len(base) else ""
    return Shape(
        names,
        base,
        mask,
        one_type if one_type in CHIP_TYPES else "",
        tuple(sorted(rows, key=lambda row: row[1])),
        any(name.count("-") >= 2 for name in names),
        all(name.count("-") == 1 and parse_go_int(name.partition("-")[2]) is not None for name in names),
    )


@dataclass(frozen=True)
class BaseInfos:
    """What the annotations of N nodes say.

    `mask` uint64: ids of the chips. `kind` int8: index of CHIP_TYPES if all names with at most one dash are exactly
    <type>-<id> of that type, else -1; the nodes with -1 have their names in `odd`. `virtual` bool: a name has two
    dashes. `readable` bool: the annotation is there and can be decoded. `count` int32: its entries. `complete` bool:
    every entry is <x>-<number> and has a DeviceID. `chips`: the chip table.
    """

    mask: NDArray[np.uint64]
    kind: NDArray[np.int8]
    virtual: NDArray[np.bool_]
    readable: NDArray[np.bool_]
    count: NDArray[np.int32]
    complete: NDArray[np.bool_]
    odd: dict[int, Shape]
    chips: Chips


class BaseReader:
    """Reads the annotations of nodes batch by batch."""

    def __init__(self) -> None:
        self._parts: list[_Part] = []

    def add(self, annotations: Sequence[Any]) -> None:
        """Append the annotations of some nodes; None = a node has none."""
        part = _new_part(len(annotations))
        kinds: tuple[list[int], list[int]] = [], []
        for i, raw in enumerate(annotations):
            if type(raw) is str:
                kinds['"DeviceID"' in raw].append(i)
        slow: list[int] = []
        for with_device_ids, nodes in enumerate(kinds):
            if nodes:
                found = scan([annotations[i] for i in nodes], bool(with_device_ids))
                slow += [node for node, good in zip(nodes, found.good.tolist(), strict=True) if not good]
                _enter_scan(part, np.array(nodes, np.int64), found, bool(with_device_ids))
        if slow:
            slow.sort()
            _enter_decoded(part, annotations, slow)
        self._parts.append(part)

    def infos(self, order: NDArray[np.int64]) -> BaseInfos:
        """What the annotations of the nodes `order`, counted as they came, say."""
        parts = self._parts or [_new_part(0)]
        starts = np.cumsum([0, *(len(part.mask) for part in parts)])
        place = np.full(int(starts[-1]), -1, np.int64)
        place[order] = np.arange(len(order))
        odd = {int(place[node + start]): s for part, start in zip(parts, starts, strict=False) for node, s in part.odd}
        odd.pop(-1, None)
        chips = [table for part in parts for table in part.tables]
        owner = np.concatenate(
            [table.owner + start for part, start in zip(parts, starts, strict=False) for table in part.tables]
            or [np.zeros(0, np.int64)]
        )
        return BaseInfos(
            np.concatenate([part.mask for part in parts])[order],
            np.concatenate([part.kind for part in parts])[order],
            np.concatenate([part.virtual for part in parts])[order],
            np.concatenate([part.readable for part in parts])[order],
            np.concatenate([part.count for part in parts])[order],
            np.concatenate([part.complete for part in parts])[order],
            odd,
            _chip_table(len(order), place[owner], chips),
        )


@dataclass(frozen=True)
class _Table:
    """Rows of the chip table: `owner` counts nodes inside of a part and rises, as do the ids of one node."""

    owner: NDArray[np.int64]
    chip: NDArray[np.int64]
    device: NDArray[np.int64]
    super_device: NDArray[np.int64]
    ip: TextColumn
    levels: TextColumn


@dataclass(frozen=True)
class _Part:
    """A batch of nodes: the columns of `BaseInfos`, and tables of their chips."""

    mask: NDArray[np.uint64]
    kind: NDArray[np.int8]
    virtual: NDArray[np.bool_]
    readable: NDArray[np.bool_]
    count: NDArray[np.int32]
    complete: NDArray[np.bool_]
    odd: list[tuple[int, Shape]]
    tables: list[_Table]


def _new_part(n: int) -> _Part:
    return _Part(
        np.zeros(n, np.uint64),
        np.full(n, -1, np.int8),
        np.zeros(n, np.bool_),
        np.zeros(n, np.bool_),
        np.zeros(n, np.int32),
        np.zeros(n, np.bool_),
        [],
        [],
    )


def _chip_table(n: int, node: NDArray[np.int64], tables: Sequence[_Table]) -> Chips:
    """The chip table of N nodes; `node` of each row of all tables, -1 = a node that does not count."""
    if not tables:
        return replace(NO_CHIPS, ptr=np.zeros(n + 1, np.int32))
    chip, device, super_device = (
        np.concatenate([getattr(table, name) for table in tables]) for name in ("chip", "device", "super_device")
    )
    ip, levels = TextColumn.join([table.ip for table in tables]), TextColumn.join([table.levels for table in tables])
    if (node[1:] < node[:-1]).any() or (node < 0).any():
        order = np.argsort(node, kind="stable")
        order = order[node[order] >= 0]
        node, chip, device, super_device = node[order], chip[order], device[order], super_device[order]
        ip, levels = ip.take(order), levels.take(order)
    ptr = np.concatenate([[0], np.cumsum(np.bincount(node, minlength=n))]).astype(np.int32)
    return Chips(ptr, chip.astype(np.int16), device.astype(np.int32), super_device, ip, levels)


def _enter_scan(part: _Part, nodes: NDArray[np.int64], found: Scan, with_device_ids: bool) -> None:
    """Enter what a scan recognised. Its texts have one chip type each, and no virtual devices."""
    good = nodes[found.good]
    if not len(good):
        return
    first = np.flatnonzero(np.diff(found.owner, prepend=-1))
    part.mask[good] = np.bitwise_or.reduceat(np.uint64(1) << found.chip.astype(np.uint64), first)
    part.kind[good] = found.kind[first]
    part.readable[good] = True
    part.complete[good] = with_device_ids
    part.count[good] = np.diff(first, append=len(found.owner))
    blank = TextColumn.blank(len(found.owner))
    part.tables.append(_Table(nodes[found.owner], found.chip, found.device, found.super_device, found.ip, blank))


def _enter_decoded(part: _Part, annotations: Sequence[Any], nodes: Sequence[int]) -> None:
    """Decode and enter the annotations of some nodes as Go would."""
    decoded = [_decode(annotations[i]) for i in nodes]
    try:
        ip, super_device, device, levels = _entry_columns(decoded)
    except (KeyError, TypeError, AttributeError, ValueError):  # some entry is not as every writer writes it
        decoded = [None if found is None else _checked(found) for found in decoded]
        ip, super_device, device, levels = _entry_columns(decoded)
    start = 0
    owner: list[int] = []
    picked: list[int] = []
    chips: list[int] = []
    for node, found in zip(nodes, decoded, strict=True):
        if found is None:
            continue
        shape = shape_of(tuple(found))
        part.mask[node], part.virtual[node], part.readable[node] = shape.mask, shape.virtual, True
        part.count[node] = len(found)
        part.complete[node] = shape.regular and all(device[start : start + len(found)] != NO_DEVICE_ID)
        if shape.chip_type:
            part.kind[node] = CHIP_TYPES.index(shape.chip_type)
        else:
            part.odd.append((node, shape))
        owner += [node] * len(shape.rows)
        picked += [start + position for position, _ in shape.rows]
        chips += [chip for _, chip in shape.rows]
        start += len(found)
    device = device[picked]
    table = _Table(
        np.array(owner, np.int64),
        np.array(chips, np.int64),
        np.where(device == NO_DEVICE_ID, -1, device),
        super_device[picked],
        TextColumn.of([ip[i] for i in picked]),
        TextColumn.of([levels[i] for i in picked]),
    )
    part.tables.append(table)


def _decode(raw: Any) -> dict[str, Any] | None:
    """The annotation as an object; None if it is missing or none. `null` is no chips."""
    if type(raw) is not str:
        return None
    try:
        value = loads(raw)
    except ValueError:
        return None
    if value is None:
        return {}
    return value if type(value) is dict else None


_Columns = tuple[Sequence[str], "NDArray[np.int64]", "NDArray[np.int64]", Sequence[str]]


def _entry_columns(decoded: Sequence[dict[str, Any] | None]) -> _Columns:
    """Addresses, SuperDeviceIDs, DeviceIDs (NO_DEVICE_ID = none) and levelList texts of all entries.

    Raises one of several errors if an entry is not exactly as the device plugin writes it.
    """
    entries = list(chain.from_iterable(found.values() for found in decoded if found is not None))
    count = len(entries)
    ip = list(map(itemgetter("IP"), entries))
    serial = list(map(itemgetter("SuperDeviceID"), entries))
    if not (set(map(type, entries)) <= {dict} and set(map(type, ip)) <= {str} and set(map(type, serial)) <= {int}):
        raise TypeError("a field of another type")
    if serial and not 0 <= min(serial) <= max(serial) <= UINT32[1]:
        raise ValueError("SuperDeviceID out of range")
    super_device = np.array(serial, np.int64)
    sizes = set(map(len, entries))
    if sizes <= {2}:
        return ip, super_device, np.full(count, NO_DEVICE_ID, np.int64), ("",) * count
    if not _FIELDS.issuperset(chain.from_iterable(entries)):
        raise ValueError("an unknown field")
    numbers = [entry.get("DeviceID", NO_DEVICE_ID) for entry in entries]
    if not set(map(type, numbers)) <= {int} or not all(
        number == NO_DEVICE_ID or INT32[0] <= number <= INT32[1] for number in set(numbers)
    ):
        raise TypeError("a DeviceID of another type")
    levels: Sequence[str] = ("",) * count
    if any("levelList" in entry for entry in entries):
        levels = [_levels(entry.get("levelList")) for entry in entries]
    return ip, super_device, np.array(numbers, np.int64), levels


def _levels(value: Any) -> str:
    if value is None:
        return ""
    if type(value) is not list:
        raise TypeError("levelList is no list")
    import orjson

    return orjson.dumps(value).decode()


def _checked(found: dict[str, Any]) -> dict[str, Any] | None:
    """The entries checked one by one as Go would; a wrong type anywhere makes the whole annotation bad."""
    try:
        return {name: _entry(entry) for name, entry in found.items()}
    except ValueError:
        return None


def _entry(entry: Any) -> dict[str, Any]:
    known = members(entry, _FIELDS)
    checked: dict[str, Any] = {
        "IP": text(known.get("IP"), "IP"),
        "SuperDeviceID": integer(known.get("SuperDeviceID"), "SuperDeviceID", UINT32),
    }
    if known.get("DeviceID") is not None:
        checked["DeviceID"] = integer(known["DeviceID"], "DeviceID")
    levels = known.get("levelList")
    if levels is not None:
        if type(levels) is not list:
            raise GoTypeError("levelList is no list")
        checked["levelList"] = levels
    return checked
