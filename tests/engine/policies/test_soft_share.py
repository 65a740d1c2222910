"""Soft sharing: chapter 11.19.5."""

from __future__ import annotations

import pytest

from ascendctl.engine.api import place, reschedule
from ascendctl.engine.result import Invalid, Placement
from tests.engine.build import A910, NPU, Node, Pod, cluster, job, policy

SHARE = "huawei.com/scheduler.softShareDev."
CORES, MEMORY, SHARING = SHARE + "aicoreQuota", SHARE + "hbmQuota", SHARE + "policy"
ENABLED = {"huawei.com/scheduler.chip1softsharedev.enable": "true"}


def quota(text):
    return dict(zip((CORES, MEMORY, SHARING), text.split("/"), strict=True))


def soft_job(text, pods=1, resource=A910, percent=None):
    labels = quota(text)
    asked = int(labels[CORES]) if percent is None else percent
    return job(asked, pods, resource=resource, labels=labels, annotations=policy("chip1-softShareDev"))


def soft_node(free=range(8), memory="32G", name="a", used=0, resource=A910, labels=ENABLED):
    size = 100 * len(list(free))
    return Node(name, free, 8, resource=resource, capacity=800, allocatable=size, idle=size - used,
                labels={**labels, "mind-cluster/npu-chip-memory": memory})  # fmt: skip


def holding(text, node="a", resource=A910, real=True):
    """Pods that use chips: "0:20/10240/fixed-share,1:..."."""
    found = []
    for number, part in enumerate(filter(None, text.split(","))):
        chip, _, share = part.partition(":")
        key = "huawei.com/AscendReal" if real else resource
        name = f"{resource.removeprefix('huawei.com/')}-{chip}"
        found.append(Pod(f"other-{number}", node, "other", chips=[int(chip)], annotations=quota(share) | {key: name}))
    return found


def outcome(found, nodes, pods=()):
    result = place(found, cluster(nodes, pods))
    if not isinstance(result, Placement):
        return [group.code for group in result.rejected]
    return result.trace.scores[0][1] // 100, [pod.npus for pod in result.pods]


PLAIN = "30/10240/fixed-share"


@pytest.mark.parametrize(
    ("example", "used", "free", "raw", "chip"),
    [
        ("S1", "", range(8), 0, 0),
        ("S2", "0:20/10240/fixed-share", range(8), 2400, 0),
        ("S3", "0:20/10240/elastic", range(8), 2400, 1),
        ("S4", "0:40/10240/fixed-share,1:70/10240/fixed-share", range(8), 3200, 1),
        ("S5", "0:20/25600/fixed-share", range(8), 16, 1),
        ("S7", "2:40/4096/fixed-share,5:40/4096/fixed-share", range(8), 2720, 2),
    ],
)
def test_one_pod(example, used, free, raw, chip):
    assert outcome(soft_job(PLAIN), [soft_node(free)], holding(used)) == (raw, [(chip,)])


def test_chip_from_the_resource_annotation():
    pods = holding("0:20/10240/fixed-share", real=False)
    assert outcome(soft_job(PLAIN), [soft_node()], pods) == (2400, [(0,)])


def test_refusals():
    assert outcome(soft_job(PLAIN), [soft_node([0])], holding("0:80/1024/fixed-share")) == ["E_SOFT_NODE_TOTAL"]  # S6
    assert outcome(soft_job(PLAIN), [soft_node(labels={})]) == ["E_SOFT_LABEL"]  # S8
    assert outcome(soft_job(PLAIN), [soft_node(memory="big")]) == ["E_SOFT_MEM"]
    assert outcome(soft_job("40/1024/fixed-share"), [soft_node([0])], holding("0:20/10240/elastic")) == [
        "E_SOFT_NODE_TOTAL"
    ]
    pods = holding("0:40/1024/fixed-share,1:40/1024/fixed-share")
    assert outcome(soft_job("70/1024/fixed-share", percent=1), [soft_node([0, 1])], pods) == ["E_SOFT_NODE_TOTAL"]


def test_the_whole_job_must_fit_on_the_node():
    share = "20/10240/fixed-share"
    assert outcome(soft_job(share, 5), [soft_node([0])]) == ["E_SOFT_NODE_TOTAL"]  # S9: memory
    assert outcome(soft_job(share, 5), [soft_node([0, 1])])[1][0] == (0,)
    assert outcome(soft_job("50/1024/elastic", 18), [soft_node(), soft_node(name="b")]) == ["E_SOFT_NODE_TOTAL"]  # S10
    assert outcome(soft_job("60/4096/fixed-share", 2), [soft_node([0], name="a"), soft_node([0], name="b")]) == [
        "E_SOFT_NODE_TOTAL"
    ]  # S11
    assert outcome(soft_job("60/4096/fixed-share", 2), [soft_node([0, 1])])[1] == [(0,), (1,)]


def test_no_chip_although_the_sums_fit():
    """Cores are free on one chip, memory on the other."""
    pods = holding("0:10/30000/fixed-share,1:90/1024/fixed-share")
    assert outcome(soft_job("50/20000/fixed-share"), [soft_node([0, 1])], pods) == ["E_SOFT_NO_CHIP"]


def test_pods_in_a_row():
    assert outcome(soft_job("20/10000/elastic", 6), [soft_node([0, 1], "112G")])[1] == [(0,)] * 5 + [(1,)]  # S12
    assert outcome(soft_job("40/30000/elastic", 3), [soft_node([0, 1], "64G")])[1] == [(0,), (0,), (1,)]  # S13


def test_atlas_350():
    """S14."""
    nodes = [soft_node(memory="112G", resource=NPU)]
    pods = holding("3:30/4096/best-effort", resource=NPU)
    result = place(soft_job("30/4096/best-effort", resource=NPU), cluster(nodes, pods))
    assert result.trace.scores == (("a", 256000),)
    assert dict(result.pods[0].annotations) == {
        "distributed-job": "false",
        NPU: "npu-3",
        CORES: "30",
        MEMORY: "4096",
        SHARING: "best-effort",
    }


@pytest.mark.parametrize(
    ("labels", "rule"),
    [
        (quota("101/10240/elastic"), "SFT-02"),
        (quota("50/0/elastic"), "SFT-03"),
        (quota("50/1024/fixed-shared"), "SFT-04"),
        (quota("50|30/1024/elastic"), "SFT-02"),
        ({CORES: "50", MEMORY: "1024"}, "SFT-01"),
        ({}, "SFT-01"),
    ],
)
def test_bad_quotas(labels, rule):
    """S15."""
    found = job(50, labels=labels, annotations=policy("chip1-softShareDev"))
    result = place(found, cluster([soft_node()]))
    assert isinstance(result, Invalid)
    assert (result.code, result.rules[0][0]) == ("InvalidResourceRequest", rule)


def test_reschedule_frees_the_quota_of_lost_pods():
    found = soft_job("60/1024/elastic", 2)
    made = cluster([soft_node([0], name="a"), soft_node([0, 1], name="b")])
    before = place(found, made).to_dict()
    assert [pod["node"] for pod in before["pods"]] == ["b", "b"]
    running = [
        Pod(
            pod["name"],
            pod["node"],
            "job",
            rank=pod["rank"],
            chips=pod["npus"],
            annotations=pod["annotations"],
            asks=60,
        )
        for pod in before["pods"]
    ]
    now = cluster([soft_node([0], name="a"), soft_node([0, 1], name="b", used=120)], running)
    result = reschedule(found, now, before | {"fault": {"kind": "job"}}, ["a"])
    assert [(pod.node, pod.npus) for pod in result.pods] == [("b", (0,)), ("b", (1,))]
    result = reschedule(found, now, before | {"fault": {"kind": "pod"}}, ["c"])
    assert [(pod.node, pod.npus, pod.moved) for pod in result.pods] == [("b", (0,), False), ("b", (1,), False)]
