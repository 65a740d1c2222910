"""What one call of the engine shares between selection, checks and the policy."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from ascendctl.engine.kube import kube_codes
from ascendctl.engine.predicate import ACCEPTED, health_codes, refuse, resource_codes
from ascendctl.engine.result import JobHead
from ascendctl.engine.select import Selection
from ascendctl.engine.state import State, new_state
from ascendctl.engine.wirings import WIRINGS, Wiring
from ascendctl.manifest.job import Job
from ascendctl.snapshot.cluster import CHIP_RESOURCES, Cluster
from ascendctl.snapshot.config import SchedulerConfig


@dataclass(frozen=True)
class Request:
    """One job against one snapshot.

    `state` are the working arrays of the job's resource; `notes` what selection has to say, the first notes of every
    result. `compiled` asks for compiled kernels: None = only where the work is worth it. `objective` is what a
    multi-level job is planned for, "fragmentation" or "bandwidth" (chapter 22 §8.4).
    """

    job: Job
    cluster: Cluster
    selection: Selection
    head: JobHead
    state: State
    notes: tuple[str, ...] = ()
    compiled: bool | None = None
    objective: str = "fragmentation"
    _fixed: dict[int, NDArray[np.int16]] = field(default_factory=dict, repr=False)

    @property
    def config(self) -> SchedulerConfig:
        """Scheduler parameters of the snapshot."""
        return self.cluster.config

    @property
    def wiring(self) -> Wiring:
        """Wiring of the selected policy. Raises KeyError for policies that choose no chips."""
        return WIRINGS[self.selection.policy]

    def kube_codes(self, role: int) -> NDArray[np.int16]:
        """int16[N]: what Kubernetes itself refuses for the pods of one role (index of Job.roles)."""
        codes: NDArray[np.int16] = np.zeros(self.cluster.size, dtype=np.int16)
        kube_codes(self.job.roles[role], self.cluster, codes)
        return codes

    def fixed_codes(self, role: int) -> NDArray[np.int16]:
        """int16[N]: Kubernetes' filters and node health for the pods of one role (index of Job.roles); whole chips do
        not go to nodes with soft sharing, whose device plugin would refuse them (chapter 11.18). These do not change
        while pods are placed. The array is shared and read-only."""
        if role not in self._fixed:
            codes = self.kube_codes(role)
            if not self.selection.registered:
                refuse(codes, self.cluster.visible, "JOB_UNKNOWN")
            codes = np.where(codes == ACCEPTED, health_codes(self.job, self.cluster, self.job.roles[role]), codes)
            whole_chips = self.job.roles[role].resource in CHIP_RESOURCES
            shared = self.selection.module == "soft_share" or self.config.whole_npus_on_shared_nodes
            if whole_chips and not shared:
                refuse(codes, self.cluster.soft_share, "E_SOFT_NODE")
            codes.flags.writeable = False
            self._fixed[role] = codes
        return self._fixed[role]

    def codes_for(self, role: int, state: State | None = None) -> NDArray[np.int16]:
        """int16[N], index of `predicate.CODES`: everything before the policy's own look at chips (chapter 10 §2.6 steps
        1 to 5, after Kubernetes' filters) for a pod of one role, on `state` (default: the request's own arrays)."""
        codes: NDArray[np.int16] = self.fixed_codes(role).copy()
        resource_codes(codes, self.state if state is None else state, self.job.roles[role])
        return codes


def make_request(
    job: Job,
    cluster: Cluster,
    selection: Selection,
    compiled: bool | None = None,
    objective: str = "fragmentation",
) -> Request:
    """A fresh request: working arrays copied from the snapshot."""
    head = JobHead(job.name, job.namespace, job.kind, selection.policy)
    state = new_state(cluster, job.resource)
    return Request(job, cluster, selection, head, state, selection.notes, compiled, objective)
