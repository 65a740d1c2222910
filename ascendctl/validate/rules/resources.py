"""Rules on the names of NPU resources: RES-01, 02, 03 and 13 (chapter 40 §3.2, §2.4, §2.6)."""

from __future__ import annotations

from collections.abc import Iterator

from ascendctl.engine.select import STATIC_VNPU
from ascendctl.manifest.job import Job
from ascendctl.validate.companions import Context
from ascendctl.validate.dialects import HAMI, dialect_of, dropped_companions, scheduler_of
from ascendctl.validate.entry import CARRIER, HALF, Entry
from ascendctl.validate.keys import GROUP_A, GROUP_C
from ascendctl.validate.nearest import nearest
from ascendctl.validate.rule import Rule, Violation
from ascendctl.wellknown import NPU_CORE, RING
from ascendctl.yamlio.document import FieldPath

WHOLE = ("huawei.com/Ascend910", "huawei.com/npu", "huawei.com/Ascend310", "huawei.com/Ascend310P")
HANDLED = (*WHOLE, NPU_CORE)

RULES: tuple[Rule, ...] = (
    Rule(
        "RES-01",
        "warning",
        "affinity keys stand on a job that asks for no NPU",
        "{what} {key} has no effect: no pod asks for a huawei.com/ resource",
        "request NPUs, or remove the key",
        outcome="IGN",
        wrong='sp-block: "16"    # no huawei.com/ resource',
        right="huawei.com/Ascend910: 16",
    ),
    Rule(
        "RES-02",
        "error",
        "the scheduler has no policy for the resource name",
        "no scheduling policy for {resource}",
        "{advice}",
        outcome="PEND-V",
        wrong="huawei.com/ascend910: 8",
        right="huawei.com/Ascend910: 8",
    ),
    Rule(
        "RES-03",
        "error",
        "a job asks for several huawei.com/ resources",
        "the job asks for {names}: only one huawei.com/ resource per job, the scheduler takes any of them",
        "keep one of them",
        outcome="FALL",
        wrong="huawei.com/Ascend910: 8\nhuawei.com/ub_rdma: 1",
        right="huawei.com/Ascend910: 8",
    ),
    Rule(
        "RES-13",
        "warning",
        "a pod belongs to another NPU device plugin",
        "{resource} is a resource of the {dialect} device plugin: MindCluster has no policy for it, and none of its "
        "rules were applied",
        "{advice}",
        wrong="huawei.com/Ascend910B3: 1    # in a cluster of MindCluster",
        right="huawei.com/Ascend910: 1",
    ),
)


def check(entry: Entry, context: Context) -> Iterator[Violation]:
    """RES-01, RES-13, and RES-02 for foreign pods, of one object."""
    for pod in entry.pods:
        dialect, resource = dialect_of(entry, pod)
        if not dialect:
            continue
        path = next((at for at, name, _ in pod.npus if name == resource), pod.path)
        scheduler = scheduler_of(entry, pod)
        volcano = scheduler == "volcano" or entry.title == "AscendJob"
        if volcano and entry.case != HALF and context.options.dialect != "any":
            yield Violation(
                "RES-02", path, {"resource": resource},
                message=f"no scheduling policy for {resource}: it belongs to the {dialect} device plugin",
                hint="use a MindCluster resource; --dialect any, when this cluster's Volcano runs another device "
                "plugin",
            )  # fmt: skip
            continue
        lost = dropped_companions(pod.resources) if dialect == HAMI else ""
        advice = f"{lost} belongs to another chip than the counted one and is dropped silently" if lost else ""
        yield Violation("RES-13", path, {"resource": resource, "dialect": dialect, "advice": advice})
    if entry.case not in (HALF, CARRIER) and entry.pods and not any(pod.resources for pod in entry.pods):
        yield from _without_npus(entry)


def _without_npus(entry: Entry) -> Iterator[Violation]:
    """RES-01."""
    if entry.kind_name in ("InferServiceSet", "InferService", "InstanceSet", "PodGroup"):
        return
    spots: list[tuple[FieldPath, str, tuple[str, ...]]] = []
    for meta in (("metadata",), *(pod.meta for pod in entry.pods)):
        if meta == ("metadata",) and entry.title in ("Deployment", "StatefulSet", "Job"):
            continue  # nobody reads keys there: WLD-01
        spots += [((*meta, "annotations"), "annotation", GROUP_A), ((*meta, "labels"), "label", GROUP_C)]
    app = {entry.labels.get("app", ""), *(pod.labels.get("app", "") for pod in entry.pods)}
    plugin = "volcano.sh/schedule.plugin" in entry.annotations
    if plugin or any(name.startswith("mindie-ms-") for name in app):
        return
    for path, what, keys in spots:
        found = entry.get(*path)
        for key in found if isinstance(found, dict) else ():
            if key in keys and key != RING:
                yield Violation("RES-01", (*path, key), {"what": what, "key": key})


def check_job(job: Job) -> Iterator[Violation]:
    """RES-02 and RES-03 of a job that Volcano schedules."""
    names: dict[str, int] = {}
    for i, role in enumerate(job.roles):
        for name in role.requests:
            names.setdefault(name, i)
    if len(names) > 1:
        index = max(names.values())
        path = job.source.path("role", index, "npus")
        yield Violation("RES-03", path, {"names": " and ".join(names)})
        return
    for name, index in names.items():
        if name in HANDLED or STATIC_VNPU.search(name) or _looks_static(name):
            continue
        near = "" if name.endswith("ub_rdma") else nearest(name, HANDLED)
        near = near or ("huawei.com/Ascend910" if name.lower().startswith("huawei.com/ascend910") else "")
        advice = f"did you mean {near}?" if near else "no pod may ask for it alone"
        if name.startswith("huawei.com/Ascend310P-"):
            advice = "only without Volcano; use huawei.com/Ascend310P"
        yield Violation("RES-02", job.source.path("role", index, "npus"), {"resource": name, "advice": advice})


def _looks_static(name: str) -> bool:
    """True for the name of a vNPU template, known or not: VNP-09 judges those."""
    tail = name.removeprefix("huawei.com/Ascend910-").removeprefix("huawei.com/Ascend310P-")
    return tail != name and tail[:1].isdigit()
