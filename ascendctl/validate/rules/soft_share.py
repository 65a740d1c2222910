"""Rules on soft sharing of one chip, SFT-* (chapter 40 §3.2; chapter 11.15 for what the scheduler does). SFT-09 is
beyond that table (chapter 11.15.3)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Final

from ascendctl.manifest.job import Job, Role, parse_go_int
from ascendctl.validate.rule import Rule, Violation
from ascendctl.validate.rules.template import visible_devices
from ascendctl.wellknown import AICORE_QUOTA, SOFT_SHARE

if TYPE_CHECKING:
    from ascendctl.snapshot.cluster import Cluster

CORES: Final = AICORE_QUOTA
MEMORY: Final = "huawei.com/scheduler.softShareDev.hbmQuota"
SHARING: Final = "huawei.com/scheduler.softShareDev.policy"
KEYS: Final = (CORES, MEMORY, SHARING)
SHARING_POLICIES: Final = ("fixed-share", "elastic", "best-effort")
INVALID: Final = "InvalidResourceRequest"
WHOLE, MAX_CHIPS = 100, 16
"""Percent of one chip; chips of the largest node that the policy takes."""

_PRODUCTS = ("soft-share",)
_RIGHT = f'{CORES}: "30"\n{MEMORY}: "10240"\n{SHARING}: elastic'

RULES: tuple[Rule, ...] = (
    Rule(
        "SFT-01", "error", "one of the three quota labels is missing",
        "soft sharing needs the labels {missing}", "add the labels of aicoreQuota, hbmQuota and policy",
        products=_PRODUCTS, outcome="PEND-V", source="chapter 11.15.2", wrong=f'{CORES}: "30"', right=_RIGHT,
    ),
    Rule(
        "SFT-02", "error", "aicoreQuota is no whole number from 1 to 100",
        "aicoreQuota is {value!r}, it must be a percentage from 1 to 100", "write 1 to 100 in quotes",
        products=_PRODUCTS, outcome="PEND-V", source="chapter 11.15.2", wrong=f'{CORES}: "150"', right=f'{CORES}: "50"',
    ),
    Rule(
        "SFT-03", "error", "hbmQuota is no whole number from 1",
        "hbmQuota is {value!r}, it must be a whole number of MB from 1", "write the MB of chip memory in quotes",
        products=_PRODUCTS, outcome="PEND-V", source="chapter 11.15.2",
        wrong=f'{MEMORY}: "10G"', right=f'{MEMORY}: "10240"',
    ),
    Rule(
        "SFT-04", "error", "the sharing policy is unknown",
        "the sharing policy is {value!r}, the scheduler knows fixed-share, elastic and best-effort",
        "write fixed-share, elastic or best-effort", products=_PRODUCTS, outcome="PEND-V", source="chapter 11.15.2",
        wrong=f"{SHARING}: fixed-shared", right=f"{SHARING}: fixed-share",
    ),
    Rule(
        "SFT-05", "error", "the request differs from aicoreQuota",
        "a pod ({role}) asks for {count}, but aicoreQuota is {quota}: the device plugin refuses the pod at start",
        "ask for {quota}", products=_PRODUCTS, outcome="RUN", source="chapter 11.18",
        about="On nodes with soft sharing the resource counts percent: 100 are one chip.",
        wrong=f'huawei.com/Ascend910: 1\n{CORES}: "30"', right=f'huawei.com/Ascend910: 30\n{CORES}: "30"',
    ),
    Rule(
        "SFT-06", "warning", "quota labels without the soft-share policy",
        "{key} has no effect without the annotation huawei.com/schedule_policy: chip1-softShareDev: {runs}",
        "add the annotation, or remove the labels", products=_PRODUCTS, outcome="IGN", source="chapter 11.15.1",
        wrong=_RIGHT, right="huawei.com/schedule_policy: chip1-softShareDev\n" + _RIGHT,
    ),
    Rule(
        "SFT-07", "warning", "ASCEND_VISIBLE_DEVICES is set in a soft-share pod",
        "ASCEND_VISIBLE_DEVICES must not be set with soft sharing: the chip would be mounted whole",
        "remove the variable", products=_PRODUCTS, outcome="RUN", source="chapter 11.15",
        wrong="env:\n- name: ASCEND_VISIBLE_DEVICES", right="no ASCEND_VISIBLE_DEVICES",
    ),
    Rule(
        "SFT-08", "warning", "quotas are written as annotations",
        "{key} is an annotation, but the scheduler reads labels", "move it to the labels",
        products=_PRODUCTS, outcome="PEND-V", source="chapter 11.15.1",
        wrong=f'annotations:\n  {CORES}: "30"', right=f'labels:\n  {CORES}: "30"',
    ),
    Rule(
        "SFT-09", "error", "no node can hold all pods of a soft-share job together",
        "{pods} pods of {cores}% and {memory} MB: {why}, and a node must be able to hold all pods of the job together",
        "{advice}", products=_PRODUCTS, outcome="PEND-N", source="chapter 11.15.3",
        about="The scheduler tests the whole job against each node, although its pods may land on several.",
        wrong=f'replicas: 40\n{CORES}: "50"', right=f'replicas: 32\n{CORES}: "50"',
    ),
)  # fmt: skip


def check(job: Job) -> list[Violation]:
    """The scheduler's validation of a soft-share job: empty, or the first rule that fails."""
    missing = [key for key in KEYS if key not in job.labels]
    if missing:
        path = job.source.path("label", missing[0])
        return [Violation("SFT-01", path, {"missing": ", ".join(missing)}, INVALID)]
    cores, memory = parse_go_int(job.labels[CORES]), parse_go_int(job.labels[MEMORY])
    if cores is None or not 1 <= cores <= 100:
        return [_label("SFT-02", job, CORES)]
    if memory is None or memory < 1:
        return [_label("SFT-03", job, MEMORY)]
    if job.labels[SHARING] not in SHARING_POLICIES:
        return [_label("SFT-04", job, SHARING)]
    return []


def _label(rule: str, job: Job, key: str) -> Violation:
    return Violation(rule, job.source.path("label", key), {"value": job.labels[key]}, INVALID)


def _annotated(job: Job, key: str) -> Violation | None:
    """SFT-08 if a quota is an annotation, of the job or of a pod template (the scheduler does not collect those)."""
    if key in job.annotations:
        return Violation("SFT-08", job.source.path("annotation", key), {"key": key})
    role = next((i for i, role in enumerate(job.roles) if key in role.annotations), None)
    return None if role is None else Violation("SFT-08", job.source.path("role", role, "annotation", key), {"key": key})


def advise(job: Job, policy: str, cluster: Cluster | None = None) -> Iterator[Violation]:
    """SFT-05 to SFT-09."""
    if policy != SOFT_SHARE:
        stray = next((key for key in KEYS if key in job.labels), None)
        if stray is not None and job.resource:
            runs = f"the policy {policy} gives out whole NPUs" if policy else "no policy takes the job"
            yield Violation("SFT-06", job.source.path("label", stray), {"key": stray, "runs": runs})
        return
    annotated = next((found for key in KEYS if key not in job.labels and (found := _annotated(job, key))), None)
    if annotated is not None:
        yield annotated
    quota = parse_go_int(job.labels.get(CORES, ""))
    for i, role in enumerate(job.roles):
        if role.is_npu and role.replicas and quota is not None and 1 <= quota <= 100 and role.npus != quota:
            values = {"role": role.name, "count": role.npus, "quota": quota}
            yield Violation("SFT-05", job.source.path("role", i, "npus"), values)
        for path in visible_devices(job, i):
            yield Violation("SFT-07", path)
    if not check(job):
        yield from _on_one_node(job, cluster)


def _on_one_node(job: Job, cluster: Cluster | None) -> Iterator[Violation]:
    """SFT-09: even empty nodes are too small, those of the snapshot or the largest that there are."""
    cores, memory, pods = int(job.labels[CORES]), int(job.labels[MEMORY]), job.npu_pod_count
    first = next((i for i, role in enumerate(job.roles) if role.is_npu and role.replicas), -1)
    if first < 0:
        return
    sizes = [(MAX_CHIPS, memory * pods)] if cluster is None else _shared_nodes(job.roles[first], cluster)
    room = [min(chips * (WHOLE // cores), chips * (limit // memory)) for chips, limit in sizes]
    if any(count >= pods for count in room):
        return
    advice = f"run at most {max(room)} pods, or ask for less" if any(room) else "ask for less, or select other nodes"
    chips, limit = sizes[room.index(max(room))] if room else (0, 0)
    why = f"the largest node has {chips} chips of {limit} MB" if room else "no node with soft sharing can be reached"
    if cluster is None:
        why = f"a node has at most {MAX_CHIPS} chips"
    values = {"pods": pods, "cores": cores, "memory": memory, "why": why, "advice": advice}
    yield Violation("SFT-09", job.source.path("role", first, "npus"), values)


def _shared_nodes(role: Role, cluster: Cluster) -> list[tuple[int, int]]:
    """Chips, and MB of each, of the nodes with soft sharing that the pods can reach."""
    from ascendctl.engine.kube import offering_nodes

    shared = cluster.soft_share & offering_nodes(role, cluster, role.resource)
    masks, limits = cluster.total[shared].tolist(), cluster.chip_memory_mb[shared].tolist()
    return [(min(int(mask).bit_count(), MAX_CHIPS), int(limit)) for mask, limit in zip(masks, limits, strict=True)]
