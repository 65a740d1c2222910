"""One cause, one finding (chapter 40 §3.1 no. 3), and what must stay quiet."""

from __future__ import annotations

from typing import Any

import pytest

from tests.validate.manifests import (
    A910,
    DROP,
    NPU,
    ascend_job,
    change,
    deployment,
    findings,
    infer_service,
    pod,
    rules,
    said,
    template,
    volcano_job,
)

BOX = "/spec/template/spec/containers/0"
SELECTOR = "/spec/template/spec/nodeSelector"
TASK = "/spec/tasks/0"


def counts(value: Any, resource: str = A910) -> dict[str, Any]:
    key = resource.replace("/", "~1")
    return {f"{BOX}/resources/requests/{key}": value, f"{BOX}/resources/limits/{key}": value}


@pytest.mark.parametrize(("value", "rule"), [("500m", "K8S-09"), (0.5, "K8S-09"), (-1, "K8S-09"), ("8x", "K8S-08")])
def test_a_count_that_cannot_be_read_is_not_judged(value: Any, rule: str) -> None:
    assert rules(change(deployment(), counts(value))) == [rule, rule]


def test_no_advice_on_a_topology_policy_that_the_server_refuses() -> None:
    assert rules(change(volcano_job(), {f"{TASK}/topologyPolicy": "best"})) == ["DOC-10"]
    assert rules(change(volcano_job(), {f"{TASK}/topologyPolicy": "best-effort"})) == ["VCJ-25"]


@pytest.mark.parametrize(
    ("changes", "rule"),
    [
        ({f"{TASK}/partitionPolicy": {"totalPartitions": 2, "partitionSize": 2}}, "VCJ-23"),
        ({"/spec/networkTopology": {"mode": "hard", "highestTierAllowed": 1, "highestTierName": "x"}}, "VCJ-24"),
    ],
)
def test_fields_that_older_releases_do_not_know(changes: dict[str, Any], rule: str) -> None:
    job = change(volcano_job(), changes)
    assert rules(job) == [rule]
    assert rules(job, volcano="1.12") == ["DOC-06"]


def test_an_infer_role_without_selector_or_without_spec() -> None:
    role = "/spec/roles/0/spec"
    assert rules(change(infer_service(), {f"{role}/selector": DROP})) == ["K8S-16"]
    assert rules(change(infer_service(), {role: DROP})) == ["INF-09"]


def test_a_resource_that_is_none_has_no_policy_to_ignore() -> None:
    job = deployment()
    job["spec"]["template"]["spec"]["containers"][0].pop("env")
    misspelt = change(job, {f"{BOX}/resources": {"limits": {"huawei.com/ascend910": 8}}})
    assert [r for r in rules(misspelt) if r != "ENV-01"] == ["RES-02"]


def test_shares_of_the_network_do_not_hide_the_npus() -> None:
    limits = {"huawei.com/ub_rdma": 1, NPU: 8}
    job = change(
        deployment(),
        {
            f"{BOX}/resources": {"limits": limits, "requests": limits},
            f"{BOX}/env/0/valueFrom/fieldRef/fieldPath": f"metadata.annotations['{NPU}']",
            "/spec/template/spec/hostNetwork": True,
            "/spec/template/metadata/annotations/huawei.com~1schedule_policy": "chip4-node-8",
        },
    )
    assert {f.rule for f in findings(job) if f.severity == "error"} == {"RES-03", "SEL-01"}


def test_a_null_that_nobody_reads_is_an_empty_label() -> None:
    text = "apiVersion: v1\nkind: Pod\nmetadata: {name: a, namespace: d, labels: {team: ~}}\nspec:\n  containers:\n"
    assert said(text + "  - {name: a, image: b}\n") == {("DOC-08", "$.metadata.labels.team"): "info"}


@pytest.mark.parametrize("text", ["xxxxxxxxxxxxxxxx", "<path/to/model>", "<image>", "/mnt/<model path>/x"])
def test_placeholders(text: str) -> None:
    volume = {"name": "model", "hostPath": {"path": text}}
    job = change(deployment(), {"/spec/template/spec/volumes/1": volume})
    assert rules(job) == ["DOC-13"]


def test_the_services_of_other_groups_are_no_companions() -> None:
    spec = {"template": {"spec": {"containers": [{"name": "a", "image": "b"}]}}}
    knative = {"apiVersion": "serving.knative.dev/v1", "kind": "Service", "metadata": {"name": "a"}, "spec": spec}
    assert said(knative) == {("DOC-03", "$.kind"): "warning"}
    assert rules(change(knative, {"/apiVersion": "v1"})) == []


def test_switch_affinity_under_a_super_pod_policy() -> None:
    job = ascend_job()
    for replica in job["spec"]["replicaSpecs"].values():
        resources = replica["template"]["spec"]["containers"][0]["resources"]
        resources["requests"][A910] = resources["limits"][A910] = 16
        del replica["template"]["spec"]["nodeSelector"]
    job["metadata"]["annotations"]["huawei.com/schedule_policy"] = "chip2-node16-sp"
    job["metadata"]["labels"]["tor-affinity"] = "normal-schema"
    assert rules(job) == ["SPB-12", "TOR-05"]
    job["metadata"]["annotations"]["sp-block"] = "32"
    assert rules(job) == ["SPB-16"]


def test_jobs_that_no_gang_scheduler_takes_lack_one_scheduler_name() -> None:
    job = change(ascend_job(), {"/spec/schedulerName": DROP})
    assert said(job, gang=False) == {("SCH-01", "$.spec.schedulerName"): "error"}


def test_what_the_server_and_the_scheduler_wrote_into_exports() -> None:
    grace = {"/spec/template/spec/terminationGracePeriodSeconds": 30,
             "/spec/template/metadata/labels/fault-scheduling": "force"}  # fmt: skip
    assert rules(change(deployment(), grace)) == ["RSC-07"]
    assert rules(change(deployment(), {**grace, "/metadata/uid": "6a2d"})) == []
    wrong_map = {"/metadata/annotations/distributed": "false"}
    assert rules(change(pod(), wrong_map)) == ["DOC-16"]
    assert rules(change(pod(), {**wrong_map, "/metadata/uid": "6a2d"})) == []


def test_a_field_that_is_absent_from_an_aliased_template() -> None:
    text = """apiVersion: mindxdl.gitee.com/v1
kind: AscendJob
metadata:
  name: train
  namespace: d
  labels: {framework: pytorch}
spec:
  replicaSpecs:
    Master: &role
      replicas: 1
      template:
        spec:
          containers:
          - name: ascend
    Worker: *role
"""
    found = findings(text)
    assert [(f.rule, f.line, f.path) for f in found] == [
        ("ACJ-11", 14, "$.spec.replicaSpecs.Master.template.spec.containers[0].image")
    ]
    assert "line 15" in found[0].message


def test_messages_tell_what_a_scalar_is_read_as() -> None:
    text = "apiVersion: v1\nkind: Pod\nmetadata: {name: a, namespace: d, labels: {rev: 7e6, day: 20250102}}\nspec:\n"
    found = findings(text + "  containers: [{name: a, image: b, env: [{name: E, value: 08}, {name: F, value: yes}]}]\n")
    messages = [f.message for f in found]
    assert "found a number (7e6, read as 7000000)" in messages[0]
    assert "found a number (20250102)" in messages[1]
    assert "found 08, read as 8" in messages[2]
    assert "found yes, read as true" in messages[3]


def test_hints_name_the_policies_by_product() -> None:
    job = deployment()
    box = job["spec"]["template"]["spec"]["containers"][0]
    box["resources"] = {"limits": {NPU: 8}}
    del box["env"]
    del job["spec"]["template"]["metadata"]["annotations"]["huawei.com/schedule_policy"]
    hint = next(f.hint for f in findings(job) if f.rule == "SEL-02")
    assert "chip8-node8 (Atlas 850, standard cluster)" in hint
    assert "chip8-node8-ra64-sp (Atlas 950 SuperPoD)" in hint


@pytest.mark.parametrize(
    ("resource", "policy", "value", "meant"),
    [
        (NPU, "chip8-node8", "ascend-a5", "ascend-npu"),
        (A910, "chip8-node8", "ascend910", "ascend-910b"),
        (A910, "chip4-node4", "ascend-910c", "ascend-910"),
    ],
)
def test_an_unknown_ring_controller_names_the_one_of_the_product(
    resource: str, policy: str, value: str, meant: str
) -> None:
    labels = {"/metadata/labels/ring-controller.atlas": value}
    job = change(volcano_job(), {**labels, "/metadata/annotations/huawei.com~1schedule_policy": policy,
                                 f"{TASK}/template": template("main", 4, resource, restartPolicy="Never")})  # fmt: skip
    (found,) = [finding for finding in findings(job) if finding.rule == "SEL-11"]
    assert found.hint == f"write {meant}"


def test_a_launcher_without_npus_may_run_anywhere() -> None:
    launcher = template("launch", restartPolicy="Never")
    del launcher["spec"]["containers"][0]["resources"], launcher["spec"]["containers"][0]["env"]
    changes = {
        "/spec/tasks/1": {"name": "launch", "replicas": 1, "template": launcher},
        "/spec/minAvailable": 3,
        f"{TASK}/template/spec/nodeSelector": {"accelerator-type": "module-910b-8"},
    }
    job = change(volcano_job(), changes)
    assert "SCH-07" not in rules(job)
    arch = {"/spec/tasks/1/template/spec/nodeSelector": {"host-arch": "huawei-x86"}}
    assert said(change(job, arch))["SCH-07", "$.spec.tasks[1].template.spec.nodeSelector"] == "warning"


RESOURCES = """apiVersion: v1
kind: Pod
metadata: {name: try, namespace: research, annotations: {huawei.com/schedule_policy: chip8-node8}}
spec:
  schedulerName: volcano
  containers:
  - name: try
    image: registry.local/train:1.0
    env:
    - name: ASCEND_VISIBLE_DEVICES
      valueFrom: {fieldRef: {fieldPath: "metadata.annotations['huawei.com/Ascend910']"}}
    resources:
      requests:
        huawei.com/Ascend910: 4
      limits:
        huawei.com/Ascend910: 4
"""


@pytest.mark.parametrize(
    ("old", "new", "path"),
    [
        ("limits:\n        huawei.com/Ascend910: 4", "limits: huawei.com/Ascend910:4", "resources.limits"),
        ("limits:\n        huawei.com/Ascend910: 4", "limits: {huawei.com/Ascend910:4}",
         "resources.limits['huawei.com/Ascend910:4']"),
        ("requests:\n        huawei.com/Ascend910: 4", "requests: huawei.com/Ascend910:4", "resources.requests"),
        ("resources:\n      requests:\n        huawei.com/Ascend910: 4\n      limits:\n        huawei.com/Ascend910: 4",
         "resources: huawei.com/Ascend910:4", "resources"),
    ],
)  # fmt: skip
def test_what_a_refused_mapping_lacks_is_not_missing(old: str, new: str, path: str) -> None:
    assert rules(RESOURCES) == []
    assert [(f.rule, f.path) for f in findings(RESOURCES.replace(old, new))] == [
        ("DOC-14", f"$.spec.containers[0].{path}")
    ]


def test_labels_in_one_line_do_not_lack_the_framework() -> None:
    assert rules(change(ascend_job(), {"/metadata/labels": "framework:pytorch"})) == ["DOC-14"]
