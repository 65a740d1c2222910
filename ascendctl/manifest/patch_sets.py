"""One StatefulSet a rank, the exact pin of StatefulSets: the ordinal gives the rank (chapter 50 §6.4, §6.6 g)."""

from __future__ import annotations

import copy
from collections.abc import Mapping
from typing import Any

from ascendctl.manifest.kinds import STATEFUL_SET, dig
from ascendctl.manifest.patch_edits import NPUS_KEY, PLAN_KEY, plan_record
from ascendctl.manifest.patch_fields import HostNames, single_changes
from ascendctl.manifest.patch_pins import Note, PatchError, Seat, Target
from ascendctl.wellknown import MIN_AVAILABLE, RANK, RANK_LABEL
from ascendctl.yamlio.document import FieldPath
from ascendctl.yamlio.plan import EditError, apply_change

_TEMPLATE: FieldPath = ("spec", "template")
_ANNOTATIONS: FieldPath = (*_TEMPLATE, "metadata", "annotations")


def is_split_by_rank(target: Target, mode: str) -> bool:
    """True if the document becomes one StatefulSet a rank."""
    return mode == "hostname" and target.kind is STATEFUL_SET and target.size > 1


def rank_sets(target: Target, names: HostNames, notes: list[Note]) -> list[dict[str, Any]]:
    """A StatefulSet of one replica for each planned pod. Raises PatchError where pods cannot go separate ways (P-07),
    or where the manifest names another node (P-04, P-05)."""
    if refusal := _refusal(target):
        raise PatchError([Note("error", *refusal, target.title)])
    notes.append(
        Note(
            "warning", "",
            "one StatefulSet a rank: pods are named <name>-r<rank>-<rank>, each is a job of its own for the scheduler "
            "(no gang), and Kubernetes must know ordinals.start (1.27)",
            target.title,
        )
    )  # fmt: skip
    text = "enforced: the node of each pod, rank numbers; advisory: NPU ids"
    notes.append(Note("info", "", text, target.title))
    return [_set(target, seat, names, notes) for seats in target.seats for seat in seats]


def _refusal(target: Target) -> tuple[str, str] | None:
    """Code and sentence."""
    from ascendctl.ranks.table import writes_table

    value, policy = target.document.value, target.selection.policy
    if target.selection.whole_job:
        return "P-07", f"policy {policy} plans all pods together: StatefulSets of one pod each would undo that"
    if dig(value, ("spec", "volumeClaimTemplates")):
        return "", "volumeClaimTemplates: the volumes would get other names with one StatefulSet a rank; use --pin set"
    if writes_table(target.jobs[0]):
        return "", "the rank table of a job is that of one object, so there can be no StatefulSet a rank; use --pin set"
    return None


def _set(target: Target, seat: Seat, names: HostNames, notes: list[Note]) -> dict[str, Any]:
    value: dict[str, Any] = copy.deepcopy(dict(target.document.value))
    rank = str(seat.rank)
    changes = single_changes(value, (*_TEMPLATE, "spec"), seat.node, names, target.title, notes)
    changes += [
        (("metadata", "name"), f"{dig(value, ('metadata', 'name'))}-r{rank}"),
        (("metadata", "annotations", PLAN_KEY), plan_record([seat], False, target.title, notes)),
        (("spec", "replicas"), 1),
        (("spec", "ordinals", "start"), seat.rank),
        (("spec", "selector", "matchLabels", RANK_LABEL), rank),
        ((*_TEMPLATE, "metadata", "labels", RANK_LABEL), rank),
        ((*_ANNOTATIONS, NPUS_KEY), ",".join(map(str, seat.npus))),
    ]
    for path in (("metadata", "annotations"), _ANNOTATIONS):
        given = dig(value, path)
        for key, text in ((MIN_AVAILABLE, "1"), (RANK, rank)):
            if isinstance(given, Mapping) and key in given:
                changes.append(((*path, key), text))
    try:
        for path, new in changes:
            apply_change(value, path, new)
    except EditError as error:
        raise PatchError([Note("error", "", str(error), target.title)]) from None
    value.pop("status", None)
    return value
