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

QUOTE, BACKSLASH, COLON, COMMA, OPEN, CLOSE, ZERO = (ord(char) for char in '"\\:,{}0')
SEPARATOR = b"\n"
_MAX_DIGITS = 10

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
    joined = "\n".join(texts)
    blob = np.frombuffer(joined.encode("ascii", "replace"), np.uint8)
    lengths = np.fromiter(map(len, texts), np.int64, len(texts))
    ends = np.cumsum(lengths + 1) - 1
    starts = ends - lengths
    stride = 10 if with_device_ids else 8
    quotes = np.flatnonzero(blob == QUOTE)
    first = np.searchsorted(quotes, starts)
    counts = np.searchsorted(quotes, ends) - first
    good = (counts > 0) & (counts % stride == 0) & (lengths > 2)
    odd = np.flatnonzero((blob == BACKSLASH) | (blob < 32) | (blob == ord("?")))
    spoiled = np.searchsorted(odd, ends) - np.searchsorted(odd, starts)
    good &= spoiled == 0
    rows = np.flatnonzero(good)
    chips = counts[rows] // stride
    owner = np.repeat(rows, chips)
    offset = np.concatenate([[0], np.cumsum(chips)])
    at = np.repeat(first[rows] - offset[:-1] * stride, chips) + np.arange(len(owner)) * stride
    marks = [quotes[at + i] for i in range(stride)] if len(owner) else [np.zeros(0, np.int64)] * stride
    is_last = np.zeros(len(owner), np.bool_)
    is_last[offset[1:] - 1] = True
    begin = np.where(is_last, 0, np.roll(marks[0], -1))  # where the next entry begins
    number_end = np.where(is_last, ends[owner] - 2, begin - 2)
    is_first = np.zeros(len(owner), np.bool_)
    is_first[offset[:-1]] = True

    ok = _literal(blob, marks[1] + 1, b":{")
    ok &= np.where(is_first, (marks[0] == starts[owner] + 1) & (blob[marks[0] - 1] == OPEN), True)
    ok &= np.where(is_last, _literal(blob, number_end, b"}}"), _literal(blob, number_end, b"},"))
    device = np.full(len(owner), -1, np.int64)
    rest = marks[2:]
    if with_device_ids:
        ok &= (marks[2] == marks[1] + 3) & _span(blob, marks[2], marks[3], b"DeviceID") & (blob[marks[3] + 1] == COLON)
        device, fine = _number(blob, marks[3] + 2, marks[4] - 1)
        ok &= fine & (blob[marks[4] - 1] == COMMA) & (device < 1 << 31)
        rest = marks[4:]
    else:
        ok &= marks[2] == marks[1] + 3
    ok &= _span(blob, rest[0], rest[1], b"IP") & (rest[2] == rest[1] + 2) & (blob[rest[1] + 1] == COLON)
    ok &= (rest[4] == rest[3] + 2) & (blob[rest[3] + 1] == COMMA) & _span(blob, rest[4], rest[5], b"SuperDeviceID")
    ok &= blob[rest[5] + 1] == COLON
    super_device, fine = _number(blob, rest[5] + 2, number_end)
    ok &= fine & (super_device < 1 << 32)
    kind, chip = _names(blob, marks[0], marks[1])
    ok &= chip >= 0
    # ids of a text must rise, and be of one type: the common case, and no repetition can hide in it
    follows = ~is_first
    follows[:1] = False
    ok[1:] &= ~follows[1:] | ((chip[1:] > chip[:-1]) & (kind[1:] == kind[:-1]))
    if len(rows):
        good[rows] = np.logical_and.reduceat(ok, offset[:-1])
    keep = good[owner]
    ip = _cut(blob, rest[2][keep] + 1, rest[3][keep])
    return Scan(good, owner[keep], kind[keep], chip[keep], super_device[keep], device[keep], ip)


def _cut(blob: Bytes, start: Ints, end: Ints) -> TextColumn:
    """Slices of a text that do not overlap, in ascending order."""
    edges = np.zeros(2 * len(start) + 2, np.int64)
    edges[1:-1:2], edges[2:-1:2], edges[-1] = start, end, len(blob)
    inside = np.zeros(len(edges) - 1, np.bool_)
    inside[1::2] = True
    return TextColumn(blob[np.repeat(inside, np.diff(edges))].tobytes(), np.cumsum(end - start))


def _literal(blob: Bytes, at: Ints, text: bytes) -> Bools:
    """True where the bytes from `at` on are `text`."""
    last = len(blob) - 1
    ok = np.ones(len(at), np.bool_)
    for i, char in enumerate(text):
        ok &= blob[np.clip(at + i, 0, last)] == char
    return ok


def _span(blob: Bytes, opening: Ints, closing: Ints, text: bytes) -> Bools:
    """True where the text between two quotation marks is `text`."""
    return (closing == opening + len(text) + 1) & _literal(blob, opening + 1, text)


def _number(blob: Bytes, start: Ints, end: Ints) -> tuple[Ints, Bools]:
    """Numbers in decimal without sign or leading zero, and where there are any."""
    size = end - start
    ok = (size >= 1) & (size <= _MAX_DIGITS)
    value = np.zeros(len(start), np.int64)
    last = len(blob) - 1
    for i in range(min(_MAX_DIGITS, int(size.max(initial=0)))):
        inside = size > i
        digit = blob[np.clip(start + i, 0, last)].astype(np.int64) - ZERO
        ok &= ~inside | ((digit >= 0) & (digit <= 9))
        value = np.where(inside, value * 10 + digit, value)
        if i == 0:
            ok &= (digit != 0) | (size == 1)
    return value, ok


def _names(blob: Bytes, opening: Ints, closing: Ints) -> tuple[Ints, Ints]:
    """Chip type and id of names written exactly <type>-<id>; id -1 = another name."""
    kind, chip = np.zeros(len(opening), np.int64), np.full(len(opening), -1, np.int64)
    open_rows = np.arange(len(opening))
    for i, name in enumerate(CHIP_TYPES):
        if not len(open_rows):
            break
        prefix = f"{name}-".encode()
        start = opening[open_rows] + 1
        value, fine = _number(blob, start + len(prefix), closing[open_rows])
        fine &= _literal(blob, start, prefix) & (value <= MAX_CHIP_ID)
        kind[open_rows[fine]], chip[open_rows[fine]] = i, value[fine]
        open_rows = open_rows[~fine]
    return kind, chip
