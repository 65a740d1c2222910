"""Fleets in the notation of chapter 22 §9, as clusters and jobs for tests of the multi-level policy."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

import ascendctl
from ascendctl.engine.result import Placement
from ascendctl.manifest.job import Job
from ascendctl.snapshot.cluster import Cluster
from ascendctl.topology.tree import Tree, build_trees, byte_ranks
from tests import cases

H = "huawei.com/"
TREE = H + "topotree"
LABELS = {1: H + "topotree.rackid", 2: H + "topotree.superpodid", 3: H + "topotree.groupid", 4: "example.com/zone"}

A = "G0{S0:n0 n1; S1:n2 n3} G1{S2:n4 n5; S3:n6 n7}"
Q = "G0{S0:a0 a1; S1:a2 a3; S2:a4 a5} G1{S3:b0 b1; S4:b2 b3} G2{S5:c0 c1; S6:c2 c3; S7:c4 c5; S8:c6 c7}"
K = "R0:p0 p1; R1:q0 q1 q2; R2:r0..r5; R3:s0..s3"
F = "SP0{F0:a0 a1; F1:a2 a3; F2:a4 a5; F3:a6 a7} SP1{F4:b0 b1 b2; F5:b3 b4 b5; F6:b6 b7 b8; F7:b9 ba}"
B = "G0{S0:a0..a3; S1:b0..b3}"
Z = "G0{S0:a0 a1 a2; S1:b0 b1 b2} G1{S2:c0 c1 c2; S3:d0 d1 d2}"
T = "Z0{G0{S0:a0 a1; S1:a2 a3} G1{S2:b0 b1; S3:b2 b3}} Z1{G2{S4:c0 c1; S5:c2 c3} G3{S6:d0 d1; S7:d2 d3}}"

_TOKEN = re.compile(r"[\w.-]+|[{}:;]")


def units(text: str) -> list[tuple[tuple[str, ...], str]]:
    """(path from the top level down, node) of every node of a fleet."""
    tokens = _TOKEN.findall(text)
    path: list[str] = []
    found: list[tuple[tuple[str, ...], str]] = []
    in_nodes = False
    for i, token in enumerate(tokens):
        following = tokens[i + 1] if i + 1 < len(tokens) else ""
        if token in "{:":
            in_nodes = token == ":"
        elif token in ";}":
            if in_nodes:
                path.pop()
            in_nodes = False
            if token == "}":
                path.pop()
        elif following in ("{", ":") and following:
            if in_nodes:
                path.pop()
                in_nodes = False
            path.append(token)
        else:
            found += [(tuple(path), name) for name in _names(token)]
    return found


def _names(token: str) -> Iterator[str]:
    first, dots, last = token.partition("..")
    if not dots:
        yield token
        return
    stem = first.rstrip("0123456789")
    yield from (f"{stem}{i}" for i in range(int(first[len(stem) :]), int(last[len(stem) :]) + 1))


def depth(text: str) -> int:
    """m of a fleet."""
    return len(units(text)[0][0])


def make_case(
    fleet: str | Mapping[str, str],
    pods: int,
    config: str | None,
    *,
    busy: str = "",
    reserve: int = 0,
    npus: int = 16,
    kind: str = "AscendJob",
    roles: list[dict[str, Any]] | None = None,
    labels: Mapping[str, str] | None = None,
    annotations: Mapping[str, str] | None = None,
    fault: Mapping[str, Any] | None = None,
    survivors: str = "",
    more: Mapping[str, Mapping[str, Any]] | None = None,
) -> dict[str, Any]:
    """A case as `tests.cases` reads it. `fleet` may map tree names to fleets; `busy` and `survivors` name nodes whose
    chips are used; `more` sets further fields of single nodes."""
    trees = {"default": fleet} if isinstance(fleet, str) else dict(fleet)
    nodes, levels = [], {}
    used = set((busy + " " + survivors).split())
    for tree, text in trees.items():
        m = depth(text)
        levels[tree] = {
            f"level{i}": {"label": LABELS[i]} | ({"reservedNode": reserve} if i == 1 and reserve else {})
            for i in range(1, m + 1)
        }
        for path, name in units(text):
            carried = {LABELS[m - i]: value for i, value in enumerate(path)}
            node: dict[str, Any] = {
                "name": name,
                "resource": H + "Ascend910",
                "chips": 16,
                "labels": carried | ({} if tree == "default" else {TREE: tree}),
            }
            if name in used:
                node["used"] = "0xffff"
            for key, value in (more or {}).get(name, {}).items():
                node[key] = node["labels"] | value if key == "labels" else value
            nodes.append(node)
    given = {H + "schedule_policy": "multilevel"} | ({} if config is None else {H + "affinity-config": config})
    job: dict[str, Any] = {
        "kind": kind,
        "name": "train",
        "namespace": "default",
        "labels": dict(labels or {}),
        "annotations": given | dict(annotations or {}),
        "selector": {},
        "roles": roles or [{"name": "Worker", "replicas": pods, "npus": npus}],
    }
    if fault:
        job["fault"] = dict(fault)
    return {
        "id": "test/1",
        "params": {"resource-level-config": levels},
        "nodes": nodes,
        "leaves": None,
        "running": [],
        "job": job,
    }


def inputs(case: dict[str, Any], seed: int = 0, mode: str = "clusterd") -> tuple[Job, Cluster]:
    """Job and cluster of a case, through the readers that people use."""
    return ascendctl.load_jobs(cases.manifest(case))[0], ascendctl.load_snapshot(cases.objects(case, mode, seed))


def place(case: dict[str, Any], objective: str = "fragmentation", seed: int = 0) -> Any:
    """The result of a case."""
    job, cluster = inputs(case, seed)
    from ascendctl.engine.api import place as place_job

    return place_job(job, cluster, objective=objective)


def groups(result: Placement) -> str:
    """The level-1 groups of a result in the notation of the chapter: `a0,a1 | b0,b1`."""
    return " | ".join(",".join(nodes) for nodes in result.blocks.values())


def tree_of(fleet: str, reserve: int = 0) -> tuple[Tree, Cluster]:
    """The tree of a fleet, all nodes free, and its snapshot."""
    _, cluster = inputs(make_case(fleet, 2, "level1=2", reserve=reserve))
    return build_trees(cluster)[0], cluster


def mask(cluster: Cluster, without: str = "") -> Any:
    """bool[N]: all nodes but some."""
    return np.array([name not in without.split() for name in cluster.names])


def ranks(cluster: Cluster) -> Any:
    """int64[N] of `byte_ranks`."""
    return byte_ranks(cluster.names)
