"""Volcano's networkTopology on HyperNodes: worked examples H02 to H04 of chapter 22 §9.6, from manifest to nodes."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
import yaml

import ascendctl
from ascendctl.engine.hypernode import place_in_hypernodes
from ascendctl.manifest.job import Job
from ascendctl.topology.hypernode import HyperNodeError
from ascendctl.topology.hypernode_jobs import TopologyError
from tests import cases
from tests.engine.policies.tree_world import make_case
from tests.topology.test_hypernode import H01, hypernode, snapshot


def vcjob(pods: int, topology: Any = None, partitions: tuple[int, int, Any] | None = None, **more: Any) -> Job:
    """A Volcano Job; `partitions`: (count, size, networkTopology) of its task."""
    value = yaml.safe_load(cases.manifest(make_case("X:n0", pods, None, kind="vcjob", **more)))
    del value["metadata"]["annotations"]
    if topology is not None:
        value["spec"]["networkTopology"] = topology
    if partitions is not None:
        count, size, inner = partitions
        policy = {"totalPartitions": count, "partitionSize": size, "networkTopology": inner}
        value["spec"]["tasks"][0]["partitionPolicy"] = {k: v for k, v in policy.items() if v is not None}
    return ascendctl.load_jobs(yaml.safe_dump(value))[0]


def where(job: Job, **more: Any) -> str:
    cluster = replace(snapshot(**more), hypernodes=tuple(H01))
    result = place_in_hypernodes(job, cluster)
    return " ".join(pod.node for pod in result.pods) if result.outcome == "placed" else result.code  # type: ignore[union-attr]


def hard(tier: int) -> dict[str, Any]:
    return {"mode": "hard", "highestTierAllowed": tier}


def test_h02_h03() -> None:
    assert where(vcjob(4, hard(1))) == "ML-P03"
    assert where(vcjob(4, hard(2))) == "node0 node1 node2 node3"


def test_h04_partitions() -> None:
    nodes = "node0 node1 node2 node3 node4 node5 node6 node7"
    assert where(vcjob(8, hard(3), (4, 2, hard(1)))) == nodes


def test_lowest_tier_first() -> None:
    assert where(vcjob(2, hard(3))) == "node0 node1"
    assert where(vcjob(2, {"mode": "soft"})) == "node0 node1"
    assert where(vcjob(5, {"mode": "soft"})) == "node0 node1 node2 node3 node4"


def test_constraint_from_pod_annotations() -> None:
    given = {"volcano.sh/network-topology-mode": "HARD", "volcano.sh/network-topology-highest-tier": "1"}
    job = vcjob(4)
    job = replace(job, roles=tuple(replace(role, annotations=given) for role in job.roles))
    assert where(job) == "ML-P03"
    free = {"volcano.sh/network-topology-mode": "hard", "volcano.sh/network-topology-highest-tier": "x"}
    assert where(replace(job, roles=tuple(replace(role, annotations=free) for role in job.roles))).startswith("node0")


def test_multilevel_job_keeps_its_own_levels() -> None:
    case = make_case("X:n0", 4, "level1=2,level2=4", kind="vcjob")
    assert where(ascendctl.load_jobs(cases.manifest(case))[0]) == "node0 node1 node2 node3"


@pytest.mark.parametrize(
    ("topology", "partitions", "text"),
    [
        (hard(0), None, "ML-H08"),
        (hard(3), (3, 2, hard(1)), "are not the 8 replicas"),
        (hard(3), (4, 0, hard(1)), "ML-H08"),
        ({"mode": "odd"}, None, "networkTopology.mode"),
    ],
)
def test_what_no_tree_expresses(topology: Any, partitions: Any, text: str) -> None:
    with pytest.raises(TopologyError, match=text):
        where(vcjob(8, topology, partitions))


def test_problems_become_notes_and_broken_forests_are_refused() -> None:
    cluster = replace(snapshot(), hypernodes=(*H01[:2], hypernode("s2", 1, "node9")))
    notes = place_in_hypernodes(vcjob(2, hard(1)), cluster).trace.notes
    assert {note[:6] for note in notes if note.startswith("ML-H")} == {"ML-H05", "ML-H07"}
    with pytest.raises(HyperNodeError, match="ML-H02"):
        place_in_hypernodes(vcjob(2), replace(cluster, hypernodes=(*H01, hypernode("s8", 4, "s0"))))


def test_scores_of_the_hypernodes() -> None:
    """Bin-pack by NPUs: 32 asked, s0 and s1 have 32, half of s1 is used; s4 holds both, s6 all eight nodes."""
    case = make_case("X:node0..node7", 2, None, busy="node2")
    cluster = replace(ascendctl.load_snapshot(cases.objects(case)), hypernodes=tuple(H01))
    text, data = place_in_hypernodes(vcjob(2, hard(3)), cluster).trace.steps[-1]
    assert text.startswith("what Volcano would score the HyperNodes")
    assert data["scores"] == {"s0": 100, "s2": 100, "s3": 100, "s4": 75, "s5": 50, "s6": 37.5, "s1": 0}
