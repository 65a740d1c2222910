"""Bytes of a dump -> Kubernetes objects, without building the whole tree of a large file at once (chapter 30 §8)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import orjson

_CHUNK = 4 << 20


def read_objects(data: bytes, name: str) -> Iterator[Any]:
    """The top-level values of a file. JSON goes through orjson, other text through `yamlio.fast`."""
    head = data[:256].lstrip()
    if head[:1] in (b"{", b"["):
        yield orjson.loads(data)
        return
    from ascendctl.yamlio.fast import load_objects

    yield from load_objects(data, name)
