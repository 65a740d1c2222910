"""The examples of `ascendctl explain RULE`, put into a manifest that fits the rule: the wrong one breaks it, the right one
does not."""

from __future__ import annotations

from typing import Any

import pytest
import yaml

from ascendctl.validate.catalogue import all_rules, find_rule
from ascendctl.validate.keys import ANNOTATION, RESOURCE, SELECTOR, by_name
from tests.validate.manifests import change, rules
from tests.validate.test_every_rule import ALL

OF_CONTEXT = frozenset(
    [
        "DOC-07",
        "DOC-08",
        "SCH-06",
        "PGR-03",
        "RES-01",
        "SEL-02",
        "SEL-04",
        "SEL-05",
        "SEL-07",
        "SEL-17",
        "SPB-06",
        "SPB-08",
        "SPB-11",
        "SPB-12",
        "RAB-04",
        "RAB-05",
        "RAB-06",
        "RAB-07",
        "RAB-09",
        "RAB-11",
        "RAB-13",
        "MLV-01",
        "MLV-07",
        "MLV-08",
        "MLV-09",
        "MLV-13",
        "TOR-03",
        "TOR-05",
        "D31-10",
        "VNP-13",
        "SFT-01",
        "SFT-06",
        "RSC-06",
    ]
)
"""Rules whose examples say only in a comment what else must hold: the number of pods, another resource, a cluster."""


def keys(example: str) -> dict[str, str]:
    """An example that consists of labels, annotations, selectors or resources alone; else nothing."""
    found: dict[str, str] = {}
    for line in example.splitlines():
        text = line.partition("    #")[0]
        try:
            value = yaml.load(text, yaml.BaseLoader)
        except yaml.YAMLError:
            return {}
        if not isinstance(value, dict) or not all(isinstance(v, str) and k in by_name() for k, v in value.items()):
            return {}
        found |= value
    return found


def templates(manifest: dict[str, Any]) -> list[str]:
    """Pointers to the pod templates of a manifest."""
    spec = manifest["spec"]
    if manifest["kind"] == "AscendJob":
        return [f"/spec/replicaSpecs/{name}/template" for name in spec["replicaSpecs"]]
    if "tasks" in spec:
        return [f"/spec/tasks/{i}/template" for i in range(len(spec["tasks"]))]
    return [""] if manifest["kind"] == "Pod" else ["/spec/template"]


def put(manifest: dict[str, Any], example: dict[str, str]) -> dict[str, Any]:
    """The manifest with the keys of an example where they are read."""
    changes: dict[str, Any] = {}
    read_on_template = manifest["apiVersion"] in ("apps/v1", "batch/v1")
    for key, value in example.items():
        name, places = key.replace("/", "~1"), {row.place for row in by_name()[key]}
        for template in templates(manifest):
            if RESOURCE in places:
                amount = int(value) if value.isdigit() else value
                box = f"{template}/spec/containers/0/resources"
                changes |= {f"{box}/{part}/{name}": amount for part in ("requests", "limits")}
            elif SELECTOR in places:
                changes[f"{template}/spec/nodeSelector/{name}"] = value
        if not places & {RESOURCE, SELECTOR}:
            which = "annotations" if ANNOTATION in places else "labels"
            changes[f"{'/spec/template' if read_on_template else ''}/metadata/{which}/{name}"] = value
    return change(manifest, changes)


EXECUTED = sorted(
    rule.id for rule in all_rules() if keys(rule.wrong) and keys(rule.right) and rule.id not in OF_CONTEXT
)


@pytest.mark.parametrize("rule", EXECUTED)
def test_examples_do_what_they_say(rule: str) -> None:
    known = find_rule(rule)
    assert known is not None
    bases = [(right, options) for name, _, right, options in ALL if name == rule and isinstance(right, dict)]
    assert any(
        rule in rules(put(base, keys(known.wrong)), **options)
        and rule not in rules(put(base, keys(known.right)), **options)
        for base, options in bases
    )


def test_most_examples_of_keys_are_executed() -> None:
    assert len(EXECUTED) >= 74
    assert all(keys(rule.wrong) and keys(rule.right) for name in OF_CONTEXT if (rule := find_rule(name)))


@pytest.mark.parametrize("rule", all_rules(), ids=lambda rule: rule.id)
def test_every_rule_has_two_different_examples(rule: Any) -> None:
    assert rule.wrong.strip() and rule.right.strip() and rule.wrong != rule.right
