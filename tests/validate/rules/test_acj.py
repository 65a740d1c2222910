"""ACJ-*: every rule fires on one wrong field of a good AscendJob, and only there (chapter 40 §3.2)."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.validate.manifests import A910, DROP, ascend_job, change, container, deployment, rules, said, volcano_job

SPECS = "/spec/replicaSpecs"
MASTER = f"{SPECS}/Master"
ASCEND = f"{MASTER}/template/spec/containers/0"
POLICY = "/spec/runPolicy/schedulingPolicy"
POD = "$.spec.replicaSpecs.Master.template.spec.containers[0]"

MINDSPORE = change(
    ascend_job(),
    {
        "/metadata/labels/framework": "mindspore",
        f"{SPECS}/Scheduler": change(ascend_job(), {})["spec"]["replicaSpecs"]["Master"],
        f"{SPECS}/Master": DROP,
    },
)

CASES: list[tuple[str, dict[str, Any], str, str]] = [
    ("ACJ-01", {"/spec/replicaSpecs": {}}, "$.spec.replicaSpecs", "error"),
    ("ACJ-01", {"/spec": DROP}, "$.spec", "error"),
    ("ACJ-02", {"/metadata/labels/framework": "PyTorch"}, "$.metadata.labels.framework", "error"),
    ("ACJ-02", {"/metadata/labels/framework": DROP}, "$.metadata.labels.framework", "error"),
    ("ACJ-04", {f"{SPECS}/worker": ascend_job()["spec"]["replicaSpecs"]["Worker"]}, "$.spec.replicaSpecs.worker", "error"),
    ("ACJ-05", {MASTER: DROP, f"{POLICY}/minAvailable": 1}, "$.spec.replicaSpecs.Master", "error"),
    ("ACJ-07", {f"{MASTER}/replicas": 2}, "$.spec.replicaSpecs.Master.replicas", "error"),
    ("ACJ-07", {f"{MASTER}/replicas": 0, f"{POLICY}/minAvailable": 1}, "$.spec.replicaSpecs.Master.replicas", "error"),
    ("ACJ-08", {f"{SPECS}/Worker/replicas": 20001}, "$.spec.replicaSpecs.Worker.replicas", "error"),
    ("ACJ-09", {f"{SPECS}/Worker": None}, "$.spec.replicaSpecs.Worker", "error"),
    ("ACJ-09", {f"{MASTER}/template/spec/containers": []}, POD.removesuffix("[0]"), "error"),
    ("ACJ-10", {f"{ASCEND}/name": "main"}, POD.removesuffix("[0]"), "error"),
    ("ACJ-11", {f"{ASCEND}/image": DROP}, f"{POD}.image", "error"),
    ("ACJ-12", {"/spec/successPolicy": "Any"}, "$.spec.successPolicy", "error"),
    ("ACJ-12", {"/spec/successPolicy": "AllWorkers"}, "$.spec.successPolicy", "info"),
    ("ACJ-13", {f"{POLICY}/queue": DROP}, "$.spec.runPolicy.schedulingPolicy.queue", "error"),
    ("ACJ-13", {f"{POLICY}/queue": ""}, "$.spec.runPolicy.schedulingPolicy.queue", "error"),
    ("ACJ-14", {f"{POLICY}/minAvailable": 3}, "$.spec.runPolicy.schedulingPolicy.minAvailable", "error"),
    ("ACJ-14", {f"{POLICY}/minAvailable": 0}, "$.spec.runPolicy.schedulingPolicy.minAvailable", "error"),
    ("ACJ-15", {f"{POLICY}/minAvailable": 1}, "$.spec.runPolicy.schedulingPolicy.minAvailable", "warning"),
    ("ACJ-16", {f"{POLICY}/minResources": {"cpu": 8}},
     f"$.spec.runPolicy.schedulingPolicy.minResources['{A910}']", "error"),
    ("ACJ-16", {f"{POLICY}/minResources": {A910: 8}},
     f"$.spec.runPolicy.schedulingPolicy.minResources['{A910}']", "error"),
    ("ACJ-17", {f"{MASTER}/restartPolicy": "Newer"}, "$.spec.replicaSpecs.Master.restartPolicy", "error"),
    ("ACJ-18", {f"{MASTER}/template/spec/restartPolicy": "Never"},
     "$.spec.replicaSpecs.Master.template.spec.restartPolicy", "warning"),
    ("ACJ-19", {f"{ASCEND}/ports/0/name": "rdzv"}, f"{POD}.ports", "warning"),
    ("ACJ-20", {f"{SPECS}/Worker/template/spec/containers/0/ports/0/containerPort": 2223},
     "$.spec.replicaSpecs.Worker.template.spec.containers[0].ports[0].containerPort", "warning"),
    ("ACJ-22", {f"{ASCEND}/resources/requests": DROP}, f"{POD}.resources.requests['{A910}']", "error"),
    ("ACJ-24", {"/metadata/labels/scaleout-type": "IB"}, "$.metadata.labels['scaleout-type']", "error"),
    ("ACJ-25", {"/metadata/labels/mind-cluster~1scaling-rule": "rule"},
     "$.metadata.labels['mind-cluster/scaling-rule']", "error"),
    ("ACJ-27", {"/metadata/labels/app": "trainer", "/metadata/labels/jobID": "a"}, "$.metadata.labels.app", "warning"),
    ("ACJ-27", {"/metadata/labels/app": "mindie-ms-server"}, "$.metadata.labels.app", "warning"),
    ("ACJ-28", {"/spec/runPolicy/cleanPodPolicy": "All"}, "$.spec.runPolicy.cleanPodPolicy", "warning"),
    ("ACJ-29", {f"{ASCEND}/env/1": {"name": "RANK", "value": "0"}}, f"{POD}.env[1].name", "warning"),
    ("ACJ-30", {"/spec/runPolicy/backoffLimit": 0}, "$.spec.runPolicy.backoffLimit", "warning"),
    ("ACJ-31", {"/metadata/annotations/huawei.com~1schedule_policy": "multilevel",
                f"{MASTER}/template/metadata/annotations/huawei.com~1affinity-config": "level1=1"},
     "$.spec.replicaSpecs.Master.template.metadata.annotations['huawei.com/affinity-config']", "error"),
    ("ACJ-32", {f"{MASTER}/template/metadata/labels/jobID": "a"},
     "$.spec.replicaSpecs.Master.template.metadata.labels.jobID", "warning"),
]  # fmt: skip


@pytest.mark.parametrize(("rule", "changes", "path", "severity"), CASES)
def test_wrong_field(rule: str, changes: dict[str, Any], path: str, severity: str) -> None:
    assert said(change(ascend_job(), changes)).get((rule, path)) == severity


@pytest.mark.parametrize(
    "changes",
    [
        {},
        {"/spec/runPolicy": DROP},
        {f"{SPECS}/Worker/replicas": 0, f"{POLICY}/minAvailable": 1},
        {f"{POLICY}/minAvailable": DROP},
        {f"{POLICY}/minResources": {A910: "16"}},
        {"/metadata/labels/scaleout-type": "roce"},
        {"/metadata/labels/scaleout-type": ""},
        {"/spec/runPolicy/backoffLimit": 3},
        {f"{MASTER}/replicas": DROP},
        {"/metadata/labels/app": "mindie-ms-server", "/metadata/labels/jobID": "a"},
        {"/metadata/labels/app": "my-own-label"},
    ],
)
def test_right_field(changes: dict[str, Any]) -> None:
    assert [r for r in rules(change(ascend_job(), changes)) if r.startswith("ACJ")] == []


def test_tensorflow_is_accepted_with_a_warning() -> None:
    changes = {
        "/metadata/labels/framework": "tensorflow",
        f"{SPECS}/Chief": ascend_job()["spec"]["replicaSpecs"]["Master"],
    }
    job = change(change(ascend_job(), changes), {MASTER: DROP})
    assert said(job) == {("ACJ-03", "$.metadata.labels.framework"): "warning"}


def test_the_operator_stops_at_the_first_failure() -> None:
    changes = {f"{POLICY}/queue": DROP, "/metadata/labels/framework": "torch", f"{ASCEND}/name": "main"}
    assert rules(change(ascend_job(), changes)) == ["ACJ-13"]


def test_one_finding_for_each_replica_type() -> None:
    worker = f"{SPECS}/Worker/template/spec/containers/0"
    found = said(change(ascend_job(), {f"{ASCEND}/name": "main", f"{worker}/image": DROP}))
    assert {rule for rule, _ in found} == {"ACJ-10", "ACJ-11"}


def test_mindspore_needs_a_scheduler_for_several_npus() -> None:
    assert "ACJ-06" not in rules(MINDSPORE)
    without = change(MINDSPORE, {f"{SPECS}/Scheduler": DROP, f"{POLICY}/minAvailable": 1})
    assert ("ACJ-06", "$.spec.replicaSpecs.Scheduler") in said(without)
    single = change(
        without,
        {
            f"{SPECS}/Worker/template/spec/containers/0/resources": {"requests": {A910: 1}, "limits": {A910: 1}},
        },
    )
    assert "ACJ-06" not in rules(single)


def test_the_name_may_not_be_that_of_another_workload() -> None:
    other = change(deployment(), {"/metadata/name": "train"})
    assert ("ACJ-21", "doc[0]:$.metadata.name") in said(ascend_job(), other)
    assert ("ACJ-21", "doc[0]:$.metadata.name") in said(ascend_job(), volcano_job())
    elsewhere = change(other, {"/metadata/namespace": "default"})
    assert "ACJ-21" not in rules(ascend_job(), elsewhere)


def test_roles_ask_for_the_same() -> None:
    smaller = {"requests": {A910: 4}, "limits": {A910: 4}}
    job = change(ascend_job(), {f"{SPECS}/Worker/template/spec/containers/0/resources": smaller})
    path = f"$.spec.replicaSpecs.Worker.template.spec.containers[0].resources.requests['{A910}']"
    assert ("ACJ-23", path) in said(job)


def test_gang_off_needs_no_queue() -> None:
    assert "ACJ-13" not in rules(change(ascend_job(), {f"{POLICY}/queue": DROP}), gang=False)


def test_scheduler_without_npus_under_a_policy_without_exemption() -> None:
    policy = {
        "/metadata/annotations/huawei.com~1schedule_policy": "chip8-node8-sp",
        "/metadata/annotations/sp-block": "16",
    }
    workers = container("ascend", 8, "huawei.com/npu")
    idle = {key: value for key, value in workers.items() if key not in ("resources", "env")}
    job = change(
        MINDSPORE,
        {
            **policy,
            f"{SPECS}/Worker/replicas": 2,
            f"{SPECS}/Worker/template/spec/containers/0": workers,
            f"{SPECS}/Scheduler/template/spec/containers/0": idle,
            f"{POLICY}/minAvailable": 3,
        },
    )
    found = rules(job)
    assert "ACJ-33" in found
    assert "SPB-09" not in found


RULE = {
    "version": "1.0",
    "elastic_scaling_list": [
        {"group_list": [{"group_name": "group0", "group_num": "2", "server_num_per_group": "2"}]},
        {"group_list": [{"group_name": "group0", "group_num": "1", "server_num_per_group": "2"}]},
    ],
}


def scaling(rule: Any) -> dict[str, Any]:
    text = rule if isinstance(rule, str) else json.dumps(rule)
    data = {"elastic_scaling.json": text}
    return {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": "rule", "namespace": "research"},
        "data": data,
    }


def test_scaling_rule() -> None:
    labels = {
        "/metadata/labels/mind-cluster~1scaling-rule": "rule",
        "/metadata/labels/mind-cluster~1group-name": "group0",
        "/metadata/labels/jobID": "pd",
        "/metadata/labels/app": "mindie-ms-server",
    }
    job = change(ascend_job(), labels)
    assert "ACJ-26" not in rules(scaling(RULE), job)
    steps = "/elastic_scaling_list"
    wrong: list[Any] = [
        "{",
        change(RULE, {"/version": "2.0"}),
        change(RULE, {f"{steps}/0/group_list/0/group_num": 2}),
        change(RULE, {f"{steps}/1/group_list/0/group_num": "3"}),
        change(RULE, {f"{steps}/1/group_list/0/group_name": "group1"}),
        change(RULE, {steps: []}),
    ]
    for rule in wrong:
        assert ("ACJ-26", "doc[0]:$.data['elastic_scaling.json']") in said(scaling(rule), job), rule
    unknown = change(job, {"/metadata/labels/mind-cluster~1group-name": "group9"})
    assert "ACJ-26" in rules(scaling(RULE), unknown)
    empty = change(scaling(RULE), {"/data": {"other": ""}})
    assert "ACJ-26" in rules(empty, job)
