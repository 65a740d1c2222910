"""Where the fields of a kind stand, for messages: "belongs to $.spec.runPolicy.schedulingPolicy.queue"."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache
from typing import Any

from ascendctl.validate.nearest import distance
from ascendctl.validate.schemas import at_pointer, follow, for_release
from ascendctl.yamlio.document import FieldPath

_MAX_DEPTH = 16
_COMMON = 12
"""A field name that stands in more places than this (name, key, path...) gives no good advice."""


@cache
def field_places(name: str, volcano: str, pointer: str = "") -> dict[str, tuple[tuple[str, ...], ...]]:
    """Field name -> the places where a kind has it, "*" for any list item or key."""
    places: dict[str, list[tuple[str, ...]]] = {}

    def walk(schema: Any, file: str, path: tuple[str, ...], seen: tuple[tuple[str, str], ...]) -> None:
        if not isinstance(schema, dict) or len(path) > _MAX_DEPTH:
            return
        if "$ref" in schema:
            target = follow(file, schema["$ref"])
            if target not in seen:
                walk(at_pointer(for_release(target[0], volcano), target[1]), target[0], path, (*seen, target))
        for key, part in schema.get("properties", {}).items():
            if not (isinstance(part, dict) and part.get("not") == {}):
                if (*path, key) not in places.setdefault(key, []):
                    places[key].append((*path, key))
                walk(part, file, (*path, key), seen)
        for keyword in ("items", "additionalProperties"):
            walk(schema.get(keyword), file, (*path, "*"), seen)
        for part in schema.get("allOf", ()):
            walk(part.get("then", part), file, path, seen)

    walk(at_pointer(for_release(name, volcano), pointer), name, (), ())
    return {key: tuple(found) for key, found in places.items()}


def best_place(where: tuple[str, str, str], path: FieldPath) -> str:
    """Where a field of that name exists, nearest to a path; "" if nowhere, or in too many places to guess."""
    candidates = field_places(*where).get(str(path[-1]), ())
    if not candidates or len(candidates) > _COMMON:
        return ""

    def shared(place: tuple[str, ...]) -> int:
        pairs = zip(place[:-1], path[:-1], strict=False)
        return next((i for i, (a, b) in enumerate(pairs) if a != "*" and a != b), min(len(place), len(path)) - 1)

    best = min(candidates, key=lambda place: (-shared(place), len(place), place))
    common = shared(best)
    text = "$"
    for i, part in enumerate(best):
        if i < common and i < len(path) - 1:
            given = path[i]
            text += f"[{given}]" if isinstance(given, int) else f".{given}"
        else:
            text += "[*]" if part == "*" else f".{part}"
    return text


def nearest_field(key: str, known: Iterable[str]) -> str:
    """A field of the same mapping that was probably meant; "" if none is close."""
    names = list(known)
    same = next((name for name in names if name.lower() == key.lower()), "")
    if same:
        return same
    near = [(distance(key.lower(), name.lower(), 2), name) for name in names if min(len(name), len(key)) > 3]
    allowed = 2 if len(key) >= 8 else 1
    near = [pair for pair in near if pair[0] <= allowed]
    return min(near)[1] if near else ""
