"""Ranks and their diagnostics (chapter 50 §3, vectors V1 to V7)."""

from __future__ import annotations

import pytest

from ascendctl import load_jobs
from ascendctl.engine.result import JobHead, PlacedPod, Placement
from ascendctl.manifest.job import Job
from ascendctl.ranks.order import broken_groups, diagnose, ranked_pods
from ascendctl.ranks.table import RankTableError, rank_table
from ascendctl.snapshot.cluster import Cluster
from tests.ranks.world import a2, a3, acjob, placed, vcjob


def on(job: Job, nodes: dict[str, list[int]] | list[str], npus: int = 8) -> Placement:
    """A placement by hand: pods in rank order on the nodes given."""
    names = list(nodes)
    pods = [
        PlacedPod(
            spec.name,
            job.roles[spec.role].name,
            spec.rank,
            names[i % len(names)],
            tuple(range(npus)) if spec.npus else (),
        )
        for i, spec in enumerate(job.pods)
    ]
    return Placement(JobHead(job.name, job.namespace, job.kind), tuple(pods))


def codes(job: Job, placement: Placement, cluster: Cluster) -> list[tuple[str, str]]:
    return [(one.code, one.level) for one in diagnose(job, placement, cluster)]


def test_v1_master_and_workers_with_npus() -> None:
    job, found = placed(acjob({"Master": (1, 8), "Worker": (3, 8)}), a2("a", "b", "c", "d"))
    assert [(pod.name, pod.rank) for pod in found.pods] == [
        ("demo-master-0", 0), ("demo-worker-0", 1), ("demo-worker-1", 2), ("demo-worker-2", 3),
    ]  # fmt: skip
    assert codes(job, found, a2("a", "b", "c", "d")) == []


def test_v2_master_without_npus() -> None:
    where = a2("a", "b", "c")
    job, found = placed(acjob({"Master": (1, 0), "Worker": (3, 8)}), where)
    assert [pod.rank for pod in found.pods] == [0, 0, 1, 2]
    assert [pod.rank for pod in ranked_pods(job, found.pods, where)] == [0, 1, 2]
    assert codes(job, found, where) == []
    assert len(rank_table(job, found.pods, where, server_id="host-ip").document["server_list"]) == 3


def test_v4_tasks_with_plugin_env_count_from_0_each() -> None:
    where = a2("a", "b", "c")
    job, found = placed(vcjob({"a": (1, 8), "b": (2, 8)}), where)
    assert ("RK-05", "error") in codes(job, found, where)
    assert any(note.startswith("error RK-05") for note in found.trace.notes)


def test_v5_preset_ranks_are_kept() -> None:
    where = a2("a", "b", "c")
    text = vcjob({"a-r0": (1, 8), "b-r1": (1, 8), "b-r2": (1, 8)}, ranks={"a-r0": "0", "b-r1": "1", "b-r2": "2"})
    job, found = placed(text, where)
    assert [pod.rank for pod in found.pods] == [0, 1, 2]
    assert codes(job, found, where) == []


def test_v7_pods_of_different_size_collide() -> None:
    where = a2("a", "b")
    text = vcjob({"a": (1, 8), "b": (1, 4)}, plugins="svc: []", ranks={"a": "0", "b": "1"})
    (job,) = load_jobs(text)
    pods = (PlacedPod("demo-vc-a-0", "a", 0, "a", tuple(range(8))), PlacedPod("demo-vc-b-0", "b", 1, "b", (0, 1, 2, 3)))
    found = Placement(JobHead("demo-vc", "default", "vcjob"), pods)
    assert [pod.first_chip_rank for pod in ranked_pods(job, pods, where)] == [0, 4]
    assert codes(job, found, where) == [("RK-02", "error")]
    with pytest.raises(RankTableError, match="RK-02"):
        rank_table(job, pods, where)


def test_v6_gaps() -> None:
    where = a2("a", "b")
    (job,) = load_jobs(vcjob({"a": (1, 8), "b": (1, 8)}, plugins="svc: []", ranks={"a": "4", "b": "5"}))
    found = on(job, ["a", "b"])
    assert codes(job, found, where) == [("RK-01", "error")]
    assert "4, 5, not 0 to 1" in diagnose(job, found, where)[0].message
    with pytest.raises(RankTableError, match="RK-01"):
        rank_table(job, found.pods, where)


def test_v6_ordinals_that_start_later() -> None:
    text = """\
apiVersion: apps/v1
kind: StatefulSet
metadata: {name: srv}
spec:
  replicas: 2
  ordinals: {start: 4}
  template:
    metadata: {annotations: {huawei.com/schedule_policy: chip8-node8}}
    spec:
      nodeSelector: {accelerator-type: module-910b-8}
      containers: [{name: c, resources: {requests: {huawei.com/Ascend910: 8}}}]
"""
    where = a2("a", "b")
    job, found = placed(text, where)
    assert [(pod.name, pod.rank) for pod in found.pods] == [("srv-4", 4), ("srv-5", 5)]
    assert codes(job, found, where) == [("RK-01", "error")]


def test_rank_that_is_no_integer() -> None:
    (job,) = load_jobs(vcjob({"a": (1, 8)}, ranks={"a": "first"}))
    assert ("RK-01", "error") in codes(job, on(job, ["a"]), a2("a"))


def test_arbitrary_ranks_are_an_info_and_no_note() -> None:
    where = a2("a", "b")
    job, found = placed(vcjob({"a": (2, 8)}, plugins="svc: []"), where)
    assert codes(job, found, where) == [("RK-06", "info")]
    assert not any("RK-06" in note for note in found.trace.notes)


def test_preset_on_an_ascendjob() -> None:
    where = a2("a", "b")
    text = acjob({"Master": (1, 8), "Worker": (1, 8)}, template=', annotations: {hccl/rankIndex: "7"}')
    job, found = placed(text, where)
    assert codes(job, found, where) == [("RK-07", "warning")]
    assert [pod.rank for pod in found.pods] == [0, 1]


def test_large_ranks() -> None:
    (job,) = load_jobs(acjob({"Master": (1, 8), "Worker": (1001, 8)}))
    names = [f"n{i}" for i in range(1002)]
    assert codes(job, on(job, names), a2(*names)) == [("RK-08", "info")]


@pytest.mark.parametrize(
    ("order", "broken"), [("AAAABB", []), ("AABBAA", ["A"]), ("ABABAB", ["A", "B"]), ("CCAABB", [])]
)
def test_contiguity(order: str, broken: list[str]) -> None:
    assert broken_groups(order) == broken


def test_physical_contiguity() -> None:
    where = a3(a0=1, b0=2, a1=1, b1=2)
    selector, policy = "module-a3-16-super-pod", "chip2-node16-sp"
    text = acjob({"Master": (1, 16), "Worker": (3, 16)}, "pytorch", selector, policy, 'sp-block: "16"')
    (job,) = load_jobs(text)
    assert codes(job, on(job, ["a0", "b0", "a1", "b1"], 16), where) == [("RK-04", "warning")]
    assert codes(job, on(job, ["a0", "a1", "b0", "b1"], 16), where) == []
