"""Kubernetes' own filters, before the scheduler plugin."""

from __future__ import annotations

import numpy as np
import pytest

from ascendctl.engine.kube import kube_codes, own_exclusions
from ascendctl.engine.predicate import CODES
from ascendctl.manifest.job import Role
from tests.engine.build import A910, Node, cluster, job

REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
NODES = cluster(
    [
        Node("n1", labels={"zone": "a", "gen": "3"}),
        Node("n2", labels={"zone": "b", "gen": "x"}),
        Node("n3", labels={"gen": "10"}),
    ]
)


def accepted(made=NODES, **role):
    codes = np.zeros(made.size, dtype=np.int16)
    kube_codes(Role("worker", 1, 1, A910, **role), made, codes)
    return {name: CODES[code] for name, code in zip(made.names, codes.tolist(), strict=True)}


def open_nodes(made=NODES, **role):
    return [name for name, code in accepted(made, **role).items() if not code]


def terms(*expressions, fields=()):
    term = {"matchExpressions": list(expressions)} | ({"matchFields": list(fields)} if fields else {})
    return {REQUIRED: {"nodeSelectorTerms": [term]}}


def expression(key, operator, *values):
    return {"key": key, "operator": operator} | ({"values": list(values)} if values else {})


def test_selector_and_node_name():
    assert open_nodes() == ["n1", "n2", "n3"]
    assert accepted(selector={"zone": "a"}) == {"n1": "", "n2": "NODE_SELECTOR", "n3": "NODE_SELECTOR"}
    assert open_nodes(node_name="n2") == ["n2"]
    assert open_nodes(node_name="nowhere") == []


@pytest.mark.parametrize(
    ("wanted", "nodes"),
    [
        (expression("zone", "In", "a", "c"), ["n1"]),
        (expression("zone", "NotIn", "a"), ["n2", "n3"]),
        (expression("zone", "Exists"), ["n1", "n2"]),
        (expression("zone", "DoesNotExist"), ["n3"]),
        (expression("gen", "Gt", "3"), ["n3"]),
        (expression("gen", "Lt", "4"), ["n1"]),
        (expression("gen", "Gt", "x"), []),
        (expression("zone", "Like", "a"), []),
        (expression("kubernetes.io/hostname", "In", "n3"), ["n3"]),
    ],
)
def test_node_affinity_operators(wanted, nodes):
    assert open_nodes(node_affinity=terms(wanted)) == nodes


def test_node_affinity_terms():
    both = {REQUIRED: {"nodeSelectorTerms": [
        {"matchExpressions": [expression("zone", "In", "a")]},
        {"matchFields": [expression("metadata.name", "In", "n3")]},
        {},
    ]}}  # fmt: skip
    assert open_nodes(node_affinity=both) == ["n1", "n3"]
    assert open_nodes(node_affinity={REQUIRED: {"nodeSelectorTerms": [{}]}}) == []
    assert open_nodes(node_affinity=terms(expression("zone", "Exists"), expression("gen", "In", "3"))) == ["n1"]
    assert open_nodes(node_affinity=terms(fields=[expression("metadata.name", "NotIn", "n1")])) == ["n2", "n3"]
    assert open_nodes(node_affinity=terms(fields=[expression("metadata.uid", "In", "1")])) == []
    assert open_nodes(node_affinity={"preferredDuringSchedulingIgnoredDuringExecution": []}) == ["n1", "n2", "n3"]
    assert open_nodes(node_affinity={REQUIRED: {"nodeSelectorTerms": "x"}}) == []


TAINTED = cluster(
    [
        Node("n1", taints='[{"key": "npu", "value": "broken", "effect": "NoSchedule"}]'),
        Node("n2", taints='[{"key": "busy", "effect": "PreferNoSchedule"}]'),
        Node("n3", cordoned=True, taints='[{"key": "node.kubernetes.io/unschedulable", "effect": "NoSchedule"}]'),
        Node("n4", taints='[{"key": "gone", "effect": "NoExecute"}]'),
    ]
)


def test_taints_and_cordon():
    assert accepted(TAINTED) == {"n1": "NODE_TAINTED", "n2": "", "n3": "NODE_UNSCHEDULABLE", "n4": "NODE_TAINTED"}


@pytest.mark.parametrize(
    ("toleration", "nodes"),
    [
        ({"operator": "Exists"}, ["n1", "n2", "n3", "n4"]),
        ({"key": "npu", "operator": "Exists"}, ["n1", "n2"]),
        ({"key": "npu", "value": "broken"}, ["n1", "n2"]),
        ({"key": "npu", "operator": "Equal", "value": "other"}, ["n2"]),
        ({"key": "npu", "value": "broken", "effect": "NoExecute"}, ["n2"]),
        ({"operator": "Exists", "effect": "NoExecute"}, ["n2", "n4"]),
        ({"key": "node.kubernetes.io/unschedulable", "operator": "Exists"}, ["n2", "n3"]),
    ],
)
def test_tolerations(toleration, nodes):
    assert open_nodes(TAINTED, tolerations=(toleration,)) == nodes


def term(labels, **more):
    return {"topologyKey": "kubernetes.io/hostname", "labelSelector": {"matchLabels": labels}} | more


@pytest.mark.parametrize(
    ("kind", "labels", "more", "found"),
    [
        ("vcjob", {"volcano.sh/job-name": "job"}, {}, True),
        ("vcjob", {"volcano.sh/job-name": "other"}, {}, False),
        ("AscendJob", {"job-name": "job"}, {}, True),
        ("AscendJob", {"training.kubeflow.org/replica-type": "worker"}, {}, True),
        ("Deployment", {"job-name": "job"}, {}, False),
        ("vcjob", {"volcano.sh/job-name": "job"}, {"namespaces": ["elsewhere"]}, False),
        ("vcjob", {"volcano.sh/job-name": "job"}, {"namespaces": ["elsewhere"], "namespaceSelector": {}}, True),
    ],
)
def test_own_anti_affinity_is_seen(kind, labels, more, found):
    """Labels that controllers add count too."""
    role = Role("worker", 2, 1, A910, pod_anti_affinity={REQUIRED: [term(labels, **more)]})
    exclusions = own_exclusions(job(0, roles=[role], kind=kind))
    assert bool(exclusions) is found
    if found:
        assert (exclusions[0].first, exclusions[0].second) == (0, 0)


@pytest.mark.parametrize("wrong", [None, [], ["a"], "job-name", 7])
def test_anti_affinity_that_is_no_selector_selects_no_pod(wrong):
    for selector in ({"matchLabels": wrong or [1]}, {"matchExpressions": wrong or "x"}, wrong or "x"):
        found = {"topologyKey": "kubernetes.io/hostname", "labelSelector": selector}
        role = Role("worker", 2, 1, A910, pod_anti_affinity={REQUIRED: [found, {**found, "namespaces": wrong or 3}]})
        assert own_exclusions(job(0, roles=[role], kind="vcjob")) == ()
