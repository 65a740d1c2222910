"""SCH-*, RES-* on names, RSC-*, ENV-*, RTB-*, INF-*, EXT-* (chapter 40 §3.2)."""

from __future__ import annotations

from typing import Any

import pytest

from tests.validate.manifests import (
    A910,
    DROP,
    NPU,
    ascend_job,
    batch_job,
    change,
    container,
    deployment,
    device_variable,
    findings,
    infer_service,
    pod,
    rules,
    said,
    template,
    volcano_job,
)

META = "/spec/template/metadata"
BOX = "/spec/template/spec/containers/0"
BOX_PATH = "$.spec.template.spec.containers[0]"
SPECS = "/spec/replicaSpecs"
MASTER = f"{SPECS}/Master/template"
MASTER_PATH = "$.spec.replicaSpecs.Master.template"
ROLE = "/spec/roles/0"
ROLE_PATH = "$.spec.roles[0]"
GANG_LABEL = f"{ROLE}/metadata/labels/infer.huawei.com~1gang-schedule"
OTHER = {"schedulerName": "default-scheduler"}
FAULT = "/metadata/labels/fault-scheduling"
RETRY = "/metadata/labels/fault-retry-times"

Case = tuple[str, dict[str, Any], dict[str, Any], str, str]


def annotated(base: dict[str, Any], key: str, value: str, **more: Any) -> dict[str, Any]:
    return change(base, {f"/metadata/annotations/{key.replace('/', '~1')}": value, **more})


SCH: list[Case] = [
    ("SCH-01", deployment(), {"/spec/template/spec/schedulerName": DROP}, "$.spec.template.spec.schedulerName", "error"),
    ("SCH-01", volcano_job(), {"/spec/schedulerName": "default-scheduler"}, "$.spec.schedulerName", "error"),
    ("SCH-01", deployment(), {"/spec/template/spec/schedulerName": DROP, f"{META}/annotations": DROP, f"{BOX}/env": DROP},
     "$.spec.template.spec.schedulerName", "warning"),
    ("SCH-02", ascend_job(), {"/spec/schedulerName": "other"}, "$.spec.schedulerName", "warning"),
    ("SCH-02", ascend_job(), {f"{MASTER}/spec/schedulerName": "other"}, f"{MASTER_PATH}.spec.schedulerName", "warning"),
    ("SCH-03", volcano_job(), {"/spec/queue": "Team_A"}, "$.spec.queue", "error"),
    ("SCH-03", ascend_job(), {"/spec/runPolicy/schedulingPolicy/queue": "Team_A"},
     "$.spec.runPolicy.schedulingPolicy.queue", "error"),
    ("SCH-04", volcano_job(), {"/spec/queue": "root"}, "$.spec.queue", "error"),
    ("SCH-07", ascend_job(), {f"{SPECS}/Worker/template/spec/nodeSelector/host-arch": "huawei-arm"},
     "$.spec.replicaSpecs.Worker.template.spec.nodeSelector", "warning"),
    ("SCH-07", change(ascend_job(), {f"{SPECS}/Master/template/spec/containers/0/{part}": DROP for part in ("resources", "env")}),
     {f"{MASTER}/spec/nodeSelector": {"host-arch": "huawei-arm"}},
     "$.spec.replicaSpecs.Worker.template.spec.nodeSelector", "warning"),
]  # fmt: skip

RES: list[Case] = [
    ("RES-01", ascend_job(), {"/metadata/annotations": {"sp-block": "8"},
                              **{f"{SPECS}/{role}/template/spec/containers/0/{part}": DROP
                                 for role in ("Master", "Worker") for part in ("resources", "env")}},
     "$.metadata.annotations['sp-block']", "warning"),
    ("RES-02", pod(), {"/spec/containers/0/resources": {"limits": {"huawei.com/ascend910": 8}}, "/spec/containers/0/env": []},
     "$.spec.containers[0].resources.limits['huawei.com/ascend910']", "error"),
    ("RES-02", pod(), {"/spec/containers/0/resources": {"limits": {"huawei.com/Ascend310P-V": 1}},
                       "/spec/containers/0/env": []},
     "$.spec.containers[0].resources.limits['huawei.com/Ascend310P-V']", "error"),
    ("RES-02", pod(), {"/spec/containers/0/resources": {"limits": {"huawei.com/Ascend910B3": 1}},
                       "/spec/containers/0/env": []},
     "$.spec.containers[0].resources.limits['huawei.com/Ascend910B3']", "error"),
    ("RES-03", pod(), {"/spec/containers/0/resources": {"limits": {A910: 8, "huawei.com/ub_rdma": 1}}},
     f"$.spec.containers[0].resources.limits['{A910}']", "error"),
    ("RES-13", deployment(), {"/spec/template/spec/schedulerName": DROP, f"{BOX}/env": [],
                              f"{BOX}/resources": {"limits": {"huawei.com/ascend-1980": 1}}},
     f"{BOX_PATH}.resources.limits['huawei.com/ascend-1980']", "warning"),
]  # fmt: skip

RSC: list[Case] = [
    ("RSC-01", ascend_job(), {FAULT: "graceful"}, "$.metadata.labels['fault-scheduling']", "warning"),
    ("RSC-02", ascend_job(), {"/metadata/labels/pod-rescheduling": "on"}, "$.metadata.labels['pod-rescheduling']", "warning"),
    ("RSC-02", ascend_job(), {RETRY: "3", FAULT: "off"}, "$.metadata.labels['fault-retry-times']", "warning"),
    ("RSC-02", deployment(), {f"{META}/labels/subHealthyStrategy": "graceExit"},
     "$.spec.template.metadata.labels.subHealthyStrategy", "warning"),
    ("RSC-03", ascend_job(), {RETRY: "many"}, "$.metadata.labels['fault-retry-times']", "error"),
    ("RSC-03", ascend_job(), {RETRY: "-1", "/spec/runPolicy/backoffLimit": 3},
     "$.metadata.labels['fault-retry-times']", "warning"),
    ("RSC-03", volcano_job(), {RETRY: "many"}, "$.metadata.labels['fault-retry-times']", "warning"),
    ("RSC-03", ascend_job(), {RETRY: "101", FAULT: "grace"}, "$.metadata.labels['fault-retry-times']", "warning"),
    ("RSC-04", ascend_job(), {RETRY: "3", FAULT: "grace", f"{SPECS}/Master/restartPolicy": "OnFailure"},
     "$.spec.replicaSpecs.Master.restartPolicy", "error"),
    ("RSC-04", volcano_job(), {RETRY: "3", FAULT: "grace", "/spec/tasks/0/template/spec/restartPolicy": DROP},
     "$.spec.tasks[0].template.spec.restartPolicy", "error"),
    ("RSC-04", batch_job(), {f"{META}/labels": {"fault-retry-times": "3", "fault-scheduling": "grace"},
                             "/spec/template/spec/restartPolicy": "OnFailure"},
     "$.spec.template.spec.restartPolicy", "error"),
    ("RSC-05", volcano_job(), {RETRY: "3", FAULT: "grace", "/spec/policies": [{"event": "PodEvicted", "action": "RestartJob"}]},
     "$.spec.policies[0]", "warning"),
    ("RSC-05", volcano_job(), {"/metadata/labels/pod-rescheduling": "on", FAULT: "grace",
                               "/spec/policies": [{"event": "PodFailed", "action": "Ignore"}]},
     "$.spec.policies[0]", "warning"),
    ("RSC-06", ascend_job(), {FAULT: "force", f"{MASTER}/spec/hostNetwork": True},
     f"{MASTER_PATH}.spec.hostNetwork", "warning"),
    ("RSC-07", pod(), {"/spec/terminationGracePeriodSeconds": 0}, "$.spec.terminationGracePeriodSeconds", "warning"),
    ("RSC-07", pod(), {"/spec/terminationGracePeriodSeconds": 900}, "$.spec.terminationGracePeriodSeconds", "warning"),
    ("RSC-07", pod(), {"/spec/terminationGracePeriodSeconds": 60, FAULT: "force"},
     "$.spec.terminationGracePeriodSeconds", "warning"),
    ("RSC-08", ascend_job(), {"/metadata/labels/pod-rescheduling": "true"}, "$.metadata.labels['pod-rescheduling']", "warning"),
    ("RSC-08", ascend_job(), {"/metadata/labels/process-recover-enable": "yes"},
     "$.metadata.labels['process-recover-enable']", "warning"),
    ("RSC-09", ascend_job(), {"/metadata/labels/subHealthyStrategy": "graceexit"},
     "$.metadata.labels.subHealthyStrategy", "warning"),
    ("RSC-10", volcano_job(), {"/metadata/labels/subHealthyStrategy": "hotSwitch", FAULT: "grace"},
     "$.metadata.labels.subHealthyStrategy", "warning"),
    ("RSC-10", ascend_job(), {"/metadata/labels/subHealthyStrategy": "hotSwitch", "/metadata/labels/framework": "tensorflow"},
     "$.metadata.labels.subHealthyStrategy", "warning"),
    ("RSC-11", annotated(ascend_job(), "recover-strategy", "retry, dump"), {}, "$.metadata.annotations['recover-strategy']",
     "warning"),
    ("RSC-11", annotated(ascend_job(), "recover-strategy", "retry,"), {}, "$.metadata.annotations['recover-strategy']",
     "warning"),
    ("RSC-11", deployment(), {f"{META}/annotations/recover-strategy": "retry"},
     "$.spec.template.metadata.annotations['recover-strategy']", "warning"),
    ("RSC-12", annotated(ascend_job(), "recover-strategy", "recover"), {FAULT: "grace"},
     "$.metadata.annotations['recover-strategy']", "warning"),
    ("RSC-12", annotated(ascend_job(), "recover-strategy", "dump"), {FAULT: "grace"},
     "$.metadata.annotations['recover-strategy']", "warning"),
    ("RSC-13", annotated(ascend_job(), "wait-reschedule-timeout", "300"), {},
     "$.metadata.annotations['wait-reschedule-timeout']", "warning"),
    ("RSC-14", annotated(ascend_job(), "huawei.com/recover_policy_path", "pods"), {},
     "$.metadata.annotations['huawei.com/recover_policy_path']", "warning"),
    ("RSC-15", annotated(ascend_job(), "huawei.com/schedule.filter.faultCode", "80E01801"), {},
     "$.metadata.annotations['huawei.com/schedule.filter.faultCode']", "warning"),
    ("RSC-15", annotated(ascend_job(), "huawei.com/schedule.filter.faultLevel", "L4:90000"), {},
     "$.metadata.annotations['huawei.com/schedule.filter.faultLevel']", "warning"),
    ("RSC-16", ascend_job(), {FAULT: "grace", "/metadata/labels/pod-rescheduling": "on",
                              f"{MASTER}/spec/volumes/1": {"name": "r", "configMap": {"name": "rings-config-train"}}},
     f"{MASTER_PATH}.spec.volumes[1].configMap.name", "warning"),
    ("RSC-17", volcano_job(), {"/metadata/labels/elastic-scheduling": "on"}, "$.metadata.labels.minReplicas", "warning"),
    ("RSC-17", volcano_job(), {"/metadata/labels/elastic-scheduling": "on", "/metadata/labels/minReplicas": "3"},
     "$.metadata.labels.minReplicas", "warning"),
    ("RSC-17", ascend_job(), {"/metadata/labels/elastic-scheduling": "on"}, "$.metadata.labels['elastic-scheduling']",
     "warning"),
    ("RSC-18", pod(), {FAULT: "grace", "/spec/volumes/1": {"name": "o", "nfs": {"server": "a", "path": "/b"}},
                       "/spec/containers/0/volumeMounts/1": {"name": "o", "mountPath": "/job/Output"}},
     "$.spec.containers[0].volumeMounts[1].mountPath", "info"),
]  # fmt: skip

ENV: list[Case] = [
    ("ENV-01", deployment(), {f"{BOX}/env": DROP}, f"{BOX_PATH}.env", "info"),
    ("ENV-01", ascend_job(), {f"{MASTER}/spec/containers/0/env": DROP,
                              f"{MASTER}/spec/containers/0/resources/requests/cpu": 8},
     f"{MASTER_PATH}.spec.containers[0].env", "info"),
    ("ENV-02", deployment(), {f"{BOX}/env/0": device_variable(NPU)},
     f"{BOX_PATH}.env[0].valueFrom.fieldRef.fieldPath", "error"),
    ("ENV-03", deployment(), {f"{BOX}/env/0": {"name": "ASCEND_VISIBLE_DEVICES", "value": "0,1"}},
     f"{BOX_PATH}.env[0].value", "warning"),
    ("ENV-04", deployment(), {"/spec/template/spec/hostNetwork": True}, "$.spec.template.spec.hostNetwork", "info"),
    ("ENV-05", deployment(), {f"{META}/annotations/huawei.com~1AscendReal": "Ascend910-0"},
     "$.spec.template.metadata.annotations['huawei.com/AscendReal']", "error"),
    ("ENV-05", deployment(2), {f"{META}/annotations/hccl~1rankIndex": "0"},
     "$.spec.template.metadata.annotations['hccl/rankIndex']", "error"),
    ("ENV-05", ascend_job(), {f"{MASTER}/metadata/annotations/hccl~1rankIndex": "0",
                              f"{SPECS}/Worker/template/metadata/annotations/hccl~1rankIndex": "0"},
     "$.spec.replicaSpecs.Worker.template.metadata.annotations['hccl/rankIndex']", "error"),
    ("ENV-06", pod(), {"/spec/containers/0/resources/limits/huawei.com~1ub_rdma": 1},
     "$.spec.containers[0].resources.limits['huawei.com/ub_rdma']", "warning"),
    ("ENV-07", ascend_job(), {f"{MASTER}/spec/containers/0/volumeMounts": []},
     f"{MASTER_PATH}.spec.containers[0].volumeMounts", "info"),
]  # fmt: skip

RANKS = {"name": "ranks", "configMap": {"name": "rings-config-serve"}}
TABLE = {"name": "ranktable", "hostPath": {"path": "/user/mindx-dl/ranktable/research.serve"}}

RTB: list[Case] = [
    ("RTB-01", deployment(), {"/spec/template/spec/volumes/1": RANKS}, "$.metadata.labels['ring-controller.atlas']",
     "warning"),
    ("RTB-02", deployment(), {"/spec/template/spec/volumes/1": TABLE},
     "$.spec.template.metadata.labels['deploy-name']", "error"),
    ("RTB-05", volcano_job(), {"/spec/tasks/0/template/spec/volumes/1": TABLE},
     "$.spec.tasks[0].template.spec.volumes[1].hostPath.path", "error"),
    ("RTB-05", volcano_job(), {"/spec/tasks/0/template/spec/volumes/1":
                               {"name": "ranktable", "nfs": {"server": "a", "path": "/x/research.other"}}},
     "$.spec.tasks[0].template.spec.volumes[1].nfs.path", "warning"),
    ("RTB-06", pod(), {"/spec/containers/0/envFrom": [{"configMapRef": {"name": "settings"}}]},
     "$.spec.containers[0].envFrom[0].configMapRef.name", "warning"),
]  # fmt: skip

INF: list[Case] = [
    ("INF-02", infer_service(), {"/spec/roles": [change(infer_service()["spec"]["roles"][0], {"/name": f"r{i}"})
                                                 for i in range(33)]}, "$.spec.roles", "error"),
    ("INF-03", infer_service(), {f"{ROLE}/name": "Server"}, f"{ROLE_PATH}.name", "error"),
    ("INF-03", infer_service(), {f"{ROLE}/name": DROP}, f"{ROLE_PATH}.name", "error"),
    ("INF-03", infer_service(), {"/spec/roles/1": infer_service()["spec"]["roles"][0]}, "$.spec.roles[1].name", "error"),
    ("INF-04", infer_service(), {"/spec/schedulingStrategy": {"type": "Serial"}}, "$.spec.schedulingStrategy.type", "error"),
    ("INF-05", infer_service(), {"/spec/schedulingStrategy": {"type": "Priority"}, f"{ROLE}/priority": 0},
     f"{ROLE_PATH}.priority", "error"),
    ("INF-05", infer_service(), {"/spec/schedulingStrategy": {"type": "Priority"}, f"{ROLE}/priority": 33},
     f"{ROLE_PATH}.priority", "warning"),
    ("INF-06", infer_service(), {f"{ROLE}/replicas": DROP}, f"{ROLE_PATH}.replicas", "error"),
    ("INF-08", infer_service(), {f"{ROLE}/workload/kind": "DaemonSet"}, f"{ROLE_PATH}.workload", "error"),
    ("INF-09", infer_service(), {f"{ROLE}/spec/replicas": DROP}, f"{ROLE_PATH}.spec.replicas", "error"),
    ("INF-09", infer_service(), {f"{ROLE}/spec": DROP}, f"{ROLE_PATH}.spec", "error"),
    ("INF-10", infer_service(), {f"{ROLE}/services": [{"name": "s", "spec": {"type": "NodePort", "ports": [{"port": 80}]}}]},
     f"{ROLE_PATH}.services[0].spec.ports[0].nodePort", "error"),
    ("INF-11", infer_service(), {f"{ROLE}/replicas": 3, f"{ROLE}/services":
                                 [{"name": "s", "spec": {"type": "NodePort", "ports": [{"port": 80, "nodePort": 32766}]}}]},
     f"{ROLE_PATH}.services[0].spec.ports[0].nodePort", "warning"),
    ("INF-12", infer_service(), {f"{ROLE}/spec/podManagementPolicy": DROP}, f"{ROLE_PATH}.spec.podManagementPolicy", "error"),
    ("INF-13", infer_service(), {GANG_LABEL: "yes"}, f"{ROLE_PATH}.metadata.labels['infer.huawei.com/gang-schedule']",
     "warning"),
    ("INF-14", infer_service(), {f"{ROLE}/metadata": {"annotations": {"huawei.com/schedule_policy": "chip8-node8-sp"}}},
     f"{ROLE_PATH}.metadata.labels['infer.huawei.com/gang-schedule']", "warning"),
    ("INF-15", infer_service(), {f"{ROLE}/scalingPolicy": {"type": "VPA"}}, f"{ROLE_PATH}.scalingPolicy.type", "warning"),
    ("INF-16", infer_service(), {f"{ROLE}/metadata/labels/infer.huawei.com~1container-snapshot": "true"},
     f"{ROLE_PATH}.metadata.labels['infer.huawei.com/container-snapshot']", "warning"),
    ("INF-17", infer_service(), {f"{ROLE}/spec/template/spec/schedulerName": DROP},
     f"{ROLE_PATH}.spec.template.spec.schedulerName", "error"),
]  # fmt: skip


@pytest.mark.parametrize(("rule", "base", "changes", "path", "severity"), SCH + RES + RSC + ENV + RTB + INF)
def test_wrong_field(rule: str, base: dict[str, Any], changes: dict[str, Any], path: str, severity: str) -> None:
    assert said(change(base, changes)).get((rule, path)) == severity


@pytest.mark.parametrize(
    ("base", "changes"),
    [
        (ascend_job(), {FAULT: "grace", RETRY: "3"}),
        (ascend_job(), {FAULT: "external-force", "/metadata/labels/pod-rescheduling": "on"}),
        (ascend_job(), {FAULT: "grace", "/metadata/labels/subHealthyStrategy": "hotSwitch"}),
        (annotated(ascend_job(), "wait-reschedule-timeout", "30"), {}),
        (annotated(ascend_job(), "huawei.com/recover_policy_path", "pod,job"), {}),
        (annotated(ascend_job(), "huawei.com/schedule.filter.faultCode", "80E01801:0,L4:86400"), {}),
        (volcano_job(), {FAULT: "grace", "/spec/policies": [{"event": "PodEvicted", "action": "RestartJob"}]}),
        (pod(), {"/spec/terminationGracePeriodSeconds": 600, FAULT: "grace"}),
        (pod(), {FAULT: "grace", "/spec/volumes/1": {"name": "o", "nfs": {"server": "a", "path": "/b"}},
                 "/spec/containers/0/volumeMounts/1": {"name": "o", "mountPath": "/job/output",
                                                       "subPathExpr": "$(POD_NAME)"}}),
        (pod(), {FAULT: "grace", "/spec/volumes/1": {"name": "o", "hostPath": {"path": "/var/log/npu"}},
                 "/spec/containers/0/volumeMounts/1": {"name": "o", "mountPath": "/var/log/npu"}}),
        (ascend_job(), {f"{MASTER}/spec/containers/0/env": DROP}),
        (deployment(), {f"{META}/annotations/hccl~1rankIndex": "0"}),
        (deployment(), {"/spec/template/spec/volumes/1": TABLE, f"{META}/labels/deploy-name": "serve"}),
        (volcano_job(), {"/spec/tasks/0/template/spec/volumes/1":
                         {"name": "ranktable", "hostPath": {"path": "/user/mindx-dl/ranktable/research.train/"}}}),
        (pod(), {"/spec/containers/0/envFrom": [{"configMapRef": {"name": "settings", "optional": True}}]}),
        (ascend_job(), {f"{SPECS}/Worker/template/spec/nodeSelector": {"accelerator-type": "module-910b-8"}}),
        (infer_service(), {f"{ROLE}/priority": 300}),
        (infer_service("Deployment"), {GANG_LABEL: "false"}),
        (pod(), {"/spec/schedulerName": DROP, "/metadata/annotations": DROP,
                 "/spec/containers/0/resources": DROP, "/spec/containers/0/env": DROP}),
    ],
)  # fmt: skip
def test_right_field(base: dict[str, Any], changes: dict[str, Any]) -> None:
    assert rules(change(base, changes)) == []


def test_recovery_with_all_it_needs() -> None:
    ports = [{"name": "ascendjob-port", "containerPort": 2222}, {"name": "taskd-port", "containerPort": 9601},
             {"name": "ttp-port", "containerPort": 8000}]  # fmt: skip
    address = {"name": "POD_IP", "valueFrom": {"fieldRef": {"fieldPath": "status.podIP"}}}
    job = annotated(ascend_job(), "recover-strategy", "retry,recover,dump,exit")
    changes = {FAULT: "grace", f"{MASTER}/spec/containers/0/ports": ports, f"{MASTER}/spec/containers/0/env/1": address}
    assert rules(change(job, changes)) == []


def test_grace_over_time_is_an_error_once_it_is_given() -> None:
    base = change(pod(), {"/spec/terminationGracePeriodSeconds": 600})
    assert rules(base) == []
    assert said(base, grace_over_time=600)["RSC-07", "$.spec.terminationGracePeriodSeconds"] == "error"


def test_mindie_servers_restart_always() -> None:
    labels = {RETRY: "100", FAULT: "grace", "/metadata/labels/app": "mindie-ms-server", "/metadata/labels/jobID": "a"}
    assert "RSC-04" not in rules(change(ascend_job(), {**labels, f"{SPECS}/Master/restartPolicy": "Always"}))


def test_ascend_jobs_need_volcano_where_gang_scheduling_is_off() -> None:
    assert rules(change(ascend_job(), {"/spec/schedulerName": "other"}), gang=False) == ["SCH-01"]


def queue(**spec: Any) -> dict[str, Any]:
    return {"apiVersion": "scheduling.volcano.sh/v1beta1", "kind": "Queue", "metadata": {"name": "team"}, "spec": spec}


def test_queues() -> None:
    job = change(volcano_job(), {"/spec/queue": "team"})
    assert rules(job) == []
    assert rules(queue(), job) == []
    assert said(queue(capability={"cpu": 8}), job) == {("SCH-08", "doc[1]:$.spec.queue"): "warning"}
    assert rules(queue(capability={"cpu": 8, A910: 16}), job) == []
    (short,) = findings(queue(capability={"cpu": 8, A910: "15"}), job)
    assert (short.rule, short.severity) == ("SCH-08", "warning")
    assert "allows 15" in short.message and "asks for 16" in short.message
    assert rules(job, dumped={("Queue", "", "other"): {}}) == ["SCH-04"]
    assert rules(job, dumped={("Queue", "", "team"): {"status": {"state": "Closed"}}}) == ["SCH-04"]
    child = {("Queue", "", "team"): {}, ("Queue", "", "sub"): {"spec": {"parent": "team"}}}
    assert rules(job, dumped=child) == ["SCH-04"]
    assert rules(volcano_job(), dumped={("Queue", "", "other"): {}}) == []


def rings(name: str = "rings-config-serve", **more: Any) -> dict[str, Any]:
    meta = {"name": name, "namespace": "research", "labels": {"ring-controller.atlas": "ascend-910b"}}
    value = {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": meta,
        "data": {"hccl.json": '{"status":"initializing"}'},
    }
    return change(value, more)


RANKED = change(
    deployment(),
    {
        "/spec/template/spec/volumes/1": RANKS,
        "/metadata/labels/ring-controller.atlas": "ascend-910b",
        f"{META}/labels/deploy-name": "serve",
    },
)


def test_rank_table_config_maps() -> None:
    assert rules(rings(), RANKED) == []
    assert rules(rings()) == []
    other = said(rings("rings-config-other"), RANKED)
    assert other["RTB-03", "doc[0]:$.metadata.name"] == "error"
    assert other["RTB-06", "doc[1]:$.spec.template.spec.volumes[1].configMap.name"] == "warning"
    assert said(rings(**{"/metadata/namespace": "b"}), RANKED)["RTB-03", "doc[0]:$.metadata.name"] == "error"
    assert said(rings(**{"/metadata/labels": DROP}), RANKED)[
        "RTB-03", "doc[0]:$.metadata.labels['ring-controller.atlas']"
    ]
    assert said(rings(**{"/data": {"hccl": ""}}), RANKED)["RTB-04", "doc[0]:$.data"] == "warning"
    assert said(rings(**{"/data/hccl.json": "{}"}), RANKED)["RTB-04", "doc[0]:$.data['hccl.json']"] == "warning"
    assert rules(rings(**{"/data/hccl.json": '\n{ "status": "initializing" }\n'}), RANKED) == []


def test_mindie_config_maps() -> None:
    mindie = {"/metadata/labels/jobID": "pd", "/metadata/labels/mx-consumer-cim": "true"}
    assert rules(rings(**mindie)) == []
    assert (
        said(rings(**{"/metadata/labels/jobID": "pd"}))["RTB-07", "$.metadata.labels['mx-consumer-cim']"] == "warning"
    )
    consumer = {"/metadata/labels/mx-consumer-cim": "true"}
    assert said(rings(**consumer))["RTB-07", "$.metadata.labels.jobID"] == "warning"


def test_a_config_map_of_the_run_or_the_snapshot_is_there() -> None:
    base = change(pod(), {"/spec/containers/0/envFrom": [{"configMapRef": {"name": "settings"}}]})
    assert rules(base, dumped={("ConfigMap", "research", "settings"): {}}) == []
    named = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "settings", "namespace": "research"}}
    assert rules(base, named) == []


# ------------------------------------------------------------------------------------------------- dynamic vNPUs
def vnpu(cores: int, **labels: str) -> dict[str, Any]:
    limits = {"huawei.com/npu-core": cores}
    base = change(pod(), {"/metadata/annotations": DROP, "/metadata/labels": labels, "/spec/containers/0/env": DROP})
    return change(base, {"/spec/containers/0/resources": {"limits": limits, "requests": limits}})


@pytest.mark.parametrize(
    ("cores", "labels", "found"),
    [
        (1, {"ring-controller.atlas": "ascend-310P", "vnpu-dvpp": "yes"}, ["VNP-04"]),
        (4, {"ring-controller.atlas": "ascend-310P", "vnpu-dvpp": "yes"}, []),
        (3, {"ring-controller.atlas": "ascend-310P"}, ["VNP-03"]),
        (10, {"ring-controller.atlas": "ascend-910b"}, []),
        (5, {"ring-controller.atlas": "ascend-910b", "vnpu-level": "high"}, ["VNP-06"]),
        (4, {}, ["VNP-01"]),
    ],
)
def test_dynamic_vnpus(cores: int, labels: dict[str, str], found: list[str]) -> None:
    assert rules(vnpu(cores, **labels), preset_vdev=False) == found
    assert "VNP-02" in rules(vnpu(cores, **labels))


# ------------------------------------------------------------------------------------------------- foreign dialects
HAMI = {"huawei.com/Ascend910B3": 1, "huawei.com/Ascend910B3-memory": 16384}


def foreign(limits: dict[str, Any], scheduler: str = "") -> dict[str, Any]:
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": "a", "namespace": "a"},
        "spec": {
            **({"schedulerName": scheduler} if scheduler else {}),
            "containers": [{"name": "a", "image": "b", "resources": {"limits": limits}}],
        },
    }


@pytest.mark.parametrize(
    ("limits", "word"),
    [
        (HAMI, "HAMi"),
        ({"huawei.com/Ascend310P": 1, "huawei.com/Ascend310P-memory": 1024}, "HAMi"),
        ({"huawei.com/ascend-1980-10c.3cpu.32g": 1}, "cloud"),
        ({"huawei.com/npu-cpu": 1}, "Koordinator"),
        ({"npu.huawei.com/NPU": 1}, "another"),
    ],
)
def test_foreign_dialects(limits: dict[str, Any], word: str) -> None:
    found = findings(foreign(limits))
    assert [(f.rule, f.severity) for f in found] == [("RES-13", "warning")]
    assert word in found[0].message
    under_volcano = findings(foreign(limits, "volcano"))
    assert [f.rule for f in under_volcano] == ["RES-02"]
    assert word in under_volcano[0].message
    assert rules(foreign(limits, "volcano"), dialect="any") == ["RES-13"]


def test_npu_core_of_another_scheduler() -> None:
    assert rules(foreign({"huawei.com/npu-core": 50}, "koord-scheduler")) == ["RES-13"]


def test_a_companion_of_another_chip() -> None:
    mixed = {"huawei.com/Ascend910B3": 1, "huawei.com/Ascend910B4-memory": 1}
    assert "dropped silently" in findings(foreign(mixed))[0].hint


# ------------------------------------------------------------------------------------------------- infer kinds, wrappers
def test_infer_service_sets_and_instance_sets() -> None:
    roles = infer_service()["spec"]
    whole = {**infer_service(), "kind": "InferServiceSet", "spec": {"replicas": 1, "template": roles}}
    assert rules(whole) == []
    assert said(change(whole, {"/spec/replicas": 65}))["INF-01", "$.spec.replicas"] == "error"
    single = {**infer_service(), "kind": "InstanceSet", "spec": roles["roles"][0]}
    assert rules(single) == ["INF-07", "INF-07"]
    names = {f"/metadata/labels/infer.huawei.com~1{key}-name": "a" for key in ("inferservice", "instanceset")}
    assert rules(change(single, names)) == []


def test_the_selector_of_an_infer_workload() -> None:
    wrong = change(infer_service(), {f"{ROLE}/spec/selector/matchLabels/app": "x"})
    assert ("K8S-16", f"{ROLE_PATH}.spec.selector.matchLabels.app") in said(wrong)


def group(size: int = 4, block: str = "32") -> dict[str, Any]:
    pods = template("main", 16, schedulerName="volcano")
    annotations = {"huawei.com/schedule_policy": "chip2-node16-sp", "sp-block": block}
    pods["metadata"] = {"annotations": annotations}
    pods["spec"]["nodeSelector"] = {"accelerator-type": "module-a3-16-super-pod"}
    return {
        "apiVersion": "leaderworkerset.x-k8s.io/v1",
        "kind": "LeaderWorkerSet",
        "metadata": {"name": "lws", "namespace": "a"},
        "spec": {"replicas": 2, "leaderWorkerTemplate": {"size": size, "leaderTemplate": pods, "workerTemplate": pods}},
    }


def test_leader_worker_sets_are_judged_by_the_group() -> None:
    assert rules(group()) == ["SPB-13"]
    path = "$.spec.leaderWorkerTemplate.leaderTemplate.metadata.annotations['sp-block']"
    assert said(group(3))["EXT-03", path] == "error"
    assert said(group(block="40"))["EXT-03", path] == "error"


def storm(size: int, on: bool) -> dict[str, Any]:
    pods = template("main", 8, schedulerName="volcano")
    pods["metadata"] = {"annotations": {"huawei.com/schedule_policy": "chip8-node8"}}
    labels = {"fault-scheduling": "grace", **({"pod-rescheduling": "on"} if on else {})}
    pods["metadata"]["labels"] = labels
    role = {"name": "prefill", "replicas": 1, "podGroupSize": size, "restartPolicy": "x", "template": pods}
    return {
        "apiVersion": "orchestration.aibrix.ai/v1alpha1",
        "kind": "StormService",
        "metadata": {"name": "storm", "namespace": "a"},
        "spec": {"replicas": 1, "template": {"spec": {"roles": [role]}}},
    }


def test_storm_services() -> None:
    path = "$.spec.template.spec.roles[0].template.metadata.labels['pod-rescheduling']"
    assert rules(storm(1, True)) == []
    assert rules(storm(2, False)) == []
    assert said(storm(2, True)) == {("EXT-02", path): "warning"}
    assert said(storm(1, False)) == {("EXT-02", path): "warning"}
    wrong = change(storm(1, True), {"/spec/template/spec/roles/0/template/spec/containers/0/resources/limits": DROP})
    assert "K8S-10" in rules(wrong)


def ome(annotations: dict[str, str], runtime: str = "rt") -> dict[str, Any]:
    return {
        "apiVersion": "ome.io/v1beta1",
        "kind": "InferenceService",
        "metadata": {"name": "chat", "namespace": "a"},
        "spec": {
            "runtime": {"name": runtime},
            "engine": {
                "minReplicas": 2,
                "annotations": annotations,
                "schedulerName": "volcano",
                "runner": {"name": "ome-container", "resources": {"limits": {A910: 16}, "requests": {A910: 16}}},
            },
        },
    }


RUNTIME = {
    "apiVersion": "ome.io/v1beta1",
    "kind": "ClusterServingRuntime",
    "metadata": {"name": "rt"},
    "spec": {
        "engineConfig": {
            "schedulerName": "volcano",
            "runner": {**container("ome-container", 16), "volumeMounts": []},
        }
    },
}
POLICY = {"huawei.com/schedule_policy": "chip2-node16"}
GANG = {"huawei.com/schedule_minAvailable": "2"}


def test_an_ome_runtime_alone_is_only_the_base_of_a_job() -> None:
    assert rules(RUNTIME) == []


def test_an_ome_service_is_judged_over_its_runtime() -> None:
    assert rules(RUNTIME, ome({**POLICY, **GANG})) == []
    assert said(RUNTIME, ome(POLICY)) == {
        ("EXT-01", "doc[1]:$.spec.engine.annotations['huawei.com/schedule_minAvailable']"): "warning"
    }
    assert {"SEL-04", "RES-04"} <= set(rules(RUNTIME, ome(GANG)))


def test_an_ome_service_without_its_runtime_lacks_nothing_for_sure() -> None:
    assert rules(ome({})) == []
    assert rules(ome({"huawei.com/schedule_policy": "chip2-node-16"})) == ["SEL-01"]
