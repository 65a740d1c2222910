"""Recovery after a fault under the rack policy: which pods are deleted at which stage, and how a logical SuperPoD is
repaired in place (chapter 21 §11). Nodes are indices of the snapshot; a node that is gone has a negative one."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ascendctl.engine.fault import Fault, FormerPod, only_fault_pods
from ascendctl.engine.policies.rack_order import Refusal, Run, Sizes
from ascendctl.manifest.job import Job, parse_go_int
from ascendctl.wellknown import SP_BLOCK, SUPER_POD_RANK
from ascendctl.wording import counted

RACK_STAGE, SUPER_POD_STAGE, JOB_STAGE = 3, 6, 12
"""Pending sessions at which stages 2, 3 and 4 begin."""


@dataclass(frozen=True)
class Recovery:
    """One stage of a recovery: `stage` 1 to 3 repair, 4 plans from scratch; `lost` are the pods that were deleted,
    `fault` those of them whose node broke; `why` says where the stage comes from."""

    stage: int
    lost: tuple[FormerPod, ...]
    fault: tuple[FormerPod, ...]
    why: str


@dataclass(frozen=True)
class Former:
    """The earlier blocks by id (nodes by position), the nodes of faulty pods, and those of all deleted pods."""

    blocks: Mapping[int, tuple[int, ...]]
    faulty: frozenset[int]
    lost: frozenset[int]


def former_blocks(fault: Fault, size: int) -> dict[int, tuple[FormerPod, ...]]:
    """The pods of each earlier block in rank order: block ids as the earlier result lists them, else from the
    annotation super-pod-rank, else rank div `size`."""
    listed: dict[str, int] = {}
    for key, nodes in fault.blocks.items():
        if (number := parse_go_int(key)) is not None:
            listed.update(dict.fromkeys(nodes, number))
    groups: dict[int, list[FormerPod]] = {}
    for pod in fault.pods:
        block = listed.get(pod.node)
        if block is None:
            block = parse_go_int(pod.annotations.get(SUPER_POD_RANK, ""))
        groups.setdefault(pod.rank // size if block is None else block, []).append(pod)
    return {block: tuple(groups[block]) for block in sorted(groups)}


def recovery(job: Job, fault: Fault, sizes: Sizes, sessions: int) -> Recovery:
    """Stage and deleted pods after so many pending sessions (chapter 21 §11.1, §11.2)."""
    faulty = tuple(p for p in fault.pods if p.node in fault.faulty_names or p.index < 0)
    by_process = job.labels.get("process-recover-enable") == "on"
    by_pod = job.labels.get("pod-rescheduling") == "on"
    pod_only = only_fault_pods(job)
    if fault.kind == "job":
        return Recovery(4, fault.pods, faulty, "all pods are placed again")
    if not (by_process or by_pod):
        lost = faulty if pod_only else fault.pods
        return Recovery(4, lost, faulty, "neither pod-rescheduling nor process-recover-enable is on")
    if by_process:
        sessions = min(sessions, SUPER_POD_STAGE - 1)
    if pod_only:
        return Recovery(_stage(sessions), faulty, faulty, "only the pods on faulty nodes are ever deleted")
    if sessions >= JOB_STAGE:
        return Recovery(
            4, fault.pods, faulty, f"{counted(sessions, 'pending session')} without success: all pods are deleted"
        )
    ranks, why = _lost_ranks(job, fault, sizes, faulty, sessions, by_process)
    if 0 in ranks:
        return Recovery(4, fault.pods, faulty, "rank 0 is lost, so all pods are deleted")
    return Recovery(_stage(sessions), tuple(p for p in fault.pods if p.rank in ranks), faulty, why)


def _stage(sessions: int) -> int:
    return 1 + sum(sessions >= bound for bound in (RACK_STAGE, SUPER_POD_STAGE, JOB_STAGE))


def _lost_ranks(
    job: Job, fault: Fault, sizes: Sizes, faulty: tuple[FormerPod, ...], sessions: int, by_process: bool
) -> tuple[set[int], str]:
    """Ranks that are deleted below stage 4. Without the annotation sp-block no healthy pod is deleted there, but by
    process-level recovery."""
    ranks = {p.rank for p in faulty}
    waited = counted(sessions, "pending session")
    why = f"{waited}: only the pods on faulty nodes are deleted"
    if sessions >= RACK_STAGE and sizes.rack > 1 and (by_process or SP_BLOCK in job.annotations):
        # windows deleted at stage 2 stay deleted at stage 3: groups of a soft placement do not always contain them
        windows = {rank // sizes.rack for rank in ranks}
        ranks = {p.rank for p in fault.pods if p.rank // sizes.rack in windows}
        why = f"{waited}: all pods of logical racks with a faulty node are deleted"
    if sessions >= SUPER_POD_STAGE and SP_BLOCK in job.annotations:
        for pods in former_blocks(fault, sizes.block).values():
            if any(p in faulty for p in pods):
                ranks |= {p.rank for p in pods}
        why = f"{waited}: all pods of logical SuperPoDs with a faulty node are deleted"
    return ranks, why


def former(fault: Fault, step: Recovery, size: int) -> Former:
    """The earlier placement for `kept_blocks` and the repairs; pods whose node left the snapshot get nodes below 0."""

    def node(pod: FormerPod) -> int:
        return pod.index if pod.index >= 0 else -1 - pod.rank

    blocks = {block: tuple(map(node, pods)) for block, pods in former_blocks(fault, size).items()}
    return Former(blocks, frozenset(map(node, step.fault)), frozenset(map(node, step.lost)))


def kept_blocks(old: Former, rack: int) -> list[int]:
    """Blocks that stay as they are: no faulty pod and, with logical racks, no deleted pod (chapter 21 §11.3)."""
    gone = old.lost | old.faulty if rack > 1 else old.faulty
    return [block for block, nodes in old.blocks.items() if gone.isdisjoint(nodes)]


def repair_same_rack(
    run: Run, old: Former, open_blocks: Iterable[int], superpod: NDArray[np.int32], rack: NDArray[np.int32]
) -> Refusal | None:
    """Stage 1: each lost node is replaced by a free one of its own rack (chapter 21 §11.4). Two blocks never get the
    same node, as could happen in the reference."""
    used: set[int] = set()
    for block in open_blocks:
        result: list[int] = []
        home = _superpod(old.blocks[block], superpod)
        for lost in old.blocks[block]:
            if lost not in old.lost:
                result.append(lost)
                continue
            spares = run.floor.get(home, {}).get(int(rack[lost]), ()) if lost >= 0 else ()
            spare = min(
                (n for n in map(int, spares) if n not in used), key=lambda n: (n in old.faulty, n), default=None
            )
            name = run.names[lost] if lost >= 0 else "a node that left the cluster"
            if spare is None:
                run.say(f"stage 1: no free node in the rack of {name} replaces it in block {block}", block=block)
                if len(spares):
                    text = "finds no node of its own: the reference may give it one that an earlier block took"
                    run.notes.append(f"block {block} {text}")
                continue
            used.add(spare)
            result.append(spare)
            run.say(
                f"stage 1: in block {block} node {run.names[spare]} of the same rack replaces {name}",
                block=block,
                nodes=[run.names[spare]],
            )
        run.blocks[block] = np.array(result, dtype=np.int64)
    return _complete(run)


def repair_other_rack(
    run: Run, old: Former, open_blocks: Iterable[int], superpod: NDArray[np.int32], rack: NDArray[np.int32]
) -> Refusal | None:
    """Stage 2: all lost nodes of a block move into one rack of its SuperPoD, the origin rack first (chapter 21
    §11.5)."""
    size = run.sizes.rack
    for block in open_blocks:
        nodes = old.blocks[block]
        home = _superpod(nodes, superpod)
        racks = run.floor.get(home, {})
        roomy = {r: len(free) for r, free in racks.items() if len(free) >= size}
        lost = [n for n in nodes if n in old.lost]
        origins = (int(rack[n]) for n in lost if n >= 0)
        target = next((r for r in origins if r in roomy), None)
        origin = target is not None
        if target is None:
            if not roomy:
                run.say(f"stage 2: no rack of SuperPoD {home} has {size} free nodes for block {block}", block=block)
                return Refusal("NO_RACK_FOR_REPAIR", "there is no enough nodes for whole rack schedule")
            target = min(roomy, key=lambda r: (roomy[r], r))
        taken = _fill(lost, racks[target].tolist(), old.faulty)
        racks[target] = racks[target][~np.isin(racks[target], list(taken.values()))]
        run.blocks[block] = np.array([taken.get(n, n) for n in nodes if n not in old.lost or n in taken], np.int64)
        which = "the rack of a lost node" if origin else f"the smallest one with {size} free nodes"
        run.say(
            f"stage 2: block {block} gets {len(taken)} nodes for {len(lost)} lost ones in rack {target} of "
            f"SuperPoD {home}, {which} ({roomy[target]} free)",
            block=block,
            superpod=home,
            rack=target,
            nodes=run.name_list(taken.values()),
        )
    return _complete(run)


def _fill(lost: list[int], free: list[int], faulty: frozenset[int]) -> dict[int, int]:
    """Lost node -> its new node: a healthy lost node that is free again stays, the rest take the free nodes in order,
    former fault nodes last."""
    taken = {n: n for n in lost if n in free and n not in faulty}
    rest = iter(sorted((n for n in free if n not in taken), key=lambda n: (n in faulty, n)))
    for n in lost:
        if n not in taken and (new := next(rest, None)) is not None:
            taken[n] = new
    return taken


def _superpod(nodes: tuple[int, ...], superpod: NDArray[np.int32]) -> int:
    """SuperPoD of a block: that of its first node that the snapshot knows, -1 if it knows none."""
    return next((int(superpod[n]) for n in nodes if n >= 0), -1)


def _complete(run: Run) -> Refusal | None:
    """Every block, kept ones too, must have B nodes now; soft placements with shorter lists cannot be repaired."""
    short = {b: nodes for b, nodes in sorted(run.blocks.items()) if len(nodes) < run.sizes.block}
    if not short:
        return None
    shown = " ".join(f"{b}:[{' '.join(run.name_list(nodes.tolist()))}]" for b, nodes in short.items())
    run.say(f"blocks {', '.join(map(str, short))} have fewer than {run.sizes.block} nodes", blocks=list(short))
    return Refusal("REPAIR_INCOMPLETE", f"selected nodes map[{shown}] is invalid")
