"""Rules on soft sharing of one chip, SFT-* (chapter 40 §3.2; chapter 11.15.2 for what the scheduler does)."""

from __future__ import annotations

from typing import Final

from ascendctl.manifest.job import Job, parse_go_int
from ascendctl.validate.rule import Rule, Violation

POLICY: Final = "chip1-softShareDev"
CORES: Final = "huawei.com/scheduler.softShareDev.aicoreQuota"
MEMORY: Final = "huawei.com/scheduler.softShareDev.hbmQuota"
SHARING: Final = "huawei.com/scheduler.softShareDev.policy"
KEYS: Final = (CORES, MEMORY, SHARING)
SHARING_POLICIES: Final = ("fixed-share", "elastic", "best-effort")
INVALID: Final = "InvalidResourceRequest"

RULES: tuple[Rule, ...] = ()


def check(job: Job) -> list[Violation]:
    """The scheduler's validation of a soft-share job: empty, or the first rule that fails."""
    missing = [key for key in KEYS if key not in job.labels]
    if missing:
        path = job.source.path("label", missing[0])
        return [Violation("SFT-01", path, {"missing": ", ".join(missing)}, INVALID)]
    cores, memory = parse_go_int(job.labels[CORES]), parse_go_int(job.labels[MEMORY])
    if cores is None or not 1 <= cores <= 100:
        return [_label("SFT-02", job, CORES)]
    if memory is None or memory < 1:
        return [_label("SFT-03", job, MEMORY)]
    if job.labels[SHARING] not in SHARING_POLICIES:
        return [_label("SFT-04", job, SHARING)]
    return []


def _label(rule: str, job: Job, key: str, reason: str = INVALID) -> Violation:
    return Violation(rule, job.source.path("label", key), {"value": job.labels[key]}, reason)
