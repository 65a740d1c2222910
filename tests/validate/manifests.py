"""Small manifests to start from, ways to change one field of them, and short forms of what `validate` says."""

from __future__ import annotations

import copy
import json
from typing import Any

from ascendctl.validate.api import inspect
from ascendctl.validate.finding import Finding
from ascendctl.validate.options import Options

DROP = object()
A910, NPU = "huawei.com/Ascend910", "huawei.com/npu"
DEVICES = "ASCEND_VISIBLE_DEVICES"


def device_variable(resource: str = A910) -> dict[str, Any]:
    return {"name": DEVICES, "valueFrom": {"fieldRef": {"fieldPath": f"metadata.annotations['{resource}']"}}}


def container(name: str = "ascend", count: Any = 8, resource: str = A910) -> dict[str, Any]:
    """A container that breaks no rule."""
    return {
        "name": name,
        "image": "registry.local/train:1.0",
        "command": ["/bin/bash", "-c", "bash /job/run.sh"],
        "env": [device_variable(resource)],
        "resources": {"requests": {resource: count}, "limits": {resource: count}},
        "volumeMounts": [{"name": "dshm", "mountPath": "/dev/shm"}],
    }


def template(name: str = "ascend", count: Any = 8, resource: str = A910, **spec: Any) -> dict[str, Any]:
    """A pod template that breaks no rule."""
    shm = [{"name": "dshm", "emptyDir": {"medium": "Memory"}}]
    return {"spec": {**spec, "containers": [container(name, count, resource)], "volumes": shm}}


def ascend_job(workers: int = 1, count: Any = 8) -> dict[str, Any]:
    """PyTorch on A2 nodes: no finding, not even with -v."""

    def replica(replicas: int) -> dict[str, Any]:
        pods = template("ascend", count)
        pods["spec"]["nodeSelector"] = {"accelerator-type": "module-910b-8"}
        pods["spec"]["containers"][0]["ports"] = [{"name": "ascendjob-port", "containerPort": 2222}]
        return {"replicas": replicas, "restartPolicy": "Never", "template": pods}

    return {
        "apiVersion": "mindxdl.gitee.com/v1",
        "kind": "AscendJob",
        "metadata": {
            "name": "train",
            "namespace": "research",
            "labels": {"framework": "pytorch", "ring-controller.atlas": "ascend-910b"},
            "annotations": {"huawei.com/schedule_policy": "chip8-node8"},
        },
        "spec": {
            "schedulerName": "volcano",
            "runPolicy": {"schedulingPolicy": {"minAvailable": 1 + workers, "queue": "default"}},
            "replicaSpecs": {"Master": replica(1), "Worker": replica(workers)},
        },
    }


def volcano_job(replicas: int = 2, count: Any = 8) -> dict[str, Any]:
    """One task on A2 nodes: no finding."""
    return {
        "apiVersion": "batch.volcano.sh/v1alpha1",
        "kind": "Job",
        "metadata": {
            "name": "train",
            "namespace": "research",
            "annotations": {"huawei.com/schedule_policy": "chip8-node8"},
        },
        "spec": {
            "minAvailable": replicas,
            "schedulerName": "volcano",
            "queue": "default",
            "plugins": {"env": [], "svc": []},
            "tasks": [
                {"name": "worker", "replicas": replicas, "template": template("main", count, restartPolicy="Never")}
            ],
        },
    }


def deployment(replicas: int = 1, kind: str = "Deployment", count: Any = 8) -> dict[str, Any]:
    """Serving on A2 nodes: no finding."""
    pods = template("serve", count, schedulerName="volcano")
    pods["metadata"] = {
        "labels": {"app": "serve"},
        "annotations": {"huawei.com/schedule_policy": "chip8-node8", "huawei.com/schedule_minAvailable": "1"},
    }
    spec = {"replicas": replicas, "selector": {"matchLabels": {"app": "serve"}}, "template": pods}
    if kind == "StatefulSet":
        spec["serviceName"] = "serve"
    return {
        "apiVersion": "apps/v1",
        "kind": kind,
        "metadata": {"name": "serve", "namespace": "research"},
        "spec": spec,
    }


def batch_job(parallelism: int = 1) -> dict[str, Any]:
    """A Job of Kubernetes: no finding."""
    pods = template("once", schedulerName="volcano", restartPolicy="Never")
    pods["metadata"] = {"annotations": {"huawei.com/schedule_policy": "chip8-node8"}}
    if parallelism > 1:
        pods["metadata"]["annotations"]["huawei.com/schedule_minAvailable"] = str(parallelism)
    spec = {"parallelism": parallelism, "completions": parallelism, "backoffLimit": 3, "template": pods}
    return {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {"name": "once", "namespace": "research"},
        "spec": spec,
    }


def pod() -> dict[str, Any]:
    """A bare pod: no finding."""
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {
            "name": "try",
            "namespace": "research",
            "annotations": {"huawei.com/schedule_policy": "chip8-node8"},
        },
        "spec": template("try", schedulerName="volcano")["spec"],
    }


def infer_service(kind: str = "StatefulSet") -> dict[str, Any]:
    """One role of the infer-operator: no finding."""
    workload = deployment(kind=kind)["spec"]
    workload["podManagementPolicy"] = "Parallel"
    if kind == "Deployment":
        del workload["podManagementPolicy"]
    role = {
        "name": "server",
        "replicas": 1,
        "workload": {"apiVersion": "apps/v1", "kind": kind},
        "metadata": {"labels": {"infer.huawei.com/gang-schedule": "true"}},
        "spec": workload,
    }
    return {
        "apiVersion": "mindcluster.huawei.com/v1",
        "kind": "InferService",
        "metadata": {"name": "chat", "namespace": "research"},
        "spec": {"roles": [role]},
    }


def change(value: dict[str, Any], changes: dict[str, Any]) -> dict[str, Any]:
    """A copy with fields set or dropped; keys are JSON Pointers, missing mappings on the way are made."""
    result = copy.deepcopy(value)
    for pointer, new in changes.items():
        parts = [part.replace("~1", "/").replace("~0", "~") for part in pointer.split("/")[1:]]
        holder: Any = result
        for part in parts[:-1]:
            holder = holder[int(part)] if isinstance(holder, list) else holder.setdefault(part, {})
        last: Any = int(parts[-1]) if isinstance(holder, list) else parts[-1]
        if new is DROP:
            del holder[last]
        elif isinstance(holder, list) and last == len(holder):
            holder.append(new)
        else:
            holder[last] = new
    return result


def text_of(*documents: Any) -> str:
    """Documents as the YAML that JSON is."""
    return "\n---\n".join(d if isinstance(d, str) else json.dumps(d, indent=1) for d in documents) + "\n"


def findings(*documents: Any, **options: Any) -> list[Finding]:
    """What validate says of some documents (dicts or text), infos included."""
    text = text_of(*documents)
    if len(documents) > 1:
        text = "# several documents\n" + text
    return list(inspect(text, Options(**{"verbose": True, **options})).findings)


def rules(*documents: Any, **options: Any) -> list[str]:
    """Ids of the rules that fire, sorted."""
    return sorted(f.rule for f in findings(*documents, **options))


def said(*documents: Any, **options: Any) -> dict[tuple[str, str], str]:
    """(rule, path) -> severity; the document prefix of the path is kept."""
    return {(f.rule, f.path): f.severity for f in findings(*documents, **options)}
