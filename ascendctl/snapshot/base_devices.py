"""Node annotation `baseDeviceInfos`: the chips that a node has (chapter 30 §5.3, §6.2, §6.5)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import chain
from operator import itemgetter
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ascendctl.manifest.job import parse_go_int
from ascendctl.snapshot.chip_lists import CHIP_TYPES, MAX_CHIP_ID
from ascendctl.snapshot.cluster import Chips
from ascendctl.snapshot.columns import TextColumn
from ascendctl.snapshot.gojson import INT32, GoTypeError, integer, loads, members, text

UINT32 = (0, (1 << 32) - 1)
_FIELDS = frozenset(("DeviceID", "IP", "SuperDeviceID", "levelList"))
NO_DEVICE_ID = 1 << 40
_BLOCK = 128  # nodes whose entries are taken apart together; few enough to stay in the processor's cache


@dataclass(frozen=True)
class Shape:
    """What the names of one annotation say; nodes of a product share a few shapes.

    `names` as written. `base` are those with at most one dash, the chips that self-maintain counts with. `rows` are
    (position in names, id) of those with an id of 0..63, ascending by id, `mask` the same ids. `chip_type` is set if all
    of `base` are exactly <type>-<id> of one type. `virtual`: a name has two dashes or more. `regular`: every name is
    <x>-<number>, as the DeviceID map needs.
    """

    names: tuple[str, ...]
    base: tuple[str, ...]
    mask: int
    chip_type: str
    rows: tuple[tuple[int, int], ...]
    virtual: bool
    regular: bool

    @cached_property
    def ordered(self) -> bool:
        """True if the names stand in the order of their ids and all have one."""
        return [position for position, _ in self.rows] == list(range(len(self.names)))

    @cached_property
    def physical(self) -> NDArray[np.int16]:
        """Ids of `rows`."""
        return np.array([chip for _, chip in self.rows], np.int16)


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
    """The annotations of N nodes. `shapes` None = missing or unreadable; `complete` bool[N]: every entry is regular and
    has a DeviceID; `chips` the chip table."""

    shapes: list[Shape | None]
    complete: NDArray[np.bool_]
    chips: Chips


def read_base_infos(annotations: Sequence[Any]) -> BaseInfos:
    """Read the annotation of each node; None = it has none."""
    known: dict[tuple[str, ...], Shape] = {}
    blocks = [_read_block(annotations[i : i + _BLOCK], known) for i in range(0, len(annotations), _BLOCK)]
    shapes = list(chain.from_iterable(block.shapes for block in blocks))
    physical = [shape.physical for shape in shapes if shape is not None]
    device = np.concatenate([np.zeros(0, np.int64), *(block.device for block in blocks)])
    chips = Chips(
        np.cumsum([0, *(len(shape.rows) if shape is not None else 0 for shape in shapes)], dtype=np.int32),
        np.concatenate([np.zeros(0, np.int16), *physical]),
        np.where(device == NO_DEVICE_ID, -1, device).astype(np.int32),
        np.concatenate([np.zeros(0, np.int64), *(block.super_device for block in blocks)]),
        TextColumn.of(list(chain.from_iterable(block.ip for block in blocks))),
        TextColumn.of(list(chain.from_iterable(block.levels for block in blocks))),
    )
    complete = np.concatenate([np.zeros(0, np.bool_), *(block.complete for block in blocks)])
    return BaseInfos(shapes, complete, chips)


@dataclass(frozen=True)
class _Block:
    """What some nodes in a row say: `shapes` and `complete` by node, the rest by chip."""

    shapes: list[Shape | None]
    complete: NDArray[np.bool_]
    device: NDArray[np.int64]
    super_device: NDArray[np.int64]
    ip: Sequence[str]
    levels: Sequence[str]


def _read_block(annotations: Sequence[Any], known: dict[tuple[str, ...], Shape]) -> _Block:
    decoded = list(map(_decode, annotations))
    try:
        ip, super_device, device, levels = _entry_columns(decoded)
    except (KeyError, TypeError, AttributeError, ValueError):  # some entry is not as every writer writes it
        decoded = [None if found is None else _checked(found) for found in decoded]
        ip, super_device, device, levels = _entry_columns(decoded)
    shapes: list[Shape | None] = []
    for found in decoded:
        names = None if found is None else tuple(found)
        if names is not None and names not in known:
            known[names] = shape_of(names)
        shapes.append(None if names is None else known[names])
    starts = np.cumsum([0, *(len(shape.names) if shape is not None else 0 for shape in shapes)])
    lacking = np.concatenate([[0], np.cumsum(device == NO_DEVICE_ID)])
    complete = np.array([shape is not None and shape.regular for shape in shapes], np.bool_)
    complete &= lacking[starts[1:]] == lacking[starts[:-1]]
    if not all(shape is None or shape.ordered for shape in shapes):
        pairs = zip(starts.tolist(), shapes, strict=False)
        picked = [start + position for start, shape in pairs if shape is not None for position, _ in shape.rows]
        device, super_device = device[picked], super_device[picked]
        ip, levels = [ip[i] for i in picked], [levels[i] for i in picked]
    return _Block(shapes, complete, device, super_device, ip, levels)


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
