"""What a super-pod job was before a fault: pods, logical SuperPoDs, and which pods are lost (chapter 20 §9.2)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from ascendctl.engine.fault import Fault, FaultError, FormerPod, former_pods
from ascendctl.engine.policies.superpod_fault import OldPlan
from ascendctl.engine.policies.superpod_levels import lost_pods, missing_label
from ascendctl.engine.policies.superpod_scene import ATLAS_850
from ascendctl.engine.request import Request
from ascendctl.engine.running import own_rows
from ascendctl.manifest.job import parse_go_int
from ascendctl.snapshot.cluster import NODE_UNHEALTHY, PRE_SEPARATE
from ascendctl.wellknown import SUPER_POD_ID, SUPER_POD_RANK


@dataclass(frozen=True)
class Attempt:
    """One attempt at one level; pods go by their index in Job.pods.

    `order`: the pods with NPUs in rank order; `former`: pod -> what ran; `key`: pod -> its node, a negative number of
    its own if that is gone; `lost`: pods that are scheduled again, `broken`: those of them on broken or missing nodes;
    `home`: pod -> logical SuperPoD, `members` the other way round; `old`: the earlier plan; `helpers`: pods without
    NPUs -> their node, -1 if it broke.
    """

    request: Request
    fault: Fault
    level: str
    order: tuple[int, ...]
    former: Mapping[int, FormerPod]
    key: Mapping[int, int]
    lost: frozenset[int]
    broken: frozenset[int]
    home: Mapping[int, int]
    members: Mapping[int, tuple[int, ...]]
    old: OldPlan
    helpers: Mapping[int, int]
    notes: list[str] = field(default_factory=list)

    @property
    def surviving(self) -> list[int]:
        """The pods that stay, in rank order."""
        return [i for i in self.order if i not in self.lost]

    @property
    def running(self) -> set[int]:
        """Logical SuperPoDs that still have pods."""
        return {self.home[i] for i in self.surviving}


def make_attempt(request: Request, fault: Fault, level: str) -> Attempt:
    """Rebuild the job's earlier state from the previous result and say who is lost at a level. Raises FaultError if
    two pods were on one node."""
    job = request.job
    order, found = job.npu_positions, former_pods(job, fault)
    former = {i: found[i] for i in order if i in found}
    helpers = {i: -1 if old.node in fault.faulty_names else old.index for i, old in found.items() if i not in former}
    key = {i: former[i].index if i in former and former[i].index >= 0 else -1 - i for i in order}
    shared = [at for at, count in Counter(former[i].node for i in order if i in former).items() if count > 1]
    if shared:
        raise FaultError(f"two pods of the previous placement run on node {shared[0]}, but each takes a whole node")
    home = _blocks(order, former, fault, max(1, job.sp_block // request.wiring.max_node))
    broken = frozenset(i for i in order if key[i] < 0 or former[i].node in fault.faulty_names)
    members: dict[int, list[int]] = {}
    for i in order:
        members.setdefault(home[i], []).append(i)
    plan = OldPlan(
        {lsp: tuple(key[i] for i in members[lsp]) for lsp in sorted(members)},
        {lsp: _superpod(request, [former[i] for i in members[lsp] if i in former]) for lsp in members},
    )
    missing = missing_label(job) if broken else None
    return Attempt(
        request=request,
        fault=fault,
        level=level,
        order=order,
        former=former,
        key=key,
        lost=lost_pods(level, order, broken, home),
        broken=broken,
        home=home,
        members={lsp: tuple(pods) for lsp, pods in members.items()},
        old=plan,
        helpers=helpers,
        notes=[missing] if missing else [],
    )


def _blocks(order: Sequence[int], former: Mapping[int, FormerPod], fault: Fault, size: int) -> dict[int, int]:
    """Pod -> logical SuperPoD: annotation super-pod-rank, else the blocks of the result, else position // S."""
    listed = {node: number for key, nodes in fault.blocks.items() for node in nodes if (number := _id(key)) is not None}
    home = {}
    for position, i in enumerate(order):
        pod = former.get(i)
        number = _id(pod.annotations.get(SUPER_POD_RANK, "")) if pod else None
        if number is None and pod:
            number = listed.get(pod.node)
        home[i] = position // size if number is None else number
    return home


def _id(text: str) -> int | None:
    number = parse_go_int(text)
    return number if number is not None and number >= 0 else None


def _superpod(request: Request, pods: Sequence[FormerPod]) -> int:
    """SuperPoD of a logical SuperPoD: that of its first node, by annotation super-pod-id if the node is gone; -1 if
    nobody knows."""
    for pod in pods:
        told = _id(pod.annotations.get(SUPER_POD_ID, ""))
        known = int(request.cluster.superpod[pod.index]) if pod.index >= 0 else told
        if known is not None:
            return known
    return -1


def is_hot_switch(attempt: Attempt) -> bool:
    """True if backup pods start while their sources still run on sub-healthy nodes (chapter 20 §9.6)."""
    job, cluster = attempt.request.job, attempt.request.cluster
    if job.sub_healthy_strategy != "hotSwitch" or attempt.level != "pod" or not attempt.lost:
        return False
    if attempt.request.selection.policy == ATLAS_850:
        return False
    pods = cluster.pods
    own = own_rows(cluster, job, [pod.name for pod in attempt.former.values()]).pods
    rows = np.flatnonzero(own & pods.active).tolist()
    running = {(pods.names[row], int(pods.node[row])) for row in rows}
    return all(
        attempt.key[i] >= 0
        and (attempt.former[i].name, attempt.key[i]) in running
        and bool(cluster.sub_healthy[attempt.key[i]])
        and not int(cluster.health[attempt.key[i]]) & (NODE_UNHEALTHY | PRE_SEPARATE)
        for i in attempt.lost
    )
