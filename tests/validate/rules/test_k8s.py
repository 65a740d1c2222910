"""K8S-*: core conventions (chapter 40 §3.2)."""

from __future__ import annotations

from typing import Any

import pytest

from tests.validate.manifests import (
    A910,
    DROP,
    ascend_job,
    batch_job,
    change,
    container,
    deployment,
    infer_service,
    pod,
    rules,
    said,
    volcano_job,
)

BOX = "/spec/containers/0"
BOX_PATH = "$.spec.containers[0]"
LONG = "a" * 64
STS = deployment(kind="StatefulSet")
PREFERRED = "preferredDuringSchedulingIgnoredDuringExecution"
REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"


def anti(key: str, values: list[str], operator: str = "In") -> dict[str, Any]:
    expression: dict[str, Any] = {"key": key, "operator": operator}
    if values:
        expression["values"] = values
    term = {"topologyKey": "kubernetes.io/hostname", "labelSelector": {"matchExpressions": [expression]}}
    return {"podAntiAffinity": {REQUIRED: [term]}}


TERM = f"$.spec.affinity.podAntiAffinity.{REQUIRED}[0]"

CASES: list[tuple[str, dict[str, Any], dict[str, Any], str, str]] = [
    ("K8S-01", pod(), {"/metadata/name": "Try"}, "$.metadata.name", "error"),
    ("K8S-01", pod(), {"/metadata/name": DROP}, "$.metadata.name", "error"),
    ("K8S-01", pod(), {"/metadata/name": DROP, "/metadata/generateName": "Try-"}, "$.metadata.generateName", "error"),
    ("K8S-01", ascend_job(), {"/metadata/name": "1train"}, "$.metadata.name", "error"),
    ("K8S-01", volcano_job(), {"/metadata/name": "my.job"}, "$.metadata.name", "error"),
    ("K8S-01", ascend_job(), {"/metadata/name": LONG}, "$.metadata.name", "error"),
    ("K8S-02", ascend_job(), {"/metadata/name": "a" * 60}, "$.metadata.name", "error"),
    ("K8S-02", volcano_job(), {"/metadata/name": "a" * 60}, "$.metadata.name", "error"),
    ("K8S-02", infer_service(), {"/metadata/name": "a" * 60}, "$.metadata.name", "error"),
    ("K8S-03", pod(), {"/metadata/namespace": DROP}, "$.metadata.namespace", "info"),
    ("K8S-03", pod(), {"/metadata/namespace": "Team_A"}, "$.metadata.namespace", "error"),
    ("K8S-04", pod(), {"/metadata/labels/team": "R & D"}, "$.metadata.labels.team", "error"),
    ("K8S-04", pod(), {"/metadata/labels/-x": "a"}, "$.metadata.labels['-x']", "error"),
    ("K8S-04", pod(), {"/metadata/annotations/a b": "a"}, "$.metadata.annotations['a b']", "error"),
    ("K8S-04", pod(), {"/metadata/annotations/big": "x" * (257 << 10)}, "$.metadata.annotations", "error"),
    ("K8S-04", pod(), {"/spec/nodeSelector": {"zone": LONG}}, "$.spec.nodeSelector.zone", "error"),
    ("K8S-05", pod(), {f"{BOX}/name": "Main"}, f"{BOX_PATH}.name", "error"),
    ("K8S-05", pod(), {f"{BOX}/name": DROP}, f"{BOX_PATH}.name", "error"),
    ("K8S-05", pod(), {"/spec/initContainers": [{"name": "try", "image": "a"}]}, "$.spec.initContainers[0].name", "error"),
    ("K8S-06", pod(), {f"{BOX}/image": DROP}, f"{BOX_PATH}.image", "error"),
    ("K8S-06", pod(), {f"{BOX}/image": ""}, f"{BOX_PATH}.image", "error"),
    ("K8S-07", pod(), {f"{BOX}/ports": [{"containerPort": 70000}]}, f"{BOX_PATH}.ports[0].containerPort", "error"),
    ("K8S-07", pod(), {f"{BOX}/ports": [{"name": "http"}]}, f"{BOX_PATH}.ports[0].containerPort", "error"),
    ("K8S-07", pod(), {f"{BOX}/ports": [{"containerPort": 80, "name": "1234"}]}, f"{BOX_PATH}.ports[0].name", "error"),
    ("K8S-07", pod(), {f"{BOX}/ports": [{"containerPort": 80, "name": "a" * 16}]}, f"{BOX_PATH}.ports[0].name", "error"),
    ("K8S-07", pod(), {f"{BOX}/ports": [{"containerPort": 80, "name": "a"}, {"containerPort": 81, "name": "a"}]},
     f"{BOX_PATH}.ports[1].name", "error"),
    ("K8S-07", pod(), {"/spec/hostNetwork": True, f"{BOX}/ports": [{"containerPort": 80, "hostPort": 81}]},
     f"{BOX_PATH}.ports[0].hostPort", "error"),
    ("K8S-08", pod(), {f"{BOX}/resources/limits/memory": "64GiB"}, f"{BOX_PATH}.resources.limits.memory", "error"),
    ("K8S-08", pod(), {f"{BOX}/resources/limits/cpu": True}, f"{BOX_PATH}.resources.limits.cpu", "error"),
    ("K8S-09", pod(), {f"{BOX}/resources": {"limits": {A910: 0.5}, "requests": {A910: 0.5}}},
     f"{BOX_PATH}.resources.limits['{A910}']", "error"),
    ("K8S-09", pod(), {f"{BOX}/resources": {"limits": {A910: "500m"}}}, f"{BOX_PATH}.resources.limits['{A910}']", "error"),
    ("K8S-09", pod(), {f"{BOX}/resources": {"limits": {A910: "-1"}}}, f"{BOX_PATH}.resources.limits['{A910}']", "error"),
    ("K8S-09", pod(), {f"{BOX}/resources": {"limits": {A910: "8.0"}}}, f"{BOX_PATH}.resources.limits['{A910}']", "warning"),
    ("K8S-10", pod(), {f"{BOX}/resources/limits": DROP}, f"{BOX_PATH}.resources.limits['{A910}']", "error"),
    ("K8S-11", pod(), {f"{BOX}/resources/limits/huawei.com~1Ascend910": 4},
     f"{BOX_PATH}.resources.limits['{A910}']", "error"),
    ("K8S-12", pod(), {f"{BOX}/resources/limits/cpu": "4", f"{BOX}/resources/requests/cpu": "4001m"},
     f"{BOX_PATH}.resources.requests.cpu", "error"),
    ("K8S-13", pod(), {f"{BOX}/volumeMounts/0/name": "shm"}, f"{BOX_PATH}.volumeMounts[0].name", "error"),
    ("K8S-13", pod(), {f"{BOX}/volumeMounts/0/mountPath": DROP}, f"{BOX_PATH}.volumeMounts[0].mountPath", "error"),
    ("K8S-13", pod(), {f"{BOX}/volumeMounts/0/mountPath": ""}, f"{BOX_PATH}.volumeMounts[0].mountPath", "error"),
    ("K8S-13", pod(), {f"{BOX}/volumeMounts/0/mountPath": "/a:b"}, f"{BOX_PATH}.volumeMounts[0].mountPath", "error"),
    ("K8S-13", pod(), {f"{BOX}/volumeMounts/1": {"name": "dshm", "mountPath": "/dev/shm"}},
     f"{BOX_PATH}.volumeMounts[1].mountPath", "error"),
    ("K8S-13", pod(), {"/spec/volumes/1": {"name": "dshm", "emptyDir": {}}}, "$.spec.volumes[1].name", "error"),
    ("K8S-13", pod(), {"/spec/volumes/1": {"name": "code"}}, "$.spec.volumes[1]", "error"),
    ("K8S-13", pod(), {"/spec/volumes/0/hostPath": {"path": "/dev/shm"}}, "$.spec.volumes[0]", "error"),
    ("K8S-13", pod(), {"/spec/volumes/0": {"name": "dshm", "hostPath": {"path": "/a", "type": "Folder"}}},
     "$.spec.volumes[0].hostPath.type", "error"),
    ("K8S-13", pod(), {"/spec/volumes/0": {"name": "dshm", "nfs": {"path": "/a"}}}, "$.spec.volumes[0].nfs.server", "error"),
    ("K8S-13", pod(), {"/spec/volumes/1": {"name": "s", "secret": {"secretName": "s", "defaultMode": 640}}},
     "$.spec.volumes[1].secret.defaultMode", "error"),
    ("K8S-14", pod(), {f"{BOX}/env/0/value": "1"}, f"{BOX_PATH}.env[0].valueFrom", "error"),
    ("K8S-14", pod(), {f"{BOX}/env/1": {"value": "1"}}, f"{BOX_PATH}.env[1].name", "error"),
    ("K8S-14", pod(), {f"{BOX}/env/1": {"name": "A", "valueFrom": {"fieldRef": {"fieldPath": "spec.hostname"}}}},
     f"{BOX_PATH}.env[1].valueFrom.fieldRef.fieldPath", "error"),
    ("K8S-15", pod(), {"/spec/restartPolicy": "Newer"}, "$.spec.restartPolicy", "error"),
    ("K8S-15", deployment(), {"/spec/template/spec/restartPolicy": "Never"}, "$.spec.template.spec.restartPolicy", "error"),
    ("K8S-15", batch_job(), {"/spec/template/spec/restartPolicy": DROP}, "$.spec.template.spec.restartPolicy", "error"),
    ("K8S-15", batch_job(), {"/spec/template/spec/restartPolicy": "Always"}, "$.spec.template.spec.restartPolicy", "error"),
    ("K8S-16", deployment(), {"/spec/selector": DROP}, "$.spec.selector", "error"),
    ("K8S-16", deployment(), {"/spec/selector": {}}, "$.spec.selector", "error"),
    ("K8S-16", deployment(), {"/spec/selector/matchLabels/app": "other"}, "$.spec.selector.matchLabels.app", "error"),
    ("K8S-17", STS, {"/spec/serviceName": DROP}, "$.spec.serviceName", "warning"),
    ("K8S-18", pod(), {"/spec/hostNetwork": True}, "$.spec.dnsPolicy", "info"),
    ("K8S-19", pod(), {"/spec/affinity": anti("app", [])}, f"{TERM}.labelSelector.matchExpressions[0].values", "error"),
    ("K8S-19", pod(), {"/spec/affinity": anti("app", ["a"], "Exists")},
     f"{TERM}.labelSelector.matchExpressions[0].values", "error"),
    ("K8S-19", pod(), {"/spec/affinity": {"podAntiAffinity": {REQUIRED: [{"labelSelector": {}}]}}},
     f"{TERM}.topologyKey", "error"),
    ("K8S-19", pod(), {"/spec/affinity": {"nodeAffinity": {PREFERRED: [{"weight": 0, "preference": {}}]}}},
     f"$.spec.affinity.nodeAffinity.{PREFERRED}[0].weight", "error"),
    ("K8S-20", volcano_job(), {"/spec/tasks/0/template/spec/affinity": anti("volcano.sh/job-name", ["copied"])},
     f"{TERM.replace('$.spec', '$.spec.tasks[0].template.spec')}.labelSelector.matchExpressions[0].values", "warning"),
    ("K8S-22", pod(), {"/spec/containers/1": {**container("second"), "volumeMounts": []}},
     f"$.spec.containers[1].resources.requests['{A910}']", "warning"),
    ("K8S-23", pod(), {"/spec/terminationGracePeriodSeconds": -1}, "$.spec.terminationGracePeriodSeconds", "error"),
    ("K8S-25", pod(), {"/spec/volumes/1": {"name": A910, "emptyDir": {}}}, "$.spec.volumes[1].name", "error"),
]  # fmt: skip


@pytest.mark.parametrize(("rule", "base", "changes", "path", "severity"), CASES)
def test_wrong_field(rule: str, base: dict[str, Any], changes: dict[str, Any], path: str, severity: str) -> None:
    assert said(change(base, changes)).get((rule, path)) == severity


@pytest.mark.parametrize(
    ("base", "changes"),
    [
        (pod(), {"/metadata/name": "my.pod-1"}),
        (pod(), {"/metadata/name": DROP, "/metadata/generateName": "try-"}),
        (pod(), {"/metadata/labels/team.example.com~1name": "R_and-D.2", "/metadata/labels/empty": ""}),
        (pod(), {f"{BOX}/ports": [{"containerPort": 80, "name": "http"}, {"containerPort": 443, "name": "https"}]}),
        (pod(), {f"{BOX}/resources/limits/memory": "1.5e3Mi".replace("Mi", "")}),
        (pod(), {f"{BOX}/resources/limits/cpu": 8, f"{BOX}/resources/requests/cpu": "500m"}),
        (pod(), {"/spec/volumes/1": {"name": "s", "secret": {"secretName": "s", "defaultMode": 0o640}}}),
        (pod(), {f"{BOX}/env/1": {"name": "NODE", "valueFrom": {"fieldRef": {"fieldPath": "spec.nodeName"}}}}),
        (pod(), {"/spec/affinity": anti("app", ["a"])}),
        (volcano_job(), {"/spec/tasks/0/template/spec/affinity": anti("volcano.sh/job-name", ["train"])}),
        (ascend_job(), {"/spec/replicaSpecs/Worker/template/spec/affinity": anti("job-name", ["train"])}),
        (deployment(), {"/spec/template/spec/affinity": anti("deploy-name", ["serve"]),
                        "/spec/template/metadata/labels/deploy-name": "serve"}),
        (pod(), {"/spec/terminationGracePeriodSeconds": 600}),
        (STS, {"/spec/template/spec/containers/0/volumeMounts/1": {"name": "data", "mountPath": "/data"},
               "/spec/volumeClaimTemplates": [{"metadata": {"name": "data"}, "spec": {"accessModes": ["ReadWriteOnce"]}}]}),
    ],
)  # fmt: skip
def test_right_field(base: dict[str, Any], changes: dict[str, Any]) -> None:
    assert rules(change(base, changes)) == []


def test_one_mount_split_by_a_dash() -> None:
    mounts = [{"name": "dshm"}, {"mountPath": "/dev/shm"}]
    found = said(change(pod(), {f"{BOX}/volumeMounts": mounts}))
    assert found == {("K8S-13", f"{BOX_PATH}.volumeMounts[0].mountPath"): "error"}


def test_a_bad_volume_name_is_said_once() -> None:
    changes = {"/spec/volumes/0/name": A910, f"{BOX}/volumeMounts/0/name": A910}
    assert rules(change(pod(), changes)) == ["K8S-25"]


def test_a_null_source_is_an_empty_folder() -> None:
    text = """
apiVersion: v1
kind: Pod
metadata: {name: try, namespace: a}
spec:
  containers: [{name: a, image: b, volumeMounts: [{name: tmp, mountPath: /tmp}]}]
  volumes:
  - name: tmp
    emptyDir:
"""
    assert rules(text) == []


def test_an_octal_count_is_said_to_be_octal() -> None:
    text = """
apiVersion: v1
kind: Pod
metadata: {name: try, namespace: a, annotations: {huawei.com/schedule_policy: chip8-node8}}
spec:
  schedulerName: volcano
  containers:
  - name: a
    image: b
    resources: {limits: {huawei.com/Ascend910: 010}, requests: {huawei.com/Ascend910: 8}}
"""
    assert ("K8S-09", f"$.spec.containers[0].resources.limits['{A910}']") in said(text)


def test_host_network_is_said_once_a_document() -> None:
    at = "/spec/replicaSpecs/{}/template/spec/hostNetwork"
    found = rules(change(ascend_job(), {at.format("Master"): True, at.format("Worker"): True}))
    assert found == ["ENV-04", "K8S-18"]


def test_images_of_ascend_are_the_operators_matter() -> None:
    job = change(ascend_job(), {"/spec/replicaSpecs/Master/template/spec/containers/0/image": DROP})
    assert rules(job) == ["ACJ-11"]


def test_priority_classes_of_the_snapshot() -> None:
    base = change(pod(), {"/spec/priorityClassName": "high"})
    assert rules(base) == []
    assert "K8S-24" in rules(base, dumped={("PriorityClass", "", "low"): {}})
    assert "K8S-24" not in rules(base, dumped={("PriorityClass", "", "high"): {}})
