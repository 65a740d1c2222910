"""JSON as the Go programs of the cluster read and write it (chapter 30 §2.2, §6.1)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import orjson

INT32 = (-(1 << 31), (1 << 31) - 1)
INT64 = (-(1 << 63), (1 << 63) - 1)

_ESCAPES = {ord('"'): '\\"', ord("\\"): "\\\\", 10: "\\n", 13: "\\r", 9: "\\t"}
for _code in (*range(32), 0x3C, 0x3E, 0x26, 0x2028, 0x2029):
    _ESCAPES.setdefault(_code, f"\\u{_code:04x}")
_SURROGATES = dict.fromkeys(range(0xD800, 0xE000), "\ufffd")
_ESCAPES |= dict.fromkeys(_SURROGATES, "\\ufffd")


class GoTypeError(ValueError):
    """A JSON value of a type that the reader's Go structure cannot take; the whole document is then unreadable."""


def go_json(value: Any) -> str:
    """Compact JSON with the escapes of Go's encoder; objects keep the order of their members."""
    if value is None:
        return "null"
    if value is True or value is False:
        return "true" if value else "false"
    if isinstance(value, str):
        return '"' + value.translate(_ESCAPES) + '"'
    if isinstance(value, int):
        return str(value)
    if isinstance(value, Mapping):
        return "{" + ",".join(f"{go_json(key)}:{go_json(item)}" for key, item in value.items()) + "}"
    if isinstance(value, Sequence):
        return "[" + ",".join(map(go_json, value)) + "]"
    raise GoTypeError(f"{type(value).__name__} has no place in a checked document")


def sha256(text: str) -> str:
    """Lower-case hexadecimal SHA-256 of the text's UTF-8 form."""
    import hashlib

    return hashlib.sha256(text.encode("utf-8", "replace")).hexdigest()


def check_code(payload: Mapping[str, Any]) -> str:
    """The CheckCode of a payload whose members stand in declaration order."""
    return sha256(go_json(payload))


def device_check_code(device_list: Mapping[str, str] | None, update_time: int) -> str:
    """The CheckCode of `DeviceInfo`; the device list is a map, so its keys are sorted by their bytes."""
    ordered = None if device_list is None else dict(sorted(device_list.items(), key=lambda item: item[0].encode()))
    return check_code({"DeviceList": ordered, "UpdateTime": update_time})


def loads(text: str) -> Any:
    """Decode a document. Raises ValueError if Go would report a syntax error.

    orjson is stricter than Go about lone surrogates; such texts take the slow way and get U+FFFD in their place.
    """
    try:
        return orjson.loads(text)
    except orjson.JSONDecodeError:
        return loads_merged(text)


def loads_merged(text: str) -> Any:
    """As `loads`, but a member that occurs twice is handled as Go does: the last counts and stands where it stood last;
    DeviceList, the one map among the members of Go structures, is merged."""
    import json

    try:
        return _without_surrogates(json.loads(text, object_pairs_hook=_merge, parse_constant=_refuse))
    except RecursionError:
        raise ValueError("nested too deeply") from None


def _without_surrogates(value: Any) -> Any:
    if isinstance(value, str):
        return value if value.isascii() else value.translate(_SURROGATES)
    if isinstance(value, list):
        return [_without_surrogates(item) for item in value]
    if isinstance(value, dict):
        return {key.translate(_SURROGATES): _without_surrogates(item) for key, item in value.items()}
    return value


def _merge(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    merged: dict[str, Any] = {}
    for key, value in pairs:
        earlier = merged.pop(key, None)
        if isinstance(earlier, dict) and isinstance(value, dict) and key.casefold() == "devicelist":
            value = earlier | value
        merged[key] = value
    return merged


def _refuse(constant: str) -> Any:
    raise ValueError(f"{constant} is no JSON number")


def members(value: Any, fields: frozenset[str]) -> Mapping[str, Any]:
    """The members of a Go structure by field name: names match exactly or, failing that, in any letter case, and of
    several spellings the last in the document counts. null is an empty structure; other types raise GoTypeError."""
    if value is None:
        return {}
    if not isinstance(value, dict):
        raise GoTypeError(f"expected an object, found {type(value).__name__}")
    if value.keys() <= fields:
        return value
    names = {field.casefold(): field for field in fields}
    return {names[folded]: item for key, item in value.items() if (folded := key.casefold()) in names}


def integer(value: Any, name: str, limits: tuple[int, int] = INT32) -> int:
    """A whole number within limits; null is 0. Anything else (5.0, "5", true) raises GoTypeError."""
    if type(value) is int and limits[0] <= value <= limits[1]:
        return value
    if value is None:
        return 0
    raise GoTypeError(f"{name} is {_show(value)}, no whole number of {64 if limits[1] > INT32[1] else 32} bits")


def text(value: Any, name: str) -> str:
    """A string; null is ""."""
    if type(value) is str:
        return value
    if value is None:
        return ""
    raise GoTypeError(f"{name} is {_show(value)}, no text")


def text_map(value: Any, name: str) -> dict[str, str]:
    """A map of strings; null is empty, a null value is ""."""
    if value is None:
        return {}
    if type(value) is not dict:
        raise GoTypeError(f"{name} is {_show(value)}, no map of texts")
    if set(map(type, value.values())) <= {str}:
        return value
    return {key: text(item, f"{name}[{key}]") for key, item in value.items()}


def _show(value: Any) -> str:
    shown = repr(value)
    return shown if len(shown) <= 40 else shown[:37] + "..."
