"""Editing a manifest byte by byte: comments, order, quoting, indentation, line ends and markers stay as they are.

Only the text of changed fields changes. The result is read again: if it is not exactly the intended document, or any
other document of the file differs, EditError is raised and nothing is returned.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ascendctl.yamlio.chunks import Chunk
from ascendctl.yamlio.document import Document, FieldPath, format_path
from ascendctl.yamlio.plan import EditError, Plan, add_to_plan, apply_change, same_value, unshared
from ascendctl.yamlio.read import locate_documents
from ascendctl.yamlio.spans import json_span, yaml_spans
from ascendctl.yamlio.splice import Splicer, line_end, newline

__all__ = ["EditError", "copy_item", "same_value", "set_fields"]


def set_fields(text: str, document_index: int, changes: Sequence[tuple[FieldPath, Any]]) -> str:
    """The text with some fields of one document set to new values; `document_index` counts as `Document.index` does.

    A path may lead into mappings and lists that do not exist yet; an index equal to the length of a list appends.
    Where the document already holds the values, the text comes back unchanged. Raises EditError if the document cannot
    be read, a path leads through a scalar, or a change would reach other users of an anchor.
    """
    document, place, others = _locate(text, document_index)
    try:
        intended = unshared(document.value)
        plan: Plan = {}
        for path, value in changes:
            if not path:
                raise EditError("the whole document cannot be set")
            apply_change(intended, path, value)
            add_to_plan(plan, path, value)
        if same_value(intended, document.value):
            return text
        root = yaml_spans(text, place) if isinstance(place, Chunk) else json_span(text, place)
        result = Splicer(text, root, plan, is_json=not isinstance(place, Chunk)).result(document.value)
    except (ValueError, TypeError, RecursionError) as error:
        raise EditError(f"cannot be written: {error}") from None
    if not result.endswith("\n") and _problem(result, document_index, intended, others):
        result += newline(text, 0)  # a block literal at the end of the file needs its line break
    _verify(result, document_index, intended, others)
    return result


def copy_item(text: str, document_index: int, path: FieldPath, copies: int) -> str:
    """The text with a list item repeated `copies` times right behind itself, comments and style included.

    Raises EditError if `path` is no item of a list that is written out in this document.
    """
    document, place, others = _locate(text, document_index)
    intended = unshared(document.value)
    root = yaml_spans(text, place) if isinstance(place, Chunk) else json_span(text, place)
    parent, items = root, intended
    for part in path[:-1]:
        entry = parent.entry(part) if isinstance(part, str) else None
        within = isinstance(part, int) and part < len(parent.items)
        if not entry and not within:
            raise EditError(f"{format_path(path)} is not written out in the document")
        parent = entry.node if entry else parent.items[int(part)]
        items = items[part]
    index = path[-1] if path else ""
    if not isinstance(index, int) or parent.kind != "list" or not 0 <= index < len(parent.items):
        raise EditError(f"{format_path(path)} is no item of a list that is written out in the document")
    items[index:index] = [unshared(items[index]) for _ in range(copies)]
    node = parent.items[index]
    if parent.flow:
        result = text[: node.end] + (", " + text[node.start : node.end]) * copies + text[node.end :]
    else:
        dash = text.rfind("-", 0, node.start if node.start < node.end else node.start + 1)
        start, end = text.rfind("\n", 0, dash) + 1, line_end(text, node.end)
        if text[start:dash].strip(" "):
            raise EditError(f"{format_path(path)} does not begin its line")
        result = text[:end] + (newline(text, end) + text[start:end]) * copies + text[end:]
    _verify(result, document_index, intended, others)
    return result


def _locate(text: str, index: int) -> tuple[Document, Chunk | int, dict[int, Any]]:
    """A document, its place, and the values of all others by index."""
    found, others = None, {}
    for document, place in locate_documents(text):
        if document.index == index:
            found = document, place
        else:
            others[document.index] = document.value
    if found is None:
        raise EditError(f"there is no document {index}")
    for problem in found[0].problems:
        if problem.fatal:
            raise EditError(f"line {problem.line}: {problem.message}")
    return *found, others


def _verify(text: str, index: int, intended: Any, others: dict[int, Any]) -> None:
    problem = _problem(text, index, intended, others)
    if problem:
        raise EditError(problem)


def _problem(text: str, index: int, intended: Any, others: dict[int, Any]) -> str:
    """What is wrong with the edited text; "" if it holds the intended document and all others as they were."""
    values = {document.index: document for document, _ in locate_documents(text)}
    edited = values.pop(index, None)
    if not edited or any(p.fatal for p in edited.problems) or not same_value(edited.value, intended):
        return "the change cannot be expressed in the text as it is written; nothing was changed"
    if values.keys() != others.keys() or not all(same_value(d.value, others[i]) for i, d in values.items()):
        return "the change would reach other documents of the file; nothing was changed"
    return ""
