"""One chunk of YAML -> plain values with positions, by the rules of chapter 40 §8.2-8.4.

Built on libyaml's events: the library splits the text into tokens, everything that gives them a meaning is done here.
"""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Mapping
from dataclasses import dataclass, field
from itertools import accumulate
from typing import Any, NoReturn

from yaml import events
from yaml._yaml import CParser
from yaml.error import MarkedYAMLError, YAMLError

from ascendctl.yamlio.document import FieldPath, Mark, Problem
from ascendctl.yamlio.problems import DUPLICATE_HINT, duplicate_message, explain
from ascendctl.yamlio.scalars import MERGE_TAG, Scalar, field_value, key_text, resolve, resolve_tagged, shown

MAX_DEPTH = 1000
MAX_SCALAR = 4 << 20
"""Characters of one scalar. The API server takes no request above 3 MiB."""
MAX_FIELDS = 1_000_000
"""Fields of one document, aliases expanded."""
_MAX_PROBLEMS = 50
_MERGED = -1
"""Path component of what stands inside `<<: {...}` or `<<: [...]`; no list index is negative."""
_ODD_BREAKS = ("\r", "\x85", "\u2028", "\u2029")


class Refused(Exception):
    """The document has no value, for the reason in `problem`."""

    def __init__(self, problem: Problem) -> None:
        super().__init__(problem.message)
        self.problem = problem


@dataclass
class Composed:
    """`value` of the first document of a chunk, `end` the offset behind it, `explicit_end` True for a `...` line,
    `anchored` True if there are anchors or aliases."""

    value: Any = None
    marks: dict[FieldPath, Mark] = field(default_factory=dict)
    problems: list[Problem] = field(default_factory=list)
    end: int = 0
    explicit_end: bool = False
    anchored: bool = False


@dataclass(slots=True)
class _Node:
    """A finished node. Its marks are `marks[first:last]`, with paths that begin with the `depth` parts of its own."""

    value: Any
    first: int
    last: int
    depth: int
    steps: int
    height: int = 0
    raw: Scalar = None
    is_scalar: bool = False
    is_alias: bool = False
    alias_line: int = 0
    sources: list[_Node] | None = None


@dataclass(slots=True)
class _Frame:
    """A collection that is being read; `value` is a dict or a list. Inside `<<: [...]` the items also stand in
    `sources`."""

    value: Any
    path: FieldPath
    at: tuple[int, int]
    first: int
    steps: int
    anchor: str | None
    flow: bool
    sources: list[_Node] | None = None
    height: int = 1
    key: str | None = None
    key_at: tuple[int, int] = (0, 0)
    key_written: str | None = None
    merging: bool = False
    keys: dict[str, int] = field(default_factory=dict)
    merged: dict[str, int] = field(default_factory=dict)

    @property
    def wants_nodes(self) -> bool:
        """True where the value of a child is not enough: it is merged."""
        return self.merging or self.sources is not None


def compose(text: str, first_line: int = 1, first_column: int = 1, with_marks: bool = True, depth: int = 0) -> Composed:
    """The first document of a chunk that starts at that line and column. Raises Refused if kubectl would not read it,
    or if it exceeds the bounds of this module.

    Without marks the number of fields is not bounded. `depth` counts the levels that a fragment stands in.
    """
    return _Composer(text, (first_line, first_column), with_marks, depth).run()


def surviving_marks(
    marks: list[tuple[FieldPath, Mark]], overridden: Mapping[FieldPath, int], drop_merged: bool = False
) -> dict[FieldPath, Mark]:
    """The marks of the fields that are left. `overridden` tells of a path up to which index its marks are stale;
    `drop_merged` leaves out what stands inside merge keys."""
    if not (overridden or drop_merged):
        return dict(marks)
    final = {}
    for index, (path, mark) in enumerate(marks):
        stale = any(overridden.get(path[:n], -1) > index for n in range(1, len(path) + 1))
        if not stale and _MERGED not in path:
            final[path] = mark
    return final


class _Composer:
    def __init__(self, text: str, first: tuple[int, int], with_marks: bool, depth: int) -> None:
        self.text = text.removeprefix("\ufeff").removeprefix("\ufeff")  # concatenated files may have two
        self.bom = bom_stand_in(self.text)
        self.first_line, self.first_column = first
        self.with_marks = with_marks
        self.depth = depth
        self.breaks = self._line_starts() if any(c in text for c in _ODD_BREAKS) else None
        self.stack: list[_Frame] = []
        self.marks: list[tuple[FieldPath, Mark]] = []
        self.anchors: dict[str, _Node | _Frame] = {}
        self.overridden: dict[FieldPath, int] = {}
        self.has_inline_merge = False
        self.steps = 1
        self.alias_steps = 0
        self.skipped = len(text) - len(self.text)
        self.out = Composed()

    # ------------------------------------------------------------------------------------------ the event loop
    def run(self) -> Composed:
        parser = CParser(self.text.replace("\ufeff", self.bom) if self.bom else self.text)
        try:
            self._read(parser)
        except YAMLError as error:
            raise Refused(self._syntax_problem(error)) from None
        self._check_aliasing(*self.at(None))
        self.out.anchored = bool(self.anchors)
        self.out.marks = surviving_marks(self.marks, self.overridden, self.has_inline_merge)
        return self.out

    def _read(self, parser: Any) -> None:
        while True:
            event = parser.get_event()
            kind = type(event)
            if kind is events.ScalarEvent:
                self._scalar(event)
            elif kind is events.MappingStartEvent or kind is events.SequenceStartEvent:
                self._open(event, kind is events.MappingStartEvent)
            elif kind is events.MappingEndEvent or kind is events.SequenceEndEvent:
                self._close()
            elif kind is events.AliasEvent:
                self._alias(event)
            elif kind is events.DocumentEndEvent:
                self.out.end = event.end_mark.index + self.skipped
                self.out.explicit_end = bool(event.explicit)
                return
            elif kind is events.StreamEndEvent:
                return

    def _scalar(self, event: Any) -> None:
        text, tag, plain = event.value, event.tag, not event.style
        line, column = self.at(event.start_mark)
        if self.bom:
            text = text.replace(self.bom, "\ufeff")
        if len(text) > MAX_SCALAR:
            self.refuse(f"a value of {len(text)} characters; at most {MAX_SCALAR} are read", line, column)
        self.steps += 1
        frame = self.stack[-1] if self.stack else None
        if plain and frame and frame.flow and "?" in text:
            self.refuse("'?' in an unquoted text inside { } or [ ]", line, column, "quote the text")
        try:
            raw = resolve_tagged(tag, text) if tag is not None else resolve(text) if plain else text
        except ValueError as error:
            self.refuse(str(error), line, column)
        if frame and isinstance(frame.value, dict) and frame.key is None:
            merge = text == "<<" and (tag == MERGE_TAG or (plain and event.implicit[0]))
            self._key(frame, raw, text, merge, line, column)
            if event.anchor:
                first = len(self.marks)
                self.anchors[event.anchor] = _Node(field_value(raw), first, first, 0, 1, raw=raw, is_scalar=True)
            return
        if type(raw) is float and not math.isfinite(raw):
            self.refuse(f"{text} is a number that JSON cannot hold", line, column, f'write "{text}" if a text is meant')
        first = len(self.marks)
        path = self._child_path(frame)
        self._mark(frame, path, line, column, text, plain)
        if not event.anchor and not (frame and frame.wants_nodes):
            self._put(frame, field_value(raw), 0)
            return
        node = _Node(field_value(raw), first, first + 1, len(path), 1, raw=raw, is_scalar=True)
        if event.anchor:
            self.anchors[event.anchor] = node
        self._deliver(node, line, column)

    def _key(self, frame: _Frame, raw: Scalar, text: str, merge: bool, line: int, column: int) -> None:
        """`raw` becomes the current key of a mapping."""
        frame.key_at = (line, column)
        if merge:
            frame.key, frame.merging, frame.key_written = "<<", True, None
            return
        try:
            key = key_text(raw)
        except ValueError as error:
            self.refuse(str(error), line, column, "quote the key, or remove the line")
        frame.key, frame.merging = key, False
        path: FieldPath = (*frame.path, key)
        frame.key_written = text if text != key else None
        if key in frame.keys:
            self._problem(
                "DOC-01",
                duplicate_message(key, frame.keys[key], line),
                DUPLICATE_HINT,
                line,
                column,
                path,
            )
        if key in frame.value:
            self.overridden[path] = len(self.marks)
        frame.keys[key] = line

    def _open(self, event: Any, is_map: bool) -> None:
        line, column = self.at(event.start_mark)
        frame = self.stack[-1] if self.stack else None
        if frame and isinstance(frame.value, dict) and frame.key is None:
            self.refuse("a mapping or a list cannot be a key", line, column, "quote the text")
        if len(self.stack) + self.depth >= MAX_DEPTH:
            self.refuse(f"more than {MAX_DEPTH} levels", line, column)
        merge_list = not is_map and frame is not None and frame.merging
        path = self._child_path(frame)
        new = _Frame(
            {} if is_map else [],
            path,
            (line, column),
            len(self.marks),
            self.steps,
            event.anchor,
            bool(event.flow_style),
            [] if merge_list else None,
        )
        self.steps += 1
        if event.anchor:
            self.anchors[event.anchor] = new
        self._mark(frame, path, line, column, None, False)
        self.stack.append(new)

    def _close(self) -> None:
        frame = self.stack.pop()
        outer = self.stack[-1] if self.stack else None
        if not frame.anchor and not (outer and outer.wants_nodes):
            self._put(outer, frame.value, frame.height)
            return
        node = _Node(
            frame.value,
            frame.first,
            len(self.marks),
            len(frame.path),
            self.steps - frame.steps,
            frame.height,
            sources=frame.sources,
        )
        if frame.anchor and self.anchors[frame.anchor] is frame:  # else it was defined anew inside
            self.anchors[frame.anchor] = node
        self._deliver(node, *frame.at)

    def _alias(self, event: Any) -> None:
        line, column = self.at(event.start_mark)
        name = event.anchor
        if name not in self.anchors:
            self.refuse(
                f"unknown alias *{name}", line, column, "an alias reaches back to an anchor of the same document"
            )
        target = self.anchors[name]
        if isinstance(target, _Frame):
            self.refuse(f"the anchor &{name} contains itself", line, column)
        self.steps += 1 + target.steps
        self.alias_steps += target.steps
        self._check_aliasing(line, column)
        frame = self.stack[-1] if self.stack else None
        if frame and isinstance(frame.value, dict) and frame.key is None:
            if not target.is_scalar:
                self.refuse("a mapping or a list cannot be a key", line, column)
            self._key(frame, target.raw, f"*{name}", False, line, column)
            return
        if len(self.stack) + self.depth + target.height > MAX_DEPTH:
            self.refuse(f"more than {MAX_DEPTH} levels", line, column)
        raw = target.raw
        if target.is_scalar and type(raw) is float and not math.isfinite(raw):
            self.refuse(f"{raw} is a number that JSON cannot hold", line, column)
        first = len(self.marks)
        if frame and frame.merging:
            source = target
        else:
            path = self._child_path(frame)
            self._copy_marks(target, path, line, frame)
            source = _Node(target.value, first, len(self.marks), len(path), 0)
        node = _Node(
            target.value,
            source.first,
            source.last,
            source.depth,
            1 + target.steps,
            target.height,
            raw,
            target.is_scalar,
            True,
            line,
        )
        self._deliver(node, line, column)

    # ------------------------------------------------------------------------------------------ putting values in place
    def _deliver(self, node: _Node, line: int, column: int) -> None:
        frame = self.stack[-1] if self.stack else None
        if frame is None or not frame.merging:
            self._put(frame, node.value, node.height)
            if frame is not None and frame.sources is not None:
                frame.sources.append(node)
            return
        frame.height = max(frame.height, node.height + 1)
        self._merge(frame, node, line, column)
        frame.key = None

    def _put(self, frame: _Frame | None, value: Any, height: int) -> None:
        """A value becomes the document, an item, or the value of the current key."""
        if frame is None:
            self.out.value = value
            return
        if height >= frame.height:
            frame.height = height + 1
        if type(frame.value) is list:
            frame.value.append(value)
        else:
            frame.value[frame.key] = value
            frame.key = None

    def _merge(self, frame: _Frame, node: _Node, line: int, column: int) -> None:
        """`<<`: the merged keys win over what stands above; in a list of sources the earlier ones win."""
        sources = [node] if node.sources is None or node.is_alias else node.sources
        merge_line = frame.key_at[0]
        for source in reversed(sources):
            if not isinstance(source.value, dict):
                self.refuse("<< takes a mapping or a list of mappings", line, column)
            for key in source.value:
                path: FieldPath = (*frame.path, key)
                self._report_override(frame, path, source.value[key], merge_line)
                if key in frame.value:
                    self.overridden[path] = len(self.marks)
            frame.value.update(source.value)
            self._copy_marks(source, frame.path, source.alias_line, None, skip_root=True)
        for source in sources:
            frame.merged.update(dict.fromkeys(source.value, merge_line))
        self.has_inline_merge = self.has_inline_merge or not node.is_alias

    def _report_override(self, frame: _Frame, path: FieldPath, value: Any, merge_line: int) -> None:
        key = str(path[-1])
        before = max(frame.keys.get(key, 0), frame.merged.get(key, 0))
        if before:
            kept = shown(str(value)) if not isinstance(value, dict | list) else "the merged value"
            self._problem(
                "DOC-15",
                f"{shown(key)} at line {before} is overwritten by << at line {merge_line} for kubectl ({kept})",
                "put << first",
                *frame.key_at,
                path,
            )

    def _check_aliasing(self, line: int, column: int) -> None:
        """The bound of the Go reader on what aliases may multiply (chapter 40 §8.4)."""
        total, share = self.steps, self.alias_steps / self.steps
        allowed = 0.99 - 0.89 * min(max(total - 400_000, 0) / 3_600_000, 1.0)
        if self.alias_steps > 100 and total > 1000 and share > allowed:
            self.refuse("excessive aliasing", line, column, "write the values out, kubectl refuses this")

    # ------------------------------------------------------------------------------------------ positions
    def _child_path(self, frame: _Frame | None) -> FieldPath:
        if frame is None:
            return ()
        if isinstance(frame.value, list):
            return (*frame.path, len(frame.value))
        return (*frame.path, _MERGED if frame.merging else frame.key or "")

    def _mark(
        self, frame: _Frame | None, path: FieldPath, line: int, column: int, text: str | None, plain: bool
    ) -> None:
        if not self.with_marks:
            return
        if frame is not None and isinstance(frame.value, dict):
            mark = Mark(line, column, *frame.key_at, text, plain, frame.key_written)
        else:
            mark = Mark(line, column, line, column, text, plain)
        self._add(path, mark)

    def _add(self, path: FieldPath, mark: Mark) -> None:
        if len(self.marks) >= MAX_FIELDS:
            self.refuse(f"more than {MAX_FIELDS} fields in one document", mark.line, mark.column, "split the file")
        self.marks.append((path, mark))

    def _copy_marks(
        self, source: _Node, path: FieldPath, alias_line: int, frame: _Frame | None, skip_root: bool = False
    ) -> None:
        """Repeat the marks of a node under another path, as aliases and merge keys do with its values."""
        for index in range(source.first + skip_root, source.last if self.with_marks else 0):
            old, m = self.marks[index]
            if _MERGED in old[source.depth :]:
                continue
            key, written = (m.key_line, m.key_column), m.key_text
            if len(old) == source.depth:
                is_field = frame is not None and isinstance(frame.value, dict)
                key, written = (frame.key_at, frame.key_written) if frame and is_field else ((m.line, m.column), None)
            mark = Mark(m.line, m.column, *key, m.text, m.plain, written, alias_line or m.alias_line)
            self._add(path + old[source.depth :], mark)

    def _line_starts(self) -> list[int]:
        return [0, *accumulate(len(line) + 1 for line in self.text.split("\n"))]

    def at(self, mark: Any) -> tuple[int, int]:
        """Line and column in the file, from 1, of a mark of the library; None is the start of the chunk."""
        if mark is None:
            return self.first_line, self.first_column
        line, column = mark.line, mark.column
        if self.breaks is not None:
            line = bisect_right(self.breaks, mark.index) - 1
            column = mark.index - self.breaks[line]
        return line + self.first_line, column + (self.first_column if line == 0 else 1)

    # ------------------------------------------------------------------------------------------ problems
    def refuse(self, message: str, line: int, column: int, hint: str = "") -> NoReturn:
        raise Refused(Problem("DOC-01", f"not readable: {message}", hint, line, column))

    def _problem(self, rule: str, message: str, hint: str, line: int, column: int, path: FieldPath) -> None:
        if len(self.out.problems) < _MAX_PROBLEMS:
            self.out.problems.append(Problem(rule, message, hint, line, column, fatal=False, path=path))

    def _syntax_problem(self, error: YAMLError) -> Problem:
        if not isinstance(error, MarkedYAMLError):
            return Problem("DOC-01", f"not readable: {error}".replace("\n", " "), "", *self.at(None))
        mark = error.problem_mark or error.context_mark
        line, column = self.at(mark)
        offset = mark.index if mark else 0
        message, hint = explain(error.problem or error.context or "", self.text, offset)
        return Problem("DOC-01", f"not readable: {message}", hint, line, column)


def bom_stand_in(text: str) -> str:
    """A character that the text does not hold, "" if it holds no BOM either. It stands for a BOM inside the text, which
    libyaml skips at the start of a line while kubectl takes it as an ordinary character everywhere."""
    if "\ufeff" not in text:
        return ""
    return next(chr(code) for code in range(0xF8FF, 0xE000, -1) if chr(code) not in text)
