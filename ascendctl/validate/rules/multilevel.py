"""Rules on `huawei.com/affinity-config` and multi-level jobs, MLV-* (chapter 40 §3.2, chapter 22 §3.3).

`check` is the scheduler's own job validation of policy multilevel: it stops at the first failure, and
`values["reference"]` is what the scheduler says. `advise` are the findings that keep the scheduler from nothing.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

from ascendctl.manifest.job import Job
from ascendctl.snapshot.config import SchedulerConfig, TreeLevel
from ascendctl.topology.affinity import AFFINITY_CONFIG, parse_affinity
from ascendctl.topology.levels import TREE_LABEL
from ascendctl.validate.rule import Rule, Violation
from ascendctl.validate.rules.superpod_checks import is_exempt
from ascendctl.wellknown import SP_BLOCK

if TYPE_CHECKING:
    from ascendctl.snapshot.cluster import Cluster

POLICY = "multilevel"
PRODUCTS = ("a3-pod", "a3-9000", "950")
_EMPTY = "affinity blocks is empty"

RULES: tuple[Rule, ...] = (
    Rule(
        "MLV-01",
        "error",
        "a multi-level job has no huawei.com/affinity-config",
        "schedule_policy multilevel needs the annotation huawei.com/affinity-config",
        "add huawei.com/affinity-config: level1=X,level2=Y, where X pods share a level1 unit and Y a level2 unit",
        outcome="PEND-V",
        source="chapter 22 §3.3 ML-J01",
        about="The annotation says how many neighbouring ranks have to sit together on each level of the tree.",
        wrong="huawei.com/schedule_policy: multilevel",
        right="huawei.com/schedule_policy: multilevel\nhuawei.com/affinity-config: level1=2,level2=4",
    ),
    Rule(
        "MLV-02",
        "error",
        "affinity-config is not of the form level1=x,level2=y with whole numbers and without blanks",
        "affinity-config {value!r} cannot be read: {problem}",
        "{advice}",
        outcome="PEND-V",
        source="chapter 22 §3.2, ML-J02, ML-J07",
        about="The scheduler splits at commas and equal signs and trims nothing: a blank becomes part of a key.",
        wrong="huawei.com/affinity-config: level1=2, level2=4",
        right="huawei.com/affinity-config: level1=2,level2=4",
    ),
    Rule(
        "MLV-03",
        "error",
        "the keys of affinity-config are not level1 to levelk, each once",
        "affinity-config {value!r}: {problem}",
        "name the levels level1, level2, ... without a gap, each once; level1 is the smallest group",
        outcome="PEND-V",
        source="chapter 22 §3.3 ML-J03",
        about="The scheduler counts the entries and looks for that many levels. Of a repeated key the last counts.",
        wrong="huawei.com/affinity-config: level1=2,level3=8",
        right="huawei.com/affinity-config: level1=2,level2=8",
    ),
    Rule(
        "MLV-04",
        "error",
        "a level of affinity-config is 0 or negative",
        "{key} of affinity-config is {size}, it must be 1 or more",
        "write the number of pods of one group",
        outcome="CRASH",
        source="chapter 22 §3.3 ML-J05",
        about="Zero ends the scheduler process with a division by zero, for all jobs of the cluster.",
        wrong="huawei.com/affinity-config: level1=0",
        right="huawei.com/affinity-config: level1=2",
    ),
    Rule(
        "MLV-05",
        "error",
        "the groups of a level do not divide the level above, or the job's pods",
        "{problem}",
        "{advice}",
        outcome="PEND-V",
        source="chapter 22 §3.3 ML-J04, ML-J06",
        about="Every group consists of whole groups of the level below, the job of whole groups of its highest level.",
        wrong="huawei.com/affinity-config: level1=3,level2=6    # 8 pods",
        right="huawei.com/affinity-config: level1=2,level2=4",
    ),
    Rule(
        "MLV-06",
        "error",
        "a pod of a multi-level job asks for no NPU",
        "role {role} asks for no NPU, which policy multilevel refuses",
        "ask for all NPUs of a node, or annotate the pod with huawei.com/skip-ascend-plugin: enabled",
        outcome="PEND-V",
        source="chapter 22 §3.3",
        about="Only tasks named scheduler and pods with that annotation may go without NPUs.",
        wrong="Scheduler:    # no huawei.com/Ascend910 in its resources",
        right='annotations:\n  huawei.com/skip-ascend-plugin: "enabled"',
    ),
    Rule(
        "MLV-07",
        "warning",
        "pods of a multi-level job ask for different counts, or not for all NPUs of a node",
        "{problem}",
        "ask for the NPUs of a whole node in every pod",
        products=PRODUCTS,
        outcome="PEND-N",
        source="chapter 22 §2.3, ML-J08",
        about="A node is taken only if its usable NPUs are exactly as many as the pod asks for.",
        wrong="huawei.com/Ascend910: 8    # nodes of 16 NPUs",
        right="huawei.com/Ascend910: 16",
    ),
    Rule(
        "MLV-08",
        "warning",
        "affinity-config without policy multilevel",
        "affinity-config is ignored: the job's policy is {policy}, not multilevel",
        "set huawei.com/schedule_policy: multilevel, or remove affinity-config",
        outcome="IGN",
        source="chapter 22 §3.1",
        about="Only policy multilevel reads the annotation.",
        wrong="huawei.com/affinity-config: level1=2    # no schedule_policy",
        right="huawei.com/schedule_policy: multilevel\nhuawei.com/affinity-config: level1=2",
    ),
    Rule(
        "MLV-09",
        "error",
        "no configured tree has as many levels as the job asks for",
        "{problem}",
        "{advice}",
        outcome="PEND-N",
        source="chapter 22 §2.1, ML-P02",
        about="resource-level-config of the scheduler names the levels of each tree.",
        wrong="huawei.com/affinity-config: level1=2,level2=4,level3=8    # trees of 2 levels",
        right="huawei.com/affinity-config: level1=2,level2=4",
    ),
    Rule(
        "MLV-10",
        "error",
        "nodes of the snapshot lack the label of a configured level",
        "{problem}",
        "label the nodes; a node needs all labels of its tree, also above the levels that a job uses",
        outcome="PEND-N",
        source="chapter 22 §2.2",
        about="A node without one of the labels is refused for every multi-level job.",
        wrong="labels: {huawei.com/topotree.rackid: r1}    # level2 is huawei.com/topotree.superpodid",
        right='labels: {huawei.com/topotree.rackid: r1, huawei.com/topotree.superpodid: "4"}',
    ),
    Rule(
        "MLV-11",
        "warning",
        "a multi-level job is no AscendJob",
        "policy multilevel is documented for AscendJob only, this is a {kind}",
        "make sure that the annotations reach the PodGroup, or use an AscendJob",
        outcome="RUN",
        source="chapter 40 §3.2",
        about="The scheduler reads the annotations from the PodGroup, or from one pod of the job.",
        wrong="kind: Deployment",
        right="kind: AscendJob",
    ),
    Rule(
        "MLV-12",
        "warning",
        "sp-block beside policy multilevel",
        "sp-block {value} decides HCCL_LOGIC_SUPERPOD_ID instead of level1",
        "remove sp-block",
        kinds=("AscendJob",),
        outcome="RUN",
        source="chapter 50 §5.3",
        about="Without sp-block the operator derives the logical SuperPoD of a rank from the size of level1.",
        wrong='sp-block: "32"\nhuawei.com/schedule_policy: multilevel',
        right="huawei.com/schedule_policy: multilevel",
    ),
    Rule(
        "MLV-13",
        "warning",
        "policy multilevel on a product that it is not documented for",
        "policy multilevel is not documented for product {product}",
        "use the policy of the product",
        outcome="RUN",
        source="chapter 40 §4",
        about="It is meant for Atlas 900 A3 SuperPoD, Atlas 9000 A3 SuperPoD and Atlas 950 SuperPoD.",
        wrong="accelerator-type: module-910b-8",
        right="accelerator-type: module-a3-16-super-pod",
    ),
)


def planned_pods(job: Job) -> int:
    """N: pods with NPUs that the tree search places, backup pods left out."""
    return sum(role.replicas for role in job.roles if role.npus > 0 and not is_backup(role.annotations.get("podType")))


def is_backup(pod_type: str | None) -> bool:
    """True for hot-switch backup pods (pod annotation podType)."""
    return pod_type == "backup"


def check(job: Job) -> list[Violation]:
    """The scheduler's validation of a multi-level job: empty, or the first rule that fails."""
    return next(([violation] for violation in _failures(job)), [])


def _failures(job: Job) -> Iterator[Violation]:
    for i, role in enumerate(job.roles):
        if role.npus == 0 and role.replicas > 0 and not is_exempt(role):
            values = {"role": role.name, "reference": "distributed job require full node npu, instead of 0"}
            yield Violation("MLV-06", job.source.path("role", i, "npus"), values, "npu num is invalid")
    text = job.annotations.get(AFFINITY_CONFIG)
    path = job.source.path("annotation", AFFINITY_CONFIG)
    if text is None:
        yield Violation("MLV-01", path, {"reference": _EMPTY}, "ML-J01")
        return
    sizes, squeezed = parse_affinity(text), "".join(text.split())
    if squeezed != text:
        missing = next(iter(_missing(sizes or {})), "")
        values = {"value": text, "problem": "it contains blanks", "advice": f"write {squeezed}"}
        yield Violation("MLV-02", path, values | {"reference": missing if sizes else _EMPTY}, "ML-J07")
    elif sizes is None:
        values = {"value": text, "problem": _syntax(text), "advice": "write level1=x,level2=y with whole numbers"}
        yield Violation("MLV-02", path, values | {"reference": _EMPTY}, "ML-J02")
    else:
        for rule, reason, details in _levels(sizes, planned_pods(job)):
            yield Violation(rule, path, {"value": text} | details, reason)


def _syntax(text: str) -> str:
    for part in text.split(","):
        if part.count("=") != 1:
            return f"{part!r} is not of the form level1=x" if part else "an entry is empty"
        if parse_affinity(part) is None:
            return f"{part.partition('=')[2]!r} is no whole number"
    return ""


def _missing(sizes: dict[str, int]) -> Iterator[str]:
    for number in range(len(sizes), 0, -1):
        if f"level{number}" not in sizes:
            yield f"affinity block level{number} is not exist, please check if level numbers are continuous"


def _levels(sizes: dict[str, int], pods: int) -> Iterator[tuple[str, str, dict[str, object]]]:
    """(rule, code, values) in the scheduler's order: from the highest level down."""
    above, owner = pods, "the job"
    for number in range(len(sizes), 0, -1):
        key = f"level{number}"
        if key not in sizes:
            others = [name for name in sizes if name not in {f"level{i}" for i in range(1, len(sizes) + 1)}]
            problem = f"{len(sizes)} levels are given, but {key} is missing" + (
                f" (found {', '.join(others)})" if others else ""
            )
            yield "MLV-03", "ML-J03", {"problem": problem, "reference": next(_missing(sizes))}
            return
        size = sizes[key]
        if size < 1:
            yield "MLV-04", "ML-J05", {"key": key, "size": size, "reference": f"affinity block {key}'s value is {size}"}
            return
        if above % size:
            text = f"affinity block {key}'s value {size} can not be divided by upper level's value {above}"
            problem = f"{key}={size} does not divide the {above} pods of {owner}"
            advice = f"use a divisor of {above}: {', '.join(str(i) for i in _divisors(above))}"
            yield "MLV-05", "ML-J04", {"problem": problem, "advice": advice, "reference": text}
            return
        above, owner = size, f"a {key} group"
    if pods == 0:
        text = "the job has no pod with NPUs to group"
        yield "MLV-05", "ML-J06", {"problem": text, "advice": "give the job pods with NPUs", "reference": text}


def _divisors(number: int) -> list[int]:
    return [i for i in range(1, number + 1) if number % i == 0][:12]


def advise(
    job: Job, policy: str, config: SchedulerConfig | None = None, cluster: Cluster | None = None
) -> list[Violation]:
    """MLV-03 for repeated keys, MLV-07 to MLV-13. `policy` is the job's ("" = none); `config` and `cluster` None = not
    known, which leaves out what depends on them."""
    text, path = job.annotations.get(AFFINITY_CONFIG), job.source.path("annotation", AFFINITY_CONFIG)
    if policy != POLICY:
        return [] if text is None else [Violation("MLV-08", path, {"policy": policy or "none"})]
    sizes = None if text is None else parse_affinity(text)
    found: list[Violation] = []
    if text and sizes is not None and len(sizes) < text.count(",") + 1:
        found.append(Violation("MLV-03", path, {"value": text, "problem": _repeated(text, sizes)}, outcome="IGN"))
    found += _counts(job, cluster)
    if sizes and config is not None and config.resource_levels:
        found += _depth(job, len(sizes), config)
    elif sizes and config is not None and config.given:
        what = "has no valid tree" if "resource-level-config" in config.given else "is not set"
        problem = f"resource-level-config of the scheduler {what}, so no multi-level job is ever placed"
        found.append(Violation("MLV-09", path, {"problem": problem, "advice": "configure the trees of the cluster"}))
    if cluster is not None:
        found += _labels(job, cluster)
    if job.kind != "AscendJob":
        found.append(Violation("MLV-11", (), {"kind": job.kind}))
    elif SP_BLOCK in job.annotations:
        values = {"value": job.annotations[SP_BLOCK]}
        found.append(Violation("MLV-12", job.source.path("annotation", SP_BLOCK), values))
    if job.product and job.product not in PRODUCTS:
        found.append(Violation("MLV-13", (), {"product": job.product}))
    return found


def _repeated(text: str, sizes: Mapping[str, int]) -> str:
    keys = [part.partition("=")[0] for part in text.split(",")]
    twice = next(key for key in keys if keys.count(key) > 1)
    return f"{twice} is given more than once, the scheduler silently takes the last value, {sizes[twice]}"


def _counts(job: Job, cluster: Cluster | None) -> Iterator[Violation]:
    asked = {role.npus: (i, role.name) for i, role in reversed(list(enumerate(job.roles))) if role.npus > 0}
    if len(asked) > 1:
        index, _ = max(asked.values())
        text = ", ".join(f"{name} {npus}" for npus, (_, name) in sorted(asked.items()))
        problem = f"the pods ask for different numbers of NPUs: {text}"
        yield Violation("MLV-07", job.source.path("role", index, "npus"), {"problem": problem})
        return
    sizes = _node_sizes(job, cluster)
    for npus, (index, _) in asked.items():
        if sizes and npus not in sizes:
            nodes = " or ".join(str(size) for size in sorted(sizes))
            problem = f"each pod asks for {npus} NPUs, the nodes have {nodes}"
            yield Violation("MLV-07", job.source.path("role", index, "npus"), {"problem": problem})


def _node_sizes(job: Job, cluster: Cluster | None) -> set[int]:
    """NPUs of a node: of the snapshot's nodes that offer the resource, else of the product; empty = not known."""
    if cluster is not None and job.resource in cluster.resources:
        capacity = cluster.resources[job.resource].capacity
        return set(capacity[capacity > 0].tolist())
    if not job.product:
        return set()
    from ascendctl.products import CATALOGUE

    return {product.chips for product in CATALOGUE if product.name == job.product}


def _depth(job: Job, levels: int, config: SchedulerConfig) -> Iterator[Violation]:
    trees, named = config.resource_levels, job.selector.get(TREE_LABEL)
    path = job.source.path("annotation", AFFINITY_CONFIG)
    if named is not None and named not in trees:
        problem = f"the node selector asks for tree '{named}', which is not configured"
        values = {"problem": problem, "advice": f"use one of {', '.join(sorted(trees))}"}
        yield Violation("MLV-09", job.source.path("selector", TREE_LABEL), values)
        return
    searched: dict[str, tuple[TreeLevel, ...]] = {named: trees[named]} if named is not None else dict(trees)
    deepest = max(len(found) for found in searched.values())
    if levels > deepest:
        problem = f"the job asks for {levels} levels, the deepest tree has {deepest} ({', '.join(sorted(searched))})"
        yield Violation("MLV-09", path, {"problem": problem, "advice": f"use at most {deepest} levels"})


def _labels(job: Job, cluster: Cluster) -> Iterator[Violation]:
    """MLV-10, all levels of the trees that the job may use in one."""
    from ascendctl.topology.tree import NO_UNIT, build_trees

    problems = []
    for tree in build_trees(cluster):
        if job.selector.get(TREE_LABEL, tree.name) != tree.name:
            continue
        member = tree.member & cluster.is_npu
        for level, units in zip(tree.levels, tree.units, strict=True):
            lacking = [cluster.names[i] for i in (member & (units == NO_UNIT)).nonzero()[0].tolist()]
            if lacking:
                count = f"{len(lacking)} of {int(member.sum())} nodes of tree '{tree.name}'"
                problems.append(f"{count} lack the label {level.label} of {level.name}, such as {lacking[0]}")
    if problems:
        yield Violation("MLV-10", job.source.path("annotation", AFFINITY_CONFIG), {"problem": "; ".join(problems)})
