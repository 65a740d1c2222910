"""The pods that enter a rank table, and whether their ranks hold together (chapter 50 §3)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from ascendctl.engine.result import PlacedPod, Placement
from ascendctl.manifest.job import Job, parse_go_int
from ascendctl.manifest.kinds import VC_JOB, dig, kind_of
from ascendctl.ranks.version import table_version
from ascendctl.snapshot.cluster import Cluster
from ascendctl.wellknown import RANK, RANK_LABEL

LIMIT = 1000
"""The largest rank that the vendor's documents name; the code has no limit."""


@dataclass(frozen=True)
class RankedPod:
    """A pod with NPUs. `node` is an index of the snapshot, `chips` physical ids, ascending; `group` the logical
    SuperPoD, rack or leaf of the plan, "" = none."""

    rank: int
    name: str
    role: int
    node: int
    chips: tuple[int, ...]
    group: str = ""
    annotations: Mapping[str, str] = field(default_factory=dict)

    @property
    def first_chip_rank(self) -> int:
        """Chip rank of its first chip (§3.1): what the tables are sorted by."""
        return self.rank * len(self.chips)


@dataclass(frozen=True)
class Diagnostic:
    """One of RK-01 to RK-08; `level` is error, warning or info."""

    code: str
    level: str
    message: str

    def __str__(self) -> str:
        return f"{self.level} {self.code}: {self.message}"


def ranked_pods(job: Job, pods: Sequence[PlacedPod], cluster: Cluster) -> list[RankedPod]:
    """The pods with NPUs among the placed ones, by their first chip rank."""
    by_name = {pod.name: pod for pod in pods}
    found = [
        RankedPod(
            placed.rank, placed.name, spec.role, cluster.index[placed.node], tuple(sorted(placed.npus)), placed.group,
            {**job.roles[spec.role].annotations, **placed.annotations},
        )
        for spec in job.pods
        if spec.npus > 0 and (placed := by_name.get(spec.name)) is not None
    ]  # fmt: skip
    return sorted(found, key=lambda pod: pod.first_chip_rank)


def diagnose(job: Job, placement: Placement, cluster: Cluster) -> list[Diagnostic]:
    """What is wrong with the ranks of a placement (§3.5)."""
    pods = ranked_pods(job, placement.pods, cluster)
    if not pods:
        return []
    found = [*_counted(job, pods), *_preset(job)]
    if not any(d.level == "error" for d in found):
        found += _contiguous(job, pods, cluster)
    return found


def _counted(job: Job, pods: Sequence[RankedPod]) -> Iterator[Diagnostic]:
    ranks = sorted(pod.rank for pod in pods)
    collides = _tasks_collide(job)
    if collides:
        yield Diagnostic(
            "RK-05", "error",
            "plugin env counts every task from 0, so ranks repeat: one task only, or hccl/rankIndex preset on tasks of "
            "one replica (`ascendctl patch` writes that); the ranks shown count on over the tasks",
        )  # fmt: skip
    elif ranks != list(range(len(ranks))) and not any(RANK_LABEL in role.labels for role in job.roles):
        shown = ", ".join(map(str, ranks[:6])) + (", ..." if len(ranks) > 6 else "")
        yield Diagnostic("RK-01", "error", f"ranks of the pods with NPUs are {shown}, not 0 to {len(ranks) - 1}")
    sizes = sorted({len(pod.chips) for pod in pods})
    if len(sizes) > 1:
        shown = " and ".join(map(str, sizes))
        yield Diagnostic(
            "RK-02", "error", f"pods have {shown} NPUs: chip ranks collide, for each pod counts by its own number"
        )
    if ranks[-1] > LIMIT:
        yield Diagnostic("RK-08", "info", f"rank {ranks[-1]}: the vendor's documents give the range 0 to {LIMIT}")


def _tasks_collide(job: Job) -> bool:
    roles = [role for role in job.roles if role.is_npu and role.replicas]
    if job.kind != "vcjob" or not _has_plugin(job, "env") or _has_plugin(job, "hcclrank") or len(roles) < 2:
        return False
    return any(RANK not in role.annotations for role in roles)


def _has_plugin(job: Job, name: str) -> bool:
    value = job.source.document.value if job.source.document is not None else None
    plugins = dig(value, ("spec", "plugins")) if kind_of(value) is VC_JOB else None
    return isinstance(plugins, Mapping) and name in plugins


def _preset(job: Job) -> Iterator[Diagnostic]:
    roles = [role for role in job.roles if role.is_npu and role.replicas]
    preset = [role for role in roles if RANK in role.annotations]
    if job.kind == "AscendJob":
        if preset:
            yield Diagnostic("RK-07", "warning", f"{RANK} on a template of an AscendJob is overwritten by the operator")
        return
    for role in preset:
        if parse_go_int(role.annotations[RANK]) is None:
            text = f"{RANK} {role.annotations[RANK]!r} is no integer: no rank table will be written"
            yield Diagnostic("RK-01", "error", text)
    by_index = job.kind == "vcjob" and (_has_plugin(job, "env") or _has_plugin(job, "hcclrank"))
    if len(preset) < len(roles) and sum(r.replicas for r in roles) > 1 and not by_index and job.kind != "StatefulSet":
        yield Diagnostic(
            "RK-06", "info",
            "the scheduler hands out the ranks of such pods in no fixed order; those shown are one choice it can make",
        )  # fmt: skip


def _contiguous(job: Job, pods: Sequence[RankedPod], cluster: Cluster) -> Iterator[Diagnostic]:
    """RK-03 and RK-04."""
    version, _ = table_version(job)
    physical = [int(cluster.superpod[pod.node]) for pod in pods]
    visible: list[Any] = [pod.group for pod in pods] if version == "1.2" else physical
    if version == "1.2" and all(visible) and (broken := broken_groups(visible)):
        yield Diagnostic(
            "RK-03", "error", f"ranks of logical SuperPoD {broken[0]} do not follow each other, which HCCL needs"
        )
    if min(physical) >= 0 and (broken := broken_groups(physical)):
        level = "error" if version == "2.0" else "warning"
        more = f" and {len(broken) - 1} more" if len(broken) > 1 else ""
        yield Diagnostic(
            "RK-04", level, f"ranks in SuperPoD {broken[0]}{more} do not follow each other: others stand between them"
        )


def broken_groups(ids: Iterable[Any]) -> list[Any]:
    """The ids that come back after another one stood between, in order of appearance."""
    seen: set[Any] = set()
    broken: dict[Any, None] = {}
    last: Any = None
    for one in ids:
        if one != last and one in seen:
            broken[one] = None
        seen.add(one)
        last = one
    return list(broken)
