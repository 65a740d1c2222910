"""One job against the leaf switches: what holds before anything is planned (chapter 23 §3, §4, §8, §9)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from ascendctl.engine.chips import chip_codes
from ascendctl.engine.fault import Fault, FormerPod
from ascendctl.engine.policies.switch_leaves import Leaves
from ascendctl.engine.policies.switch_restart import Remaining
from ascendctl.engine.predicate import ACCEPTED, refuse
from ascendctl.engine.request import Request
from ascendctl.engine.running import own_rows
from ascendctl.engine.scores import penalties
from ascendctl.manifest.job import Job
from ascendctl.snapshot.cluster import NODE_UNHEALTHY, PRE_SEPARATE, Cluster
from ascendctl.topology.leaf import LeafTopology
from ascendctl.topology.leaf_states import (
    IS_HEALTHY,
    IS_SHARED,
    LABEL,
    LARGE_MODEL_PODS,
    NORMAL,
    SHARED_IP,
    LeafStates,
    LeafUse,
    leaf_states,
    leaf_use,
    node_servers,
)

V1, V2, SINGLE_LAYER = "1.0", "2.0", "single-layer"


@dataclass(frozen=True)
class Scene:
    """`kept` maps positions of `job.pods` to the pods that stay where they are, `former` all to the pod before the
    fault. `recorded`: the scheduler knows the job as a fault job. All arrays are of length N unless said otherwise."""

    request: Request
    topology: LeafTopology
    kept: Mapping[int, FormerPod] = field(default_factory=dict)
    former: Mapping[int, FormerPod] = field(default_factory=dict)
    faulty: frozenset[str] = frozenset()
    recorded: bool = False

    @property
    def job(self) -> Job:
        """The job."""
        return self.request.job

    @property
    def cluster(self) -> Cluster:
        """The snapshot."""
        return self.request.cluster

    @property
    def version(self) -> str:
        """The handler (§3.1)."""
        if self.topology.single_layer:
            return SINGLE_LAYER
        return V2 if self.request.config.nslb_version == V2 else V1

    @property
    def kind(self) -> str:
        """ "normal", "filler" or "large" (§2)."""
        if self.job.labels.get(LABEL) == NORMAL:
            return "normal"
        return "large" if self.job.npu_pod_count >= LARGE_MODEL_PODS else "filler"

    @property
    def limit(self) -> int:
        """Shared leaves that one job may use, K."""
        return 1 if self.request.config.shared_tor_num == 1 else 2

    @cached_property
    def waiting(self) -> tuple[int, ...]:
        """Positions of the pods without a node."""
        return tuple(i for i in range(len(self.job.pods)) if i not in self.kept)

    @property
    def scheduling(self) -> int:
        """Pods to schedule as the scheduler counts them: -1 if minAvailable is not the number of pods (§3.2)."""
        return len(self.waiting) if self.job.min_available == len(self.job.pods) else -1

    @property
    def whole(self) -> bool:
        """All pods of the job are to be scheduled."""
        return self.scheduling == len(self.job.pods)

    def is_npu(self, position: int) -> bool:
        """True if the pod at a position of `job.pods` asks for NPUs."""
        return self.job.roles[self.job.pods[position].role].is_npu

    @cached_property
    def server(self) -> NDArray[np.int32]:
        """int32[N]: server of each node, -1 = outside the file."""
        return node_servers(self.cluster, self.topology)

    def leaf(self, node: int) -> int:
        """Leaf of a node, -1 = outside the file."""
        server = int(self.server[node])
        return int(self.topology.server_leaf[server]) if server >= 0 else -1

    @cached_property
    def own(self) -> NDArray[np.bool_]:
        """bool[J]: rows of `cluster.jobs` that are this job."""
        return own_rows(self.cluster, self.job, [pod.name for pod in self.former.values()]).jobs

    @cached_property
    def use(self) -> LeafUse:
        """Crossing jobs by leaf."""
        return leaf_use(self.cluster, self.topology, self.own)

    @cached_property
    def states(self) -> LeafStates:
        """Leaf states of 2.0; after a fault the job's own pods count as far as they are left."""
        if not self.former:
            return leaf_states(self.cluster, self.topology)
        pods = self.cluster.pods
        others = (pods.job < 0) | ~np.append(self.own, False)[pods.job]
        mine = [
            (self.leaf(pod.index), self._annotation(pod, IS_SHARED), self._annotation(pod, IS_HEALTHY))
            for i, pod in self.kept.items()
            if self.is_npu(i)
        ]
        return leaf_states(self.cluster, self.topology, others, mine)

    def _annotation(self, pod: FormerPod, key: str) -> str | None:
        """A switch annotation of a remaining pod, from the earlier result or else from the snapshot."""
        if key in pod.annotations:
            return pod.annotations[key]
        row = self._rows.get(pod.name)
        return None if row is None else self.cluster.pods.annotations.get(row, key)

    def switch_annotations(self, pod: FormerPod) -> dict[str, str]:
        """The switch annotations that a remaining pod carries."""
        found = {key: self._annotation(pod, key) for key in (IS_SHARED, IS_HEALTHY, SHARED_IP)}
        return {key: value for key, value in found.items() if value is not None}

    @cached_property
    def _rows(self) -> dict[str, int]:
        pods = self.cluster.pods
        return {
            name: i
            for i, (name, space) in enumerate(zip(pods.names, pods.namespaces, strict=True))
            if space == self.job.namespace
        }

    @cached_property
    def remaining(self) -> Remaining:
        """The kept pods below the leaves."""
        servers = np.array([self.server[pod.index] for pod in self.kept.values()], dtype=np.int64)
        single = any(self._annotation(pod, IS_SHARED) == "0" for pod in self.kept.values())
        return Remaining(self.topology, servers, single)

    @cached_property
    def held(self) -> NDArray[np.bool_]:
        """bool[N]: nodes with a pod of the job that stays and has NPUs."""
        marks = np.zeros(self.cluster.size, dtype=np.bool_)
        marks[[pod.index for i, pod in self.kept.items() if self.is_npu(i)]] = True
        return marks

    @cached_property
    def minus(self) -> NDArray[np.int64]:
        """int64[N]: what a node's score loses by sub-health and earlier faults of the job (§8.2)."""
        gone = self.former.values() if self.recorded else ()
        return penalties(self.cluster, (pod.index for pod in gone if pod.node in self.faulty and pod.index >= 0))

    def chip_codes(self, position: int) -> NDArray[np.int16]:
        """int16[N]: what a pod meets before the switch rules."""
        request, pod = self.request, self.job.pods[position]
        if request.selection.module == "multilevel":
            from ascendctl.engine.policies.multilevel_context import make_context

            return make_context(request).codes(pod.role)
        codes = request.codes_for(pod.role)
        chip_codes(request.wiring, request.state, pod.npus, self.job.distributed, codes)
        return codes

    def hold(self, codes: NDArray[np.int16]) -> NDArray[np.int16]:
        """Refuse, in place, the nodes of remaining pods."""
        refuse(codes, self.held, "NODE_HOLDS_POD")
        return codes

    def leaves(self, codes: NDArray[np.int16]) -> Leaves:
        """The leaves with the accepted nodes; a node that the file lists twice counts where it comes first."""
        topology, count = self.topology, len(self.topology.leaf_ips)
        usable = np.zeros(len(topology.server_node), dtype=np.bool_)
        usable[self.server[(codes == ACCEPTED) & (self.server >= 0)]] = True
        if self.version == V2:
            return Leaves(topology, usable, self.states.shared, self.states.health)
        idle = np.zeros(count, dtype=np.int8)
        return Leaves(topology, usable, idle, idle)


def after_fault(request: Request, topology: LeafTopology, fault: Fault) -> Scene:
    """The scene after a fault. Of kind "job": all pods were deleted; else those on broken nodes, and those whose node
    is no longer in the snapshot."""
    by_name = {pod.name: pod for pod in fault.pods}
    unnamed = {pod.rank: pod for pod in fault.pods if not pod.name}
    former: dict[int, FormerPod] = {}
    for i, spec in enumerate(request.job.pods):
        pod = by_name.get(spec.name) or unnamed.get(spec.rank)
        if pod is not None:
            former[i] = pod
    gone = fault.faulty_names
    kept = {i: pod for i, pod in former.items() if fault.kind != "job" and pod.node not in gone and pod.index >= 0}
    return Scene(request, topology, kept, former, gone, any(_broken(request, name) for name in gone))


def _broken(request: Request, name: str) -> bool:
    """True unless the node works: only then the pods were lost without a fault record (§8.2)."""
    node = request.cluster.index.get(name)
    if node is None:
        return True
    ill = int(request.cluster.health[node]) & (NODE_UNHEALTHY | PRE_SEPARATE)
    return bool(ill or request.state.fixed.unhealthy[node])
