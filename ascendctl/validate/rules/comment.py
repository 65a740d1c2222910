"""Comments that switch rules off, and rules on those comments, CMT-*.

    # ascendctl: disable=SPB-13 the second plane is there
    # ascendctl: disable=ENV-04,K8S-18

Behind a field such a comment counts for its line, on a line of its own for the next line that is no comment, before
the first field of a document for the whole document.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from ascendctl.validate.rule import Rule

RULES: tuple[Rule, ...] = (
    Rule(
        "CMT-01",
        "warning",
        "a comment switches off a rule that does not exist",
        "the comment names {id}, which is no rule",
        "{hint}",
        wrong="# ascendctl: disable=SPB-99 why",
        right="# ascendctl: disable=SPB-13 why",
    ),
    Rule(
        "CMT-02",
        "warning",
        "a comment switches off a rule that says nothing there",
        "the comment switches off {id}, which finds nothing here",
        "remove {id} from the comment, or move the comment",
        about="Such a comment counts for its own line, for the next line, or at the top of a document for all of it.",
        wrong="# ascendctl: disable=SPB-13 why    # in a job without sp-block",
        right='sp-block: "32"',
    ),
)

_COMMENT = re.compile(r"#[ \t]*ascendctl:[ \t]*disable=([^\s#]*)")
_PHRASE = "ascendctl:"


@dataclass(frozen=True)
class Disable:
    """One rule that one comment switches off, for findings on lines `first` to `last`. `line` and `column` are those of
    the comment."""

    rule: str
    first: int
    last: int
    line: int
    column: int


def disables(text: str, starts: list[int]) -> tuple[Disable, ...]:
    """The comments of a file. `starts` are the first lines of its documents, ascending."""
    if _PHRASE not in text:
        return ()
    return tuple(_find(text, starts))


def _find(text: str, starts: list[int]) -> Iterator[Disable]:
    lines = re.split(r"\r\n|\n|\r", text)
    inside = _scalar_lines(text)
    for number, line in enumerate(lines, 1):
        match = _COMMENT.search(line)
        if match is None or (match.start() and line[match.start() - 1] not in " \t"):
            continue
        if any(first <= (number, match.start() + 1) < last for first, last in inside):
            continue
        span = _span(lines, number, line[: match.start()].strip(), starts)
        for rule in filter(None, match[1].split(",")):
            yield Disable(rule, *span, number, match.start() + 1)


def _span(lines: list[str], number: int, before: str, starts: list[int]) -> tuple[int, int]:
    if before and not before.startswith("---"):
        return number, number
    document = max((start for start in starts if start <= number), default=1)
    if before:  # behind a --- line: the document that begins here
        document = min((start for start in starts if start > number), default=number)
    head = lines[document - 1 : number - 1]
    if before or all(_is_bare(line) for line in head):
        following = min((start for start in starts if start > document), default=len(lines) + 2)
        return document, following - 1
    target = next((i for i in range(number + 1, len(lines) + 1) if not _is_bare(lines[i - 1])), number)
    return target, target


def _is_bare(line: str) -> bool:
    stripped = line.strip().lstrip("\ufeff")
    return not stripped or stripped.startswith(("#", "---"))


def _scalar_lines(text: str) -> list[tuple[tuple[int, int], tuple[int, int]]]:
    """(start, end) as (line, column) of scalars that may hold a # which starts no comment."""
    import yaml

    spans = []
    line_offset = 0
    for chunk in re.split(r"(?m)^(?=---)", text):
        try:
            for token in yaml.scan(chunk, Loader=yaml.CSafeLoader):
                if isinstance(token, yaml.ScalarToken) and token.style:
                    start, end = token.start_mark, token.end_mark
                    spans.append(
                        ((start.line + 1 + line_offset, start.column + 2), (end.line + 1 + line_offset, end.column + 1))
                    )
        except yaml.YAMLError:
            pass  # a document that cannot be read has its own finding; comments before the error still count
        line_offset += len(re.findall(r"\r\n|\n|\r", chunk))
    return spans
