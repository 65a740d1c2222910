"""Rules on Atlas 300I, 300I Pro / 300V and 300I Duo, D31-* (chapter 40 §3.2; chapter 11.4.4, 11.6 to 11.10)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from ascendctl.manifest.job import Job
from ascendctl.validate.rule import Rule, Violation

INVALID = "InvalidResourceRequest"
LIMITS: Final[Mapping[str, int]] = {"310-card": 64, "310-chip": 64, "310P": 64, "duo-card": 32, "duo-chip": 16}
"""Policy -> the largest count that the scheduler's job check lets through."""

RULES: tuple[Rule, ...] = ()


def check(job: Job, policy: str) -> list[Violation]:
    """The scheduler's validation of a job on inference cards: empty, or the first rule that fails."""
    pods = job.npu_pod_count
    if policy in ("duo-card", "duo-chip") and job.labels.get("distributed") == "true" and pods > 1:
        return [Violation("D31-06", job.source.path("label", "distributed"), {"pods": pods}, INVALID)]
    for i, role in enumerate(job.roles):
        if role.is_npu and role.replicas and not 1 <= role.npus <= LIMITS[policy]:
            values = {"count": role.npus, "role": role.name, "largest": LIMITS[policy]}
            return [Violation("D31-04", job.source.path("role", i, "npus"), values, INVALID)]
    return []
