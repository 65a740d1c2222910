"""What a run of `validate` found: findings in order, counts, files that could not be read."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from ascendctl.validate.finding import Finding

API_VERSION = "ascendctl/v1"


@dataclass(frozen=True)
class Checked:
    """One file of the run. `objects` holds (document index, object, line) of every object that was judged. `switches`:
    there is a snapshot, and one of them asks for switch affinity."""

    file: str
    documents: int = 0
    skipped: int = 0
    partial: int = 0
    objects: tuple[tuple[int, str, int], ...] = ()
    switches: bool = False


@dataclass(frozen=True)
class Report:
    """`findings` are sorted by file, line, column, rule, and hold infos only if they were asked for.

    `files` stand in order of their names. `unreadable` holds (file, reason) pairs. `strict`: warnings fail the run.
    """

    findings: tuple[Finding, ...] = ()
    files: tuple[Checked, ...] = ()
    unreadable: tuple[tuple[str, str], ...] = ()
    strict: bool = False

    def count(self, severity: str) -> int:
        """How many findings of a severity there are."""
        return sum(1 for finding in self.findings if finding.severity == severity)

    @property
    def summary(self) -> dict[str, int]:
        """Counts. `skipped`: objects that were left alone, `partial`: unknown kinds whose pod templates were judged."""
        return {
            "files": len(self.files),
            "documents": sum(file.documents for file in self.files),
            "errors": self.count("error"),
            "warnings": self.count("warning"),
            "infos": self.count("info"),
            "skipped": sum(file.skipped for file in self.files),
            "partial": sum(file.partial for file in self.files),
        }

    @property
    def exit_code(self) -> int:
        """0 nothing wrong; 1 errors, with `strict` also warnings; 2 input that could not be read."""
        if self.unreadable:
            return 2
        return 1 if self.count("error") or (self.strict and self.count("warning")) else 0

    def fails(self, finding: Finding) -> bool:
        """True if the finding makes the run fail."""
        return finding.severity == "error" or (self.strict and finding.severity == "warning")

    def to_dict(self) -> dict[str, Any]:
        """The ValidationReport document."""
        document: dict[str, Any] = {
            "apiVersion": API_VERSION,
            "kind": "ValidationReport",
            "summary": self.summary,
            "findings": [finding.to_dict() for finding in self.findings],
        }
        if self.unreadable:
            document["unreadable"] = [{"file": file, "reason": reason} for file, reason in self.unreadable]
        return document


def sort_findings(findings: Iterable[Finding]) -> tuple[Finding, ...]:
    """Findings in the order of a report; what is said twice is said once."""
    return tuple(sorted(dict.fromkeys(findings)))


def merge_reports(
    findings: Iterable[Finding], files: Sequence[Checked], unreadable: Sequence[tuple[str, str]], strict: bool
) -> Report:
    """One report of the parts of a run, whatever their order."""
    return Report(
        sort_findings(findings), tuple(sorted(files, key=lambda file: file.file)), tuple(sorted(unreadable)), strict
    )
