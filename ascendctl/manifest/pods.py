"""The pods that a workload will have, with names and ranks (chapter 50 §3.2, §3.3)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ascendctl.manifest.job import PodSpec, Role, parse_go_int
from ascendctl.manifest.kinds import ASCEND_JOB, POD, VC_JOB, Kind, Template, dig
from ascendctl.manifest.quantity import whole
from ascendctl.yamlio.document import Document

RANK_KEY = "hccl/rankIndex"


def expand(
    document: Document, kind: Kind, name: str, roles: Sequence[Role], parts: Sequence[Template]
) -> tuple[PodSpec, ...]:
    """All pods in rank order.

    AscendJob: the operator's ranks, where a leader without NPUs shares rank 0 with Worker 0. Other kinds: the roles
    follow each other; a rank preset on the template of a single pod is kept. Pods of Deployments have names of their
    own making on a cluster; here they are numbered.
    """
    pods: list[PodSpec] = []
    leader_counts = kind is ASCEND_JOB and any(part.role != "Worker" and _leader_asks(document, part) for part in parts)
    start = 0
    for index, (role, part) in enumerate(zip(roles, parts, strict=True)):
        for number in range(role.replicas):
            rank = start + number
            if kind is ASCEND_JOB:
                rank = number + (1 if leader_counts and part.role == "Worker" else 0)
            elif role.replicas == 1 and (preset := parse_go_int(role.annotations.get(RANK_KEY, ""))) is not None:
                rank = preset
            pods.append(PodSpec(_pod_name(kind, name, part.role, number), index, number, rank, role.npus))
        start += role.replicas
    return tuple(sorted(pods, key=lambda pod: (pod.rank, pod.role, pod.number)))


def _pod_name(kind: Kind, name: str, role: str, number: int) -> str:
    if kind is ASCEND_JOB:
        return f"{name}-{role.lower()}-{number}"
    if kind is VC_JOB:
        return f"{name}-{role}-{number}"
    return name if kind is POD else f"{name}-{number}"


def _leader_asks(document: Document, part: Template) -> bool:
    """True if the container named ascend requests NPUs, which makes the operator count the workers from 1. It reads the
    template's requests; limits alone say nothing to it (chapter 50 §10 no. 32)."""
    containers: Any = dig(document.value, (*part.path, "spec", "containers"))
    for container in containers if isinstance(containers, list) else []:
        if dig(container, ("name",)) == "ascend":
            given = dig(container, ("resources", "requests"))
            if isinstance(given, dict):
                return any("huawei.com/" in str(key) and (whole(value) or 0) > 0 for key, value in given.items())
    return False
