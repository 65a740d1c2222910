"""Machine formats: one document, or a List of several, as JSON or YAML."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ascendctl.engine.result import API_VERSION


def as_document(documents: Sequence[dict[str, Any]], name: str) -> str:
    """One document as it is, several as a List; `name` is "json" or "yaml"."""
    if len(documents) == 1:
        return dump(documents[0], name)
    return dump({"apiVersion": API_VERSION, "kind": "List", "items": list(documents)}, name)


def dump(value: Any, name: str) -> str:
    """A value as JSON (two blanks deep, keys in order, control characters as escapes) or as YAML."""
    if name == "yaml":
        from ascendctl.yamlio.write import to_yaml

        return to_yaml(value)
    import orjson

    from ascendctl.report.text import json_escaped

    try:
        text = orjson.dumps(value, option=orjson.OPT_INDENT_2 | orjson.OPT_NON_STR_KEYS).decode()
    except orjson.JSONEncodeError:  # a number of more than 64 bits, half of a surrogate pair
        import json

        text = json.dumps(value, indent=2)
    return json_escaped(text)
