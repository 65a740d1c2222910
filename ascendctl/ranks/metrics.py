"""Network quality of a placement as numbers for `Placement.metrics` (chapter 50 §7)."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ascendctl.engine.result import Placement
from ascendctl.manifest.job import Job
from ascendctl.ranks.groups import HEAVY, Parallel, Servers, as_ids, judge, parse_parallel
from ascendctl.ranks.order import RankedPod, broken_groups, ranked_pods
from ascendctl.ranks.quality import (
    Cut,
    block_size,
    breaks,
    cut,
    lost_share,
    physical_pairs,
    recommended_block,
    renumbered,
    spanning,
    split_superpods,
    superpod_score,
)
from ascendctl.ranks.table import is_mindie
from ascendctl.ranks.version import logical_superpod, object_labels, table_block, table_version
from ascendctl.snapshot.cluster import NODE_UNHEALTHY, PRE_SEPARATE, Cluster
from ascendctl.wellknown import NPU, SUPER_POD_AFFINITY

NO_GROUPING = "none: every pair of servers uses RoCE"


def network_metrics(job: Job, placement: Placement, cluster: Cluster, parallel: str = "") -> dict[str, Any]:
    """Keys `network` and, where there are SuperPoDs or a tree, `fragment` for the metrics of a placement. `parallel` as
    `groups.parse_parallel` reads it. Raises `groups.ParallelError`."""
    pods = sorted(ranked_pods(job, placement.pods, cluster), key=lambda pod: pod.rank)
    if not pods:
        return {}
    network = network_quality(job, pods, cluster, parallel)
    fragment = fragment_scores(job, placement, cluster)
    return {"network": network} | ({"fragment": fragment} if fragment else {})


def visible_grouping(job: Job, pods: Sequence[RankedPod], cluster: Cluster) -> tuple[str, list[Hashable] | None]:
    """What HCCL is told of SuperPoDs (§7.2): a description, and the group of each pod in rank order; None = nothing."""
    version, _ = table_version(job)
    physical: list[Hashable] = [int(cluster.superpod[pod.node]) for pod in pods]
    in_superpods = all(int(cluster.superpod[pod.node]) >= 0 for pod in pods)
    if version == "2.0":
        return ("SuperPoDs of the rank table", physical) if in_superpods else (NO_GROUPING, None)
    if version == "1.0":
        return NO_GROUPING, None
    if object_labels(job).get(SUPER_POD_AFFINITY) == "soft":
        if all(pod.group for pod in pods):
            return "logical SuperPoDs by super-pod-rank", [pod.group for pod in pods]
        return NO_GROUPING, None
    if is_mindie(job):
        return "SuperPoDs by super-pod-id", physical
    block, npus = table_block(job), len(pods[0].chips)
    what = f"logical SuperPoDs of {max(1, block // npus)} servers" if block > 0 else "one SuperPoD: no sp-block"
    return what, [logical_superpod(block, npus, i) for i in range(len(pods))]


def network_quality(job: Job, pods: Sequence[RankedPod], cluster: Cluster, parallel: str = "") -> dict[str, Any]:
    """The quality of pods in rank order."""
    superpods = [int(cluster.superpod[pod.node]) for pod in pods]
    has_superpods = all(one >= 0 for one in superpods)
    what, visible = visible_grouping(job, pods, cluster)
    seen = cut(visible) if visible is not None else cut(range(len(pods)))
    found: dict[str, Any] = {"servers": len(pods), "npusPerServer": len(pods[0].chips)}
    found["visible"] = {"grouping": what} | (_cut(seen, superpods) if visible is not None else _nothing(superpods))
    if has_superpods:
        physical = cut(superpods)
        found["physical"] = _cut(physical, superpods) | {"breaks": breaks(superpods)}
        found["physical"]["brokenSuperPods"] = broken_groups(superpods)
        split = split_superpods(superpods, seen.log)
        found["roceInsideSuperPod"] = [{"superPod": one, "ranks": parts} for one, parts in split.items()]
        claims = spanning(superpods, seen.log) if visible is not None else []
        found["ubClaimedAcross"] = claims
    leaf = _leaves(pods, cluster, found)
    broken = visible is not None and bool(breaks(visible))
    problem = broken or bool(found.get("ubClaimedAcross"))
    if has_superpods:
        found["ranksContiguous"] = not broken and not breaks(superpods)
        if breaks(superpods):
            found["contiguousOrder"] = [pods[i].rank for i in renumbered(superpods)]
    if parallel:
        sizes = parse_parallel(parallel, len(pods) * len(pods[0].chips))
        racks = as_ids([int(cluster.rack[pod.node]) if job.resource == NPU else -1 for pod in pods])
        servers = Servers(
            as_ids([pod.node for pod in pods]), as_ids(superpods), racks, leaf, as_ids(seen.log), len(pods[0].chips),
            cluster.leaves is not None,
        )  # fmt: skip
        found["parallel"] = _parallel(servers, sizes, problem)
        if has_superpods and len(pods) > 1:
            found["parallel"] |= _sizing(sizes, len(pods[0].chips), len(pods), cluster)
    return found


def _sizing(sizes: Parallel, npus: int, servers: int, cluster: Cluster) -> dict[str, Any]:
    """The smallest and the recommended sp-block for the tp, cp, ep groups; empty where these are not the innermost
    dimensions, or do not divide a server."""
    used = [name for name in sizes.order if sizes.sizes.get(name, 1) > 1]
    tp, cp, ep = heavy = [sizes.sizes.get(name, 1) for name in HEAVY]
    count = sum(size > 1 for size in heavy)
    if not count or not set(used[:count]) <= set(HEAVY):
        return {}
    _, largest = cluster.largest_superpod(cluster.has_npus)
    try:
        _, smallest = block_size(tp, cp, ep, npus)
        return {"spBlock": {"smallest": smallest, "recommended": recommended_block(tp, cp, ep, npus, servers, largest)}}
    except ValueError:
        return {}


def _cut(one: Cut, superpods: Sequence[int]) -> dict[str, Any]:
    lost, share = lost_share(superpods, one.ub_pairs)
    return {
        "superPods": [
            {"id": str(name), "servers": count, "pieces": k}
            for name, count, k in zip(one.groups, one.counts, one.pieces, strict=True)
        ],
        "commonDivisor": one.common,
        "logicalSuperPods": one.logical,
        "pairs": one.pairs,
        "ubPairs": one.ub_pairs,
        "ubReach": round(one.reach, 4),
        "lostPairs": lost,
        "loss": round(share, 4),
        "ringCrossings": one.crossings,
    }


def _nothing(superpods: Sequence[int]) -> dict[str, Any]:
    """No grouping: no UB between servers."""
    n, lost = len(superpods), physical_pairs(superpods)
    return {
        "superPods": [],
        "commonDivisor": 0,
        "logicalSuperPods": 0,
        "pairs": n * (n - 1) // 2,
        "ubPairs": 0,
        "ubReach": 0.0 if n > 1 else 1.0,
        "lostPairs": lost,
        "loss": 1.0 if lost else 0.0,
        "ringCrossings": n if n > 1 else 0,
    }


def _leaves(pods: Sequence[RankedPod], cluster: Cluster, found: dict[str, Any]) -> NDArray[np.int32]:
    """int32: leaf of each pod, -1 = unknown; enters the spread over leaf switches."""
    if cluster.leaves is None:
        return np.full(len(pods), -1, dtype=np.int32)
    topology = cluster.leaves
    server = topology.server_of_node(cluster.size)[[pod.node for pod in pods]]
    leaf = np.where(server >= 0, topology.server_leaf[server] if len(topology.server_leaf) else -1, -1)
    counts: dict[int, int] = {}
    for one in leaf.tolist():
        counts[one] = counts.get(one, 0) + 1
    n = len(pods)
    pairs = sum(m * (m - 1) // 2 for one, m in counts.items() if one >= 0)
    found["leaves"] = {
        "switches": {topology.leaf_ips[one]: m for one, m in counts.items() if one >= 0},
        "unknown": counts.get(-1, 0),
        "pairsBelowOneLeaf": pairs,
        "share": round(pairs / (n * (n - 1) // 2), 4) if n > 1 else 1.0,
    }
    return leaf.astype(np.int32)


def _parallel(servers: Servers, sizes: Parallel, problem: bool) -> dict[str, Any]:
    quality = judge(servers, sizes, problem)
    return {
        "sizes": dict(quality.sizes),
        "order": [name for name in sizes.order if sizes.sizes.get(name, 1) > 1],
        "dpInferred": sizes.inferred,
        "groups": {name: dict(counts) for name, counts in quality.tiers.items()},
        "worst": {name: max(counts) for name, counts in quality.tiers.items()},
        "heavy": round(quality.heavy, 4),
        "light": round(quality.light, 4),
        "verdict": quality.verdict,
    }


# ----------------------------------------------------------------------------------------- the article's fragment score
def fragment_scores(job: Job, placement: Placement, cluster: Cluster) -> dict[str, Any]:
    """The article's score of the cluster before and after the placement: of the tree of a multi-level job, else of its
    SuperPoDs; empty where there are neither (chapter 22 §8.6)."""
    columns = cluster.resources.get(job.resource)
    if columns is None:
        return {}
    healthy = cluster.visible & ((cluster.health & (NODE_UNHEALTHY | PRE_SEPARATE)) == 0) & (columns.unhealthy == 0)
    before = cluster.used != 0
    after = before.copy()
    after[[cluster.index[pod.node] for pod in placement.pods if pod.npus]] = True
    name = placement.metrics.get("tree")
    if name is not None:
        return _tree_scores(str(name), cluster, healthy, before, after)
    offered = healthy & (columns.capacity > 0) & (cluster.superpod >= 0)
    if not offered.any():
        return {}
    ids, index = np.unique(cluster.superpod[offered], return_inverse=True)
    total = np.bincount(index, minlength=len(ids)).tolist()
    found = {"of": f"{len(ids)} SuperPoDs"}
    return found | {
        when: _score(*superpod_score(total, np.bincount(index, used[offered], len(ids)).astype(int).tolist()))
        for when, used in (("before", before), ("after", after))
    }


def _tree_scores(
    name: str, cluster: Cluster, healthy: NDArray[np.bool_], before: NDArray[np.bool_], after: NDArray[np.bool_]
) -> dict[str, Any]:
    from ascendctl.engine.policies.multilevel_score import article_score
    from ascendctl.topology.tree import build_trees, byte_ranks

    tree = next((one for one in build_trees(cluster) if one.name == name), None)
    if tree is None:
        return {}
    ranks = byte_ranks(cluster.names)
    scores = {when: article_score(tree, healthy, used, ranks) for when, used in (("before", before), ("after", after))}
    found: dict[str, Any] = {"of": f"tree {name}"}
    return found | {when: _score(one.root, one.norm) for when, one in scores.items() if one is not None}


def _score(root: float, norm: float) -> dict[str, float]:
    return {"score": round(root, 4), "norm": round(norm, 4)}
