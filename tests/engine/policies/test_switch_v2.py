"""Switch affinity 2.0: the worked examples of chapter 23 §13.2."""

from __future__ import annotations

from typing import Any

import pytest

from tests.engine.policies.switch_world import answer, case, expand, marks_of, nodes_of, states_of

UNIT = "S:L1{0,1,2,3} I:L2{0,1,2,3} S:L3{0,1,2,3} U:L4/2{0,1}"
NO_CAPACITY, NO_OVERFLOW = "set tor failed by not enough nodes", "not enough node for normal job to schedule"
NO_LEAF = "tor check failed not enough resource for fill job"
IDLE8, R_ROW = "I:L1{0,1,2,3,4,5,6,7}", "@L2.0,L2.1,L2.2,L3.0 [2/0]"

# name, M, K, leaves, job, others, nodes by rank, changed states, annotations by leaf, step
EXAMPLES: list[tuple[str, int, int, str, str, tuple[str, ...], str, dict[str, str], dict[str, str], str]] = [
    ("V2-1", 4, 2, "E:L1{1,2,3} S:L2{2,3} I:L3{0,1,2,3}", "filler 2", (), "L1.1 L1.2", {}, {"L1": "0/0"}, "single"),
    ("V2-2", 4, 2, "E:L1{0,1,2,3} E:L2{2,3} I:L3{0,1,2,3}", "filler 2", (), "L2.2 L2.3", {}, {"L2": "0/0"}, "single"),
    ("V2-3", 4, 2, "I:L1{0,1,2,3} U:L2{0,1,2,3} S:L3{2,3}", "filler 2", (), "L2.0 L2.1", {}, {"L2": "0/0"}, "single"),
    ("V2-5", 4, 2, "I:L1{0,1,2,3} I:L2{0,1,2,3}", "large 8", (), "L1.0-3 L2.0-3", {"L1": "E", "L2": "E"},
     {"L1": "2/0", "L2": "2/0"}, "exclusive"),
    ("V2-6", 4, 2, "I:L1{0,1,2,3} I:L2{0,1,2,3}", "large 6", (), "L1.0-3 L2.0 L2.1", {"L1": "E", "L2": "S"},
     {"L1": "2/0", "L2": "1/0"}, "new-shared"),
    ("V2-7", 4, 2, "I:L1{0,1,2,3} I:L2{0,1,2,3} S:L3{2,3}", "large 6", (), "L1.0-3 L3.2 L3.3", {"L1": "E"},
     {"L1": "2/0", "L3": "1/0"}, "shared"),
    ("V2-8", 4, 1, "I:L1{0,1,2,3} S:L2{1,2,3} S:L3{2,3}", "large 6", (), "L1.0-3 L3.2 L3.3", {"L1": "E"},
     {"L1": "2/0", "L3": "1/0"}, "shared"),
    ("V2-9", 8, 2, f"{IDLE8} S:L2{{7}} S:L3{{6,7}} S:L4{{3,4,5,6,7}}", "large 13", (), "L1.0-7 L3.6 L3.7 L4.3-5",
     {"L1": "E"}, {"L1": "2/0", "L3": "1/0", "L4": "1/0"}, "shared"),
    ("V2-10", 8, 2, f"{IDLE8} S:L2{{5,6,7}} S:L3{{3,4,5,6,7}}", "large 10", (), "L1.0-7 L2.5 L2.6", {"L1": "E"},
     {"L1": "2/0", "L2": "1/0"}, "shared"),
    ("V2-12", 8, 2, f"{IDLE8} I:L2{{1,2,3,4,5,6,7}} I:L3{{5,6,7}}", "large 10", (), "L1.0-7 L2.1 L2.2",
     {"L1": "E", "L2": "S"}, {"L1": "2/0", "L2": "1/0"}, "new-shared"),
    ("V2-13", 4, 2, UNIT, "normal 12", (), "L2.0-3 L1.0-3 L3.0-3", {"L2": "E"},
     {"L2": "2/0", "L1": "1/0", "L3": "1/0"}, "shared"),
    ("V2-14", 4, 2, UNIT, "filler 2", (), "L4.0 L4.1", {}, {"L4": "0/0"}, "single"),
    ("V2-15", 4, 2, UNIT, "normal 13", (), "L2.0-3 L4.0 L4.1 L1.0-3 L3.0-2", {"L1": "U", "L2": "E", "L3": "U"},
     {"L2": "2/0", "L4": "1/1", "L1": "1/1", "L3": "1/1"}, "overflow"),
    ("V2-17", 4, 2, "I:L1{0,1,2,3} E:L2{3} E:L3{1,2,3}", "normal 7", ("normal" + R_ROW,), "L1.0-3 L2.3 L3.1 L3.2",
     {"L1": "E", "L2": "U", "L3": "U"}, {"L1": "2/0", "L2": "1/1", "L3": "1/1"}, "overflow"),
    ("V2-19", 8, 2, "U:L1{2,3,4,5,6,7} I:L2{4,5,6,7}", "large 5", (), "L1.2-6", {}, {"L1": "0/0"}, "single"),
    ("V2-20", 4, 2, "I:L1{0,1,2,3} I:L2{1,2,3}", "large 4", (), "L1.0-3", {"L1": "E"}, {"L1": "0/0"}, "exclusive"),
    ("V2-21", 8, 2, "I:L1{4,5,6,7} I:L2{5,6,7} I:L3{6,7}", "large 6", (), "L1.4-7 L2.5 L2.6",
     {"L1": "E", "L2": "S"}, {"L1": "2/0", "L2": "1/0"}, "new-shared"),
    ("V2-23", 4, 2, "I:L1{0,1,2,3} U:L2{0,1,2,3}", "normal 6", (), "L1.0-3 L2.0 L2.1", {"L1": "E"},
     {"L1": "2/0", "L2": "1/1"}, "overflow"),
    ("V2-24", 4, 1, "E:L1{} S:L2{2,3} I:L3{0,1,2,3}", "large 6", ("large@L1.0,L1.1,L1.2,L1.3,L2.0,L2.1",),
     "L3.0-3 L2.2 L2.3", {"L3": "E"}, {"L3": "2/0", "L2": "1/0"}, "shared"),
]  # fmt: skip

REFUSED = [
    ("V2-4", 4, 2, "E:L1{2,3} I:L2{2,3}", "filler 3", (), NO_LEAF),
    ("V2-11", 4, 1, "I:L1{0,1,2,3} S:L2{1,2,3} S:L3{1,2,3}", "large 8", (), NO_CAPACITY),
    ("V2-16", 4, 2, UNIT, "normal 14", ("normal@L4.1",), NO_OVERFLOW),
    ("V2-18", 4, 2, "I:L1{0,1,2,3} E:L2{3} E:L3{1,2,3}", "normal 7", ("large" + R_ROW,), NO_OVERFLOW),
    ("V2-22", 4, 2, "I:L1{0,1,2,3} U:L2{0,1,2,3}", "large 6", (), NO_CAPACITY),
]


def _v2(width: int, limit: int, leaves: str, job: str, others: tuple[str, ...] = (), **more: Any) -> dict[str, Any]:
    example = case(width, leaves, job, others, version="2.0", limit=limit, **more)
    example["nodes"] += [
        {"name": f"x-{i}", "ip": f"10.0.9.{i}", "resource": "huawei.com/Ascend910", "chips": 8} for i in range(9)
    ]
    return example


@pytest.mark.parametrize(
    ("name", "width", "limit", "leaves", "job", "others", "nodes", "changed", "marks", "step"), EXAMPLES
)
def test_placed(
    name: str,
    width: int,
    limit: int,
    leaves: str,
    job: str,
    others: tuple[str, ...],
    nodes: str,
    changed: dict[str, str],
    marks: dict[str, str],
    step: str,
) -> None:
    result = answer(_v2(width, limit, leaves, job, others))
    assert nodes_of(result) == expand(nodes), name
    before = {part.split(":")[1].split("{")[0].split("/")[0]: part[0] for part in leaves.split()}
    assert states_of(result) == before | changed
    assert marks_of(result) == marks
    assert result["metrics"]["step"] == step
    assert {leaf: [p["node"] for p in result["pods"] if p["group"] == leaf] for leaf in marks} == result["blocks"]


@pytest.mark.parametrize(("name", "width", "limit", "leaves", "job", "others", "text"), REFUSED)
def test_refused(name: str, width: int, limit: int, leaves: str, job: str, others: tuple[str, ...], text: str) -> None:
    result = answer(_v2(width, limit, leaves, job, others))
    assert (result["outcome"], result["code"]) == ("unschedulable", text), name


def test_more_pods_than_servers() -> None:
    """V2-16 as it stands: 15 pods, 14 servers."""
    assert answer(_v2(4, 2, UNIT, "normal 15"))["code"] == NO_OVERFLOW


SEQUENCE = "L1{0,1,2,3} L2{0,1,2,3} L3{0,1,2,3}"


def test_sequence() -> None:
    """V2-25: pods of a job carry 2/0 below its exclusive leaf and 1/0 below the shared one."""
    first = answer(_v2(4, 1, SEQUENCE, "large 6"))
    assert nodes_of(first) == expand("L1.0-3 L2.0 L2.1")
    assert {leaf: state for leaf, state in states_of(first).items() if state != "I"} == {"L1": "E", "L2": "S"}

    def after(free: str, job: str, *more: str) -> dict[str, Any]:
        example = _v2(4, 1, free, job, ("large@L1.0,L1.1,L1.2,L1.3,L2.0,L2.1", *more))
        marks = {"l1": ("2", "0"), "l2": ("1", "0"), "l3": ("2", "0")}
        for pod in example["running"]:
            state, health = marks[pod["node"][:2]]
            pod["annotations"] = {"isSharedTor": state, "isHealthy": health}
        return answer(example)

    second = after("L1{} L2{2,3} L3{0,1,2,3}", "large 6")
    assert nodes_of(second) == expand("L3.0-3 L2.2 L2.3")
    assert states_of(second) == {"L1": "E", "L2": "S", "L3": "E"}
    full = after("L1{} L2{} L3{}", "filler 2", "large@L3.0,L3.1,L3.2,L3.3,L2.2,L2.3")
    assert full["code"] == NO_LEAF
    filler = after("L1{} L2{2,3} L3{0,1,2,3}", "filler 2")
    assert nodes_of(filler) == expand("L2.2 L2.3") and marks_of(filler) == {"L2": "0/0"}
    assert after("L1{} L2{2,3} L3{0,1,2,3}", "normal 7")["code"] == NO_OVERFLOW


def test_job_in_one_shared_leaf_is_annotated_as_such() -> None:
    """D13: the scheduler lists further pairs and would write 1/0."""
    leaves = "S:L1{0,1,2,3} S:L2{0,1,2,3} S:L3{0,1,2,3} S:L4{0}"
    result = answer(_v2(4, 2, leaves, "large 4"))
    assert nodes_of(result) == expand("L4.0 L1.0-2")
    leaves = "S:L1{0,1,2,3} S:L2{0,1,2,3} S:L3{0,1,2,3}"
    result = answer(_v2(4, 2, leaves, "large 4"))
    assert nodes_of(result) == expand("L1.0-3") and marks_of(result) == {"L1": "0/0"}
    assert any("would annotate isSharedTor 1" in note for note in result["trace"]["notes"])


def test_listed_leaf_is_sorted_by_slice_before_the_ranks_are_cut() -> None:
    """§6.1: where the first of a pair suffices, all its nodes are listed; a single shared leaf lists only what it
    needs."""
    slices = {"L2": [3, 2, 1, 0], "L3": [0, 1, 2, 3]}
    pair = answer(_v2(4, 2, "I:L1{0,1,2,3} S:L2{0,1,2} S:L3{0,1,2,3}", "large 6", slices=slices))
    assert nodes_of(pair) == expand("L1.0-3 L2.2 L2.1")
    alone = answer(_v2(4, 2, "I:L1{0,1,2,3} S:L2{0,1,2}", "large 6", slices=slices))
    assert nodes_of(alone) == expand("L1.0-3 L2.1 L2.0")


def test_leaf_states_from_annotations() -> None:
    """§4.2: shared wins over exclusive, unhealthy over healthy; a conflict is told, values out of range count as 0."""
    example = _v2(4, 2, "L1{2,3} L2{2,3}", "filler 2", ("normal@L1.0 [2/0]", "normal@L1.1 [1/1]", "normal@L2.0 [2/0]"))
    example["nodes"][5]["status"] = "UnHealthy"
    result = answer(example)
    assert states_of(result) == {"L1": "U", "L2": "E"}
    assert nodes_of(result) == expand("L2.2 L2.3")
    assert any("below L1 disagree" in note for note in result["trace"]["notes"])
    odd = _v2(4, 2, "L1{2,3} L2{2,3}", "filler 2", ("normal@L1.0 [7/9]",))
    result = answer(odd)
    assert states_of(result) == {"L1": "I", "L2": "I"}
    assert any("isSharedTor=7 is out of range" in note for note in result["trace"]["notes"])


def test_completed_jobs_and_jobs_without_marks_leave_a_leaf_idle() -> None:
    """Traps 11 and 12."""
    result = answer(_v2(4, 2, "L1{1,2,3} L2{0,1,2,3}", "large 7", ("normal@L1.0",)))
    assert nodes_of(result) == expand("L2.0-3 L1.1-3") and states_of(result) == {"L1": "E", "L2": "E"}


def test_jobs_with_pods_without_npus_are_refused() -> None:
    """§3.2 consequence (b)."""
    assert answer(_v2(4, 2, SEQUENCE, "filler 3", master=0))["code"] == "not enough tor for fill job restart"
    assert answer(_v2(4, 2, SEQUENCE, "normal 3", master=0))["code"] == "not enough tor for job restart"


def test_pods_of_different_size() -> None:
    """The first pod's candidates decide (§3.3); a worker that does not fit its node takes another listed one."""
    example = _v2(4, 2, "L1{0,1,2,3} L2{}", "normal 2", master=4)
    example["nodes"][1]["used"] = "0xf0"
    assert nodes_of(answer(example)) == expand("L1.0 L1.2 L1.3")


def test_explanation() -> None:
    result = answer(_v2(8, 2, f"{IDLE8} S:L2{{7}} S:L3{{6,7}} S:L4{{3,4,5,6,7}}", "large 13"))
    table, capacity, exclusive, shared = result["trace"]["steps"]
    assert {row["leaf"]: row["state"] for row in table["leaves"]} == {
        "L1": "idle",
        "L2": "shared",
        "L3": "shared",
        "L4": "shared",
    }
    assert "8 usable nodes under idle leaf switches, 7 under at most 2 shared ones" in capacity["text"]
    assert exclusive["taken"] == {"L1": 8}
    assert shared["pair"] == ["L3", "L4"] and list(shared["visited"]) == ["L2", "L3", "L4"]
    spared = answer(_v2(4, 2, "I:L1{0,1,2,3} E:L2{3} E:L3{1,2,3}", "normal 7", ("large" + R_ROW,)))
    assert spared["trace"]["steps"][-2]["spared_for_large_model_jobs"] == ["L2", "L3"]
