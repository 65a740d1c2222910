"""For people: the findings of every object in columns."""

from __future__ import annotations

from itertools import groupby

from ascendctl.report.text import paint, printable
from ascendctl.validate.finding import Finding
from ascendctl.validate.report import Report
from ascendctl.validate.reporters.text import STYLES, summary

_WIDTHS = {"error": 7, "warning": 7, "info": 7}


def render(report: Report, color: bool = False, quiet: bool = False) -> str:
    """A block a file and object, a row a finding, hint and path below it; the last line counts."""
    blocks = []
    ordered = sorted(report.findings, key=lambda f: (f.file, f.document, f.object, f.line, f.column, f.rule))
    for (file, title), group in groupby(ordered, key=lambda f: (f.file, f.object)):
        head = printable(f"{file}  {title}".rstrip())
        blocks.append("\n".join([paint(head, "bold", color), *(_row(finding, color) for finding in group)]))
    if not (quiet and not report.findings):
        blocks.append(summary(report, color))
    return "\n\n".join(blocks)


def _row(finding: Finding, color: bool) -> str:
    place = f"{finding.line}:{finding.column}"
    severity = paint(f"{finding.severity:<{_WIDTHS[finding.severity]}}", STYLES[finding.severity], color)
    indent = " " * 28
    rows = [f"  {place:<8} {severity}  {finding.rule:<6}  {printable(finding.message)}"]
    if finding.hint:
        rows.append(f"{indent}{paint('hint:', 'dim', color)} {printable(finding.hint)}")
    if finding.path != "$":
        rows.append(f"{indent}{paint(printable(finding.path), 'dim', color)}")
    return "\n".join(rows)
