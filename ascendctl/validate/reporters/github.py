"""GitHub Actions: one annotation a finding. Nothing that a manifest holds can start a workflow command."""

from __future__ import annotations

from ascendctl.report.text import printable
from ascendctl.validate.finding import Finding
from ascendctl.validate.report import Report
from ascendctl.validate.reporters.sarif import relative
from ascendctl.validate.reporters.text import summary

_COMMANDS = {"error": "error", "warning": "warning", "info": "notice"}


def render(report: Report) -> str:
    """The annotations, then the summary line."""
    return "\n".join([*(_annotation(finding) for finding in report.findings), summary(report)])


def _annotation(finding: Finding) -> str:
    properties = {
        "file": relative(finding.file),
        "line": str(max(finding.line, 1)),
        "col": str(max(finding.column, 1)),
        "title": finding.rule,
    }
    listed = ",".join(f"{key}={escape_property(value)}" for key, value in properties.items())
    text = finding.message + (f"\nhint: {finding.hint}" if finding.hint else "")
    return f"::{_COMMANDS[finding.severity]} {listed}::{escape_data(text)}"


def escape_data(text: str) -> str:
    """The text of a command: line breaks and percent signs encoded, other control characters made visible."""
    lines = text.replace("%", "%25").split("\n")
    return "%0A".join(printable(line.replace("\r", "%0D")) for line in lines)


def escape_property(text: str) -> str:
    """A property of a command."""
    return escape_data(text).replace(":", "%3A").replace(",", "%2C")
