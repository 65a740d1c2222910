"""Worked numbers of chapter 50 §7.7: distribution over SuperPoDs, contiguity, fragment score."""

from __future__ import annotations

from math import gcd

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ascendctl.ranks.quality import (
    block_size,
    breaks,
    cut,
    lost_share,
    physical_pairs,
    recommended_block,
    renumbered,
    spanning,
    split_superpods,
    superpod_score,
)


def spread(counts: list[int]) -> list[int]:
    return [superpod for superpod, count in enumerate(counts) for _ in range(count)]


@pytest.mark.parametrize(
    ("counts", "n", "g", "logical", "pieces", "physical", "ub", "lost", "reach", "loss"),
    [
        ([8], 8, 8, 1, (1,), 28, 28, 0, 1.0, 0),
        ([5, 5], 10, 5, 2, (1, 1), 20, 20, 0, 0.4444, 0),
        ([4, 2], 6, 2, 3, (2, 1), 7, 3, 4, 0.2, 0.5714),
        ([4, 4, 2], 10, 2, 5, (2, 2, 1), 13, 5, 8, 0.1111, 0.6154),
        ([6, 4], 10, 2, 5, (3, 2), 21, 5, 16, 0.1111, 0.7619),
        ([7, 5], 12, 1, 12, (7, 5), 31, 0, 31, 0, 1),
        ([47, 1], 48, 1, 48, (47, 1), 1081, 0, 1081, 0, 1),
        ([12, 8], 20, 4, 5, (3, 2), 94, 30, 64, 0.1579, 0.6809),
        ([24, 24, 16], 64, 8, 8, (3, 3, 2), 672, 224, 448, 0.1111, 0.6667),
        ([16, 16, 16], 48, 16, 3, (1, 1, 1), 360, 360, 0, 0.3191, 0),
    ],
)
def test_distribution(
    counts: list[int], n: int, g: int, logical: int, pieces: tuple[int, ...], physical: int, ub: int, lost: int,
    reach: float, loss: float,
) -> None:  # fmt: skip
    ids = spread(counts)
    found = cut(ids)
    assert (len(ids), found.common, found.logical, found.pieces) == (n, g, logical, pieces)
    assert (physical_pairs(ids), found.ub_pairs) == (physical, ub)
    assert lost_share(ids, found.ub_pairs) == (lost, pytest.approx(loss, abs=5e-5))
    assert found.reach == pytest.approx(reach, abs=5e-5)


def test_q03_ranks_0_and_3_share_a_superpod_but_use_roce() -> None:
    ids = spread([4, 2])
    found = cut(ids)
    assert found.log == (0, 0, 1, 1, 2, 2)
    assert split_superpods(ids, found.log) == {0: [[0, 1], [2, 3]]}


@pytest.mark.parametrize(
    ("counts", "block", "logical", "ub", "lost", "reach"),
    [
        ([4, 4], 2, 4, 4, 8, 0.1429),
        ([4, 4], 4, 2, 12, 0, 0.4286),
        ([24, 24, 16], 8, 8, 224, 448, 0.1111),
        ([24, 24, 16], 4, 16, 96, 576, 0.0476),
    ],
)
def test_hard_blocks(counts: list[int], block: int, logical: int, ub: int, lost: int, reach: float) -> None:
    ids = spread(counts)
    found = cut([rank // block for rank in range(len(ids))])
    assert (found.logical, found.ub_pairs, lost_share(ids, found.ub_pairs)[0]) == (logical, ub, lost)
    assert found.reach == pytest.approx(reach, abs=5e-5)


@pytest.mark.parametrize(
    ("text", "broken"), [("AAAABB", 0), ("AABBAA", 1), ("ABABAB", 4), ("CCAABB", 0), ("", 0), ("A", 0)]
)
def test_contiguity(text: str, broken: int) -> None:
    assert breaks(text) == broken


@pytest.mark.parametrize(("text", "crossings"), [("AAAAABBBBB", 2), ("AABBCC", 3), ("AAAA", 0), ("ABABAB", 6)])
def test_ring_crossings(text: str, crossings: int) -> None:
    assert cut(text).crossings == crossings


def test_renumbering_brings_superpods_together() -> None:
    order = renumbered("AABBAA")
    assert order == [0, 1, 4, 5, 2, 3]
    assert breaks(["AABBAA"[rank] for rank in order]) == 0


def test_one_superpod_claimed_over_two() -> None:
    assert spanning([1, 1, 2, 2], cut([0, 0, 0, 0]).log) == [0]
    assert spanning([1, 1, 2, 2], cut([1, 1, 2, 2]).log) == []
    assert lost_share([1, 2], cut([0, 0]).ub_pairs) == (-1, 0.0)


@pytest.mark.parametrize(
    ("tp", "cp", "ep", "npus", "servers", "block"),
    [(8, 1, 2, 8, 2, 16), (16, 1, 4, 16, 4, 64), (8, 2, 1, 16, 1, 16), (4, 1, 2, 8, 1, 8), (32, 1, 1, 16, 2, 32)],
)
def test_sizing(tp: int, cp: int, ep: int, npus: int, servers: int, block: int) -> None:
    assert block_size(tp, cp, ep, npus) == (servers, block)


@pytest.mark.parametrize(
    ("sizes", "npus", "servers", "largest", "block"),
    [
        ((8, 1, 2), 8, 12, 8, 48),  # h = 2; 6 of 2, 4, 6 divides 12 and is the largest up to 8
        ((8, 1, 2), 8, 12, 5, 32),  # 4 of them
        ((16, 1, 4), 16, 8, 48, 128),  # h = 4; the whole job of 8
        ((16, 1, 4), 16, 6, 48, 0),  # neither 4 nor 8 divides 6
        ((4, 1, 2), 8, 3, 48, 24),  # a group a server
    ],
)
def test_recommended_block(sizes: tuple[int, int, int], npus: int, servers: int, largest: int, block: int) -> None:
    assert recommended_block(*sizes, npus, servers, largest) == block


def test_a_heavy_block_below_a_server_divides_it() -> None:
    with pytest.raises(ValueError, match="does not divide"):
        block_size(3, 1, 1, 8)


@pytest.mark.parametrize(
    ("capacities", "used", "score", "norm"),
    [
        ([8, 8], [4, 0], 240, 2.1818),
        ([8, 8], [2, 2], 440, 4.0),
        ([8, 8], [8, 0], 120, 1.0909),
        ([8, 8], [5, 5], 176, 1.6),
        ([8, 4], [4, 0], 230, 2.0909),
        ([8, 4], [0, 4], 130, 1.1818),
        ([8, 8], [8, 8], 110, 1.0),
    ],
)
def test_fragment_score(capacities: list[int], used: list[int], score: float, norm: float) -> None:
    found = superpod_score(capacities, used)
    assert found == (pytest.approx(score), pytest.approx(norm, abs=5e-5))


def test_an_unused_cluster_scores_worse_than_any_used_one() -> None:
    assert superpod_score([8, 8], [0, 0])[0] > superpod_score([8, 8], [1, 0])[0]


@given(st.lists(st.integers(0, 4), min_size=1, max_size=40))
def test_cuts_are_equal_and_keep_to_their_superpod(ids: list[int]) -> None:
    found = cut(ids)
    sizes = [found.log.count(number) for number in range(found.logical)]
    assert sizes == [found.common] * found.logical
    assert found.common == gcd(*(ids.count(one) for one in set(ids)))
    assert spanning(ids, found.log) == []
    pairs = sum(found.log[i] == found.log[j] for i in range(len(ids)) for j in range(i))
    assert pairs == found.ub_pairs
