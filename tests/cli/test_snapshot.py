from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests import cases
from tests.cli.test_topology import UNDER_LEAVES
from tests.cli.world import EIGHT, dump, fleet, manifest, run, write

TABLE = """\
NODE    STATE        NPUS    FREE      USED    BAD    WHY
n1      free         16      0-15      -       -      -
n2      partly used  16      2-15      0-1     -      -
n3      busy         16      -         0-15    -      -
n4      broken       16      0-2,4-15  -       3      -
n5      free         16      0-15      -       -      -
n6      free         16      0-15      -       -      -
n7      broken       16      0-15      -       -      NODE_UNHEALTHY
n10     free         16      0-15      -       -      -

8 nodes with NPUs: 4 free, 1 partly used, 1 busy, 2 broken
huawei.com/Ascend910: 128 NPUs on 8 nodes, 109 free, 18 used, 1 unhealthy
objects: read {configmaps} ConfigMap, 8 Node, {pods} Pod; skipped none; broken none
device data of {source}, scheduler plugin 26.1
"""


def show(*args: str | Path) -> str:
    result = run("snapshot", "show", *args)
    assert result.exit_code == 0, result.stderr
    return str(result.stdout)


@pytest.mark.parametrize(
    ("mode", "configmaps", "source"),
    [("clusterd", 5, "ClusterD (cluster-info-*)"), ("device", 10, "the device plugins (mindx-dl-*)")],
)
def test_table(tmp_path: Path, mode: str, configmaps: int, source: str) -> None:
    objects = cases.objects(EIGHT, mode)
    pods = sum(value["kind"] == "Pod" for value in objects)
    assert sum(value["kind"] == "ConfigMap" for value in objects) == configmaps
    assert show(write(tmp_path, objects)) == TABLE.format(configmaps=configmaps, pods=pods, source=source)


def test_wide(tmp_path: Path) -> None:
    head, first, second, *_ = show(dump(tmp_path), "-o", "wide").splitlines()
    row = dict(zip(head.split(), first.split(), strict=True))
    assert row["RESOURCE"] == "Ascend910"
    assert (row["IDLE"], row["ALLOCATABLE"], row["CAPACITY"]) == ("16", "16", "16")
    assert (row["SUPERPOD"], row["RACK"], row["LEAF"], row["ADDRESS"]) == ("1", "-", "-", "10.64.0.0")
    assert "partly used  Ascend910" in second and "  14  " in second


def test_names_of_leaf_switches(tmp_path: Path) -> None:
    text = show(dump(tmp_path, UNDER_LEAVES), "-o", "wide")
    assert "10.1.0.0" in text


def test_map_of_superpods(tmp_path: Path) -> None:
    assert show(dump(tmp_path), "--by", "superpod").splitlines()[:5] == [
        "UNIT        NODES    FREE    PARTLY USED    BUSY    BROKEN    FREE NPUS    MAP",
        "SuperPoD 1  4        1       1              1       1         45           rpBx",
        "SuperPoD 2  4        3       0              0       1         64           frxr",
        "",
        "f free  r free, kept in reserve while others serve  p partly used  B busy  x broken",
    ]


def test_map_in_colour(tmp_path: Path) -> None:
    text = show(dump(tmp_path), "--by", "superpod", "--color", "always")
    assert "\x1b[36mr\x1b[0m\x1b[33mp\x1b[0m\x1b[34mB\x1b[0m\x1b[31mx\x1b[0m" in text
    assert "\x1b" not in show(dump(tmp_path), "--by", "superpod")
    file = tmp_path / "map.txt"
    show(dump(tmp_path), "--by", "superpod", "--color", "always", "-o", f"table={file}")
    assert "rpBx" in file.read_text(encoding="utf-8")


def test_map_of_racks_and_of_what_is_outside(tmp_path: Path) -> None:
    nodes: dict[str, Any] = {
        f"r{i}": {"resource": "huawei.com/npu", "chips": 8, "superpod": 3, "rack": i // 2} for i in range(4)
    }
    nodes["alone"] = {"resource": "huawei.com/npu", "chips": 8}
    rows = [line.split() for line in show(dump(tmp_path, fleet(nodes)), "--by", "rack").splitlines()[1:4]]
    assert rows == [
        ["SuperPoD", "3", "rack", "0", "2", "2", "0", "0", "0", "16", "ff"],
        ["SuperPoD", "3", "rack", "1", "2", "2", "0", "0", "0", "16", "ff"],
        ["no", "rack", "1", "1", "0", "0", "0", "8", "f"],
    ]


def test_map_of_leaf_switches_in_the_order_of_the_file(tmp_path: Path) -> None:
    case = json.loads(json.dumps(UNDER_LEAVES))
    case["nodes"][0]["used"] = "0xffff"  # b3, the first server of leaf 0
    text = show(dump(tmp_path, case), "--by", "leaf")
    assert [line.split()[-1] for line in text.splitlines()[1:4]] == ["Bf", "ff", "f"]
    assert "leaf 0 10.1.0.0" in text and "no leaf switch" in text


def test_long_units_are_cut_into_tens_and_lines(tmp_path: Path) -> None:
    nodes = {f"n{i}": {"superpod": 1, "chips": 2} for i in range(123)}
    lines = show(dump(tmp_path, fleet(nodes)), "--by", "superpod", "--config", "reserve-nodes=3").splitlines()
    assert lines[1].endswith(" ".join(["f" * 10] * 10))
    assert lines[2].strip() == "ffffffffff ffffffffff rrr"


def test_filters(tmp_path: Path) -> None:
    folder = dump(tmp_path)
    one = show(folder, "--node", "n1*")
    assert [line.split()[0] for line in one.splitlines()[1:3]] == ["n1", "n10"]
    assert "2 of 8 nodes with NPUs: 2 free" in one
    odd = json.loads(show(folder, "--only-problems", "-o", "json"))
    assert [node["name"] for node in odd["nodes"]] == ["n4", "n7"]
    assert odd["totals"]["shown"] == 2 and odd["totals"]["nodes"] == 8


def test_document(tmp_path: Path) -> None:
    report = json.loads(show(dump(tmp_path), "-o", "json", "--by", "superpod"))
    assert (report["apiVersion"], report["kind"]) == ("ascendctl/v1", "SnapshotReport")
    assert report["source"]["mode"] == "clusterd"
    assert report["source"]["objects"]["read"]["Node"] == 8
    assert report["config"]["super-pod-size"] == 8
    assert report["totals"]["states"] == {"free": 4, "partlyUsed": 1, "busy": 1, "broken": 2}
    assert report["totals"]["resources"]["huawei.com/Ascend910"] == {
        "nodes": 8, "npus": 128, "free": 109, "used": 18, "unhealthy": 1, "recovering": 0, "networkUnhealthy": 0,
    }  # fmt: skip
    fourth = report["nodes"][3]
    assert (fourth["name"], fourth["state"], fourth["superpod"], fourth["rack"]) == ("n4", "broken", 1, None)
    assert fourth["npus"]["unhealthy"] == [3] and 3 not in fourth["npus"]["free"]
    assert report["units"][0]["reserve"] == ["n1"]
    assert report["problems"] == []


def test_cordoned_and_other_nodes(tmp_path: Path) -> None:
    objects = cases.objects(EIGHT)
    for value in objects:
        if value["kind"] == "Node" and value["metadata"]["name"] == "n5":
            value["spec"] = {"unschedulable": True}
    plain = {"apiVersion": "v1", "kind": "Node", "metadata": {"name": "master"}, "status": {"capacity": {"cpu": "8"}}}
    text = show(write(tmp_path, [*objects, plain, {"kind": "Secret", "metadata": {"name": "s"}}, 7, {"kind": "Node"}]))
    assert "n5      broken       16      0-15      -       -      NODE_UNSCHEDULABLE" in text
    assert "; 1 without" in text
    assert "skipped 1 Secret; broken 1 (no object), 1 Node without a usable name" in text


def test_sub_healthy(tmp_path: Path) -> None:
    text = show(dump(tmp_path, fleet({"n1": {"superpod": 1, "sub_healthy": True}})))
    assert "n1      free     16      0-15    -       -      sub-healthy" in text


def broken_dump(folder: Path) -> Path:
    """A dump with a bad list of leaf switches, a parameter that is no number, and a node without device row."""
    case = json.loads(json.dumps(UNDER_LEAVES))
    case["leaves"]["tor_info"]["server_list"][1]["tor_ip"] = "10.1.0.0"
    case["params"] = {"reserve-nodes": "many"}
    objects = cases.objects(case, "device")
    return write(folder, [o for o in objects if o["metadata"]["name"] != "mindx-dl-deviceinfo-b2"])


def test_problems(tmp_path: Path) -> None:
    text = show(broken_dump(tmp_path))
    rows = [line for line in text.splitlines() if line.startswith(("error ", "warning ", "info "))]
    assert [tuple(row.split()[:3]) for row in rows] == [
        ("error", "SW-05", "1"),
        ("warning", "S339", "1"),
        ("warning", "SW-08", "1"),
        ("warning", "SW-10", "1"),
    ]
    assert "reserve-nodes: 'many' is not usable, the scheduler takes 2" in text
    assert "1 error, 3 warnings, 0 infos" in text


def test_lint(tmp_path: Path) -> None:
    folder = broken_dump(tmp_path)
    result = run("snapshot", "lint", folder)
    assert result.exit_code == 1
    lines = result.stdout.splitlines()
    assert lines[:4] == [
        "error SW-05: tor_ip is empty or stands for two leaf switches",
        "  effect: States are kept by tor_ip, so the leaf switches overwrite each other.",
        "  remedy: give every leaf switch its own tor_ip",
        f"  - ConfigMap kube-system/basic-tor-node-cm ({folder}/objects.json#10): 1 leaf addresses are empty or stand for "
        "several leaf switches: 10.1.0.0",
    ]
    assert lines[-1] == "1 error, 3 warnings, 0 infos"


def test_lint_document(tmp_path: Path) -> None:
    result = run("snapshot", "lint", broken_dump(tmp_path), "-o", "json")
    report = json.loads(result.stdout)
    assert report["kind"] == "SnapshotLint"
    assert report["summary"] == {"errors": 1, "warnings": 3, "infos": 0}
    assert {problem["code"] for problem in report["problems"]} == {"SW-05", "S339", "SW-08", "SW-10"}


def test_lint_of_a_sound_dump(tmp_path: Path) -> None:
    folder = dump(tmp_path)
    assert run("snapshot", "lint", folder).stdout == "0 errors, 0 warnings, 0 infos\n"
    quiet = run("snapshot", "lint", folder, "-q", "--strict")
    assert (quiet.exit_code, quiet.stdout) == (0, "")


def test_strict_lint_fails_on_warnings(tmp_path: Path) -> None:
    folder = dump(tmp_path, fleet({"n1": {"superpod": 1}}, params={"grace-over-time": "1"}))
    assert run("snapshot", "lint", folder).exit_code == 0
    assert run("snapshot", "lint", folder, "--strict").exit_code == 1


def test_labels_of_trees(tmp_path: Path) -> None:
    levels = {"default": {"level1": {"label": "rack"}, "level2": {"label": "row"}}}
    nodes = {f"n{i}": {"labels": {"rack": "r", **({"row": "x"} if i else {})}} for i in range(4)}
    text = show(dump(tmp_path, fleet(nodes, params={"resource-level-config": levels})))
    assert "ML-N02" in text and "1 of 4 nodes lack the label row of level2, such as n0" in text


def hypernode(name: str, tier: int, kind: str, *members: str) -> dict[str, Any]:
    selectors = [{"type": kind, "selector": {"exactMatch": {"name": member}}} for member in members]
    meta = {"apiVersion": "topology.volcano.sh/v1alpha1", "kind": "HyperNode", "metadata": {"name": name}}
    return {**meta, "spec": {"tier": tier, "members": selectors}}


def test_hypernodes(tmp_path: Path) -> None:
    """Chapter 22 §7.5: what is wrong with HyperNodes is told, and that the control plane is in none is not."""
    plain = {"apiVersion": "v1", "kind": "Node", "metadata": {"name": "master"}, "status": {"capacity": {"cpu": "8"}}}
    objects = [*cases.objects(fleet({f"n{i}": {} for i in range(4)})), plain]
    sound = [hypernode("s0", 1, "Node", "n0", "n1"), hypernode("s1", 1, "Node", "n2", "n3")]
    top = hypernode("top", 2, "HyperNode", "s0", "s1")
    folder = write(tmp_path / "sound", [*objects, *sound, top])
    assert run("snapshot", "lint", folder).stdout == "0 errors, 0 warnings, 0 infos\n"
    for name, more, expected in (
        ("outside", [*sound[:1], top], {"ML-H05", "ML-H07"}),
        ("tier", [*sound, hypernode("top", 1, "HyperNode", "s0", "s1")], {"ML-H04", "ML-H06"}),
        ("parents", [*sound, top, hypernode("other", 3, "HyperNode", "s0")], {"ML-H02"}),
        ("circle", [hypernode("a", 1, "HyperNode", "b"), hypernode("b", 2, "HyperNode", "a")], {"ML-H03"}),
        ("schema", [hypernode("a", -1, "Node", "n0")], {"ML-H01"}),
        ("foreign", [hypernode("a", 1, "Node", "n0") | {"apiVersion": "example.com/v1"}], set()),
    ):
        report = json.loads(run("snapshot", "lint", write(tmp_path / name, [*objects, *more]), "-o", "json").stdout)
        assert {problem["code"] for problem in report["problems"]} == expected, name


def test_from_standard_input(tmp_path: Path) -> None:
    text = json.dumps({"apiVersion": "v1", "kind": "List", "items": cases.objects(EIGHT)})
    result = run("snapshot", "show", "-", stdin=text)
    assert result.exit_code == 0 and "8 nodes with NPUs" in result.stdout


AFTER = fleet(
    {
        "n1": {"superpod": 1, "used": "0xff"},
        "n2": {"superpod": 1, "used": "0x3"},
        "n3": {"superpod": 1},
        "n4": {"superpod": 1, "unhealthy": "0x8"},
        "n5": {"superpod": 3},
        "n6": {"superpod": 2, "net_unhealthy": "0x1"},
        "n7": {"superpod": 2},
        "n11": {"superpod": 2},
    },
    params={"super-pod-size": 8, "reserve-nodes": 4},
)


def test_diff(tmp_path: Path) -> None:
    before, after = dump(tmp_path / "before"), dump(tmp_path / "after", AFTER)
    result = run("snapshot", "diff", before, after)
    lines = [line for line in result.stdout.splitlines() if "job" not in line]
    assert lines == [
        "~ parameter reserve-nodes: 2 -> 4",
        "+ node n11",
        "- node n10",
        "~ node n1: free -0-7; used +0-7; idle 16 -> 8",
        "~ node n3: free +0-15; used -0-15; idle 0 -> 16",
        "~ node n5: superpod 2 -> 3",
        "~ node n6: network-unhealthy +0",
        "~ node n7: health node unhealthy -> ok",
    ]
    assert result.stdout.startswith("nodes: 1 came, 1 went, 5 changed; jobs: ")
    assert result.exit_code == 0
    assert run("snapshot", "diff", before, after, "--exit-code", "-o", "json").exit_code == 1


def test_diff_of_the_same(tmp_path: Path) -> None:
    first, second = dump(tmp_path / "a"), dump(tmp_path / "b", mode="device")
    assert run("snapshot", "diff", first, first).stdout == "no difference\n"
    quiet = run("snapshot", "diff", first, first, "-q", "--exit-code")
    assert (quiet.exit_code, quiet.stdout) == (0, "")
    modes = run("snapshot", "diff", first, second).stdout.splitlines()
    assert modes[1:] == ["~ parameter useClusterInfoManager: yes -> no"]


def test_diff_of_jobs(tmp_path: Path) -> None:
    def pod(name: str, job: str, node: str) -> dict[str, Any]:
        annotations = {"scheduling.k8s.io/group-name": job, "huawei.com/AscendReal": "Ascend910-0"}
        return {
            "kind": "Pod",
            "metadata": {"name": name, "namespace": "default", "annotations": annotations},
            "spec": {"nodeName": node, "containers": [{"resources": {"requests": {"huawei.com/Ascend910": "1"}}}]},
            "status": {"phase": "Running"},
        }

    objects = [value for value in cases.objects(EIGHT) if value["kind"] != "Pod"]
    before = write(tmp_path / "a", [*objects, pod("a-0", "a", "n1"), pod("b-0", "b", "n2"), pod("b-1", "b", "n3")])
    after = write(tmp_path / "b", [*objects, pod("c-0", "c", "n1"), pod("b-0", "b", "n5"), pod("b-2", "b", "n6")])
    lines = run("snapshot", "diff", before, after).stdout.splitlines()
    assert lines[-3:] == [
        "+ job default/c: 1 pods on n1",
        "- job default/a: 1 pods on n1",
        "~ job default/b: +1 pods: b-2 on n6; -1 pods: b-1 on n3; 1 pods moved: b-0 n2 -> n5",
    ]


def test_commands() -> None:
    lines = run("snapshot", "commands", "my dump").stdout.splitlines()
    assert lines[0] == "mkdir -p 'my dump'"
    assert "kubectl get nodes -o json > 'my dump/nodes.json'" in lines
    assert lines[-1] == "kubectl get pods -A -o json > 'my dump/pods.json'"
    narrow = run("snapshot", "commands", "--narrow").stdout
    assert "-l mx-consumer-volcano=true" in narrow and "get configmaps -A -o json" not in narrow
    report = json.loads(run("snapshot", "commands", "-o", "json").stdout)
    assert {command["file"] for command in report["commands"] if command["needed"]} == {
        "dump/configmaps.json",
        "dump/nodes.json",
        "dump/pods.json",
    }


def test_pack(tmp_path: Path) -> None:
    folder, file = dump(tmp_path / "dump"), tmp_path / "cluster.snap"
    result = run("snapshot", "pack", folder, "--to", file)
    assert result.exit_code == 0
    assert result.stdout.startswith(f"{file}: 8 nodes, ")
    for command in (["show", "-o", "json", "--by", "superpod"], ["lint"]):
        assert run("snapshot", *command, file).stdout == run("snapshot", *command, folder).stdout
    assert run("snapshot", "diff", folder, file).stdout == "no difference\n"
    placed = [run("place", manifest(tmp_path), "-s", source, "-o", "json").stdout for source in (folder, file)]
    assert placed[0] == placed[1]


def test_pack_keeps_how_the_dump_was_read(tmp_path: Path) -> None:
    folder, file = dump(tmp_path / "dump"), tmp_path / "cluster.snap"
    assert run("snapshot", "pack", folder, "--to", file, "--config", "reserve-nodes=1", "-q").stdout == ""
    report = json.loads(run("snapshot", "show", file, "-o", "json").stdout)
    assert report["config"]["reserve-nodes"] == 1
    late = run("snapshot", "show", file, "--cm-source", "device")
    assert late.exit_code == 2 and "cm_source cannot be applied to a packed snapshot" in late.stderr


def test_damaged_pack(tmp_path: Path) -> None:
    folder, file = dump(tmp_path / "dump"), tmp_path / "cluster.snap"
    run("snapshot", "pack", folder, "--to", file)
    data = bytearray(file.read_bytes())
    data[-40] ^= 1
    file.write_bytes(data)
    result = run("snapshot", "show", file)
    assert result.exit_code == 2 and "checksum does not match" in result.stderr
    assert run("snapshot", "pack", folder, "--to", tmp_path / "no" / "folder.snap").exit_code == 2


def test_options_of_the_diff_itself(tmp_path: Path) -> None:
    params = {"super-pod-size": 48}
    given, absent = (dump(tmp_path / name, fleet({"n1": {}}, params=p)) for name, p in (("a", params), ("b", {})))
    lines = run("snapshot", "diff", given, absent).stdout.splitlines()
    assert lines[1:] == ["~ parameter super-pod-size as configured: 48 -> 0"]


def test_what_a_wrong_check_code_does(tmp_path: Path) -> None:
    """Chapter 30 §2.4: a warning; with `strict`, and for plugins up to 6.0, the row does not count."""
    folder = dump(tmp_path, EIGHT, "device")
    path = next(path for path in folder.iterdir() if "CheckCode" in path.read_text(encoding="utf-8"))
    text = path.read_text(encoding="utf-8")
    start = text.index("CheckCode") + len('CheckCode\\":\\"')
    path.write_text(text[:start] + ("0" if text[start] != "0" else "1") + text[start + 1 :], encoding="utf-8")
    for options, codes, lists in (
        ([], ["S310"], 8),
        (["--check-code", "strict"], ["S310"], 7),
        (["--check-code", "off"], [], 8),
        (["--profile", "6.0"], ["S310"], 7),
        (["--profile", "6.0", "--check-code", "off"], [], 8),
    ):
        document = json.loads(show(folder, *options, "-o", "json"))
        assert [one["code"] for one in document["problems"] if one["code"] == "S310"] == codes, options
        assert sum(node["sources"]["deviceRow"] is not None for node in document["nodes"]) == lists, options
