"""Leaf switches and the nodes below them, from ConfigMap `basic-tor-node-cm` (chapter 23 §1.1)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

SINGLE_LAYER = "single_layer"


class LeafError(ValueError):
    """The ConfigMap gives no topology; the text is the reason that the scheduler logs."""


@dataclass(frozen=True)
class LeafTopology:
    """Leaves in file order. `server_ptr` (int32[L+1]) and `server_node` (int32[S]) are CSR: the servers of leaf i in
    file order, as node index, -1 for an address that no node of the snapshot has. `server_slice` (int32[S]) is the
    slice id, `server_ip` the address as written. `level` is the value of `tor_level`, None if absent. `tor_count` is
    the leaf width M: servers under one leaf, not the number of leaves.

    `server_npus` is the `npu_count` of each server, `seed_shared` and `seed_healthy` the undocumented states
    `IsSharedTor` and `IsHealthy` of each leaf that the file may carry; () = none given.
    """

    leaf_ips: tuple[str, ...]
    leaf_ids: tuple[int, ...]
    server_ptr: NDArray[np.int32]
    server_node: NDArray[np.int32]
    server_slice: NDArray[np.int32]
    server_ip: tuple[str, ...]
    level: str | None = None
    tor_count: int = 0
    server_npus: tuple[int, ...] = ()
    seed_shared: tuple[int, ...] = ()
    seed_healthy: tuple[int, ...] = ()

    @cached_property
    def server_leaf(self) -> NDArray[np.int32]:
        """int32[S]: the leaf of each server."""
        return np.repeat(np.arange(len(self.leaf_ips), dtype=np.int32), np.diff(self.server_ptr))

    @cached_property
    def server_position(self) -> NDArray[np.int32]:
        """int32[S]: index of each server inside its leaf."""
        return np.arange(len(self.server_node), dtype=np.int32) - self.server_ptr[self.server_leaf]

    def server_of_node(self, size: int) -> NDArray[np.int32]:
        """int32[N]: the first server in the file that is the node, -1 = the node is outside the file."""
        found = np.full(size, -1, dtype=np.int32)
        servers = np.flatnonzero(self.server_node >= 0)[::-1]
        found[self.server_node[servers]] = servers
        return found

    @property
    def single_layer(self) -> bool:
        """True if the rules of the single-layer network hold."""
        return self.level == SINGLE_LAYER


def from_configmap(data: Mapping[str, Any], addresses: Sequence[str]) -> LeafTopology:
    """The topology of the data keys of `basic-tor-node-cm`; `addresses` are the InternalIPs of the N nodes, "" = none.

    Keys and types are taken as Go's JSON decoder takes them: names in any letter case, null and absence as zero.
    Raises LeafError where the scheduler counts the topology as not imported.
    """
    text = data.get("tor_info")
    if not isinstance(text, str):
        raise LeafError("tor_info is missing")
    root = _decode(text)
    leaves = _array(root, "server_list")
    if not leaves:
        raise LeafError("empty Tor configuration")
    servers = [_array(leaf, "server") for leaf in leaves]
    index: dict[str, int] = {}
    for i, address in enumerate(addresses):
        if address:
            index.setdefault(address, i)
    flat = [server for group in servers for server in group]
    ips = tuple(_text(server, "server_ip") for server in flat)
    shared, healthy = (tuple(_number(leaf, key) for leaf in leaves) for key in ("IsSharedTor", "IsHealthy"))
    level = data.get("tor_level")
    return LeafTopology(
        leaf_ips=tuple(_text(leaf, "tor_ip") for leaf in leaves),
        leaf_ids=tuple(_number(leaf, "tor_id") for leaf in leaves),
        server_ptr=np.cumsum([0, *map(len, servers)], dtype=np.int32),
        server_node=np.array([index.get(ip, -1) for ip in ips], dtype=np.int32),
        server_slice=np.array([_number(server, "slice_id") for server in flat], dtype=np.int32),
        server_ip=ips,
        level=None if level is None else str(level),
        tor_count=_number(root, "tor_count"),
        server_npus=tuple(_number(server, "npu_count") for server in flat),
        seed_shared=shared if any(shared) else (),
        seed_healthy=healthy if any(healthy) else (),
    )


def _decode(text: str) -> Mapping[str, Any]:
    import orjson

    try:
        value = orjson.loads(text)
    except ValueError as error:
        raise LeafError(f"unmarshal Tor config failed: {error}") from None
    if not isinstance(value, dict):
        raise LeafError(f"unmarshal Tor config failed: expected an object, found {_kind(value)}")
    return value


def _field(value: Any, name: str) -> Any:
    if value is None:
        return None
    if not isinstance(value, dict):
        raise LeafError(f"unmarshal Tor config failed: expected an object, found {_kind(value)}")
    folded = name.lower()
    return next((value[key] for key in reversed(value) if key.lower() == folded), None)


def _array(value: Any, name: str) -> list[Any]:
    found = _field(value, name)
    if found is not None and not isinstance(found, list):
        raise LeafError(f"unmarshal Tor config failed: {name} is {_kind(found)}, expected a list")
    return found or []


def _number(value: Any, name: str) -> int:
    found = _field(value, name)
    if found is None:
        return 0
    if isinstance(found, bool) or not isinstance(found, int) or not -(1 << 31) <= found < 1 << 31:
        raise LeafError(f"unmarshal Tor config failed: {name} is {found!r}, expected a whole number")
    return found


def _text(value: Any, name: str) -> str:
    found = _field(value, name)
    if found is not None and not isinstance(found, str):
        raise LeafError(f"unmarshal Tor config failed: {name} is {_kind(found)}, expected a text")
    return found or ""


def _kind(value: Any) -> str:
    return {list: "a list", dict: "an object", str: "a text", type(None): "null"}.get(type(value), "no text or list")
