"""Placement inside one process: one job on 2,000 nodes, each policy that plans; the kernel interpreted and compiled."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import numpy as np
import pytest

import ascendctl
from ascendctl.engine.jit import kernel
from ascendctl.engine.kernels.take_best import take_best
from tests import cases
from tests.bench.inputs import CLUSTERS, cluster

NODES = 2_000


@lru_cache
def world(name: str, pods: int) -> tuple[Any, Any]:
    case = cluster(name, NODES, pods)
    return ascendctl.load_jobs(cases.manifest(case))[0], ascendctl.load_snapshot(cases.objects(case))


@pytest.mark.parametrize("pods", [32, 256])
@pytest.mark.parametrize("name", CLUSTERS)
def test_place(benchmark: Any, name: str, pods: int) -> None:
    job, snapshot = world(name, pods)
    result = benchmark(ascendctl.place, job, snapshot, compiled=False)
    assert (result.outcome, len(result.pods)) == ("placed", pods)


@pytest.mark.parametrize("compiled", [False, True])
def test_take_best(benchmark: Any, compiled: bool) -> None:
    keys = np.random.default_rng(1).integers(0, 600, (4, 10_000)) // 8 * 8
    chosen = benchmark(kernel(take_best, 0.0, compiled), np.ascontiguousarray(keys), 1_000, 100)
    assert len(chosen) == 1_000
