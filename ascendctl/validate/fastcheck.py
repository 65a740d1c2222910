"""A schema compiled to nested Python functions that say yes or no.

Nearly every document fits its schema, and importing jsonschema costs more than judging a hundred documents this way.
So the answer "fits" comes from here, and only a document that does not fit is given to jsonschema, which says where
and why. A test holds both to the same answers. Covered are the keywords that the bundled schemas use; any other
raises ValueError when the schema is compiled.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any, TypeAlias

from ascendctl.validate.schemas import at_pointer, follow, for_release

Check: TypeAlias = Callable[[Any], bool]

_NOTES = frozenset(
    ("$schema", "$id", "$defs", "title", "description", "examples", "default", "x-rule", "x-expects", "x-since")
)


def compile_schema(name: str, volcano: str, pointer: str = "") -> Check:
    """The check of a schema such as "kinds/pod" for one Volcano release, or of a part of it."""
    return _Compiler(volcano).at(name, pointer)


def matcher(pattern: str) -> Callable[[str], Any]:
    """The search function of a schema pattern; `$` is the end of the text, as ECMAScript has it."""
    return re.compile(pattern.replace("$", r"\Z")).search


class _Compiler:
    """Keeps one function for each place that a `$ref` leads to."""

    def __init__(self, volcano: str) -> None:
        self._volcano = volcano
        self._known: dict[tuple[str, str], Check] = {}

    def at(self, name: str, pointer: str) -> Check:
        key = (name, pointer)
        if key not in self._known:
            self._known[key] = lambda value: self._known[key](value)  # a schema may lead back to itself
            self._known[key] = self._compile(at_pointer(for_release(name, self._volcano), pointer), name)
        return self._known[key]

    def _compile(self, schema: Any, name: str) -> Check:
        if schema is True or schema == {}:
            return _anything
        if schema is False:
            return _nothing
        checks: list[Check] = []
        rest = schema.keys() - _NOTES
        if "$ref" in schema:
            checks.append(self.at(*follow(name, schema["$ref"])))
            rest -= {"$ref"}
        for keyword in ("type", "enum", "const", "pattern", "minimum", "maximum", "minLength", "maxLength"):
            if keyword in rest:
                checks.append(_SCALARS[keyword](schema[keyword]))
        rest -= _SCALARS.keys()
        if rest & _OBJECT:
            checks.append(self._object(schema, name))
        if rest & _ARRAY:
            checks.append(self._array(schema, name))
        rest -= _OBJECT | _ARRAY
        for keyword in ("allOf", "anyOf"):
            if keyword in rest:
                parts = [self._compile(part, name) for part in schema[keyword]]
                checks.extend(parts if keyword == "allOf" else [_any_of(parts)])
        if "if" in rest:
            checks.append(_condition(*(self._compile(schema.get(k, True), name) for k in ("if", "then", "else"))))
        if "not" in rest:
            inner = self._compile(schema["not"], name)
            checks.append(lambda value: not inner(value))
        unknown = rest - {"allOf", "anyOf", "if", "then", "else", "not"}
        if unknown:
            raise ValueError(f"{name}: keywords without a compiled form: {', '.join(sorted(unknown))}")
        return _all_of(checks)

    def _object(self, schema: dict[str, Any], name: str) -> Check:
        fields = {key: self._compile(part, name) for key, part in schema.get("properties", {}).items()}
        others = self._compile(schema.get("additionalProperties", True), name)
        required = tuple(schema.get("required", ()))
        names_fit = self._compile(schema.get("propertyNames", True), name)
        least = schema.get("minProperties", 0)

        def check(value: Any) -> bool:
            if not isinstance(value, dict):
                return True
            if len(value) < least or any(key not in value for key in required):
                return False
            if names_fit is not _anything and not all(map(names_fit, value)):
                return False
            return all(fields.get(key, others)(item) for key, item in value.items())

        return check

    def _array(self, schema: dict[str, Any], name: str) -> Check:
        items = self._compile(schema.get("items", True), name)
        least, most = schema.get("minItems", 0), schema.get("maxItems", float("inf"))

        def check(value: Any) -> bool:
            return not isinstance(value, list) or (least <= len(value) <= most and all(map(items, value)))

        return check


def _anything(value: Any) -> bool:
    return True


def _nothing(value: Any) -> bool:
    return False


def _all_of(checks: list[Check]) -> Check:
    if len(checks) == 1:
        return checks[0]
    if len(checks) == 2:
        first, second = checks
        return lambda value: first(value) and second(value)
    return lambda value: all(check(value) for check in checks)


def _any_of(checks: list[Check]) -> Check:
    return lambda value: any(check(value) for check in checks)


def _condition(when: Check, then: Check, otherwise: Check) -> Check:
    return lambda value: then(value) if when(value) else otherwise(value)


def _is_integer(value: Any) -> bool:
    return type(value) is int or (type(value) is float and value.is_integer())


_TYPES: dict[str, Check] = {
    "object": lambda value: isinstance(value, dict),
    "array": lambda value: isinstance(value, list),
    "string": lambda value: isinstance(value, str),
    "boolean": lambda value: isinstance(value, bool),
    "null": lambda value: value is None,
    "integer": _is_integer,
    "number": lambda value: type(value) in (int, float),
}


def _type(wanted: str | list[str]) -> Check:
    return _TYPES[wanted] if isinstance(wanted, str) else _any_of([_TYPES[name] for name in wanted])


def _same(left: Any, right: Any) -> bool:
    return bool(left == right) and isinstance(left, bool) == isinstance(right, bool)


def _enum(values: list[Any]) -> Check:
    return lambda value: any(_same(value, one) for one in values)


def _number(test: Callable[[float], bool]) -> Check:
    return lambda value: type(value) not in (int, float) or test(value)


def _string(test: Callable[[str], Any]) -> Check:
    return lambda value: not isinstance(value, str) or bool(test(value))


_SCALARS: dict[str, Callable[[Any], Check]] = {
    "type": _type,
    "enum": _enum,
    "const": lambda wanted: lambda value: _same(value, wanted),
    "pattern": lambda pattern: _string(matcher(pattern)),
    "minimum": lambda least: _number(lambda value: value >= least),
    "maximum": lambda most: _number(lambda value: value <= most),
    "minLength": lambda least: _string(lambda text: len(text) >= least),
    "maxLength": lambda most: _string(lambda text: len(text) <= most),
}
_OBJECT = frozenset(("properties", "additionalProperties", "required", "propertyNames", "minProperties"))
_ARRAY = frozenset(("items", "minItems", "maxItems"))
