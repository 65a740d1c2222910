"""Rules on devices, environment and mounts, ENV-* (chapter 40 §2.5, §3.2)."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from ascendctl.manifest.kinds import dig
from ascendctl.manifest.quantity import whole
from ascendctl.validate.companions import Context
from ascendctl.validate.dialects import is_foreign, scheduler_of
from ascendctl.validate.entry import CARRIER, HALF, Entry, PodView, mappings
from ascendctl.validate.keys import SYSTEM_WRITTEN, is_known_key
from ascendctl.validate.rule import Rule, Violation
from ascendctl.validate.rules.resources import WHOLE
from ascendctl.wellknown import POLICY, SOFT_SHARE
from ascendctl.yamlio.document import FieldPath

RULES: tuple[Rule, ...] = (
    Rule(
        "ENV-01",
        "info",
        "nothing gives a whole-card pod its devices by variable",
        "no ASCEND_VISIBLE_DEVICES, and the operator will not add it{why}",
        "add ASCEND_VISIBLE_DEVICES from metadata.annotations['{resource}']",
        outcome="RUN",
        about="The device plugin returns the same variable, and official samples omit it.",
        wrong="env: []",
        right="env: [{name: ASCEND_VISIBLE_DEVICES, valueFrom: ...}]",
    ),
    Rule(
        "ENV-02",
        "error",
        "ASCEND_VISIBLE_DEVICES reads the annotation of another resource",
        "ASCEND_VISIBLE_DEVICES reads {found}, the pod asks for {resource}: the variable stays empty and hides "
        "the devices",
        "write metadata.annotations['{resource}']",
        outcome="RUN",
        wrong="fieldPath: metadata.annotations['huawei.com/Ascend910']    # huawei.com/npu",
        right="fieldPath: metadata.annotations['huawei.com/npu']",
    ),
    Rule(
        "ENV-03",
        "warning",
        "ASCEND_VISIBLE_DEVICES is a fixed text under Volcano",
        "ASCEND_VISIBLE_DEVICES is {value!r}: the scheduler's choice is ignored",
        "read it from metadata.annotations['{resource}']",
        outcome="RUN",
        wrong='value: "0,1"',
        right="valueFrom: {fieldRef: {fieldPath: \"metadata.annotations['huawei.com/Ascend910']\"}}",
    ),
    Rule(
        "ENV-04",
        "info",
        "hostNetwork without HCCL_IF_IP",
        "with hostNetwork, HCCL may pick the wrong interface",
        "add HCCL_IF_IP from status.hostIP",
        outcome="RUN",
        about="No official hostNetwork sample sets it.",
        wrong="hostNetwork: true",
        right="env: [{name: HCCL_IF_IP, valueFrom: {fieldRef: {fieldPath: status.hostIP}}}]",
    ),
    Rule(
        "ENV-05",
        "error",
        "an annotation is set that the system writes, or a rank twice",
        "{problem}",
        "{advice}",
        outcome="RUN",
        about="A stale device list mounts the wrong NPUs.",
        wrong="annotations: {huawei.com/AscendReal: Ascend910-0}",
        right="annotations: {}",
    ),
    Rule(
        "ENV-06",
        "warning",
        "huawei.com/ub_rdma without hostNetwork",
        "huawei.com/ub_rdma needs hostNetwork: true",
        "set hostNetwork: true",
        products=("950",),
        outcome="RUN",
        wrong="huawei.com/ub_rdma: 1",
        right="hostNetwork: true",
    ),
    Rule(
        "ENV-07",
        "info",
        "a PyTorch pod of several NPUs has no /dev/shm of its own",
        "no volume on /dev/shm: data loaders may run out of shared memory",
        "mount an emptyDir with medium: Memory on /dev/shm",
        ("AscendJob",),
        outcome="RUN",
        wrong="volumeMounts: []",
        right="volumeMounts: [{name: dshm, mountPath: /dev/shm}]",
    ),
)

DEVICES, _RANK, _RDMA = "ASCEND_VISIBLE_DEVICES", "hccl/rankIndex", "huawei.com/ub_rdma"
_ANNOTATION = re.compile(r"metadata\.annotations\['([^']+)'\]")
_INFER_OWN = ("infer.huawei.com/",)
_TIME, _MOUNTED = "predicate-time", str(2**64 - 1)
_BOUND_POD = (
    _TIME,
    "huawei.com/AscendReal",
    "ascend.kubectl.kubernetes.io/ascend-910-configuration",
    "ascend.kubectl.kubernetes.io/ascend-npu-configuration",
)
"""What a Pod with nodeName may bring along besides its chips, for readers of rank tables."""


def check(entry: Entry, context: Context) -> Iterator[Violation]:
    """ENV rules of one object; of an unknown kind with pod templates ENV-02 and ENV-05 only."""
    for pod in entry.pods:
        yield from _devices(entry, pod)
        yield from _written(entry, (*pod.meta, "annotations"), pod.annotations)
        if entry.case == HALF:
            continue
        if entry.kind_name not in ("ClusterServingRuntime", "ServingRuntime"):
            yield from _absent(entry, pod, context)
        yield from _network(entry, pod)
    if entry.case != HALF and entry.pods:
        if all(pod.meta != ("metadata",) for pod in entry.pods):
            yield from _written(entry, ("metadata", "annotations"), entry.annotations)
        yield from _ranks(entry)
        yield from _shared_memory(entry)


def _variables(pod: PodView, name: str) -> Iterator[tuple[FieldPath, Mapping[str, Any]]]:
    for path, container in (*pod.containers, *pod.init_containers):
        for at, variable in mappings(container.get("env"), (*path, "env")):
            if variable.get("name") == name:
                yield at, variable


def _devices(entry: Entry, pod: PodView) -> Iterator[Violation]:
    """ENV-02, ENV-03."""
    if is_foreign(entry, pod) or not pod.resources:
        return
    resource = next(iter(pod.resources))
    if resource not in WHOLE:
        return  # vNPUs take no such variable: VNP-11
    volcano = entry.case != HALF and scheduler_of(entry, pod) == "volcano"
    for at, variable in _variables(pod, DEVICES):
        field = dig(variable, ("valueFrom", "fieldRef", "fieldPath"))
        if isinstance(field, str):
            match = _ANNOTATION.fullmatch(field)
            if match is None or match[1] not in pod.resources:
                values = {"found": match[1] if match else field, "resource": resource}
                yield Violation("ENV-02", (*at, "valueFrom", "fieldRef", "fieldPath"), values)
        elif volcano and isinstance(variable.get("value"), str):
            yield Violation("ENV-03", (*at, "value"), {"value": variable["value"], "resource": resource})


def _written(entry: Entry, path: FieldPath, annotations: Mapping[str, str]) -> Iterator[Violation]:
    """ENV-05 for annotations that the system writes."""
    if entry.get("metadata", "uid") is not None:
        return  # exported: the system wrote them
    bound = entry.title == "Pod" and isinstance(entry.get("spec", "nodeName"), str)
    for key, value in annotations.items():
        if bound and (key in WHOLE or key in _BOUND_POD):
            yield from _bound_pod(entry.pods[0], (*path, key), key, value)
        elif key in SYSTEM_WRITTEN or (key.startswith(_INFER_OWN) and not is_known_key(key)):
            values = {"problem": f"annotation {key} is written by the system", "advice": "remove it"}
            yield Violation("ENV-05", (*path, key), values)


def _bound_pod(pod: PodView, path: FieldPath, key: str, value: str) -> Iterator[Violation]:
    """ENV-05 for a bare Pod with nodeName, which no scheduler sees: there the chips may be named (chapter 50 §6.2)."""
    if key == _TIME and value == _MOUNTED:
        problem, advice = f"{_TIME} {value} means that the NPUs are mounted: the pod would get none", "write 1"
        yield Violation("ENV-05", path, {"problem": problem, "advice": advice})
    asked = next((whole(quantity) for _, name, quantity in pod.npus if name == key), None)
    named = value.count(",") + 1
    if key in WHOLE and asked is not None and named != asked:
        problem = f"annotation {key} names {named} NPUs, the pod asks for {asked}: the device plugin never matches them"
        yield Violation("ENV-05", path, {"problem": problem, "advice": f"name {asked} NPUs"})
    elif key in WHOLE and asked is not None and asked == _node_size(pod):
        problem = f"the pod takes all {asked} NPUs of its node: the device plugin mounts them whatever the list says"
        advice = "for readers of rank tables write huawei.com/AscendReal and the configuration annotation instead"
        yield Violation("ENV-05", path, {"problem": problem, "advice": advice}, severity="info")


def _node_size(pod: PodView) -> int:
    """NPUs of a node of the policy that the pod names; 0 = it names none."""
    from ascendctl.engine.wirings import WIRINGS

    wiring = WIRINGS.get(pod.annotations.get(POLICY, ""))
    return wiring.max_node if wiring else 0


def _ranks(entry: Entry) -> Iterator[Violation]:
    """ENV-05 for repeated ranks."""
    seen: dict[str, str] = {}
    for pod in entry.pods:
        rank = pod.annotations.get(_RANK)
        if rank is None or entry.get("metadata", "uid") is not None:
            continue
        path = (*pod.meta, "annotations", _RANK)
        if rank in seen or pod.replicas > 1:
            where = f"{pod.replicas} pods of one template" if pod.replicas > 1 else f"{seen[rank]} and {pod.role}"
            values = {"problem": f"hccl/rankIndex {rank} is shared by {where}", "advice": "give every pod its own rank"}
            yield Violation("ENV-05", path, values)
        seen[rank] = pod.role


def _absent(entry: Entry, pod: PodView, context: Context) -> Iterator[Violation]:
    """ENV-01."""
    resource = next(iter(pod.resources), "")
    if resource not in WHOLE or is_foreign(entry, pod) or entry.case == CARRIER:
        return
    if scheduler_of(entry, pod) != "volcano" or any(_variables(pod, DEVICES)) or _is_mindie(entry, pod):
        return
    policies = (entry.annotations.get(POLICY), pod.annotations.get(POLICY))
    if SOFT_SHARE in policies:
        return
    why = ""
    if entry.title == "AscendJob":
        why = _not_injected(entry, pod)
        if not why:
            return
    where = next((path for path, _, _ in pod.npus), pod.spec)
    yield Violation("ENV-01", (*where[:-3], "env"), {"resource": resource, "why": why})


def _not_injected(entry: Entry, pod: PodView) -> str:
    """Why the operator does not add the variable to an AscendJob; "" if it does."""
    roles = entry.get("spec", "replicaSpecs") or {}
    if entry.labels.get("framework") == "mindspore" and "Scheduler" not in roles:
        return " (MindSpore job of Workers only)"
    for _, container in pod.containers:
        if container.get("name") == "ascend":
            others = [key for key in dig(container, ("resources", "requests")) or {} if key not in WHOLE]
            if others:
                return f" (the container also requests {', '.join(others)})"
    return ""


def _is_mindie(entry: Entry, pod: PodView) -> bool:
    return any(labels.get("app", "").startswith("mindie-ms-") for labels in (entry.labels, pod.labels))


def _network(entry: Entry, pod: PodView) -> Iterator[Violation]:
    """ENV-04, ENV-06."""
    host = pod.body.get("hostNetwork") is True
    if host and pod.resources and not is_foreign(entry, pod) and not any(_variables(pod, "HCCL_IF_IP")):
        yield Violation("ENV-04", (*pod.spec, "hostNetwork"))
    if not host:
        for path, name, _ in pod.npus:
            if name == _RDMA:
                yield Violation("ENV-06", path)
                return


def _shared_memory(entry: Entry) -> Iterator[Violation]:
    """ENV-07."""
    if entry.title != "AscendJob" or entry.labels.get("framework") != "pytorch" or "jobID" in entry.labels:
        return
    for pod in entry.pods:
        for path, container in pod.containers:
            requests = dig(container, ("resources", "requests")) or dig(container, ("resources", "limits")) or {}
            npus = sum(whole(value) or 0 for name, value in requests.items() if name in WHOLE)
            mounts = [mount.get("mountPath") for _, mount in mappings(container.get("volumeMounts"), ())]
            if npus >= 2 and "/dev/shm" not in mounts:
                yield Violation("ENV-07", (*path, "volumeMounts"))
