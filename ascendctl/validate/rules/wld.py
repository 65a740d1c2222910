"""Rules on Deployments, StatefulSets, batch Jobs and Pods, WLD-* (chapter 40 §1.5, §3.2)."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

from ascendctl.manifest.job import parse_go_int
from ascendctl.manifest.load import GROUP_MIN_MEMBER
from ascendctl.validate.companions import Context
from ascendctl.validate.entry import Entry
from ascendctl.validate.keys import GROUP_A, GROUP_C
from ascendctl.validate.rule import Rule, Violation
from ascendctl.validate.rules.sch import meant_for_volcano
from ascendctl.wellknown import MIN_AVAILABLE, RING
from ascendctl.yamlio.document import FieldPath, format_path

_K35 = ("Deployment", "StatefulSet", "Job")
_DEP, _STS = ("Deployment",), ("StatefulSet",)

RULES: tuple[Rule, ...] = (
    Rule(
        "WLD-01",
        "warning",
        "a key for the scheduler stands on the workload instead of its pod template",
        "nobody reads {key} at {path}: move it to {target}",
        "write it under {target}",
        _K35,
        outcome="IGN",
        about="Volcano makes the PodGroup from the pods, and copies nothing but volcano.sh/ annotations of the owner.",
        wrong="kind: Deployment\nmetadata: {annotations: {sp-block: '16'}}",
        right="spec: {template: {metadata: {annotations: {sp-block: '16'}}}}",
    ),
    Rule(
        "WLD-02",
        "error",
        "huawei.com/schedule_minAvailable is no whole number",
        "huawei.com/schedule_minAvailable is {value!r}, it must be a whole number",
        "write digits in quotes",
        (*_K35, "Pod"),
        outcome="PEND-V",
        wrong='huawei.com/schedule_minAvailable: "two"',
        right='huawei.com/schedule_minAvailable: "2"',
    ),
    Rule(
        "WLD-03",
        "error",
        "huawei.com/schedule_minAvailable is below 1 or above the pods",
        "huawei.com/schedule_minAvailable is {value}, pods {pods}: it must be 1 to {pods}",
        "write {pods} or less",
        _K35,
        outcome="PEND-V",
        wrong='replicas: 2, schedule_minAvailable: "3"',
        right='replicas: 2, schedule_minAvailable: "2"',
    ),
    Rule(
        "WLD-04",
        "error",
        "a StatefulSet with a gang of several pods starts them one after the other",
        "the gang needs {gang} pods, but podManagementPolicy {policy} starts them one by one: none ever starts",
        "set podManagementPolicy: Parallel",
        _STS,
        outcome="PEND-V",
        wrong="podManagementPolicy: OrderedReady",
        right="podManagementPolicy: Parallel",
    ),
    Rule(
        "WLD-05",
        "warning",
        "a StatefulSet or Job of several NPU pods has no gang",
        "{pods} NPU pods without huawei.com/schedule_minAvailable: no gang, the NPU total is that of one pod",
        'add huawei.com/schedule_minAvailable: "{pods}" to the pod template, or "1" if pods may start alone',
        ("StatefulSet", "Job"),
        wrong="replicas: 4",
        right='replicas: 4, schedule_minAvailable: "4"',
    ),
    Rule(
        "WLD-06",
        "warning",
        "a Deployment of several NPU pods does not say how many belong together",
        "all {pods} replicas form one gang",
        'add huawei.com/schedule_minAvailable: "1" to the pod template if pods may start alone, "{pods}" if not',
        _DEP,
        wrong="replicas: 4",
        right='replicas: 4, schedule_minAvailable: "1"',
    ),
    Rule(
        "WLD-07",
        "warning",
        'distributed: "true" on a Deployment',
        'distributed: "true" is documented as unsupported for Deployments',
        'use a vcjob, or distributed: "false"',
        _DEP,
        ("300i-duo",),
        wrong='distributed: "true"',
        right='distributed: "false"',
    ),
    Rule(
        "WLD-08",
        "warning",
        "scheduling.volcano.sh/group-min-member is no whole number from 1",
        "scheduling.volcano.sh/group-min-member is {value!r}: minMember stays 1",
        "write a whole number from 1",
        _K35,
        outcome="IGN",
        wrong="group-min-member: all",
        right='group-min-member: "2"',
    ),
    Rule(
        "WLD-09",
        "error",
        "group-min-member on a Deployment without schedule_minAvailable",
        "the NPU total is multiplied twice: by group-min-member {member} and by {pods} replicas",
        "add huawei.com/schedule_minAvailable to the pod template, or drop group-min-member",
        _DEP,
        outcome="PEND-V",
        wrong='group-min-member: "2"',
        right='schedule_minAvailable: "2"',
    ),
    Rule(
        "WLD-10",
        "warning",
        "a batch Job may never have the pods of its gang",
        "{problem}",
        "{advice}",
        ("Job",),
        wrong="parallelism: 4, completions: 2",
        right="parallelism: 4, completions: 4, backoffLimit: 3",
    ),
    Rule(
        "WLD-11",
        "warning",
        "a rolling update can never bring up the gang of the new ReplicaSet",
        "a rollout never finishes: the new ReplicaSet gets at most {surge} pods, its gang needs {gang}, and the "
        "old pods "
        "hold their NPUs",
        "use strategy.type: Recreate",
        _DEP,
        outcome="PEND-V",
        wrong='replicas: 4, schedule_minAvailable: "4"',
        right="strategy: {type: Recreate}",
    ),
)


def check(entry: Entry, context: Context) -> Iterator[Violation]:
    """WLD rules of one workload."""
    if not entry.pods:
        return
    if entry.title != "Pod":
        yield from _dead_keys(entry)
    yield from _gang(entry)
    if entry.title == "Job":
        yield from _batch(entry)
    if entry.title == "Deployment":
        yield from _rollout(entry)


def replicas_of(entry: Entry) -> int:
    """Pods that the workload wants at once."""
    return entry.pods[0].replicas


def _dead_keys(entry: Entry) -> Iterator[Violation]:
    """WLD-01."""
    pod = entry.pods[0]
    for part, keys, there in (
        ("annotations", GROUP_A, pod.annotations), ("labels", GROUP_C, pod.labels),
    ):  # fmt: skip
        path: FieldPath = ("metadata", part)
        found = entry.get(*path)
        for key in found if isinstance(found, dict) else ():
            if key in keys and key not in there and key != RING:
                target = format_path((*pod.meta, part, key))
                yield Violation(
                    "WLD-01", (*path, key), {"key": key, "path": format_path((*path, key)), "target": target}
                )


def _gang(entry: Entry) -> Iterator[Violation]:
    """WLD-02 to 09."""
    pod, pods = entry.pods[0], replicas_of(entry)
    at = (*pod.meta, "annotations")
    text = pod.annotations.get(MIN_AVAILABLE)
    gang = parse_go_int(text) if text is not None else None
    if text is not None and gang is None:
        yield Violation("WLD-02", (*at, MIN_AVAILABLE), {"value": text})
    elif gang is not None and entry.title != "Pod" and not 1 <= gang <= max(pods, 1):
        yield Violation("WLD-03", (*at, MIN_AVAILABLE), {"value": gang, "pods": pods})
    if entry.title == "Pod":
        return
    member = _member(entry)
    effective = member if member > 1 else gang or 1
    policy = entry.get("spec", "podManagementPolicy")
    if entry.title == "StatefulSet" and effective > 1 and policy != "Parallel":
        values = {"gang": effective, "policy": policy or "OrderedReady (the default)"}
        yield Violation("WLD-04", ("spec", "podManagementPolicy"), values)
    asks = bool(pod.resources) and meant_for_volcano(entry, pod)
    if text is None and asks and pods > 1 and member <= 1:
        rule = "WLD-06" if entry.title == "Deployment" else "WLD-05"
        yield Violation(rule, (*at, MIN_AVAILABLE), {"pods": pods})
    if entry.title == "Deployment" and pod.labels.get("distributed") == "true":
        yield Violation("WLD-07", (*pod.meta, "labels", "distributed"))
    own = entry.annotations.get(GROUP_MIN_MEMBER)
    if own is not None and (parse_go_int(own) or 0) < 1:
        yield Violation("WLD-08", ("metadata", "annotations", GROUP_MIN_MEMBER), {"value": own})
    if member > 1 and entry.title == "Deployment" and text is None:
        yield Violation("WLD-09", ("metadata", "annotations", GROUP_MIN_MEMBER), {"member": member, "pods": pods})


def _member(entry: Entry) -> int:
    """group-min-member of the workload; 1 if absent or no number."""
    return max(parse_go_int(entry.annotations.get(GROUP_MIN_MEMBER, "")) or 1, 1)


def _batch(entry: Entry) -> Iterator[Violation]:
    """WLD-10."""
    parallel, total = entry.get("spec", "parallelism"), entry.get("spec", "completions")
    if total is not None and parallel is not None and total < parallel:
        problem = f"completions {total} is below parallelism {parallel}: so many pods never run at once"
        values = {"problem": problem, "advice": "make both equal"}
        yield Violation("WLD-10", ("spec", "completions"), values)
    if entry.pods[0].resources and entry.get("spec", "backoffLimit") is None:
        values = {"problem": "backoffLimit is missing: 6 failed pods end the Job", "advice": "write backoffLimit"}
        yield Violation("WLD-10", ("spec", "backoffLimit"), values)


def _rollout(entry: Entry) -> Iterator[Violation]:
    """WLD-11."""
    pod, pods = entry.pods[0], replicas_of(entry)
    if not (pod.resources and meant_for_volcano(entry, pod)) or entry.get("spec", "strategy", "type") == "Recreate":
        return
    gang = max(parse_go_int(pod.annotations.get(MIN_AVAILABLE, "")) or 1, _member(entry))
    if not 1 < gang <= pods:
        return
    rolling: Any = entry.get("spec", "strategy", "rollingUpdate") or {}
    surge = share(rolling.get("maxSurge", "25%"), pods, up=True)
    unavailable = share(rolling.get("maxUnavailable", "25%"), pods, up=False)
    if surge + unavailable == 0:
        unavailable = 1
    if surge + unavailable < gang:
        yield Violation("WLD-11", ("spec", "strategy"), {"surge": surge + unavailable, "gang": gang})


def share(value: Any, pods: int, up: bool) -> int:
    """A number, or a percentage of the pods rounded up or down; 0 for anything else."""
    if isinstance(value, str) and value.endswith("%") and value[:-1].isdigit():
        exact = int(value[:-1]) * pods / 100
        return math.ceil(exact) if up else math.floor(exact)
    if isinstance(value, str):
        return parse_go_int(value) or 0
    return int(value) if isinstance(value, int | float) else 0
