"""Which nodes may take a pod, before any policy looks at chips (chapter 10 §2.6, steps 1 to 5)."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ascendctl.engine.codes import NODE_CODES
from ascendctl.engine.result import Rejected
from ascendctl.engine.state import State
from ascendctl.manifest.job import Job, Role
from ascendctl.names import natural_key
from ascendctl.snapshot.cluster import NODE_UNHEALTHY, PRE_SEPARATE, UNKNOWN_ACCELERATOR, Cluster
from ascendctl.snapshot.profiles import profile_of

CODES = tuple(NODE_CODES)
CODE = {name: i for i, name in enumerate(CODES)}
ACCEPTED = 0


def refuse(codes: NDArray[np.int16], where: NDArray[np.bool_], code: str) -> None:
    """Give `code` to the nodes of a mask that no earlier step refused."""
    codes[(codes == ACCEPTED) & where] = CODE[code]


def health_codes(job: Job, cluster: Cluster, role: Role) -> NDArray[np.int16]:
    """int16[N]: steps 1 and 2 for the pods of a role, which hold for pods without NPUs too, but for PreSeparate in old
    versions of the plugin (chapter 30 §7). Index of `CODES`."""
    codes = np.zeros(cluster.size, dtype=np.int16)
    refuse(codes, ~cluster.visible, "NODE_UNKNOWN")
    refuse(codes, (cluster.health & UNKNOWN_ACCELERATOR) != 0, "NODE_NOT_IN_FAULT_TABLE")
    refuse(codes, (cluster.health & NODE_UNHEALTHY) != 0, "NODE_UNHEALTHY")
    if role.is_npu or profile_of(cluster.profile).pre_separate_all:
        refuse(codes, (cluster.health & PRE_SEPARATE) != 0, "NODE_PRESEPARATE")
    if job.sub_healthy_strategy != "ignore":
        refuse(codes, cluster.sub_healthy, "NODE_SUBHEALTHY")
    return codes


def resource_codes(codes: NDArray[np.int16], state: State, role: Role) -> None:
    """Steps 3 to 5 in place: the resource is there, the node's numbers agree, enough is idle. vNPU resources (a dash
    in the name) skip the comparison of step 4."""
    if not role.is_npu:
        return
    fixed, listed = state.fixed, state.list_length
    if "-" not in role.resource.removeprefix("huawei.com/"):
        refuse(codes, ~fixed.idle_defined | (fixed.capacity < 0) | (listed < 0), "RES_MISSING")
        refuse(codes, ~state.stable, "RES_UNSTABLE")
    refuse(codes, ~fixed.idle_defined, "RES_MISSING")
    refuse(codes, state.idle < role.npus, "NPU_SHORTAGE")


def rejected(cluster: Cluster, codes: NDArray[np.int16]) -> tuple[Rejected, ...]:
    """Refused nodes by reason, the most frequent reason first, nodes in natural name order."""
    groups = [
        Rejected(CODES[code], NODE_CODES[CODES[code]], tuple(cluster.names[i] for i in np.flatnonzero(codes == code)))
        for code in np.flatnonzero(np.bincount(codes, minlength=1))
        if code != ACCEPTED
    ]
    return tuple(sorted(groups, key=lambda group: (-len(group.nodes), natural_key(group.code))))
