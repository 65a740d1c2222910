"""Plain values -> YAML that kubectl, and every YAML 1.1 or 1.2 reader, takes as the same values.

Strings are quoted whenever any reader might take them for something else (numbers, dates, `on`, `1:30`, `~` ...);
texts of several lines become block literals.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterable
from typing import Any

from ascendctl.yamlio.scalars import INT64_MIN, UINT64_MAX, resolve

MAX_DEPTH = 400
_PLAIN = re.compile(r"[A-Za-z_/][\w./+%@=(),:$-]*(?: [\w./+%@=(),:$-]+)*", re.ASCII)
_FLOW_PLAIN = re.compile(r"[A-Za-z_/][\w./+%@=()$-]*(?: [\w./+%@=()$-]+)*", re.ASCII)
_WORDS = frozenset(("y", "n", "yes", "no", "on", "off", "true", "false", "null", "nan", "inf", "infinity"))
_ESCAPED = re.compile("[\x7f-\xa0\xad\u200b-\u200f\u2028-\u202f\u205f-\u206f\u3000\ufeff\ufff0-\uffff]")
_SURROGATE = re.compile("[\ud800-\udfff]")
_NO_LITERAL = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff\ufeff\ufff0-\uffff]|\\A[ \t\n]|^[ \t]+$", re.MULTILINE
)
_LONG_KEY = 1000  # readers look for the colon of a key within 1024 characters


def to_yaml(value: Any) -> str:
    """One document in block style, two blanks deep, lists not indented, as kubectl prints them; ends with a line break.

    `value` holds dicts with string keys, lists or tuples, strings, ints, finite floats, booleans and None. Raises
    TypeError for anything else; ValueError for numbers that no reader keeps, for half a surrogate pair, and above
    MAX_DEPTH levels.
    """
    return "\n".join(block_lines(value)) + "\n"


def block_lines(value: Any, step: int = 2, list_step: int = 0, depth: int = 0) -> list[str]:
    """The lines of a value in block style. `step` is the indentation of a mapping inside a mapping, `list_step` that
    of a list inside a mapping."""
    if depth > MAX_DEPTH:
        raise ValueError(f"more than {MAX_DEPTH} levels")
    if isinstance(value, dict) and value:
        return [line for key, item in value.items() for line in _entry_lines(key, item, step, list_step, depth + 1)]
    if isinstance(value, list | tuple) and value:
        lines: list[str] = []
        for item in value:
            first, *rest = _literal(item) if is_literal(item) else block_lines(item, step, list_step, depth + 1)
            lines += ["- " + first, *(rest if is_literal(item) else _indented(rest, 2))]
        return lines
    return _literal(value) if is_literal(value) else [scalar(value)]


def _entry_lines(key: Any, value: Any, step: int, list_step: int, depth: int) -> list[str]:
    name = key_text(key)
    if len(name) > _LONG_KEY:
        first, *rest = _literal(value) if is_literal(value) else block_lines(value, step, list_step, depth)
        return ["? " + name, ": " + first, *_indented(rest, 0 if is_literal(value) else 2)]
    if is_literal(value):
        first, *rest = _literal(value, step)
        return [f"{name}: {first}", *rest]
    if isinstance(value, dict | list | tuple) and value:
        inner = block_lines(value, step, list_step, depth)
        return [f"{name}:", *_indented(inner, step if isinstance(value, dict) else list_step)]
    return [f"{name}: {scalar(value)}"]


def _indented(lines: Iterable[str], count: int) -> list[str]:
    pad = " " * count
    return [pad + line if line else line for line in lines]


def is_literal(value: Any) -> bool:
    """True for a text that is written as a block literal: several lines, none of them beyond what `|` can hold."""
    return isinstance(value, str) and "\n" in value and not _NO_LITERAL.search(value)


def _literal(text: str, indent: int = 2) -> list[str]:
    stripped = text.rstrip("\n")
    trailing = len(text) - len(stripped)
    head = "|-" if trailing == 0 else "|" if trailing == 1 else "|+"
    return [head, *_indented(stripped.split("\n"), indent), *[""] * (trailing - 1)]


def flow_text(value: Any, depth: int = 0) -> str:
    """A value in flow style on one line: `{key: In, values: [a, b]}`."""
    if depth > MAX_DEPTH:
        raise ValueError(f"more than {MAX_DEPTH} levels")
    if isinstance(value, dict):
        entries = (f"{key_text(key, flow=True)}: {flow_text(item, depth + 1)}" for key, item in value.items())
        return "{" + ", ".join(entries) + "}"
    if isinstance(value, list | tuple):
        return "[" + ", ".join(flow_text(item, depth + 1) for item in value) + "]"
    return scalar(value, flow=True)


def key_text(key: Any, flow: bool = False) -> str:
    """A key, quoted where it would not be read as this text."""
    if not isinstance(key, str):
        raise TypeError(f"a key must be text, not {type(key).__name__}")
    return quoted(key, flow)


def scalar(value: Any, flow: bool = False) -> str:
    """A scalar on one line; also `{}` and `[]`."""
    if isinstance(value, str):
        return quoted(value, flow)
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int):
        if not INT64_MIN <= value <= UINT64_MAX:
            raise ValueError(f"{value} does not fit into 64 bits")
        return str(value)
    if isinstance(value, float):
        if not math.isfinite(value):
            raise ValueError(f"{value} cannot be written")
        mantissa, e, exponent = repr(value).partition("e")
        return mantissa + (".0" if e and "." not in mantissa else "") + e + exponent
    if isinstance(value, dict | list | tuple) and not value:
        return "{}" if isinstance(value, dict) else "[]"
    raise TypeError(f"{type(value).__name__} cannot be written")


def quoted(text: str, flow: bool = False, style: str = "") -> str:
    """A text as a scalar. `style` asks for `'` or `"` where it is possible; "" quotes only what needs it."""
    if not style and _is_plain(text, flow):
        return text
    wants_single = style == "'" or (not style and ('"' in text or "\\" in text))
    if wants_single and text.isprintable() and not _ESCAPED.search(text):
        return "'" + text.replace("'", "''") + "'"
    if _SURROGATE.search(text):
        raise ValueError("half a surrogate pair cannot be written")
    return _ESCAPED.sub(lambda m: f"\\u{ord(m[0]):04x}", json.dumps(text, ensure_ascii=False))


def _is_plain(text: str, flow: bool) -> bool:
    pattern = _FLOW_PLAIN if flow else _PLAIN
    return (
        pattern.fullmatch(text) is not None
        and ": " not in text
        and not text.endswith(":")
        and text.lower() not in _WORDS
        and isinstance(resolve(text), str)
    )
