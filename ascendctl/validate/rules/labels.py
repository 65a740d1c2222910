"""Where labels and annotations of a workload are read, for rules on their values. No rules of its own."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from ascendctl.manifest.attributes import text_map
from ascendctl.validate.entry import Entry
from ascendctl.yamlio.document import FieldPath

_OWN_METADATA = frozenset(("AscendJob", "vcjob", "PodGroup", "Pod"))
_INFER = frozenset(("InferServiceSet", "InferService", "InstanceSet"))


@dataclass(frozen=True)
class Read:
    """A value and the field that it stands in."""

    value: str
    path: FieldPath


def _spots(entry: Entry, part: str) -> Iterator[FieldPath]:
    if entry.title in _OWN_METADATA:
        yield ("metadata", part)
    if entry.title in _INFER:
        for pod in entry.pods:
            yield (*pod.path[:-2], "metadata", part)
    for pod in entry.pods:
        yield (*pod.meta, part)


def _first(entry: Entry, part: str) -> Mapping[str, Read]:
    found: dict[str, Read] = {}
    for path in _spots(entry, part):
        for key, value in text_map(entry.document, path).items():
            found.setdefault(key, Read(value, (*path, key)))
    return found


def read_labels(entry: Entry) -> Mapping[str, Read]:
    """The labels that count, the job's own before those of its templates; of a Deployment and its kin those of the
    template alone."""
    return _first(entry, "labels")


def read_annotations(entry: Entry) -> Mapping[str, Read]:
    """The annotations that count, in the same order."""
    return _first(entry, "annotations")
