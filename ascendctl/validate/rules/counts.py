"""Rules on NPU counts per pod, RES-04 to RES-12 (chapter 40 §3.2; for the scheduler chapter 10 §5.5, §6.6, §6.7)."""

from __future__ import annotations

from ascendctl.engine.wirings import WIRINGS
from ascendctl.manifest.job import Job, Role
from ascendctl.validate.rule import Rule, Violation

INVALID = "InvalidResourceRequest"
SKIP = "huawei.com/skip-ascend-plugin"

RULES: tuple[Rule, ...] = ()


def check(job: Job, policy: str) -> list[Violation]:
    """The scheduler's count check of a policy that works inside one node: empty, or the first rule that fails."""
    wiring = WIRINGS.get(policy)
    if wiring is None:
        return []
    if wiring.rule == "dies":
        return _die_pairs(job)
    if wiring.rule == "mesh":
        return _average(job, wiring.max_node)
    for i, role in enumerate(job.roles):
        if role.is_npu and role.replicas and (not 1 <= role.npus <= wiring.max_node or role.npus in wiring.illegal):
            return [_violation("RES-04", job, i, allowed=_allowed(wiring.max_node, wiring.illegal), policy=policy)]
    return []


def _violation(rule: str, job: Job, role: int, reason: str = INVALID, **values: object) -> Violation:
    asked = {"count": job.roles[role].npus, "role": job.roles[role].name}
    return Violation(rule, job.source.path("role", role, "npus"), asked | values, reason)


def _allowed(largest: int, illegal: frozenset[int]) -> str:
    """The legal counts as people write them: "1 to 8", "1, 2, 4, 8", "1 to 8, 10, 12"."""
    legal = [n for n in range(1, largest + 1) if n not in illegal]
    run = next((i for i, n in enumerate(legal) if n != i + 1), len(legal))
    if run <= 2:
        return ", ".join(map(str, legal))
    return ", ".join([f"1 to {run}", *map(str, legal[run:])])


def _die_pairs(job: Job) -> list[Violation]:
    """RES-06, RES-07, RES-08: two dies share a card (chapter 10 §6.6)."""
    first = next((i for i, role in enumerate(job.roles) if role.is_npu), 0)
    if job.npus == 1:
        return [] if job.npu_pod_count == 1 else [_violation("RES-06", job, first, pods=job.npu_pod_count)]
    if job.npus % 2:
        return [_violation("RES-07", job, first, what=f"the job asks for {job.npus} NPUs in all")]
    for i, role in enumerate(job.roles):
        if role.replicas == 0 or (role.npus > 0 and role.npus % 2 == 0 and role.npus <= 16) or _exempt(role):
            continue
        if role.npus == 0:
            return [_violation("RES-08", job, i)]
        return [_violation("RES-07", job, i, what=f"a pod of {role.name} asks for {role.npus} NPUs")]
    return []


def _exempt(role: Role) -> bool:
    return role.npus == 0 and (role.task_spec == "scheduler" or role.annotations.get(SKIP) == "enabled")


def _average(job: Job, largest: int) -> list[Violation]:
    """RES-09: only the average over the job's NPU pods is tested (chapter 11.13)."""
    pods = job.npu_pod_count
    if pods and job.npus // pods <= largest:
        return []
    first = next((i for i, role in enumerate(job.roles) if role.is_npu), 0)
    return [_violation("RES-09", job, first, total=job.npus, pods=pods, largest=largest)]
