"""Wrappers whose pods other controllers make: services over their runtimes, roles of several jobs (chapter 40 §1.1)."""

from __future__ import annotations

from typing import Any

from tests.validate.manifests import A910, DROP, NPU, change, container, findings, infer_service, rules, said

POLICY, GANG = "huawei.com/schedule_policy", "huawei.com/schedule_minAvailable"


def runner(count: int = 16, resource: str = A910) -> dict[str, Any]:
    return {**container("ome-container", count, resource), "volumeMounts": []}


def runtime(**config: Any) -> dict[str, Any]:
    return {
        "apiVersion": "ome.io/v1beta1", "kind": "ClusterServingRuntime", "metadata": {"name": "rt"},
        "spec": {"engineConfig": {"schedulerName": "volcano", "runner": runner(), **config}},
    }  # fmt: skip


def service(engine: dict[str, Any], **parts: Any) -> dict[str, Any]:
    return {
        "apiVersion": "ome.io/v1beta1", "kind": "InferenceService", "metadata": {"name": "chat", "namespace": "a"},
        "spec": {"runtime": {"name": "rt"}, "engine": engine, **parts},
    }  # fmt: skip


def test_scheduler_resources_and_policy_may_stand_in_the_runtime() -> None:
    good = {POLICY: "chip2-node16", GANG: "2"}
    assert rules(runtime(), service({"minReplicas": 2, "annotations": good})) == []
    below = runtime(annotations=good)
    assert rules(below, service({"minReplicas": 2})) == []
    assert said(below, service({"minReplicas": 3})) == {
        ("EXT-01", f"doc[1]:$.spec.engine.annotations['{GANG}']"): "warning"
    }


def test_what_neither_of_the_two_says() -> None:
    found = said(runtime(), service({"minReplicas": 2}))
    assert found[("RES-04", f"doc[1]:$.spec.engine.runner.resources.requests['{A910}']")] == "error"
    assert found[("SEL-04", f"doc[1]:$.spec.engine.annotations['{POLICY}']")] == "warning"
    unscheduled = change(runtime(), {"/spec/engineConfig/schedulerName": DROP})
    assert ("SCH-01", "doc[1]:$.spec.engine.schedulerName") in said(unscheduled, service({"minReplicas": 2}))


def test_volumes_of_the_runtime() -> None:
    mounts = {"name": "ome-container", "volumeMounts": [{"name": "dshm", "mountPath": "/dev/shm"}]}
    engine = {"minReplicas": 1, "annotations": {POLICY: "chip2-node16", GANG: "1"}, "runner": mounts}
    holding = runtime(volumes=[{"name": "dshm", "emptyDir": {}}])
    assert rules(holding, service(engine)) == []
    assert rules(service(engine)) == []
    assert said(runtime(), service(engine)) == {("K8S-13", "doc[1]:$.spec.engine.runner.volumeMounts[0].name"): "error"}


def test_without_the_runtime_only_what_is_there_is_judged() -> None:
    assert rules(service({"minReplicas": 2, "annotations": {POLICY: "chip2-node16"}})) == []
    assert said(service({"minReplicas": 2, "annotations": {GANG: "1"}})) == {
        ("EXT-01", f"$.spec.engine.annotations['{GANG}']"): "warning"
    }


def test_leader_and_workers_of_a_service_are_one_gang() -> None:
    def group(block: str) -> dict[str, Any]:
        pod = {"schedulerName": "volcano", "runner": runner()}
        return service(
            {"annotations": {POLICY: "chip2-node16-sp", "sp-block": block}, "leader": pod, "worker": {"size": 1, **pod}}
        )

    assert rules(group("32")) == []
    assert said(group("48")) == {("SPB-07", "$.spec.engine.annotations['sp-block']"): "error"}


def test_absent_keys_are_placed_in_the_role_that_lacks_them() -> None:
    chosen = {"minReplicas": 1, "annotations": {POLICY: "chip1-node16", GANG: "1"}}
    npus = change(runtime(), {"/spec/engineConfig/runner": runner(16, NPU)})
    npus = change(npus, {"/spec/decoderConfig": npus["spec"]["engineConfig"]})
    found = said(npus, service(chosen, decoder={"minReplicas": 1, "annotations": {GANG: "1"}}))
    assert found == {("SEL-02", f"doc[1]:$.spec.decoder.annotations['{POLICY}']"): "error"}

    two = infer_service()
    second = change(two, {"/spec/roles/0/name": "other"})["spec"]["roles"][0]
    del second["spec"]["template"]["metadata"]["annotations"][POLICY]
    two = change(two, {"/spec/roles/1": second})
    assert said(two) == {("SEL-04", f"$.spec.roles[1].spec.template.metadata.annotations['{POLICY}']"): "warning"}


def test_routers_beside_the_npu_roles_are_scheduled_by_anyone() -> None:
    router = infer_service("Deployment")
    changes = {
        "/spec/roles/0/spec/template/spec/containers/0": {"name": "router", "image": "a:1"},
        "/spec/roles/0/spec/template/spec/schedulerName": DROP,
        "/spec/roles/0/spec/template/metadata": {"labels": {"app": "serve", "fault-scheduling": "grace"}},
    }
    assert rules(change(router, changes)) == []


def test_a_switch_of_the_infer_operator_among_the_annotations() -> None:
    key = "infer.huawei.com~1gang-schedule"
    found = findings(change(infer_service(), {f"/spec/roles/0/metadata/annotations/{key}": "true"}))
    assert [(f.rule, f.severity) for f in found] == [("DOC-16", "warning")]
    inside = change(infer_service(), {f"/spec/roles/0/spec/template/metadata/annotations/{key}": "true"})
    assert [f.rule for f in findings(inside)] == ["DOC-16"]
