"""Attributes of a job as the scheduler plugin merges them from PodGroup and pods (chapter 40 §1.8, §1.9)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from ascendctl.manifest.kinds import dig
from ascendctl.wellknown import MIN_AVAILABLE, POLICY
from ascendctl.yamlio.document import Document, FieldPath

Origins = dict[tuple[str | int, ...], FieldPath]

COPIED_ANNOTATIONS = (
    POLICY,
    "sp-block",
    "ra-block",
    "sp-fit",
    MIN_AVAILABLE,
    "huawei.com/recover_policy_path",
    "huawei.com/infer_service_schedule",
    "huawei.com/affinity-config",
)
"""Annotations that the plugin takes from one pod where the PodGroup lacks them (group A of chapter 40 §1.8)."""


def text_map(document: Document, path: FieldPath) -> dict[str, str]:
    """Labels, annotations or a selector as texts. A value that is no text counts with what stands in the file, as if it
    had been quoted (chapter 40 §3.1 no. 7); an empty one counts as absent."""
    found = dig(document.value, path)
    if not isinstance(found, dict):
        return {}
    result = {}
    for key, value in found.items():
        if not isinstance(value, str) and (value := as_written(document, (*path, key), value)) is None:
            continue
        result[key] = value
    return result


def as_written(document: Document, path: FieldPath, value: Any) -> str | None:
    """A scalar as its text in the file; None for lists, maps and an empty value."""
    mark = document.marks.get(path)
    if mark is not None and mark.text is not None:
        return mark.text or None
    return None if value is None or isinstance(value, list | Mapping) else str(value)


def _overlap(left: str, right: str) -> bool:
    parts = {part.lower() for part in right.split("|")}
    return any(part.lower() in parts for part in left.split("|"))


def merge(base: Mapping[str, str], maps: Iterable[Mapping[str, str]]) -> dict[str, str]:
    """Merge label or selector maps of pods into a base: values that differ (but for case) are joined with '|'."""
    merged = dict(base)
    for one in maps:
        for key, value in one.items():
            if key not in merged:
                merged[key] = value
            elif not _overlap(merged[key], value):
                merged[key] += "|" + value
    return merged


def merge_annotations(group: Mapping[str, str], pods: Iterable[Mapping[str, str]]) -> dict[str, str]:
    """Annotations of the PodGroup; the copied keys that it lacks come from the first pod in rank order (the reference
    takes any)."""
    merged = dict(group)
    first: Mapping[str, str] = next(iter(pods), {})
    merged.update({key: first[key] for key in COPIED_ANNOTATIONS if key in first and key not in merged})
    return merged
