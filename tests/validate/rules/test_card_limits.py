"""What the reference reports only node by node, or never, as findings on real manifests (chapter 11.14, 11.15, 11.18)."""

from __future__ import annotations

import json
from typing import Any

import pytest

from ascendctl.snapshot.load import load_snapshot
from tests.validate.manifests import A910, NPU, findings, template

H = "huawei.com/"
CORE, A310, A310P = H + "npu-core", H + "Ascend310", H + "Ascend310P"
P310, A2 = {"ring-controller.atlas": "ascend-310P"}, {"ring-controller.atlas": "ascend-910b"}
CARD, DUO = {"npu-310-strategy": "card"}, {"duo": "true"}
CHIP_NAME, DUO_NODE = "node.kubernetes.io/npu.chip.name", {"infer-card-type": "card-300i-duo"}
PATH = "$.spec.tasks[{}].template.spec.containers[0].resources.requests['{}']"


def quota(cores: int, memory: int) -> dict[str, str]:
    share = H + "scheduler.softShareDev."
    return {share + "aicoreQuota": str(cores), share + "hbmQuota": str(memory), share + "policy": "elastic"}


def made(
    resource: str,
    *counts: int,
    policy: str = "",
    labels: dict[str, str] | None = None,
    selector: dict[str, str] | None = None,
    replicas: int = 1,
    minimum: int = 0,
) -> dict[str, Any]:
    """A vcjob with one task for each count."""
    tasks = []
    for i, count in enumerate(counts):
        pods = template("main", count, resource, restartPolicy="Never")
        if policy == "chip1-softShareDev" or "-" in resource.removeprefix(H):
            del pods["spec"]["containers"][0]["env"]
        pods["metadata"] = {"labels": labels or {}}
        pods["spec"]["nodeSelector"] = selector or {}
        tasks.append({"name": f"t{i}", "replicas": replicas, "template": pods})
    annotations = {H + "schedule_policy": policy} if policy else {}
    return {
        "apiVersion": "batch.volcano.sh/v1alpha1",
        "kind": "Job",
        "metadata": {"name": "j", "namespace": "n", "labels": labels or {}, "annotations": annotations},
        "spec": {
            "minAvailable": minimum or len(counts) * replicas,
            "schedulerName": "volcano",
            "queue": "default",
            "plugins": {"env": [], "svc": []},
            "tasks": tasks,
        },
    }


def about_counts(manifest: dict[str, Any], *families: str, **options: Any) -> list[tuple[str, str, str]]:
    """(rule, severity, path) of some families."""
    wanted = families or ("RES", "D31", "VNP", "SFT")
    found = findings(manifest, preset_vdev=False, **options)
    return [(f.rule, f.severity, f.path) for f in found if f.rule[:3] in wanted]


def at(resource: str, task: int = 0) -> str:
    return PATH.format(task, resource)


@pytest.mark.parametrize(
    ("manifest", "expected"),
    [
        # card mode: the job check lets 64 and 32 pass, a card has 4 and 2 (11.18 no. 3)
        (made(A310, 4, labels=CARD), []),
        (made(A310, 5, labels=CARD), [("D31-03", "error", at(A310))]),
        (made(A310, 5), []),
        (made(A310P, 2, labels=DUO | CARD), []),
        (made(A310P, 3, labels=DUO | CARD), [("D31-07", "error", at(A310P))]),
        (made(A310P, 9, labels=DUO), [("D31-08", "warning", at(A310P))]),
        # meshes: only the average is tested (11.19.2 K8 to K10)
        (made(NPU, 12, 12, policy="chip4-node8"), [("RES-09", "error", at(NPU))]),
        (made(NPU, 8, 9, policy="chip4-node8"), [("RES-09", "error", at(NPU, 1))]),
        (made(NPU, 16, policy="chip4-node8", replicas=4, minimum=1), [("RES-09", "error", at(NPU))]),
        (made(NPU, 8, 8, policy="chip4-node8"), []),
        (made(NPU, 5, policy="chip4-node8"), [("RES-10", "warning", at(NPU))]),
        # dynamic vNPUs: no node class takes the count (11.18 no. 19), whatever the product (11.14.3 A)
        (made(CORE, 10, labels=P310), []),
        (made(CORE, 10, labels=P310, selector={"servertype": "Ascend310P-10"}), []),
        (made(CORE, 10, labels=P310, selector={"servertype": "Ascend310P-8"}), [("VNP-14", "warning", at(CORE))]),
        (made(CORE, 40, labels=P310, selector={"servertype": "Ascend310P-8"}), []),
        (made(CORE, 3, labels=P310), [("VNP-03", "error", at(CORE))]),
        (made(CORE, 7, labels=A2), [("VNP-05", "error", at(CORE))]),
        (made(CORE, 3, labels=A2), [("VNP-05", "error", at(CORE))]),
        (made(CORE, 5, labels=A2), []),
        (made(CORE, 5, labels=A2, selector={CHIP_NAME: "910B1"}), [("VNP-05", "error", at(CORE))]),
        (made(CORE, 5, labels=A2, selector={CHIP_NAME: "910B3"}), []),
        (made(CORE, 25, labels=A2, selector={"servertype": "Ascend910B-25"}), []),
        (made(CORE, 25, labels=A2, selector={"servertype": "Ascend910B-20"}), [("VNP-05", "error", at(CORE))]),
        (made(CORE, 25, labels=A2, selector={"accelerator-type": "module-a3-16"}), [("VNP-05", "error", at(CORE))]),
        (made(CORE, 5, labels=A2, selector={"servertype": "Ascend910A3-24"}), [("VNP-05", "error", at(CORE))]),
        (made(CORE, 10, labels=A2 | {"vnpu-dvpp": "yes"}), []),
        (
            made(CORE, 10, labels=A2 | {"vnpu-dvpp": "yes"}, selector={CHIP_NAME: "910B3"}),
            [("VNP-06", "error", at(CORE))],
        ),
        (
            made(CORE, 4, labels=P310, selector=DUO_NODE),
            [("VNP-13", "warning", "$.spec.tasks[0].template.spec.nodeSelector['infer-card-type']")],
        ),
        # static vNPUs are not rescheduled (11.14.2)
        (made(H + "Ascend310P-2c", 1, labels={"fault-scheduling": "off"}), []),
        (
            made(H + "Ascend310P-2c", 1, labels={"fault-scheduling": "grace"}),
            [("VNP-15", "warning", "$.metadata.labels['fault-scheduling']")],
        ),
        # soft sharing: all pods on one node of at most 16 chips (11.15.3 step 4)
        (made(A910, 50, policy="chip1-softShareDev", labels=quota(50, 1024), replicas=32), []),
        (
            made(A910, 50, policy="chip1-softShareDev", labels=quota(50, 1024), replicas=33),
            [("SFT-09", "error", at(A910))],
        ),
        (
            made(A910, 60, policy="chip1-softShareDev", labels=quota(60, 1024), replicas=17),
            [("SFT-09", "error", at(A910))],
        ),
        (made(A910, 1, policy="chip1-softShareDev", labels=quota(50, 1024)), [("SFT-05", "error", at(A910))]),
    ],
)
def test_without_a_snapshot(manifest: dict[str, Any], expected: list[tuple[str, str, str]]) -> None:
    assert about_counts(manifest) == expected


def node(name: str, kind: str, amounts: dict[str, int], **labels: str) -> dict[str, Any]:
    texts = {key: str(value) for key, value in amounts.items()}
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {
            "name": name,
            "labels": {"accelerator": f"huawei-{kind}", "kubernetes.io/hostname": name, **labels},
        },
        "status": {
            "capacity": texts,
            "allocatable": texts,
            "conditions": [{"type": "Ready", "status": "True"}],
        },
    }


def cores(name: str, chip: str, each: int, **labels: str) -> dict[str, Any]:
    """A node with 8 chips that offers AI cores."""
    kind = "Ascend310P" if chip == "310P3" else "Ascend910"
    server = f"Ascend310P-{each}" if chip == "310P3" else f"Ascend910B-{each}"
    return node(name, kind, {CORE: 8 * each}, servertype=server, **{CHIP_NAME: chip, **labels})


B1, B3 = cores("b1", "910B1", 25, pool="one"), cores("b3", "910B3", 20, pool="three")
P8, P10 = cores("p8", "310P3", 8), cores("p10", "310P3", 10)


@pytest.mark.parametrize(
    ("manifest", "nodes", "expected"),
    [
        (made(CORE, 5, labels=A2), [B3], []),
        (made(CORE, 5, labels=A2), [B1], ["VNP-05"]),
        (made(CORE, 6, labels=A2), [B1], []),
        (made(CORE, 10, labels=A2 | {"vnpu-dvpp": "yes"}), [B3], ["VNP-06"]),
        # one product per cluster: the nodes that the job can reach must agree
        (made(CORE, 5, labels=A2), [B1, B3], ["VNP-05"]),
        (made(CORE, 5, labels=A2, selector={"pool": "three"}), [B1, B3], []),
        (made(CORE, 5, labels=A2, selector={"pool": "one"}), [B1, B3], ["VNP-05"]),
        # 910A has no templates
        (made(CORE, 32, labels=A2), [cores("a", "910A", 32)], ["VNP-05"]),
        (made(CORE, 8, labels=A2), [P8], ["VNP-05"]),
        (made(CORE, 10, labels=P310), [P8], ["VNP-14"]),
        (made(CORE, 10, labels=P310), [P8, P10], []),
        (made(CORE, 4, labels=P310), [P8], []),
        (made(CORE, 4, labels=P310), [cores("duo", "310P3", 8, **DUO_NODE)], ["VNP-13"]),
    ],
)
def test_vnpus_against_a_snapshot(manifest: dict[str, Any], nodes: list[Any], expected: list[str]) -> None:
    found = about_counts(manifest, "VNP", snapshot=load_snapshot(nodes))
    assert [rule for rule, _, _ in found] == expected


def shared(name: str, chips: int, memory: str, enabled: str = "true") -> dict[str, Any]:
    labels = {H + "scheduler.chip1softsharedev.enable": enabled, "mind-cluster/npu-chip-memory": memory}
    made_node = node(name, "Ascend910", {A910: 100 * chips}, **labels)
    devices = {f"Ascend910-{i}": {"IP": f"10.0.0.{i}", "SuperDeviceID": i} for i in range(chips)}
    made_node["metadata"]["annotations"] = {"baseDeviceInfos": json.dumps(devices)}
    return made_node


def soft(cores_each: int, memory: int, pods: int) -> dict[str, Any]:
    labels = quota(cores_each, memory)
    return made(A910, cores_each, policy="chip1-softShareDev", labels=labels, replicas=pods)


@pytest.mark.parametrize(
    ("manifest", "nodes", "expected"),
    [
        (soft(50, 1024, 16), [shared("a", 8, "32G")], []),
        (soft(50, 1024, 18), [shared("a", 8, "32G"), shared("b", 8, "32G")], ["SFT-09"]),  # S10
        (soft(60, 4096, 2), [shared("a", 1, "32G"), shared("b", 1, "32G")], ["SFT-09"]),  # S11
        (soft(60, 4096, 2), [shared("a", 2, "32G")], []),
        (soft(20, 10240, 5), [shared("a", 1, "32G")], ["SFT-09"]),  # S9: memory
        (soft(20, 10240, 1), [shared("a", 1, "8G")], ["SFT-09"]),
        (soft(20, 10240, 1), [shared("a", 8, "32G", "false")], ["SFT-09"]),
    ],
)
def test_soft_sharing_against_a_snapshot(manifest: dict[str, Any], nodes: list[Any], expected: list[str]) -> None:
    found = about_counts(manifest, "SFT", snapshot=load_snapshot(nodes))
    assert [rule for rule, _, _ in found] == expected


def test_duo_cards_on_other_nodes() -> None:
    plain, duo = node("p", "Ascend310P", {A310P: 8}), node("d", "Ascend310P", {A310P: 8}, **DUO_NODE)
    on_cards, on_chips = made(A310P, 2, labels=DUO | CARD), made(A310P, 2, labels=DUO)
    rows = [(rule, severity) for rule, severity, _ in about_counts(on_cards, snapshot=load_snapshot([plain]))]
    assert rows == [("D31-09", "warning")]
    rows = [(rule, severity) for rule, severity, _ in about_counts(on_chips, snapshot=load_snapshot([plain]))]
    assert rows == [("D31-09", "error")]
    for manifest in (on_cards, on_chips):
        assert about_counts(manifest, "D31", snapshot=load_snapshot([plain, duo])) == []


def test_nodes_without_templates_are_named() -> None:
    def sentences(chip: dict[str, Any]) -> list[tuple[str, str]]:
        found = findings(made(CORE, 8, labels=A2), preset_vdev=False, snapshot=load_snapshot([chip]))
        return [(f.message, f.hint) for f in found if f.rule == "VNP-05"]

    ((message, hint),) = sentences(P8)
    assert "can reach (Ascend310P)" in message and hint.endswith("ring-controller.atlas: ascend-310P")
    ((message, hint),) = sentences(cores("a", "910A", 32))
    assert "can reach (910A)" in message and hint == "select nodes of A2 or A3"


def test_policy_against_the_hardware_of_the_nodes() -> None:
    """No policy looks at the hardware (11.20 trap 6): nodes of another kind get a warning."""
    mesh = node("m", "npu", {NPU: 8}, **{"accelerator-type": "350-Atlas-4p-8"})
    plain = node("p", "npu", {NPU: 8}, **{"accelerator-type": "350-Atlas-8"})
    bare = node("b", "npu", {NPU: 8})
    manifest = made(NPU, 2, policy="chip1-node8")
    found = [f for f in findings(manifest, snapshot=load_snapshot([mesh])) if f.rule == "SEL-06"]
    assert [(f.severity, f.path) for f in found] == [
        ("warning", "$.metadata.annotations['huawei.com/schedule_policy']")
    ]
    assert "350-Atlas-4p-8" in found[0].message and "chip4-node8" in found[0].hint
    for nodes in ([mesh, plain], [mesh, bare], [plain], [bare]):
        assert not [f for f in findings(manifest, snapshot=load_snapshot(nodes)) if f.rule == "SEL-06"]


def test_standard_policy_on_super_pod_nodes() -> None:
    """chip2-node8 is a policy of A3 nodes of 8 NPUs, although their selector leads to the super-pod policy."""
    small = node("s", "Ascend910", {A910: 8}, **{"accelerator-type": "module-a3-8-super-pod"})
    found = findings(made(A910, 8, policy="chip2-node8"), snapshot=load_snapshot([small]))
    assert not [f for f in found if f.rule == "SEL-06"]
