"""RSC rules on keys and fields that must fit together."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from ascendctl.manifest.job import parse_go_int
from ascendctl.manifest.kinds import dig
from ascendctl.validate.companions import Context
from ascendctl.validate.entry import Entry, PodView, mappings
from ascendctl.validate.rule import Violation
from ascendctl.validate.rules.labels import Read, read_annotations, read_labels
from ascendctl.validate.rules.rsc_labels import FAULT, FAULT_VALUES, RETRY, STRATEGY
from ascendctl.validate.rules.vcj_checks import replicas_of, tasks_of
from ascendctl.yamlio.document import FieldPath

_ACTIVE = ("grace", "force", "external-grace", "external-force")
_EXITS = ("graceExit", "forceExit", "hotSwitch")
_HOT_SWITCH_PRODUCTS = ("a2", "800-a3-sp", "800-a3", "a3-9000")
_PROCESS = frozenset(("retry", "recover", "recover-in-place"))
_SYSTEM_PATHS = ("/var/log", "/etc", "/usr", "/var/lib")
_OUTPUTS = frozenset(("output", "outputs", "out", "log", "logs"))
_DEFAULT_GRACE = 900
_SERVER_GRACE = 30


def check(entry: Entry, context: Context) -> Iterator[Violation]:
    """RSC-02, 04 to 07, 10, 12, 16 to 18."""
    found, notes = read_labels(entry), read_annotations(entry)
    yield from _needs_fault_scheduling(found, notes)
    yield from _restart(entry, found)
    yield from _policies(entry, found)
    fault = found[FAULT].value if FAULT in found else ""
    for pod in entry.pods:
        if fault == "force" and pod.body.get("hostNetwork") is True:
            yield Violation("RSC-06", (*pod.spec, "hostNetwork"))
        yield from _grace(entry, pod, fault, context)
    yield from _hot_switch(entry, found, context)
    yield from _process_recovery(entry, found, notes)
    yield from _rank_table(entry, found, notes)
    yield from _elastic(entry, found)
    if fault in _ACTIVE:
        for pod in entry.pods:
            yield from _shared_storage(pod)


def _is_mindie(found: Mapping[str, Read]) -> bool:
    return "app" in found and found["app"].value.startswith("mindie-ms-")


def _times(found: Mapping[str, Read]) -> int:
    return max(parse_go_int(found[RETRY].value) or 0, 0) if RETRY in found else 0


def _needs_fault_scheduling(found: Mapping[str, Read], notes: Mapping[str, Read]) -> Iterator[Violation]:
    """RSC-02; an unknown value of fault-scheduling is RSC-01's."""
    fault = found.get(FAULT)
    if fault is not None and (fault.value in _ACTIVE or fault.value not in FAULT_VALUES):
        return
    recovery = found.get("process-recover-enable")
    health = found.get("subHealthyStrategy")
    keys = [
        ("pod-rescheduling", found.get("pod-rescheduling")),
        ("process-recover-enable", recovery if recovery and recovery.value in ("on", "pause") else None),
        (STRATEGY, notes.get(STRATEGY)),
        (RETRY, found.get(RETRY) if _times(found) else None),
        ("subHealthyStrategy", health if health and health.value in _EXITS else None),
    ]
    for key, read in keys:
        if read is not None and not (key == "pod-rescheduling" and read.value != "on"):
            yield Violation("RSC-02", read.path, {"key": key, "found": "off" if fault else "missing"})
            return


def _restart(entry: Entry, found: Mapping[str, Read]) -> Iterator[Violation]:
    """RSC-04."""
    times = _times(found)
    if not times or entry.title not in ("AscendJob", "vcjob", "Job") or _is_mindie(found):
        return
    for pod in entry.pods:
        path: FieldPath = (*pod.spec, "restartPolicy")
        policy = pod.body.get("restartPolicy") or "Always"
        if entry.title == "AscendJob":
            path = (*pod.path[:-1], "restartPolicy")
            policy = entry.get(*path) or "Never"
        if policy != "Never":
            yield Violation("RSC-04", path, {"times": times, "policy": policy})
            return


def _policies(entry: Entry, found: Mapping[str, Read]) -> Iterator[Violation]:
    """RSC-05."""
    if entry.title != "vcjob":
        return
    at: FieldPath = ("spec", "policies")
    spots = [(at, entry.get(*at)), *(((*path, "policies"), task.get("policies")) for path, task in tasks_of(entry))]
    rescheduling = found.get("pod-rescheduling")
    for path, policies in spots:
        for where, policy in mappings(policies, path):
            if rescheduling is not None and rescheduling.value == "on":
                values = {"key": "pod-rescheduling", "advice": "remove the policies"}
            elif _times(found) and not (policy.get("event") == "PodFailed" and policy.get("action") == "Ignore"):
                values = {"key": RETRY, "advice": "keep {event: PodFailed, action: Ignore} only"}
            else:
                continue
            yield Violation("RSC-05", where, values)
            return


def _grace(entry: Entry, pod: PodView, fault: str, context: Context) -> Iterator[Violation]:
    """RSC-07; the server's default in an exported object is nobody's choice."""
    seconds = pod.body.get("terminationGracePeriodSeconds")
    if seconds == _SERVER_GRACE and entry.get("metadata", "uid") is not None:
        return
    if not isinstance(seconds, int) or seconds < 0 or not pod.resources:
        return
    path = (*pod.spec, "terminationGracePeriodSeconds")
    limit = context.options.scheduler.grace_over_time
    if seconds == 0:
        values = {"value": 0, "problem": "leaves no time to stop gracefully", "advice": f"write 1 to {limit - 1}"}
        yield Violation("RSC-07", path, values)
    elif seconds >= limit:
        problem = f"is not below grace-over-time ({limit})"
        given = limit != _DEFAULT_GRACE or "grace-over-time" in context.options.scheduler.given
        values = {"value": seconds, "problem": problem, "advice": f"write less than {limit}"}
        yield Violation("RSC-07", path, values, severity="error" if given else "")
    elif fault in ("force", "external-force"):
        values = {"value": seconds, "problem": f"is used with grace only, fault-scheduling is {fault}"}
        yield Violation("RSC-07", path, {**values, "advice": "remove it, or use fault-scheduling: grace"})


def _hot_switch(entry: Entry, found: Mapping[str, Read], context: Context) -> Iterator[Violation]:
    """RSC-10."""
    health = found.get("subHealthyStrategy")
    if health is None or health.value != "hotSwitch":
        return
    framework, product = entry.labels.get("framework"), context.options.product
    if entry.title != "AscendJob":
        where = f"on a {entry.title}"
    elif framework != "pytorch":
        where = f"with framework {framework}"
    elif product and product not in _HOT_SWITCH_PRODUCTS:
        where = f"on {product}"
    else:
        return
    yield Violation("RSC-10", health.path, {"where": where})


def _process_recovery(entry: Entry, found: Mapping[str, Read], notes: Mapping[str, Read]) -> Iterator[Violation]:
    """RSC-12."""
    strategy = notes.get(STRATEGY)
    if strategy is None or entry.title != "AscendJob":
        return
    words = {word.strip() for word in strategy.value.split(",")}
    ports, variables = set(), set()
    for pod in entry.pods:
        for _, container in pod.containers:
            ports |= {port.get("name") for _, port in mappings(container.get("ports"), ())}
            variables |= {variable.get("name") for _, variable in mappings(container.get("env"), ())}
    missing = []
    if words & _PROCESS:
        if FAULT in found and found[FAULT].value in ("force", "external-force"):
            missing.append("label fault-scheduling: grace")  # a missing label is RSC-02's
        if "taskd-port" not in ports:
            missing.append("a port called taskd-port")
        if "POD_IP" not in variables:
            missing.append("variable POD_IP")
    if "dump" in words and "ttp-port" not in ports:
        missing.append("a port called ttp-port")
    if missing:
        values = {"value": strategy.value, "missing": ", ".join(missing)}
        yield Violation("RSC-12", strategy.path, values)


def _rank_table(entry: Entry, found: Mapping[str, Read], notes: Mapping[str, Read]) -> Iterator[Violation]:
    """RSC-16."""
    recovery, rescheduling = found.get("process-recover-enable"), found.get("pod-rescheduling")
    active = (rescheduling is not None and rescheduling.value == "on") or STRATEGY in notes
    if not active and not (recovery is not None and recovery.value == "on"):
        return
    for pod in entry.pods:
        for at, volume in mappings(pod.body.get("volumes"), (*pod.spec, "volumes")):
            name = dig(volume, ("configMap", "name"))
            if isinstance(name, str) and name.startswith("rings-config-"):
                yield Violation("RSC-16", (*at, "configMap", "name"), {"name": name})
                return


def _elastic(entry: Entry, found: Mapping[str, Read]) -> Iterator[Violation]:
    """RSC-17."""
    elastic = found.get("elastic-scheduling")
    if elastic is None or elastic.value != "on":
        return
    if entry.title != "vcjob":
        values = {"problem": f"is for vcjobs only, not for a {entry.title}", "advice": "remove it"}
        yield Violation("RSC-17", elastic.path, values)
        return
    least = found.get("minReplicas")
    replicas = sum(max(replicas_of(task), 0) for _, task in tasks_of(entry))
    number = parse_go_int(least.value) if least else None
    if number is None or not 1 <= number <= replicas:
        shown = repr(least.value) if least else "missing"
        values = {"problem": f"minReplicas is {shown}", "advice": f'add label minReplicas: "1" to "{replicas}"'}
        yield Violation("RSC-17", least.path if least else (*elastic.path[:-1], "minReplicas"), values)


def _shared_storage(pod: PodView) -> Iterator[Violation]:
    """RSC-18."""
    shared: dict[Any, str] = {}
    for _, volume in mappings(pod.body.get("volumes"), ()):
        for kind in ("nfs", "hostPath"):
            path = dig(volume, (kind, "path"))
            if isinstance(path, str) and not dig(volume, (kind, "readOnly")):
                shared[volume.get("name")] = path
    for path, container in pod.containers:
        for at, mount in mappings(container.get("volumeMounts"), (*path, "volumeMounts")):
            target, source = mount.get("mountPath"), shared.get(mount.get("name"))
            if not isinstance(target, str) or source is None or mount.get("readOnly"):
                continue
            if mount.get("subPath") or mount.get("subPathExpr") or _is_system(target) or _is_system(source):
                continue
            if _OUTPUTS & {part.lower() for part in target.split("/")}:
                yield Violation("RSC-18", (*at, "mountPath"), {"path": target})


def _is_system(path: str) -> bool:
    return any(path == known or path.startswith(known + "/") for known in _SYSTEM_PATHS)
