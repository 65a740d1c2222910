"""Inference service jobs under the rack policy: every block inside one rack, near the service (chapter 21 §8.1)."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from ascendctl.engine.policies.rack_order import Refusal, Run
from ascendctl.validate.rules.rack import RACK_NODES

_WHERE = {1: "a rack of the service", 2: "a SuperPoD of the service", 3: "another SuperPoD"}


def place_service(run: Run, service_racks: Iterable[tuple[int, int]]) -> Refusal | None:
    """Place the blocks of an inference service job; None = done. `service_racks` are the (SuperPoD, rack) pairs where
    other jobs of the service run. There is no chain, no soft part, no logical rack and no network filter here, and the
    block count is Q div SB, which exceeds the pods' need where SB is below one node."""
    sizes = run.sizes
    count = sizes.job_npus // sizes.sp_npus
    if count != sizes.count:
        run.notes.append(
            f"the scheduler reserves {count} blocks for an inference service job (its NPUs divided by sp-block), the "
            f"pods fill {sizes.count}"
        )
    rows = [(s, r) for s, racks in run.floor.items() for r in racks]
    nodes = [run.floor[s][r] for s, r in rows]
    free = np.array([len(part) for part in nodes], dtype=np.int64)
    head = np.zeros(len(rows), dtype=np.int64)
    superpod = np.array([s for s, _ in rows], dtype=np.int64)
    known = set(service_racks)
    same = np.array([row in known for row in rows], dtype=np.bool_)
    same_superpod = np.isin(superpod, np.array(sorted({s for s, _ in known}), dtype=np.int64))
    superpods, member = np.unique(superpod, return_inverse=True)
    for block in range(count):
        fit = np.flatnonzero(free >= sizes.block)
        if len(fit) == 0:
            run.say(f"block {block}: no rack has {sizes.block} free nodes, and a block must not cross racks")
            message = f"infer service schedule failed, required {count} sp-block, got {block}"
            return Refusal("NOT_ENOUGH_LOGICAL_SUPERPODS", message)
        idle = np.bincount(member, weights=free == RACK_NODES, minlength=len(superpods)).astype(np.int64)[member[fit]]
        total = np.bincount(member, weights=free, minlength=len(superpods)).astype(np.int64)[member[fit]]
        tier = np.where(same[fit], 1, np.where(same_superpod[fit], 2, 3))
        near = tier == 1
        # rows stand in (SuperPoD, rack) order and lexsort is stable: equal keys keep the lower ids first
        best = np.lexsort((np.where(near, 0, -total), -free[fit], np.where(near, 0, -idle), tier))[0]
        row = int(fit[best])
        s, r = rows[row]
        taken = nodes[row][head[row] : head[row] + sizes.block]
        run.blocks[block] = taken
        run.say(
            f"block {block} in rack {r} of SuperPoD {s}, {_WHERE[int(tier[best])]} ({int(free[row])} free nodes in the "
            f"rack, {int(idle[best])} idle racks and {int(total[best])} free nodes in the SuperPoD)",
            block=block,
            superpod=s,
            rack=r,
            nodes=run.name_list(taken.tolist()),
        )
        free[row] -= sizes.block
        head[row] += sizes.block
        same[row] = True
        same_superpod |= superpod == s
    run.open.clear()
    return None
