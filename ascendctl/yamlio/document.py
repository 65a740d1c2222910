"""What reading a manifest gives: plain values plus, for every key and value, where it stands in the text."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, TypeAlias

FieldPath: TypeAlias = tuple[str | int, ...]
"""Keys and list indices from the root of a document: ("spec", "tasks", 0, "replicas"). The root is ()."""


@dataclass(frozen=True, slots=True)
class Mark:
    """Position of one field; lines and columns count from 1.

    For list items and the root the key position equals the value position. `text` is a scalar as it is written in the
    file, without quotes (None for lists and maps); `plain` is True for an unquoted scalar.
    """

    line: int
    column: int
    key_line: int
    key_column: int
    text: str | None = None
    plain: bool = False


@dataclass(frozen=True, slots=True)
class Problem:
    """Something wrong with the text itself (rules DOC-01, 12, 17 of chapter 40); line and column count from 1."""

    rule: str
    message: str
    hint: str
    line: int
    column: int
    fatal: bool = True
    path: FieldPath = ()


@dataclass(frozen=True)
class Document:
    """One document of a stream.

    `value` is what the API server would see (chapter 40 §8): dict, list, str, int, float, bool or None. `marks` holds
    a position for every field by its path. `index` counts the documents of the file from 0, `line` is its first line.
    """

    file: str
    index: int
    line: int
    value: Any
    marks: Mapping[FieldPath, Mark] = field(default_factory=dict)
    problems: tuple[Problem, ...] = ()


def format_path(path: FieldPath) -> str:
    """A field path as people write it: `$.metadata.annotations['sp-block']`, `$.spec.tasks[0].replicas`."""
    text = "$"
    for part in path:
        if isinstance(part, int):
            text += f"[{part}]"
        elif part.replace("_", "a").isalnum() and part.isascii() and not part[:1].isdigit():
            text += f".{part}"
        else:
            text += "['" + part.replace("\\", "\\\\").replace("'", "\\'") + "']"
    return text


def json_pointer(path: FieldPath) -> str:
    """A field path as a JSON Pointer (RFC 6901): `/metadata/annotations/sp-block`."""
    return "".join("/" + str(part).replace("~", "~0").replace("/", "~1") for part in path)
