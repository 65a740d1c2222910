"""Packed snapshots: a Cluster as one portable file that opens at once.

Layout, all numbers little-endian: 8 bytes MAGIC; uint32 format version; uint32 length of the header; uint32 CRC-32 of
everything behind these 24 bytes; uint32 zero; the header, JSON; then the sections, each at a multiple of 16 bytes from
the start of the file. The header has the tree of the Cluster's fields, in which arrays and long texts are numbers of
sections, and where the sections are. Nothing in a file is ever executed.
"""

from __future__ import annotations

import json
import zlib
from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ascendctl.snapshot.cluster import Chips, Cluster, JobTable, PodTable, Provenance, ResourceColumns, WaitingPods
from ascendctl.snapshot.columns import StringColumn, StringTable
from ascendctl.snapshot.config import SchedulerConfig, TreeLevel
from ascendctl.snapshot.diagnostics import Diagnostic
from ascendctl.snapshot.load import MAGIC
from ascendctl.snapshot.texts import TextColumn
from ascendctl.topology.leaf import LeafTopology
from ascendctl.yamlio.errors import ReadError

FORMAT = 2
_OLDEST = 1
"""Files of format 1 lack addresses of pods, waiting pods and provenance."""
_HEAD = 24
_ALIGN = 16
_TYPES = {"bool": "?", "int8": "<i1", "int16": "<i2", "int32": "<i4", "int64": "<i8", "uint8": "<u1", "uint64": "<u8"}
_CLASSES: dict[str, type] = {
    kind.__name__: kind
    for kind in (
        Cluster,
        Chips,
        PodTable,
        WaitingPods,
        Provenance,
        JobTable,
        ResourceColumns,
        StringColumn,
        StringTable,
        SchedulerConfig,
        TreeLevel,
        Diagnostic,
        LeafTopology,
    )
}
_LONG = 8
"""Tuples of texts from this length on become sections."""


def is_packed(data: bytes) -> bool:
    """True if the bytes are a packed snapshot, of whatever version."""
    return data.startswith(MAGIC)


# ------------------------------------------------------------------------------------------------ writing
def pack(cluster: Cluster) -> bytes:
    """The file. The same Cluster always gives the same bytes."""
    sections: list[tuple[str, bytes]] = []
    tree = _encode(cluster, sections)
    places, offset = [], 0
    for kind, data in sections:
        places.append([kind, offset, len(data)])
        offset += len(data) + -len(data) % _ALIGN
    header = json.dumps({"tree": tree, "sections": places}, separators=(",", ":")).encode()
    header += b" " * (-(_HEAD + len(header)) % _ALIGN)
    body = b"".join([header, *(data + b"\0" * (-len(data) % _ALIGN) for _, data in sections)])
    numbers = (FORMAT, len(header), zlib.crc32(body), 0)
    return MAGIC + b"".join(number.to_bytes(4, "little") for number in numbers) + body


def _section(sections: list[tuple[str, bytes]], kind: str, data: bytes) -> int:
    sections.append((kind, data))
    return len(sections) - 1


def _encode(value: Any, sections: list[tuple[str, bytes]]) -> Any:
    """A value as JSON: plain ones as they are, all else as an object with one member that tells the kind."""
    if value is None or isinstance(value, bool | int | float | str):
        return value
    if isinstance(value, np.ndarray):
        kind = value.dtype.name
        data = np.ascontiguousarray(value, _TYPES[kind]).tobytes()
        return {"array": _section(sections, kind, data)}
    if isinstance(value, TextColumn):
        return {"column": _texts(value, sections)}
    if isinstance(value, tuple):
        if len(value) >= _LONG and set(map(type, value)) == {str}:
            lines = "\n".join(value)
            if lines.count("\n") == len(value) - 1:
                return {"lines": _section(sections, "bytes", lines.encode("utf-8", "replace"))}
        return {"tuple": [_encode(item, sections) for item in value]}
    if isinstance(value, frozenset):
        return {"set": sorted(value)}
    if isinstance(value, Mapping):
        return {"map": [[key, _encode(item, sections)] for key, item in value.items()]}
    if isinstance(value, list):
        return {"list": [_encode(item, sections) for item in value]}
    if is_dataclass(value) and type(value).__name__ in _CLASSES:
        members = {one.name: _encode(getattr(value, one.name), sections) for one in fields(value)}
        return {type(value).__name__: members}
    raise TypeError(f"{type(value).__name__} cannot be packed")


def _texts(column: TextColumn, sections: list[tuple[str, bytes]]) -> list[int]:
    """Sections of a column of texts: the bytes, and the length of each text."""
    sizes = np.diff(column.ends, prepend=0)
    kind = "uint8" if not len(sizes) or int(sizes.max()) < 256 else "int32"
    lengths = sizes.astype(_TYPES[kind]).tobytes()
    return [_section(sections, "bytes", bytes(column.blob)), _section(sections, kind, lengths)]


# ------------------------------------------------------------------------------------------------ reading
class _Damaged(ValueError):
    """The file is not what `pack` writes."""


def unpack(data: bytes, name: str = "snapshot") -> Cluster:
    """The Cluster of a file. Arrays are views of `data` and cannot be written to.

    Raises ReadError for a file of another format version, a damaged one, or one made up to do harm.
    """
    from ascendctl.snapshot.pack_check import check_cluster

    hint = "pack the dump again with ascendctl snapshot pack"
    if not is_packed(data) or len(data) < _HEAD:
        raise ReadError(name, "this is no packed snapshot, or it is cut off", hint)
    version, size, checksum, zero = (int.from_bytes(data[i : i + 4], "little") for i in range(8, _HEAD, 4))
    if not _OLDEST <= version <= FORMAT:
        message = f"packed in format {version}, this program reads formats {_OLDEST} to {FORMAT}"
        raise ReadError(name, message, hint)
    if zlib.crc32(memoryview(data)[_HEAD:]) != checksum:
        raise ReadError(name, "the packed snapshot is damaged: its checksum does not match", hint)
    try:
        if zero or size > len(data) - _HEAD or (_HEAD + size) % _ALIGN:
            raise _Damaged("the header does not fit")
        cluster = _Reader(data, _HEAD + size, json.loads(data[_HEAD : _HEAD + size])).cluster()
        check_cluster(cluster)
    except (ValueError, TypeError, KeyError, IndexError, OverflowError, RecursionError) as error:
        raise ReadError(name, f"not readable as a packed snapshot: {error}", hint) from None
    return cluster


class _Reader:
    """Turns the tree of a header back into values."""

    def __init__(self, data: bytes, start: int, header: Any) -> None:
        self.data, self.start, self.header = data, start, header

    def cluster(self) -> Cluster:
        value = self.decode(self.header["tree"])
        if not isinstance(value, Cluster):
            raise _Damaged("it holds no cluster")
        return value

    def decode(self, node: Any) -> Any:
        """The value of a node of the tree."""
        if not isinstance(node, dict):
            if isinstance(node, list):
                raise _Damaged("a bare list")
            return node
        if len(node) != 1:
            raise _Damaged("a node with several kinds")
        (kind, value), *_ = node.items()
        if kind == "array":
            return self.array(value)
        if kind == "column":
            return self.texts(*value)
        if kind == "lines":
            _, place, size = self.section(value, ("bytes",))
            return tuple(self.data[place : place + size].decode().split("\n"))
        if kind in ("tuple", "list"):
            items = map(self.decode, value)
            return tuple(items) if kind == "tuple" else list(items)
        if kind == "set":
            return frozenset(map(str, value))
        if kind == "map":
            return {str(key): self.decode(item) for key, item in value}
        return self.instance(kind, value)

    def instance(self, kind: str, members: Mapping[str, Any]) -> Any:
        """A dataclass; members that it does not know make the file unreadable, absent ones must have a default."""
        found = _CLASSES.get(kind)
        if found is None:
            raise _Damaged(f"unknown kind {kind[:40]!r}")
        return found(**{key: self.decode(item) for key, item in members.items()})

    def section(self, number: Any, kinds: tuple[str, ...]) -> tuple[str, int, int]:
        """Kind, place and size of a section."""
        if type(number) is not int or number < 0:
            raise _Damaged("a section number that is none")
        kind, offset, size = self.header["sections"][number]
        place = self.start + offset
        if kind not in kinds or type(offset) is not int or type(size) is not int:
            raise _Damaged(f"section {number} of another kind")
        if offset < 0 or size < 0 or offset % _ALIGN or place + size > len(self.data):
            raise _Damaged(f"section {number} lies outside of the file")
        return kind, place, size

    def array(self, number: Any) -> NDArray[Any]:
        kind, place, size = self.section(number, tuple(_TYPES))
        dtype = np.dtype(_TYPES[kind])
        if size % dtype.itemsize:
            raise _Damaged(f"section {number} is cut off")
        array: NDArray[Any] = np.frombuffer(self.data, dtype, size // dtype.itemsize, place)
        if kind == "bool" and array.view(np.uint8).max(initial=0) > 1:
            raise _Damaged(f"section {number} has truth values that are none")
        return array

    def texts(self, blob: Any, lengths: Any) -> TextColumn:
        _, place, size = self.section(blob, ("bytes",))
        sizes = self.array(lengths)
        if sizes.dtype.kind not in "iu" or (len(sizes) and int(sizes.min()) < 0):
            raise _Damaged("texts of a negative length")
        ends = np.cumsum(sizes, dtype=np.int64)
        if (int(ends[-1]) if len(ends) else 0) != size:
            raise _Damaged("texts that do not fill their section")
        return TextColumn(self.data[place : place + size], ends)
