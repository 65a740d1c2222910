"""Placements that an earlier command printed: PlacementResult documents, one or a List of several."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ascendctl.cli import common

_HINT = "write it with `ascendctl place JOB -s DUMP -o json`"


def read_placements(path: str) -> list[dict[str, Any]]:
    """All placements of a file; anything else in it, or a job without a place, ends the program with exit code 2."""
    return [_checked(path, document) for document in _documents(path)]


def placement_of(path: str, job: Any) -> dict[str, Any]:
    """The placement of one job among those of a file; none, or only such of other jobs, ends the program with exit
    code 2."""
    documents = _documents(path)
    found = [document for document in documents if title(document) in ("", job.key)]
    if not found:
        raise common.Unreadable(f"{path}: is about {', '.join(map(title, documents))}, not about {job.key}")
    if len(found) > 1:
        raise common.Unreadable(f"{path}: holds {len(found)} placements of {job.key}")
    return _checked(path, found[0])


def _documents(path: str) -> list[dict[str, Any]]:
    from ascendctl.yamlio.errors import ReadError
    from ascendctl.yamlio.inputs import read_all

    def read() -> list[dict[str, Any]]:
        found: list[Any] = []
        for value in (document.value for document in read_all([path]) if document.value is not None):
            items = value.get("items") if value.get("kind") == "List" else [value]
            found += items if isinstance(items, list) else [items]
        if not found or any(not isinstance(d, dict) or d.get("kind") != "PlacementResult" for d in found):
            raise ReadError(path, "is not a PlacementResult document or a List of such", _HINT)
        return found

    common.claim_stdin([path], "a placement")
    documents: list[dict[str, Any]] = common.readable(read)
    return documents


def _checked(path: str, document: dict[str, Any]) -> dict[str, Any]:
    if problem := _problem(document):
        about = title(document)
        raise common.Unreadable(f"{path}: " + (f"{about}: " if about else "") + problem)
    return document


def title(document: Mapping[str, Any]) -> str:
    """namespace/name of the job, "" where the document does not tell."""
    job = document.get("job")
    return f"{job.get('namespace')}/{job.get('name')}" if isinstance(job, Mapping) else ""


def _problem(document: Mapping[str, Any]) -> str:
    """What keeps a document from being used; "" if nothing does."""
    if document.get("outcome") != "placed":
        return f"its outcome is {document.get('outcome')!r}, so no pod of it ran anywhere"
    job, fault, pods = document.get("job"), document.get("fault"), document.get("pods")
    if job is not None and not (isinstance(job, dict) and {type(job.get(k)) for k in ("namespace", "name")} == {str}):
        return "its job has no name and namespace"
    if fault is not None and not (isinstance(fault, dict) and _texts(fault.get("nodes") or [])):
        return "its fault is no mapping with a list of nodes"
    if not isinstance(pods, list) or not all(isinstance(pod, dict) and _texts([pod.get("node")]) for pod in pods):
        return "its pods are no list of pods with their nodes"
    seen: set[str] = set()
    for i, pod in enumerate(pods):
        text = _pod_problem(pod) or (f"pod {pod['name']} is listed twice" if pod["name"] in seen else "")
        if text:
            return f"pods[{i}]: {text}"
        seen.add(pod["name"])
    return ""


def _pod_problem(pod: Mapping[str, Any]) -> str:
    rank, npus, annotations = pod.get("rank"), pod.get("npus"), pod.get("annotations") or {}
    if not _texts([pod.get("name")]):
        return "it has no name"
    if type(rank) is not int or not 0 <= rank < 1 << 31:
        return f"its rank is {rank!r}, not a whole number from 0"
    if not isinstance(npus, list) or not all(type(npu) is int and 0 <= npu < 64 for npu in npus):
        return "its npus are no list of NPU ids from 0 to 63"
    if not isinstance(annotations, dict) or not all(isinstance(text, str) for text in annotations.values()):
        return "its annotations are no mapping of texts"
    return ""


def _texts(values: Any) -> bool:
    return isinstance(values, list) and all(isinstance(value, str) and value for value in values)
