"""Columns of strings with few distinct values: labels and annotations of nodes and pods."""

from __future__ import annotations

from array import array
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from operator import itemgetter
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

    def spread(self, of_value: Sequence[Any], absent: Any, dtype: type) -> NDArray[Any]:
        """An array by row of what is known by value: `of_value` goes with `values`, rows without value get `absent`."""
        return np.array([*of_value, absent], dtype)[self.codes]

    def take(self, rows: NDArray[np.int64]) -> StringColumn:
        """The column of some rows."""
        return StringColumn(self.codes[rows], self.values)

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
        builder = TableBuilder(None if keys is None else frozenset(keys).__contains__)
        builder.add(rows)
        return builder.table()


class Pool(dict[str, int]):
    """Numbers texts in the order in which they are first asked for. Raises TypeError for what is no text."""

    def __missing__(self, text: str) -> int:
        if type(text) is not str:
            raise TypeError("no text")
        code = self[text] = len(self)
        return code


class TableBuilder:
    """Gathers rows of strings batch by batch and makes a StringTable of them.

    Rows of a batch with the same keys, as Kubernetes objects of one kind mostly have, are taken apart together. `keep`
    says of a key whether the table shall have it. Other values than texts become the text that the API server would
    have stored (chapter 30 §4.1); lists and maps are left out.
    """

    def __init__(self, keep: Callable[[str], bool] | None = None) -> None:
        self.rows = 0
        self._keep = keep
        self._kept: dict[tuple[str, ...], tuple[str, ...]] = {}
        self._cells: dict[str, tuple[array[int], array[int], Pool]] = {}

    def add(self, batch: Sequence[Mapping[str, Any]]) -> bool:
        """Append rows. True if a value was no text."""
        odd = False
        for keys, group, members in _alike(batch, self.rows):
            for key in self._kept_of(keys):
                rows, codes, pool = self._cells.setdefault(key, (array("i"), array("i"), Pool()))
                known = len(codes)
                try:
                    codes.extend(map(pool.__getitem__, map(itemgetter(key), members)))
                    rows.extend(group)
                except TypeError:  # from the pool: a value is no text
                    odd = True
                    del codes[known:]
                    texts = [(i, row[key]) for i, row in zip(group, members, strict=True)]
                    texts = [(i, scalar_text(value)) for i, value in texts if not isinstance(value, dict | list)]
                    rows.extend(i for i, _ in texts)
                    codes.extend(pool[text] for _, text in texts)
        self.rows += len(batch)
        return odd

    def _kept_of(self, keys: tuple[str, ...]) -> tuple[str, ...]:
        kept = self._kept.get(keys)
        if kept is None:
            kept = self._kept[keys] = keys if self._keep is None else tuple(filter(self._keep, keys))
        return kept

    def table(self, order: NDArray[np.int64] | None = None, numbered: bool = True) -> StringTable:
        """The table of all rows, or of those of `order` in that order. Values are numbered in the order of the rows, so
        that the table does not depend on the order in which they came; `numbered` False leaves that to a later step."""
        count = self.rows if order is None else len(order)
        columns = {}
        for key in sorted(self._cells):
            rows, codes, pool = self._cells[key]
            column = np.full(self.rows, -1, np.int32)
            column[np.frombuffer(rows, np.int32)] = np.frombuffer(codes, np.int32)
            column = column if order is None else column[order]
            found = renumber(column, tuple(pool)) if numbered else StringColumn(column, tuple(pool))
            if found.values:
                columns[key] = found
        return StringTable(count, columns)


def _alike(
    batch: Sequence[Mapping[str, Any]], start: int
) -> Iterator[tuple[tuple[str, ...], Sequence[int], Sequence[Mapping[str, Any]]]]:
    """Rows of a batch with the same keys in the same order: the keys, their numbers from `start` on, and the rows."""
    shapes = list(map(tuple, batch))
    distinct = dict.fromkeys(shapes)
    if len(distinct) == 1:
        yield shapes[0], range(start, start + len(batch)), batch
        return
    numbers: dict[tuple[str, ...], list[int]] = {keys: [] for keys in distinct}
    for i, keys in enumerate(shapes):
        numbers[keys].append(i)
    for keys, group in numbers.items():
        yield keys, [start + i for i in group], [batch[i] for i in group]


def renumber(codes: NDArray[np.int32], values: Sequence[str]) -> StringColumn:
    """The same column with values in the order of their first rows, and none that no row has."""
    filled = np.flatnonzero(codes >= 0)
    first = np.full(len(values), len(codes), np.int64)
    first[codes[filled][::-1]] = filled[::-1]
    order = np.argsort(first, kind="stable")[: int((first < len(codes)).sum())]
    numbers = np.full(len(values) + 1, -1, np.int32)
    numbers[order] = np.arange(len(order), dtype=np.int32)
    return StringColumn(numbers[codes], tuple(map(values.__getitem__, order.tolist())))


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


def distinct(values: NDArray[Any]) -> NDArray[Any]:
    """The different values of an array, ascending: np.unique, but without numpy.ma, which that one would import."""
    ordered = np.sort(values)
    new = np.ones(len(ordered), np.bool_)
    new[1:] = ordered[1:] != ordered[:-1]
    return ordered[new]
