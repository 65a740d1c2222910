"""Rules on `ra-block` and jobs of the policy chip8-node8-ra64-sp, RAB-* (chapter 40 §3.2, chapter 21 §2).

`check` is the scheduler's own job validation: it stops at the first failure. `advise` are the findings that keep no job
from running. Conditions on `sp-block` come from `rules.superpod`, under the reasons of this policy.
"""

from __future__ import annotations

from collections.abc import Callable

from ascendctl.manifest.job import Job
from ascendctl.snapshot.config import SchedulerConfig
from ascendctl.validate.rule import Rule, Violation
from ascendctl.validate.rules import superpod_checks as superpod
from ascendctl.wellknown import SP_BLOCK

POLICY = "chip8-node8-ra64-sp"
RA_BLOCK, UB_MEMORY, SERVICE = "ra-block", "huawei.com/schedule_ubmemory", "inferserviceid"
NODE_NPUS = 8
MAX_RA_BLOCK = 64
MAX_SUPER_POD_SIZE = 1024
UB_MEMORY_NPUS = 1024
RACK_NODES = 8

SP_REASON = "Parameter sp-block is invalid."
RA_REASON = "Parameter ra-block is invalid."
SIZE_REASON = "Parameter super-pod-size is invalid."
PODS_REASON = "job task num is invalid"
COUNT_REASON = "npu num is invalid"

_950 = ("950",)

RULES: tuple[Rule, ...] = (
    Rule(
        "RAB-01",
        "error",
        "ra-block is not a whole number from 1 to 64",
        "ra-block is {value!r}, it must be a whole number of NPUs from 1 to 64",
        "write 8, 16, 32 or 64 as plain digits in quotes",
        products=_950,
        outcome="PEND-V",
        source="chapter 21 §2 row 3a",
        about="A rack has 64 NPUs. Blanks, signs inside and hexadecimal digits make the scheduler read 0.",
        wrong='ra-block: "128"',
        right='ra-block: "64"',
    ),
    Rule(
        "RAB-02",
        "error",
        "ra-block is not a power of two",
        "ra-block {ra_block} is not a power of two",
        "use {lower} or {upper}",
        products=_950,
        outcome="PEND-V",
        source="chapter 21 §2 row 3b",
        about="Legal values are 1, 2, 4, 8, 16, 32 and 64; all up to 8 mean one node.",
        wrong='ra-block: "48"',
        right='ra-block: "32"',
    ),
    Rule(
        "RAB-03",
        "error",
        "a logical rack has more nodes than a logical SuperPoD",
        "ra-block {ra_block} takes {rack} nodes, more than the {block} of sp-block {sp_block}",
        "lower ra-block to {largest} or less, or raise sp-block",
        products=_950,
        outcome="PEND-V",
        source="chapter 21 §2 row 4a",
        about="A logical SuperPoD consists of whole logical racks. Without sp-block it is the whole job.",
        wrong='sp-block: "16"\nra-block: "32"',
        right='sp-block: "32"\nra-block: "32"',
    ),
    Rule(
        "RAB-04",
        "error",
        "the number of pods is no multiple of the nodes of a logical rack",
        "the job has {pods} NPU pods, which is no multiple of the {rack} nodes of ra-block {ra_block}",
        "change the number of pods to a multiple of {rack}, or lower ra-block",
        products=_950,
        outcome="PEND-V",
        source="chapter 21 §2 row 4b",
        about="Every logical rack is full: as many pods as it has nodes.",
        wrong='ra-block: "16"    # 3 pods',
        right='ra-block: "16"    # 4 pods',
    ),
    Rule(
        "RAB-05",
        "error",
        "sp-block is no multiple of ra-block",
        "a logical SuperPoD of {block} nodes (sp-block {sp_block}) is no whole number of logical racks of {rack} nodes "
        "(ra-block {ra_block})",
        "use an sp-block that is a multiple of {unit}, or lower ra-block",
        products=_950,
        outcome="PEND-V",
        source="chapter 21 §2 row 4c",
        about="A logical SuperPoD consists of whole logical racks.",
        wrong='sp-block: "24"\nra-block: "16"',
        right='sp-block: "32"\nra-block: "16"',
    ),
    Rule(
        "RAB-06",
        "error",
        "the number of pods is no multiple of the nodes of a logical SuperPoD",
        "the job has {pods} NPU pods, which is no multiple of the {block} nodes of sp-block {sp_block}",
        "change the number of pods to a multiple of {block}, or change sp-block",
        products=_950,
        outcome="PEND-V",
        source="chapter 21 §2 row 1c",
        about="The job is a whole number of logical SuperPoDs, one pod a node.",
        wrong='sp-block: "32"    # 5 pods',
        right='sp-block: "32"    # 8 pods',
    ),
    Rule(
        "RAB-07",
        "error",
        "the NPUs of the job are no multiple of ra-block",
        "the job asks for {total} NPUs, which is no multiple of ra-block {ra_block}",
        "let every pod ask for {npus} NPUs, or change the number of pods",
        products=_950,
        outcome="PEND-V",
        source="chapter 21 §2 row 5d",
        about="The total counts the pods of minAvailable.",
        wrong='ra-block: "8"    # 2 pods of 5 NPUs',
        right='ra-block: "8"    # 2 pods of 8 NPUs',
    ),
    Rule(
        "RAB-08",
        "error",
        "super-pod-size of the scheduler configuration is missing, out of range or too small for sp-block",
        "super-pod-size is {size}, {why}",
        "set super-pod-size in init-params of volcano-scheduler-configmap to the nodes of a SuperPoD, 1 to 1024",
        products=_950,
        outcome="PEND-V",
        source="chapter 21 §2 rows 2a and 2b, §14 D15",
        about="The scheduler's default of 48 does not count here: with the option unset every job of this policy is "
        "rejected. super-pod-size counts nodes.",
        wrong="arguments: {}",
        right='arguments: {super-pod-size: "128"}',
    ),
    Rule(
        "RAB-09",
        "error",
        "a UB-memory job asks for more than 1024 NPUs",
        "the pods of this UB-memory job ask for {total} NPUs, at most {limit} share UB memory",
        "use at most {limit} NPUs, or remove huawei.com/schedule_ubmemory",
        products=_950,
        outcome="PEND-V",
        source="chapter 21 §2 row 6",
        about="A UB-memory domain has 16 racks of 64 NPUs.",
        wrong='huawei.com/schedule_ubmemory: "true"    # 256 pods of 8',
        right='huawei.com/schedule_ubmemory: "true"    # 128 pods of 8',
    ),
    Rule(
        "RAB-10",
        "warning",
        "ra-block with a policy that does not read it",
        "policy {policy} ignores ra-block",
        "use policy chip8-node8-ra64-sp on Atlas 950, or remove ra-block",
        outcome="IGN",
        source="chapter 21 §1",
        about="Only chip8-node8-ra64-sp knows racks.",
        wrong='huawei.com/schedule_policy: chip8-node8-sp\nra-block: "32"',
        right='huawei.com/schedule_policy: chip8-node8-ra64-sp\nra-block: "32"',
    ),
    Rule(
        "RAB-11",
        "warning",
        "a job of several nodes has no ra-block",
        "no ra-block: pods are kept together by sp-block only, not by rack",
        "set ra-block to the NPUs that must share a rack: 16, 32 or 64 (8 = no rack affinity)",
        products=_950,
        outcome="default",
        source="chapter 21 §2",
        about="The default of 8 NPUs is one node.",
        wrong='sp-block: "64"',
        right='sp-block: "64"\nra-block: "32"',
    ),
    Rule(
        "RAB-12",
        "warning",
        "ra-block is less than a node, or not the NPUs of the only pod",
        "ra-block {ra_block} counts as one node of {npus} NPUs: no rack affinity",
        "write {advice}",
        products=_950,
        outcome="IGN",
        source="chapter 21 §14 D3, D4",
        about="1, 2, 4 and 8 mean the same. The vendor's tables ask for the pod's own count in a job of one pod.",
        wrong='ra-block: "4"    # 2 pods of 8 NPUs',
        right='ra-block: "8"',
    ),
    Rule(
        "RAB-13",
        "warning",
        "a UB-memory job of at most 8 pods",
        "UB memory is only kept together for more than {nodes} pods: this job of {pods} may span UB-memory domains",
        "use ra-block 64 and one sp-block for the whole job to keep it inside one rack, or more than {nodes} pods",
        products=_950,
        outcome="RUN",
        source="chapter 21 §14 D12",
        about="Small jobs go through the usual strategies: rack, SuperPoD, several SuperPoDs.",
        wrong='huawei.com/schedule_ubmemory: "true"    # 4 pods',
        right='huawei.com/schedule_ubmemory: "true"    # 16 pods',
    ),
    Rule(
        "RAB-14",
        "warning",
        "an inference service job reserves another number of blocks than its pods fill",
        "the scheduler plans {blocks} blocks of {block} nodes for the {pods} pods of this inference service job",
        "set sp-block to a multiple of {npus}",
        products=_950,
        outcome="RUN",
        source="chapter 21 §8.1",
        about="For inference services the number of blocks is the NPUs of the job divided by sp-block.",
        wrong='sp-block: "4"    # 2 pods of 8 NPUs',
        right='sp-block: "8"',
    ),
)


def check(job: Job, config: SchedulerConfig | None) -> list[Violation]:
    """The scheduler's validation: empty, or the first rule that fails. `config` None = the scheduler's configuration is
    not known, then RAB-08 is left out (`advise` mentions it)."""
    steps: list[Callable[[], Violation | None]] = [
        lambda: superpod.block_is_positive(job, NODE_NPUS, SP_REASON),
        lambda: superpod.block_is_whole_nodes(job, NODE_NPUS, SP_REASON),
        lambda: _pods_are_blocks(job),
    ]
    if config is not None:
        steps.append(lambda: _super_pod_size(job, config.configured_super_pod_size))
    steps += [lambda: _ra_block_value(job), lambda: _ra_block_fits(job)]
    if job.npu_pod_count == 1:
        steps += [
            lambda: superpod.single_pod_count(job, NODE_NPUS, False, COUNT_REASON),
            lambda: superpod.single_pod_block(job, COUNT_REASON),
        ]
    else:
        steps += [
            lambda: superpod.total_is_blocks(job, NODE_NPUS, COUNT_REASON),
            lambda: _total_is_racks(job),
            lambda: superpod.pods_take_whole_nodes(job, NODE_NPUS, False, COUNT_REASON),
        ]
    steps.append(lambda: _ub_memory_total(job))
    return next(([violation] for step in steps if (violation := step()) is not None), [])


def advise(job: Job, policy: str, config: SchedulerConfig | None) -> list[Violation]:
    """RAB-10 to RAB-14, and RAB-08 as a warning while the scheduler's configuration is not known, for a job that the
    given policy handles ("" = none)."""
    path = job.source.path("annotation", RA_BLOCK)
    if policy != POLICY:
        ignored = RA_BLOCK in job.annotations and policy
        return [Violation("RAB-10", path, {"policy": policy})] if ignored else []
    found, pods = [], job.npu_pod_count
    if config is None:
        why = "not given here; the scheduler rejects every job of this policy when it is unset"
        found.append(_violation(job, "RAB-08", "", "warning", size="unknown", why=why))
    single = pods == 1 and 1 <= job.ra_block <= NODE_NPUS and job.ra_block != job.npus
    if RA_BLOCK not in job.annotations:
        if job.npus > NODE_NPUS:
            found.append(Violation("RAB-11", path))
    elif single or (pods > 1 and 1 <= job.ra_block < NODE_NPUS):
        advice = f"{job.npus}, the NPUs of the pod" if pods == 1 else f"{NODE_NPUS}, or more for rack affinity"
        values = {"ra_block": job.ra_block, "npus": NODE_NPUS, "advice": advice}
        found.append(Violation("RAB-12", path, values))
    if uses_ub_memory(job) and 1 < pods <= RACK_NODES:
        where = job.source.path("annotation", UB_MEMORY)
        found.append(Violation("RAB-13", where, {"pods": pods, "nodes": RACK_NODES}))
    if job.labels.get(SERVICE) and job.sp_block > 0:
        block, blocks = block_nodes(job), job.npus // job.sp_block
        if blocks * block != pods:
            found.append(_violation(job, "RAB-14", "", blocks=blocks, block=block, pods=pods, npus=NODE_NPUS))
    return found


def _violation(job: Job, rule: str, reason: str, severity: str = "", **values: object) -> Violation:
    key = RA_BLOCK if rule in ("RAB-01", "RAB-02", "RAB-03", "RAB-04", "RAB-05", "RAB-07") else SP_BLOCK
    values |= {"ra_block": job.ra_block, "sp_block": job.sp_block}
    return Violation(rule, job.source.path("annotation", key), values, reason, severity)


def block_nodes(job: Job) -> int:
    """B: nodes of a logical SuperPoD; a value below one node still takes a node (chapter 21 §1)."""
    return max(1, job.sp_block // NODE_NPUS)


def uses_ub_memory(job: Job) -> bool:
    """True for exactly the value "true"."""
    return job.annotations.get(UB_MEMORY) == "true"


def rack_nodes(job: Job) -> int:
    """R: nodes of a logical rack; 1, 2, 4 and 8 NPUs all mean one node (chapter 21 §1)."""
    return (job.ra_block + NODE_NPUS - 1) // NODE_NPUS


def _pods_are_blocks(job: Job) -> Violation | None:
    pods, block = job.npu_pod_count, block_nodes(job)
    return _violation(job, "RAB-06", PODS_REASON, pods=pods, block=block) if pods % block else None


def _super_pod_size(job: Job, size: int) -> Violation | None:
    if not 1 <= size <= MAX_SUPER_POD_SIZE:
        shown = str(size) if size else "unset or no positive number"
        return _violation(job, "RAB-08", SIZE_REASON, size=shown, why=f"it must be 1 to {MAX_SUPER_POD_SIZE} nodes")
    if block_nodes(job) > size:
        why = f"a logical SuperPoD of sp-block {job.sp_block} has {block_nodes(job)} nodes"
        return _violation(job, "RAB-08", SIZE_REASON, size=f"{size} nodes", why=why)
    return None


def _ra_block_value(job: Job) -> Violation | None:
    value = job.ra_block
    if not 1 <= value <= MAX_RA_BLOCK:
        return _violation(job, "RAB-01", RA_REASON, value=job.annotations.get(RA_BLOCK, ""))
    if value & (value - 1):
        lower = 1 << (value.bit_length() - 1)
        return _violation(job, "RAB-02", RA_REASON, lower=lower, upper=2 * lower)
    return None


def _ra_block_fits(job: Job) -> Violation | None:
    pods, block, rack = job.npu_pod_count, block_nodes(job), rack_nodes(job)
    if rack > block:
        largest = NODE_NPUS << (block.bit_length() - 1)
        return _violation(job, "RAB-03", RA_REASON, rack=rack, block=block, largest=largest)
    if pods % rack:
        return _violation(job, "RAB-04", RA_REASON, pods=pods, rack=rack)
    if block % rack:
        return _violation(job, "RAB-05", RA_REASON, rack=rack, block=block, unit=NODE_NPUS * rack)
    return None


def _total_is_racks(job: Job) -> Violation | None:
    total = job.npus
    return _violation(job, "RAB-07", COUNT_REASON, total=total, npus=NODE_NPUS) if total % job.ra_block else None


def _ub_memory_total(job: Job) -> Violation | None:
    total = sum(role.replicas * role.npus for role in job.roles)
    if not uses_ub_memory(job) or total <= UB_MEMORY_NPUS:
        return None
    path = job.source.path("annotation", UB_MEMORY)
    return Violation("RAB-09", path, {"total": total, "limit": UB_MEMORY_NPUS}, COUNT_REASON)
