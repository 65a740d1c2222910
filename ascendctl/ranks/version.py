"""Which rank table a job gets, and how large its logical SuperPoDs are (chapter 50 §4.1, §4.4)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ascendctl.manifest.attributes import text_map
from ascendctl.manifest.job import Job, parse_go_int
from ascendctl.manifest.kinds import dig
from ascendctl.wellknown import A910, ACCELERATOR_TYPE, NPU, POLICY, SP_BLOCK

SUPERPOD_POLICIES = ("chip2-node16-sp", "chip2-node8-sp", "multilevel")
SUPERPOD_SERVERS = ("module-a3-16-super-pod", "module-a3-8-super-pod")
VERSIONS = ("1.0", "1.2", "2.0")


def object_annotations(job: Job) -> Mapping[str, str]:
    """The annotations that the operator goes by: those of the workload; of a Deployment or StatefulSet with those of
    its pods on top."""
    document = job.source.document
    if document is None:
        return job.annotations
    own = text_map(document, ("metadata", "annotations"))
    if job.kind in ("AscendJob", "vcjob"):
        return own
    return {**own, **job.annotations, **(job.roles[0].annotations if job.roles else {})}


def object_labels(job: Job) -> Mapping[str, str]:
    """Labels of the workload itself; of a job built in memory the merged ones."""
    document = job.source.document
    return job.labels if document is None else text_map(document, ("metadata", "labels"))


def containers(job: Job, role: int) -> list[Mapping[str, Any]]:
    """The normal containers of a role as they stand in the manifest; empty for a job built in memory."""
    source = job.source
    document = source.parts[role] if source.parts else source.document
    found = dig(document.value, (*source.path("role", role), "spec", "containers")) if document is not None else None
    return [one for one in found if isinstance(one, Mapping)] if isinstance(found, list) else []


def template_requests(job: Job, role: int) -> list[Mapping[str, Any]]:
    """What each container of a role requests. Limits do not count: the operator reads templates, to which Kubernetes
    adds no requests (chapter 50 §10 no. 32)."""
    if job.source.document is None:
        return [job.roles[role].requests]
    given = (dig(one, ("resources", "requests")) for one in containers(job, role))
    return [one for one in given if isinstance(one, Mapping)]


def table_version(job: Job) -> tuple[str, str]:
    """Version of the rank table, and why."""
    roles = range(len(job.roles))
    if any(NPU in requests for role in roles for requests in template_requests(job, role)):
        return "2.0", f"a container requests {NPU}"
    annotations = object_annotations(job)
    policy = annotations.get(POLICY)
    if policy is not None:
        if policy in SUPERPOD_POLICIES:
            return "1.2", f"{POLICY} is {policy}"
        beside = ", although sp-block is there" if SP_BLOCK in annotations else ""
        return "1.0", f"{POLICY} is {policy}, no SuperPoD policy{beside}"
    if SP_BLOCK in annotations:
        return "1.2", "annotation sp-block is there"
    for role in job.roles:
        if role.selector.get(ACCELERATOR_TYPE) in SUPERPOD_SERVERS:
            return "1.2", f"node selector accelerator-type is {role.selector['accelerator-type']}"
    return "1.0", "neither huawei.com/npu, nor a SuperPoD policy, sp-block or SuperPoD servers"


def table_block(job: Job) -> int:
    """NPUs of a logical SuperPoD as operator and environment count them; 0 = the whole job is one (§4.4)."""
    annotations = object_annotations(job)
    block = parse_go_int(annotations.get(SP_BLOCK, "")) or 0
    if block or annotations.get(POLICY) != "multilevel":
        return block
    levels = dict(
        part.strip().partition("=")[::2] for part in annotations.get("huawei.com/affinity-config", "").split(",")
    )
    size = parse_go_int(levels.get("level1", "")) or 0
    return size * next((role.requests[A910] for role in job.roles if role.requests.get(A910)), 0)


def logical_superpod(block: int, npus: int, rank: int) -> int:
    """Logical SuperPoD of a rank whose pod (container) has `npus`, as the environment names it (§5.3)."""
    if block <= 0 or npus <= 0:
        return 0
    return rank // (1 if block < npus else block // npus)
