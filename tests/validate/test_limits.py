"""Limits on values that Volcano's resource definitions state, by release (chapter 40 §1.3, §1.4)."""

from __future__ import annotations

from typing import Any

import pytest

from tests.validate.manifests import A910, change, rules, volcano_job

GROUP = {
    "apiVersion": "scheduling.volcano.sh/v1beta1",
    "kind": "PodGroup",
    "metadata": {"name": "gang", "namespace": "research"},
    "spec": {"minMember": 2, "queue": "default", "minResources": {A910: 16}},
}
QUEUE = {
    "apiVersion": "scheduling.volcano.sh/v1beta1",
    "kind": "Queue",
    "metadata": {"name": "team"},
    "spec": {"weight": 1},
}
HYPER_NODE = {
    "apiVersion": "topology.volcano.sh/v1alpha1",
    "kind": "HyperNode",
    "metadata": {"name": "leaf-1"},
    "spec": {"tier": 1, "members": [{"type": "Node", "selector": {"exactMatch": {"name": "node-1"}}}]},
}
LONG, SELECTOR, TASK = "n" * 254, "/spec/members/0/selector", "/spec/tasks/0"

CASES = [
    # base, change, findings under 1.15, 1.12, 1.9
    (volcano_job(), {"/spec/priorityClassName": "High"}, ["DOC-10"], [], []),
    (volcano_job(), {"/spec/priorityClassName": "high.v1"}, [], [], []),
    (volcano_job(), {"/spec/queue": "team_a"}, ["SCH-03"], ["SCH-03"], ["SCH-03"]),
    (volcano_job(), {"/spec/networkTopology": {"highestTierAllowed": -1}}, ["DOC-09"], [], ["DOC-06"]),
    (volcano_job(), {"/spec/networkTopology": {"highestTierName": LONG}}, ["DOC-10"], ["DOC-06"], ["DOC-06"]),
    (volcano_job(), {"/spec/minSuccess": 0}, ["VCJ-20"], ["VCJ-20"], ["VCJ-20"]),
    (volcano_job(), {f"{TASK}/partitionPolicy": {"totalPartitions": 0, "partitionSize": 2}},
     ["DOC-09"], ["DOC-06"], ["DOC-06"]),
    (volcano_job(), {f"{TASK}/partitionPolicy": {"totalPartitions": 1, "partitionSize": 2, "minPartitions": -1}},
     ["DOC-09"], ["DOC-06"], ["DOC-06"]),
    (volcano_job(), {"/spec/volumes": [{"mountPath": "/a", "volumeClaimName": LONG}]}, ["DOC-10"], [], []),
    (GROUP, {}, [], [], []),
    (GROUP, {"/spec/priorityClassName": LONG}, ["DOC-10"], [], []),
    (GROUP, {"/spec/queue": "team_a"}, ["SCH-03"], ["SCH-03"], ["SCH-03"]),
    (GROUP, {"/spec/subGroupPolicy": [{"name": LONG, "subGroupSize": 1}]}, ["DOC-10"], ["DOC-06"], ["DOC-06"]),
    (GROUP, {"/spec/subGroupPolicy": [{"name": "a", "subGroupSize": 0}]}, ["DOC-09"], ["DOC-06"], ["DOC-06"]),
    (QUEUE, {"/spec/weight": 0}, ["DOC-09"], ["DOC-09"], []),
    (QUEUE, {"/spec/weight": 65535}, [], [], []),
    (QUEUE, {"/spec/weight": 65536}, ["DOC-09"], ["DOC-09"], []),
    (QUEUE, {"/spec/parent": "Root"}, ["DOC-10"], [], []),
    (QUEUE, {"/spec/priority": -1}, ["DOC-09"], [], ["DOC-06"]),
    (QUEUE, {"/spec/dequeueStrategy": "lifo"}, ["DOC-10"], ["DOC-06"], ["DOC-06"]),
    (HYPER_NODE, {}, [], [], None),
    (HYPER_NODE, {"/spec/tier": -1}, ["DOC-09"], [], None),
    (HYPER_NODE, {"/spec/members": []}, ["DOC-10"], [], None),
    (HYPER_NODE, {SELECTOR: {"exactMatch": {}}}, ["DOC-14"], [], None),
    (HYPER_NODE, {SELECTOR: {"exactMatch": {"name": "Node_1"}}}, ["DOC-10"], [], None),
    (HYPER_NODE, {SELECTOR: {"regexMatch": {"pattern": ""}}}, ["DOC-10"], [], None),
    (HYPER_NODE, {"/spec/tierName": LONG}, ["DOC-10"], ["DOC-06"], None),
]  # fmt: skip


@pytest.mark.parametrize(("base", "changes", "newest", "middle", "oldest"), CASES)
def test_limits_by_release(
    base: dict[str, Any], changes: dict[str, Any], newest: list[str], middle: list[str], oldest: list[str] | None
) -> None:
    found = [rules(change(base, changes), volcano=release) for release in ("1.15", "1.12", "1.9")]
    assert found[:2] == [newest, middle]
    assert oldest is None or found[2] == oldest


def test_a_long_scheduler_name() -> None:
    job = change(volcano_job(), {"/spec/schedulerName": "v" * 64})
    assert "DOC-10" in rules(job)
    assert "DOC-10" not in rules(job, volcano="1.12")
    assert "DOC-10" not in rules(change(job, {"/spec/schedulerName": "v" * 63}))
