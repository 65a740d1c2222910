"""Jobs of topology policies whose pods are pinned to one node each (chapter 50 §6.3)."""

from __future__ import annotations

from typing import Any

import pytest

from ascendctl import load_jobs, place
from ascendctl.engine.pinned import NOTE, pinned_nodes
from ascendctl.engine.request import make_request
from ascendctl.engine.select import select_policy
from ascendctl.snapshot.cluster import Cluster
from tests.ranks.world import a2, a3, cluster, two_leaves, vcjob

A3 = "module-a3-16-super-pod"
HOST = "kubernetes.io/hostname"


def tasks(nodes: list[str], npus: int = 16, **more: Any) -> Any:
    """A Volcano Job with a task a rank, each pinned to a node."""
    names = [f"w-r{rank}" for rank in range(len(nodes))]
    text = vcjob(
        dict.fromkeys(names, (1, npus)), plugins="svc: []", ranks={n: str(r) for r, n in enumerate(names)}, **more
    )
    for node in nodes:
        selector = more.get("selector", "module-910b-8")
        text = text.replace(
            f"{{accelerator-type: {selector}}}", f"{{accelerator-type: {selector}, {HOST}: h-{node}}}", 1
        )
    (job,) = load_jobs(text)
    return job


SUPERPOD = {"selector": A3, "annotations": 'huawei.com/schedule_policy: chip2-node16-sp, sp-block: "32"'}


def placed(job: Any, where: Cluster) -> list[tuple[int, str, int]]:
    result = place(job, where)
    assert result.outcome == "placed", result
    return [(pod.rank, pod.node, len(pod.npus)) for pod in result.pods]


def test_the_pods_go_where_they_are_pinned_whatever_their_affinity() -> None:
    where = a3(a0=1, b0=2, a1=1, b1=2)
    job = tasks(["a0", "b0", "a1", "b1"], **SUPERPOD)
    assert placed(job, where) == [(0, "a0", 16), (1, "b0", 16), (2, "a1", 16), (3, "b1", 16)]
    result = place(job, where)
    assert NOTE in result.trace.notes
    assert [p.annotations["super-pod-rank"] for p in result.pods] == [""] * 4
    assert [p.annotations["super-pod-id"] for p in result.pods] == ["1", "2", "1", "2"]
    assert result.blocks == {}


def test_one_pod_more_that_is_free_to_choose_brings_the_plan_back() -> None:
    where = a3(a0=1, a1=1, b0=2, b1=2)
    text = vcjob({"x": (1, 16), "y": (3, 16)}, plugins="svc: []", **SUPERPOD)
    text = text.replace(f"accelerator-type: {A3}}}", f"accelerator-type: {A3}, {HOST}: h-a0}}", 1)
    (job,) = load_jobs(text)
    result = place(job, where)
    assert (result.outcome, result.code) == ("unschedulable", "NOT_ENOUGH_NODES")  # effect 2


def test_a_node_that_refuses_its_pod() -> None:
    labels = {"accelerator-type": A3}
    nodes = {"a0": {"superpod": 1, "labels": labels}, "a1": {"superpod": 1, "labels": labels, "used": "0x1"}}
    result = place(tasks(["a0", "a1"], **SUPERPOD), cluster(nodes | {"a2": nodes["a0"]}, chips=16))
    assert (result.outcome, result.code) == ("unschedulable", "NodePredicateFailed")
    assert "node a1, to which it is pinned, refuses pod demo-vc-w-r1-0" in result.message


def test_two_pods_cannot_share_a_node() -> None:
    where = a3(a0=1, a1=1, a2=1)
    result = place(tasks(["a0", "a0"], **SUPERPOD), where)
    assert result.outcome == "unschedulable"


def test_rack_policy() -> None:
    nodes = {f"n{i}": {"superpod": 1, "rack": i // 2, "labels": {"accelerator-type": "x"}} for i in range(4)}
    where = cluster(nodes, resource="huawei.com/npu", params={"super-pod-size": "8"})
    annotations = 'huawei.com/schedule_policy: chip8-node8-ra64-sp, sp-block: "16", ra-block: "16"'
    text = vcjob({"a": (1, 8), "b": (1, 8)}, plugins="svc: []", selector="x", annotations=annotations)
    text = text.replace("huawei.com/Ascend910", "huawei.com/npu")
    for node in ("n1", "n2"):
        text = text.replace("{accelerator-type: x}", f"{{accelerator-type: x, {HOST}: h-{node}}}", 1)
    (job,) = load_jobs(text)
    assert placed(job, where) == [(0, "n1", 8), (1, "n2", 8)]  # two racks, against ra-block


def test_multi_level_policy() -> None:
    nodes = {f"n{i}": {"labels": {"accelerator-type": "x", "rack": f"r{i // 2}"}} for i in range(4)}
    tree = {"resource-level-config": {"default": {"level1": {"label": "rack", "reservedNode": 0}}}}
    where = cluster(nodes, params=tree)
    annotations = 'huawei.com/schedule_policy: multilevel, huawei.com/affinity-config: "level1=2"'
    job = tasks(["n1", "n2"], 8, selector="x", annotations=annotations)
    assert placed(job, where) == [(0, "n1", 8), (1, "n2", 8)]


@pytest.mark.parametrize(("version", "annotations"), [("1.0", {}), ("2.0", {"isSharedTor": "0", "isHealthy": "0"})])
def test_switch_affinity(version: str, annotations: dict[str, str]) -> None:
    nodes, leaves = two_leaves(2)
    where = cluster(
        nodes, params={"nslb-version": version},
        leaves=leaves,
    )  # fmt: skip
    job = tasks(["n3", "n0"], 8, labels="tor-affinity: normal-schema")
    result = place(job, where)
    assert [pod.node for pod in result.pods] == ["n3", "n0"]
    for pod in result.pods:
        assert {k: v for k, v in pod.annotations.items() if k.startswith("is")} == annotations


def test_plain_policies_need_no_such_path() -> None:
    where = a2("n1", "n2")
    job = tasks(["n2", "n1"], 8)
    assert pinned_nodes(make_request(job, where, select_policy(job))) == {}
    assert placed(job, where) == [(0, "n2", 8), (1, "n1", 8)]


def test_pins_by_name_and_by_affinity_count_alike() -> None:
    where = a3(a0=1, a1=1, b0=2)
    job = tasks(["a0", "b0"], **SUPERPOD)
    from dataclasses import replace

    term = {"matchFields": [{"key": "metadata.name", "operator": "In", "values": ["b0"]}]}
    affinity = {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [term]}}
    roles = (
        replace(job.roles[0], selector={"accelerator-type": A3}, node_name="a0"),
        replace(job.roles[1], selector={"accelerator-type": A3}, node_affinity=affinity),
    )
    assert placed(replace(job, roles=roles), where) == [(0, "a0", 16), (1, "b0", 16)]
