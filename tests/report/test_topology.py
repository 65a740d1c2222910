"""Drawings of topology trees: text, SVG, HTML."""

from __future__ import annotations

import re
import xml.etree.ElementTree as ET
from typing import Any

import pytest

from ascendctl.engine.api import place
from ascendctl.report.topology import View, as_html, as_svg, as_text, view
from ascendctl.snapshot.cluster import Cluster
from ascendctl.topology.tree import build_trees
from tests.engine.policies.tree_world import A, F, T, inputs, make_case

SVG = "{http://www.w3.org/2000/svg}"


def draw(fleet: Any, pods: int = 4, config: str = "level1=2", **more: Any) -> tuple[View, Cluster]:
    job, cluster = inputs(make_case(fleet, pods, config, **more))
    result = place(job, cluster)
    marks = {pod.node: str(pod.rank) for pod in result.pods} if result.outcome == "placed" else {}  # type: ignore[union-attr]
    return view(build_trees(cluster)[0], cluster, marks), cluster


def test_text() -> None:
    shown, _ = draw(
        A, busy="n0", reserve=1, more={"n3": {"status": "UnHealthy"}, "n7": {"used": "0xff"}, "n2": {"labels": {"huawei.com/topotree.rackid": None}}},
    )  # fmt: skip
    assert as_text(shown).splitlines() == [
        "tree default: 7 node(s), 4 free, 1 partly used, 1 busy, 1 broken",
        "  level1 = huawei.com/topotree.rackid, level2 = huawei.com/topotree.superpodid; "
        "1 reserved node(s) per level1 unit",
        "├─ G0: 3 node(s), 1 free, 1 busy, 1 broken",
        "│  ├─ S0: 2 node(s), 1 free, 1 busy",
        "│  │     n0(busy) n1",
        "│  └─ S1: 1 node(s), 1 broken",
        "│        n3(broken)",
        "└─ G1: 4 node(s), 3 free, 1 partly used",
        "   ├─ S2: 2 node(s), 2 free",
        "   │     n4 n5",
        "   └─ S3: 2 node(s), 1 free, 1 partly used",
        "         n6 n7(partly used)",
        "  1 node(s) lack a label and are left out: n2",
        "  ML-N02: tree 'default': 1 of 8 nodes lack the label huawei.com/topotree.rackid of level1, such as n2",
        "  ML-C11: tree 'default': 1 level1 units have no more than the 1 reserved nodes, such as S1: they are used "
        "only when nothing else is left",
    ]
    assert len(as_text(shown, nodes=False).splitlines()) == 11


def test_text_with_a_placement_and_colour() -> None:
    shown, _ = draw(A)
    lines = as_text(shown).splitlines()
    assert "│  │     n0=0 n1=1" in lines
    assert "├─ G0: 4 node(s), 4 free, 4 of the job" in lines
    assert "\x1b[36mn0=0\x1b[0m" in as_text(shown, color=True)


@pytest.mark.parametrize("fleet", [A, F, T, "R0:p0..p40", "A-very-long-unit-name-that-needs-room:n0"])
def test_svg_boxes_nest_without_overlap(fleet: str) -> None:
    shown, _ = draw(fleet, 1, "level1=1")
    root = ET.fromstring(as_svg([shown], captions=False))
    rects = root.findall(f".//{SVG}rect")
    units = sum(len(leaves) - 1 for leaves in shown.layout.leaves)
    assert len(rects) == units + len(shown.layout.nodes)
    (box,) = root.findall(f"{SVG}g")
    check_box(box)
    outer = box.find(f"{SVG}rect")
    assert outer is not None
    assert [root.get(key) for key in ("width", "height")] == [outer.get(key) for key in ("width", "height")]


def test_svg_of_several_trees_stacks_them_with_captions() -> None:
    shown = [draw(fleet, 1, "level1=1")[0] for fleet in (A, F)]
    root = ET.fromstring(as_svg(shown))
    tops = [int((box.get("transform") or "").partition(",")[2].strip(")")) for box in root.findall(f"{SVG}g")]
    frames = [box.find(f"{SVG}rect") for box in root.findall(f"{SVG}g")]
    heights = [int(frame.get("height") or 0) for frame in frames if frame is not None]
    assert tops[0] > 0 and tops[0] + heights[0] < tops[1]
    legend = [int(rect.get("y") or 0) for rect in root.findall(f"{SVG}rect")]
    assert min(legend) >= tops[1] + heights[1]
    assert max(legend) < int(root.get("height") or 0)
    captions = [text.text for text in root.findall(f"{SVG}text")]
    assert captions[0] == "tree default: 8 node(s), 8 free, 1 of the job"
    assert "reserved node(s) per level1 unit" in str(captions[1])
    assert captions[-5:] == ["free", "partly used", "busy", "broken", "of the job, with its rank"]
    assert "S0: 2 of 2 free" in [text.text for text in root.iter(f"{SVG}text")]


def check_box(group: ET.Element) -> None:
    outer = group.find(f"{SVG}rect")
    assert outer is not None
    width, height = float(outer.get("width") or 0), float(outer.get("height") or 0)
    placed: list[tuple[float, float, float, float]] = []
    for inner in group.findall(f"{SVG}g"):
        found = re.fullmatch(r"translate\((\d+),(\d+)\)", inner.get("transform") or "")
        rect = inner.find(f"{SVG}rect")
        assert found
        assert rect is not None
        x, y = float(found[1]), float(found[2])
        right, bottom = x + float(rect.get("width") or 0), y + float(rect.get("height") or 0)
        assert right <= width
        assert bottom <= height
        assert all(right <= a or c <= x or bottom <= b or d <= y for a, b, c, d in placed)
        placed.append((x, y, right, bottom))
        check_box(inner)


def test_names_are_escaped() -> None:
    shown, _ = draw(A, more={"n0": {"labels": {"huawei.com/topotree.rackid": '<script>"&\x1b[31m'}}})
    html = as_html([shown], "a <b> & c")
    assert "<script>" not in html
    assert "&lt;script&gt;&quot;&amp;\\x1b[31m" in html
    assert "<title>a &lt;b&gt; &amp; c</title>" in html
    assert "\x1b" not in html + as_svg([shown]) + as_text(shown)
    ET.fromstring(as_svg([shown]))


def test_page_needs_nothing_from_elsewhere() -> None:
    shown, _ = draw({"alpha": A}, more={"n0": {"labels": {"huawei.com/topotree.rackid": None}}})
    html = as_html([shown, shown])
    assert set(re.findall(r"https?://[^\"' ]+", html)) == {"http://www.w3.org/2000/svg"}
    assert not re.search(r"<(?:script|link|img|iframe)|url\(|@import|src=", html)
    assert html.count("<svg") == 2
    assert "1 node(s) lack a label: n0" in html
    assert "rank 0" in html


def test_tree_without_levels_and_empty_tree() -> None:
    case = make_case("S0:a0 a1", 1, "level1=1")
    case["params"] = {"resource-level-config": {"default": {}, "other": {"level1": {"label": "x"}}}}
    _, cluster = inputs(case)
    flat, empty = (view(tree, cluster) for tree in build_trees(cluster))
    assert as_text(flat).splitlines()[2].strip() == "a0 a1"
    assert as_text(empty).splitlines()[0] == "tree other: 0 node(s)"
    for box in ET.fromstring(as_svg([flat, empty])).findall(f"{SVG}g"):
        check_box(box)
