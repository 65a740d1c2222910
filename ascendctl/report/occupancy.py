"""How full the nodes of a snapshot are: chips and state of each node, and the map of a SuperPoD, rack or leaf switch.

A node counts as broken where the scheduler would refuse every pod with NPUs, or where chips of it are unhealthy, so
that no pod can have the whole node.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby

import numpy as np
from numpy.typing import NDArray

from ascendctl.engine.predicate import ACCEPTED, CODES, refuse, resource_codes
from ascendctl.engine.state import new_state
from ascendctl.manifest.job import Role
from ascendctl.report.text import paint, printable, table
from ascendctl.snapshot.cluster import (
    CHIP_RESOURCES,
    NODE_UNHEALTHY,
    PRE_SEPARATE,
    UNKNOWN_ACCELERATOR,
    Cluster,
)

FREE, PARTLY, BUSY, BROKEN = range(4)
STATES = ("free", "partly used", "busy", "broken")
STATE_KEYS = ("free", "partlyUsed", "busy", "broken")
"""The same in documents."""
STYLES = ("green", "yellow", "blue", "red")
LETTERS = ("f", "p", "B", "x")
RESERVE_LETTER, RESERVE_STYLE = "r", "cyan"
LEGEND_RESERVE = "free, kept in reserve while others serve"

TEN, LINE = 10, 100
"""Nodes between two blanks, and on a line, of the map."""


@dataclass(frozen=True)
class NodeChips:
    """Chips of the N nodes as bit masks (uint64[N]): `total`; `free` as the scheduler may use them, none where the list
    is malformed; `used` by pods; `unhealthy`, `recovering`, `network` (network-unhealthy). `code` int16[N]: why no pod
    with NPUs may come, index of `engine.predicate.CODES`, 0 = none. `state` int8[N]: index of `STATES`."""

    total: NDArray[np.uint64]
    free: NDArray[np.uint64]
    used: NDArray[np.uint64]
    unhealthy: NDArray[np.uint64]
    recovering: NDArray[np.uint64]
    network: NDArray[np.uint64]
    code: NDArray[np.int16]
    state: NDArray[np.int8]

    @property
    def bad(self) -> NDArray[np.uint64]:
        """uint64[N]: chips with any fault."""
        return (self.unhealthy | self.recovering | self.network) & self.total

    def why(self, node: int) -> str:
        """Code of a node that takes no pod, "" for the others."""
        code = int(self.code[node])
        return "" if code == ACCEPTED else CODES[code]


def node_chips(cluster: Cluster) -> NodeChips:
    """The chips of every node, those of the node's own kind (`Cluster.kind`)."""
    zero = [np.zeros(cluster.size, np.uint64) for _ in range(4)]
    free, unhealthy, recovering, network = zero
    codes = np.zeros(cluster.size, np.int16)
    refuse(codes, ~cluster.visible, "NODE_UNKNOWN")
    refuse(codes, cluster.unschedulable, "NODE_UNSCHEDULABLE")
    refuse(codes, (cluster.health & UNKNOWN_ACCELERATOR) != 0, "NODE_NOT_IN_FAULT_TABLE")
    refuse(codes, (cluster.health & NODE_UNHEALTHY) != 0, "NODE_UNHEALTHY")
    refuse(codes, (cluster.health & PRE_SEPARATE) != 0, "NODE_PRESEPARATE")
    bad_list = np.zeros(cluster.size, np.bool_)
    for kind, name in enumerate(CHIP_RESOURCES):
        here = cluster.kind == kind
        columns = cluster.resources.get(name)
        if columns is None or not here.any():
            continue
        free[here] = np.where(columns.list_bad, np.uint64(0), columns.free)[here]
        unhealthy[here], recovering[here] = columns.unhealthy[here], columns.recovering[here]
        network[here] = columns.network_unhealthy[here]
        bad_list |= here & columns.list_bad
        own = np.zeros(cluster.size, np.int16)
        resource_codes(own, new_state(cluster, name), Role("", 1, 0, name))
        whole = here & (codes == ACCEPTED) & (columns.capacity >= 0)
        codes[whole] = own[whole]
    state = np.full(cluster.size, PARTLY, np.int8)
    state[cluster.used == 0] = FREE
    state[(cluster.total & ~cluster.used) == 0] = BUSY
    state[(codes != ACCEPTED) | bad_list | (cluster.total == 0) | ((unhealthy | recovering) != 0)] = BROKEN
    return NodeChips(cluster.total, free, cluster.used, unhealthy, recovering, network, codes, state)


@dataclass(frozen=True)
class Unit:
    """A SuperPoD, rack or leaf switch: its title, its nodes (int64 indices in the order in which they are used), and
    which of them the scheduler keeps in reserve while others serve."""

    title: str
    nodes: NDArray[np.int64]
    reserve: frozenset[int] = frozenset()


KINDS = ("superpod", "rack", "leaf")


def units(cluster: Cluster, chips: NodeChips, by: str) -> list[Unit]:
    """The units of a snapshot by "superpod", "rack" or "leaf", nodes outside all of them last. Nodes without NPUs do
    not count.

    The reserve of a SuperPoD are its last free nodes in name order, `reserve-nodes` of them (chapter 20 §6); racks,
    SuperPoDs of racks and leaf switches have none.
    """
    counted = cluster.has_npus
    if by == "leaf":
        return list(_leaves(cluster, counted))
    ids = cluster.superpod if by == "superpod" else np.where(cluster.superpod < 0, -1, cluster.rack)
    known = np.flatnonzero(counted & (ids >= 0) & (cluster.superpod >= 0))
    keys = np.stack([ids[known], cluster.superpod[known]])
    order = np.lexsort(keys)
    cuts = np.flatnonzero(np.diff(keys[:, order], axis=1).any(axis=0)) + 1
    found = []
    for part in np.split(known[order], cuts.tolist()) if len(order) else []:
        first = int(part[0])
        title = f"SuperPoD {cluster.superpod[first]}" + (f" rack {cluster.rack[first]}" if by == "rack" else "")
        found.append(Unit(title, part, _reserve(cluster, chips, part) if by == "superpod" else frozenset()))
    outside = np.flatnonzero(counted & ~np.isin(np.arange(cluster.size), known))
    word = "SuperPoD" if by == "superpod" else "rack"
    return [*found, Unit(f"no {word}", outside)] if len(outside) else found


def _reserve(cluster: Cluster, chips: NodeChips, nodes: NDArray[np.int64]) -> frozenset[int]:
    if (cluster.rack > 0).any():
        return frozenset()
    free = nodes[chips.state[nodes] == FREE].tolist()
    return frozenset(free[max(0, len(free) - cluster.config.reserve_nodes) :])


def _leaves(cluster: Cluster, counted: NDArray[np.bool_]) -> Iterator[Unit]:
    outside = counted.copy()
    topology = cluster.leaves
    if topology is not None:
        for leaf, ip in enumerate(topology.leaf_ips):
            first, end = topology.server_ptr[leaf : leaf + 2].tolist()
            nodes = topology.server_node[first:end].astype(np.int64)
            nodes = nodes[nodes >= 0]
            outside[nodes] = False
            yield Unit(f"leaf {topology.leaf_ids[leaf]} {printable(ip)}".rstrip(), nodes)
    if outside.any():
        yield Unit("no leaf switch", np.flatnonzero(outside))


def occupancy_map(cluster: Cluster, chips: NodeChips, shown: Sequence[Unit], color: bool = False) -> str:
    """A row a unit: how many nodes are in which state, free chips, and a letter a node."""
    rows: list[tuple[object, ...]] = []
    for unit in shown:
        states = np.bincount(chips.state[unit.nodes], minlength=len(STATES)).tolist()
        free = int(np.bitwise_count(chips.free[unit.nodes]).sum())
        first, *more = _letters(unit, chips) or [""]
        rows.append((unit.title, len(unit.nodes), *states, free, first))
        rows.extend(("",) * 7 + (line,) for line in more)
    headers = ("UNIT", "NODES", *(state.upper() for state in STATES), "FREE NPUS", "MAP")
    head, *lines = table(rows, headers).splitlines()
    if color:
        ends = [str(row[-1]) for row in rows]
        lines = [line.removesuffix(end) + _painted(end) for line, end in zip(lines, ends, strict=True)]
    return "\n".join([head, *lines, "", legend(any(unit.reserve for unit in shown), color)])


def _letters(unit: Unit, chips: NodeChips) -> list[str]:
    """The letters of a unit's nodes, in tens, on as many lines as they need."""
    letters = "".join(
        RESERVE_LETTER if node in unit.reserve else LETTERS[state]
        for node, state in zip(unit.nodes.tolist(), chips.state[unit.nodes].tolist(), strict=True)
    )
    lines = [letters[i : i + LINE] for i in range(0, len(letters), LINE)]
    return [" ".join(line[i : i + TEN] for i in range(0, len(line), TEN)) for line in lines]


def _painted(line: str) -> str:
    styles = {**dict(zip(LETTERS, STYLES, strict=True)), RESERVE_LETTER: RESERVE_STYLE}
    runs = ((letter, "".join(run)) for letter, run in groupby(line))
    return "".join(paint(run, styles[letter], True) if letter in styles else run for letter, run in runs)


def legend(with_reserve: bool, color: bool) -> str:
    """What the letters mean."""
    words = list(zip(LETTERS, STATES, STYLES, strict=True))
    if with_reserve:
        words.insert(1, (RESERVE_LETTER, LEGEND_RESERVE, RESERVE_STYLE))
    return "  ".join(f"{paint(letter, style, color)} {word}" for letter, word, style in words)
