"""Grouping, visiting order and the block primitive: chapter 21 §6."""

from __future__ import annotations

import numpy as np
import pytest

from ascendctl.engine.policies.rack_order import (
    fewest_first,
    free_nodes,
    group,
    most_first,
    smallest_racks,
    take_block,
    whole_racks,
    without,
)


def racks(*lengths):
    starts = np.concatenate(([0], np.cumsum(lengths)))
    return {r: np.arange(starts[r], starts[r + 1]) for r in range(len(lengths))}


def test_group_sorts_by_superpod_rack_and_name_order():
    superpod = np.array([1, 0, 1, 0, 1], dtype=np.int32)
    rack = np.array([0, 5, 3, 5, 0], dtype=np.int32)
    floor = group(np.array([0, 1, 2, 3, 4]), superpod, rack)
    assert {s: {r: part.tolist() for r, part in found.items()} for s, found in floor.items()} == {
        0: {5: [1, 3]},
        1: {0: [0, 4], 3: [2]},
    }
    assert list(floor) == [0, 1]
    assert group(np.array([], dtype=np.int64), superpod, rack) == {}


def test_the_same_rack_id_in_two_superpods_is_two_racks():
    ids = np.array([0, 1], dtype=np.int32)
    assert [list(found) for found in group(np.array([0, 1]), ids, np.zeros(2, np.int32)).values()] == [[0], [0]]


def test_orders_of_superpods():
    free = {0: 5, 1: 9, 2: 5, 3: 2, 4: 0}
    assert fewest_first(free, 5) == [0, 2, 1]
    assert most_first(free) == [1, 0, 2, 3]


@pytest.mark.parametrize("size", [1, 2, 3, 5])
def test_plain_sorting_is_the_table_walk(size):
    # the reference files SuperPoDs into row (n-1) mod B, column (n-1) div B, and walks column by column
    free = dict(enumerate([3, 8, 1, 7, 12, 4, 2, 11]))
    cells = sorted(free, key=lambda s: ((free[s] - 1) // size, (free[s] - 1) % size))
    assert fewest_first(free, 1) == cells
    assert most_first(free) == cells[::-1]


def test_take_block_takes_whole_logical_racks_from_the_smallest_racks():
    left = racks(3, 5, 8)
    assert take_block(left, 8, 2).tolist() == [0, 1, 3, 4, 5, 6, 8, 9]
    assert {r: len(part) for r, part in left.items()} == {0: 1, 1: 1, 2: 6}


def test_take_block_skips_racks_below_a_logical_rack():
    left = racks(3, 5, 8)
    assert take_block(left, 8, 4).tolist() == [3, 4, 5, 6, 8, 9, 10, 11]
    assert {r: len(part) for r, part in left.items()} == {0: 3, 1: 1, 2: 4}


def test_empty_racks_vanish():
    left = racks(2, 2)
    assert take_block(left, 2, 2).tolist() == [0, 1]
    assert list(left) == [1]
    assert smallest_racks(left) == [1]


def test_counts():
    left = racks(3, 5, 8)
    assert (free_nodes(left), whole_racks(left, 2), whole_racks(left, 4)) == (16, 7, 3)
    drop = np.zeros(16, dtype=np.bool_)
    drop[[0, 1, 2, 3]] = True
    assert {r: part.tolist() for r, part in without(left, drop).items()} == {1: [4, 5, 6, 7], 2: list(range(8, 16))}
