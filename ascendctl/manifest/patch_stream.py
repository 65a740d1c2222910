"""Documents of a file replaced by others; the rest of the file as it is."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ascendctl.yamlio.chunks import Chunk
from ascendctl.yamlio.read import locate_documents
from ascendctl.yamlio.write import to_yaml


def replaced(text: str, new: Mapping[int, Sequence[Mapping[str, Any]]]) -> str:
    """The text with some documents, by index, replaced by the given objects as YAML. Documents of a JSON stream become
    YAML too, for the two do not mix. New lines end as those of the text do."""
    end = "\r\n" if "\r\n" in text else "\n"
    parts: list[str] = []
    for document, place in locate_documents(text):
        if document.index in new:
            parts += [to_yaml(dict(value)).replace("\n", end) for value in new[document.index]]
        elif isinstance(place, Chunk):
            parts.append(_lines(text[place.start : place.end], end))
        else:
            parts.append(to_yaml(document.value).replace("\n", end))
    return f"---{end}".join(parts)


def _lines(part: str, end: str) -> str:
    return part if part.endswith("\n") else part + end
