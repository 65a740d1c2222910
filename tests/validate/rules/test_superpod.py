"""Rules on sp-block and super-pod jobs: chapter 20 §2.3, §12.6 and chapter 40 §3.2."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import pytest

from ascendctl.engine.select import select_policy
from ascendctl.manifest.job import Job, Role
from ascendctl.snapshot.config import SchedulerConfig
from ascendctl.validate.rule import Violation
from ascendctl.validate.rules.superpod import RULES, advise, check
from tests.engine.build import A910, NPU, job, policy

CONFIG = SchedulerConfig()
A3, A3_8, ATLAS_850 = "chip2-node16-sp", "chip2-node8-sp", "chip8-node8-sp"


def sp_job(pods: int, npus: int, block: str | None, name: str = A3, **more: object) -> Job:
    annotations = policy(name) | ({} if block is None else {"sp-block": block})
    return job(npus, pods, annotations=annotations, resource=NPU if name == ATLAS_850 else A910, **more)  # type: ignore[arg-type]


def first(made: Job, name: str = A3) -> tuple[str, str] | None:
    """Rule and reason of the scheduler's verdict."""
    found = check(made, CONFIG, name)
    assert len(found) <= 1
    return (found[0].rule, found[0].reason) if found else None


ARGUMENT, REQUEST = "InvalidArgument", "InvalidResourceRequest"


@pytest.mark.parametrize(
    ("name", "pods", "npus", "block", "expected"),
    [
        (A3, 4, 16, None, None),  # X1
        (A3, 4, 16, "32", None),  # X2
        (A3, 4, 16, "16", None),  # X3
        (A3, 4, 16, "24", ("SPB-03", ARGUMENT)),  # X4
        (A3, 4, 16, "48", ("SPB-07", REQUEST)),  # X5
        (A3, 64, 16, "1024", ("SPB-04", REQUEST)),  # X6
        (A3, 48, 16, "768", None),  # X7
        (A3, 4, 8, "32", ("SPB-08", REQUEST)),  # X8
        (A3, 2, 4, "8", ("SPB-08", REQUEST)),  # X9
        (A3, 1, 4, "4", None),  # X10
        (A3, 1, 4, None, None),  # X10
        (A3, 1, 4, "16", ("SPB-06", REQUEST)),  # X11
        (A3, 1, 3, None, ("SPB-05", REQUEST)),  # X12
        (A3, 1, 16, "32", ("SPB-06", REQUEST)),  # X13
        (A3, 4, 16, "abc", ("SPB-01", ARGUMENT)),  # X14
        (A3, 4, 16, "0", ("SPB-01", ARGUMENT)),  # X14
        (A3, 2, 16, "16 ", ("SPB-01", ARGUMENT)),
        (A3, 2, 16, "1e2", ("SPB-01", ARGUMENT)),
        (A3, 2, 16, "0x10", ("SPB-01", ARGUMENT)),
        (A3, 2, 16, "", ("SPB-01", ARGUMENT)),
        (A3, 2, 16, "+032", None),
        (A3, 2, 16, "-16", ("SPB-01", ARGUMENT)),  # X15: V2 upstream, the same reason
        (A3_8, 4, 8, "16", None),  # X16
        (A3_8, 2, 8, "4", ("SPB-02", ARGUMENT)),  # X17
        (A3_8, 1, 12, None, ("SPB-03", ARGUMENT)),
        (ATLAS_850, 2, 8, "4", None),  # X18, D14
        (ATLAS_850, 1, 3, None, None),  # X19, D9
        (ATLAS_850, 1, 5, None, None),  # X19
        (ATLAS_850, 2, 8, "-8", ("SPB-01", "sp-block is invalid")),
        (ATLAS_850, 2, 8, "12", ("SPB-03", "sp-block is invalid")),
        (ATLAS_850, 64, 8, "512", ("SPB-04", "sp-block is invalid")),
        (ATLAS_850, 1, 8, "16", ("SPB-06", "npu num is invalid")),
        (ATLAS_850, 4, 8, "24", ("SPB-07", "npu num is invalid")),
        (ATLAS_850, 2, 4, "8", ("SPB-08", "npu num is invalid")),
    ],
)
def test_verdicts(name: str, pods: int, npus: int, block: str | None, expected: tuple[str, str] | None) -> None:
    assert first(sp_job(pods, npus, block, name), name) == expected


def test_pods_without_npus() -> None:
    """X20 and V8: A3 exempts scheduler tasks and pods that skip the plugin, Atlas 850 exempts none."""

    def made(helper: Role, name: str = A3) -> Job:
        resource = NPU if name == ATLAS_850 else A910
        worker = Role("worker", 2, 8 if name == ATLAS_850 else 16, resource, task_spec="worker")
        return sp_job(0, 0, None, name, roles=(worker, helper))

    scheduler = Role("scheduler", 1, 0, "", task_spec="scheduler")
    skipped = Role("helper", 1, 0, "", task_spec="helper", annotations={"huawei.com/skip-ascend-plugin": "enabled"})
    plain = Role("helper", 1, 0, "", task_spec="helper")
    assert first(made(scheduler)) is None
    assert first(made(skipped)) is None
    assert first(made(plain)) == ("SPB-09", REQUEST)
    assert first(made(scheduler, ATLAS_850), ATLAS_850) == ("SPB-09", "npu num is invalid")


def test_super_pod_size_bounds_the_block() -> None:
    small = SchedulerConfig(super_pod_size=2)
    found = check(sp_job(4, 16, None), small, A3)  # the default block is the whole job: 4 nodes
    assert [v.rule for v in found] == ["SPB-04"]
    assert found[0].values == {"block": 64, "nodes": 4, "limit": 2, "largest": 32}


def advice(made: Job, product: str = "") -> dict[str, str]:
    """Rule -> severity of the findings that keep no job from running."""
    made = replace(made, product=product)
    severities = {rule.id: rule.severity for rule in RULES}
    return {v.rule: v.severity or severities[v.rule] for v in advise(made, select_policy(made).policy)}


def with_annotations(annotations: Mapping[str, str], labels: Mapping[str, str] | None = None, **more: object) -> Job:
    return job(16, 4, annotations=annotations, labels=labels, **more)  # type: ignore[arg-type]


def test_advice_on_the_block() -> None:
    assert advice(sp_job(4, 16, "64")) == {}
    assert advice(sp_job(4, 16, None)) == {"SPB-12": "warning"}
    assert advice(sp_job(4, 16, "32")) == {"SPB-13": "warning"}
    assert advice(with_annotations(policy("chip2-node16") | {"sp-block": "32"})) == {"SPB-10": "warning"}  # D6
    assert advice(replace(sp_job(4, 16, "16", kind="AscendJob"), min_available=3, npus=48)) == {
        "SPB-13": "warning",
        "SPB-17": "warning",
    }
    assert advice(with_annotations({"sp-block": "64"}, {"tor-affinity": "large-model-schema"})) == {
        "SPB-11": "warning",
        "SPB-16": "warning",
    }
    assert advice(sp_job(4, 16, "64", labels={"tor-affinity": "null"})) == {}


def test_block_without_policy() -> None:
    block = {"sp-block": "64"}
    assert advice(with_annotations(block)) == {"SPB-11": "warning"}
    assert advice(with_annotations(block, selector={"accelerator-type": "module-a3-16-super-pod"})) == {}
    assert advice(with_annotations(block, selector={"accelerator-type": "module-910b-8"})) == {"SPB-11": "error"}
    assert advice(with_annotations(block), "a2") == {"SPB-11": "error"}
    assert advice(with_annotations(block), "a3-pod") == {"SPB-11": "warning"}
    assert advice(with_annotations(block | policy("typo"))) == {"SPB-11": "warning"}


def test_advice_on_affinity_and_fit() -> None:
    mindie = {"app": "x", "jobID": "y"}
    assert advice(sp_job(4, 16, "64", labels={"super-pod-affinity": "Soft"})) == {"SPB-14": "warning"}
    assert advice(sp_job(4, 16, "64", labels={"super-pod-affinity": "hard"})) == {}
    plain = with_annotations(policy("chip2-node16"), {"super-pod-affinity": "soft"})
    assert advice(plain) == {"SPB-14": "warning"}
    for value, labels, expected in (
        ("idlest", mindie, {}),
        ("podAffinity", mindie, {"SPB-15": "warning"}),  # D5
        ("busiest", mindie, {"SPB-15": "warning"}),  # trap 21
        ("idlest", {"app": "x"}, {"SPB-15": "warning"}),
    ):
        made = with_annotations(policy(A3) | {"sp-block": "64", "sp-fit": value}, labels)
        assert advice(made) == expected
    assert advice(with_annotations(policy("chip2-node16") | {"sp-fit": "idlest"}, mindie)) == {"SPB-15": "warning"}


def violations() -> list[Violation]:
    """One violation of every rule."""
    one = [check(sp_job(*case), CONFIG, A3) for case in ((4, 16, "x"), (4, 16, "8"), (4, 16, "24"), (4, 16, "48"))]
    one += [check(sp_job(*case), CONFIG, A3) for case in ((64, 16, "1024"), (1, 3, None), (1, 4, "16"), (4, 8, "32"))]
    one.append(check(sp_job(0, 0, None, roles=(Role("w", 2, 16, A910), Role("h", 1, 0, ""))), CONFIG, A3))
    loud = with_annotations({"sp-block": "16"}, {"tor-affinity": "x", "super-pod-affinity": "x"})
    one += [advise(loud, A3), advise(with_annotations(policy(A3) | {"sp-fit": "x"}), A3)]
    one += [advise(loud, "chip8-node8"), advise(replace(sp_job(4, 16, "64", kind="AscendJob"), min_available=3), A3)]
    return [violation for group in one for violation in group]


def test_every_rule_has_texts_that_its_values_fill() -> None:
    rules = {rule.id: rule for rule in RULES}
    assert list(rules) == [f"SPB-{i:02}" for i in range(1, 18)]
    found = violations()
    assert {v.rule for v in found} == set(rules)
    for violation in found:
        rule = rules[violation.rule]
        for template in (rule.message, rule.hint):
            text = template.format(**violation.values)
            assert text and "{" not in text
