"""Lost pods under switch affinity 1.0 and 2.0: chapter 23 §13.4 and §9."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import ascendctl
from tests import cases
from tests.engine.policies.switch_world import answer, case, codes_of, expand, lose, marks_of, node, nodes_of, states_of

WRONG_SLICE, BLACK_LISTED = "node sliceId is not meet task require", "tor check failed node by nslb2.0"


def _places(*rows: str) -> dict[int, str]:
    """ "4-7 L2.0-3" -> {4: "L2.0", ...}."""
    found = {}
    for row in rows:
        ranks, where = row.split(" ", 1)
        first, _, last = ranks.partition("-")
        names = [f"{n.partition('-')[0].upper()}.{n.partition('-')[2]}" for n in expand(where)]
        found |= dict(zip(range(int(first), int(last or first) + 1), names, strict=True))
    return found


def _v1(leaves: str, job: str, bound: dict[int, str], lost: dict[int, str], *others: str) -> dict[str, Any]:
    return lose(case(4, leaves, job, others), bound, lost)


RS1 = _places("0-1 L1.0 L1.1", "3 L1.3", "4-7 L2.0-3")
RS2 = _places("0-3 L1.0-3", "4 L2.0")


class TestVersion1:
    def test_largest_slice_in_use_is_enabled(self) -> None:
        """RS-1: the recovered node of slice 2 is refused."""
        result = answer(_v1("L1{2} L2{} L3{0,1,2,3} L4{0,1,2,3}", "large 8", RS1, {2: "L1.2"}))
        assert nodes_of(result) == expand("L1.0 L1.1 L3.3 L1.3 L2.0-3")
        codes = codes_of(result)
        assert codes["l1-2"] == WRONG_SLICE
        assert {name for name, code in codes.items() if code == WRONG_SLICE and name[:2] in ("l3", "l4")} == set(
            expand("L3.0-2 L4.0-2")
        )

    def test_leaf_of_the_job_comes_first(self) -> None:
        """RS-2."""
        result = answer(_v1("L1{} L2{1,2,3} L3{0,1,2,3}", "large 6", RS2, {5: ""}))
        assert nodes_of(result)[5] == node("L2.3")
        assert result["trace"]["steps"][-1]["to"] == "l2-3"
        assert "stay" in result["trace"]["steps"][-2]

    def test_crossed_leaves_are_refused(self) -> None:
        """RS-3."""
        example = _v1("L1{} L2{1,3} L3{1,2,3} L4{0,1,2,3}", "large 6", RS2, {5: ""}, "large@L3.0,L2.2")
        result = answer(example)
        assert nodes_of(result)[5] == node("L4.3")
        assert codes_of(result)["l3-3"] == codes_of(result)["l2-3"] == WRONG_SLICE

    def test_fillers_are_never_replaced_pod_by_pod(self) -> None:
        """RS-4."""
        result = answer(_v1("L1{1,2}", "filler 2", {0: "L1.0"}, {1: ""}))
        assert result["code"] == "NodePredicateFailed"
        text = "check node err by: large model job can not over tor"
        assert {codes_of(result)[n] for n in expand("L1.1 L1.2")} == {text}

    def test_node_outside_the_file(self) -> None:
        example = _v1("L1{} L2{1,2,3} L3{0,1,2,3}", "large 6", RS2, {5: ""})
        example["nodes"].append({"name": "x-1", "ip": "10.0.9.1", "resource": "huawei.com/Ascend910", "chips": 8})
        assert codes_of(answer(example))["x-1"] == "node is not in tor node list by not get server"

    def test_option_takes_the_slice_with_the_fewest_pods(self) -> None:
        """D8: of RS-1 the slices hold 2, 2, 1 and 2 pods."""
        example = _v1("L1{2} L2{} L3{0,1,2,3} L4{0,1,2,3}", "large 8", RS1, {2: "L1.2"})
        cluster = ascendctl.load_snapshot(cases.objects(example))
        cluster = replace(cluster, config=replace(cluster.config, restart_fewest_slice=True))
        job = ascendctl.load_jobs(cases.manifest(example))[0]
        result = ascendctl.reschedule(job, cluster, cases.previous(example), cases.faulty(example)).to_dict()
        assert nodes_of(result)[2] == node("L1.2")

    def test_nodes_of_remaining_pods_take_no_second_pod(self) -> None:
        example = case(4, "L1{3} L2{3}", "large 4", npus=1)
        example = lose(example, _places("0 L1.0", "1 L1.3", "2 L2.0"), {3: ""})
        for entry in example["job"]["fault"]["previous"]:
            entry["chips"] = "0x1"
        for n in example["nodes"]:
            n["used"] = "0x1" if n.get("used") else "0x0"
        result = answer(example)
        assert nodes_of(result)[3] == node("L2.3")
        assert codes_of(result)["l1-3"] == "NODE_HOLDS_POD"


def _v2(
    width: int,
    limit: int,
    leaves: str,
    job: str,
    bound: dict[int, str],
    lost: dict[int, str],
    marks: dict[str, str],
    broken: bool = True,
) -> dict[str, Any]:
    return lose(case(width, leaves, job, version="2.0", limit=limit), bound, lost, marks, broken)


RS5 = _places("1-3 L1.1-3", "4-7 L2.0-3")
RS6_LEAVES = "S:L1{} I:L2{} S:L3{0,1,2,3} U:L4/2{0,1}"
RS13 = _places("0-3 L1.0-3", "4 L2.0")
RS13_MARKS = {"L1": "2/0", "L2": "1/0"}


class TestVersion2:
    def test_recovered_node_of_a_shared_leaf(self) -> None:
        """RS-5: L2, idle and full, becomes exclusive."""
        leaves = RS6_LEAVES.replace("L1{}", "L1{0}")
        result = answer(_v2(4, 2, leaves, "normal 8", RS5, {0: ""}, {"L1": "1/0"}))
        assert nodes_of(result) == expand("L1.0-3 L2.0-3")
        assert result["pods"][0]["annotations"]["sharedTorIp"] == "L1"
        assert states_of(result) == {"L1": "S", "L2": "E", "L3": "S", "L4": "U"}

    def test_second_shared_leaf(self) -> None:
        """RS-6: the unhealthy leaf passes the predicate but is not listed."""
        result = answer(_v2(4, 2, RS6_LEAVES, "normal 8", RS5, {0: ""}, {"L1": "1/0"}))
        assert nodes_of(result)[0] == node("L3.0")
        assert result["pods"][0]["annotations"]["sharedTorIp"] == "L3"
        assert BLACK_LISTED not in codes_of(result).values()

    def test_budget_used_up_opens_an_exclusive_leaf(self) -> None:
        """RS-7."""
        leaves = "E:L1{} S:L2{} I:L4{0,1,2,3} S:L5{2,3}"
        bound = _places("0-3 L1.0-3", "4-5 L2.0 L2.1")
        result = answer(_v2(4, 1, leaves, "large 7", bound, {6: ""}, {"L1": "2/0", "L2": "1/0"}))
        assert nodes_of(result)[6] == node("L4.0")
        assert marks_of(result)["L4"] == "2/0"
        assert {codes_of(result)[n] for n in expand("L5.2 L5.3")} == {BLACK_LISTED}

    def test_shared_leaf_of_the_job(self) -> None:
        """RS-8: nodes below L3 score 0."""
        leaves = "E:L1{} S:L2{2,3} I:L3{0,1,2,3}"
        bound = _places("0-1 L1.0 L1.1", "3 L1.3", "4-5 L2.0 L2.1")
        result = answer(_v2(4, 2, leaves, "large 6", bound, {2: ""}, {"L1": "2/0", "L2": "1/0"}))
        assert nodes_of(result)[2] == node("L2.2") and marks_of(result)["L2"] == "1/0"
        scores = {entry["node"]: entry["score"] for entry in result["trace"]["scores"]}
        assert scores["l2-2"] == 9900 and scores["l3-0"] == 0

    def test_exclusive_before_shared(self) -> None:
        """RS-9."""
        leaves = "E:L1{6,7} S:L2{2} I:L3{0,1,2,3,4,5,6,7}"
        bound = _places("0-2 L1.0-2", "4-5 L1.4 L1.5", "6-7 L2.0 L2.1")
        result = answer(_v2(8, 2, leaves, "large 8", bound, {3: ""}, {"L1": "2/0", "L2": "1/0"}))
        assert nodes_of(result)[3] == node("L1.6") and marks_of(result)["L1"] == "2/0"
        assert result["trace"]["scores"][0] == {"node": "l1-6", "score": 10000}

    def test_single_leaf_job_stays_in_its_leaf(self) -> None:
        """RS-10 and RS-11."""
        bound = _places("0-2 L1.0-2", "4 L1.4")
        result = answer(_v2(8, 2, "I:L1{6,7} I:L3{0,1,2,3,4,5,6,7}", "large 5", bound, {3: ""}, {"L1": "0/0"}))
        assert nodes_of(result)[3] == node("L1.6") and marks_of(result) == {"L1": "0/0"}
        assert {codes_of(result)[n] for n in expand("L3.0-7")} == {BLACK_LISTED}
        full = answer(_v2(8, 2, "I:L1{} I:L3{0,1,2,3,4,5,6,7}", "large 5", bound, {3: ""}, {"L1": "0/0"}))
        assert full["code"] == "NodePredicateFailed"

    def test_filler_without_room(self) -> None:
        """RS-12."""
        example = _v2(8, 2, "I:L1{6} I:L3{0,1,2,3,4,5,6,7}", "filler 3", {0: "L1.0"}, {1: "", 2: ""}, {"L1": "0/0"})
        assert answer(example)["code"] == "not enough tor for fill job restart"

    def test_former_node_first(self) -> None:
        """RS-13."""
        example = _v2(
            4, 2, "E:L1{} S:L2{1,2} I:L3{0}", "large 6", RS13, {5: "L2.1"}, RS13_MARKS | {"L3": "0/0"}, broken=False
        )
        result = answer(example)
        assert nodes_of(result)[5] == node("L2.1") and marks_of(result)["L2"] == "1/0"
        assert "former node works again" in result["trace"]["steps"][-1]["text"]

    def test_idle_leaves_ascending(self) -> None:
        """RS-14: the smaller one is filled exactly."""
        leaves = "E:L1{} S:L2{} I:L3{3} I:L4{0,1}"
        result = answer(_v2(4, 2, leaves, "large 6", RS13, {5: ""}, RS13_MARKS))
        assert nodes_of(result)[5] == node("L3.3") and marks_of(result)["L3"] == "2/0"

    def test_used_leaf_and_a_new_shared_one(self) -> None:
        """RS-15."""
        leaves = "E:L1{} S:L2{3} I:L3{1,2,3} I:L4{0,1,2,3}"
        bound = _places("0-1 L1.0 L1.1", "4 L2.0")
        result = answer(_v2(4, 2, leaves, "large 6", bound, {2: "", 3: "", 5: ""}, RS13_MARKS))
        assert nodes_of(result) == expand("L1.0 L1.1 L2.3 L3.1 L2.0 L3.2")
        assert marks_of(result) == {"L1": "2/0", "L2": "1/0", "L3": "1/0"}
        assert states_of(result) == {"L1": "E", "L2": "S", "L3": "S", "L4": "I"}

    def test_unhealthy_leaves_give_no_room(self) -> None:
        """RS-16."""
        bound = _places("0-2 L1.0-2", "4 L2.0")
        example = _v2(4, 2, "E:L1{} S:L2{} U:L3{0}", "large 6", bound, {3: "", 5: ""}, RS13_MARKS)
        assert answer(example)["code"] == "not enough tor for job restart"

    def test_more_shared_leaves_than_the_limit(self) -> None:
        """Trap 13: an overflowed job can never be replaced pod by pod."""
        bound = _places("0-3 L1.0-3", "4 L2.0", "5 L3.0")
        marks = {"L1": "2/0", "L2": "1/1", "L3": "1/1"}
        example = _v2(4, 1, "E:L1{} U:L2{1} U:L3{1}", "normal 7", bound, {6: ""}, marks)
        assert answer(example)["code"] == "shared tor num is over global shared tor num"

    def test_remaining_pod_outside_the_file(self) -> None:
        """Trap 4: the scheduler aborts there."""
        example = _v2(4, 2, "E:L1{3} S:L2{3}", "large 4", _places("0-2 L1.0-2"), {3: "L2.0"}, RS13_MARKS)
        x = {"name": "x-1", "ip": "10.0.9.1", "resource": "huawei.com/Ascend910", "chips": 8, "used": "0xff"}
        example["nodes"].append(x)
        example["job"]["fault"]["previous"][2]["node"] = "x-1"
        example["nodes"][2] |= {"used": "0x0", "status": "UnHealthy"}
        result = answer(example)
        assert nodes_of(result) == ["l1-0", "l1-1", "x-1", "l1-3"]
        assert any("outside basic-tor-node-cm" in note for note in result["trace"]["notes"])

    def test_sub_healthy_node_comes_after_the_others(self) -> None:
        """§8.2: 100 - 1, still before a shared leaf at the same score."""
        leaves = "E:L1{6,7} S:L2{2} I:L3{0}"
        bound = _places("0-2 L1.0-2", "4-5 L1.4 L1.5", "6-7 L2.0 L2.1")
        example = _v2(8, 2, leaves, "large 8", bound, {3: ""}, {"L1": "2/0", "L2": "1/0"})
        ill = next(n for n in example["nodes"] if n["name"] == "l1-6")
        ill["sub_healthy"] = True
        assert nodes_of(answer(example))[3] == node("L1.7")
        next(n for n in example["nodes"] if n["name"] == "l1-7")["sub_healthy"] = True
        assert nodes_of(answer(example))[3] == node("L1.6")

    def test_marks_of_remaining_pods_come_from_the_snapshot_if_need_be(self) -> None:
        example = _v2(8, 2, "I:L1{6,7} I:L3{0,1}", "large 5", _places("0-2 L1.0-2", "4 L1.4"), {3: ""}, {"L1": "0/0"})
        before = cases.previous(example)
        assert before is not None
        for pod in before["pods"]:
            pod["annotations"] = {}
        job = ascendctl.load_jobs(cases.manifest(example))[0]
        cluster = ascendctl.load_snapshot(cases.objects(example))
        result = ascendctl.reschedule(job, cluster, before, cases.faulty(example)).to_dict()
        assert codes_of(result)["l3-0"] == BLACK_LISTED and marks_of(result) == {"L1": "0/0"}


def test_nothing_lost_leaves_everything_in_place() -> None:
    example = lose(case(4, "L1{} L2{0,1,2,3}", "large 4"), _places("0-3 L1.0-3"), {})
    result = answer(example)
    assert nodes_of(result) == expand("L1.0-3") and result["outcome"] == "placed"


def test_auto_restarts_the_whole_job_where_single_pods_find_no_node() -> None:
    """RS-4 with level "auto": the filler moves as a whole."""
    example = _v1("L1{1,2} L2{0,1}", "filler 2", {0: "L1.0"}, {1: ""})
    example["nodes"] = [n | ({"used": "0xff"} if n["name"] == "l1-0" else {}) for n in example["nodes"]]
    before = cases.previous(example)
    assert before is not None
    before["fault"]["kind"] = "auto"
    job = ascendctl.load_jobs(cases.manifest(example))[0]
    cluster = ascendctl.load_snapshot(cases.objects(example))
    result = ascendctl.reschedule(job, cluster, before, cases.faulty(example)).to_dict()
    assert nodes_of(result) == expand("L2.0 L2.1")
    assert any("the whole job starts again" in note for note in result["trace"]["notes"])
