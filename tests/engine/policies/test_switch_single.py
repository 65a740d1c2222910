"""Switch affinity in a single-layer network: chapter 23 §13.3, RS-17 and §9.3."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

import ascendctl
from tests import cases
from tests.engine.policies.switch_world import answer, case, expand, lose, marks_of, nodes_of

FULL4 = "L1{0,1,2,3} L2{0,1,2,3} L3{0,1,2,3}"


def _single(leaves: str, job: str, width: int = 4, **more: Any) -> dict[str, Any]:
    return case(width, leaves, job, level="single_layer", **more)


@pytest.mark.parametrize("version", ["1.0", "2.0"])
@pytest.mark.parametrize(
    ("name", "leaves", "job", "nodes"),
    [
        ("SL-1", "L1{1,2,3} L2{0,3} L3{0,1,2,3}", "normal 2", "L2.0 L2.3"),
        ("SL-2", "L1{1,2,3} L2{0,1,2,3} L3{0,1,2,3}", "normal 4", "L3.0-3"),
        ("SL-5", FULL4 + " L4/2{0,1}", "normal 2", "L4.0 L4.1"),
    ],
)
def test_placed(name: str, version: str, leaves: str, job: str, nodes: str) -> None:
    """The version does not matter, nothing is annotated."""
    result = answer(_single(leaves, job, version=version))
    assert nodes_of(result) == expand(nodes), name
    assert set(marks_of(result).values()) == {"None/None"} and "leaf_states" not in result["metrics"]


@pytest.mark.parametrize(
    ("name", "leaves", "job", "text"),
    [
        ("SL-3", FULL4, "normal 5", "job's task number is bigger than torCount"),
        ("SL-4", "L1{1,2,3} L2{1,2,3} L3{1,2,3}", "normal 4", "tor check failed not enough resource for job"),
    ],
)
def test_refused(name: str, leaves: str, job: str, text: str) -> None:
    assert answer(_single(leaves, job))["code"] == text, name


def test_crossing_jobs_do_not_matter() -> None:
    example = _single("L1{2,3} L2{2,3}", "large 2", others=("large@L1.0,L2.0",))
    assert nodes_of(answer(example)) == expand("L2.2 L2.3")


def test_double_layer_and_other_texts_change_nothing() -> None:
    for level in (None, "double_layer", "Single_Layer"):
        result = answer(case(4, FULL4, "normal 5", level=level))
        assert result["metrics"]["switch_affinity"] == "1.0"


def _lost() -> dict[str, Any]:
    """RS-17: rank 1 is lost; L1 and L2 have one free node each, L3 four."""
    return lose(_single("L1{3} L2{3} L3{0,1,2,3}", "normal 3"), {0: "L1.0", 2: "L1.2"}, {1: ""})


def test_lost_pods_stay_below_their_leaf() -> None:
    result = answer(_lost())
    assert nodes_of(result) == expand("L1.0 L1.3 L1.2")
    assert [pod["group"] for pod in result["pods"]] == ["L1"] * 3
    assert any("the scheduler itself takes" in note for note in result["trace"]["notes"])
    full = lose(_single("L1{} L2{3} L3{0,1,2,3}", "normal 3"), {0: "L1.0", 2: "L1.2"}, {1: ""})
    assert answer(full)["code"] == "tor check failed not enough resource for job"


def test_option_gives_lost_pods_the_leaf_of_the_scheduler() -> None:
    """The reference's best fit ties L1 and L2 and takes the later leaf."""
    example = _lost()
    cluster = ascendctl.load_snapshot(cases.objects(example))
    cluster = replace(cluster, config=replace(cluster.config, restart_any_leaf=True))
    job = ascendctl.load_jobs(cases.manifest(example))[0]
    result = ascendctl.reschedule(job, cluster, cases.previous(example), cases.faulty(example)).to_dict()
    assert nodes_of(result) == expand("L1.0 L2.3 L1.2")


def test_whole_job_is_planned_afresh() -> None:
    example = lose(_single("L1{0,2,3} L2{1,2,3}", "normal 3"), {}, {0: "L1.0", 1: "L1.1", 2: "L1.2"})
    example["job"]["fault"]["kind"] = "job"
    assert nodes_of(answer(example)) == expand("L2.1-3")
