"""Worked numbers of chapter 50 §7.7 on parallel groups, Q-11 to Q-22."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ascendctl.ranks.groups import (
    DIMENSIONS,
    HEAVY,
    Parallel,
    ParallelError,
    Servers,
    as_ids,
    judge,
    parse_parallel,
)
from ascendctl.ranks.quality import breaks, cut


def servers(counts: list[int], npus: int, block: int = 0, rack: int = 0, leaf: int = 0, order: str = "") -> Servers:
    """Servers by SuperPoD counts ([] with `leaf` only: none); `block` servers a logical SuperPoD of the hard strategy,
    0 = the cut on the counts."""
    ids = [ord(c) - 65 for c in order] or [i for i, count in enumerate(counts) for _ in range(count)]
    n = len(ids) or leaf * 2
    superpod = ids or [-1] * n
    log = [r // block for r in range(n)] if block else list(cut(ids).log) if ids else list(range(n))
    return Servers(
        as_ids(range(n)),
        as_ids(superpod),
        as_ids([r // rack if rack else -1 for r in range(n)]),
        as_ids([r // leaf if leaf else -1 for r in range(n)]),
        as_ids(log),
        npus,
        bool(leaf),
    )


def judged(where: Servers, broken: bool = False, order: tuple[str, ...] = DIMENSIONS, **sizes: int) -> Any:
    return judge(where, Parallel(sizes, order), broken)


def test_q11() -> None:
    found = judged(servers([4, 4], 16), tp=16, pp=4, dp=2)
    assert found.tiers == {"tp": {"T0": 8}, "dp": {"T2": 64}, "pp": {"TX": 32}}  # tp, dp, pp
    assert found.verdict == "OK"
    other = judged(servers([4, 4], 16), order=("tp", "pp", "dp"), tp=16, pp=4, dp=2)
    assert other.tiers == {"tp": {"T0": 8}, "pp": {"T2": 32}, "dp": {"TX": 64}}
    assert other.verdict == "OK"


def test_q12_even_but_ep_pairs_cross() -> None:
    found = judged(servers([5, 5], 8), tp=8, ep=2, dp=5)
    assert found.tiers == {"tp": {"T0": 10}, "ep": {"T2": 32, "TX": 8}, "dp": {"TX": 16}}
    assert (found.heavy, found.verdict) == (pytest.approx(8 / 50), "BAD")


@pytest.mark.parametrize("counts", [[4, 4, 2], [6, 4]])
def test_q13_uneven_and_nothing_heavy_crosses(counts: list[int]) -> None:
    found = judged(servers(counts, 8), tp=8, ep=2, dp=5)
    assert found.tiers == {"tp": {"T0": 10}, "ep": {"T2": 40}, "dp": {"TX": 16}}
    assert (found.heavy, found.verdict) == (0, "OK")
    assert cut([0] * 5 + [1] * 5).reach > cut([0] * 4 + [1] * 4 + [2] * 2).reach  # and yet Q-12 is the worse one


def test_q15() -> None:
    found = judged(servers([7, 3], 8), tp=8, ep=2, dp=5)
    assert found.tiers["ep"] == {"T3": 32, "TX": 8}
    assert (found.heavy, found.verdict) == (pytest.approx(40 / 50), "BAD")


def test_q16_and_q17() -> None:
    bad = judged(servers([6, 2], 8), tp=8, ep=4, dp=2)
    assert bad.tiers["ep"] == {"T3": 8, "TX": 8}
    assert bad.tiers["dp"] == {"T3": 16, "TX": 16}
    assert bad.verdict == "BAD"
    good = judged(servers([4, 4], 8), tp=8, ep=4, dp=2)
    assert good.tiers["ep"] == {"T2": 16}
    assert good.tiers["dp"] == {"TX": 32}
    assert good.verdict == "OK"


def test_q18() -> None:
    bad = judged(servers([5, 3], 16), tp=32, dp=4)
    assert bad.tiers["tp"] == {"T3": 3, "TX": 1}
    assert bad.verdict == "BAD"
    good = judged(servers([4, 4], 16), tp=32, dp=4)
    assert good.tiers["tp"] == {"T2": 4}
    assert good.verdict == "OK"


def test_q19_racks() -> None:
    found = judged(servers([8], 8, rack=2), tp=8, ep=2, dp=2, pp=2)
    assert found.tiers == {"tp": {"T0": 8}, "ep": {"T1": 32}, "dp": {"T2": 32}, "pp": {"T2": 32}}
    assert found.verdict == "OK"


def test_q20_leaf_switches() -> None:
    found = judged(servers([], 8, leaf=4), order=("tp", "pp", "dp"), tp=8, pp=2, dp=4)
    assert found.tiers == {"tp": {"T0": 8}, "pp": {"T4": 32}, "dp": {"T5": 16}}
    assert (found.heavy, found.verdict) == (0, "OK")


def test_without_superpods_one_leaf_is_a_warning_and_the_spine_is_bad() -> None:
    assert judged(servers([], 8, leaf=4), tp=16, dp=4).verdict == "WARN"
    assert judged(servers([], 8, leaf=2), tp=32).verdict == "BAD"


def test_q21_small_blocks() -> None:
    warned = judged(servers([4, 4], 16, block=2), tp=16, ep=4, dp=2)
    assert warned.tiers["ep"] == {"T3": 32}
    assert warned.verdict == "WARN"
    fine = judged(servers([4, 4], 16, block=4), tp=16, ep=4, dp=2)
    assert fine.tiers["ep"] == {"T2": 32}
    assert fine.verdict == "OK"


def test_q22_interleaved() -> None:
    assert breaks("ABAB") == 2
    found = judged(servers([], 16, order="ABAB"), broken=True, tp=16, ep=2, dp=2)
    assert found.tiers["ep"] == {"TX": 32}
    assert found.tiers["dp"] == {"T2": 32}
    assert found.verdict == "FAIL"


def test_two_pods_on_one_node_are_one_node() -> None:
    where = servers([2], 4)
    same = Servers(as_ids([7, 7]), where.superpod, where.rack, where.leaf, where.log, 4)
    assert judge(same, Parallel({"tp": 8})).tiers == {"tp": {"T0": 1}}


@pytest.mark.parametrize(
    ("text", "chips", "sizes"),
    [
        ("tp=8,ep=2,pp=4", 128, {"tp": 8, "ep": 2, "pp": 4, "dp": 2}),
        ("tp=8, dp=2", 16, {"tp": 8, "dp": 2}),
        ("tp=8,ep=2,dp=4,experts=nested", 32, {"tp": 8, "ep": 2, "dp": 2}),
        ("", 4, {"dp": 4}),
    ],
)
def test_sizes(text: str, chips: int, sizes: dict[str, int]) -> None:
    assert parse_parallel(text, chips).sizes == sizes


def test_order() -> None:
    assert parse_parallel("tp=2,order=tp:pp:dp", 4).order == ("tp", "pp", "dp", "cp", "ep")
    assert parse_parallel("tp=2", 4).inferred
    assert not parse_parallel("tp=2,dp=2", 4).inferred


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("tp=8,dp=3", "NQ-01: tp8\\*dp3 = 24, but the job has 16 NPUs"),
        ("tp=3", "NQ-01: tp3 = 3 does not divide the 16 NPUs"),
        ("tp=4,ep=3,dp=4,experts=nested", "NQ-02: ep 3 does not divide dp 4"),
        ("sp=2", "'sp=2' is not SIZE of tp, cp, ep, dp, pp"),
        ("tp=0", "is not SIZE"),
        ("tp", "is not SIZE"),
        ("tp=2,tp=4", "tp is given twice"),
        ("tp=" + "9" * 5000, "is not SIZE"),
        ("tp=2,order=tp:tp", "order 'tp:tp'"),
    ],
)
def test_sizes_that_make_no_sense(text: str, message: str) -> None:
    with pytest.raises(ParallelError, match=message):
        parse_parallel(text, 16)


def test_pods_without_whole_npus_have_no_groups() -> None:
    with pytest.raises(ParallelError, match="hold no whole NPUs"):
        parse_parallel("tp=8", 0)


@settings(max_examples=60, deadline=None)
@given(st.data())
def test_tiers_against_the_definition(data: Any) -> None:
    """Every group by hand, member by member."""
    npus = data.draw(st.sampled_from([1, 2, 4]))
    count = data.draw(st.sampled_from([2, 3, 4, 6]))
    ids = data.draw(st.lists(st.integers(0, 2), min_size=count, max_size=count))
    racks = data.draw(st.lists(st.integers(-1, 1), min_size=count, max_size=count))
    leaves = data.draw(st.lists(st.integers(-1, 1), min_size=count, max_size=count))
    where = Servers(
        np.arange(count, dtype=np.int32), as_ids(ids), as_ids(racks), as_ids(leaves), as_ids(cut(ids).log), npus, True
    )
    chips = npus * count
    first = data.draw(st.sampled_from([n for n in range(1, chips + 1) if chips % n == 0]))
    sizes = {"tp": first, "dp": chips // first}
    found = judge(where, Parallel(sizes))
    stride = 1
    for name in ("tp", "dp"):
        size = sizes[name]
        by_tier: dict[str, int] = {}
        for base in range(chips):
            if base // stride % size == 0 and size > 1:
                members = [(base + t * stride) // npus for t in range(size)]
                tier = _tier(where, members)
                by_tier[tier] = by_tier.get(tier, 0) + 1
        assert dict(found.tiers.get(name, {})) == by_tier
        stride *= size
    heavy = [tier for name in HEAVY for tier, n in found.tiers.get(name, {}).items() for _ in range(n)]
    assert found.heavy == pytest.approx(sum(t >= "T3" for t in heavy) / len(heavy) if heavy else 0)


def _tier(where: Servers, members: list[int]) -> str:
    def same(values: Any) -> bool:
        return len({int(values[m]) for m in members}) == 1

    rack = len({(int(where.superpod[m]), int(where.rack[m])) for m in members}) == 1 and where.rack[members[0]] >= 0
    tests = [
        ("T0", same(where.node)),
        ("T1", rack and same(where.log)),
        ("T2", same(where.log)),
        ("T3", same(where.superpod)),
        ("T4", same(where.leaf) and where.leaf[members[0]] >= 0),
        ("T5", True),
    ]
    return next(name for name, holds in tests if holds)
