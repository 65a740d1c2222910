"""What a placement pins in a manifest: for each pod template one node or a set of nodes (chapter 50 §6.3 to §6.5)."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from ascendctl.engine.select import Selection, select_policy
from ascendctl.manifest.job import Job, Role
from ascendctl.manifest.kinds import ASCEND_JOB, POD, VC_JOB, Kind, Template, dig
from ascendctl.names import natural_order
from ascendctl.snapshot.cluster import Cluster
from ascendctl.wellknown import HOSTNAME, NPU, TASK_SPEC
from ascendctl.yamlio.document import Document


@dataclass(frozen=True)
class Note:
    """What the reader of a patch should know. `level` is error, warning or info; `code` one of P-01 to P-12, "" = none;
    `title` names the object."""

    level: str
    code: str
    message: str
    title: str = ""


class PatchError(Exception):
    """The placement cannot be written into the manifest; `notes` say why, at least one of them is an error. `target` is
    the document whose pods would be placed in another order of ranks, if that is the reason."""

    def __init__(self, notes: Sequence[Note], target: Target | None = None) -> None:
        super().__init__("; ".join(note.message for note in notes if note.level == "error"))
        self.notes, self.target = tuple(notes), target


@dataclass(frozen=True)
class Seat:
    """A pod with NPUs and its planned node; `npus` are physical chip ids in the scheduler's order."""

    job: str
    name: str
    rank: int
    node: str
    npus: tuple[int, ...]


@dataclass(frozen=True)
class Target:
    """One document with pods to pin. `jobs` hold several entries for infer services (one an instance); `parts` are the
    pod templates, `roles` the role of each, `seats` its planned pods in rank order (empty: no NPUs, not pinned).
    `spread`: all pods of the document, those without NPUs included, stand on nodes of their own."""

    document: Document
    kind: Kind
    title: str
    jobs: tuple[Job, ...]
    parts: tuple[Template, ...]
    roles: tuple[Role, ...]
    seats: tuple[tuple[Seat, ...], ...]
    spread: bool = False

    @property
    def selection(self) -> Selection:
        """The policy of its jobs."""
        return select_policy(self.jobs[0])

    @property
    def ranked(self) -> list[int]:
        """Templates whose pods have NPUs."""
        return [i for i, seats in enumerate(self.seats) if seats]

    @property
    def size(self) -> int:
        """N: pods with NPUs of one job."""
        return max(sum(job.roles[pod.role].npus > 0 for pod in job.pods) for job in self.jobs)


@dataclass(frozen=True)
class Pin:
    """What becomes of one template. `nodes` are the nodes that its pods may use, in natural order; `split`: it becomes
    one task a rank, each with its own node; `as_set`: a set even if it holds one node. `apart`: labels for an added
    anti-affinity between its pods."""

    part: int
    nodes: tuple[str, ...]
    split: bool = False
    as_set: bool = False
    apart: Mapping[str, str] = field(default_factory=dict)

    @property
    def single(self) -> bool:
        """True if every pod is left exactly one node."""
        return self.split or (len(self.nodes) == 1 and not self.as_set)


def target_of(document: Document, kind: Kind, jobs: Sequence[Job], parts: Sequence[Template], placed: Any) -> Target:
    """A document, its jobs and where their pods go; `placed`: (job, pod) -> planned pod (`node`, `npus`), or None.

    Raises PatchError (P-01) if a pod with NPUs has no planned node.
    """
    named = dig(document.value, ("metadata", "name"))
    title = f"{jobs[0].kind} {jobs[0].namespace}/{named or jobs[0].name}"
    roles: dict[int, Role] = {}
    seats: list[list[Seat]] = [[] for _ in parts]
    nodes: list[str] = []
    where = {part.path: i for i, part in enumerate(parts)}
    for job in jobs:
        for spec in job.pods:
            i = where[job.source.path("role", spec.role)]
            roles[i] = job.roles[spec.role]
            found = placed(job, spec)
            if found is not None:
                nodes.append(found.node)
            if spec.npus > 0:
                if found is None:
                    message = f"the placement says nothing of pod {spec.name} (rank {spec.rank})"
                    raise PatchError([Note("error", "P-01", message, title)])
                seats[i].append(Seat(job.name, spec.name, spec.rank, found.node, tuple(found.npus)))
    kept = [i for i in range(len(parts)) if i in roles]
    return Target(
        document,
        kind,
        title,
        tuple(jobs),
        tuple(parts[i] for i in kept),
        tuple(roles[i] for i in kept),
        tuple(tuple(sorted(seats[i], key=lambda seat: (seat.job, seat.rank))) for i in kept),
        len(set(nodes)) == len(nodes),
    )


def is_soft(target: Target) -> bool:
    """True if rank table and environment come from super-pod-rank, which the scheduler leaves empty on a single pin."""
    job = target.jobs[0]
    return job.is_soft and job.resource != NPU and target.selection.module == "superpod"


def choose_pins(
    target: Target, cluster: Cluster, mode: str, spare: Collection[str] = ()
) -> tuple[list[Pin], list[Note]]:
    """The pins of a document, and remarks on them; `spare` nodes are added to the set of a job that is planned as a
    whole. Raises PatchError with P-02, P-07 or P-08."""
    unknown = sorted({seat.node for seats in target.seats for seat in seats} - cluster.index.keys())
    if unknown:
        raise PatchError([Note("error", "P-02", f"node {unknown[0]} is not in the snapshot", target.title)])
    if mode == "annotate" or not target.ranked:
        return [], []
    pins = _pins(target, mode, spare)
    notes = _policy_notes(target, pins, cluster)
    if any(note.level == "error" for note in notes):
        raise PatchError(notes)
    return [_kept_apart(target, pin, cluster, notes) for pin in pins], notes


def _pins(target: Target, mode: str, spare: Collection[str]) -> list[Pin]:
    """The strategy table of chapter 50 §6.4."""
    split = target.kind is VC_JOB and (mode in ("hostname", "nodename") or (mode == "auto" and not is_soft(target)))
    together = has_one_set(target, mode)
    pins = []
    for i in target.ranked:
        seats = [seat for k in target.ranked for seat in target.seats[k]] if together else target.seats[i]
        nodes = {seat.node for seat in seats} | set(spare if together else ())
        pins.append(Pin(i, ordered(nodes), split, mode == "set" and target.kind is not POD))
    return pins


def has_one_set(target: Target, mode: str) -> bool:
    """True if all pods with NPUs share one set of nodes, because their policy plans them together."""
    split = target.kind is VC_JOB and not is_soft(target) and mode == "auto"
    together = target.selection.whole_job and target.size > 1 and len(target.jobs) == 1
    return together and mode in ("auto", "set") and not split and target.kind is not POD


def ordered(nodes: Iterable[str]) -> tuple[str, ...]:
    """Node names in natural order."""
    names = list(nodes)
    return tuple(names[i] for i in natural_order(names))


def _policy_notes(target: Target, pins: Sequence[Pin], cluster: Cluster) -> list[Note]:
    """Step 9 of the algorithm: what the job's policy makes of the pins (P-07, P-08, P-09)."""
    selection, notes = target.selection, []
    singles = all(pin.single for pin in pins)
    if selection.whole_job and target.size > 1 and not singles:
        sets = {pin.nodes for pin in pins} if len(target.jobs) == 1 else {()}
        if any(pin.single for pin in pins) or len(sets) > 1 or any(len(pin.nodes) < target.size for pin in pins):
            notes.append(
                Note(
                    "error", "P-07",
                    f"policy {selection.policy} plans all pods together: pins that differ between its roles leave it "
                    "too few nodes, and the job would never start; use --pin set, or --pods",
                    target.title,
                )
            )  # fmt: skip
    if singles and is_soft(target):
        notes.append(
            Note(
                "error", "P-08",
                "super-pod-affinity soft: a pod with a single candidate gets an empty super-pod-rank, which breaks "
                "HCCL_LOGIC_SUPERPOD_ID and the rank table; use --pin set",
                target.title,
            )
        )  # fmt: skip
    two_layers = cluster.leaves is not None and not cluster.leaves.single_layer
    if singles and selection.switch and two_layers and cluster.config.nslb_version == "2.0":
        notes.append(
            Note(
                "warning", "P-09",
                "switch affinity 2.0: single candidates are annotated isSharedTor 0, isHealthy 0, so later jobs do not "
                "see these leaf switches as taken",
                target.title,
            )
        )  # fmt: skip
    return notes


def _kept_apart(target: Target, pin: Pin, cluster: Cluster, notes: list[Note]) -> Pin:
    """P-06: pods that share a set of nodes and leave chips free there must be kept off each other's nodes, unless the
    placement itself puts two on one node."""
    from ascendctl.engine.kube import own_exclusions

    role, seats = target.roles[pin.part], target.seats[pin.part]
    chips = [int(cluster.total[cluster.index[node]]).bit_count() for node in pin.nodes]
    if pin.single or len(seats) < 2 or all(count <= role.npus for count in chips):
        return pin
    if len({seat.node for seat in seats}) < len(seats):
        return pin
    for job in target.jobs:
        index = next((i for i, own in enumerate(job.roles) if own == role), -1)
        if any(e.first == e.second == index and e.topology_key == HOSTNAME for e in own_exclusions(job)):
            return pin
    labels = _own_labels(target, pin.part, narrow=not target.spread)
    if not labels:
        return pin
    shown = ", ".join(f"{key}={value}" for key, value in labels.items())
    message = f"anti-affinity on {shown} added: the pods leave NPUs of their nodes free, so two could share a node"
    notes.append(Note("info", "P-06", message, target.title))
    return replace(pin, apart=labels)


def _own_labels(target: Target, part: int, narrow: bool) -> dict[str, str]:
    """Labels that select the pods of the document, `narrow`: of one template only; empty if there are none."""
    job, role, kind = target.jobs[0], target.roles[part], target.kind
    if kind is ASCEND_JOB:
        return {"job-name": job.name} | ({"replica-type": role.name.lower()} if narrow else {})
    if kind is VC_JOB:
        return {"volcano.sh/job-name": job.name} | ({TASK_SPEC: role.name} if narrow else {})
    if job.kind == "Job":
        return {"job-name": job.name} if job.name and not narrow else {}
    if "deploy-name" in role.labels:
        return {"deploy-name": role.labels["deploy-name"]}
    selector = dig(target.document.value, (*target.parts[part].path[:-1], "selector", "matchLabels"))
    chosen = selector if isinstance(selector, Mapping) else {}
    return {str(key): str(value) for key, value in chosen.items() if role.labels.get(key) == value}
