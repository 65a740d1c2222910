"""For people and editors: `file:line:column: severity RULE message`, the hint below, a summary last."""

from __future__ import annotations

from ascendctl.report.text import paint, printable
from ascendctl.validate.finding import Finding
from ascendctl.validate.report import Report
from ascendctl.wording import counted

STYLES = {"error": "red", "warning": "yellow", "info": "cyan"}


def render(report: Report, color: bool = False, quiet: bool = False) -> str:
    """One line a finding, one more for its hint; the last line counts."""
    lines = [line for finding in report.findings for line in _lines(finding, color)]
    if not (quiet and not report.findings):
        lines.append(summary(report, color))
    return "\n".join(lines)


def _lines(finding: Finding, color: bool) -> list[str]:
    place = f"{printable(finding.file)}:{finding.line}:{finding.column}:"
    severity = paint(finding.severity, STYLES[finding.severity], color)
    lines = [f"{paint(place, 'bold', color)} {severity} {finding.rule} {printable(finding.message)}"]
    if finding.hint:
        lines.append(f"    {paint('hint:', 'dim', color)} {printable(finding.hint)}")
    return lines


def summary(report: Report, color: bool = False) -> str:
    """`2 files, 3 documents: 1 error, no warnings, 1 object skipped`."""
    counts = report.summary
    parts = []
    for key, noun, style in (("errors", "error", "red"), ("warnings", "warning", "yellow"), ("infos", "info", "cyan")):
        if counts[key]:
            parts.append(paint(counted(counts[key], noun), style, color))
        elif key != "infos":
            parts.append(f"no {noun}s")
    for key, words in (("skipped", "skipped"), ("partial", "only half checked")):
        if counts[key]:
            parts.append(f"{counted(counts[key], 'object')} {words}")
    return f"{counted(counts['files'], 'file')}, {counted(counts['documents'], 'document')}: {', '.join(parts)}"
