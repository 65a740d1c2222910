"""The kubectl lines that export a dump, as a shell script or as data."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from typing import Any

from ascendctl.engine.result import API_VERSION
from ascendctl.report.text import printable
from ascendctl.snapshot.commands import ExportCommand

OPTIONAL = " (optional: a cluster without such objects answers with an error)"


def as_script(folder: str, commands: Sequence[ExportCommand]) -> str:
    """Lines for a shell, each below a comment that says what it is for."""
    lines = [f"mkdir -p {shlex.quote(folder)}"]
    for command in commands:
        lines += [f"# {command.why}{'' if command.needed else OPTIONAL}", command.line]
    return "\n".join(map(printable, lines))


def as_document(commands: Sequence[ExportCommand]) -> dict[str, Any]:
    """The SnapshotCommands document."""
    return {
        "apiVersion": API_VERSION,
        "kind": "SnapshotCommands",
        "commands": [{"line": c.line, "file": c.file, "why": c.why, "needed": c.needed} for c in commands],
    }
