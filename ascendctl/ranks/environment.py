"""Environment variables that controllers and device plugin give to the pods of a placement (chapter 50 §5.2 to
§5.4)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from ascendctl.engine.result import PlacedPod, Placement
from ascendctl.manifest.job import Job, PodSpec
from ascendctl.manifest.kinds import dig
from ascendctl.manifest.quantity import whole
from ascendctl.ranks.version import containers, logical_superpod, object_annotations, object_labels, table_block
from ascendctl.wellknown import A310, A310P, A910, NPU, NPU_CORE, POLICY, SOFT_SHARE, SUPER_POD_AFFINITY

WHOLE = (NPU, A310, A310P, A910)
PORT_NAME, DEFAULT_PORT = "ascendjob-port", 2222
TOPOLOGY_FOLDER = "/usr/local/Ascend/driver/topo/950/"
TOPOLOGY_FILES = {
    "chip1-node8": "atlas_350_1.json",
    "chip1-node16": "atlas_350_1.json",
    "chip4-node8": "atlas_350_3.json",
    "chip4-node16": "atlas_350_3.json",
    "chip8-node8": "atlas_850_1.json",
    "850-Atlas-8p-8": "atlas_850_1.json",
}
SEVERAL_FILES = {
    "chip8-node8-sp": ("atlas_850_2.json", "atlas_850_3.json", "16 or 32 NPUs a SuperPoD"),
    "chip8-node8-ra64-sp": ("atlas_950_1.json", "atlas_950_2.json", "1D or 2D wiring"),
}


@dataclass(frozen=True)
class Variable:
    """One variable. Where the value is only known on the cluster, `value` is "" and `origin` says what it will be; a
    field of the pod itself is given as `field`."""

    name: str
    value: str = ""
    origin: str = ""
    field: str = ""


def pod_environment(job: Job, spec: PodSpec, placement: Placement) -> list[Variable]:
    """The variables of one pod, in the order of the chapter. Empty for kinds whose controllers set none."""
    found: list[Variable] = []
    if job.kind == "AscendJob":
        found += _operator(job, spec)
    elif job.kind == "vcjob":
        found += _volcano(job, spec)
    if spec.npus > 0 and job.resource == NPU:
        found += _topology_file(placement.job.policy)
    return found


def world(job: Job) -> tuple[int, int]:
    """(C, n): NPUs of one pod and pods with NPUs, as the operator counts an AscendJob (§3.3, §5.2)."""
    counted = _leader_counts(job)
    roles = [i for i, role in enumerate(job.roles) if counted or role.name == "Worker"]
    npus = max((_requested(job, i) for i in roles), default=0)
    return npus, sum(job.roles[i].replicas for i in roles)


def _container(job: Job, role: int) -> Mapping[str, Any] | None:
    return next((one for one in containers(job, role) if one.get("name") == "ascend"), None)


def _requests(job: Job, role: int) -> Mapping[str, Any]:
    given = dig(_container(job, role), ("resources", "requests"))
    return given if isinstance(given, Mapping) else {}


def _requested(job: Job, role: int) -> int:
    return sum(whole(v) or 0 for k, v in _requests(job, role).items() if "huawei.com/" in str(k))


def _leader_counts(job: Job) -> bool:
    return any(role.name != "Worker" and _requested(job, i) > 0 for i, role in enumerate(job.roles))


def _operator(job: Job, spec: PodSpec) -> Iterator[Variable]:
    """What Ascend Operator adds to the container named ascend."""
    labels, role = object_labels(job), job.roles[spec.role]
    if "jobID" in labels and "app" in labels:  # MindIE: nothing but these
        yield Variable("MINDX_TASK_ID", labels["jobID"])
        yield Variable("APP_TYPE", labels["app"])
        yield Variable("MINDX_SERVER_IP", origin="address of the MindIE server service")
        yield Variable("MINDX_SERVER_DOMAIN", origin="domain name of the MindIE server service")
        return
    requests, annotations = _requests(job, spec.role), object_annotations(job)
    shared = annotations.get(POLICY) == SOFT_SHARE
    if requests and all(key in WHOLE for key in requests) and not shared:
        yield Variable("ASCEND_VISIBLE_DEVICES", field=f"metadata.annotations['{next(iter(requests))}']")
    npus = _requested(job, spec.role)
    if npus > 0:
        soft = labels.get(SUPER_POD_AFFINITY) == "soft" and NPU not in requests
        if soft:
            yield Variable("HCCL_LOGIC_SUPERPOD_ID", field="metadata.annotations['super-pod-rank']")
        else:
            block = logical_superpod(table_block(job), npus, spec.rank)
            yield Variable("HCCL_LOGIC_SUPERPOD_ID", str(block))
    yield Variable("MINDX_TASK_ID", origin="UID of the AscendJob")
    yield Variable("REPLICA_TYPE", role.name)
    yield Variable("HostNetwork", "true" if _host_network(job, spec.role) else "false")
    framework = labels.get("framework", "")
    size, count = world(job)
    only_workers = all(one.name == "Worker" for one in job.roles)
    if size == 0 or (framework == "mindspore" and only_workers):
        return
    size = 1 if shared else size
    with_sizes = NPU_CORE not in requests
    yield from _framework(job, spec, framework, size, count, with_sizes, npus > 0)


def _host_network(job: Job, role: int) -> bool:
    document = job.source.document
    at = (*job.source.path("role", role), "spec", "hostNetwork")
    return document is not None and dig(document.value, at) is True


def _framework(
    job: Job, spec: PodSpec, framework: str, size: int, count: int, with_sizes: bool, has_npus: bool
) -> Iterator[Variable]:
    """`size` C, `count` n; without sizes the device plugin sets them from its own count."""
    role, total, listed = job.roles[spec.role].name, str(size * count), ",".join(map(str, range(size)))
    own = Variable("", origin="address of this pod")
    if framework == "pytorch":
        service, port = f"{job.name}-master-0", _port(job)
        if with_sizes:
            yield Variable("WORLD_SIZE", total)
            yield Variable("LOCAL_WORLD_SIZE", str(size))
            yield Variable("LOCAL_RANK", listed)
        yield Variable("RANK", str(spec.rank))
        yield Variable("MASTER_ADDR", origin=f"cluster IP of service {service}")
        yield Variable("MASTER_PORT", port)
    elif framework == "mindspore":
        service, port, leads = f"{job.name}-scheduler-0", _port(job), role == "Scheduler"
        if with_sizes:
            yield Variable("MS_WORKER_NUM", total)
            yield Variable("MS_LOCAL_WORKER", str(size))
        yield Variable("MS_NODE_RANK", str(spec.rank))
        yield Variable("MS_SERVER_NUM", "0")
        yield Variable("MS_ROLE", "MS_SCHED" if leads else "MS_WORKER")
        yield Variable("MS_SCHED_HOST", origin=own.origin if leads else f"cluster IP of service {service}")
        yield Variable("MS_SCHED_PORT", port)
        yield Variable("NPU_POD", "true" if has_npus else "false")
    elif framework == "tensorflow":
        service, port, leads = f"{job.name}-chief-0", _port(job), role == "Chief"
        if with_sizes:
            yield Variable("CM_WORKER_SIZE", total)
            yield Variable("CM_LOCAL_WORKER", str(size))
        yield Variable("CM_RANK", str(spec.rank))
        yield Variable("CM_CHIEF_IP", origin=own.origin if leads else f"cluster IP of service {service}")
        yield Variable("CM_CHIEF_PORT", port)
        yield Variable("CM_CHIEF_DEVICE", "0")
        yield Variable("CM_WORKER_IP", origin=own.origin)


def _port(job: Job) -> str:
    """The port named ascendjob-port of the leader's container, else the default."""
    for i, role in enumerate(job.roles):
        ports = dig(_container(job, i), ("ports",)) if role.name != "Worker" else None
        for port in ports if isinstance(ports, list) else []:
            if isinstance(port, Mapping) and port.get("name") == PORT_NAME:
                return str(port.get("containerPort"))
    return str(DEFAULT_PORT)


def _volcano(job: Job, spec: PodSpec) -> Iterator[Variable]:
    """Plugins env and svc of a Volcano Job."""
    value = job.source.document.value if job.source.document is not None else None
    plugins = dig(value, ("spec", "plugins"))
    plugins = plugins if isinstance(plugins, Mapping) else {}
    if "env" in plugins:
        yield Variable("VC_TASK_INDEX", str(spec.number))
        yield Variable("VK_TASK_INDEX", str(spec.number))
    if "svc" in plugins:
        for role in job.roles:
            name = "".join(c if c.isalnum() else "_" for c in role.name.upper())
            hosts = ",".join(f"{job.name}-{role.name}-{i}.{job.name}" for i in range(role.replicas))
            yield Variable(f"VC_{name}_HOSTS", hosts)
            yield Variable(f"VC_{name}_NUM", str(role.replicas))


def _topology_file(policy: str) -> Iterator[Variable]:
    if policy in TOPOLOGY_FILES:
        yield Variable("HCCL_TOPO_FILE_PATH", TOPOLOGY_FOLDER + TOPOLOGY_FILES[policy])
    elif policy in SEVERAL_FILES:
        first, second, why = SEVERAL_FILES[policy]
        yield Variable("HCCL_TOPO_FILE_PATH", origin=f"{TOPOLOGY_FOLDER}{first} or {second} ({why})")


def as_text(job: Job, placement: Placement) -> str:
    """All pods with their variables, as `ascendctl place -o env` prints them: a comment a pod, then NAME='value'; what
    only the cluster knows stays a comment."""
    from shlex import quote

    lines: list[str] = []
    for spec, placed in zip(job.pods, placement.pods, strict=True):
        lines += ["", title(placed)] if lines else [title(placed)]
        variables = pod_environment(job, spec, placement)
        for variable in variables:
            value = _field_value(variable.field, placed) if variable.field else variable.value
            if variable.origin:
                lines.append(f"# {variable.name}: {variable.origin}")
            else:
                lines.append(f"{variable.name}={quote(value)}" if value else f"{variable.name}=")
        if not variables:
            lines.append(f"# no controller of kind {job.kind} sets variables")
    return "\n".join(lines)


def title(placed: PlacedPod) -> str:
    """A comment that names a pod, its rank, node and NPUs."""
    from ascendctl.report.text import printable, ranges

    chips = f", NPUs {ranges(sorted(placed.npus))}" if placed.npus else ""
    return f"# {printable(placed.name)}: rank {placed.rank}, node {printable(placed.node)}{chips}"


def _field_value(path: str, placed: PlacedPod) -> str:
    """The value of a field reference to an annotation that the scheduler writes."""
    key = path.removeprefix("metadata.annotations['").removesuffix("']")
    return placed.annotations.get(key, "")
