"""GitLab code quality: a list of issues with stable fingerprints."""

from __future__ import annotations

from collections import Counter

from ascendctl.validate.report import Report
from ascendctl.validate.reporters.sarif import fingerprint, identity, relative

_SEVERITIES = {"error": "major", "warning": "minor", "info": "info"}


def render(report: Report) -> str:
    """The list as JSON; empty brackets when there is nothing."""
    from ascendctl.report.machine import dump

    seen: Counter[tuple[str, ...]] = Counter()
    issues = []
    for finding in report.findings:
        key = identity(finding)
        seen[key] += 1
        issues.append(
            {
                "description": f"{finding.rule}: {finding.message}" + (f" ({finding.hint})" if finding.hint else ""),
                "check_name": finding.rule,
                "fingerprint": fingerprint(key, seen[key]),
                "severity": _SEVERITIES[finding.severity],
                "location": {"path": relative(finding.file), "lines": {"begin": max(finding.line, 1)}},
            }
        )
    return dump(issues, "json") + "\n"
