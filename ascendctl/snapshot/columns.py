"""Columns of strings with few distinct values: labels and annotations of nodes and pods."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

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
        """Build from one mapping a row; with `keys`, only those."""
        wanted = None if keys is None else frozenset(keys)
        codes: dict[str, NDArray[np.int32]] = {}
        pools: dict[str, dict[str, int]] = {}
        for i, row in enumerate(rows):
            for key, value in row.items():
                if wanted is not None and key not in wanted:
                    continue
                if key not in codes:
                    codes[key], pools[key] = np.full(len(rows), -1, dtype=np.int32), {}
                pool = pools[key]
                codes[key][i] = pool.setdefault(value, len(pool))
        return cls(len(rows), {key: StringColumn(codes[key], tuple(pools[key])) for key in sorted(codes)})
