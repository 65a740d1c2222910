"""From chosen nodes to the result: switch annotations, leaf states, blocks, scores, explanation (chapter 23 §8)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ascendctl.engine.finish import placed
from ascendctl.engine.kernels.take_best import REFUSED
from ascendctl.engine.policies.switch_leaves import Plan, Step
from ascendctl.engine.policies.switch_scene import SINGLE_LAYER, V1, V2, Scene
from ascendctl.engine.predicate import ACCEPTED, CODE
from ascendctl.engine.result import Placement
from ascendctl.engine.scores import best_scores
from ascendctl.topology.leaf_states import EXCLUSIVE, IDLE, IS_HEALTHY, IS_SHARED, SHARED, SHARED_IP

EXACT_SCORE, LEAF_SCORE, SHARED_SCORE = 200, 100, 99


@dataclass(frozen=True)
class Choice:
    """Where the waiting pods should go. `exact`: position of a pod in `job.pods` -> node it takes if it can.
    `listed` int64: further nodes, best first, with `scores` before weight. `open_end`: any accepted node may follow.
    `leaves`: number of listed leaves. `by_rank`: the scan of scores ends at the node of the pod's rank (§8.2)."""

    plan: Plan
    exact: Mapping[int, int]
    listed: NDArray[np.int64]
    scores: NDArray[np.int64]
    open_end: bool = False
    leaves: int = 0
    by_rank: bool = False
    notes: tuple[str, ...] = ()


def placement(
    scene: Scene,
    choice: Choice,
    codes: NDArray[np.int16] | None,
    nodes: Sequence[int],
    chips: Sequence[tuple[int, ...]],
) -> Placement:
    """The result of a job whose pods all have a node; `nodes` and `chips` in the order of `job.pods`."""
    job, cluster, topology = scene.job, scene.cluster, scene.topology
    metrics: dict[str, Any] = {"switch_affinity": scene.version, "step": choice.plan.step}
    written: list[dict[str, str]] = [{} for _ in job.pods]
    if scene.version == V2:
        state, health = _annotate(scene, choice, nodes, written)
        metrics["leaf_states"] = {
            ip: {"IsSharedTor": int(s), "IsHealthy": int(h)}
            for ip, s, h in zip(topology.leaf_ips, state.tolist(), health.tolist(), strict=True)
        }
    for i, pod in scene.kept.items():
        written[i] = dict(pod.annotations) | scene.switch_annotations(pod)
    groups, blocks = [""] * len(job.pods), {}  # type: list[str], dict[str, tuple[str, ...]]
    for i, node in enumerate(nodes):
        leaf = scene.leaf(node)
        if leaf >= 0 and scene.is_npu(i):
            groups[i] = topology.leaf_ips[leaf]
            blocks[groups[i]] = (*blocks.get(groups[i], ()), cluster.names[node])
    return placed(
        scene.request,
        nodes,
        chips,
        codes,
        annotations=written,
        groups=groups,
        blocks=blocks,
        moved=[i not in scene.kept for i in range(len(nodes))],
        metrics=metrics,
        scores=_scores(scene, choice, codes),
        steps=(*choice.plan.steps, *_moves(scene, choice, nodes)),
        notes=(*remarks(scene), *choice.plan.notes, *choice.notes, *_held(scene, codes)),
    )


def _annotate(
    scene: Scene, choice: Choice, nodes: Sequence[int], written: list[dict[str, str]]
) -> tuple[NDArray[np.int8], NDArray[np.int8]]:
    """Fill in what 2.0 writes on the new pods (§8.3); the leaf states after the placement."""
    plan, states = choice.plan, scene.states
    state = (states.shared if plan.state is None else plan.state).copy()
    health = states.health if plan.health is None else plan.health
    new = [i for i in scene.waiting if scene.is_npu(i)]
    leaves = {i: scene.leaf(nodes[i]) for i in new}
    several = len(set(leaves.values())) > 1 if scene.whole else choice.leaves > 1
    restart = not scene.whole and not scene.remaining.single
    room = scene.limit - int((scene.remaining.used & (state == SHARED)).sum())
    for i in new:
        leaf = leaves[i]
        known = leaf >= 0 and state[leaf] != IDLE
        mark = (int(state[leaf]), int(health[leaf])) if leaf >= 0 and (several or (restart and known)) else (0, 0)
        if restart and not known and room <= 0:
            mark = (EXCLUSIVE, 0)
            if leaf >= 0:
                state[leaf] = EXCLUSIVE
        written[i] = {IS_SHARED: str(mark[0]), IS_HEALTHY: str(mark[1])}
        if mark[0] == SHARED:
            written[i][SHARED_IP] = scene.topology.leaf_ips[leaf]
    return state, health


def _scores(scene: Scene, choice: Choice, codes: NDArray[np.int16] | None) -> tuple[tuple[str, int], ...]:
    """Final scores as the first waiting pod meets them (§8.2)."""
    first = next((i for i in scene.waiting if scene.is_npu(i)), -1)
    if codes is None or first < 0:
        return ()
    raw = np.zeros(scene.cluster.size, dtype=np.int64)
    if not choice.by_rank:
        raw[choice.listed] = choice.scores
    elif first in choice.exact:
        raw[choice.exact[first]] = EXACT_SCORE
    return best_scores(scene.cluster, np.where(codes == ACCEPTED, np.maximum(raw - scene.minus, 0), REFUSED))


def _moves(scene: Scene, choice: Choice, nodes: Sequence[int]) -> list[Step]:
    """What stays and what moves after a fault, where to and why."""
    if not scene.former:
        return []
    job, names = scene.job, scene.cluster.names
    stays = {str(job.pods[i].rank): pod.node for i, pod in scene.kept.items()}
    steps: list[Step] = [(f"{len(stays)} of {len(job.pods)} pods stay on their nodes", {"stay": stays})]
    for i in scene.waiting:
        old, leaf = scene.former.get(i), scene.leaf(nodes[i])
        before = old.node if old else "no node"
        data: Mapping[str, Any] = {
            "rank": job.pods[i].rank,
            "from": before,
            "to": names[nodes[i]],
            "leaf": scene.topology.leaf_ips[leaf] if leaf >= 0 else "",
        }
        steps.append((f"rank {data['rank']}: {before} -> {data['to']}, {_reason(scene, choice, i, nodes[i])}", data))
    return steps


def _reason(scene: Scene, choice: Choice, position: int, node: int) -> str:
    if not scene.is_npu(position):
        return "the first node that takes a pod without NPUs"
    old, leaf = scene.former.get(position), scene.leaf(node)
    if scene.whole:
        return "planned afresh"
    if old is not None and old.index == node:
        return "its former node works again"
    if leaf >= 0 and scene.remaining.used[leaf]:
        return "the best node below a leaf switch of the job"
    return "the best node below a further leaf switch" if node in choice.listed else "the first node that takes it"


def remarks(scene: Scene) -> tuple[str, ...]:
    """What the reader should know of the job and the topology, whatever comes out."""
    job, topology = scene.job, scene.topology
    notes: list[str] = []
    if scene.scheduling < 0:
        effect = {
            V1: "only nodes of one slice may take pods, and jobs with fewer than 4 pods find none",
            V2: "only closed leaf switches are left out",
            SINGLE_LAYER: "the leaf switch with the fewest usable nodes is merely preferred",
        }[scene.version]
        notes.append(
            f"minAvailable is {job.min_available}, the job has {len(job.pods)} pods: switch affinity needs both to be "
            f"equal, without it {effect}"
        )
    elif scene.whole and job.npu_pod_count != len(job.pods):
        count = len(job.pods) - job.npu_pod_count
        notes.append(f"{count} pods without NPUs count too when nodes are looked for ({len(job.pods)} in all)")
    widest = int(np.diff(topology.server_ptr).max(initial=0))
    if widest > topology.tor_count:
        notes.append(
            f"a leaf switch lists {widest} servers, more than tor_count {topology.tor_count}: servers beyond belong to "
            "no logical leaf here, the scheduler aborts when it meets them"
        )
    if np.bincount(topology.server_node[topology.server_node >= 0], minlength=1).max() > 1:
        notes.append("basic-tor-node-cm lists a node twice: it counts where it is listed first")
    if scene.version == V2:
        states = scene.states
        if states.conflicts.any():
            where = ", ".join(topology.leaf_ips[i] for i in np.flatnonzero(states.conflicts))
            notes.append(f"pods below {where} disagree on isSharedTor; shared wins here, by chance in the scheduler")
        notes += [f"annotation {text} is out of range and counts as 0" for text in states.illegal]
        if not scene.whole and (scene.remaining.servers < 0).any():
            notes.append(
                "a pod of the job runs outside basic-tor-node-cm: the scheduler aborts there, here it is left out"
            )
    return tuple(notes)


def _held(scene: Scene, codes: NDArray[np.int16] | None) -> tuple[str, ...]:
    if codes is None or not (codes == CODE["NODE_HOLDS_POD"]).any():
        return ()
    return ("nodes with a remaining pod of the job take no second one here; the scheduler does not look at that",)
