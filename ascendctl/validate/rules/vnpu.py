"""Rules on static and dynamic vNPUs, VNP-* (chapter 40 §3.2; chapter 11.14 for what the scheduler does). VNP-13 to
VNP-15 are beyond that table (chapter 11.14.2, 11.18)."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Final

from ascendctl.engine.select import DYNAMIC_VNPU, STATIC_VNPU
from ascendctl.engine.vnpu_templates import (
    CHIP_310P,
    CHIP_SIZES,
    DVPP,
    LEGAL_CORES,
    LEVELS,
    STATIC_TYPES,
    cores_are_legal,
    possible_keys,
)
from ascendctl.manifest.job import Job, Role
from ascendctl.products.catalogue import find_product
from ascendctl.snapshot.config import SchedulerConfig
from ascendctl.validate.nearest import nearest
from ascendctl.validate.rule import Rule, Violation
from ascendctl.validate.rules.template import containers, visible_devices
from ascendctl.wellknown import ACCELERATOR_TYPE, CHIP_NAME, DUO_CARD, DUO_LABEL, NPU_CORE, RING

if TYPE_CHECKING:
    from ascendctl.snapshot.cluster import Cluster

LEVEL, VIDEO, SERVER, FAULTS = "vnpu-level", "vnpu-dvpp", "servertype", "fault-scheduling"
PRESET: Final = "presetVirtualDevice"
ARGUMENT, COUNT = "InvalidArgument", "InvalidResourceRequest"

_SERVER_310P: Final = re.compile(r"Ascend310P-[0-9]{1,3}")

_DYNAMIC, _STATIC = ("vnpu-dynamic",), ("vnpu-static",)

RULES: tuple[Rule, ...] = (
    Rule(
        "VNP-01", "error", "npu-core without a ring-controller.atlas value that selects a vNPU policy",
        "ring-controller.atlas is {value}: the scheduler plugin does not take the job and refuses every node for its "
        "pods, which stay Pending", "write ring-controller.atlas: ascend-310P for 310P, ascend-910b for A2 and A3 "
        "(ascend-910 and huawei.com.npu do the same)",
        products=_DYNAMIC, outcome="RUN", source="chapter 11.5.1",
        wrong="ring-controller.atlas: ascend-npu", right="ring-controller.atlas: ascend-310P",
    ),
    Rule(
        "VNP-02", "error", "npu-core, and the scheduler is configured for static vNPUs",
        "huawei.com/npu-core needs presetVirtualDevice: \"false\" in the scheduler's configuration{known}",
        "set presetVirtualDevice to \"false\" in volcano-scheduler-configmap, or ask for a static vNPU",
        products=_DYNAMIC, outcome="PEND-V", source="chapter 11.14.3 A",
        wrong='presetVirtualDevice: "true"', right='presetVirtualDevice: "false"',
    ),
    Rule(
        "VNP-03", "error", "an illegal number of AI cores on 310P",
        "{count} AI cores per pod ({role}): a 310P takes {allowed}", "ask for {allowed}",
        products=_DYNAMIC, outcome="PEND-V", source="chapter 11.14.3 A",
        wrong="huawei.com/npu-core: 3", right="huawei.com/npu-core: 4",
    ),
    Rule(
        "VNP-04", "error", "video units chosen for 1 or 2 AI cores on 310P",
        "vnpu-dvpp is {value!r}: with {count} AI cores it must be null", 'write vnpu-dvpp: "null", or drop the label',
        products=_DYNAMIC, outcome="PEND-V", source="chapter 11.14.3 A",
        wrong='vnpu-dvpp: "no"\nhuawei.com/npu-core: 2', right='vnpu-dvpp: "null"\nhuawei.com/npu-core: 2',
    ),
    Rule(
        "VNP-05", "error", "an illegal number of AI cores on A2 or A3",
        "{count} AI cores per pod ({role}): nodes of {template} take {allowed}", "ask for {allowed}",
        products=_DYNAMIC, outcome="PEND-V", source="chapter 11.14.3 A",
        wrong="huawei.com/npu-core: 3    # 910B3", right="huawei.com/npu-core: 5",
    ),
    Rule(
        "VNP-06", "error", "vnpu-level or vnpu-dvpp on A2 or A3",
        "vnpu-level {level} and vnpu-dvpp {value}: on A2 and A3 only 910B4 with 10 AI cores lets you choose",
        "drop both labels", products=_DYNAMIC, outcome="PEND-V", source="chapter 11.14.3 A",
        wrong="vnpu-level: high    # 910B3", right="no vnpu-level",
    ),
    Rule(
        "VNP-07", "warning", "an unknown word in vnpu-level or vnpu-dvpp",
        "{key} is {value!r}, known are {allowed}: {effect}", "write one of {allowed}", products=_DYNAMIC, outcome="IGN",
        source="chapter 11.14.3", about="An unknown level counts as low; an unknown dvpp word fails on the nodes.",
        wrong="vnpu-level: middle", right="vnpu-level: low",
    ),
    Rule(
        "VNP-08", "error", "more than one static vNPU per pod",
        "{count} of {resource} per pod ({role}): a pod takes exactly one vNPU", "ask for 1",
        products=_STATIC, outcome="PEND-V", source="chapter 11.14.2",
        wrong="huawei.com/Ascend310P-2c: 2", right="huawei.com/Ascend310P-2c: 1",
    ),
    Rule(
        "VNP-09", "error", "no vNPU template of this name",
        "{resource} is no known vNPU template", "{advice}", products=_STATIC, outcome="PEND-N",
        source="chapter 11.14.1", wrong="huawei.com/Ascend310P-8c: 1", right="huawei.com/Ascend310P-4c: 1",
    ),
    Rule(
        "VNP-10", "warning", "a vNPU job that is distributed, or an AscendJob with dynamic vNPUs",
        "{why}", "{advice}", products=(*_DYNAMIC, *_STATIC), outcome="RUN", source="chapter 11.14",
        wrong="kind: AscendJob\nhuawei.com/npu-core: 4", right="kind: Deployment\nhuawei.com/npu-core: 4",
    ),
    Rule(
        "VNP-11", "warning", "ASCEND_VISIBLE_DEVICES is set in a vNPU pod",
        "ASCEND_VISIBLE_DEVICES must not be set for vNPUs: the wrong device is mounted, or none", "remove the variable",
        products=(*_DYNAMIC, *_STATIC), outcome="RUN", source="chapter 11.14.2",
        wrong="env:\n- name: ASCEND_VISIBLE_DEVICES", right="no ASCEND_VISIBLE_DEVICES",
    ),
    Rule(
        "VNP-12", "warning", "a dynamic vNPU container does not run as root",
        "runAsUser {user}: dynamic vNPUs are known to fail for ordinary users", "run the container as root",
        products=_DYNAMIC, outcome="RUN", source="chapter 40 §3.2",
        wrong="securityContext:\n  runAsUser: 1000", right="securityContext:\n  runAsUser: 0",
    ),
    Rule(
        "VNP-13", "warning", "dynamic vNPUs on Atlas 300I Duo cards",
        "dynamic vNPUs on Atlas 300I Duo cards ({where}): they are documented for other 310P cards only",
        "ask for a static vNPU, or select other nodes", products=_DYNAMIC, outcome="RUN", source="chapter 11.18",
        about="Both chips of a Duo card must be in the same mode; the scheduler does not test it.",
        wrong="infer-card-type: card-300i-duo\nhuawei.com/npu-core: 4",
        right="infer-card-type: card-300i-duo\nhuawei.com/Ascend310P-4c: 1",
    ),
    Rule(
        "VNP-14", "warning", "a core count that passes the job check, but that no node turns into vNPUs",
        "{count} AI cores per pod ({role}) pass the job check, but nodes of {server} have no template of that size and "
        "chips of {cores} cores: every node refuses the pod",
        "ask for {allowed}", products=_DYNAMIC, outcome="PEND-N", source="chapter 11.18",
        about="The job check takes multiples of 8 and of 10, whatever chips the nodes have.",
        wrong="servertype: Ascend310P-8\nhuawei.com/npu-core: 10",
        right="servertype: Ascend310P-8\nhuawei.com/npu-core: 8",
    ),
    Rule(
        "VNP-15", "warning", "fault rescheduling of a static vNPU job",
        "fault-scheduling is {value!r}, but jobs on static vNPUs are not rescheduled after faults",
        "remove the label", products=_STATIC, outcome="IGN", source="chapter 11.14.2",
        wrong="fault-scheduling: grace\nhuawei.com/Ascend310P-2c: 1", right="no fault-scheduling",
    ),
)  # fmt: skip


def check(job: Job, config: SchedulerConfig, keys: Sequence[str] | None = None) -> list[Violation]:
    """The scheduler's validation of a dynamic vNPU job: empty, or the first rule that fails.

    `keys` are the template keys (chip type, chip name or server type) of the nodes that the job can reach; None = not
    known, then A2 and A3 jobs fail where every key that selector and product leave open refuses them. The reference
    uses the sentence itself as reason for A2 and A3 jobs; here they get the categories of 310P.
    """
    if config.preset_virtual_device:
        return [Violation("VNP-02", _first(job), {"known": ", which says true"}, ARGUMENT)]
    for i, role in enumerate(job.roles):
        if role.replicas and "-" not in role.resource:
            message = f"pods of {role.name} ask for no vNPU, as every pod of the job must"
            hint = "run them as a job of their own"
            return [_violation("VNP-10", job, i, ARGUMENT, message, "error", hint, "PEND-V")]
    if DYNAMIC_VNPU.get(job.labels.get(RING, "")) != "vnpu-910":
        return _of_key(job, CHIP_310P)
    if keys is None:
        return _of_any(job, possible_keys(job.selector.get(CHIP_NAME), job.selector.get(SERVER), _accelerator(job)))
    if len(keys) > 1:
        message = f"the job can reach nodes with different vNPU templates: {', '.join(keys)}"
        return [_violation("VNP-05", job, 0, ARGUMENT, message=message, hint="select the nodes of one of them")]
    if not keys or keys[0] not in LEGAL_CORES or keys[0] == CHIP_310P:
        return [_no_templates(job, keys[0] if keys else "")]
    return _of_key(job, keys[0])


def _no_templates(job: Job, key: str) -> Violation:
    """VNP-05 where nothing is legal, for the nodes in reach have no templates of A2 or A3."""
    role = next((i for i, role in enumerate(job.roles) if role.npus), 0)
    message = f"the nodes that the job can reach ({key or 'none offers AI cores'}) have no vNPU templates of A2 or A3"
    ring = key == CHIP_310P
    hint = "for 310P write ring-controller.atlas: ascend-310P" if ring else "select nodes of A2 or A3"
    return _violation("VNP-05", job, role, COUNT, message, hint=hint)


def _of_key(job: Job, key: str) -> list[Violation]:
    """The first rule that fails on nodes of a template key."""
    found = (_of_role(job, i, key) for i, role in enumerate(job.roles) if role.replicas)
    return [violation for violation in found if violation is not None][:1]


def _of_any(job: Job, keys: Sequence[str]) -> list[Violation]:
    """What fails whichever of the template keys the nodes have; nothing if one of them lets the job pass."""
    failures = [_of_key(job, key) for key in keys] or [_of_key(job, "")]
    if not all(failures):
        return []
    for i, role in enumerate(job.roles):
        if role.replicas and not any(cores_are_legal(key, role.npus) for key in keys):
            each = "; ".join(f"{', '.join(same)}: {legal}" for legal, same in _by_counts(keys).items())
            hint = "ask for a count that the chips of the nodes take"
            values = {"template": "A2 and A3", "allowed": each or allowed("")}
            return [_violation("VNP-05", job, i, COUNT, hint=hint, **values)]
    return next((failed for failed in failures if failed[0].rule != "VNP-05"), failures[0])


def _by_counts(keys: Sequence[str]) -> dict[str, list[str]]:
    """Legal core counts in words -> template keys that share them."""
    same: dict[str, list[str]] = {}
    for key in keys:
        same.setdefault(allowed(key), []).append(key)
    return same


def _accelerator(job: Job) -> str:
    """The accelerator-type that the job selects, or that of the product it is for."""
    product = find_product(job.product) if job.product else None
    types = product.accelerator_types if product is not None else ()
    return job.selector.get(ACCELERATOR_TYPE) or next(iter(types), "")


def check_static(job: Job) -> list[Violation]:
    """The scheduler's validation of static vNPUs, whatever the policy: empty, or VNP-08 for the first role."""
    for i, role in enumerate(job.roles):
        if role.npus > 1 and role.replicas and STATIC_VNPU.search(role.resource):
            return [_violation("VNP-08", job, i, COUNT, resource=role.resource)]
    return []


def _first(job: Job) -> tuple[str | int, ...]:
    index = next((i for i, role in enumerate(job.roles) if role.resource == NPU_CORE), 0)
    return job.source.path("role", index, "npus")


def _of_role(job: Job, index: int, key: str) -> Violation | None:
    role = job.roles[index]
    level, video = role.labels.get(LEVEL, "low"), role.labels.get(VIDEO, "null")
    if not cores_are_legal(key, role.npus):
        rule = "VNP-03" if key == CHIP_310P else "VNP-05"
        return _violation(rule, job, index, COUNT, template=key or "an unknown chip", allowed=allowed(key))
    if key == CHIP_310P:
        return _violation("VNP-04", job, index, COUNT, value=video) if role.npus in (1, 2) and video != "null" else None
    if (key != "910B4" or role.npus != 10) and (level != "low" or video != "null"):
        return _violation("VNP-06", job, index, COUNT, level=level, value=video)
    return None


def allowed(key: str) -> str:
    """The legal core counts of a template key in words."""
    counts, units = LEGAL_CORES.get(key, ((), ()))
    return ", ".join([*map(str, counts), *(f"multiples of {unit}" for unit in units)]) or "none"


def _violation(
    rule: str, job: Job, role: int, reason: str = "", message: str = "", severity: str = "", hint: str = "",
    outcome: str = "", **values: object,
) -> Violation:  # fmt: skip
    asked = {"count": job.roles[role].npus, "role": job.roles[role].name}
    path = job.source.path("role", role, "npus")
    return Violation(rule, path, asked | values, reason, severity, message, hint, outcome)


def advise(job: Job, config: SchedulerConfig, cluster: Cluster | None = None) -> Iterator[Violation]:
    """What else goes wrong with static and dynamic vNPUs: VNP-01, VNP-02 as a warning, VNP-07, VNP-09 to VNP-15."""
    dynamic = any(role.resource == NPU_CORE for role in job.roles)
    if dynamic:
        yield from _dynamic(job, config)
        if DYNAMIC_VNPU.get(job.labels.get(RING, "")) == "vnpu-310P":
            for i, role in enumerate(job.roles):
                yield from _on_310p(job, i, role, cluster)
    for i, role in enumerate(job.roles):
        static = _static_type(role.resource)
        if static and static not in STATIC_TYPES:
            near = nearest(static, STATIC_TYPES)
            advice = f"did you mean huawei.com/{near}?" if near else "use a template of the product"
            yield _violation("VNP-09", job, i, resource=role.resource, advice=advice)
        if static or role.resource == NPU_CORE:
            yield from (Violation("VNP-11", path) for path in visible_devices(job, i))
    if STATIC_VNPU.search(job.resource) and job.labels.get(FAULTS, "off") != "off":
        yield Violation("VNP-15", job.source.path("label", FAULTS), {"value": job.labels[FAULTS]})
    if (dynamic or any(_static_type(role.resource) for role in job.roles)) and job.distributed and job.kind in (
        "AscendJob", "vcjob",
    ):  # fmt: skip
        why = f"{job.npu_pod_count} pods with vNPUs: vNPUs are for single-node tasks, the pods cannot communicate"
        yield _violation("VNP-10", job, 0, why=why, advice="run independent replicas of one pod each")


def _on_310p(job: Job, index: int, role: Role, cluster: Cluster | None) -> Iterator[Violation]:
    """VNP-13, VNP-14: what the nodes of a 310P job make of it, by its selector, or by the nodes of the snapshot."""
    reached: list[int] = []
    if cluster is not None:
        from ascendctl.engine.kube import offering_nodes

        reached = offering_nodes(role, cluster, NPU_CORE).nonzero()[0].tolist()
    if role.is_npu:
        yield from _on_duo(job, index, role, cluster, reached)
    servers = {role.selector.get(SERVER)}
    if cluster is not None:
        servers = set(map(cluster.labels.column(SERVER).get, reached))
    cores = {server: int(server.split("-")[1]) for server in servers if server and _SERVER_310P.fullmatch(server)}
    if cores and len(cores) == len(servers) and role.npus and cores_are_legal(CHIP_310P, role.npus):
        yield from _without_template(job, index, role.npus, cores)


def _on_duo(job: Job, index: int, role: Role, cluster: Cluster | None, reached: Sequence[int]) -> Iterator[Violation]:
    """VNP-13; `reached` are the nodes of the snapshot that the pods can come to."""
    if role.selector.get(DUO_LABEL) == DUO_CARD:
        path = job.source.path("role", index, "selector", DUO_LABEL)
        yield Violation("VNP-13", path, {"where": "the job selects them"})
    elif cluster is not None:
        card = cluster.labels.column(DUO_LABEL)
        node = next((node for node in reached if card.get(node) == DUO_CARD), None)
        if node is not None:
            where = f"node {cluster.names[node]} has them"
            yield Violation("VNP-13", job.source.path("role", index, "npus"), {"where": where})


def _without_template(job: Job, index: int, asked: int, cores: Mapping[str, int]) -> Iterator[Violation]:
    """VNP-14; `cores` are the AI cores of a chip by server type, of all nodes that the pods can come to."""
    counts, _ = LEGAL_CORES[CHIP_310P]
    if asked in counts or not all(asked % size for size in cores.values()):
        return
    sizes = sorted({size for size in cores.values() if (CHIP_310P, size) in CHIP_SIZES})
    advice = ", ".join([*map(str, counts), *(f"multiples of {size}" for size in sizes)])
    shown = ", ".join(map(str, sorted(set(cores.values()))))
    yield _violation("VNP-14", job, index, server=", ".join(sorted(cores)), cores=shown, allowed=advice)


def _static_type(resource: str) -> str:
    """The type in the name of a static vNPU, known or not; "" for other resources."""
    name = resource.removeprefix("huawei.com/")
    chip, _, template = name.partition("-")
    return name if chip in ("Ascend910", "Ascend310P") and template[:1].isdigit() else ""


def _dynamic(job: Job, config: SchedulerConfig) -> Iterator[Violation]:
    ring = job.labels.get(RING)
    if ring not in DYNAMIC_VNPU:
        value = "missing" if ring is None else repr(ring)
        yield Violation("VNP-01", job.source.path("label", RING), {"value": value})
    if PRESET not in config.given and not config.preset_virtual_device:
        known = "; this program was not told what it says"
        yield Violation("VNP-02", _first(job), {"known": known}, severity="warning")
    if job.kind == "AscendJob":
        why = "dynamic vNPUs are not supported with Ascend Operator"
        yield _violation("VNP-10", job, 0, why=why, advice="use a vcjob or a Deployment")
    for i, role in enumerate(job.roles):
        effects = "it counts as low", "every node refuses a pod that needs a template"
        for (key, words), effect in zip(((LEVEL, LEVELS), (VIDEO, DVPP)), effects, strict=True):
            if (word := role.labels.get(key)) is not None and word not in words:
                values = {"key": key, "value": word, "allowed": ", ".join(words), "effect": effect}
                yield Violation("VNP-07", job.source.path("role", i, "label", key), values)
        if job.labels.get(RING) == "ascend-310P":
            yield from _ordinary_user(job, i)


def _ordinary_user(job: Job, role: int) -> Iterator[Violation]:
    for path, container in containers(job, role):
        context = container.get("securityContext")
        user = context.get("runAsUser") if isinstance(context, dict) else None
        if isinstance(user, int) and user != 0:
            yield Violation("VNP-12", (*path, "securityContext", "runAsUser"), {"user": user})
