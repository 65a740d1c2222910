"""How well the network carries a placement: what HCCL can send over UB, and what falls to RoCE (chapter 50 §7.2, §7.3).

HCCL needs equally large SuperPoDs. Where they are not, it cuts them by the greatest common divisor of their server
counts (NHR-HCF); servers of one SuperPoD in different cuts then talk over RoCE.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from itertools import groupby
from math import gcd


@dataclass(frozen=True)
class Cut:
    """Logical SuperPoDs of N servers in rank order. `groups`: the SuperPoDs that were cut, in order of first rank, and
    `counts` their servers n_i; `common` g; `pieces` k_i; `log`: number of the logical SuperPoD of each server;
    `pairs` P_all; `ub_pairs` P_ub; `crossings` X: neighbours on the ring of ranks in different logical SuperPoDs."""

    groups: tuple[Hashable, ...]
    counts: tuple[int, ...]
    common: int
    pieces: tuple[int, ...]
    log: tuple[int, ...]
    pairs: int
    ub_pairs: int
    crossings: int

    @property
    def logical(self) -> int:
        """L: logical SuperPoDs."""
        return sum(self.pieces)

    @property
    def reach(self) -> float:
        """U: share of all pairs of servers that talk over UB; 1 for a single server."""
        return self.ub_pairs / self.pairs if self.pairs else 1.0


def cut(ids: Sequence[Hashable]) -> Cut:
    """Cut the SuperPoDs of servers in rank order; `ids[r]` is the SuperPoD of rank r."""
    counts: dict[Hashable, int] = {}
    position = []
    for one in ids:
        position.append(counts.get(one, 0))
        counts[one] = counts.get(one, 0) + 1
    common = gcd(*counts.values()) if counts else 0
    pieces = {one: count // common for one, count in counts.items()}
    start: dict[Hashable, int] = {}
    total = 0
    for one, number in pieces.items():
        start[one] = total
        total += number
    log = tuple(start[one] + at // common for one, at in zip(ids, position, strict=True))
    n = len(ids)
    crossings = sum(log[r] != log[(r + 1) % n] for r in range(n))
    return Cut(
        tuple(counts), tuple(counts.values()), common, tuple(pieces.values()), log, n * (n - 1) // 2,
        total * (common * (common - 1) // 2), crossings,
    )  # fmt: skip


def physical_pairs(superpods: Sequence[int]) -> int:
    """P_phys: pairs of servers in one physical SuperPoD; negative ids are none."""
    counts: dict[int, int] = {}
    for one in superpods:
        if one >= 0:
            counts[one] = counts.get(one, 0) + 1
    return sum(m * (m - 1) // 2 for m in counts.values())


def lost_share(superpods: Sequence[int], ub_pairs: int) -> tuple[int, float]:
    """(lost pairs, D): pairs inside a physical SuperPoD that talk over RoCE, and their share; below 0 where the
    grouping claims UB that does not exist."""
    physical = physical_pairs(superpods)
    lost = physical - ub_pairs
    return lost, lost / physical if physical else 0.0


def breaks(ids: Sequence[Hashable]) -> int:
    """How many runs of equal ids there are beyond one a distinct id; 0 = the ranks of every group follow each other."""
    return sum(1 for _ in groupby(ids)) - len(set(ids))


def renumbered(ids: Sequence[Hashable]) -> list[int]:
    """Ranks in an order that brings groups together without moving a pod: groups by first rank, ranks as before."""
    first: dict[Hashable, int] = {}
    for rank, one in enumerate(ids):
        first.setdefault(one, rank)
    return sorted(range(len(ids)), key=lambda rank: (first[ids[rank]], rank))


def split_superpods(superpods: Sequence[int], log: Sequence[int]) -> dict[int, list[list[int]]]:
    """Physical SuperPoD -> its ranks by logical SuperPoD, for those with more than one: between these lists RoCE is
    used although all of them share the SuperPoD."""
    found: dict[int, dict[int, list[int]]] = {}
    for rank, (one, number) in enumerate(zip(superpods, log, strict=True)):
        if one >= 0:
            found.setdefault(one, {}).setdefault(number, []).append(rank)
    return {one: list(parts.values()) for one, parts in found.items() if len(parts) > 1}


def spanning(superpods: Sequence[int], log: Sequence[int]) -> list[int]:
    """Logical SuperPoDs whose servers are not in one physical SuperPoD: HCCL would use UB that does not exist."""
    homes: dict[int, set[int]] = {}
    for one, number in zip(superpods, log, strict=True):
        homes.setdefault(number, set()).add(one)
    return sorted(number for number, found in homes.items() if len(found) > 1)


def block_size(tp: int, cp: int, ep: int, npus: int) -> tuple[int, int]:
    """(h, smallest sp-block): servers of one heavy block of tp*cp*ep chips, and their NPUs (§7.5).

    Raises ValueError if less than a server is asked for and does not divide it.
    """
    chips = tp * cp * ep
    if chips < npus and npus % chips:
        raise ValueError(f"tp*cp*ep = {chips} does not divide the {npus} NPUs of a pod")
    servers = -(-chips // npus)
    return servers, servers * npus


def recommended_block(tp: int, cp: int, ep: int, npus: int, servers: int, largest: int) -> int:
    """The sp-block to write (§7.5): the largest whole number of heavy blocks that divides a job of so many servers and
    fits the largest SuperPoD (in servers); 0 if there is none. Raises ValueError as `block_size`."""
    step, _ = block_size(tp, cp, ep, npus)
    fitting = [n for n in range(step, min(servers, largest) + 1, step) if servers % n == 0]
    return fitting[-1] * npus if fitting else 0


def superpod_score(capacities: Sequence[int], used: Sequence[int]) -> tuple[float, float]:
    """(A, A/110): the article's fragment score of a cluster of SuperPoDs (§7.6); 110 means that every touched SuperPoD
    is full. `used` counts busy nodes. Units without any count worse than any used one (chapter 22 §8.6)."""

    def ratio(total: int, busy: int) -> float:
        return total / busy if busy else total + 1.0

    overall = ratio(sum(capacities), sum(used))
    units = [10 * ratio(c, u) + overall for c, u in zip(capacities, used, strict=True) if u or not any(used)]
    score = 10 * sum(units) / len(units) if units else 0.0
    return score, score / 110
