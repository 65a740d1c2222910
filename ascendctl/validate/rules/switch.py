"""Rules on the label tor-affinity, TOR-* (chapter 40 §3.2; chapter 23 §2 and §10.1 for what the scheduler does).

`check` is the scheduler's own job validation; `advise` are findings that keep no job from running.
"""

from __future__ import annotations

from collections.abc import Iterator

from ascendctl.manifest.job import Job
from ascendctl.snapshot.config import SchedulerConfig
from ascendctl.topology.leaf_states import LABEL, LARGE_MODEL, LARGE_MODEL_PODS, NORMAL
from ascendctl.validate.rule import Rule, Violation
from ascendctl.wellknown import ACCELERATOR_TYPE, AICORE_QUOTA, SOFT_SHARE, SP_BLOCK

RULES: tuple[Rule, ...] = (
    Rule(
        "TOR-01",
        "error",
        "tor-affinity is none of large-model-schema, normal-schema and null",
        "tor-affinity is {value!r}, it must be large-model-schema, normal-schema or null",
        "write one of the three values; a job without switch affinity needs no such label",
        outcome="PEND-V",
        source="chapter 23 §2, §10.1",
        about="The comparison is case-sensitive, and the empty text is no value. Different values on the job and on "
        "its pods are joined with '|', which is no value either.",
        wrong="tor-affinity: Normal-Schema",
        right="tor-affinity: normal-schema",
    ),
    Rule(
        "TOR-02",
        "error",
        "a job with switch affinity in a cluster without leaf topology",
        "the cluster has no leaf topology: ConfigMap kube-system/basic-tor-node-cm is missing or cannot be read",
        "import the topology, or remove tor-affinity",
        outcome="PEND-V",
        source="chapter 23 §1.1, §10.1",
        about="The scheduler refuses every job with switch affinity until the topology is there.",
        wrong="tor-affinity: normal-schema    # no basic-tor-node-cm",
        right='tor-affinity: "null"',
    ),
    Rule(
        "TOR-03",
        "warning",
        "large-model-schema with fewer than 4 NPU pods",
        "the job has {pods} NPU pods: below {least}, large-model-schema makes it a filler job, which must fit below "
        "one leaf switch",
        "use normal-schema if the job may run across leaf switches",
        outcome="FALL",
        source="chapter 23 §2",
        about="Filler jobs wait until one leaf switch has room for all their pods.",
        wrong="tor-affinity: large-model-schema    # 2 pods",
        right="tor-affinity: normal-schema",
    ),
    Rule(
        "TOR-04",
        "warning",
        "more NPU pods than a leaf switch has servers, in a single-layer network",
        "the job has {pods} NPU pods, a leaf switch of the single-layer network has {width} servers (tor_count)",
        "use at most {width} pods",
        outcome="PEND-N",
        source="chapter 23 §7",
        about="In a single-layer network a job with switch affinity runs below one leaf switch or not at all.",
        wrong="replicas: 12    # tor_count 8",
        right="replicas: 8",
    ),
    Rule(
        "TOR-05",
        "warning",
        "switch affinity together with something that it is not made for",
        "switch affinity is not made for {what}",
        "remove tor-affinity",
        outcome="doc",
        source="chapter 23 §2",
        about="Switch affinity places whole NPUs of Atlas training and A2 nodes. The scheduler checks none of this.",
        wrong="huawei.com/Ascend910-2c: 1    # with tor-affinity",
        right="huawei.com/Ascend910: 8",
    ),
    Rule(
        "TOR-06",
        "warning",
        "a job with switch affinity whose minAvailable or NPU pods are not all its pods",
        "switch affinity needs {problem}",
        "{advice}",
        outcome="FALL",
        source="chapter 23 §3.2",
        about="Unless minAvailable is the number of pods, the scheduler takes the job for one whose lost pods come "
        "back, and the affinity is gone without a word. Pods without NPUs count as servers in version 1.0; in 2.0 the "
        "job is refused.",
        wrong="minAvailable: 2    # 6 pods",
        right="minAvailable: 6",
    ),
)

FIRST_VERSION_ONLY = {"a800": "module", "a800-half": "half"}
"""Products that only version 1.0 is made for, and their accelerator-type."""
A3_POLICIES = ("chip2-node16-sp", "chip2-node8-sp")
A3_SELECTORS = ("module-a3-16-super-pod", "module-a3-8-super-pod")
NOT_IMPORTED = "job tor affinity check failed, cluster basic-tor-node-cm is not imported"
ILLEGAL = "job tor affinity label check failed,tor-affinity label value is {value}"
_TEMPLATE = {rule.id: rule for rule in RULES}


def has_affinity(job: Job) -> bool:
    """True if the switch policy handles the job: the label is there and not the text null."""
    return job.tor_affinity not in (None, "null")


def check(job: Job, imported: bool) -> list[Violation]:
    """What the scheduler refuses; `imported`: the cluster has a leaf topology, which is tested first."""
    if not has_affinity(job):
        return []
    if not imported:
        return [_violation("TOR-02", job, reason=NOT_IMPORTED)]
    value = job.tor_affinity
    if value in (NORMAL, LARGE_MODEL):
        return []
    return [_violation("TOR-01", job, reason=ILLEGAL.format(value=value), value=value)]


def label_only(job: Job) -> list[Violation]:
    """The part of `check` that needs no snapshot."""
    return check(job, imported=True)


def advise(job: Job, config: SchedulerConfig | None = None, width: int | None = None) -> Iterator[Violation]:
    """Findings that keep no job from running. `config` of a snapshot tells the version; `width` is tor_count of a
    single-layer network, None = there is none."""
    if not has_affinity(job):
        return
    pods = job.npu_pod_count
    if job.tor_affinity == LARGE_MODEL and pods < LARGE_MODEL_PODS:
        yield _violation("TOR-03", job, pods=pods, least=LARGE_MODEL_PODS)
    if width is not None and pods > width:
        yield _violation("TOR-04", job, pods=pods, width=width)
    total, wanted = len(job.pods), job.min_available
    if wanted != total:
        problem = f"minAvailable to be the number of pods: it is {wanted}, the job has {total} pods"
        yield _violation("TOR-06", job, problem=problem, advice=f"make it {total}, or remove tor-affinity")
    elif pods != total:
        problem = f"NPUs in every pod: {total - pods} of {total} pods have none"
        yield _violation("TOR-06", job, problem=problem, advice="put the pods without NPUs into a job of their own")
    what = _misfit(job, config, width is not None)
    if what:
        yield _violation("TOR-05", job, what=what)


def _misfit(job: Job, config: SchedulerConfig | None, single_layer: bool) -> str:
    resource = job.resource.removeprefix("huawei.com/")
    if "-" in resource:
        return f"virtual NPUs ({job.resource})"
    if job.policy_name == SOFT_SHARE or AICORE_QUOTA in job.labels:
        return "softly shared NPUs"
    if resource in ("Ascend310", "Ascend310P"):
        return f"nodes with {resource} chips"
    superpod = job.selector.get(ACCELERATOR_TYPE) in A3_SELECTORS or job.policy_name in A3_POLICIES
    if superpod and SP_BLOCK not in job.annotations:
        return "SuperPoD nodes: these have their own affinity (sp-block)"
    framework = job.labels.get("framework", "pytorch")
    if config is None or config.nslb_version != "2.0" or single_layer:
        return ""
    if framework != "pytorch":
        return f"the framework {framework} in version 2.0 (nslb-version), which knows pytorch only"
    if job.product in FIRST_VERSION_ONLY or job.selector.get(ACCELERATOR_TYPE) in FIRST_VERSION_ONLY.values():
        return "Atlas 800 training servers in version 2.0 (nslb-version), which knows A2 nodes only"
    return ""


def _violation(rule: str, job: Job, reason: str = "", **values: object) -> Violation:
    message = _TEMPLATE[rule].message.format(**values)
    return Violation(rule, job.source.path("label", LABEL), values, reason, message=message)
