"""What reading a manifest gives: plain values plus, for every key and value, where it stands in the text."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple, TypeAlias

FieldPath: TypeAlias = tuple[str | int, ...]
"""Keys and list indices from the root of a document: ("spec", "tasks", 0, "replicas"). The root is ()."""


class Mark(NamedTuple):
    """Position of one field; lines and columns count from 1.

    For list items and the root the key position equals the value position. `text` is a scalar as it is written in the
    file, without quotes (None for lists and maps); `plain` is True for an unquoted scalar. `key_text` is the key as
    it is written, where the field's name differs from it (`on` for "true"), else None.

    A field that an alias or a merge key brings stands where its anchor's text stands; `alias_line` is then the line of
    the alias (0 = no alias involved). `key_line` and `key_column` of the aliased field itself are those of its own key.
    """

    line: int
    column: int
    key_line: int
    key_column: int
    text: str | None = None
    plain: bool = False
    key_text: str | None = None
    alias_line: int = 0


@dataclass(frozen=True, slots=True)
class Problem:
    """Something wrong with the text itself (rules DOC-01, 12, 15, 17 of chapter 40); line and column count from 1.

    `fatal` is False where kubectl reads the document all the same and `Document.value` is what it reads: duplicate
    keys, overriding merge keys (DOC-15), ignored text (DOC-17). After a fatal problem the value is None.
    """

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
    a position for every field by its path. `index` counts the documents of the file from 0, `line` is its first line
    (leading comments included). Fields that are aliases of one anchor share one value: copy before changing it.
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
