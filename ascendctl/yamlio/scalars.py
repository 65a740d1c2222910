"""Scalars as the API server's YAML reader takes them (chapter 40 §8.2, §8.3)."""

from __future__ import annotations

import math
import re
from typing import TypeAlias

Scalar: TypeAlias = bool | int | float | str | None

_WORDS: dict[str, Scalar] = {
    **dict.fromkeys(("", "~", "null", "Null", "NULL")),
    **dict.fromkeys(("y", "Y", "yes", "Yes", "YES", "true", "True", "TRUE", "on", "On", "ON"), True),
    **dict.fromkeys(("n", "N", "no", "No", "NO", "false", "False", "FALSE", "off", "Off", "OFF"), False),
    **dict.fromkeys((".inf", ".Inf", ".INF", "+.inf", "+.Inf", "+.INF"), math.inf),
    **dict.fromkeys(("-.inf", "-.Inf", "-.INF"), -math.inf),
    **dict.fromkeys((".nan", ".NaN", ".NAN"), math.nan),
}
_NUMBER_START = frozenset("0123456789+-.")
_INTEGER = re.compile(r"([-+]?)(?:0[xX]([0-9a-fA-F]+)|0[bB]([01]+)|0[oO]?([0-7]+)|(0|[1-9][0-9]*))")
_FLOAT = re.compile(r"[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?")
_DOT_FLOAT = re.compile(r"\.[0-9]+(?:_[0-9]+)*(?:[eE][-+]?[0-9]+(?:_[0-9]+)*)?")
_DATE = re.compile(r"[0-9]{4}-[0-9]{1,2}-[0-9]{1,2}(?:[Tt ].*)?")

INT64_MIN, INT64_MAX, UINT64_MAX = -(1 << 63), (1 << 63) - 1, (1 << 64) - 1

TAG_PREFIX = "tag:yaml.org,2002:"
MERGE_TAG = TAG_PREFIX + "merge"
_TAGGED_TYPES: dict[str, tuple[type, ...]] = {
    "bool": (bool,),
    "int": (int,),
    "float": (float, int),
    "null": (type(None),),
}


def resolve(text: str) -> Scalar:
    """The value of a plain scalar: `text` without surrounding blanks. Infinities and NaN come back as floats; a float
    with an integral value stays a float here (`field_value` makes it what the server stores)."""
    if text in _WORDS:
        return _WORDS[text]
    first = text[0]
    if first not in _NUMBER_START:
        return text
    if first == ".":
        return _finite_float(text) if _DOT_FLOAT.fullmatch(text) else text
    digits = text.replace("_", "") if "_" in text else text
    match = _INTEGER.fullmatch(digits)
    if match:
        value = _integer(match)
        if value is not None:
            return value
    if _FLOAT.fullmatch(digits):
        number = float(digits)
        return number if math.isfinite(number) else text
    return text


def _integer(match: re.Match[str]) -> int | None:
    sign, hexadecimal, binary, octal, decimal = match.groups()
    digits = hexadecimal or binary or octal or decimal
    base = 16 if hexadecimal else 2 if binary else 8 if octal else 10
    digits = digits.lstrip("0") or "0"
    if len(digits) > 64:
        return None
    value = int(digits, base)
    if sign == "-":
        value = -value
    limit = INT64_MAX if sign else UINT64_MAX
    return value if INT64_MIN <= value <= limit else None


def _finite_float(text: str) -> Scalar:
    number = float(text)
    return number if math.isfinite(number) else text


def resolve_tagged(tag: str, text: str) -> Scalar:
    """The value of a scalar with an explicit tag, whatever its style (chapter 40 §8.4).

    Raises ValueError where the text is no such value; tags that nobody knows keep the text.
    """
    name = tag.removeprefix(TAG_PREFIX) if tag.startswith(TAG_PREFIX) else ""
    if name == "binary":
        return _binary(text)
    if name == "timestamp":
        if not _DATE.fullmatch(text):
            raise ValueError(f"cannot decode {shown(text)} as !!timestamp")
        return text
    if name not in _TAGGED_TYPES:
        return text
    value = resolve(text)
    if not isinstance(value, _TAGGED_TYPES[name]) or (isinstance(value, bool) and name != "bool"):
        raise ValueError(f"cannot decode {shown(text)} as !!{name}")
    return float(value) if name == "float" and isinstance(value, int) else value


def _binary(text: str) -> str:
    import base64
    import binascii

    try:
        data = base64.b64decode(text.replace("\n", "").replace("\r", ""), validate=True)
    except (binascii.Error, ValueError):
        raise ValueError("!!binary value contains invalid base64 data") from None
    return data.decode("utf-8", "replace")


def field_value(value: Scalar) -> Scalar:
    """What the server holds after the detour over JSON: an integral float in the range of int64 is an integer."""
    if type(value) is float and value.is_integer() and INT64_MIN <= value <= INT64_MAX:
        return int(value)
    return value


def json_number(text: str) -> Scalar:
    """The value of a JSON number. Raises ValueError if it is out of the range of a double."""
    if len(text) < 25 and text.lstrip("-").isdigit():
        value = int(text)
        if INT64_MIN <= value <= UINT64_MAX:
            return value
    number = float(text)
    if not math.isfinite(number):
        raise ValueError(f"{shown(text)} is out of range")
    return field_value(number)


def key_text(value: Scalar) -> str:
    """The field name that a key becomes (chapter 40 §8.3). Raises ValueError for null and for integers above 2^63-1."""
    if isinstance(value, str):
        return value
    if value is None:
        raise ValueError("null cannot be a key")
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int):
        if value > INT64_MAX:
            raise ValueError(f"{value} cannot be a key")
        return str(value)
    return _float_key(value)


def _float_key(value: float) -> str:
    """A float as Go's FormatFloat(value, 'g', -1, 32) writes it, infinities and NaN as YAML words."""
    import struct

    if math.isnan(value):
        return ".nan"
    try:
        packed = struct.pack("f", value)
    except OverflowError:
        packed = struct.pack("f", math.copysign(math.inf, value))
    (single,) = struct.unpack("f", packed)
    if math.isinf(single):
        return ".inf" if single > 0 else "-.inf"
    for precision in range(9):
        shortest = f"{single:.{precision}e}"
        if struct.pack("f", float(shortest)) == packed:
            break
    power = int(shortest.partition("e")[2])
    if power < -4 or power >= 6:
        return shortest
    return f"{single:.{max(precision - power, 0)}f}"


def shown(text: str, limit: int = 60) -> str:
    """Text quoted for a message: control characters escaped, cut to `limit` characters."""
    cut = text if len(text) <= limit else text[: limit - 1] + "…"
    return "'" + "".join(c if c.isprintable() else c.encode("unicode_escape", "replace").decode() for c in cut) + "'"
