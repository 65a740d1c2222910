"""Planning time of a multi-level job on a large fleet: 10,000 nodes, four levels, three trees, 1,024 pods."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from ascendctl.engine.policies.multilevel_plan import Plan, attempts, plan
from ascendctl.snapshot.config import TreeLevel
from ascendctl.topology.tree import Tree, byte_ranks

NODES, TREES, PODS = 10_000, 3, 1_024


@pytest.mark.parametrize("groups", [(8, 32), (1,)], ids=str)
def test_plan(benchmark: Any, groups: tuple[int, ...]) -> None:
    index = np.arange(NODES)
    trees = []
    for t in range(TREES):
        member = index * TREES // NODES == t
        units = np.where(member, np.stack([index // size for size in (16, 64, 512, 2048)]), -1).astype(np.int32)
        levels = tuple(TreeLevel(f"level{i}", f"l{i}", 1 if i == 1 else 0) for i in range(1, 5))
        names = tuple(tuple(f"u{i}" for i in range(int(row.max()) + 1)) for row in units)
        trees.append(Tree(f"t{t}", levels, member, units, names))
    free = np.random.default_rng(3).random(NODES) < 0.8
    ranks = byte_ranks([f"node-{i}" for i in range(NODES)])
    found = benchmark(plan, trees, free, attempts(PODS, groups, "fragmentation", 4), groups[0], ranks)
    assert isinstance(found, Plan)
    assert len(set(found.nodes.tolist())) == PODS
