"""Reports as text: one module a format, each with `render(report) -> str`."""

from __future__ import annotations

from importlib import import_module

from ascendctl.validate.report import Report

FORMATS = ("text", "table", "json", "yaml", "sarif", "junit", "github", "gitlab")
"""What `render` knows; text, table and github are for people, the others for machines."""

_MODULES = {"yaml": "json"}


def render(report: Report, name: str, color: bool = False, quiet: bool = False) -> str:
    """The report in one format, "" where there is nothing to say. `color` and `quiet` matter to text and table only:
    with `quiet` a report without findings is empty. Raises KeyError for an unknown format."""
    if name not in FORMATS:
        raise KeyError(name)
    module = import_module(f"{__name__}.{_MODULES.get(name, name)}")
    if name in ("text", "table"):
        text: str = module.render(report, color, quiet)
    elif name == "yaml":
        text = module.render_yaml(report)
    else:
        text = module.render(report)
    return text
