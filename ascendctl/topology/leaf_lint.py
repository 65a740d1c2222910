"""Checks of the leaf topology against itself and against the nodes of a snapshot, SW-* (chapter 23 §1.1).

The scheduler checks nothing but that the list is there; what is wrong beyond makes it misplace jobs or abort.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from ascendctl.snapshot.cluster import Cluster
from ascendctl.topology.leaf import SINGLE_LAYER, LeafError, LeafTopology, from_configmap
from ascendctl.validate.rule import Rule, Violation

DOUBLE_LAYER = "double_layer"
MAX_WIDTH = 128
EXAMPLES = 3

TOR_INFO, TOR_LEVEL = ("data", "tor_info"), ("data", "tor_level")
_SOURCE = "chapter 23 §1.1"


def _rule(number: int, severity: str, when: str, message: str, hint: str, about: str) -> Rule:
    return Rule(f"SW-{number:02}", severity, when, message, hint, kinds=("ConfigMap",), source=_SOURCE, about=about)


RULES: tuple[Rule, ...] = (
    _rule(
        1,
        "error",
        "tor_info is missing, is no JSON object, or lists no leaf switch",
        "the leaf topology cannot be read: {problem}",
        "generate basic-tor-node-cm again with lld_to_cm.py",
        "The scheduler then counts the topology as not imported and refuses every job with switch affinity.",
    ),
    _rule(
        2,
        "error",
        "tor_count is below 1 or above 128",
        "tor_count is {width}, it must be from 1 to 128",
        "write the number of servers below one leaf switch",
        "tor_count is the width of a leaf switch, not the number of leaf switches. 0 makes jobs fail, a negative value "
        "aborts the scheduler, above 128 there are no logical leaf switches.",
    ),
    _rule(
        3,
        "error",
        "a leaf switch has more servers than tor_count",
        "{count} leaf switches have more than tor_count {width} servers: {examples}",
        "raise tor_count to the widest leaf switch",
        "The scheduler aborts as soon as a usable node stands behind the last position.",
    ),
    _rule(
        4,
        "warning",
        "a leaf switch has fewer servers than tor_count",
        "{count} leaf switches have fewer than tor_count {width} servers: {examples}",
        "nothing, if the leaf switches really have fewer servers",
        "Such a leaf switch never counts as completely free, so large jobs use it only position by position.",
    ),
    _rule(
        5,
        "error",
        "tor_ip is empty or stands for two leaf switches",
        "{count} leaf addresses are empty or stand for several leaf switches: {examples}",
        "give every leaf switch its own tor_ip",
        "States are kept by tor_ip, so the leaf switches overwrite each other.",
    ),
    _rule(
        6,
        "error",
        "a server_ip is listed twice",
        "{count} addresses are listed more than once: {examples}",
        "list every server below one leaf switch",
        "The node would count below two leaf switches.",
    ),
    _rule(
        7,
        "error",
        "a slice_id is outside 0 .. tor_count-1 or repeats below a leaf switch",
        "{count} leaf switches have slice ids outside 0..{last} or twice: {examples}",
        "number the servers of each leaf switch from 0",
        "Ids out of range are left out when the slice for lost pods is chosen.",
    ),
    _rule(
        8,
        "warning",
        "slice_id is not the position in the list",
        "{count} servers have a slice_id that is not their position in the list: {examples}",
        "sort the servers of a leaf switch by slice_id",
        "Nodes are chosen by their position in the list, ranks are ordered by slice_id.",
    ),
    _rule(
        9,
        "warning",
        "a server_ip is no node's InternalIP",
        "{count} servers are no node of the snapshot: {examples}",
        "compare server_ip with the InternalIP of the nodes",
        "The server is never used.",
    ),
    _rule(
        10,
        "warning",
        "a node with NPUs is not listed",
        "{count} nodes with NPUs are not listed: {examples}",
        "add the nodes to basic-tor-node-cm",
        "A job with switch affinity never takes such a node.",
    ),
    _rule(
        11,
        "warning",
        "tor_level is neither single_layer nor double_layer",
        "tor_level is {level!r}, the scheduler takes it for double_layer",
        "write single_layer or double_layer",
        "Only the exact text single_layer switches the rules of a single-layer network on.",
    ),
    _rule(
        12,
        "info",
        "npu_count differs from what the node has",
        "{count} servers have an npu_count that is not the node's: {examples}",
        "nothing: the scheduler does not use npu_count",
        "A difference may show that the list is out of date.",
    ),
)


def lint_configmap(data: Mapping[str, Any], cluster: Cluster) -> list[Violation]:
    """Check the data keys of `basic-tor-node-cm` against the nodes of a snapshot. Paths start at the ConfigMap."""
    try:
        return lint(from_configmap(data, cluster.addresses), cluster)
    except LeafError as error:
        return [Violation("SW-01", TOR_INFO, {"problem": str(error)})]


def lint(topology: LeafTopology, cluster: Cluster) -> list[Violation]:
    """The checks on a topology that could be read; at most one violation of each, with counts and examples."""
    found = [*_shape(topology), *_names(topology), *_nodes(topology, cluster)]
    return sorted(found, key=lambda violation: violation.rule)


def _shape(topology: LeafTopology) -> Iterator[Violation]:
    width, sizes = topology.tor_count, np.diff(topology.server_ptr)
    if not 1 <= width <= MAX_WIDTH:
        yield Violation("SW-02", TOR_INFO, {"width": width})
    for rule, wrong in (("SW-03", sizes > width), ("SW-04", sizes < width)):
        leaves = [f"{topology.leaf_ips[i]} ({sizes[i]})" for i in np.flatnonzero(wrong)]
        if leaves:
            yield Violation(rule, TOR_INFO, {"width": width, **_some(leaves)})
    slices, leaf = topology.server_slice, topology.server_leaf
    pairs, counts = np.unique(np.stack([leaf, slices]), axis=1, return_counts=True)
    bad = np.union1d(leaf[(slices < 0) | (slices >= width)], pairs[0][counts > 1])
    if bad.size:
        yield Violation("SW-07", TOR_INFO, {"last": width - 1, **_some([topology.leaf_ips[i] for i in bad])})
    moved = np.flatnonzero(slices != topology.server_position)
    if moved.size:
        names = [f"{topology.server_ip[i]} (slice {slices[i]}, position {topology.server_position[i]})" for i in moved]
        yield Violation("SW-08", TOR_INFO, _some(names))
    if topology.level not in (None, SINGLE_LAYER, DOUBLE_LAYER):
        yield Violation("SW-11", TOR_LEVEL, {"level": topology.level})


def _names(topology: LeafTopology) -> Iterator[Violation]:
    leaves = [ip or "(empty)" for ip, count in Counter(topology.leaf_ips).items() if not ip or count > 1]
    if leaves:
        yield Violation("SW-05", TOR_INFO, _some(leaves))
    twice = [ip or "(empty)" for ip, count in Counter(topology.server_ip).items() if count > 1]
    if twice:
        yield Violation("SW-06", TOR_INFO, _some(twice))


def _nodes(topology: LeafTopology, cluster: Cluster) -> Iterator[Violation]:
    absent = np.flatnonzero(topology.server_node < 0)
    if absent.size:
        yield Violation("SW-09", TOR_INFO, _some([topology.server_ip[i] for i in absent]))
    unlisted = np.flatnonzero(cluster.is_npu & (topology.server_of_node(cluster.size) < 0))
    if unlisted.size:
        yield Violation("SW-10", TOR_INFO, _some([cluster.names[i] for i in unlisted]))
    if topology.server_npus:
        yield from _counts(topology, cluster)


def _counts(topology: LeafTopology, cluster: Cluster) -> Iterator[Violation]:
    have = np.append(np.bitwise_count(cluster.total), 0)[topology.server_node]
    given = np.array(topology.server_npus)
    differs = np.flatnonzero((topology.server_node >= 0) & (given != have))
    if differs.size:
        names = [f"{cluster.names[topology.server_node[i]]} ({given[i]}, has {have[i]})" for i in differs]
        yield Violation("SW-12", TOR_INFO, _some(names))


def _some(items: Sequence[str]) -> dict[str, Any]:
    shown = ", ".join(items[:EXAMPLES]) + (f" and {len(items) - EXAMPLES} more" if len(items) > EXAMPLES else "")
    return {"count": len(items), "examples": shown}
