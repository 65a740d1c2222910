"""What `place` and `reschedule` answer, and its document form (`ascendctl place -o json`)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

API_VERSION = "ascendctl/v1"


@dataclass(frozen=True)
class JobHead:
    """The job of a result; `policy` is the policy that ran ("" = none), `notes` what the reader should know of it."""

    name: str
    namespace: str
    kind: str
    policy: str = ""


@dataclass(frozen=True)
class PlacedPod:
    """One pod on a node. `npus` are physical chip ids in the order in which the scheduler writes them; `annotations`
    are those that the scheduler writes because of the placement. `group` is the logical SuperPoD / rack / leaf /
    level-1 group of the pod, "" = none."""

    name: str
    role: str
    rank: int
    node: str
    npus: tuple[int, ...]
    annotations: Mapping[str, str] = field(default_factory=dict)
    group: str = ""
    moved: bool = True


@dataclass(frozen=True)
class Rejected:
    """Nodes that were refused for one reason. `nodes` in natural name order, all of them."""

    code: str
    message: str
    nodes: tuple[str, ...]


@dataclass(frozen=True)
class Trace:
    """Explains a result. `scores`: (node, final score) of the best candidates of the first pod, best first.
    `steps`: what a planning policy did, one sentence each with its data, in order. `notes`: caveats (corrected
    defects of the reference, counts without affinity...)."""

    scores: tuple[tuple[str, int], ...] = ()
    steps: tuple[tuple[str, Mapping[str, Any]], ...] = ()
    notes: tuple[str, ...] = ()


def _document(outcome: str, head: JobHead, code: str, message: str, rejected: tuple[Rejected, ...]) -> dict[str, Any]:
    return {
        "apiVersion": API_VERSION,
        "kind": "PlacementResult",
        "outcome": outcome,
        "code": code,
        "message": message,
        "job": {"name": head.name, "namespace": head.namespace, "kind": head.kind, "policy": head.policy},
        "pods": [],
        "nodes": {
            "rejected": [
                {"code": r.code, "message": r.message, "count": len(r.nodes), "nodes": list(r.nodes)} for r in rejected
            ]
        },
        "blocks": {},
        "metrics": {},
    }


def _explained(document: dict[str, Any], trace: Trace) -> dict[str, Any]:
    document["trace"] = {
        "scores": [{"node": node, "score": score} for node, score in trace.scores],
        "steps": [{"text": text} | dict(data) for text, data in trace.steps],
        "notes": list(trace.notes),
    }
    return document


@dataclass(frozen=True)
class Placement:
    """All pods of a job in rank order, each on a node. `blocks`: group id -> nodes in rank order."""

    job: JobHead
    pods: tuple[PlacedPod, ...]
    rejected: tuple[Rejected, ...] = ()
    blocks: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    metrics: Mapping[str, Any] = field(default_factory=dict)
    trace: Trace = field(default_factory=Trace)
    outcome: str = "placed"

    def to_dict(self) -> dict[str, Any]:
        """The PlacementResult document."""
        document = _document(self.outcome, self.job, "", "", self.rejected)
        document["pods"] = [
            {
                "name": p.name,
                "role": p.role,
                "rank": p.rank,
                "node": p.node,
                "npus": list(p.npus),
                "annotations": dict(p.annotations),
                **({"group": p.group} if p.group else {}),
            }
            for p in self.pods
        ]
        document["blocks"] = {key: list(nodes) for key, nodes in self.blocks.items()}
        document["metrics"] = dict(self.metrics)
        return _explained(document, self.trace)


@dataclass(frozen=True)
class Unschedulable:
    """No place for the job: a reason code of the chapters, a sentence, and which nodes were refused for what. `supply`
    and `remedies`, where somebody asked for them: what is needed and what is free; changes that would make it fit."""

    job: JobHead
    code: str
    message: str
    rejected: tuple[Rejected, ...] = ()
    trace: Trace = field(default_factory=Trace)
    supply: tuple[str, ...] = ()
    remedies: tuple[str, ...] = ()
    outcome: str = "unschedulable"

    def to_dict(self) -> dict[str, Any]:
        """The PlacementResult document."""
        document = _document(self.outcome, self.job, self.code, self.message, self.rejected)
        if self.supply or self.remedies:
            document |= {"supply": list(self.supply), "remedies": list(self.remedies)}
        return _explained(document, self.trace)


@dataclass(frozen=True)
class Invalid:
    """The scheduler's job validation refuses the job. `code` is the reference's reason category; `rules` the ids and
    messages of the rules behind it (the same rules as `validate`)."""

    job: JobHead
    code: str
    message: str
    rules: tuple[tuple[str, str], ...] = ()
    trace: Trace = field(default_factory=Trace)
    outcome: str = "invalid"

    def to_dict(self) -> dict[str, Any]:
        """The PlacementResult document."""
        document = _document(self.outcome, self.job, self.code, self.message, ())
        document["findings"] = [{"rule": rule, "message": message} for rule, message in self.rules]
        return _explained(document, self.trace)


def is_whole(result: Placement | Unschedulable | Invalid) -> bool:
    """True if every pod has a place, and NPUs if it asks for some: on racks a pod can be bound without (chapter 21
    §10)."""
    return isinstance(result, Placement) and not result.metrics.get("podsWithoutNpus")
