"""From bytes to the chunks that are parsed one by one (chapter 40 §8.1)."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from ascendctl.yamlio.document import Problem
from ascendctl.yamlio.problems import ENCODING_HINT, position, separator_problem

_CONTROL = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x84\x86-\x9f\ud800-\udfff\ufffe\uffff]")
_BLANK_LINES = re.compile(r"(?:\ufeff? *(?:#[^\n\r]*)?(?:\r\n?|\n|\Z))*")


@dataclass(frozen=True, slots=True)
class Chunk:
    """The text between two `---` lines, with LF line ends.

    `line` and `column` are where it starts in the file, `start` and `end` the offsets there. `problem` says what is
    wrong with the `---` line in front of it.
    """

    text: str
    line: int
    column: int = 1
    start: int = 0
    end: int = 0
    problem: Problem | None = None


def decode(source: str | bytes) -> str | Problem:
    """The text of a file, or why it has none."""
    if isinstance(source, str):
        return source
    if source[:2] in (b"\xff\xfe", b"\xfe\xff"):
        return Problem("DOC-01", "not readable: the file is UTF-16", ENCODING_HINT, 1, 1)
    try:
        return source.decode("utf-8")
    except UnicodeDecodeError as error:
        line = source.count(b"\n", 0, error.start) + 1
        start = source.rfind(b"\n", 0, error.start) + 1
        column = len(source[start : error.start].decode("utf-8", "replace")) + 1
        guess = " (GBK?)" if _is_gbk(source) else ""
        return Problem("DOC-01", f"not readable: not UTF-8{guess}", ENCODING_HINT, line, column)


def _is_gbk(source: bytes) -> bool:
    try:
        source.decode("gb18030")
    except UnicodeDecodeError:
        return False
    return True


def split_chunks(text: str, start: int = 0) -> Iterator[Chunk]:
    """The chunks of a file from offset `start` on, blank ones left out. CR LF line ends have become LF in them: nothing
    downstream ever sees the CR (chapter 40 §8.1)."""
    line, column = position(text, start)
    problem: Problem | None = None
    at = _next_separator(text, start, column == 1)
    while True:
        end = len(text) if at < 0 else at
        body = text[start:end]
        if problem or not is_blank(body):
            yield Chunk(body.replace("\r\n", "\n"), line, column, start, end, problem)
        if at < 0:
            return
        line += body.count("\n")
        line_end = text.find("\n", at)
        line_end = len(text) if line_end < 0 else line_end
        problem = separator_problem(text[at:line_end].removesuffix("\r"), line)
        start, line, column = min(line_end + 1, len(text)), line + 1, 1
        at = _next_separator(text, start, line_end < len(text))


def _next_separator(text: str, start: int, at_line_start: bool) -> int:
    """Offset of the next line that begins with `---`; -1 if there is none."""
    if at_line_start and text.startswith("---", start):
        return start
    found = text.find("\n---", start)
    return found + 1 if found >= 0 else -1


def is_blank(text: str) -> bool:
    """True if there is nothing but spaces and comments, and nothing in these that a parser would refuse."""
    match = _BLANK_LINES.match(text)
    return match is not None and match.end() == len(text) and not _CONTROL.search(text)


def content_lines(text: str) -> int:
    """How many lines hold more than blanks and comments."""
    return sum(1 for line in text.splitlines() if line.strip(" \t\ufeff") and not line.lstrip(" \t").startswith("#"))


def find_control(text: str) -> re.Match[str] | None:
    """The first character that YAML does not allow."""
    return _CONTROL.search(text)
