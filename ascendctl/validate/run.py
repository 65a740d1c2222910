"""One file through all phases of the validation (chapter 40 §3.1)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

from ascendctl.manifest.kinds import dig
from ascendctl.validate.catalogue import rules_module
from ascendctl.validate.classify import classify
from ascendctl.validate.companions import Context, ObjectKey, index
from ascendctl.validate.dialects import is_foreign, speaks_of_npus
from ascendctl.validate.entry import CARRIER, COMPANION, HALF, KNOWN, UNKNOWN, Entry
from ascendctl.validate.finding import Finding
from ascendctl.validate.finish import Found, findings
from ascendctl.validate.leafmap import asks_for_switches
from ascendctl.validate.ome import merged
from ascendctl.validate.options import Options
from ascendctl.validate.report import Checked
from ascendctl.validate.rule import Violation
from ascendctl.validate.rules import doc, scaling
from ascendctl.validate.rules.comment import Disable, disables
from ascendctl.validate.schemas import KIND_SCHEMAS
from ascendctl.validate.structure import structure, without_nulls
from ascendctl.yamlio.document import Document, FieldPath
from ascendctl.yamlio.read import read_documents

KIND_FAMILIES = {
    "AscendJob": "acj", "vcjob": "vcj", "PodGroup": "pgr", "Deployment": "wld", "StatefulSet": "wld", "Job": "wld",
    "Pod": "wld", "InferServiceSet": "inf", "InferService": "inf", "InstanceSet": "inf",
}  # fmt: skip
"""Kind -> the module with the rules on that kind."""
_STOPPING = frozenset(("DOC-01", "DOC-12"))
_RINGS, _TOR = "rings-config-", "basic-tor-node-cm"


@dataclass(frozen=True)
class Loaded:
    """A file that is read and whose objects have their structure judged. `entries` holds the objects for the rules,
    `found` what is known against the file so far, `spoilt` the entries that no later phase may look at, `skipped` how
    many of these are none of this program's business."""

    file: str
    documents: int
    entries: tuple[Entry, ...]
    found: tuple[Found, ...]
    comments: tuple[Disable, ...]
    spoilt: frozenset[int]
    skipped: int

    @property
    def index(self) -> dict[ObjectKey, Any]:
        """What other files may look up."""
        return index(self.entries)


def load(name: str, data: str | bytes, options: Options) -> Loaded:
    """Read a file: text problems, heads, structure."""
    documents = read_documents(data, name)
    found: list[Found] = []
    entries: list[Entry] = []
    spoilt: set[int] = set()
    skipped = 0
    for document in documents:
        stop = document.value is None
        for problem in document.problems:
            message, hint = problem.message, problem.hint
            violation = Violation(problem.rule, problem.path, {"problem": message}, message=message, hint=hint)
            found.append(Found(document, violation, None, (problem.line, problem.column)))
            stop = stop or problem.rule in _STOPPING
        if stop:
            continue
        classified = classify(document, len(documents), options)
        broken = {id(e) for e, v in classified.violations if v.rule == "DOC-02" or v.severity in ("", "error")}
        found += [Found(document, violation, entry) for entry, violation in classified.violations]
        for entry in classified.entries:
            if id(entry) in broken or entry.case in (COMPANION, UNKNOWN):
                spoilt.add(len(entries))
                skipped += id(entry) not in broken
            else:
                entry, violations = _structured(entry, options)
                found += [Found(document, violation, entry) for violation in violations]
            entries.append(entry)
    text = data if isinstance(data, str) else data.decode("utf-8", "replace") if b"ascendctl:" in data else ""
    starts = [document.line for document in documents]
    return Loaded(
        name, len(documents), tuple(entries), tuple(found), disables(text, starts), frozenset(spoilt), skipped
    )


def evaluate(loaded: Loaded, options: Options, others: Mapping[ObjectKey, Any]) -> tuple[list[Finding], Checked]:
    """The findings of a file. `others` holds the objects of the other files of the run."""
    context = Context(options, loaded.entries, others)
    found = list(loaded.found)
    judged = [entry for i, entry in enumerate(loaded.entries) if i not in loaded.spoilt]
    found += [Found(_document(entry), violation, entry) for entry, violation in doc.duplicates(loaded.entries)]
    for entry in judged:
        foreign = entry.title != "AscendJob" and any(is_foreign(entry, pod) for pod in entry.pods)
        found += [
            Found(_document(entry), violation, entry)
            for violation in _rules(entry, context)
            if not (foreign and speaks_of_npus(violation.rule))
        ]
    skipped = loaded.skipped + sum(is_plain_config_map(entry, context) for entry in judged)
    checked = Checked(
        loaded.file, loaded.documents, skipped, sum(entry.case == HALF for entry in judged),
        tuple((entry.document.index, entry.object, entry.line) for entry in judged),
        options.snapshot is not None and any(asks_for_switches(entry) for entry in judged),
    )  # fmt: skip
    return findings(loaded.file, found, options, loaded.comments, loaded.documents), checked


def _document(entry: Entry) -> Document:
    return entry.document


def is_plain_config_map(entry: Entry, context: Context) -> bool:
    """True for a ConfigMap that MindCluster does not read (chapter 40 §1.12 b)."""
    if entry.kind_name != "ConfigMap" or scaling.users(entry, context):
        return False
    data = entry.get("data")
    return not (
        entry.name.startswith(_RINGS) or entry.name == _TOR
        or (isinstance(data, Mapping) and ("elastic_scaling.json" in data or "hccl.json" in data))
    )  # fmt: skip


def _rules(entry: Entry, context: Context) -> Iterator[Violation]:
    if is_plain_config_map(entry, context):
        yield from doc.script_returns(entry)
        return
    yield from doc.check(entry)
    whole = merged(entry, context)
    for name in ("k8s", KIND_FAMILIES.get(entry.title, ""), "ext" if entry.case == CARRIER else ""):
        if name:
            yield from _family(name, whole if name == "ext" else entry, context)
    if entry.pods and entry.case != HALF:
        from ascendctl.validate.jobs import judge
        from ascendctl.validate.rules.pgr import pods

        yield from pods(entry, context)
        yield from judge(whole, context)
    elif entry.title == "PodGroup":
        from ascendctl.validate.rules import sch

        yield from sch.group(entry, context)
    if entry.pods or entry.kind_name == "ConfigMap":
        for name in ("resources", "rsc", "env", "rtb"):
            yield from _family(name, whole if name == "rsc" else entry, context)


def _family(name: str, entry: Entry, context: Context) -> Iterator[Violation]:
    violations: Iterator[Violation] = rules_module(name).check(entry, context)
    yield from violations


def _structured(entry: Entry, options: Options) -> tuple[Entry, list[Violation]]:
    """The entry with values of the types that its schema asks for, and the violations on the way there."""
    if entry.case == KNOWN:
        name = "kinds/" + KIND_SCHEMAS[entry.api_version, entry.kind_name]
        result = structure(entry.document, name, options.volcano)
        return entry.with_value(result.value), list(result.violations)
    violations: list[Violation] = []
    value = without_nulls(entry.document, entry.value, (), violations)
    document = replace(entry.document, value=value)
    for path, part in _parts(entry):
        if dig(value, path) is not None:
            result = structure(document, "kinds/podtemplate", options.volcano, f"/$defs/{part}", path, False)
            violations += result.violations
            _put(value, path, result.value)
    return entry.with_value(value), violations


def _parts(entry: Entry) -> Iterator[tuple[FieldPath, str]]:
    """(path, type) of the parts of an unknown kind or a wrapper that are known."""
    yield ("metadata",), "ObjectMeta"
    seen = set()
    for pod in entry.pods:
        if pod.meta not in seen and pod.meta != ("metadata",):
            seen.add(pod.meta)
            yield pod.meta, "ObjectMeta"
        yield pod.spec, "PodSpec"
        for path, _ in pod.containers:
            if path[: len(pod.spec) + 1] != (*pod.spec, "containers"):
                yield path, "Container"


def _put(value: Any, path: FieldPath, new: Any) -> None:
    holder = dig(value, path[:-1])
    last: Any = path[-1]
    if isinstance(holder, dict | list):
        holder[last] = new
