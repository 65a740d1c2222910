"""Where every node of a document stands in the text: what editing needs beyond the values."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

from ascendctl.yamlio.chunks import Chunk
from ascendctl.yamlio.compose import bom_stand_in
from ascendctl.yamlio.document import FieldPath
from ascendctl.yamlio.scalars import MERGE_TAG, key_text, resolve, resolve_tagged


@dataclass(slots=True)
class Entry:
    """A key and its value; `key` is the field's name, None for a merge key."""

    key: str | None
    key_start: int
    key_end: int
    node: Span


@dataclass(slots=True)
class Span:
    """One node. Offsets count characters of the file.

    `kind` is "map", "list", "scalar" or "alias". `start` is the first character, anchor and tag included, `end` is
    behind the last one; a node without text has start == end. Of a block scalar, the last line break and the blank
    lines behind it are left out. `column` of a block collection is that of its keys or dashes, from 0. `style` of a
    scalar is "", "'", '"', "|" or ">". `target` is the anchored node of an alias, `aliases` are the aliases of a node.
    """

    kind: str
    start: int
    end: int
    path: FieldPath
    line: int
    flow: bool = False
    style: str = ""
    column: int = 0
    anchor: str = ""
    entries: list[Entry] = field(default_factory=list)
    items: list[Span] = field(default_factory=list)
    target: Span | None = None
    aliases: list[Span] = field(default_factory=list)
    in_merge: bool = False

    def entry(self, key: str) -> Entry | None:
        """The entry that counts of a key: the last one."""
        return next((entry for entry in reversed(self.entries) if entry.key == key), None)

    def inside(self) -> Iterator[Span]:
        """This node and all nodes below it, aliases not followed."""
        pending = [self]
        while pending:
            node = pending.pop()
            yield node
            pending.extend(entry.node for entry in node.entries)
            pending.extend(node.items)


def yaml_spans(text: str, chunk: Chunk) -> Span:
    """The nodes of a chunk that `yamlio.read` has read without a fatal problem."""
    from yaml import events
    from yaml._yaml import CParser

    builder = _Builder(text, chunk)
    bom = bom_stand_in(builder.raw)
    parser = CParser(builder.raw.replace("\ufeff", bom) if bom else builder.raw)
    while True:
        event: Any = parser.get_event()
        kind = type(event)
        if kind is events.ScalarEvent:
            builder.scalar(event, event.value.replace(bom, "\ufeff") if bom else event.value)
        elif kind is events.AliasEvent:
            builder.alias(event)
        elif kind is events.MappingStartEvent or kind is events.SequenceStartEvent:
            builder.open(event, "map" if kind is events.MappingStartEvent else "list")
        elif kind is events.MappingEndEvent or kind is events.SequenceEndEvent:
            builder.close(event)
        elif kind is events.DocumentEndEvent:
            return builder.root[0]


class _Builder:
    """Puts the events of one chunk together; `root` holds the finished node."""

    def __init__(self, text: str, chunk: Chunk) -> None:
        raw = text[chunk.start : chunk.end]
        self.raw = raw.removeprefix("\ufeff").removeprefix("\ufeff")
        self.text = text
        self.first_line = chunk.line
        self.shift = chunk.start + len(raw) - len(self.raw)
        self.anchors: dict[str, Span] = {}
        self.anchored_names: dict[str, str] = {}
        self.stack: list[Span] = []
        self.keys: list[Entry | None] = []  # of every open node: the entry that waits for its value
        self.root: list[Span] = []

    def scalar(self, event: Any, value: str) -> None:
        start, end = event.start_mark.index + self.shift, event.end_mark.index + self.shift
        plain, tag = not event.style, event.tag
        raw = resolve_tagged(tag, value) if tag is not None else resolve(value) if plain else value
        if event.anchor:
            with suppress(ValueError):  # null and huge integers are values, but no keys
                self.anchored_names[event.anchor] = key_text(raw)
        if self._expects_key():
            merge = value == "<<" and (tag == MERGE_TAG or (plain and event.implicit[0]))
            self._add_key(None if merge else key_text(raw), start, end)
            return
        if event.style in ("|", ">"):
            end = self._block_end(start, end)
        self._place(self._node("scalar", event, end, style=event.style or ""))

    def alias(self, event: Any) -> None:
        start, end = event.start_mark.index + self.shift, event.end_mark.index + self.shift
        if self._expects_key():
            self._add_key(self.anchored_names[event.anchor], start, end)
            return
        target = self.anchors[event.anchor]
        node = self._node("alias", event, end, target=target)
        node.in_merge = any(entry is not None and entry.key is None for entry in self.keys)
        target.aliases.append(node)
        self._place(node)

    def open(self, event: Any, kind: str) -> None:
        node = self._node(kind, event, 0, flow=bool(event.flow_style))
        self.stack.append(node)
        self.keys.append(None)

    def close(self, event: Any) -> None:
        node = self.stack.pop()
        self.keys.pop()
        if node.flow:
            node.end = event.end_mark.index + self.shift
        elif node.kind == "map":
            last = node.entries[-1]
            node.end = max(last.node.end, last.key_end)
            node.column = self._column(node.entries[0].key_start)
        else:
            node.end = node.items[-1].end
            node.column = self._column(self.text.rfind("-", 0, node.items[0].start))
        self._place(node)

    def _node(self, kind: str, event: Any, end: int, **more: Any) -> Span:
        start, line = event.start_mark.index + self.shift, event.start_mark.line + self.first_line
        node = Span(kind, start, max(start, end), self._path(), line, **more)
        if event.anchor and kind != "alias":
            node.anchor = event.anchor
            self.anchors[event.anchor] = node
        return node

    def _expects_key(self) -> bool:
        return bool(self.stack) and self.stack[-1].kind == "map" and self.keys[-1] is None

    def _add_key(self, name: str | None, start: int, end: int) -> None:
        placeholder = Span("scalar", end, end, (), 0)
        self.keys[-1] = Entry(name, start, end, placeholder)

    def _path(self) -> FieldPath:
        if not self.stack:
            return ()
        parent, entry = self.stack[-1], self.keys[-1]
        return (*parent.path, len(parent.items) if parent.kind == "list" else (entry.key if entry else None) or "<<")

    def _place(self, node: Span) -> None:
        if not self.stack:
            self.root.append(node)
            return
        parent, entry = self.stack[-1], self.keys[-1]
        if entry is None:
            parent.items.append(node)
        else:
            entry.node = node
            parent.entries.append(entry)
            self.keys[-1] = None

    def _column(self, offset: int) -> int:
        start = self.text.rfind("\n", 0, offset) + 1
        return offset - start - self.text.count("\ufeff", start, offset)

    def _block_end(self, start: int, end: int) -> int:
        """The end of a block scalar without its last line break, and without blank lines that do not belong to it."""
        raw = self.text[start:end]
        header = raw.split("\n", 1)[0]
        if "+" in header.split("#")[0]:
            return start + len(raw.removesuffix("\n").removesuffix("\r"))
        return start + len(raw.rstrip())


def json_span(text: str, start: int) -> Span:
    """The nodes of a JSON value that `yamlio.read` has read without a fatal problem."""
    from ascendctl.yamlio.jsontext import decode_string, json_tokens

    stack: list[Span] = []
    keys: list[Entry | None] = []
    line, counted = text.count("\n", 0, start) + 1, start
    for kind, at, end in json_tokens(text, start):
        if kind in ("}", "]"):
            node = stack.pop()
            keys.pop()
            node.end = end
        elif kind in (",", ":"):
            continue
        elif kind == "string" and stack and stack[-1].kind == "map" and keys[-1] is None:
            keys[-1] = Entry(decode_string(text[at:end]), at, end, Span("scalar", end, end, (), 0))
            continue
        else:
            line, counted = line + text.count("\n", counted, at), at
            name = {"{": "map", "[": "list"}.get(kind, "scalar")
            node = Span(name, at, end, (), line, flow=True, style='"' if kind == "string" else "")
            if name != "scalar":
                stack.append(node)
                keys.append(None)
                continue
        if not stack:
            return node
        entry = keys[-1]
        if entry is None:
            stack[-1].items.append(node)
        else:
            entry.node, keys[-1] = node, None
            stack[-1].entries.append(entry)
    raise ValueError("no JSON value")
