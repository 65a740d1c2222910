"""Dynamic vNPUs: chapter 11.19.4."""

from __future__ import annotations

import re
from dataclasses import replace

import numpy as np
import pytest

from ascendctl.engine.api import place, reschedule
from ascendctl.engine.policies.vnpu import Offer, score
from ascendctl.engine.result import Invalid, Placement
from ascendctl.snapshot.config import SchedulerConfig
from tests.engine.build import A310P, A910, Node, Pod, cluster, job

CORE, REAL, CHIP_NAME = "huawei.com/npu-core", "huawei.com/AscendReal", "node.kubernetes.io/npu.chip.name"
KINDS = {
    "310P": (A310P, "Ascend310P-8", "310P3", 8, 7, "ascend-310P"),
    "310P-10": (A310P, "Ascend310P-10", "310P1", 10, 7, "ascend-310P"),
    "910B3": (A910, "Ascend910B-20", "910B3", 20, 6, "ascend-910b"),
    "910B4": (A910, "Ascend910B-20", "910B4", 20, 6, "ascend-910b"),
    "910B1": (A910, "Ascend910B-25", "910B1", 25, 6, "ascend-910b"),
    "A3-24": (A910, "Ascend910A3-24", "Ascend910_9391", 24, 6, "ascend-910b"),
    "910A": (A910, "Ascend910-32", "910A", 32, 14, "ascend-910"),
}


def core_node(kind, chips, free=None, name="a", used=0, server=None, **more):
    resource, server_type, chip_name, cores, _, _ = KINDS[kind]
    server_type = server or server_type
    labels = {"accelerator": "huawei-" + resource.removeprefix("huawei.com/"), "servertype": server_type}
    total = cores * chips
    free = range(chips) if free is None else free
    return Node(name, free, chips, resource=resource, labels=labels | {CHIP_NAME: chip_name},
                more={CORE: (total, total, total - used)}, **more)  # fmt: skip


def pods_on(text, node="a"):
    """Running pods "chip-template" or "chip"; "@3" = vGroup 3; "?" = not confirmed."""
    found = []
    for number, part in enumerate(filter(None, text.split(" "))):
        share, group, unsure = re.fullmatch(r"([^@?]+)(@\d)?(\?)?", part).groups()
        real = {} if unsure else {REAL: f"vnpu-{number}_{group[1:]}" if group else f"vnpu-{number}"}
        chip = int(share.split("-")[0])
        found.append(Pod(f"other-{number}", node, "other", chips=[chip], annotations={CORE: share} | real))
    return found


def core_job(kind, cores, pods=1, level=None, dvpp=None, **more):
    labels = {"ring-controller.atlas": KINDS[kind][5]}
    labels |= {key: value for key, value in (("vnpu-level", level), ("vnpu-dvpp", dvpp)) if value}
    found = job(cores, pods, resource=CORE, labels=labels, **more)

    return replace(found, roles=tuple(replace(role, labels=labels) for role in found.roles))


def outcome(found, nodes, pods=(), config=None):
    result = place(found, cluster(nodes, pods, config))
    if isinstance(result, Placement):
        return [pod.annotations[CORE] for pod in result.pods]
    if isinstance(result, Invalid):
        return result.code
    return [group.code for group in result.rejected]


@pytest.mark.parametrize(
    ("example", "kind", "chips", "held", "asked", "expected"),
    [
        ("M1", "310P", 4, "", (1,), "0-vir01"),
        ("M2", "310P", 1, "", (2, "mid"), "0-vir02_1c"),
        ("M3", "310P", 1, "", (2, "high"), "0-vir02"),
        ("M4", "310P", 1, "", (4, None, "yes"), "0-vir04_4c_dvpp"),
        ("M5", "310P", 1, "", (4, None, "no"), "0-vir04_3c_ndvpp"),
        ("M6", "310P", 1, "", (4, None, "haha"), "E_VNPU_TEMPLATE"),
        ("M7", "310P", 1, "", (8,), "0"),
        ("M8", "310P", 2, "", (10,), "E_VNPU_TEMPLATE"),
        ("M9", "310P", 1, "0-vir04@0 0-vir02@1", (2, "high"), "0-vir02_1c"),
        ("M10", "310P", 1, "0-vir04@0 0-vir02@1", (4, "high"), "E_VNPU_SHORT"),
        ("M11", "310P", 1, "0-vir04@0", (4, None, "yes"), "E_VNPU_SHORT"),
        ("M12", "310P", 1, "0-vir04_4c_dvpp@0", (4,), "E_VNPU_SHORT"),
        ("M13", "310P", 1, "0-vir04_4c_dvpp@0", (4, None, "no"), "0-vir04_3c_ndvpp"),
        ("M14", "310P", 1, "0-vir04_3c_ndvpp@0", (4, None, "yes"), "0-vir04_4c_dvpp"),
        ("M15", "310P", 1, "0-vir01@0 0-vir01@1 0-vir01@2", (4,), "E_VNPU_SHORT"),
        ("M15", "310P", 1, "0-vir01@0 0-vir01@1 0-vir01@2", (2,), "0-vir02_1c"),
        ("M16", "310P", 1, "0-vir01@0 0-vir01@1 0-vir01@2 0-vir01@3", (2,), "E_VNPU_SHORT"),
        ("M16", "310P", 1, "0-vir01@0 0-vir01@1 0-vir01@2 0-vir01@3", (1,), "0-vir01"),
        ("M17", "310P", 4, "0-vir04_3c@0 1-vir04@0 1-vir02_1c@1", (2,), "1-vir02_1c"),
        ("M18", "310P", 4, "0-vir04_3c@0 1-vir04@0 1-vir02_1c@1", (4,), "0-vir04_3c"),
        ("M19", "310P", 4, "0-vir04_3c@0 1-vir04@0 1-vir02_1c@1", (8,), "2"),
        ("M19", "310P", 4, "0-vir04_3c@0 1-vir04@0 1-vir02_1c@1", (16,), "2,3"),
        ("M19", "310P", 4, "0-vir04_3c@0 1-vir04@0 1-vir02_1c@1", (24,), "E_VNPU_SHORT"),
        ("M20", "310P", 1, "0-vir02_1c?", (2,), "E_VNPU_SHORT"),
        ("M21", "310P", 4, "0-vir02_1c? 1 3", (2,), "2-vir02_1c"),
        ("M24", "310P", 2, "1", (8,), "0"),
        ("M27", "310P-10", 2, "", (10,), "0"),
        ("M27", "310P-10", 2, "", (8,), "E_VNPU_TEMPLATE"),
        ("M28", "910B3", 8, "", (5,), "0-vir05_1c_16g"),
        ("M29", "910B4", 1, "", (10, None, "yes"), "0-vir10_4c_16g_m"),
        ("M29", "910B4", 1, "", (10, None, "no"), "0-vir10_3c_16g_nm"),
        ("M29", "910B4", 1, "", (10,), "0-vir10_3c_16g"),
        ("M30", "910B3", 1, "0-vir10_3c_32g", (10,), "0-vir10_3c_32g"),
        ("M31", "910B3", 1, "0-vir10_3c_32g 0-vir05_1c_16g", (10,), "E_VNPU_SHORT"),
        ("M32", "A3-24", 16, "", (6,), "0-vir06_1c_16g"),
    ],
)
def test_one_pod(example, kind, chips, held, asked, expected):
    cut = {int(part.split("-")[0]) for part in held.replace("?", "").split()}
    node = core_node(kind, chips, [chip for chip in range(chips) if chip not in cut])
    assert outcome(core_job(kind, asked[0], 1, *asked[1:]), [node], pods_on(held)) == [expected]


def test_pending_cut_allows_the_same_template_only():
    """M22: another chip of the node has an unconfirmed cut."""
    node = core_node("310P", 2, [0])
    held = pods_on("1-vir01?")
    assert outcome(core_job("310P", 2), [node], held) == ["E_VNPU_PENDING"]
    assert outcome(core_job("310P", 1), [node], held) == ["0-vir01"]
    assert outcome(core_job("310P", 8), [node], held) == ["E_VNPU_PENDING"]


def test_second_pod_would_need_another_template():
    """M23."""
    assert outcome(core_job("310P", 4, 2, "high"), [core_node("310P", 1)]) == ["E_VNPU_PENDING"]
    assert outcome(core_job("310P", 4, 2), [core_node("310P", 1)]) == ["0-vir04_3c", "0-vir04_3c"]


def test_pods_on_unhealthy_chips_do_not_count():
    """M25."""
    node = core_node("310P", 2, [0], unhealthy=[1])
    assert outcome(core_job("310P", 4), [node], pods_on("1-vir04@0")) == ["0-vir04_3c"]


def test_nodes_that_cannot_be_cut():
    """M26, M33."""
    assert outcome(core_job("310P", 1), [core_node("310P", 1, server="soc")]) == ["E_VNODE_INVALID"]
    assert outcome(core_job("310P", 8), [core_node("310P", 1, server="soc")]) == ["E_VNPU_TEMPLATE"]
    assert outcome(core_job("910A", 32), [core_node("910A", 1)]) == "InvalidResourceRequest"


@pytest.mark.parametrize(
    ("kind", "cores", "level", "dvpp", "code"),
    [
        ("310P", 3, None, None, "InvalidResourceRequest"),
        ("310P", 5, None, None, "InvalidResourceRequest"),
        ("310P", 2, None, "no", "InvalidResourceRequest"),
        ("910B3", 3, None, None, "InvalidResourceRequest"),
        ("910B3", 5, "high", None, "InvalidResourceRequest"),
        ("910B3", 10, None, "yes", "InvalidResourceRequest"),
        ("910B4", 5, None, "yes", "InvalidResourceRequest"),
        ("910B1", 3, None, None, "InvalidResourceRequest"),
        ("A3-24", 5, None, None, "InvalidResourceRequest"),
    ],
)
def test_job_checks(kind, cores, level, dvpp, code):
    assert outcome(core_job(kind, cores, 1, level, dvpp), [core_node(kind, 2)]) == code


def test_more_job_checks():
    node = core_node("310P", 2)
    assert outcome(core_job("910B4", 10, 1, "high", "yes"), [core_node("910B4", 2)]) == ["0-vir10_4c_16g_m"]
    assert outcome(core_job("310P", 4), [node], config=SchedulerConfig(preset_virtual_device=True)) == "InvalidArgument"
    unknown = job(4, resource=CORE, labels={"ring-controller.atlas": "ascend-npu"})
    assert outcome(unknown, [node]) == ["JOB_UNKNOWN"]
    mixed = [core_node("910B3", 2, name="a"), core_node("910B1", 2, name="b")]
    assert outcome(core_job("910B3", 5), mixed) == "InvalidArgument"


def test_a_node_without_templates_does_not_stop_the_others():
    """On A3 the key is the server type, so a node that cannot be read has another one; it is no usable key."""
    nodes = [core_node("A3-24", 2, name="n1", server="soc"), core_node("A3-24", 2, name="n2")]
    assert outcome(core_job("A3-24", 6), nodes) == ["0-vir06_1c_16g"]
    assert outcome(core_job("A3-24", 6), nodes[:1]) == "InvalidResourceRequest"


def offer(small, accepted=(True, True, True)):
    return Offer(np.array([0 if ok else 1 for ok in accepted], np.int16), np.array(small, np.bool_))


def raws(small, idle=(32, 12, 20)):
    return score(offer(small), np.array(idle, np.int32)).tolist()


def test_scores():
    assert raws([False, False, False]) == [0, 8, 0]
    assert raws([False, True, False]) == [0, 8, 16]
    assert raws([True, True, True]) == [8, 8, 8]
    assert raws([False, False, False], (12, 12, 20)) == [8, 0, 0]


def test_a_node_that_refuses_the_smaller_form_too_counts_for_the_scores():
    """It was remembered before it refused, so the first node without downgrade gets 16."""
    assert score(offer([False, True, False], (True, False, True)), np.array((32, 12, 20), np.int32)).tolist()[2] == 16
    made = cluster([core_node("310P", 1, name="n0"), core_node("310P", 1, [], name="n1")])
    result = place(core_job("310P", 2, 1, "high"), made)
    assert result.trace.scores == (("n0", 1600),)


def test_fullest_node_first():
    nodes = [core_node("310P", 4, name="n1", used=0), core_node("310P", 4, [1, 2, 3], name="n2", used=2)]
    result = place(core_job("310P", 2), cluster(nodes, pods_on("0-vir02_1c@0", "n2")))
    assert (result.pods[0].node, result.pods[0].npus) == ("n2", (0,))
    assert dict(result.pods[0].annotations) == {"distributed-job": "false", CORE: "0-vir02_1c"}


def test_reschedule_forgets_the_lost_pods():
    found = core_job("310P", 4, 2)
    before = place(found, cluster([core_node("310P", 1)])).to_dict()
    running = [
        Pod(pod["name"], "a", "job", rank=pod["rank"], chips=pod["npus"],
            annotations=pod["annotations"] | {REAL: f"Ascend310P-4c.3cpu-10{i}-0_{i}"}, resource=CORE, asks=4)
        for i, pod in enumerate(before["pods"])
    ]  # fmt: skip
    now = cluster([core_node("310P", 1, [], used=8)], running)
    result = reschedule(found, now, before | {"fault": {"kind": "job"}}, ["b"])
    assert [pod.annotations[CORE] for pod in result.pods] == ["0-vir04_3c", "0-vir04_3c"]


def test_reschedule_keeps_the_other_pods():
    found = core_job("310P", 4, 3)
    before = place(found, cluster([core_node("310P", 1, name="a"), core_node("310P", 1, name="b")])).to_dict()
    assert [pod["node"] for pod in before["pods"]] == ["a", "a", "b"]
    now = cluster([core_node("310P", 1, name="a"), core_node("310P", 1, name="b", health=1)])
    result = reschedule(found, now, before | {"fault": {"kind": "pod"}}, ["b"])
    assert [group.code for group in result.rejected] == ["NODE_UNHEALTHY", "NPU_SHORTAGE"]
    now = cluster([core_node("310P", 2, name="a"), core_node("310P", 1, name="b", health=1)])
    result = reschedule(found, now, before | {"fault": {"kind": "pod"}}, ["b"])
    assert [(pod.annotations[CORE], pod.moved) for pod in result.pods] == [
        ("0-vir04_3c", False),
        ("0-vir04_3c", False),
        ("1-vir04_3c", True),
    ]
