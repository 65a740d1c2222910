"""Workloads as bare Pods (chapter 50 §6.4, §6.6 f)."""

from __future__ import annotations

import json
from typing import Any

import pytest

from ascendctl import load_jobs, load_snapshot, place, validate
from ascendctl.manifest.patch import patch_texts
from ascendctl.manifest.patch_pins import PatchError
from ascendctl.snapshot.cluster import Cluster
from ascendctl.yamlio.read import read_documents
from tests.ranks.world import a2, a3, acjob, cluster, objects, vcjob

HOST = "kubernetes.io/hostname"


def expanded(text: str, where: Cluster, **more: Any) -> list[Any]:
    return [d.value for d in read_documents(expanded_text(text, where, **more))]


def expanded_text(text: str, where: Cluster, **more: Any) -> str:
    result = patch_texts([("job.yaml", text)], where, pods=True, **more)
    assert result.placed
    return result.files[0][2]


def env(pod: Any) -> dict[str, Any]:
    return {one["name"]: one.get("value") for one in pod["spec"]["containers"][0]["env"]}


def test_ascendjob() -> None:
    text = acjob({"Master": (1, 8), "Worker": (1, 8)}, labels="fault-scheduling: grace")
    group, master, worker = expanded(text, a2("n1", "n2"))
    assert group["kind"] == "PodGroup"
    assert group["metadata"]["name"] == "demo"
    assert group["metadata"]["annotations"]["huawei.com/schedule_policy"] == "chip8-node8"
    assert group["metadata"]["labels"]["fault-scheduling"] == "grace"
    assert group["spec"] == {"minMember": 2, "minResources": {"huawei.com/Ascend910": 16}}
    assert json.loads(group["metadata"]["annotations"]["ascendctl.io/plan"])["ranks"][1]["node"] == "n2"
    for rank, (pod, name) in enumerate(((master, "demo-master-0"), (worker, "demo-worker-0"))):
        assert (pod["kind"], pod["metadata"]["name"]) == ("Pod", name)
        assert pod["metadata"]["annotations"] == {
            "scheduling.k8s.io/group-name": "demo", "volcano.sh/task-spec": f"r{rank}", "hccl/rankIndex": str(rank),
        }  # fmt: skip
        assert pod["spec"]["nodeSelector"] == {"accelerator-type": "module-910b-8", HOST: f"h-n{rank + 1}"}
        assert (pod["spec"]["schedulerName"], pod["spec"]["restartPolicy"]) == ("volcano", "Never")
    assert env(worker)["RANK"] == "1" and env(worker)["WORLD_SIZE"] == "16"
    assert "MASTER_ADDR" not in env(worker)


def test_expanded_manifest_validates_and_lands_where_the_job_did() -> None:
    where = a3(a0=1, a1=1, b0=2, b1=2, b2=2)
    text = acjob(
        {"Master": (1, 16), "Worker": (3, 16)}, selector="module-a3-16-super-pod", policy="chip2-node16-sp",
        annotations='sp-block: "32"',
    )  # fmt: skip
    new = expanded_text(text, where)
    assert [f for f in validate(new) if f.severity == "error"] == []
    (job,), (gang,) = load_jobs(text), load_jobs(new)
    wanted = [(p.name, p.rank, p.node, p.npus) for p in place(job, where).pods]
    assert [(p.name, p.rank, p.node, p.npus) for p in place(gang, where).pods] == wanted


def test_leader_without_npus_is_not_pinned() -> None:
    _, master, *workers = expanded(acjob({"Master": (1, 0), "Worker": (2, 8)}), a2("n1", "n2"))
    assert HOST not in master["spec"]["nodeSelector"]
    assert master["metadata"]["annotations"]["volcano.sh/task-spec"] == "master"
    assert [w["metadata"]["annotations"]["hccl/rankIndex"] for w in workers] == ["0", "1"]


def test_other_documents_stay_and_comments_too() -> None:
    text = "# companion\napiVersion: v1\nkind: Service\nmetadata: {name: s}   # here\n---\n" + vcjob({"w": (1, 8)})
    new = expanded_text(text, a2("n1"))
    assert new.startswith("# companion\napiVersion: v1\nkind: Service\nmetadata: {name: s}   # here\n---\n")
    assert [d.value["kind"] for d in read_documents(new)] == ["Service", "PodGroup", "Pod"]


def test_deployment_annotations_move_to_the_group() -> None:
    text = """\
apiVersion: apps/v1
kind: Deployment
metadata: {name: d, namespace: lab}
spec:
  replicas: 2
  selector: {matchLabels: {app: d}}
  template:
    metadata:
      labels: {app: d}
      annotations: {huawei.com/schedule_policy: chip8-node8, huawei.com/schedule_minAvailable: "2", note: mine}
    spec:
      schedulerName: volcano
      nodeSelector: {accelerator-type: module-910b-8}
      containers: [{name: c, image: i, resources: {requests: {huawei.com/Ascend910: 8}, limits: {huawei.com/Ascend910: 8}}}]
"""
    group, first, second = expanded(text, a2("n1", "n2"))
    assert group["metadata"]["namespace"] == first["metadata"]["namespace"] == "lab"
    assert group["spec"]["minMember"] == 2
    assert "huawei.com/schedule_minAvailable" not in group["metadata"]["annotations"]
    assert "huawei.com/schedule_minAvailable" not in first["metadata"]["annotations"]
    assert second["metadata"]["annotations"]["note"] == "mine"


def test_by_name_brings_chips_and_the_rank_table() -> None:
    nodes = {"n1": {"labels": {"accelerator-type": "module-910b-8"}, "used": "0x1"}}
    text = vcjob({"w": (2, 2)}, plugins="env: []")
    where = cluster(nodes)
    result = patch_texts([("j", text)], where, pods=True, mode="nodename")
    documents = [d.value for d in read_documents(result.files[0][2])]
    pods = [d for d in documents if d["kind"] == "Pod"]
    assert [p["metadata"]["annotations"]["huawei.com/Ascend910"] for p in pods] == [
        "Ascend910-1,Ascend910-2", "Ascend910-3,Ascend910-4",
    ]  # fmt: skip
    assert [p["metadata"]["annotations"]["predicate-time"] for p in pods] == ["1", "2"]  # served in this order
    assert all(p["spec"]["nodeName"] == "n1" for p in pods)
    assert any("no rank table: RT-05" in note.message for note in result.notes)  # two pods on one node need UIDs


def test_by_name_on_nodes_of_their_own() -> None:
    documents = expanded(vcjob({"w": (2, 8)}, plugins="env: []"), a2("n1", "n2"), mode="nodename")
    table = json.loads(documents[-1]["data"]["hccl.json"])
    assert documents[-1]["metadata"]["name"] == "rings-config-demo-vc"
    assert table["server_count"] == "2"
    assert "huawei.com/Ascend910" not in documents[1]["metadata"]["annotations"]  # whole nodes need no list


def test_device_ids_on_950_nodes() -> None:
    """On A5 nodes the list holds logic ids."""
    nodes = {"n1": {"labels": {"accelerator-type": "x"}, "used": "0x1"}}
    where = load_snapshot(objects(nodes, resource="huawei.com/npu"))
    text = acjob({"Master": (1, 2)}, policy="chip8-node8", selector="x", resource="huawei.com/npu")
    pod = next(d for d in expanded(text, where, mode="nodename") if d["kind"] == "Pod")
    assert pod["metadata"]["annotations"]["huawei.com/npu"] == "npu-9,npu-10"


def test_what_cannot_be_expanded() -> None:
    pod = (
        "apiVersion: v1\nkind: Pod\nmetadata: {name: p, annotations: {huawei.com/schedule_policy: chip8-node8}}\nspec: "
        "{containers: [{name: c, resources: {requests: {huawei.com/Ascend910: 8}}}]}\n"
    )
    with pytest.raises(PatchError, match="bare Pods already"):
        patch_texts([("p", pod)], a2("n1"), pods=True)
