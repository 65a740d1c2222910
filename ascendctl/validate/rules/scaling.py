"""ACJ-26: scaling rules of MindIE, the key elastic_scaling.json of a ConfigMap (chapter 40 §3.2)."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

from ascendctl.validate.companions import Context
from ascendctl.validate.entry import Entry
from ascendctl.validate.rule import Violation
from ascendctl.validate.rules.acj_operator import GROUP_NAME, SCALING_RULE

KEY = "elastic_scaling.json"
_NUMBERS = ("group_num", "server_num_per_group")


def check(entry: Entry, context: Context) -> Iterator[Violation]:
    """ACJ-26 of one ConfigMap, if it is a scaling rule: by its key, or because an AscendJob of the file names it."""
    named_by = users(entry, context)
    data = entry.get("data")
    text = data.get(KEY) if isinstance(data, Mapping) else None
    if text is None:
        if named_by:
            values = {"problem": f"key {KEY} is missing", "advice": f"put the rule under {KEY}"}
            yield Violation("ACJ-26", ("data", KEY), values)
        return
    problem = next(_problems(text, [user.labels.get(GROUP_NAME) for user in named_by]), None)
    if problem is not None:
        yield Violation("ACJ-26", ("data", KEY), {"problem": problem[0], "advice": problem[1]})


def users(entry: Entry, context: Context) -> list[Entry]:
    """The AscendJobs of the file that name a ConfigMap as their scaling rule."""
    return [
        other for other in context.entries
        if other.title == "AscendJob" and other.namespace == entry.namespace
        and other.labels.get(SCALING_RULE) == entry.name
    ]  # fmt: skip


def _problems(text: str, groups: list[str | None]) -> Iterator[tuple[str, str]]:
    """(what is wrong, what to write), in the order in which the operator reads the rule."""
    try:
        rule: Any = json.loads(text)
    except (ValueError, RecursionError):
        yield "the text is no JSON", "correct it"
        return
    if not isinstance(rule, dict) or rule.get("version") != "1.0":
        yield f"version is {rule.get('version')!r}" if isinstance(rule, dict) else "it is no JSON object", 'write "1.0"'
        return
    items = rule.get("elastic_scaling_list")
    if not isinstance(items, list) or not items:
        yield "elastic_scaling_list is missing or empty", "list the steps"
        return
    before: dict[str, tuple[int, ...]] | None = None
    for number, item in enumerate(items):
        current: dict[str, tuple[int, ...]] = {}
        listed = item.get("group_list") if isinstance(item, dict) else None
        for group in listed if isinstance(listed, list) else ():
            name = str(group.get("group_name")) if isinstance(group, dict) else ""
            texts = [group.get(key) if isinstance(group, dict) else None for key in _NUMBERS]
            if not all(isinstance(t, str) and t.isascii() and t.isdigit() for t in texts):
                yield f"step {number}, group {name!r}: {' and '.join(_NUMBERS)} must be digits in quotes", 'write "1"'
                return
            current[name] = tuple(int(str(t)) for t in texts)
        if before is not None:
            yield from _growth(number, before, current)
        before = current
    known = {
        str(group.get("group_name")) for item in items if isinstance(item, dict)
        for group in item.get("group_list") or () if isinstance(group, dict)
    }  # fmt: skip
    for wanted in groups:
        if wanted is not None and wanted not in known:
            yield f"group {wanted} of a job is not in the rule", f"use one of {', '.join(sorted(known))}"


def _growth(
    number: int, before: Mapping[str, tuple[int, ...]], current: Mapping[str, tuple[int, ...]]
) -> Iterator[tuple[str, str]]:
    for name, sizes in current.items():
        if name not in before:
            yield f"step {number} has group {name}, the step before has not", "keep the groups of the step before"
        elif any(now > then for now, then in zip(sizes, before[name], strict=True)):
            yield f"step {number} makes group {name} larger than the step before", "steps may only shrink"
