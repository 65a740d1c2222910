"""What the snapshot's own loader passes over but rules look up: Queues, PriorityClasses, PodGroups, names of ConfigMaps
and workloads."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from ascendctl.validate.companions import CLUSTER_WIDE, ObjectKey

_KEPT = frozenset(("Queue", "PodGroup"))
_NAMED = frozenset(("PriorityClass", "ConfigMap", "Deployment", "StatefulSet"))
_VOLCANO_JOB = "batch.volcano.sh/"


def dumped_objects(source: str | os.PathLike[str] | Sequence[str | Path | Mapping[str, Any]]) -> dict[ObjectKey, Any]:
    """Objects by (kind, namespace, name) for `Options.dumped`; of all but Queues and PodGroups only the names.

    `source` is what `load_snapshot` takes; a packed snapshot holds none of them. Raises ReadError as that does.
    """
    entries: list[Any] = [source] if isinstance(source, str | os.PathLike) else list(source)
    found: dict[ObjectKey, Any] = {}
    for value in _objects(entries):
        kind = value.get("kind")
        if kind == "Job" and str(value.get("apiVersion", "")).startswith(_VOLCANO_JOB):
            kind = "vcjob"
        meta = value.get("metadata")
        name = meta.get("name") if isinstance(meta, Mapping) else None
        if not (isinstance(kind, str) and isinstance(meta, Mapping) and isinstance(name, str)):
            continue
        if kind in _KEPT | _NAMED or kind == "vcjob":
            namespace = "" if kind in CLUSTER_WIDE else str(meta.get("namespace") or "default")
            found[kind, namespace, name] = value if kind in _KEPT else {}
    return found


def _objects(entries: Sequence[Any]) -> Iterator[Mapping[str, Any]]:
    paths = [entry for entry in entries if isinstance(entry, str | os.PathLike)]
    yield from _flat(entry for entry in entries if not isinstance(entry, str | os.PathLike))
    if paths:
        from ascendctl.snapshot.load import MAGIC
        from ascendctl.snapshot.read import read_objects
        from ascendctl.yamlio.inputs import expand_paths, read_bytes

        for path in expand_paths(paths):
            data = read_bytes(path)
            if not data.startswith(MAGIC):
                yield from _flat(read_objects(data, path))


def _flat(values: Iterable[Any]) -> Iterator[Mapping[str, Any]]:
    """Objects, those inside lists too; items of a list without kind have the list's."""
    for value in values:
        if not isinstance(value, Mapping):
            continue
        items, kind = value.get("items"), value.get("kind")
        if isinstance(items, list) and (not isinstance(kind, str) or kind.endswith("List")):
            inner = {"kind": str(kind).removesuffix("List"), "apiVersion": value.get("apiVersion")} if kind else {}
            yield from _flat({**inner, **item} for item in items if isinstance(item, Mapping))
        else:
            yield value
