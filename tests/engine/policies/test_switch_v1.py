"""Switch affinity 1.0: the worked examples of chapter 23 §13.1."""

from __future__ import annotations

import pytest

from tests.engine.policies.switch_world import answer, case, codes_of, expand, lose, marks_of, nodes_of

FOUR = "L1{0,1,2,3} L2{0,1,2,3} L3{0,1,2,3} L4/2{0,1}"
NO_LEAF, NO_ROWS = "tor check failed not enough resource for job", "logicTor is illegal"
R_LARGE, R_NORMAL = "large@L1.0,L1.1,L2.0,L2.1", "normal@L1.0,L1.1,L2.0,L2.1"

EXAMPLES = [
    ("V1-1", 4, "L1{0,1,2,3} L2{1,2,3} L3{2,3}", "filler 2", (), "L3.2 L3.3", "single"),
    ("V1-2", 4, "L1{0,1,2,3} L2{0,1,2,3} L3{0,1,2,3} L4{0,1,2,3}", "filler 3", (), "L4.0-2", "single"),
    ("V1-4", 4, "L1{2,3} L2{1,2} L3{0,3} L4{2,3}", "normal 3", (), "L3.0 L1.2 L1.3", "logical"),
    ("V1-5", 4, "L1{0,1,2} L2{0,1,2,3} L3{0,1,2,3}", "normal 4", (), "L2.0-3", "full"),
    ("V1-6", 4, "L1{0,1,2,3} L2{0,1,2,3} L3{1,2,3} L4{1,3}", "large 6", (), "L1.0-3 L2.0 L2.1", "full"),
    ("V1-7", 4, "L1{0,1,2,3} L2{0,1,3} L3{1,2} L4{}", "large 6", (), "L1.0-3 L2.0 L2.1", "logical"),
    ("V1-8", 4, "L1{1,2,3} L2{0,3} L3{2}", "large 4", (), "L2.0 L1.1-3", "logical"),
    ("V1-10", 4, "L1{0,1,2} L2{0,1,2} L3{0,1,2}", "normal 5", (), "L1.0-2 L2.0 L2.1", "greedy"),
    ("V1-11", 8, "L1{4,5,6,7} L2{0,1,2,3} L3{1,3,5,7}", "large 5", (), "L2.0 L2.1 L2.3 L1.5 L1.7", "logical"),
    ("V1-12", 4, "L1{2,3} L2{2,3} L3{0,1,2,3} L4{0,1,2,3}", "large 5", (R_LARGE,), "L3.0-3 L4.0", "full"),
    ("V1-13", 4, "L1{2,3} L2{2,3} L3{0,1,2,3} L4{0,1,2,3}", "filler 2", (R_LARGE,), "L2.2 L2.3", "single"),
    ("V1-15", 4, "L1{2,3} L2{2,3} L3{0,1}", "normal 6", (R_NORMAL,), "L3.0 L3.1 L1.2 L1.3 L2.2 L2.3", "logical"),
    ("V1-18", 4, "L1{2,3} L2{1,2,3}", "normal 5", ("normal@L1.0,L1.1,L2.0",), "L2.1-3 L1.2 L1.3", "greedy"),
    ("V1-19", 2, "L1{0,1} L2{0,1}", "filler 3", (), "L1.0 L1.1 L2.0", "full"),
    ("V1-20", 4, "L1{0,1,2,3} L2/3{0,1,2}", "large 7", (), "L1.0-3 L2.0-2", "logical"),
    ("V1-22", 4, FOUR, "normal 13", (), "L1.0-3 L2.0-3 L3.0-3 L4.0", "logical"),
    ("V1-23", 4, FOUR, "normal 12", (), "L1.0-3 L2.0-3 L3.0-3", "full"),
    ("V1-24", 4, FOUR, "filler 2", (), "L4.0 L4.1", "single"),
]

REFUSED = [
    ("V1-3", "L1{2,3} L2{1,2} L3{0,3} L4{2,3}", "filler 3", (), NO_LEAF),
    ("V1-9", "L1{0,1,2} L2{0,1,2} L3{0,1,2}", "large 5", (), NO_ROWS),
    ("V1-14", "L1{2,3} L2{2,3} L3{0,1}", "normal 6", (R_LARGE,), NO_ROWS),
    ("V1-16", "L1{2,3} L2{2,3} L3{0,1}", "large 6", (R_NORMAL,), NO_ROWS),
    ("V1-17", "L1{2,3} L2{1,2,3}", "normal 5", ("normal@L1.0,L2.0", "filler@L1.1"), NO_ROWS),
    ("V1-21", "L1{0,1,2,3} L2/3{0,1,2}", "large 8", (), NO_ROWS),
    ("V1-25", FOUR, "normal 15", (), NO_ROWS),
]


@pytest.mark.parametrize(("name", "width", "leaves", "job", "others", "nodes", "step"), EXAMPLES)
def test_placed(name: str, width: int, leaves: str, job: str, others: tuple[str, ...], nodes: str, step: str) -> None:
    result = answer(case(width, leaves, job, others))
    assert nodes_of(result) == expand(nodes), name
    assert result["metrics"]["step"] == step
    assert set(marks_of(result).values()) == {"None/None"}


def _enough(example: dict) -> dict:
    """The case with free nodes outside the file, so that it is the switch policy that refuses the job."""
    spare = [{"name": f"x-{i}", "ip": f"10.0.9.{i}", "resource": "huawei.com/Ascend910", "chips": 8} for i in range(9)]
    return example | {"nodes": [*example["nodes"], *spare]}


@pytest.mark.parametrize(("name", "leaves", "job", "others", "text"), REFUSED)
def test_refused(name: str, leaves: str, job: str, others: tuple[str, ...], text: str) -> None:
    result = answer(_enough(case(4, leaves, job, others)))
    assert (result["outcome"], result["code"]) == ("unschedulable", text), name


def test_slice_id_is_not_the_position() -> None:
    """V1-26: chosen by list order, ranked by slice id."""
    example = case(4, "L1{0,1,2,3} L2{0,1,2,3}", "large 6", slices={"L1": [3, 2, 1, 0], "L2": [0, 1, 2, 3]})
    assert nodes_of(answer(example)) == expand("L1.3 L1.2 L1.1 L1.0 L2.0 L2.1")


AFTER_A = "L1{} L2{2,3} L3{0,1,2,3}"
SIX = "L1.0,L1.1,L1.2,L1.3,L2.0,L2.1"


@pytest.mark.parametrize(
    ("other", "job", "found"),
    [
        ("large", "large 6", NO_ROWS),
        ("large", "normal 5", NO_ROWS),
        ("large", "large 4", "L3.0-3"),
        ("large", "filler 2", "L2.2 L2.3"),
        ("normal", "normal 6", "L3.0-3 L2.2 L2.3"),
    ],
)
def test_sequence(other: str, job: str, found: str) -> None:
    """V1-27: job A of six pods runs, then one job more."""
    assert nodes_of(answer(case(4, "L1{0,1,2,3} L2{0,1,2,3} L3{0,1,2,3}", "large 6"))) == expand("L1.0-3 L2.0 L2.1")
    result = answer(_enough(case(4, AFTER_A, job, (f"{other}@{SIX}",))))
    assert result["code"] == found if found == NO_ROWS else nodes_of(result) == expand(found)


def test_unlabelled_jobs_and_cpu_jobs_are_users_too() -> None:
    """Trap 5: they break the only-normal exception; V1-15 with one more job on L1."""
    example = case(4, "L1{3} L2{2,3} L3{0,1}", "normal 5", ("normal@L1.0,L1.1,L2.0,L2.1", "plain@L1.2"))
    example["running"][-1] |= {"chips": "0x0", "labels": {"tor-affinity": "null"}}
    assert answer(_enough(example))["code"] == NO_ROWS
    example["running"].pop()
    assert nodes_of(answer(example)) == expand("L3.0 L3.1 L2.2 L2.3 L1.3")


def test_crossing_needs_pods_below_two_leaves_or_outside_the_file() -> None:
    """A job inside one leaf blocks nothing, one with a pod outside the file blocks (§4.1)."""
    inside = case(4, "L1{2,3} L2{0,1,2,3}", "large 6", ("large@L1.0,L1.1",))
    assert nodes_of(answer(inside)) == expand("L2.0-3 L1.2 L1.3")
    outside = case(4, "L1{2,3} L2{0,1,2,3}", "large 6", ("large@L1.0,L1.1",))
    outside = _enough(outside)
    outside["running"].append(outside["running"][0] | {"node": "x-0", "rank": 2})
    outside["nodes"][-9] |= {"used": "0xff"}
    assert answer(outside)["code"] == NO_ROWS


def test_one_pod_a_node_although_two_would_fit() -> None:
    example = case(4, "L1{0,1,2,3} L2{0,1}", "filler 2", npus=1)
    assert nodes_of(answer(example)) == expand("L2.0 L2.1")
    assert answer(case(4, "L1{0,1}", "filler 3", npus=1))["code"] == NO_LEAF


def test_pods_without_npus_count_as_servers() -> None:
    """§3.2 consequence (b): three workers and a leader without NPUs look for four servers."""
    example = case(4, "L1{0,1,2} L2{0,1,2,3}", "normal 3", master=0)
    result = answer(example)
    assert nodes_of(result)[1:] == expand("L2.0-2")
    assert any("without NPUs" in note for note in result["trace"]["notes"])
    assert answer(case(5, "L1{0,1,2}", "filler 3", master=0))["code"] == NO_LEAF


def test_min_available_that_differs_turns_the_affinity_off() -> None:
    """§3.2 consequence (a): only the slice predicate is left, which admits slice 0."""
    example = case(4, "L1{0,1,2,3} L2{0,1,2,3}", "normal 2")
    result = _with_min_available(example, 1)
    assert nodes_of(result) == expand("L1.0 L2.0")
    assert any("minAvailable is 1" in note for note in result["trace"]["notes"])
    filler = _with_min_available(case(4, "L1{0,1,2,3}", "filler 2"), 1)
    assert filler["code"] == "NodePredicateFailed"
    assert set(codes_of(filler).values()) == {"check node err by: large model job can not over tor"}


def _with_min_available(example: dict, count: int) -> dict:
    import ascendctl
    from tests import cases

    text = cases.manifest(example)
    pods = sum(role["replicas"] for role in example["job"]["roles"])
    assert f"minAvailable: {pods}" in text
    job = ascendctl.load_jobs(text.replace(f"minAvailable: {pods}", f"minAvailable: {count}"))[0]
    return ascendctl.place(job, ascendctl.load_snapshot(cases.objects(example))).to_dict()


def test_servers_beyond_tor_count_do_not_abort() -> None:
    """SW-03: positions beyond the width are in no column."""
    leaves = "L1/3{0,1,2} L2/3{0,1,2}"
    result = answer(case(2, leaves, "large 5"))
    assert result["code"] == NO_ROWS
    assert "more than tor_count 2" in " ".join(result["trace"]["notes"])
    assert nodes_of(answer(case(2, leaves, "large 4"))) == expand("L1.0 L1.1 L2.0 L2.1")
    assert nodes_of(answer(case(2, leaves, "normal 5"))) == expand("L1.0-2 L2.0 L2.1")


def test_tor_count_zero_and_above_128() -> None:
    """§5.2: no rows and columns; only the greedy fill of a normal job is left."""
    zero = case(4, "L1{0,1} L2{0,1}", "normal 3")
    zero["leaves"]["tor_info"]["tor_count"] = 0
    assert nodes_of(answer(zero)) == expand("L1.0 L1.1 L2.0")
    zero["job"]["labels"]["tor-affinity"] = "large-model-schema"
    assert answer(zero)["code"] == "taskRow and taskColumn is illegal"
    wide = case(4, "L1{0,1} L2{0,1}", "large 4")
    wide["leaves"]["tor_info"]["tor_count"] = 129
    assert answer(wide)["code"] == NO_ROWS


def test_explanation_names_leaves_order_and_reason() -> None:
    result = answer(case(4, "L1{0,1,2,3} L2{1,2,3} L3{2,3}", "filler 2"))
    table, single = result["trace"]["steps"]
    assert [(row["leaf"], row["usable"]) for row in table["leaves"]] == [("L1", 4), ("L2", 3), ("L3", 2)]
    assert single["leaf"] == "L3" and single["not_taken"] == {"L1": 4, "L2": 3}
    refused = answer(_enough(case(4, "L1{0,1,2} L2{0,1,2} L3{0,1,2}", "large 5")))
    assert "logicTor full tor num 0 is not enough for job require 1" in refused["message"]
    short = answer(_enough(case(4, "L1{0,1,2,3} L2/3{0,1,2}", "large 8")))
    assert "netslice 3 server num 1 is not enough for job require 2" in short["message"]


def test_ties_among_more_than_twelve_leaves_are_noted() -> None:
    """§11 rule 2."""
    leaves = " ".join(f"L{i}{{0,1}}" for i in range(1, 14))
    result = answer(case(4, leaves, "filler 2"))
    assert nodes_of(result) == expand("L13.0 L13.1")
    assert any("a tie among 13" in note for note in result["trace"]["notes"])
    assert not any("a tie" in n for n in answer(case(4, leaves.rpartition(" ")[0], "filler 2"))["trace"]["notes"])


def test_servers_without_a_node_are_never_used() -> None:
    """Trap 3: a leaf with such a server is never completely free."""
    example = case(4, "L1{0,1,2,3} L2{0,1,2,3}", "large 6")
    example["leaves"]["tor_info"]["server_list"][0]["server"][2]["server_ip"] = "10.99.0.1"
    result = answer(example)
    assert result["metrics"]["step"] == "logical"
    assert nodes_of(result) == expand("L2.0-3 L1.0 L1.1")


def test_node_listed_twice_counts_once() -> None:
    """SW-06."""
    example = case(2, "L1{0,1} L2{0,1}", "normal 3")
    servers = example["leaves"]["tor_info"]["server_list"]
    servers[1]["server"][0]["server_ip"] = servers[0]["server"][0]["server_ip"]
    result = answer(example)
    assert nodes_of(result) == expand("L1.0 L1.1 L2.1")
    assert any("lists a node twice" in note for note in result["trace"]["notes"])


def test_chips_and_predicate_are_those_of_the_npu_policy() -> None:
    """HCCS rings of the Atlas 800: two NPUs of a ring with exactly two free, where there is one (chapter 10 §6.1)."""
    example = case(4, "L1{0,1,2} L2{0,1,2,3}", "filler 2", npus=2)
    example["job"]["annotations"] = {}
    example["nodes"][0]["used"] = "0x3"
    example["nodes"][1]["used"] = "0xee"
    example["nodes"][2]["used"] = "0xe0"
    result = answer(example)
    assert codes_of(result)["l1-1"] == "TOPO_NOT_MET"
    assert [(pod["node"], pod["npus"]) for pod in result["pods"]] == [("l1-0", [2, 3]), ("l1-2", [0, 1])]


def test_label_without_whole_npus_is_left_out() -> None:
    example = case(4, "L1{0,1,2,3} L2{0}", "normal 2")
    example["job"]["roles"][0]["npus"] = 0
    result = answer(example)
    assert result["outcome"] == "placed" and result["blocks"] == {}
    assert any("tor-affinity was left out" in note for note in result["trace"]["notes"])


def test_absent_label_and_null_are_the_plain_loop() -> None:
    for label in ({}, {"tor-affinity": "null"}):
        example = case(4, "L1{0,1,2,3} L2{0,1}", "normal 2", npus=4)
        example["job"]["labels"] = label
        result = answer(example)
        assert nodes_of(result) == ["l1-0", "l1-0"] and result["blocks"] == {}


def test_leaves_without_servers_and_clusters_without_nodes() -> None:
    example = case(4, "L1{0,1,2,3}", "normal 2")
    empty = example | {"nodes": []}
    assert answer(empty)["outcome"] == "unschedulable"
    example["leaves"]["tor_info"]["server_list"] = [{"tor_id": 0, "tor_ip": "L1", "server": []}]
    for version in ("1.0", "2.0"):
        example["params"]["nslb-version"] = version
        assert answer(example)["outcome"] == "unschedulable"
        assert answer(lose(example, {0: "L1.0"}, {1: ""}))["outcome"] == "unschedulable"
        del example["job"]["fault"]


def test_beside_a_policy_that_plans_whole_jobs_both_must_agree() -> None:
    """Chapter 23 §3.1: predicates of both, and no switch policy where the first one finds no plan."""
    example = case(4, "L1{0,1,2,3} L2{0,1,2,3}", "normal 4")
    annotations = {"huawei.com/schedule_policy": "multilevel", "huawei.com/affinity-config": "level1=2"}
    example["job"]["annotations"] = annotations
    example["params"]["resource-level-config"] = {"default": {"level1": {"label": "rack"}}}
    for i, entry in enumerate(example["nodes"]):
        entry["labels"] = {"rack": f"r{i // 2}"} if i else {}
    result = answer(example)
    assert nodes_of(result) == expand("L2.0-3")
    assert {"ML-N02"} == {refusal["code"] for refusal in result["nodes"]["rejected"]}
    example["job"]["annotations"] = annotations | {"huawei.com/affinity-config": "level1=4"}
    assert answer(example)["code"] == "ML-P03"
