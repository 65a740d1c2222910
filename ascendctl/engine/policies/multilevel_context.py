"""One multi-level job against the trees of a snapshot: which pods are planned, which nodes are candidates
(chapter 22 §2.3, §3.3)."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from ascendctl.engine.predicate import refuse
from ascendctl.engine.request import Request
from ascendctl.engine.state import State, usable
from ascendctl.manifest.job import Job
from ascendctl.snapshot.cluster import Cluster
from ascendctl.topology.affinity import AFFINITY_CONFIG, group_sizes
from ascendctl.topology.tree import Tree, build_trees, byte_ranks
from ascendctl.validate.rules.multilevel import is_backup


@dataclass(frozen=True)
class Context:
    """`trees` ascend by name, `ranks` int64[N] is the byte order of the node names, `groups` the sizes g_1 .. g_k.
    `tasks`: positions in `job.pods` of the pods that the search places, by slot (= rank). `notes`: cautions so far."""

    request: Request
    trees: tuple[Tree, ...]
    ranks: NDArray[np.int64]
    groups: tuple[int, ...]
    tasks: tuple[int, ...]
    notes: tuple[str, ...]
    _in_trees: dict[str, NDArray[np.bool_]] = field(default_factory=dict, repr=False)

    @property
    def job(self) -> Job:
        """The job."""
        return self.request.job

    @property
    def cluster(self) -> Cluster:
        """The snapshot."""
        return self.request.cluster

    def role(self, slot: int) -> int:
        """Role of the pod of a slot, an index of Job.roles."""
        return self.job.pods[self.tasks[slot]].role

    def codes(self, role: int, state: State | None = None) -> NDArray[np.int16]:
        """int16[N], index of `predicate.CODES`: why a node is no candidate for the pods of a role, 0 = it is one. On
        `state`, default the request's own arrays."""
        state = self.request.state if state is None else state
        codes = self.request.codes_for(role, state)
        if not self._in_trees:
            none = np.zeros(self.cluster.size, dtype=np.bool_)
            self._in_trees["member"] = np.logical_or.reduce([none, *(tree.member for tree in self.trees)])
            self._in_trees["complete"] = np.logical_or.reduce([none, *(tree.complete for tree in self.trees)])
        refuse(codes, ~self._in_trees["member"], "ML-N01")
        refuse(codes, ~self._in_trees["complete"], "ML-N02")
        listed, limit = state.list_length, self.request.wiring.max_node
        refuse(codes, (listed < 1) | ((listed > limit) & ~state.fixed.list_bad), "ML-N04")
        refuse(codes, ~state.fixed.network_defined, "ML-N04")
        refuse(codes, np.bitwise_count(usable_chips(state)) != self.job.roles[role].npus, "ML-N03")
        return codes


def usable_chips(state: State) -> NDArray[np.uint64]:
    """uint64[N]: chips that a pod gets on each node. Network-unhealthy ones are left out for a single pod too; the
    scheduler forgets that (chapter 22 §5.4)."""
    return usable(state, distributed=True, network_aware=True)


def make_context(request: Request) -> Context:
    """Read the trees and the shape of a valid job."""
    job = request.job
    planned = [
        i
        for i, pod in enumerate(job.pods)
        if pod.npus > 0 and not is_backup(job.roles[pod.role].annotations.get("podType"))
    ]
    tasks = sorted(planned, key=lambda i: job.pods[i].rank)
    trees = build_trees(request.cluster)
    notes = [
        f"reservedNode {tree.levels[0].reserved_nodes} of tree {tree.name!r} counts as 0; the scheduler fails with it"
        for tree in trees
        if tree.levels and tree.levels[0].reserved_nodes < 0
    ]
    if [job.pods[i].rank for i in tasks] != list(range(len(tasks))):
        tasks = planned
        notes.append("the ranks of the pods with NPUs are not 0, 1, 2, ...: the order of the pods stands for them")
    groups = group_sizes(job.annotations[AFFINITY_CONFIG])
    return Context(request, trees, byte_ranks(request.cluster.names), groups, tuple(tasks), tuple(notes))
