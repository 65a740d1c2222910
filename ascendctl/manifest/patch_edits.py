"""From pins to changes of a document: fields, split tasks of Volcano Jobs, the plan record (chapter 50 §6.4, §6.5)."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from ascendctl.manifest.kinds import POD, count_of, dig
from ascendctl.manifest.patch_fields import Changes, HostNames, apart_changes, set_changes, single_changes
from ascendctl.manifest.patch_pins import Note, Pin, Seat, Target
from ascendctl.snapshot.cluster import Cluster
from ascendctl.wellknown import RANK
from ascendctl.yamlio.document import Document, FieldPath

PLAN_KEY = "ascendctl.io/plan"
NPUS_KEY = "ascendctl.io/planned-npus"
MAX_RECORD = 200 * 1024
"""Bytes of a plan record; the API server takes 256 KiB of annotations in all."""
MAX_NAME = 63
BY_TASK_NAME = ("pytorch", "tensorflow", "mpi", "hcclrank", "mindspore", "ray")
"""Plugins of Volcano Jobs that address tasks by name."""
TASKS: FieldPath = ("spec", "tasks")


@dataclass
class Edits:
    """What is done to one document: list items repeated (path, copies) from the last to the first, then fields set."""

    copies: list[tuple[FieldPath, int]] = field(default_factory=list)
    changes: Changes = field(default_factory=list)


def edits_of(
    target: Target, pins: Sequence[Pin], cluster: Cluster, names: HostNames, notes: list[Note], by_name: bool
) -> Edits:
    """All changes of one document. `by_name`: bare Pods get spec.nodeName and their chips, past every scheduler.

    Raises PatchError with P-04, P-05 or P-12.
    """
    edits, value = Edits(), target.document.value
    if any(pin.split for pin in pins):
        _split(target, pins, names, edits, notes)
    for pin in pins:
        part, seats = target.parts[pin.part], target.seats[pin.part]
        at: FieldPath = (*part.path, "spec")
        if pin.split:
            continue
        if by_name and target.kind is POD:
            edits.changes += bound_changes(value, (), seats[0], target, cluster, 1)
            edits.changes.append((("metadata", "annotations", RANK), str(seats[0].rank)))
        elif pin.single:
            edits.changes += single_changes(value, at, pin.nodes[0], names, target.title, notes)
        else:
            edits.changes += set_changes(value, at, pin.nodes, names, target.title, notes)
        if pin.apart:
            edits.changes += apart_changes(value, at, pin.apart)
        if target.kind is not POD and pin.single and len(seats) == 1:
            edits.changes.append(((*part.path, "metadata", "annotations", NPUS_KEY), _npus(seats[0])))
    record = plan_record([seat for seats in target.seats for seat in seats], len(target.jobs) > 1, target.title, notes)
    if record:
        edits.changes.append((("metadata", "annotations", PLAN_KEY), record))
    return edits


def _npus(seat: Seat) -> str:
    return ",".join(map(str, seat.npus))


def plan_record(seats: Sequence[Seat], with_job: bool, title: str, notes: list[Note]) -> str:
    """The plan as one JSON text, "" if it is too long for an annotation even without chips."""
    for with_npus in (True, False):
        ranks = [
            {"r": seat.rank}
            | ({"job": seat.job} if with_job else {})
            | {"node": seat.node}
            | ({"npus": list(seat.npus)} if with_npus else {})
            for seat in sorted(seats, key=lambda seat: (seat.job, seat.rank))
        ]
        text = json.dumps({"v": 1, "ranks": ranks}, separators=(",", ":"), ensure_ascii=False)
        if len(text.encode()) <= MAX_RECORD:
            return text
        what = "the chips are left out" if with_npus else "there is none"
        notes.append(Note("warning", "", f"the plan record is longer than {MAX_RECORD >> 10} KiB: {what}", title))
    return ""


# -------------------------------------------------------------------------------------------------- Volcano Jobs
def _split(target: Target, pins: Sequence[Pin], names: HostNames, edits: Edits, notes: list[Note]) -> None:
    """One task a rank: copies of the task item, then name, replicas, rank and node of each."""
    document = target.document
    tasks = document.value["spec"]["tasks"]
    seats_of = {target.parts[pin.part].path[2]: target.seats[pin.part] for pin in pins}
    ranks = _ranks(target, notes)
    total = sum(len(seats_of.get(i, ())) or 1 for i in range(len(tasks)))
    new_names: dict[str, list[str]] = {}
    taken = {str(dig(task, ("name",))) for task in tasks}
    index = 0
    for i, task in enumerate(tasks):
        seats = seats_of.get(i, ())
        if len(seats) > 1:
            edits.copies.append(((*TASKS, i), len(seats) - 1))
        old = dig(task, ("name",))
        for seat in seats:
            rank = ranks[seat.job, seat.rank]
            if len(seats) > 1:
                name = _task_name(target.jobs[0].name, target.roles[_part(target, i)].name, rank, total, taken)
                new_names.setdefault(str(old), []).append(name)
                edits.changes.append(((*TASKS, index, "name"), name))
            edits.changes += _one_task(document, i, index, seat, rank, names, target.title, notes)
            index += 1
        index += 0 if seats else 1
    edits.copies.reverse()
    _follow_names(tasks, seats_of, new_names, edits)
    if new_names:
        notes.append(_side_effects(document.value, target.title))


def _part(target: Target, task: int) -> int:
    return next(i for i, part in enumerate(target.parts) if part.path[2] == task)


def _ranks(target: Target, notes: list[Note]) -> dict[tuple[str, int], int]:
    """Planned rank -> rank to write: the same where they are 0 to N-1, else counted anew (RK-01)."""
    found = sorted((seat.job, seat.rank) for seats in target.seats for seat in seats)
    new = {key: i for i, key in enumerate(found)}
    if any(key[1] != i for key, i in new.items()):
        message = f"ranks {', '.join(str(r) for _, r in found[:4])}... are written as 0 to {len(found) - 1} (RK-01)"
        notes.append(Note("info", "", message, target.title))
    return new


def _one_task(
    document: Document, old: int, index: int, seat: Seat, rank: int, names: HostNames, title: str, notes: list[Note]
) -> Changes:
    """Changes of one copy: they are worked out on the original task, whose text the copy has."""
    start: FieldPath = (*TASKS, old, "template")
    task = dig(document.value, (*TASKS, old))
    changes = single_changes(document.value, (*start, "spec"), seat.node, names, title, notes)
    changes.append(((*start, "metadata", "annotations", RANK), str(rank)))
    changes.append(((*start, "metadata", "annotations", NPUS_KEY), _npus(seat)))
    if count_of(task.get("replicas"), 1) != 1:
        changes.append(((*TASKS, old, "replicas"), 1))
    if task.get("minAvailable") is not None and task["minAvailable"] != 1:
        changes.append(((*TASKS, old, "minAvailable"), 1))
    return [((*TASKS, index, *path[3:]), value) for path, value in changes]


def _task_name(job: str, stem: str, rank: int, total: int, taken: set[str]) -> str:
    """<task>-r<rank>, the stem shortened so that <job>-<task>-<index> has at most 63 characters."""
    room = MAX_NAME - len(f"{job}--{total - 1}")
    end = f"-r{rank}"
    name = stem[: max(1, room - len(end))].rstrip("-") + end
    while name in taken:
        end = "x" + end
        name = stem[: max(1, room - len(end))].rstrip("-") + end
    taken.add(name)
    return name


def _follow_names(
    tasks: Sequence[Any], seats_of: Mapping[Any, Sequence[Seat]], new_names: Mapping[str, Sequence[str]], edits: Edits
) -> None:
    """dependsOn lists name all the tasks that a task became."""
    index = 0
    for i, task in enumerate(tasks):
        copies = max(1, len(seats_of.get(i, ())))
        given = dig(task, ("dependsOn", "name"))
        if isinstance(given, list) and any(name in new_names for name in given):
            wanted = [new for name in given for new in new_names.get(name, [name])]
            edits.changes += [((*TASKS, index + k, "dependsOn", "name"), wanted) for k in range(copies)]
        index += copies


def _side_effects(value: Any, title: str) -> Note:
    """What splitting changes for the job's own scripts."""
    plugins = dig(value, ("spec", "plugins"))
    lost = [name for name in BY_TASK_NAME if isinstance(plugins, Mapping) and name in plugins]
    text = (
        "tasks were split: pods are named <job>-<task>-r<rank>-0, VC_TASK_INDEX is 0 everywhere, VC_<TASK>_HOSTS and "
        "VC_<TASK>_NUM change names; a running job cannot gain tasks, so create it anew"
    )
    if lost:
        text += f"; plugin {', '.join(lost)} addresses tasks by name and stops matching"
    return Note("warning", "", text, title)


# ------------------------------------------------------------------------------------------------------ bare Pods
def bound_changes(value: Any, at: FieldPath, seat: Seat, target: Target, cluster: Cluster, order: int) -> Changes:
    """spec.nodeName and, where the pod does not take every chip of the node, its chips (chapter 50 §6.2): the device
    plugin then hands out exactly these. `order` counts the pods of a node, for it serves the smallest first."""
    from ascendctl.manifest.patch_pins import PatchError

    given = dig(value, (*at, "spec", "nodeName"))
    if given and given != seat.node:
        message = f"the manifest has nodeName {given}, the placement puts the pod on {seat.node}"
        raise PatchError([Note("error", "P-05", message, target.title)])
    changes: Changes = [((*at, "spec", "nodeName"), seat.node)]
    node, resource = cluster.index[seat.node], target.jobs[0].resource
    if len(seat.npus) < int(cluster.total[node]).bit_count():
        from ascendctl.engine.finish import device_ids

        prefix, devices = resource.removeprefix("huawei.com/") + "-", device_ids(cluster, node)
        listed = ",".join(f"{prefix}{devices.get(chip, 0) if devices else chip}" for chip in seat.npus)
        notes: FieldPath = (*at, "metadata", "annotations")
        changes += [((*notes, resource), listed), ((*notes, "predicate-time"), str(order))]
    return changes
