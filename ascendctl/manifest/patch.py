"""Writing placements into manifests (chapter 50 §6.5): jobs placed in order, pinned, and placed again as a check."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeAlias

from ascendctl.engine.api import Result
from ascendctl.engine.result import is_whole
from ascendctl.engine.sequence import place_in_order
from ascendctl.manifest.job import Job, PodSpec
from ascendctl.manifest.kinds import POD, STATEFUL_SET, VC_JOB, kind_of, templates
from ascendctl.manifest.lists import objects
from ascendctl.manifest.load import jobs_of
from ascendctl.manifest.patch_edits import Edits, edits_of
from ascendctl.manifest.patch_fields import HostNames
from ascendctl.manifest.patch_gang import gang_edits, is_gang
from ascendctl.manifest.patch_pins import Note, PatchError, Pin, Target, choose_pins, target_of
from ascendctl.manifest.patch_sets import is_split_by_rank, rank_sets
from ascendctl.manifest.patch_spare import spare_nodes
from ascendctl.snapshot.cluster import Cluster
from ascendctl.yamlio.document import Document, FieldPath
from ascendctl.yamlio.edit import EditError, copy_item, set_fields
from ascendctl.yamlio.errors import ReadError
from ascendctl.yamlio.read import read_documents

Files: TypeAlias = "Sequence[tuple[str, str]]"
Plans: TypeAlias = "Mapping[tuple[str, str], Mapping[str, Any]]"


@dataclass(frozen=True)
class Patch:
    """`files`: (name, text before, text after), in the order given; `results`: what each job got, in order (none if
    placements were given); `targets`: the documents with jobs; `notes` of all jobs. If a job got no place, the texts
    after are those before."""

    files: tuple[tuple[str, str, str], ...]
    results: tuple[Result, ...]
    targets: tuple[Target, ...] = ()
    notes: tuple[Note, ...] = ()

    @property
    def found(self) -> bool:
        """True if there was a job at all."""
        return bool(self.targets)

    @property
    def placed(self) -> bool:
        """True if every job got a place, and each pod its NPUs."""
        return all(map(is_whole, self.results))


@dataclass(frozen=True)
class Planned:
    """A pod of a placement that was read from a document."""

    node: str
    npus: tuple[int, ...]


@dataclass(frozen=True)
class _Run:
    """What one call works on."""

    files: Files
    documents: Sequence[Place]
    targets: Sequence[Target]
    cluster: Cluster
    names: HostNames
    mode: str
    pods: bool


def patch_texts(
    files: Files, cluster: Cluster, mode: str = "auto", plans: Plans | None = None, pods: bool = False
) -> Patch:
    """Place the jobs of some manifests, (name, text) each, one after the other, and pin them where they land.

    `mode` is one of `PIN_MODES`; `plans` are PlacementResult documents by (namespace, job name) that are written in
    place of what the engine would choose. Everything else in the texts stays byte for byte. `pods`: each workload is
    replaced by bare Pods. Raises ReadError for texts that cannot be read, PatchError where a placement cannot be
    written.
    """
    documents = read_files(files)
    jobs = jobs_of(place.document for place in documents)
    results = place_in_order(jobs, cluster)[0] if plans is None else []
    if not all(map(is_whole, results)):
        return Patch(tuple((name, text, text) for name, text in files), tuple(results))
    targets = targets_of(jobs, _finder(jobs, results, plans))
    run = _Run(files, documents, targets, cluster, HostNames(cluster), mode, pods)
    spare: dict[int, frozenset[str]] = {}
    while True:
        try:
            texts, notes = _patched(run, spare)
            break
        except PatchError as error:
            if mode != "auto" or error.target is None or id(error.target) in spare:
                raise
            found = next((r for r, job in zip(results, jobs, strict=False) if job is error.target.jobs[0]), None)
            further = spare_nodes(error.target, found, cluster)
            if not further:
                raise
            spare[id(error.target)] = further
    return Patch(
        tuple((name, old, new) for (name, old), new in zip(files, texts, strict=True)),
        tuple(results),
        tuple(targets),
        tuple(notes),
    )


def _patched(run: _Run, spare: Mapping[int, frozenset[str]]) -> tuple[list[str], list[Note]]:
    """The texts after patching and checking; `spare`: further nodes for the sets of some targets, by id."""
    notes: list[Note] = []
    places = {id(place.document): place for place in run.documents}
    texts = [text for _, text in run.files]
    if run.pods:
        texts = _expanded(run, texts, notes)
    split = [] if run.pods else [target for target in run.targets if is_split_by_rank(target, run.mode)]
    for target in () if run.pods else run.targets:
        if target in split:
            continue
        for document, edits in _edits(run, target, spare.get(id(target), frozenset()), notes):
            place = places[id(document)]
            texts[place.file] = apply(texts[place.file], place, edits, target.title)
    if split:
        texts = _with(run, texts, {id(target.document): _rank_sets(run, target, notes) for target in split})
    if run.mode != "annotate" or run.pods:
        from ascendctl.manifest.patch_check import check

        after = [(name, text) for (name, _), text in zip(run.files, texts, strict=True)]
        notes += check(run.files, after, run.targets, run.cluster, run.mode, run.pods)
    return texts, _joined(notes)


def _joined(notes: Sequence[Note]) -> list[Note]:
    """One note an object on nodes that cannot be named by their label (P-03), whatever their number."""
    counts = Counter(note.title for note in notes if note.code == "P-03")
    found: list[Note] = []
    for note in notes:
        more = counts[note.title] - 1 if note.code == "P-03" else 0
        if note.code != "P-03":
            found.append(note)
        elif counts.pop(note.title, 0):
            found.append(replace(note, message=f"{note.message} (and {more} more)") if more else note)
    return found


def _expanded(run: _Run, texts: list[str], notes: list[Note]) -> list[str]:
    """The texts with every workload replaced by bare Pods."""
    from ascendctl.manifest.patch_pods import pod_objects, rank_table_map

    by_name = run.mode == "nodename"
    made: dict[int, list[dict[str, Any]]] = {}
    for target in run.targets:
        choose_pins(target, run.cluster, "annotate")
        found = pod_objects(target, run.cluster, run.names, by_name, notes)
        found += rank_table_map(target, run.cluster, notes) if by_name else []
        made[id(target.document)] = found
    return _with(run, texts, made)


def _rank_sets(run: _Run, target: Target, notes: list[Note]) -> list[dict[str, Any]]:
    choose_pins(target, run.cluster, "annotate")
    return rank_sets(target, run.names, notes)


def _with(run: _Run, texts: list[str], made: Mapping[int, list[dict[str, Any]]]) -> list[str]:
    """The texts with some documents, by id, replaced by other objects."""
    from ascendctl.manifest.patch_stream import replaced

    new: list[dict[int, list[Any]]] = [{} for _ in texts]
    changed = {(p.file, p.document.index) for p in run.documents if id(p.document) in made}
    for place in run.documents:
        key = place.file, place.document.index
        if key in changed:  # an item of a List becomes a document of its own, as do its neighbours
            new[place.file].setdefault(key[1], []).extend(made.get(id(place.document), [place.document.value]))
    return [replaced(text, parts) if parts else text for text, parts in zip(texts, new, strict=True)]


@dataclass(frozen=True)
class Place:
    """An object: index of its file, itself, and the path that leads to it from the document (items of a List)."""

    file: int
    document: Document
    root: FieldPath = ()


def read_files(files: Files) -> list[Place]:
    """The objects of all files. Raises ReadError for the first document that cannot be read."""
    found = []
    for number, (name, text) in enumerate(files):
        for document in read_documents(text, name):
            for problem in document.problems:
                if problem.fatal:
                    raise ReadError(name, problem.message, problem.hint, problem.line, problem.column)
            found += [Place(number, part, root) for part, root in objects(document)]
    return found


Finder: TypeAlias = "Callable[[Job, PodSpec], Any]"


def _finder(jobs: Sequence[Job], results: Sequence[Result], plans: Plans | None) -> Finder:
    """(job, pod) -> the planned pod, None if the plan does not hold it."""
    found: dict[tuple[int, str], Any] = {}
    for number, job in enumerate(jobs):
        if plans is None:
            pods = results[number].pods  # type: ignore[union-attr]
            found |= {(id(job), pod.name): pod for pod in pods}
            continue
        plan = plans.get((job.namespace, job.name)) or {}
        for entry in plan.get("pods") or ():
            pod = Planned(str(entry.get("node")), tuple(entry.get("npus") or ()))
            found[id(job), str(entry.get("name"))] = pod
    return lambda job, spec: found.get((id(job), spec.name))


def targets_of(jobs: Sequence[Job], placed: Finder) -> list[Target]:
    """The documents with pods to pin, in order. Raises PatchError (P-01)."""
    by_document: dict[int, list[Job]] = {}
    for job in jobs:
        by_document.setdefault(id(job.source.document), []).append(job)
    targets = []
    for group in by_document.values():
        document = group[0].source.document
        if document is None:
            continue
        if group[0].source.parts:
            targets.append(_gang_target(document, group[0], placed))
            continue
        kind = kind_of(document.value)
        if kind is not None:
            targets.append(target_of(document, kind, group, list(templates(document, kind)), placed))
    return targets


def _gang_target(document: Document, job: Job, placed: Finder) -> Target:
    """A gang of bare Pods: every Pod is a template of its own, told apart by a made-up path."""
    parts = [replace(next(templates(part, POD)), path=("pod", i)) for i, part in enumerate(job.source.parts)]
    origins: dict[tuple[str | int, ...], FieldPath] = dict(job.source.origins)
    origins.update((("role", i), part.path) for i, part in enumerate(parts))
    apart = replace(job, source=replace(job.source, origins=origins))

    return target_of(document, POD, [apart], parts, lambda _, spec: placed(job, spec))


def _edits(run: _Run, target: Target, spare: frozenset[str], notes: list[Note]) -> list[tuple[Document, Edits]]:
    pins, found = choose_pins(target, run.cluster, run.mode, spare)
    notes += found
    if spare:
        text = (
            f"the set holds {len(spare)} further candidates of the same units: among the planned nodes alone the "
            "policy would order the ranks differently (--pin set takes exactly these nodes, in any order)"
        )
        notes.append(Note("warning", "P-11", text, target.title))
    if not target.ranked:
        notes.append(Note("warning", "", "no pod asks for NPUs: nothing is pinned", target.title))
        return []
    if is_gang(target):
        edits = gang_edits(target, target.jobs[0].source.parts, run.cluster, run.names, run.mode, notes)
    else:
        by_name = run.mode == "nodename"
        edits = [(target.document, edits_of(target, pins, run.cluster, run.names, notes, by_name))]
    notes.append(_summary(target, pins, run.cluster, run.mode))
    return edits


def _summary(target: Target, pins: Sequence[Pin], cluster: Cluster, mode: str) -> Note:
    """What the pins enforce and what stays a prediction (chapter 50 §6.7)."""
    seats = [seat for part in target.seats for seat in part]
    if not pins:
        return Note("info", "", f"plan of {len(seats)} pods recorded, nothing enforced", target.title)
    whole = all(len(s.npus) == int(cluster.total[cluster.index[s.node]]).bit_count() for s in seats)
    enforced = _pinned_nodes(target, pins, len(seats))
    advisory = [] if all(pin.single for pin in pins) else ["which rank takes which node of a set"]
    own_ranks = target.kind is VC_JOB and all(pin.split for pin in pins)
    if own_ranks or is_gang(target) or target.kind is STATEFUL_SET:
        enforced.append("rank numbers")
    by_name = mode == "nodename" and target.kind is POD
    (enforced if whole or by_name else advisory).append("NPU ids")
    text = "enforced: " + ", ".join(enforced) + (f"; advisory: {', '.join(advisory)}" if advisory else "")
    return Note("info", "", text, target.title)


def _pinned_nodes(target: Target, pins: Sequence[Pin], pods: int) -> list[str]:
    """What the pins say of the nodes of so many pods, in words."""
    found = []
    singles, sets = [pin for pin in pins if pin.single], [pin for pin in pins if not pin.single]
    if singles:
        count = sum(len(target.seats[pin.part]) for pin in singles)
        found.append(f"the node of {'each pod' if not sets else f'{count} of {pods} pods'}")
    for nodes in dict.fromkeys(pin.nodes for pin in sets):
        roles = [target.roles[pin.part].name for pin in sets if pin.nodes == nodes]
        named = f" for {', '.join(roles)}" if all(roles) and len(target.parts) > 1 else ""
        found.append(f"a set of {len(nodes)} nodes{named}")
    return found


def apply(text: str, place: Place, edits: Edits, title: str) -> str:
    """The text with the edits of one object. Raises PatchError if they cannot be made without touching more."""
    index = place.document.index
    try:
        for path, copies in edits.copies:
            text = copy_item(text, index, (*place.root, *path), copies)
        return set_fields(text, index, [((*place.root, *path), value) for path, value in edits.changes])
    except EditError as error:
        raise PatchError([Note("error", "", str(error), title)]) from None
