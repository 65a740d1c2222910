"""Rules on rank tables and ConfigMaps, RTB-*, and on scaling rules, ACJ-26 (chapter 40 §2.5, §3.2)."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

from ascendctl.manifest.kinds import dig
from ascendctl.validate.companions import Context
from ascendctl.validate.entry import CARRIER, HALF, KNOWN, Entry, PodView, mappings
from ascendctl.validate.placeholders import shorten
from ascendctl.validate.rule import Rule, Violation
from ascendctl.validate.rules import scaling
from ascendctl.wellknown import RING
from ascendctl.yamlio.document import FieldPath

RULES: tuple[Rule, ...] = (
    Rule(
        "RTB-01",
        "warning",
        "a workload mounts rings-config-* but nothing makes the operator fill it",
        "label ring-controller.atlas is missing on the {kind} itself: hccl.json will not be generated",
        "add ring-controller.atlas to $.metadata.labels",
        ("vcjob", "Deployment", "StatefulSet"),
        outcome="RUN",
        wrong="metadata: {labels: {}}",
        right="metadata: {labels: {ring-controller.atlas: ascend-910b}}",
    ),
    Rule(
        "RTB-02",
        "error",
        "the pod template lacks deploy-name, by which the operator finds the pods",
        "label deploy-name of the pod template is {found}: it must be {name}",
        "write deploy-name: {name}",
        ("Deployment", "StatefulSet"),
        outcome="RUN",
        wrong="labels: {app: a}",
        right="labels: {app: a, deploy-name: a}",
    ),
    Rule(
        "RTB-03",
        "error",
        "a rank table ConfigMap belongs to no workload of the file, or lacks its label",
        "{problem}",
        "{advice}",
        ("ConfigMap",),
        outcome="RUN",
        wrong="name: rings-config-other",
        right="name: rings-config-train",
    ),
    Rule(
        "RTB-04",
        "warning",
        "the initial content of a rank table ConfigMap is not the expected one",
        "{problem}",
        'write hccl.json with {{"status":"initializing"}}',
        ("ConfigMap",),
        outcome="RUN",
        wrong="data: {hccl: '{}'}",
        right='data: {hccl.json: \'{"status":"initializing"}\'}',
    ),
    Rule(
        "RTB-05",
        "error",
        "the volume ranktable has the path of another job (NFS: warning)",
        "volume ranktable is at {found}, the operator writes to {wanted}: the pod sees an empty folder",
        "write {wanted}",
        outcome="RUN",
        wrong="path: /user/mindx-dl/ranktable/default.other",
        right="path: /user/mindx-dl/ranktable/default.train",
    ),
    Rule(
        "RTB-06",
        "warning",
        "a ConfigMap that is named is nowhere to be seen",
        "ConfigMap {name} is neither in these files nor in the snapshot: without it the pods stay ContainerCreating",
        "add it, or correct the name",
        outcome="RUN",
        wrong="configMap: {name: rings-config-tarin}",
        right="configMap: {name: rings-config-train}",
    ),
    Rule(
        "RTB-07",
        "warning",
        "a rank table ConfigMap of MindIE lacks a label",
        "label {key} is missing",
        "add {key}: {value}",
        ("ConfigMap",),
        outcome="RUN",
        wrong="labels: {jobID: pd}",
        right='labels: {jobID: pd, mx-consumer-cim: "true"}',
    ),
)

_PREFIX, _LABEL, _KEY = "rings-config-", RING, "hccl.json"
_ROOT = "/user/mindx-dl/ranktable"
_CONSUMER = "mx-consumer-cim"
_FROM_CLUSTER = frozenset(("kube-root-ca.crt",))
_NAMED_AFTER_JOB = frozenset(("AscendJob", "vcjob", "Deployment", "StatefulSet", "Job", "Pod"))


def check(entry: Entry, context: Context) -> Iterator[Violation]:
    """RTB rules of one object; ACJ-26 of a ConfigMap."""
    if entry.case == HALF:
        return
    if entry.kind_name == "ConfigMap":
        yield from scaling.check(entry, context)
        if entry.name.startswith(_PREFIX):
            yield from _config_map(entry, context)
        return
    yield from _references(entry, context)
    if entry.title in ("vcjob", "Deployment", "StatefulSet", "AscendJob"):
        yield from _workload(entry)


def _volumes(pod: PodView) -> Iterator[tuple[FieldPath, Mapping[str, Any]]]:
    return mappings(pod.body.get("volumes"), (*pod.spec, "volumes"))


def _workload(entry: Entry) -> Iterator[Violation]:
    """RTB-01, 02, 05."""
    mounts = any(
        str(dig(volume, ("configMap", "name")) or "").startswith(_PREFIX)
        for pod in entry.pods
        for _, volume in _volumes(pod)
    )
    volume = any(volume.get("name") == "ranktable" for pod in entry.pods for _, volume in _volumes(pod))
    if mounts and not volume and entry.title != "AscendJob" and _LABEL not in entry.labels:
        yield Violation("RTB-01", ("metadata", "labels", _LABEL), {"kind": entry.title})
    if (mounts or volume) and entry.title in ("Deployment", "StatefulSet"):
        pod = entry.pods[0]
        given = pod.labels.get("deploy-name")
        if given != entry.name:
            values = {"found": "missing" if given is None else given, "name": entry.name}
            yield Violation("RTB-02", (*pod.meta, "labels", "deploy-name"), values)
    for pod in entry.pods:
        yield from _folder(entry, pod)


def _folder(entry: Entry, pod: PodView) -> Iterator[Violation]:
    """RTB-05."""
    own = f"{entry.namespace}.{entry.name}"
    for at, volume in _volumes(pod):
        if volume.get("name") != "ranktable":
            continue
        wanted = f"{_ROOT}/{own}"
        host, nfs = dig(volume, ("hostPath", "path")), dig(volume, ("nfs", "path"))
        if isinstance(host, str) and host.rstrip("/") != wanted:
            yield Violation("RTB-05", (*at, "hostPath", "path"), {"found": shorten(host), "wanted": wanted})
        if isinstance(nfs, str) and nfs.rstrip("/").rpartition("/")[2] != own:
            values = {"found": shorten(nfs), "wanted": f".../{own}"}
            yield Violation("RTB-05", (*at, "nfs", "path"), values, severity="warning")


def _references(entry: Entry, context: Context) -> Iterator[Violation]:
    """RTB-06."""
    said = set()
    for pod in entry.pods:
        for path, name in _named(pod):
            if name in said or name in _FROM_CLUSTER:
                continue
            said.add(name)
            if context.find("ConfigMap", entry.namespace, name) is None:
                yield Violation("RTB-06", path, {"name": name})


def _named(pod: PodView) -> Iterator[tuple[FieldPath, str]]:
    """(path, name) of every ConfigMap that the pod cannot do without."""
    spots: list[tuple[FieldPath, Any]] = []
    for at, volume in _volumes(pod):
        spots.append(((*at, "configMap"), volume.get("configMap")))
        sources = dig(volume, ("projected", "sources"))
        for where, source in mappings(sources, (*at, "projected", "sources")):
            spots.append(((*where, "configMap"), source.get("configMap")))
    for at, container in (*pod.containers, *pod.init_containers):
        for where, variable in mappings(container.get("env"), (*at, "env")):
            spots.append(((*where, "valueFrom", "configMapKeyRef"), dig(variable, ("valueFrom", "configMapKeyRef"))))
        for where, source in mappings(container.get("envFrom"), (*at, "envFrom")):
            spots.append(((*where, "configMapRef"), source.get("configMapRef")))
    for path, reference in spots:
        name = reference.get("name") if isinstance(reference, Mapping) else None
        if isinstance(reference, Mapping) and isinstance(name, str) and name and reference.get("optional") is not True:
            yield (*path, "name"), name


def _config_map(entry: Entry, context: Context) -> Iterator[Violation]:
    """RTB-03, 04, 07."""
    job = entry.name.removeprefix(_PREFIX)
    owners = [other for other in context.workloads if other.title in _NAMED_AFTER_JOB]
    others = [other for other in context.workloads if other.title not in _NAMED_AFTER_JOB]
    owner = next((o for o in owners if o.name == job and o.namespace == entry.namespace), None)
    gang = context.in_set("PodGroup", entry.namespace, job)  # bare Pods of a group have a finished table of its name
    if owners and owner is None and not others and gang is None:
        elsewhere = next((o.namespace for o in owners if o.name == job), "")
        if elsewhere:
            problem, advice = (
                f"{job} is in namespace {elsewhere}, not in {entry.namespace}",
                f"use namespace {elsewhere}",
            )
        else:
            names = ", ".join(sorted({o.name for o in owners if o.name})[:3])
            problem, advice = (
                f"no workload of this file is called {job}",
                f"name it rings-config-<job>; jobs here: {names}",
            )
        yield Violation("RTB-03", ("metadata", "name"), {"problem": problem, "advice": advice})
    if _LABEL not in entry.labels:
        values = {"problem": f"label {_LABEL} is missing: the operator passes the ConfigMap over"}
        yield Violation("RTB-03", ("metadata", "labels", _LABEL), {**values, "advice": f"add {_LABEL}"})
    if entry.get("metadata", "uid") is None:
        yield from _content(entry)
    yield from _mindie(entry, owner)


def _content(entry: Entry) -> Iterator[Violation]:
    """RTB-04."""
    data = entry.get("data")
    if not isinstance(data, Mapping) or _KEY not in data:
        keys = ", ".join(data) if isinstance(data, Mapping) and data else "none"
        yield Violation("RTB-04", ("data",), {"problem": f"key hccl.json is missing, found {keys}"})
        return
    text = data[_KEY]
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        value = None
    if value != {"status": "initializing"}:
        yield Violation("RTB-04", ("data", _KEY), {"problem": f"hccl.json holds {shorten(text.strip(), 40)!r}"})


def _mindie(entry: Entry, owner: Entry | None) -> Iterator[Violation]:
    """RTB-07."""
    labels = entry.labels
    mindie = (
        owner is not None and owner.case in (KNOWN, CARRIER) and owner.labels.get("app", "").startswith("mindie-ms-")
    )
    if not (mindie or "jobID" in labels or _CONSUMER in labels):
        return
    if "jobID" not in labels:
        value = owner.labels.get("jobID", "...") if owner is not None else "..."
        yield Violation("RTB-07", ("metadata", "labels", "jobID"), {"key": "jobID", "value": value})
    if labels.get(_CONSUMER) != "true":
        yield Violation("RTB-07", ("metadata", "labels", _CONSUMER), {"key": _CONSUMER, "value": '"true"'})
