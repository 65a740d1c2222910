"""Conditions of the VCJ rules on tasks, gang, plugins and scheduling."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from ascendctl.manifest.kinds import dig
from ascendctl.manifest.quantity import parse_quantity
from ascendctl.manifest.roles import npu_requests
from ascendctl.validate.companions import Context
from ascendctl.validate.entry import Entry, PodView, mappings
from ascendctl.validate.nearest import nearest
from ascendctl.validate.rule import Violation
from ascendctl.validate.rules.k8s_object import DNS_LABEL
from ascendctl.validate.schemas import VOLCANO_RELEASES
from ascendctl.yamlio.document import FieldPath, format_path

_TASKS: FieldPath = ("spec", "tasks")
PLUGINS = ("env", "svc", "ssh", "tensorflow", "mpi", "pytorch", "hcclrank", "ray")
_ACJ_FIELDS = ("runPolicy", "replicaSpecs", "successPolicy")
_ACJ_ANNOTATIONS = ("recover-strategy", "wait-reschedule-timeout")
_ACJ_LABELS = ("scaleout-type", "mind-cluster/scaling-rule", "mind-cluster/group-name", "process-recover-enable")
_TOPOLOGY_POLICIES = ("best-effort", "restricted", "single-numa-node")
_NO_COLON = re.compile(r"[^:]+")


def tasks_of(entry: Entry) -> list[tuple[FieldPath, Mapping[str, Any]]]:
    """(path, task) of the tasks that are mappings."""
    return list(mappings(entry.get(*_TASKS), _TASKS))


def replicas_of(task: Mapping[str, Any]) -> int:
    """replicas of a task; 0 if absent, as the server has it without a webhook."""
    value = task.get("replicas")
    return int(value) if value is not None else 0


def check(entry: Entry, context: Context) -> Iterator[Violation]:
    """VCJ-01 to 09, 16 to 29 but 22 and 23."""
    tasks = tasks_of(entry)
    if not tasks:
        yield Violation("VCJ-01", _TASKS, {"path": format_path(_TASKS)})
        return
    yield from _tasks(entry, tasks, context)
    yield from _gang(entry, tasks, context)
    yield from _plugins(entry, tasks)
    yield from _scheduling(entry, context)
    yield from _ranges(entry, tasks)
    yield from _volumes(entry)
    yield from _npus(entry)
    yield from _topology(entry, tasks, context)
    yield from _foreign_keys(entry)


def _tasks(entry: Entry, tasks: list[tuple[FieldPath, Mapping[str, Any]]], context: Context) -> Iterator[Violation]:
    """VCJ-02, 03, 04, 05, 09, 26."""
    seen = set()
    for index, (at, task) in enumerate(tasks):
        name = task.get("name")
        if not name:
            if not context.options.admission:
                yield Violation("VCJ-02", (*at, "name"), {"index": index, "job": entry.name})
        elif len(name) > 63 or not DNS_LABEL.fullmatch(name):
            yield Violation("VCJ-03", (*at, "name"), {"name": name})
        elif name in seen:
            yield Violation("VCJ-04", (*at, "name"), {"name": name})
        seen.add(name)
        pods, least = replicas_of(task), task.get("minAvailable")
        if pods < 0:
            yield Violation("VCJ-05", (*at, "replicas"), {"problem": f"replicas is {pods}"})
        elif least is not None and not 0 <= least <= pods:
            values = {"value": least, "task": name or index, "pods": pods}
            yield Violation("VCJ-09", (*at, "minAvailable"), values)
        if dig(task, ("template", "spec", "restartPolicy")) == "ExitCode":
            yield Violation("VCJ-26", (*at, "template", "spec", "restartPolicy"))
    if all(replicas_of(task) == 0 for _, task in tasks):
        yield Violation("VCJ-05", (*tasks[0][0], "replicas"), {"problem": "no task has a pod"})


def _gang(entry: Entry, tasks: list[tuple[FieldPath, Mapping[str, Any]]], context: Context) -> Iterator[Violation]:
    """VCJ-06, 07, 08."""
    pods = sum(max(replicas_of(task), 0) for _, task in tasks)
    gang, path = entry.get("spec", "minAvailable"), ("spec", "minAvailable")
    if not pods:
        return
    if not gang:
        severity = "warning" if context.options.admission else ""
        found = "missing" if gang is None else "0"
        yield Violation("VCJ-06", path, {"found": found, "pods": pods}, severity=severity)
    elif gang < 0 or gang > pods:
        yield Violation("VCJ-07", path, {"value": gang, "pods": pods})
    elif gang < pods and any(pod.resources for pod in entry.pods):
        yield Violation("VCJ-08", path, {"value": gang, "pods": pods})


def _npu_pods(entry: Entry) -> list[PodView]:
    return [
        pod for pod, (_, task) in zip(entry.pods, _with_template(entry), strict=False)
        if pod.resources and replicas_of(task) > 0
    ]  # fmt: skip


def _with_template(entry: Entry) -> list[tuple[FieldPath, Mapping[str, Any]]]:
    return [(at, task) for at, task in tasks_of(entry) if isinstance(task.get("template"), Mapping)]


def _plugins(entry: Entry, tasks: list[tuple[FieldPath, Mapping[str, Any]]]) -> Iterator[Violation]:
    """VCJ-16, 17, 29."""
    plugins, path = entry.get("spec", "plugins"), ("spec", "plugins")
    plugins = plugins if isinstance(plugins, Mapping) else {}
    for name, arguments in plugins.items():
        if name not in PLUGINS:
            near = nearest(name, PLUGINS)
            advice = f"did you mean {near}?" if near else f"known are {', '.join(PLUGINS)}"
            yield Violation("VCJ-16", (*path, name), {"problem": f"plugin {name} is unknown", "advice": advice})
        elif name == "mpi":
            yield from _mpi(entry, tasks, arguments)
    npu_pods = _npu_pods(entry)
    count = sum(pod.replicas for pod in npu_pods)
    if count >= 2 and not {"env", "hcclrank"} & plugins.keys():
        yield Violation("VCJ-17", path, {"pods": count})
    if len(npu_pods) >= 2 and "env" in plugins and "hcclrank" not in plugins:
        yield Violation("VCJ-29", (*path, "env"), {"tasks": ", ".join(pod.role for pod in npu_pods)})


def _mpi(entry: Entry, tasks: list[tuple[FieldPath, Mapping[str, Any]]], arguments: Any) -> Iterator[Violation]:
    given = next((str(a).partition("=")[2] for a in arguments or () if str(a).startswith("--master=")), "master")
    if given not in [task.get("name") for _, task in tasks]:
        values = {"problem": f"plugin mpi needs the task {given!r}", "advice": "add it, or name it with --master="}
        yield Violation("VCJ-16", ("spec", "plugins", "mpi"), values)


def _scheduling(entry: Entry, context: Context) -> Iterator[Violation]:
    """VCJ-18, 19."""
    options = context.options
    if not entry.get("spec", "queue") and not options.admission and options.volcano != VOLCANO_RELEASES[-1]:
        yield Violation("VCJ-18", ("spec", "queue"))
    if entry.get("spec", "schedulerName") or options.admission:
        return
    if any(pod.resources and not pod.scheduler for pod in entry.pods):
        yield Violation("VCJ-19", ("spec", "schedulerName"))


def _ranges(entry: Entry, tasks: list[tuple[FieldPath, Mapping[str, Any]]]) -> Iterator[Violation]:
    """VCJ-20."""
    pods = sum(max(replicas_of(task), 0) for _, task in tasks)
    limits: list[tuple[FieldPath, Any, str, int, int | None]] = [
        (("spec",), entry.get("spec"), "maxRetry", 0, None),
        (("spec",), entry.get("spec"), "ttlSecondsAfterFinished", 0, None),
    ]
    limits += [(("spec",), entry.get("spec"), "minSuccess", 1, pods)]
    limits += [(at, task, "maxRetry", 0, None) for at, task in tasks]
    for at, holder, field, least, most in limits:
        value = dig(holder, (field,))
        if value is not None and (value < least or (most is not None and value > most)):
            allowed = f"{least} to {most}" if most is not None else f"at least {least}"
            yield Violation("VCJ-20", (*at, field), {"field": field, "value": value, "allowed": allowed})


def _volumes(entry: Entry) -> Iterator[Violation]:
    """VCJ-21."""
    seen = set()
    for at, volume in mappings(entry.get("spec", "volumes"), ("spec", "volumes")):
        target = volume.get("mountPath")
        if not target or not _NO_COLON.fullmatch(target):
            problem = "mountPath is missing" if not target else f"mountPath {target!r} holds a ':'"
            yield Violation("VCJ-21", (*at, "mountPath"), {"problem": problem, "advice": "write a path without ':'"})
        elif target in seen:
            values = {"problem": f"{target} is mounted twice", "advice": "remove one of the two"}
            yield Violation("VCJ-21", (*at, "mountPath"), values)
        seen.add(target)
        if (volume.get("volumeClaim") is None) == (not volume.get("volumeClaimName")):
            both = volume.get("volumeClaim") is not None
            problem = "the volume has both volumeClaim and volumeClaimName" if both else "the volume has no claim"
            yield Violation("VCJ-21", at, {"problem": problem, "advice": "give volumeClaim or volumeClaimName"})


def _npus(entry: Entry) -> Iterator[Violation]:
    """VCJ-27."""
    asking = [pod for pod in entry.pods if pod.resources]
    for pod in asking[1:]:
        mine, first = next(iter(npu_requests(pod.body)), ""), next(iter(npu_requests(asking[0].body)), "")
        if mine != first:
            values = {"task": pod.role, "resource": mine, "other": asking[0].role, "others": first}
            yield Violation("VCJ-27", pod.npus[0][0], values)
            return


def _topology(entry: Entry, tasks: list[tuple[FieldPath, Mapping[str, Any]]], context: Context) -> Iterator[Violation]:
    """VCJ-24, 25."""
    spots = (("spec",), *(at for at, _ in tasks), *((*at, "partitionPolicy") for at, _ in tasks))
    for at in spots if context.options.volcano == VOLCANO_RELEASES[-1] else ():
        topology = entry.get(*at, "networkTopology")
        if isinstance(topology, Mapping) and {"highestTierAllowed", "highestTierName"} <= topology.keys():
            yield Violation("VCJ-24", (*at, "networkTopology"))
    for at, task in tasks:
        policy = task.get("topologyPolicy")
        if policy not in _TOPOLOGY_POLICIES:
            continue  # none, or nothing that the server takes
        inside = (*at, "template", "spec", "containers")
        for path, container in mappings(dig(task, ("template", "spec", "containers")), inside):
            asked, limit = (
                parse_quantity(dig(container, ("resources", part, "cpu"))) for part in ("requests", "limits")
            )
            if asked is None or asked != limit or asked != asked.to_integral_value():
                values = {"policy": policy, "task": task.get("name", ""), "name": container.get("name", "")}
                yield Violation("VCJ-25", (*path, "resources"), values)


def _foreign_keys(entry: Entry) -> Iterator[Violation]:
    """VCJ-28."""
    for key in _ACJ_FIELDS:
        if entry.get("spec", key) is not None:
            yield Violation("VCJ-28", ("spec", key), {"key": key})
    for part, found, keys in (
        ("annotations", entry.annotations, _ACJ_ANNOTATIONS), ("labels", entry.labels, _ACJ_LABELS),
    ):  # fmt: skip
        for key in keys:
            if key in found:
                yield Violation("VCJ-28", ("metadata", part, key), {"key": key})
