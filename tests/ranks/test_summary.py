"""ConfigMap job-summary of ClusterD (chapter 50 §5.1)."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from ascendctl import load_snapshot
from ascendctl.ranks import summary
from ascendctl.ranks.summary import job_summary, summary_remark
from tests.ranks.test_table_examples import levels_950
from tests.ranks.world import NPU, a2, a3, acjob, objects, placed, vcjob, with_levels


def test_fields() -> None:
    where = a3(a=5)
    text = acjob(
        {"Master": (1, 16)}, selector="module-a3-16-super-pod", policy="chip2-node16-sp", annotations='sp-block: "16"',
        labels="customJobKey: ticket, ticket: T1",
    )  # fmt: skip
    job, found = placed(text, where)
    (made,) = job_summary(job, found.pods, where)
    assert made["metadata"] == {
        "name": "job-summary-demo",
        "namespace": "default",
        "labels": {"outside-job-info": "true", "ring-controller.atlas": "ascend-910"},
    }
    data = made["data"]
    assert all(isinstance(value, str) for value in data.values())
    assert (data["job_name"], data["framework"], data["sid"]) == ("demo", "pytorch", "T1")
    assert (data["cm_index"], data["total"], data["masterAddr"], data["sharedTorIp"]) == ("0", "1", "", "")
    table = json.loads(data["hccl.json"])
    assert list(table) == ["status", "server_list", "server_count", "total"]
    assert (table["status"], table["server_count"], table["total"]) == ("complete", "1", 1)
    (server,) = table["server_list"]
    assert list(server) == [
        "device", "server_id", "host_ip", "super_pod_id", "server_name", "server_sn", "pod_name", "container_ids",
    ]  # fmt: skip
    assert (server["super_pod_id"], server["server_name"], server["pod_name"]) == (5, "a", "demo-master-0")
    assert list(server["device"][1]) == ["device_id", "device_ip", "rank_id", "super_device_id"]


def test_master_address_of_a_volcano_job_is_its_first_server() -> None:
    where = a2("a", "b")
    text = vcjob({"w": (2, 8)}, labels="framework: pytorch")
    job, found = placed(text, where)
    (made,) = job_summary(job, found.pods, where)
    assert made["data"]["masterAddr"] == where.addresses[where.index[found.pods[0].node]]


def test_npu_jobs_have_the_ranks_of_table_2_0() -> None:
    nodes = {name: {"labels": {"accelerator-type": "x"}} for name in ("a", "b")}
    where = load_snapshot(with_levels(objects(nodes, resource=NPU), lambda n, c: json.loads(levels_950(0, c))))
    roles = {"Master": (1, 8), "Worker": (1, 8)}
    job, found = placed(acjob(roles, policy="chip8-node8", selector="x", resource=NPU), where)
    (made,) = job_summary(job, found.pods, where)
    table = json.loads(made["data"]["hccl.json"])
    assert (table["version"], table["rank_count"], len(table["rank_list"])) == ("2.0", 16, 16)
    assert made["metadata"]["labels"] == {"outside-job-info": "true"}
    assert "super_device_id" not in table["server_list"][0]["device"][0]


def test_large_jobs_are_cut(monkeypatch: pytest.MonkeyPatch) -> None:
    where = a2(*(f"n{i}" for i in range(6)))
    job, found = placed(acjob({"Master": (1, 8), "Worker": (5, 8)}), where)

    monkeypatch.setattr(summary, "SLICE", 2600)

    made = job_summary(job, found.pods, where)
    assert len(made) > 1
    assert [one["metadata"]["name"] for one in made][:2] == ["job-summary-demo", "job-summary-demo-1"]
    tables = [json.loads(one["data"]["hccl.json"]) for one in made]
    assert all(len(one["data"]["hccl.json"]) <= 2600 for one in made)
    ranks = [d["rank_id"] for t in tables for s in t["server_list"] for d in s["device"]]
    assert ranks == [str(i) for i in range(48)]
    assert {one["data"]["total"] for one in made} == {str(len(made))}


def test_ranks_beyond_the_gang_are_left_out() -> None:
    where = a2("a", "b")
    text = acjob({"Master": (1, 8), "Worker": (1, 8)}).replace("minAvailable: 2", "minAvailable: 1")
    job, found = placed(text, where)
    (made,) = job_summary(job, found.pods, where)
    assert json.loads(made["data"]["hccl.json"])["server_count"] == "1"


def test_kinds_that_clusterd_treats_otherwise() -> None:
    """The name is that of the PodGroup's owner: a ReplicaSet's for a Deployment, nothing for bare Pods."""
    where = a2("a")
    job, _ = placed(vcjob({"w": (1, 8)}), where)
    assert summary_remark(job) == ""
    assert "no job-summary" in summary_remark(replace(job, kind="Pod"))
    assert "job-summary-demo-vc-<hash>" in summary_remark(replace(job, kind="Deployment"))
