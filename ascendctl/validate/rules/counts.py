"""Rules on NPU counts per pod, RES-04 to RES-12 (chapter 40 §3.2; for the scheduler chapter 10 §5.5, §6.6, §6.7)."""

from __future__ import annotations

from collections.abc import Iterator

from ascendctl.engine.wirings import WIRINGS
from ascendctl.manifest.job import Job, Role
from ascendctl.products.catalogue import Product, candidates, find_product
from ascendctl.validate.rule import Rule, Violation
from ascendctl.wellknown import A910, ACCELERATOR_TYPE

INVALID = "InvalidResourceRequest"
SKIP = "huawei.com/skip-ascend-plugin"
FULL_NODE_PRODUCTS = ("a800", "a300t", "a300t-a2", "a2", "a3-pod")
"""Products whose tables recommend or demand whole nodes for distributed jobs (chapter 40 §4)."""

_WIRED = {
    "rings": "for the chips are wired in two rings of 4", "box16": "for the chips are two groups of 8, used in pairs",
    "base": "for the chips are one ring of 4",
}  # fmt: skip
"""Rule of a wiring -> why it refuses a count that a node could give."""
_ABOVE_AVERAGE = (
    "{count} NPUs per pod ({role}): the scheduler tests the average of the job only and lets it pass, but a node has "
    "at most {largest}, so every node refuses the pod"
)
_A3 = ("800-a3", "a3-8", "a3-pod")
_MESH = ("350-4p-8", "350-4p-16", "a800")

RULES: tuple[Rule, ...] = (
    Rule(
        "RES-04", "error", "a pod asks for a number of NPUs that the policy refuses",
        "{count} NPUs per pod ({role}) are illegal for policy {policy}: allowed are {allowed}, {why}",
        "ask for {allowed} NPUs per pod", outcome="PEND-V", source="chapter 10 §5.5",
        about="One pod runs on one node; the counts follow from the wiring inside it (HCCS rings need 1, 2, 4 or 8).",
        wrong="huawei.com/Ascend910: 3    # Atlas 800 training server", right="huawei.com/Ascend910: 4",
    ),
    Rule(
        "RES-05", "warning", "a count that the scheduler accepts, but the product's documents do not list",
        "{count} NPUs per pod ({role}) are accepted, but not documented for {product}: documented are {allowed}",
        "ask for {allowed} NPUs per pod", outcome="PEND-N", source="chapter 40 §4",
        about="No node may have so many NPUs, or the pod gets them without any affinity.",
        wrong="huawei.com/Ascend910: 4    # chip1-node2", right="huawei.com/Ascend910: 2",
    ),
    Rule(
        "RES-06", "error", "a single NPU in a job of several NPU pods on A3",
        "a job of {pods} NPU pods asks for 1 NPU in all: a single NPU is for single-pod jobs only",
        "ask for an even count per pod, or run one pod", products=_A3, outcome="PEND-V", source="chapter 10 §6.6",
        about="Two dies share a card, so distributed jobs take whole cards.",
        wrong="replicas: 2\nhuawei.com/Ascend910: 1", right="replicas: 2\nhuawei.com/Ascend910: 2",
    ),
    Rule(
        "RES-07", "error", "an odd number of NPUs, or more than 16, on A3",
        "{what}: A3 takes an even count up to 16 per pod, for two dies share a card",
        "ask for 2, 4, ... 16 NPUs per pod; 1 only in a job of one pod", products=_A3, outcome="PEND-V",
        source="chapter 10 §6.6", wrong="huawei.com/Ascend910: 3", right="huawei.com/Ascend910: 4",
    ),
    Rule(
        "RES-08", "error", "a pod without NPUs in an A3 job",
        "pods of {role} ask for no NPU: the A3 policy refuses them",
        "annotate the pods with huawei.com/skip-ascend-plugin: enabled", products=_A3, outcome="PEND-V",
        source="chapter 10 §6.6",
        about="Only pods of the task 'scheduler' are exempt without the annotation.",
        wrong="tasks:\n- name: master    # no NPUs", right="annotations:\n  huawei.com/skip-ascend-plugin: enabled",
    ),
    Rule(
        "RES-09", "error", "too many NPUs per pod for meshes of four, or no NPU pod",
        "{total} NPUs over {pods} NPU pods: at most {largest} per pod on average", "ask for at most {largest} per pod",
        products=_MESH, outcome="PEND-V", source="chapter 11.13",
        about="The scheduler tests the average of the job only; a single larger pod then fits no node.",
        wrong="huawei.com/npu: 12    # chip4-node8", right="huawei.com/npu: 8",
    ),
    Rule(
        "RES-10", "warning", "a count above 4 that is no multiple of 4, on meshes of four",
        "{count} NPUs per pod ({role}) get no affinity to meshes of 4", "ask for 1, 2, 3, 4 or a multiple of 4",
        products=_MESH, outcome="IGN", source="chapter 11.13", wrong="huawei.com/npu: 6", right="huawei.com/npu: 8",
    ),
    Rule(
        "RES-11", "warning", "pods of one task ask for different counts",
        "pods that share task-spec {spec!r} ask for {counts} NPUs: the scheduler checks only one of them",
        "give every role its own task, or the same count", outcome="RUN", source="chapter 11.4.4",
        about="An illegal count of the others shows up only when no node takes them.",
        wrong="replicas of one task with 4 and 3 NPUs", right="the same count in every pod of a task",
    ),
    Rule(
        "RES-12", "info", "a distributed job that takes no whole nodes",
        "{pods} pods of {count} NPUs: distributed jobs on {product} should take whole nodes ({full} NPUs per pod)",
        "ask for {full} NPUs per pod with fewer pods", outcome="RUN", source="chapter 40 §4",
        wrong="replicas: 8\nhuawei.com/Ascend910: 2", right="replicas: 2\nhuawei.com/Ascend910: 8",
    ),
)  # fmt: skip


def check(job: Job, policy: str) -> list[Violation]:
    """The scheduler's count check of a policy that works inside one node: empty, or the first rule that fails."""
    wiring = WIRINGS.get(policy)
    if wiring is None:
        return []
    if wiring.rule == "dies":
        return _die_pairs(job)
    if wiring.rule == "mesh":
        return _average(job, wiring.max_node)
    for i, role in enumerate(job.roles):
        if role.is_npu and role.replicas and (not 1 <= role.npus <= wiring.max_node or role.npus in wiring.illegal):
            legal = (n for n in range(1, wiring.max_node + 1) if n not in wiring.illegal)
            why = _WIRED.get(wiring.rule, "") if role.npus in wiring.illegal else ""
            why = why or f"for a node has at most {wiring.max_node}"
            return [_violation("RES-04", job, i, INVALID, allowed=in_words(legal), policy=policy, why=why)]
    return []


def _violation(rule: str, job: Job, role: int, reason: str = "", **values: object) -> Violation:
    asked = {"count": job.roles[role].npus, "role": job.roles[role].name}
    return Violation(rule, job.source.path("role", role, "npus"), asked | values, reason)


def in_words(counts: Iterator[int] | frozenset[int]) -> str:
    """Counts as people write them: "1 to 8", "1, 2, 4, 8", "1 to 8, 10, 12"."""
    legal = sorted(counts)
    run = next((i for i, n in enumerate(legal) if n != i + 1), len(legal))
    if run <= 2:
        return ", ".join(map(str, legal))
    return ", ".join([f"1 to {run}", *map(str, legal[run:])])


def _die_pairs(job: Job) -> list[Violation]:
    """RES-06, RES-07, RES-08: two dies share a card (chapter 10 §6.6)."""
    first = _first_npu(job)
    if job.npus == 1:
        pods = job.npu_pod_count
        return [] if pods == 1 else [_violation("RES-06", job, first, INVALID, pods=pods)]
    if job.npus % 2:
        return [_violation("RES-07", job, first, INVALID, what=f"the job asks for {job.npus} NPUs in all")]
    for i, role in enumerate(job.roles):
        if role.replicas == 0 or (role.npus > 0 and role.npus % 2 == 0 and role.npus <= 16) or _exempt(role):
            continue
        if role.npus == 0:
            return [_violation("RES-08", job, i, INVALID)]
        return [_violation("RES-07", job, i, INVALID, what=f"a pod of {role.name} asks for {role.npus} NPUs")]
    return []


def _first_npu(job: Job) -> int:
    return next((i for i, role in enumerate(job.roles) if role.is_npu), 0)


def _exempt(role: Role) -> bool:
    return role.npus == 0 and (role.task_spec == "scheduler" or role.annotations.get(SKIP) == "enabled")


def _average(job: Job, largest: int) -> list[Violation]:
    """RES-09: only the average over the job's NPU pods is tested (chapter 11.13)."""
    pods = job.npu_pod_count
    if pods and job.npus // pods <= largest:
        return []
    return [_violation("RES-09", job, _first_npu(job), INVALID, total=job.npus, pods=pods, largest=largest)]


def advise(job: Job, policy: str) -> Iterator[Violation]:
    """RES-05, RES-09 of a single pod, RES-10, RES-11, RES-12 for a job that passed `check`."""
    wiring = WIRINGS.get(policy)
    if wiring is None or wiring.rule not in ("base", "rings", "box16", "dies", "mesh") or check(job, policy):
        return
    products = products_of(job)
    for i, role in enumerate(job.roles):
        if not role.is_npu or not role.replicas:
            continue
        if wiring.rule == "mesh" and role.npus > wiring.max_node:
            values = {"count": role.npus, "role": role.name, "largest": wiring.max_node}
            path = job.source.path("role", i, "npus")
            yield Violation("RES-09", path, values, message=_ABOVE_AVERAGE.format_map(values), outcome="PEND-N")
        else:
            undocumented = list(_undocumented(job, i, products))
            odd = wiring.rule == "mesh" and role.npus > 4 and role.npus % 4 > 0
            if odd and not (undocumented and job.resource == A910):
                undocumented = [_violation("RES-10", job, i)]
            yield from undocumented
        yield from _below_node(job, i, products)
    if wiring.rule in ("base", "rings", "box16"):
        yield from _mixed(job)


def products_of(job: Job) -> tuple[Product, ...]:
    """Products that the job may be meant for: the given one, else what resource, policy and selector leave open."""
    named = find_product(job.product) if job.product else None
    if named is not None:
        return (named,)
    accelerator = job.selector.get(ACCELERATOR_TYPE)
    found = candidates(job.resource, job.policy_name, accelerator, job.labels.get("duo") == "true")
    narrowed = tuple(product for product in found if accelerator in product.accelerator_types)
    return narrowed or found


def _documented(product: Product, distributed: bool) -> frozenset[int]:
    if distributed:
        return product.distributed if product.advised_distributed is None else product.advised_distributed
    return product.single if product.advised_single is None else product.advised_single


def _undocumented(job: Job, index: int, products: tuple[Product, ...]) -> Iterator[Violation]:
    """RES-05, where no candidate product documents the count; super-pod products allow more without their policy."""
    known = [p for p in products if not (p.superpod and job.policy_name in ("chip2-node16", "chip2-node8"))]
    count = job.roles[index].npus
    if not known or any(count in _documented(p, job.distributed) for p in known):
        return
    allowed = in_words(_documented(known[0], job.distributed))
    yield _violation("RES-05", job, index, product=known[0].title, allowed=allowed)


def _below_node(job: Job, index: int, products: tuple[Product, ...]) -> Iterator[Violation]:
    """RES-12, where every candidate product wants whole nodes."""
    count, pods = job.roles[index].npus, job.npu_pod_count
    wants = [p for p in products if p.name in FULL_NODE_PRODUCTS]
    if pods >= 2 and wants and len(wants) == len(products) and all(count < p.chips for p in wants):
        yield _violation("RES-12", job, index, pods=pods, full=wants[0].chips, product=wants[0].title)


def _mixed(job: Job) -> Iterator[Violation]:
    """RES-11."""
    by_task: dict[str, list[int]] = {}
    for i, role in enumerate(job.roles):
        if role.is_npu and role.replicas:
            by_task.setdefault(role.task_spec, []).append(i)
    for spec, roles in by_task.items():
        counts = sorted({job.roles[i].npus for i in roles})
        if len(counts) > 1:
            yield _violation("RES-11", job, roles[0], spec=spec, counts=" and ".join(map(str, counts)))
