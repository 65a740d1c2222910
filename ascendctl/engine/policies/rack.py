"""Logical rack affinity of the Atlas 950 SuperPoD, policy chip8-node8-ra64-sp (chapter 21). The whole job is planned at
once, on the candidates of its lowest rank."""

from __future__ import annotations

from ascendctl.engine.fault import Fault
from ascendctl.engine.finish import refused
from ascendctl.engine.policies.rack_order import sizes_of
from ascendctl.engine.policies.rack_plan import candidates, fill, give_up, new_run, note_broken_affinity
from ascendctl.engine.policies.rack_recover import recover
from ascendctl.engine.policies.rack_seats import conclude, seat
from ascendctl.engine.request import Request
from ascendctl.engine.result import Placement, Unschedulable
from ascendctl.manifest.job import Job
from ascendctl.snapshot.cluster import Cluster
from ascendctl.validate.rule import Violation
from ascendctl.validate.rules import rack as rules


def check(job: Job, cluster: Cluster, request: Request) -> list[Violation]:
    """The scheduler's job validation (chapter 21 §2): empty, or the first rule that fails."""
    return rules.check(job, request.config)


def place(job: Job, cluster: Cluster, request: Request) -> Placement | Unschedulable:
    """Plan all pods of a job (chapter 21 §4)."""
    sizes, numbers = sizes_of(job, request.config), job.npu_positions
    found = candidates(request, request.state, sizes, job.pods[numbers[0]].role)
    if len(found.nodes) == 0:
        return refused(request, "NodePredicateFailed", "no node passes the checks of the first pod", found.codes)
    run = new_run(request, sizes, found.nodes)
    run.open.extend(range(sizes.count))
    refusal = fill(request, run)
    if refusal:
        return give_up(request, run, found, refusal)
    seats, unplanned = seat([job.pods[i].rank for i in numbers], run.blocks, run.soft_ids, sizes.block, frozenset())
    note_broken_affinity(run, unplanned)
    return conclude(request, request.state, run, found.codes, dict(zip(numbers, seats, strict=True)), unplanned)


def reschedule(job: Job, cluster: Cluster, request: Request, fault: Fault) -> Placement | Unschedulable:
    """Place the lost pods of a job after a fault, stage by stage (chapter 21 §11)."""
    return recover(job, cluster, request, fault)
