"""Conditions of the VCJ rules on policies, dependencies and partitions (VCJ-10 to 15, 22, 23)."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from ascendctl.manifest.kinds import dig
from ascendctl.validate.companions import Context
from ascendctl.validate.entry import Entry, mappings
from ascendctl.validate.nearest import nearest
from ascendctl.validate.rule import Violation
from ascendctl.validate.rules.vcj_checks import replicas_of, tasks_of
from ascendctl.validate.schemas import VOLCANO_RELEASES
from ascendctl.yamlio.document import FieldPath

EVENTS = (
    "*", "PodPending", "PodRunning", "PodFailed", "PodEvicted", "Unknown", "TaskCompleted", "OutOfSync",
    "CommandIssued", "JobUpdated", "TaskFailed",
)  # fmt: skip
INTERNAL_EVENTS = ("OutOfSync", "CommandIssued", "PodRunning")
ACTIONS = (
    "AbortJob", "RestartJob", "RestartTask", "RestartPod", "RestartPartition", "TerminateJob", "CompleteJob",
    "ResumeJob",
)  # fmt: skip
_DURATION = re.compile(r"[-+]?(?:0|(?:(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:ns|us|µs|μs|ms|s|m|h))+)")


def check(entry: Entry, context: Context) -> Iterator[Violation]:
    """Policies of the job and of its tasks, dependencies and partitions of the tasks."""
    tasks = tasks_of(entry)
    for at, holder in ((("spec",), entry.get("spec")), *tasks):
        yield from _policies(list(mappings(dig(holder, ("policies",)), (*at, "policies"))), context)
    yield from _dependencies(tasks)
    for at, task in tasks if context.options.volcano == VOLCANO_RELEASES[-1] else ():
        yield from _partitions(at, task)


def _events(at: FieldPath, policy: Mapping[str, Any]) -> Iterator[tuple[FieldPath, str]]:
    if policy.get("event"):
        yield (*at, "event"), str(policy["event"])
    for i, event in enumerate(policy.get("events") or ()):
        if event:
            yield (*at, "events", i), str(event)


def _policies(policies: Sequence[tuple[FieldPath, Mapping[str, Any]]], context: Context) -> Iterator[Violation]:
    seen: set[str] = set()
    codes: set[int] = set()
    every = [event for at, policy in policies for event in dict.fromkeys(e for _, e in _events(at, policy))]
    for at, policy in policies:
        events, code = list(_events(at, policy)), policy.get("exitCode")
        if bool(events) == (code is not None):
            found = "both an event and an exitCode" if events else "neither an event nor an exitCode"
            yield Violation("VCJ-10", at, {"found": found})
        yield from _action(at, policy)
        yield from _timeout(at, policy)
        named: set[str] = set()
        for path, event in events:
            yield from _event(path, event, context)
            if event in named or event in seen:
                yield Violation("VCJ-13", path, {"value": event, "problem": "stands twice"})
            named.add(event)
        seen |= named
        if "*" in named and len(every) > 1:
            path = next(path for path, event in events if event == "*")
            yield Violation("VCJ-13", path, {"value": "*", "problem": "stands beside other events"})
        if code is not None:
            if code == 0:
                yield Violation("VCJ-14", (*at, "exitCode"), {"value": 0, "problem": "means success"})
            elif code in codes:
                yield Violation("VCJ-14", (*at, "exitCode"), {"value": code, "problem": "stands twice"})
            codes.add(code)


def _event(path: FieldPath, event: str, context: Context) -> Iterator[Violation]:
    """VCJ-11; from release 1.12 on an unknown event is found by the schema (DOC-10)."""
    usable = [known for known in EVENTS if known not in INTERNAL_EVENTS]
    if event in INTERNAL_EVENTS or (event not in EVENTS and context.options.volcano == "1.9"):
        near = nearest(event, usable)
        advice = f"did you mean {near}?" if near else f"use one of {', '.join(usable)}"
        yield Violation("VCJ-11", path, {"value": event, "advice": advice})


def _action(at: FieldPath, policy: Mapping[str, Any]) -> Iterator[Violation]:
    """VCJ-12."""
    action = policy.get("action")
    if action == "Ignore":
        yield Violation(
            "VCJ-12", (*at, "action"), {}, severity="warning",
            message="action Ignore is known to the patched Volcano of pod-level retry only", hint="use it there only",
        )  # fmt: skip
    elif action and action not in ACTIONS:
        near = nearest(action, ACTIONS)
        advice = f"did you mean {near}?" if near else f"use one of {', '.join(ACTIONS)}"
        yield Violation("VCJ-12", (*at, "action"), {"value": action, "advice": advice})


def _timeout(at: FieldPath, policy: Mapping[str, Any]) -> Iterator[Violation]:
    """VCJ-15."""
    timeout = policy.get("timeout")
    if timeout is not None and not _DURATION.fullmatch(timeout):
        yield Violation("VCJ-15", (*at, "timeout"), {"value": timeout})


def _dependencies(tasks: Sequence[tuple[FieldPath, Mapping[str, Any]]]) -> Iterator[Violation]:
    """VCJ-22."""
    names = [str(task.get("name", "")) for _, task in tasks]
    waits: dict[str, list[str]] = {}
    for at, task in tasks:
        wanted = dig(task, ("dependsOn", "name")) or []
        waits[str(task.get("name", ""))] = [name for name in wanted if name in names]
        for i, name in enumerate(wanted):
            if name not in names:
                near = nearest(str(name), names)
                values = {"problem": f"task {name!r} does not exist", "advice": f"did you mean {near}?" if near else ""}
                yield Violation("VCJ-22", (*at, "dependsOn", "name", i), values)
    circle = _circle(waits)
    if circle:
        at = next(path for path, task in tasks if task.get("name") == circle[0])
        values = {"problem": f"tasks wait for each other: {' -> '.join(circle)}", "advice": "break the circle"}
        yield Violation("VCJ-22", (*at, "dependsOn", "name"), values)


def _circle(waits: Mapping[str, Sequence[str]]) -> list[str]:
    """The names of a circle, the first one twice; empty if there is none."""
    done: set[str] = set()
    for start in waits:
        trail: list[str] = []
        pending: list[tuple[str, int]] = [(start, 0)]
        while pending:
            name, depth = pending.pop()
            del trail[depth:]
            if name in trail:
                return [*trail[trail.index(name) :], name]
            if name in done:
                continue
            trail.append(name)
            following = waits.get(name, ())
            if following:
                pending += [(other, depth + 1) for other in reversed(following)]
            else:
                done.add(name)
        done.add(start)
    return []


def _partitions(at: FieldPath, task: Mapping[str, Any]) -> Iterator[Violation]:
    """VCJ-23."""
    policy = task.get("partitionPolicy")
    path = (*at, "partitionPolicy")
    total, size = dig(policy, ("totalPartitions",)), dig(policy, ("partitionSize",))
    least, gang = dig(policy, ("minPartitions",)) or 0, task.get("minAvailable")
    if total is None or size is None or min(total, size) < 1:
        return  # the schema says it
    replicas = replicas_of(task)
    if replicas != total * size:
        problem = f"partition sizes inconsistent: {replicas} ≠ {total}×{size}"
        yield Violation("VCJ-23", path, {"problem": problem, "advice": f"set replicas to {total * size}"})
    if least > total:
        problem = f"minPartitions {least} exceeds totalPartitions {total}"
        yield Violation("VCJ-23", (*path, "minPartitions"), {"problem": problem, "advice": f"write at most {total}"})
    elif least > 0 and gang is not None and gang != least * size:
        problem = f"minAvailable {gang} ≠ {least}×{size}"
        yield Violation(
            "VCJ-23", (*at, "minAvailable"), {"problem": problem, "advice": f"write {least * size}, or remove it"}
        )
