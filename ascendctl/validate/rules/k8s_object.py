"""K8S rules on an object as a whole: names, labels, selectors."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from ascendctl.manifest.kinds import dig
from ascendctl.validate.companions import CLUSTER_WIDE, Context
from ascendctl.validate.entry import KNOWN, Entry
from ascendctl.validate.keys import ANNOTATION, LABEL
from ascendctl.validate.placeholders import shorten
from ascendctl.validate.rule import Violation
from ascendctl.validate.rules.doc import key_maps
from ascendctl.yamlio.document import FieldPath

SUBDOMAIN = re.compile(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*")
DNS_LABEL = re.compile(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?")
_SERVICE_NAME = re.compile(r"[a-z]([-a-z0-9]*[a-z0-9])?")
_LABEL_NAME = re.compile(r"[A-Za-z0-9]([-A-Za-z0-9_.]*[A-Za-z0-9])?")
_MAX_ANNOTATIONS = 256 << 10
SERVICE_MAKERS = frozenset(("AscendJob", "vcjob", "InferServiceSet", "InferService", "InstanceSet"))
_CLUSTER_KINDS = CLUSTER_WIDE | {"HyperNode"}
INFER_KINDS = frozenset(("InferServiceSet", "InferService", "InstanceSet"))


def check(entry: Entry, context: Context) -> Iterator[Violation]:
    """K8S-01 to 04, 16, 17 of one object."""
    yield from _name(entry)
    if entry.kind_name not in _CLUSTER_KINDS:
        yield from _namespace(entry)
    yield from _maps(entry)
    if entry.case == KNOWN:
        yield from _pod_names(entry)
        for path, kind in workload_specs(entry):
            yield from _selector(entry, path)
            if kind == "StatefulSet" and not dig(entry.value, (*path, "serviceName")):
                yield Violation("K8S-17", (*path, "serviceName"))


def workload_specs(entry: Entry) -> Iterator[tuple[FieldPath, str]]:
    """(path, kind) of every Deployment or StatefulSet spec of an object."""
    if entry.title in ("Deployment", "StatefulSet"):
        yield ("spec",), entry.title
    elif entry.title in INFER_KINDS:
        for pod in entry.pods:
            spec = pod.path[:-1]
            kind = dig(entry.value, (*spec[:-1], "workload", "kind"))
            yield spec, kind if isinstance(kind, str) else "Deployment"


def _name(entry: Entry) -> Iterator[Violation]:
    name, generated = entry.get("metadata", "name"), entry.get("metadata", "generateName")
    path: FieldPath = ("metadata", "name")
    if not isinstance(name, str) or not name:
        if isinstance(generated, str) and generated:
            name, path = generated + "0", ("metadata", "generateName")
        else:
            yield Violation("K8S-01", path, {"found": "is missing", "advice": "write name: ... under metadata"})
            return
    if entry.title in SERVICE_MAKERS:
        fits = len(name) <= 63 and _SERVICE_NAME.fullmatch(name)
        advice = "use lower-case letters, digits and '-', beginning with a letter, at most 63 characters"
    else:
        fits = len(name) <= 253 and SUBDOMAIN.fullmatch(name)
        advice = "use lower-case letters, digits, '-' and '.', at most 253 characters"
    if not fits:
        shown = name.removesuffix("0") if path[-1] == "generateName" else name
        yield Violation("K8S-01", path, {"found": f"{shorten(shown)!r} is not valid", "advice": advice})


def _namespace(entry: Entry) -> Iterator[Violation]:
    value = entry.get("metadata", "namespace")
    path = ("metadata", "namespace")
    if not isinstance(value, str) or not value:
        yield Violation("K8S-03", path)
    elif len(value) > 63 or not DNS_LABEL.fullmatch(value):
        yield Violation(
            "K8S-03", path, {}, severity="error", message=f"namespace {shorten(value)!r} is not valid",
            hint="use lower-case letters, digits and '-', at most 63 characters",
        )  # fmt: skip


def _pod_names(entry: Entry) -> Iterator[Violation]:
    """K8S-02."""
    longest = max(_derived(entry), key=len, default="")
    if len(longest) > 63:
        values = {"pod": shorten(longest, 100), "length": len(longest), "excess": len(longest) - 63}
        yield Violation("K8S-02", ("metadata", "name"), values)


def _derived(entry: Entry) -> Iterator[str]:
    name = entry.name
    if entry.title in ("AscendJob", "vcjob"):
        for pod in entry.pods:
            role = pod.role.lower() if entry.title == "AscendJob" else pod.role
            yield f"{name}-{role}-{max(pod.replicas, 1) - 1}"
    elif entry.title in INFER_KINDS:
        services = entry.get("spec", "replicas") if entry.title == "InferServiceSet" else None
        service = f"{name}-{max(services, 1) - 1}" if isinstance(services, int) else name
        for pod in entry.pods:
            role_path = pod.path[:-2]
            copies = dig(entry.value, (*role_path, "replicas"))
            last = max(copies, 1) - 1 if isinstance(copies, int) else 0
            workload = f"{name}-{last}" if entry.title == "InstanceSet" else f"{service}-{pod.role}-{last}"
            stateful = dig(entry.value, (*role_path, "workload", "kind")) == "StatefulSet"
            yield f"{workload}-{max(pod.replicas, 1) - 1}" if stateful else workload


def _maps(entry: Entry) -> Iterator[Violation]:
    """K8S-04."""
    for path, which, found, _ in key_maps(entry):
        for key, value in found.items():
            why = _bad_key(key)
            what = {LABEL: "label", ANNOTATION: "annotation"}.get(which, "node selector")
            if why:
                yield Violation("K8S-04", (*path, key), {"what": f"{what} key", "text": shorten(key), "why": why})
            elif which != ANNOTATION and isinstance(value, str) and (why := _bad_value(value)):
                yield Violation("K8S-04", (*path, key), {"what": f"{what} value", "text": shorten(value), "why": why})
        if which == ANNOTATION:
            size = sum(len(k.encode()) + len(str(v).encode()) for k, v in found.items())
            if size > _MAX_ANNOTATIONS:
                values = {"what": "annotations", "text": f"{size} bytes", "why": "at most 256 KiB in all"}
                yield Violation("K8S-04", path, values)
    for path, labels in _match_labels(entry):
        for key, value in labels.items():
            why = _bad_key(key) or (_bad_value(value) if isinstance(value, str) else "")
            if why:
                yield Violation("K8S-04", (*path, key), {"what": "selector", "text": f"{key}={value}", "why": why})


def _match_labels(entry: Entry) -> Iterator[tuple[FieldPath, Mapping[str, Any]]]:
    for path, _ in workload_specs(entry) if entry.case == KNOWN else ():
        labels = dig(entry.value, (*path, "selector", "matchLabels"))
        if isinstance(labels, Mapping):
            yield (*path, "selector", "matchLabels"), labels


def _bad_key(key: str) -> str:
    prefix, slash, name = key.rpartition("/")
    if slash and (len(prefix) > 253 or not SUBDOMAIN.fullmatch(prefix)):
        return "the part before / must be a DNS name of at most 253 characters"
    if len(name) > 63 or not _LABEL_NAME.fullmatch(name):
        return "a name has at most 63 letters, digits, '-', '_' and '.', and begins and ends with a letter or digit"
    return ""


def _bad_value(value: str) -> str:
    if value and (len(value) > 63 or not _LABEL_NAME.fullmatch(value)):
        return "a value has at most 63 letters, digits, '-', '_' and '.', and begins and ends with a letter or digit"
    return ""


def _selector(entry: Entry, path: FieldPath) -> Iterator[Violation]:
    """K8S-16; a missing selector is found by the schema."""
    selector = dig(entry.value, (*path, "selector"))
    if not isinstance(selector, Mapping):
        return
    labels = selector.get("matchLabels")
    if not labels and not selector.get("matchExpressions"):
        values = {"problem": "the selector is empty", "advice": "repeat labels of the pod template in matchLabels"}
        yield Violation("K8S-16", (*path, "selector"), values)
        return
    own = dig(entry.value, (*path, "template", "metadata", "labels")) or {}
    for key, value in labels.items() if isinstance(labels, Mapping) else ():
        if own.get(key) != value:
            problem = f"the selector asks for {key}={value}, the pod template has " + (
                f"{key}={own[key]}" if key in own else f"no label {key}"
            )
            values = {"problem": problem, "advice": "make both equal"}
            yield Violation("K8S-16", (*path, "selector", "matchLabels", key), values)
