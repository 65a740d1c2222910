"""Topology trees for people: as text, SVG and HTML, with the state of every node and, if given, a placement.

Names come from a dump: control characters are written as escapes, markup is quoted; nothing outside the file is used.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from html import escape

import numpy as np
from numpy.typing import NDArray

from ascendctl.report.occupancy import FREE, STATES, STYLES, node_chips
from ascendctl.report.text import paint, printable, some
from ascendctl.snapshot.cluster import Cluster
from ascendctl.topology.diagnose import tree_problems
from ascendctl.topology.tree import Layout, Tree, arrange, byte_ranks

_FILLS = ("#c8e6c9", "#fff59d", "#b0bec5", "#ef9a9a")
_CHOSEN = "#1565c0"

CELL, GAP, PAD, TITLE, LINE = 18, 3, 6, 14, 14
COLUMNS, MAX_WIDTH = 8, 1400
CHAR_WIDTH = 6.2


@dataclass(frozen=True)
class View:
    """One tree to draw. `layout` holds its completely labelled nodes, `states` int8[N] index `STATES`, `marks` a short
    text for nodes that stand out (the rank of a pod); `outside` members of the tree that lack a label."""

    tree: Tree
    layout: Layout
    names: Sequence[str]
    states: NDArray[np.int8]
    marks: Mapping[str, str] = field(default_factory=dict)
    outside: tuple[str, ...] = ()
    problems: tuple[str, ...] = ()

    def name(self, depth: int, vertex: int) -> str:
        """Name of a unit without its parents, printable."""
        if depth == 0:
            return printable(self.tree.name) or '""'
        node = int(self.layout.nodes[self.layout.leaves[depth][vertex]])
        return printable(self.tree.unit(self.layout.depth - depth, node)) or '""'

    def below(self, depth: int, vertex: int) -> NDArray[np.int32]:
        """Nodes below a unit, in the order of the layout."""
        first, end = self.layout.leaves[depth][vertex : vertex + 2].tolist()
        return self.layout.nodes[first:end]

    def summary(self, depth: int, vertex: int) -> str:
        """Counts of a unit: 4 nodes, 3 free, 1 busy."""
        counts = np.bincount(self.states[self.below(depth, vertex)], minlength=len(STATES)).tolist()
        parts = [f"{count} {state}" for count, state in zip(counts, STATES, strict=True) if count]
        chosen = sum(self.names[i] in self.marks for i in self.below(depth, vertex).tolist()) if self.marks else 0
        return ", ".join([f"{sum(counts)} node(s)", *parts, *([f"{chosen} of the job"] if chosen else [])])


def view(
    tree: Tree,
    cluster: Cluster,
    marks: Mapping[str, str] | None = None,
    order: NDArray[np.int64] | None = None,
) -> View:
    """Prepare a tree of a snapshot for drawing; `marks` by node name, `order` int64[N] the rank of each node among
    those of its unit (default: names byte by byte, as in the scheduler)."""
    nodes = np.flatnonzero(tree.complete).astype(np.int32)
    layout = arrange(tree, nodes, len(tree.levels), byte_ranks(cluster.names) if order is None else order)
    outside = tuple(cluster.names[i] for i in np.flatnonzero(tree.member & ~tree.complete).tolist())
    problems = tuple(f"{problem.code}: {problem.message}" for problem in tree_problems(tree, cluster.names))
    return View(tree, layout, cluster.names, node_chips(cluster).state, dict(marks or {}), outside, problems)


def as_text(shown: View, nodes: bool = True, color: bool = False) -> str:
    """The tree as lines; `nodes` False stops at the units of level 1."""
    head = f"tree {shown.name(0, 0)}: {shown.summary(0, 0)}"
    lines = [paint(head, "bold", color), f"  {printable(_levels_text(shown))}"]
    lines += _unit_lines(shown, 0, 0, "", nodes, color)
    if shown.outside:
        lines.append(f"  {len(shown.outside)} node(s) lack a label and are left out: {some(shown.outside)}")
    return "\n".join(lines + [f"  {printable(problem)}" for problem in shown.problems])


def _unit_lines(shown: View, depth: int, vertex: int, indent: str, nodes: bool, color: bool) -> Iterator[str]:
    layout = shown.layout
    first, end = layout.children[depth][vertex : vertex + 2].tolist()
    if depth == layout.depth - 1:
        if nodes:
            yield indent + "   " + " ".join(_node_text(shown, i, color) for i in shown.below(depth, vertex).tolist())
        return
    for child in range(first, end):
        last = child == end - 1
        yield f"{indent}{'└─' if last else '├─'} {shown.name(depth + 1, child)}: {shown.summary(depth + 1, child)}"
        yield from _unit_lines(shown, depth + 1, child, indent + ("   " if last else "│  "), nodes, color)


def _node_text(shown: View, node: int, color: bool) -> str:
    name, state = printable(shown.names[node]), int(shown.states[node])
    mark = shown.marks.get(shown.names[node])
    text = name + (f"={printable(mark)}" if mark is not None else f"({STATES[state]})" if state != FREE else "")
    return paint(text, "cyan" if mark is not None else STYLES[state], color)


def as_svg(views: Sequence[View], captions: bool = True) -> str:
    """Trees as one SVG image, one below the other: a box per unit, a square per node, names in the tool tips. With
    `captions`: counts and levels above each tree, the colours below them all."""
    parts: list[str] = []
    width = y = 0
    for shown in views:
        for text in (f"tree {shown.name(0, 0)}: {shown.summary(0, 0)}", _levels_text(shown)) if captions else ():
            y += LINE
            parts.append(f'<text x="0" y="{y - 4}" fill="#263238">{_quoted(text)}</text>')
            width = max(width, _text_width(text))
        box_width, box_height, body = _box(shown, 0, 0)
        parts.append(f'<g transform="translate(0,{y})">{"".join(body)}</g>')
        width, y = max(width, box_width), y + box_height + PAD
    if captions:
        legend_width, legend = _legend(y)
        parts += legend
        width, y = max(width, legend_width), y + CELL + PAD
    height, label = max(y - PAD, 0), ", ".join(f"tree {shown.name(0, 0)}" for shown in views)
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" viewBox="0 0 {width} {height}" '
        f'font-family="sans-serif" font-size="10" role="img" aria-label="{_quoted(label)}">'
        f"{''.join(parts)}</svg>"
    )


def _levels_text(shown: View) -> str:
    levels = ", ".join(f"{level.name} = {level.label}" for level in shown.tree.levels)
    return f"{levels}; {shown.tree.reserve} reserved node(s) per level1 unit"


def _legend(y: int) -> tuple[int, list[str]]:
    """What the colours mean, in one line; its width and elements."""
    parts, x = [], 0
    for fill, text in zip((*_FILLS, _CHOSEN), (*STATES, "of the job, with its rank"), strict=True):
        parts.append(f'<rect x="{x}" y="{y}" width="{CELL}" height="{CELL}" rx="2" fill="{fill}"/>')
        parts.append(f'<text x="{x + CELL + GAP}" y="{y + 12}" fill="#263238">{text}</text>')
        x += CELL + 2 * PAD + _text_width(text)
    return x, parts


def _text_width(text: str) -> int:
    return round(len(text) * CHAR_WIDTH)


def _quoted(text: str) -> str:
    return escape(printable(text), quote=True)


def _box(shown: View, depth: int, vertex: int) -> tuple[int, int, list[str]]:
    """Width, height and elements of a unit drawn at the origin."""
    layout, title = shown.layout, f"{shown.name(depth, vertex)}: {_free_text(shown, depth, vertex)}"
    if depth == layout.depth - 1:
        nodes = shown.below(depth, vertex).tolist()
        placed = [
            (i % COLUMNS * (CELL + GAP), i // COLUMNS * (CELL + GAP), _cell(shown, n)) for i, n in enumerate(nodes)
        ]
        width = min(max(len(nodes), 1), COLUMNS) * (CELL + GAP) - GAP
        height = -(-len(nodes) // COLUMNS) * (CELL + GAP) - GAP if nodes else 0
    else:
        first, end = layout.children[depth][vertex : vertex + 2].tolist()
        placed, width, height = _flow([_box(shown, depth + 1, child) for child in range(first, end)])
    width, height = max(width, _text_width(title)) + 2 * PAD, height + TITLE + 2 * PAD
    elements = [
        f'<rect width="{width}" height="{height}" rx="3" fill="none" stroke="#90a4ae"/>',
        f'<text x="{PAD}" y="{TITLE - 1}" fill="#263238">{_quoted(title)}</text>',
        f"<title>{_quoted(shown.name(depth, vertex))}: {_quoted(shown.summary(depth, vertex))}</title>",
    ]
    for x, y, inner in placed:
        elements.append(f'<g transform="translate({x + PAD},{y + TITLE + PAD - 2})">{"".join(inner)}</g>')
    return width, height, elements


def _free_text(shown: View, depth: int, vertex: int) -> str:
    nodes = shown.below(depth, vertex)
    return f"{int((shown.states[nodes] == FREE).sum())} of {len(nodes)} free"


def _flow(boxes: Sequence[tuple[int, int, list[str]]]) -> tuple[list[tuple[int, int, list[str]]], int, int]:
    """Boxes side by side, in a new row where the line is full."""
    placed: list[tuple[int, int, list[str]]] = []
    x = y = row = widest = 0
    for width, height, body in boxes:
        if x and x + width > MAX_WIDTH:
            x, y, row = 0, y + row + GAP, 0
        placed.append((x, y, body))
        x, row, widest = x + width + GAP, max(row, height), max(widest, x + width)
    return placed, widest, y + row


def _cell(shown: View, node: int) -> list[str]:
    name, state = shown.names[node], int(shown.states[node])
    mark = shown.marks.get(name)
    tip = f"{name}: {STATES[state]}" + (f", rank {mark}" if mark is not None else "")
    fill = _FILLS[state] if mark is None else _CHOSEN
    cell = [f'<rect width="{CELL}" height="{CELL}" rx="2" fill="{fill}"/>', f"<title>{_quoted(tip)}</title>"]
    if mark is not None:
        cell.append(
            f'<text x="{CELL / 2:g}" y="12" text-anchor="middle" font-size="8" fill="#fff">{_quoted(mark)}</text>'
        )
    return cell


def as_html(views: Sequence[View], title: str = "Topology") -> str:
    """One page with all trees; styles are inline, it opens from a file without a network."""
    legend = " ".join(
        f'<span><i style="background:{fill}"></i>{text}</span>'
        for fill, text in [*zip(_FILLS, STATES, strict=True), (_CHOSEN, "of the job, with its rank")]
    )
    parts = [
        "<!DOCTYPE html>",
        '<html lang="en"><head><meta charset="utf-8">',
        f"<title>{_quoted(title)}</title>",
        "<style>body{font:14px sans-serif;margin:1.5em;color:#263238}.legend i{display:inline-block;width:1em;"
        "height:1em;margin:0 .3em 0 1em;vertical-align:-.1em}.tree{overflow-x:auto}li{color:#b71c1c}</style>",
        f'</head><body><h1>{_quoted(title)}</h1><p class="legend">{legend}</p>',
    ]
    for shown in views:
        levels, name = _quoted(_levels_text(shown)), _quoted("tree " + shown.name(0, 0))
        parts.append(f"<h2>{name}</h2><p>{_quoted(shown.summary(0, 0))}<br>{levels}</p>")
        notes = [f"{len(shown.outside)} node(s) lack a label: {some(shown.outside)}"] if shown.outside else []
        if notes or shown.problems:
            items = "".join(f"<li>{_quoted(text)}</li>" for text in [*notes, *shown.problems])
            parts.append(f"<ul>{items}</ul>")
        parts.append(f'<div class="tree">{as_svg([shown], captions=False)}</div>')
    parts.append("</body></html>")
    return "\n".join(parts) + "\n"
