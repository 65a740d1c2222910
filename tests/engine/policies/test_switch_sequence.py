"""One job after the other, each on the snapshot that the former left (chapter 23 §11 rule 4, V1-27 and V2-25)."""

from __future__ import annotations

from dataclasses import replace

import pytest

import ascendctl
from ascendctl.engine.commit import commit
from ascendctl.engine.result import Placement
from ascendctl.manifest.job import Job
from ascendctl.snapshot.cluster import Cluster
from tests import cases
from tests.engine.policies.switch_world import case, expand, marks_of, nodes_of, states_of

EMPTY = "L1{0,1,2,3} L2{0,1,2,3} L3{0,1,2,3}"


def _job(what: str, name: str) -> Job:
    example = case(4, EMPTY, what)
    example["job"]["name"] = name
    return ascendctl.load_jobs(cases.manifest(example))[0]


def _after(cluster: Cluster, *jobs: str) -> Cluster:
    for number, what in enumerate(jobs):
        job = _job(what, f"job-{number}")
        placed = ascendctl.place(job, cluster)
        assert isinstance(placed, Placement)
        cluster = commit(cluster, job, placed)
    return cluster


def _cluster(version: str, limit: int = 2) -> Cluster:
    example = case(4, EMPTY, "normal 1", version=version, limit=limit)
    for i in range(9):
        outside = {"name": f"x-{i}", "ip": f"10.0.9.{i}", "resource": "huawei.com/Ascend910", "chips": 8}
        example["nodes"].append(outside)
    return ascendctl.load_snapshot(cases.objects(example))


@pytest.mark.parametrize(
    ("first", "second", "found"),
    [
        ("large 6", "large 6", "logicTor is illegal"),
        ("large 6", "normal 5", "logicTor is illegal"),
        ("large 6", "large 4", "L3.0-3"),
        ("large 6", "filler 2", "L2.2 L2.3"),
        ("normal 6", "normal 6", "L3.0-3 L2.2 L2.3"),
    ],
)
def test_version_one(first: str, second: str, found: str) -> None:
    cluster = _after(_cluster("1.0"), first)
    result = ascendctl.place(_job(second, "next"), cluster).to_dict()
    assert (result["code"] or nodes_of(result)) == (found if "illegal" in found else expand(found))


def test_version_two() -> None:
    empty = _cluster("2.0", 1)
    one = _after(empty, "large 6")
    filler = ascendctl.place(_job("filler 2", "next"), one).to_dict()
    assert nodes_of(filler) == expand("L2.2 L2.3") and marks_of(filler) == {"L2": "0/0"}
    assert ascendctl.place(_job("normal 7", "next"), one).to_dict()["code"] == (
        "not enough node for normal job to schedule"
    )
    second = ascendctl.place(_job("large 6", "next"), one).to_dict()
    assert nodes_of(second) == expand("L3.0-3 L2.2 L2.3") and states_of(second) == {"L1": "E", "L2": "S", "L3": "E"}
    two = _after(empty, "large 6", "large 6")
    assert ascendctl.place(_job("filler 2", "next"), two).to_dict()["code"] == (
        "tor check failed not enough resource for fill job"
    )


def test_leaf_of_a_finished_job_is_idle_again() -> None:
    """§4.2: the state lives in annotations only."""
    one = _after(_cluster("2.0"), "large 6")
    gone = replace(one, jobs=replace(one.jobs, phases=("Completed",) * len(one.jobs.phases)))
    result = ascendctl.place(_job("filler 2", "next"), gone).to_dict()
    assert set(states_of(result).values()) == {"I"}
