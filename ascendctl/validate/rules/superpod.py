"""Rules on `sp-block` and super-pod jobs, SPB-* (chapter 40 §3.2; chapter 20 §2.3 and §10 for what the scheduler does).

`check` is the scheduler's own job validation of the policies chip2-node16-sp, chip2-node8-sp and chip8-node8-sp: it
stops at the first failure. `advise` are the findings that keep no job from running. The single conditions are in
`superpod_checks`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

from ascendctl.manifest.job import Job
from ascendctl.products import CATALOGUE
from ascendctl.snapshot.config import SchedulerConfig
from ascendctl.validate.rule import Rule, Violation
from ascendctl.validate.rules.superpod_checks import (
    FAMILIES,
    block_below_node_is_whole_job,
    block_fits_superpod,
    block_is_positive,
    block_is_whole_nodes,
    pods_take_whole_nodes,
    single_pod_block,
    single_pod_count,
    total_is_blocks,
)
from ascendctl.wellknown import A910, ACCELERATOR_TYPE, SP_BLOCK, SUPER_POD_AFFINITY

if TYPE_CHECKING:
    from ascendctl.snapshot.cluster import Cluster

A3_TYPES = ("module-a3-16", "module-a3-16-super-pod", "module-a3-8-super-pod")
A3_PRODUCTS = ("a3-pod", "a3-9000", "800-a3-sp", "800-a3", "a3-8")
_A3SP = ("a3-pod", "a3-9000", "800-a3-sp")
_SUPER_POD = (*_A3SP, "850-sp", "950")


RULES: tuple[Rule, ...] = (
    Rule(
        "SPB-01",
        "error",
        "sp-block is not a whole number, or not positive",
        "sp-block is {value!r}, it must be a whole number of NPUs from 1",
        "write the NPUs of one logical SuperPoD as plain digits in quotes, a multiple of {npus}",
        products=_SUPER_POD,
        outcome="PEND-V",
        source="chapter 20 §2.2, §2.3 V1",
        about="The scheduler reads sp-block as a decimal integer. Blanks, exponents and hexadecimal digits make it 0.",
        wrong='sp-block: "32 "',
        right='sp-block: "32"',
    ),
    Rule(
        "SPB-02",
        "error",
        "sp-block is below the NPUs of a node and differs from the NPUs of the job",
        "sp-block {block} is less than a node of {npus} NPUs and not the job's total of {total}",
        "use a multiple of {npus}, or remove sp-block to make the whole job one logical SuperPoD",
        products=_A3SP,
        outcome="PEND-V",
        source="chapter 20 §2.3 V2",
        about="Below one node, only a block that is the whole job is accepted.",
        wrong='sp-block: "8"    # 4 pods of 16 NPUs',
        right='sp-block: "16"',
    ),
    Rule(
        "SPB-03",
        "error",
        "sp-block is not a multiple of the NPUs of a node",
        "sp-block {block} is no multiple of the {npus} NPUs of a node",
        "use {lower} or {upper}",
        products=_SUPER_POD,
        outcome="PEND-V",
        source="chapter 20 §2.3 V3",
        about="A logical SuperPoD consists of whole nodes.",
        wrong='sp-block: "24"    # nodes of 16 NPUs',
        right='sp-block: "32"',
    ),
    Rule(
        "SPB-04",
        "error",
        "a logical SuperPoD has more nodes than super-pod-size",
        "sp-block {block} makes logical SuperPoDs of {nodes} nodes, a SuperPoD has at most {limit} (super-pod-size)",
        "use at most sp-block {largest}, or correct super-pod-size of the scheduler configuration (it counts nodes)",
        products=(*_A3SP, "850-sp"),
        outcome="PEND-V",
        source="chapter 20 §2.3 V4",
        about="super-pod-size counts nodes and is 48 by default. Without sp-block the whole job is one block.",
        wrong='sp-block: "1024"    # 64 nodes of 16 NPUs',
        right='sp-block: "512"',
    ),
    Rule(
        "SPB-05",
        "error",
        "a job of one pod asks for a number of NPUs that no node can give",
        "a single pod asks for {total} NPUs, allowed are {allowed}",
        "ask for {allowed} NPUs",
        products=_SUPER_POD,
        outcome="PEND-V",
        source="chapter 20 §2.3 V5, §10 row 8",
        about="On A3 nodes two chips share a die pair, so a single pod takes one NPU or whole pairs.",
        wrong="huawei.com/Ascend910: 3",
        right="huawei.com/Ascend910: 4",
    ),
    Rule(
        "SPB-06",
        "error",
        "a job of one pod has an sp-block that is not its NPU count",
        "sp-block is {block}, but the job's only pod asks for {total} NPUs",
        "set sp-block to {total} or remove it",
        products=_SUPER_POD,
        outcome="PEND-V",
        source="chapter 20 §2.3 V6",
        about="A single pod is its own logical SuperPoD.",
        wrong='sp-block: "32"    # one pod of 16 NPUs',
        right='sp-block: "16"',
    ),
    Rule(
        "SPB-07",
        "error",
        "the NPUs of the job are no multiple of sp-block",
        "the job asks for {total} NPUs, which is no multiple of sp-block {block}",
        "{advice}",
        products=_SUPER_POD,
        outcome="PEND-V",
        source="chapter 20 §2.3 V7",
        about="All logical SuperPoDs of a job have the same size. The total counts the pods of minAvailable.",
        wrong='sp-block: "48"    # 4 pods of 16 NPUs',
        right='sp-block: "32"',
    ),
    Rule(
        "SPB-08",
        "error",
        "a pod of a distributed job does not ask for a whole node",
        "{role}: a pod asks for {count} NPUs, pods of a distributed job must take a whole node of {npus}",
        "ask for {npus} NPUs in every pod",
        products=_SUPER_POD,
        outcome="PEND-V",
        source="chapter 20 §2.3 V8",
        about="Ranks of a logical SuperPoD are consecutive NPUs, so nodes are not shared.",
        wrong="huawei.com/Ascend910: 8    # distributed, nodes of 16",
        right="huawei.com/Ascend910: 16",
    ),
    Rule(
        "SPB-09",
        "error",
        "a distributed job has a pod without NPUs that is not exempt",
        "{role}: a pod without NPUs is not allowed in this distributed job",
        "{advice}",
        products=_SUPER_POD,
        outcome="PEND-V",
        source="chapter 20 §2.3 V8, §10 row 9",
        about="A3 accepts a pod without NPUs if its task is called scheduler or it carries "
        "huawei.com/skip-ascend-plugin: enabled; Atlas 850 and 950 accept none.",
        wrong="a Scheduler pod without NPUs on Atlas 850",
        right='huawei.com/skip-ascend-plugin: "enabled"    # A3',
    ),
    Rule(
        "SPB-10",
        "warning",
        "sp-block with a policy that does not read it",
        "policy {policy} ignores sp-block",
        "use a super-pod policy ({advice}) or remove sp-block",
        outcome="IGN",
        source="chapter 20 §1, §11 D6",
        about="Only the -sp policies group nodes into logical SuperPoDs.",
        wrong='huawei.com/schedule_policy: chip2-node16\nsp-block: "32"',
        right='huawei.com/schedule_policy: chip2-node16-sp\nsp-block: "32"',
    ),
    Rule(
        "SPB-11",
        "error",
        "sp-block without a valid schedule_policy on Ascend910",
        "sp-block without a valid huawei.com/schedule_policy makes the scheduler use policy {policy}, {why}",
        "set huawei.com/schedule_policy: {policy}, or remove sp-block",
        products=A3_PRODUCTS,
        outcome="FALL",
        source="chapter 20 §1",
        about="sp-block alone selects the A3 super-pod policy, whatever hardware the job means.",
        wrong='sp-block: "32"    # with accelerator-type: module-910b-8',
        right='huawei.com/schedule_policy: chip2-node16-sp\nsp-block: "32"',
    ),
    Rule(
        "SPB-12",
        "warning",
        "super-pod policy without sp-block",
        "no sp-block: the whole job of {total} NPUs is one logical SuperPoD",
        "set sp-block to the NPUs that must share a SuperPoD",
        products=_SUPER_POD,
        outcome="default",
        source="chapter 20 §2.1",
        about="A job larger than a SuperPoD is rejected without sp-block.",
        wrong="huawei.com/schedule_policy: chip2-node16-sp",
        right='huawei.com/schedule_policy: chip2-node16-sp\nsp-block: "64"',
    ),
    Rule(
        "SPB-13",
        "warning",
        "the job has several logical SuperPoDs",
        "{blocks} logical SuperPoDs: traffic between them leaves the SuperPoD and needs the RoCE parameter plane",
        "make sure that the nodes' NPU network is cabled and healthy, or use a larger sp-block",
        products=_SUPER_POD,
        outcome="RUN",
        source="chapter 20 §4.2",
        about="Nodes with a network-unhealthy chip are refused for such jobs.",
        wrong='sp-block: "32"    # 64 NPUs',
        right='sp-block: "64"    # 64 NPUs',
    ),
    Rule(
        "SPB-14",
        "warning",
        "super-pod-affinity is neither soft nor hard, or the policy does not read it",
        "label super-pod-affinity: {value!r} {why}",
        "{advice}",
        outcome="IGN",
        source="chapter 20 §2.1, trap 6",
        about="Exactly the word soft allows fragments; everything else means hard.",
        wrong="super-pod-affinity: Soft",
        right="super-pod-affinity: soft",
    ),
    Rule(
        "SPB-15",
        "warning",
        "sp-fit has no effect",
        "sp-fit: {value!r} has no effect: {why}",
        "{advice}",
        products=_A3SP,
        outcome="IGN",
        source="chapter 20 §2.1, §8.1, §11 D5",
        about="Only MindIE jobs (labels app and jobID) of the A3 super-pod policies read it, and only the word idlest.",
        wrong="sp-fit: podAffinity",
        right="sp-fit: idlest",
    ),
    Rule(
        "SPB-16",
        "warning",
        "sp-block together with tor-affinity",
        "sp-block and tor-affinity: {value!r} on one job: both the super-pod and the switch policy run and contradict",
        "remove label tor-affinity",
        products=_A3SP,
        outcome="RUN",
        source="chapter 40 §3.2",
        about="Switch affinity is for clusters without SuperPoDs.",
        wrong='sp-block: "32"\ntor-affinity: large-model-schema',
        right='sp-block: "32"',
    ),
    Rule(
        "SPB-17",
        "warning",
        "minAvailable is below the number of pods of a super-pod job",
        "minAvailable {available} is below the {pods} pods: sp-block is checked against {total} NPUs, not all of them",
        "set minAvailable to {pods}",
        kinds=("AscendJob", "vcjob"),
        products=_SUPER_POD,
        outcome="RUN",
        source="chapter 20 trap 12",
        about="The NPU total counts minAvailable pods only: the blocks no longer cover the whole job.",
        wrong="minAvailable: 3    # 4 pods",
        right="minAvailable: 4    # 4 pods",
    ),
)


def check(job: Job, config: SchedulerConfig, policy: str) -> list[Violation]:
    """The scheduler's validation of a job under one of `FAMILIES`: empty, or the first rule that fails."""
    family = FAMILIES[policy]
    npus = family.npus
    steps: list[Callable[[], Violation | None]] = [lambda: block_is_positive(job, npus, family.block)]
    if family.whole_job_below_node:
        steps.append(lambda: block_below_node_is_whole_job(job, npus, family.block))
    steps.append(lambda: block_is_whole_nodes(job, npus, family.block))
    steps.append(lambda: block_fits_superpod(job, npus, config.super_pod_size, family.size))
    if job.npu_pod_count == 1:
        steps.append(lambda: single_pod_count(job, npus, family.even, family.count))
        steps.append(lambda: single_pod_block(job, family.count))
    else:
        steps.append(lambda: total_is_blocks(job, npus, family.count))
        steps.append(lambda: pods_take_whole_nodes(job, npus, family.exempt, family.count))
    return next(([violation] for step in steps if (violation := step()) is not None), [])


def advise(job: Job, policy: str) -> list[Violation]:
    """SPB-10 to SPB-17 for a job that the given policy handles ("" = none)."""
    from ascendctl.engine.select import BY_ANNOTATION, MODULES

    module = MODULES.get(policy, "intra")
    super_pod = module in ("superpod", "rack")
    found = _block_advice(job, policy, super_pod, job.policy_name in BY_ANNOTATION)
    found += _affinity_advice(job, super_pod)
    found += _fit_advice(job, policy)
    tor = job.tor_affinity
    if SP_BLOCK in job.annotations and tor not in (None, "null"):
        found.append(Violation("SPB-16", job.source.path("label", "tor-affinity"), {"value": tor}))
    if super_pod and job.kind in ("AscendJob", "vcjob") and job.min_available < len(job.pods):
        values = {"available": job.min_available, "pods": len(job.pods), "total": job.npus}
        found.append(Violation("SPB-17", job.source.path("min_available"), values))
    return found


def against(job: Job, policy: str, cluster: Cluster) -> Iterator[Violation]:
    """SPB-04 against the SuperPoDs of a snapshot: a logical one needs as many nodes in one of them."""
    npus = FAMILIES[policy].npus if policy in FAMILIES else 8
    nodes, offering = max(1, job.sp_block // npus), cluster.resources.get(job.resource)
    largest = cluster.largest_superpod(cluster.is_npu & (offering.capacity > 0))[1] if offering is not None else 0
    if 0 < largest < nodes:
        message = (
            f"sp-block {job.sp_block} makes logical SuperPoDs of {nodes} nodes, the largest SuperPoD of the snapshot "
            f"has {largest}{': the blocks will not be kept together' if job.is_soft else ''}"
        )
        yield Violation(
            "SPB-04", job.source.path("annotation", SP_BLOCK), {}, message=message,
            severity="warning" if job.is_soft else "", hint=f"use at most sp-block {largest * npus}", outcome="PEND-N",
        )  # fmt: skip


def _block_advice(job: Job, policy: str, super_pod: bool, named: bool) -> list[Violation]:
    path, present = job.source.path("annotation", SP_BLOCK), SP_BLOCK in job.annotations
    found = []
    if present and policy and not super_pod:
        advice = "chip8-node8-sp" if job.resource == "huawei.com/npu" else "chip2-node16-sp, chip2-node8-sp"
        found.append(Violation("SPB-10", path, {"policy": policy, "advice": advice}))
    if present and not named and job.resource == A910:
        accelerator = job.selector.get(ACCELERATOR_TYPE)
        if (accelerator is not None and accelerator not in A3_TYPES) or (
            job.product and job.product not in A3_PRODUCTS
        ):
            why = f"which does not belong to {accelerator or job.product}"
            meant = _documented_policy(accelerator, job.product)
            hint = f"set huawei.com/schedule_policy: {meant}, and remove sp-block" if meant else "remove sp-block"
            found.append(Violation("SPB-11", path, {"policy": policy, "why": why}, hint=hint))
        elif accelerator is None:
            why = "which fits Atlas 900 A3 nodes of 16 NPUs only"
            found.append(Violation("SPB-11", path, {"policy": policy, "why": why}, severity="warning"))
    if super_pod and not present:
        found.append(Violation("SPB-12", path, {"total": job.npus}))
    if super_pod and job.sp_block > 0 and job.npus // job.sp_block > 1:
        found.append(Violation("SPB-13", path, {"blocks": job.npus // job.sp_block}))
    return found


def _documented_policy(accelerator: str | None, product: str) -> str:
    """The policy of the hardware that a job names; "" if it has none, or is served without one (Atlas 800 training)."""
    known = (p for p in CATALOGUE if p.name == product or (not product and accelerator in p.accelerator_types))
    return next((p.policies[0] for p in known if p.policies and p.name != "a800"), "")


def _affinity_advice(job: Job, super_pod: bool) -> list[Violation]:
    value, path = job.labels.get(SUPER_POD_AFFINITY), job.source.path("label", SUPER_POD_AFFINITY)
    if value is None:
        return []
    if not super_pod:
        values = {"value": value, "why": "has no effect with this policy", "advice": "remove the label"}
    elif value not in ("soft", "hard"):
        values = {"value": value, "why": "counts as hard", "advice": "write soft or hard"}
    else:
        return []
    return [Violation("SPB-14", path, values)]


def _fit_advice(job: Job, policy: str) -> list[Violation]:
    value = job.annotations.get("sp-fit")
    if value is None:
        return []
    if policy not in ("chip2-node16-sp", "chip2-node8-sp"):
        why, advice = "the policy does not read it", "use chip2-node16-sp or chip2-node8-sp, or remove sp-fit"
    elif not ("app" in job.labels and "jobID" in job.labels):
        why, advice = "only jobs with labels app and jobID use it", "set both labels, or remove sp-fit"
    elif value != "idlest":
        why, advice = "only idlest is known", "write idlest, or remove sp-fit to fill the fullest SuperPoD"
    else:
        return []
    return [
        Violation("SPB-15", job.source.path("annotation", "sp-fit"), {"value": value, "why": why, "advice": advice})
    ]
