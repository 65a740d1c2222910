"""Rules on scheduler choice and queues, SCH-* (chapter 40 §3.2)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from ascendctl.manifest.attributes import COPIED_ANNOTATIONS
from ascendctl.manifest.job import Job, Role
from ascendctl.manifest.kinds import dig
from ascendctl.manifest.quantity import whole
from ascendctl.manifest.roles import NPU_PREFIX
from ascendctl.validate.companions import Context
from ascendctl.validate.dialects import dialect_of
from ascendctl.validate.entry import CARRIER, Entry, PodView
from ascendctl.validate.ome import RUNTIMES, runtime_is_missing
from ascendctl.validate.rule import Rule, Violation
from ascendctl.validate.rules.k8s_object import SUBDOMAIN
from ascendctl.yamlio.document import FieldPath

RULES: tuple[Rule, ...] = (
    Rule(
        "SCH-01",
        "error",
        "keys of the Ascend plugin stand on a pod that Volcano does not schedule (warning: only an NPU request does)",
        "{why} works under schedulerName: volcano only, the pod has {found}",
        "write schedulerName: volcano",
        outcome="RUN",
        about="Another scheduler ignores the keys, and the device list annotation never appears.",
        wrong='labels: {fault-scheduling: "grace"}    # no schedulerName',
        right="schedulerName: volcano",
    ),
    Rule(
        "SCH-02",
        "warning",
        "an AscendJob names another scheduler than volcano",
        "schedulerName is {value!r}: the operator keeps it and only warns",
        "write volcano, or remove it",
        kinds=("AscendJob",),
        outcome="IGN",
        wrong="schedulerName: default-scheduler",
        right="schedulerName: volcano",
    ),
    Rule(
        "SCH-03",
        "error",
        "a queue name is no DNS subdomain",
        "queue {name!r} is no valid name",
        "use lower-case letters, digits, '-' and '.'",
        outcome="API",
        wrong="queue: Team_A",
        right="queue: team-a",
    ),
    Rule(
        "SCH-04",
        "error",
        "the queue cannot take jobs: absent, not open, root, or with children (with a snapshot)",
        "queue {name} {problem}",
        "{advice}",
        outcome="PEND-N",
        wrong="queue: root",
        right="queue: default",
    ),
    Rule(
        "SCH-05",
        "error",
        "the job asks for more NPUs than the cluster has (with a snapshot)",
        "the job asks for {asked} {resource}, the cluster has {owned}",
        "ask for less",
        outcome="PEND-V",
        wrong="replicas: 64",
        right="replicas: 2",
    ),
    Rule(
        "SCH-06",
        "error",
        "no node fits the node selector and has enough NPUs (with a snapshot)",
        "{role}: 0 of {nodes} nodes can take a pod: {problem}",
        "{advice}",
        outcome="PEND-N",
        wrong="accelerator-type: module-a3-16    # a cluster of A2 nodes",
        right="accelerator-type: module-910b-8",
    ),
    Rule(
        "SCH-07",
        "warning",
        "pods of one NPU job have different node selectors",
        "{role} and {other} have different node selectors: after a fault the pods may not find a node",
        "give all pods the same nodeSelector",
        outcome="RUN",
        wrong="Master: {host-arch: huawei-arm}\nWorker: {host-arch: huawei-x86}",
        right="the same selector twice",
    ),
    Rule(
        "SCH-08",
        "warning",
        "the queue limits resources without naming the job's NPU resource, or allows fewer NPUs than the job asks for",
        "queue {name} sets capability without {resource}: some queue plugins read the gap as zero, others as unlimited",
        "add {resource} to capability",
        outcome="PEND-V",
        wrong="capability: {cpu: 100}",
        right="capability: {cpu: 100, huawei.com/Ascend910: 64}",
    ),
)

_LABELS = ("tor-affinity", "super-pod-affinity", "duo", "npu-310-strategy", "fault-scheduling")
_DEVICES = "ASCEND_VISIBLE_DEVICES"
_INFER_KINDS = ("InferServiceSet", "InferService", "InstanceSet")


def check(entry: Entry, context: Context) -> Iterator[Violation]:
    """SCH-01 to 03 of one object."""
    if entry.title == "AscendJob" and context.options.gang:
        yield from _ascend_job(entry)
    elif entry.kind_name not in RUNTIMES:
        unknown = runtime_is_missing(entry, context)
        for pod in entry.pods:
            if pod.scheduler or not unknown:
                yield from _other_scheduler(entry, pod)
    yield from _queue_names(entry)


def _queue_names(entry: Entry) -> Iterator[Violation]:
    """SCH-03."""
    for path in queue_paths(entry):
        name = entry.get(*path)
        if isinstance(name, str) and name and (len(name) > 253 or not SUBDOMAIN.fullmatch(name)):
            yield Violation("SCH-03", path, {"name": name})


def queue_paths(entry: Entry) -> Iterator[FieldPath]:
    """Fields that name a queue."""
    if entry.title == "AscendJob":
        yield ("spec", "runPolicy", "schedulingPolicy", "queue")
    elif entry.title in ("vcjob", "PodGroup"):
        yield ("spec", "queue")


def _ascend_job(entry: Entry) -> Iterator[Violation]:
    """SCH-02."""
    own = entry.get("spec", "schedulerName")
    if isinstance(own, str) and own not in ("", "volcano"):
        yield Violation("SCH-02", ("spec", "schedulerName"), {"value": own})
    for pod in entry.pods:
        if pod.scheduler not in ("", "volcano"):
            yield Violation("SCH-02", (*pod.spec, "schedulerName"), {"value": pod.scheduler})


def _other_scheduler(entry: Entry, pod: PodView) -> Iterator[Violation]:
    """SCH-01."""
    scheduler = _named(entry, pod)
    if scheduler == "volcano" or (entry.title == "vcjob" and not scheduler) or dialect_of(entry, pod)[0]:
        return
    if entry.title in _INFER_KINDS and pod.resources:
        return  # INF-17 says it
    if not pod.resources and (entry.title in _INFER_KINDS or (entry.case == CARRIER and not entry.found_templates)):
        return  # a router beside the roles with NPUs may be scheduled by anyone
    on_job = not pod.scheduler and entry.title in ("vcjob", "AscendJob")
    path = ("spec", "schedulerName") if on_job else (*pod.spec, "schedulerName")
    why, error = _reason(entry, pod)
    if why:
        found = f"{scheduler!r}" if scheduler else "none, so the default scheduler takes it"
        yield Violation("SCH-01", path, {"why": why, "found": found}, severity="" if error else "warning")


def _named(entry: Entry, pod: PodView) -> str:
    """The scheduler that the manifest names for a pod, "" if none."""
    own = entry.get("spec", "schedulerName") if entry.title in ("vcjob", "AscendJob") else None
    return pod.scheduler or (own if isinstance(own, str) else "")


def meant_for_volcano(entry: Entry, pod: PodView) -> bool:
    """True if Volcano schedules a pod, or the pod carries what only works with it. A vcjob that names no scheduler is
    meant for Volcano (VCJ-19)."""
    scheduler = _named(entry, pod)
    return scheduler == "volcano" or (entry.title == "vcjob" and not scheduler) or _reason(entry, pod)[1]


def _reason(entry: Entry, pod: PodView) -> tuple[str, bool]:
    """What needs Volcano, and whether it certainly does."""
    annotations = {**entry.annotations, **pod.annotations} if entry.title == "vcjob" else pod.annotations
    labels = {**entry.labels, **pod.labels} if entry.title == "vcjob" else pod.labels
    for key in COPIED_ANNOTATIONS:
        if key in annotations:
            return f"annotation {key}", True
    for key in _LABELS:
        if key in labels:
            return f"label {key}", True
    if "huawei.com/npu-core" in pod.resources:
        return "huawei.com/npu-core", True
    for _, container in pod.containers:
        for variable in container.get("env") or ():
            if isinstance(variable, Mapping) and variable.get("name") == _DEVICES:
                field = dig(variable, ("valueFrom", "fieldRef", "fieldPath"))
                if isinstance(field, str):
                    return f"{_DEVICES} from the pod's annotation", True
    return (f"affinity scheduling of {next(iter(pod.resources))}", False) if pod.resources else ("", False)


def check_job(job: Job, context: Context) -> Iterator[Violation]:
    """SCH-04 to 08 of one job."""
    yield from _queue(job.queue, _queue_path(job), job.resource, job.npus, context)
    if context.options.snapshot is not None and job.resource:
        yield from _capacity(job, context.options.snapshot)
    yield from _selectors(job)


def _queue_path(job: Job) -> FieldPath:
    paths: dict[str, FieldPath] = {
        "AscendJob": ("spec", "runPolicy", "schedulingPolicy", "queue"), "vcjob": ("spec", "queue"),
    }  # fmt: skip
    key = "scheduling.volcano.sh/queue-name"
    return paths.get(job.kind) or job.source.path("role", 0, "annotation", key)


def group(entry: Entry, context: Context) -> Iterator[Violation]:
    """SCH-03, SCH-04, SCH-08 of a PodGroup that is written by hand."""
    yield from _queue_names(entry)
    name = entry.get("spec", "queue")
    if isinstance(name, str) and name:
        resources = entry.get("spec", "minResources")
        npu = next((key for key in resources if NPU_PREFIX in key), "") if isinstance(resources, Mapping) else ""
        total = whole(resources[npu]) if isinstance(resources, Mapping) and npu else 0
        yield from _queue(name, ("spec", "queue"), npu, total or 0, context)


def _queue(name: str, path: FieldPath, resource: str, npus: int, context: Context) -> Iterator[Violation]:
    """SCH-04, SCH-08 of what goes into a queue."""
    if name == "root":
        values = {"name": name, "problem": "is the root of all queues", "advice": "name a leaf queue"}
        yield Violation("SCH-04", path, values)
        return
    queue = context.find("Queue", "", name)
    if queue is None:
        if name != "default" and context.has_dumped("Queue"):
            values = {"name": name, "problem": "is not in the snapshot", "advice": "create it, or name another"}
            yield Violation("SCH-04", path, values)
        return
    state = dig(queue, ("status", "state"))
    children = [
        k[2] for k, v in context.options.dumped.items() if k[0] == "Queue" and dig(v, ("spec", "parent")) == name
    ]
    if isinstance(state, str) and state not in ("", "Open"):
        values = {"name": name, "problem": f"is {state}", "advice": "open it, or name another queue"}
        yield Violation("SCH-04", path, values)
    elif children:
        problem = f"has child queues ({', '.join(sorted(children)[:3])})"
        yield Violation("SCH-04", path, {"name": name, "problem": problem, "advice": "name one of its leaves"})
    capability = dig(queue, ("spec", "capability"))
    if isinstance(capability, Mapping) and resource:
        yield from _limit(name, path, resource, npus, capability)


def _limit(name: str, path: FieldPath, resource: str, npus: int, capability: Mapping[str, Any]) -> Iterator[Violation]:
    """SCH-08; `capability` is that of the queue."""
    if capability and resource not in capability:
        yield Violation("SCH-08", path, {"name": name, "resource": resource})
    limit = whole(capability.get(resource))
    if limit is not None and npus > limit:
        message = f"queue {name} allows {limit} {resource}, the job asks for {npus}: it stays Pending"
        hint = f"ask for at most {limit}, or raise capability of the queue"
        yield Violation("SCH-08", path, {}, message=message, hint=hint)


def _capacity(job: Job, cluster: Any) -> Iterator[Violation]:
    """SCH-05, SCH-06."""
    offering = cluster.resources.get(job.resource)
    owned = int(offering.allocatable.clip(0).sum()) if offering is not None else 0
    first = next((i for i, role in enumerate(job.roles) if role.is_npu), 0)
    if job.npus > owned:
        values = {"asked": job.npus, "resource": job.resource, "owned": owned}
        yield Violation("SCH-05", job.source.path("role", first, "npus"), values)
        return
    for i, role in enumerate(job.roles):
        if role.npus and role.replicas:
            yield from _hosts(job, i, role, cluster)


def _hosts(job: Job, index: int, role: Role, cluster: Any) -> Iterator[Violation]:
    offering = cluster.resources.get(role.resource)
    fits = cluster.visible | True
    for key, value in role.selector.items():
        column = cluster.labels.column(key)
        matching = column.equals(value)
        if not matching.any():
            carried = [(v, int(column.equals(v).sum())) for v in column.values]
            most = sorted(carried, key=lambda pair: (-pair[1], pair[0]))[:3]
            seen = ", ".join(f"{count} carry {key}={v}" for v, count in most) or f"none carries {key}"
            values = {"role": role.name or "pod", "nodes": cluster.size, "problem": f"{key}={value} is nowhere, {seen}"}
            yield Violation(
                "SCH-06", job.source.path("role", index, "selector", key),
                {**values, "advice": "select a label that the nodes have"},
            )  # fmt: skip
            return
        fits = fits & matching
    enough = offering is not None and bool((fits & (offering.allocatable >= role.npus)).any())
    if not enough:
        best = int(offering.allocatable[fits].max()) if offering is not None and fits.any() else 0
        problem = f"{int(fits.sum())} match the node selector, the largest offers {best} {role.resource} of {role.npus}"
        values = {"role": role.name or "pod", "nodes": cluster.size, "problem": problem}
        advice = f"ask for at most {best}" if best else "use another node selector"
        yield Violation("SCH-06", job.source.path("role", index, "npus"), {**values, "advice": advice})


def _selectors(job: Job) -> Iterator[Violation]:
    """SCH-07. A pod without NPUs and without a selector may run anywhere, before a fault and after it."""
    asking = [(i, role) for i, role in enumerate(job.roles) if role.replicas and (role.is_npu or role.selector)]
    roles = asking if job.resource else []
    for i, role in roles[1:]:
        if dict(role.selector) != dict(roles[0][1].selector):
            values = {"role": roles[0][1].name, "other": role.name}
            yield Violation("SCH-07", job.source.path("role", i, "selector"), values)
            return
