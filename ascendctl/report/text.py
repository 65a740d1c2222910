"""Text for terminals: control characters escaped, chip ids and name lists shortened, plain tables, colour."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Iterable, Sequence
from typing import IO

# C0, DEL, C1, and the marks that turn the direction of text: none may reach a terminal from a manifest
_CONTROL = re.compile("[\x00-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028\u2029\u202a-\u202e\u2066-\u2069\ud800-\udfff]")
_STYLES = {"bold": "1", "dim": "2", "red": "31", "green": "32", "yellow": "33", "blue": "34", "cyan": "36"}


def printable(text: str) -> str:
    """The text with control characters written as \\x1b or \\u202e."""
    return _CONTROL.sub(_escape, text)


def json_escaped(text: str) -> str:
    """JSON text with the control characters that JSON itself lets through written as \\u009b."""
    if text.isascii() and "\x7f" not in text:
        return text
    return _CONTROL.sub(lambda match: match[0] if match[0] == "\n" else f"\\u{ord(match[0]):04x}", text)


def _escape(match: re.Match[str]) -> str:
    code = ord(match[0])
    return f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}"


def ranges(ids: Iterable[int]) -> str:
    """Chip ids as people read them: 0-3,6. The order is kept, only runs that ascend by one are folded."""
    parts: list[list[int]] = []
    for i in ids:
        if parts and i == parts[-1][-1] + 1:
            parts[-1] = [parts[-1][0], i]
        else:
            parts.append([i])
    return ",".join("-".join(str(i) for i in part) for part in parts)


def some(names: Sequence[str], limit: int = 3) -> str:
    """The first names of a list and how many more there are."""
    shown = ", ".join(printable(name) for name in names[:limit])
    return shown + (f" (+{len(names) - limit})" if len(names) > limit else "")


def table(rows: Iterable[Sequence[object]], headers: Sequence[str]) -> str:
    """A table without lines, columns two blanks apart, as kubectl prints it. Numbers stay as they are written."""
    cells = [[printable(str(cell)) for cell in row] for row in rows]
    widths = [len(header) + 2 for header in headers] or [0] * max(map(len, cells), default=0)
    for row in cells:
        widths = [max(size, width(cell)) for size, cell in zip(widths, row, strict=True)]
    lines = [list(headers), *cells] if headers else cells
    return "\n".join("  ".join(map(padded, line, widths)).rstrip() for line in lines)


def padded(text: str, size: int) -> str:
    """The text with blanks behind it, up to a width on the screen."""
    return text + " " * (size - width(text))


def width(text: str) -> int:
    """Columns that a text takes on a terminal: two for each wide character of East Asian scripts."""
    if text.isascii():
        return len(text)
    from unicodedata import combining, east_asian_width

    return sum(0 if combining(char) else 2 if east_asian_width(char) in "WF" else 1 for char in text)


def wants_color(mode: str, stream: IO[str] | None = None) -> bool:
    """Whether to colour: `always`, `never`, or `auto` = on a terminal unless NO_COLOR is set."""
    if mode != "auto":
        return mode == "always"
    stream = stream or sys.stdout
    return not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb" and stream.isatty()


def paint(text: str, style: str, on: bool) -> str:
    """The text in a style (bold, dim, red, green, yellow, blue, cyan) if colour is on."""
    return f"\x1b[{_STYLES[style]}m{text}\x1b[0m" if on and text else text
