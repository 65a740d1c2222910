"""Rank table 2.0 (chapter 50 §4.5)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ascendctl.ranks.server import Chip, Server, Table

SCALE_OUT = ("ROCE", "UBOE", "UBG")
"""Networks between SuperPoDs in the order in which one is picked without label scaleout-type."""
UB, UB_OVER_ETHERNET, ROCE_LAYER = 1, 2, 3
Levels = dict[int, Mapping[str, Any]]


class ScaleOutError(ValueError):
    """Label scaleout-type has a value that yields no table."""


def table_2_0(servers: Sequence[Server], scale_out: str = "", status: str = "completed") -> Table:
    """Version 2.0; `servers` in the order of their first chip ranks, `scale_out` the job's label scaleout-type.

    Raises ScaleOutError for a label that the operator does not know.
    """
    levels = [[read_levels(chip) for chip in server.chips] for server in servers]
    seen = {net for chips in levels for found in chips for info in found.values() for net in info}
    pick, effective = choose_scale_out(seen, scale_out)
    entries = [
        _rank(chip, server.first_chip_rank + j, found, pick, effective)
        for server, chips in zip(servers, levels, strict=True)
        for j, (chip, found) in enumerate(zip(server.chips, chips, strict=True))
    ]
    table: Table = {"status": status, "version": "2.0"}
    return table | ({"rank_list": entries} if entries else {}) | {"rank_count": len(entries)}


def choose_scale_out(seen: set[str], label: str) -> tuple[str, str]:
    """(network whose addresses are listed, network that selects the layer); "" = none."""
    label = label.strip().upper()
    if label not in ("", "ROCE", "UBOE"):
        raise ScaleOutError(f"label scaleout-type {label!r} is neither ROCE nor UBOE")
    wanted = {"": SCALE_OUT, "ROCE": ("ROCE",), "UBOE": ("UBOE", "UBG")}[label]
    pick = next((net for net in wanted if net in seen), "")
    return pick, pick or label


def read_levels(chip: Chip) -> Levels:
    """Level -> {network: element} of a chip's levelList; empty if it has none. Raises ValueError for no such list."""
    import orjson

    found: Levels = {}
    for entry in orjson.loads(chip.levels) if chip.levels else []:
        info = entry.get("info") if isinstance(entry, dict) else None
        if not isinstance(info, dict) or not isinstance(entry.get("level"), int):
            raise ValueError(f"levelList of chip {chip.id} is not a list of level and info")
        found[entry["level"]] = info
    return found


def _rank(chip: Chip, rank: int, levels: Levels, pick: str, effective: str) -> Table:
    listed = [
        _element(next(iter(levels[level].values())), level) for level in sorted(levels) if level <= UB and levels[level]
    ]
    layer = {"ROCE": ROCE_LAYER, "UBOE": UB_OVER_ETHERNET, "UBG": UB_OVER_ETHERNET}.get(effective)
    if layer is not None:
        listed.append(_element(levels.get(layer, {}).get(pick), layer))
    entry: Table = {"rank_id": rank, "local_id": chip.id, "device_id": chip.id}
    return entry | ({"level_list": listed} if listed else {})


def _element(found: Any, layer: int) -> Table:
    """A level as the table shows it; a missing one has no addresses."""
    if not isinstance(found, Mapping):
        found = {"net_layer": layer, "net_instance_id": "CLUSTER1", "net_type": "CLOS"}
    addresses = found.get("rank_addr_list")
    return {
        "net_layer": found.get("net_layer", layer),
        "net_instance_id": found.get("net_instance_id", ""),
        "net_type": found.get("net_type", ""),
        "net_attr": found.get("net_attr", ""),
        "rank_addr_list": [
            {key: one.get(key) for key in ("addr_type", "addr", "ports", "plane_id")}
            for one in (addresses if isinstance(addresses, list) else [])
            if isinstance(one, Mapping)
        ],
    }
