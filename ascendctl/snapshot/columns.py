"""Columns of strings with few distinct values: labels and annotations of nodes and pods."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from operator import itemgetter
from typing import Any, overload

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True)
class StringColumn:
    """One value a row: `codes` (int32[n]) index `values`; -1 = the row has none."""

    codes: NDArray[np.int32]
    values: tuple[str, ...]

    def get(self, row: int) -> str | None:
        """The value of one row, None if it has none."""
        code = int(self.codes[row])
        return None if code < 0 else self.values[code]

    def equals(self, value: str) -> NDArray[np.bool_]:
        """bool[n]: rows whose value is `value`."""
        try:
            return np.equal(self.codes, self.values.index(value))
        except ValueError:
            return np.zeros(len(self.codes), dtype=np.bool_)

    def to_list(self) -> list[str | None]:
        """The values row by row."""
        values = [*self.values, None]
        return [values[code] for code in self.codes.tolist()]


class TextColumn(Sequence[str]):
    """Texts that mostly differ, one a row, as one block of bytes: `ends` (int64[n]) are where they end in `blob`, UTF-8."""

    def __init__(self, blob: bytes, ends: NDArray[np.int64]) -> None:
        self.blob, self.ends = blob, ends

    @classmethod
    def of(cls, texts: Sequence[str]) -> TextColumn:
        """Pack texts. Lone surrogates, which no UTF-8 has, become question marks."""
        joined = "".join(texts)
        if joined.isascii():
            return cls(joined.encode(), np.cumsum(np.fromiter(map(len, texts), np.int64, len(texts))))
        parts = [text.encode("utf-8", "replace") for text in texts]
        return cls(b"".join(parts), np.cumsum(np.fromiter(map(len, parts), np.int64, len(parts))))

    @classmethod
    def blank(cls, rows: int) -> TextColumn:
        """A column of empty texts."""
        return cls(b"", np.zeros(rows, np.int64))

    @classmethod
    def join(cls, columns: Sequence[TextColumn]) -> TextColumn:
        """The rows of several columns behind each other."""
        starts = np.cumsum([0, *(len(column.blob) for column in columns)])
        ends = [column.ends + start for column, start in zip(columns, starts, strict=False)]
        return cls(b"".join(bytes(column.blob) for column in columns), np.concatenate(ends))

    def take(self, rows: NDArray[np.int64]) -> TextColumn:
        """The texts of some rows, in their order."""
        begins = np.concatenate([[0], self.ends[:-1]])[rows] if len(self.ends) else np.zeros(0, np.int64)
        sizes = self.ends[rows] - begins
        ends = np.cumsum(sizes)
        total = int(ends[-1]) if len(ends) else 0
        picked = np.repeat(begins - (ends - sizes), sizes) + np.arange(total)
        return TextColumn(np.frombuffer(self.blob, np.uint8)[picked].tobytes(), ends)

    def __len__(self) -> int:
        return len(self.ends)

    @overload
    def __getitem__(self, row: int) -> str: ...
    @overload
    def __getitem__(self, row: slice) -> tuple[str, ...]: ...
    def __getitem__(self, row: int | slice) -> str | tuple[str, ...]:
        if isinstance(row, slice):
            return tuple(self[i] for i in range(*row.indices(len(self))))
        if row < 0:
            row += len(self.ends)
        if not 0 <= row < len(self.ends):
            raise IndexError(row)
        start = int(self.ends[row - 1]) if row else 0
        return bytes(self.blob[start : int(self.ends[row])]).decode()

    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, Sequence)
            and len(other) == len(self)
            and all(a == b for a, b in zip(self, other, strict=True))
        )

    __hash__ = None  # type: ignore[assignment]


@dataclass(frozen=True)
class StringTable:
    """Columns by key, n rows each. A key that no row has gives a column of Nones."""

    rows: int
    columns: Mapping[str, StringColumn] = field(default_factory=dict)

    def column(self, key: str) -> StringColumn:
        """The column of a key; all rows without value if nobody has it."""
        return self.columns.get(key) or StringColumn(np.full(self.rows, -1, dtype=np.int32), ())

    def get(self, row: int, key: str) -> str | None:
        """One value, None if absent."""
        column = self.columns.get(key)
        return column.get(row) if column else None

    def row(self, row: int) -> dict[str, str]:
        """All values of one row."""
        return {key: value for key in sorted(self.columns) if (value := self.columns[key].get(row)) is not None}

    @classmethod
    def from_rows(cls, rows: Sequence[Mapping[str, str]], keys: Iterable[str] | None = None) -> StringTable:
        """Build from one mapping a row; with `keys`, only those. Values of other types become text as the API server
        would have stored it (chapter 30 §4.1); null counts as the empty text."""
        cells = transpose(rows)
        wanted = cells.keys() if keys is None else cells.keys() & frozenset(keys)
        return cls(len(rows), {key: _column(len(rows), *cells[key]) for key in sorted(wanted)})


def transpose(rows: Sequence[Mapping[str, Any]]) -> dict[str, tuple[list[int], list[Any]]]:
    """Cells by key: the rows that have it, and their values. Rows with the same keys are taken together, for rows of
    Kubernetes objects of one kind mostly have the same keys."""
    alike: dict[tuple[str, ...], list[int]] = {}
    for i, row in enumerate(rows):
        keys = tuple(row)
        group = alike.get(keys)
        if group is None:
            alike[keys] = [i]
        else:
            group.append(i)
    cells: dict[str, tuple[list[int], list[Any]]] = {}
    for keys, group in alike.items():
        members = [rows[i] for i in group]
        for key in keys:
            filled, values = cells.setdefault(key, ([], []))
            filled += group
            values += map(itemgetter(key), members)
    return cells


def scalar_text(value: Any) -> str:
    """A scalar as the text that a map of strings would hold: true, 12, 2 (for 2.0), "" for null."""
    if isinstance(value, str):
        return value
    if value is None:
        return ""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float) and value.is_integer() and abs(value) < 1e21:
        return str(int(value))
    return str(value)


def _column(rows: int, filled: list[int], values: list[Any]) -> StringColumn:
    if set(map(type, values)) != {str}:
        values = [scalar_text(value) for value in values]
    order = np.array(filled, dtype=np.int64)
    if len(order) > 1 and bool((order[1:] < order[:-1]).any()):  # several groups of rows: values in row order again
        sorting = np.argsort(order, kind="stable")
        order, values = order[sorting], [values[i] for i in sorting.tolist()]
    pool = {value: code for code, value in enumerate(dict.fromkeys(values))}
    codes = np.full(rows, -1, dtype=np.int32)
    codes[order] = np.fromiter(map(pool.__getitem__, values), np.int32, len(values))
    return StringColumn(codes, tuple(pool))
