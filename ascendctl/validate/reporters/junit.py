"""JUnit XML: a suite a file, a case a document or object, a failure for every finding that makes the run fail. Files of
a dump have a suite if there is something to say of them."""

from __future__ import annotations

import re
from collections.abc import Iterable
from xml.sax.saxutils import escape, quoteattr

from ascendctl.validate.finding import Finding
from ascendctl.validate.report import Checked, Report

_ILLEGAL = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
_EPOCH = "1970-01-01T00:00:00"
"""The format wants a time; two runs over the same input must give the same bytes."""


def render(report: Report) -> str:
    """All suites; a file without objects is an empty suite."""
    by_file: dict[str, list[Finding]] = {}
    for finding in report.findings:
        by_file.setdefault(finding.file, []).append(finding)
    others = by_file.keys() - {file.file for file in report.files}
    files = [*report.files, *(Checked(name) for name in sorted(others))]
    suites = [_suite(i, file, by_file.get(file.file, []), report) for i, file in enumerate(files)]
    start = len(suites)
    suites += [_unreadable(start + i, file, reason) for i, (file, reason) in enumerate(report.unreadable)]
    return '<?xml version="1.0" encoding="UTF-8"?>\n<testsuites>\n' + "".join(suites) + "</testsuites>\n"


def _attribute(text: str) -> str:
    return quoteattr(_clean(text))


def _clean(text: str) -> str:
    return _ILLEGAL.sub("\ufffd", text)


def _suite(number: int, file: Checked, findings: list[Finding], report: Report) -> str:
    cases: dict[tuple[int, str], list[Finding]] = {(document, title): [] for document, title, _ in file.objects}
    for finding in findings:
        cases.setdefault((finding.document, finding.object or "document"), []).append(finding)
    failing = [sum(1 for finding in found if report.fails(finding)) for found in cases.values()]
    failures = sum(1 for count in failing if count)
    lines = [_head(number, file.file, len(cases), failures, 0)]
    for (document, title), found in sorted(cases.items()):
        lines.append(_case(file.file, f"document {document}: {title}", found, report))
    lines.append(_foot([f for f in findings if not report.fails(f)]))
    return "".join(lines)


def _head(number: int, name: str, tests: int, failures: int, errors: int) -> str:
    return (
        f'  <testsuite id="{number}" name={_attribute(name)} package={_attribute(name)} timestamp="{_EPOCH}" '
        f'hostname="localhost" tests="{tests}" failures="{failures}" errors="{errors}" time="0">\n    <properties/>\n'
    )


def _foot(silent: Iterable[Finding]) -> str:
    out = "\n".join(_line(finding) for finding in silent)
    return f"    <system-out>{escape(_clean(out))}</system-out>\n    <system-err/>\n  </testsuite>\n"


def _case(file: str, name: str, findings: list[Finding], report: Report) -> str:
    start = f'    <testcase name={_attribute(name)} classname={_attribute(file)} time="0"'
    failing = [finding for finding in findings if report.fails(finding)]
    if not failing:
        return start + "/>\n"
    rules = ", ".join(dict.fromkeys(finding.rule for finding in failing))
    body = escape(_clean("\n".join(_line(finding) for finding in failing)))
    message = failing[0].message if len(failing) == 1 else f"{len(failing)} findings: {rules}"
    return (
        f"{start}>\n      <failure message={_attribute(message)} type={_attribute(rules)}>{body}</failure>\n"
        "    </testcase>\n"
    )


def _line(finding: Finding) -> str:
    hint = f" ({finding.hint})" if finding.hint else ""
    place = f"{finding.file}:{finding.line}:{finding.column}"
    return f"{place}: {finding.severity} {finding.rule} {finding.message}{hint}"


def _unreadable(number: int, file: str, reason: str) -> str:
    case = f'    <testcase name="read" classname={_attribute(file)} time="0">\n'
    error = f'      <error message={_attribute(reason)} type="unreadable"/>\n    </testcase>\n'
    return _head(number, file, 1, 0, 1) + case + error + _foot(())
