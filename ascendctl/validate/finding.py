"""A finding: what a rule says about one field of one document."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

SEVERITIES = ("error", "warning", "info")


@dataclass(frozen=True, order=True)
class Finding:
    """Sorted by file, line, column, rule. `path` is in bracket form (`$.metadata.annotations['sp-block']`), `pointer`
    the same as JSON Pointer; `object` reads "AscendJob default/train"; line and column count from 1."""

    file: str
    line: int
    column: int
    rule: str
    severity: str
    message: str
    hint: str = ""
    document: int = 0
    path: str = "$"
    pointer: str = ""
    object: str = ""
    outcome: str = ""
    source: str = ""

    def to_dict(self) -> dict[str, Any]:
        """The entry of a ValidationReport document."""
        return {
            "rule": self.rule,
            "severity": self.severity,
            "message": self.message,
            "hint": self.hint,
            "file": self.file,
            "document": self.document,
            "line": self.line,
            "column": self.column,
            "path": self.path,
            "pointer": self.pointer,
            "object": self.object,
            "outcome": self.outcome,
            "source": self.source,
        }
