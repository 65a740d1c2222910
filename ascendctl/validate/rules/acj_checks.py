"""Conditions of the ACJ rules that the operator does not test before it creates the pods."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from ascendctl.manifest.kinds import FRAMEWORK_LEADERS, dig
from ascendctl.manifest.quantity import whole
from ascendctl.manifest.roles import NPU_PREFIX, npu_requests
from ascendctl.validate.companions import Context
from ascendctl.validate.entry import Entry, PodView, mappings
from ascendctl.validate.rule import Violation
from ascendctl.validate.rules.acj_operator import SPECS
from ascendctl.yamlio.document import FieldPath, format_path

_RUN: FieldPath = ("spec", "runPolicy")
_POLICY: FieldPath = (*_RUN, "schedulingPolicy")
_PORT = "ascendjob-port"
_MINDIE = ("mindie-ms-controller", "mindie-ms-coordinator", "mindie-ms-server")
_COMMON_ENV = (
    "MINDX_TASK_ID", "MINDX_SERVER_IP", "MINDX_SERVER_DOMAIN", "HostNetwork", "HCCL_LOGIC_SUPERPOD_ID", "REPLICA_TYPE",
)  # fmt: skip
_FRAMEWORK_ENV = {
    "pytorch": ("LOCAL_WORLD_SIZE", "WORLD_SIZE", "LOCAL_RANK", "MASTER_ADDR", "MASTER_PORT", "RANK"),
    "mindspore": ("MS_SCHED_HOST", "MS_SCHED_PORT", "MS_LOCAL_WORKER", "MS_WORKER_NUM", "MS_NODE_RANK", "MS_ROLE",
                  "MS_SERVER_NUM", "NPU_POD"),
    "tensorflow": ("CM_CHIEF_IP", "CM_CHIEF_PORT", "CM_CHIEF_DEVICE", "CM_WORKER_IP", "CM_LOCAL_WORKER",
                   "CM_WORKER_SIZE", "CM_RANK"),
}  # fmt: skip
_BLOCK_POLICIES = (None, "chip2-node16-sp", "chip2-node8-sp", "chip8-node8-sp", "chip8-node8-ra64-sp", "multilevel")
_JOB_LABELS = ("framework", "jobID", "scaleout-type", "mind-cluster/scaling-rule", "mind-cluster/group-name")


def check(entry: Entry, context: Context) -> Iterator[Violation]:
    """ACJ-03, 12 (info) and 14 to 32 but 24 to 26."""
    yield from _policies(entry)
    yield from _gang(entry)
    for pod in entry.pods:
        yield from _replica(entry, pod)
    yield from _ports(entry)
    yield from _same_npus(entry)
    yield from _names(entry, context)
    yield from _labels(entry)
    yield from _misplaced(entry)


def _policies(entry: Entry) -> Iterator[Violation]:
    if entry.labels.get("framework") == "tensorflow":
        yield Violation("ACJ-03", ("metadata", "labels", "framework"))
    policy = entry.get("spec", "successPolicy")
    if policy in ("", "AllWorkers"):
        message = f"successPolicy {policy!r} has no effect: all pods must succeed"
        yield Violation("ACJ-12", ("spec", "successPolicy"), {}, severity="info", message=message)
    exported = entry.get("metadata", "uid") is not None
    for field in ("cleanPodPolicy", "activeDeadlineSeconds", "ttlSecondsAfterFinished"):
        value = entry.get(*_RUN, field)
        if value is not None and not exported:
            yield Violation("ACJ-28", (*_RUN, field), {"field": field})
    limit = entry.get(*_RUN, "backoffLimit")
    if limit is not None and limit <= 0:
        yield Violation("ACJ-30", (*_RUN, "backoffLimit"), {"value": limit})


def _gang(entry: Entry) -> Iterator[Violation]:
    """ACJ-14, 15, 16."""
    pods = sum(pod.replicas for pod in entry.pods)
    asks = any(pod.resources for pod in entry.pods)
    gang = entry.get(*_POLICY, "minAvailable")
    path = (*_POLICY, "minAvailable")
    if gang is not None and pods:
        if not 1 <= gang <= pods:
            yield Violation("ACJ-14", path, {"value": gang, "pods": pods})
        elif gang < pods and asks:
            yield Violation("ACJ-15", path, {"value": gang, "pods": pods})
    given = entry.get(*_POLICY, "minResources")
    if not isinstance(given, Mapping) or not asks:
        return
    members = pods if gang is None else min(gang, pods)
    resource = next(name for pod in entry.pods for name in pod.resources)
    total = _first_pods(entry.pods, members, resource)
    value = given.get(resource)
    if value is None or whole(value) != total:
        found = f"no {resource}" if value is None else f"{value} {resource}"
        values = {"found": found, "pods": members, "total": total, "resource": resource}
        yield Violation("ACJ-16", (*_POLICY, "minResources", resource), values)


def _first_pods(pods: tuple[PodView, ...], members: int, resource: str) -> int:
    total = 0
    for pod in pods:
        taken = min(members, pod.replicas)
        total += taken * npu_requests(pod.body).get(resource, 0)
        members -= taken
    return total


def _replica(entry: Entry, pod: PodView) -> Iterator[Violation]:
    """ACJ-17, 18, 22, 29 of one replica type."""
    at = (*SPECS, pod.role)
    policy = entry.get(*at, "restartPolicy")
    if policy not in (None, "", "Never", "Always", "OnFailure", "ExitCode"):
        yield Violation("ACJ-17", (*at, "restartPolicy"), {"value": policy})
    own = pod.body.get("restartPolicy")
    if own is not None:
        values = {"value": own, "target": format_path((*at, "restartPolicy"))}
        yield Violation("ACJ-18", (*pod.spec, "restartPolicy"), values)
    injected = (*_COMMON_ENV, *_FRAMEWORK_ENV.get(entry.labels.get("framework", ""), ()))
    for path, container in pod.containers:
        if container.get("name") != "ascend":
            continue
        limits: Any = dig(container, ("resources", "limits")) or {}
        requests: Any = dig(container, ("resources", "requests")) or {}
        for name, count in limits.items():
            if NPU_PREFIX in name and not any(NPU_PREFIX in key for key in requests):
                yield Violation("ACJ-22", (*path, "resources", "requests", name), {"resource": name, "count": count})
        for where, variable in mappings(container.get("env"), (*path, "env")):
            if variable.get("name") in injected:
                yield Violation("ACJ-29", (*where, "name"), {"name": variable["name"]})


def _named_ports(pod: PodView) -> Iterator[tuple[FieldPath, str, Any, str]]:
    """(path, container, containerPort, port name) of the ports of a pod."""
    for path, container in pod.containers:
        for at, port in mappings(container.get("ports"), (*path, "ports")):
            yield at, str(container.get("name", "")), port.get("containerPort"), str(port.get("name", ""))


def _ports(entry: Entry) -> Iterator[Violation]:
    """ACJ-19, ACJ-20."""
    leader_name = FRAMEWORK_LEADERS.get(entry.labels.get("framework", ""), "")
    leader = next((pod for pod in entry.pods if pod.role == leader_name), None)
    if leader is None or not any(c.get("name") == "ascend" for _, c in leader.containers):
        return
    ports = list(_named_ports(leader))
    own = [port for port in ports if port[1] == "ascend"]
    rendezvous = next((port for port in own if port[3] == _PORT), None)
    other = next((port for port in ports if port[1] != "ascend" and port[3] == _PORT), None)
    if rendezvous is None and (own or other):
        where = next((path for path, c in leader.containers if c.get("name") == "ascend"), leader.spec)
        elsewhere = f" (container {other[1]} has it)" if other else ""
        yield Violation("ACJ-19", (*where, "ports"), {"leader": leader_name, "elsewhere": elsewhere})
    if rendezvous is None:
        return
    for pod in entry.pods:
        for at, container, number, name in _named_ports(pod) if pod is not leader else ():
            if container == "ascend" and name == _PORT and number != rendezvous[2]:
                values = {"worker": number, "leader": rendezvous[2], "type": pod.role}
                yield Violation("ACJ-20", (*at, "containerPort"), values)


def _same_npus(entry: Entry) -> Iterator[Violation]:
    """ACJ-23."""
    asking = [(pod, npu_requests(pod.body)) for pod in entry.pods if pod.resources and pod.replicas]
    for pod, requests in asking[1:]:
        first, wanted = asking[0]
        if requests != wanted:
            resource, count = next(iter(requests.items()))
            others = " and ".join(f"{n} {name}" for name, n in wanted.items())
            values = {"type": pod.role, "count": count, "resource": resource, "other": first.role, "others": others}
            yield Violation("ACJ-23", next(at for at, name, _ in pod.npus if name == resource), values)


def _names(entry: Entry, context: Context) -> Iterator[Violation]:
    """ACJ-21."""
    for kind in ("Deployment", "StatefulSet", "vcjob"):
        key = (kind, entry.namespace, entry.name)
        if entry.name and (context.in_set(*key) is not None or key in context.options.dumped):
            title = "Volcano Job" if kind == "vcjob" else kind
            yield Violation("ACJ-21", ("metadata", "name"), {"kind": title, "name": entry.name})


def _labels(entry: Entry) -> Iterator[Violation]:
    """ACJ-27."""
    labels = entry.labels
    app, job_id = labels.get("app"), labels.get("jobID")
    if app is not None and job_id is not None and app not in _MINDIE:
        values = {"problem": f"app is {app!r}, none of {', '.join(_MINDIE)}", "advice": "check what is meant"}
        yield Violation("ACJ-27", ("metadata", "labels", "app"), values)
    elif (app is None) != (job_id is None) and _looks_mindie(entry, app or ""):
        here, missing = ("app", "jobID") if job_id is None else ("jobID", "app")
        values = {"problem": f"label {here} stands without {missing}", "advice": f"add {missing}, or remove {here}"}
        yield Violation("ACJ-27", ("metadata", "labels", here), values)


def _looks_mindie(entry: Entry, app: str) -> bool:
    texts = [app, entry.name, *(str(c.get("image", "")) for pod in entry.pods for _, c in pod.containers)]
    return any("mindie" in text.lower() for text in texts)


def _misplaced(entry: Entry) -> Iterator[Violation]:
    """ACJ-31, ACJ-32: keys that only the templates have."""
    annotations, labels = entry.annotations, entry.labels
    policies = [pod.annotations.get("huawei.com/schedule_policy") for pod in entry.pods]
    policy = annotations.get("huawei.com/schedule_policy") or next((p for p in policies if p), None)
    said = set()
    for pod in entry.pods:
        for key in ("sp-block", "huawei.com/affinity-config"):
            if key in pod.annotations and key not in annotations and key not in said and policy in _BLOCK_POLICIES:
                said.add(key)
                yield Violation("ACJ-31", (*pod.meta, "annotations", key), {"key": key})
        for key in _JOB_LABELS:
            if key in pod.labels and key not in labels and key not in said:
                said.add(key)
                yield Violation("ACJ-32", (*pod.meta, "labels", key), {"key": key})
