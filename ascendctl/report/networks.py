"""The networks of a snapshot in every format of `ascendctl topology show`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from ascendctl.engine.result import API_VERSION
from ascendctl.report.occupancy import STATE_KEYS, node_chips
from ascendctl.report.topology import View, as_html, as_svg, as_text, view
from ascendctl.snapshot.cluster import Cluster
from ascendctl.topology.networks import Network

MANY_NODES = 256
"""From this many nodes on, text stops at the units of level 1 unless all nodes are asked for."""


def views(found: Sequence[Network], cluster: Cluster, marks: Mapping[str, str]) -> list[View]:
    """The trees, ready to be drawn; `marks` is a short text by node name."""
    return [_view(network, cluster, marks) for network in found]


def _view(network: Network, cluster: Cluster, marks: Mapping[str, str]) -> View:
    shown = view(network.tree, cluster, marks, network.order)
    if network.source in ("superpods", "leaves"):
        # problems of labels, which these trees have none of
        shown = replace(shown, problems=())
    return replace(shown, problems=(*shown.problems, *network.notes))


def as_lines(shown: Sequence[View], nodes: bool | None, color: bool) -> str:
    """All trees as text; `nodes` None lists nodes of small clusters only."""
    return "\n\n".join(
        as_text(one, len(one.layout.nodes) < MANY_NODES if nodes is None else nodes, color) for one in shown
    )


def as_document(found: Sequence[Network], shown: Sequence[View], cluster: Cluster) -> dict[str, Any]:
    """The TopologyReport document: every tree with its units, nested, and its nodes."""
    chips = node_chips(cluster)
    free = np.bitwise_count(chips.free)
    return {
        "apiVersion": API_VERSION,
        "kind": "TopologyReport",
        "trees": [_tree(network, one, free) for network, one in zip(found, shown, strict=True)],
    }


def _tree(network: Network, shown: View, free: Any) -> dict[str, Any]:
    return {
        "source": network.source,
        "levels": [
            {"name": level.name, "label": level.label, "reservedNodes": level.reserved_nodes}
            for level in shown.tree.levels
        ],
        "root": _unit(shown, free, 0, 0),
        "outside": list(shown.outside),
        "problems": list(shown.problems),
    }


def _unit(shown: View, free: Any, depth: int, vertex: int) -> dict[str, Any]:
    layout, nodes = shown.layout, shown.below(depth, vertex)
    counts = np.bincount(shown.states[nodes], minlength=len(STATE_KEYS)).tolist()
    document: dict[str, Any] = {
        "name": shown.tree.unit(layout.depth - depth, int(nodes[0])) if depth else shown.tree.name,
        "nodeCount": len(nodes),
        "states": dict(zip(STATE_KEYS, counts, strict=True)),
        "freeNpus": int(free[nodes].sum()),
    }
    if depth < layout.depth - 1:
        first, end = layout.children[depth][vertex : vertex + 2].tolist()
        return document | {"units": [_unit(shown, free, depth + 1, child) for child in range(first, end)]}
    names = [(shown.names[node], int(shown.states[node])) for node in nodes.tolist()]
    return document | {
        "nodes": [
            {"name": name, "state": STATE_KEYS[state]} | ({"mark": shown.marks[name]} if name in shown.marks else {})
            for name, state in names
        ]
    }


def drawing(shown: Sequence[View], form: str) -> str:
    """The trees as one HTML page or one SVG image."""
    return as_html(shown) if form == "html" else as_svg(shown)
