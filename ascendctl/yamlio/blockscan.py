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
from typing import Any

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
_CACHED_LENGTH, _CACHE_LIMIT = 40, 20_000
_HARD = object()


class Unsure(Exception):
    """The text is outside the subset; nothing is said about whether it is valid."""


def is_scannable(text: str) -> bool:
    """False if there are characters that break lines elsewhere than at LF, or a BOM."""
    return _ODD.search(text) is None


class Scanner:
    """Reads one text after another; what scalars and keys mean is remembered in between."""

    def __init__(self) -> None:
        self._scalars: dict[str, Any] = {}
        self._keys: dict[str, str] = {}

    def scan(self, text: str) -> Any:
        """The value of a document in block style: a dict or a list. `text` is scannable, holds no characters that
        YAML forbids and no line that begins with `---`. Raises Unsure."""
        lines = text.split("\n")
        match_line, keys, scalars = _LINE.match, self._keys, self._scalars
        root: Any = None
        stack: list[tuple[int, Any]] = []  # open collections: column of the keys or dashes, dict or list
        col, box, name = -1, root, ""  # the innermost of them, and the key of the last entry of a dict
        waiting = True  # the last entry has no value on its own line: it may follow on deeper lines
        last = -1  # line of the last entry; -1: it cannot be read again as a fragment
        i, count = 0, len(lines)
        while i < count:
            line = lines[i]
            m: Any = match_line(line)
            dash, key, rest = m.group(2, 3, 4)
            here, at = m.end(1), m.start(3)
            if key is None:
                at = m.start(4)
                quoted = _QUOTED_KEY.match(line, at) if rest[:1] in ("'", '"') else None
                if quoted:
                    key, rest = (quoted[1] or quoted[2] or ""), quoted[3]
                elif dash is None:
                    if rest.strip(" "):  # a text that goes on, or stands on a line of its own
                        i = self._again(lines, last, i, col, box, len(stack))
                        waiting, last = False, -1
                    else:
                        i += 1
                    continue
            else:
                quoted = None

            if here > col or (waiting and here == col and dash and type(box) is dict):
                if not waiting:
                    i, last = self._again(lines, last, i, col, box, len(stack)), -1
                    continue
                inner: Any = [] if dash else {}
                if root is None:
                    root = inner
                elif type(box) is dict:
                    box[name] = inner
                else:
                    box[-1] = inner
                stack.append((here, inner))
                col, box = here, inner
            elif here < col or (dash is None) is (type(box) is list):
                while stack and (col > here or (col == here and dash is None and type(box) is list)):
                    stack.pop()
                    col, box = stack[-1] if stack else (-1, None)
                if col != here or (dash is None) is (type(box) is list):
                    raise Unsure
            waiting, last = not rest, i

            if dash:
                if key is None:
                    value = self._scalar(rest) if rest else None
                    if value is _HARD:
                        i, last = self._fragment(lines, i, col, box, len(stack)), -1
                    else:
                        box.append(value)
                        i += 1
                    continue
                inner = {}
                box.append(inner)
                stack.append((at, inner))
                col, box = at, inner
            if len(stack) > _MAX_DEPTH:
                raise Unsure
            name = key if quoted else keys.get(key) or self._key(key)
            value = scalars.get(rest, _HARD)
            if value is _HARD:
                value = self._scalar(rest)
                if value is _HARD:
                    i, last = self._fragment(lines, i, col, box, len(stack)), -1
                    continue
            box[name] = value
            i += 1
        if root is None:
            raise Unsure
        return root

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

    def _key(self, text: str) -> str:
        try:
            key = key_text(resolve(text))
        except ValueError:
            raise Unsure from None
        if len(text) > _MAX_KEY or not key:
            raise Unsure
        if len(self._keys) < _CACHE_LIMIT:
            self._keys[text] = key
        return key

    def _scalar(self, text: str) -> Any:
        """The value of what stands behind a key or a dash, or _HARD."""
        value = _scalar_value(text.rstrip(" "))
        if (
            len(text) <= _CACHED_LENGTH
            and len(self._scalars) < _CACHE_LIMIT
            and type(value) not in (dict, list, object)
        ):
            self._scalars[text] = value
        return value


def _scalar_value(text: str) -> Any:
    first = text[:1]
    if first == "'":
        single = _SINGLE.fullmatch(text)
        return single[1].replace("''", "'") if single else _HARD
    if first == '"':
        if not _DOUBLE.fullmatch(text):
            return _HARD
        return json.loads(text) if "\\" in text else text[1:-1]
    if text == "{}":
        return {}
    if text == "[]":
        return []
    is_plain_start = (
        not first or first in _SAFE_START or first > "\x7f" or (first == "-" and text[1:2] not in ("", " "))
    )
    if not is_plain_start or ": " in text or " #" in text or text[-1:] == ":" or "\t" in text:
        return _HARD
    value = resolve(text)
    return _HARD if type(value) is float and not math.isfinite(value) else field_value(value)
