"""Objects that other objects name: PodGroups, Queues, ConfigMaps... in the same file, in the other files, in the dump.

Lookups go by kind, namespace and name; the set (the documents of one file) comes first (chapter 40 §3.1 no. 6).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from ascendctl.validate.entry import COMPANION, Entry
from ascendctl.validate.options import Options

ObjectKey = tuple[str, str, str]
"""(kind, namespace, name); the kind of a Volcano Job is "vcjob", cluster-wide kinds have namespace ""."""

CLUSTER_WIDE = frozenset(("Queue", "PriorityClass", "ClusterServingRuntime"))
_KEPT = frozenset(("PodGroup", "Queue", "ClusterServingRuntime", "ServingRuntime"))
"""Kinds whose content matters to other files; of the rest only the name is kept."""


def key_of(entry: Entry) -> ObjectKey:
    """The key under which an object is found."""
    return entry.title, "" if entry.kind_name in CLUSTER_WIDE else entry.namespace, entry.name


@dataclass(frozen=True)
class Context:
    """What the rules may look at beside the object itself. `entries` are the objects of its file in order, `others`
    those of the other files of the run by key."""

    options: Options
    entries: tuple[Entry, ...] = ()
    others: Mapping[ObjectKey, Any] = field(default_factory=dict)

    def in_set(self, kind: str, namespace: str, name: str) -> Entry | None:
        """The object of that name in the same file."""
        wanted = (kind, "" if kind in CLUSTER_WIDE else namespace, name)
        return next((entry for entry in self.entries if key_of(entry) == wanted), None)

    def find(self, kind: str, namespace: str, name: str) -> Any:
        """The object of that name in the same file or another file of the run; {} where only its name is kept, None if
        it is nowhere."""
        entry = self.in_set(kind, namespace, name)
        if entry is not None:
            return entry.value
        key = (kind, "" if kind in CLUSTER_WIDE else namespace, name)
        return self.others.get(key, self.options.dumped.get(key))

    def has_dumped(self, kind: str) -> bool:
        """True if the snapshot brought objects of a kind, so that a missing one is missing in the cluster."""
        return any(known == kind for known, _, _ in self.options.dumped)

    @property
    def workloads(self) -> tuple[Entry, ...]:
        """Objects of the file that have pods."""
        return tuple(entry for entry in self.entries if entry.case != COMPANION and entry.pods)


def index(entries: Iterable[Entry]) -> dict[ObjectKey, Any]:
    """What the other files of a run need to know of these objects."""
    return {key_of(entry): entry.value if entry.kind_name in _KEPT else {} for entry in entries if entry.name}
