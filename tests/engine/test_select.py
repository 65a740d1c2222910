"""Which policy a job gets: chapter 10 §13.1, chapter 11.19.2."""

from __future__ import annotations

import pytest

from ascendctl.engine.select import select_policy
from ascendctl.manifest.job import Role
from tests.engine.build import A310, A310P, A910, NPU, job, policy

CORE = "huawei.com/npu-core"


def chosen(resource: str, annotations=None, selector=None, labels=None):
    return select_policy(job(1, resource=resource, annotations=annotations, selector=selector, labels=labels))


def accelerator(value: str) -> dict[str, str]:
    return {"accelerator-type": value}


@pytest.mark.parametrize(
    ("example", "resource", "annotations", "selector", "expected"),
    [
        ("S1", A910, {}, {}, "module"),
        ("S2", A910, {}, accelerator("card-910b-2"), "chip1-node2"),
        ("S3", A910, policy("chip4-node8"), accelerator("module"), "chip4-node8"),
        ("S4", A910, policy("chip9-node9"), accelerator("module-910b-16"), "chip8-node16"),
        ("S5", A910, {"sp-block": "32"}, accelerator("module-a3-16"), "chip2-node16-sp"),
        ("S5 8", A910, {"sp-block": "32"}, accelerator("module-a3-8-super-pod"), "chip2-node8-sp"),
        ("S6", A910, policy("chip2-node16") | {"sp-block": "32"}, {}, "chip2-node16"),
        ("S7", NPU, {}, accelerator("850-Atlas-8p-8"), ""),
        ("S8", NPU, policy("foo"), {}, "module"),
        ("S8 empty", NPU, policy(""), {}, "module"),
        ("S10", A910, {}, accelerator("half|card"), "chip1-node2"),
        ("K6", NPU, {}, {}, ""),
        ("K11", A910, {}, accelerator("850-Atlas-8p-8"), "850-Atlas-8p-8"),
        ("K12", A910, {}, accelerator("350-Atlas-8"), ""),
        ("K13", NPU, policy("zzz"), {}, "module"),
        ("alias", A910, policy("module-a3-16"), {}, "chip2-node16"),
        ("8-NPU A3", A910, policy("chip2-node8"), {}, "chip2-node16"),
        ("super-pod selector", A910, {}, accelerator("module-a3-16-super-pod"), "chip2-node16-sp"),
        ("mixed insertion", "huawei.com/Ascend310P-V", {}, {}, ""),
        ("static", "huawei.com/Ascend310P-2c.1cpu", {}, {}, "vnpu-static"),
        ("L3", "huawei.com/Ascend310P-8c", {}, {}, ""),
        ("L4", "huawei.com/Ascend910-20c", {}, {}, ""),
    ],
)
def test_examples(example, resource, annotations, selector, expected):
    assert chosen(resource, annotations, selector).policy == expected


def test_selectors_of_different_roles_are_joined_and_match_nothing():
    roles = [
        Role("Master", 1, 1, A910, selector=accelerator("module")),
        Role("Worker", 1, 1, A910, selector=accelerator("half")),
    ]
    found = job(0, roles=roles)
    assert found.selector == accelerator("module|half")
    assert select_policy(found).policy == ""


@pytest.mark.parametrize(
    ("labels", "expected"),
    [
        ({}, "310P"),
        ({"duo": "false", "npu-310-strategy": "card"}, "310P"),
        ({"duo": "true", "npu-310-strategy": "foo"}, "310P"),
        ({"duo": "true"}, "duo-chip"),
        ({"duo": "true", "npu-310-strategy": "card"}, "duo-card"),
        ({"duo": "duo"}, "duo-chip"),
    ],
)
def test_duo_labels(labels, expected):
    assert chosen(A310P, labels=labels).policy == expected


@pytest.mark.parametrize(("strategy", "expected"), [(None, "310-chip"), ("card", "310-card"), ("foo", "")])
def test_310_strategy(strategy, expected):
    labels = {} if strategy is None else {"npu-310-strategy": strategy}
    assert chosen(A310, labels=labels).policy == expected


@pytest.mark.parametrize(
    ("ring", "expected"),
    [
        ("ascend-910", "vnpu-910"),
        ("ascend-910b", "vnpu-910"),
        ("huawei.com.npu", "vnpu-910"),
        ("ascend-310P", "vnpu-310P"),
        ("ascend-npu", ""),
        ("ascend-310P|ascend-910", ""),
    ],
)
def test_dynamic_vnpu_needs_a_known_ring_controller(ring, expected):
    found = chosen(CORE, labels={"ring-controller.atlas": ring})
    assert (found.policy, found.registered) == (expected, bool(expected))


def test_modules_and_the_switch_policy():
    modules = {
        "chip2-node16-sp": "superpod",
        "chip8-node8-sp": "superpod",
        "chip8-node8-ra64-sp": "rack",
        "multilevel": "multilevel",
        "chip1-softShareDev": "soft_share",
        "chip8-node8": "intra",
    }
    for name, module in modules.items():
        assert chosen(NPU, policy(name)).module == module
    assert chosen(A910, labels={"tor-affinity": "normal-schema"}).switch
    assert chosen(A910, labels={"tor-affinity": "null"}).switch is False


def test_silent_fall_through_is_noted():
    assert (
        "silently falls through to policy chip8-node16"
        in chosen(A910, policy("chip9-node9"), accelerator("module-910b-16")).notes[0]
    )
    assert "no policy is named" in chosen(A910).notes[0]
    assert "mesh policy" in chosen(A910, policy("chip4-node8")).notes[0]
    assert "plain 310P" in chosen(A310P, labels={"duo": "yes"}).notes[0]
    assert chosen(A910, policy("chip8-node8")).notes == ()
