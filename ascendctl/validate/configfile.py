"""`.ascendctl.yaml`: options for the files below the folder that it stands in.

severity:
  SPB-13: info
  ENV-04: off
disable: [K8S-18]
product: a3-pod
volcano: "1.12"
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from dataclasses import fields, replace
from functools import cache
from typing import Any

from ascendctl.validate.options import OptionError, Options
from ascendctl.yamlio.document import Document, FieldPath

NAME = ".ascendctl.yaml"


def _text(value: Any) -> str:
    if not isinstance(value, str):
        raise ValueError("a text")
    return value


def _release(value: Any) -> str:
    return _text(str(value) if isinstance(value, float) else value)


def _flag(value: Any) -> bool:
    if not isinstance(value, bool):
        raise ValueError("true or false")
    return value


def _number(value: Any) -> int:
    if not isinstance(value, int) or isinstance(value, bool):
        raise ValueError("a whole number")
    return value


def _rules(value: Any) -> frozenset[str]:
    if not isinstance(value, list) or not all(isinstance(item, str) for item in value):
        raise ValueError("a list of rule ids")
    return frozenset(value)


def _severities(value: Any) -> Mapping[str, str]:
    levels = ("error", "warning", "info", "off")
    if not isinstance(value, dict):
        raise ValueError("a mapping of rule ids to " + ", ".join(levels))
    # an unquoted `off` is a boolean in YAML 1.1
    chosen = {rule: "off" if level is False else level for rule, level in value.items()}
    if not all(level in levels for level in chosen.values()):
        raise ValueError("a mapping of rule ids to " + ", ".join(levels))
    return chosen


def _paths(value: Any) -> tuple[tuple[str, str], ...]:
    items = value if isinstance(value, list) else None
    if items is None or not all(isinstance(item, str) and ":" in item for item in items):
        raise ValueError("a list of KIND:PATH")
    return tuple((kind, path) for kind, _, path in (item.partition(":") for item in items))


_KEYS: dict[str, tuple[str, Callable[[Any], Any]]] = {
    "severity": ("severities", _severities),
    "disable": ("disabled", _rules),
    "product": ("product", _text),
    "volcano": ("volcano", _release),
    "admission": ("admission", _flag),
    "gang": ("gang", _flag),
    "super-pod-size": ("super_pod_size", _number),
    "preset-vdev": ("preset_vdev", _flag),
    "grace-over-time": ("grace_over_time", _number),
    "dialect": ("dialect", _text),
    "strict": ("strict", _flag),
    "fail-on-unknown": ("fail_on_unknown", _flag),
    "skip": ("skip_kinds", lambda value: frozenset(_rules(value))),
    "template-path": ("template_paths", _paths),
}
"""Key -> (field of Options, what turns its value into one)."""


def effective(path: str, options: Options) -> Options:
    """The options for one file: those of the nearest `.ascendctl.yaml` upwards, under those that were given.

    Raises OptionError for a config file that cannot be read or holds what it must not.
    """
    folder = os.path.dirname(os.path.abspath(path))
    found = _nearest(folder)
    return apply(_parsed(found), options) if found else options


def forget() -> None:
    """Look for config files anew: they may have changed since the last run."""
    _nearest.cache_clear()
    _parsed.cache_clear()


def apply(chosen: Mapping[str, Any], options: Options) -> Options:
    """Lay options over those of a config file: what differs from the default was given and wins; rules that are
    switched off add up."""
    defaults = {f.name: getattr(Options(), f.name) for f in fields(Options)}
    changes: dict[str, Any] = {}
    for name, value in chosen.items():
        given = getattr(options, name)
        if name == "severities":
            changes[name] = {**value, **given}
        elif name == "disabled":
            changes[name] = value | given
        elif given == defaults[name]:
            changes[name] = value
    return replace(options, **changes)


@cache
def _nearest(folder: str) -> str:
    candidate = os.path.join(folder, NAME)
    if os.path.isfile(candidate):
        return candidate
    parent = os.path.dirname(folder)
    return _nearest(parent) if parent != folder else ""


@cache
def _parsed(path: str) -> Mapping[str, Any]:
    """Fields of Options from a config file."""
    from ascendctl.yamlio.errors import ReadError
    from ascendctl.yamlio.read import read_file

    try:
        documents = read_file(path)
    except ReadError as error:
        raise OptionError(str(error)) from None
    chosen: dict[str, Any] = {}
    for document in documents[:1]:
        for problem in document.problems:
            raise OptionError(f"{path}:{problem.line}:{problem.column}: {problem.message}")
        for key, value in document.value.items():
            name, convert = _KEYS.get(key, ("", None))
            if convert is None:
                raise OptionError(f"{_at(path, document, (key,))}: unknown key {key!r}; known: {', '.join(_KEYS)}")
            try:
                chosen[name] = convert(value)
            except ValueError as error:
                raise OptionError(f"{_at(path, document, (key,))}: {key} must be {error}") from None
        _check_rules(path, document, chosen)
    return chosen


def _check_rules(path: str, document: Document, chosen: Mapping[str, Any]) -> None:
    from ascendctl.validate.catalogue import find_rule

    places: list[tuple[FieldPath, str]] = [(("severity", rule), rule) for rule in chosen.get("severities", ())]
    listed = document.value.get("disable", []) if "disabled" in chosen else []
    places += [(("disable", i), rule) for i, rule in enumerate(listed)]
    for at, rule in places:
        if find_rule(rule) is None:
            raise OptionError(f"{_at(path, document, at)}: no rule {rule}")


def _at(path: str, document: Document, field: FieldPath) -> str:
    mark = document.marks.get(field)
    return f"{path}:{mark.key_line}:{mark.key_column}" if mark else path
