"""Which object of the dump each fact about a node came from (chapter 30 §9.5)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import repeat

import numpy as np
from numpy.typing import NDArray

from ascendctl.snapshot.chip_lists import CHIP_TYPES
from ascendctl.snapshot.cluster import LIST_ANNOTATED, LIST_COMPUTED, LIST_NONE, LIST_REPORTED, Provenance
from ascendctl.snapshot.columns import StringColumn, renumber
from ascendctl.snapshot.derive import PREFIX, Effective, RowColumns, WorkingMap
from ascendctl.snapshot.rows import Rows
from ascendctl.snapshot.texts import TextColumn


def provenance(
    files: Sequence[str],
    names: Sequence[str],
    node_places: NDArray[np.int64],
    rows: Rows,
    device: RowColumns,
    effective: Effective,
    working: WorkingMap,
    kind: NDArray[np.int8],
) -> Provenance:
    """The table for N nodes with chips of these kinds."""
    index = {name: i for i, name in enumerate(names)} if rows.switch or rows.host else {}
    numbers = map(rows.device_texts.get, device.place.tolist(), repeat(-1))
    return Provenance(
        files=tuple(files),
        node=node_places,
        device=np.fromiter(numbers, np.int32, len(names)),
        switch=_numbers(rows.switch_texts, index, len(names)),
        host=_numbers(rows.host_texts, index, len(names)),
        titles=TextColumn.of(rows.texts.titles),
        places=np.array(rows.texts.places, np.int64),
        digests=np.frombuffer(b"".join(rows.texts.digests), np.uint8),
        update_time=device.update_time,
        list_source=_list_sources(effective, working, kind),
        faults=_faults(working, kind),
    )


def _numbers(numbers: Mapping[str, int], index: Mapping[str, int], n: int) -> NDArray[np.int32]:
    column = np.full(n, -1, np.int32)
    for name, number in numbers.items():
        if name in index:
            column[index[name]] = number
    return column


def _list_sources(effective: Effective, working: WorkingMap, kind: NDArray[np.int8]) -> NDArray[np.int8]:
    source = np.full(len(kind), LIST_NONE, np.int8)
    for number, name in enumerate(CHIP_TYPES):
        here, key = kind == number, PREFIX + name
        if here.any():
            source[here & (working.annotations.column(key).codes >= 0)] = LIST_ANNOTATED
            source[here & (working.lists.column(key).codes >= 0)] = LIST_REPORTED
            source[here & effective.maintained & (effective.chip_type == number)] = LIST_COMPUTED
    return source


def _faults(working: WorkingMap, kind: NDArray[np.int8]) -> StringColumn:
    """The -Fault texts. Those of 310 cards stand below the key of the 310P (chapter 30 §3.1)."""
    codes, values = np.full(len(kind), -1, np.int32), list[str]()
    for number, name in enumerate(CHIP_TYPES):
        here = kind == number
        for key in (name, "Ascend310P") if name == "Ascend310" else (name,):
            column = working.column(f"{PREFIX}{key}-Fault")
            told = here & (codes < 0) & (column.codes >= 0)
            if told.any():
                codes[told] = column.codes[told] + len(values)
                values += column.values
    return renumber(codes, values)
