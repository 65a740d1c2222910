"""`ascendctl explain`: rules, families, fields, diagnostics, refusals."""

from __future__ import annotations

import json

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
    from pathlib import Path
    from re import findall

    from ascendctl.ranks.codes import OUTPUT_CODES

    assert "pins that differ between roles" in explain("p-07")
    assert json.loads(explain("RT-03", "-o", "json"))["severity"] == "error"
    package = Path(__file__).parents[2] / "ascendctl"
    sources = [*(package / "ranks").glob("*.py"), *(package / "manifest").glob("patch*.py")]
    used = {code for path in sources for code in findall(r'"((?:RK|RT|P)-[0-9I]+)"', path.read_text(encoding="utf-8"))}
    assert len(used) > 20 and used <= OUTPUT_CODES.keys()
