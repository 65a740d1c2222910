"""Breaches of running jobs, made by hand; and none in what the scheduler itself was seen to place."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import ascendctl
from ascendctl.engine.audit import Breach, audit
from ascendctl.engine.commit import commit
from ascendctl.engine.result import Placement
from tests import cases
from tests.cli.world import dump, fleet, run
from tests.schemas.test_output import check
from tests.test_vectors import FAMILIES, FOLDER

A3 = {"huawei.com/schedule_policy": "chip2-node16"}


def pod(node: str, chips: str, rank: int = 0, annotations: Any = A3, labels: Any = None, job: str = "old") -> Any:
    return {"job": job, "rank": rank, "node": node, "chips": chips, "labels": labels or {}, "annotations": annotations}


def breaches(nodes: dict[str, Any], *running: Any, **case: Any) -> list[Breach]:
    taken: dict[str, int] = {}
    for one in running:
        taken[one["node"]] = taken.get(one["node"], 0) | int(one["chips"], 16)
    nodes = {name: {"used": hex(taken.get(name, 0)), **node} for name, node in nodes.items()}
    return audit(ascendctl.load_snapshot(cases.objects(fleet(nodes, running=list(running), **case))))


def kinds(found: list[Breach]) -> list[tuple[str, tuple[str, ...]]]:
    return [(one.kind, one.nodes) for one in found]


@pytest.mark.parametrize(
    ("policy", "chips", "broken"),
    [
        ("chip2-node16", "0x3", False),  # one die pair
        ("chip2-node16", "0x6", True),  # halves of two
        ("chip2-node16", "0x4", False),  # a single chip may stand alone
        ("module", "0xf", False),  # one ring of four
        ("module", "0x33", True),  # two chips of each ring
        ("module", "0x7", True),  # three chips: no legal count
        ("chip8-node16", "0xff", False),  # one ring of eight
        ("chip8-node16", "0x0ff0", True),  # half of each
        ("chip8-node16", "0x1f1f", False),  # ten chips, five of each ring
        ("chip4-node8", "0x18", True),  # two chips of two meshes
        ("chip8-node8", "0xa5", False),  # every chip reaches every other
    ],
)
def test_chips(policy: str, chips: str, broken: bool) -> None:
    first = policy == "module"  # what the first generation's nodes say of themselves; no schedule_policy names it
    node = {"labels": {"accelerator-type": "module"}} if first else {}
    annotations = {} if first else {"huawei.com/schedule_policy": policy}
    found = breaches({"n1": node, "n2": {}}, pod("n1", chips, annotations=annotations))
    assert kinds(found) == ([("chips", ("n1",))] if broken else [])


SP = {"huawei.com/schedule_policy": "chip2-node16-sp", "sp-block": "32"}
FOUR = {"n1": {"superpod": 1}, "n2": {"superpod": 1}, "n3": {"superpod": 2}, "n4": {"superpod": 2}}


def test_logical_superpods() -> None:
    def job(*nodes: str, labels: Any = None) -> list[Any]:
        return [pod(node, "0xffff", rank, SP, labels) for rank, node in enumerate(nodes)]

    assert breaches(FOUR, *job("n1", "n2", "n3", "n4")) == []
    assert kinds(breaches(FOUR, *job("n1", "n3", "n2", "n4"))) == [
        ("logical-superpod", ("n1", "n3")),
        ("logical-superpod", ("n2", "n4")),
    ]
    assert breaches(FOUR, *job("n1", "n3", labels={"super-pod-affinity": "soft"})) == []
    told = [
        dict(one, annotations={**SP, "super-pod-rank": str(i % 2)}) for i, one in enumerate(job("n1", "n3", "n2", "n4"))
    ]
    assert breaches(FOUR, *told) == []  # what the scheduler wrote goes before the ranks


def test_racks() -> None:
    policy = {"huawei.com/schedule_policy": "chip8-node8-ra64-sp", "sp-block": "16", "ra-block": "16"}
    node = {"chips": 8, "resource": "huawei.com/npu", "superpod": 1}
    nodes = {"n1": {**node, "rack": 0}, "n2": {**node, "rack": 1}, "n3": {**node, "rack": 1}}
    apart = [pod("n1", "0xff", 0, policy), pod("n2", "0xff", 1, policy)]
    together = [pod("n2", "0xff", 0, policy), pod("n3", "0xff", 1, policy)]
    assert kinds(breaches(nodes, *apart)) == [("rack", ("n1", "n2"))]
    assert breaches(nodes, *together) == []


def test_levels() -> None:
    tree = {"tree": {"level1": {"label": "row"}, "level2": {"label": "hall"}}}
    places = {"n1": ("r1", "h1"), "n2": ("r1", "h1"), "n3": ("r2", "h1"), "n4": ("r1", "h2")}
    nodes = {
        name: {"chips": 8, "labels": {"huawei.com/topotree": "tree", "row": row, "hall": hall}}
        for name, (row, hall) in places.items()
    }
    policy = {"huawei.com/schedule_policy": "multilevel", "huawei.com/affinity-config": "level1=2"}

    def found(*names: str) -> list[Breach]:
        pods = [pod(name, "0xff", rank, policy) for rank, name in enumerate(names)]
        return breaches(nodes, *pods, params={"resource-level-config": tree})

    assert found("n1", "n2") == []
    assert kinds(found("n1", "n3")) == [("level", ("n1", "n3"))]
    assert kinds(found("n1", "n4")) == [("level", ("n1", "n4"))]  # r1 of another hall is another row


@pytest.mark.parametrize(
    ("nodes", "width", "broken"),
    [
        (("node-1", "node-2", "node-3"), 4, False),
        (("node-1", "node-2", "node-5"), 4, True),
        (("node-1", "node-2", "node-5"), 3, False),  # a leaf no wider than the job: the scheduler spreads it, too
        (("node-1", "node-2", "node-5", "node-6"), 4, False),  # four pods are a large model
    ],
)
def test_leaves(nodes: tuple[str, ...], width: int, broken: bool) -> None:
    case = next(iter(cases.load(FOLDER / "switch-v1.jsonl.gz")))  # two leaves of four nodes, nothing runs
    case["leaves"]["tor_info"]["tor_count"] = width
    policy, labels = {"huawei.com/schedule_policy": "chip8-node8"}, {"tor-affinity": "large-model-schema"}
    case["running"] = [pod(name, "0xff", rank, policy, labels) for rank, name in enumerate(nodes)]
    found = audit(ascendctl.load_snapshot(cases.objects(case)))
    assert kinds(found) == ([("leaf", nodes)] if broken else [])


def test_health() -> None:
    nodes = {"n1": {"unhealthy": "0x2"}, "n2": {"status": "UnHealthy"}}
    found = breaches(nodes, pod("n1", "0x3"), pod("n2", "0x3", job="other"))
    assert kinds(found) == [("chip-health", ("n1",)), ("node-health", ("n2",))]


@pytest.mark.parametrize("family", FAMILIES)
def test_what_was_placed_breaks_nothing(family: str) -> None:
    checked = 0
    for case in cases.load(FOLDER / f"{family}.jsonl.gz"):
        if case["job"].get("fault") or case["expect"]["outcome"] != "placed" or checked == 8:
            continue
        cluster = ascendctl.load_snapshot(cases.objects(case))
        job = ascendctl.load_jobs(cases.manifest(case))[0]
        result = ascendctl.place(job, cluster)
        assert isinstance(result, Placement)
        assert [one for one in audit(commit(cluster, job, result)) if one.job == job.name] == []
        checked += 1


def test_command(tmp_path: Path) -> None:
    bad = fleet({"n1": {"used": "0x6"}}, running=[pod("n1", "0x6")])
    result = run("audit", "-s", dump(tmp_path / "bad", bad))
    assert result.exit_code == 1
    assert "policy chip2-node16 never gives a pod the chips 1,2" in result.stdout
    document = json.loads(run("audit", "-s", tmp_path / "bad", "-o", "json").stdout)
    check("audit-report", document)
    assert [one["kind"] for one in document["breaches"]] == ["chips"]
    good = fleet({"n1": {"used": "0x3"}}, running=[pod("n1", "0x3")])
    result = run("audit", "-s", dump(tmp_path / "good", good))
    assert (result.exit_code, result.stdout) == (0, "all running jobs keep the affinity of their policies\n")
    assert run("audit", "-q", "-s", tmp_path / "good").stdout == ""
