"""JSON text -> values with positions: a sequence of values, as kubectl reads a file that begins with `{`."""

from __future__ import annotations

import json
import re
from bisect import bisect_right
from collections.abc import Iterator
from itertools import accumulate
from typing import Any, NamedTuple

from ascendctl.yamlio.compose import MAX_DEPTH, MAX_FIELDS, MAX_SCALAR, surviving_marks
from ascendctl.yamlio.document import FieldPath, Mark, Problem
from ascendctl.yamlio.problems import DUPLICATE_HINT, duplicate_message
from ascendctl.yamlio.scalars import Scalar, json_number, shown

_TOKEN = re.compile(
    r"""[ \t\r\n]*(?:
        ([{}\[\],:])
      | ("[^"\\\x00-\x1f]*(?:\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4})[^"\\\x00-\x1f]*)*")
      | (-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][-+]?[0-9]+)?)
      | (true|false|null)
      | (\Z))""",
    re.VERBOSE,
)
_SURROGATE = re.compile("[\ud800-\udfff]")
_WORDS: dict[str, Scalar] = {"true": True, "false": False, "null": None}


class JsonObject(NamedTuple):
    """One value of the sequence; line and offset where it starts."""

    value: Any
    marks: dict[FieldPath, Mark]
    problems: list[Problem]
    line: int
    start: int


class _Invalid(Exception):
    def __init__(self, message: str, offset: int) -> None:
        super().__init__(message)
        self.message = message
        self.offset = offset


def read_json(text: str) -> tuple[list[JsonObject], int, Problem | None]:
    """The values of the text, the offset from which it is to be read as YAML instead (its length if all is JSON), and
    the problem that ends the reading: after two values kubectl no longer falls back to YAML (chapter 40 §8.1)."""
    lines = [0, *accumulate(len(line) + 1 for line in text.split("\n"))]
    objects: list[JsonObject] = []
    offset = 0
    while True:
        try:
            reader = _Reader(text, lines, offset)
            if reader.at_end():
                return objects, len(text), None
            objects.append(reader.read())
            offset = reader.offset
        except _Invalid as error:
            if len(objects) < 2:
                return objects, offset, None
            line, column = _at(lines, error.offset)
            return objects, offset, Problem("DOC-01", f"not readable as JSON: {error.message}", "", line, column)


def _at(lines: list[int], offset: int) -> tuple[int, int]:
    line = bisect_right(lines, offset)
    return line, offset - lines[line - 1] + 1


class _Reader:
    """Reads one value that starts at `offset`; without recursion, so that nesting is bounded by MAX_DEPTH alone."""

    def __init__(self, text: str, lines: list[int], offset: int) -> None:
        self.text = text
        self.lines = lines
        self.offset = offset
        self.start = offset
        self.marks: list[tuple[FieldPath, Mark]] = []
        self.problems: list[Problem] = []
        self.overridden: dict[FieldPath, int] = {}

    def at_end(self) -> bool:
        match = _TOKEN.match(self.text, self.offset)
        return match is not None and match.group(5) is not None

    def token(self) -> tuple[str, str]:
        """Kind ("{", "}", "[", "]", ",", ":", "string", "number", "word") and text of the next token."""
        match = _TOKEN.match(self.text, self.offset)
        if match is None or match.group(5) is not None:
            blank = len(self.text) - len(self.text[self.offset :].lstrip(" \t\r\n"))
            raise _Invalid("unexpected end" if match else "unexpected character", blank)
        self.start, self.offset = match.start(match.lastindex or 0), match.end()
        text = match.group(match.lastindex or 0)
        return ({1: text, 2: "string", 3: "number", 4: "word"}[match.lastindex or 0], text)

    def read(self) -> JsonObject:
        kind, text = self.token()
        start = self.start
        root = self._value(kind, text, (), None)
        stack: list[tuple[Any, FieldPath]] = [(root, ())] if kind in "{[" else []
        keys: list[dict[str, int]] = [{}] if stack else []
        fresh = True
        while stack:
            container, path = stack[-1]
            is_map = isinstance(container, dict)
            kind, text = self.token()
            if kind == ("}" if is_map else "]"):
                stack.pop()
                keys.pop()
                fresh = False
                continue
            if not fresh:
                if kind != ",":
                    raise _Invalid(f"expected ',' before {shown(text)}", self.start)
                kind, text = self.token()
            key_at: tuple[int, int] | None = None
            if is_map:
                key, key_at = self._key(kind, text, path, keys[-1])
                child = (*path, key)
                kind, text = self.token()
            else:
                child = (*path, len(container))
            value = self._value(kind, text, child, key_at)
            if is_map:
                container[child[-1]] = value
            else:
                container.append(value)
            fresh = kind in "{["
            if fresh:
                if len(stack) >= MAX_DEPTH:
                    raise _Invalid(f"more than {MAX_DEPTH} levels", self.start)
                stack.append((value, child))
                keys.append({})
        return JsonObject(
            root, surviving_marks(self.marks, self.overridden), self.problems, _at(self.lines, start)[0], start
        )

    def _key(self, kind: str, text: str, path: FieldPath, keys: dict[str, int]) -> tuple[str, tuple[int, int]]:
        if kind != "string":
            raise _Invalid(f"expected a key in double quotes, found {shown(text)}", self.start)
        key, at = decode_string(text), _at(self.lines, self.start)
        if self.token()[0] != ":":
            raise _Invalid("expected ':' behind the key", self.start)
        if key in keys:
            child: FieldPath = (*path, key)
            self.overridden[child] = len(self.marks)
            message = duplicate_message(key, keys[key], at[0])
            self.problems.append(Problem("DOC-01", message, DUPLICATE_HINT, *at, fatal=False, path=child))
        keys[key] = at[0]
        return key, at

    def _value(self, kind: str, text: str, path: FieldPath, key_at: tuple[int, int] | None) -> Any:
        value: Any
        written: str | None = None
        if kind == "{":
            value = {}
        elif kind == "[":
            value = []
        elif kind == "string":
            value = written = decode_string(text)
        elif kind == "number":
            try:
                value, written = json_number(text), text
            except ValueError as error:
                raise _Invalid(str(error), self.start) from None
        elif kind == "word":
            value, written = _WORDS[text], text
        else:
            raise _Invalid(f"expected a value, found {shown(text)}", self.start)
        if written is not None and len(written) > MAX_SCALAR:
            raise _Invalid(f"a value of {len(written)} characters", self.start)
        if len(self.marks) >= MAX_FIELDS:
            raise _Invalid(f"more than {MAX_FIELDS} fields in one document", self.start)
        at = _at(self.lines, self.start)
        self.marks.append((path, Mark(*at, *(key_at or at), written, kind in ("number", "word"))))
        return value


def decode_string(text: str) -> str:
    """The value of a string token; half a surrogate pair becomes U+FFFD, as Go has it."""
    if "\\" not in text:
        return text[1:-1]
    value: str = json.loads(text)
    return _SURROGATE.sub("\ufffd", value)


def json_tokens(text: str, offset: int) -> Iterator[tuple[str, int, int]]:
    """Kind ("{", "}", "[", "]", ",", ":", "string", "number", "word"), start and end of every token from `offset` on,
    up to the first character that is no JSON."""
    while True:
        match = _TOKEN.match(text, offset)
        if match is None or match[5] is not None:
            return
        group = match.lastindex or 1
        yield (match[1] or ("", "", "string", "number", "word")[group]), match.start(group), match.end()
        offset = match.end()
