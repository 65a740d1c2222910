"""Users and states of leaf switches from bound pods (chapter 23 §4)."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import ascendctl
from ascendctl.snapshot.cluster import Cluster
from ascendctl.topology.leaf_states import leaf_states, leaf_use
from tests import cases
from tests.engine.policies.switch_world import case


def _cluster(*others: str, phases: dict[str, str] | None = None, leaves: str = "L1{} L2{} L3{}") -> Cluster:
    example = case(4, leaves, "normal 2", others, version="2.0")
    objects = cases.objects(example)
    for name, phase in (phases or {}).items():
        objects.append(
            {
                "apiVersion": "scheduling.volcano.sh/v1beta1",
                "kind": "PodGroup",
                "metadata": {"name": name, "namespace": "default"},
                "spec": {"minMember": 1},
                "status": {"phase": phase},
            }
        )
    return ascendctl.load_snapshot(objects)


def _use(cluster: Cluster) -> tuple[Any, ...]:
    assert cluster.leaves is not None
    found = leaf_use(cluster, cluster.leaves, np.zeros(len(cluster.jobs.names), dtype=np.bool_))
    return found.crossed.tolist(), found.large_crossed.tolist(), found.only_normal.tolist()


def _states(cluster: Cluster) -> list[tuple[int, int]]:
    assert cluster.leaves is not None
    found = leaf_states(cluster, cluster.leaves)
    return list(zip(found.shared.tolist(), found.health.tolist(), strict=True))


YES, NO = True, False


def test_crossing_and_only_normal() -> None:
    assert _use(_cluster()) == ([NO] * 3, [NO] * 3, [YES] * 3)
    assert _use(_cluster("normal@L1.0,L2.0")) == ([YES, YES, NO], [NO] * 3, [YES] * 3)
    assert _use(_cluster("large@L1.0,L1.1,L1.2,L2.0")) == ([YES, YES, NO], [YES, YES, NO], [NO, NO, YES])
    assert _use(_cluster("filler@L1.0,L2.0,L2.1")) == ([YES, YES, NO], [NO] * 3, [NO, NO, YES])
    assert _use(_cluster("plain@L1.0,L1.1")) == ([NO] * 3, [NO] * 3, [NO, YES, YES])


@pytest.mark.parametrize("phase", ["Unknown", "Completed", "Pending", "Inqueue"])
def test_only_running_jobs_cross(phase: str) -> None:
    """Traps 5 and 6: the others still break the only-normal exception."""
    found = _use(_cluster("large@L1.0,L1.1,L1.2,L2.0", phases={"r0": phase}))
    assert found == ([NO] * 3, [NO] * 3, [NO, NO, YES])


@pytest.mark.parametrize(("phase", "state"), [("Running", 2), ("Unknown", 2), ("Completed", 0), ("Pending", 0)])
def test_running_and_unknown_jobs_give_states(phase: str, state: int) -> None:
    assert _states(_cluster("normal@L1.0 [2/0]", phases={"r0": phase})) == [(state, 0), (0, 0), (0, 0)]


def test_pods_of_a_leaf_together() -> None:
    assert _states(_cluster("normal@L1.0 [2/0]", "normal@L1.1 [1/0]", "normal@L2.0 [2/1]")) == [(1, 0), (2, 1), (0, 0)]
    assert _states(_cluster("normal@L1.0,L2.0", "large@L3.0 [1/1]")) == [(0, 0), (0, 0), (1, 1)]


def test_states_of_the_file_come_first() -> None:
    seeded = _cluster("normal@L1.0 [1/1]", "normal@L2.0 [1/0]", leaves="E:L1{} I:L2{} U:L3{}")
    assert _states(seeded) == [(2, 1), (1, 0), (1, 1)]


def test_own_rows_do_not_cross() -> None:
    cluster = _cluster("large@L1.0,L1.1,L1.2,L2.0")
    assert cluster.leaves is not None
    own = cluster.jobs.named("default", "r0")
    assert not leaf_use(cluster, cluster.leaves, own).crossed.any()


def test_nodes_that_the_scheduler_does_not_see_are_outside_the_file() -> None:
    """§1.1: a node that is not Ready has no view; its pods make their job a crossing one and give no state."""
    example = case(4, "L1{} L2{}", "normal 2", ("normal@L1.0,L1.1 [2/0]",), version="2.0")
    objects = cases.objects(example)
    down = next(o for o in objects if o["kind"] == "Node" and o["metadata"]["name"] == "l1-1")
    down["status"]["conditions"] = [{"type": "Ready", "status": "Unknown"}]
    cluster = ascendctl.load_snapshot(objects)
    assert _use(cluster) == ([YES, NO], [NO, NO], [YES, YES])
    assert _states(cluster) == [(2, 0), (0, 0)]


def test_values_of_annotations() -> None:
    """No number counts as 0, so does a number that is no state; only the latter is told."""
    example = case(4, "L1{} L2{}", "normal 2", ("normal@L1.0 [2/0]", "normal@L2.0 [2/0]"), version="2.0")
    example["running"][0]["annotations"] = {"isSharedTor": "shared", "isHealthy": ""}
    example["running"][1]["annotations"] = {"isSharedTor": "3", "isHealthy": "-1"}
    cluster = ascendctl.load_snapshot(cases.objects(example))
    assert _states(cluster) == [(0, 0), (0, 0)]
    assert cluster.leaves is not None
    assert leaf_states(cluster, cluster.leaves).illegal == ("isSharedTor=3", "isHealthy=-1")
