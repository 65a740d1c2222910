"""Rules TOR-* and the scheduler's validation of tor-affinity (chapter 23 §2, §10.1, §13.5)."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

import ascendctl
from ascendctl.manifest.job import Job, PodSpec, Role
from ascendctl.snapshot.config import SchedulerConfig
from ascendctl.validate.api import validate
from ascendctl.validate.options import Options
from ascendctl.validate.rules.switch import RULES, advise, check, label_only
from tests import cases
from tests.engine.policies.switch_world import answer, case

NOT_IMPORTED = "job tor affinity check failed, cluster basic-tor-node-cm is not imported"


def _job(label: str | None, pods: int = 4, resource: str = "huawei.com/Ascend910", **more: Any) -> Job:
    labels = {} if label is None else {"tor-affinity": label}
    labels |= more.pop("labels", {})
    role = Role("worker", pods, 8, resource)
    specs = tuple(PodSpec(f"train-worker-{i}", 0, i, i, 8) for i in range(pods))
    return Job("train", "default", "vcjob", (role,), specs, labels, resource=resource, min_available=pods, **more)


@pytest.mark.parametrize("value", ["large-model-schema", "normal-schema", "null", None])
def test_legal_values(value: str | None) -> None:
    assert check(_job(value), imported=True) == []


@pytest.mark.parametrize("value", ["Normal-Schema", "", "null|normal-schema", "normal", " normal-schema"])
def test_illegal_values(value: str) -> None:
    """VAL-2, VAL-3, VAL-5."""
    (found,) = label_only(_job(value))
    assert found.rule == "TOR-01"
    assert found.reason == f"job tor affinity label check failed,tor-affinity label value is {value}"


def test_topology_is_tested_first() -> None:
    """VAL-1, VAL-4."""
    assert [v.reason for v in check(_job("normal-schema"), imported=False)] == [NOT_IMPORTED]
    assert [v.rule for v in check(_job("bad"), imported=False)] == ["TOR-02"]
    assert check(_job("null"), imported=False) == [] == check(_job(None), imported=False)


def test_place_and_rules_agree() -> None:
    example = case(4, "L1{0,1,2,3}", "normal 2")
    example["job"]["labels"]["tor-affinity"] = "Normal-Schema"
    result = answer(example)
    assert result["outcome"] == "invalid"
    assert result["code"] == "job tor affinity label check failed,tor-affinity label value is Normal-Schema"
    assert result["findings"][0]["rule"] == "TOR-01"
    example["leaves"] = None
    assert answer(example)["code"] == NOT_IMPORTED
    example["job"]["labels"]["tor-affinity"] = "null"
    assert answer(example)["outcome"] == "placed"


def test_merged_labels() -> None:
    """VAL-3: the job says null, its pods say normal-schema."""
    example = case(4, "L1{0,1,2,3}", "normal 2")
    text = cases.manifest(example).replace("tor-affinity: normal-schema", 'tor-affinity: "null"', 1)
    labelled = text.replace(
        "template:\n", 'template:\n        metadata:\n          labels:\n            tor-affinity: "x"\n'
    )
    job = ascendctl.load_jobs(labelled)[0]
    assert job.tor_affinity == "null|x"
    assert [v.rule for v in label_only(job)] == ["TOR-01"]


def test_unknown_version_and_limit() -> None:
    """VAL-6: anything else is 1.0 and 2."""
    example = case(4, "L1{0,1,2,3}", "normal 2")
    example["params"] = {"nslb-version": "2", "shared-tor-num": "3"}
    config = ascendctl.load_snapshot(cases.objects(example)).config
    assert (config.nslb_version, config.shared_tor_num) == ("1.0", 2)


def _rules(job: Job, **more: Any) -> list[str]:
    return [violation.rule for violation in advise(job, **more)]


def test_fillers_and_wide_jobs() -> None:
    assert _rules(_job("large-model-schema", 3)) == ["TOR-03"]
    assert _rules(_job("large-model-schema", 4)) == [] == _rules(_job("normal-schema", 2))
    assert _rules(_job("normal-schema", 9), width=8) == ["TOR-04"]
    assert _rules(_job("normal-schema", 8), width=8) == [] == _rules(_job(None, 9), width=8)


@pytest.mark.parametrize(
    ("job", "word"),
    [
        (_job("normal-schema", resource="huawei.com/Ascend910-2c"), "virtual"),
        (_job("normal-schema", resource="huawei.com/npu-core"), "virtual"),
        (_job("normal-schema", annotations={"huawei.com/schedule_policy": "chip1-softShareDev"}), "softly shared"),
        (_job("normal-schema", resource="huawei.com/Ascend310P"), "Ascend310P"),
        (_job("normal-schema", selector={"accelerator-type": "module-a3-16-super-pod"}), "SuperPoD"),
    ],
)
def test_combinations_that_it_is_not_made_for(job: Job, word: str) -> None:
    (found,) = advise(job)
    assert found.rule == "TOR-05" and word in found.message
    assert list(advise(replace(job, labels={}))) == []


def test_version_two_knows_pytorch_only() -> None:
    job = _job("normal-schema", labels={"framework": "mindspore"})
    assert _rules(job, config=SchedulerConfig(nslb_version="2.0")) == ["TOR-05"]
    assert _rules(job, config=SchedulerConfig()) == [] == _rules(job)


def test_version_two_is_made_for_a2_nodes() -> None:
    """The support matrix of chapter 23 §2."""
    two, job = SchedulerConfig(nslb_version="2.0"), _job("normal-schema", selector={"accelerator-type": "module"})
    assert _rules(job, config=two) == ["TOR-05"]
    assert _rules(job, config=SchedulerConfig()) == [] == _rules(job, config=two, width=8)
    assert _rules(_job("normal-schema", product="a800-half"), config=two) == ["TOR-05"]
    assert _rules(_job("normal-schema", selector={"accelerator-type": "module-910b-8"}), config=two) == []


def test_counts_that_switch_affinity_needs() -> None:
    """TOR-06, traps 16 and 17: minAvailable and NPU pods are all the pods."""
    job = _job("normal-schema", 4)
    assert _rules(replace(job, min_available=2)) == ["TOR-06"] == _rules(replace(job, min_available=5))
    leader = replace(job.roles[0], name="leader", replicas=1, npus=0, resource="")
    mixed = replace(
        job, roles=(*job.roles, leader), pods=(*job.pods, PodSpec("train-leader-0", 1, 0, 4, 0)), min_available=5
    )
    (found,) = advise(mixed)
    assert found.rule == "TOR-06" and "1 of 5 pods have none" in found.message
    assert _rules(replace(mixed, labels={})) == []


@pytest.mark.parametrize(("level", "found"), [("single_layer", ["TOR-04"]), ("double_layer", []), (None, [])])
def test_width_counts_in_a_single_layer_network_of_the_snapshot(level: str | None, found: list[str]) -> None:
    """TOR-04 through `validate --snapshot`: tor_level decides, not nslb-version."""
    example = case(4, "L1{0,1,2,3} L2{0,1,2,3}", "normal 5", level=level)
    options = Options(snapshot=ascendctl.load_snapshot(cases.objects(example)))
    assert [f.rule for f in validate(cases.manifest(example), options=options) if f.rule.startswith("TOR")] == found


def test_rules_are_documented() -> None:
    assert [rule.id for rule in RULES] == [f"TOR-0{n}" for n in range(1, 7)]
    assert all(rule.about and rule.wrong and rule.right and rule.hint for rule in RULES)
