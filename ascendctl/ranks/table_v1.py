"""Rank tables 1.0 and 1.2 (chapter 50 §4.3, §4.4)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ascendctl.manifest.job import parse_go_int
from ascendctl.ranks.server import Chip, Server, Table
from ascendctl.ranks.version import logical_superpod

HARD, SOFT, MINDIE = "hard", "soft", "mindie"


def table_1_0(servers: Sequence[Server], status: str = "completed") -> Table:
    """Version 1.0; `servers` in the order of their first chip ranks."""
    return {
        "status": status,
        "server_list": [_server(server, with_super_device=False) for server in servers],
        "server_count": str(len(servers)),
        "version": "1.0",
    }


def table_1_2(servers: Sequence[Server], block: int, mode: str = HARD, status: str = "completed") -> Table:
    """Version 1.2. `block`: NPUs of a logical SuperPoD, 0 = all servers are one; `mode` is HARD, SOFT (groups by
    super_pod_rank) or MINDIE (by super_pod_id)."""
    return {
        "status": status,
        "server_list": [_server(server, with_super_device=True) for server in servers],
        "server_count": str(len(servers)),
        "version": "1.2",
        "super_pod_list": _super_pods(servers, block, mode),
    }


def _server(server: Server, with_super_device: bool) -> Table:
    first = server.first_chip_rank
    entry: Table = {"device": [_device(c, first + j, with_super_device) for j, c in enumerate(server.chips)]}
    entry |= {"hardware_type": server.hardware_type} if server.hardware_type else {}
    entry |= {"server_id": server.server_id, "host_ip": server.host_ip}
    return entry | ({"container_ip": server.container_ip} if server.container_ip else {})


def _device(chip: Chip, rank: int, with_super_device: bool) -> Table:
    super_device = {"super_device_id": str(chip.super_device_id)} if with_super_device else {}
    return {"device_id": str(chip.id), "device_ip": chip.ip} | super_device | {"rank_id": str(rank)}


def _super_pods(servers: Sequence[Server], block: int, mode: str) -> list[Any]:
    if mode == SOFT:
        return _by_rank(servers)
    if mode == MINDIE:
        groups: dict[str, list[Server]] = {}
        for server in servers:
            groups.setdefault(server.super_pod_id, []).append(server)
        numbers = {name: (parse_go_int(name) is None, parse_go_int(name) or 0, name) for name in groups}
        return [_super_pod(name, groups[name]) for name in sorted(groups, key=lambda name: numbers[name])]
    npus = len(servers[0].chips) if servers else 0
    blocks: dict[int, list[Server]] = {}
    for i, server in enumerate(servers):
        blocks.setdefault(logical_superpod(block, npus, i), []).append(server)
    return [_super_pod(str(number), members) for number, members in blocks.items()]


def _by_rank(servers: Sequence[Server]) -> list[Any]:
    """Soft strategy: super-pod-rank is the position in the list; what is no position is lost, its slot stays null."""
    count = len({server.super_pod_rank for server in servers})
    slots: list[list[Server]] = [[] for _ in range(count)]
    for server in servers:
        position = parse_go_int(server.super_pod_rank)
        if position is not None and 0 <= position < count:
            slots[position].append(server)
    return [_super_pod(str(i), members) if members else None for i, members in enumerate(slots)]


def _super_pod(name: str, members: Sequence[Server]) -> Table:
    return {"super_pod_id": name, "server_list": [{"server_id": server.server_id} for server in members]}
