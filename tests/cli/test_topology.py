from __future__ import annotations

import json
from pathlib import Path
from xml.etree import ElementTree

import pytest

from tests import cases
from tests.cli.world import EIGHT, GROUP, RACK, dump, fleet, manifest, run, write

LEVELS = {"default": {"level1": {"label": RACK, "reservedNode": 1}, "level2": {"label": GROUP}}}
LABELLED = fleet(
    {
        f"a{i}": {"labels": {RACK: f"r{i // 2}", GROUP: f"g{i // 4}"}, **({"used": "0xffff"} if i == 1 else {})}
        for i in range(8)
    },
    params={"resource-level-config": LEVELS},
)
LEAVES = {
    "tor_level": "single_layer",
    "tor_info": {
        "tor_count": 2,
        "server_list": [
            {
                "tor_id": leaf,
                "tor_ip": f"10.1.0.{leaf}",
                "server": [
                    {"server_ip": f"10.0.0.{2 * leaf + position}", "npu_count": 16, "slice_id": 1 - position}
                    for position in range(2)
                ],
            }
            for leaf in range(2)
        ],
    },
}
UNDER_LEAVES = fleet({f"b{3 - i}": {"ip": f"10.0.0.{i}"} for i in range(4)} | {"c": {"ip": "10.9.9.9"}}, leaves=LEAVES)


def lines(*args: str | Path) -> list[str]:
    result = run("topology", "show", *args)
    assert result.exit_code == 0, result.stderr
    return result.stdout.splitlines()


def test_configured_levels(tmp_path: Path) -> None:
    assert lines(dump(tmp_path, LABELLED)) == [
        "tree default: 8 node(s), 7 free, 1 busy",
        f"  level1 = {RACK}, level2 = {GROUP}; 1 reserved node(s) per level1 unit",
        "├─ g0: 4 node(s), 3 free, 1 busy",
        "│  ├─ r0: 2 node(s), 1 free, 1 busy",
        "│  │     a0 a1(busy)",
        "│  └─ r1: 2 node(s), 2 free",
        "│        a2 a3",
        "└─ g1: 4 node(s), 4 free",
        "   ├─ r2: 2 node(s), 2 free",
        "   │     a4 a5",
        "   └─ r3: 2 node(s), 2 free",
        "         a6 a7",
    ]


def test_superpods(tmp_path: Path) -> None:
    assert lines(dump(tmp_path), "--no-nodes") == [
        "tree SuperPoDs: 8 node(s), 4 free, 1 partly used, 1 busy, 2 broken",
        "  level1 = SuperPoD id of the device data; 2 reserved node(s) per level1 unit",
        "├─ SuperPoD 1: 4 node(s), 1 free, 1 partly used, 1 busy, 1 broken",
        "└─ SuperPoD 2: 4 node(s), 3 free, 1 broken",
    ]
    assert "      n5 n6 n7(broken) n10" in lines(dump(tmp_path))  # natural order


def test_racks(tmp_path: Path) -> None:
    nodes = {
        f"r{i}": {"resource": "huawei.com/npu", "chips": 8, "superpod": i // 4, "rack": i // 2 % 2} for i in range(8)
    }
    shown = lines(dump(tmp_path, fleet(nodes)), "--no-nodes")
    assert [line.strip("│├└─ ") for line in shown[2:]] == [
        "SuperPoD 0: 4 node(s), 4 free",
        "rack 0: 2 node(s), 2 free",
        "rack 1: 2 node(s), 2 free",
        "SuperPoD 1: 4 node(s), 4 free",
        "rack 0: 2 node(s), 2 free",
        "rack 1: 2 node(s), 2 free",
    ]


def test_leaf_switches_in_the_order_of_the_file(tmp_path: Path) -> None:
    assert lines(dump(tmp_path, UNDER_LEAVES), "--by", "leaves") == [
        "tree leaf switches: 4 node(s), 4 free",
        "  level1 = single_layer network of basic-tor-node-cm; 0 reserved node(s) per level1 unit",
        "├─ leaf 0 10.1.0.0: 2 node(s), 2 free",
        "│     b3 b2",
        "└─ leaf 1 10.1.0.1: 2 node(s), 2 free",
        "      b1 b0",
        "  1 node(s) lack a label and are left out: c",
    ]


def test_hypernodes(tmp_path: Path) -> None:
    def hypernode(name: str, tier: int, kind: str, members: list[str]) -> dict[str, object]:
        selectors = [{"type": kind, "selector": {"exactMatch": {"name": member}}} for member in members]
        return {
            "apiVersion": "topology.volcano.sh/v1alpha1",
            "kind": "HyperNode",
            "metadata": {"name": name},
            "spec": {"tier": tier, "members": selectors},
        }

    hypernodes = [
        hypernode("s0", 1, "Node", ["n1", "n2"]),
        hypernode("s1", 1, "Node", ["n3", "n99"]),
        hypernode("top", 2, "HyperNode", ["s0", "s1"]),
    ]
    folder = write(tmp_path, [*cases.objects(EIGHT), *hypernodes])
    shown = "\n".join(lines(folder, "--by", "hypernodes"))
    assert "├─ s0: 2 node(s)" in shown.replace("   ", "").replace(
        "└─ top: 3 node(s), 1 free, 1 partly used, 1 busy\n", ""
    )
    assert "ML-H05: HyperNode s1: node n99 is not in the snapshot" in shown
    assert "ML-H07: nodes in no HyperNode are left out: 5" in shown


def test_labels_of_the_command_line_and_of_a_csv_file(tmp_path: Path) -> None:
    folder = dump(tmp_path / "dump")
    labels = tmp_path / "labels.csv"
    labels.write_text("nodeName,row,rack\nn1,x,r0\nn2,x,r0\nn3,x,r1\nnobody,y,r9\n", encoding="utf-8")
    result = run("topology", "show", folder, "--topology-csv", labels, "--levels", "rack,row", "--no-nodes")
    assert result.exit_code == 0
    assert result.stderr == f"note: {labels}: 1 nodes are not in the dump: nobody\n"
    assert [line.strip("│├└─ ") for line in result.stdout.splitlines()[2:5]] == [
        "x: 3 node(s), 1 free, 1 partly used, 1 busy",
        "r0: 2 node(s), 1 free, 1 partly used",
        "r1: 1 node(s), 1 busy",
    ]


def test_levels_of_the_command_line_make_trees_for_every_command(tmp_path: Path) -> None:
    """`--config resource-level-config=...` in place of the scheduler's own, inline or from a file."""
    levels = {"default": {"level1": {"label": "rack", "reservedNode": 1}, "level2": {"label": "row"}}}
    nodes = {f"a{i}": {"labels": {"rack": f"r{i // 2}", "row": f"w{i // 4}"}} for i in range(8)}
    folder = dump(tmp_path / "dump", fleet(nodes))
    file = tmp_path / "levels.json"
    file.write_text(json.dumps(levels), encoding="utf-8")
    annotations = {"huawei.com/schedule_policy": "multilevel", "huawei.com/affinity-config": "level1=1,level2=2"}
    job = manifest(tmp_path, fleet(nodes, job=EIGHT["job"] | {"annotations": annotations}))
    assert run("place", job, "-s", folder).exit_code == 1
    for option in (f"resource-level-config={json.dumps(levels)}", f"resource-level-config=@{file}"):
        assert lines(folder, "--by", "levels", "--config", option, "--no-nodes")[2] == "├─ w0: 4 node(s), 4 free"
        placed = run("place", job, "-s", folder, "--config", option, "-o", "json")
        assert [pod["node"] for pod in json.loads(placed.stdout)["pods"]] == ["a0", "a2"]
        assert "MLV-09" not in run("validate", job, "-s", folder, "--config", option).stdout
    file.write_text("[", encoding="utf-8")
    broken = run("topology", "show", folder, "--config", f"resource-level-config=@{file}")
    assert broken.exit_code == 2 and "resource-level-config cannot be read" in broken.stderr
    missing = run("topology", "show", folder, "--config", f"resource-level-config=@{tmp_path}/none.json")
    assert missing.exit_code == 2 and "none.json" in missing.stderr


def test_csv_round_trip(tmp_path: Path) -> None:
    folder = dump(tmp_path / "dump", LABELLED)
    written = tmp_path / "labels.csv"
    assert run("topology", "show", folder, "-o", f"csv={written}").exit_code == 0
    assert written.read_text(encoding="utf-8").splitlines()[:2] == [
        f"nodeName,huawei.com/topotree,{RACK},{GROUP}",
        "a0,,r0,g0",
    ]
    plain = dump(tmp_path / "plain", fleet({f"a{i}": {} for i in range(8)}, params=LABELLED["params"]))
    assert lines(plain, "--topology-csv", written)[2] == "├─ g0: 4 node(s), 4 free"


def test_formats(tmp_path: Path) -> None:
    folder, page, image = dump(tmp_path / "dump"), tmp_path / "t.html", tmp_path / "t.svg"
    result = run("topology", "show", "-s", folder, "-o", f"html={page}", "-o", f"svg={image}", "-o", "json")
    report = json.loads(result.stdout)
    (tree,) = report["trees"]
    assert (report["kind"], tree["source"], tree["root"]["nodeCount"]) == ("TopologyReport", "superpods", 8)
    second = tree["root"]["units"][1]
    assert second["name"] == "SuperPoD 2"
    assert second["states"] == {"free": 3, "partlyUsed": 0, "busy": 0, "broken": 1}
    assert [node["name"] for node in second["nodes"]] == ["n5", "n6", "n7", "n10"]
    assert ElementTree.parse(image).getroot().tag.endswith("svg")
    assert page.read_text(encoding="utf-8").startswith("<!DOCTYPE html>")


def test_a_placement_is_marked(tmp_path: Path) -> None:
    folder, placement = dump(tmp_path / "dump"), tmp_path / "placement.json"
    assert run("place", manifest(tmp_path), "-s", folder, "-o", f"json={placement}").exit_code == 0
    assert "      n5=0 n6=1 n7(broken) n10" in lines(folder, "--placement", placement)


@pytest.mark.parametrize(
    ("args", "says"),
    [
        (["--by", "levels"], "no usable resource-level-config"),
        (["--by", "leaves"], "no usable ConfigMap kube-system/basic-tor-node-cm"),
        (["--by", "hypernodes"], "the snapshot holds no HyperNode"),
        (["--levels", "rack"], "no node has the label rack"),
        (["--tree", "x"], "no tree 'x'; there are: SuperPoDs"),
    ],
)
def test_what_is_not_there(tmp_path: Path, args: list[str], says: str) -> None:
    result = run("topology", "show", dump(tmp_path), *args)
    assert result.exit_code == 2
    assert says in result.stderr and not result.stdout


def test_leaf_topology_that_cannot_be_read_says_why(tmp_path: Path) -> None:
    empty = {"tor_level": None, "tor_info": {"tor_count": 2, "server_list": []}}
    folder = dump(tmp_path, fleet({"b0": {"ip": "10.0.0.1"}}, leaves=empty))
    result = run("topology", "show", folder, "--by", "leaves")
    assert result.exit_code == 2 and "basic-tor-node-cm: empty Tor configuration" in result.stderr


def test_svg_of_several_trees(tmp_path: Path) -> None:
    """One image with counts, levels and colours in words; --by and --tree choose."""
    both = fleet({f"b{i}": {"ip": f"10.0.0.{i}", "superpod": 1} for i in range(4)}, leaves=LEAVES)
    folder = dump(tmp_path, both)
    texts = [node.text or "" for node in svg_texts(run("topology", "show", folder, "-o", "svg").stdout)]
    assert [text for text in texts if text.startswith("tree ")] == [
        "tree SuperPoDs: 4 node(s), 4 free",
        "tree leaf switches: 4 node(s), 4 free",
    ]
    assert "level1 = single_layer network of basic-tor-node-cm; 0 reserved node(s) per level1 unit" in texts
    assert {"leaf 0 10.1.0.0: 2 of 2 free", "SuperPoD 1: 4 of 4 free", "free", "broken"} <= set(texts)
    only = [
        node.text or "" for node in svg_texts(run("topology", "show", folder, "--by", "leaves", "-o", "svg").stdout)
    ]
    assert not any("SuperPoD" in text for text in only)


def svg_texts(text: str) -> list[ElementTree.Element]:
    """Text elements of an image whose elements all lie inside of it."""
    image = ElementTree.fromstring(text)
    assert all(int(image.attrib[key]) > 0 for key in ("width", "height"))
    return list(image.iter("{http://www.w3.org/2000/svg}text"))


def test_names_are_escaped(tmp_path: Path) -> None:
    odd = fleet({"a0": {"labels": {RACK: "r\x1b[31m<b>", GROUP: "g0"}}}, params=LABELLED["params"])
    folder, page = dump(tmp_path / "dump", odd), tmp_path / "t.html"
    assert any("r\\x1b[31m<b>" in line for line in lines(folder, "-o", "text", "-o", f"html={page}"))
    assert "r\\x1b[31m&lt;b&gt;" in page.read_text(encoding="utf-8")


def test_place_on_hypernodes(tmp_path: Path) -> None:
    objects = cases.objects(EIGHT)
    members = {"s0": ["n1", "n5"], "s1": ["n6", "n10"]}
    hypernodes = [
        {
            "apiVersion": "topology.volcano.sh/v1alpha1",
            "kind": "HyperNode",
            "metadata": {"name": name},
            "spec": {
                "tier": 1,
                "members": [{"type": "Node", "selector": {"exactMatch": {"name": node}}} for node in nodes],
            },
        }
        for name, nodes in members.items()
    ]
    job = EIGHT["job"] | {
        "annotations": {"huawei.com/schedule_policy": "multilevel", "huawei.com/affinity-config": "level1=2"}
    }
    path = manifest(tmp_path, EIGHT | {"job": job})
    without = run("place", path, "-s", write(tmp_path / "plain", objects), "--hypernodes")
    assert without.exit_code == 2 and "the snapshot holds no HyperNode" in without.stderr
    folder = write(tmp_path / "dump", [*objects, *hypernodes])
    result = run("place", path, "-s", folder, "--hypernodes", "-o", "json")
    assert result.exit_code == 0, result.stdout
    assert {pod["node"] for pod in json.loads(result.stdout)["pods"]} in ({"n1", "n5"}, {"n6", "n10"})
    spared = run("place", path, "-s", folder, "--hypernodes", "--spare-nodes", "1", "-o", "json")
    assert "HyperNode" not in spared.stderr and spared.exit_code in (0, 1)
