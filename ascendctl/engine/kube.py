"""Kubernetes' own filters, which come before the scheduler plugin: node name, selector, affinity, taints, cordon, and
the pods' own anti-affinity. Resources other than NPUs, volumes and the number of pods are not looked at."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ascendctl.engine.predicate import ACCEPTED, refuse
from ascendctl.manifest.job import Job, Role
from ascendctl.snapshot.cluster import Cluster
from ascendctl.snapshot.columns import StringColumn, distinct
from ascendctl.snapshot.selectors import Flags, mappings, matching_rows, selects
from ascendctl.wellknown import HOSTNAME, OPERATOR, REQUIRED, TASK_SPEC

CORDON = "node.kubernetes.io/unschedulable"


def kube_codes(role: Role, cluster: Cluster, codes: NDArray[np.int16]) -> None:
    """Refuse, in place, nodes that Kubernetes itself filters for the pods of a role."""
    if role.node_name:
        refuse(codes, ~_named(cluster, role.node_name), "NODE_SELECTOR")
    for key, value in role.selector.items():
        refuse(codes, ~_label(cluster, key).equals(value), "NODE_SELECTOR")
    required = role.node_affinity.get(REQUIRED)
    if isinstance(required, Mapping):
        refuse(codes, ~_terms(required.get("nodeSelectorTerms"), cluster), "NODE_SELECTOR")
    cordon = {"key": CORDON, "effect": "NoSchedule"}
    if cluster.unschedulable.any() and not _tolerated(cordon, role.tolerations):
        refuse(codes, cluster.unschedulable, "NODE_UNSCHEDULABLE")
    if any(cluster.taints):
        refuse(codes, _tainted(cluster.taints, role.tolerations), "NODE_TAINTED")


def open_nodes(role: Role, cluster: Cluster) -> Flags:
    """bool[N]: nodes that Kubernetes lets the pods of a role on."""
    codes = np.zeros(cluster.size, dtype=np.int16)
    kube_codes(role, cluster, codes)
    flags: Flags = codes == ACCEPTED
    return flags


def offering_nodes(role: Role, cluster: Cluster, resource: str) -> Flags:
    """bool[N]: those of them that offer a resource."""
    columns = cluster.resources.get(resource)
    if columns is None:
        return np.zeros(cluster.size, dtype=np.bool_)
    return open_nodes(role, cluster) & (columns.capacity > 0)


def _named(cluster: Cluster, name: str) -> Flags:
    flags = np.zeros(cluster.size, dtype=np.bool_)
    if name in cluster.index:
        flags[cluster.index[name]] = True
    return flags


def _label(cluster: Cluster, key: str) -> StringColumn:
    """A label column; a node whose hostname label is not in the snapshot counts with its name."""
    if key == HOSTNAME and key not in cluster.labels.columns:
        return StringColumn(np.arange(cluster.size, dtype=np.int32), cluster.names)
    return cluster.labels.column(key)


def _terms(terms: Any, cluster: Cluster) -> Flags:
    """Nodes that match one of the node selector terms; an empty term matches none."""
    matched = np.zeros(cluster.size, dtype=np.bool_)
    for term in mappings(terms):
        labels, names = mappings(term.get("matchExpressions")), mappings(term.get("matchFields"))
        if not labels and not names:
            continue
        flags = np.ones(cluster.size, dtype=np.bool_)
        for expression in labels:
            flags &= matching_rows(expression, _label(cluster, str(expression.get("key", ""))))
        for expression in names:
            by_name = StringColumn(np.arange(cluster.size, dtype=np.int32), cluster.names)
            known = expression.get("key") == "metadata.name" and expression.get("operator") in ("In", "NotIn")
            flags &= matching_rows(expression, by_name) if known else False
        matched |= flags
    return matched


def _tainted(texts: Sequence[str], tolerations: Sequence[Mapping[str, Any]]) -> Flags:
    """Nodes with a NoSchedule or NoExecute taint that no toleration covers."""
    blocked = {text: _blocks(text, tolerations) for text in set(texts) if text}
    return np.array([bool(text) and blocked[text] for text in texts], dtype=np.bool_)


def _blocks(text: str, tolerations: Sequence[Mapping[str, Any]]) -> bool:
    from json import loads  # only few clusters have taints, most small runs need no JSON here

    taints = loads(text)
    return any(
        isinstance(taint, Mapping)
        and taint.get("effect") in ("NoSchedule", "NoExecute")
        and taint.get("key") != CORDON
        and not _tolerated(taint, tolerations)
        for taint in (taints if isinstance(taints, list) else ())
    )


def _tolerated(taint: Mapping[str, Any], tolerations: Sequence[Mapping[str, Any]]) -> bool:
    for toleration in tolerations:
        exists = toleration.get("operator") == "Exists"
        key, effect = toleration.get("key") or "", toleration.get("effect") or ""
        if effect and effect != taint.get("effect"):
            continue
        if key != taint.get("key") and not (exists and not key):
            continue
        if exists or (toleration.get("value") or "") == (taint.get("value") or ""):
            return True
    return False


@dataclass(frozen=True)
class Exclusion:
    """Pods of role `first` and of role `second` (indices of Job.roles) never share a node, or a group of nodes with the
    same value of label `topology_key`. Both orders are listed."""

    first: int
    second: int
    topology_key: str


def own_exclusions(job: Job) -> tuple[Exclusion, ...]:
    """What the required anti-affinity of the job's pods says about the job's own pods."""
    found = set()
    for i, role in enumerate(job.roles):
        for term in _anti_affinity_terms(role, job.namespace):
            for k, other in enumerate(job.roles):
                if selects(term.get("labelSelector"), pod_labels(job, other)):
                    found |= {(i, k, str(term.get("topologyKey"))), (k, i, str(term.get("topologyKey")))}
    return tuple(Exclusion(*pair) for pair in sorted(found))


def _anti_affinity_terms(role: Role, namespace: str) -> list[Mapping[str, Any]]:
    return [
        term
        for term in mappings(role.pod_anti_affinity.get(REQUIRED))
        if not term.get("namespaces") or _lists(term["namespaces"], namespace) or term.get("namespaceSelector") == {}
    ]


def _lists(value: Any, item: str) -> bool:
    return isinstance(value, list) and item in value


def pod_labels(job: Job, role: Role) -> dict[str, str]:
    """Labels that the pods of a role carry: those of the template and those that the controllers add (chapter 40 §1.2,
    §1.3), without the ones that differ from pod to pod."""
    added = {}
    if job.kind == "AscendJob":
        kind = role.name.lower()
        added = {"job-name": job.name, "group-name": "mindxdl.gitee.com", "replica-type": kind}
        added |= {
            "training.kubeflow.org/job-name": job.name,
            OPERATOR: "ascendjob-controller",
            "training.kubeflow.org/replica-type": kind,
        }
    elif job.kind == "vcjob":
        added = {
            "volcano.sh/job-name": job.name,
            "volcano.sh/job-namespace": job.namespace,
            "volcano.sh/queue-name": job.queue,
            TASK_SPEC: role.name,
        }
    elif job.kind == "Job":
        added = {"job-name": job.name, "batch.kubernetes.io/job-name": job.name}
    return dict(role.labels) | added


def excluded_nodes(cluster: Cluster, nodes: NDArray[np.int64], topology_key: str) -> Flags:
    """bool[N]: the nodes that share the topology with one of `nodes` (indices)."""
    flags = np.zeros(cluster.size, dtype=np.bool_)
    if topology_key == HOSTNAME:
        flags[nodes] = True
        return flags
    codes = cluster.labels.column(topology_key).codes
    return np.isin(codes, distinct(codes[nodes])) & (codes >= 0)
