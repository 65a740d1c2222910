"""A super-pod job before planning: its sizes, the candidate nodes, the path that plans it (chapter 20 §4, §5)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ascendctl.engine.chips import chip_codes, chip_order, pick_masks
from ascendctl.engine.policies.infer_service import service_superpods
from ascendctl.engine.policies.superpod_mindie import affine_nodes, affinity_labels, is_mindie
from ascendctl.engine.policies.superpod_plan import Demand, Plan, gather, plan_affine, plan_queues, plan_service
from ascendctl.engine.policies.superpod_queues import Shape
from ascendctl.engine.predicate import ACCEPTED, CODES, refuse
from ascendctl.engine.request import Request
from ascendctl.engine.state import State, usable
from ascendctl.manifest.job import Role
from ascendctl.wellknown import SERVICE

ATLAS_850 = "chip8-node8-sp"


@dataclass(frozen=True)
class Scene:
    """`role`: the first role with NPUs, whose pods stand for all; `network`: chips must reach other SuperPoDs, so
    network-unhealthy ones are refused; `codes` int16[N] and `mask` bool[N]: refusals and candidates; `deleted` bool[M]:
    pods of the snapshot that a fault has taken away."""

    request: Request
    state: State
    demand: Demand
    role: int
    network: bool
    codes: NDArray[np.int16]
    mask: NDArray[np.bool_]
    deleted: NDArray[np.bool_] | None = None

    @property
    def superpod(self) -> NDArray[np.int32]:
        """SuperPoD id of every node."""
        return self.request.cluster.superpod

    @property
    def names(self) -> tuple[str, ...]:
        """Node names."""
        return self.request.cluster.names


def demand_of(request: Request, pending: int) -> Demand:
    """Sizes of a valid job of which `pending` pods have to be scheduled."""
    job, config, npus = request.job, request.config, request.wiring.max_node
    shape = Shape(
        size=max(1, job.sp_block // npus),
        reserve=config.reserve_nodes,
        limit=config.super_pod_size,
        soft=job.is_soft,
        atlas_850=request.selection.policy == ATLAS_850,
    )
    counted = pending if job.min_available == len(job.pods) else -1
    return Demand(job.npu_pod_count, len(job.pods), counted, shape)


def make_scene(
    request: Request, state: State, pending: int, role: int, deleted: NDArray[np.bool_] | None = None
) -> Scene:
    """Judge all nodes for the pods of one role, on the given working arrays."""
    demand = demand_of(request, pending)
    network = demand.blocks > 1
    codes = node_codes(request, state, role, network)
    return Scene(request, state, demand, role, network, codes, codes == ACCEPTED, deleted)


def node_codes(request: Request, state: State, role: int, network: bool) -> NDArray[np.int16]:
    """int16[N]: why a node is refused for pods of a role, 0 = candidate (chapter 20 §4.2)."""
    codes = request.codes_for(role, state)
    refuse(codes, request.cluster.superpod < 0, "NO_SUPERPOD_ID")
    chip_codes(request.wiring, state, request.job.roles[role].npus, network, codes)
    return codes


def least_idle(scene: Scene) -> NDArray[np.bool_]:
    """Candidates that a job of one pod looks at: those with fewest idle NPUs, healthy ones if there are any."""
    mask: NDArray[np.bool_] = scene.mask & (scene.state.idle == scene.state.idle[scene.mask].min())
    healthy = mask & ~scene.request.cluster.sub_healthy
    return healthy if healthy.any() else mask


def narrow(scene: Scene) -> tuple[NDArray[np.bool_], tuple[str, str] | None]:
    """The nodes to plan on, and the refusal that comes before any look at SuperPoDs."""
    demand, mask = scene.demand, scene.mask
    if not mask.any():
        return mask, ("NodePredicateFailed", "no node can take a pod of the job")
    if demand.nodes == 1:
        mask = least_idle(scene)
    count = int(mask.sum())
    if demand.nodes > count and demand.pending == demand.pods:
        return mask, ("NOT_ENOUGH_NODES", f"the job needs {demand.nodes} nodes, {count} are candidates")
    return mask, None


def path_of(request: Request) -> str:
    """Which path plans the job: infer, mindie or queues."""
    labels = request.job.labels
    if labels.get(SERVICE):
        return "infer"
    return "mindie" if is_mindie(labels) and request.selection.policy != ATLAS_850 else "queues"


def plan_path(scene: Scene, mask: NDArray[np.bool_]) -> Plan:
    """Plan the whole job on the nodes of a mask, without an earlier plan."""
    request, demand, names = scene.request, scene.demand, scene.names
    cluster, job, path = request.cluster, request.job, path_of(request)
    if path == "queues":
        candidates = gather(mask, scene.superpod, cluster.sub_healthy)
        return plan_queues(candidates, demand, {}, range(demand.blocks), names)
    candidates = gather(mask, scene.superpod, None)
    if path == "infer":
        blocks = job.npus // job.sp_block
        return plan_service(candidates, demand, blocks, service_superpods(cluster, job), names)
    wanted = affinity_labels(job.roles[scene.role].pod_affinity)
    homes = scene.superpod[affine_nodes(cluster, wanted, scene.deleted) & ~mask]
    counts = dict(zip(*(part.tolist() for part in np.unique(homes, return_counts=True)), strict=True))
    affine = [counts.get(superpod, 0) for superpod in candidates.ids]
    idlest = job.annotations.get("sp-fit") == "idlest"
    return plan_affine(candidates, demand, affine, idlest, bool(wanted), names)


def remarks(request: Request) -> list[str]:
    """What the reader should know of a valid job, whatever the cluster (chapter 20 §11 D9, D14, trap 10)."""
    job, npus, notes = request.job, request.wiring.max_node, []
    if request.selection.policy == ATLAS_850:
        if job.npu_pod_count == 1 and job.npus not in (1, 2, 4, 8):
            notes.append(f"{job.npus} NPUs: the scheduler accepts it, but the product's tables list 1, 2, 4 and 8")
        if job.npu_pod_count > 1 and job.sp_block < npus:
            notes.append(f"sp-block {job.sp_block} is less than a node: every node is a logical SuperPoD of its own")
    by_pod = job.labels.get("pod-rescheduling") == "on" or job.labels.get("process-recover-enable") == "on"
    if by_pod and job.npu_pod_count > 1 and path_of(request) != "queues":
        notes.append("after a fault a single lost pod of such a job may leave the SuperPoD of its peers")
    return notes


def unfit_pod(scene: Scene, nodes: Mapping[int, int]) -> str | None:
    """Text on the first planned pod whose own role is refused on its node; `nodes`: index of Job.pods -> node. Roles
    differ if their selectors, affinities or tolerations do."""
    request = scene.request
    roles, pods = request.job.roles, request.job.pods
    others = {
        number: node_codes(request, scene.state, number, scene.network)
        for number in sorted({pods[i].role for i in nodes} - {scene.role})
        if not _same_filters(roles[number], roles[scene.role])
    }
    for i, node in nodes.items() if others else ():
        codes = others.get(pods[i].role)
        if codes is not None and codes[node] != ACCEPTED:
            name, code = scene.names[node], CODES[int(codes[node])]
            return f"the plan gives node {name} to pod {pods[i].name}, whose role the node refuses ({code})"
    return None


def _same_filters(a: Role, b: Role) -> bool:
    return all(
        getattr(a, field) == getattr(b, field)
        for field in ("npus", "resource", "selector", "node_name", "node_affinity", "tolerations")
    ) and not (a.pod_affinity or a.pod_anti_affinity or b.pod_affinity or b.pod_anti_affinity)


def pick(scene: Scene, nodes: Sequence[int], npus: int) -> list[tuple[int, ...]]:
    """Chip ids for a pod of `npus` on each of some distinct nodes."""
    wiring, state = scene.request.wiring, scene.state
    masks = pick_masks(wiring, state, npus, scene.network)[list(nodes)].tolist()
    free = usable(state, scene.network, wiring.network_aware)[list(nodes)].tolist()
    kinds = set(zip(free, masks, strict=True))
    order = {kind: chip_order(wiring, npus, scene.network, *kind) for kind in kinds}
    return [order[kind] for kind in zip(free, masks, strict=True)]
