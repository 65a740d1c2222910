"""What `ascendctl explain` knows of a term: rules, families, keys, and the codes of all tables, as data and as text."""

from __future__ import annotations

from dataclasses import asdict
from re import fullmatch, search
from typing import TypeAlias

from ascendctl.engine.codes import JOB_CODES, NODE_CODES
from ascendctl.ranks.codes import OUTPUT_CODES
from ascendctl.report import explain as report
from ascendctl.snapshot.diagnostics import CODES
from ascendctl.validate.catalogue import FAMILIES, all_rules
from ascendctl.validate.explain import FamilyTopic, explain, rule_table

Found: TypeAlias = tuple[object, str]
"""A document and the text for people."""


def overview(every: bool) -> Found:
    """The families of rules; with `every` all rules, a line each."""
    if every:
        return [dict(row) for row in rule_table()], report.rules(all_rules())
    found = [topic for name in FAMILIES for topic in explain(name) if isinstance(topic, FamilyTopic)]
    return [topic.to_dict() for topic in found], report.families(found)


def look_up(term: str) -> Found | None:
    """Everything that goes by this name, None if nothing does."""
    topics = explain(term)
    if topics:
        data = [topic.to_dict() for topic in topics]
        return data if len(data) > 1 else data[0], "\n\n".join(map(report.topic, topics))
    return _code(term.upper()) or _refusal(term) or _as_rule(term.upper())


def _code(term: str) -> Found | None:
    for topic, codes, as_text in (("diagnostic", CODES, report.diagnostic), ("output", OUTPUT_CODES, report.output)):
        if code := codes.get(term):
            return {"topic": topic, "code": term, **asdict(code)}, as_text(term, code)
    return None


def _refusal(term: str) -> Found | None:
    for codes, what in ((NODE_CODES, "node"), (JOB_CODES, "job")):
        code = next((code for code in codes if code and code.casefold() == term.casefold()), None)
        if code is not None:
            found = {"topic": "refusal", "code": code, "of": what, "meaning": codes[code]}
            return found, report.refusal(code, codes[code], what)
    return None


def _as_rule(term: str) -> Found | None:
    """A code that a chapter gives to what a rule finds, such as ML-J03."""
    if not fullmatch(r"[A-Z]+-[A-Z]?[0-9]+", term):
        return None
    names = [rule.id for rule in all_rules() if search(rf"\b{term}\b", rule.source)]
    topics = [topic for name in names for topic in explain(name)]
    return ([topic.to_dict() for topic in topics], "\n\n".join(map(report.topic, topics))) if topics else None
