"""What an unschedulable job lacks, and what would make it fit. Expected values: counted by hand on the given nodes."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from ascendctl import load_jobs
from ascendctl.engine.api import place
from ascendctl.engine.remedy import remedies, supply
from ascendctl.engine.result import Unschedulable
from tests.engine.build import SUBHEALTHY, Node, cluster

EIGHT = range(8)
JOB = """
apiVersion: batch.volcano.sh/v1alpha1
kind: Job
metadata: {{name: train, labels: {{{labels}}}, annotations: {{{annotations}}}}}
spec:
  schedulerName: volcano
  minAvailable: {pods}
  tasks:
  - name: work
    replicas: {pods}
    template:
      spec:
        nodeSelector: {{{selector}}}
        containers: [{{name: c, resources: {{requests: {{huawei.com/Ascend910: {npus}}}}}}}]
"""
A2 = "huawei.com/schedule_policy: chip8-node8"


def job(npus, pods=1, annotations=A2, labels="", selector=""):
    text = JOB.format(npus=npus, pods=pods, annotations=annotations, labels=labels, selector=selector)
    return load_jobs(text)[0]


def answer(asked, world):
    result = place(asked, world)
    assert isinstance(result, Unschedulable)
    return supply(asked, world), remedies(asked, world, result)


def test_numbers_side_by_side():
    world = cluster([Node("a", range(3)), Node("b", range(5)), Node("c", EIGHT, cordoned=True)])
    lines, found = answer(job(8), world)
    assert lines == (
        "asked: 1 pod of 8 huawei.com/Ascend910; free: 8 on 2 nodes open to the job, 5 at most on one, 0 nodes with 8",
    )
    assert found == ("the cordoned nodes uncordoned",)


@pytest.mark.parametrize(
    ("node", "asked", "expected"),
    [
        (Node("a", EIGHT, health=SUBHEALTHY), job(8, labels="subHealthyStrategy: forceExit"), "label subHealthyStrategy: ignore"),
        (Node("a", EIGHT, labels={"zone": "x"}), job(8, selector="zone: y"), "no node selector zone: y"),
        (Node("a", EIGHT, taints='[{"key":"team","value":"z","effect":"NoSchedule"}]'), job(8), "a toleration of taint team"),
    ],
)  # fmt: skip
def test_one_change(node, asked, expected):
    assert answer(asked, cluster([node]))[1] == (expected,)


def test_a_change_that_does_not_help_is_not_named():
    node = Node("a", range(7), taints='[{"key":"team","effect":"NoSchedule"}]', cordoned=True)
    assert answer(job(8), cluster([node]))[1] == ()


def test_dropping_a_selector_must_keep_the_policy():
    # without accelerator-type the job would be one for the Atlas 800, another policy
    node = Node("a", EIGHT, labels={"accelerator-type": "module"})
    asked = job(8, annotations="", selector="accelerator-type: module-910b-8")
    assert answer(asked, cluster([node]))[1] == ()


def test_fewer_pods():
    world = cluster([Node("a", EIGHT), Node("b", EIGHT), Node("c", EIGHT), Node("d", range(7))])
    assert answer(job(8, 6), world)[1] == ("3 replicas of work instead of 6, minAvailable 3",)
    assert answer(job(8, 6), cluster([Node("d", range(7))]))[1] == ()


def test_fewer_pods_of_a_kind_without_named_roles():
    # the gang of 2 still holds with 3 pods
    text = """
apiVersion: apps/v1
kind: StatefulSet
metadata: {name: serve}
spec:
  replicas: 6
  podManagementPolicy: Parallel
  template:
    metadata:
      annotations: {huawei.com/schedule_policy: chip8-node8, huawei.com/schedule_minAvailable: "%s"}
    spec:
      schedulerName: volcano
      containers: [{name: c, resources: {requests: {huawei.com/Ascend910: 8}}}]
"""
    world = cluster([Node("a", EIGHT), Node("b", EIGHT), Node("c", EIGHT)])
    assert answer(load_jobs(text % 2)[0], world)[1] == ("3 replicas instead of 6",)
    assert answer(load_jobs(text % 6)[0], world)[1] == ("3 replicas instead of 6, huawei.com/schedule_minAvailable 3",)


def counting(calls):
    def again(asked, world):
        calls.append(asked)
        return place(asked, world)

    return again


def test_of_hundreds_of_taints_those_of_most_nodes_are_tried():
    # team-7 stands on two nodes, each other one on one, and the job needs two nodes
    taint = '[{"key":"team-%d","effect":"NoSchedule"}]'
    world = cluster([Node(f"n{i}", EIGHT, taints=taint % i) for i in range(300)] + [Node("x", EIGHT, taints=taint % 7)])
    asked, calls = job(8, 2), []
    assert remedies(asked, world, place(asked, world), counting(calls)) == ("a toleration of taint team-7",)
    assert len(calls) <= 20


def test_of_hundreds_of_selectors_those_that_alone_keep_pods_off_are_tried():
    # node a lacks k299 alone, node b lacks all: only without k299 is there a place
    labels = {f"k{i}": "v" for i in range(299)}
    world = cluster([Node("a", EIGHT, labels=labels), Node("b", EIGHT)])
    asked, calls = job(8, selector=", ".join(f"k{i}: v" for i in range(300))), []
    assert remedies(asked, world, place(asked, world), counting(calls)) == ("no node selector k299: v",)
    assert len(calls) <= 3


def superpods(sizes, reserve):
    world = cluster([Node(f"n{i}-{k}", range(16), chips=16) for i, size in enumerate(sizes) for k in range(size)])
    owner = np.repeat(np.arange(len(sizes), dtype=np.int32), sizes)
    config = replace(world.config, super_pod_size=8, configured_super_pod_size=8, reserve_nodes=reserve)
    return replace(world, superpod=owner, server_index=np.arange(world.size, dtype=np.int32), config=config)


def test_blocks_of_a_superpod():
    # two SuperPoDs of 3 and 2 nodes: no logical SuperPoD of 4 nodes, but two of 2
    policy = 'huawei.com/schedule_policy: chip2-node16-sp, sp-block: "64"'
    lines, found = answer(job(16, 4, policy), superpods([3, 2], 0))
    assert lines == (
        "asked: 4 pods of 16 huawei.com/Ascend910; free: 80 on 5 nodes open to the job, 16 at most on one, 5 nodes with 16",
        "SuperPoD with most of these: 0, 3 nodes",
    )
    assert found == ("label super-pod-affinity: soft", "sp-block 32 instead of 64")


def test_whole_blocks_of_pods():
    # four nodes hold two logical SuperPoDs of two; three need six
    policy = 'huawei.com/schedule_policy: chip2-node16-sp, sp-block: "32"'
    assert answer(job(16, 6, policy), superpods([2, 2], 0))[1] == ("4 replicas of work instead of 6, minAvailable 4",)


def test_document():
    asked, world = job(8), cluster([Node("a", range(3))])
    result = place(asked, world)
    assert isinstance(result, Unschedulable) and "supply" not in result.to_dict()
    document = replace(result, supply=("asked",), remedies=("less",)).to_dict()
    assert (document["supply"], document["remedies"]) == (["asked"], ["less"])
