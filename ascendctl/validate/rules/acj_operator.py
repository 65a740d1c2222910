"""What the Ascend Operator refuses of an AscendJob, in its order (chapter 40 §1.2, §3.1 no. 2)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from ascendctl.manifest.kinds import FRAMEWORK_LEADERS, dig
from ascendctl.manifest.quantity import whole
from ascendctl.manifest.roles import NPU_PREFIX
from ascendctl.validate.companions import Context
from ascendctl.validate.entry import Entry, mappings
from ascendctl.validate.nearest import nearest
from ascendctl.validate.placeholders import shorten
from ascendctl.validate.rule import Violation
from ascendctl.yamlio.document import FieldPath, format_path

SPECS: FieldPath = ("spec", "replicaSpecs")
_LABELS: FieldPath = ("metadata", "labels")
_POLICY: FieldPath = ("spec", "runPolicy", "schedulingPolicy")
MAX_REPLICAS = 20000
SCALING_RULE, GROUP_NAME, JOB_ID = "mind-cluster/scaling-rule", "mind-cluster/group-name", "jobID"


def check(entry: Entry, context: Context) -> Iterator[Violation]:
    """The first check of the job that fails, else the first of every replica type, else a missing leader."""
    failed = next(_job_checks(entry, context), None)
    if failed is not None:
        yield failed
        return
    framework = entry.labels["framework"]
    violations = [v for name in _types(entry) if (v := next(_replica_checks(entry, framework, name), None))]
    yield from violations or _leader(entry, framework)


def _types(entry: Entry) -> list[str]:
    """Replica types in the order of the file, those with a null spec included."""
    found = entry.get(*SPECS)
    names = dict.fromkeys(found if isinstance(found, Mapping) else ())
    size = len(SPECS)
    for path in entry.document.marks:
        if len(path) == size + 1 and path[:size] == SPECS:
            names.setdefault(str(path[-1]))
    return list(names)


def _job_checks(entry: Entry, context: Context) -> Iterator[Violation]:
    """ACJ-25, 24, 01, 12, 13, 02."""
    labels = entry.labels
    if SCALING_RULE in labels:
        missing = [key for key in (GROUP_NAME, JOB_ID) if key not in labels]
        if missing:
            yield Violation("ACJ-25", (*_LABELS, SCALING_RULE), {"missing": " and ".join(missing)})
    scaleout = labels.get("scaleout-type", "")
    if scaleout.strip() and scaleout.upper() not in ("ROCE", "UBOE"):
        yield Violation("ACJ-24", (*_LABELS, "scaleout-type"), {"value": scaleout})
    for path in (("spec",), SPECS):
        if not entry.get(*path) and not (path == SPECS and _types(entry)):
            yield Violation("ACJ-01", path)
            return
    policy = entry.get("spec", "successPolicy")
    if policy not in (None, "", "AllWorkers"):
        yield Violation("ACJ-12", ("spec", "successPolicy"), {"value": policy})
    if context.options.gang and isinstance(entry.get(*_POLICY), Mapping) and not entry.get(*_POLICY, "queue"):
        yield Violation("ACJ-13", (*_POLICY, "queue"))
    framework = labels.get("framework")
    if framework not in FRAMEWORK_LEADERS:
        found = "is missing" if framework is None else f"is {shorten(framework)!r}"
        near = nearest(framework, FRAMEWORK_LEADERS) if framework else ""
        advice = f"write framework: {near}" if near else "add label framework to the job's metadata"
        yield Violation("ACJ-02", (*_LABELS, "framework"), {"found": found, "advice": advice})


def _replica_checks(entry: Entry, framework: str, name: str) -> Iterator[Violation]:
    """ACJ-04, 09, 08, 09, 07, 10, 11 of one replica type."""
    at = (*SPECS, name)
    leader = FRAMEWORK_LEADERS[framework]
    if name not in (leader, "Worker"):
        near = next((known for known in (leader, "Worker") if known.lower() == name.lower()), "")
        values = {"type": name, "framework": framework, "allowed": f"{leader} and Worker"}
        yield Violation("ACJ-04", at, {**values, "advice": f"write {near}" if near else "rename or remove it"})
    spec = entry.get(*at)
    if not spec:
        yield Violation("ACJ-09", at, {"type": name, "path": format_path(at)})
        return
    replicas = spec.get("replicas")
    if replicas is not None and not 0 <= replicas <= MAX_REPLICAS:
        yield Violation("ACJ-08", (*at, "replicas"), {"type": name, "replicas": replicas})
    inside = (*at, "template", "spec", "containers")
    containers = list(mappings(entry.get(*inside), inside))
    if not containers:
        yield Violation("ACJ-09", inside, {"type": name, "path": format_path(inside)})
        return
    if name == leader and replicas is not None and replicas != 1:
        yield Violation("ACJ-07", (*at, "replicas"), {"leader": leader, "replicas": replicas})
    ascend = next(((path, c) for path, c in containers if c.get("name") == "ascend"), None)
    if ascend is None:
        found = ", ".join(str(c.get("name", "without name")) for _, c in containers)
        yield Violation("ACJ-10", inside, {"type": name, "found": found})
    elif not ascend[1].get("image"):
        yield Violation("ACJ-11", (*ascend[0], "image"), {"type": name})


def _leader(entry: Entry, framework: str) -> Iterator[Violation]:
    """ACJ-05, ACJ-06."""
    leader = FRAMEWORK_LEADERS[framework]
    if entry.get(*SPECS, leader) is not None:
        return
    if framework != "mindspore":
        yield Violation("ACJ-05", (*SPECS, leader), {"framework": framework, "leader": leader})
        return
    total = worker_npus(entry)
    if total > 1:
        yield Violation("ACJ-06", (*SPECS, leader), {"total": total})


def worker_npus(entry: Entry) -> int:
    """NPUs that all Workers request in their container ascend, as the operator counts them."""
    worker = entry.get(*SPECS, "Worker")
    replicas = dig(worker, ("replicas",))
    total = 0
    for _, container in mappings(dig(worker, ("template", "spec", "containers")), ()):
        if container.get("name") == "ascend":
            requests: Any = dig(container, ("resources", "requests")) or {}
            total += sum(whole(value) or 0 for key, value in requests.items() if NPU_PREFIX in key)
    return total * (1 if replicas is None else max(int(replicas), 0))
