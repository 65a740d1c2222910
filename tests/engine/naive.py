"""The policies inside a node once more, in plain Python on lists of chip ids, written from chapters 10 §5, §6 and 11.6 to
11.13. Slow and simple; the engine's arrays are held against it."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class View:
    """One node: free and network-unhealthy chip ids (None: key absent), healthy chips, unhealthy chips, Duo label."""

    free: list[int]
    net: list[int] | None
    alloc: int
    unhealthy: int
    duo: bool = True


MAX = {
    "module": 8, "chip4-node4": 4, "chip1-node2": 8, "chip8-node8": 8, "850-Atlas-8p-8": 8, "chip8-node16": 16,
    "chip2-node16": 16, "chip1-node8": 8, "chip1-node16": 16, "chip4-node8": 8, "chip4-node16": 16, "310-card": 64,
    "310-chip": 64, "310P": 64, "duo-card": 32, "duo-chip": 16,
}  # fmt: skip
NET = {"module", "chip4-node4", "chip8-node8", "850-Atlas-8p-8", "chip8-node16", "chip2-node16", "chip4-node8",
       "chip4-node16"}  # fmt: skip
BASE = {
    "chip4-node4",
    "chip1-node2",
    "chip8-node8",
    "850-Atlas-8p-8",
    "chip1-node8",
    "chip1-node16",
    "310-chip",
    "310P",
}
COSTS_910A = {1: [4, 0, 2, 1, 3], 2: [4, 4, 0, 2, 1], 4: [4, 4, 4, 4, 0]}
COSTS_310 = {1: [4, 0, 2, 1, 3], 2: [4, 4, 0, 1, 2], 3: [4, 4, 4, 0, 1], 4: [4, 4, 4, 4, 0]}
COSTS_DUO = {1: [2, 0, 1], 2: [2, 2, 0]}


def usable(policy: str, node: View, pods: int) -> list[int]:
    """Free chips for the job, ascending; empty where the node has none to offer at all."""
    if len(node.free) > MAX[policy]:
        return []
    if pods > 1 and policy in NET:
        return [] if node.net is None else sorted(set(node.free) - set(node.net))
    return sorted(node.free)


def by_group(free: list[int], size: int) -> dict[int, list[int]]:
    groups: dict[int, list[int]] = {}
    for chip in free:
        groups.setdefault(chip // size, []).append(chip)
    return groups


def duo_split(free: list[int]) -> tuple[list[int], list[int]]:
    cards = by_group(free, 2).values()
    return [c for card in cards if len(card) == 1 for c in card], [c for card in cards if len(card) == 2 for c in card]


def accepts(policy: str, node: View, n: int, pods: int, distributed: bool = False) -> bool:
    free = usable(policy, node, pods)
    if not free or not 1 <= n <= MAX[policy]:
        return False
    if policy == "module":
        left, right = [c for c in free if c < 4], [c for c in free if c >= 4]
        return len(free) == 8 if n == 8 else n in (1, 2, 4) and max(len(left), len(right)) >= n
    if policy == "chip8-node16":
        left, right = [c for c in free if c < 8], [c for c in free if c >= 8]
        if n == 16:
            return len(free) == 16
        if n in (9, 11, 13, 15):
            return False
        return max(len(left), len(right)) >= n or (n > 8 and n <= 2 * len(box_pairs(free, pods)))
    if policy == "chip2-node16":
        whole = sum(len(die) == 2 for die in by_group(free, 2).values())
        return len(free) >= n and (n == 1 or 2 * whole >= n)
    if policy in ("chip4-node8", "chip4-node16"):
        sizes = [len(mesh) for mesh in by_group(free, 4).values()]
        if n > 4 and n % 4:
            return len(free) >= n
        return sizes.count(4) >= n // 4 if n >= 4 else max(sizes) >= n
    if policy in ("310-card", "duo-card"):
        return max(len(card) for card in by_group(free, 4 if policy == "310-card" else 2).values()) >= n
    if policy == "duo-chip":
        half, full = duo_split(free)
        if not node.duo or len(free) < n:
            return False
        if not distributed:
            return True
        return n <= len(full) if n % 2 == 0 else n - 1 <= len(full) and n <= len(half) + len(full)
    return len(free) >= n


def box_pairs(free: list[int], pods: int) -> list[tuple[int, int]]:
    left, right = [c for c in free if c < 8], [c for c in free if c >= 8]
    return list(zip(left, right)) if pods > 1 else [(c, c + 8) for c in left if c + 8 in right]  # noqa: B905


def score(policy: str, node: View, n: int, pods: int, distributed: bool = False) -> int:
    """Raw score of a node that `accepts`."""
    free = usable(policy, node, pods)
    if policy in BASE:
        unhealthy = 0 if policy.startswith("310") else node.unhealthy
        return (MAX[policy] - unhealthy) * 100 - len(free)
    if policy == "module":
        rings = [sum(c < 4 for c in free), sum(c >= 4 for c in free)]
        best = 0 if n == 8 else min(COSTS_910A[n][size] for size in rings)
        return 8 * (4 * node.alloc - best) + 8 - len(free)
    if policy == "chip8-node16":
        rings = [sum(c < 8 for c in free), sum(c >= 8 for c in free)]
        if n == 16:
            best = 0
        elif n > 8:
            best = len(box_pairs(free, pods)) - n // 2
        else:
            best = min(size - n for size in rings if size >= n)
        return 16 * (node.alloc - best) + 16 - len(free)
    if policy == "chip2-node16":
        best = len(free) - n
        if n == 1 and all(len(die) == 2 for die in by_group(free, 2).values()):
            best += 16
        return 16 * (32 - best)
    if policy in ("chip4-node8", "chip4-node16"):
        m, weight = MAX[policy], {"chip4-node8": 16, "chip4-node16": 64}[policy]
        if n > 4 and n % 4:
            return m * (m - (len(free) - n))
        sizes = [len(mesh) for mesh in by_group(free, 4).values()]
        spare = sizes.count(4) - n // 4 if n >= 4 else sum(size >= n for size in sizes) - 1
        return weight * (weight - (m * spare + len(free) - n))
    if policy in ("310-card", "duo-card"):
        size, costs = (4, COSTS_310) if policy == "310-card" else (2, COSTS_DUO)
        return 8 * (size - min(costs[n][len(card)] for card in by_group(free, size).values()))
    if not distributed or n > 8:
        return 0
    half, _ = duo_split(free)
    total = len(free)
    if n % 2 == 0 and total <= 8:
        return 8 * (16 - (total - n + 1))
    if n % 2 and half and total <= 7:
        return 8 * (16 - (total - n + 1))
    if n % 2 and total % 2 == 0 and n + 1 <= total <= 8:
        return 8 * (16 - (9 + (total - n - 1) // 2))
    return 0


def pick(policy: str, node: View, n: int, pods: int, distributed: bool = False) -> list[int]:
    """Chips of a node that `accepts`, in the order of selection."""
    free = usable(policy, node, pods)
    if policy == "module" and n < 8:
        rings = [[c for c in free if c < 4], [c for c in free if c >= 4]]
        sizes = {1: (1, 3, 2, 4), 2: (2, 4, 3), 4: (4,)}[n]
        return next(ring[:n] for size in sizes for ring in rings if len(ring) == size)
    if policy == "chip8-node16" and n <= 8:
        rings = [[c for c in free if c < 8], [c for c in free if c >= 8]]
        return next(ring[:n] for size in range(n, 9) for ring in rings if len(ring) == size)
    if policy == "chip8-node16" and n < 16:
        return [c for pair in box_pairs(free, pods)[: n // 2] for c in pair]
    if policy == "chip2-node16" and len(free) != n:
        dies = sorted(by_group(free, 2).items(), key=lambda item: (len(item[1]), item[0]))
        if n == 1:
            return dies[0][1][:1]
        return [c for _, die in dies if len(die) == 2 for c in die][:n]
    if policy in ("chip4-node8", "chip4-node16") and (n <= 4 or n % 4 == 0):
        meshes = by_group(free, 4)
        if n < 4:
            return min((mesh for mesh in meshes.values() if len(mesh) >= n), key=len)[:n]
        return [c for mesh in meshes.values() if len(mesh) == 4 for c in mesh][:n]
    if policy in ("310-card", "duo-card"):
        size, costs = (4, COSTS_310) if policy == "310-card" else (2, COSTS_DUO)
        cards = by_group(free, size).values()
        return min((card for card in cards if len(card) >= n), key=lambda card: costs[n][len(card)])[:n]
    if policy == "310-chip":
        cards = by_group(free, 4).values()
        return [c for size in (1, 2, 3, 4) for card in cards if len(card) == size for c in card][:n]
    if policy == "duo-chip":
        half, full = duo_split(free)
        if not distributed:
            return (half + full)[:n]
        return half[:1] + full[: n - 1] if n % 2 and half else full[:n]
    return free[:n]


def best_node(policy: str, nodes: list[View], n: int, pods: int, distributed: bool, sub_healthy: list[bool]) -> int:
    """Index of the node that a pod takes, -1 = none: chapter 10 §2.7 and the early stop of A3."""
    scores: dict[int, int] = {}
    stopped = False
    for i, node in enumerate(nodes):
        if accepts(policy, node, n, pods, distributed):
            value = 0 if stopped else score(policy, node, n, pods, distributed)
            stopped |= policy == "chip2-node16" and value == 512
            scores[i] = max(0, value - 1) if sub_healthy[i] else value
    return max(scores, key=lambda i: (scores[i], -i), default=-1)
