"""Kinds of workloads and where each keeps its pod templates (chapter 40 §1.1). Data first, one function to walk it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from ascendctl.yamlio.document import Document, FieldPath


@dataclass(frozen=True)
class Kind:
    """One row of the kind table. `code` is the K number of chapter 40 §1.1; `owner_kind` the kind that owns the pods;
    `gang`, `queue`, `scheduler` are field paths (empty = the kind has none)."""

    code: str
    name: str
    api_version: str
    owner_kind: str = ""
    gang: FieldPath = ()
    queue: FieldPath = ()
    scheduler: FieldPath = ()
    short: str = ""


@dataclass(frozen=True)
class Template:
    """One pod template of a document. `group` tells independent jobs of one document apart (infer services: one job an
    instance); `path` leads to the template, `replicas_path` to its replica count; `instances` counts equal copies."""

    role: str
    path: FieldPath
    replicas: int
    replicas_path: FieldPath
    group: str = ""
    instances: int = 1


_POLICY = ("spec", "runPolicy", "schedulingPolicy")
_POD_SPEC = ("spec", "template", "spec")
ASCEND_JOB = Kind(
    "K1", "AscendJob", "mindxdl.gitee.com/v1", "AscendJob", (*_POLICY, "minAvailable"), (*_POLICY, "queue"),
    ("spec", "schedulerName"), "acjob",
)  # fmt: skip
VC_JOB = Kind(
    "K2", "Job", "batch.volcano.sh/v1alpha1", "Job", ("spec", "minAvailable"), ("spec", "queue"),
    ("spec", "schedulerName"), "vcjob",
)  # fmt: skip
DEPLOYMENT = Kind("K3", "Deployment", "apps/v1", "ReplicaSet", scheduler=(*_POD_SPEC, "schedulerName"))
STATEFUL_SET = Kind("K4", "StatefulSet", "apps/v1", "StatefulSet", scheduler=(*_POD_SPEC, "schedulerName"))
BATCH_JOB = Kind("K5", "Job", "batch/v1", "Job", scheduler=(*_POD_SPEC, "schedulerName"))
POD = Kind("K6", "Pod", "v1", "", scheduler=("spec", "schedulerName"))
POD_GROUP = Kind("K7", "PodGroup", "scheduling.volcano.sh/v1beta1", gang=("spec", "minMember"), queue=("spec", "queue"))
INFER_SERVICE_SET = Kind("K8", "InferServiceSet", "mindcluster.huawei.com/v1")
INFER_SERVICE = Kind("K9", "InferService", "mindcluster.huawei.com/v1")
INSTANCE_SET = Kind("K10", "InstanceSet", "mindcluster.huawei.com/v1")

KINDS = (
    ASCEND_JOB, VC_JOB, DEPLOYMENT, STATEFUL_SET, BATCH_JOB, POD, POD_GROUP, INFER_SERVICE_SET, INFER_SERVICE,
    INSTANCE_SET,
)  # fmt: skip

FRAMEWORK_LEADERS = {"pytorch": "Master", "mindspore": "Scheduler", "tensorflow": "Chief"}


def kind_of(value: Any) -> Kind | None:
    """The kind of an object by apiVersion and kind; None if it is not one of the table."""
    if not isinstance(value, Mapping):
        return None
    return next((k for k in KINDS if k.name == value.get("kind") and k.api_version == value.get("apiVersion")), None)


def kind_title(kind: Kind) -> str:
    """What people call the kind: the two Jobs are told apart as vcjob and Job."""
    return "vcjob" if kind is VC_JOB else kind.name


def dig(value: Any, path: FieldPath) -> Any:
    """The value at a path, None where anything on the way is missing."""
    for part in path:
        if isinstance(part, int):
            value = value[part] if isinstance(value, list) and part < len(value) else None
        else:
            # nearly always a dict, and asking an abstract class takes several times as long
            value = value.get(part) if type(value) is dict or isinstance(value, Mapping) else None
    return value


def count_of(value: Any, default: int) -> int:
    """A replica count; the default where it is absent or no sensible number (a rule reports that)."""
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    return value if isinstance(value, int) and not isinstance(value, bool) and value >= 0 else default


def templates(document: Document, kind: Kind) -> Iterator[Template]:
    """Every pod template of a document whose template is a mapping, in rank order of the roles."""
    for template in _candidates(document.value, kind):
        if isinstance(dig(document.value, template.path), Mapping):
            yield template


def _candidates(value: Any, kind: Kind) -> Iterator[Template]:
    if kind is ASCEND_JOB:
        specs = dig(value, ("spec", "replicaSpecs"))
        names = [name for name in specs if isinstance(name, str)] if isinstance(specs, Mapping) else []
        for name in sorted(names, key=lambda name: name == "Worker"):  # the leader comes first, file order otherwise
            at: FieldPath = ("spec", "replicaSpecs", name)
            yield _template(value, name, (*at, "template"), (*at, "replicas"))
    elif kind is VC_JOB:
        tasks = dig(value, ("spec", "tasks"))
        for i, task in enumerate(tasks if isinstance(tasks, list) else []):
            named = dig(task, ("name",))
            name = named if isinstance(named, str) and named else f"default{i}"
            at = ("spec", "tasks", i)
            yield _template(value, name, (*at, "template"), (*at, "replicas"))
    elif kind in (DEPLOYMENT, STATEFUL_SET):
        yield _template(value, "", ("spec", "template"), ("spec", "replicas"))
    elif kind is BATCH_JOB:
        parallel = count_of(dig(value, ("spec", "parallelism")), 1)
        total = count_of(dig(value, ("spec", "completions")), parallel)
        yield Template("", ("spec", "template"), min(parallel, total), ("spec", "parallelism"))
    elif kind is POD:
        yield Template("", (), 1, ())
    elif kind in (INFER_SERVICE_SET, INFER_SERVICE):
        start: FieldPath = ("spec", "template", "roles") if kind is INFER_SERVICE_SET else ("spec", "roles")
        services = count_of(dig(value, ("spec", "replicas")), 1) if kind is INFER_SERVICE_SET else 1
        roles = dig(value, start)
        for i, role in enumerate(roles if isinstance(roles, list) else []):
            named = dig(role, ("name",))
            at = (*start, i)
            copies = services * count_of(dig(value, (*at, "replicas")), 1)
            yield _instance(value, named if isinstance(named, str) else str(i), at, copies)
    elif kind is INSTANCE_SET:
        named = dig(value, ("spec", "name"))
        yield _instance(
            value, named if isinstance(named, str) else "", ("spec",), count_of(dig(value, ("spec", "replicas")), 1)
        )


def _template(value: Any, role: str, path: FieldPath, replicas: FieldPath) -> Template:
    return Template(role, path, count_of(dig(value, replicas), 1), replicas)


def _instance(value: Any, role: str, at: FieldPath, copies: int) -> Template:
    replicas = (*at, "spec", "replicas")
    return Template(role, (*at, "spec", "template"), count_of(dig(value, replicas), 1), replicas, role, copies)
