"""From nodes and chips to the result: pods in rank order with the annotations that the scheduler writes, refused nodes
by reason, blocks, trace (chapter 10 §5.7, chapter 50 §2.2)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ascendctl.engine.predicate import rejected
from ascendctl.engine.request import Request
from ascendctl.engine.result import PlacedPod, Placement, Trace, Unschedulable
from ascendctl.manifest.job import PodSpec
from ascendctl.snapshot.cluster import Cluster
from ascendctl.wellknown import CHIP_NAME, MIN_AVAILABLE, OPERATOR, RANK, REAL

Steps = Sequence[tuple[str, Mapping[str, Any]]]


def placed(
    request: Request,
    nodes: Sequence[int],
    chips: Sequence[tuple[int, ...]],
    codes: NDArray[np.int16] | None = None,
    *,
    annotations: Sequence[Mapping[str, str]] | None = None,
    groups: Sequence[str] | None = None,
    blocks: Mapping[str, tuple[str, ...]] | None = None,
    moved: Sequence[bool] | None = None,
    metrics: Mapping[str, Any] | None = None,
    scores: Sequence[tuple[str, int]] = (),
    steps: Steps = (),
    notes: Sequence[str] = (),
) -> Placement:
    """The Placement of all pods of the job.

    `nodes` (indices) and `chips` (physical ids in the scheduler's order) stand in the order of `job.pods`, as do
    `annotations` (what the policy writes beyond the chip annotations), `groups` and `moved`. `codes` int16[N] are the
    refusals that the first pod met.
    """
    job, cluster = request.job, request.cluster
    pods = tuple(
        PlacedPod(
            name=pod.name,
            role=job.roles[pod.role].name,
            rank=pod.rank,
            node=cluster.names[node],
            npus=chips[i],
            annotations=pod_annotations(request, pod, node, chips[i]) | dict(annotations[i] if annotations else {}),
            group=groups[i] if groups else "",
            moved=moved[i] if moved else True,
        )
        for i, (pod, node) in enumerate(zip(job.pods, nodes, strict=True))
    )
    return Placement(
        request.head,
        pods,
        rejected(cluster, codes) if codes is not None else (),
        blocks or {},
        metrics or {},
        Trace(tuple(scores), tuple(steps), (*request.notes, *notes)),
    )


def refused(
    request: Request,
    code: str,
    message: str,
    codes: NDArray[np.int16] | None = None,
    *,
    steps: Steps = (),
    notes: Sequence[str] = (),
) -> Unschedulable:
    """The Unschedulable of a job; `codes` int16[N] as the pod that found no node met them."""
    return Unschedulable(
        request.head,
        code,
        message,
        rejected(request.cluster, codes) if codes is not None else (),
        Trace((), tuple(steps), (*request.notes, *notes)),
    )


def pod_annotations(request: Request, pod: PodSpec, node: int, chips: tuple[int, ...]) -> dict[str, str]:
    """Annotations of one pod on a node, without those that depend on time or on the pod's UID. Empty for a pod without
    NPUs and for static vNPUs, which the device plugin hands out."""
    job, cluster, role = request.job, request.cluster, request.job.roles[pod.role]
    if not role.is_npu or request.selection.static_vnpu or not request.selection.registered:
        return {}
    written = {"distributed-job": "true" if job.distributed else "false"}
    if not chips or request.selection.module == "vnpu":
        return written
    prefix = role.resource.removeprefix("huawei.com/") + "-"
    devices = device_ids(cluster, node)
    written[role.resource] = ",".join(f"{prefix}{devices.get(chip, 0) if devices else chip}" for chip in chips)
    if names_real_chips(request, pod, node, len(chips)):
        written[REAL] = ",".join(f"{prefix}{chip}" for chip in chips)
    if RANK not in role.annotations and (job.owner_kind == "ReplicaSet" or MIN_AVAILABLE in job.annotations):
        written[RANK] = str(pod.rank)
    return written


def names_real_chips(request: Request, pod: PodSpec, node: int, count: int) -> bool:
    """True if the scheduler itself writes AscendReal and the rank table annotation for the pod: it belongs to the
    operator, or it takes every healthy chip of a node whose baseDeviceInfos lists exactly those; never with soft
    sharing."""
    job, cluster = request.job, request.cluster
    if request.selection.module == "soft_share":
        return False
    if job.kind == "AscendJob" or OPERATOR in job.roles[pod.role].labels:
        return True
    allocatable = int(request.state.fixed.allocatable[node])
    return bool(cluster.has_base_info[node]) and count == allocatable == int(cluster.base_count[node])


def device_ids(cluster: Cluster, node: int) -> dict[int, int]:
    """Physical chip id -> device id of a node, where pods are told device ids (Ascend950 nodes); else empty."""
    if not (cluster.labels.get(node, CHIP_NAME) or "").startswith("Ascend950"):
        return {}
    rows = slice(int(cluster.chips.ptr[node]), int(cluster.chips.ptr[node + 1]))
    devices = zip(cluster.chips.physical_id[rows].tolist(), cluster.chips.device_id[rows].tolist(), strict=True)
    return {chip: device for chip, device in devices if device >= 0}
