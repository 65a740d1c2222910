"""Placements written into manifests (chapter 50 §6, vectors V14 to V17, V23, V24)."""

from __future__ import annotations

import json
from typing import Any

import pytest

from ascendctl import load_jobs, load_snapshot, place
from ascendctl.manifest.kinds import dig
from ascendctl.manifest.patch import Patch, patch_texts
from ascendctl.manifest.patch_pins import PatchError
from ascendctl.snapshot.cluster import Cluster
from ascendctl.yamlio.read import read_documents
from tests.ranks.world import a2, a3, acjob, cluster, objects, two_leaves, vcjob

REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
A3 = {"selector": "module-a3-16-super-pod", "policy": "chip2-node16-sp"}
HOST = "kubernetes.io/hostname"


def patched(text: str, where: Cluster, **more: Any) -> Patch:
    return patch_texts([("job.yaml", text)], where, **more)


def after(text: str, where: Cluster, **more: Any) -> str:
    """The patched text; patching it once more must change nothing."""
    result = patched(text, where, **more)
    assert result.placed
    once = result.files[0][2]
    assert patched(once, where, **more).files[0][2] == once
    return once


def values(text: str) -> list[Any]:
    return [document.value for document in read_documents(text)]


def refused(text: str, where: Cluster, **more: Any) -> list[str]:
    with pytest.raises(PatchError) as caught:
        patched(text, where, **more)
    return [note.code for note in caught.value.notes if note.level == "error"]


def codes(result: Patch) -> list[str]:
    return [note.code for note in result.notes if note.code]


def added(old: str, new: str) -> list[str]:
    """Lines of `new` that are not in `old`; everything of `old` must still be there, in order."""
    remaining = iter(old.splitlines())
    expected = next(remaining, None)
    found = []
    for line in new.splitlines():
        if line == expected:
            expected = next(remaining, None)
        else:
            found.append(line)
    assert expected is None, f"line lost: {expected!r}"
    return found


def affinity(spec: Any) -> Any:
    return dig(spec, ("affinity", "nodeAffinity", REQUIRED, "nodeSelectorTerms"))


# ------------------------------------------------------------------------------------------------ Volcano Jobs (a)
VC = """\
apiVersion: batch.volcano.sh/v1alpha1
kind: Job
metadata: {name: demo-vc, labels: {ring-controller.atlas: ascend-910b}, annotations: {huawei.com/schedule_policy: chip8-node8}}
spec:
  minAvailable: 2
  schedulerName: volcano
  queue: default
  plugins: {env: [], svc: []}
  tasks:
  # the trainers
  - name: trainer        # two of them
    replicas: 2
    template:
      spec:
        restartPolicy: Never
        nodeSelector: {accelerator-type: module-910b-8}
        containers:
        - name: ascend
          image: registry.local/train:1   # keep me
          resources: {requests: {huawei.com/Ascend910: 8}, limits: {huawei.com/Ascend910: 8}}
"""


def test_a_volcano_job_is_split_by_rank() -> None:
    text = after(VC, a2("node-a", "node-b"))
    (value,) = values(text)
    tasks = value["spec"]["tasks"]
    assert [(t["name"], t["replicas"]) for t in tasks] == [("trainer-r0", 1), ("trainer-r1", 1)]
    for rank, task in enumerate(tasks):
        assert task["template"]["metadata"]["annotations"]["hccl/rankIndex"] == str(rank)
        assert task["template"]["spec"]["nodeSelector"] == {
            "accelerator-type": "module-910b-8",
            HOST: f"h-node-{'ab'[rank]}",
        }
        assert task["template"]["spec"]["containers"][0]["resources"]["requests"] == {"huawei.com/Ascend910": 8}
    assert value["spec"]["minAvailable"] == 2
    record = json.loads(value["metadata"]["annotations"]["ascendctl.io/plan"])
    assert record == {
        "v": 1,
        "ranks": [
            {"r": 0, "node": "node-a", "npus": list(range(8))},
            {"r": 1, "node": "node-b", "npus": list(range(8))},
        ],
    }
    assert text.count("# keep me") == text.count("# two of them") == 2
    assert text.count("# the trainers") == 1


def test_a_split_job_lands_where_it_was_and_keeps_its_ranks() -> None:
    where = a2("n1", "n2", "n10")
    text = vcjob({"ps": (1, 8), "worker": (2, 8)})
    (job,) = load_jobs(text)
    before = place(job, where)
    (again,) = load_jobs(after(text, where))
    result = place(again, where)
    assert [(p.rank, p.node, p.npus) for p in result.pods] == [(p.rank, p.node, p.npus) for p in before.pods]
    assert [p.name for p in result.pods] == ["demo-vc-ps-0", "demo-vc-worker-r1-0", "demo-vc-worker-r2-0"]
    assert not any("RK-05" in note for note in result.trace.notes)  # the split cures it


def test_side_effects_of_a_split_are_said() -> None:
    result = patched(vcjob({"worker": (2, 8)}, plugins="env: [], svc: [], pytorch: ['--port=23456']"), a2("a", "b"))
    (warning,) = [note.message for note in result.notes if note.level == "warning"]
    assert "VC_TASK_INDEX is 0 everywhere" in warning
    assert "plugin pytorch addresses tasks by name" in warning


def test_task_minimum_and_dependencies_follow() -> None:
    text = vcjob({"a": (2, 8), "b": (1, 8)}).replace("    replicas: 2\n", "    replicas: 2\n    minAvailable: 2\n")
    text = text.replace("  - name: b\n", "  - name: b\n    dependsOn: {name: [a], iteration: any}\n")
    (value,) = values(after(text, a2("n1", "n2", "n3")))
    tasks = value["spec"]["tasks"]
    assert [t.get("minAvailable") for t in tasks] == [1, 1, None]
    assert tasks[2]["dependsOn"] == {"name": ["a-r0", "a-r1"], "iteration": "any"}


def test_long_names_are_shortened() -> None:
    stem = "a-very-long-task-name-that-fills-the-whole-room"
    text = vcjob({stem: (2, 8)}, name="job-name-of-15-c")
    (value,) = values(after(text, a2("a", "b")))
    names = [t["name"] for t in value["spec"]["tasks"]]
    assert all(len(f"job-name-of-15-c-{name}-1") <= 63 and name.startswith("a-very-long") for name in names)
    assert [name[-3:] for name in names] == ["-r0", "-r1"]
    assert not any("--" in name for name in names)


def test_a_name_that_is_taken_is_not_given_again() -> None:
    (value,) = values(after(vcjob({"w": (2, 8), "w-r0": (1, 8)}, plugins="svc: []"), a2("a", "b", "c")))
    names = [t["name"] for t in value["spec"]["tasks"]]
    assert len(set(names)) == 3


def test_tasks_without_npus_stay_and_ranks_count_from_0() -> None:
    where = a2("a", "b")
    text = vcjob({"ps": (1, 0), "w": (2, 8)}, plugins="svc: []")
    result = patched(text, where)
    (value,) = values(result.files[0][2])
    tasks = value["spec"]["tasks"]
    assert [t["name"] for t in tasks] == ["ps", "w-r0", "w-r1"]
    assert HOST not in tasks[0]["template"]["spec"]["nodeSelector"]
    assert [dig(t, ("template", "metadata", "annotations", "hccl/rankIndex")) for t in tasks] == [None, "0", "1"]
    assert any("RK-01" in note.message for note in result.notes)


@pytest.mark.parametrize(
    "tasks",
    [
        "tasks: [{name: w, replicas: 2, template: {spec: {restartPolicy: Never, nodeSelector: {accelerator-type: module-910b-8}, "
        "containers: [{name: ascend, image: i, resources: {requests: {huawei.com/Ascend910: 8}, limits: {huawei.com/Ascend910: 8}}}]}}}]\n",
    ],
)
def test_flow_style(tasks: str) -> None:
    head = VC[: VC.index("  tasks:")]
    (value,) = values(after(head + "  " + tasks, a2("a", "b")))
    assert [t["name"] for t in value["spec"]["tasks"]] == ["w-r0", "w-r1"]


def test_json_manifest() -> None:
    text = json.dumps(values(VC)[0], indent=2)
    new = after(text, a2("a", "b"))
    value = json.loads(new)
    assert [t["name"] for t in value["spec"]["tasks"]] == ["trainer-r0", "trainer-r1"]


# ------------------------------------------------------------------------------------------------ AscendJobs (b, c)
def test_b_plain_ascendjob() -> None:
    """Leader on its node, workers on the rest, existing text untouched."""
    old = acjob({"Master": (1, 8), "Worker": (2, 8)})
    new = after(old, a2("node-a", "node-b", "node-c"))
    (value,) = values(new)
    specs = value["spec"]["replicaSpecs"]
    assert specs["Master"]["template"]["spec"]["nodeSelector"][HOST] == "h-node-a"
    worker = specs["Worker"]["template"]["spec"]
    assert worker["nodeSelector"] == {"accelerator-type": "module-910b-8"}
    expression = {"key": HOST, "operator": "In", "values": ["h-node-b", "h-node-c"]}
    assert affinity(worker) == [{"matchExpressions": [expression]}]
    assert "podAntiAffinity" not in worker["affinity"]  # whole nodes cannot be shared
    assert "hccl/rankIndex" not in new


def test_b_workers_that_leave_chips_free_are_kept_apart() -> None:
    nodes = {name: {"labels": {"accelerator-type": "module-910b-8"}, "used": "0xf"} for name in ("a", "b", "c")}
    result = patched(acjob({"Master": (1, 4), "Worker": (2, 4)}), cluster(nodes))
    assert codes(result) == ["P-06"]
    (value,) = values(result.files[0][2])
    apart = value["spec"]["replicaSpecs"]["Worker"]["template"]["spec"]["affinity"]["podAntiAffinity"][REQUIRED]
    assert apart == [
        {
            "topologyKey": HOST,
            "labelSelector": {"matchExpressions": [{"key": "job-name", "operator": "In", "values": ["demo"]}]},
        }
    ]


def test_b_a_leader_beside_a_worker_narrows_the_labels() -> None:
    nodes = {name: {"labels": {"accelerator-type": "module-910b-8"}} for name in ("a", "b")}
    nodes["b"] |= {"used": "0xf0"}
    text = acjob({"Master": (1, 0), "Worker": (2, 4)})
    result = patched(text, cluster(nodes))
    (value,) = values(result.files[0][2])
    spec = value["spec"]["replicaSpecs"]["Worker"]["template"]["spec"]
    found = dig(spec, ("affinity", "podAntiAffinity", REQUIRED, 0, "labelSelector", "matchExpressions"))
    if found is not None:  # spread over two nodes, one of them the leader's
        assert {one["key"] for one in found} == {"job-name", "replica-type"}
    (job,) = load_jobs(result.files[0][2])
    assert place(job, cluster(nodes)).outcome == "placed"


def test_v14_one_and_one_are_exact() -> None:
    where = a2("node-a", "node-b")
    new = after(acjob({"Master": (1, 8), "Worker": (1, 8)}), where)
    (value,) = values(new)
    hosts = [value["spec"]["replicaSpecs"][r]["template"]["spec"]["nodeSelector"][HOST] for r in ("Master", "Worker")]
    assert hosts == ["h-node-a", "h-node-b"]
    notes = patched(acjob({"Master": (1, 8), "Worker": (1, 8)}), where).notes
    assert [note.message for note in notes] == ["enforced: the node of each pod, NPU ids"]


def test_c_superpod_job_gets_one_set_on_every_role() -> None:
    where = a3(**{"sp5-n3": 5, "sp5-n4": 5, "sp6-n0": 6, "sp6-n1": 6})
    text = acjob({"Master": (1, 16), "Worker": (3, 16)}, annotations='sp-block: "32"', **A3)
    (value,) = values(after(text, where))
    wanted = [f"h-{name}" for name in ("sp5-n3", "sp5-n4", "sp6-n0", "sp6-n1")]
    for role in ("Master", "Worker"):
        spec = value["spec"]["replicaSpecs"][role]["template"]["spec"]
        assert affinity(spec) == [{"matchExpressions": [{"key": HOST, "operator": "In", "values": wanted}]}]
        assert HOST not in spec["nodeSelector"]
        assert "podAntiAffinity" not in spec["affinity"]


def test_v15_leader_pinned_apart_from_the_workers_is_refused() -> None:
    where = a3(a0=1, a1=1, b0=2, b1=2)
    text = acjob({"Master": (1, 16), "Worker": (3, 16)}, annotations='sp-block: "32"', **A3)
    assert refused(text, where, mode="hostname") == ["P-07"]


SOFT = {"labels": "ring-controller.atlas: ascend-910, super-pod-affinity: soft"}
SOFT_JOB = vcjob(
    {"w": (4, 16)}, annotations='huawei.com/schedule_policy: chip2-node16-sp, sp-block: "32"',
    selector="module-a3-16-super-pod", **SOFT,
)  # fmt: skip


def test_v16_soft_job_with_single_pins_is_refused() -> None:
    where = a3(a0=1, a1=1, b0=2, b1=2)
    assert refused(SOFT_JOB, where, mode="hostname") == ["P-08"]


def test_v16_soft_volcano_job_gets_a_set_instead() -> None:
    (value,) = values(after(SOFT_JOB, a3(a0=1, a1=1, b0=2, b1=2)))
    (task,) = value["spec"]["tasks"]
    assert task["replicas"] == 4
    assert len(affinity(task["template"]["spec"])[0]["matchExpressions"][0]["values"]) == 4


def test_hard_volcano_job_of_a_superpod_policy_is_pinned_exactly() -> None:
    where = a3(a0=1, a1=1, b0=2, b1=2)
    new = after(SOFT_JOB.replace(", super-pod-affinity: soft", ""), where)
    (job,) = load_jobs(new)
    result = place(job, where)
    assert [pod.annotations["super-pod-rank"] for pod in result.pods] == [""] * 4  # nobody planned them
    assert any("pinned to a node of its own" in note for note in result.trace.notes)


def test_spare_nodes_where_the_set_alone_would_order_ranks_differently() -> None:
    # most free nodes first: SuperPoD 2 comes before 1, unless its other nodes are out of reach
    where = a3(a0=1, a1=1, b0=2, b1=2, b2=2, b3=2, b4=2)
    text = acjob({"Master": (1, 16), "Worker": (3, 16)}, annotations='sp-block: "32"', **A3)
    result = patched(text, where)
    before = result.results[0]
    (job,) = load_jobs(result.files[0][2])
    assert [(p.rank, p.node) for p in place(job, where).pods] == [(p.rank, p.node) for p in before.pods]


def test_switch_2_0_warns() -> None:
    nodes, leaves = two_leaves(2)
    where = cluster(
        nodes, params={"nslb-version": "2.0", "shared-tor-num": "2"},
        leaves=leaves,
    )  # fmt: skip
    text = vcjob({"w": (4, 8)}, labels="tor-affinity: large-model-schema")
    result = patched(text, where)
    assert "P-09" in codes(result)
    (job,) = load_jobs(result.files[0][2])
    assert {p.annotations["isSharedTor"] for p in place(job, where).pods} == {"0"}


# ------------------------------------------------------------------------------------------- other kinds (d, e, g)
def workload(kind: str, spec: str, template: str = "", npus: int = 8, pod_spec: str = "", api: str = "apps/v1") -> str:
    return f"""\
apiVersion: {api}
kind: {kind}
metadata: {{name: srv, labels: {{app: srv}}}}
spec:
  {spec}
  template:
    metadata: {{labels: {{app: srv, deploy-name: srv}}, annotations: {{huawei.com/schedule_policy: chip8-node8{template}}}}}
    spec:
      schedulerName: volcano
      nodeSelector: {{accelerator-type: module-910b-8}}
{pod_spec}      containers:
      - {{name: ascend, image: "registry.local/s:1", resources: {{requests: {{huawei.com/Ascend910: {npus}}}, limits: {{huawei.com/Ascend910: {npus}}}}}}}
"""


TERMS = """\
      affinity:
        nodeAffinity:
          requiredDuringSchedulingIgnoredDuringExecution:
            nodeSelectorTerms:
            - matchExpressions: [{key: host-arch, operator: In, values: [huawei-arm]}]   # first
            - matchExpressions:
              - key: zone
                operator: In
                values: [z1]
"""


def test_d_existing_terms_are_kept_and_anded() -> None:
    old = workload("Deployment", "replicas: 2\n  selector: {matchLabels: {app: srv}}", pod_spec=TERMS)
    new = after(old, a2("node-a", "node-b"))
    (value,) = values(new)
    pin = {"key": HOST, "operator": "In", "values": ["h-node-a", "h-node-b"]}
    assert affinity(value["spec"]["template"]["spec"]) == [
        {"matchExpressions": [{"key": "host-arch", "operator": "In", "values": ["huawei-arm"]}, pin]},
        {"matchExpressions": [{"key": "zone", "operator": "In", "values": ["z1"]}, pin]},
    ]
    assert "# first" in new


def test_d_anti_affinity_goes_by_deploy_name() -> None:
    nodes = {name: {"labels": {"accelerator-type": "module-910b-8"}, "used": "0xf"} for name in ("a", "b")}
    (value,) = values(after(workload("Deployment", "replicas: 2", npus=4), cluster(nodes)))
    apart = value["spec"]["template"]["spec"]["affinity"]["podAntiAffinity"][REQUIRED]
    assert dig(apart, (0, "labelSelector", "matchExpressions", 0)) == {
        "key": "deploy-name", "operator": "In", "values": ["srv"],
    }  # fmt: skip


def test_own_anti_affinity_is_enough() -> None:
    nodes = {name: {"labels": {"accelerator-type": "module-910b-8"}} for name in ("a", "b", "c")}
    own = (
        "      affinity: {podAntiAffinity: {requiredDuringSchedulingIgnoredDuringExecution: [{topologyKey: "
        "kubernetes.io/hostname, labelSelector: {matchLabels: {app: srv}}}]}}\n"
    )
    result = patched(workload("Deployment", "replicas: 2", npus=4, pod_spec=own), cluster(nodes))
    assert codes(result) == []
    (value,) = values(result.files[0][2])
    spec = value["spec"]["template"]["spec"]
    assert len(spec["affinity"]["podAntiAffinity"][REQUIRED]) == 1
    assert len(affinity(spec)[0]["matchExpressions"][0]["values"]) == 2


def test_two_pods_of_a_plan_on_one_node_are_not_kept_apart() -> None:
    (value,) = values(after(workload("Deployment", "replicas: 2", npus=4), a2("a")))
    spec = value["spec"]["template"]["spec"]
    assert spec["nodeSelector"][HOST] == "h-a"
    assert "affinity" not in spec


def test_deployment_of_one_replica() -> None:
    (value,) = values(after(workload("Deployment", "replicas: 1"), a2("node-a", "node-b")))
    template = value["spec"]["template"]
    assert template["spec"]["nodeSelector"][HOST] == "h-node-a"
    assert template["metadata"]["annotations"]["ascendctl.io/planned-npus"] == "0,1,2,3,4,5,6,7"
    assert "hccl/rankIndex" not in template["metadata"]["annotations"]


def test_g_stateful_set() -> None:
    spec = "serviceName: srv\n  replicas: 1\n  podManagementPolicy: Parallel\n  selector: {matchLabels: {app: srv}}"
    (value,) = values(after(workload("StatefulSet", spec), a2("node-d")))
    assert value["spec"]["template"]["spec"]["nodeSelector"][HOST] == "h-node-d"


def test_batch_job() -> None:
    text = workload("Job", "parallelism: 2\n  completions: 2", api="batch/v1", pod_spec="      restartPolicy: Never\n")
    (value,) = values(after(text, a2("node-a", "node-b")))
    assert affinity(value["spec"]["template"]["spec"])[0]["matchExpressions"][0]["values"] == ["h-node-a", "h-node-b"]


POD = """\
apiVersion: v1
kind: Pod
metadata:
  name: probe
  annotations: {huawei.com/schedule_policy: chip8-node8}
spec:
  schedulerName: volcano
  restartPolicy: Never
  nodeSelector: {accelerator-type: module-910b-8}
  containers:
  - name: ascend
    image: registry.local/probe:1
    resources: {requests: {huawei.com/Ascend910: 2}, limits: {huawei.com/Ascend910: 2}}
"""


def test_bare_pod_by_hostname() -> None:
    (value,) = values(after(POD, a2("node-a")))
    assert value["spec"]["nodeSelector"][HOST] == "h-node-a"
    assert "huawei.com/Ascend910" not in value["metadata"]["annotations"]


def test_e_bare_pod_by_name_with_its_chips() -> None:
    nodes = {"node-a": {"labels": {"accelerator-type": "module-910b-8"}, "used": "0x3"}}
    (value,) = values(after(POD, cluster(nodes), mode="nodename"))
    assert value["spec"]["nodeName"] == "node-a"
    found = value["metadata"]["annotations"]
    assert found["huawei.com/Ascend910"] == "Ascend910-2,Ascend910-3"
    assert (found["predicate-time"], found["hccl/rankIndex"]) == ("1", "0")


def test_e_a_whole_node_needs_no_chip_list() -> None:
    (value,) = values(after(POD.replace("Ascend910: 2", "Ascend910: 8"), a2("node-a"), mode="nodename"))
    assert "huawei.com/Ascend910" not in value["metadata"]["annotations"]


GANG = """\
apiVersion: scheduling.volcano.sh/v1beta1
kind: PodGroup
metadata: {name: pair, annotations: {huawei.com/schedule_policy: chip8-node8}}
spec: {minMember: 2, minResources: {huawei.com/Ascend910: 16}}
---
apiVersion: v1
kind: Pod
metadata: {name: pair-0, annotations: {scheduling.k8s.io/group-name: pair}}
spec:
  schedulerName: volcano
  nodeSelector: {accelerator-type: module-910b-8}
  containers: [{name: ascend, image: "r/t:1", resources: {requests: {huawei.com/Ascend910: 8}, limits: {huawei.com/Ascend910: 8}}}]
---
apiVersion: v1
kind: Pod
metadata: {name: pair-1, annotations: {scheduling.k8s.io/group-name: pair}}
spec:
  schedulerName: volcano
  nodeSelector: {accelerator-type: module-910b-8}
  containers: [{name: ascend, image: "r/t:1", resources: {requests: {huawei.com/Ascend910: 8}, limits: {huawei.com/Ascend910: 8}}}]
"""


def test_f_gang_of_bare_pods() -> None:
    """V17: roles of their own keep Volcano 1.9 from refusing the second pod by the first one's refusals."""
    group, first, second = values(after(GANG, a2("node-a", "node-b")))
    assert json.loads(group["metadata"]["annotations"]["ascendctl.io/plan"])["ranks"][1]["node"] == "node-b"
    for rank, pod in enumerate((first, second)):
        assert pod["metadata"]["annotations"] == {
            "scheduling.k8s.io/group-name": "pair", "hccl/rankIndex": str(rank), "volcano.sh/task-spec": f"r{rank}",
        }  # fmt: skip
        assert pod["spec"]["nodeSelector"][HOST] == f"h-node-{'ab'[rank]}"


def test_f_pods_of_one_role_on_different_nodes_are_refused() -> None:
    text = GANG.replace("group-name: pair}", "group-name: pair, volcano.sh/task-spec: w}")
    assert refused(text, a2("node-a", "node-b")) == ["P-10"]


def test_infer_service() -> None:
    text = """\
apiVersion: mindcluster.huawei.com/v1
kind: InferService
metadata: {name: svc}
spec:
  roles:
  - name: decode
    replicas: 2
    workload: {apiVersion: apps/v1, kind: Deployment}
    spec:
      replicas: 1
      selector: {matchLabels: {app: decode}}
      template:
        metadata: {labels: {app: decode}, annotations: {huawei.com/schedule_policy: chip8-node8}}
        spec:
          schedulerName: volcano
          nodeSelector: {accelerator-type: module-910b-8}
          containers:
          - {name: c, image: "r/s:1", resources: {requests: {huawei.com/Ascend910: 8}, limits: {huawei.com/Ascend910: 8}}}
"""
    (value,) = values(after(text, a2("n1", "n2", "n3")))
    spec = value["spec"]["roles"][0]["spec"]["template"]["spec"]
    assert affinity(spec)[0]["matchExpressions"][0]["values"] == ["h-n1", "h-n2"]
    record = json.loads(value["metadata"]["annotations"]["ascendctl.io/plan"])
    assert [(one["job"], one["r"], one["node"]) for one in record["ranks"]] == [
        ("svc-decode-0", 0, "n1"), ("svc-decode-1", 0, "n2"),
    ]  # fmt: skip


# ------------------------------------------------------------------------------------------------ names of nodes
def hosts(labels: dict[str, str | None]) -> Cluster:
    found = objects({name: {"labels": {"accelerator-type": "module-910b-8"}} for name in labels}, hostnames=False)
    for one in found:
        if one["kind"] == "Node" and labels[one["metadata"]["name"]]:
            one["metadata"]["labels"][HOST] = labels[one["metadata"]["name"]]
    return load_snapshot(found)


def test_v23_a_node_without_hostname_is_matched_by_name() -> None:
    where = hosts({"node-a": "a", "node-b": None})
    text = acjob({"Master": (1, 8), "Worker": (1, 8)})
    result = patched(text, where)
    assert codes(result) == ["P-03"]
    (value,) = values(after(text, where))
    specs = value["spec"]["replicaSpecs"]
    assert specs["Master"]["template"]["spec"]["nodeSelector"][HOST] == "a"
    name = {"key": "metadata.name", "operator": "In", "values": ["node-b"]}
    assert affinity(specs["Worker"]["template"]["spec"]) == [{"matchFields": [name]}]


def test_a_hostname_that_two_nodes_share_names_neither() -> None:
    where = hosts({"node-a": "same", "node-b": "same"})
    (value,) = values(after(workload("Deployment", "replicas: 1"), where))
    spec = value["spec"]["template"]["spec"]
    assert HOST not in spec["nodeSelector"]
    assert affinity(spec)[0]["matchFields"][0]["values"] == ["node-a"]


def test_a_set_by_name_crosses_existing_terms() -> None:
    where = hosts({"node-a": None, "node-b": None})
    text = workload("Deployment", "replicas: 2", pod_spec=TERMS)
    (value,) = values(after(text, where))
    terms = affinity(value["spec"]["template"]["spec"])
    found = [(term["matchExpressions"][0]["key"], term["matchFields"][0]["values"]) for term in terms]
    assert sorted(found) == [
        ("host-arch", ["node-a"]), ("host-arch", ["node-b"]), ("zone", ["node-a"]), ("zone", ["node-b"]),
    ]  # fmt: skip


# ------------------------------------------------------------------------------------------------ given placements
def plan(text: str, where: Cluster, **nodes: str) -> dict[tuple[str, str], Any]:
    """The placement of the only job as a document, some pods moved."""
    (job,) = load_jobs(text)
    document = place(job, where).to_dict()
    for pod in document["pods"]:
        pod["node"] = nodes.get(pod["name"].replace("-", "_"), pod["node"])
    return {(job.namespace, job.name): document}


TWO = acjob({"Master": (1, 8), "Worker": (1, 8)})


def test_a_given_placement_is_written() -> None:
    where = a2("n1", "n2", "n3")
    plans = plan(TWO, where, demo_master_0="n3", demo_worker_0="n1")
    (value,) = values(patched(TWO, where, plans=plans).files[0][2])
    specs = value["spec"]["replicaSpecs"]
    assert [specs[r]["template"]["spec"]["nodeSelector"][HOST] for r in ("Master", "Worker")] == ["h-n3", "h-n1"]


def test_given_placements_are_checked() -> None:
    where = a2("n1", "n2", "n3")
    short = plan(TWO, where)
    next(iter(short.values()))["pods"].pop()
    assert refused(TWO, where, plans=short) == ["P-01"]
    assert refused(TWO, where, plans={}) == ["P-01"]
    assert refused(TWO, where, plans=plan(TWO, where, demo_worker_0="elsewhere")) == ["P-02"]
    pinned = TWO.replace("module-910b-8}", f"module-910b-8, {HOST}: h-n1}}", 1)
    assert refused(pinned, where, plans=plan(TWO, where, demo_master_0="n2", demo_worker_0="n3")) == ["P-04"]  # V24
    named = TWO.replace("          containers:", "          nodeName: n1\n          containers:", 1)
    assert refused(named, where, plans=plan(TWO, where, demo_master_0="n2", demo_worker_0="n3")) == ["P-05"]


def test_a_placement_that_the_nodes_refuse_is_not_written() -> None:
    nodes = {name: {"labels": {"accelerator-type": "module-910b-8"}} for name in ("n1", "n2", "n3")}
    nodes["n3"] |= {"used": "0x1"}
    where = cluster(nodes)
    assert refused(TWO, where, plans=plan(TWO, where, demo_worker_0="n3")) == ["P-11"]


def test_equal_pins_change_nothing_but_the_record() -> None:
    text = TWO.replace("module-910b-8}", f"module-910b-8, {HOST}: h-n1}}", 1)
    text = text.replace("{accelerator-type: module-910b-8}", f"{{accelerator-type: module-910b-8, {HOST}: h-n2}}", 1)
    new = after(text, a2("n1", "n2", "n3"))
    assert all("ascendctl.io" in line for line in added_or_changed(text, new))


def added_or_changed(old: str, new: str) -> list[str]:
    before = set(old.splitlines())
    return [line for line in new.splitlines() if line not in before]


def test_annotate_writes_the_record_only() -> None:
    where = a2("n1", "n2")
    (value,) = values(after(TWO, where, mode="annotate"))
    assert "ascendctl.io/plan" in value["metadata"]["annotations"]
    assert HOST not in value["spec"]["replicaSpecs"]["Master"]["template"]["spec"]["nodeSelector"]


def test_no_place_changes_nothing() -> None:
    result = patched(TWO, a2("n1"))
    assert not result.placed
    assert result.files[0][1] == result.files[0][2] == TWO


def test_a_long_record_leaves_out_chips() -> None:
    from ascendctl.manifest import patch_edits

    seats = [patch_edits.Seat("j", f"j-{i}", i, f"node-{i:05}", tuple(range(16))) for i in range(4000)]
    notes: list[Any] = []
    text = patch_edits.plan_record(seats, False, "t", notes)
    assert len(text) <= patch_edits.MAX_RECORD
    assert "npus" not in json.loads(text)["ranks"][0]
    assert [note.level for note in notes] == ["warning"]
    assert patch_edits.plan_record(seats * 3, False, "t", notes) == ""


def test_one_note_on_nodes_without_hostname() -> None:
    where = hosts({"node-a": None, "node-b": None, "node-c": None})
    notes = [note for note in patched(vcjob({"w": (3, 8)}), where).notes if note.code == "P-03"]
    assert [note.message for note in notes] == [
        "node node-a has no label kubernetes.io/hostname in the snapshot: pinned by metadata.name (and 2 more)"
    ]
