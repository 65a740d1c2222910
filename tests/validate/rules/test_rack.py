"""RAB-* findings that keep no job from running (chapter 40 §3.2, chapter 21 §2, §8.1 and §14), and the rule table."""

from __future__ import annotations

import pytest

from ascendctl.snapshot.config import SchedulerConfig
from ascendctl.validate.rules.rack import POLICY, RULES, advise, check
from tests.engine.policies.rack_world import job_of

CONFIG = SchedulerConfig(super_pod_size=64, configured_super_pod_size=64)


def ids(job, policy=POLICY, config=CONFIG):
    return [violation.rule for violation in advise(job, policy, config)]


@pytest.mark.parametrize(
    ("job", "rules"),
    [
        (job_of(8, sp=64, ra=64), []),
        (job_of(1, 4), []),
        (job_of(8, sp=64), ["RAB-11"]),
        (job_of(2, sp=16, ra=4), ["RAB-12"]),
        (job_of(1, 4, 4, 8), ["RAB-12"]),
        (job_of(1, 4, 4, 4), []),
        (job_of(8, sp=64, ra=64, ub=True), ["RAB-13"]),
        (job_of(16, sp=64, ra=64, ub=True), []),
        (job_of(2, sp=4, ra=8, labels={"inferserviceid": "x"}), ["RAB-14"]),
        (job_of(2, sp=8, ra=8, labels={"inferserviceid": "x"}), []),
    ],
)
def test_advice(job, rules):
    assert ids(job) == rules


def test_other_policies_ignore_ra_block():
    assert ids(job_of(2, sp=16, ra=16), "chip8-node8-sp") == ["RAB-10"]
    assert ids(job_of(2, sp=16), "chip8-node8-sp") == []


def test_unknown_configuration_is_a_warning_beside_the_first_error():
    job = job_of(1, 4, 8, 4)
    assert [(v.rule, v.severity) for v in advise(job, POLICY, None)] == [("RAB-08", "warning")]
    assert [v.rule for v in check(job, None)] == ["SPB-06"]


def test_configuration_given_and_wrong_is_an_error_before_the_rest():
    assert [v.rule for v in check(job_of(1, 4, 8, 4), SchedulerConfig())] == ["RAB-08"]


@pytest.mark.parametrize("job", [job_of(8, sp=64, ra=32), job_of(1, 8), job_of(2, sp=4, ra=4)])
def test_valid_jobs(job):
    assert check(job, CONFIG) == []


def test_messages_and_hints_of_all_rules_fill_in():
    by_id = {rule.id: rule for rule in RULES}
    assert sorted(by_id) == [f"RAB-{i:02}" for i in range(1, 15)]
    broken = [
        job_of(4, sp=32, ra=128),
        job_of(8, sp=64, ra=48),
        job_of(2, sp=16, ra=32),
        job_of(3, sp=24, ra=16),
        job_of(12, sp=24, ra=16),
        job_of(5, sp=32, ra=8),
        job_of(2, 5, 2, 8),
        job_of(256, sp=2, ra=1, ub=True),
    ]
    found = [violation for job in broken for violation in check(job, CONFIG)]
    found += check(job_of(4, sp=1024, ra=8, annotations={}), CONFIG) + check(job_of(8, sp=64, ra=8), SchedulerConfig())
    found += [v for job in (job_of(8, sp=64), job_of(2, sp=16, ra=4)) for v in advise(job, POLICY, None)]
    found += advise(job_of(8, sp=64, ra=64, ub=True), POLICY, CONFIG)
    found += advise(job_of(2, sp=4, ra=8, labels={"inferserviceid": "x"}), POLICY, CONFIG)
    found += advise(job_of(2, ra=8), "multilevel", CONFIG)
    seen = set()
    for violation in found:
        if violation.rule in by_id:
            rule = by_id[violation.rule]
            seen.add(rule.id)
            for template in (rule.message, rule.hint):
                assert "{" not in template.format(**violation.values)
    assert seen == set(by_id)
