"""Pins of bare Pods that share a PodGroup (chapter 50 §6.4, §6.6 f)."""

from __future__ import annotations

from collections.abc import Sequence

from ascendctl.manifest.kinds import POD, dig
from ascendctl.manifest.patch_edits import PLAN_KEY, Edits, bound_changes, plan_record
from ascendctl.manifest.patch_fields import HostNames, single_changes
from ascendctl.manifest.patch_pins import Note, PatchError, Seat, Target
from ascendctl.snapshot.cluster import Cluster
from ascendctl.wellknown import RANK, TASK_SPEC
from ascendctl.yamlio.document import Document


def gang_edits(
    target: Target, documents: Sequence[Document], cluster: Cluster, names: HostNames, mode: str, notes: list[Note]
) -> list[tuple[Document, Edits]]:
    """Edits of the PodGroup (the plan record) and of each Pod with NPUs: its node, its rank, and a role of its own, for
    Volcano remembers by role which nodes have refused a pod.

    `documents` are those of the roles. Raises PatchError with P-04, P-05 or P-10.
    """
    title, found, order = target.title, [], dict[str, int]()
    seats = [seat for part in target.seats for seat in part]
    if mode != "annotate":
        _check_roles(target, documents)
        for i in target.ranked:
            (seat,), edits, value = target.seats[i], Edits(), documents[i].value
            order[seat.node] = order.get(seat.node, 0) + 1
            if mode == "nodename":
                edits.changes += bound_changes(value, (), seat, target, cluster, order[seat.node])
            else:
                edits.changes += single_changes(value, ("spec",), seat.node, names, title, notes)
            edits.changes.append((("metadata", "annotations", RANK), str(seat.rank)))
            if not dig(value, ("metadata", "annotations", TASK_SPEC)):
                edits.changes.append((("metadata", "annotations", TASK_SPEC), f"r{seat.rank}"))
            found.append((documents[i], edits))
    record = plan_record(seats, False, title, notes)
    if record:
        found.append((target.document, Edits(changes=[(("metadata", "annotations", PLAN_KEY), record)])))
    return found


def _check_roles(target: Target, documents: Sequence[Document]) -> None:
    """P-10: pods of one role on different nodes starve each other."""
    seen: dict[str, Seat] = {}
    for i in target.ranked:
        seat = target.seats[i][0]
        role = dig(documents[i].value, ("metadata", "annotations", TASK_SPEC))
        other = seen.setdefault(str(role), seat) if role else seat
        if other.node != seat.node:
            message = (
                f"pods {other.name} and {seat.name} share {TASK_SPEC} {role!r} but go to different nodes: Volcano "
                "remembers refusals by role, so they would starve each other; give each a role of its own"
            )
            raise PatchError([Note("error", "P-10", message, target.title)])


def is_gang(target: Target) -> bool:
    """True for bare Pods of one PodGroup."""
    return target.kind is POD and bool(target.jobs[0].source.parts)
