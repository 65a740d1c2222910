"""`ascendctl explain`: rules, families, fields, diagnostics, refusals."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from ascendctl.cli.explain import command


def explain(*words: str) -> str:
    result = CliRunner().invoke(command, words)
    assert result.exit_code == 0, result.output
    return result.output


def test_a_rule_has_a_wrong_and_a_right_example() -> None:
    text = explain("spb-06")
    assert text.startswith("SPB-06 (error, sp-block)")
    assert "stays Pending for ever" in text
    assert "Wrong:\n  sp-block:" in text and "Right:\n  sp-block:" in text
    assert "{" not in text


def test_a_field_says_where_it_goes() -> None:
    text = explain("sp-block")
    assert "$.spec.template.metadata.annotations" in text
    assert "SPB-06" in text


def test_a_family_a_diagnostic_a_leaf_check_and_a_refusal() -> None:
    assert "TOR-01" in explain("TOR")
    assert "baseDeviceInfos" in explain("S321")
    assert "tor_count" in explain("SW-02")
    assert "too few free NPUs" in explain("NPU_SHORTAGE")


@pytest.mark.parametrize(
    ("term", "start"),
    [
        ("SW", "SW: leaf topology of a snapshot"),
        ("sw-05", "SW-05 (error, leaf topology of a snapshot)"),
        ("ML-C03", "ML-C03 (error, snapshot): tree whose levels are not level1 to levelm"),
        ("ML-H02", "ML-H02 (error, snapshot): HyperNode with two parents"),
        ("ml-n01", "ML-N01 (placement): a node is refused: "),
        ("ML-P03", "ML-P03 (placement): a job is refused: no tree has room for its groups"),
        ("ML-J03", "MLV-03 (error, multilevel)"),
        ("ML-J06", "MLV-05 (error, multilevel)"),
        ("logictor is ILLEGAL", "logicTor is illegal (placement): a job is refused: "),
        ("tor check failed node by nslb2.0", "tor check failed node by nslb2.0 (placement): a node is refused: "),
    ],
)
def test_codes_of_trees_and_leaf_switches(term: str, start: str) -> None:
    assert explain(term).startswith(start)


@pytest.mark.parametrize("term", ["ML-J99", "(((-1", "*-1", "[", ""])
def test_odd_terms_are_usage_errors(term: str) -> None:
    assert CliRunner().invoke(command, ["--", term]).exit_code == 2


def test_every_code_that_the_tree_and_leaf_policies_give_is_explained() -> None:
    from re import findall

    from ascendctl.engine.codes import JOB_CODES

    folder = Path(__file__).parents[2] / "ascendctl" / "engine" / "policies"
    texts = [path.read_text(encoding="utf-8") for path in folder.glob("multilevel*.py")]
    used = {code for text in texts for code in findall(r'"(ML-[PR][0-9]+)"', text)}
    from ascendctl.engine.policies import switch_restart, switch_single, switch_v1, switch_v2

    used |= {switch_v1.NO_LEAF, switch_v1.NO_LOGICAL_LEAF, switch_v1.NO_WIDTH, switch_single.TOO_MANY}
    used |= {switch_v2.NO_LEAF, switch_v2.NO_CAPACITY, switch_v2.NO_OVERFLOW}
    used |= {switch_restart.OVER_LIMIT, switch_restart.NO_FILLER_ROOM, switch_restart.NO_ROOM}
    assert used == JOB_CODES.keys() - {"JobEnqueueFailed", "NodePredicateFailed"}


def test_all_rules_as_data() -> None:
    rows = json.loads(explain("--all", "-o", "json"))
    ids = [row["id"] for row in rows]
    assert len(ids) == len(set(ids)) and {"DOC-01", "ACJ-02", "SPB-06", "RTB-05"} <= set(ids)
    assert json.loads(explain("RES-04", "-o", "json"))["id"] == "RES-04"


@pytest.mark.parametrize(("term", "meant"), [("sp-blok", "sp-block"), ("SPB-99", "SPB-0")])
def test_an_unknown_term_is_a_usage_error_with_a_guess(term: str, meant: str) -> None:
    result = CliRunner().invoke(command, [term])
    assert result.exit_code == 2
    assert meant in result.output


def test_codes_of_what_follows_a_placement() -> None:
    from re import findall

    from ascendctl.ranks.codes import OUTPUT_CODES

    assert "pins that differ between roles" in explain("p-07")
    assert json.loads(explain("RT-03", "-o", "json"))["severity"] == "error"
    package = Path(__file__).parents[2] / "ascendctl"
    sources = [*(package / "ranks").glob("*.py"), *(package / "manifest").glob("patch*.py")]
    used = {code for path in sources for code in findall(r'"((?:RK|RT|P)-[0-9I]+)"', path.read_text(encoding="utf-8"))}
    assert len(used) > 20 and used <= OUTPUT_CODES.keys()


DUMP = str(Path(__file__).parents[2] / "samples" / "850" / "dump")


def test_a_node_of_a_dump() -> None:
    text = explain("node", "a850-01", "a850-04", "-s", DUMP)
    first, second = text.split("\n\nNode a850-04\n")
    assert first.startswith("Node a850-01\nState          free; pods with NPUs may come\n")
    assert "Net-unhealthy  0,5  (0: PreSeparateNPU 81078603; 5: PreSeparateNPU 81078603)\n" in first
    assert f"chips            ConfigMap mindx-dl/cluster-info-device-0  {DUMP}/cluster.json#5  " in first
    assert second.startswith("State      broken; refused: NODE_UNHEALTHY, the node is unhealthy\n")
    data = json.loads(explain("node", "a850-01", "-s", DUMP, "-o", "json"))
    assert (data["topic"], data["name"], data["npus"]["networkUnhealthy"]) == ("node", "a850-01", [0, 5])


def test_a_node_without_npus_is_neither_broken_nor_open_to_pods_with_npus() -> None:
    text = explain("node", "master-01", "-s", str(Path(DUMP).parents[1] / "a2" / "dump"))
    assert text.splitlines()[1].split(maxsplit=1) == ["State", "without NPUs; no pods with NPUs come"]


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["node", "a850-4", "-s", DUMP], "the dump has no node 'a850-4'; did you mean a850-04?"),
        (["node", "-s", DUMP], "name the node"),
        (["SPB-06", "a850-04"], "only `explain node NODE... -s DUMP` takes more than a term"),
        (["SPB-06", "-s", DUMP], "only `explain node NODE... -s DUMP` takes more than a term"),
    ],
)
def test_how_nodes_cannot_be_asked_for(words: list[str], message: str) -> None:
    result = CliRunner().invoke(command, words)
    assert result.exit_code == 2 and message in result.output.replace("\n", " ")


@pytest.mark.parametrize(
    ("term", "parts"),
    [
        ("minAvailable", ("$.spec.runPolicy.schedulingPolicy.minAvailable", "$.spec.minMember", "ACJ-14", "Pending")),
        ("spec.queue", ("$.spec.runPolicy.schedulingPolicy.queue", "scheduling.volcano.sh/queue-name", "SCH-03")),
        ("schedulerName", ("$.spec.template.spec.schedulerName", "default scheduler")),
        ("replicas", ("$.spec.replicaSpecs.<Type>.replicas", "$.spec.parallelism")),
        ("minResources", ("$.spec.minResources", "ACJ-16")),
        ("huawei.com/ub_rdma", ("hostNetwork", "ENV-06")),
        ("huawei.com/Ascend310P-VPro", ("without Volcano",)),
    ],
)
def test_fields_whose_place_depends_on_the_kind(term: str, parts: tuple[str, ...]) -> None:
    text = explain(term)
    assert all(part in text for part in parts), text
