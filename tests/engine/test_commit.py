"""A snapshot after a placement is the snapshot of a dump in which the pods really run."""

from __future__ import annotations

import json
import random
from typing import Any

import numpy as np
import pytest

import ascendctl
from ascendctl.engine.commit import commit
from ascendctl.engine.kube import pod_labels
from ascendctl.engine.result import Placement
from ascendctl.manifest.attributes import COPIED_ANNOTATIONS
from ascendctl.manifest.job import Job, Role
from ascendctl.snapshot.cluster import Cluster
from tests import cases
from tests.engine.build import A310P, A910, Node, cluster, job
from tests.engine.policies.test_soft_share import soft_job, soft_node
from tests.engine.policies.test_vnpu import core_job, core_node
from tests.test_vectors import FAMILIES, FOLDER

REAL, CORE, GROUP = "huawei.com/AscendReal", "huawei.com/npu-core", "scheduling.k8s.io/group-name"
QUOTA, MEMORY = "huawei.com/scheduler.softShareDev.", "mind-cluster/npu-chip-memory"
PLACED = [family for family in FAMILIES if "reschedule" not in family]


def mounted(cluster: Cluster, job: Job, pod: Any, number: int) -> str | None:
    """AscendReal as the device plugin writes it once the pod runs: physical names in text order, or the name of a
    virtual device."""
    held = pod.annotations.get(CORE)
    if not pod.npus:
        return None
    kind = "Ascend310P" if (cluster.labels.get(cluster.index[pod.node], "accelerator") or "").endswith("310P") else ""
    prefix = (kind or "Ascend910") if held else job.resource.removeprefix("huawei.com/")
    if held and "-" in held:
        return f"{prefix}-4c-{100 + number}-{pod.npus[0]}"
    return ",".join(sorted(f"{prefix}-{chip}" for chip in pod.npus))


def running(cluster: Cluster, job: Job, placement: Placement) -> list[dict[str, Any]]:
    """The objects of a job that runs where it was placed: its PodGroup, named as Volcano does, and its pods."""
    group = job.name + ("-6f2a90b1-7a55-4c37-9d2f-0a6c2f4f1b11" if job.kind == "vcjob" else "")
    objects: list[dict[str, Any]] = [
        {
            "apiVersion": "scheduling.volcano.sh/v1beta1",
            "kind": "PodGroup",
            "metadata": {
                "name": group,
                "namespace": job.namespace,
                "labels": dict(job.labels),
                "annotations": dict(job.annotations),
                "ownerReferences": [{"kind": "Job", "name": job.name}],
            },
            "spec": {"minMember": job.min_available},
            "status": {"phase": "Running"},
        }
    ]
    for number, (spec, pod) in enumerate(zip(job.pods, placement.pods, strict=True)):
        role = job.roles[spec.role]
        annotations = {**role.annotations, **pod.annotations, GROUP: group, "hccl/rankIndex": str(spec.rank)}
        real = mounted(cluster, job, pod, number)
        if real is not None:
            annotations[REAL] = real
        requests = {name: str(amount) for name, amount in role.requests.items()}
        objects.append(
            {
                "apiVersion": "v1",
                "kind": "Pod",
                "metadata": {
                    "name": pod.name,
                    "namespace": job.namespace,
                    "labels": pod_labels(job, role),
                    "annotations": annotations,
                },
                "spec": {
                    "nodeName": pod.node,
                    "containers": [{"name": "ascend", "resources": {"requests": requests}}],
                },
                "status": {"phase": "Running"},
            }
        )
    return objects


def without_full_chips(objects: list[dict[str, Any]], mode: str) -> list[dict[str, Any]]:
    """The objects with device lists as the device plugin of nodes with soft sharing writes them: without chips whose
    pods use all cores or all memory of them."""
    sums: dict[tuple[str, str], list[int]] = {}
    for pod in (each for each in objects if each["kind"] == "Pod"):
        annotations = pod["metadata"]["annotations"]
        if QUOTA + "policy" in annotations and REAL in annotations:
            total = sums.setdefault((pod["spec"]["nodeName"], annotations[REAL]), [0, 0])
            total[0] += int(annotations[QUOTA + "aicoreQuota"])
            total[1] += int(annotations[QUOTA + "hbmQuota"])
    memory = {
        each["metadata"]["name"]: 1024 * int(each["metadata"]["labels"].get(MEMORY, "0").replace("G", ""))
        for each in objects
        if each["kind"] == "Node"
    }
    full = {(node, chip) for (node, chip), (cores, mb) in sums.items() if cores >= 100 or mb >= memory[node]}

    def cut(text: str) -> str:
        shard = json.loads(text)
        for node, chip in full:
            row = shard if mode == "device" else shard.get("mindx-dl-deviceinfo-" + node)
            lists = row["DeviceInfo"]["DeviceList"] if row and mode == "device" else row and row["DeviceList"]
            if lists and (mode == "clusterd" or node == owner):
                key = "huawei.com/" + chip.partition("-")[0]
                lists[key] = ",".join(name for name in lists[key].split(",") if name != chip)
        return json.dumps(shard, separators=(",", ":"))

    result = []
    for each in objects:
        name = each["metadata"]["name"]
        owner = name.removeprefix("mindx-dl-deviceinfo-")
        key = "DeviceInfoCfg" if mode == "device" else name
        if each["kind"] == "ConfigMap" and "device" in name and each["data"].get(key):
            each = each | {"data": each["data"] | {key: cut(each["data"][key])}}
        result.append(each)
    return result


def owner_of(cluster: Cluster, job: int) -> str:
    """The workload's own name."""
    return (cluster.jobs.owners[job] if cluster.jobs.owners else "") or cluster.jobs.names[job]


def pod_rows(cluster: Cluster) -> dict[tuple[str, str], Any]:
    """What the pods of a snapshot are, by namespace and name; what no policy reads is left out."""
    pods, names = cluster.pods, cluster.resource_names
    rows = {}
    for i, key in enumerate(zip(pods.namespaces, pods.names, strict=True)):
        job, resource = int(pods.job[i]), int(pods.resource[i])
        annotations = pods.annotations.row(i)
        rows[key] = (
            cluster.names[int(pods.node[i])],
            owner_of(cluster, job) if job >= 0 else "",
            int(pods.rank[i]),
            names[resource] if resource >= 0 else "",
            int(pods.request[i]),
            int(pods.chips[i]),
            bool(pods.active[i]),
            bool(annotations.get(REAL)),
            {key: text for key, text in annotations.items() if key.startswith((QUOTA, "is", "shared", "super-pod"))},
        )
    return rows


def job_rows(cluster: Cluster) -> dict[tuple[str, str], Any]:
    jobs, rows = cluster.jobs, {}
    for i, namespace in enumerate(jobs.namespaces):
        annotations = jobs.annotations.row(i)
        rows[namespace, owner_of(cluster, i)] = (
            int(jobs.min_available[i]),
            {key: annotations[key] for key in COPIED_ANNOTATIONS if key in annotations},
            {key: text for key, text in jobs.labels.row(i).items() if key in ("tor-affinity", "app", "inferserviceid")},
        )
    return rows


def differences(committed: Cluster, loaded: Cluster) -> list[str]:
    """Where two snapshots differ in what a scheduler looks at."""
    found = [] if np.array_equal(committed.used, loaded.used) else ["used"]
    for name, columns in loaded.resources.items():
        for field in ("free", "idle", "list_length", "list_bad", "allocatable", "unhealthy"):
            ours, theirs = getattr(committed.resources[name], field), getattr(columns, field)
            if not np.array_equal(ours, theirs) or ours.dtype != theirs.dtype:
                at = int(np.flatnonzero(ours != theirs)[0])
                found.append(f"{name} {field} of {loaded.names[at]}: {ours[at]} instead of {theirs[at]}")
    for what in (pod_rows, job_rows):
        ours, theirs = what(committed), what(loaded)
        found += [f"{key}: {ours.get(key)} instead of {theirs.get(key)}" for key in sorted(ours.keys() | theirs.keys())
                  if ours.get(key) != theirs.get(key)]  # fmt: skip
    return found


def renamed(case: cases.Case, name: str) -> Job:
    other = {**case, "job": {**case["job"], "name": name}}
    return ascendctl.load_jobs(cases.manifest(other))[0]


def sample(family: str) -> list[cases.Case]:
    found = cases.load(FOLDER / f"{family}.jsonl.gz")
    return random.Random(family).sample(found, min(10, len(found)))


@pytest.mark.parametrize("family", PLACED)
def test_recorded_cases(family: str) -> None:
    checked = 0
    for number, case in enumerate(sample(family)):
        mode = ("clusterd", "device")[number % 2]
        objects = cases.objects(case, mode)
        cluster, job = ascendctl.load_snapshot(objects), renamed(case, "first")
        result = ascendctl.place(job, cluster)
        if not isinstance(result, Placement):
            continue
        committed = commit(cluster, job, result)
        later = [*objects, *running(cluster, job, result)]
        loaded = ascendctl.load_snapshot(without_full_chips(later, mode) if "soft" in family else later)
        assert differences(committed, loaded) == [], case["id"]
        following = renamed(case, "second")
        after, expected = ascendctl.place(following, committed), ascendctl.place(following, loaded)
        assert after.to_dict() == expected.to_dict(), case["id"]
        checked += 1
    assert checked


def after(cluster: Cluster, *jobs: Job) -> Cluster:
    for each in jobs:
        result = ascendctl.place(each, cluster)
        assert isinstance(result, Placement)
        cluster = commit(cluster, each, result)
    return cluster


def soft_chips(cluster: Cluster) -> list[int]:
    """Chips of small soft jobs, one after the other until none fits any more."""
    found = []
    while isinstance(result := ascendctl.place(soft_job("40/8192/elastic"), cluster), Placement):
        found += result.pods[0].npus
        cluster = commit(cluster, soft_job("40/8192/elastic"), result)
    return found


def test_soft_jobs_share_chips() -> None:
    """40 of 100 percent go twice on each chip; a job that fills a chip takes it off the free list."""
    empty = cluster([soft_node([0, 1], "64G")])
    assert soft_chips(empty) == [0, 0, 1, 1]
    one = after(empty, soft_job("40/8192/elastic"))
    columns = one.resources[A910]
    assert (columns.free.tolist(), columns.list_length.tolist(), columns.idle.tolist()) == ([0b11], [2], [160])
    assert int(one.used[0]) & 0b11 == 0b1
    for share in ("100/8192/elastic", "40/65536/elastic"):
        columns = after(empty, soft_job(share)).resources[A910]
        assert (columns.free.tolist(), columns.list_length.tolist()) == ([0b10], [1])


def test_dynamic_vnpus_share_chips() -> None:
    """Four slices of two cores fill a chip of eight; another template may follow on a chip that is cut already."""
    node = core_node("310P", 2)
    two = [core_job("310P", 2, name=f"job-{i}") for i in range(4)]
    full = after(cluster([node]), *two)
    taken = [full.pods.annotations.get(i, CORE) for i in range(4)]
    assert taken == ["0-vir02_1c"] * 4
    assert ascendctl.place(core_job("310P", 4, name="next"), full).pods[0].annotations[CORE] == "1-vir04_3c"
    one = after(cluster([node]), two[0])
    assert ascendctl.place(core_job("310P", 4, name="next"), one).pods[0].annotations[CORE] == "0-vir04_3c"
    whole = after(cluster([node]), core_job("310P", 8, name="whole"))
    assert whole.resources[A310P].free.tolist() == [0b10] and whole.used.tolist() == [0b1]
    assert ascendctl.place(core_job("310P", 8, name="next"), whole).pods[0].npus == (1,)


def test_pods_without_npus_hold_nothing() -> None:
    roles = [Role("leader", 1, 0, ""), Role("worker", 1, 4, A910)]
    mixed = job(4, roles=roles)
    found = after(cluster([Node("a", range(8))]), mixed)
    assert found.pods.resource.tolist() == [-1, 0] and found.pods.request.tolist() == [0, 4]
    assert found.resources[A910].idle.tolist() == [4]


def test_all_requests_count() -> None:
    """A pod that asks for a second resource takes that too."""
    roles = [Role("worker", 1, 2, A910, requests={A910: 2, "huawei.com/other": 3})]
    node = Node("a", range(8), more={"huawei.com/other": (5, 5, 5)})
    found = after(cluster([node]), job(2, roles=roles))
    assert {name: columns.idle.tolist() for name, columns in found.resources.items()} == {
        A910: [6],
        "huawei.com/other": [2],
    }
