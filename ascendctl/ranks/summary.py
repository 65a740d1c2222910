"""ConfigMap `job-summary-<job>`, as ClusterD publishes it once all pods have chips (chapter 50 §5.1)."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from typing import Any

from ascendctl.engine.result import PlacedPod
from ascendctl.manifest.job import Job, parse_go_int
from ascendctl.ranks.order import RankedPod, ranked_pods
from ascendctl.ranks.server import Table
from ascendctl.ranks.table import chips_of, own_uids
from ascendctl.ranks.table_v2 import table_2_0
from ascendctl.ranks.version import object_labels
from ascendctl.snapshot.cluster import Cluster
from ascendctl.wellknown import MIN_AVAILABLE, NPU, RING

SLICE = 800 * 1024
"""Bytes of hccl.json of one object."""


def job_summary(job: Job, pods: Sequence[PlacedPod], cluster: Cluster) -> list[dict[str, Any]]:
    """The ConfigMaps of a placed job, one a slice. What only a running cluster knows is empty: UID of the owner, times,
    serial numbers of the servers, ids of the containers, MASTER_ADDR."""
    ranked = _counted(job, ranked_pods(job, pods, cluster))
    servers = _servers(job, ranked, cluster)
    slices = list(_cut(servers, _rank_list(job, ranked, cluster)))
    return [_map(job, ranked, cluster, part, i, len(slices)) for i, part in enumerate(slices)]


def summary_remark(job: Job) -> str:
    """How ClusterD would treat a workload of this kind differently; "" if it would not."""
    if job.kind == "Pod":
        return "ClusterD publishes no job-summary for pods without an owner"
    if job.kind == "Deployment":
        return f"ClusterD names the ConfigMap after the ReplicaSet: job-summary-{job.name}-<hash>"
    return ""


def _counted(job: Job, ranked: Sequence[RankedPod]) -> list[RankedPod]:
    """Pods whose rank ClusterD accepts."""
    given = [parse_go_int(role.annotations.get(MIN_AVAILABLE, "")) or 0 for role in job.roles]
    replicas = max(job.min_available, *given)
    return [pod for pod in ranked if 0 <= pod.rank < replicas]


def _servers(job: Job, ranked: Sequence[RankedPod], cluster: Cluster) -> list[Table]:
    nodes = [pod.node for pod in ranked]
    own_node = len(set(nodes)) == len(nodes)
    uids = {} if own_node else own_uids(job, cluster)
    servers = []
    for pod in ranked:
        in_superpod = int(cluster.superpod[pod.node]) >= 0
        devices = [
            {"device_id": str(chip.id), "device_ip": chip.ip, "rank_id": str(pod.first_chip_rank + j)}
            | ({"super_device_id": str(chip.super_device_id)} if in_superpod else {})
            for j, chip in enumerate(chips_of(cluster, pod))
        ]
        host = cluster.addresses[pod.node]
        servers.append(
            {
                "device": devices,
                "server_id": host if own_node else uids.get(pod.name, ""),
                "host_ip": host,
                "super_pod_id": int(cluster.superpod[pod.node]),
                "server_name": cluster.names[pod.node],
                "server_sn": "",
                "pod_name": pod.name,
                "container_ids": {},
            }
        )
    return servers


def _rank_list(job: Job, ranked: Sequence[RankedPod], cluster: Cluster) -> list[Table] | None:
    """The chips of table 2.0; None for other resources."""
    if job.resource != NPU:
        return None
    from ascendctl.ranks.server import Server

    servers = [Server(pod.rank, chips_of(cluster, pod), "", "") for pod in ranked]
    found: list[Table] = table_2_0(servers, object_labels(job).get("scaleout-type", "")).get("rank_list", [])
    return found


def _cut(servers: Sequence[Table], ranks: Sequence[Table] | None) -> Iterator[tuple[list[Table], list[Table] | None]]:
    """Slices that stay below the limit; the chips go with their servers."""
    part: list[Table] = []
    chips: list[Table] | None = None if ranks is None else []
    size, taken = 0, 0
    for server in servers:
        count = len(server["device"])
        own = list(ranks[taken : taken + count]) if ranks is not None else []
        taken += count
        length = len(json.dumps([server, own], separators=(",", ":")))
        if part and size + length > SLICE - 200:
            yield part, chips
            part, chips, size = [], None if ranks is None else [], 0
        part.append(server)
        if chips is not None:
            chips += own
        size += length
    yield part, chips


def _map(
    job: Job,
    ranked: Sequence[RankedPod],
    cluster: Cluster,
    part: tuple[list[Table], list[Table] | None],
    index: int,
    total: int,
) -> dict[str, Any]:
    servers, chips = part
    table: Table = {"status": "complete", "server_list": servers, "server_count": str(len(servers)), "total": total}
    if chips is not None:
        table |= {"version": "2.0", "rank_list": chips, "rank_count": len(chips)}
    labels = job.labels
    framework = job.labels.get("framework", "")
    custom = labels.get("customJobKey", "")
    data = {
        "job_id": "",
        "job_name": job.name,
        "framework": framework,
        "job_status": "running",
        "operator": "add",
        "time": "",
        "sid": (labels.get(custom) if custom else "") or labels.get("custom-job-id", ""),
        "cm_index": str(index),
        "total": str(total),
        "hccl.json": json.dumps(table, separators=(",", ":"), ensure_ascii=False),
    }
    if framework == "pytorch":
        first = cluster.addresses[ranked[0].node] if ranked and job.kind == "vcjob" else ""
        leaves = [pod.annotations for pod in ranked if pod.annotations.get("isSharedTor") == "1"]
        shared = sorted({found.get("sharedTorIp", "") for found in leaves})
        data |= {"masterAddr": first, "sharedTorIp": json.dumps(shared) if shared else ""}
    ring = {} if job.resource == NPU else {RING: "ascend-910"}
    suffix = f"-{index}" if index else ""
    return {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {
            "name": f"job-summary-{job.name}{suffix}",
            "namespace": job.namespace,
            "labels": {"outside-job-info": "true"} | ring,
        },
        "data": data,
    }
