"""Reading manifests the way kubectl does, with the position of every field (chapter 40 §8)."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from ascendctl.yamlio.chunks import Chunk, content_lines, decode, find_control, split_chunks
from ascendctl.yamlio.document import Document, Problem
from ascendctl.yamlio.problems import control_problem, ignored_problem, position, template_problem

MAX_TEXT = 64 << 20
"""Characters (or bytes) of one file that is read with positions; larger dumps go through `yamlio.fast`."""


def read_file(path: str | os.PathLike[str]) -> list[Document]:
    """The documents of a file, plain or gzip; "-" is stdin. Raises ReadError only if there are no bytes to be had
    (no such file, no right, damaged gzip); everything wrong with the text is a Problem of a Document."""
    from ascendctl.yamlio.inputs import read_bytes

    return read_documents(read_bytes(path, MAX_TEXT), os.fspath(path))


def read_documents(source: str | bytes, name: str = "<text>") -> list[Document]:
    """All documents of a text that are neither empty nor null, in order; YAML or JSON, one or many.

    Never raises for what the text holds: a document that cannot be read has value None and a fatal problem (DOC-01,
    or DOC-12 for the first unrendered template of a file; further templates of that file are left out).
    """
    if len(source) > MAX_TEXT:
        message = f"not readable: larger than {MAX_TEXT >> 20} MiB"
        return [_unreadable(name, 1, Problem("DOC-01", message, "split the file", 1, 1))]
    text = decode(source)
    if isinstance(text, Problem):
        return [_unreadable(name, text.line, text)]
    documents: list[Document] = []
    template_seen = False
    for document, _ in locate_documents(text, name):
        template = any(problem.rule == "DOC-12" for problem in document.problems)
        if not (template and template_seen):
            documents.append(document)
        template_seen = template_seen or template
    return documents


def locate_documents(text: str, name: str = "<text>") -> Iterator[tuple[Document, Chunk | int]]:
    """The documents of a text, unreadable ones included, each with its chunk, or, where it is read as JSON, with the
    offset of the value."""
    for index, (document, place) in enumerate(_documents(text, name)):
        yield (document if index == 0 else replace(document, index=index)), place


def _documents(text: str, name: str) -> Iterator[tuple[Document, Chunk | int]]:
    start = 0
    if text.lstrip().startswith("{"):
        from ascendctl.yamlio.jsontext import read_json

        objects, start, problem = read_json(text)
        for item in objects:
            if item.value is not None or item.problems:
                yield _document(name, item.line, item.value, item.marks, item.problems), item.start
        if problem:
            yield _unreadable(name, problem.line, problem), start
            return
    for chunk in split_chunks(text, start):
        document = _read_chunk(chunk, name)
        if document:
            yield document, chunk


def _read_chunk(chunk: Chunk, name: str) -> Document | None:
    from ascendctl.yamlio.compose import Refused, compose

    if chunk.problem:
        return _unreadable(name, chunk.problem.line, chunk.problem)
    control = find_control(chunk.text)
    if control:
        line, column = position(chunk.text, control.start(), chunk.line)
        return _unreadable(name, chunk.line, control_problem(control.group(), line, column))
    try:
        composed = compose(chunk.text, chunk.line, chunk.column)
    except Refused as refused:
        return _unreadable(name, chunk.line, template_problem(chunk.text, chunk.line) or refused.problem)
    problems = composed.problems
    ignored = content_lines(chunk.text[composed.end :])
    if ignored:
        problems.append(ignored_problem(chunk.text, chunk.line, composed.end, ignored, composed.explicit_end))
    if composed.value is None and not problems:
        return None
    return _document(name, chunk.line, composed.value, composed.marks, problems)


def _document(name: str, line: int, value: Any, marks: Any, problems: list[Problem]) -> Document:
    if not isinstance(value, dict):
        mark = marks.get(())
        what = "a list" if isinstance(value, list) else "a single value"
        at = (mark.line, mark.column) if mark else (line, 1)
        problem = Problem("DOC-01", f"not readable: the document is {what}, not a mapping", "", *at)
        return Document(name, 0, line, None, {}, (problem, *problems))
    return Document(name, 0, line, value, marks, tuple(problems))


def _unreadable(name: str, line: int, problem: Problem) -> Document:
    return Document(name, 0, line, None, {}, (problem,))
