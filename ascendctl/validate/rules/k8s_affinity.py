"""K8S rules on affinity: K8S-19, 20, 21."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from ascendctl.manifest.kinds import dig
from ascendctl.validate.companions import Context
from ascendctl.validate.entry import Entry, PodView, mappings
from ascendctl.validate.rule import Violation
from ascendctl.wellknown import HOSTNAME, REQUIRED
from ascendctl.yamlio.document import FieldPath, format_path

_PREFERRED = "preferredDuringSchedulingIgnoredDuringExecution"
_JOB_KEYS = {
    "vcjob": ("volcano.sh/job-name",),
    "AscendJob": ("job-name", "training.kubeflow.org/job-name"),
}
"""Kind -> labels that its controller puts on every pod, with the name of the job."""
_NAMING_KEYS = ("volcano.sh/job-name", "job-name", "training.kubeflow.org/job-name", "deploy-name")


def expressions(pod: PodView) -> Iterator[Violation]:
    """K8S-19: operators and their values."""
    yield from _walk(pod.body.get("affinity"), (*pod.spec, "affinity"))
    for part in ("topologySpreadConstraints",):
        yield from _walk(pod.body.get(part), (*pod.spec, part))


def _walk(value: Any, path: FieldPath) -> Iterator[Violation]:
    if isinstance(value, Mapping):
        for key, item in value.items():
            if key in ("matchExpressions", "matchFields"):
                for at, expression in mappings(item, (*path, key)):
                    yield from _expression(expression, at)
            elif isinstance(item, Mapping | list):
                yield from _walk(item, (*path, key))
    elif isinstance(value, list):
        for i, item in enumerate(value):
            yield from _walk(item, (*path, i))


def _expression(expression: Mapping[str, Any], at: FieldPath) -> Iterator[Violation]:
    operator, values = expression.get("operator"), expression.get("values")
    path = (*at, "values")
    if operator in ("In", "NotIn") and not values:
        problem, advice = f"operator {operator} needs values", "list at least one value"
    elif operator in ("Exists", "DoesNotExist") and values:
        problem, advice = f"operator {operator} takes no values", "remove values, or use In"
    else:
        return
    yield Violation("K8S-19", path, {"problem": f"{format_path(at)}: {problem}", "advice": advice})


def anti_affinity_terms(pod: PodView) -> Iterator[tuple[FieldPath, Mapping[str, Any], bool]]:
    """(path, term, required) of the terms of podAntiAffinity."""
    base = (*pod.spec, "affinity", "podAntiAffinity")
    for part in (REQUIRED, _PREFERRED):
        items = dig(pod.body, ("affinity", "podAntiAffinity", part))
        for at, item in mappings(items, (*base, part)):
            if part == REQUIRED:
                yield at, item, True
            elif isinstance(item.get("podAffinityTerm"), Mapping):
                yield (*at, "podAffinityTerm"), item["podAffinityTerm"], False


def _conditions(term: Mapping[str, Any], at: FieldPath) -> Iterator[tuple[str, list[str], FieldPath]]:
    """(key, values, path) of what a term asks of labels with In or matchLabels."""
    labels = dig(term, ("labelSelector", "matchLabels"))
    for key, value in labels.items() if isinstance(labels, Mapping) else ():
        yield key, [value], (*at, "labelSelector", "matchLabels", key)
    found = dig(term, ("labelSelector", "matchExpressions"))
    for path, expression in mappings(found, (*at, "labelSelector", "matchExpressions")):
        values = expression.get("values")
        if expression.get("operator") == "In" and isinstance(expression.get("key"), str) and isinstance(values, list):
            yield expression["key"], [str(v) for v in values], (*path, "values")


def _own_values(entry: Entry, pod: PodView, key: str) -> str | None:
    """What the job's own pods carry under a label that names a job; None = they do not carry it."""
    if key in _JOB_KEYS.get(entry.title, ()):
        return entry.name
    return pod.labels.get(key)


def own_pods(entry: Entry, pod: PodView) -> Iterator[Violation]:
    """K8S-20: labels that name a job are meant for the job's own pods."""
    if entry.title not in ("AscendJob", "vcjob", "Deployment", "StatefulSet"):
        return
    for at, term, _ in anti_affinity_terms(pod):
        for key, values, path in _conditions(term, at):
            if key not in _NAMING_KEYS:
                continue
            own = _own_values(entry, pod, key)
            if own not in values:
                known = _JOB_KEYS.get(entry.title, ())
                advice = f"{known[0]}={entry.name}" if known else "a label of the pod template"
                shown = ", ".join(values)
                yield Violation("K8S-20", path, {"key": key, "values": shown, "kind": entry.title, "advice": advice})


def enough_nodes(entry: Entry, pod: PodView, context: Context) -> Iterator[Violation]:
    """K8S-21, with a snapshot."""
    cluster = context.options.snapshot
    if cluster is None or not pod.resources:
        return
    resource = next(iter(pod.resources))
    offering = cluster.resources.get(resource)
    nodes = int((offering.allocatable > 0).sum()) if offering is not None else 0
    if not 0 < nodes < pod.replicas:
        return
    for at, term, required in anti_affinity_terms(pod):
        if required and term.get("topologyKey") == HOSTNAME:
            conditions = list(_conditions(term, at))
            if conditions and all(_own_values(entry, pod, key) in values for key, values, _ in conditions):
                yield Violation("K8S-21", at, {"pods": pod.replicas, "nodes": nodes, "resource": resource})
                return
