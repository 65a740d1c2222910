"""Is a patched manifest what it should be? It must validate, and be placed where the plan says (chapter 50 §6.5)."""

from __future__ import annotations

from collections.abc import Sequence

from ascendctl.engine.result import Placement
from ascendctl.engine.sequence import place_in_order
from ascendctl.manifest.job import Job
from ascendctl.manifest.load import jobs_of
from ascendctl.manifest.patch_pins import Note, PatchError, Seat, Target
from ascendctl.manifest.patch_sets import is_split_by_rank
from ascendctl.snapshot.cluster import Cluster

Files = Sequence[tuple[str, str]]


def check(
    before: Files, after: Files, targets: Sequence[Target], cluster: Cluster, mode: str, pods: bool = False
) -> list[Note]:
    """Remarks on differences between the plan and what the patched manifests get; `pods`: they are bare Pods.

    Raises PatchError (P-11) if a job would stand elsewhere, (P-12) if a rule fires that the manifest did not break
    before.
    """
    _validate(before, after)
    return _replay(after, targets, cluster, mode, pods)


def _validate(before: Files, after: Files) -> None:
    from ascendctl.validate.api import validate

    for (name, old), (_, new) in zip(before, after, strict=True):
        if old == new:
            continue
        found = {f.rule: f for f in validate(new) if f.severity == "error"}
        fresh = found.keys() - {f.rule for f in validate(old) if f.severity == "error"} if found else set()
        if fresh:
            finding = found[min(fresh)]
            message = f"the patched manifest would break rule {finding.rule}: {finding.message} ({finding.path})"
            raise PatchError([Note("error", "P-12", message, finding.object or name)])


def _replay(after: Files, targets: Sequence[Target], cluster: Cluster, mode: str, pods: bool) -> list[Note]:
    from ascendctl.manifest.patch import read_files

    jobs = jobs_of(place.document for place in read_files(after))
    results, _ = place_in_order(jobs, cluster)
    got = iter(zip(jobs, results, strict=True))
    notes: list[Note] = []
    for target in targets:
        for job in target.jobs:
            wanted = sorted((s for seats in target.seats for s in seats if s.job == job.name), key=lambda s: s.rank)
            found: list[Seat] = []
            for _ in wanted if is_split_by_rank(target, mode) and not pods else (job,):
                again, result = next(got)
                if target.ranked and not isinstance(result, Placement):
                    message = f"the patched manifest would find no place: {result.code}: {result.message}"
                    raise PatchError([Note("error", "P-11", message, target.title)], target)
                found += _seats(again, result) if isinstance(result, Placement) else ()
            if target.ranked:
                notes += _compare(target, wanted, sorted(found, key=lambda seat: seat.rank), mode)
    return notes


def _seats(job: Job, placement: Placement) -> list[Seat]:
    """The pods with NPUs in rank order."""
    pods = zip(job.pods, placement.pods, strict=True)
    found = [Seat(job.name, pod.name, spec.rank, pod.node, pod.npus) for spec, pod in pods if spec.npus > 0]
    return sorted(found, key=lambda seat: seat.rank)


def _compare(target: Target, wanted: Sequence[Seat], got: Sequence[Seat], mode: str) -> list[Note]:
    if [seat.node for seat in wanted] != [seat.node for seat in got]:
        same_set = sorted(seat.node for seat in wanted) == sorted(seat.node for seat in got)
        moved = next((a, b) for a, b in zip(wanted, got, strict=False) if a.node != b.node)
        text = f"rank {moved[0].rank} is planned on {moved[0].node}, the patched manifest puts it on {moved[1].node}"
        if same_set and mode == "set":
            return [Note("warning", "P-11", f"{text}: the set holds, the order of ranks does not", target.title)]
        advice = "use --pods for exact pins" + (", or --pin set to accept another order of ranks" if same_set else "")
        raise PatchError([Note("error", "P-11", f"{text}; {advice}", target.title)], target)
    other = [a for a, b in zip(wanted, got, strict=True) if sorted(a.npus) != sorted(b.npus)]
    if other:
        message = f"{len(other)} pods would get other NPUs than planned, such as rank {other[0].rank}"
        return [Note("warning", "", message, target.title)]
    return []
