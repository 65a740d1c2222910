"""Objects of a dump that rules look up by name: queues, priority classes, companions of jobs."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from ascendctl.validate.companions import CLUSTER_WIDE

KINDS = ("Queue", "PriorityClass", "ConfigMap", "PodGroup", "Service")
_MARKS = (b'"Queue"', b'"PriorityClass"', b"kind: Queue", b"kind: PriorityClass", b"rings-config-")


def dumped_objects(paths: Sequence[str]) -> dict[tuple[str, str, str], Any]:
    """Objects by (kind, namespace, name). A file that shows no sign of what is looked up is not decoded again: dumps
    are large, and these objects few. Raises ReadError for files that cannot be read; a packed snapshot has none."""
    from ascendctl.snapshot.read import read_objects
    from ascendctl.yamlio.inputs import expand_paths, read_bytes

    found: dict[tuple[str, str, str], Any] = {}
    for path in expand_paths(paths):
        if path == "-":
            continue
        data = read_bytes(path)
        if any(mark in data for mark in _MARKS):
            for item in _flat(read_objects(data, path)):
                meta = item.get("metadata")
                kind = item.get("kind")
                if kind in KINDS and isinstance(meta, Mapping) and isinstance(meta.get("name"), str):
                    given = meta.get("namespace")
                    namespace = given if isinstance(given, str) and given else "default"
                    found[kind, "" if kind in CLUSTER_WIDE else namespace, meta["name"]] = item
    return found


def _flat(objects: Iterable[Any], inherited: str = "") -> Iterator[dict[str, Any]]:
    """Objects with the items of lists unpacked; items of a typed list inherit its kind."""
    for value in objects:
        if isinstance(value, list):
            yield from _flat(value, inherited)
        elif isinstance(value, dict):
            kind = value.get("kind") or inherited
            if isinstance(kind, str) and kind.endswith("List"):
                items = value.get("items")
                yield from _flat(items if isinstance(items, list) else (), kind.removesuffix("List"))
            else:
                yield value if "kind" in value else {**value, "kind": kind}
