"""What each component writes on a pod (chapter 50 §2)."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

from ascendctl.ranks.annotations import (
    CONFIG_910,
    CONFIG_NPU,
    DEVICE_PLUGIN,
    MOUNTED,
    SCHEDULER,
    as_text,
    written_keys,
)
from ascendctl.snapshot.cluster import Cluster
from tests.ranks.world import NPU, a2, a3, acjob, cluster, placed, vcjob


def written(text: str, where: Cluster, pod: int = 0) -> list[Any]:
    job, found = placed(text, where)
    return written_keys(job, job.pods[pod], found.pods[pod], found, where)


def last(found: list[Any], what: str = "annotation") -> dict[str, str]:
    return {one.key: one.value for one in found if one.what == what and not one.note}


def test_the_example_of_an_ascendjob() -> None:
    """§2.7: A2, 8 chips, rank 1 of 2."""
    where = a2("a", "b")
    found = written(acjob({"Master": (1, 8), "Worker": (1, 8)}), where, 1)
    chips = ",".join(f"Ascend910-{i}" for i in range(8))
    got = last(found)
    config = json.loads(got.pop(CONFIG_910))
    assert got == {
        "hccl/rankIndex": "1",
        "volcano.sh/task-spec": "worker",
        "distributed-job": "true",
        "predicate-time": MOUNTED,
        "huawei.com/Ascend910": chips,
        "huawei.com/AscendReal": chips,
    }
    assert list(config) == [
        "pod_name", "server_id", "server_ip", "host_ip", "super_pod_id", "rack_id", "devices", "server_index",
    ]  # fmt: skip
    assert (config["pod_name"], config["host_ip"]) == ("demo-worker-0", where.addresses[1])
    assert config["devices"][0] == {"device_id": "0", "device_ip": "172.16.0.64", "super_device_id": "0"}
    labels = last(found, "label")
    assert labels["training.kubeflow.org/operator-name"] == "ascendjob-controller"
    assert (labels["replica-type"], labels["replica-index"], labels["version"]) == ("worker", "0", "0")
    assert "training.kubeflow.org/job-role" not in labels


def test_leader_label() -> None:
    found = written(acjob({"Master": (1, 8), "Worker": (1, 8)}), a2("a", "b"))
    assert last(found, "label")["training.kubeflow.org/job-role"] == "master"


def test_superpod_pods_carry_their_logical_superpod() -> None:
    text = acjob(
        {"Master": (1, 16)}, selector="module-a3-16-super-pod", policy="chip2-node16-sp", annotations='sp-block: "16"'
    )
    got = last(written(text, a3(a=5)))
    assert (got["super-pod-rank"], got["super-pod-id"]) == ("0", "5")


def test_part_of_a_node_in_a_volcano_job_is_reported_by_the_device_plugin() -> None:
    """§10 no. 8: right behind the binding there is neither AscendReal nor the config annotation."""
    found = written(vcjob({"w": (1, 4)}), a2("a"))
    by_scheduler = {one.key for one in found if one.writer == SCHEDULER}
    assert "huawei.com/AscendReal" not in by_scheduler and CONFIG_910 not in by_scheduler
    by_plugin = {one.key for one in found if one.writer == DEVICE_PLUGIN}
    assert by_plugin == {"predicate-time", "huawei.com/kltDev", "huawei.com/AscendReal", CONFIG_910}


def test_the_device_plugin_sorts_names_as_text() -> None:
    nodes = {"a": {"labels": {"accelerator-type": "module-a3-16"}, "used": "0xf0fb"}}
    found = written(vcjob({"w": (1, 4)}, "", "huawei.com/schedule_policy: chip2-node16", selector="module-a3-16"),
                    cluster(nodes, chips=16))  # fmt: skip
    assert last(found)["huawei.com/AscendReal"] == "Ascend910-10,Ascend910-11,Ascend910-8,Ascend910-9"


def test_the_key_follows_the_policy() -> None:
    nodes = {"a": {"labels": {"accelerator-type": "x"}}}
    for policy, key in (("chip4-node8", CONFIG_NPU), ("chip8-node8", CONFIG_910)):
        found = written(
            acjob({"Master": (1, 8)}, policy=policy, selector="x", resource=NPU), cluster(nodes, resource=NPU)
        )
        assert key in last(found)


def test_volcano_job_keys() -> None:
    found = written(vcjob({"w": (2, 8)}), a2("a", "b"), 1)
    got, labels = last(found), last(found, "label")
    assert (got["volcano.sh/task-index"], got["volcano.sh/task-spec"]) == ("1", "w")
    assert got["volcano.sh/template-uid"] == "demo-vc-w"
    assert labels["volcano.sh/job-namespace"] == "default"


def test_pods_without_npus_get_no_chip_keys() -> None:
    found = written(acjob({"Master": (1, 0), "Worker": (2, 8)}), a2("a", "b"))
    assert not any(one.writer != "ascend-operator" for one in found)


def test_as_text() -> None:
    where = a2("a", "b")
    job, found = placed(vcjob({"w": (2, 8)}), where)
    first, second = as_text(job, found, where).split("\n\n")
    assert first.startswith("# demo-vc-w-0: rank 0, node a, NPUs 0-7\nvolcano-controller  annotation  ")
    assert second.startswith("# demo-vc-w-1: rank 1, node b, NPUs 0-7\n")
    lines = [line.split(maxsplit=3) for line in first.splitlines()[1:]]
    assert ["scheduler", "annotation", "distributed-job", "true"] in lines
    assert ["scheduler", "annotation", "predicate-time", "(nanoseconds since the epoch)"] in lines
    assert ["volcano-controller", "label", "volcano.sh/task-index", "0"] in lines


def test_soft_sharing_of_an_operator_job_has_the_config_annotation_but_no_real_chips() -> None:
    where = a2("a")
    job, found = placed(acjob({"Master": (1, 4)}), where)
    (pod,) = found.pods
    quota = {"huawei.com/Ascend910": "Ascend910-0", "huawei.com/scheduler.softShareDev.aicoreQuota": "30"}
    got = written_keys(job, job.pods[0], replace(pod, npus=(0,), annotations=quota), found, where)
    assert [one.key for one in got if one.writer == SCHEDULER and "ascend" in one.key] == [CONFIG_910]
