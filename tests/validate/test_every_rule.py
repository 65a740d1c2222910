"""Every rule has a manifest that breaks it and one that does not, and `validate` tells the two apart."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from ascendctl.snapshot.load import load_snapshot
from ascendctl.validate.api import inspect
from ascendctl.validate.catalogue import all_rules
from ascendctl.validate.finding import Finding
from ascendctl.validate.options import Options
from tests import cases
from tests.engine.policies.switch_world import case
from tests.validate.manifests import ascend_job, change, findings, volcano_job
from tests.validate.rulecases import CASES, DROP, Case, leaf_world
from tests.validate.rules import test_acj, test_families, test_k8s, test_vcj, test_workloads

LEAVES: dict[str, dict[str, Any]] = {
    "SW-01": {"server_list": []},
    "SW-02": {"tor_count": 0},
    "SW-03": {"tor_count": 3},
    "SW-04": {"tor_count": 5},
    "SW-05": {"server_list/0/tor_ip": ""},
    "SW-06": {"server_list/0/server/1/server_ip": "10.1.0.1"},
    "SW-07": {"server_list/0/server/3/slice_id": 4},
    "SW-08": {"server_list/0/server/0/slice_id": 1, "server_list/0/server/1/slice_id": 0},
    "SW-09": {"server_list/0/server/3/server_ip": "10.9.9.9"},
    "SW-10": {"server_list/1/server/3": DROP},
    "SW-11": {"tor_level": "single-layer"},
    "SW-12": {"server_list/0/server/0/npu_count": 1},
}
"""What makes a sound leaf topology break each rule."""


def tables() -> Iterator[Case]:
    """The tables of the families: what a change breaks is whole without it."""
    based = [*test_k8s.CASES, *test_workloads.CASES, *test_families.SCH, *test_families.RES, *test_families.RSC]
    based += [*test_families.ENV, *test_families.RTB, *test_families.INF]
    for rule, base, changes, _, _ in based:
        named = not changes or rule == "RSC-12"  # the wrong annotation is part of the base
        yield rule, change(base, changes), change(base, {"/metadata/annotations": {}}) if named else base, {}
    for table, base in ((test_acj.CASES, ascend_job()), (test_vcj.CASES, volcano_job())):
        for rule, changes, _, _ in table:
            yield rule, change(base, changes), base, {}


ALL: list[Case] = [*CASES, *tables()]


def fired(documents: Any, options: dict[str, Any]) -> list[Finding]:
    return findings(*(documents if isinstance(documents, list) else [documents]), **options)


@pytest.mark.parametrize(("rule", "wrong", "right", "options"), ALL, ids=[case[0] for case in ALL])
def test_the_wrong_one_breaks_the_rule_and_the_right_one_does_not(
    rule: str, wrong: Any, right: Any, options: dict[str, Any]
) -> None:
    assert rule in [finding.rule for finding in fired(wrong, options)]
    assert rule not in [finding.rule for finding in fired(right, options)]


@pytest.mark.parametrize(("rule", "wrong", "right", "options"), CASES, ids=[case[0] for case in CASES])
def test_nothing_else_is_wrong_with_the_right_one(rule: str, wrong: Any, right: Any, options: dict[str, Any]) -> None:
    assert [(f.rule, f.path) for f in fired(right, options) if f.severity == "error"] == []


def leaf_rules(world: dict[str, Any]) -> list[str]:
    options = Options(snapshot=load_snapshot(cases.objects(world)), verbose=True)
    return [finding.rule for finding in inspect(cases.manifest(world), options).findings]


@pytest.mark.parametrize("rule", LEAVES)
def test_leaf_topologies(rule: str) -> None:
    assert rule in leaf_rules(leaf_world(**LEAVES[rule]))
    assert rule not in leaf_rules(leaf_world())


def test_width_of_a_single_layer_network() -> None:
    def world(pods: int) -> dict[str, Any]:
        return case(4, "L1{0,1,2,3} L2{0,1,2,3}", f"normal {pods}", level="single_layer")

    assert "TOR-04" in leaf_rules(world(5))
    assert "TOR-04" not in leaf_rules(world(4))


def test_no_rule_is_left_out() -> None:
    shown = {case[0] for case in ALL} | set(LEAVES) | {"TOR-04"}
    assert sorted({rule.id for rule in all_rules()} - shown) == []
    assert sorted(shown - {rule.id for rule in all_rules()}) == []
