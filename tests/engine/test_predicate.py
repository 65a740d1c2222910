"""What the versions of the plugin check before a policy looks at chips (chapter 30 §7)."""

from __future__ import annotations

from dataclasses import replace

import pytest

from ascendctl.engine.api import place
from ascendctl.engine.predicate import CODES, health_codes, resource_codes
from ascendctl.engine.result import Placement
from ascendctl.engine.state import new_state
from ascendctl.manifest.job import Role
from ascendctl.snapshot.load import load_snapshot
from ascendctl.snapshot.profiles import PROFILES, LoadOptions
from tests.engine.build import A910, PRESEPARATE, Node, cluster, job, policy
from tests.snapshot import objects as o

VERSIONS = tuple(PROFILES)
STABLE, UNSTABLE, SHORT = "", "RES_UNSTABLE", "NPU_SHORTAGE"

# list length L, idle, capacity -> what a pod of one NPU meets by version: up to RC3, 6.0, 7.0 to 7.3, from 26.0
AGREEMENT = [
    (8, 8, 8, (STABLE, STABLE, STABLE, STABLE)),
    (7, 8, 8, (UNSTABLE, UNSTABLE, STABLE, STABLE)),
    (8, 7, 8, (UNSTABLE, UNSTABLE, UNSTABLE, UNSTABLE)),
    (8, 9, 8, (UNSTABLE, UNSTABLE, STABLE, UNSTABLE)),
    (9, 9, 8, (STABLE, STABLE, STABLE, UNSTABLE)),
    (0, -1, 8, (SHORT, UNSTABLE, UNSTABLE, UNSTABLE)),
    (0, 0, 8, (SHORT, SHORT, SHORT, SHORT)),
]
GROUP = {"5.0": 0, "6.0-RC3": 0, "6.0": 1, "7.0": 2, "7.1": 2, "7.2": 2, "7.3": 2, "26.0": 3, "26.1": 3}


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize(("listed", "idle", "capacity", "answers"), AGREEMENT)
def test_whether_a_nodes_numbers_agree(
    listed: int, idle: int, capacity: int, answers: tuple[str, ...], version: str
) -> None:
    node = Node("n1", free=range(8), idle=idle, listed=listed, capacity=capacity)
    found = replace(cluster([node]), profile=version)
    codes = health_codes(job(1), found, Role("w", 1, 1, A910))
    resource_codes(codes, new_state(found, A910), Role("w", 1, 1, A910))
    assert CODES[codes[0]] == answers[GROUP[version]]


@pytest.mark.parametrize("version", VERSIONS)
def test_a_public_fault_on_an_idle_chip(version: str) -> None:
    """Example E6: L 7, idle 8. Before 7.0 the node is refused."""
    lists = o.device_list(o.names([0, 1, 2, 3, 4, 5, 7]), unhealthy="Ascend910-6")
    labels = {"accelerator-type": "module-910b-8"}
    dump = [o.node(labels=labels), o.shard(0, o.entry(lists))]
    found = load_snapshot(dump, options=LoadOptions(profile=version))
    result = place(job(4, selector=labels, annotations=policy("chip8-node8")), found)
    assert isinstance(result, Placement) == (version not in ("5.0", "6.0-RC3", "6.0"))


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("npus", [0, 1])
def test_a_host_that_is_pre_separate(npus: int, version: str) -> None:
    """From 7.2 on it takes no pod at all, before that none with NPUs."""
    found = replace(cluster([Node("n1", free=range(8), health=PRESEPARATE)]), profile=version)
    codes = health_codes(job(1), found, Role("w", 1, npus, A910 if npus else ""))
    old = version in ("5.0", "6.0-RC3", "6.0", "7.0", "7.1")
    assert CODES[codes[0]] == ("" if old and not npus else "NODE_PRESEPARATE")
