"""What a series of changes means for a document: the value it will have, and which fields are touched."""

from __future__ import annotations

from typing import Any, TypeAlias

from ascendctl.yamlio.document import FieldPath, format_path


class EditError(Exception):
    """The change cannot be made without touching something else; the message says what, with lines."""


class Set:
    """A leaf of a plan: the whole field gets this value."""

    __slots__ = ("value",)

    def __init__(self, value: Any) -> None:
        self.value = value

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Set) and same_value(self.value, other.value)

    __hash__ = None  # type: ignore[assignment]


Plan: TypeAlias = "dict[str | int, Plan | Set]"


def unshared(value: Any) -> Any:
    """A copy in which aliased fields no longer share one object."""
    if isinstance(value, dict):
        return {key: unshared(item) for key, item in value.items()}
    return [unshared(item) for item in value] if isinstance(value, list | tuple) else value


def same_value(left: Any, right: Any) -> bool:
    """Equality of plain values that tells 1 from true and from 1.0."""
    if type(left) is not type(right):
        return False
    if isinstance(left, dict):
        return left.keys() == right.keys() and all(same_value(item, right[key]) for key, item in left.items())
    if isinstance(left, list):
        return len(left) == len(right) and all(map(same_value, left, right))
    return bool(left == right)


def apply_change(root: Any, path: FieldPath, value: Any, done: FieldPath = ()) -> None:
    """Set a field of a plain value in place, creating what is missing on the way. `done` is the path of `root` for
    messages. Raises EditError where the path leads through a scalar or beyond the end of a list."""
    box = root
    for depth, part in enumerate(path):
        here = done + path[:depth]
        if isinstance(part, int):
            if not isinstance(box, list) or not 0 <= part <= len(box):
                raise EditError(f"{format_path((*here, part))}: there is no list of that length")
            if part == len(box):
                box.append(None)
        elif not isinstance(box, dict):
            raise EditError(f"{format_path(here)} is no mapping")
        if depth == len(path) - 1:
            box[part] = unshared(value)
        else:
            inner = box.get(part) if isinstance(box, dict) else box[int(part)]
            if inner is None:
                inner = box[part] = [] if isinstance(path[depth + 1], int) else {}
            box = inner


def add_to_plan(plan: Plan, path: FieldPath, value: Any) -> None:
    """Add one more change to a plan; later changes win."""
    for depth, part in enumerate(path[:-1]):
        step = plan.setdefault(part, {})
        if isinstance(step, Set):
            if step.value is None:
                step.value = [] if isinstance(path[depth + 1], int) else {}
            apply_change(step.value, path[depth + 1 :], value, path[: depth + 1])
            return
        plan = step
    plan[path[-1]] = Set(unshared(value))


def planned(plan: Plan | Set, value: Any) -> Any:
    """The value that a field will have."""
    if isinstance(plan, Set):
        return plan.value
    if value is None:
        value = [] if any(isinstance(part, int) for part in plan) else {}
    result = unshared(value)
    for part, step in plan.items():
        is_new = part not in result if isinstance(result, dict) else int(part) >= len(result)
        changed = planned(step, None if is_new else result[part])
        if is_new and isinstance(result, list):
            result.append(changed)
        else:
            result[part] = changed
    return result
