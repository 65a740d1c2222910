"""Rules on static and dynamic vNPUs, VNP-* (chapter 40 §3.2; chapter 11.14 for what the scheduler does)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from ascendctl.engine.vnpu_templates import CHIP_310P, LEGAL_CORES, cores_are_legal
from ascendctl.manifest.job import Job
from ascendctl.snapshot.config import SchedulerConfig
from ascendctl.validate.rule import Rule, Violation

NPU_CORE: Final = "huawei.com/npu-core"
LEVEL, VIDEO = "vnpu-level", "vnpu-dvpp"
ARGUMENT, COUNT = "InvalidArgument", "InvalidResourceRequest"

RULES: tuple[Rule, ...] = ()


def check(job: Job, policy: str, config: SchedulerConfig, keys: Sequence[str]) -> list[Violation]:
    """The scheduler's validation of a dynamic vNPU job: empty, or the first rule that fails. `keys` are the template
    keys (chip type, chip name or server type) of the nodes that the job can reach; the 310P policy needs none.

    The reference uses the sentence itself as reason for 910 jobs; here they get the categories of the 310P policy.
    """
    if config.preset_virtual_device:
        return [Violation("VNP-02", job.source.path("role", 0, "npus"), {}, ARGUMENT)]
    for i, role in enumerate(job.roles):
        if role.replicas and "-" not in role.resource:
            return [_violation("VNP-10", job, i, ARGUMENT, message=f"pods of {role.name} ask for no vNPU")]
    key = CHIP_310P
    if policy == "vnpu-910":
        if len(keys) > 1:
            message = f"the job can reach nodes with different vNPU templates: {', '.join(keys)}"
            return [_violation("VNP-05", job, 0, ARGUMENT, message=message)]
        key = keys[0] if keys and keys[0] != CHIP_310P else ""
    for i, role in enumerate(job.roles):
        found = _of_role(job, i, key)
        if role.replicas and found is not None:
            return [found]
    return []


def _of_role(job: Job, index: int, key: str) -> Violation | None:
    role = job.roles[index]
    level, video = role.labels.get(LEVEL, "low"), role.labels.get(VIDEO, "null")
    if not cores_are_legal(key, role.npus):
        rule = "VNP-03" if key == CHIP_310P else "VNP-05"
        return _violation(rule, job, index, COUNT, template=key or "unknown", allowed=allowed(key))
    if key == CHIP_310P:
        return _violation("VNP-04", job, index, COUNT, value=video) if role.npus in (1, 2) and video != "null" else None
    if (key != "910B4" or role.npus != 10) and (level != "low" or video != "null"):
        return _violation("VNP-06", job, index, COUNT, level=level, value=video, template=key)
    return None


def allowed(key: str) -> str:
    """The legal core counts of a template key in words."""
    counts, units = LEGAL_CORES.get(key, ((), ()))
    return ", ".join([*map(str, counts), *(f"multiples of {unit}" for unit in units)]) or "none"


def _violation(rule: str, job: Job, role: int, reason: str, message: str = "", **values: object) -> Violation:
    asked = {"count": job.roles[role].npus, "role": job.roles[role].name}
    return Violation(rule, job.source.path("role", role, "npus"), asked | values, reason, message=message)
