"""Differences of two snapshots for people and machines (`ascendctl snapshot diff`)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, is_dataclass
from typing import Any

from ascendctl.engine.result import API_VERSION
from ascendctl.report.text import paint, printable, ranges, some
from ascendctl.snapshot.config_load import ATTRIBUTES
from ascendctl.snapshot.diff import JobChange, JobPods, NodeChange, SnapshotDiff, ValueChange

_NAMES = {attribute: key for key, attributes in ATTRIBUTES.items() for attribute in attributes[:1]}
FIELD_WORDS = {"networkUnhealthy": "network-unhealthy"}


def as_text(found: SnapshotDiff, color: bool = False) -> str:
    """A summary, then a line each: + came, - went, ~ changed."""
    styles = {"+": "green", "-": "red", "~": "yellow"}
    lines = [summary(found)]
    lines += [paint(mark, styles[mark], color) + " " + text for mark, text in _lines(found)]
    return "\n".join(lines)


def summary(found: SnapshotDiff) -> str:
    """What changed, in numbers."""
    if found.is_empty:
        return "no difference"
    counts = (
        ("nodes", len(found.nodes_added), len(found.nodes_removed), len(found.nodes)),
        ("jobs", len(found.jobs_added), len(found.jobs_removed), len(found.jobs)),
    )
    parts = [f"{noun}: {came} came, {went} went, {changed} changed" for noun, came, went, changed in counts]
    return "; ".join([*parts, *([f"{len(_parameters(found))} parameters changed"] if _parameters(found) else [])])


def _lines(found: SnapshotDiff) -> Iterator[tuple[str, str]]:
    for name, value in _parameters(found):
        yield "~", f"parameter {name}: {_change(value)}"
    for name in found.nodes_added:
        yield "+", f"node {printable(name)}"
    for name in found.nodes_removed:
        yield "-", f"node {printable(name)}"
    for node in found.nodes:
        yield "~", f"node {printable(node.node)}: {'; '.join(_node_parts(node))}"
    for job in found.jobs_added:
        yield "+", _job(job)
    for job in found.jobs_removed:
        yield "-", _job(job)
    for change in found.jobs:
        yield "~", f"{_title(change)}: {'; '.join(_job_parts(change))}"


def _parameters(found: SnapshotDiff) -> list[tuple[str, ValueChange]]:
    """Changed parameters by their names in init-params, offline options by their own. What is configured as
    super-pod-size is told apart where the size in force is the same."""
    fields = {value.field for value in found.parameters}
    names = {**_NAMES, "configured_super_pod_size": "super-pod-size as configured"}
    return [
        (names.get(value.field, value.field.replace("_", "-")), value)
        for value in found.parameters
        if not (value.field == "configured_super_pod_size" and "super_pod_size" in fields)
    ]


def _node_parts(node: NodeChange) -> Iterator[str]:
    for chips in node.chips:
        word = FIELD_WORDS.get(chips.field, chips.field)
        signs = (("+", chips.added), ("-", chips.removed))
        yield f"{word} {' '.join(sign + ranges(ids) for sign, ids in signs if ids)}"
    for value in node.values:
        yield f"{printable(value.field)} {_change(value)}"


def _change(value: ValueChange) -> str:
    return " -> ".join(_word(one) for one in (value.before, value.after))


def _word(value: Any) -> str:
    if value is None:
        return "none"
    if isinstance(value, bool):
        return "yes" if value else "no"
    return printable(str(plain(value)))


def _title(job: JobPods | JobChange) -> str:
    """A job, or the pods of a namespace that belong to none."""
    return (
        f"job {printable(job.namespace)}/{printable(job.name)}"
        if job.name
        else f"namespace {printable(job.namespace)}, pods of no job"
    )


def _job(job: JobPods) -> str:
    nodes = list(dict.fromkeys(node for _, node in job.pods))
    return f"{_title(job)}: {len(job.pods)} pods on {some(nodes)}"


def _job_parts(change: JobChange) -> Iterator[str]:
    for sign, pods in (("+", change.came), ("-", change.went)):
        if pods:
            yield f"{sign}{len(pods)} pods: {some([f'{pod} on {node}' for pod, node in pods])}"
    if change.moved:
        yield f"{len(change.moved)} pods moved: {some([f'{pod} {old} -> {new}' for pod, old, new in change.moved])}"


def plain(value: Any) -> Any:
    """A parameter as JSON knows it: resource levels become maps."""
    if is_dataclass(value) and not isinstance(value, type):
        return asdict(value)
    if isinstance(value, Mapping):
        return {key: plain(one) for key, one in value.items()}
    if isinstance(value, Sequence) and not isinstance(value, str):
        return [plain(one) for one in value]
    return value


def as_document(found: SnapshotDiff) -> dict[str, Any]:
    """The SnapshotDiff document."""
    return {
        "apiVersion": API_VERSION,
        "kind": "SnapshotDiff",
        "nodes": {
            "added": list(found.nodes_added),
            "removed": list(found.nodes_removed),
            "changed": [
                {
                    "name": node.node,
                    "npus": {c.field: {"added": list(c.added), "removed": list(c.removed)} for c in node.chips},
                    "values": [_value(value, value.field) for value in node.values],
                }
                for node in found.nodes
            ],
        },
        "jobs": {
            "added": [_pods(job) for job in found.jobs_added],
            "removed": [_pods(job) for job in found.jobs_removed],
            "changed": [
                {
                    "namespace": job.namespace,
                    "name": job.name,
                    "added": [{"pod": pod, "node": node} for pod, node in job.came],
                    "removed": [{"pod": pod, "node": node} for pod, node in job.went],
                    "moved": [{"pod": pod, "before": old, "after": new} for pod, old, new in job.moved],
                }
                for job in found.jobs
            ],
        },
        "parameters": [_value(value, name) for name, value in _parameters(found)],
    }


def _value(value: ValueChange, field: str) -> dict[str, Any]:
    return {"field": field, "before": plain(value.before), "after": plain(value.after)}


def _pods(job: JobPods) -> dict[str, Any]:
    pods = [{"pod": pod, "node": node} for pod, node in job.pods]
    return {"namespace": job.namespace, "name": job.name, "pods": pods}
