"""Rules on affinity-config and multi-level jobs: chapter 40 §3.2 MLV-*, §5.4 variants, chapter 22 §3.3."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

import ascendctl
from ascendctl.manifest.job import Job
from ascendctl.snapshot.config import SchedulerConfig, TreeLevel
from ascendctl.validate.api import validate
from ascendctl.validate.options import Options
from ascendctl.validate.rule import Violation
from ascendctl.validate.rules.multilevel import RULES, advise, check, planned_pods
from tests import cases
from tests.engine.policies.tree_world import LABELS, TREE, A, inputs, make_case

KEY = "huawei.com/affinity-config"
TWO = (TreeLevel("level1", LABELS[1]), TreeLevel("level2", LABELS[2]))


def job_of(config: str | None, pods: int = 8, **more: Any) -> Job:
    return ascendctl.load_jobs(cases.manifest(make_case(A, pods, config, **more)))[0]


def message(violation: Violation) -> str:
    rule = next(rule for rule in RULES if rule.id == violation.rule)
    assert rule.hint.format(**violation.values)
    return rule.message.format(**violation.values)


@pytest.mark.parametrize(
    ("config", "rule", "reason", "part"),
    [
        (None, "MLV-01", "ML-J01", "needs the annotation"),
        ("", "MLV-02", "ML-J02", "an entry is empty"),
        ("level1", "MLV-02", "ML-J02", "'level1' is not of the form"),
        ("level1=2,", "MLV-02", "ML-J02", "an entry is empty"),
        ("level1=2=3", "MLV-02", "ML-J02", "'level1=2=3' is not of the form"),
        ("level1=two", "MLV-02", "ML-J02", "'two' is no whole number"),
        ("level1=2, level2=4", "MLV-02", "ML-J07", "blanks"),
        ("level1= 2", "MLV-02", "ML-J07", "blanks"),
        ("level1=2,level3=4", "MLV-03", "ML-J03", "level2 is missing (found level3)"),
        ("level01=2", "MLV-03", "ML-J03", "level1 is missing (found level01)"),
        ("level1=0,level2=4", "MLV-04", "ML-J05", "level1 of affinity-config is 0"),
        ("level1=3,level2=6", "MLV-05", "ML-J04", "level2=6 does not divide the 8 pods of the job"),
        ("level1=3,level2=4", "MLV-05", "ML-J04", "level1=3 does not divide the 4 pods of a level2 group"),
    ],
)
def test_check(config: str | None, rule: str, reason: str, part: str) -> None:
    (found,) = check(job_of(config))
    assert (found.rule, found.reason) == (rule, reason)
    assert part in message(found)


def test_blanks_offer_the_trimmed_form() -> None:
    (found,) = check(job_of("level1=2, level2=4"))
    assert found.values["advice"] == "write level1=2,level2=4"


@pytest.mark.parametrize(
    "config", ["level1=2,level2=4", "level2=8,level1=8", "level1=1", "level1=+4", "level1=3,level1=4"]
)
def test_accepted(config: str) -> None:
    assert check(job_of(config)) == []


def test_position_of_the_annotation() -> None:
    (found,) = check(job_of("level1=3"))
    assert found.path == ("metadata", "annotations", KEY)


def test_pods_without_npus() -> None:
    roles = [{"name": "Master", "replicas": 1, "npus": 0}, {"name": "Worker", "replicas": 4, "npus": 16}]
    (found,) = check(job_of("level1=2", roles=roles))
    assert (found.rule, found.reason) == ("MLV-06", "npu num is invalid")
    skipped = job_of("level1=2", roles=roles, annotations={"huawei.com/skip-ascend-plugin": "enabled"})
    assert check(skipped) == []
    assert planned_pods(skipped) == 4


def test_no_pod_to_place() -> None:
    job = job_of("level1=2")
    idle = replace(job, roles=tuple(replace(role, replicas=0) for role in job.roles))
    (found,) = check(idle)
    assert (found.rule, found.reason) == ("MLV-05", "ML-J06")


def rules(violations: list[Violation]) -> list[str]:
    for violation in violations:
        message(violation)
        assert not violation.reason
    return [violation.rule for violation in violations]


def test_documented_sample_is_clean() -> None:
    assert rules(advise(job_of("level1=2,level2=4"), "multilevel")) == []


def test_repeated_key() -> None:
    (found,) = advise(job_of("level1=4,level1=2"), "multilevel")
    assert found.rule == "MLV-03"
    assert "takes the last value, 2" in message(found)


def test_repeated_key_is_not_said_to_be_rejected() -> None:
    """The last value counts (chapter 22 §3.2), so the job is placed."""
    example = make_case(A, 8, "level1=4,level1=2")
    options = Options(snapshot=ascendctl.load_snapshot(cases.objects(example)))
    (found,) = [f for f in validate(cases.manifest(example), options=options) if f.rule.startswith("MLV")]
    assert (found.rule, found.severity, found.outcome) == ("MLV-03", "error", "IGN")
    assert found.message == (
        "affinity-config 'level1=4,level1=2': level1 is given more than once, the scheduler silently takes the last "
        "value, 2"
    )


def test_different_or_partial_requests() -> None:
    roles = [{"name": "Master", "replicas": 1, "npus": 8}, {"name": "Worker", "replicas": 7, "npus": 16}]
    (found,) = advise(job_of("level1=2", roles=roles), "multilevel")
    assert found.rule == "MLV-07"
    assert "Master 8, Worker 16" in message(found)
    job = job_of("level1=2", npus=8)
    assert rules(advise(job, "multilevel")) == []
    (found,) = advise(replace(job, product="a3-pod"), "multilevel")
    assert "each pod asks for 8 NPUs, the nodes have 16" in message(found)
    (found,) = advise(job, "multilevel", None, inputs(make_case(A, 8, "level1=2"))[1])
    assert found.rule == "MLV-07"


def test_affinity_config_without_the_policy() -> None:
    job = job_of("level1=2")
    assert rules(advise(job, "chip2-node16")) == ["MLV-08"]
    assert rules(advise(job, "")) == ["MLV-08"]
    assert rules(advise(job_of(None), "chip2-node16")) == []


def test_depth_of_the_configured_trees() -> None:
    config = SchedulerConfig(resource_levels={"default": TWO, "flat": TWO[:1]})
    job = job_of("level1=2,level2=4,level3=8")
    (found,) = advise(job, "multilevel", config)
    assert found.rule == "MLV-09"
    assert "the deepest tree has 2" in message(found)
    assert rules(advise(job_of("level1=2,level2=4"), "multilevel", config)) == []
    named = replace(job_of("level1=2,level2=4"), selector={TREE: "flat"})
    assert "the deepest tree has 1 (flat)" in message(advise(named, "multilevel", config)[0])
    lost = replace(named, selector={TREE: "moon"})
    assert "tree 'moon', which is not configured" in message(advise(lost, "multilevel", config)[0])
    assert rules(advise(job, "multilevel", SchedulerConfig())) == []


@pytest.mark.parametrize(
    ("given", "part"), [({"reserve-nodes"}, "is not set"), ({"resource-level-config"}, "has no valid tree")]
)
def test_no_tree_at_all(given: set[str], part: str) -> None:
    """Chapter 22 §1.3 ML-C01, ML-C04: told where the scheduler's parameters are known."""
    config = SchedulerConfig(given=frozenset(given))
    (found,) = advise(job_of("level1=2"), "multilevel", config)
    assert found.rule == "MLV-09" and part in message(found)
    assert advise(job_of("level1=2"), "multilevel") == []


def test_labels_of_the_snapshot() -> None:
    more = {"n0": {"labels": {LABELS[1]: None}}, "n5": {"labels": {LABELS[2]: None}}}
    job, cluster = inputs(make_case({"alpha": A}, 8, "level1=2", more=more))
    (found,) = advise(job, "multilevel", cluster.config, cluster)
    assert found.rule == "MLV-10"
    assert message(found) == (
        f"1 of 8 nodes of tree 'alpha' lack the label {LABELS[1]} of level1, such as n0; "
        f"1 of 8 nodes of tree 'alpha' lack the label {LABELS[2]} of level2, such as n5"
    )
    assert rules(advise(replace(job, selector={TREE: "beta"}), "multilevel", None, cluster)) == []


def test_kind_sp_block_and_product() -> None:
    assert rules(advise(job_of("level1=2", kind="vcjob"), "multilevel")) == ["MLV-11"]
    assert rules(advise(job_of("level1=2", annotations={"sp-block": "32"}), "multilevel")) == ["MLV-12"]
    job = job_of("level1=2", npus=8)
    assert rules(advise(replace(job, product="a2"), "multilevel")) == ["MLV-13"]
    assert rules(advise(replace(job_of("level1=2"), product="a3-pod"), "multilevel")) == []


def test_rules_are_complete() -> None:
    assert [rule.id for rule in RULES] == [f"MLV-{i:02}" for i in range(1, 14)]
    assert all(rule.wrong and rule.right and rule.about and rule.hint for rule in RULES)
