"""Keys that each component writes on a pod on its way to a node (chapter 50 §2)."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from ascendctl.engine.result import PlacedPod, Placement
from ascendctl.engine.wirings import WIRINGS
from ascendctl.manifest.job import Job, PodSpec
from ascendctl.ranks.order import RankedPod
from ascendctl.ranks.table import chips_of
from ascendctl.snapshot.cluster import Cluster
from ascendctl.wellknown import AICORE_QUOTA, CHIP_NAME, REAL

SCHEDULER, DEVICE_PLUGIN, OPERATOR, VOLCANO = "scheduler", "device-plugin", "ascend-operator", "volcano-controller"
MOUNTED = str(2**64 - 1)
"""predicate-time of a pod whose chips are mounted."""
CONFIG_910 = "ascend.kubectl.kubernetes.io/ascend-910-configuration"
CONFIG_NPU = "ascend.kubectl.kubernetes.io/ascend-npu-configuration"
REPORTING = ("huawei.com/Ascend910", "huawei.com/npu")


@dataclass(frozen=True)
class Written:
    """One annotation or label. `value` "" with a `note` = only a running cluster knows it."""

    writer: str
    what: str
    key: str
    value: str = ""
    note: str = ""


def written_keys(job: Job, spec: PodSpec, placed: PlacedPod, placement: Placement, cluster: Cluster) -> list[Written]:
    """What stands on a pod once its chips are mounted, in the order in which it is written; a later entry of the same
    key replaces an earlier one."""
    found = [*_controller(job, spec)]
    found += [Written(SCHEDULER, "annotation", key, value) for key, value in placed.annotations.items()]
    if not placed.npus:
        return found
    found.append(Written(SCHEDULER, "annotation", "predicate-time", note="nanoseconds since the epoch"))
    if REAL in placed.annotations or (AICORE_QUOTA in placed.annotations and job.kind == "AscendJob"):
        key = config_key(placement.job.policy)
        found.append(Written(SCHEDULER, "annotation", key, config_annotation(job, placed, cluster)))
    found.append(Written(DEVICE_PLUGIN, "annotation", "predicate-time", MOUNTED))
    if REAL not in placed.annotations and job.resource in REPORTING:
        found += _device_plugin(job, placed, cluster)
    return found


def _controller(job: Job, spec: PodSpec) -> Iterator[Written]:
    role = job.roles[spec.role]
    group = f"{job.name}-<UID>"
    if job.kind == "AscendJob":
        name, index = role.name.lower(), str(spec.number)
        yield Written(OPERATOR, "annotation", "hccl/rankIndex", str(spec.rank))
        yield Written(OPERATOR, "annotation", "scheduling.k8s.io/group-name", note=group)
        yield Written(OPERATOR, "annotation", "volcano.sh/task-spec", name)
        labels = {
            "job-name": job.name,
            "training.kubeflow.org/job-name": job.name,
            "group-name": "mindxdl.gitee.com",
            "training.kubeflow.org/operator-name": "ascendjob-controller",
            "replica-type": name,
            "training.kubeflow.org/replica-type": name,
            "replica-index": index,
            "training.kubeflow.org/replica-index": index,
            "version": "0",
        }
        labels |= {"training.kubeflow.org/job-role": "master"} if role.name != "Worker" else {}
        yield from (Written(OPERATOR, "label", key, value) for key, value in labels.items())
    elif job.kind == "vcjob":
        shared = {"volcano.sh/task-spec": role.name, "volcano.sh/task-index": str(spec.number)}
        shared |= {"volcano.sh/job-name": job.name, "volcano.sh/queue-name": job.queue}
        more = {"volcano.sh/template-uid": f"{job.name}-{role.name}", "volcano.sh/job-retry-count": "0"}
        yield from (Written(VOLCANO, "annotation", key, value) for key, value in (shared | more).items())
        yield Written(VOLCANO, "annotation", "volcano.sh/job-version", "0")
        yield Written(VOLCANO, "annotation", "scheduling.k8s.io/group-name", note=group)
        labels = shared | {"volcano.sh/job-namespace": job.namespace}
        yield from (Written(VOLCANO, "label", key, value) for key, value in labels.items())
    else:
        yield Written(VOLCANO, "annotation", "scheduling.k8s.io/group-name", note="podgroup-<UID of the owner>")


def config_key(policy: str) -> str:
    """The key of the config annotation as the scheduler writes it: it follows the policy's own resource."""
    return CONFIG_NPU if policy in WIRINGS and WIRINGS[policy].npu_key else CONFIG_910


def config_annotation(job: Job, placed: PlacedPod, cluster: Cluster) -> str:
    """The config annotation (§2.6) in the scheduler's key order; server_id, the UID of the pod, is left empty."""
    node = cluster.index[placed.node]
    pod = RankedPod(placed.rank, placed.name, 0, node, tuple(sorted(placed.npus)))
    devices: list[dict[str, Any]] = []
    for chip in chips_of(cluster, pod):
        device: dict[str, Any] = {"device_id": str(chip.id), "device_ip": chip.ip}
        device["super_device_id"] = str(chip.super_device_id)
        devices.append(device | ({"levelList": json.loads(chip.levels)} if chip.levels else {}))
    address, index = cluster.addresses[node], int(cluster.server_index[node])
    document = {
        "pod_name": placed.name,
        "server_id": "",
        "server_ip": address,
        "host_ip": address,
        "super_pod_id": int(cluster.superpod[node]),
        "rack_id": int(cluster.rack[node]),
        "devices": devices,
        "server_index": str(index) if index > -(1 << 31) else "",
    }
    return json.dumps(document, separators=(",", ":"), ensure_ascii=False)


def _device_plugin(job: Job, placed: PlacedPod, cluster: Cluster) -> Iterator[Written]:
    """The reporting cycle, which fills in what the scheduler left out; not for pods that take the whole node, of whose
    chips kubelet tells the device plugin nothing."""
    node = cluster.index[placed.node]
    if len(placed.npus) == int(cluster.total[node]).bit_count():
        return
    prefix = job.resource.removeprefix("huawei.com/")
    names = ",".join(sorted(f"{prefix}-{chip}" for chip in placed.npus))
    yield Written(DEVICE_PLUGIN, "annotation", "huawei.com/kltDev", note="what kubelet believes it handed out")
    yield Written(DEVICE_PLUGIN, "annotation", REAL, names)
    a5 = (cluster.labels.get(node, CHIP_NAME) or "").startswith("Ascend950") or job.resource == "huawei.com/npu"
    yield Written(
        DEVICE_PLUGIN, "annotation", CONFIG_NPU if a5 else CONFIG_910, config_annotation(job, placed, cluster)
    )


def as_text(job: Job, placement: Placement, cluster: Cluster) -> str:
    """All pods with what is written on them, as `ascendctl place -o annotations` prints it: a comment a pod, then
    writer, annotation or label, key and value; what only a running cluster knows stands in brackets."""
    from ascendctl.ranks.environment import title
    from ascendctl.report.text import table

    parts = []
    for spec, placed in zip(job.pods, placement.pods, strict=True):
        found = written_keys(job, spec, placed, placement, cluster)
        rows = [(one.writer, one.what, one.key, one.value or (f"({one.note})" if one.note else '""')) for one in found]
        parts.append(f"{title(placed)}\n{table(rows, ())}")
    return "\n\n".join(parts)
