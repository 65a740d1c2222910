"""The strategy chain of the rack policy: one rack, one UB-memory domain, one SuperPoD, several SuperPoDs, and the soft
remainder (chapter 21 §4, §5, §7). A strategy returns a Refusal to stop, None to go on if blocks are still open."""

from __future__ import annotations

from collections.abc import Callable, Iterable

import numpy as np

from ascendctl.engine.policies.rack_order import (
    RACKS_PER_UB_DOMAIN,
    Racks,
    Refusal,
    Run,
    Sizes,
    fewest_first,
    free_nodes,
    most_first,
    smallest_racks,
    take_block,
    whole_racks,
    without,
)
from ascendctl.validate.rules.rack import RACK_NODES
from ascendctl.wording import counted

RACK, UB_MEMORY, SUPER_POD = "RackSchedule", "UBMemSchedule", "SuperPodSchedule"
SUPER_PODS = "MultiSuperPodsSchedule"


def start_strategy(sizes: Sizes) -> str:
    """The strategy that the chain starts with (chapter 21 §5.1)."""
    if sizes.pods <= RACK_NODES:
        return RACK
    if sizes.ub_memory:
        return UB_MEMORY
    return SUPER_POD if sizes.pods <= sizes.super_pod_size else SUPER_PODS


def run_chain(run: Run) -> Refusal | None:
    """Place all open blocks; None = done. Checks the size of the SuperPoDs first (chapter 21 §4)."""
    over = [s for s, n in run.free.items() if n > run.sizes.super_pod_size]
    if over:
        run.say(
            f"SuperPoD {over[0]} has {run.free[over[0]]} free nodes, more than super-pod-size "
            f"{run.sizes.super_pod_size}: the whole job is refused",
            superpods=over,
        )
        return Refusal("SUPER_POD_SIZE_TOO_SMALL", "super-pod-size is smaller than superPod's node size")
    if not run.open:
        return None
    start = start_strategy(run.sizes)
    for strategy in _CHAINS[start]:
        stop = strategy(run)
        if stop or not run.open:
            return stop
    raise AssertionError("the last strategy of a chain places everything or refuses")


def one_rack(run: Run) -> Refusal | None:
    """The whole job inside one rack (chapter 21 §7.2)."""
    sizes, needed = run.sizes, len(run.open)
    blocks = sum(n // sizes.block for n in run.free.values())
    if blocks < needed and not sizes.soft:
        message = f"before scheduling, required sp-block count={needed}, but total sp-block count={blocks}"
        run.say(
            f"{RACK}: all SuperPoDs together hold {counted(blocks, 'block')} of {counted(sizes.block, 'node')}, "
            f"{needed} needed: stop"
        )
        return Refusal("NOT_ENOUGH_LOGICAL_SUPERPODS", message)
    order = _visit(run, RACK)
    for s in order:
        racks = run.floor[s]
        fit = [r for r in smallest_racks(racks) if sizes.pods <= len(racks[r]) <= RACK_NODES]
        if not fit:
            run.say(
                f"{RACK}: no rack of SuperPoD {s} has {sizes.pods} to {RACK_NODES} free nodes",
                superpod=s,
                racks=_lengths(racks),
            )
            continue
        rack = fit[0]
        run.say(
            f"{RACK}: rack {rack} of SuperPoD {s} takes the job, the smallest that holds {counted(sizes.pods, 'node')} "
            f"({len(racks[rack])} free)",
            superpod=s,
            rack=rack,
            racks=_lengths(racks),
            blocks=_take(run, needed, {rack: racks[rack]}),
        )
        return None
    if not run.blocks and sizes.pods // sizes.rack == 1 and not sizes.soft:
        run.say(f"{RACK}: the job is one logical rack, which must not be split over racks: stop")
        return Refusal(
            "NO_RACK_FOR_LOGICAL_RACK",
            f"not found the 1 count of ra-block:{sizes.ra_npus} in all racks of every super-pod, exit select process",
        )
    run.say(f"scheduling failed in {RACK} strategy, next is {SUPER_POD}")
    return None


def one_ub_domain(run: Run) -> Refusal | None:
    """All open blocks inside one UB-memory domain of one SuperPoD (chapter 21 §7.3)."""
    sizes = run.sizes
    needed = sizes.block * len(run.open)
    for s in _visit(run, UB_MEMORY):
        domains: dict[int, Racks] = {}
        for rack, nodes in run.floor[s].items():
            domains.setdefault(rack // RACKS_PER_UB_DOMAIN, {})[rack] = nodes
        fit = [d for d, racks in domains.items() if whole_racks(racks, sizes.rack) * sizes.rack >= needed]
        if not fit:
            run.say(
                f"{UB_MEMORY}: no UB-memory domain of SuperPoD {s} holds {needed} nodes",
                superpod=s,
                domains={str(d): free_nodes(racks) for d, racks in domains.items()},
            )
            continue
        domain = min(fit, key=lambda d: (free_nodes(domains[d]), d))
        racks = domains[domain]
        run.say(
            f"{UB_MEMORY}: domain {domain} of SuperPoD {s} takes the job, the smallest that holds {needed} nodes "
            f"({free_nodes(racks)} free)",
            superpod=s,
            domain=domain,
            racks=_lengths(racks),
            blocks=_take(run, len(run.open), racks),
        )
        return None
    return Refusal("UBMEM_FAILED", f"scheduling failed in {UB_MEMORY} strategy")


def one_super_pod(run: Run) -> Refusal | None:
    """All open blocks inside one SuperPoD (chapter 21 §7.4)."""
    sizes = run.sizes
    needed = len(run.open) * sizes.block // sizes.rack
    for s in _visit(run, SUPER_POD):
        racks = run.floor[s]
        have = whole_racks(racks, sizes.rack)
        if have < needed:
            run.say(
                f"{SUPER_POD}: SuperPoD {s} holds {have} logical racks of {sizes.rack} nodes, {needed} are needed",
                superpod=s,
                racks=_lengths(racks),
            )
            continue
        run.say(
            f"{SUPER_POD}: SuperPoD {s} takes all open blocks ({have} logical racks, {needed} needed)",
            superpod=s,
            racks=_lengths(racks),
            blocks=_take(run, len(run.open), racks),
        )
        return None
    run.say(f"scheduling failed in {SUPER_POD} strategy, next is {SUPER_PODS}")
    return None


def several_super_pods(run: Run) -> Refusal | None:
    """Whole blocks from several SuperPoDs, then for soft jobs whatever is free (chapter 21 §7.5)."""
    sizes, order = run.sizes, most_first(run.free)
    run.say(
        f"{SUPER_PODS}: SuperPoDs in the order {_ids(order)}, most free nodes first",
        order=order,
    )
    for s in order:
        if not run.open:
            return None
        # The reference filters lazily and can let a faulty node through: here every rack is filtered before counting.
        racks = without(run.floor[s], run.network_bad)
        if dropped := free_nodes(run.floor[s]) - free_nodes(racks):
            run.notes.append(
                f"{dropped} nodes of SuperPoD {s} with network-faulty NPUs were left out before logical racks were "
                f"counted (the reference may miss some of them)"
            )
        lengths, have, per_block = _lengths(racks), whole_racks(racks, sizes.rack), sizes.block // sizes.rack
        gives = min(have // per_block, len(run.open))
        run.say(
            f"{SUPER_PODS}: SuperPoD {s} gives {counted(gives, 'block')} ({counted(have, 'logical rack')} of "
            f"{counted(sizes.rack, 'node')}, {per_block} a block)",
            superpod=s,
            racks=lengths,
            blocks=_take(run, gives, racks),
        )
    if not run.open:
        return None
    if sizes.soft:
        return soft_remainder(run, order)
    return Refusal("MULTI_SUPERPODS_FAILED", f"scheduling failed in {SUPER_PODS} strategy")


def soft_remainder(run: Run, order: Iterable[int]) -> Refusal | None:
    """Single nodes for the blocks that found no place, rack by rack, network-faulty ones included (chapter 21 §7.6)."""
    sizes = run.sizes
    strict = run.placed
    need = missing = max(0, sizes.pods - strict)  # an earlier soft placement may leave more nodes than pods
    left, beyond = list(run.open), sizes.pods
    used = np.zeros(len(run.names), dtype=np.bool_)
    for nodes in run.blocks.values():
        used[nodes] = True
    run.say(
        f"soft: {counted(need, 'pod')} left for single nodes, rack by rack, without regard to blocks and logical racks"
    )
    for s in order:
        if missing == 0:
            break
        racks = without(run.floor[s], used)
        for r in smallest_racks(racks):
            if missing == 0:
                break
            if left:
                block = left.pop(0)
            else:
                block, beyond = beyond, beyond - 1
            nodes = racks[r][:missing]
            missing -= len(nodes)
            run.blocks[block] = np.concatenate((run.blocks[block], nodes)) if block in run.blocks else nodes
            run.soft_ids.append(block)
            run.say(
                f"soft: {counted(len(nodes), 'node')} of rack {r} of SuperPoD {s} as group {block}",
                superpod=s,
                rack=r,
                block=block,
                nodes=run.name_list(nodes.tolist()),
            )
    if missing == 0:
        run.open.clear()
        _note_network_faults(run)
        return None
    literal = f"soft schedule job failed, need <{need}> nodes, could only schedule <{strict - missing}> nodes"
    return Refusal(
        "SOFT_NOT_ENOUGH_NODES",
        f"soft schedule job failed, need <{need}> nodes, could only schedule <{need - missing}> nodes",
        (f"the scheduler's own text has a wrong second number: {literal}",) if need != strict else (),
    )


def _note_network_faults(run: Run) -> None:
    picked = [node for block in dict.fromkeys(run.soft_ids) for node in run.blocks[block].tolist()]
    bad = run.name_list(node for node in picked if run.network_bad[node])
    if bad:
        run.notes.append(
            f"the soft part takes nodes with network-faulty NPUs too, as the scheduler does: {', '.join(bad)}"
        )


_CHAINS: dict[str, tuple[Callable[[Run], Refusal | None], ...]] = {
    RACK: (one_rack, one_super_pod, several_super_pods),
    UB_MEMORY: (one_ub_domain,),
    SUPER_POD: (one_super_pod, several_super_pods),
    SUPER_PODS: (several_super_pods,),
}


def _visit(run: Run, strategy: str) -> list[int]:
    order = fewest_first(run.free, run.sizes.pods)
    if order:
        text = f"SuperPoDs with {counted(run.sizes.pods, 'free node')} or more in the order {_ids(order)}, fewest first"
    else:
        text = f"no SuperPoD has {counted(run.sizes.pods, 'free node')}, the size of the whole job"
    run.say(f"{strategy}: {text}", order=order)
    return order


def _take(run: Run, number: int, racks: Racks) -> dict[str, list[str]]:
    """Place the first open blocks on nodes of `racks` (changed in place); block id -> node names."""
    taken = {}
    for block in run.open[:number]:
        nodes = take_block(racks, run.sizes.block, run.sizes.rack)
        run.put(block, nodes)
        taken[str(block)] = run.name_list(nodes.tolist())
    return taken


def _lengths(racks: Racks) -> dict[str, int]:
    return {str(r): len(nodes) for r, nodes in racks.items()}


def _ids(order: list[int]) -> str:
    shown = ", ".join(map(str, order[:12]))
    return shown + (f" and {len(order) - 12} more" if len(order) > 12 else "")
