"""From the documents of a file to its objects, and what is to be done with each (chapter 40 §1.1, §1.12)."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from ascendctl.manifest.lists import objects
from ascendctl.validate.entry import CARRIER, COMPANION, HALF, KNOWN, UNKNOWN, Entry
from ascendctl.validate.options import Options
from ascendctl.validate.rule import Violation
from ascendctl.validate.schemas import KIND_SCHEMAS
from ascendctl.yamlio.document import Document, FieldPath, format_path

_TABLE = {
    "AscendJob": ("mindxdl.gitee.com/v1",),
    "Job": ("batch/v1", "batch.volcano.sh/v1alpha1"),
    "PodGroup": ("scheduling.volcano.sh/v1beta1",),
    "Deployment": ("apps/v1",),
    "StatefulSet": ("apps/v1",),
    "Pod": ("v1",),
    "InferServiceSet": ("mindcluster.huawei.com/v1",),
    "InferService": ("mindcluster.huawei.com/v1",),
    "InstanceSet": ("mindcluster.huawei.com/v1",),
}
"""Kinds that mean something here under these versions only."""

CARRIERS = {
    ("ome.io", "ClusterServingRuntime"), ("ome.io", "ServingRuntime"), ("ome.io", "InferenceService"),
    ("leaderworkerset.x-k8s.io", "LeaderWorkerSet"), ("orchestration.aibrix.ai", "StormService"),
}  # fmt: skip
"""(group, kind) of the wrappers that are known by their pod templates."""

_COMPANIONS = frozenset(
    [
        "Service",
        "ServiceAccount",
        "Role",
        "ClusterRole",
        "RoleBinding",
        "ClusterRoleBinding",
        "PriorityClass",
        "Secret",
        "PersistentVolume",
        "PersistentVolumeClaim",
        "StorageClass",
        "Namespace",
        "DaemonSet",
        "CustomResourceDefinition",
        "MutatingWebhookConfiguration",
        "ValidatingWebhookConfiguration",
        "ValidatingAdmissionPolicy",
        "ValidatingAdmissionPolicyBinding",
        "MutatingAdmissionPolicy",
        "MutatingAdmissionPolicyBinding",
        "NetworkPolicy",
        "Ingress",
        "IngressClass",
        "PodDisruptionBudget",
        "HorizontalPodAutoscaler",
        "CronJob",
        "Node",
        "Event",
        "Kustomization",
    ]
)
_CORE = frozenset(
    ["Service", "ServiceAccount", "Secret", "PersistentVolume", "PersistentVolumeClaim", "Namespace", "Node"]
)
"""Companions without API group: Knative has a Service too, with a pod template."""
_SERVED_AS = {"Job": "batch.volcano.sh/v1alpha1 (Volcano) or batch/v1 (Kubernetes)"}
_MAX_TEMPLATE_DEPTH = 60


@dataclass(frozen=True)
class Classified:
    """The objects of one document, and what its heads break. `skipped` counts objects that are left alone."""

    entries: tuple[Entry, ...] = ()
    violations: tuple[tuple[Entry, Violation], ...] = ()


def classify(document: Document, count: int, options: Options) -> Classified:
    """The objects of a document of a file with `count` documents; heads that are broken come with violations."""
    entries: list[Entry] = []
    violations: list[tuple[Entry, Violation]] = []
    for part, root in objects(document):
        entry, found = _judge(part, root, count, options)
        entries.append(entry)
        violations.extend((entry, v) for v in found)
    return Classified(tuple(entries), tuple(violations))


def _judge(document: Document, root: FieldPath, count: int, options: Options) -> tuple[Entry, list[Violation]]:
    value = document.value
    api, kind = value.get("apiVersion"), value.get("kind")
    mark = document.marks.get(())
    line = mark.line if mark is not None else document.line
    missing = [key for key, given in (("apiVersion", api), ("kind", kind)) if not isinstance(given, str) or not given]
    if missing:
        entry = Entry(document, root, str(api or ""), str(kind or "object"), UNKNOWN, line, count)
        return entry, [Violation("DOC-02", (key,), {"key": key}) for key in missing]
    group = api.rpartition("/")[0]
    if kind in options.skip_kinds:
        return Entry(document, root, api, kind, COMPANION, line, count), []
    if (api, kind) in KIND_SCHEMAS:
        return Entry(document, root, api, kind, KNOWN, line, count), []
    if (group, kind) in CARRIERS:
        return Entry(document, root, api, kind, CARRIER, line, count), []
    expected = _expected(kind)
    if expected:
        entry = Entry(document, root, api, kind, UNKNOWN, line, count)
        field, found = ("apiVersion", api) if kind in _TABLE else ("kind", kind)
        message = f"{field} {found!r}: expected {expected} for kind {kind}, the API server knows no such kind"
        return entry, [Violation("DOC-03", (field,), {}, message=message, hint=f"write {field}: {expected}")]
    if (kind in _COMPANIONS and not (kind in _CORE and group)) and not (kind == "CronJob" and _asks_npu(value)):
        return Entry(document, root, api, kind, COMPANION, line, count), []
    return _foreign(document, root, api, kind, line, count, options)


def _expected(kind: str) -> str:
    """What should stand in place of a known kind under another version, or of a kind in other case; "" = unknown."""
    if kind in _TABLE:
        return _SERVED_AS.get(kind, _TABLE[kind][0])
    return next((known for known in _TABLE if known.lower() == kind.lower()), "")


def _foreign(
    document: Document, root: FieldPath, api: str, kind: str, line: int, count: int, options: Options
) -> tuple[Entry, list[Violation]]:
    chosen = [path for name, path in options.template_paths if name == kind]
    severity = "error" if options.fail_on_unknown else ""
    if chosen:
        paths = tuple(dict.fromkeys(p for text in chosen for p in resolve(document.value, text)))
        return Entry(document, root, api, kind, CARRIER, line, count, paths), []
    found = tuple(find_pod_specs(document.value))
    if not found:
        message = f"kind {kind} ({api}) is not known and holds no pod template: skipped"
        violation = Violation("DOC-03", ("kind",), {}, severity=severity or "info", message=message)
        return Entry(document, root, api, kind, UNKNOWN, line, count), [violation]
    where = ", ".join(format_path(path) for path in found[:5]) + (", ..." if len(found) > 5 else "")
    message = f"kind {kind} ({api}) is not known: {len(found)} pod templates at {where} get pod-level checks only"
    hint = f"--template-path '{kind}:PATH' judges the templates there in full"
    violation = Violation("DOC-03", ("kind",), {}, severity=severity or "warning", message=message, hint=hint)
    return Entry(document, root, api, kind, HALF, line, count, found), [violation]


def _asks_npu(value: Any) -> bool:
    if isinstance(value, Mapping):
        return any("huawei.com/" in str(key) for key in value) or any(map(_asks_npu, value.values()))
    return isinstance(value, list) and any(map(_asks_npu, value))


def find_pod_specs(value: Any, path: FieldPath = ()) -> Iterator[FieldPath]:
    """Pod specs anywhere in an object: mappings with a list `containers` of mappings that have a name or an image."""
    if len(path) > _MAX_TEMPLATE_DEPTH or path[:1] == ("status",):
        return
    if isinstance(value, Mapping):
        containers = value.get("containers")
        if isinstance(containers, list) and any(
            isinstance(c, Mapping) and ("name" in c or "image" in c) for c in containers
        ):
            yield path
            return
        for key, item in value.items():
            if isinstance(item, Mapping | list):
                yield from find_pod_specs(item, (*path, key))
    elif isinstance(value, list):
        for i, item in enumerate(value):
            yield from find_pod_specs(item, (*path, i))


_STEP = re.compile(r"([^.\[\]]+)|\[(\*|[0-9]+)\]")


def resolve(value: Any, text: str) -> list[FieldPath]:
    """The paths that a pattern such as `spec.roles[*].template` leads to; `*` stands for every item or key."""
    paths: list[tuple[FieldPath, Any]] = [((), value)]
    for name, index in _STEP.findall(text.removeprefix("$.").removeprefix("$")):
        step = name or index
        following = []
        for path, item in paths:
            if isinstance(item, list) and (step == "*" or step.isdigit()):
                wanted = range(len(item)) if step == "*" else [int(step)]
                following += [((*path, i), item[i]) for i in wanted if i < len(item)]
            elif isinstance(item, Mapping):
                keys = list(item) if step == "*" else [step]
                following += [((*path, key), item[key]) for key in keys if key in item]
        paths = following
    return [path for path, item in paths if isinstance(item, Mapping)]
