"""Switch affinity in a single-layer network (chapter 23 §7): the whole job below one leaf."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ascendctl.engine.policies.switch_leaves import Leaves, Plan, Step, descending, tie_note
from ascendctl.engine.policies.switch_v1 import NO_LEAF

TOO_MANY = "job's task number is bigger than torCount"


def plan_single(leaves: Leaves, width: int, pods: int, npu_pods: int, only: NDArray[np.bool_] | None = None) -> Plan:
    """Plan `pods` unbound pods of a job with `npu_pods` NPU pods. `only` bool[L] restricts the leaves (§9.3).

    `pods` of -1 (minAvailable differs from the number of pods) lists the leaf with the fewest usable nodes (§3.2).
    """
    steps: list[Step] = [("leaf switches with usable nodes", {"leaves": leaves.table()})]
    if npu_pods > width:
        steps.append((f"{npu_pods} pods are more than tor_count, {width}", {}))
        return Plan(code=TOO_MANY, steps=tuple(steps))
    if only is not None:
        steps.append(
            ("the remaining pods hold the job to their leaf switch", {"leaves": leaves.ips(np.flatnonzero(only))})
        )
        leaves = leaves.without(~only)
    free = leaves.free
    order = descending(np.arange(len(free)), free)
    fits = order[free[order] >= pods]
    if not fits.size:
        steps.append((f"single: no leaf switch has {pods} usable nodes", {"most": int(free.max(initial=0))}))
        return Plan(code=NO_LEAF, steps=tuple(steps))
    chosen = int(fits[-1])
    text = f"single: {leaves.ip(chosen)} has the fewest usable nodes among the leaf switches that hold the job"
    others = {leaves.ip(i): int(free[i]) for i in fits[:-1]}
    steps.append((text, {"leaf": leaves.ip(chosen), "usable": int(free[chosen]), "not_taken": others}))
    servers = leaves.by_slice(leaves.first(chosen, pods if pods >= 0 else None))
    return Plan("single", (servers,), steps=tuple(steps), notes=tie_note(order, free, [chosen]))
