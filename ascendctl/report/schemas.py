"""Schemas as single files: every reference to another file is replaced by a copy, so that editors need no network."""

from __future__ import annotations

import copy
from typing import Any

from ascendctl.validate.schemas import at_pointer, follow, load, names

GROUPS = {
    "kinds": "structure of a Kubernetes kind",
    "products": "what a normalised Job may hold on a product",
    "output": "what a command prints",
}

SHORT_NAMES = {
    "acjob": "ascendjob",
    "vj": "vcjob",
    "deploy": "deployment",
    "sts": "statefulset",
    "po": "pod",
    "pg": "podgroup",
    "q": "queue",
    "cm": "configmap",
    "hn": "hypernode",
}
"""kubectl's short names."""


def all_schemas() -> list[tuple[str, str, str]]:
    """(group, name, title) of every schema that ships, in groups."""
    return [(group, name, load(f"{group}/{name}")["title"]) for group in GROUPS for name in names(group)]


def find_schema(wanted: str) -> str | None:
    """Group and name of a schema, such as products/a3-pod, by its name in any letter case, by the name of a kind or by
    kubectl's short name; None if there is none."""
    low = wanted.lower()
    known = {f"{group}/{name}": name for group in GROUPS for name in names(group)}
    if low in known:
        return low
    name = SHORT_NAMES.get(low, low)
    return next((key for key, own in known.items() if own == name), None)


def bundle(name: str) -> dict[str, Any]:
    """A schema with what it refers to in other files copied under `$defs`, transitively. `name` is group/name."""
    schema = copy.deepcopy(load(name))
    copies: dict[str, Any] = {}
    _localise(schema, name, name, copies)
    if copies:
        schema["$defs"] = schema.get("$defs", {}) | dict(sorted(copies.items()))
    return schema


def _localise(node: Any, file: str, root: str, copies: dict[str, Any]) -> None:
    """Lead the references below a node of schema `file` to the copies in schema `root`, and make the copies."""
    if isinstance(node, list):
        for item in node:
            _localise(item, file, root, copies)
        return
    if not isinstance(node, dict):
        return
    ref = node.get("$ref")
    if isinstance(ref, str):
        target, pointer = follow(file, ref)
        node["$ref"] = f"#{pointer}"
        if target != root:
            key = f"{target.rpartition('/')[2]}.{pointer.rpartition('/')[2] or 'root'}"
            node["$ref"] = f"#/$defs/{key}"
            if key not in copies:
                copies[key] = copy.deepcopy(at_pointer(load(target), pointer))
                _localise(copies[key], target, root, copies)
    for key, value in node.items():
        if key not in ("const", "enum", "default", "examples"):
            _localise(value, file, root, copies)
