"""Rows and node fields -> numbers per node (chapter 30 §6.2 to §6.7), one array operation for all nodes at a time."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from ascendctl.snapshot.base_devices import BaseInfos
from ascendctl.snapshot.chip_lists import CHIP_TYPES, Lists, parse_lists
from ascendctl.snapshot.columns import StringColumn, StringTable
from ascendctl.snapshot.profiles import Profile
from ascendctl.snapshot.rows import DeviceRow

PREFIX = "huawei.com/"


@dataclass(frozen=True)
class Effective:
    """The effective device list of N nodes.

    `lists`: the keys of the rows that count, one column a key. `chip_type` int8: index of CHIP_TYPES, what the node's
    row is about (Ascend910 without row). `maintained` bool: the free list is computed. `applied` bool: the row's lists
    count; `identified` bool: its SuperPodID and RackID count. `clarity` int8: CLEAR; AMBIGUOUS, the row's keys speak of
    two chip types; FOREIGN, it has keys but none of a known type.
    """

    lists: StringTable
    chip_type: NDArray[np.int8]
    maintained: NDArray[np.bool_]
    applied: NDArray[np.bool_]
    identified: NDArray[np.bool_]
    clarity: NDArray[np.int8]


CLEAR, AMBIGUOUS, FOREIGN = 0, 1, 2
_NO_ROW = DeviceRow({}, 0, 0, 0, 0, False, -1)


@dataclass(frozen=True)
class RowColumns:
    """The device rows of N nodes; zeros for nodes without row. `place` int64, -1 = no row."""

    lists: Sequence[Mapping[str, str]]
    update_time: NDArray[np.int64]
    super_pod: NDArray[np.int32]
    rack: NDArray[np.int32]
    server_index: NDArray[np.int32]
    has_super_pod: NDArray[np.bool_]
    place: NDArray[np.int64]

    @property
    def present(self) -> NDArray[np.bool_]:
        """bool[N]: nodes with a row."""
        flags: NDArray[np.bool_] = self.place >= 0
        return flags


def row_columns(rows: Mapping[str, DeviceRow], names: Sequence[str]) -> RowColumns:
    """The rows of some nodes as columns."""
    found = [rows.get(name, _NO_ROW) for name in names]
    lists, *columns = zip(*found, strict=True) if found else [()] * len(_NO_ROW)
    types = (np.int64, np.int32, np.int32, np.int32, np.bool_, np.int64)
    return RowColumns(list(lists), *(np.array(column, kind) for column, kind in zip(columns, types, strict=True)))


def device_type(keys: Sequence[str]) -> tuple[int, int]:
    """Index of CHIP_TYPES that a row's keys speak of, and how clearly; where they disagree, the type with a free
    list."""
    found = []
    for key in keys:
        if key.startswith("huawei.com/npu"):
            found.append("npu")
        else:
            known = next((name for name in ("Ascend910", "Ascend310P", "Ascend310") if name in key), None)
            if known is not None:
                found.append(known)
    kinds = list(dict.fromkeys(found))
    if not kinds:
        return 0, FOREIGN if keys else CLEAR
    listed = [kind for kind in kinds if PREFIX + kind in keys] if len(kinds) > 1 else kinds
    best = min(listed or kinds, key=CHIP_TYPES.index)
    return CHIP_TYPES.index(best), AMBIGUOUS if len(kinds) > 1 else CLEAR


def effective_lists(
    rows: RowColumns,
    base: BaseInfos,
    soft: NDArray[np.bool_],
    is_npu: NDArray[np.bool_],
    self_maintain: bool,
    profile: Profile,
) -> Effective:
    """Which lists of the rows count (chapter 30 §6.2, §6.4)."""
    shapes = list(map(tuple, rows.lists))
    facts = {}
    for keys in dict.fromkeys(shapes):
        kind, clarity = device_type(keys)
        facts[keys] = kind, PREFIX + CHIP_TYPES[kind] in keys, clarity
    found = [facts[keys] for keys in shapes]
    chip_type = np.array([fact[0] for fact in found], np.int8)
    has_key = np.array([fact[1] for fact in found], np.bool_)
    clarities = np.array([fact[2] for fact in found], np.int8)
    maintain = self_maintain and profile.self_maintain
    maintained = has_key & base.readable & maintain
    if profile.maintain_exceptions:
        maintained &= ~soft & ~base.virtual
    needed = profile.base_info_needed == "always" or (profile.base_info_needed == "maintain" and maintain)
    identified = is_npu & rows.present & ((rows.update_time > 0) | maintained)
    applied = identified & base.readable if needed else identified
    lists = StringTable.from_rows(
        rows.lists
        if applied.all()
        else [row if used else {} for row, used in zip(rows.lists, applied.tolist(), strict=True)]
    )
    return Effective(lists, chip_type, maintained & applied, applied, identified, clarities)


@dataclass(frozen=True)
class NodeLists:
    """Facts of one list key, length N; `defined` bool: the key is there."""

    count: NDArray[np.int32]
    mask: NDArray[np.uint64]
    exact: NDArray[np.uint64]
    bad: NDArray[np.bool_]
    defined: NDArray[np.bool_]


@dataclass(frozen=True)
class WorkingMap:
    """The node's working map: what the row says, else the Node annotation of the same name (chapter 30 §6.4)."""

    lists: StringTable
    annotations: StringTable
    _parsed: dict[tuple[str, str], NodeLists] = field(default_factory=dict, compare=False)

    def chips(self, key: str, chip_type: str) -> NodeLists:
        """The values of one key as lists of chips; remembered, for several steps ask for them."""
        found = self._parsed.get((key, chip_type))
        if found is None:
            found = self._parsed[key, chip_type] = node_lists(self.column(key), chip_type)
        return found

    def column(self, key: str) -> StringColumn:
        """The values of one key."""
        upper, lower = self.lists.columns.get(key), self.annotations.columns.get(key)
        if upper is None:
            return lower or self.lists.column(key)
        if lower is None:
            return upper
        shift = len(upper.values)
        codes = np.where(upper.codes >= 0, upper.codes, np.where(lower.codes >= 0, lower.codes + shift, -1))
        return StringColumn(codes.astype(np.int32), upper.values + lower.values)


def node_lists(column: StringColumn, chip_type: str) -> NodeLists:
    """A key's lists parsed once a distinct text, then spread over the nodes."""
    facts: Lists = parse_lists(column.values, chip_type)
    defined = column.codes >= 0
    if not len(column.values):
        n = len(column.codes)
        zero = np.zeros(n, np.uint64)
        return NodeLists(np.zeros(n, np.int32), zero, zero, np.zeros(n, np.bool_), defined)
    at = np.where(defined, column.codes, 0)
    return NodeLists(
        np.where(defined, facts.count[at], 0).astype(np.int32),
        np.where(defined, facts.mask[at], 0).astype(np.uint64),
        np.where(defined, facts.exact[at], 0).astype(np.uint64),
        np.where(defined, facts.bad[at], False),
        defined,
    )


def popcount(masks: NDArray[np.uint64]) -> NDArray[np.int32]:
    """Bits set in each mask."""
    return np.bitwise_count(masks).astype(np.int32)


@dataclass(frozen=True)
class UsedChips:
    """Chips that pods hold: `mask` uint64[N] of exact names; `texts` the names by node where base names are odd."""

    mask: NDArray[np.uint64]
    texts: Mapping[int, Sequence[str]]


@dataclass(frozen=True)
class FreeLists:
    """The free lists of one chip resource, length N."""

    length: NDArray[np.int32]
    free: NDArray[np.uint64]
    bad: NDArray[np.bool_]


def free_lists(kind: int, working: WorkingMap, effective: Effective, base: BaseInfos, used: UsedChips) -> FreeLists:
    """Free lists of `huawei.com/<CHIP_TYPES[kind]>`: as reported, or computed from the node's chips (chapter 30
    §6.2)."""
    name = CHIP_TYPES[kind]
    reported = working.chips(PREFIX + name, name)
    length = np.where(reported.defined, reported.count, -1).astype(np.int32)
    free, bad = reported.mask, reported.bad
    maintained = effective.maintained & (effective.chip_type == kind)
    if not maintained.any():
        return FreeLists(length, free, bad)
    keys = (f"{PREFIX}{name}-Unhealthy", f"{PREFIX}{name}-Recovering")
    unhealthy, recovering = (node_lists(effective.lists.column(key), name).exact for key in keys)
    computed = base.mask & ~used.mask & ~unhealthy & ~recovering
    free = np.where(maintained, computed, free)
    length = np.where(maintained, popcount(computed), length).astype(np.int32)
    bad = bad & ~maintained
    for i in np.flatnonzero(maintained & (base.kind != kind)).tolist():
        shape = base.odd.get(i)
        if shape is not None:  # odd names subtract as texts
            gone = set(used.texts.get(i, ()))
            for key in keys:
                gone.update((effective.lists.get(i, key) or "").split(","))
            facts = parse_lists([",".join(sorted(set(shape.base) - gone))], name)
            length[i], free[i], bad[i] = facts.count[0], facts.mask[0], facts.bad[0]
    return FreeLists(length, free, bad)
