"""WLD-*, PGR-*: workloads of Kubernetes and the PodGroups that they join (chapter 40 §1.5, §3.2)."""

from __future__ import annotations

from typing import Any

import pytest

from tests.validate.manifests import (
    A910,
    DROP,
    ascend_job,
    batch_job,
    change,
    deployment,
    pod,
    rules,
    said,
    volcano_job,
)

META = "/spec/template/metadata"
GANG = "huawei.com/schedule_minAvailable"
GANG_AT = f"{META}/annotations/huawei.com~1schedule_minAvailable"
GANG_PATH = f"$.spec.template.metadata.annotations['{GANG}']"
MEMBER = "/metadata/annotations/scheduling.volcano.sh~1group-min-member"
MEMBER_PATH = "$.metadata.annotations['scheduling.volcano.sh/group-min-member']"
STS = deployment(kind="StatefulSet")

CASES: list[tuple[str, dict[str, Any], dict[str, Any], str, str]] = [
    ("WLD-01", deployment(), {"/metadata/annotations/sp-block": "8"}, "$.metadata.annotations['sp-block']", "warning"),
    ("WLD-01", deployment(), {"/metadata/labels/fault-scheduling": "grace"},
     "$.metadata.labels['fault-scheduling']", "warning"),
    ("WLD-02", deployment(), {GANG_AT: "two"}, GANG_PATH, "error"),
    ("WLD-02", pod(), {"/metadata/annotations/huawei.com~1schedule_minAvailable": "x"},
     f"$.metadata.annotations['{GANG}']", "error"),
    ("WLD-03", deployment(), {GANG_AT: "2"}, GANG_PATH, "error"),
    ("WLD-03", deployment(2), {GANG_AT: "0"}, GANG_PATH, "error"),
    ("WLD-04", STS, {"/spec/replicas": 2, GANG_AT: "2"}, "$.spec.podManagementPolicy", "error"),
    ("WLD-05", STS, {"/spec/replicas": 2, GANG_AT: DROP}, GANG_PATH, "warning"),
    ("WLD-05", batch_job(2), {GANG_AT: DROP}, GANG_PATH, "warning"),
    ("WLD-06", deployment(2), {GANG_AT: DROP}, GANG_PATH, "warning"),
    ("WLD-07", deployment(), {f"{META}/labels/distributed": "true"}, "$.spec.template.metadata.labels.distributed",
     "warning"),
    ("WLD-08", deployment(), {MEMBER: "all"}, MEMBER_PATH, "warning"),
    ("WLD-09", deployment(2), {MEMBER: "2", GANG_AT: DROP}, MEMBER_PATH, "error"),
    ("WLD-10", batch_job(2), {"/spec/completions": 1}, "$.spec.completions", "warning"),
    ("WLD-10", batch_job(), {"/spec/backoffLimit": DROP}, "$.spec.backoffLimit", "warning"),
    ("WLD-11", deployment(4), {GANG_AT: "4"}, "$.spec.strategy", "warning"),
]  # fmt: skip


@pytest.mark.parametrize(("rule", "base", "changes", "path", "severity"), CASES)
def test_wrong_field(rule: str, base: dict[str, Any], changes: dict[str, Any], path: str, severity: str) -> None:
    assert said(change(base, changes)).get((rule, path)) == severity


@pytest.mark.parametrize(
    ("base", "changes"),
    [
        (deployment(2), {}),
        (deployment(), {"/metadata/labels/ring-controller.atlas": "ascend-910b"}),
        (STS, {"/spec/replicas": 2, GANG_AT: "2", "/spec/podManagementPolicy": "Parallel"}),
        (deployment(4), {GANG_AT: "4", "/spec/strategy": {"type": "Recreate"}}),
        (deployment(4), {GANG_AT: "2", "/spec/strategy": {"rollingUpdate": {"maxSurge": "50%", "maxUnavailable": 0}}}),
        (batch_job(2), {}),
        (deployment(2), {"/metadata/annotations/sp-block": "8", f"{META}/annotations/sp-block": "8",
                         f"{META}/annotations/huawei.com~1schedule_policy": "chip8-node8-sp",
                         "/spec/template/spec/containers/0/resources": {"requests": {"huawei.com/npu": 8},
                                                                        "limits": {"huawei.com/npu": 8}},
                         "/spec/template/spec/containers/0/env": DROP}),
    ],
)  # fmt: skip
def test_right_field(base: dict[str, Any], changes: dict[str, Any]) -> None:
    assert [r for r in rules(change(base, changes)) if r.startswith("WLD")] == []


@pytest.mark.parametrize(
    ("surge", "unavailable", "gang", "stuck"),
    [
        ("25%", "25%", "2", False),  # of 4: 1 up, 1 down
        ("25%", "25%", "3", True),
        (0, 0, "2", True),  # both 0 counts as one unavailable
        (2, "0%", "2", False),
        ("100%", 0, "4", False),
    ],
)
def test_a_rollout_needs_room_for_the_gang(surge: Any, unavailable: Any, gang: str, stuck: bool) -> None:
    strategy = {"type": "RollingUpdate", "rollingUpdate": {"maxSurge": surge, "maxUnavailable": unavailable}}
    found = rules(change(deployment(4), {GANG_AT: gang, "/spec/strategy": strategy}))
    assert ("WLD-11" in found) is stuck


def group(**spec: Any) -> dict[str, Any]:
    return {
        "apiVersion": "scheduling.volcano.sh/v1beta1",
        "kind": "PodGroup",
        "metadata": {"name": "gang", "namespace": "research"},
        "spec": {"minMember": 2, "queue": "default", "minResources": {A910: 16}, **spec},
    }


JOINED = change(
    deployment(2),
    {f"{META}/annotations/scheduling.k8s.io~1group-name": "gang", GANG_AT: DROP, "/spec/strategy/type": "Recreate"},
)


def test_a_group_that_fits() -> None:
    assert [r for r in rules(group(), JOINED) if r.startswith("PGR")] == []


@pytest.mark.parametrize(
    ("rule", "spec", "path"),
    [
        ("PGR-01", {"minMember": 3}, "doc[0]:$.spec.minMember"),
        ("PGR-01", {"minMember": 0}, "doc[0]:$.spec.minMember"),
        ("PGR-02", {"minResources": {"cpu": 8}}, f"doc[0]:$.spec.minResources['{A910}']"),
        ("PGR-02", {"minResources": {A910: 8}}, f"doc[0]:$.spec.minResources['{A910}']"),
    ],
)
def test_a_group_that_does_not_fit(rule: str, spec: dict[str, Any], path: str) -> None:
    assert said(group(**spec), JOINED).get((rule, path)) == "error"


def test_the_named_group_must_exist() -> None:
    path = "$.spec.template.metadata.annotations['scheduling.k8s.io/group-name']"
    assert said(JOINED)["PGR-03", path] == "error"
    other = change(group(), {"/metadata/namespace": "default"})
    assert ("PGR-03", "doc[1]:" + path) in said(other, JOINED)
    exported = change(JOINED, {"/metadata/uid": "1"})
    assert "PGR-03" not in rules(exported)


def test_values_of_group_and_pods() -> None:
    labelled = change(group(), {"/metadata/labels/fault-scheduling": "force", "/metadata/annotations/sp-fit": "idlest"})
    pods = change(JOINED, {f"{META}/labels/fault-scheduling": "grace", f"{META}/annotations/sp-fit": "other"})
    found = said(labelled, pods)
    assert found["PGR-04", "doc[0]:$.metadata.labels['fault-scheduling']"] == "error"
    assert found["PGR-05", "doc[0]:$.metadata.annotations['sp-fit']"] == "warning"
    same = change(JOINED, {f"{META}/labels/fault-scheduling": "FORCE", f"{META}/annotations/sp-fit": "idlest"})
    assert not {"PGR-04", "PGR-05"} & set(rules(labelled, same))


def test_an_ignored_gang_size() -> None:
    both = change(JOINED, {GANG_AT: "2"})
    assert said(group(), both)["PGR-06", "doc[1]:" + GANG_PATH] == "warning"
    job = change(ascend_job(), {"/metadata/annotations/huawei.com~1schedule_minAvailable": "2"})
    assert said(job)["PGR-06", f"$.metadata.annotations['{GANG}']"] == "warning"
    broken = change(volcano_job(), {"/metadata/annotations/huawei.com~1schedule_minAvailable": "x"})
    assert said(broken)["PGR-06", f"$.metadata.annotations['{GANG}']"] == "error"
    assert "PGR-06" not in rules(deployment(2))


@pytest.mark.parametrize(
    ("budget", "wrong"), [("1", False), ("50%", False), ("0", True), ("100%", True), ("-1", True), ("half", True)]
)
def test_disruption_budgets(budget: str, wrong: bool) -> None:
    found = rules(change(pod(), {"/metadata/annotations/volcano.sh~1jdb-min-available": budget}))
    assert ("PGR-07" in found) is wrong


def test_two_disruption_budgets() -> None:
    keys = ("min-available", "max-unavailable")
    changes = {f"/metadata/annotations/volcano.sh~1jdb-{key}": "1" for key in keys}
    assert "PGR-07" in rules(change(group(), changes))


def test_pods_that_are_part_of_a_job_are_not_judged_as_one() -> None:
    part = change(pod(), {"/metadata/annotations/huawei.com~1schedule_policy": "chip8-node-8"})
    assert rules(part) == ["SEL-01"]
    owner = [{"apiVersion": "batch.volcano.sh/v1alpha1", "kind": "Job", "name": "train", "uid": "1"}]
    assert rules(change(part, {"/metadata/ownerReferences": owner})) == []
    joined = change(part, {"/metadata/annotations/scheduling.k8s.io~1group-name": "gang"})
    assert "SEL-01" not in rules(group(), joined, change(joined, {"/metadata/name": "other"}))


def test_a_group_that_nobody_joins() -> None:
    assert said(group(), deployment(2))["PGR-08", "doc[0]:$.metadata.name"] == "warning"
    assert "PGR-08" not in rules(group())
