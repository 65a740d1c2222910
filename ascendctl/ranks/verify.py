"""The plan record of a patched manifest against a later snapshot (chapter 50 §6.5)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from ascendctl.manifest.job import Job
from ascendctl.manifest.kinds import dig
from ascendctl.manifest.patch_edits import PLAN_KEY
from ascendctl.snapshot.chip_lists import chip_ids
from ascendctl.snapshot.cluster import Cluster
from ascendctl.yamlio.document import Document

SAME, OTHER_NODE, OTHER_NPUS, MISSING = "same", "other-node", "other-npus", "missing"
LEVELS = {SAME: "info", OTHER_NODE: "error", OTHER_NPUS: "warning", MISSING: "error"}


class PlanError(ValueError):
    """A manifest without a plan record, or with one that cannot be read."""


@dataclass(frozen=True)
class Planned:
    """One rank of a plan record; `npus` None = the record leaves them out."""

    job: str
    rank: int
    node: str
    npus: tuple[int, ...] | None


@dataclass(frozen=True)
class Check:
    """One planned rank and the pod that was found; `pod` and `node` are "" if there is none. `status` is one of SAME,
    OTHER_NODE, OTHER_NPUS, MISSING."""

    planned: Planned
    pod: str
    node: str
    npus: tuple[int, ...]
    status: str

    @property
    def level(self) -> str:
        """error, warning or info."""
        return LEVELS[self.status]


def plan_of(document: Document | None, job: Job) -> list[Planned]:
    """The plan record of a job. Raises PlanError if its manifest has none that can be read."""
    value = document.value if document is not None else None
    text = dig(value, ("metadata", "annotations", PLAN_KEY))
    if not isinstance(text, str):
        raise PlanError(f"{job.kind} {job.key} has no annotation {PLAN_KEY}: `ascendctl patch` writes it")
    import orjson

    try:
        record = orjson.loads(text)
        if record["v"] != 1:
            raise PlanError(f"{PLAN_KEY} of {job.key} is of version {record['v']!r}, known is 1")
        found = [_planned(entry, job) for entry in record["ranks"]]
    except (ValueError, TypeError, KeyError) as error:
        if isinstance(error, PlanError):
            raise
        raise PlanError(f"{PLAN_KEY} of {job.key} is not a plan record: {error}") from None
    return [entry for entry in found if entry.job == job.name]


def _planned(entry: Any, job: Job) -> Planned:
    npus = entry.get("npus")
    given = None if npus is None else tuple(int(chip) for chip in npus)
    return Planned(str(entry.get("job", job.name)), int(entry["r"]), str(entry["node"]), given)


def compare(job: Job, plan: list[Planned], cluster: Cluster) -> list[Check]:
    """Every planned rank against the running pods of the job, in rank order."""
    by_rank = dict(_running(job, cluster))
    checks = []
    for planned in sorted(plan, key=lambda one: one.rank):
        row = by_rank.get(planned.rank)
        if row is None:
            checks.append(Check(planned, "", "", (), MISSING))
            continue
        node, mask = cluster.names[int(cluster.pods.node[row])], int(cluster.pods.chips[row])
        chips = chip_ids(mask)
        status = SAME
        if node != planned.node:
            status = OTHER_NODE
        elif planned.npus is not None and chips and chips != tuple(sorted(planned.npus)):
            status = OTHER_NPUS
        checks.append(Check(planned, cluster.pods.names[row], node, chips, status))
    return checks


def _running(job: Job, cluster: Cluster) -> Iterator[tuple[int, int]]:
    """(rank, row) of the job's unfinished pods with NPUs: by pod name, else by the job that they belong to and the rank
    that they carry."""
    pods, jobs = cluster.pods, cluster.jobs
    ranks = {spec.name: spec.rank for spec in job.pods if spec.npus > 0}
    owners = jobs.owners or ("",) * len(jobs.names)
    mine = [_belongs(job, name, owner) for name, owner in zip(jobs.names, owners, strict=True)]
    for row, (name, namespace) in enumerate(zip(pods.names, pods.namespaces, strict=True)):
        if namespace != job.namespace or not pods.active[row] or pods.terminating[row]:
            continue
        number = int(pods.job[row])
        if name in ranks:
            yield ranks[name], row
        elif number >= 0 and mine[number] and pods.rank[row] >= 0 and pods.request[row] > 0:
            yield int(pods.rank[row]), row


def _belongs(job: Job, group: str, owner: str) -> bool:
    """True if a PodGroup is the job's: of the same name, or of a ReplicaSet of the Deployment."""
    replica_set = job.owner_kind == "ReplicaSet" and owner.rpartition("-")[0] == job.name
    return job.name in (group, owner) or replica_set


def as_document(job: Job, checks: list[Check]) -> Mapping[str, Any]:
    """The VerifyReport document of one job."""
    counts = {status: sum(check.status == status for check in checks) for status in LEVELS}
    return {
        "apiVersion": "ascendctl/v1",
        "kind": "VerifyReport",
        "job": {"name": job.name, "namespace": job.namespace, "kind": job.kind},
        "summary": {"ranks": len(checks), **{_camel(status): count for status, count in counts.items()}},
        "ranks": [
            {
                "rank": check.planned.rank,
                "status": check.status,
                "level": check.level,
                "pod": check.pod,
                "planned": {"node": check.planned.node, "npus": list(check.planned.npus or ())},
                "found": {"node": check.node, "npus": list(check.npus)},
            }
            for check in checks
        ],
    }


def _camel(status: str) -> str:
    head, _, tail = status.partition("-")
    return head + tail.capitalize()
