"""Rules on wrappers whose pods other controllers make, EXT-* (chapter 40 §1.1 K11-K13, §3.2), and their jobs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

from ascendctl.manifest.job import Job, parse_go_int
from ascendctl.manifest.kinds import count_of
from ascendctl.manifest.load import document_jobs
from ascendctl.validate.companions import Context
from ascendctl.validate.entry import Entry, PodView
from ascendctl.validate.ome import RUNTIMES, is_service, runtime_is_missing
from ascendctl.validate.rule import Rule, Violation
from ascendctl.wellknown import MIN_AVAILABLE, SP_BLOCK
from ascendctl.yamlio.document import Document, FieldPath

RULES: tuple[Rule, ...] = (
    Rule(
        "EXT-01",
        "warning",
        "an OME InferenceService does not say how many pods belong together",
        "huawei.com/schedule_minAvailable of {part} is {found}, minReplicas is {replicas}",
        'add huawei.com/schedule_minAvailable: "{replicas}" to the annotations of {part}',
        ("InferenceService",),
        outcome="RUN",
        wrong="engine: {minReplicas: 2}",
        right='engine: {minReplicas: 2, annotations: {huawei.com/schedule_minAvailable: "2"}}',
    ),
    Rule(
        "EXT-02",
        "warning",
        "pod-rescheduling does not fit podGroupSize",
        "role {role}: {problem}",
        "{advice}",
        ("StormService",),
        outcome="RUN",
        wrong='podGroupSize: 2, labels: {pod-rescheduling: "on"}',
        right='podGroupSize: 1, labels: {pod-rescheduling: "on"}',
    ),
    Rule(
        "EXT-03",
        "error",
        "the NPUs of one LeaderWorkerSet group do not fit sp-block",
        "a group of {pods} pods asks for {total} NPUs: {problem}",
        "{advice}",
        ("LeaderWorkerSet",),
        outcome="PEND-V",
        wrong='size: 3, 16 NPUs each, sp-block: "32"',
        right='size: 4, 16 NPUs each, sp-block: "32"',
    ),
)

_RESCHEDULING = "pod-rescheduling"


def check(entry: Entry, context: Context) -> Iterator[Violation]:
    """EXT-01 and EXT-02; EXT-03 comes with the job (`group_violation`). A service comes merged with its runtime."""
    if is_service(entry):
        unknown = runtime_is_missing(entry, context)
        for pod in entry.pods:
            yield from _gang(pod, unknown)
    elif entry.kind_name == "StormService":
        for pod in entry.pods:
            yield from _rescheduling(entry, pod)


def _gang(pod: PodView, unknown: bool) -> Iterator[Violation]:
    """EXT-01; with the runtime `unknown`, only a value that is there can be wrong."""
    given = pod.annotations.get(MIN_AVAILABLE)
    if pod.path[-1] not in ("engine", "decoder") or not (pod.resources or unknown) or (unknown and given is None):
        return
    if given is None or parse_go_int(given) != pod.replicas:
        values = {"part": pod.path[-1], "found": "missing" if given is None else given, "replicas": pod.replicas}
        yield Violation("EXT-01", (*pod.meta, "annotations", MIN_AVAILABLE), values)


def _rescheduling(entry: Entry, pod: PodView) -> Iterator[Violation]:
    """EXT-02."""
    if not pod.resources:
        return
    size = count_of(entry.get(*pod.path[:-1], "podGroupSize"), 1)
    on = pod.labels.get(_RESCHEDULING) == "on"
    path = (*pod.meta, "labels", _RESCHEDULING)
    if on and size != 1:
        problem = f"pod-rescheduling is on although podGroupSize is {size}"
        yield Violation("EXT-02", path, {"role": pod.role, "problem": problem, "advice": "remove the label"})
    elif not on and size == 1:
        values = {"role": pod.role, "problem": "podGroupSize is 1 and pod-rescheduling is missing"}
        yield Violation("EXT-02", path, {**values, "advice": 'add label pod-rescheduling: "on"'})


def carrier_jobs(entry: Entry) -> list[Job]:
    """Jobs that a wrapper stands for; none for an OME runtime, which is only the base of one. A service comes merged
    with its runtime."""
    if entry.kind_name in RUNTIMES:
        return []
    if entry.kind_name == "LeaderWorkerSet":
        groups = [list(entry.pods)]
    else:
        groups = [[pod] for pod in entry.pods if not _in_group(entry, pod)]
        parts = dict.fromkeys(pod.path[:-1] for pod in entry.pods if _in_group(entry, pod))
        groups += [[pod for pod in entry.pods if pod.path[:-1] == part] for part in parts]
    jobs = (_single(entry, *pods) if len(pods) == 1 else _group(entry, pods) for pods in groups)
    return [job for job in jobs if job is not None]


def _in_group(entry: Entry, pod: PodView) -> bool:
    """True for the leader and the workers of an OME service: together they are one gang."""
    return is_service(entry) and pod.path[-1] in ("leader", "worker")


def _template(pod: PodView) -> dict[str, Any]:
    """A plain pod template."""
    containers = [container for _, container in pod.containers]
    meta = {"labels": dict(pod.labels), "annotations": dict(pod.annotations)}
    return {"metadata": meta, "spec": {**pod.body, "containers": containers}}


def _single(entry: Entry, pod: PodView) -> Job | None:
    template = _template(pod)
    metadata = {"name": entry.name or "pod", "namespace": entry.namespace}
    if entry.found_templates:
        meta = {**metadata, **template["metadata"]}
        return _read(entry, {"apiVersion": "v1", "kind": "Pod", "metadata": meta, "spec": template["spec"]}, {(): pod})
    kind = "StatefulSet" if entry.kind_name == "StormService" else "Deployment"
    spec = {"replicas": pod.replicas, "template": template}
    value = {"apiVersion": "apps/v1", "kind": kind, "metadata": metadata, "spec": spec}
    return _read(entry, value, {("spec", "template"): pod})


def _group(entry: Entry, pods: list[PodView]) -> Job | None:
    """One group of a leader and its workers as a job of several tasks."""
    tasks = [{"name": pod.role, "replicas": pod.replicas, "template": _template(pod)} for pod in pods]
    value = {
        "apiVersion": "batch.volcano.sh/v1alpha1", "kind": "Job",
        "metadata": {"name": entry.name, "namespace": entry.namespace},
        "spec": {"minAvailable": sum(pod.replicas for pod in pods), "tasks": tasks},
    }  # fmt: skip
    return _read(entry, value, {("spec", "tasks", i, "template"): pod for i, pod in enumerate(pods)})


def _read(entry: Entry, value: dict[str, Any], templates: Mapping[FieldPath, PodView]) -> Job | None:
    """The job of a made-up document, its fields traced back to the wrapper's own."""
    jobs = document_jobs(Document(entry.document.file, entry.document.index, entry.document.line, value))
    if not jobs:
        return None
    origins = {key: _back(path, templates) for key, path in jobs[0].source.origins.items()}
    source = replace(jobs[0].source, document=entry.document, origins=origins)
    return replace(jobs[0], kind=entry.kind_name, source=source)


def _back(path: FieldPath, templates: Mapping[FieldPath, PodView]) -> FieldPath:
    for start, pod in templates.items():
        size = len(start)
        if path[:size] != start:
            continue
        rest = path[size:]
        if rest[:1] == ("metadata",):
            return (*pod.meta, *rest[1:])
        if rest[:2] == ("spec", "containers") and len(rest) > 2 and isinstance(rest[2], int):
            return (*pod.containers[rest[2]][0], *rest[3:])
        if rest[:1] == ("spec",):
            return (*pod.spec, *rest[1:])
        return pod.path
    return path


def group_violation(job: Job, violation: Violation, message: str, hint: str) -> Violation:
    """EXT-03 in place of what SPB says of one group of a LeaderWorkerSet."""
    if job.kind != "LeaderWorkerSet" or violation.path != job.source.path("annotation", SP_BLOCK):
        return violation
    values = {"pods": len(job.pods), "total": job.npus, "problem": message, "advice": hint}
    return Violation("EXT-03", violation.path, values, violation.reason)
