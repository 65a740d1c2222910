"""Scheduler parameter `resource-level-config`: the node labels that name the units of each tree (chapter 22 §1)."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from ascendctl.snapshot.config import TreeLevel

TREE_LABEL = "huawei.com/topotree"
DEFAULT_TREE = "default"
MAX_LEVELS = 8

_INT64 = 1 << 63


@dataclass(frozen=True)
class LevelProblem:
    """Something wrong with the parameter. `code` is ML-C01 .. ML-C11, `tree` the tree that it concerns, None = all."""

    code: str
    severity: str
    message: str
    tree: str | None = None


@dataclass(frozen=True)
class ResourceLevels:
    """The trees that the scheduler keeps, by name in the order written, each with its levels, level1 first."""

    trees: Mapping[str, tuple[TreeLevel, ...]]
    problems: tuple[LevelProblem, ...] = ()


class _Pairs(list[tuple[str, Any]]):
    """A JSON object whose keys are kept in order, repeated ones too."""


def parse_resource_levels(text: str | None) -> ResourceLevels:
    """Read the JSON text as the scheduler does; None = the key is absent.

    Text that the scheduler cannot decode loses every tree; a tree whose keys are not exactly level1 .. levelm loses
    only itself. Of repeated keys the last counts; the field names inside a level compare without case.
    """
    if text is None:
        return ResourceLevels({}, (_problem("ML-C01", None, "resource-level-config is not set"),))
    try:
        config = json.loads(text, object_pairs_hook=_Pairs, parse_constant=_refuse)
        raw = {tree: _tree(value, tree) for tree, value in _object(config, "the value")}
    except (ValueError, RecursionError) as error:
        reason = "nested too deeply" if isinstance(error, RecursionError) else str(error)
        return ResourceLevels({}, (_problem("ML-C02", None, f"resource-level-config cannot be read: {reason}"),))
    trees: dict[str, tuple[TreeLevel, ...]] = {}
    problems: list[LevelProblem] = []
    for name, (levels, unknown) in raw.items():
        wanted = [f"level{i}" for i in range(1, len(levels) + 1)]
        if set(wanted) != set(levels):
            found = ", ".join(levels)
            problems.append(_problem("ML-C03", name, f"its levels must be exactly {', '.join(wanted)}, found {found}"))
            continue
        trees[name] = tuple(
            TreeLevel(key, levels[key].label, levels[key].reserved_nodes if i == 0 else 0)
            for i, key in enumerate(wanted)
        )
        problems += _tree_problems(name, [levels[key] for key in wanted], unknown)
    if not trees:
        problems.append(_problem("ML-C04", None, "resource-level-config has no valid tree"))
    return ResourceLevels(trees, tuple(problems))


def _problem(code: str, tree: str | None, text: str, severity: str = "") -> LevelProblem:
    by_code = {"ML-C01": "info", "ML-C07": "warning", "ML-C10": "warning", "ML-C11": "warning"}
    message = text if tree is None else f"tree '{tree}': {text}"
    return LevelProblem(code, severity or by_code.get(code, "error"), message, tree)


def _refuse(constant: str) -> Any:
    raise ValueError(f"{constant} is no JSON number")


def _object(value: Any, where: str) -> _Pairs:
    if value is None:
        return _Pairs()
    if not isinstance(value, _Pairs):
        raise ValueError(f"{where} is no JSON object")
    return value


def _tree(value: Any, tree: str) -> tuple[dict[str, TreeLevel], list[str]]:
    """Levels of one tree by key as written, and the fields that nobody reads."""
    levels: dict[str, TreeLevel] = {}
    unknown: list[str] = []
    for key, fields in _object(value, f"tree '{tree}'"):
        label, reserved = "", 0
        for field, content in _object(fields, f"{key} of tree '{tree}'"):
            name = field.casefold()
            if name == "label" and content is not None:
                if not isinstance(content, str):
                    raise ValueError(f"label of {key} of tree '{tree}' is no text")
                label = content
            elif name == "reservednode" and content is not None:
                if isinstance(content, bool) or not isinstance(content, int) or not -_INT64 <= content < _INT64:
                    raise ValueError(f"reservedNode of {key} of tree '{tree}' is no whole number")
                reserved = content
            elif name not in ("label", "reservednode"):
                unknown.append(f"{key}.{field}")
        levels[key] = TreeLevel(key, label, reserved)
    return levels, unknown


def _tree_problems(tree: str, levels: list[TreeLevel], unknown: list[str]) -> list[LevelProblem]:
    """ML-C05 .. ML-C10 of one accepted tree."""
    found: list[LevelProblem] = []
    if not levels:
        found.append(_problem("ML-C10", tree, "no level is configured, so it can never host a job"))
    seen: dict[str, str] = {TREE_LABEL: "the tree itself"}
    for i, level in enumerate(levels):
        if not level.label:
            found.append(_problem("ML-C05", tree, f"{level.name} names no label, so every node is refused"))
        elif level.label in seen:
            text = f"{level.name} uses label {level.label}, which is that of {seen[level.label]}"
            found.append(_problem("ML-C08", tree, text))
        seen.setdefault(level.label, level.name)
        if i == 0 and level.reserved_nodes < 0:
            found.append(_problem("ML-C06", tree, f"reservedNode is {level.reserved_nodes}, it must be 0 or more"))
        if i > 0 and level.reserved_nodes:
            found.append(_problem("ML-C07", tree, f"reservedNode counts on level1 only, {level.name} ignores it"))
    if len(levels) > MAX_LEVELS:
        found.append(_problem("ML-C09", tree, f"{len(levels)} levels, at most {MAX_LEVELS} are safe"))
    if unknown:
        found.append(_problem("ML-C02", tree, f"nobody reads {', '.join(unknown)}", "warning"))
    return found
