"""Bytes of a dump -> Kubernetes objects, with a short cut for what kubectl writes as JSON (chapter 30 §8.4)."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import islice
from typing import Any

import orjson

CHUNK = 1 << 20
"""Bytes of list items that are decoded in one go: large enough for speed, small enough that memory stays low."""
_ITEMS = re.compile(rb'"items"\s*:\s*\[(\s*)\{(\s*"[^"\\]{1,64}")')
_HEAD = 1 << 16
_ATTEMPTS = 16


def read_objects(data: bytes, name: str) -> Iterator[Any]:
    """The objects of a file. A long JSON list comes in parts: lists of the same kind with some of its items each.

    All else (YAML, several values, other encodings) and all errors are those of `yamlio.fast`.
    """
    done = 0
    if data[:1] in (b"{", b"["):
        try:
            if len(data) <= CHUNK or (layout := _layout(data)) is None:
                yield orjson.loads(data)
            else:
                for part in _parts(data, *layout):
                    yield part
                    done += len(part["items"])
            return
        except orjson.JSONDecodeError:
            pass  # the general reader knows more layouts, and where the error is
    from ascendctl.yamlio.fast import load_objects

    yield from islice(load_objects(data, name), done, None)


def _layout(data: bytes) -> tuple[str, re.Pattern[bytes], int, int] | None:
    """Kind of a JSON list, what stands between two of its items, where the first begins and where the last ends; None
    if the text is no list."""
    match = _ITEMS.search(data, 0, _HEAD)
    end = data.rfind(b"]")
    if match is None or end < match.end():
        return None
    start = match.start(1)
    try:
        envelope, marked = (orjson.loads(data[:start] + item + data[end:]) for item in (b"", b"0"))
    except orjson.JSONDecodeError:
        return None
    if type(envelope) is not dict or type(envelope.get("kind")) is not str:
        return None
    if (envelope.get("items"), marked.get("items")) != ([], [0]):  # a list of another object further inside was found
        return None
    border = re.compile(rb"\}, ?" + re.escape(match[1]) + rb"\{" + re.escape(match[2]))
    return envelope["kind"], border, start, end


def _parts(data: bytes, kind: str, border: re.Pattern[bytes], position: int, end: int) -> Iterator[dict[str, Any]]:
    """Lists of some items each.

    A border may also stand inside an item; the text up to it then does not decode, and the next one is tried. Text
    that does decode is a sequence of whole items, for no part of an item is one.
    """
    view = memoryview(data)
    while position < end:
        stop = position
        for attempt in range(_ATTEMPTS + 1):
            found = border.search(data, max(stop, position + CHUNK), end) if attempt < _ATTEMPTS else None
            stop = end if found is None else found.start() + 1
            try:
                items = orjson.loads(b"".join((b"[", view[position:stop], b"]")))
                break
            except orjson.JSONDecodeError:
                if stop == end:
                    raise
        yield {"kind": kind, "items": items}
        position = stop + 1
