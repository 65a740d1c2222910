"""D31-*, VNP-* and SFT-* (chapter 40 §3.2): what the scheduler tests stands in tests/engine; here what it does not."""

from __future__ import annotations

from dataclasses import replace

import pytest

from ascendctl.engine.select import select_policy
from ascendctl.manifest.job import Role
from ascendctl.manifest.load import load_jobs
from ascendctl.snapshot.config import SchedulerConfig
from ascendctl.validate.catalogue import family, find_rule, hint_of, message_of
from ascendctl.validate.rules import inference, soft_share, vnpu
from tests.engine.build import A310, A310P, A910, Node, cluster, job, policy

CORE = "huawei.com/npu-core"
QUOTA = {soft_share.CORES: "30", soft_share.MEMORY: "1024", soft_share.SHARING: "elastic"}


def duo(n=1, pods=1, **labels):
    return job(n, pods, resource=A310P, labels={"duo": "true"} | labels)


def on_cards(made, nodes=None):
    return [v.rule for v in inference.advise(made, select_policy(made).policy, nodes)]


@pytest.mark.parametrize(
    ("made", "expected"),
    [
        (job(1, resource=A310, labels={"npu-310-strategy": "cards"}), ["D31-01"]),
        (duo(npu_310="x"), []),
        (job(1, resource=A310P, labels={"npu-310-strategy": "cards"}), ["D31-02"]),
        (job(5, resource=A310, labels={"npu-310-strategy": "card"}), ["D31-03"]),
        (job(4, resource=A310, labels={"npu-310-strategy": "card"}), []),
        (job(1, resource=A310P, labels={"duo": "yes"}), ["D31-05"]),
        (job(3, resource=A310P, labels={"duo": "true", "npu-310-strategy": "card"}), ["D31-07"]),
        (duo(9), ["D31-08"]),
        (duo(8), []),
        (replace(job(1, resource=A310P), product="300i-duo"), ["D31-10"]),
        (job(1, labels={"duo": "true", "distributed": "false"}), ["D31-11", "D31-11"]),
        (duo(17), []),  # D31-04 says it
        (job(1, resource=A310P, labels={"npu-310-strategy": "card"}), ["D31-10"]),
        (job(1, resource=A310P, labels={"distributed": "true"}), ["D31-10"]),
        (job(1, resource=A310P, labels={"npu-310-strategy": "chip", "distributed": "false"}), []),
        (duo(1, distributed="True"), ["D31-12"]),
        (duo(1, distributed="false"), []),
    ],
)
def test_inference_cards(made, expected):
    assert on_cards(made) == expected


def sentence(made):
    violation = next(inference.advise(made, select_policy(made).policy))
    return message_of(find_rule(violation.rule), violation)


def test_fall_through_names_the_policy_that_runs():
    """Chapter 11.5.3: every unknown combination of a 310P job becomes the plain policy; the raw label text counts."""
    plain = "the scheduler silently uses the plain 310P policy"
    assert plain in sentence(duo(1, **{"npu-310-strategy": "cards"}))
    assert plain in sentence(job(1, resource=A310P, labels={"duo": "false"}))
    assert plain in sentence(job(1, resource=A310P, labels={"npu-310-strategy": "card"}))
    by_chance = job(1, resource=A310P, labels={"duo": "duo", "npu-310-strategy": "card"})
    assert sentence(by_chance).endswith("though by chance the scheduler uses the policy duo-card")


def test_duo_against_a_snapshot():
    duo_node = Node("a", range(4), 4, resource=A310P, labels={"infer-card-type": "card-300i-duo"})
    assert on_cards(duo(5), cluster([duo_node])) == ["D31-08"]
    assert on_cards(duo(4), cluster([duo_node])) == []
    assert on_cards(duo(1), cluster([Node("a", range(4), 4, resource=A310P)])) == ["D31-09"]


def on_shares(made):
    return [v.rule for v in soft_share.advise(made, select_policy(made).policy)]


def test_soft_sharing():
    named = policy("chip1-softShareDev")
    assert on_shares(job(30, labels=QUOTA, annotations=named)) == []
    assert on_shares(job(1, labels=QUOTA, annotations=named)) == ["SFT-05"]
    assert on_shares(job(30, labels=QUOTA, annotations=policy("chip8-node8"))) == ["SFT-06"]
    assert on_shares(job(30, annotations=named | QUOTA)) == ["SFT-08"]


TEMPLATE = """
apiVersion: apps/v1
kind: Deployment
metadata: {name: d}
spec:
  replicas: 1
  selector: {matchLabels: {app: d}}
  template:
    metadata: {labels: %s, annotations: %s}
    spec:
      schedulerName: volcano
      containers:
      - name: c
        image: i
        securityContext: {runAsUser: 1000}
        env: [{name: ASCEND_VISIBLE_DEVICES, value: "0"}]
        resources: {limits: {%s: %d}}
"""


def manifest(labels, annotations, resource, count):
    return load_jobs(TEMPLATE % (dict(labels), dict(annotations), resource, count))[0]


def test_device_variable_is_in_the_way():
    made = manifest(QUOTA, policy("chip1-softShareDev"), A910, 30)
    found = [v for v in soft_share.advise(made, "chip1-softShareDev") if v.rule == "SFT-07"]
    assert found[0].path[-3:] == ("env", 0, "name")
    made = manifest({"ring-controller.atlas": "ascend-310P"}, {}, CORE, 4)
    assert [v.rule for v in vnpu.advise(made, SchedulerConfig(given=frozenset({"presetVirtualDevice"})))] == [
        "VNP-12",
        "VNP-11",
    ]


def on_vnpus(made, **config):
    return [v.rule for v in vnpu.advise(made, SchedulerConfig(**config))]


def core_job(cores=4, pods=1, kind="Deployment", **labels):
    labels = {"ring-controller.atlas": "ascend-310P"} | labels
    return job(0, roles=[Role("w", pods, cores, CORE, labels=labels)], kind=kind)


def test_dynamic_vnpus():
    told = {"given": frozenset({"presetVirtualDevice"})}
    assert on_vnpus(core_job(), **told) == []
    assert on_vnpus(core_job()) == ["VNP-02"]
    assert on_vnpus(core_job(**{"ring-controller.atlas": "ascend-npu"}), **told) == ["VNP-01"]
    assert on_vnpus(core_job(**{"vnpu-level": "mid", "vnpu-dvpp": "maybe"}), **told) == ["VNP-07", "VNP-07"]
    assert on_vnpus(core_job(kind="AscendJob"), **told) == ["VNP-10"]
    assert on_vnpus(core_job(4, 2, "vcjob"), **told) == ["VNP-10"]
    assert on_vnpus(core_job(4, 2, "Deployment"), **told) == []


def test_static_vnpus():
    assert on_vnpus(job(1, resource="huawei.com/Ascend310P-2c.1cpu")) == []
    assert on_vnpus(job(1, resource="huawei.com/Ascend310P-8c")) == ["VNP-09"]
    assert [v.rule for v in vnpu.check_static(job(2, resource="huawei.com/Ascend910-2c"))] == ["VNP-08"]
    assert vnpu.check_static(job(1, resource="huawei.com/Ascend910-2c")) == []


def test_core_counts_without_a_snapshot():
    """Template keys unknown: A2 and A3 core counts and labels fail where no key allows them."""
    made = job(0, roles=[Role("w", 1, 6, CORE, labels={"ring-controller.atlas": "ascend-910b"})])
    assert vnpu.check(made, SchedulerConfig()) == []
    assert [v.rule for v in vnpu.check(made, SchedulerConfig(), ("910B3",))] == ["VNP-05"]
    made = job(0, roles=[Role("w", 1, 7, CORE, labels={"ring-controller.atlas": "ascend-910b"})])
    assert [v.rule for v in vnpu.check(made, SchedulerConfig())] == ["VNP-05"]
    roles = [
        Role(name, 1, n, CORE, labels={"ring-controller.atlas": "ascend-910b"}) for name, n in (("a", 6), ("b", 5))
    ]
    assert [v.rule for v in vnpu.check(job(0, roles=roles), SchedulerConfig())] == ["VNP-05"]
    made = core_job(3)
    assert [v.rule for v in vnpu.check(made, SchedulerConfig())] == ["VNP-03"]


def test_a_pod_without_vnpu_is_refused():
    roles = [Role("m", 1, 0, ""), Role("w", 1, 4, CORE, labels={"ring-controller.atlas": "ascend-310P"})]
    found = vnpu.check(job(0, roles=roles), SchedulerConfig())[0]
    assert (found.reason, found.message) == (
        "InvalidArgument",
        "pods of m ask for no vNPU, as every pod of the job must",
    )


@pytest.mark.parametrize("name", ["RES", "SEL", "D31", "VNP", "SFT"])
def test_every_rule_documents_itself(name):
    for rule in family(name).values():
        assert rule.when and rule.message, rule.id
        assert rule.wrong and rule.right, rule.id


def test_sentences_fill_in_their_values():
    made = job(5, resource=A310, labels={"npu-310-strategy": "card"})
    for violation in inference.advise(made, "310-card"):
        rule = find_rule(violation.rule)
        assert "{" not in message_of(rule, violation) + hint_of(rule, violation)
