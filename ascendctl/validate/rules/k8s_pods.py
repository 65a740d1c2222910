"""K8S rules on a pod template: containers, ports, quantities, volumes, environment, affinity."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from ascendctl.manifest.kinds import dig
from ascendctl.manifest.quantity import parse_quantity
from ascendctl.manifest.roles import NPU_PREFIX
from ascendctl.validate.companions import Context
from ascendctl.validate.entry import CARRIER, HALF, Entry, PodView, mappings
from ascendctl.validate.ome import inherited_volumes, is_service
from ascendctl.validate.rule import Violation
from ascendctl.validate.rules import k8s_affinity
from ascendctl.validate.rules.k8s_object import INFER_KINDS
from ascendctl.yamlio.document import FieldPath, format_path

_FIELD = re.compile(
    r"metadata\.(name|namespace|uid)|metadata\.(labels|annotations)\['[^']+'\]|spec\.(nodeName|serviceAccountName)"
    r"|status\.(hostIPs?|podIPs?)"
)
_DIGITS = re.compile(r"0|[1-9][0-9]*")


def check(entry: Entry, pod: PodView, context: Context) -> Iterator[Violation]:
    """K8S-05 to 15 and 18 to 24 of one pod template."""
    yield from _containers(entry, pod)
    for path, container in (*pod.containers, *pod.init_containers):
        yield from _ports(path, container, pod)
        yield from _quantities(entry, path, container)
        yield from _environment(path, container)
    yield from _volumes(entry, pod, context)
    yield from k8s_affinity.expressions(pod)
    yield from _one_asks(pod)
    if entry.case == HALF:
        return
    yield from _restart_policy(entry, pod)
    if pod.body.get("hostNetwork") is True and pod.body.get("dnsPolicy") != "ClusterFirstWithHostNet":
        yield Violation("K8S-18", (*pod.spec, "dnsPolicy"))
    yield from k8s_affinity.own_pods(entry, pod)
    yield from k8s_affinity.enough_nodes(entry, pod, context)
    yield from _priority_class(pod, context)


def _containers(entry: Entry, pod: PodView) -> Iterator[Violation]:
    """K8S-05 for repeated names, K8S-06."""
    seen = set()
    for path, container in (*pod.containers, *pod.init_containers):
        name = container.get("name")
        if name in seen and name:
            yield Violation("K8S-05", (*path, "name"), {"name": name})
        seen.add(name)
        if not container.get("image") and not (entry.title == "AscendJob" and name == "ascend"):
            if entry.case == CARRIER and "image" not in container and path[-1] == "runner":
                continue  # the runtime brings the image
            yield Violation("K8S-06", (*path, "image"), {"name": name or "without name"})


def _ports(path: FieldPath, container: Mapping[str, Any], pod: PodView) -> Iterator[Violation]:
    """K8S-07 beyond single fields."""
    seen = set()
    for at, port in mappings(container.get("ports"), (*path, "ports")):
        name = port.get("name")
        if name and name in seen:
            values = {"problem": f"port name {name!r} stands twice", "advice": "give every port its own name"}
            yield Violation("K8S-07", (*at, "name"), values)
        seen.add(name)
        host, own = port.get("hostPort"), port.get("containerPort")
        if pod.body.get("hostNetwork") is True and host and host != own:
            values = {"problem": f"hostPort {host} differs from containerPort {own} under hostNetwork"}
            yield Violation("K8S-07", (*at, "hostPort"), {**values, "advice": "make both equal, or drop hostPort"})


def _quantities(entry: Entry, path: FieldPath, container: Mapping[str, Any]) -> Iterator[Violation]:
    """K8S-09 to 12."""
    parts = {part: dig(container, ("resources", part)) or {} for part in ("requests", "limits")}
    for part, found in parts.items():
        for name, value in found.items():
            if NPU_PREFIX in name:
                yield from _whole(entry, (*path, "resources", part, name), value)
    for name, asked in parts["requests"].items():
        limit = parts["limits"].get(name)
        here, there = parse_quantity(asked), parse_quantity(limit)
        at = (*path, "resources", "limits", name)
        if NPU_PREFIX in name:
            values = {"resource": name, "requests": asked, "limits": limit}
            if name not in parts["limits"]:
                yield Violation("K8S-10", at, values)
            elif here is not None and there is not None and here != there:
                yield Violation("K8S-11", at, values)
        elif here is not None and there is not None and here > there:
            values = {"resource": name, "requests": asked, "limits": limit}
            yield Violation("K8S-12", (*path, "resources", "requests", name), values)


def _whole(entry: Entry, path: FieldPath, value: Any) -> Iterator[Violation]:
    number = parse_quantity(value)
    if number is None:
        return
    mark = entry.document.marks.get(path)
    text = mark.text if mark is not None and mark.text is not None else str(value)
    if number < 0 or number != number.to_integral_value():
        yield Violation("K8S-09", path, {"path": format_path(path), "text": text})
    elif not _DIGITS.fullmatch(text):
        message = f"{format_path(path)}: {text} is read as {int(number)}"
        yield Violation("K8S-09", path, {}, severity="warning", message=message, hint=f"write {int(number)}")


def _environment(path: FieldPath, container: Mapping[str, Any]) -> Iterator[Violation]:
    """K8S-14 beyond single fields."""
    for at, variable in mappings(container.get("env"), (*path, "env")):
        name = variable.get("name") or "without name"
        source = variable.get("valueFrom")
        if variable.get("value") and isinstance(source, Mapping):
            values = {"problem": f"variable {name} has both value and valueFrom", "advice": "keep one of the two"}
            yield Violation("K8S-14", (*at, "valueFrom"), values)
        field = dig(source, ("fieldRef", "fieldPath"))
        if isinstance(field, str) and not _FIELD.fullmatch(field):
            values = {
                "problem": f"variable {name}: {field!r} is no field that the pod can read",
                "advice": "use metadata.name, metadata.namespace, metadata.uid, metadata.labels['key'], "
                "metadata.annotations['key'], spec.nodeName, spec.serviceAccountName, status.hostIP or status.podIP",
            }
            yield Violation("K8S-14", (*at, "valueFrom", "fieldRef", "fieldPath"), values)


def _volumes(entry: Entry, pod: PodView, context: Context) -> Iterator[Violation]:
    """K8S-13 beyond single fields. The mounts of an OME service may use volumes of its runtime."""
    declared: dict[str, None] = {}
    for at, volume in mappings(pod.body.get("volumes"), (*pod.spec, "volumes")):
        name = volume.get("name")
        if name and name in declared:
            values = {"problem": f"volume {name!r} is declared twice", "advice": "remove or rename one"}
            yield Violation("K8S-13", (*at, "name"), values)
        declared[name or ""] = None
        yield from _sources(entry, at, volume)
    claims = dig(entry.value, (*pod.path[:-1], "volumeClaimTemplates")) if pod.path else None
    for _, claim in mappings(claims, ()):
        declared[dig(claim, ("metadata", "name")) or ""] = None
    complete = True
    if is_service(entry):
        inherited = inherited_volumes(entry, str(pod.path[1]), context)
        complete = inherited is not None
        declared.update(dict.fromkeys(inherited or ()))
    for path, container in (*pod.containers, *pod.init_containers):
        yield from _mounts(path, container, declared, complete)


def _sources(entry: Entry, at: FieldPath, volume: Mapping[str, Any]) -> Iterator[Violation]:
    sources = [key for key in volume if key != "name"]
    # `emptyDir:` without a value is what the server makes of a volume without source
    written = any(len(path) == len(at) + 1 and path[:-1] == at and path[-1] != "name" for path in entry.document.marks)
    name = volume.get("name", "")
    if not sources and not written:
        values = {"problem": f"volume {name!r} has no source", "advice": "add one, such as emptyDir: {}"}
        yield Violation("K8S-13", at, values)
    elif len(sources) > 1:
        values = {"problem": f"volume {name!r} has {len(sources)} sources: {', '.join(sources)}"}
        yield Violation("K8S-13", at, {**values, "advice": "keep one of them"})


def _mounts(
    path: FieldPath, container: Mapping[str, Any], declared: Mapping[str, None], complete: bool
) -> Iterator[Violation]:
    mounts = list(mappings(container.get("volumeMounts"), (*path, "volumeMounts")))
    known = ", ".join(name for name in declared if name) or "none"
    paths = set()
    for i, (at, mount) in enumerate(mounts):
        name, target = mount.get("name"), mount.get("mountPath")
        if complete and isinstance(name, str) and name and name not in declared:
            values = {"problem": f"no volume is called {name!r}", "advice": f"declared are: {known}"}
            yield Violation("K8S-13", (*at, "name"), values)
        if isinstance(target, str) and target and target in paths:
            values = {"problem": f"{target} is mounted twice in the container", "advice": "remove one mount"}
            yield Violation("K8S-13", (*at, "mountPath"), values)
        paths.add(target)
        after = mounts[i + 1] if i + 1 < len(mounts) else None
        if after is not None and target is None and name and after[1].get("name") is None and after[1].get("mountPath"):
            message = f"{format_path(at)} has only a name, the next item only a mountPath"
            yield Violation("K8S-13", (*at, "mountPath"), {}, message=message, hint="one mount split by a stray dash?")
            yield Violation("K8S-13", (*after[0], "name"), severity="off")


def _one_asks(pod: PodView) -> Iterator[Violation]:
    """K8S-22."""
    asked = False
    for path, container in (*pod.containers, *pod.init_containers):
        found = {
            name: part
            for part in ("limits", "requests")
            for name in dig(container, ("resources", part)) or {}
            if NPU_PREFIX in name
        }
        if found and (asked or path in [at for at, _ in pod.init_containers]):
            name, part = next(iter(found.items()))
            values = {"name": container.get("name", ""), "resource": name}
            yield Violation("K8S-22", (*path, "resources", part, name), values)
        asked = asked or bool(found)


def _restart_policy(entry: Entry, pod: PodView) -> Iterator[Violation]:
    """K8S-15 where the kind matters."""
    value, path = pod.body.get("restartPolicy"), (*pod.spec, "restartPolicy")
    kind = entry.title
    if kind in ("Deployment", "StatefulSet", *INFER_KINDS):
        if value not in (None, "Always"):
            values = {"value": value, "kind": kind, "allowed": "only Always", "advice": "Always, or remove it"}
            yield Violation("K8S-15", path, values)
    elif kind == "Job" and value not in ("Never", "OnFailure"):
        values = {"value": value or "(absent, so Always)", "kind": "Job", "allowed": "Never or OnFailure"}
        yield Violation("K8S-15", path, {**values, "advice": "Never"})
    elif kind == "vcjob" and value == "ExitCode":
        yield Violation("K8S-15", path, severity="off")  # VCJ-26 says it


def _priority_class(pod: PodView, context: Context) -> Iterator[Violation]:
    """K8S-24."""
    name = pod.body.get("priorityClassName")
    if not isinstance(name, str) or not name or name.startswith("system-") or not context.has_dumped("PriorityClass"):
        return
    if context.find("PriorityClass", "", name) is None:
        yield Violation("K8S-24", (*pod.spec, "priorityClassName"), {"name": name})
