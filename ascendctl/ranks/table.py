"""The rank table of a placement: version, servers from the snapshot, refusals (chapter 50 §4.6)."""

from __future__ import annotations

import ipaddress
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from ascendctl.engine.result import PlacedPod
from ascendctl.engine.running import own_rows
from ascendctl.manifest.job import Job
from ascendctl.manifest.kinds import dig
from ascendctl.ranks.order import RankedPod, ranked_pods
from ascendctl.ranks.server import Chip, Server, Table
from ascendctl.ranks.table_v1 import HARD, MINDIE, SOFT, table_1_0, table_1_2
from ascendctl.ranks.table_v2 import ScaleOutError, read_levels, table_2_0
from ascendctl.ranks.version import object_labels, table_block, table_version
from ascendctl.snapshot.cluster import Cluster
from ascendctl.wellknown import RING, SUPER_POD_AFFINITY

NO_ADDRESS = ("", "-1")
HARDWARE = "mind-cluster/hardware-type"


class RankTableError(Exception):
    """No rank table can be made; `code` is one of RT-03 to RT-06, RK-01, RK-02, or "" where none fits."""

    def __init__(self, code: str, message: str) -> None:
        super().__init__(f"{code}: {message}" if code else message)
        self.code, self.message = code, message


@dataclass(frozen=True)
class RankTable:
    """A table, why it has its version, and remarks."""

    document: Table
    version: str
    reason: str
    notes: tuple[str, ...] = ()


def rank_table(
    job: Job, pods: Sequence[PlacedPod], cluster: Cluster, version: str = "auto", server_id: str = "auto"
) -> RankTable:
    """The rank table of a job's placed pods. `version` "auto" takes that of the operator; `server_id` "host-ip" uses
    node addresses even where pods share nodes. Raises RankTableError."""
    ranked = ranked_pods(job, pods, cluster)
    if not ranked:
        raise RankTableError("", "no pod asks for NPUs")
    _check_ranks(ranked)
    chosen, reason = table_version(job)
    notes = list(_remarks(job))
    if version not in ("auto", chosen):
        notes.append(f"the operator would write version {chosen}: {reason}")
        chosen, reason = version, "asked for"
    servers = _servers(job, ranked, pods, cluster, server_id)
    block = table_block(job)
    if chosen == "2.0":
        _check_levels(servers, ranked, cluster)
        document = _version_2(job, servers)
    else:
        strict = chosen == "1.0" or (block > 0 and sum(len(s.chips) for s in servers) // block > 1)
        unknown = _check_addresses(servers, ranked, cluster, strict)
        status = "initializing" if unknown else "completed"
        notes += [f"status initializing: {unknown}"] if unknown else []
        document = table_1_0(servers, status) if chosen == "1.0" else _version_1_2(job, servers, block, status)
    return RankTable(document, chosen, reason, tuple(notes))


def _check_ranks(ranked: Sequence[RankedPod]) -> None:
    ranks = sorted(pod.rank for pod in ranked)
    if ranks != list(range(len(ranks))):
        shown = ", ".join(map(str, ranks[:6])) + (", ..." if len(ranks) > 6 else "")
        raise RankTableError("RK-01", f"ranks are {shown}, not 0 to {len(ranks) - 1}: chip ranks would have gaps")
    if len({len(pod.chips) for pod in ranked}) > 1:
        raise RankTableError("RK-02", "pods have different numbers of NPUs: chip ranks would collide")
    bare = next((pod for pod in ranked if not pod.chips), None)
    if bare is not None:
        raise RankTableError("", f"pod {bare.name} has no whole NPUs of its own")


def _remarks(job: Job) -> list[str]:
    """Where the operator itself would write no table (§4.2, §4.5)."""
    notes = []
    helpers = [role.name for role in job.roles if role.npus == 0 and role.replicas]
    if helpers and table_version(job)[0] == "2.0":
        notes.append(f"the operator writes no table 2.0 for a job with pods without NPUs ({', '.join(helpers)})")
    if job.kind in ("Job", "Pod"):
        notes.append(f"the operator writes no rank table for kind {job.kind}")
    elif not writes_table(job):
        notes.append(
            f"the operator writes no rank table: {job.kind} {job.name} has neither label {RING} nor a volume "
            "named ranktable"
        )
    return notes


def writes_table(job: Job) -> bool:
    """True if the operator would write a rank table for a workload of this kind, if its pods have NPUs (§4.2)."""
    return job.kind == "AscendJob" or RING in object_labels(job) or _has_volume(job)


def _has_volume(job: Job) -> bool:
    document = job.source.document
    if document is None:
        return True
    for i in range(len(job.roles)):
        volumes = dig(document.value, (*job.source.path("role", i), "spec", "volumes"))
        for volume in volumes if isinstance(volumes, list) else []:
            if isinstance(volume, Mapping) and volume.get("name") == "ranktable":
                return True
    return False


def _servers(
    job: Job, ranked: Sequence[RankedPod], pods: Sequence[PlacedPod], cluster: Cluster, server_id: str
) -> list[Server]:
    shared = _shared(pods)
    uids, ips = own_uids(job, cluster) if shared else {}, _addresses(job, cluster)
    servers = []
    for pod in ranked:
        host = cluster.addresses[pod.node]
        if not host:
            raise RankTableError("RT-05", f"node {cluster.names[pod.node]} has no InternalIP in the snapshot")
        name = host if not shared or server_id == "host-ip" else uids.get(pod.name, "")
        if not name:
            raise RankTableError(
                "RT-05",
                f"{shared}, so server_id is the pod's UID, which the snapshot does not hold ({pod.name}); "
                "--server-id host-ip takes the node's address",
            )
        servers.append(
            Server(
                pod.rank, chips_of(cluster, pod), name, host, ips.get((pod.name, pod.node), ""),
                hardware_type=pod.annotations.get(HARDWARE, "") if is_mindie(job) else "",
                super_pod_rank=pod.group,
                super_pod_id=str(int(cluster.superpod[pod.node])),
            )
        )  # fmt: skip
    names = [server.server_id for server in servers]
    double = next((name for name in names if names.count(name) > 1), None) if len(set(names)) < len(names) else None
    if double is not None:
        raise RankTableError("RT-06", f"two servers would have server_id {double}")
    return servers


def _shared(pods: Sequence[PlacedPod]) -> str:
    """A sentence on two pods that share a node, those without NPUs included; "" if there are none."""
    seen: dict[str, PlacedPod] = {}
    for pod in pods:
        other = seen.setdefault(pod.node, pod)
        if other is not pod:
            helper = next((one.name for one in (other, pod) if not one.npus), "")
            which = f" ({helper} asks for no NPUs)" if helper else ""
            return f"pods {other.name} and {pod.name} share node {pod.node}{which}"
    return ""


def own_uids(job: Job, cluster: Cluster) -> dict[str, str]:
    """UIDs of the pods of the job's namespace by name, those that wait for a node among them."""
    return {
        name: uid
        for table in (cluster.pods, cluster.waiting)
        for name, namespace, uid in zip(table.names, table.namespaces, table.uids, strict=True)
        if namespace == job.namespace
    }


def _addresses(job: Job, cluster: Cluster) -> dict[tuple[str, int], str]:
    """Addresses of the job's pods by name and node: a pod that runs where the placement puts it keeps its address."""
    pods, names = cluster.pods, {pod.name for pod in job.pods}
    if not len(pods.ips) or names.isdisjoint(pods.names):
        return {}
    own = np.flatnonzero(own_rows(cluster, job).pods & pods.active)
    return {(pods.names[row], int(pods.node[row])): pods.ips[row] for row in own.tolist()}


def chips_of(cluster: Cluster, pod: RankedPod) -> tuple[Chip, ...]:
    table = cluster.chips
    rows = range(int(table.ptr[pod.node]), int(table.ptr[pod.node + 1]))
    known = {int(table.physical_id[row]): row for row in rows}
    found = []
    for chip in pod.chips:
        row = known.get(chip)
        if row is None:
            found.append(Chip(chip))
            continue
        super_device = max(0, int(table.super_device_id[row]))
        found.append(Chip(chip, table.ip[row], super_device, table.levels[row]))
    return tuple(found)


def is_mindie(job: Job) -> bool:
    """True for a MindIE job: labels jobID and app on the workload."""
    labels = object_labels(job)
    return "jobID" in labels and "app" in labels


def _version_1_2(job: Job, servers: Sequence[Server], block: int, status: str) -> Table:
    soft = object_labels(job).get(SUPER_POD_AFFINITY) == "soft"
    mode = SOFT if soft else MINDIE if is_mindie(job) else HARD
    if mode == SOFT and not all(server.super_pod_rank for server in servers):
        raise RankTableError("", "super-pod-affinity soft, but the placement has no logical SuperPoDs")
    return table_1_2(servers, block, mode, status)


def _version_2(job: Job, servers: Sequence[Server]) -> Table:
    try:
        return table_2_0(servers, object_labels(job).get("scaleout-type", ""))
    except ScaleOutError as error:
        raise RankTableError("RT-04", str(error)) from None


def _check_addresses(servers: Sequence[Server], ranked: Sequence[RankedPod], cluster: Cluster, strict: bool) -> str:
    """RT-03. A sentence on an address that is unknown where one may be, else ""."""
    unknown, seen = "", dict[str, str]()
    for server, pod in zip(servers, ranked, strict=True):
        node = cluster.names[pod.node]
        for chip in server.chips:
            where = f"chip {chip.id} of node {node}"
            if chip.ip in NO_ADDRESS:
                text = f"{where} has no address in baseDeviceInfos"
                if strict:
                    raise RankTableError("RT-03", text)
                unknown = unknown or text
                continue
            if not is_address(chip.ip):
                raise RankTableError("RT-03", f"{where}: {chip.ip!r} is no address")
            other = seen.setdefault(chip.ip, where)
            if other != where and strict:
                raise RankTableError("RT-03", f"{other} and {where} have the same address {chip.ip}")
    return unknown


def is_address(text: str) -> bool:
    """True for an IPv4 or IPv6 address."""
    try:
        ipaddress.ip_address(text)
    except ValueError:
        return False
    return True


def _check_levels(servers: Sequence[Server], ranked: Sequence[RankedPod], cluster: Cluster) -> None:
    """RT-04: every chip must say how it is connected."""
    for server, pod in zip(servers, ranked, strict=True):
        for chip in server.chips:
            where = f"chip {chip.id} of node {cluster.names[pod.node]}"
            try:
                levels = read_levels(chip)
            except ValueError as error:
                raise RankTableError("RT-04", f"{where}: levelList is not readable: {error}") from None
            if not levels:
                raise RankTableError("RT-04", f"{where} has no levelList in baseDeviceInfos")
