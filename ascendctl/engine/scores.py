"""Node scores beyond those of the chips: planned nodes, what health takes off, the best ones (chapter 10 §2.7, chapter
20 §7.2, chapter 21 §9.3, chapter 22 §5.3)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Final

import numpy as np
from numpy.typing import NDArray

from ascendctl.engine.kernels.take_best import REFUSED
from ascendctl.engine.predicate import ACCEPTED
from ascendctl.snapshot.cluster import Cluster

Scores = NDArray[np.int64]

WEIGHT: Final = 100
"""Factor of the plugin's scores."""
PLANNED: Final = 100_000_000
LAST_FAULT: Final = 64
"""What a node loses where a pod of the job failed; a sub-healthy one loses 1."""


def penalties(cluster: Cluster, broken: Iterable[int] = ()) -> Scores:
    """int64[N]: what the scores of the nodes lose; `broken` are nodes where a pod of the job failed."""
    lost: Scores = cluster.sub_healthy.astype(np.int64)
    lost[sorted(set(broken))] += LAST_FAULT
    return lost


def final_scores(raw: Scores, penalty: Scores) -> Scores:
    """int64[N]: scores after the health adjustments, down to 0, before the factor; REFUSED = not a candidate."""
    return np.where((penalty > 0) & (raw != REFUSED), np.maximum(raw - penalty, 0), raw)


def planned_scores(codes: NDArray[np.int16], planned: Mapping[int, int], penalty: Scores) -> Scores:
    """int64[N]: scores of a plan for the whole job. `planned` maps a node to what its score is less than the highest;
    the other nodes that `codes` accept have 0."""
    scores = np.where(codes == ACCEPTED, np.int64(0), np.int64(REFUSED))
    for node, less in planned.items():
        scores[node] = PLANNED - less
    return final_scores(scores, penalty)


def best_scores(cluster: Cluster, scores: Scores, limit: int = 10) -> tuple[tuple[str, int], ...]:
    """(node, score) of the best nodes, best first. `scores` int64[N] after all adjustments, before the factor."""
    order = np.argsort(-scores, kind="stable")[:limit]
    return tuple((cluster.names[i], WEIGHT * int(scores[i])) for i in order.tolist() if scores[i] != REFUSED)
