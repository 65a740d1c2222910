"""Rules on PodGroups and the pods that join them, PGR-* (chapter 40 §1.4, §3.2)."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from ascendctl.manifest.attributes import COPIED_ANNOTATIONS
from ascendctl.manifest.job import parse_go_int
from ascendctl.manifest.kinds import count_of, dig
from ascendctl.manifest.load import GROUP_MIN_MEMBER
from ascendctl.manifest.quantity import whole
from ascendctl.manifest.roles import npu_requests
from ascendctl.validate.companions import Context
from ascendctl.validate.dialects import is_foreign
from ascendctl.validate.entry import Entry, PodView
from ascendctl.validate.keys import GROUP_C
from ascendctl.validate.rule import Rule, Violation
from ascendctl.wellknown import GROUP_NAME, MIN_AVAILABLE

RULES: tuple[Rule, ...] = (
    Rule(
        "PGR-01",
        "error",
        "minMember is below 1, or exceeds the pods that join",
        "minMember {value}{found}: the gang can never be complete",
        "{advice}",
        ("PodGroup",),
        outcome="PEND-V",
        wrong="minMember: 3    # two pods name it",
        right="minMember: 2",
    ),
    Rule(
        "PGR-02",
        "error",
        "minResources lacks the NPUs of the members, or disagrees with them",
        "minResources has {found}, {members} members ask for {total} {resource}: without it the job is no NPU job",
        "write {resource}: {total}",
        ("PodGroup",),
        outcome="PEND-V",
        wrong="minResources: {cpu: 8}",
        right="minResources: {huawei.com/Ascend910: 16}",
    ),
    Rule(
        "PGR-03",
        "error",
        "a pod names a PodGroup that is not there",
        "PodGroup {name} is not in namespace {namespace}{where}",
        "create it, or correct the name",
        outcome="PEND-N",
        wrong="scheduling.k8s.io/group-name: gnag",
        right="scheduling.k8s.io/group-name: gang",
    ),
    Rule(
        "PGR-04",
        "error",
        "a label of the PodGroup differs from the same label of a member",
        "label {key} is {group!r} on the PodGroup and {pod!r} on a pod: both are joined to {joined!r}, which no policy "
        "knows",
        "write the same value in both",
        ("PodGroup",),
        outcome="IGN",
        wrong="PodGroup fault-scheduling: force\nPod fault-scheduling: grace",
        right="the same value twice",
    ),
    Rule(
        "PGR-05",
        "warning",
        "an annotation of the PodGroup differs from the same annotation of a member",
        "annotation {key} is {group!r} on the PodGroup and {pod!r} on a pod: the PodGroup's value wins",
        "write the same value in both",
        ("PodGroup",),
        outcome="IGN",
        wrong="PodGroup sp-block: 32\nPod sp-block: 16",
        right="the same value twice",
    ),
    Rule(
        "PGR-06",
        "warning",
        "huawei.com/schedule_minAvailable stands beside a PodGroup with minMember above 1",
        "{key} is ignored: minMember of the PodGroup is {member}",
        "remove it",
        outcome="IGN",
        wrong="huawei.com/schedule_minAvailable: '2'    # minMember: 4",
        right="minMember: 4",
    ),
    Rule(
        "PGR-07",
        "error",
        "a disruption budget is malformed, or given twice",
        "{problem}",
        "give one of them, as a whole number from 1 or as 1% to 99%",
        outcome="ADM",
        wrong="volcano.sh/jdb-min-available: 0",
        right="volcano.sh/jdb-min-available: '2'",
    ),
    Rule(
        "PGR-08",
        "warning",
        "no pod of the file joins the PodGroup",
        "no pod joins PodGroup {name}: Volcano makes a group of its own for the pods",
        "add annotation scheduling.k8s.io/group-name: {name} to the pod template",
        ("PodGroup",),
        outcome="IGN",
        wrong="kind: PodGroup    # and pods that do not name it",
        right="scheduling.k8s.io/group-name: gang",
    ),
)

_BUDGETS = ("volcano.sh/jdb-min-available", "volcano.sh/jdb-max-unavailable")
_BUDGET = re.compile(r"[1-9][0-9]*|[1-9][0-9]?%")


def check(entry: Entry, context: Context) -> Iterator[Violation]:
    """PGR-01, 02, 04, 05, 07, 08 of a PodGroup."""
    members = _members(entry, context)
    gang = entry.get("spec", "minMember")
    pods = sum(pod.replicas for _, pod in members)
    path = ("spec", "minMember")
    if gang is not None and gang < 1:
        yield Violation("PGR-01", path, {"value": gang, "found": "", "advice": "write 1 or more"})
    elif members and gang is not None and pods < gang:
        advice = f"write {pods}, or add pods"
        yield Violation("PGR-01", path, {"value": gang, "found": f", {pods} pods join", "advice": advice})
    yield from _resources(entry, members, gang)
    yield from _conflicts(entry, members)
    yield from budgets(("metadata", "annotations"), entry.annotations)
    if not members and _npu_workloads(entry, context):
        yield Violation("PGR-08", ("metadata", "name"), {"name": entry.name})


def _members(entry: Entry, context: Context) -> list[tuple[Entry, PodView]]:
    return [
        (other, pod) for other in context.workloads if other.namespace == entry.namespace for pod in other.pods
        if pod.annotations.get(GROUP_NAME) == entry.name
    ]  # fmt: skip


def _npu_workloads(entry: Entry, context: Context) -> bool:
    kinds = ("Deployment", "StatefulSet", "Job", "Pod")
    return any(
        other.title in kinds
        and other.namespace == entry.namespace
        and any(pod.resources and not is_foreign(other, pod) for pod in other.pods)
        for other in context.workloads
    )


def _resources(entry: Entry, members: list[tuple[Entry, PodView]], gang: Any) -> Iterator[Violation]:
    """PGR-02."""
    asking = [(pod, npu_requests(pod.body)) for owner, pod in members if pod.resources and not is_foreign(owner, pod)]
    if not asking:
        return
    resource = next(iter(asking[0][1]), "")
    left = gang if isinstance(gang, int) and gang > 0 else 1
    wanted, total = left, 0
    for _, pod in members:
        taken = min(left, pod.replicas)
        total += taken * npu_requests(pod.body).get(resource, 0)
        left -= taken
    given = entry.get("spec", "minResources")
    value = given.get(resource) if isinstance(given, Mapping) else None
    if value is None or (left == 0 and whole(value) != total):
        found = f"no {resource}" if value is None else f"{value} {resource}"
        values = {"found": found, "members": wanted, "total": total, "resource": resource}
        yield Violation("PGR-02", ("spec", "minResources", resource), values)


def _conflicts(entry: Entry, members: list[tuple[Entry, PodView]]) -> Iterator[Violation]:
    """PGR-04, PGR-05."""
    said = set()
    for _, pod in members:
        for key, value in pod.labels.items():
            own = entry.labels.get(key)
            if key in GROUP_C and own is not None and own.lower() != value.lower() and key not in said:
                said.add(key)
                values = {"key": key, "group": own, "pod": value, "joined": f"{own}|{value}"}
                yield Violation("PGR-04", ("metadata", "labels", key), values)
        for key in COPIED_ANNOTATIONS:
            given, own = pod.annotations.get(key), entry.annotations.get(key)
            if None not in (given, own) and given != own and key not in said:
                said.add(key)
                values = {"key": key, "group": str(own), "pod": str(given)}
                yield Violation("PGR-05", ("metadata", "annotations", key), values)


def budgets(path: tuple[str | int, ...], annotations: Mapping[str, str]) -> Iterator[Violation]:
    """PGR-07 on the annotations of a PodGroup or pod template."""
    given = [key for key in _BUDGETS if key in annotations]
    if len(given) == 2:
        yield Violation("PGR-07", (*path, given[1]), {"problem": f"{given[0]} and {given[1]} exclude each other"})
        return
    for key in given:
        if not _BUDGET.fullmatch(annotations[key]):
            yield Violation("PGR-07", (*path, key), {"problem": f"{key} is {annotations[key]!r}"})


def pods(entry: Entry, context: Context) -> Iterator[Violation]:
    """PGR-03, PGR-06, PGR-07 of a workload and its pod templates."""
    exported = entry.get("metadata", "uid") is not None
    for pod in entry.pods:
        yield from budgets((*pod.meta, "annotations"), pod.annotations)
        name = pod.annotations.get(GROUP_NAME)
        if name is not None and not exported and context.find("PodGroup", entry.namespace, name) is None:
            elsewhere = next((o.namespace for o in context.entries if o.title == "PodGroup" and o.name == name), "")
            where = f", it is in {elsewhere}" if elsewhere else ""
            values = {"name": name, "namespace": entry.namespace, "where": where}
            yield Violation("PGR-03", (*pod.meta, "annotations", GROUP_NAME), values)
    yield from _ignored_gang(entry, context)


def _ignored_gang(entry: Entry, context: Context) -> Iterator[Violation]:
    """PGR-06."""
    spots = [((*pod.meta, "annotations", MIN_AVAILABLE), pod) for pod in entry.pods if MIN_AVAILABLE in pod.annotations]
    paths = [path for path, _ in spots]
    if entry.title in ("AscendJob", "vcjob") and MIN_AVAILABLE in entry.annotations:
        paths.insert(0, ("metadata", "annotations", MIN_AVAILABLE))
    member = _member(entry, context)
    if not paths or member <= 1:
        return
    text = str(entry.get(*paths[0]))
    if parse_go_int(text) is None and entry.title in ("AscendJob", "vcjob"):
        message = f"{MIN_AVAILABLE} is {text!r}: although it is ignored here, it must be a whole number"
        yield Violation("PGR-06", paths[0], {}, severity="error", message=message)
    else:
        yield Violation("PGR-06", paths[0], {"key": MIN_AVAILABLE, "member": member})


def _member(entry: Entry, context: Context) -> int:
    """minMember of the PodGroup that the pods will be in."""
    for pod in entry.pods:
        group = context.find("PodGroup", entry.namespace, pod.annotations.get(GROUP_NAME, ""))
        if isinstance(group, Mapping):
            return count_of(dig(group, ("spec", "minMember")), 1)
    if entry.title in ("AscendJob", "vcjob") and entry.kind is not None:
        default = sum(pod.replicas for pod in entry.pods) if entry.title == "AscendJob" else 1
        return count_of(entry.get(*entry.kind.gang), default)
    inherited = parse_go_int(entry.annotations.get(GROUP_MIN_MEMBER, "")) if entry.title != "Pod" else None
    return inherited or 1
