"""Explanations for people: rules, families of rules, keys, snapshot diagnostics, refusal codes of nodes."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from ascendctl.report.text import printable, table
from ascendctl.snapshot.diagnostics import Code
from ascendctl.validate.catalogue import OUTCOMES
from ascendctl.validate.explain import FamilyTopic, KeyTopic, RuleTopic, Topic
from ascendctl.validate.rule import Rule

_PLACEHOLDER = re.compile(r"\{(\w+)[^}]*\}")


def topic(found: Topic) -> str:
    """One topic as text."""
    if isinstance(found, RuleTopic):
        return rule(found.rule, found.family, found.outcome)
    return _key(found) if isinstance(found, KeyTopic) else family(found)


def rule(found: Rule, family_title: str, outcome: str) -> str:
    """Everything about one rule, with a wrong and a right example."""
    lines = [f"{found.id} ({found.severity}, {family_title})", "", f"Raised when {found.when}."]
    lines += [found.about] if found.about else []
    lines += ["", f"Outcome: {outcome}." if outcome else ""]
    lines += ["Hint: " + _PLACEHOLDER.sub(r"<\1>", found.hint)] if found.hint else []
    lines += [f"Kinds: {', '.join(found.kinds)}"] if found.kinds else []
    lines += [f"Products: {', '.join(found.products)}"] if found.products else []
    lines += [f"Source: {found.source}"] if found.source else []
    for title, example in (("Wrong", found.wrong), ("Right", found.right)):
        lines += ["", f"{title}:", *("  " + line for line in example.strip("\n").splitlines())] if example else []
    return "\n".join(line for i, line in enumerate(lines) if line or (i and lines[i - 1]))


def family(found: FamilyTopic) -> str:
    """The rules of a family, a line each."""
    return f"{found.name}: {found.title}\n" + rules(found.rules)


def rules(found: Iterable[Rule]) -> str:
    """Rules, a line each."""
    return table(((r.id, r.severity, r.when) for r in found), ("RULE", "SEVERITY", "RAISED WHEN"))


def families(found: Sequence[FamilyTopic]) -> str:
    """The families, a line each."""
    return table(((f.name, len(f.rules), f.title) for f in found), ("FAMILY", "RULES", "ABOUT"))


def _key(found: KeyTopic) -> str:
    key = found.key
    facts = [
        ("Key", key.name),
        ("Where", key.place),
        ("Values", key.values or "any"),
        ("Default", key.default or "none"),
        ("Read by", key.readers or "nobody"),
        ("Products", key.products),
        ("A wrong value", _outcome(key.bad)),
        ("About", key.about),
        ("Written by", "" if key.user else "controllers; do not set it yourself"),
        ("Rules", ", ".join(found.rules)),
    ]
    text = table(((name, value) for name, value in facts if value), ())
    return text + ("\n\n" + table(found.places, ("KIND", "GOES TO")) if found.places else "")


def _outcome(text: str) -> str:
    """What a wrong value leads to: the sentence of an outcome code, with what else is said."""
    code, _, rest = text.partition(" ")
    return ": ".join(part for part in (OUTCOMES.get(code, code), rest) if part) if code in OUTCOMES else text


def diagnostic(name: str, found: Code) -> str:
    """A diagnostic of snapshots."""
    return _code(name, found, "snapshot", "For scheduling")


def refusal(name: str, sentence: str, what: str = "node") -> str:
    """A code for which `place` refuses nodes, or the job."""
    return f"{name} (placement): a {what} is refused: {printable(sentence)}."


def output(name: str, found: Code) -> str:
    """A code of ranks, rank tables, network quality or patches."""
    return _code(name, found, "placement", "What follows")


def _code(name: str, found: Code, of: str, lead: str) -> str:
    return f"{name} ({found.severity}, {of}): {found.title}\n\n{lead}: {found.effect}.\nRemedy: {found.remedy}."
