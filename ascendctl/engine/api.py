"""`place` and `reschedule`: select the policy, validate, check that the job fits in all, let the policy plan."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from importlib import import_module
from typing import Any

from ascendctl.engine.enqueue import short_of
from ascendctl.engine.pinned import pinned_nodes, place_pinned
from ascendctl.engine.request import Request, make_request
from ascendctl.engine.result import Invalid, Placement, Trace, Unschedulable
from ascendctl.engine.running import running_note
from ascendctl.engine.select import select_policy
from ascendctl.engine.validity import invalid_reason
from ascendctl.manifest.job import Job
from ascendctl.snapshot.cluster import Cluster

Result = Placement | Unschedulable | Invalid


def place(job: Job, cluster: Cluster, *, compiled: bool | None = None, objective: str = "fragmentation") -> Result:
    """Where the scheduler would put the job: a Placement, or why not. Pure: the same input gives the same answer.

    `compiled`: True or False forces compiled or interpreted kernels, None picks by the size of the work; the answer is
    the same. `objective` "bandwidth" plans a multi-level job into as few and low units as it can, which the scheduler
    itself cannot be told to do (chapter 22 §8.4). Pods of the job that run in the snapshot already keep
    what they hold; all are placed once more, and a note says so.
    """
    request = make_request(job, cluster, select_policy(job, cluster), compiled, objective)
    request = replace(request, notes=(*request.notes, *running_note(cluster, job)))
    result = _validated(request) or _enqueued(request)
    return _with_rank_notes(request, result) if isinstance(result, Placement) else result


def reschedule(
    job: Job,
    cluster: Cluster,
    previous: Mapping[str, Any],
    faulty: Iterable[str],
    *,
    compiled: bool | None = None,
) -> Result:
    """Where the pods go after a fault. `previous` is a PlacementResult document of the job, `faulty` the broken nodes;
    `previous["fault"]` may say how far the recovery got. Raises `fault.FaultError` if `previous` is no placement."""
    from ascendctl.engine.fault import read_fault

    request = make_request(job, cluster, select_policy(job, cluster), compiled)
    fault = read_fault(previous, faulty, cluster)
    invalid = _validated(request)
    if invalid is not None:
        return invalid
    result: Result = _policy(request).reschedule(job, cluster, request, fault)
    return result


def _policy(request: Request) -> Any:
    """The module that plans; the switch policy, where it applies, plans with the chips of the selected policy."""
    name = "switch" if request.selection.switch else request.selection.module
    return import_module(f"ascendctl.engine.policies.{name}")


def _validated(request: Request) -> Invalid | None:
    found = invalid_reason(request)
    if found is None:
        return None
    reason, message, rules = found
    return Invalid(request.head, reason, message, rules, Trace(notes=request.notes))


def _enqueued(request: Request) -> Result:
    """The policy's answer; a job that asks for more than is free in all is refused before (chapter 10 §2.3). Then the
    policy is asked too, for its reasons node by node."""
    missing = short_of(request)
    homes = pinned_nodes(request)
    result: Result = (
        place_pinned(request, homes) if homes else _policy(request).place(request.job, request.cluster, request)
    )
    if missing is None:
        return result
    asked, free = missing
    message = f"the job requires {asked} of {request.job.resource}, but the cluster has {free} free"
    rejected = result.rejected if isinstance(result, Unschedulable) else ()
    return Unschedulable(request.head, "JobEnqueueFailed", message, rejected, replace(result.trace, scores=()))


def _with_rank_notes(request: Request, placement: Placement) -> Placement:
    """The placement, with what is wrong with its ranks among the notes (RK-01 to RK-05, RK-07 of chapter 50 §3.5)."""
    from ascendctl.ranks.order import diagnose

    found = diagnose(request.job, placement, request.cluster)
    serious = tuple(str(one) for one in found if one.level != "info")
    trace = placement.trace
    return replace(placement, trace=replace(trace, notes=(*trace.notes, *serious))) if serious else placement
