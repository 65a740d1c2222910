"""Columns of strings that mostly differ: addresses, uids, long JSON texts."""

from __future__ import annotations

from collections.abc import Sequence
from typing import overload

import numpy as np
from numpy.typing import NDArray


class TextColumn(Sequence[str]):
    """Texts that mostly differ, one a row, as one block of bytes: `ends` (int64[n]) are where they end in `blob`,
    UTF-8."""

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
        width = np.int32 if len(self.blob) < 1 << 31 else np.int64
        picked = np.repeat((begins - (ends - sizes)).astype(width), sizes)
        picked += np.arange(total, dtype=width)
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
