"""Which nodes of a broken job stay: the fault stage before the queues (chapter 20 §9.3).

Nodes are index numbers; a node that left the snapshot is any negative number of its own.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

Step = tuple[str, Mapping[str, Any]]


@dataclass(frozen=True)
class OldPlan:
    """The plan before the fault. `blocks`: logical SuperPoD -> nodes in rank order; `home`: logical SuperPoD -> id of
    the SuperPoD that it is in."""

    blocks: Mapping[int, tuple[int, ...]]
    home: Mapping[int, int]


@dataclass(frozen=True)
class Loss:
    """What is gone. `fault`: nodes of fault pods; `lost`: nodes whose pod has to be scheduled again (fault pods and
    deleted healthy ones). `pending`: number of pods to schedule, -1 if the scheduler does not count them; `pod_level`:
    healthy pods of the job still run. `released` False: the first attempt is not over 10 s ago, so the job waits for
    nodes of deleted healthy pods."""

    fault: frozenset[int]
    lost: frozenset[int]
    pending: int
    pod_level: bool
    released: bool = True


@dataclass
class Recovery:
    """Result of the stage. `plan` holds the logical SuperPoDs that are ready, `broken` the ids that found damage,
    `left` the candidates by SuperPoD id that are still free, `home` the SuperPoD of each candidate. `reject`: code and
    sentence if the job has to wait."""

    plan: dict[int, tuple[int, ...]]
    left: dict[int, list[int]]
    home: dict[int, int]
    broken: list[int] = field(default_factory=list)
    steps: list[Step] = field(default_factory=list)
    reject: tuple[str, str] | None = None


def fault_stage(
    old: OldPlan, loss: Loss, candidates: Mapping[int, Sequence[int]], size: int, names: Sequence[str]
) -> Recovery:
    """Keep intact logical SuperPoDs, repair broken ones inside their SuperPoD. `candidates`: SuperPoD id -> free nodes
    in natural order, released ones included; `size`: nodes of a logical SuperPoD; `names`: node names, for the trace.
    """
    result = _start(candidates)
    result.reject = _not_released(loss, result.home, names) or _no_spares(old, loss, result.left)
    if result.reject:
        return result
    _keep_intact(old, loss, result)
    _repair(old, loss, size, result, names)
    if loss.pod_level:
        _replace_single(old, loss, result, names)
    return result


def repair_in_place(
    old: OldPlan, loss: Loss, candidates: Mapping[int, Sequence[int]], names: Sequence[str]
) -> Recovery | None:
    """What pod level means (chapter 20 §9.4 and §9.5): healthy pods stay, each lost position of a logical SuperPoD
    that still has healthy pods gets a free node of the same SuperPoD. None if a SuperPoD has too few. Logical
    SuperPoDs that lost all pods are left to the queues."""
    result = _start(candidates)
    for lsp in sorted(old.blocks):
        block = list(old.blocks[lsp])
        gone = [i for i, node in enumerate(block) if node in loss.lost]
        if not gone:
            result.plan[lsp] = old.blocks[lsp]
            continue
        result.broken.append(lsp)
        if len(gone) == len(block):
            continue
        pool = result.left.get(old.home[lsp], [])
        if len(pool) < len(gone):
            return None
        chosen = sorted(pool, key=lambda node: node in loss.fault)[: len(gone)]
        for position, node in zip(gone, chosen, strict=True):
            block[position] = node
        _settle(result, lsp, block, chosen)
        result.steps.append(_moved(f"L{lsp} keeps its running pods", old, lsp, block, names))
    return result


def _start(candidates: Mapping[int, Sequence[int]]) -> Recovery:
    left = {superpod: list(nodes) for superpod, nodes in candidates.items()}
    return Recovery({}, left, {node: superpod for superpod, nodes in left.items() for node in nodes})


def _not_released(loss: Loss, free: Collection[int], names: Sequence[str]) -> tuple[str, str] | None:
    held = sorted(loss.lost - loss.fault - set(free))
    if loss.pod_level or loss.released or not held:
        return None
    return "WAIT_RELEASE", f"nodes of deleted pods are not free yet: {', '.join(_name(node, names) for node in held)}"


def _no_spares(old: OldPlan, loss: Loss, left: Mapping[int, list[int]]) -> tuple[str, str] | None:
    needed: dict[int, int] = {}
    for lsp in sorted(old.blocks):
        gone = sum(node in loss.lost for node in old.blocks[lsp])
        if gone == len(old.blocks[lsp]):
            return None  # a logical SuperPoD without pods may go anywhere
        needed[old.home[lsp]] = needed.get(old.home[lsp], 0) + gone
    for superpod, count in sorted(needed.items()):
        have = len(left.get(superpod, ()))
        if have < count:
            text = f"SuperPoD {superpod} has {have} free nodes for {count} lost pods whose peers still run there"
            return "UNSCHEDULABLE_IN_SUPERPOD", text
    return None


def _keep_intact(old: OldPlan, loss: Loss, result: Recovery) -> None:
    for lsp in sorted(old.blocks):
        block = old.blocks[lsp]
        missing = [node for node in block if node in loss.lost and node not in result.home]
        if any(node in loss.fault for node in block) or missing:
            result.broken.append(lsp)
            continue
        _settle(result, lsp, block, block)
        text = f"L{lsp} keeps its {len(block)} nodes in SuperPoD {old.home[lsp]}"
        result.steps.append((text, {"stage": "keep", "lsp": lsp, "superpod": old.home[lsp]}))


def _repair(old: OldPlan, loss: Loss, size: int, result: Recovery, names: Sequence[str]) -> None:
    planned = {node for block in old.blocks.values() for node in block}
    for lsp in result.broken:
        block, superpod = list(old.blocks[lsp]), old.home[lsp]
        pool = result.left.get(superpod, [])
        if len(pool) < max(size, len(block)):
            text = f"L{lsp} cannot be repaired: SuperPoD {superpod} has {len(pool)} free nodes, {size} are needed"
            result.steps.append((text, {"stage": "repair", "lsp": lsp, "superpod": superpod, "free": len(pool)}))
            continue
        open_positions = [i for i, node in enumerate(block) if node in loss.fault or node not in pool]
        kept = {node for i, node in enumerate(block) if i not in set(open_positions)}
        # strangers first, then healthy nodes of other broken blocks, repaired fault nodes as the last resort
        spares = sorted((n for n in pool if n not in kept), key=lambda n: (n in loss.fault, n in planned, n))
        chosen = spares[: len(open_positions)]
        for position, node in zip(open_positions, chosen, strict=True):
            block[position] = node
        _settle(result, lsp, block, (*kept, *chosen))
        result.steps.append(_moved(f"L{lsp} is repaired in SuperPoD {superpod}", old, lsp, block, names))


def _replace_single(old: OldPlan, loss: Loss, result: Recovery, names: Sequence[str]) -> None:
    """Pod level: only fault positions change; overrides the repair, whose nodes stay used up."""
    for lsp in result.broken:
        block, superpod = list(old.blocks[lsp]), old.home[lsp]
        positions = [i for i, node in enumerate(block) if node in loss.fault]
        pool = result.left.get(superpod, [])
        if not positions or len(positions) > len(pool) or loss.pending >= len(block):
            continue
        for position in positions:
            spare = next((node for node in pool if node not in block), pool[0])
            pool.remove(spare)
            if spare not in block:
                block[position] = spare
        result.plan[lsp] = tuple(block)
        result.steps.append(_moved(f"L{lsp} gets single nodes of SuperPoD {superpod}", old, lsp, block, names))


def _settle(result: Recovery, lsp: int, block: Sequence[int], taken: Iterable[int]) -> None:
    """Mark a logical SuperPoD ready and candidates as used."""
    result.plan[lsp] = tuple(block)
    gone = set(taken)
    for superpod in {result.home[node] for node in gone if node in result.home}:
        result.left[superpod] = [node for node in result.left[superpod] if node not in gone]


def _moved(text: str, old: OldPlan, lsp: int, block: Sequence[int], names: Sequence[str]) -> Step:
    moves = {
        _name(before, names): _name(after, names)
        for before, after in zip(old.blocks[lsp], block, strict=True)
        if before != after
    }
    shown = ", ".join(f"{before} -> {after}" for before, after in moves.items()) or "every pod on its old node"
    return f"{text}: {shown}", {"stage": "repair", "lsp": lsp, "superpod": old.home[lsp], "moves": moves}


def _name(node: int, names: Sequence[str]) -> str:
    return names[node] if node >= 0 else "a node that left the snapshot"
