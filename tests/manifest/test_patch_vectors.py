"""Recorded cases patched and placed again: the same nodes, NPUs and ranks (chapter 50 §6.5, last step)."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import ascendctl
from ascendctl.engine.result import Placement, is_whole
from ascendctl.manifest.patch import patch_texts
from ascendctl.manifest.patch_pins import PatchError
from tests import cases

FOLDER = Path(__file__).parents[1] / "vectors"
FAMILIES = sorted(
    path.name.removesuffix(".jsonl.gz") for path in FOLDER.glob("*.jsonl.gz") if "reschedule" not in path.name
)
LARGEST = 150
"""Nodes of a case that is taken; large clusters only take longer."""
A_FAMILY = 6


def chosen(family: str) -> list[cases.Case]:
    """Placed cases of a family, evenly spread."""
    found = [
        case
        for case in cases.load(FOLDER / f"{family}.jsonl.gz")
        if case["expect"]["outcome"] == "placed" and not case["job"].get("fault") and len(case["nodes"]) <= LARGEST
    ]
    return found[:: max(1, -(-len(found) // A_FAMILY))]


def kinds_of(case: cases.Case) -> list[str]:
    """The case's own kind, and others that can carry the same job."""
    own, single = case["job"]["kind"], len(case["job"]["roles"]) == 1
    return [own, *([other for other in ("vcjob",) if other != own and single])]


def as_kind(case: cases.Case, kind: str) -> cases.Case:
    roles = [dict(role, name=role["name"].lower()) for role in case["job"]["roles"]] if kind == "vcjob" else None
    return dict(case, job=dict(case["job"], kind=kind) | ({"roles": roles} if roles else {}))


def snapshot(case: cases.Case, mode: str, hostnames: bool) -> Any:
    objects = cases.objects(case, mode)
    for one in objects:
        if one["kind"] == "Node" and hostnames:
            one["metadata"]["labels"]["kubernetes.io/hostname"] = "h-" + one["metadata"]["name"]
    return ascendctl.load_snapshot(objects)


def seats(placement: Any, job: Any) -> list[Any]:
    """Rank, node and chips of the pods with NPUs."""
    pods = zip(job.pods, placement.pods, strict=True)
    return sorted((spec.rank, pod.node, pod.npus) for spec, pod in pods if spec.npus > 0)


def problem(case: cases.Case, kind: str, mode: str, hostnames: bool, pods: bool) -> str:
    """What is wrong with a patch of the case, "" = nothing. A soft job of one pod cannot be pinned (P-08)."""
    text = cases.manifest(as_kind(case, kind))
    cluster = snapshot(case, mode, hostnames)
    (job,) = ascendctl.load_jobs(text)
    before = ascendctl.place(job, cluster)
    if not isinstance(before, Placement):
        return "" if kind != case["job"]["kind"] else f"not placed: {before.code}"
    try:
        new = patch_texts([("job.yaml", text)], cluster, pods=pods).files[0][2]
    except PatchError as error:
        codes = [note.code for note in error.notes if note.level == "error"]
        soft = job.labels.get("super-pod-affinity") == "soft" and len(job.pods) == 1
        return "" if codes == ["P-08"] and soft else str(error)
    if not is_whole(before):
        return "" if new == text else "written although a pod has no NPUs"
    if new == text:
        return "" if not seats(before, job) else "nothing was written"
    errors = [f.rule for f in ascendctl.validate(new) if f.severity == "error"]
    if set(errors) - {f.rule for f in ascendctl.validate(text)}:
        return f"breaks {errors}"
    (again,) = ascendctl.load_jobs(new)
    after = ascendctl.place(again, cluster)
    if not isinstance(after, Placement) or seats(after, again) != seats(before, job):
        return "lands elsewhere"
    if not pods and patch_texts([("job.yaml", new)], cluster).files[0][2] != new:
        return "a second patch changes something"
    return ""


@pytest.mark.parametrize("family", FAMILIES)
def test_patched_jobs_land_where_they_did(family: str) -> None:
    failed = {}
    for number, case in enumerate(chosen(family)):
        mode, hostnames = ("clusterd", True) if number % 2 else ("device", False)
        for kind in kinds_of(case):
            if found := problem(case, kind, mode, hostnames, pods=False):
                failed[case["id"], kind] = found
    assert not failed


@pytest.mark.parametrize("family", [f for f in FAMILIES if not f.startswith("intra") or f.endswith("x8")])
def test_jobs_as_bare_pods_land_where_they_did(family: str) -> None:
    failed = {}
    for case in chosen(family)[::2]:
        if found := problem(case, case["job"]["kind"], "clusterd", True, pods=True):
            failed[case["id"]] = found
    assert not failed


def test_the_record_is_the_placement() -> None:
    case = chosen("superpod")[2]
    text, cluster = cases.manifest(case), snapshot(case, "clusterd", True)
    (job,) = ascendctl.load_jobs(text)
    (again,) = ascendctl.load_jobs(patch_texts([("job.yaml", text)], cluster).files[0][2])
    record = json.loads(again.source.document.value["metadata"]["annotations"]["ascendctl.io/plan"])
    wanted = seats(ascendctl.place(job, cluster), job)
    assert [(one["r"], one["node"], tuple(one["npus"])) for one in record["ranks"]] == wanted
