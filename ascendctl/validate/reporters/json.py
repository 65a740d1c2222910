"""The ValidationReport document (schemas/output/validation-report.json), as JSON or YAML."""

from __future__ import annotations

from ascendctl.validate.report import Report


def render(report: Report) -> str:
    """The report as JSON, two blanks deep."""
    from ascendctl.report.machine import dump

    return dump(report.to_dict(), "json") + "\n"


def render_yaml(report: Report) -> str:
    """The report as YAML."""
    from ascendctl.report.machine import dump

    return dump(report.to_dict(), "yaml")
