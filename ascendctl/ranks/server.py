"""What rank tables are made of: servers (one entry a pod with NPUs) and their chips (chapter 50 §4.3 to §4.5)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, TypeAlias

Table: TypeAlias = "dict[str, Any]"
"""A rank table as plain data, keys in the order in which the operator writes them."""


@dataclass(frozen=True)
class Chip:
    """One chip: physical id, address ("" or "-1" = none), SuperDeviceID, levelList as JSON text ("" = none)."""

    id: int
    ip: str = ""
    super_device_id: int = 0
    levels: str = ""


@dataclass(frozen=True)
class Server:
    """One pod with NPUs; chips ascend by id. `super_pod_rank` and `super_pod_id` are annotations of the pod."""

    rank: int
    chips: tuple[Chip, ...]
    server_id: str
    host_ip: str
    container_ip: str = ""
    hardware_type: str = ""
    super_pod_rank: str = ""
    super_pod_id: str = ""

    @property
    def first_chip_rank(self) -> int:
        """Rank of its first chip (§3.1)."""
        return self.rank * len(self.chips)


def dumps(table: Table, pretty: bool = False) -> str:
    """JSON text of a table: compact, or two blanks deep."""
    import json

    if pretty:
        return json.dumps(table, indent=2, ensure_ascii=False)
    return json.dumps(table, separators=(",", ":"), ensure_ascii=False)
