"""Everything that is wrong with a snapshot in one list: the dump itself (S codes, chapter 30 §8.6), the leaf topology
(SW rules, chapter 23 §1.1), the labels of resource trees (ML codes, chapter 22)."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase
from itertools import groupby
from typing import Any

from ascendctl.report.text import paint, printable, some, table
from ascendctl.snapshot.cluster import Cluster
from ascendctl.snapshot.diagnostics import CODES
from ascendctl.validate.finding import SEVERITIES
from ascendctl.wording import counted

STYLES = dict(zip(SEVERITIES, ("red", "yellow", "blue"), strict=True))


@dataclass(frozen=True)
class Problem:
    """One thing found. `title` is what the code stands for, `message` the case at hand, `effect` what it means for
    scheduling, `remedy` how to mend it; `object` reads "Node n1", `node` is the node concerned ("" = none), `source`
    the file and number of the object."""

    code: str
    severity: str
    title: str
    message: str
    object: str
    node: str = ""
    source: str = ""
    effect: str = ""
    remedy: str = ""

    def to_dict(self) -> dict[str, Any]:
        """The entry of a SnapshotReport or SnapshotLint document."""
        return {
            "code": self.code,
            "severity": self.severity,
            "message": self.message,
            "object": self.object,
            "node": self.node,
            "source": self.source,
            "title": self.title,
            "effect": self.effect,
            "remedy": self.remedy,
        }


def problems(cluster: Cluster) -> list[Problem]:
    """All problems of a snapshot, errors first, then by code; those of one code in the order of their objects."""
    found = [*_of_dump(cluster), *_of_leaves(cluster), *_of_trees(cluster), *_of_hypernodes(cluster)]
    return sorted(found, key=lambda problem: (SEVERITIES.index(problem.severity), problem.code))


def _of_dump(cluster: Cluster) -> Iterable[Problem]:
    for one in cluster.diagnostics:
        code = CODES[one.code]
        yield Problem(
            one.code, code.severity, code.title, one.message, one.object, one.node, one.source, code.effect, code.remedy
        )


def _of_leaves(cluster: Cluster) -> Iterable[Problem]:
    if cluster.leaves is None and not cluster.leaves_error:
        return
    from ascendctl.topology.leaf_lint import lint
    from ascendctl.validate.catalogue import family, message_of
    from ascendctl.validate.leafmap import LEAF_MAP

    rules = family("SW")
    for violation in lint(cluster):
        rule = rules[violation.rule]
        message, where = message_of(rule, violation), cluster.leaves_source
        yield Problem(rule.id, rule.severity, rule.when, message, LEAF_MAP, "", where, rule.about, rule.hint)


def _of_trees(cluster: Cluster) -> Iterable[Problem]:
    if not cluster.config.resource_levels:
        return
    from ascendctl.topology.diagnose import tree_problems
    from ascendctl.topology.tree import build_trees

    for tree in build_trees(cluster):
        offering = replace(tree, member=tree.member & cluster.has_npus)
        for one in tree_problems(offering, cluster.names):
            yield _coded(one.code, one.message, f"tree {tree.name}")


def _of_hypernodes(cluster: Cluster) -> Iterable[Problem]:
    if not cluster.hypernodes:
        return
    from ascendctl.topology.hypernode import HyperNodeError, hypernode_cluster

    try:
        found = hypernode_cluster(cluster)[1]
    except HyperNodeError as error:
        if error.code:  # else they are of another API group, which says nothing
            yield _coded(error.code, error.message, "HyperNode")
        return
    for one in found:
        yield _coded(one.code, one.message, "HyperNode")


def _coded(code: str, message: str, where: str) -> Problem:
    known = CODES[code]
    return Problem(code, known.severity, known.title, message, where, effect=known.effect, remedy=known.remedy)


def matching(found: Sequence[Problem], globs: Sequence[str]) -> list[Problem]:
    """The problems of nodes whose names match one of the patterns; all of them without patterns."""
    return [p for p in found if not globs or any(fnmatchcase(p.node, glob) for glob in globs)]


def has_errors(found: Iterable[Problem], strict: bool = False) -> bool:
    """True if something is an error; with `strict`, also if something is a warning."""
    return any(problem.severity == "error" or (strict and problem.severity == "warning") for problem in found)


def count_line(found: Sequence[Problem]) -> str:
    """1 error, 2 warnings, 0 infos."""
    counts = [sum(problem.severity == severity for problem in found) for severity in SEVERITIES]
    return ", ".join(map(counted, counts, SEVERITIES))


def summary_table(found: Sequence[Problem], color: bool = False) -> str:
    """A line a code: how often, and the first objects."""
    rows = []
    for _, group in groupby(found, key=lambda problem: problem.code):
        same = list(group)
        first = same[0]
        what = first.message if len(same) == 1 else first.title
        rows.append((first.severity, first.code, len(same), some([_about(one) for one in same]), what))
    head, *lines = table(rows, ("SEVERITY", "CODE", "COUNT", "OBJECTS", "PROBLEM")).splitlines()
    painted = [
        paint(row[0], STYLES[row[0]], color) + line.removeprefix(row[0]) for row, line in zip(rows, lines, strict=True)
    ]
    return "\n".join([head, *painted])


def _about(problem: Problem) -> str:
    return problem.object or problem.source or "-"


def listing(found: Sequence[Problem], color: bool = False) -> str:
    """Every problem: by code, with what it means for scheduling and how to mend it, then a line an object."""
    lines: list[str] = []
    for code, group in groupby(found, key=lambda problem: problem.code):
        same = list(group)
        first = same[0]
        lines.append(f"{paint(first.severity, STYLES[first.severity], color)} {code}: {printable(first.title)}")
        lines += [f"  effect: {first.effect}"] if first.effect else []
        lines += [f"  remedy: {first.remedy}"] if first.remedy else []
        for one in same:
            where = f" ({one.source})" if one.source else ""
            lines.append(f"  - {printable(_about(one) + where)}: {printable(one.message)}")
    return "\n".join([*lines, count_line(found)])


def lint_document(found: Sequence[Problem], api_version: str) -> dict[str, Any]:
    """The SnapshotLint document."""
    counts = {severity + "s": sum(one.severity == severity for one in found) for severity in SEVERITIES}
    return {
        "apiVersion": api_version,
        "kind": "SnapshotLint",
        "summary": counts,
        "problems": [problem.to_dict() for problem in found],
    }
