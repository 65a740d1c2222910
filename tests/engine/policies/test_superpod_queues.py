"""The queues on counts: worked examples, vectors and properties of chapter 20 §6, §12.1 to §12.5, §15."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ascendctl.engine.policies.superpod_queues import Block, Shape, cell_of, classify, run_queues

VECTORS = [json.loads(line) for line in (Path(__file__).parents[2] / "data" / "superpod-plans.jsonl").open()]
Plan = list[tuple[int, int, int]]


def plan(counts: dict[int, int], shape: Shape, nodes: int) -> list[Block] | str:
    """Blocks with SuperPoD ids, or the reason of a refusal."""
    ids, needed = sorted(counts), nodes // shape.size
    free = [counts[i] for i in ids]
    buckets = classify(free, shape)
    if buckets.oversized >= 0:
        return "size"
    if buckets.whole < needed and not shape.soft:
        return "count"
    found = run_queues(free, buckets, shape, range(needed), range(needed), nodes)
    return [Block(b.lsp, ids[b.superpod], b.count, b.stage, b.before, b.row, b.column) for b in found]


def triples(found: list[Block] | str) -> Plan | str:
    return found if isinstance(found, str) else [(b.lsp, b.superpod, b.count) for b in found]


def stages(found: list[Block] | str) -> str:
    return "".join(b.stage[-1] for b in found) if not isinstance(found, str) else ""


@pytest.mark.parametrize("case", VECTORS, ids=[case["id"] for case in VECTORS])
def test_vectors(case: dict[str, Any]) -> None:
    shape = Shape(case["S"], case["R"], case["Z"], bool(case["soft"]), case["fam"] == "850")
    found = plan({int(key): count for key, count in case["n"].items()}, shape, case["N"])
    if "reject" in case:
        assert found == case["reject"]
    else:
        assert triples(found) == [tuple(block) for block in case["plan"]]
        assert stages(found) == case["q"]


EXAMPLES: list[tuple[str, dict[int, int], tuple[int, int, int], int, bool, Any, str]] = [
    # id, counts, (S, R, Z), N, soft, SuperPoD of each block or refusal, stages
    ("A1", {0: 2}, (2, 2, 10), 4, False, "count", ""),
    ("A2", {0: 4, 1: 5, 2: 6}, (2, 2, 10), 4, False, [0, 1], "aa"),
    ("A3", {1: 5, 2: 6}, (2, 2, 10), 4, False, [2, 2], "aa"),
    ("A4", {1: 5, 2: 8}, (2, 2, 10), 4, False, [1, 2], "ab"),
    ("A5", {0: 3, 1: 5, 2: 8}, (2, 2, 10), 4, False, [1, 2], "ab"),
    ("A6", {0: 3, 1: 5}, (2, 2, 10), 4, False, [1, 0], "a2"),
    ("A7", {0: 5, 1: 5}, (2, 2, 10), 4, False, [0, 1], "aa"),
    ("A8", {0: 1, 1: 3}, (1, 4, 10), 1, False, [1], "2"),
    ("A9", {0: 47, 1: 16, 2: 31, 3: 31, 4: 15}, (14, 2, 48), 42, False, [1, 2, 2], "aaa"),
    ("B1", {0: 48, 1: 17, 2: 33, 3: 34}, (16, 2, 48), 16, False, [2], "a"),
    ("B2", {0: 34, 1: 19, 2: 18}, (16, 2, 48), 32, False, [2, 1], "aa"),
    ("B3", {0: 48, 1: 48, 2: 34, 3: 20}, (16, 2, 48), 32, False, [2, 2], "aa"),
    ("B4", {0: 48, 1: 19, 2: 35}, (16, 2, 48), 32, False, [1, 2], "ab"),
    ("B5", {0: 26, 1: 27, 2: 34}, (16, 2, 48), 32, False, [2, 2], "aa"),
    ("B6", {0: 48, 1: 48, 2: 18, 3: 34}, (16, 2, 48), 48, False, [2, 3, 3], "aaa"),
    ("B7", {0: 48, 1: 48, 2: 48}, (16, 2, 48), 96, False, [0, 0, 1, 1, 2, 2], "aaaaaa"),
    ("B8", {0: 48, 1: 48, 2: 48}, (16, 2, 48), 144, False, [0, 0, 1, 1, 2, 2, 0, 1, 2], "aaaaaa222"),
    ("B9", {0: 48, 1: 47, 2: 33}, (16, 2, 48), 112, False, [1, 1, 0, 0, 2, 2, 0], "aaaaa22"),
    ("B10", {0: 15, 1: 47, 2: 15}, (16, 2, 48), 48, False, "count", ""),
    ("B11", {0: 16, 1: 17, 2: 17}, (16, 2, 48), 48, False, [1, 2, 0], "222"),
    ("B12", {0: 33, 1: 26, 2: 19, 3: 27, 4: 18}, (8, 10, 48), 16, False, [4, 2], "aa"),
    ("B13", {0: 26, 1: 19}, (8, 10, 48), 16, False, [0, 0], "aa"),
    ("B14", {0: 48, 1: 44, 2: 10}, (8, 2, 48), 40, False, [2, 1, 1, 1, 1], "abbbb"),
    ("B15", {0: 48}, (48, 2, 48), 48, False, [0], "2"),
    ("C1", {0: 3, 1: 2}, (1, 2, 48), 1, False, [0], "a"),
    ("C2", {0: 4, 1: 3}, (1, 2, 48), 1, False, [1], "a"),
    ("C3", {0: 2, 1: 1}, (1, 2, 48), 1, False, [0], "2"),
    ("C4", {0: 5, 1: 3, 2: 9}, (1, 2, 48), 4, False, [1, 0, 0, 0], "aaaa"),
    ("C5", {0: 48, 1: 10, 2: 7}, (1, 2, 48), 10, False, [2] * 5 + [1] * 5, "aaaaabbbbb"),
    ("C6", {0: 1, 1: 2, 2: 4}, (1, 2, 48), 4, False, [2, 2, 1, 0], "aa22"),
    ("C7", {0: 3}, (1, 2, 48), 3, False, [0, 0, 0], "a23"),
    ("C8", {0: 2}, (1, 0, 2), 2, False, [0, 0], "aa"),
    ("F1", {0: 16, 1: 17, 2: 15, 3: 9, 4: 2}, (16, 2, 48), 48, True, [(1, 16), (0, 16), (1, 1), (2, 15)], "2233"),
    ("F2", {0: 16, 1: 17, 2: 15, 3: 9, 4: 2}, (16, 2, 48), 48, False, "count", ""),
    ("F3", {0: 3, 1: 2, 2: 1}, (4, 2, 10), 4, True, [(1, 2), (0, 3)], "33"),
    ("F4", {0: 7, 1: 3, 2: 3}, (4, 2, 10), 8, True, [(0, 4), (1, 3), (2, 3)], "a33"),
    ("F5", {0: 5, 1: 3, 2: 2, 3: 1}, (4, 2, 10), 8, True, [(0, 4), (0, 1), (2, 2), (1, 3)], "2333"),
    ("F6", {0: 6, 1: 8}, (4, 2, 10), 8, True, [(0, 4), (1, 4)], "aa"),
    ("G1", {0: 5}, (1, 5, 10), 5, False, [0, 0], "23"),
    ("G2", {0: 6, 1: 3}, (2, 5, 10), 8, False, [(0, 2), (1, 2), (0, 2), (1, 1)], "2233"),
    ("G4", {0: 70}, (16, 2, 48), 16, False, "size", ""),
    ("G5", {0: 49}, (16, 2, 48), 16, False, [0], "b"),
    ("G7", {0: 5, 1: 3}, (2, 2, 10), 5, False, [(0, 2), (1, 2), (1, 1)], "a23"),
]


@pytest.mark.parametrize("example", EXAMPLES, ids=[example[0] for example in EXAMPLES])
def test_worked_examples(example: tuple[str, dict[int, int], tuple[int, int, int], int, bool, Any, str]) -> None:
    _, counts, sizes, nodes, soft, expected, queues = example
    found = plan(counts, Shape(*sizes, soft), nodes)
    if isinstance(expected, str):
        assert found == expected
        return
    pairs = [block if isinstance(block, tuple) else (block, sizes[0]) for block in expected]
    assert triples(found) == [(lsp, superpod, count) for lsp, (superpod, count) in enumerate(pairs)]
    assert stages(found) == queues


def test_atlas_850_refuses_fragments_of_a_hard_job_but_spends_their_id() -> None:
    found = plan({0: 6, 1: 3}, Shape(2, 5, 10, atlas_850=True), 8)
    assert triples(found) == [(0, 0, 2), (1, 1, 2), (2, 0, 2)]  # G3; SuperPoD 1 would get id 3


def test_atlas_850_refuses_a_superpod_above_the_limit() -> None:
    assert plan({0: 49}, Shape(16, 2, 48, atlas_850=True), 16) == "size"  # G6
    assert plan({0: 49, 1: 20}, Shape(16, 2, 48), 32) != "size"  # V29: the A3 family tolerates it


@pytest.mark.parametrize(
    ("sizes", "blocks", "first", "second"),
    [
        ((16, 2), 1, [*range(18, 49)], [17, 16]),
        ((16, 2), 2, [18, 34, 19, 35, 20, 36, 21, 37], [17, 16]),
        ((8, 2), 1, [*range(10, 49)], [9, 8]),
        ((8, 2), 2, [10, 18, 11, 19, 12, 20], [9, 8]),
        (
            (8, 10),
            2,
            [18, 26, 19, 27, 20, 28, 21, 29, 22, 30, 23, 31, 24, 32, 25, 33, 34, 35],
            [17, 16, 15, 14, 13, 12, 11],
        ),
        ((8, 10), 2, [18, 26], [11, 9, 10, 8]),
        ((1, 2), 1, [3, 4, 5, 6], [2, 1]),
        ((4, 2), 2, [6, 10, 7, 8, 9], [5, 4]),
    ],
)
def test_visiting_order(sizes: tuple[int, int], blocks: int, first: list[int], second: list[int]) -> None:
    """The table of §6.4: of any two SuperPoDs, the one whose count stands earlier gives its nodes first (D1)."""
    size, reserve = sizes
    shape = Shape(size, reserve, 10 if size == 4 else 48)
    order = [*first, *second]
    for i, early in enumerate(order):
        for late in order[i + 1 :]:
            # the larger id gets the earlier count, so that the id cannot decide; one block: nothing is drained before
            found = plan({7: late, 9: early}, shape, size * blocks)
            assert not isinstance(found, str) or early // size + late // size < blocks
            if not isinstance(found, str):
                assert found[0].superpod == 9, (early, late)


def test_cells() -> None:
    assert [cell_of(n, Shape(14, 2, 48)) for n in (47, 16, 31, 15)] == [(3, 3), (0, 1), (1, 2), (13, 0)]  # A9
    assert cell_of(9, Shape(8, 10, 48)) == (1, 0)
    assert cell_of(1, Shape(1, 5, 10)) == (0, 0)


def test_a_new_id_never_repeats_a_known_one() -> None:
    # known ids 0, 1, 3: three of them, but id 3 is taken, so fragments become 4, 5 (trap 18)
    shape = Shape(4, 2, 10, soft=True)
    found = run_queues([1, 1], classify([1, 1], shape), shape, [], [0, 1, 3], 2)
    assert [block.lsp for block in found] == [4, 5]


COUNTS = st.lists(st.integers(0, 40), min_size=1, max_size=12)


@given(COUNTS, st.integers(1, 12), st.integers(0, 12), st.integers(1, 10), st.booleans())
@settings(max_examples=300, deadline=None)
def test_properties(counts: list[int], size: int, reserve: int, blocks: int, soft: bool) -> None:
    """§15: what holds for every plan with R <= S."""
    reserve = min(reserve, size)
    shape, nodes = Shape(size, reserve, 48, soft), blocks * size
    buckets = classify(counts, shape)
    assert buckets.oversized == -1
    assert buckets.whole == sum(n // size for n in counts)
    if buckets.whole < blocks and not soft:
        return
    found = run_queues(counts, buckets, shape, range(blocks), range(blocks), nodes)
    left = list(counts)
    for block in found:
        assert block.before == left[block.superpod]
        left[block.superpod] -= block.count
        assert 0 < block.count <= size
    assert min(left) >= 0
    assert sorted(block.lsp for block in found) == list(range(len(found)))
    covered = sum(block.count for block in found)
    if not soft:
        assert covered == nodes
        assert all(block.count == size for block in found)
    elif sum(counts) >= nodes:
        assert covered >= nodes
    used = {block.superpod for block in found}
    if sum(max(0, (n - reserve) // size) for n in counts) >= blocks:
        assert {block.stage for block in found} <= {"1a", "1b"}
        assert all(left[i] >= reserve for i in used)
        assert sum(left[i] > reserve + size - 1 for i in used) <= 1


@given(COUNTS, st.integers(1, 8), st.integers(0, 20), st.integers(1, 10), st.booleans(), st.booleans())
@settings(max_examples=200, deadline=None)
def test_properties_with_any_reserve(
    counts: list[int], size: int, reserve: int, blocks: int, soft: bool, atlas_850: bool
) -> None:
    shape = Shape(size, reserve, 48, soft, atlas_850)
    found = run_queues(counts, classify(counts, shape), shape, range(blocks), range(blocks), blocks * size)
    assert len({block.lsp for block in found}) == len(found)
    for i, count in enumerate(counts):
        assert sum(block.count for block in found if block.superpod == i) <= count
    if atlas_850 and not soft:
        assert all(block.count == size for block in found)
    assert run_queues(counts, classify(counts, shape), shape, range(blocks), range(blocks), blocks * size) == found
