"""SEL-01 to SEL-16 (chapter 40 §3.2, §1.11)."""

from __future__ import annotations

import pytest

from ascendctl.manifest.job import Role
from ascendctl.manifest.load import load_jobs
from ascendctl.validate.catalogue import find_rule, hint_of, message_of
from ascendctl.validate.rules import selection
from tests.engine.build import A310, A310P, A910, NPU, job, policy


def found(made, product=""):
    return list(selection.check(made, product))


def rules(made, product=""):
    return [v.rule for v in found(made, product)]


def accelerator(value):
    return {"accelerator-type": value}


@pytest.mark.parametrize(
    ("resource", "annotations", "selector", "expected"),
    [
        (A910, policy("chip8-node-8"), {}, ["SEL-01"]),
        (NPU, policy("CHIP8-NODE8"), {}, ["SEL-01"]),
        (NPU, {}, {}, ["SEL-02"]),
        (A910, {}, accelerator("module-a3-8"), ["SEL-03"]),
        (A910, {}, accelerator("350-Atlas-8"), ["SEL-03"]),
        (A910, {}, {}, ["SEL-04"]),
        (A910, {"sp-block": "16"}, {}, []),
        (A910, {}, accelerator("module|half"), ["SEL-05"]),
        (A910, policy("chip8-node8"), accelerator("module-a3-16"), ["SEL-06"]),
        (A910, policy("chip2-node16-sp"), accelerator("module-a3-16"), []),
        (A910, policy("chip2-node16"), accelerator("module-a3-16-super-pod"), []),
        (A910, policy("chip4-node8"), accelerator("module"), ["SEL-17"]),
        (A910, policy("chip4-node8"), {}, ["SEL-17"]),
        (A910, policy("chip4-node8"), accelerator("module-910b-8"), ["SEL-06"]),
        (NPU, policy("chip4-node8"), accelerator("350-Atlas-4p-8"), []),
        (A910, {}, accelerator("card-910b-infer"), []),
        (A910, {}, accelerator("my-card-server"), ["SEL-03"]),
        (A910, {"sp-block": "16"}, accelerator("my-card-server"), []),
        (A910, policy("chip8-node8"), accelerator("module-910b-8|half"), ["SEL-05"]),
        (A910, policy("chip2-node16-sp"), accelerator("module-a3-16|module-a3-16-super-pod"), ["SEL-05"]),
        (A910, policy("multilevel"), accelerator("module"), []),
        (A910, policy("chip8-node8"), accelerator("module-910b-8"), []),
        (NPU, policy("chip8-node8"), accelerator("850-Atlas-8p-8"), []),
        (NPU, policy("chip8-node8-sp"), accelerator("850-SuperPod-Atlas-8"), []),
        (NPU, policy("chip1-node8"), accelerator("350-Atlas-16"), ["SEL-06"]),
        (NPU, policy("chip2-node16"), {}, ["SEL-07"]),
        (A910, policy("chip1-node8"), {}, ["SEL-07"]),
        (A910, policy("module-a3-16"), {}, ["SEL-12"]),
        (A910, policy("chip2-node8"), {}, ["SEL-12"]),
        (A310P, policy("chip8-node8"), {}, ["SEL-13"]),
        (A310, {}, {}, []),
    ],
)
def test_policy_and_selector(resource, annotations, selector, expected):
    assert rules(job(2, resource=resource, annotations=annotations, selector=selector)) == expected


def test_sentences():
    violation = found(job(8, annotations=policy("chip8-node-8")))[0]
    rule = find_rule(violation.rule)
    assert message_of(rule, violation) == (
        "schedule_policy 'chip8-node-8' is unknown: the scheduler would silently use the policy module (Atlas 800 "
        "training server, full)"
    )
    assert hint_of(rule, violation) == "did you mean chip8-node8?"
    violation = found(job(8, resource=NPU, selector=accelerator("850-Atlas-8p-8")))[0]
    assert hint_of(find_rule("SEL-02"), violation) == (
        "add the annotation huawei.com/schedule_policy: chip8-node8 (Atlas 850, standard cluster)"
    )


def sentences(made):
    return [(v.rule, v.severity, message_of(find_rule(v.rule), v), hint_of(find_rule(v.rule), v)) for v in found(made)]


def test_what_runs_and_what_to_write():
    """Every silent fall-through of chapter 10 §4.2 names the policy that runs and a way out."""
    unknown = policy("zz")
    assert sentences(job(8, annotations=unknown, selector=accelerator("module-910b-16")))[0][2].endswith(
        "silently use the policy chip8-node16 (Atlas A2 Box16)"
    )
    assert sentences(job(16, annotations=unknown | {"sp-block": "16"}))[0][2].endswith(
        "silently use the policy chip2-node16-sp (Atlas 900 A3 SuperPoD)"
    )
    made = sentences(job(8, resource=NPU, annotations=policy("")))[0]
    assert made[2].endswith("silently use the policy module (Atlas 800 training server, full)")
    assert "chip8-node8-ra64-sp" in made[3] and "chip2-node16" not in made[3]
    assert sentences(job(8, annotations=unknown, selector=accelerator("350-Atlas-8")))[0][2].endswith(
        "silently use no policy"
    )
    made = sentences(job(1, selector=accelerator("my-card-server")))[0]
    assert made[1] == "warning" and "silently uses the policy chip1-node2" in made[2]
    made = sentences(job(8, resource=NPU, annotations=policy("chip8-node8"), selector=accelerator("350-Atlas-8")))[0]
    assert made[3] == "write schedule_policy chip1-node8, or select accelerator-type 850-Atlas-8p-8"
    made = sentences(job(4, annotations=policy("chip4-node4"), selector=accelerator("module")))[0]
    assert made[3] == "remove schedule_policy, or select accelerator-type half"
    made = sentences(job(16, resource=NPU, annotations=policy("chip2-node16")))[0]
    assert made[3].startswith("ask for huawei.com/Ascend910, or name a policy of huawei.com/npu: chip8-node8, ")
    assert "the policy 310P handles the job" in sentences(job(1, resource=A310P, annotations=unknown))[0][2]
    static = job(1, resource="huawei.com/Ascend310P-2c", annotations=unknown)
    assert "no policy looks at chips" in sentences(static)[0][2]
    made = sentences(job(4, annotations=policy("chip4-node8")))[0]
    assert "4-chip meshes" in made[2] and "remove schedule_policy" in made[3]


def test_different_selectors_name_what_runs():
    """A named policy runs whatever the selectors say; card is found in a joined value (chapter 10 §13.1 S9, S10)."""
    mixed = job(8, annotations=policy("chip8-node8"), selector=accelerator("module-910b-8|half"))
    violation = found(mixed)[0]
    assert "the policy chip8-node8 (Atlas A2 training server) still takes the job" in violation.message
    assert violation.outcome == "RUN"
    assert "selects no policy" in sentences(job(1, selector=accelerator("module|half")))[0][2]
    violation = found(job(1, selector=accelerator("half|card")))[0]
    assert violation.outcome == "FALL" and "chip1-node2" in violation.values["fallback"]


def test_fall_back_is_right_for_the_first_generation():
    assert found(job(8, labels={"ring-controller.atlas": "ascend-910"}))[0].severity == "info"
    assert found(job(8), "a800")[0].severity == "info"
    assert found(job(8), "a2")[0].severity == ""


def test_values_that_differ_between_pods():
    text = """
apiVersion: batch.volcano.sh/v1alpha1
kind: Job
metadata: {name: j, labels: {fault-scheduling: grace}}
spec:
  minAvailable: 2
  schedulerName: volcano
  tasks:
  - name: a
    replicas: 1
    template:
      metadata: {annotations: {sp-block: "16"}, labels: {fault-scheduling: force}}
      spec: {containers: [{name: c, image: i, resources: {limits: {huawei.com/Ascend910: 16}}}]}
  - name: b
    replicas: 1
    template:
      metadata: {annotations: {sp-block: "32"}}
      spec: {containers: [{name: c, image: i, resources: {limits: {huawei.com/Ascend910: 16}}}]}
"""
    assert rules(load_jobs(text)[0]) == ["SEL-08", "SEL-09"]
    named = text.replace("metadata: {name: j,", 'metadata: {name: j, annotations: {sp-block: "32"},')
    assert rules(load_jobs(named)[0]) == ["SEL-09"]


@pytest.mark.parametrize(
    ("labels", "product", "expected"),
    [
        ({"ring-controller.atlas": "ascend910"}, "", ["SEL-11"]),
        ({"ring-controller.atlas": "ascend-910|ascend-910b"}, "", ["SEL-11"]),
        ({"ring-controller.atlas": "ascend-910"}, "a2", ["SEL-11"]),
        ({"ring-controller.atlas": "ascend-910b"}, "a2", []),
        ({"podgroup-sched-enable": "on"}, "", ["SEL-14"]),
        ({"podgroup-sched-enable": "true"}, "", ["SEL-14"]),
        ({"framework": "tensorflow"}, "a2", ["SEL-16"]),
    ],
)
def test_labels(labels, product, expected):
    assert rules(job(8, labels=labels, annotations=policy("chip8-node8")), product) == expected


def test_batch_scheduling_belongs_to_a3():
    labels = {"podgroup-sched-enable": "true"}
    assert rules(job(16, labels=labels, annotations=policy("chip2-node16-sp"))) == []


@pytest.mark.parametrize(
    ("resource", "selector", "expected"),
    [
        (A310P, {"host-arch": "arm64"}, ["SEL-10"]),
        (A310P, {"host-arch": "huawei-arm", "servertype": "soc"}, []),
        (A310P, {"servertype": "SoC"}, ["SEL-15"]),
        (A310P, {"servertype": "Ascend310P-8"}, []),
        (A310, {"servertype": "soc"}, ["SEL-15"]),
    ],
)
def test_node_selectors(resource, selector, expected):
    assert rules(job(0, roles=[Role("w", 1, 1, resource, selector=selector)])) == expected


def test_kinds_of_the_product():
    assert rules(job(1, resource=A310P, kind="AscendJob"), "310p") == ["SEL-16"]
    assert rules(job(1, resource=A310P, kind="Deployment"), "310p") == []


def test_dynamic_vnpus_have_their_own_ring_controllers():
    made = job(1, resource="huawei.com/npu-core", labels={"ring-controller.atlas": "huawei.com.npu"})
    assert rules(made) == []
