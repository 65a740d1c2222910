"""`networkTopology` of a Volcano Job as group sizes of a multi-level job, and the scores that Volcano gives HyperNodes
(chapter 22 §7.2, §7.4, §7.5)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from ascendctl.topology.hypernode import HyperNodes


class TopologyError(ValueError):
    """The constraint cannot be mapped to a tree (ML-H08), or the API server would refuse it."""


@dataclass(frozen=True)
class Constraint:
    """networkTopology: `hard` with a `tier` (None = no limit)."""

    hard: bool = True
    tier: int | None = None


def read_constraint(value: Any, forest: HyperNodes) -> Constraint | None:
    """A `networkTopology` mapping; None if it is absent. A tier name that no HyperNode has means no limit.

    Raises TopologyError for values that the API server refuses.
    """
    if value is None:
        return None
    if not isinstance(value, Mapping):
        raise TopologyError("networkTopology is no mapping")
    mode, tier, name = value.get("mode", "hard"), value.get("highestTierAllowed"), value.get("highestTierName")
    if mode not in ("hard", "soft"):
        raise TopologyError(f"networkTopology.mode is {mode!r}, expected hard or soft")
    if tier is not None and name:
        raise TopologyError(
            "must not specify 'highestTierAllowed' and 'highestTierName' in networkTopology simultaneously"
        )
    if tier is not None and (isinstance(tier, bool) or not isinstance(tier, int) or tier < 0):
        raise TopologyError(f"networkTopology.highestTierAllowed is {tier!r}, expected a whole number from 0")
    return Constraint(mode == "hard", forest.tier_of(name) if isinstance(name, str) and name else tier)


def group_tries(
    pods: int,
    tiers: Sequence[int],
    constraint: Constraint,
    partition: int = 0,
    partition_constraint: Constraint | None = None,
) -> tuple[tuple[int, ...], ...]:
    """Group sizes (level1 first) to try in order, lowest tier first, so that the first that fits is where Volcano puts
    the job. `partition` = pods of one partition, 0 = none. The mapping holds if every pod takes a whole node.

    Raises TopologyError (ML-H08) if no HyperNode has a tier that low.
    """
    if partition and pods % partition:
        raise TopologyError(f"{pods} pods are no whole number of partitions of {partition}")
    limit = constraint.tier if constraint.hard else None
    top = len(tiers) if limit is None else _level(tiers, limit)
    size, lowest = 1, top
    inner = partition_constraint or Constraint()
    if partition and inner.hard and inner.tier is not None:
        size, lowest = partition, _level(tiers, inner.tier)
    tries = []
    if limit is not None or not constraint.hard:
        tries = [_sizes(pods, size, min(lowest, level), level) for level in range(1, top + 1)]
    if limit is None:
        tries.append(_sizes(size, size, lowest, top) if size > 1 else (1,))
    return tuple(tries)


def _level(tiers: Sequence[int], limit: int) -> int:
    """The highest level whose tier is within a limit."""
    level = sum(tier <= limit for tier in tiers)
    if level == 0:
        raise TopologyError(f"ML-H08: no HyperNode has tier {limit} or lower")
    return level


def _sizes(pods: int, partition: int, lowest: int, top: int) -> tuple[int, ...]:
    return tuple(1 if i < lowest else partition if i < top else pods for i in range(1, top + 1))


@dataclass(frozen=True)
class Weights:
    """Arguments of the plugin network-topology-aware. `resources`: weight of each resource that counts; a negative one
    means 1."""

    weight: float = 1
    resources: Mapping[str, float] = field(default_factory=lambda: {"cpu": 1, "memory": 1})

    def of(self, resource: str) -> float:
        """Weight of a resource, 0 = it does not count."""
        weight = self.resources.get(resource, 0)
        return 1 if weight < 0 else weight


Amounts = Mapping[str, float]


def bin_pack(request: Amounts, used: Amounts, allocatable: Amounts, weights: Weights) -> float:
    """How full a HyperNode is with a request, 0 to 1; 0 if it does not fit or nothing counts."""
    counted = {name: weights.of(name) for name, amount in request.items() if amount > 0 and weights.of(name) > 0}
    total = sum(counted.values())
    if not total:
        return 0.0
    score = 0.0
    for name, weight in counted.items():
        needed, available = used.get(name, 0) + request[name], allocatable.get(name, 0)
        if needed > available:
            return 0.0
        score += weight * needed / available
    return score / total


def hypernode_scores(
    request: Amounts,
    candidates: Mapping[str, tuple[Amounts, Amounts]],
    weights: Weights,
    placed: Mapping[str, int] | None = None,
    pods: int = 1,
) -> dict[str, float]:
    """Score of each HyperNode for a sub-group, best first, equal ones by name. `candidates` map a name to (used,
    allocatable); `placed` counts the pods of the sub-group that each holds, which decides between equal bests."""
    scores = {name: bin_pack(request, used, total, weights) for name, (used, total) in sorted(candidates.items())}
    best = [name for name, score in scores.items() if score == max(scores.values())]
    for name in best if len(best) > 1 else []:
        scores[name] += (placed or {}).get(name, 0) / pods
    scaled = {name: 100 * weights.weight * score for name, score in scores.items()}
    return dict(sorted(scaled.items(), key=lambda pair: (-pair[1], pair[0])))
