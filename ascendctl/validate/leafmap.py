"""Findings on the leaf topology of the snapshot, for runs in which a job asks for switch affinity (chapter 23 §1.1).

They are about the ConfigMap basic-tor-node-cm of the dump, not about the manifests: file and position are those of
its key in the dump.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from ascendctl.validate.catalogue import family, hint_of, message_of
from ascendctl.validate.entry import Entry
from ascendctl.validate.finding import Finding
from ascendctl.validate.finish import encodable
from ascendctl.validate.options import Options
from ascendctl.yamlio.document import format_path, json_pointer

if TYPE_CHECKING:
    from ascendctl.snapshot.cluster import Cluster

LEAF_MAP = "ConfigMap kube-system/basic-tor-node-cm"
NAMELESS = "snapshot"
_STDIN = "<stdin>"


def asks_for_switches(entry: Entry) -> bool:
    """True if an object carries the label tor-affinity for its pods, with another value than the text null."""
    from ascendctl.topology.leaf_states import LABEL

    labels = (entry.labels, *(pod.labels for pod in entry.pods))
    return any(found.get(LABEL, "null") != "null" for found in labels)


def leaf_findings(cluster: Cluster, profiles: Iterable[Options]) -> Iterator[Finding]:
    """SW-01 .. SW-12 for the topology of a snapshot, with the severities of each of the option sets; infos only where
    they are asked for."""
    from ascendctl.topology.leaf_lint import lint

    violations, rules = lint(cluster), family("SW")
    if not violations:
        return
    name, _, number = cluster.leaves_source.rpartition("#")
    positions = _positions(name)
    for options in profiles:
        for violation in violations:
            rule = rules[violation.rule]
            severity = options.severity(rule.id, rule.severity)
            if severity == "off" or (severity == "info" and not options.verbose):
                continue
            line, column = positions.get(str(violation.path[-1])) or positions.get("", (1, 1))
            yield Finding(
                file=encodable(_STDIN if name == "-" else name or NAMELESS),
                line=line,
                column=column,
                rule=rule.id,
                severity=severity,
                message=encodable(message_of(rule, violation)),
                hint=encodable(hint_of(rule, violation)),
                document=int(number or 0),
                path=format_path(violation.path),
                pointer=json_pointer(violation.path),
                object=LEAF_MAP,
                source=rule.source,
            )


def _positions(path: str) -> dict[str, tuple[int, int]]:
    """Line and column of the keys of the ConfigMap in a file of the dump, "" = of its name; empty if the file is not
    there any more, as for a packed snapshot or standard input. The dump is read without positions, so its text is
    searched once more."""
    from ascendctl.yamlio.errors import ReadError
    from ascendctl.yamlio.inputs import read_bytes

    if not path or path == "-":
        return {}
    try:
        text = read_bytes(path).decode("utf-8", "replace")
    except ReadError:
        return {}
    found = {}
    for key in ("tor_info", "tor_level"):
        quoted = rf"[ \t]*([\"']?{key}[\"']?)[ \t]*:"
        # one that starts its line first: texts of annotations may hold the same key inside of theirs
        if match := re.search("^" + quoted, text, re.MULTILINE) or re.search("[{,]" + quoted, text):
            found[key] = _at(text, match.start(1))
    if match := re.search(r"([\"']?name[\"']?)[ \t]*:[ \t]*[\"']?basic-tor-node-cm\b", text):
        found[""] = _at(text, match.start(1))
    return found


def _at(text: str, offset: int) -> tuple[int, int]:
    return text.count("\n", 0, offset) + 1, offset - (text.rfind("\n", 0, offset) + 1) + 1
