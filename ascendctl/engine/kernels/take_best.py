"""Pods one after the other, each on the node that is best at its turn."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

REFUSED = -(1 << 62)
"""Score of a node that is no candidate; real scores may be negative too (a node with many unhealthy chips)."""

SIGNATURES = {"take_best": "int64[::1](int64[:,::1], int64, int64)"}


def take_best(keys: NDArray[np.int64], pods: int, block: int) -> NDArray[np.int64]:
    """Node of each pod, int64[pods]; -1 from the first pod on that finds none.

    `keys[k, i]`, int64[L, N]: score of node i once it has taken k pods, REFUSED = it takes no more. The first of
    equally good nodes wins. `block` (about the square root of N) is how many nodes share one maximum, so that a turn
    looks at N / block + block numbers instead of N.
    """
    levels, size = keys.shape
    blocks = (size + block - 1) // block
    now = keys[0].copy()
    level = np.zeros(size, np.int64)
    top = np.empty(blocks, np.int64)
    for b in range(blocks):
        top[b] = now[b * block : (b + 1) * block].max()
    chosen = np.full(pods, -1, np.int64)
    for pod in range(pods):
        b = int(np.argmax(top))
        if top[b] == REFUSED:
            break
        start = b * block
        node = start + np.argmax(now[start : start + block])
        chosen[pod] = node
        level[node] += 1
        now[node] = keys[level[node], node] if level[node] < levels else REFUSED
        top[b] = now[start : start + block].max()
    return chosen
