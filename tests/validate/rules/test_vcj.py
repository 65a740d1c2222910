"""VCJ-*: every rule fires on one wrong field of a good Volcano Job, and only there (chapter 40 §3.2)."""

from __future__ import annotations

from typing import Any

import pytest

from tests.validate.manifests import A910, DROP, NPU, change, container, rules, said, template, volcano_job

TASK = "/spec/tasks/0"
SECOND = {"name": "second", "replicas": 1, "template": template("main", restartPolicy="Never")}
POLICIES = "/spec/policies"

CASES: list[tuple[str, dict[str, Any], str, str]] = [
    ("VCJ-01", {"/spec/tasks": []}, "$.spec.tasks", "error"),
    ("VCJ-01", {"/spec/tasks": DROP}, "$.spec.tasks", "error"),
    ("VCJ-02", {f"{TASK}/name": DROP}, "$.spec.tasks[0].name", "error"),
    ("VCJ-03", {f"{TASK}/name": "Worker_0"}, "$.spec.tasks[0].name", "error"),
    ("VCJ-04", {"/spec/tasks/1": {**SECOND, "name": "worker"}}, "$.spec.tasks[1].name", "error"),
    ("VCJ-05", {f"{TASK}/replicas": 0}, "$.spec.tasks[0].replicas", "error"),
    ("VCJ-05", {f"{TASK}/replicas": -1}, "$.spec.tasks[0].replicas", "error"),
    ("VCJ-06", {"/spec/minAvailable": DROP}, "$.spec.minAvailable", "error"),
    ("VCJ-06", {"/spec/minAvailable": 0}, "$.spec.minAvailable", "error"),
    ("VCJ-07", {"/spec/minAvailable": 3}, "$.spec.minAvailable", "error"),
    ("VCJ-07", {"/spec/minAvailable": -1}, "$.spec.minAvailable", "error"),
    ("VCJ-08", {"/spec/minAvailable": 1}, "$.spec.minAvailable", "warning"),
    ("VCJ-09", {f"{TASK}/minAvailable": 3}, "$.spec.tasks[0].minAvailable", "error"),
    ("VCJ-10", {POLICIES: [{"action": "RestartJob"}]}, "$.spec.policies[0]", "error"),
    ("VCJ-10", {POLICIES: [{"event": "PodFailed", "exitCode": 3, "action": "RestartJob"}]}, "$.spec.policies[0]", "error"),
    ("VCJ-11", {POLICIES: [{"event": "OutOfSync", "action": "RestartJob"}]}, "$.spec.policies[0].event", "error"),
    ("VCJ-11", {f"{TASK}/policies": [{"events": ["PodRunning"], "action": "RestartJob"}]},
     "$.spec.tasks[0].policies[0].events[0]", "error"),
    ("VCJ-12", {POLICIES: [{"event": "PodFailed", "action": "Restart"}]}, "$.spec.policies[0].action", "error"),
    ("VCJ-12", {POLICIES: [{"event": "PodFailed", "action": "Ignore"}]}, "$.spec.policies[0].action", "warning"),
    ("VCJ-13", {POLICIES: [{"event": "PodFailed", "action": "RestartJob"}, {"event": "PodFailed", "action": "AbortJob"}]},
     "$.spec.policies[1].event", "error"),
    ("VCJ-13", {POLICIES: [{"event": "*", "action": "RestartJob"}, {"event": "PodFailed", "action": "AbortJob"}]},
     "$.spec.policies[0].event", "error"),
    ("VCJ-14", {POLICIES: [{"exitCode": 0, "action": "RestartJob"}]}, "$.spec.policies[0].exitCode", "error"),
    ("VCJ-14", {POLICIES: [{"exitCode": 3, "action": "RestartJob"}, {"exitCode": 3, "action": "AbortJob"}]},
     "$.spec.policies[1].exitCode", "error"),
    ("VCJ-15", {POLICIES: [{"event": "PodFailed", "action": "RestartJob", "timeout": "5 minutes"}]},
     "$.spec.policies[0].timeout", "error"),
    ("VCJ-16", {"/spec/plugins/envs": []}, "$.spec.plugins.envs", "error"),
    ("VCJ-16", {"/spec/plugins/mpi": ["--master=boss"]}, "$.spec.plugins.mpi", "error"),
    ("VCJ-17", {"/spec/plugins": {"svc": []}}, "$.spec.plugins", "warning"),
    ("VCJ-19", {"/spec/schedulerName": DROP}, "$.spec.schedulerName", "error"),
    ("VCJ-20", {"/spec/maxRetry": -1}, "$.spec.maxRetry", "error"),
    ("VCJ-20", {"/spec/minSuccess": 3}, "$.spec.minSuccess", "error"),
    ("VCJ-20", {"/spec/ttlSecondsAfterFinished": -1}, "$.spec.ttlSecondsAfterFinished", "error"),
    ("VCJ-21", {"/spec/volumes": [{"mountPath": "/a:b", "volumeClaimName": "x"}]}, "$.spec.volumes[0].mountPath", "error"),
    ("VCJ-21", {"/spec/volumes": [{"mountPath": "/a"}]}, "$.spec.volumes[0]", "error"),
    ("VCJ-22", {f"{TASK}/dependsOn": {"name": ["nobody"]}}, "$.spec.tasks[0].dependsOn.name[0]", "error"),
    ("VCJ-22", {f"{TASK}/dependsOn": {"name": ["worker"]}}, "$.spec.tasks[0].dependsOn.name", "error"),
    ("VCJ-23", {f"{TASK}/partitionPolicy": {"totalPartitions": 3, "partitionSize": 1}},
     "$.spec.tasks[0].partitionPolicy", "error"),
    ("VCJ-23", {f"{TASK}/partitionPolicy": {"totalPartitions": 2, "partitionSize": 1, "minPartitions": 1},
                f"{TASK}/minAvailable": 2}, "$.spec.tasks[0].minAvailable", "error"),
    ("VCJ-23", {f"{TASK}/partitionPolicy": {"totalPartitions": 2, "partitionSize": 1, "minPartitions": 3}},
     "$.spec.tasks[0].partitionPolicy.minPartitions", "error"),
    ("VCJ-24", {"/spec/networkTopology": {"highestTierAllowed": 2, "highestTierName": "rack"}},
     "$.spec.networkTopology", "error"),
    ("VCJ-25", {f"{TASK}/topologyPolicy": "restricted"},
     "$.spec.tasks[0].template.spec.containers[0].resources", "error"),
    ("VCJ-26", {f"{TASK}/template/spec/restartPolicy": "ExitCode"},
     "$.spec.tasks[0].template.spec.restartPolicy", "error"),
    ("VCJ-28", {"/metadata/annotations/recover-strategy": "retry"}, "$.metadata.annotations['recover-strategy']", "warning"),
    ("VCJ-29", {"/spec/tasks/1": SECOND, "/spec/minAvailable": 3}, "$.spec.plugins.env", "warning"),
]  # fmt: skip


@pytest.mark.parametrize(("rule", "changes", "path", "severity"), CASES)
def test_wrong_field(rule: str, changes: dict[str, Any], path: str, severity: str) -> None:
    assert said(change(volcano_job(), changes)).get((rule, path)) == severity


@pytest.mark.parametrize(
    "changes",
    [
        {POLICIES: [{"events": ["PodFailed", "PodEvicted"], "action": "RestartJob", "timeout": "1h10m"}]},
        {POLICIES: [{"exitCode": 3, "action": "AbortJob"}, {"event": "*", "action": "RestartJob"}]},
        {"/spec/plugins": {"hcclrank": []}},
        {"/spec/volumes": [{"mountPath": "/data", "volumeClaimName": "data"}]},
        {f"{TASK}/partitionPolicy": {"totalPartitions": 2, "partitionSize": 1, "minPartitions": 1}},
        {f"{TASK}/template/spec/schedulerName": "volcano", "/spec/schedulerName": DROP},
        {"/spec/networkTopology": {"mode": "hard", "highestTierAllowed": 2}},
        {"/spec/maxRetry": 0, "/spec/minSuccess": 2},
        {"/spec/tasks/1": {**SECOND, "dependsOn": {"name": ["worker"]}}, "/spec/minAvailable": 3,
         "/spec/plugins/hcclrank": []},
    ],
)  # fmt: skip
def test_right_field(changes: dict[str, Any]) -> None:
    assert rules(change(volcano_job(), changes)) == []


def test_whole_cpus_satisfy_the_topology_policy() -> None:
    changes: dict[str, Any] = {f"{TASK}/topologyPolicy": "restricted"}
    for part in ("requests", "limits"):
        changes[f"{TASK}/template/spec/containers/0/resources/{part}/cpu"] = "8"
    assert rules(change(volcano_job(), changes)) == []


def test_tasks_share_one_resource() -> None:
    other = {**SECOND, "template": template("main", 8, NPU, restartPolicy="Never")}
    found = said(change(volcano_job(), {"/spec/tasks/1": other, "/spec/minAvailable": 3}))
    assert ("VCJ-27", f"$.spec.tasks[1].template.spec.containers[0].resources.requests['{NPU}']") in found


def test_admission_fills_in_what_is_missing() -> None:
    changes = {"/spec/minAvailable": DROP, "/spec/schedulerName": DROP, f"{TASK}/name": DROP, "/spec/queue": DROP}
    found = said(change(volcano_job(), changes), admission=True)
    assert {rule for rule, _ in found if rule.startswith("VCJ")} == {"VCJ-06"}
    assert found["VCJ-06", "$.spec.minAvailable"] == "warning"


def test_older_releases_have_no_default_queue() -> None:
    job = change(volcano_job(), {"/spec/queue": DROP})
    assert rules(job) == []
    assert rules(job, volcano="1.12") == ["VCJ-18"]


def test_unknown_events_by_release() -> None:
    job = change(volcano_job(), {POLICIES: [{"event": "PodExploded", "action": "RestartJob"}]})
    assert rules(job) == ["DOC-10"]
    assert rules(job, volcano="1.9") == ["VCJ-11"]


def test_missing_scheduler_takes_the_place_of_sch_01_and_the_rest_is_judged() -> None:
    changes = {"/spec/schedulerName": DROP, "/metadata/annotations/huawei.com~1schedule_policy": "chip8-node-8"}
    assert rules(change(volcano_job(), changes)) == ["SEL-01", "VCJ-19"]


def test_jobs_without_npus_may_be_smaller_than_their_pods() -> None:
    plain = container("main")
    plain = {key: value for key, value in plain.items() if key not in ("resources", "env")}
    changes = {"/spec/minAvailable": 1, f"{TASK}/template/spec/containers/0": plain, "/metadata/annotations": DROP}
    assert rules(change(volcano_job(), changes)) == []
    assert A910 not in str(changes)
