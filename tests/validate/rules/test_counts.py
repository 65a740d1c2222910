"""RES-04 to RES-12 (chapter 40 §3.2, §4)."""

from __future__ import annotations

from dataclasses import replace

import pytest

from ascendctl.engine.select import select_policy
from ascendctl.manifest.job import Role
from ascendctl.validate.catalogue import find_rule, hint_of, message_of
from ascendctl.validate.rules import counts
from tests.engine.build import A910, NPU, job, policy


def rules(found):
    return [v.rule for v in counts.check(found, select_policy(found).policy)]


def advice(found):
    return [v.rule for v in counts.advise(found, select_policy(found).policy)]


def sentences(violation):
    rule = find_rule(violation.rule)
    return message_of(rule, violation), hint_of(rule, violation)


@pytest.mark.parametrize(
    ("annotations", "legal", "illegal"),
    [
        ({}, [1, 2, 4, 8], [0, 3, 5, 6, 7, 9]),
        (policy("chip4-node4"), [1, 2, 4], [3, 5]),
        (policy("chip1-node2"), [1, 2, 8], [9]),
        (policy("chip8-node8"), range(1, 9), [9]),
        (policy("chip8-node16"), [*range(1, 9), 10, 12, 14, 16], [9, 11, 13, 15, 17]),
        (policy("chip1-node16"), [1, 16], [17]),
        (policy("chip2-node16"), [1, 2, 4, 16], [3, 5, 15, 18]),
        (policy("chip4-node8"), range(1, 9), [9]),
    ],
)
def test_legal_counts(annotations, legal, illegal):
    """Chapter 10 §6.8."""
    for n in legal:
        assert rules(job(n, annotations=annotations)) == [], n
    for n in illegal:
        assert len(rules(job(n, annotations=annotations))) == 1, n


def test_sentences_name_the_legal_counts():
    found = counts.check(job(9, annotations=policy("chip8-node16")), "chip8-node16")[0]
    assert sentences(found) == (
        "9 NPUs per pod (worker) are illegal for policy chip8-node16: allowed are 1 to 8, 10, 12, 14, 16, for the chips "
        "are two groups of 8, used in pairs",
        "ask for 1 to 8, 10, 12, 14, 16 NPUs per pod",
    )
    found = counts.check(job(12, 2, annotations=policy("chip4-node8")), "chip4-node8")[0]
    assert sentences(found)[0] == "24 NPUs over 2 NPU pods: at most 8 per pod on average"


def test_undocumented_counts():
    assert advice(job(3, annotations=policy("chip1-node2"))) == ["RES-05"]
    assert advice(job(2, annotations=policy("chip1-node2"))) == []
    assert advice(job(1, 2, annotations=policy("chip1-node2"))) == ["RES-05", "RES-12"]
    assert advice(job(12, annotations=policy("chip2-node8"))) == ["RES-05"]
    assert advice(job(12, annotations=policy("chip2-node16"))) == []
    assert advice(replace(job(4), product="a300t")) == ["RES-05"]


def test_mesh_counts_without_affinity():
    assert advice(job(6, resource=NPU, annotations=policy("chip4-node8"))) == ["RES-10"]
    assert advice(job(3, annotations=policy("chip4-node8"))) == ["RES-05"]  # Atlas 800: 1, 2, 4, 8
    assert advice(job(12, resource=NPU, annotations=policy("chip4-node16"))) == []


def test_several_counts_in_one_task():
    roles = [Role("a", 1, 8, A910), Role("b", 1, 4, A910)]
    found = list(counts.advise(job(0, roles=roles, annotations=policy("chip8-node8")), "chip8-node8"))
    mixed = next(v for v in found if v.rule == "RES-11")
    assert (
        sentences(mixed)[0]
        == "pods that share task-spec '' ask for 4 and 8 NPUs: the scheduler checks only one of them"
    )
    apart = [replace(role, task_spec=role.name) for role in roles]
    assert "RES-11" not in advice(job(0, roles=apart, annotations=policy("chip8-node8")))


def test_distributed_jobs_below_a_node():
    selector = {"accelerator-type": "module"}
    assert advice(job(4, 2, selector=selector)) == ["RES-12"]
    assert advice(job(8, 2, selector=selector)) == []
    assert advice(job(4, 1, selector=selector)) == []
    assert advice(job(8, 2, annotations=policy("chip8-node16"))) == []  # smaller counts stand there as equals


def test_a3_rules_say_which_pod():
    roles = [Role("master", 1, 0, ""), Role("worker", 1, 4, A910)]
    found = counts.check(job(0, roles=roles, annotations=policy("chip2-node16")), "chip2-node16")[0]
    assert sentences(found)[0] == "pods of master ask for no NPU: the A3 policy refuses them"


def test_rules_of_other_policies_stay_silent():
    assert counts.check(job(3), "vnpu-static") == []
    assert list(counts.advise(job(3), "")) == []
