"""The slow half of the structure check: jsonschema says where a document does not fit its schema, and why."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import cache
from typing import Any

import jsonschema
from jsonschema.exceptions import ValidationError
from referencing import Registry, Resource
from referencing.jsonschema import DRAFT202012

from ascendctl.validate.fastcheck import matcher
from ascendctl.validate.schemas import for_release, load, names
from ascendctl.validate.structure import Failure


def _pattern(validator: Any, pattern: str, instance: Any, schema: Any) -> Iterator[ValidationError]:
    if isinstance(instance, str) and not matcher(pattern)(instance):
        yield ValidationError(f"{instance!r} does not match {pattern!r}")


# `$` is the end of the text in ECMAScript; Python also lets it stand before a last line break
_Validator: Any = jsonschema.validators.extend(  # type: ignore[no-untyped-call]
    jsonschema.Draft202012Validator, {"pattern": _pattern}
)


@cache
def _registry(volcano: str) -> Registry[Any]:
    resources: list[tuple[str, Resource[Any]]] = []
    for group in ("kinds", "products"):
        for name in names(group):
            # with "$schema" in it, jsonschema would go on with its own class for the draft instead of `_Validator`
            schema = {k: v for k, v in for_release(f"{group}/{name}", volcano).items() if k != "$schema"}
            resources.append((schema["$id"], DRAFT202012.create_resource(schema)))
    return Registry().with_resources(resources)


@cache
def _validator(name: str, volcano: str, pointer: str) -> Any:
    return _Validator({"$ref": load(name)["$id"] + "#" + pointer}, registry=_registry(volcano))


def failures(name: str, volcano: str, pointer: str, value: Any) -> Iterator[Failure]:
    """Every keyword that fails, each once, in document order."""
    seen = set()
    for error in _leaves(_validator(name, volcano, pointer).iter_errors(value)):
        key = (tuple(error.absolute_path), error.validator)
        if key not in seen:
            seen.add(key)
            schema = error.schema if isinstance(error.schema, dict) else {}
            yield Failure(key[0], str(error.validator), schema, error.instance)


def _leaves(errors: Iterable[ValidationError]) -> Iterator[ValidationError]:
    """Errors without branches below them; of anyOf and oneOf only the branch that fits best."""
    for error in errors:
        if error.validator in ("anyOf", "oneOf") and error.context:
            yield from _leaves(_best_branch(error.context))
        else:
            yield error


def _best_branch(context: Iterable[ValidationError]) -> list[ValidationError]:
    """The errors of the branch that goes deepest into the value, then of the one with the fewest errors."""
    branches: dict[Any, list[ValidationError]] = {}
    for error in context:
        branches.setdefault(error.schema_path[0], []).append(error)

    def misfit(errors: list[ValidationError]) -> tuple[int, int, int]:
        shallow = sum(1 for e in errors if not e.path)
        return shallow, -max(len(e.path) for e in errors), len(errors)

    return min(branches.values(), key=misfit)
