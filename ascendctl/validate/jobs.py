"""What the scheduler would say of the jobs of an object: resources, selection, the rules of the one policy that takes
the job (chapter 40 §3.1)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace

from ascendctl.manifest.job import Job
from ascendctl.manifest.load import document_jobs
from ascendctl.manifest.quantity import is_count
from ascendctl.snapshot.config import SchedulerConfig
from ascendctl.validate.catalogue import find_rule, hint_of, message_of, rules_module
from ascendctl.validate.companions import Context
from ascendctl.validate.dialects import is_foreign
from ascendctl.validate.entry import CARRIER, KNOWN, Entry
from ascendctl.validate.keys import GROUP_A, GROUP_C
from ascendctl.validate.ome import runtime_is_missing
from ascendctl.validate.rule import Violation
from ascendctl.validate.rules.k8s_object import INFER_KINDS
from ascendctl.wellknown import ACCELERATOR_TYPE, GROUP_NAME
from ascendctl.yamlio.document import Document, FieldPath

BLOCKING = frozenset(("SEL-01", "SEL-02", "SEL-03", "SEL-05", "RES-02", "SPB-11"))
"""Rules that say: the policy at hand is not the one that the author meant. Its rules then stay silent."""
_BESIDE = frozenset(("RAB-08", "VNP-02"))
"""Advice that stands even where the policy refuses the same field."""
_RACK_SIZE = "super-pod-size"


def jobs_of(entry: Entry, context: Context) -> list[Job]:
    """The jobs of an object, one a role for infer services; their attributes merged as the scheduler does."""
    if entry.case == CARRIER:
        from ascendctl.validate.rules.ext import carrier_jobs

        return [_placed(job, entry) for job in carrier_jobs(entry)]
    if entry.case != KNOWN or entry.kind is None:
        return []
    siblings = [other.document for other in context.entries if other.title == "PodGroup"]
    names = {pod.annotations.get("scheduling.k8s.io/group-name") for pod in entry.pods} - {None}
    for name in sorted(str(name) for name in names):
        value = context.find("PodGroup", entry.namespace, name)
        if isinstance(value, Mapping) and value and context.in_set("PodGroup", entry.namespace, name) is None:
            siblings.append(Document("", 0, 1, value))
    product = context.options.product
    jobs = document_jobs(entry.document, siblings, False)
    return [_placed(replace(job, product=product), entry) for job in jobs]


def _placed(job: Job, entry: Entry) -> Job:
    """The job, knowing where keys that it lacks should stand."""
    on_job = entry.title in ("AscendJob", "vcjob", "PodGroup")
    start = job.source.origins.get(("role", 0))
    pod = next((pod for pod in entry.pods if pod.path == start), entry.pods[0] if entry.pods else None)
    meta = ("metadata",) if on_job or pod is None else pod.meta
    origins: dict[tuple[str | int, ...], FieldPath] = {
        **{("annotation", key): (*meta, "annotations", key) for key in GROUP_A},
        **{("label", key): (*meta, "labels", key) for key in GROUP_C},
        **job.source.origins,
    }
    if job.roles and ACCELERATOR_TYPE not in job.selector and pod is not None:
        origins["selector", ACCELERATOR_TYPE] = (*pod.spec, "nodeSelector", ACCELERATOR_TYPE)
    return replace(job, source=replace(job.source, origins=origins))


def judge(entry: Entry, context: Context) -> Iterator[Violation]:
    """SCH, SEL, RES and the policy's rules for every job of an object."""
    from ascendctl.validate.rules import sch

    yield from sch.check(entry, context)
    if any(is_foreign(entry, pod) for pod in entry.pods) or _is_member(entry, context):
        return
    always = entry.title == "AscendJob" or entry.title in INFER_KINDS
    if not always and not any(sch.meant_for_volcano(entry, pod) for pod in entry.pods):
        return
    absent = not runtime_is_missing(entry, context)
    counted = all(is_count(quantity) for pod in entry.pods for _, _, quantity in pod.npus)
    for job in jobs_of(entry, context):
        yield from sch.check_job(job, context)
        yield from job_rules(job, context, absent, counted)


def _is_member(entry: Entry, context: Context) -> bool:
    """True for a pod that is only a part of a job: another object owns it, or other pods share its PodGroup."""
    if entry.title != "Pod":
        return False
    if entry.get("metadata", "ownerReferences"):
        return True
    name = entry.annotations.get(GROUP_NAME)
    if name is None:
        return False
    others = [e for e in context.entries if e.title == "Pod" and e.annotations.get(GROUP_NAME) == name]
    return len(others) > 1 or entry.get("metadata", "uid") is not None


def job_rules(job: Job, context: Context, absent: bool = True, counted: bool = True) -> Iterator[Violation]:
    """Selection and policy rules of one job; `absent` False: say nothing of keys that are not there, `counted` False:
    say nothing of NPU counts, for K8S-08 or K8S-09 refuse one."""
    from ascendctl.validate.rules import resources

    first = [*resources.check_job(job), *_selection(job, context, absent)]
    policy, module, switch = _policy(job)
    blocks = [v for v in _superpod_advice(job, policy) if v.rule == "SPB-11"]
    yield from first
    yield from blocks
    if not counted or any(v.rule in BLOCKING and _is_error(v) for v in (*first, *blocks)):
        return
    said = set()
    for violation in _handler(job, context, policy, module):
        if absent or violation.rule != "RES-04" or policy != "module":
            said.add(violation.path)
            yield _renamed(job, violation)
    for violation in _advice(job, context, policy, module):
        if violation.rule != "SPB-11" and (violation.path not in said or violation.rule in _BESIDE):
            yield violation
    if switch or "tor-affinity" in job.labels:
        yield from _switch(job, context)


def _is_error(violation: Violation) -> bool:
    rule = find_rule(violation.rule)
    return (violation.severity or (rule.severity if rule else "")) == "error"


def _policy(job: Job) -> tuple[str, str, bool]:
    from ascendctl.engine.select import select_policy

    selection = select_policy(job)
    return selection.policy, selection.module, selection.switch


def _selection(job: Job, context: Context, absent: bool) -> Iterable[Violation]:
    found: Iterable[Violation] = rules_module("selection").check(job, context.options.product)
    return found if absent else [v for v in found if v.rule not in ("SEL-02", "SEL-04")]


def _superpod_advice(job: Job, policy: str) -> Iterable[Violation]:
    found: Iterable[Violation] = rules_module("superpod").advise(job, policy)
    return found


def _handler(job: Job, context: Context, policy: str, module: str) -> Iterable[Violation]:
    """The scheduler's validation by the policy that takes the job: nothing, or the first rule that fails."""
    config = context.options.scheduler
    found: Iterable[Violation] = rules_module("vnpu").check_static(job)
    if found or policy == "vnpu-static":
        return found
    if module == "superpod":
        found = rules_module("superpod").check(job, config, policy)
    elif module == "rack":
        found = rules_module("rack").check(job, _rack_config(context))
    elif module == "multilevel":
        found = rules_module("multilevel").check(job)
    elif module == "vnpu":
        found = rules_module("vnpu").check(job, config, _template_keys(job, context))
    elif module == "soft_share":
        found = rules_module("soft_share").check(job)
    elif policy in rules_module("inference").LIMITS:
        found = rules_module("inference").check(job, policy)
    elif policy:
        found = rules_module("counts").check(job, policy)
    return found


def _template_keys(job: Job, context: Context) -> tuple[str, ...] | None:
    """vNPU template keys of the snapshot's nodes that the job can reach; None where there are none to be seen: then
    other rules tell that no node offers AI cores."""
    if context.options.snapshot is None:
        return None
    from ascendctl.engine.policies.vnpu import template_keys

    return template_keys(job, context.options.snapshot) or None


def _rack_config(context: Context) -> SchedulerConfig | None:
    """The scheduler's configuration where super-pod-size is known: it was given, or the snapshot has it."""
    config, cluster = context.options.scheduler, context.options.snapshot
    known = _RACK_SIZE in config.given or (cluster is not None and bool(cluster.config.given))
    return config if known else None


def _advice(job: Job, context: Context, policy: str, module: str) -> Iterator[Violation]:
    """What keeps no job from running, or what the scheduler does not test."""
    options = context.options
    config, cluster = options.scheduler, options.snapshot
    yield from _superpod_advice(job, policy)
    if cluster is not None and module in ("superpod", "rack"):
        yield from rules_module("superpod").against(job, policy, cluster)
    yield from rules_module("rack").advise(job, policy, _rack_config(context))
    given = options.resource_levels is not None
    levels = config if given or cluster is not None else None
    trees = replace(cluster, config=config) if given and cluster is not None else cluster
    yield from rules_module("multilevel").advise(job, policy, levels, trees)
    if cluster is not None and ACCELERATOR_TYPE not in job.selector:
        yield from rules_module("selection").on_nodes(job, cluster)
    if module == "intra":
        yield from rules_module("counts").advise(job, policy)
    yield from rules_module("inference").advise(job, policy, cluster)
    yield from rules_module("vnpu").advise(job, config, cluster)
    yield from rules_module("soft_share").advise(job, policy, cluster)


def _switch(job: Job, context: Context) -> Iterator[Violation]:
    cluster = context.options.snapshot
    switch = rules_module("switch")
    if cluster is None:
        yield from switch.label_only(job)
        yield from switch.advise(job)
        return
    leaves = cluster.leaves
    yield from switch.check(job, leaves is not None)
    width = leaves.tor_count if leaves is not None and leaves.single_layer else None
    yield from switch.advise(job, cluster.config, width)


def _renamed(job: Job, violation: Violation) -> Violation:
    """The rule of the kind where it says the same: ACJ-33 for SPB-09 on the Scheduler of a MindSpore AscendJob
    (chapter 40 §3.1 no. 3c), EXT-03 for a block that does not fit a LeaderWorkerSet group."""
    if job.kind == "LeaderWorkerSet" and violation.rule.startswith("SPB"):
        from ascendctl.validate.rules.ext import group_violation

        rule = find_rule(violation.rule)
        if rule is not None:
            return group_violation(job, violation, message_of(rule, violation), hint_of(rule, violation))
    if violation.rule != "SPB-09" or job.kind != "AscendJob" or job.labels.get("framework") != "mindspore":
        return violation
    if job.policy_name not in ("chip8-node8-sp", "chip8-node8-ra64-sp"):
        return violation
    paths = [job.source.path("role", i, "npus") for i, role in enumerate(job.roles) if role.name == "Scheduler"]
    if violation.path not in paths:
        return violation
    return Violation("ACJ-33", violation.path, {"policy": job.policy_name}, violation.reason)
