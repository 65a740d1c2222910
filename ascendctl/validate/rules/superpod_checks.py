"""The conditions behind the rules on super-pod jobs, one function each (chapter 20 §2.3, §10; chapter 40 §3.2).

Every super-pod policy checks them in its own order and reports its own reasons; a condition that holds gives None.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from math import isqrt

from ascendctl.manifest.job import Job, Role
from ascendctl.validate.rule import Violation
from ascendctl.wellknown import SP_BLOCK

_MAX_NODES = 1 << 20


@dataclass(frozen=True)
class Family:
    """What differs between the super-pod policies. `npus` per node (N of the rules); `even`: a single pod asks for 1 or
    an even count; `exempt`: scheduler pods without NPUs are allowed; `whole_job_below_node`: SPB-02 applies. `block`,
    `size`, `count` are the reference's reasons for a bad sp-block, a too large one and a bad NPU count."""

    npus: int
    even: bool
    exempt: bool
    whole_job_below_node: bool
    block: str
    size: str
    count: str


_A3 = ("InvalidArgument", "InvalidResourceRequest", "InvalidResourceRequest")
_850 = ("sp-block is invalid", "sp-block is invalid", "npu num is invalid")

FAMILIES: Mapping[str, Family] = {
    "chip2-node16-sp": Family(16, True, True, True, *_A3),
    "chip2-node8-sp": Family(8, True, True, True, *_A3),
    "chip8-node8-sp": Family(8, False, False, False, *_850),
}
"""Policy -> its variant of the rules."""


def _violation(job: Job, rule: str, reason: str, **values: object) -> Violation:
    return Violation(rule, job.source.path("annotation", SP_BLOCK), values, reason)


def block_is_positive(job: Job, npus: int, reason: str) -> Violation | None:
    """SPB-01."""
    if job.sp_block > 0:
        return None
    return _violation(job, "SPB-01", reason, value=job.annotations.get(SP_BLOCK, str(job.npus)), npus=npus)


def block_below_node_is_whole_job(job: Job, npus: int, reason: str) -> Violation | None:
    """SPB-02."""
    if job.sp_block >= npus or job.sp_block == job.npus:
        return None
    return _violation(job, "SPB-02", reason, block=job.sp_block, npus=npus, total=job.npus)


def block_is_whole_nodes(job: Job, npus: int, reason: str) -> Violation | None:
    """SPB-03; blocks below a node are not judged here."""
    block = job.sp_block
    if block < npus or block % npus == 0:
        return None
    lower = block - block % npus
    return _violation(job, "SPB-03", reason, block=block, npus=npus, lower=lower, upper=lower + npus)


def block_fits_superpod(job: Job, npus: int, limit: int, reason: str) -> Violation | None:
    """SPB-04. `limit` is super-pod-size in nodes."""
    nodes = max(1, job.sp_block // npus)
    if nodes <= limit:
        return None
    return _violation(job, "SPB-04", reason, block=job.sp_block, nodes=nodes, limit=limit, largest=limit * npus)


def single_pod_count(job: Job, npus: int, even: bool, reason: str) -> Violation | None:
    """SPB-05, for jobs with one NPU pod."""
    total = job.npus
    if total == 1 or (0 < total <= npus and not (even and total % 2)):
        return None
    allowed = f"1 or an even number up to {npus}" if even else f"1 to {npus}"
    role = next((i for i, role in enumerate(job.roles) if role.is_npu), 0)
    return Violation("SPB-05", job.source.path("role", role, "npus"), {"total": total, "allowed": allowed}, reason)


def single_pod_block(job: Job, reason: str) -> Violation | None:
    """SPB-06, for jobs with one NPU pod."""
    if job.sp_block == job.npus:
        return None
    return _violation(job, "SPB-06", reason, block=job.sp_block, total=job.npus)


def total_is_blocks(job: Job, npus: int, reason: str) -> Violation | None:
    """SPB-07, for distributed jobs."""
    block, total = job.sp_block, job.npus
    if total % block == 0:
        return None
    fitting = _whole_node_blocks(total, npus)
    below, above = [n for n in fitting if n < block], [n for n in fitting if n > block]
    near = " or ".join(str(n) for n in (*below[-1:], *above[:1]))
    advice = f"use sp-block {near}, or another number of pods" if near else "change the number of pods"
    return _violation(job, "SPB-07", reason, block=block, total=total, advice=advice)


def _whole_node_blocks(total: int, npus: int) -> list[int]:
    """The numbers of NPUs, whole nodes each, that divide a job, ascending; none for jobs beyond all bounds."""
    nodes = total // npus
    if total % npus or nodes > _MAX_NODES:
        return []
    low = [n for n in range(1, isqrt(nodes) + 1) if nodes % n == 0]
    return [n * npus for n in (*low, *(nodes // n for n in reversed(low) if n * n < nodes))]


def is_exempt(role: Role) -> bool:
    """True for a pod without NPUs that the A3 policies leave alone in a distributed job."""
    return role.npus == 0 and (
        role.task_spec == "scheduler" or role.annotations.get("huawei.com/skip-ascend-plugin") == "enabled"
    )


def pods_take_whole_nodes(job: Job, npus: int, exempt: bool, reason: str) -> Violation | None:
    """SPB-08 and SPB-09, for distributed jobs: the first role whose pods break the rule."""
    for i, role in enumerate(job.roles):
        if role.replicas == 0 or role.npus == npus or (exempt and is_exempt(role)):
            continue
        path = job.source.path("role", i, "npus")
        if role.npus > 0:
            values: dict[str, object] = {"role": role.name, "count": role.npus, "npus": npus}
            return Violation("SPB-08", path, values, reason)
        advice = f"ask for {npus} NPUs, or remove the pod" + (
            ", or annotate it with huawei.com/skip-ascend-plugin: enabled" if exempt
            else "; no annotation exempts it under this policy"
        )  # fmt: skip
        return Violation("SPB-09", path, {"role": role.name, "advice": advice}, reason)
    return None
