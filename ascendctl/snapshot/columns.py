"""Columns of strings with few distinct values: labels and annotations of nodes and pods."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

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
        wanted = None if keys is None else frozenset(keys)
        cells: dict[str, tuple[list[int], list[Any]]] = {}
        for i, row in enumerate(rows):
            for key, value in row.items():
                cell = cells.get(key)
                if cell is None:
                    if wanted is not None and key not in wanted:
                        continue
                    cell = cells[key] = ([], [])
                cell[0].append(i)
                cell[1].append(value)
        return cls(len(rows), {key: _column(len(rows), *cells[key]) for key in sorted(cells)})


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
    pool = {value: code for code, value in enumerate(dict.fromkeys(values))}
    codes = np.full(rows, -1, dtype=np.int32)
    codes[filled] = np.fromiter(map(pool.__getitem__, values), np.int32, len(values))
    return StringColumn(codes, tuple(pool))
