"""RSC rules on the value of one key."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from ascendctl.manifest.job import SUB_HEALTHY_STRATEGIES, parse_go_int
from ascendctl.validate.entry import Entry
from ascendctl.validate.nearest import nearest
from ascendctl.validate.rule import Violation
from ascendctl.validate.rules.labels import Read, read_annotations, read_labels

FAULT = "fault-scheduling"
FAULT_VALUES = ("grace", "force", "off", "external-grace", "external-force")
RETRY = "fault-retry-times"
STRATEGY = "recover-strategy"
STRATEGIES = ("retry", "recover", "recover-in-place", "elastic-training", "dump", "exit")
_SWITCHES = {
    "pod-rescheduling": ("on",), "elastic-scheduling": ("on", "off"), "process-recover-enable": ("on", "pause", "off"),
}  # fmt: skip
_FILTERS = ("huawei.com/schedule.filter.faultCode", "huawei.com/schedule.filter.faultLevel")
_PAIR = re.compile(r"([^:,\s]+):([0-9]{1,5})")
_MAX_RETRY, _MAX_FILTER = 100, 86400


def check(entry: Entry) -> Iterator[Violation]:
    """RSC-01, 03, 08, 09, 11, 13, 14, 15."""
    found, notes = read_labels(entry), read_annotations(entry)
    if (fault := found.get(FAULT)) and fault.value not in FAULT_VALUES:
        yield _enum("RSC-01", fault, FAULT_VALUES)
    if (health := found.get("subHealthyStrategy")) and health.value not in SUB_HEALTHY_STRATEGIES:
        yield _enum("RSC-09", health, SUB_HEALTHY_STRATEGIES)
    yield from _retry(entry, found)
    for key, allowed in _SWITCHES.items():
        if (switch := found.get(key)) and switch.value not in allowed:
            values = {"key": key, "value": switch.value, "allowed": " or ".join(f'"{word}"' for word in allowed)}
            yield Violation("RSC-08", switch.path, values)
    yield from _strategy(entry, found, notes)
    if wait := notes.get("wait-reschedule-timeout"):
        seconds = parse_go_int(wait.value)
        if seconds is None or not 30 <= seconds <= 270:
            yield Violation("RSC-13", wait.path, {"value": wait.value})
    if (path := notes.get("huawei.com/recover_policy_path")) and path.value not in ("pod", "job", "pod,job"):
        yield Violation("RSC-14", path.path, {"value": path.value})
    for key in _FILTERS:
        if filtered := notes.get(key):
            for part in filtered.value.split(","):
                match = _PAIR.fullmatch(part)
                if match is None or int(match[2]) > _MAX_FILTER:
                    yield Violation("RSC-15", filtered.path, {"key": key, "part": part})
                    break


def _enum(rule: str, read: Read, allowed: tuple[str, ...]) -> Violation:
    near = nearest(read.value, allowed) if read.value else ""
    advice = f"did you mean {near}?" if near else f"use one of {', '.join(allowed)}"
    return Violation(rule, read.path, {"value": read.value, "advice": advice})


def _retry(entry: Entry, found: Mapping[str, Read]) -> Iterator[Violation]:
    """RSC-03."""
    retry = found.get(RETRY)
    if retry is None:
        return
    times = parse_go_int(retry.value)
    if times is None or times < 0:
        read_by_operator = entry.title == "AscendJob" and retry.path[0] == "metadata"
        fatal = read_by_operator and entry.get("spec", "runPolicy", "backoffLimit") is None
        yield Violation("RSC-03", retry.path, {"value": retry.value}, severity="" if fatal else "warning")
    elif times > _MAX_RETRY:
        message = f"fault-retry-times {times} is above the documented 100"
        yield Violation("RSC-03", retry.path, {}, severity="warning", message=message, hint="write 100 or less")


def _strategy(entry: Entry, found: Mapping[str, Read], notes: Mapping[str, Read]) -> Iterator[Violation]:
    """RSC-11."""
    strategy = notes.get(STRATEGY)
    if strategy is None:
        return
    if entry.title != "AscendJob":
        if entry.title != "vcjob":  # there VCJ-28 says it
            values = {"problem": f"a {entry.title} has no operator that reads it", "advice": "remove it"}
            yield Violation("RSC-11", strategy.path, values)
        return
    for word in strategy.value.split(","):
        if word in STRATEGIES:
            continue
        if word.strip() in STRATEGIES:
            problem, advice = f"blanks around {word.strip()!r}: the word is ignored", "write no blanks"
        elif not word.strip():
            problem, advice = "an empty word", "remove the comma"
        else:
            near = nearest(word.strip(), STRATEGIES)
            problem = f"{word.strip()!r} is unknown"
            advice = f"did you mean {near}?" if near else f"known are {', '.join(STRATEGIES)}"
        yield Violation("RSC-11", strategy.path, {"problem": problem, "advice": advice})
        return
    framework = entry.labels.get("framework")
    if "elastic-training" in strategy.value.split(",") and framework != "pytorch":
        values = {"problem": f"elastic-training needs framework pytorch, not {framework}", "advice": "remove the word"}
        yield Violation("RSC-11", strategy.path, values)
