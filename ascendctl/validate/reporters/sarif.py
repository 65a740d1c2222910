"""SARIF 2.1.0, for code scanning of forges and editors."""

from __future__ import annotations

import hashlib
import os
from collections import Counter
from collections.abc import Iterable
from typing import Any
from urllib.parse import quote

from ascendctl.validate.catalogue import TITLES, find_rule, outcome_of
from ascendctl.validate.finding import SEVERITIES, Finding
from ascendctl.validate.report import Report
from ascendctl.version import __version__

SCHEMA = "https://json.schemastore.org/sarif-2.1.0.json"
MAX_RESULTS = 25_000
"""Results of one run that forges accept."""
_LEVELS = {"error": "error", "warning": "warning", "info": "note"}


def render(report: Report) -> str:
    """One run. Beyond 25,000 results the worst are kept, and a notification says how many were left out."""
    from ascendctl.report.machine import dump

    return dump(document(report), "json") + "\n"


def document(report: Report) -> dict[str, Any]:
    """The SARIF log as plain values."""
    kept = list(report.findings)
    if len(kept) > MAX_RESULTS:
        worst = sorted(range(len(kept)), key=lambda i: (SEVERITIES.index(kept[i].severity), i))[:MAX_RESULTS]
        kept = [kept[i] for i in sorted(worst)]
    rules = sorted({finding.rule for finding in kept})
    index = {rule: i for i, rule in enumerate(rules)}
    run: dict[str, Any] = {
        "tool": {
            "driver": {
                "name": "ascendctl",
                "semanticVersion": __version__,
                "rules": [_rule(rule) for rule in rules],
            }
        },
        "columnKind": "unicodeCodePoints",
        "results": _results(kept, index),
        "invocations": [{"executionSuccessful": not report.unreadable, "toolExecutionNotifications": []}],
    }
    notes = run["invocations"][0]["toolExecutionNotifications"]
    if len(kept) < len(report.findings):
        left = len(report.findings) - len(kept)
        notes.append({"level": "warning", "message": {"text": f"{left} more findings were left out"}})
    for file, reason in report.unreadable:
        notes.append({"level": "error", "message": {"text": f"{file}: {reason}"}})
    return {"$schema": SCHEMA, "version": "2.1.0", "runs": [run]}


def _rule(rule_id: str) -> dict[str, Any]:
    rule = find_rule(rule_id)
    if rule is None:
        raise LookupError(f"no rule {rule_id}")
    about = rule.about or outcome_of(rule)
    text = _sentence(rule.when) + (" " + _sentence(about) if about else "")
    return {
        "id": rule.id,
        "shortDescription": {"text": _sentence(rule.when)},
        "fullDescription": {"text": text},
        "defaultConfiguration": {"level": _LEVELS[rule.severity]},
        "properties": {"tags": [TITLES[rule.id.partition("-")[0]]]},
    }


def _sentence(text: str) -> str:
    return text[:1].upper() + text[1:] + ("" if text.endswith(".") else ".")


def _results(findings: Iterable[Finding], index: dict[str, int]) -> list[dict[str, Any]]:
    seen: Counter[tuple[str, ...]] = Counter()
    results = []
    for finding in findings:
        key = identity(finding)
        seen[key] += 1
        text = finding.message + (f" ({finding.hint})" if finding.hint else "")
        location: dict[str, Any] = {
            "physicalLocation": {
                "artifactLocation": {"uri": uri(finding.file)},
                "region": {"startLine": max(finding.line, 1), "startColumn": max(finding.column, 1)},
            },
            "logicalLocations": [{"fullyQualifiedName": finding.path, "kind": "member"}],
        }
        results.append(
            {
                "ruleId": finding.rule,
                "ruleIndex": index[finding.rule],
                "level": _LEVELS[finding.severity],
                "message": {"text": text},
                "locations": [location],
                "partialFingerprints": {"ascendctl/v1": fingerprint(key, seen[key])},
            }
        )
    return results


def identity(finding: Finding) -> tuple[str, ...]:
    """What stays of a finding when lines move: rule, file, object, path."""
    return finding.rule, finding.file, finding.object, finding.path


def fingerprint(key: tuple[str, ...], number: int) -> str:
    """A stable name of the n-th finding with one identity."""
    return hashlib.sha256("\0".join((*key, str(number))).encode("utf-8", "replace")).hexdigest()[:32]


def uri(file: str) -> str:
    """The file as a relative URI with forward slashes."""
    return quote(relative(file), safe="/~")


def relative(file: str) -> str:
    """The path of a file from the current folder, with forward slashes and without `./`."""
    path = os.path.relpath(file) if os.path.isabs(file) else os.path.normpath(file)
    return path.replace(os.sep, "/")
