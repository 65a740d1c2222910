"""The earlier placement of a multi-level job that lost pods (chapter 22 §6.1 to §6.3)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from ascendctl.engine.fault import Fault, FaultError, FormerPod
from ascendctl.engine.policies.multilevel_context import Context
from ascendctl.manifest.job import Job, parse_go_int

SESSIONS_PER_LEVEL = 6
SESSIONS_TO_WHOLE_JOB = 12


@dataclass(frozen=True)
class History:
    """Where the pods of the job ran before a fault. `slots`: index in `fault.pods` of each planned rank, -1 = not in
    the document; `deleted`: indices of the pods that were deleted, or whose node is gone."""

    fault: Fault
    slots: tuple[int, ...]
    deleted: frozenset[int]

    def pod(self, slot: int) -> FormerPod:
        """The earlier pod of a planned rank."""
        return self.fault.pods[self.slots[slot]]

    def survives(self, slot: int, node: int) -> bool:
        """True if the pod of a rank was not deleted and keeps its node."""
        return self.slots[slot] not in self.deleted and self.pod(slot).index == node

    @property
    def all_deleted(self) -> bool:
        """True if no pod of the job is left."""
        return len(self.deleted) == len(self.fault.pods)


def make_history(context: Context, fault: Fault) -> History:
    """Match the earlier pods with the job's by name, or by rank where the names differ. Raises FaultError if two of
    them share a node: a pod takes all usable NPUs of its node (chapter 22 §2.3)."""
    pods = fault.pods
    slots = _slots(pods, [context.job.pods[i].name for i in context.tasks])
    shared = [node for node, count in Counter(pods[i].node for i in slots if i >= 0).items() if count > 1]
    if shared:
        raise FaultError(f"two pods of the previous placement run on node {shared[0]}, but each takes a whole node")
    broken = fault.faulty_names
    deleted = {i for i, pod in enumerate(pods) if fault.kind == "job" or pod.node in broken or pod.index < 0}
    if fault.kind == "lsp":
        size = context.groups[0]
        for begin in range(0, len(slots), size):
            if deleted.intersection(slots[begin : begin + size]):
                deleted.update(slots[begin : begin + size])
    return History(fault, tuple(slots), frozenset(deleted - {-1}))


def _slots(pods: Sequence[FormerPod], planned: Sequence[str]) -> list[int]:
    """For each planned pod the index of the earlier one, -1 = none."""
    by_name = {pod.name: i for i, pod in enumerate(pods)}
    if all(name in by_name for name in planned):
        return [by_name[name] for name in planned]
    with_npus = any(pod.npus for pod in pods)
    by_rank = {pod.rank: i for i, pod in enumerate(pods) if pod.npus or not with_npus}
    return [by_rank.get(slot, -1) for slot in range(len(planned))]


def max_escalation(job: Job, fault: Fault, levels: int, master_lost: bool) -> int:
    """How many levels the search may give up, compared with 1 = a pod, 2 = a level-1 group, and so on.

    `fault.max_escalation`: a number, or "job" = no limit; None = 0, unless the fault says how many sessions the pods
    have waited: then what the scheduler allows by then (chapter 22 §6.2). `levels` is the length of the job's vector.
    Raises FaultError for another text.
    """
    given = fault.max_escalation
    if given is not None:
        number = given if isinstance(given, int) else parse_go_int(given)
        if given != "job" and (number is None or number < 0):
            raise FaultError(f"fault.max_escalation is {given!r}, expected a number from 0 or 'job'")
        return levels if number is None else min(number, levels)
    if fault.kind == "auto":
        return levels
    sessions = fault.pending_sessions
    if sessions == 0 or job.annotations.get("huawei.com/recover_policy_path") == "pod":
        return 0
    by_pod = job.labels.get("pod-rescheduling") == "on" or job.labels.get("process-recover-enable") == "on"
    return levels if master_lost or sessions >= SESSIONS_TO_WHOLE_JOB or not by_pod else sessions // SESSIONS_PER_LEVEL
