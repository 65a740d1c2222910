"""Pods and jobs of a dump: requests, chips, ranks, merged attributes."""

from __future__ import annotations

from typing import Any

import pytest

from ascendctl.snapshot.load import load_snapshot
from ascendctl.snapshot.pod_requests import milli, pod_requests, units
from tests.snapshot import objects as o

GROUP = "scheduling.k8s.io/group-name"
NPU = "huawei.com/Ascend910"


@pytest.mark.parametrize(
    ("value", "thousandths"),
    [
        ("8", 8000),
        (8, 8000),
        ("8k", 8000000),
        ("800m", 800),
        ("1.5", 1500),
        ("1u", 1),
        ("x", None),
        (True, None),
        (None, None),
    ],
)
def test_quantities(value: Any, thousandths: int | None) -> None:
    assert milli(value) == thousandths


def test_units_are_cut_towards_zero_and_fit_int32() -> None:
    assert (units(800), units(1999), units(-1999), units(-800)) == (0, 1, -1, 0)
    assert units(milli("9E") or 0) == (1 << 31) - 1


def container(**amounts: Any) -> dict[str, Any]:
    return {"resources": {kind: {NPU: value, "cpu": "1"} for kind, value in amounts.items()}}


@pytest.mark.parametrize(
    ("spec", "amount"),
    [
        ({"containers": [container(requests="2")]}, 2000),
        ({"containers": [container(limits="2")]}, 2000),
        ({"containers": [container(limits="4", requests="2")]}, 2000),
        ({"containers": [container(requests="2"), container(requests=1)]}, 3000),
        (
            {
                "containers": [container(requests="2")],
                "initContainers": [container(requests="5"), container(requests="3")],
            },
            5000,
        ),
        ({"containers": [container(requests="2")], "overhead": {NPU: "1"}}, 3000),
        ({"containers": [container(requests="x")]}, None),
        ({"containers": None}, None),
        ({"containers": [5, {"resources": []}, {"resources": {"requests": 5}}]}, None),
    ],
)
def test_requests_of_a_pod(spec: dict[str, Any], amount: int | None) -> None:
    assert pod_requests(spec) == ({} if amount is None else {NPU: amount})


def test_idle_counts_every_pod_that_has_not_finished() -> None:
    def asking(name: str, **more: Any) -> dict[str, Any]:
        return o.pod(name, requests={NPU: "1"}, **more)

    pods = [
        asking("run"),
        asking("pending", phase="Pending"),
        asking("none", phase=""),
        asking("ending", deletionTimestamp="2026-08-29T10:39:12Z"),
        asking("done", phase="Succeeded"),
        asking("failed", phase="Failed"),
        asking("elsewhere") | {"spec": {"nodeName": "n9", "containers": [container(requests="4")]}},
    ]
    cluster = load_snapshot([o.node(), *pods, o.pod("unbound", "", requests={NPU: "1"})])
    assert cluster.resources[NPU].idle.tolist() == [4]
    assert cluster.pods.names == ("done", "ending", "failed", "none", "pending", "run")
    assert cluster.pods.active.tolist() == [False, True, False, True, True, True]
    assert cluster.pods.terminating.tolist() == [False, True, False, False, False, False]
    assert cluster.pods.request.tolist() == [1] * 6 and cluster.resource_names[cluster.pods.resource[0]] == NPU
    assert list(cluster.pods.uids) == [f"uid-{name}" for name in cluster.pods.names]


def test_fractions_of_units_add_up() -> None:
    pods = [o.pod(f"p{i}", requests={NPU: "400m"}) for i in range(2)]
    cluster = load_snapshot([o.node(capacity={NPU: "2"}), *pods])
    assert cluster.resources[NPU].idle.tolist() == [1]
    over = load_snapshot([o.node(capacity={NPU: "1"}), *[o.pod(f"p{i}", requests={NPU: "1"}) for i in range(3)]])
    assert over.resources[NPU].idle.tolist() == [-2]


def test_virtual_npus_and_ai_cores_are_resources_of_their_own() -> None:
    node = o.node(capacity={"huawei.com/Ascend910-2c": "4", "huawei.com/npu-core": "60"}, base="{}")
    pods = [o.pod("a", requests={"huawei.com/Ascend910-2c": 1}), o.pod("b", requests={"huawei.com/npu-core": 8})]
    cluster = load_snapshot([node, *pods, o.device_map(o.device_list("")), o.DEVICE_MODE])
    idle = {name: int(columns.idle[0]) for name, columns in cluster.resources.items() if columns.idle_defined[0]}
    assert idle == {"huawei.com/Ascend910-2c": 3, "huawei.com/npu-core": 52}
    assert cluster.kind.tolist() == [-1]


def test_chips_of_a_pod_that_finished_are_known_but_not_used() -> None:
    held = {"huawei.com/AscendReal": "Ascend910-3"}
    cluster = load_snapshot([o.node(), o.pod("p", annotations=held, phase="Succeeded")])
    assert cluster.pods.chips.tolist() == [8] and cluster.used.tolist() == [0]


def test_an_empty_or_huge_real_list_falls_through() -> None:
    for text in ("", "x" * ((1 << 20) + 1), "é" * ((1 << 19) + 1)):
        pod = o.pod("p", annotations={"huawei.com/AscendReal": text, NPU: "Ascend910-1"})
        assert load_snapshot([o.node(), pod]).pods.chips.tolist() == [2]


def test_used_ranks_compare_as_text() -> None:
    pods = [
        o.pod("a", annotations={GROUP: "job", "hccl/rankIndex": "01"}),
        o.pod("b", annotations={GROUP: "job"}),
        o.pod("c", annotations={GROUP: "job"}),
    ]
    assert load_snapshot([o.node(), *pods]).pods.rank.tolist() == [1, 0, 1]


def test_ranks_from_the_task_index_and_of_lone_pods() -> None:
    indexed = o.pod("a", annotations={GROUP: "job"})
    indexed["spec"]["containers"][0]["env"] = [{"name": "X", "value": "9"}, {"name": "VC_TASK_INDEX", "value": "4"}]
    alone, free = o.pod("b", annotations={GROUP: "lone"}), o.pod("c")
    cluster = load_snapshot([o.node(), indexed, alone, free])
    assert cluster.pods.rank.tolist() == [4, 0, -1]
    assert cluster.pods.job.tolist() == [0, 1, -1]


def test_unbound_pods_take_part_in_the_numbering_only() -> None:
    pods = [o.pod("w-0", "", annotations={GROUP: "job"}), o.pod("w-1", annotations={GROUP: "job"})]
    cluster = load_snapshot([o.node(), *pods])
    assert cluster.pods.names == ("w-1",) and cluster.pods.rank.tolist() == [1]


def group(name: str, **fields: Any) -> dict[str, Any]:
    return {
        "apiVersion": "scheduling.volcano.sh/v1beta1",
        "kind": "PodGroup",
        "metadata": {"name": name, "namespace": "ns1"},
    } | fields


def test_jobs_merge_labels_and_annotations() -> None:
    meta = {
        "name": "job",
        "namespace": "ns1",
        "labels": {"tor-affinity": "null", "a": "1"},
        "annotations": {"sp-block": "32", "huawei.com/schedule_ubmemory": "true"},
        "ownerReferences": [{"kind": "Job", "name": "train"}],
    }
    owner = group("job", metadata=meta, spec={"minMember": 3}, status={"phase": "Running"})
    pods = [
        o.pod(
            "w-2",
            annotations={GROUP: "job", "hccl/rankIndex": "0", "ra-block": "8"},
            labels={"tor-affinity": "normal-schema"},
        ),
        o.pod("w-1", annotations={GROUP: "job", "hccl/rankIndex": "1", "ra-block": "16"}, labels={"soft": "x"}),
        o.pod("w-0", annotations={GROUP: "job", "hccl/rankIndex": "2", "other": "1"}, labels={"soft": "X", "a": "1"}),
        o.pod("alone", annotations={GROUP: "b-10", "sp-block": "4"}, labels={"l": "1"}),
        o.pod("second", annotations={GROUP: "b-2"}),
    ]
    jobs = load_snapshot([o.node(), owner, *pods]).jobs
    assert jobs.names == ("b-2", "b-10", "job") and jobs.namespaces == ("ns1",) * 3
    assert jobs.phases == ("", "", "Running") and jobs.min_available.tolist() == [-1, -1, 3]
    assert jobs.owners == ("", "", "train")
    assert jobs.labels.row(2) == {"tor-affinity": "null|normal-schema", "a": "1", "soft": "x"}
    assert jobs.labels.row(1) == {"l": "1"} and jobs.labels.row(0) == {}
    assert jobs.annotations.row(2) == {"sp-block": "32", "huawei.com/schedule_ubmemory": "true", "ra-block": "8"}
    assert jobs.annotations.row(1) == {"sp-block": "4"}


def test_pod_annotations_that_nobody_reads_are_left_out() -> None:
    carried = {
        "sp-block": "1",
        "huawei.com/x": "1",
        "volcano.sh/task-spec": "w",
        "cni.projectcalico.org/podIP": "1",
        "kubectl.kubernetes.io/last-applied-configuration": "{}",
    }
    pods = load_snapshot([o.node(), o.pod("p", annotations=carried)]).pods
    assert pods.annotations.row(0) == {"sp-block": "1", "huawei.com/x": "1", "volcano.sh/task-spec": "w"}
