"""Structure: what the API server would refuse of an object's fields, told by the schema of its kind (chapter 40 §3.3).

The result is also the object with every field of the type that its schema asks for, so that the rules behind it need
not look at types: a scalar that should be a string counts with its text in the file, a field of any other wrong type
counts as absent (chapter 40 §3.1 no. 1 and 7, §8.5).
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any

from ascendctl.validate.fastcheck import Check, compile_schema
from ascendctl.validate.keys import is_known_key
from ascendctl.validate.nearest import nearest
from ascendctl.validate.placeholders import shorten
from ascendctl.validate.rule import Violation
from ascendctl.validate.schemafields import best_place, nearest_field
from ascendctl.yamlio.document import Document, FieldPath, format_path

LABEL_MAPS = frozenset(("labels", "annotations", "nodeSelector", "matchLabels"))
_MAX_INTEGRAL = 1e21
"""Below this a float without fraction reaches the server as an integer (chapter 40 §8.2)."""
REPORTED = ("DOC", "K8S")
"""Families whose rules the schema decides alone; the rest of x-rule is for editors, code judges those."""


@dataclass(frozen=True)
class Structured:
    """The object as later rules may read it, and what is wrong with its structure."""

    value: Any
    violations: tuple[Violation, ...]


@dataclass(frozen=True)
class Failure:
    """One keyword of a schema that a field fails. `schema` is the part that holds the keyword."""

    path: FieldPath
    keyword: str
    schema: Mapping[str, Any]
    value: Any


@cache
def _check(name: str, volcano: str, pointer: str) -> Check:
    return compile_schema(name, volcano, pointer)


def structure(
    document: Document, name: str, volcano: str, pointer: str = "", at: FieldPath = (), unknown_fields: bool = True
) -> Structured:
    """Judge the value at a path of a document by a schema ("kinds/pod"), or by a part of it; `unknown_fields` False:
    fields that the schema does not know are let through."""
    value: Any = document.value
    for part in at:
        value = value[part]
    violations: list[Violation] = []
    value = without_nulls(document, value, at, violations)
    if _check(name, volcano, pointer)(value):
        return Structured(value, tuple(violations))
    from ascendctl.validate.failures import failures

    fixes: list[tuple[FieldPath, bool]] = []
    for failure in failures(name, volcano, pointer, value):
        violations.extend(_violations(document, failure, at, fixes, (name, volcano, pointer), unknown_fields))
    for path, drop in fixes:
        value = _fix(document, value, path, at, drop)
    return Structured(value, tuple(violations))


def without_nulls(document: Document, value: Any, path: FieldPath, out: list[Violation]) -> Any:
    """A copy without null fields: they count as absent. In maps of labels a null is a finding, added to `out`."""
    strings = bool(path) and path[-1] in LABEL_MAPS
    if isinstance(value, dict):
        kept = {}
        for key, item in value.items():
            here = (*path, key)
            if item is None:
                text = _text(document, here)
                if strings:
                    known = is_known_key(key)
                    out.append(_null_label(here, key, text, known))
                    if text:
                        kept[key] = text if known else ""
                elif ":" in key:
                    out.append(_glued(here, key))
            elif isinstance(item, dict | list):
                kept[key] = without_nulls(document, item, here, out)
            else:
                kept[key] = item
        return kept
    if isinstance(value, list):
        return [
            without_nulls(document, item, (*path, i), out) if isinstance(item, dict | list) else item
            for i, item in enumerate(value)
        ]
    return value


def _null_label(path: FieldPath, key: str, text: str, known: bool) -> Violation:
    values = {"path": format_path(path), "key": key, "text": text or "nothing", "read": "null"}
    if not text:
        return Violation(
            "DOC-08", path, values, severity="error" if known else "info",
            message=f"{format_path(path)} has no value: it is stored as the empty string",
            hint=f'write {key}: "..." with a value, or remove the line',
        )  # fmt: skip
    return Violation("DOC-08", path, values, severity="error" if known else "info")


def _glued(path: FieldPath, key: str) -> Violation:
    name, _, rest = key.rpartition(":")
    return Violation(
        "DOC-14", path, {},
        message=f"{format_path(path)} has no value: {key!r} is read as one key",
        hint=f"missing space after ':'? write {name}: {rest}",
    )  # fmt: skip


def _text(document: Document, path: FieldPath) -> str:
    mark = document.marks.get(path)
    return mark.text if mark is not None and mark.text is not None else ""


def _violations(
    document: Document,
    failure: Failure,
    at: FieldPath,
    fixes: list[tuple[FieldPath, bool]],
    where: tuple[str, str, str],
    unknown_fields: bool,
) -> Iterator[Violation]:
    path = (*at, *failure.path)
    if failure.keyword == "required":
        for key in failure.schema["required"]:
            if key not in failure.value:
                rule = _rule(failure, key)
                message = f"{format_path((*path, key))} is missing"
                yield from _reported(rule or "DOC-14", (*path, key), message, f"write {key}: ...")
    elif failure.keyword == "additionalProperties":
        known = failure.schema.get("properties", {})
        for key in failure.value:
            if key not in known and unknown_fields:
                yield _unknown(failure.path, path, key, known, where)
    elif failure.keyword == "not":
        if unknown_fields:
            message = (
                f"unknown field {format_path(path)}: the definition of this kind holds an older pod spec, so the "
                "server drops the field silently, and kubectl refuses it"
            )
            yield from _reported(_rule(failure) or "DOC-06", path, message)
    elif failure.keyword == "type":
        yield from _wrong_type(document, failure, path, fixes)
    else:
        fallback = "DOC-10" if failure.keyword == "enum" else "DOC-09"
        if failure.keyword == "const":
            return
        expects = failure.schema.get("x-expects") or _expects(failure)
        message = f"{format_path(path)} {expects}, found {_shown(document, path, failure.value)}"
        near = nearest(str(failure.value), failure.schema["enum"]) if failure.keyword == "enum" else ""
        yield from _reported(_rule(failure) or fallback, path, message, f"did you mean {near}?" if near else "")


def _reported(rule: str, path: FieldPath, message: str, hint: str = "") -> Iterator[Violation]:
    if rule.startswith(REPORTED):
        yield Violation(rule, path, {}, message=message, hint=hint)


def _rule(failure: Failure, key: str = "") -> str:
    """The rule that `x-rule` names for the keyword, "" if none."""
    rules = failure.schema.get("x-rule", {})
    rule = rules.get(failure.keyword, rules.get("*", ""))
    return str(rule.get(key, "") if isinstance(rule, dict) else rule)


def _expects(failure: Failure) -> str:
    schema, keyword = failure.schema, failure.keyword
    limit = schema[keyword]
    if keyword == "enum":
        return "must be one of " + ", ".join(json.dumps(v) if v == "" else str(v) for v in limit)
    if keyword in ("minimum", "maximum") and "minimum" in schema and "maximum" in schema:
        return f"must be from {schema['minimum']} to {schema['maximum']}"
    words = {
        "minimum": "must be at least {}", "maximum": "must be at most {}", "minLength": "must not be empty",
        "maxLength": "must have at most {} characters", "minItems": "must have at least {} items",
        "maxItems": "must have at most {} items",
    }  # fmt: skip
    return words.get(keyword, "must fit {}").format(limit)


def _wrong_type(
    document: Document, failure: Failure, path: FieldPath, fixes: list[tuple[FieldPath, bool]]
) -> Iterator[Violation]:
    wanted, value = failure.schema["type"], failure.value
    found = _shown(document, path, value)
    rule = _rule(failure)
    scalar = not isinstance(value, dict | list)
    if wanted in ("object", "array"):
        what = "a mapping" if wanted == "object" else "a list"
        hint = "missing space after ':'?" if scalar and ":" in found else ""
        if wanted == "array" and scalar:
            hint = hint or f"write - {found} on a line of its own below, or [{found}]"
        fixes.append((failure.path, True))
        yield Violation("DOC-14", path, {"path": format_path(path), "what": what, "found": found}, hint=hint)
    elif wanted == "string":
        text = _text(document, path) if scalar else ""
        fixes.append((failure.path, not scalar))
        key = str(path[-1]) if path and isinstance(path[-1], str) else ""
        values = {"path": format_path(path), "key": key, "text": text or found, "read": _read_as(text, value)}
        if rule == "DOC-07" and isinstance(value, bool):
            yield Violation("DOC-08", path, {**values, "read": "true" if value else "false"})
        elif rule == "DOC-07":
            yield Violation("DOC-07", path, {**values, "found": _kind_of(value)})
        else:
            yield from _reported_type(rule or "DOC-11", path, values)
    elif wanted == "integer":
        fixes.append((failure.path, True))
        hint = f"write {found.strip(chr(34))} without quotes" if isinstance(value, str) and _is_number(value) else ""
        yield Violation("DOC-09", path, {"path": format_path(path), "text": found}, hint=hint)
    elif wanted == "boolean":
        fixes.append((failure.path, True))
        message = f"{format_path(path)} must be true or false, found {found}"
        hint = "write true or false without quotes" if isinstance(value, str) else ""
        yield Violation("DOC-11", path, {}, message=message, hint=hint)
    elif not scalar and rule == "K8S-08":
        fixes.append((failure.path, True))
        values = {"path": format_path(path), "what": "a number with an optional unit", "found": found}
        yield Violation("DOC-14", path, values)
    else:
        fixes.append((failure.path, True))
        expects = failure.schema.get("x-expects", "must be a number or a text")
        yield from _reported(rule or "DOC-11", path, f"{format_path(path)} {expects}, found {found}")


def _read_as(text: str, value: Any) -> str:
    """What a plain scalar is taken for where its text does not show it: 08, 7e6, yes."""
    whole = isinstance(value, float) and value.is_integer() and abs(value) < _MAX_INTEGRAL
    shown = json.dumps(int(value) if whole else value) if isinstance(value, bool | int | float) else text
    return f", read as {shown}" if text and shown != text else ""


def _reported_type(rule: str, path: FieldPath, values: Mapping[str, Any]) -> Iterator[Violation]:
    if rule.startswith(REPORTED):
        yield Violation(rule, path, values)


def _is_number(text: str) -> bool:
    return text.lstrip("+-").isdigit()


def _kind_of(value: Any) -> str:
    if isinstance(value, dict):
        return "a mapping"
    return "a list" if isinstance(value, list) else "a number"


def _shown(document: Document, path: FieldPath, value: Any) -> str:
    """A value for a message: scalars as they are written, strings in quotes."""
    if isinstance(value, dict | list):
        return _kind_of(value)
    if isinstance(value, str):
        return f'"{shorten(value)}"'
    return shorten(_text(document, path) or json.dumps(value))


def _unknown(
    inside: FieldPath, path: FieldPath, key: str, known: Mapping[str, Any], where: tuple[str, str, str]
) -> Violation:
    """DOC-06 with the place where the field belongs, or the field that was meant."""
    here = (*path, key)
    near = nearest_field(key, known)
    place = "" if near else best_place(where, (*inside, key))
    hint = f"did you mean {near}?" if near else f"belongs to {place}" if place else "remove it"
    return Violation("DOC-06", here, {"path": format_path(here)}, hint=hint)


def _fix(document: Document, value: Any, path: FieldPath, at: FieldPath, drop: bool) -> Any:
    """Take out the field at a path, or put its text there."""
    if not path:
        return {} if drop else _as_text(document, at, value)
    holder: Any = value
    for part in path[:-1]:
        holder = (
            holder.get(part) if isinstance(holder, dict) else holder[int(part)] if isinstance(holder, list) else None
        )
        if holder is None:
            return value
    last: Any = path[-1]
    if isinstance(holder, dict) and last in holder:
        if drop:
            del holder[last]
        else:
            holder[last] = _as_text(document, (*at, *path), holder[last])
    elif isinstance(holder, list):
        holder[last] = None if drop else _as_text(document, (*at, *path), holder[last])
    return value


def _as_text(document: Document, path: FieldPath, value: Any) -> str:
    if value is None:
        return ""
    return _text(document, path) or (str(value).lower() if isinstance(value, bool) else str(value))
