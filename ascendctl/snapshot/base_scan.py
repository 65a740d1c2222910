"""A quick look at many `baseDeviceInfos` annotations at once, in the form in which device plugins write them.

The texts of a block of nodes stand behind each other in one array of bytes, and the pieces between quotation marks are
compared for all chips together. What is not exactly in that form is left to the decoder in `base_devices`, so this
module never decides that an annotation is bad.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ascendctl.snapshot.chip_lists import CHIP_TYPES, MAX_CHIP_ID
from ascendctl.snapshot.texts import TextColumn

QUOTE, ZERO = ord('"'), ord("0")
_MAX_DIGITS = 10
_PADDING = 16  # zeros behind the last text, so that looking a little further is no error

Bytes = NDArray[np.uint8]
Ints = NDArray[np.int64]
Bools = NDArray[np.bool_]


@dataclass(frozen=True)
class Scan:
    """What was recognised of one block. `good` bool[n] by text; the rest by chip of the good texts, in their order:
    `owner` the text, `kind` index of CHIP_TYPES, `chip` id, `super_device`, `device` (-1 = none), `ip`."""

    good: Bools
    owner: Ints
    kind: Ints
    chip: Ints
    super_device: Ints
    device: Ints
    ip: TextColumn


def scan(texts: Sequence[str], with_device_ids: bool) -> Scan:
    """Recognise texts of the form {"<type>-<id>":{"IP":"...","SuperDeviceID":n},...}; `with_device_ids`: entries that
    begin with "DeviceID":n, instead."""
    data = "\n".join(texts).encode("ascii", "replace")
    blob = np.frombuffer(data + bytes(_PADDING), np.uint8)
    lengths = np.fromiter(map(len, texts), np.int64, len(texts))
    ends = np.cumsum(lengths + 1) - 1
    starts = ends - lengths
    stride = 10 if with_device_ids else 8
    quotes = np.flatnonzero(blob == QUOTE)
    first = np.searchsorted(quotes, starts)
    counts = np.searchsorted(quotes, ends) - first
    good = (counts > 0) & (counts % stride == 0) & (lengths > 2)
    if b"\\" in data or b"?" in data or np.count_nonzero(blob[: len(data)] < 32) >= len(texts):
        odd = np.flatnonzero((blob < 32) | (blob == ord("\\")) | (blob == ord("?")))
        good &= np.searchsorted(odd, ends) == np.searchsorted(odd, starts)
    rows = np.flatnonzero(good)
    if not len(rows):
        nothing = np.zeros(0, np.int64)
        return Scan(good, nothing, nothing, nothing, nothing, nothing, TextColumn.blank(0))
    chips = counts[rows] // stride
    offset = np.concatenate([[0], np.cumsum(chips)])
    owner = np.repeat(rows, chips)
    at = np.repeat(first[rows] - offset[:-1] * stride, chips) + np.arange(len(owner)) * stride
    marks = [quotes[at + i] for i in range(stride)]
    heads, tails = offset[:-1], offset[1:] - 1  # first and last chip of each text
    number_end = np.empty(len(owner), np.int64)
    number_end[:-1] = marks[0][1:] - 2
    number_end[tails] = ends[rows] - 2

    ok = _has(blob, marks[1] + 1, b":{")
    ok[heads] &= (marks[0][heads] == starts[rows] + 1) & _has(blob, starts[rows], b"{")
    closed = _has(blob, number_end, b"},")
    closed[tails] = _has(blob, number_end[tails], b"}}")
    ok &= closed
    device = np.full(len(owner), -1, np.int64)
    rest = marks[2:]
    ok &= marks[2] == marks[1] + 3
    if with_device_ids:
        ok &= (
            _is_quoted(blob, marks[2], marks[3], b"DeviceID")
            & _has(blob, marks[3] + 1, b":")
            & _has(blob, marks[4] - 1, b",")
        )
        device, fine = _numbers(blob, marks[3] + 2, marks[4] - 1)
        ok &= fine & (device < 1 << 31)
        rest = marks[4:]
    ok &= _is_quoted(blob, rest[0], rest[1], b"IP") & (rest[2] == rest[1] + 2) & _has(blob, rest[1] + 1, b":")
    ok &= (
        (rest[4] == rest[3] + 2) & _has(blob, rest[3] + 1, b",") & _is_quoted(blob, rest[4], rest[5], b"SuperDeviceID")
    )
    super_device, fine = _numbers(blob, rest[5] + 2, number_end)
    ok &= _has(blob, rest[5] + 1, b":") & fine & (super_device < 1 << 32)
    kind, chip = _names(blob, marks[0], marks[1])
    ok &= chip >= 0
    # ids of a text must rise and be of one type, as is usual; no repetition can hide in such a text
    follows = np.ones(len(owner), np.bool_)
    follows[heads] = False
    ok[1:] &= ~follows[1:] | ((chip[1:] > chip[:-1]) & (kind[1:] == kind[:-1]))
    good[rows] = np.logical_and.reduceat(ok, heads)
    keep = good[owner]
    ip = _cut(blob, rest[2][keep] + 1, rest[3][keep])
    return Scan(good, owner[keep], kind[keep], chip[keep], super_device[keep], device[keep], ip)


def _has(blob: Bytes, at: Ints, text: bytes) -> Bools:
    """True where the bytes from `at` on are `text`."""
    ok: Bools = blob[at] == text[0]
    for i in range(1, len(text)):
        ok &= blob[at + i] == text[i]
    return ok


def _is_quoted(blob: Bytes, opening: Ints, closing: Ints, text: bytes) -> Bools:
    """True where the text between two quotation marks is `text`."""
    ok: Bools = closing == opening + len(text) + 1
    return ok & _has(blob, opening + 1, text)


def _numbers(blob: Bytes, start: Ints, end: Ints) -> tuple[Ints, Bools]:
    """Numbers of at most 10 digits, without sign or leading zero, and where there are any."""
    size = end - start
    ok = (size >= 1) & (size <= _MAX_DIGITS)
    value = (blob[start] - ZERO).astype(np.int64)
    ok &= (value <= 9) & ((value > 0) | (size == 1))
    for i in range(1, min(_MAX_DIGITS, int(size.max(initial=0)))):
        inside = size > i
        digit = np.where(inside, blob[np.where(inside, start + i, 0)] - ZERO, np.uint8(0))
        ok &= digit <= 9
        value = np.where(inside, value * 10 + digit, value)
    return value, ok


def _cut(blob: Bytes, start: Ints, end: Ints) -> TextColumn:
    """Slices of a text that do not overlap, in ascending order."""
    edges = np.zeros(2 * len(start) + 2, np.int64)
    edges[1:-1:2], edges[2:-1:2], edges[-1] = start, end, len(blob)
    inside = np.zeros(len(edges) - 1, np.bool_)
    inside[1::2] = True
    return TextColumn(blob[np.repeat(inside, np.diff(edges))].tobytes(), np.cumsum(end - start))


def _names(blob: Bytes, opening: Ints, closing: Ints) -> tuple[Ints, Ints]:
    """Chip type and id of names written exactly <type>-<id>; id -1 = another name."""
    kind, chip = np.zeros(len(opening), np.int64), np.full(len(opening), -1, np.int64)
    open_rows = np.arange(len(opening))
    for i, name in enumerate(CHIP_TYPES):
        if not len(open_rows):
            break
        prefix = f"{name}-".encode()
        start = opening[open_rows] + 1
        value, fine = _numbers(blob, start + len(prefix), closing[open_rows])
        fine &= _has(blob, start, prefix) & (value <= MAX_CHIP_ID)
        kind[open_rows[fine]], chip[open_rows[fine]] = i, value[fine]
        open_rows = open_rows[~fine]
    return kind, chip
