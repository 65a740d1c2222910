"""A snapshot for people: a line a node or a row a SuperPoD, rack or leaf switch; totals; problems."""

from __future__ import annotations

from functools import cache

import numpy as np

from ascendctl.report.occupancy import STATES, STYLES, occupancy_map
from ascendctl.report.problems import count_line, summary_table
from ascendctl.report.snapshot import (
    Shown,
    codes_by_node,
    facts,
    leaf_names,
    objects,
    resource_totals,
    state_counts,
)
from ascendctl.report.text import paint, printable, ranges, table
from ascendctl.snapshot.chip_lists import chip_ids
from ascendctl.snapshot.cluster import Cluster

_SHORT = ("NODE", "STATE", "NPUS", "FREE", "USED", "BAD", "WHY")
_WIDE = (
    "NODE", "STATE", "RESOURCE", "NPUS", "FREE", "USED", "UNHEALTHY", "RECOVERING", "NET-UNHEALTHY", "IDLE",
    "ALLOCATABLE", "CAPACITY", "PODS", "SUPERPOD", "RACK", "LEAF", "ADDRESS", "WHY",
)  # fmt: skip


def as_text(shown: Shown, wide: bool = False, color: bool = False) -> str:
    """Nodes or map, totals, problems."""
    if shown.by == "node":
        body = _node_table(shown, wide, color)
    else:
        body = occupancy_map(shown.cluster, shown.chips, shown.units, color)
    lines = [body, "", *_totals(shown), *_provenance(shown.cluster)]
    if shown.problems:
        lines += ["", summary_table(shown.problems, color)]
        lines.append(
            f"{count_line(shown.problems)}; `ascendctl snapshot lint` says what they mean and how to mend them"
        )
    return "\n".join(lines)


def _node_table(shown: Shown, wide: bool, color: bool) -> str:
    codes = codes_by_node(shown.problems)
    states = shown.chips.state[shown.nodes].tolist()
    cells = _wide_cells(shown) if wide else _short_cells(shown)
    rows = []
    for node, state, row in zip(shown.nodes.tolist(), states, cells, strict=True):
        name = shown.cluster.names[node]
        rows.append((name, STATES[state], *row, _why(shown, node, codes.get(name, ()))))
    head, *lines = table(rows, _WIDE if wide else _SHORT).splitlines()
    if color:
        start = head.index(_SHORT[1])
        ends = [start + len(STATES[state]) for state in states]
        lines = [
            line[:start] + paint(line[start:end], STYLES[state], True) + line[end:]
            for line, state, end in zip(lines, states, ends, strict=True)
        ]
    return "\n".join([head, *lines])


@cache
def _chips(mask: int) -> str:
    return ranges(chip_ids(mask)) or "-"


def _short_cells(shown: Shown) -> list[tuple[object, ...]]:
    chips, nodes = shown.chips, shown.nodes
    masks = [column[nodes].tolist() for column in (chips.total, chips.free, chips.used, chips.bad)]
    return [(total.bit_count(), *map(_chips, others)) for total, *others in zip(*masks, strict=True)]


def _wide_cells(shown: Shown) -> list[tuple[object, ...]]:
    cluster, chips, nodes = shown.cluster, shown.chips, shown.nodes
    columns = (chips.total, chips.free, chips.used, chips.unhealthy, chips.recovering, chips.network)
    masks = [column[nodes].tolist() for column in columns]
    pods = np.bincount(cluster.pods.node[cluster.pods.active], minlength=cluster.size)
    leaves = leaf_names(cluster)
    rows: list[tuple[object, ...]] = []
    for node, total, *others in zip(nodes.tolist(), *masks, strict=True):
        one = facts(cluster, node)
        numbers = (one.idle, one.allocatable, one.capacity, int(pods[node]), one.superpod, one.rack)
        rows.append(
            (
                one.resource.removeprefix("huawei.com/") or "-",
                total.bit_count(),
                *map(_chips, others),
                *("-" if number is None else number for number in numbers),
                leaves[node] or "-",
                cluster.addresses[node] or "-",
            )
        )
    return rows


def _why(shown: Shown, node: int, codes: tuple[str, ...]) -> str:
    """Why the node takes no pod, its sub-health, and the codes of its problems."""
    words = [shown.chips.why(node), "sub-healthy" if shown.cluster.sub_healthy[node] else "", *codes]
    return " ".join(word for word in words if word) or "-"


def _totals(shown: Shown) -> list[str]:
    size, every = shown.cluster.size, int(shown.cluster.has_npus.sum())
    states = zip(state_counts(shown.chips, shown.nodes), STATES, strict=True)
    counts = ", ".join(f"{count} {state}" for count, state in states if count)
    head = f"{len(shown.nodes)} " + (f"of {every} " if len(shown.nodes) < every else "") + "nodes with NPUs"
    head += (f": {counts}" if counts else "") + (f"; {size - every} without" if size > every else "")
    words = (("free", "free"), ("used", "used"), ("unhealthy", "unhealthy"), ("recovering", "recovering"),
             ("networkUnhealthy", "network-unhealthy"))  # fmt: skip
    lines = [head]
    for name, total in resource_totals(shown).items():
        parts = ", ".join(f"{total[key]} {word}" for key, word in words if total[key] or key in ("free", "used"))
        lines.append(f"{name}: {total['npus']} NPUs on {total['nodes']} nodes, {parts}")
    return lines


def _provenance(cluster: Cluster) -> list[str]:
    parts = [
        f"{word} {', '.join(f'{count} {printable(kind)}' for kind, count in counts.items()) or 'none'}"
        for word, counts in objects(cluster).items()
    ]
    source = "ClusterD (cluster-info-*)" if cluster.clusterd_mode else "the device plugins (mindx-dl-*)"
    return [f"objects: {'; '.join(parts)}", f"device data of {source}, scheduler plugin {cluster.profile}"]
