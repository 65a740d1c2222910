"""Leaf switches and the nodes below them, from ConfigMap `basic-tor-node-cm` (chapter 23 §1.1)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True)
class LeafTopology:
    """Leaves in file order. `server_ptr` (int32[L+1]) and `server_node` (int32[S]) are CSR: the servers of leaf i in
    file order, as node index, -1 for an address that no node of the snapshot has. `server_slice` (int32[S]) is the
    slice id, `server_ip` the address as written. `level` is the value of `tor_level`, None if absent.
    """

    leaf_ips: tuple[str, ...]
    leaf_ids: tuple[int, ...]
    server_ptr: NDArray[np.int32]
    server_node: NDArray[np.int32]
    server_slice: NDArray[np.int32]
    server_ip: tuple[str, ...]
    level: str | None = None
    tor_count: int = 0
