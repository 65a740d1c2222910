"""What there is to say about a rule, a key or a family of rules: the data behind `ascendctl explain`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any, TypeAlias

from ascendctl.validate.catalogue import FAMILIES, TITLES, all_rules, family, find_rule, outcome_of
from ascendctl.validate.fields import FIELDS
from ascendctl.validate.keys import ALL_KEYS, PLACES, Key, by_name, nearest_key
from ascendctl.validate.nearest import nearest
from ascendctl.validate.rule import Rule


@dataclass(frozen=True)
class RuleTopic:
    """A rule. `outcome` is the sentence of its outcome code, "" if it has none."""

    rule: Rule
    family: str
    outcome: str

    def to_dict(self) -> dict[str, Any]:
        """Plain values for machine output."""
        return {"topic": "rule", "family": self.family, **asdict(self.rule), "outcomeText": self.outcome}


@dataclass(frozen=True)
class KeyTopic:
    """A key. `places` are (kinds, where the key goes) pairs, `rules` the ids of the rules that judge it."""

    key: Key
    places: tuple[tuple[str, str], ...]
    rules: tuple[str, ...]

    def to_dict(self) -> dict[str, Any]:
        """Plain values for machine output."""
        where = [{"kinds": kinds, "at": at} for kinds, at in self.places]
        return {"topic": "key", **asdict(self.key), "places": where, "rules": list(self.rules)}


@dataclass(frozen=True)
class FamilyTopic:
    """A family of rules, such as SPB."""

    name: str
    title: str
    rules: tuple[Rule, ...]

    def to_dict(self) -> dict[str, Any]:
        """Plain values for machine output."""
        listed = [{"id": rule.id, "severity": rule.severity, "when": rule.when} for rule in self.rules]
        return {"topic": "family", "name": self.name, "title": self.title, "rules": listed}


Topic: TypeAlias = RuleTopic | KeyTopic | FamilyTopic


def explain(term: str) -> list[Topic]:
    """The topics of a rule id (any case), a family, a key with or without prefix, or a field such as minAvailable;
    empty if nothing is known."""
    upper = term.upper()
    rule = find_rule(upper)
    if rule is not None:
        return [RuleTopic(rule, TITLES[upper.partition("-")[0]], outcome_of(rule))]
    if upper in FAMILIES:
        return [FamilyTopic(upper, TITLES[upper], tuple(sorted(family(upper).values(), key=lambda r: r.id)))]
    if term.removeprefix("spec.") in FIELDS:
        key, places = FIELDS[term.removeprefix("spec.")]
        return [KeyTopic(key, places, rules_of(term.removeprefix("spec.")))]
    rows = by_name().get(term) or tuple(key for key in ALL_KEYS if key.name.rpartition("/")[2] == term)
    return [KeyTopic(row, PLACES.get(row.group, ()), rules_of(row.name)) for row in rows]


def suggest(term: str) -> str:
    """What was probably meant by a term that `explain` does not know; "" if nothing is near."""
    rule = nearest(term.upper(), [rule.id for rule in all_rules()], 1)
    return rule or nearest_key(term) or nearest(term, [*(key.name for key in ALL_KEYS), *FIELDS])


def rules_of(key: str) -> tuple[str, ...]:
    """Ids of the rules whose text names a key."""
    return tuple(rule.id for rule in all_rules() if _names(rule, key))


def _names(rule: Rule, key: str) -> bool:
    return any(_holds(text, key) for text in (rule.when, rule.message, rule.hint))


def _holds(text: str, key: str) -> bool:
    """True if a text holds a key as a word of its own."""
    start = text.find(key)
    while start >= 0:
        before, after = text[start - 1 : start], text[start + len(key) : start + len(key) + 1]
        if not (_is_part(before) or _is_part(after)):
            return True
        start = text.find(key, start + 1)
    return False


def _is_part(character: str) -> bool:
    return character != "" and (character.isalnum() or character in "-_/")


def rule_table() -> list[Mapping[str, str]]:
    """All rules as rows: id, severity, when, outcome, source."""
    return [
        {"id": rule.id, "severity": rule.severity, "when": rule.when, "outcome": rule.outcome, "source": rule.source}
        for rule in all_rules()
    ]
