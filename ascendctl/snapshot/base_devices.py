"""Node annotation `baseDeviceInfos`: the chips that a node has (chapter 30 §5.3, §6.2, §6.5)."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ascendctl.manifest.job import parse_go_int
from ascendctl.snapshot.chip_lists import CHIP_TYPES, MAX_CHIP_ID
from ascendctl.snapshot.cluster import Chips
from ascendctl.snapshot.gojson import INT32, GoTypeError, integer, loads, members, text

UINT32 = (0, (1 << 32) - 1)
_FIELDS = frozenset(("DeviceID", "IP", "SuperDeviceID", "levelList"))


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


@dataclass
class BaseInfos:
    """Collects the annotations of nodes in the order of the final table."""

    shapes: dict[tuple[str, ...], Shape] = field(default_factory=dict)
    of_node: list[Shape | None] = field(default_factory=list)
    complete: list[bool] = field(default_factory=list)
    physical: list[int] = field(default_factory=list)
    device: list[int] = field(default_factory=list)
    super_device: list[int] = field(default_factory=list)
    ip: list[str] = field(default_factory=list)
    levels: list[str] = field(default_factory=list)
    counts: list[int] = field(default_factory=list)

    def add(self, raw: Any) -> None:
        """One more node. None or an unreadable text gives `of_node` None; `complete` tells whether every entry is
        regular and has a DeviceID."""
        entries = _entries(raw)
        if entries is None:
            self.of_node.append(None)
            self.complete.append(False)
            self.counts.append(0)
            return
        names = tuple(entries)
        shape = self.shapes.get(names)
        if shape is None:
            shape = self.shapes[names] = shape_of(names)
        values = list(entries.values())
        device_ids = [entry.get("DeviceID", -1) for entry in values]
        self.of_node.append(shape)
        self.complete.append(shape.regular and all("DeviceID" in entry for entry in values))
        self.counts.append(len(shape.rows))
        for position, chip in shape.rows:
            entry = values[position]
            self.physical.append(chip)
            self.device.append(device_ids[position])
            self.super_device.append(entry.get("SuperDeviceID", 0))
            self.ip.append(entry.get("IP", ""))
            self.levels.append(_levels(entry.get("levelList")))

    def chips(self) -> Chips:
        """The chip table."""
        return Chips(
            np.cumsum([0, *self.counts], dtype=np.int32),
            np.array(self.physical, np.int16),
            np.array(self.device, np.int32),
            np.array(self.super_device, np.int64),
            tuple(self.ip),
            tuple(self.levels),
        )


def _levels(value: Any) -> str:
    if value is None:
        return ""
    import orjson

    return orjson.dumps(value).decode()


def _entries(raw: Any) -> dict[str, dict[str, Any]] | None:
    """The annotation decoded and checked as Go would; None if it is missing or bad anywhere. `null` is no chips."""
    if type(raw) is not str:
        return None
    try:
        value = loads(raw)
        if value is None:
            return {}
        if type(value) is not dict:
            return None
        for name, entry in value.items():
            if not (
                type(entry) is dict
                and len(entry) == 2
                and type(entry.get("IP")) is str
                and type(serial := entry.get("SuperDeviceID")) is int
                and 0 <= serial <= 0xFFFFFFFF
            ):
                value[name] = _entry(entry)
    except ValueError:
        return None
    return value


def _entry(entry: Any) -> dict[str, Any]:
    known = members(entry, _FIELDS)
    checked: dict[str, Any] = {
        "IP": text(known.get("IP"), "IP"),
        "SuperDeviceID": integer(known.get("SuperDeviceID"), "SuperDeviceID", UINT32),
    }
    if known.get("DeviceID") is not None:
        checked["DeviceID"] = integer(known["DeviceID"], "DeviceID", INT32)
    levels = known.get("levelList")
    if levels is not None:
        if not isinstance(levels, list):
            raise GoTypeError("levelList is no list")
        checked["levelList"] = levels
    return checked


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
