"""Jobs of a topology policy whose pods are all pinned to one node each (chapter 50 §6.3, effect 1).

Volcano does not score a single candidate: the policy validates the job, looks at the node and picks the chips, but
never searches nodes for the whole job. So the affinity of such a job is what its manifest says, and nobody checks it.
"""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module

import numpy as np
from numpy.typing import NDArray

from ascendctl.engine.chips import chip_codes, pick_chips
from ascendctl.engine.finish import placed, refused
from ascendctl.engine.predicate import ACCEPTED
from ascendctl.engine.request import Request
from ascendctl.engine.result import Placement, Unschedulable
from ascendctl.manifest.job import Role
from ascendctl.wellknown import HOSTNAME, SUPER_POD_ID, SUPER_POD_RANK

NOTE = (
    "every pod is pinned to a node of its own: the scheduler binds the pods there without planning the job, so nobody "
    "checks its affinity"
)


def pinned_nodes(request: Request) -> dict[int, int]:
    """Role -> the only node that its manifest leaves it, if that holds for every role with NPUs of a topology job of
    several pods; else empty."""
    job = request.job
    roles = [i for i, role in enumerate(job.roles) if role.is_npu and role.replicas]
    if not request.selection.whole_job or job.npu_pod_count < 2 or not all(_may_be_pinned(job.roles[i]) for i in roles):
        return {}
    found: dict[int, int] = {}
    for i in roles:
        nodes = np.flatnonzero(request.kube_codes(i) == ACCEPTED)
        if len(nodes) != 1:
            return {}
        found[i] = int(nodes[0])
    return found


def _may_be_pinned(role: Role) -> bool:
    return bool(role.node_name or role.node_affinity or HOSTNAME in role.selector)


def place_pinned(request: Request, homes: dict[int, int]) -> Placement | Unschedulable:
    """The pods on their nodes; `homes` is what `pinned_nodes` found."""
    job, cluster, state = request.job, request.cluster, request.state
    nodes: list[int] = []
    chips: list[tuple[int, ...]] = []
    first: NDArray[np.int16] | None = None
    judge, network = _judge(request), _reaches_out(request)
    for pod in job.pods:
        is_npu = job.roles[pod.role].is_npu
        codes = judge(pod.role) if is_npu else request.codes_for(pod.role)
        node = homes.get(pod.role, int(np.argmax(codes == ACCEPTED)))
        if codes[node] != ACCEPTED:
            where = f"node {cluster.names[node]}, to which it is pinned," if is_npu else "every node"
            return refused(request, "NodePredicateFailed", f"{where} refuses pod {pod.name}", codes, notes=(NOTE,))
        picked = pick_chips(request.wiring, state, node, pod.npus, network) if is_npu else ()
        if is_npu:
            first = codes if first is None else first
            state.take(node, sum(1 << chip for chip in picked), pod.npus)
        nodes.append(node)
        chips.append(picked)
    return placed(
        request,
        nodes,
        chips,
        first,
        annotations=[_annotations(request, pod.role, node) for pod, node in zip(job.pods, nodes, strict=True)],
        notes=(NOTE,),
    )


def _module(request: Request) -> str:
    return "switch" if request.selection.switch else request.selection.module


def _reaches_out(request: Request) -> bool:
    """True if the policy picks chips that reach other nodes over the network."""
    if _module(request) == "superpod":
        scene = import_module("ascendctl.engine.policies.superpod_scene")
        return bool(scene.demand_of(request, len(request.job.pods)).blocks > 1)
    return request.job.distributed


def _judge(request: Request) -> Callable[[int], NDArray[np.int16]]:
    """Role -> int16[N]: why a node is refused for its next pod, as the policy refuses it."""
    module, job, state = _module(request), request.job, request.state
    if module == "superpod":
        scene, network = import_module("ascendctl.engine.policies.superpod_scene"), _reaches_out(request)
        return lambda role: scene.node_codes(request, state, role, network)
    if module == "rack":
        plan = import_module("ascendctl.engine.policies.rack_plan")
        sizes = import_module("ascendctl.engine.policies.rack_order").sizes_of(job, request.config)
        return lambda role: plan.candidates(request, state, sizes, role).codes
    if module == "multilevel":
        context = import_module("ascendctl.engine.policies.multilevel_context").make_context(request)
        return lambda role: context.codes(role)

    def of_chips(role: int) -> NDArray[np.int16]:
        codes = request.codes_for(role)
        chip_codes(request.wiring, state, job.roles[role].npus, job.distributed, codes)
        return codes

    return of_chips


def _annotations(request: Request, role: int, node: int) -> dict[str, str]:
    """What the policy writes on a pod that it did not plan."""
    if not request.job.roles[role].is_npu:
        return {}
    if _module(request) == "superpod":
        return {SUPER_POD_RANK: "", SUPER_POD_ID: str(int(request.cluster.superpod[node]))}
    if _module(request) == "switch" and request.config.nslb_version == "2.0":
        return {"isSharedTor": "0", "isHealthy": "0"}
    return {}
