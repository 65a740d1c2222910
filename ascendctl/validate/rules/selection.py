"""Rules on what selects the policy, SEL-* (chapter 40 §3.2; for the scheduler chapter 10 §4 and chapter 11.5). SEL-17
is beyond that table (chapter 10 §12 D1)."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING, Final

from ascendctl.engine.select import (
    BY_ACCELERATOR,
    BY_ANNOTATION,
    DYNAMIC_VNPU,
    STATIC_VNPU,
    select_policy,
)
from ascendctl.manifest.attributes import COPIED_ANNOTATIONS
from ascendctl.manifest.job import Job
from ascendctl.products.catalogue import CATALOGUE, Product, find_product
from ascendctl.validate.keys import LABELS, POLICIES
from ascendctl.validate.nearest import nearest
from ascendctl.validate.rule import Rule, Violation
from ascendctl.validate.rules.counts import products_of
from ascendctl.validate.rules.selection_advice import (
    handled_by,
    in_words,
    npu_policies,
    policies_of,
    same_hardware,
    type_advice,
)
from ascendctl.wellknown import (
    A310,
    A310P,
    A910,
    ACCELERATOR_TYPE,
    BATCH,
    NPU,
    NPU_CORE,
    POLICY,
    RING,
    SOFT_SHARE,
    SP_BLOCK,
)

if TYPE_CHECKING:
    from ascendctl.snapshot.cluster import Cluster

RINGS: Final = ("ascend-310", "ascend-310P", "ascend-910", "ascend-910b", "ascend-npu")
ARCHITECTURES: Final = ("huawei-arm", "huawei-x86")
SERVER_TYPE: Final = re.compile(r"soc|npu-[0-9]+|Ascend(310P|910|910A3|910B)-[0-9]+")
BATCH_PRODUCTS: Final = ("a3-pod", "a3-9000", "800-a3-sp", "800-a3", "a3-8")
AGREEING: Final = frozenset(
    {("chip2-node16-sp", "module-a3-16"), ("chip2-node16", "module-a3-16-super-pod"), ("chip4-node8", "module")}
)
"""Pairs of policy and accelerator-type that select different handlers, yet belong together."""
OLDER: Final = frozenset({"chip2-node16", "chip2-node8", "chip2-node16-sp", "chip2-node8-sp", "chip8-node16"}) | {
    "chip4-node4", "chip1-node2", "module-a3-16",
}  # fmt: skip
NEWER: Final = frozenset({"chip1-node8", "chip1-node16", "chip4-node16", "chip8-node8-sp", "chip8-node8-ra64-sp"})
_ENUMS: Final = tuple(key.name for key in LABELS if key.group == "C" and key.legal and key.name != RING)

RULES: tuple[Rule, ...] = (
    Rule(
        "SEL-01", "error", "schedule_policy is no policy of the scheduler",
        "schedule_policy {value!r} is unknown: the scheduler would silently use {fallback}", "{advice}",
        outcome="FALL", source="chapter 10 §4.2", about="The value is case-sensitive.",
        wrong="huawei.com/schedule_policy: chip8-node-8", right="huawei.com/schedule_policy: chip8-node8",
    ),
    Rule(
        "SEL-02", "error", "huawei.com/npu without schedule_policy",
        "a job that asks for huawei.com/npu must name its policy",
        "add the annotation huawei.com/schedule_policy: {advice}", products=("350-8", "850", "950"), outcome="PEND-V",
        source="chapter 10 §4.2",
        wrong="huawei.com/npu: 8", right="huawei.com/schedule_policy: chip8-node8\nhuawei.com/npu: 8",
    ),
    Rule(
        "SEL-03", "error", "accelerator-type selects no policy",
        "accelerator-type {value!r} selects no policy, and no schedule_policy does", "{advice}", outcome="PEND-V",
        source="chapter 10 §4.2", wrong="accelerator-type: module-a3-8", right="accelerator-type: module-a3-16",
    ),
    Rule(
        "SEL-04", "warning", "Ascend910, and nothing selects a policy",
        "nothing selects a policy: the job is handled as one for Atlas 800 (9000), 1, 2, 4 or 8 NPUs per pod",
        "for A2 add huawei.com/schedule_policy: chip8-node8, for A3 chip2-node16", outcome="FALL",
        source="chapter 10 §4.2", wrong="huawei.com/Ascend910: 8    # on A2",
        right="huawei.com/schedule_policy: chip8-node8\nhuawei.com/Ascend910: 8",
    ),
    Rule(
        "SEL-05", "error", "pods of a job have different accelerator-type selectors",
        "accelerator-type differs between the pods: {value!r} selects {fallback}",
        "give all pods the value of the hardware that the job means", outcome="PEND-V", source="chapter 40 §1.9",
        wrong="accelerator-type: module    # Master\naccelerator-type: half    # Worker",
        right="accelerator-type: module    # in every pod",
    ),
    Rule(
        "SEL-06", "warning", "policy and accelerator-type belong to different hardware",
        "the policy is {policy}, but accelerator-type {value!r} belongs to {other}: the policy places the pods, the "
        "selector still filters the nodes", "{advice}", outcome="PEND-N",
        source="chapter 40 §3.2", wrong="huawei.com/schedule_policy: chip8-node8\naccelerator-type: module-a3-16",
        right="huawei.com/schedule_policy: chip2-node16\naccelerator-type: module-a3-16",
    ),
    Rule(
        "SEL-07", "warning", "policy and resource belong to different product generations",
        "policy {policy} is one of {made_for}, but the job asks for {resource}",
        "{advice}", outcome="PEND-N", source="chapter 10 §4.1",
        wrong="huawei.com/schedule_policy: chip2-node16\nhuawei.com/npu: 16",
        right="huawei.com/schedule_policy: chip2-node16\nhuawei.com/Ascend910: 16",
    ),
    Rule(
        "SEL-08", "error", "an annotation that the scheduler takes from one pod differs between the pods",
        "{key} {how}: the scheduler takes it from any one pod", "write it once, in the metadata of the job",
        kinds=("AscendJob", "vcjob"), outcome="FALL", source="chapter 40 §1.9",
        wrong='sp-block: "16"    # Master\nsp-block: "32"    # Worker',
        right='metadata:\n  annotations:\n    sp-block: "32"',
    ),
    Rule(
        "SEL-09", "error", "a label differs between job and pods, or between pods",
        "label {key} has different values: the scheduler joins them to {value!r}, which is none of its words",
        "give it one value", kinds=("AscendJob", "vcjob"), outcome="FALL", source="chapter 40 §1.9",
        wrong="fault-scheduling: grace    # job\nfault-scheduling: force    # pod", right="fault-scheduling: grace",
    ),
    Rule(
        "SEL-10", "warning", "host-arch is neither huawei-arm nor huawei-x86",
        "host-arch is {value!r}: no node carries this label value", "write huawei-arm or huawei-x86", outcome="PEND-N",
        source="chapter 40 §2.3", wrong="host-arch: arm64", right="host-arch: huawei-arm",
    ),
    Rule(
        "SEL-11", "warning", "an unexpected ring-controller.atlas",
        "ring-controller.atlas is {value!r}, {why}", "{advice}", outcome="IGN", source="chapter 40 §2.1",
        about="The value matters for huawei.com/npu-core only; the operator tests that the label is there.",
        wrong="ring-controller.atlas: ascend910", right="ring-controller.atlas: ascend-910b",
    ),
    Rule(
        "SEL-12", "warning", "an undocumented or misleading A3 policy",
        "policy {policy} {why}", "{advice}", products=("800-a3", "a3-8"), outcome="PEND-N", source="chapter 10 §12",
        wrong="huawei.com/schedule_policy: module-a3-16", right="huawei.com/schedule_policy: chip2-node16",
    ),
    Rule(
        "SEL-13", "warning", "schedule_policy on a resource that ignores it",
        "schedule_policy {value!r} has no effect on {resource}: {runs}", "remove the annotation",
        products=("300i", "310p", "300i-duo", "vnpu-dynamic", "vnpu-static"), outcome="IGN",
        source="chapter 10 §4.1",
        wrong="huawei.com/schedule_policy: chip8-node8\nhuawei.com/Ascend310P: 1", right="huawei.com/Ascend310P: 1",
    ),
    Rule(
        "SEL-14", "warning", "podgroup-sched-enable without effect",
        "podgroup-sched-enable is {value!r}{why}: batch scheduling stays off", 'write "true" on A3 jobs only',
        products=BATCH_PRODUCTS, outcome="IGN", source="chapter 40 §2.1",
        wrong='podgroup-sched-enable: "on"', right='podgroup-sched-enable: "true"',
    ),
    Rule(
        "SEL-15", "warning", "a servertype that no node carries",
        "servertype {value!r} {why}", "write soc, npu-<n>, Ascend910-<n> or Ascend310P-<n>",
        products=("310p", "200i-soc"), outcome="PEND-N", source="chapter 40 §2.3",
        wrong="servertype: SoC", right="servertype: soc",
    ),
    Rule(
        "SEL-16", "warning", "kind or framework is not documented for the product",
        "{what} {value} is not documented for {product}: documented are {allowed}", "use one of {allowed}",
        outcome="IGN", source="chapter 40 §4", wrong="kind: AscendJob    # --product 310p", right="kind: Deployment",
    ),
    Rule(
        "SEL-17", "warning", "chip4-node8 on Ascend910",
        "chip4-node8 on huawei.com/Ascend910 silently selects the policy of 4-chip meshes, made for Atlas 350, instead "
        "of the HCCS ring policy of the Atlas 800 training server",
        "for the ring policy remove schedule_policy and select accelerator-type: module; for A2 write chip8-node8",
        products=("a800",), outcome="FALL", source="chapter 10 §12 D1",
        about="The documents list chip4-node8 for the Atlas 800 training server. The mesh policy takes 3, 5, 6 and 7 "
        "NPUs as well, prefers the mesh with the fewest spare chips, and does not count the healthy chips of a node.",
        wrong="huawei.com/schedule_policy: chip4-node8\nhuawei.com/Ascend910: 4",
        right="accelerator-type: module    # and no schedule_policy\nhuawei.com/Ascend910: 4",
    ),
)  # fmt: skip


def check(job: Job, product: str = "") -> Iterator[Violation]:
    """Everything that selection has to say of a job; `product` is an alias of the catalogue, "" = not given."""
    yield from _policy_value(job, product)
    yield from _agreement(job)
    yield from _between_pods(job)
    yield from _ring(job, product)
    yield from _other_keys(job)
    if product and (known := find_product(product)) is not None:
        yield from _documented(job, known)


def _annotation(rule: str, job: Job, **values: object) -> Violation:
    return Violation(rule, job.source.path("annotation", POLICY), values)


def _policy_value(job: Job, product: str) -> Iterator[Violation]:
    """SEL-01 to SEL-05, SEL-12, SEL-13: does the job select a policy, and the one that it names?"""
    given, accelerator = job.policy_name, job.selector.get(ACCELERATOR_TYPE)
    if job.resource not in (A910, NPU):
        if given is not None and (job.resource in (A310, A310P, NPU_CORE) or STATIC_VNPU.search(job.resource)):
            yield _annotation("SEL-13", job, value=given, resource=job.resource, runs=handled_by(job))
        return
    policy = select_policy(job).policy
    if accelerator is not None and "|" in accelerator:
        yield _mixed(job, accelerator, policy)
    if given is None:
        yield from _unnamed(job, product, policy)
    elif given not in BY_ANNOTATION:
        near = nearest(given, POLICIES)
        advice = f"did you mean {near}?" if near else "use one of " + ", ".join(policies_of(job.resource))
        yield _annotation("SEL-01", job, value=given, fallback=in_words(policy), advice=advice)
    if given == "module-a3-16":
        why = "is an undocumented alias of chip2-node16"
        yield _annotation("SEL-12", job, policy=given, why=why, advice="write chip2-node16")
    if given == "chip2-node8":
        why = "is for nodes of 8 NPUs, but accepts up to 16 per pod"
        yield _annotation("SEL-12", job, policy=given, why=why, advice="keep to 8 NPUs per pod")


def _unnamed(job: Job, product: str, policy: str) -> Iterator[Violation]:
    """SEL-02 to SEL-04 of a job without schedule_policy; `policy` is what takes it, "" = none."""
    accelerator, selector = job.selector.get(ACCELERATOR_TYPE), job.source.path("selector", ACCELERATOR_TYPE)
    if job.resource == NPU:
        yield _annotation("SEL-02", job, advice=npu_policies(accelerator))
    elif accelerator is None:
        if SP_BLOCK not in job.annotations:
            old = product == "a800" or (not product and job.labels.get(RING) == "ascend-910")
            yield Violation("SEL-04", job.source.path("annotation", POLICY), severity="info" if old else "")
    elif "|" in accelerator:
        return
    elif not policy:
        yield Violation("SEL-03", selector, {"value": accelerator, "advice": type_advice(accelerator)})
    elif _card_by_chance(job, accelerator):
        why = f"accelerator-type {accelerator!r} is unknown: for its part card the scheduler silently uses "
        values = {"value": accelerator, "advice": type_advice(accelerator)}
        yield Violation("SEL-03", selector, values, severity="warning", message=why + in_words(policy))


def _mixed(job: Job, accelerator: str, policy: str) -> Violation:
    """SEL-05. A named policy runs whatever the selectors say; without one the joined value selects, mostly nothing."""
    selector = job.source.path("selector", ACCELERATOR_TYPE)
    if job.policy_name in BY_ANNOTATION:
        what = f"accelerator-type differs between the pods ({accelerator!r}): {in_words(policy)} still takes the job, "
        return Violation("SEL-05", selector, message=what + "but its pods wait for different hardware", outcome="RUN")
    values = {"value": accelerator, "fallback": in_words(policy)}
    return Violation("SEL-05", selector, values, outcome="FALL" if policy else "")


def _card_by_chance(job: Job, accelerator: str) -> bool:
    """True for a selector that no product has and that selects the card policy by a part of its text."""
    known = any(accelerator in p.accelerator_types for p in CATALOGUE)
    return "card" in accelerator and not known and SP_BLOCK not in job.annotations


def _agreement(job: Job) -> Iterator[Violation]:
    """SEL-06, SEL-07: do policy, selector and resource belong to one product?"""
    given, accelerator = job.policy_name, job.selector.get(ACCELERATOR_TYPE)
    if given is None or given not in BY_ANNOTATION or job.resource not in (A910, NPU):
        return
    if accelerator is not None and given not in ("multilevel", SOFT_SHARE) and not _agree(given, accelerator):
        owners = [p for p in CATALOGUE if accelerator in p.accelerator_types]
        other = ", ".join(p.title for p in owners) or "other hardware"
        path = job.source.path("selector", ACCELERATOR_TYPE)
        advice = same_hardware(given, job.resource, owners)
        yield Violation("SEL-06", path, {"policy": given, "value": accelerator, "other": other, "advice": advice})
    elif given == "chip4-node8" and job.resource == A910:
        yield _annotation("SEL-17", job)
    if (job.resource == NPU and given in OLDER) or (job.resource == A910 and given in NEWER):
        made_for = "Atlas 800, A2 and A3" if given in OLDER else "Atlas 350, 850 and 950"
        asked = A910 if given in OLDER else NPU
        advice = f"ask for {asked}, or name a policy of {job.resource}: {', '.join(policies_of(job.resource))}"
        yield _annotation("SEL-07", job, policy=given, made_for=made_for, resource=job.resource, advice=advice)


def on_nodes(job: Job, cluster: Cluster) -> Iterator[Violation]:
    """SEL-06 against the nodes of a snapshot, where the job selects none of them: no policy looks at the hardware."""
    from ascendctl.engine.kube import offering_nodes

    given, role = job.policy_name or "", next((role for role in job.roles if role.is_npu), None)
    if given not in BY_ANNOTATION or given in ("multilevel", SOFT_SHARE) or role is None:
        return
    reached = offering_nodes(role, cluster, job.resource).nonzero()[0].tolist()
    kinds = set(map(cluster.labels.column(ACCELERATOR_TYPE).get, reached))
    named = sorted(kind for kind in kinds if kind is not None)
    if len(named) < len(kinds) or not named or any(_agree(given, kind) or _serves(given, kind) for kind in named):
        return
    owners = [p for p in CATALOGUE if set(named) & set(p.accelerator_types)]
    what = f"the policy is {given}, but all nodes that the job can reach are of accelerator-type {', '.join(named)}: "
    what += "the policy places the pods there all the same"
    hint = same_hardware(given, job.resource, owners)
    yield Violation("SEL-06", job.source.path("annotation", POLICY), message=what, hint=hint)


def _serves(policy: str, accelerator: str) -> bool:
    """True if a product with this accelerator-type is documented with the policy."""
    return any(policy in p.policies and accelerator in p.accelerator_types for p in CATALOGUE)


def _agree(policy: str, accelerator: str) -> bool:
    if (policy, accelerator) in AGREEING:
        return True
    handler = BY_ACCELERATOR["card"] if "card" in accelerator else BY_ACCELERATOR.get(accelerator)
    if handler is not None:
        same = {handler, "chip8-node8"} if handler == "850-Atlas-8p-8" else {handler}
        return BY_ANNOTATION[policy] in same
    known = [p for p in CATALOGUE if accelerator in p.accelerator_types]
    return not known or any(policy in p.policies for p in known)


def _between_pods(job: Job) -> Iterator[Violation]:
    """SEL-08, SEL-09: values that differ between the job and its pods."""
    if job.kind not in ("AscendJob", "vcjob", "PodGroup"):
        return
    for key in COPIED_ANNOTATIONS:
        values = [role.annotations.get(key) for role in job.roles]
        origin = job.source.origins.get(("annotation", key))
        pods = [job.source.origins.get(("role", i, "annotation", key)) for i in range(len(job.roles))]
        if len(set(values)) > 1 and origin is not None and origin in pods:
            how = "is set in some pods only" if None in values else "differs between the pods"
            yield Violation("SEL-08", next(p for p in pods if p is not None), {"key": key, "how": how})
    for key in _ENUMS:
        if "|" in job.labels.get(key, ""):
            yield Violation("SEL-09", job.source.path("label", key), {"key": key, "value": job.labels[key]})


def _ring(job: Job, product: str) -> Iterator[Violation]:
    """SEL-11."""
    value = job.labels.get(RING)
    if value is None or not job.resource or (job.resource == NPU_CORE and value in DYNAMIC_VNPU):
        return
    known = find_product(product) if product else None
    wanted = known.ring_controller if known is not None else ""
    if "|" in value:
        why, advice = "joined from different values of job and pods", "give it one value"
    elif value not in RINGS:
        fitting = {item.ring_controller for item in products_of(job)} - {""}
        meant = fitting.pop() if len(fitting) == 1 else nearest(value, RINGS)
        why, advice = f"known are {', '.join(RINGS)}", f"write {meant}" if meant else "write the value of the product"
    elif known is not None and wanted and value != wanted:
        why, advice = f"but {known.title} has {wanted}", f"write {wanted}"
    else:
        return
    yield Violation("SEL-11", job.source.path("label", RING), {"value": value, "why": why, "advice": advice})


def _other_keys(job: Job) -> Iterator[Violation]:
    """SEL-10, SEL-14, SEL-15."""
    for i, role in enumerate(job.roles):
        architecture, server = role.selector.get("host-arch"), role.selector.get("servertype")
        if architecture is not None and architecture not in ARCHITECTURES:
            yield Violation("SEL-10", job.source.path("role", i, "selector", "host-arch"), {"value": architecture})
        if server is not None and not SERVER_TYPE.fullmatch(server):
            values = {"value": server, "why": "has no form that nodes carry"}
            yield Violation("SEL-15", job.source.path("role", i, "selector", "servertype"), values)
        elif server == "soc" and role.resource and role.resource != A310P:
            values = {"value": server, "why": f"is Atlas 200I SoC A1, which does not offer {role.resource}"}
            yield Violation("SEL-15", job.source.path("role", i, "selector", "servertype"), values)
    batch = job.labels.get(BATCH)
    if batch is None or not job.resource:
        return
    products = products_of(job)
    foreign = bool(products) and all(p.name not in BATCH_PRODUCTS for p in products)
    if batch != "true" or foreign:
        why = f", and {products[0].title} has no batch scheduling" if batch == "true" else ""
        yield Violation("SEL-14", job.source.path("label", BATCH), {"value": batch, "why": why})


def _documented(job: Job, product: Product) -> Iterator[Violation]:
    """SEL-16."""
    if product.kinds and job.kind not in product.kinds:
        values = {"what": "kind", "value": job.kind, "product": product.title, "allowed": ", ".join(product.kinds)}
        yield Violation("SEL-16", (), values)
    framework = job.labels.get("framework")
    documented = [name for name in product.frameworks if name != "inference"]
    if framework is not None and documented and framework.lower() not in (name.lower() for name in documented):
        values = {"what": "framework", "value": framework, "product": product.title, "allowed": ", ".join(documented)}
        yield Violation("SEL-16", job.source.path("label", "framework"), values)
