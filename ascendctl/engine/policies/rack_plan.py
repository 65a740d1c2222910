"""One plan of the rack policy: the candidates, then the inference service's way or the strategy chain (chapter 21 §3.2,
§4)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ascendctl.engine.chips import chip_codes
from ascendctl.engine.finish import refused
from ascendctl.engine.policies.infer_service import service_pods
from ascendctl.engine.policies.rack_infer import place_service
from ascendctl.engine.policies.rack_order import Nodes, Refusal, Run, Sizes, group
from ascendctl.engine.policies.rack_strategies import SUPER_PODS, run_chain, start_strategy
from ascendctl.engine.predicate import ACCEPTED, refuse
from ascendctl.engine.request import Request
from ascendctl.engine.result import Unschedulable
from ascendctl.engine.state import State
from ascendctl.manifest.job import Job
from ascendctl.validate.rules.rack import RACK_NODES
from ascendctl.wellknown import SERVICE
from ascendctl.wording import counted


@dataclass(frozen=True)
class Candidates:
    """What the predicate says for the pod that decides: int16[N] refusals, and the accepted nodes, ascending."""

    codes: NDArray[np.int16]
    nodes: Nodes


def is_service(job: Job) -> bool:
    """True for an instance of an inference service, which has its own way of planning (chapter 21 §8.1)."""
    return bool(job.labels.get(SERVICE))


def candidates(request: Request, state: State, sizes: Sizes, role: int) -> Candidates:
    """The nodes that pass chapter 21 §3.2 for a pod of a role; of a single-pod job only the fullest ones (§10)."""
    cluster, spans = request.cluster, start_strategy(sizes) == SUPER_PODS
    codes = request.codes_for(role, state)
    refuse(codes, cluster.superpod < 0, "NO_SUPERPOD_ID")
    refuse(codes, cluster.rack < 0, "NO_RACK_ID")
    chip_codes(request.wiring, state, request.job.roles[role].npus, spans, codes)
    nodes = np.flatnonzero(codes == ACCEPTED)
    if sizes.pods == 1 and len(nodes):
        idle = state.idle[nodes]
        nodes = nodes[idle == idle.min()]
    return Candidates(codes, nodes)


def new_run(request: Request, sizes: Sizes, nodes: Nodes) -> Run:
    """A planning run over candidates, without open blocks yet."""
    cluster = request.cluster
    floor = group(nodes, cluster.superpod, cluster.rack)
    run = Run(sizes, floor, [], request.state.fixed.network_unhealthy != 0, cluster.names)
    least = " (those with the fewest idle NPUs)" if sizes.pods == 1 else ""
    run.say(
        f"{counted(len(nodes), 'candidate node')}{least} in {counted(len(floor), 'SuperPoD')}; the job has "
        f"{counted(sizes.pods, 'pod')}, a block {counted(sizes.block, 'node')}, a logical rack {sizes.rack}",
        superpods={str(s): {str(r): len(part) for r, part in racks.items()} for s, racks in floor.items()},
    )
    if sizes.ub_memory and 1 < sizes.pods <= RACK_NODES:
        run.notes.append(
            f"UB memory: a job of up to {RACK_NODES} pods takes the usual strategies and may leave a UB-memory domain"
        )
    return run


def give_up(request: Request, run: Run, found: Candidates, refusal: Refusal) -> Unschedulable:
    """The answer for a job without plan."""
    notes = [*run.notes, *refusal.notes]
    if len(found.nodes) == 1:
        notes.append(
            "with exactly one candidate node the scheduler binds the pod there without asking the policy; here it is "
            "always planned"
        )
    return refused(request, refusal.code, refusal.message, found.codes, steps=run.steps, notes=notes)


def fill(request: Request, run: Run) -> Refusal | None:
    """Place the open blocks of a run; None = done."""
    job, cluster = request.job, request.cluster
    if not is_service(job):
        return run_chain(run)
    hosts = cluster.pods.node[service_pods(cluster, job)]
    racks = set(zip(cluster.superpod[hosts].tolist(), cluster.rack[hosts].tolist(), strict=True))
    shown = ", ".join(f"{s}/{r}" for s, r in sorted(racks)) or "none"
    run.say(f"inference service {job.labels[SERVICE]}: racks of its other jobs (SuperPoD/rack): {shown}")
    refusal = place_service(run, racks)
    if refusal or run.placed >= run.sizes.pods:
        return refusal
    text = f"the plan has {run.placed} nodes for {run.sizes.pods} pods: minAvailable counts too few NPUs"
    return Refusal("INCOMPLETE_PLAN", text)


def note_broken_affinity(run: Run, unplanned: list[int]) -> None:
    """Say which pods stand outside blocks and racks, and which ranks got a node outside their own block (chapter 21
    §9.2)."""
    if run.soft_ids:
        count = sum(len(run.blocks[block]) for block in dict.fromkeys(run.soft_ids))
        run.notes.append(
            f"affinity broken: {count} pods stand in soft groups, without regard to blocks and logical racks"
        )
    if unplanned:
        shown = ", ".join(map(str, unplanned[:20])) + (", ..." if len(unplanned) > 20 else "")
        run.notes.append(
            f"the scheduler leaves the nodes of ranks {shown} to chance (their block has no entry for them); here they "
            "take the remaining selected nodes in the order of selection"
        )
