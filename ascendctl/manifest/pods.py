"""The pods that a workload will have, with names and ranks (chapter 50 §3.2, §3.3)."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate
from typing import Any

from ascendctl.manifest.job import PodSpec, Role, parse_go_int
from ascendctl.manifest.kinds import ASCEND_JOB, POD, STATEFUL_SET, VC_JOB, Kind, Template, count_of, dig
from ascendctl.manifest.quantity import whole
from ascendctl.wellknown import RANK
from ascendctl.yamlio.document import Document


def expand(
    document: Document, kind: Kind, name: str, roles: Sequence[Role], parts: Sequence[Template]
) -> tuple[PodSpec, ...]:
    """All pods in rank order.

    AscendJob: the operator's ranks, where a leader without NPUs shares rank 0 with Worker 0. StatefulSet: the ordinals.
    Other kinds: the roles follow each other, with plugin hcclrank of a Volcano Job the workers behind the master. A
    rank preset on the template of a single pod is kept. Pods of Deployments have names of their own making on a
    cluster; here they are numbered.
    """
    pods: list[PodSpec] = []
    leader_counts = kind is ASCEND_JOB and any(part.role != "Worker" and _leader_asks(document, part) for part in parts)
    starts = _starts(document, kind, roles, parts)
    for index, (role, part) in enumerate(zip(roles, parts, strict=True)):
        for number in range(role.replicas):
            rank = starts[index] + number
            if kind is ASCEND_JOB:
                rank = number + (1 if leader_counts and part.role == "Worker" else 0)
            elif role.replicas == 1 and (preset := parse_go_int(role.annotations.get(RANK, ""))) is not None:
                rank = preset
            ordinal = number + (starts[index] if kind is STATEFUL_SET else 0)
            pods.append(PodSpec(_pod_name(kind, name, part.role, ordinal), index, number, rank, role.npus))
    return tuple(sorted(pods, key=lambda pod: (pod.rank, pod.role, pod.number)))


def _starts(document: Document, kind: Kind, roles: Sequence[Role], parts: Sequence[Template]) -> list[int]:
    """The rank of the first pod of each role."""
    if kind is STATEFUL_SET and len(parts) == 1:
        return [count_of(dig(document.value, (*parts[0].path[:-1], "ordinals", "start")), 0)]
    starts = [0, *accumulate(role.replicas for role in roles)][: len(roles)]
    arguments = dig(document.value, ("spec", "plugins", "hcclrank")) if kind is VC_JOB else None
    if isinstance(arguments, list):
        given = dict(str(text).lstrip("-").partition("=")[::2] for text in arguments)
        names = [part.role for part in parts]
        master, worker = given.get("master", "master"), given.get("worker", "worker")
        if worker in names:
            starts[names.index(worker)] = roles[names.index(master)].replicas if master in names else 0
        if master in names:
            starts[names.index(master)] = 0
    return starts


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
