"""Which pods of a faulty super-pod job are deleted, and after how many sessions (chapter 20 §9.1)."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

from ascendctl.engine.fault import Fault, only_fault_pods
from ascendctl.manifest.job import Job

RELEASE_WAIT = 10
"""Seconds for which a job waits for the nodes of its deleted healthy pods."""
LSP_SESSIONS, JOB_SESSIONS = 6, 12
SUPER_POD_POLICIES = ("chip2-node16-sp", "chip2-node8-sp", "chip8-node8-sp", "chip8-node8-ra64-sp")
"""An unknown schedule_policy beside sp-block selects a super-pod policy, but such a job has no level in between."""


def levels_of(job: Job, fault: Fault) -> tuple[str, ...]:
    """The levels that the scheduler tries, in order."""
    labels = job.labels
    if only_fault_pods(job):
        return ("pod",)
    master = any(pod.rank == 0 and pod.npus and pod.role.lower() != "worker" for pod in fault.fault_pods)
    if master:
        return ("job",)
    if labels.get("process-recover-enable") == "on":
        return ("pod",)
    if labels.get("pod-rescheduling") != "on":
        return ("job",)
    return ("pod", "lsp", "job") if job.policy_name is None or job.policy_name in SUPER_POD_POLICIES else ("pod", "job")


def reached(level: str) -> str:
    """When a level is reached, as text."""
    if level == "lsp":
        return f"after {LSP_SESSIONS} scheduling sessions without success"
    return f"at once, or after {JOB_SESSIONS} sessions if pod level came first" if level == "job" else "at once"


def lost_pods(level: str, order: Sequence[int], broken: Collection[int], home: Mapping[int, int]) -> frozenset[int]:
    """Pods that are scheduled again: all, those on broken nodes, or all of every logical SuperPoD with one of those.
    `home`: pod -> logical SuperPoD."""
    if level == "job":
        return frozenset(order)
    if level == "lsp":
        hit = {home[i] for i in broken}
        return frozenset(i for i in order if home[i] in hit)
    return frozenset(broken)


def escalation(job: Job, level: str) -> tuple[str, ...]:
    """What happens next if pods find no place at a level, as notes."""
    if level == "job" or job.labels.get("pod-rescheduling") != "on" or job.labels.get("process-recover-enable") == "on":
        return ()
    wider = (
        f"after {LSP_SESSIONS} sessions all pods of the broken logical SuperPoDs are deleted, "
        if level == "pod"
        else ""
    )
    return (f"{wider}after {JOB_SESSIONS} sessions all pods of the job",)


def missing_label(job: Job) -> str | None:
    """Text if the cluster would not reschedule the job at all."""
    value = job.labels.get("fault-scheduling")
    if value in ("grace", "force"):
        return None
    shown = "absent" if value is None else repr(value)
    return f"label fault-scheduling is {shown}: the cluster does not reschedule this job, grace or force is needed"
