"""Rules that need a cluster: SCH-04 to 06, K8S-21, companions of the dump."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from ascendctl.snapshot.load import load_snapshot
from ascendctl.validate.dumped import dumped_objects
from tests.validate.manifests import A910, change, deployment, findings, pod, rules, volcano_job


def node(name: str, npus: int = 8, **labels: str) -> dict[str, Any]:
    amounts = {A910: str(npus)}
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {
            "name": name,
            "labels": {"accelerator-type": "module-910b-8", "kubernetes.io/hostname": name, **labels},
        },
        "status": {
            "capacity": amounts,
            "allocatable": amounts,
            "conditions": [{"type": "Ready", "status": "True"}],
        },
    }


CLUSTER = load_snapshot([node("node-1"), node("node-2"), node("node-3", 4)])
SELECTOR = "/spec/tasks/0/template/spec/nodeSelector"
ANTI = {
    "podAntiAffinity": {
        "requiredDuringSchedulingIgnoredDuringExecution": [
            {
                "topologyKey": "kubernetes.io/hostname",
                "labelSelector": {"matchExpressions": [{"key": "deploy-name", "operator": "In", "values": ["serve"]}]},
            }
        ]
    }
}


def test_a_job_that_fits() -> None:
    assert rules(change(volcano_job(), {SELECTOR: {"accelerator-type": "module-910b-8"}}), snapshot=CLUSTER) == []


def test_more_than_the_cluster_has() -> None:
    found = findings(volcano_job(3), snapshot=CLUSTER)
    assert [f.rule for f in found] == ["SCH-05"]
    assert "24" in found[0].message and "20" in found[0].message
    assert found[0].path.endswith(f"requests['{A910}']")


def test_a_label_that_no_node_has() -> None:
    base = change(volcano_job(), {f"{SELECTOR}/accelerator-type": "module"})
    found = [f for f in findings(base, snapshot=CLUSTER) if f.rule == "SCH-06"]
    assert "0 of 3 nodes" in found[0].message and "3 carry accelerator-type=module-910b-8" in found[0].message
    assert found[0].path == "$.spec.tasks[0].template.spec.nodeSelector['accelerator-type']"


def test_no_node_large_enough() -> None:
    base = change(volcano_job(1), {SELECTOR: {"kubernetes.io/hostname": "node-3"}})
    found = [f for f in findings(base, snapshot=CLUSTER) if f.rule == "SCH-06"]
    assert "largest offers 4" in found[0].message


def test_anti_affinity_needs_a_node_for_each_pod() -> None:
    labels = {"/spec/template/metadata/labels/deploy-name": "serve", "/spec/template/spec/affinity": ANTI}
    limits = {"/spec/template/spec/containers/0/resources": {"limits": {A910: 1}, "requests": {A910: 1}}}
    assert "K8S-21" in rules(change(deployment(4), {**labels, **limits}), snapshot=CLUSTER)
    assert "K8S-21" not in rules(change(deployment(3), {**labels, **limits}), snapshot=CLUSTER)
    assert "K8S-21" not in rules(change(deployment(4), {**labels, **limits}))


SUPER_PODS = load_snapshot(str(Path(__file__).parents[2] / "samples" / "a3-superpod" / "dump"))
"""Two SuperPoDs of 7 and 6 nodes; super-pod-size says 8."""


@pytest.mark.parametrize(
    ("block", "pods", "affinity", "severity"),
    [("112", 7, "hard", ""), ("128", 8, "hard", "error"), ("128", 8, "soft", "warning")],
)
def test_a_block_beyond_the_largest_super_pod(block: str, pods: int, affinity: str, severity: str) -> None:
    job = change(
        volcano_job(pods, 16),
        {
            "/metadata/annotations": {"huawei.com/schedule_policy": "chip2-node16-sp", "sp-block": block},
            "/metadata/labels": {"super-pod-affinity": affinity},
        },
    )
    found = [finding for finding in findings(job, snapshot=SUPER_PODS) if finding.rule == "SPB-04"]
    assert [finding.severity for finding in found] == ([severity] if severity else [])
    assert all("the largest SuperPoD of the snapshot has 7" in finding.message for finding in found)
    assert all(finding.hint == "use at most sp-block 112" for finding in found)
    assert "SPB-04" not in rules(job)


def test_switch_affinity_needs_the_imported_topology() -> None:
    base = change(volcano_job(), {"/metadata/labels/tor-affinity": "normal-schema"})
    assert "TOR-02" in rules(base, snapshot=CLUSTER)
    assert "TOR-02" not in rules(base)


def test_objects_of_a_dump(tmp_path: Path) -> None:
    queue = {"apiVersion": "scheduling.volcano.sh/v1beta1", "kind": "Queue", "metadata": {"name": "team"}}
    items = [{"metadata": {"name": "a", "namespace": "b"}, "data": {"k": "v"}}, {"metadata": {"name": "c"}}, 5]
    maps = {"apiVersion": "v1", "kind": "ConfigMapList", "items": items}
    job = {**volcano_job(), "spec": {}}
    wanted = {
        ("Queue", "", "team"): queue, ("ConfigMap", "b", "a"): {}, ("ConfigMap", "default", "c"): {},
        ("vcjob", "research", "train"): {},
    }  # fmt: skip
    assert dumped_objects([queue, maps, job, pod()]) == wanted
    path = tmp_path / "dump.json"
    path.write_text(json.dumps({"apiVersion": "v1", "kind": "List", "items": [queue, maps, job]}))
    assert dumped_objects(str(tmp_path)) == wanted


@pytest.mark.parametrize("value", [{}, {"kind": "Queue"}, {"kind": "Queue", "metadata": {"name": 5}}])
def test_odd_objects_of_a_dump(value: dict[str, Any]) -> None:
    assert dumped_objects([value]) == {}


@pytest.mark.parametrize("odd", [{"a": 1}, ["Queue"], 7, None])
def test_objects_of_no_kind_are_passed_over(odd: Any) -> None:
    queue = {"apiVersion": "scheduling.volcano.sh/v1beta1", "kind": "Queue", "metadata": {"name": "q"}}
    assert list(dumped_objects([{**queue, "kind": odd}, queue])) == [("Queue", "", "q")]
    assert list(dumped_objects([{**queue, "metadata": odd}, queue])) == [("Queue", "", "q")]
