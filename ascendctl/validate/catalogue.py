"""All rules, and how a violation becomes a sentence."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import cache
from importlib import import_module
from typing import Any

from ascendctl.validate.rule import Rule, Violation
from ascendctl.yamlio.document import FieldPath, format_path

FAMILIES = {
    "DOC": "doc", "K8S": "k8s", "SCH": "sch", "ACJ": "acj", "VCJ": "vcj", "PGR": "pgr", "WLD": "wld", "INF": "inf",
    "EXT": "ext", "RES": "counts resources", "SEL": "selection", "SPB": "superpod", "RAB": "rack", "MLV": "multilevel",
    "TOR": "switch", "D31": "inference", "VNP": "vnpu", "SFT": "soft_share", "RSC": "rsc", "ENV": "env", "RTB": "rtb",
    "SW": "leaves", "CMT": "comment",
}  # fmt: skip
"""Family -> modules under `validate/rules`."""

TITLES = {
    "DOC": "documents", "K8S": "core conventions", "SCH": "scheduler and queues", "ACJ": "AscendJob",
    "VCJ": "Volcano Job", "PGR": "PodGroup", "WLD": "Deployment, StatefulSet, Job, Pod", "INF": "infer-operator kinds",
    "EXT": "wrappers (OME, AIBrix, LWS)", "RES": "NPU resources", "SEL": "policy and selector", "SPB": "sp-block",
    "RAB": "ra-block", "MLV": "multilevel", "TOR": "switch affinity", "D31": "Atlas 300I family", "VNP": "vNPU",
    "SFT": "soft sharing", "RSC": "fault handling", "ENV": "devices and environment", "RTB": "rank table",
    "SW": "leaf topology of a snapshot", "CMT": "comments to this program",
}  # fmt: skip

OUTCOMES = {
    "API": "the API server refuses the object",
    "OPF": "the operator fails the job for good (JobValidFailed), no pod is created",
    "ADM": "refused by Volcano's admission where it is installed",
    "INF": "the infer-operator only logs ValidateError, nothing is created",
    "PEND-V": "the scheduler rejects the job: it stays Pending for ever and never becomes Failed",
    "PEND-N": "no node ever fits: the job stays Pending",
    "IGN": "it is silently ignored",
    "FALL": "another policy than the intended one is used silently",
    "RUN": "the pods start, but do not work as meant",
    "CRASH": "the scheduler process crashes",
}
"""Outcome code -> what the user sees."""


@cache
def rules_module(name: str) -> Any:
    """A module of `ascendctl.validate.rules`, imported when the first object needs it."""
    return import_module(f"ascendctl.validate.rules.{name}")


@cache
def family(name: str) -> Mapping[str, Rule]:
    """The rules of a family such as "SPB" by id. Raises KeyError for an unknown family."""
    modules = map(rules_module, FAMILIES[name].split())
    return {rule.id: rule for module in modules for rule in module.RULES}


def find_rule(rule_id: str) -> Rule | None:
    """A rule by its id; None if there is none."""
    name = rule_id.partition("-")[0]
    return family(name).get(rule_id) if name in FAMILIES else None


def all_rules() -> tuple[Rule, ...]:
    """Every rule, family by family, by number."""
    return tuple(rule for name in FAMILIES for rule in sorted(family(name).values(), key=lambda rule: rule.id))


_UNFILLED = re.compile(r"\{[a-z_]+\}")


class _Values(dict[str, object]):
    """Values of a message; a name that nobody filled in stays visible instead of breaking the run."""

    def __missing__(self, key: str) -> str:
        return "{" + key + "}"


def message_of(rule: Rule, violation: Violation, path: FieldPath | None = None) -> str:
    """The message of a violation, without its outcome."""
    return violation.message or _fill(rule.message, violation, path)


def hint_of(rule: Rule, violation: Violation, path: FieldPath | None = None) -> str:
    """What to write instead; "" if nothing is known."""
    hint = violation.hint or _fill(rule.hint, violation, path)
    # a schema that finds the violation knows nothing of the rule's own values
    return "" if violation.message and not violation.hint and _UNFILLED.search(hint) else hint


def _fill(template: str, violation: Violation, path: FieldPath | None) -> str:
    at = format_path(violation.path if path is None else path)
    text = template.format_map(_Values({"path": at, **violation.values}))
    # the pods of a Deployment have no role to name
    return text.replace(" ()", "").removeprefix(": ") if violation.values.get("role") == "" else text


def outcome_of(rule: Rule) -> str:
    """The sentence of the first outcome code of a rule; "" if it has none."""
    return OUTCOMES.get(rule.outcome.replace(",", " ").replace("/", " ").split(" ")[0] if rule.outcome else "", "")
