"""Checks of the leaf topology against itself and against the nodes of a snapshot (chapter 23 §1.1): violations of the
rules SW-* in `ascendctl.validate.rules.leaves`."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from ascendctl.snapshot.cluster import CHIP_RESOURCES, Cluster
from ascendctl.topology.leaf import SINGLE_LAYER, LeafTopology
from ascendctl.validate.rule import Violation
from ascendctl.wellknown import A310, A310P

DOUBLE_LAYER = "double_layer"
MAX_WIDTH = 128
EXAMPLES = 3

TOR_INFO, TOR_LEVEL = ("data", "tor_info"), ("data", "tor_level")


def lint(cluster: Cluster) -> list[Violation]:
    """The checks on the leaf topology of a snapshot; none if it has no such ConfigMap. At most one violation of each
    rule, with counts and examples. Paths start at the ConfigMap."""
    if cluster.leaves_error:
        return [Violation("SW-01", TOR_INFO, {"problem": cluster.leaves_error})]
    if cluster.leaves is None:
        return []
    found = [*_shape(cluster.leaves), *_names(cluster.leaves), *_nodes(cluster.leaves, cluster)]
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
    """Addresses are compared with those of all nodes: one that is not ready is listed all the same."""
    addresses, listed = set(cluster.addresses), set(topology.server_ip)
    absent = [ip or "(empty)" for ip in topology.server_ip if not ip or ip not in addresses]
    if absent:
        yield Violation("SW-09", TOR_INFO, _some(absent))
    without_affinity = [CHIP_RESOURCES.index(resource) for resource in (A310, A310P)]
    usable = np.flatnonzero(cluster.is_npu & ~np.isin(cluster.kind, without_affinity)).tolist()
    unlisted = [cluster.names[i] for i in usable if not cluster.addresses[i] or cluster.addresses[i] not in listed]
    if unlisted:
        yield Violation("SW-10", TOR_INFO, _some(unlisted))
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
