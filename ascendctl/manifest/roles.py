"""From a pod template to a Role (chapter 40 §1.10)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ascendctl.manifest.attributes import Origins, text_map
from ascendctl.manifest.job import Role
from ascendctl.manifest.kinds import ASCEND_JOB, POD, VC_JOB, Kind, Template, dig
from ascendctl.manifest.quantity import whole
from ascendctl.yamlio.document import Document, FieldPath

NPU_PREFIX = "huawei.com/"
NO_NPUS = frozenset(("huawei.com/ub_rdma",))
"""Resources under the same prefix that are shares of something else: never what a job with NPUs is about."""

MAX_NPUS = (1 << 31) - 1


def npu_requests(spec: Any) -> dict[str, int]:
    """huawei.com/ resources of one pod, summed over its normal containers; limits stand in where requests are absent.

    Quantities below 0, and those that cannot be read, count as 0: a rule reports them. Beyond 31 bits all are the
    same to the engine.
    """
    total: dict[str, int] = {}
    containers = dig(spec, ("containers",))
    for container in containers if isinstance(containers, list) else []:
        asked: dict[str, Any] = {}
        for part in ("limits", "requests"):
            given = dig(container, ("resources", part))
            if isinstance(given, Mapping):
                asked.update({k: v for k, v in given.items() if isinstance(k, str) and NPU_PREFIX in k})
        for name, value in asked.items():
            total[name] = min(MAX_NPUS, total.get(name, 0) + max(0, whole(value) or 0))
    return total


def role_of(document: Document, kind: Kind, template: Template, index: int, origins: Origins) -> Role:
    """Read one template; notes in `origins` where its parts stand."""
    at: FieldPath = template.path
    spec = dig(document.value, (*at, "spec"))
    requests = npu_requests(spec)
    resource = next((name for name in requests if name not in NO_NPUS), next(iter(requests), ""))
    maps = {
        "label": (*at, "metadata", "labels"),
        "annotation": (*at, "metadata", "annotations"),
        "selector": (*at, "spec", "nodeSelector"),
    }
    texts = {what: text_map(document, path) for what, path in maps.items()}
    origins["role", index] = at
    origins["role", index, "replicas"] = template.replicas_path or at
    for what, path in maps.items():
        origins["role", index, what] = path
        for key in texts[what]:
            origins["role", index, what, key] = (*path, key)
    if resource:
        origins["role", index, "npus"] = _npu_path(spec, at, resource)
    task_spec = template.role.lower() if kind is ASCEND_JOB else template.role if kind is VC_JOB else ""
    tolerations = dig(spec, ("tolerations",))
    node_name = dig(spec, ("nodeName",))
    return Role(
        name=template.role,
        replicas=1 if kind is POD else template.replicas,
        npus=requests.get(resource, 0),
        resource=resource,
        requests=requests,
        labels=texts["label"],
        annotations=texts["annotation"],
        selector=texts["selector"],
        task_spec=texts["annotation"].get("volcano.sh/task-spec", task_spec),
        node_name=node_name if isinstance(node_name, str) else "",
        node_affinity=_mapping(dig(spec, ("affinity", "nodeAffinity"))),
        pod_affinity=_mapping(dig(spec, ("affinity", "podAffinity"))),
        pod_anti_affinity=_mapping(dig(spec, ("affinity", "podAntiAffinity"))),
        tolerations=tuple(t for t in tolerations if isinstance(t, Mapping)) if isinstance(tolerations, list) else (),
    )


def _mapping(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}


def _npu_path(spec: Any, at: FieldPath, resource: str) -> FieldPath:
    """The first place where the pod asks for the resource: requests before limits."""
    for i, container in enumerate(dig(spec, ("containers",)) or []):
        for part in ("requests", "limits"):
            given = dig(container, ("resources", part))
            if isinstance(given, Mapping) and resource in given:
                return (*at, "spec", "containers", i, "resources", part, resource)
    return at
