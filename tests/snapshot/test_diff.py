"""Differences between two snapshots."""

from __future__ import annotations

from typing import Any

from ascendctl.snapshot.diff import ChipChange, JobChange, JobPods, NodeChange, ValueChange, diff
from ascendctl.snapshot.load import load_snapshot
from tests.snapshot import objects as o


def worker(name: str, node: str, chips: str, job: str = "train") -> dict[str, Any]:
    carried = {"huawei.com/AscendReal": chips, "scheduling.k8s.io/group-name": job}
    return o.pod(name, node, annotations=carried, requests={"huawei.com/Ascend910": chips.count(",") + 1})


def rows(**lists: dict[str, str]) -> dict[str, Any]:
    return o.shard(0, *(o.entry(found, name, superpod=0) for name, found in lists.items()))


FREE = o.device_list(o.names(range(8)))


def test_equal_snapshots_have_no_difference() -> None:
    objects = [o.node("n1"), o.node("n2"), worker("a", "n1", "Ascend910-0"), rows(n1=FREE, n2=FREE)]
    found = diff(load_snapshot(objects), load_snapshot(list(reversed(objects))))
    assert found.is_empty


def test_nodes_that_came_and_went_in_natural_order() -> None:
    before = load_snapshot([o.node("n1"), o.node("n2"), o.node("n10")])
    after = load_snapshot([o.node("n1"), o.node("n20"), o.node("n3")])
    found = diff(before, after)
    assert (found.nodes_added, found.nodes_removed, found.nodes) == (("n3", "n20"), ("n2", "n10"), ())


def test_chips_and_facts_of_a_node() -> None:
    before = load_snapshot([o.node("n1"), worker("a", "n1", "Ascend910-0,Ascend910-1"), rows(n1=FREE)])
    broken = o.device_list(o.names([1, 2, 3, 4, 5, 6]), "Ascend910-7", "Ascend910-2")
    node = o.node("n1", labels={"zone": "b"}, allocatable={"huawei.com/Ascend910": "7"})
    node["spec"] = {"unschedulable": True}
    annotated = {"mindx-dl-nodeinfo-n1": {"NodeStatus": "UnHealthy"}}
    after = load_snapshot(
        [node, worker("a", "n1", "Ascend910-0"), rows(n1=broken), o.aggregate("cluster-info-node-cm", annotated)]
    )
    assert diff(before, after).nodes == (
        NodeChange(
            "n1",
            (
                ChipChange("free", (1,), (7,)),
                ChipChange("used", (), (1,)),
                ChipChange("unhealthy", (7,), ()),
                ChipChange("networkUnhealthy", (2,), ()),
            ),
            (
                ValueChange("schedulable", True, False),
                ValueChange("health", "ok", "node unhealthy"),
                ValueChange("label zone", None, "b"),
            ),
        ),
    )
    assert diff(before, after, labels=False).nodes[0].values[-1].field == "health"


def test_idle_and_capacity_that_are_undefined() -> None:
    before = load_snapshot([o.node("n1"), rows(n1=FREE)])
    after = load_snapshot([o.node("n1", capacity={"huawei.com/Ascend910": "8"}, allocatable={}), rows(n1=FREE)])
    assert diff(before, after).nodes == (NodeChange("n1", (), (ValueChange("idle", 8, None),)),)


def test_jobs_that_came_went_and_moved() -> None:
    nodes = [o.node("n1"), o.node("n2")]
    before = [
        worker("w-0", "n1", "Ascend910-0"),
        worker("w-1", "n1", "Ascend910-1"),
        worker("x", "n1", "Ascend910-2", "old"),
    ]
    after = [
        worker("w-0", "n2", "Ascend910-0"),
        worker("w-2", "n2", "Ascend910-1"),
        worker("y", "n2", "Ascend910-2", "new"),
    ]
    found = diff(load_snapshot(nodes + before), load_snapshot(nodes + after))
    assert found.jobs_added == (JobPods("ns1", "new", (("y", "n2"),)),)
    assert found.jobs_removed == (JobPods("ns1", "old", (("x", "n1"),)),)
    assert found.jobs == (JobChange("ns1", "train", (("w-2", "n2"),), (("w-1", "n1"),), (("w-0", "n1", "n2"),)),)


def test_finished_pods_do_not_count_and_pods_without_job_do() -> None:
    before = load_snapshot([o.node("n1"), o.pod("lone")])
    after = load_snapshot([o.node("n1"), o.pod("lone", phase="Succeeded")])
    assert diff(before, after).jobs_removed == (JobPods("ns1", "", (("lone", "n1"),)),)


def test_scheduler_parameters() -> None:
    before = load_snapshot([o.node(), o.scheduler_config(**{"reserve-nodes": "3"})])
    after = load_snapshot([o.node(), o.scheduler_config(**{"reserve-nodes": "4"})])
    assert diff(before, after).parameters == (ValueChange("reserve_nodes", 3, 4),)
