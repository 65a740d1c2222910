"""Pods of other NPU device plugins: no rule on MindCluster's own NPUs speaks of them (chapter 40 §2.6)."""

from __future__ import annotations

from typing import Any

import pytest

from tests.validate.manifests import DROP, batch_job, change, deployment, findings, pod, said, volcano_job

HAMI = {"huawei.com/Ascend910B3": "1", "huawei.com/Ascend910B3-memory": "32768"}
CLOUD = {"huawei.com/ascend-1980": 8}


def asking(base: dict[str, Any], spec: str, limits: dict[str, Any], **changes: Any) -> dict[str, Any]:
    """The manifest with other resources, without device variable, without a scheduler in the pod."""
    box = f"{spec}/containers/0"
    return change(base, {f"{box}/resources": {"limits": limits}, f"{box}/env": DROP, **changes})


def free(replicas: int = 2, **changes: Any) -> dict[str, Any]:
    spec = "/spec/template/spec"
    return asking(
        deployment(replicas), spec, HAMI,
        **{f"{spec}/schedulerName": DROP, "/spec/template/metadata/annotations": DROP, **changes},
    )  # fmt: skip


@pytest.mark.parametrize(
    "manifest",
    [
        free(),
        free(**{"/metadata/annotations": {"sp-block": "16"}}),
        free(**{"/spec/template/metadata/labels/fault-retry-times": "3"}),
        free(**{"/spec/template/spec/hostNetwork": True, "/spec/template/spec/dnsPolicy": "ClusterFirstWithHostNet"}),
        asking(
            batch_job(2), "/spec/template/spec", CLOUD,
            **{"/spec/template/spec/schedulerName": DROP, "/spec/backoffLimit": DROP,
               "/spec/template/metadata/annotations": DROP},
        ),
        asking(
            volcano_job(), "/spec/tasks/0/template/spec", HAMI,
            **{"/spec/schedulerName": "hami-scheduler", "/spec/plugins": DROP, "/metadata/annotations": DROP},
        ),
    ],
)  # fmt: skip
def test_one_warning_and_no_more(manifest: dict[str, Any]) -> None:
    assert [(f.rule, f.severity) for f in findings(manifest)] == [("RES-13", "warning")]


def test_volcano_finds_no_policy() -> None:
    job = asking(volcano_job(), "/spec/tasks/0/template/spec", HAMI, **{"/spec/plugins": DROP})
    assert [(f.rule, f.severity) for f in findings(job)] == [("RES-02", "error")]
    assert [(f.rule, f.severity) for f in findings(job, dialect="any")] == [("RES-13", "warning")]


def test_pod_level_rules_still_hold() -> None:
    found = said(free(**{"/spec/template/spec/containers/0/volumeMounts/0/name": "other"}))
    assert found[("K8S-13", "$.spec.template.spec.containers[0].volumeMounts[0].name")] == "error"


def test_a_pod_group_is_not_meant_for_them() -> None:
    group = {
        "apiVersion": "scheduling.volcano.sh/v1beta1", "kind": "PodGroup",
        "metadata": {"name": "gang", "namespace": "research"}, "spec": {"minMember": 1, "queue": "default"},
    }  # fmt: skip
    bare = asking(pod(), "/spec", HAMI, **{"/spec/schedulerName": "hami-scheduler", "/metadata/annotations": DROP})
    assert [f.rule for f in findings(group, bare)] == ["RES-13"]
    named = change(bare, {"/metadata/annotations": {"scheduling.k8s.io/group-name": "gang"}})
    assert [f.rule for f in findings(group, named)] == ["RES-13"]


def test_without_volcano_a_deployment_is_no_gang() -> None:
    plain = change(
        deployment(4),
        {"/spec/template/spec/schedulerName": DROP, "/spec/template/metadata/annotations": DROP,
         "/spec/template/spec/containers/0/env": DROP},
    )  # fmt: skip
    assert [(f.rule, f.severity) for f in findings(plain)] == [("SCH-01", "warning")]
