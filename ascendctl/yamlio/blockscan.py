"""A line scanner for the block style that `kubectl get -o yaml` writes: several times faster than a full YAML parser.

It understands block mappings and lists with plain or quoted scalars on one line. An entry with anything else (block
scalars, flow collections, folded texts) is cut out and given to `compose`; where that is no complete, self-contained
fragment, the scanner gives up with Unsure and the caller parses the whole text. So a value that comes back is always
the one that `compose` finds.
"""

from __future__ import annotations

import json
import math
import re
from typing import Any, TypeAlias

from ascendctl.yamlio.chunks import content_lines
from ascendctl.yamlio.compose import Refused, compose
from ascendctl.yamlio.scalars import field_value, key_text, resolve

# Indentation, dash, plain key, the rest of the line.
_LINE = re.compile(r"( *)(?:(-)(?: +|$))?(?:([A-Za-z0-9_./][^\s:]*(?::[^\s:]+)*):(?: +|$))?(.*)")
_QUOTED_KEY = re.compile(r"""(?:"([^"\\\t]*)"|'([^'\t]*)'):(?: +|$)(.*)""")
_SINGLE = re.compile(r"'([^'\t]*(?:''[^'\t]*)*)'")
_DOUBLE = re.compile(r'"[^"\\\t]*(?:\\(?:["\\nrt]|u(?![dD][89a-fA-F])[0-9a-fA-F]{4})[^"\\\t]*)*"')
_SAFE_START = frozenset("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_./+~<=();$^\\")
_ODD = re.compile("[\r\x85\u2028\u2029\ufeff]")
_MAX_DEPTH = 64
_MAX_KEY = 1000  # a parser gives up looking for the colon of a key after 1024 characters
_CACHED_LENGTH, _CACHE_LIMIT = 80, 50_000
_HARD, _BLANK, _NULL = object(), object(), object()

_Line: TypeAlias = "tuple[int, int, bool, str | None, Any]"
"""Of a line: indentation, column of the key or the text, dash in front?, key, value. The value is None if there is
nothing behind the key or dash, _NULL for a null that is written out, the type dict or list for `{}` and `[]`, _HARD for
anything that needs a parser, _BLANK for a blank line."""


class Unsure(Exception):
    """The text is outside the subset; nothing is said about whether it is valid."""


def is_scannable(text: str) -> bool:
    """False if there are characters that break lines elsewhere than at LF, or a BOM."""
    return _ODD.search(text) is None


class Scanner:
    """Reads one text after another; what a line means by itself is remembered, dumps repeat most of their lines."""

    def __init__(self) -> None:
        self._lines: dict[str, _Line] = {}

    def scan(self, text: str) -> Any:
        """The value of a document in block style: a dict or a list. `text` is scannable, holds no characters that
        YAML forbids and no line that begins with `---`. Raises Unsure."""
        lines = text.split("\n")
        known = self._lines
        root: Any = None
        stack: list[tuple[int, Any]] = []  # open collections: column of the keys or dashes, dict or list
        col, box, last_name = -1, root, ""  # the innermost of them, and the key of the last entry of a dict
        waiting = True  # the last entry has no value on its own line: it may follow on deeper lines
        last = -1  # line of the last entry; -1: it cannot be read again as a fragment
        i, count = 0, len(lines)
        while i < count:
            line = lines[i]
            here, at, dash, name, value = known.get(line) or self._line(line)
            if value is _BLANK:
                i += 1
                continue
            if name is None and not dash:  # a text that goes on, or stands on a line of its own
                i = self._again(lines, last, i, col, box, len(stack))
                waiting, last = False, -1
                continue

            if here > col or (waiting and here == col and dash and type(box) is dict):
                if not waiting:
                    i, last = self._again(lines, last, i, col, box, len(stack)), -1
                    continue
                inner: Any = [] if dash else {}
                if root is None:
                    root = inner
                elif type(box) is dict:
                    box[last_name] = inner
                else:
                    box[-1] = inner
                stack.append((here, inner))
                col, box = here, inner
            elif here < col or dash is not (type(box) is list):
                while stack and (col > here or (col == here and not dash and type(box) is list)):
                    stack.pop()
                    col, box = stack[-1] if stack else (-1, None)
                if col != here or dash is not (type(box) is list):
                    raise Unsure
            waiting, last = value is None, i

            if name is None:
                if value is _HARD:
                    i, last = self._fragment(lines, i, col, box, len(stack)), -1
                    continue
                box.append(value if type(value) is str else _fresh(value))
            else:
                if dash:
                    inner = {}
                    box.append(inner)
                    stack.append((at, inner))
                    col, box = at, inner
                if value is _HARD:
                    if len(stack) > _MAX_DEPTH:
                        raise Unsure
                    i, last = self._fragment(lines, i, col, box, len(stack)), -1
                    continue
                box[name] = value if type(value) is str else _fresh(value)
                last_name = name
            if len(stack) > _MAX_DEPTH:
                raise Unsure
            i += 1
        if root is None:
            raise Unsure
        return root

    def _line(self, line: str) -> _Line:
        parsed = _parse_line(line)
        if len(line) <= _CACHED_LENGTH and len(self._lines) < _CACHE_LIMIT:
            self._lines[line] = parsed
        return parsed

    def _again(self, lines: list[str], last: int, current: int, col: int, box: Any, depth: int) -> int:
        """Read the last entry as a fragment, because line `current` seems to belong to it."""
        if last < 0:
            raise Unsure
        if type(box) is list:
            box.pop()
        following = self._fragment(lines, last, col, box, depth)
        if following <= current:
            raise Unsure
        return following

    def _fragment(self, lines: list[str], first: int, col: int, box: Any, depth: int) -> int:
        """Add the entry at column `col` of line `first`, with all deeper lines below it, to the dict or list `box`.
        Returns the line behind it."""
        end = first + 1
        while end < len(lines) and (len(lines[end]) - len(lines[end].lstrip(" ")) > col or not lines[end].strip(" ")):
            end += 1
        text = "\n".join([" " * col + lines[first][col:], *lines[first + 1 : end]])
        if end < len(lines):
            text += "\n"
        try:
            composed = compose(text, with_marks=False, depth=depth - 1)
        except Refused:
            raise Unsure from None
        whole = not (composed.anchored or composed.explicit_end or content_lines(text[composed.end :]))
        if not whole or type(composed.value) is not type(box):
            raise Unsure
        if type(box) is dict:
            box.update(composed.value)
        else:
            box.extend(composed.value)
        return end


def _parse_line(line: str) -> _Line:
    m: Any = _LINE.match(line)
    dash, key, rest = m.group(2, 3, 4)
    here, at = m.end(1), m.start(3)
    if key is not None:
        key = _key(key)
    else:
        at = m.start(4)
        quoted = _QUOTED_KEY.match(line, at) if rest[:1] in ("'", '"') else None
        if quoted:
            key, rest = (quoted[1] or quoted[2] or ""), quoted[3]
        elif not dash:
            return here, at, False, None, _HARD if rest.strip(" ") else _BLANK
    rest = rest.rstrip(" ")
    return here, at, bool(dash), key, _scalar_value(rest) if rest else None


def _fresh(value: Any) -> Any:
    """What a remembered line puts into the result."""
    if value is dict or value is list:
        return value()
    return None if value is _NULL else value


def _key(text: str) -> str:
    try:
        key = key_text(resolve(text))
    except ValueError:
        raise Unsure from None
    if len(text) > _MAX_KEY:
        raise Unsure
    return key


def _scalar_value(text: str) -> Any:
    """The value part of a _Line for what stands behind a key or a dash."""
    first = text[:1]
    if first == "'":
        single = _SINGLE.fullmatch(text)
        return single[1].replace("''", "'") if single else _HARD
    if first == '"':
        if not _DOUBLE.fullmatch(text):
            return _HARD
        return json.loads(text) if "\\" in text else text[1:-1]
    if text == "{}":
        return dict
    if text == "[]":
        return list
    is_plain_start = (
        not first or first in _SAFE_START or first > "\x7f" or (first == "-" and text[1:2] not in ("", " "))
    )
    if not is_plain_start or ": " in text or " #" in text or text[-1:] == ":" or "\t" in text:
        return _HARD
    value = resolve(text)
    if value is None:
        return _NULL
    return _HARD if type(value) is float and not math.isfinite(value) else field_value(value)
