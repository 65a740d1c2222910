"""The course of a recovery under the rack policy: what is lost at a stage, what stays, and the plan for the rest
(chapter 21 §11)."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

import numpy as np

from ascendctl.engine.fault import Fault, FormerPod, former_pods, settle
from ascendctl.engine.finish import refused
from ascendctl.engine.policies.rack_order import Refusal, Run, Sizes, most_first, sizes_of
from ascendctl.engine.policies.rack_plan import (
    candidates,
    fill,
    give_up,
    is_service,
    new_run,
    note_broken_affinity,
)
from ascendctl.engine.policies.rack_repair import (
    JOB_STAGE,
    RACK_STAGE,
    SUPER_POD_STAGE,
    Former,
    Recovery,
    former,
    former_blocks,
    kept_blocks,
    recovery,
    repair_other_rack,
    repair_same_rack,
)
from ascendctl.engine.policies.rack_seats import Seat, conclude, seat
from ascendctl.engine.policies.rack_strategies import soft_remainder
from ascendctl.engine.policies.superpod_levels import missing_label
from ascendctl.engine.request import Request
from ascendctl.engine.result import Placement, Trace, Unschedulable
from ascendctl.engine.running import own_rows
from ascendctl.manifest.job import Job
from ascendctl.names import natural_key
from ascendctl.snapshot.cluster import Cluster
from ascendctl.wording import counted

Answer = Placement | Unschedulable


def recover(job: Job, cluster: Cluster, request: Request, fault: Fault) -> Answer:
    """Place the lost pods. With kind "auto" the stages are tried in order and the first that works answers."""
    sizes, places = sizes_of(job, request.config), former_pods(job, fault)
    fault = replace(fault, pods=tuple(places[i] for i in job.npu_positions if i in places))
    notes = [text] if (text := missing_label(job)) else []
    if fault.kind != "auto":
        step = recovery(job, fault, sizes, fault.pending_sessions)
        return _noted(_attempt(request, fault, places, sizes, step), notes)
    tried: list[tuple[int, Recovery]] = []
    for sessions in (0, RACK_STAGE, SUPER_POD_STAGE, JOB_STAGE):
        step = recovery(job, fault, sizes, sessions)
        if tried and (step.stage, step.lost) == (tried[-1][1].stage, tried[-1][1].lost):
            continue
        tried.append((sessions, step))
        answer = _attempt(request, fault, places, sizes, step)
        if isinstance(answer, Placement):
            notes.append(f"stage {step.stage} works; the scheduler waits {sessions} pending sessions before it")
            break
        notes.append(f"stage {step.stage} (from {sessions} pending sessions on) fails: {answer.code}, {answer.message}")
    return _noted(answer, notes)


def _noted(answer: Answer, notes: list[str]) -> Answer:
    trace = answer.trace
    return replace(answer, trace=Trace(trace.scores, trace.steps, (*trace.notes, *notes)))


def _attempt(request: Request, fault: Fault, places: dict[int, FormerPod], sizes: Sizes, step: Recovery) -> Answer:
    """One stage: free the chips of the lost pods, keep or repair blocks, plan the open ones, seat the lost pods.
    `places`: index in `job.pods` -> where the pod ran."""
    job, cluster = request.job, request.cluster
    numbers = job.npu_positions
    gone = {id(pod) for pod in step.lost}
    staying = {i: places[i] for i in numbers if i in places and id(places[i]) not in gone}
    lost = [i for i in numbers if i not in staying]
    state = request.state.copy()
    settle(state, cluster, job.namespace, step.lost, staying.values())
    block_of = {id(pod): block for block, pods in former_blocks(fault, sizes.block).items() for pod in pods}
    seats = {i: Seat(pod.index, block_of[id(pod)], pod.npus) for i, pod in staying.items()}
    found = candidates(request, state, sizes, job.pods[(lost or numbers)[0]].role)
    run = new_run(request, sizes, found.nodes)
    _explain(run, step, len(staying))
    metrics = {"stage": step.stage, "lostPods": len(lost), "keptPods": len(staying)}
    before = {i: pod.index for i, pod in places.items()}
    if not lost:
        run.notes.append("no pod of the job runs on a faulty node: nothing moves")
        return conclude(request, state, run, found.codes, seats, before=before, metrics=metrics)
    if len(found.nodes) == 0:
        text = "no node passes the checks of the first lost pod"
        return refused(request, "NodePredicateFailed", text, found.codes, steps=run.steps, notes=run.notes)
    refusal = _plan(request, fault, run, step)
    if refusal:
        return give_up(request, run, found, refusal)
    taken = frozenset(pod.index for pod in staying.values())
    new, unplanned = seat([job.pods[i].rank for i in lost], run.blocks, run.soft_ids, sizes.block, taken)
    note_broken_affinity(run, unplanned)
    _explain_moves(run, cluster, job, places, dict(zip(lost, new, strict=True)))
    broken = frozenset(pod.index for pod in step.fault)
    seats |= dict(zip(lost, new, strict=True))
    return conclude(request, state, run, found.codes, seats, unplanned, broken, before, metrics)


def _plan(request: Request, fault: Fault, run: Run, step: Recovery) -> Refusal | None:
    """Blocks for the lost pods. Inference services never repair, they plan all blocks anew."""
    job, cluster, sizes = request.job, request.cluster, run.sizes
    if is_service(job) or step.stage == 4:
        run.open.extend(range(sizes.count))
        return fill(request, run)
    if name := _terminating(cluster, job):
        return Refusal("POD_TERMINATING", f"pod {name} is being graceful delete, unable to reschedule")
    old = former(fault, step, sizes.block)
    kept = kept_blocks(old, sizes.rack)
    run.blocks |= {block: np.array(old.blocks[block], dtype=np.int64) for block in kept}
    broken = [block for block in old.blocks if block not in kept]
    run.say(f"{len(kept)} of {len(old.blocks)} blocks are kept as they are", kept=kept, open=broken)
    if step.stage < 3:
        repair = repair_same_rack if step.stage == 1 else repair_other_rack
        return repair(run, old, broken, cluster.superpod, cluster.rack) or fill(request, run)
    run.open.extend(block for block in range(sizes.count) if block not in run.blocks)
    return fill(request, run) or _fill_gap(run, old)


def _fill_gap(run: Run, old: Former) -> Refusal | None:
    """An earlier soft placement can leave fewer open blocks than lost pods: the rest takes single nodes too."""
    if run.placed >= run.sizes.pods:
        return None
    if run.sizes.soft:
        run.notes.append(
            "the earlier soft groups do not match the blocks: the scheduler leaves some pods to chance here"
        )
        return soft_remainder(run, most_first(run.free))
    return Refusal(
        "REPAIR_INCOMPLETE", f"the kept groups {sorted(old.blocks)} and the open blocks do not hold all pods"
    )


def _explain(run: Run, step: Recovery, staying: int) -> None:
    nodes = sorted({pod.node for pod in step.fault}, key=natural_key)
    ranks = [pod.rank for pod in step.lost]
    run.steps.insert(
        0,
        (
            f"stage {step.stage}: {step.why}; {counted(len(ranks), 'pod')} lost, {staying} staying",
            {"stage": step.stage, "faultyNodes": nodes, "lostRanks": ranks},
        ),
    )


def _explain_moves(run: Run, cluster: Cluster, job: Job, places: dict[int, FormerPod], seats: dict[int, Seat]) -> None:
    moves = []
    for i, new in seats.items():
        old = places[i].index if i in places else -1
        if old < 0:
            where = "new node"
        elif old == new.node:
            where = "same node"
        elif cluster.superpod[old] != cluster.superpod[new.node]:
            where = "other SuperPoD"
        else:
            where = "same rack" if cluster.rack[old] == cluster.rack[new.node] else "other rack of the SuperPoD"
        source = places[i].node if i in places else ""
        moves.append({"rank": job.pods[i].rank, "from": source, "to": cluster.names[new.node], "where": where})
    counts = ", ".join(f"{n} to the {where}" for where, n in sorted(Counter(m["where"] for m in moves).items()))
    run.say(f"{counted(len(moves), 'pod')} placed: {counts}", moves=moves)


def _terminating(cluster: Cluster, job: Job) -> str:
    """A pod of the job that is still being deleted, "" = none."""
    pods = cluster.pods
    rows = np.flatnonzero(pods.active & pods.terminating & own_rows(cluster, job).pods)
    return pods.names[rows[0]] if len(rows) else ""
