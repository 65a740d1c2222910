"""Rules on the kinds of the infer-operator, INF-* (chapter 40 §1.6, §3.2)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from ascendctl.manifest.infer import GANG_LABEL
from ascendctl.manifest.kinds import dig
from ascendctl.validate.companions import Context
from ascendctl.validate.entry import Entry, PodView, mappings
from ascendctl.validate.placeholders import shorten
from ascendctl.validate.rule import Rule, Violation
from ascendctl.validate.rules.k8s_object import DNS_LABEL
from ascendctl.wellknown import POLICY
from ascendctl.yamlio.document import FieldPath

_ALL = ("InferServiceSet", "InferService", "InstanceSet")
_SERVICES = _ALL[:2]

RULES: tuple[Rule, ...] = (
    Rule(
        "INF-01",
        "error",
        "replicas of an InferServiceSet is not 1 to 64",
        "replicas {value} must be 1 to 64",
        "",
        _ALL[:1],
        outcome="INF",
        wrong="replicas: 0",
        right="replicas: 1",
    ),
    Rule(
        "INF-02",
        "error",
        "a service has more than 32 roles",
        "{count} roles, at most 32 are allowed",
        "",
        _SERVICES,
        outcome="INF",
        wrong="roles: [33 of them]",
        right="roles: [2 of them]",
    ),
    Rule(
        "INF-03",
        "error",
        "a role name is empty, no DNS label, or used twice",
        "role name {name!r} {problem}",
        "use lower-case letters, digits and '-', and every name once",
        _SERVICES,
        outcome="INF",
        wrong="name: Prefill",
        right="name: prefill",
    ),
    Rule(
        "INF-04",
        "error",
        "schedulingStrategy.type is unknown",
        "schedulingStrategy.type {value!r} must be Parallel or Priority",
        "write Parallel, or remove it",
        _SERVICES,
        outcome="INF",
        wrong="type: Serial",
        right="type: Priority",
    ),
    Rule(
        "INF-05",
        "error",
        "priority is out of range (33 to 256: warning)",
        "priority {value} must be 1 to 256",
        "write 1 to 32",
        _SERVICES,
        outcome="INF",
        wrong="priority: 0",
        right="priority: 1",
    ),
    Rule(
        "INF-06",
        "error",
        "replicas of a role is missing or negative",
        "{path} {found}",
        "write replicas: 1",
        _ALL,
        outcome="INF",
        wrong="- name: server",
        right="- name: server\n  replicas: 1",
    ),
    Rule(
        "INF-07",
        "error",
        "a hand-written InstanceSet lacks a label",
        "label {key} is missing",
        "add it",
        _ALL[2:],
        outcome="INF",
        wrong="kind: InstanceSet\nmetadata: {labels: {}}",
        right="labels: {infer.huawei.com/inferservice-name: chat, infer.huawei.com/instanceset-name: chat-server}",
    ),
    Rule(
        "INF-08",
        "error",
        "workload is neither Deployment nor StatefulSet of apps/v1",
        "workload {found} is not supported",
        "use apps/v1 with kind Deployment or StatefulSet",
        _ALL,
        outcome="INF",
        wrong="workload: {apiVersion: batch/v1, kind: Job}",
        right="workload: {apiVersion: apps/v1, kind: Deployment}",
    ),
    Rule(
        "INF-09",
        "error",
        "the workload spec of a role is missing or incomplete",
        "{problem}",
        "{advice}",
        _ALL,
        outcome="INF",
        wrong="spec: {template: ...}",
        right="spec: {replicas: 1, selector: ..., template: ...}",
    ),
    Rule(
        "INF-10",
        "error",
        "a NodePort service has a port without nodePort",
        "nodePort is missing or 0 in a NodePort service",
        "write a nodePort from 30000 to 32767",
        _ALL,
        outcome="INF",
        wrong="type: NodePort, ports: [{port: 80}]",
        right="type: NodePort, ports: [{port: 80, nodePort: 30080}]",
    ),
    Rule(
        "INF-11",
        "warning",
        "nodePort plus the number of instances leaves the range",
        "nodePort {port} grows with every instance, up to {last}: above 32767",
        "start lower",
        _ALL,
        outcome="API",
        wrong="nodePort: 32767 for 4 instances",
        right="nodePort: 30080",
    ),
    Rule(
        "INF-12",
        "error",
        "a gang of StatefulSet pods is started one after the other",
        "gang scheduling needs podManagementPolicy: Parallel",
        "set podManagementPolicy: Parallel",
        _ALL,
        outcome="PEND-V",
        wrong="podManagementPolicy: OrderedReady",
        right="podManagementPolicy: Parallel",
    ),
    Rule(
        "INF-13",
        "warning",
        "infer.huawei.com/gang-schedule is neither true nor false",
        "gang-schedule {value!r} counts as false",
        'write "true" or "false"',
        _ALL,
        outcome="IGN",
        wrong='gang-schedule: "yes"',
        right='gang-schedule: "true"',
    ),
    Rule(
        "INF-14",
        "warning",
        "a super-pod policy on a role without gang scheduling",
        "policy {policy} without "
        'infer.huawei.com/gang-schedule: "true": the role\'s annotations never reach the PodGroup',
        "add the label to the role's metadata",
        _ALL,
        outcome="IGN",
        wrong="schedule_policy: chip2-node16-sp",
        right='labels: {infer.huawei.com/gang-schedule: "true"}',
    ),
    Rule(
        "INF-15",
        "warning",
        "scalingPolicy.type is not HPA",
        "scalingPolicy {value!r} is not supported",
        "use HPA",
        _ALL,
        outcome="IGN",
        wrong="type: VPA",
        right="type: HPA",
    ),
    Rule(
        "INF-16",
        "warning",
        "container-snapshot without what it needs",
        "container-snapshot {problem}",
        "{advice}",
        _ALL,
        outcome="IGN",
        wrong="kind: Deployment",
        right="kind: StatefulSet",
    ),
    Rule(
        "INF-17",
        "error",
        "an NPU role is not scheduled by Volcano",
        "schedulerName is {value}: NPU roles need volcano",
        "write schedulerName: volcano",
        _ALL,
        outcome="RUN",
        wrong="schedulerName: default-scheduler",
        right="schedulerName: volcano",
    ),
)

_SNAPSHOT = "infer.huawei.com/container-snapshot"
_NAMES = ("infer.huawei.com/inferservice-name", "infer.huawei.com/instanceset-name")
_LAST_NODE_PORT = 32767


def check(entry: Entry, context: Context) -> Iterator[Violation]:
    """INF rules of one object."""
    if entry.title == "InferServiceSet":
        replicas = entry.get("spec", "replicas")
        if replicas is not None and not 1 <= replicas <= 64:
            yield Violation("INF-01", ("spec", "replicas"), {"value": replicas})
    base: FieldPath = ("spec", "template") if entry.title == "InferServiceSet" else ("spec",)
    if entry.title == "InstanceSet":
        for key in _NAMES:
            if key not in entry.labels:
                yield Violation("INF-07", ("metadata", "labels", key), {"key": key})
        roles = [(base, entry.get(*base))] if isinstance(entry.get(*base), Mapping) else []
    else:
        roles = list(mappings(entry.get(*base, "roles"), (*base, "roles")))
        yield from _service(entry, base, roles)
    for at, role in roles:
        yield from _role(entry, at, role)


def _service(entry: Entry, base: FieldPath, roles: list[tuple[FieldPath, Mapping[str, Any]]]) -> Iterator[Violation]:
    """INF-02 to 05."""
    if len(roles) > 32:
        yield Violation("INF-02", (*base, "roles"), {"count": len(roles)})
    seen = set()
    for at, role in roles:
        name = role.get("name")
        if not name:
            yield Violation("INF-03", (*at, "name"), {"name": "", "problem": "is missing"})
        elif len(name) > 63 or not DNS_LABEL.fullmatch(name):
            yield Violation("INF-03", (*at, "name"), {"name": shorten(name), "problem": "is no DNS label"})
        elif name in seen:
            yield Violation("INF-03", (*at, "name"), {"name": name, "problem": "stands twice"})
        seen.add(name)
    strategy = entry.get(*base, "schedulingStrategy", "type")
    if strategy not in (None, "", "Parallel", "Priority"):
        yield Violation("INF-04", (*base, "schedulingStrategy", "type"), {"value": strategy})
    for at, role in roles if strategy == "Priority" else ():
        priority = role.get("priority")
        if priority is None or 1 <= priority <= 32:
            continue
        if 33 <= priority <= 256:
            message = f"priority {priority} is accepted, documented are 1 to 32"
            yield Violation("INF-05", (*at, "priority"), {}, severity="warning", message=message)
        else:
            yield Violation("INF-05", (*at, "priority"), {"value": priority})


def _role(entry: Entry, at: FieldPath, role: Mapping[str, Any]) -> Iterator[Violation]:
    """INF-06 and 08 to 17 of one role."""
    replicas = role.get("replicas")
    if replicas is None or replicas < 0:
        found = "is missing" if replicas is None else f"is {replicas}"
        yield Violation("INF-06", (*at, "replicas"), {"found": found})
    workload = role.get("workload")
    kind, api = dig(workload, ("kind",)), dig(workload, ("apiVersion",))
    if api != "apps/v1" or kind not in ("Deployment", "StatefulSet"):
        found = f"{api or 'without apiVersion'} {kind or 'without kind'}" if workload else "is missing and so"
        yield Violation("INF-08", (*at, "workload"), {"found": found})
    yield from _spec(at, role.get("spec"))
    yield from _ports(at, role, replicas)
    labels = dig(role, ("metadata", "labels"))
    labels = labels if isinstance(labels, Mapping) else {}
    yield from _gang(entry, at, role, labels, kind)
    scaling = dig(role, ("scalingPolicy", "type"))
    if scaling not in (None, "", "HPA"):
        yield Violation("INF-15", (*at, "scalingPolicy", "type"), {"value": scaling})
    pod = next((pod for pod in entry.pods if pod.path == (*at, "spec", "template")), None)
    if pod is not None:
        yield from _pod(at, pod, labels, kind)


def _spec(at: FieldPath, spec: Any) -> Iterator[Violation]:
    """INF-09."""
    if not isinstance(spec, Mapping) or not spec:
        yield Violation("INF-09", (*at, "spec"), {"problem": "the workload spec is missing", "advice": "write spec"})
        return
    if spec.get("replicas") is None:
        values = {"problem": "spec.replicas of the workload is missing", "advice": "write the pods of one instance"}
        yield Violation("INF-09", (*at, "spec", "replicas"), values)
    if not isinstance(spec.get("template"), Mapping):  # a missing selector is K8S-16
        values = {"problem": "spec.template of the workload is missing", "advice": "write template"}
        yield Violation("INF-09", (*at, "spec", "template"), values)


def _ports(at: FieldPath, role: Mapping[str, Any], replicas: Any) -> Iterator[Violation]:
    """INF-10, INF-11."""
    for path, service in mappings(role.get("services"), (*at, "services")):
        if dig(service, ("spec", "type")) != "NodePort":
            continue
        for where, port in mappings(dig(service, ("spec", "ports")), (*path, "spec", "ports")):
            number = port.get("nodePort")
            if not number:
                yield Violation("INF-10", (*where, "nodePort"))
            elif isinstance(replicas, int) and number + max(replicas, 1) - 1 > _LAST_NODE_PORT:
                yield Violation("INF-11", (*where, "nodePort"), {"port": number, "last": number + replicas - 1})


def _gang(
    entry: Entry, at: FieldPath, role: Mapping[str, Any], labels: Mapping[str, Any], kind: Any
) -> Iterator[Violation]:
    """INF-12, 13, 14."""
    value = labels.get(GANG_LABEL)
    path = (*at, "metadata", "labels", GANG_LABEL)
    if value is not None and value not in ("true", "false"):
        yield Violation("INF-13", path, {"value": value})
    spec = role.get("spec")
    ordered = isinstance(spec, Mapping) and bool(spec) and spec.get("podManagementPolicy") != "Parallel"
    if value == "true" and kind == "StatefulSet" and ordered:
        yield Violation("INF-12", (*at, "spec", "podManagementPolicy"))
    own = dig(role, ("metadata", "annotations", POLICY))
    pod = dig(role, ("spec", "template", "metadata", "annotations", POLICY))
    policy = own or pod
    if isinstance(policy, str) and policy.endswith("-sp") and value != "true":
        yield Violation("INF-14", path, {"policy": policy})


def _pod(at: FieldPath, pod: PodView, labels: Mapping[str, Any], kind: Any) -> Iterator[Violation]:
    """INF-16, INF-17."""
    if labels.get(_SNAPSHOT) == "true":
        path = (*at, "metadata", "labels", _SNAPSHOT)
        names = {
            variable.get("name") for _, container in pod.containers
            for _, variable in mappings(container.get("env"), ())
        }  # fmt: skip
        if kind == "Deployment":
            values = {"problem": "works for StatefulSets only", "advice": "use workload kind StatefulSet"}
            yield Violation("INF-16", path, values)
        elif "host_snapshot_dir_path" not in names:
            values = {"problem": "needs the variable host_snapshot_dir_path", "advice": "set it in the container"}
            yield Violation("INF-16", path, values)
    if pod.resources and pod.scheduler != "volcano":
        value = repr(pod.scheduler) if pod.scheduler else "missing"
        yield Violation("INF-17", (*pod.spec, "schedulerName"), {"value": value})
