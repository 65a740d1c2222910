"""The enqueue stage: are there enough free NPUs in all, wherever they are? (chapter 10 §2.3)"""

from __future__ import annotations

import numpy as np

from ascendctl.engine.request import Request
from ascendctl.snapshot.cluster import CHIP_RESOURCES

PERCENT = 100


def cluster_total(request: Request) -> int:
    """Free NPUs that the enqueue stage counts: free list lengths of nodes whose numbers agree, 100 a chip on nodes with
    soft sharing. Health and topology do not matter."""
    state, fixed = request.state, request.state.fixed
    counted = request.cluster.visible & (state.list_length > 0) & fixed.idle_defined & (state.list_length <= state.idle)
    counted &= (fixed.capacity >= 0) & (fixed.capacity >= state.idle)
    unit = np.where(request.cluster.soft_share, PERCENT, 1)
    return int(np.sum(np.where(counted, state.list_length * unit, 0), dtype=np.int64))


def short_of(request: Request) -> tuple[int, int] | None:
    """(asked, free) if the job asks for more than is free in all; None if it may enqueue. Jobs of other resources are
    not held back."""
    if request.job.resource not in CHIP_RESOURCES:
        return None
    total = cluster_total(request)
    return (request.job.npus, total) if total < request.job.npus else None
