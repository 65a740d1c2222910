"""Rules on Atlas 300I, 300I Pro / 300V and 300I Duo, D31-* (chapter 40 §3.2; chapter 11.4.4, 11.6 to 11.10). D31-12 is
beyond that table (chapter 11.20 trap 12)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Final

from ascendctl.engine.wirings import WIRINGS
from ascendctl.manifest.job import Job
from ascendctl.validate.rule import Rule, Violation
from ascendctl.wellknown import A310, A310P, DUO_CARD, DUO_LABEL

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from ascendctl.snapshot.cluster import Cluster

INVALID = "InvalidResourceRequest"
STRATEGY, DUO, DISTRIBUTED = "npu-310-strategy", "duo", "distributed"
LIMITS: Final[Mapping[str, int]] = {
    policy: WIRINGS[policy].max_node for policy in ("310-card", "310-chip", "310P", "duo-card", "duo-chip")
}
"""Policy -> the largest count that the scheduler's job check lets through."""
AFFINE: Final = 8
"""Largest count of free or requested chips that the Duo tables rank."""

_300I, _310P, _DUO = ("300i",), ("310p", "200i-soc"), ("300i-duo",)

RULES: tuple[Rule, ...] = (
    Rule(
        "D31-01", "error", "npu-310-strategy of an Ascend310 job is neither card nor chip",
        "npu-310-strategy is {value!r}: the scheduler knows card and chip, and has no policy for anything else",
        "write card or chip, or leave the label out (chip)", products=_300I, outcome="PEND-V", source="chapter 11.5.3",
        wrong="npu-310-strategy: cards", right="npu-310-strategy: card",
    ),
    Rule(
        "D31-02", "error", "npu-310-strategy of an Ascend310P job is neither card nor chip",
        "npu-310-strategy is {value!r}: the scheduler silently uses the plain 310P policy{loss}",
        "write card or chip, or leave the label out (chip)", products=_DUO, outcome="FALL", source="chapter 11.5.3",
        wrong='duo: "true"\nnpu-310-strategy: cards', right='duo: "true"\nnpu-310-strategy: card',
    ),
    Rule(
        "D31-03", "error", "more NPUs per pod than a 300I card has, with card strategy",
        "{count} NPUs per pod ({role}) with card strategy: a card has 4, so the pod never finds a node",
        "ask for 1 to 4, or write npu-310-strategy: chip", products=_300I, outcome="PEND-N", source="chapter 11.6",
        about="The job check lets up to 64 pass; every node then refuses the pod.",
        wrong="npu-310-strategy: card\nhuawei.com/Ascend310: 8",
        right="npu-310-strategy: card\nhuawei.com/Ascend310: 4",
    ),
    Rule(
        "D31-04", "error", "a count that the job check of the 310 family refuses",
        "{count} NPUs per pod ({role}): allowed are 1 to {largest}", "ask for 1 to {largest} NPUs per pod",
        products=(*_300I, *_310P, *_DUO), outcome="PEND-V", source="chapter 11.4.4",
        wrong="huawei.com/Ascend310P: 0", right="huawei.com/Ascend310P: 1",
    ),
    Rule(
        "D31-05", "error", "label duo is there, but not true",
        "duo is {value!r}: only the value true switches Duo affinity on, {runs}",
        'write duo: "true", or drop the label',
        products=_DUO, outcome="FALL", source="chapter 11.5.3", wrong='duo: "yes"', right='duo: "true"',
    ),
    Rule(
        "D31-06", "error", "a distributed Duo job with several NPU pods",
        "distributed: \"true\" allows one NPU pod, the job has {pods}",
        "ask for all chips in one pod, or drop the label", products=_DUO, outcome="PEND-V", source="chapter 11.10",
        about="The documents speak of all replicas on one node; the scheduler refuses more than one NPU pod.",
        wrong='distributed: "true"\nreplicas: 2', right='distributed: "true"\nreplicas: 1',
    ),
    Rule(
        "D31-07", "error", "more NPUs per pod than a Duo card has, with card strategy",
        "{count} NPUs per pod ({role}) with card strategy: a Duo card has 2, so the pod never finds a node",
        "ask for 1 or 2, or write npu-310-strategy: chip", products=_DUO, outcome="PEND-N", source="chapter 11.9",
        wrong="npu-310-strategy: card\nhuawei.com/Ascend310P: 4",
        right="npu-310-strategy: chip\nhuawei.com/Ascend310P: 4",
    ),
    Rule(
        "D31-08", "warning", "more NPUs per pod than Duo nodes have, or than the Duo tables rank",
        "{count} NPUs per pod ({role}): {why}", "{advice}", products=_DUO, outcome="PEND-N", source="chapter 11.10",
        wrong="huawei.com/Ascend310P: 12", right="huawei.com/Ascend310P: 8",
    ),
    Rule(
        "D31-09", "error", "a Duo job by chip, and no node carries the Duo label",
        "no node of the snapshot carries infer-card-type=card-300i-duo, which this job needs",
        "label the Duo nodes, or write npu-310-strategy: card", products=_DUO, outcome="PEND-N", source="chapter 11.10",
        wrong='duo: "true"    # nodes without infer-card-type', right="infer-card-type=card-300i-duo on the nodes",
    ),
    Rule(
        "D31-10", "warning", "meant for 300I Duo, but label duo is missing",
        "{why}, but label duo is missing: the scheduler silently uses the plain 310P policy, which knows no cards",
        'add the label duo: "true"', products=_DUO, outcome="FALL", source="chapter 11.5.3",
        wrong="npu-310-strategy: card", right='duo: "true"\nnpu-310-strategy: card',
    ),
    Rule(
        "D31-11", "warning", "a label of the 310 family on a job of other NPUs",
        "label {key} has no effect on {resource}", "remove the label", outcome="IGN", source="chapter 11.3",
        wrong='duo: "true"    # huawei.com/Ascend910', right="no duo label",
    ),
    Rule(
        "D31-12", "warning", "label distributed of a Duo job is neither true nor false",
        "distributed is {value!r}: only the value true counts, so the scheduler silently handles the job as not "
        "distributed and may split it over half cards",
        'write distributed: "true" or "false"', products=_DUO, outcome="FALL", source="chapter 11.20",
        wrong='distributed: "True"', right='distributed: "true"',
    ),
)  # fmt: skip


def check(job: Job, policy: str) -> list[Violation]:
    """The scheduler's validation of a job on inference cards: empty, or the first rule that fails."""
    pods = job.npu_pod_count
    if policy in ("duo-card", "duo-chip") and job.labels.get(DISTRIBUTED) == "true" and pods > 1:
        return [Violation("D31-06", job.source.path("label", DISTRIBUTED), {"pods": pods}, INVALID)]
    for i, role in enumerate(job.roles):
        if role.is_npu and role.replicas and not 1 <= role.npus <= LIMITS[policy]:
            return [_count("D31-04", job, i, INVALID, largest=LIMITS[policy])]
    return []


def _count(rule: str, job: Job, role: int, reason: str = "", **values: object) -> Violation:
    asked = {"count": job.roles[role].npus, "role": job.roles[role].name}
    return Violation(rule, job.source.path("role", role, "npus"), asked | values, reason)


def advise(job: Job, policy: str, cluster: Cluster | None = None) -> Iterator[Violation]:
    """What the scheduler does not test, or tests too late, in a job of the 310 family; stray labels elsewhere."""
    if job.resource not in (A310, A310P):
        for key in (DUO, DISTRIBUTED, STRATEGY):
            if key in job.labels and job.resource:
                path, values = job.source.path("label", key), {"key": key, "resource": job.resource}
                yield Violation("D31-11", path, values)
        return
    strategy, duo, distributed = (job.labels.get(key) for key in (STRATEGY, DUO, DISTRIBUTED))
    if strategy not in (None, "card", "chip"):
        loss = ", without affinity to Duo cards" if duo == "true" else ""
        rule = "D31-01" if job.resource == A310 else "D31-02"
        yield Violation(rule, job.source.path("label", STRATEGY), {"value": strategy, "loss": loss})
    if job.resource == A310P:
        yield from _not_duo(job, policy, duo)
        if policy in ("duo-card", "duo-chip") and distributed not in (None, "true", "false") and "|" not in distributed:
            yield Violation("D31-12", job.source.path("label", DISTRIBUTED), {"value": distributed})
    if policy in LIMITS and not check(job, policy):
        yield from _too_many(job, policy, cluster)


def _not_duo(job: Job, policy: str, duo: str | None) -> Iterator[Violation]:
    """D31-05, D31-10: Duo cards that the scheduler takes for others."""
    if duo is None:
        key = STRATEGY if job.labels.get(STRATEGY) == "card" else DISTRIBUTED
        if job.product == "300i-duo":
            why = "the product is Atlas 300I Duo"
        elif job.labels.get(key) in ("card", "true"):
            why = f"label {key} is for Atlas 300I Duo"
        else:
            return
        yield Violation("D31-10", job.source.path("label", DUO), {"why": why})
    elif duo != "true":
        runs = "and the scheduler silently uses the plain 310P policy"
        if policy != "310P":
            runs = f"though by chance the scheduler uses the policy {policy}"
        yield Violation("D31-05", job.source.path("label", DUO), {"value": duo, "runs": runs})


def _too_many(job: Job, policy: str, cluster: Cluster | None) -> Iterator[Violation]:
    """D31-03, D31-07, D31-08, D31-09."""
    card = {"310-card": ("D31-03", 4), "duo-card": ("D31-07", 2)}.get(policy)
    largest = _node_chips(cluster) if policy == "duo-chip" else 0
    for i, role in enumerate(job.roles):
        if not role.is_npu or not role.replicas:
            continue
        if card is not None and role.npus > card[1]:
            yield _count(card[0], job, i)
        elif policy == "duo-chip" and largest and role.npus > largest:
            why = f"the largest Duo node has {largest}"
            yield _count("D31-08", job, i, why=why, advice=f"ask for at most {largest} NPUs per pod")
        elif policy == "duo-chip" and role.npus > AFFINE:
            why = f"above {AFFINE} no node is preferred to another"
            yield _count("D31-08", job, i, why=why, advice=f"ask for at most {AFFINE} NPUs per pod")
    if cluster is None or policy not in ("duo-card", "duo-chip") or _duo_nodes(cluster).any():
        return
    if policy == "duo-chip":
        yield Violation("D31-09", job.source.path("label", DUO))
    else:
        why = (
            "no node of the snapshot carries infer-card-type=card-300i-duo; with card strategy the scheduler does not "
            "test it and puts the pods on any node with huawei.com/Ascend310P"
        )
        yield Violation("D31-09", job.source.path("label", DUO), severity="warning", message=why, outcome="FALL")


def _duo_nodes(cluster: Cluster) -> NDArray[np.bool_]:
    return cluster.labels.column(DUO_LABEL).equals(DUO_CARD)


def _node_chips(cluster: Cluster | None) -> int:
    """NPUs of the largest node with the Duo label; 0 without snapshot or without such a node."""
    if cluster is None:
        return 0
    return max((int(mask).bit_count() for mask in cluster.total[_duo_nodes(cluster)].tolist()), default=0)
