"""Parallel groups of a training job, and the slowest link inside each (chapter 50 §7.4)."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from math import prod

import numpy as np
from numpy.typing import NDArray

DIMENSIONS = ("tp", "cp", "ep", "dp", "pp")
"""Innermost first, the order that the frameworks use by default."""
HEAVY = ("tp", "cp", "ep")
TIER_NAMES = {
    "T0": "inside a node",
    "T1": "UB inside a rack",
    "T2": "UB",
    "T3": "RoCE although both ends share a SuperPoD",
    "T4": "RoCE below one leaf switch",
    "T5": "RoCE over the spine",
    "TX": "RoCE",
}
"""Links from the fastest to the slowest; TX where leaf switches are unknown."""
Ids = NDArray[np.int32]
_SIZE = re.compile("[1-9][0-9]{0,8}")


class ParallelError(ValueError):
    """Parallel sizes that do not fit the job (NQ-01, NQ-02) or make no sense."""


@dataclass(frozen=True)
class Parallel:
    """Sizes by dimension and their order, innermost first. `inferred`: dp was worked out from the number of chips."""

    sizes: Mapping[str, int]
    order: tuple[str, ...] = DIMENSIONS
    inferred: bool = False


@dataclass(frozen=True)
class Servers:
    """Where N servers are, in rank order; all int32[N]. `log` is the logical SuperPoD; -1 = none or unknown. `npus` c;
    `leaves_known`: the snapshot has a leaf topology."""

    node: Ids
    superpod: Ids
    rack: Ids
    leaf: Ids
    log: Ids
    npus: int
    leaves_known: bool = False


@dataclass(frozen=True)
class GroupQuality:
    """Groups of each dimension by tier (`tiers[name][tier]`), and what follows. `heavy`, `light`: share of groups of
    tp, cp, ep and of dp, pp that leave UB. `verdict`: OK, WARN, BAD or FAIL."""

    sizes: Mapping[str, int]
    tiers: Mapping[str, Mapping[str, int]]
    heavy: float
    light: float
    verdict: str
    notes: tuple[str, ...] = field(default_factory=tuple)


def parse_parallel(text: str, chips: int) -> Parallel:
    """`tp=8,ep=2,pp=4`, with `order=tp:dp:pp` and `experts=nested` where wanted (ep then divides dp). `chips` is W; a
    missing dp takes what is left. Raises ParallelError."""
    sizes: dict[str, int] = {}
    order: tuple[str, ...] = DIMENSIONS
    nested = False
    for part in filter(None, (piece.strip() for piece in text.split(","))):
        name, _, value = part.partition("=")
        if name == "order" and value:
            order = _order(value)
        elif name == "experts" and value in ("nested", "independent"):
            nested = value == "nested"
        elif name in sizes:
            raise ParallelError(f"{name} is given twice")
        elif name in DIMENSIONS and _SIZE.fullmatch(value):
            sizes[name] = int(value)
        else:
            raise ParallelError(
                f"{part!r} is not SIZE of {', '.join(DIMENSIONS)}, as in tp=8, nor order=tp:dp:pp, nor experts=nested"
            )
    if not chips:
        raise ParallelError("its pods hold no whole NPUs")
    inferred = "dp" not in sizes
    if nested and "dp" in sizes:
        if sizes["dp"] % sizes.get("ep", 1):
            raise ParallelError(f"NQ-02: ep {sizes['ep']} does not divide dp {sizes['dp']}")
        sizes["dp"] //= sizes.get("ep", 1)
    if inferred:
        rest, known = divmod(chips, prod(sizes.values())), prod(sizes.values())
        if rest[1]:
            raise ParallelError(f"NQ-01: {_shown(sizes)} = {known} does not divide the {chips} NPUs of the job")
        sizes["dp"] = rest[0]
    if prod(sizes.values()) != chips:
        total = prod(sizes.values())
        raise ParallelError(f"NQ-01: {_shown(sizes)} = {total}, but the job has {chips} NPUs")
    return Parallel(sizes, order, inferred)


def _order(value: str) -> tuple[str, ...]:
    given = tuple(value.split(":"))
    if len(set(given)) != len(given) or not set(given) <= set(DIMENSIONS):
        raise ParallelError(f"order {value!r} is not a sequence of {', '.join(DIMENSIONS)}, innermost first")
    return given + tuple(name for name in DIMENSIONS if name not in given)


def _shown(sizes: Mapping[str, int]) -> str:
    return "*".join(f"{name}{sizes[name]}" for name in DIMENSIONS if name in sizes) or "1"


def judge(servers: Servers, parallel: Parallel, broken: bool = False) -> GroupQuality:
    """The tiers of all groups; `broken`: the ranks of a visible SuperPoD do not follow each other (RK-03)."""
    per_chip = {
        "node": servers.node,
        "rack": _unique(servers.superpod, servers.rack),
        "log": servers.log,
        "superpod": servers.superpod,
        "leaf": servers.leaf,
    }
    chips = {name: np.repeat(values, servers.npus) for name, values in per_chip.items()}
    tiers: dict[str, dict[str, int]] = {}
    stride = 1
    for name in parallel.order:
        size = parallel.sizes.get(name, 1)
        if size > 1:
            tiers[name] = _count(chips, size, stride, servers.leaves_known)
        stride *= size
    heavy, light = (_share(tiers, name_is_heavy) for name_is_heavy in (True, False))
    return GroupQuality(
        {name: parallel.sizes[name] for name in parallel.order if parallel.sizes.get(name, 1) > 1},
        tiers,
        heavy,
        light,
        _verdict(servers, tiers, broken),
    )


def _unique(superpod: Ids, rack: Ids) -> Ids:
    """Rack ids that differ between SuperPoDs; -1 where there is none."""
    width = int(rack.max(initial=0)) + 1
    return np.where((rack >= 0) & (superpod >= 0), superpod * width + rack, -1).astype(np.int32)


def _count(chips: Mapping[str, Ids], size: int, stride: int, leaves_known: bool) -> dict[str, int]:
    """Groups of one dimension by tier."""

    def same(name: str, needed: bool = False) -> NDArray[np.bool_]:
        shaped = chips[name].reshape(-1, size, stride)
        low, high = shaped.min(axis=1), shaped.max(axis=1)
        equal: NDArray[np.bool_] = (low == high) & (low >= 0) if needed else low == high
        return equal

    log = same("log", needed=True)
    tests = (
        ("T0", same("node")),
        ("T1", same("rack", needed=True) & log),
        ("T2", log),
        ("T3", same("superpod", needed=True)),
        ("T4", same("leaf", needed=True)),
    )
    left = np.ones_like(log)
    found: dict[str, int] = {}
    for tier, holds in tests:
        count = int((left & holds).sum())
        if count:
            found[tier] = count
        left &= ~holds
    if left.any():
        found["T5" if leaves_known else "TX"] = int(left.sum())
    return found


def _share(tiers: Mapping[str, Mapping[str, int]], heavy: bool) -> float:
    chosen = [counts for name, counts in tiers.items() if (name in HEAVY) == heavy]
    total = sum(sum(counts.values()) for counts in chosen)
    over = sum(count for counts in chosen for tier, count in counts.items() if tier >= "T3")
    return over / total if total else 0.0


def _verdict(servers: Servers, tiers: Mapping[str, Mapping[str, int]], broken: bool) -> str:
    if broken:
        return "FAIL"
    found = {tier for name, counts in tiers.items() if name in HEAVY for tier in counts}
    outside = found & {"T4", "T5", "TX"}
    if outside:
        no_superpods = bool((servers.superpod < 0).all())
        return "WARN" if no_superpods and outside == {"T4"} else "BAD"
    return "WARN" if "T3" in found else "OK"


def as_ids(values: Sequence[int]) -> Ids:
    """int32 array of ids."""
    return np.array(values, dtype=np.int32)
