"""Running jobs that break the affinity of their own policy: chips inside a node, logical SuperPoDs, racks, levels, leaf
switches; and what they run on that is broken. What the policy would refuse to give, a job should not hold."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from importlib import import_module

import numpy as np
from numpy.typing import NDArray

from ascendctl.engine.select import Selection, select_policy
from ascendctl.engine.wirings import WIRINGS, Ask
from ascendctl.manifest.job import Job, PodSpec, Role, parse_go_int
from ascendctl.snapshot.chip_lists import chip_ids
from ascendctl.snapshot.cluster import NODE_UNHEALTHY, PRE_SEPARATE, Cluster
from ascendctl.topology.affinity import AFFINITY_CONFIG, group_sizes
from ascendctl.topology.leaf_states import LARGE_MODEL, LARGE_MODEL_PODS, node_servers
from ascendctl.topology.tree import Tree, build_trees
from ascendctl.wellknown import ACCELERATOR_TYPE, SUPER_POD_RANK


@dataclass(frozen=True)
class Breach:
    """One thing that a running job should not have. `kind`: chips, logical-superpod, rack, level, leaf, node-health or
    chip-health. `pods` and `nodes` are those concerned, in rank order."""

    kind: str
    namespace: str
    job: str
    policy: str
    pods: tuple[str, ...]
    nodes: tuple[str, ...]
    message: str


@dataclass(frozen=True)
class _Running:
    """A job of the snapshot. `rows`: its active pods with whole chips, rows of Cluster.pods in rank order; `ranks` in
    the same order, the place in that order where a pod carries none."""

    job: Job
    selection: Selection
    rows: tuple[int, ...]
    ranks: tuple[int, ...]


@dataclass(frozen=True)
class _Network:
    """The nodes, and what is above them: worked out once if any job asks for it."""

    cluster: Cluster

    @cached_property
    def trees(self) -> tuple[Tree, ...]:
        return build_trees(self.cluster)

    @cached_property
    def leaf(self) -> NDArray[np.int32]:
        """int32[N]: the leaf switch of each node, -1 = none."""
        leaves = self.cluster.leaves
        if leaves is None:
            return np.full(self.cluster.size, -1, dtype=np.int32)
        servers = node_servers(self.cluster, leaves)
        return np.append(leaves.server_leaf, np.int32(-1))[servers]


def audit(cluster: Cluster) -> list[Breach]:
    """All breaches of the running jobs, by namespace and job in the order of the snapshot."""
    network = _Network(cluster)
    found: list[Breach] = []
    for running in _jobs(cluster):
        for check in (_chips, _superpods, _racks, _health, _levels, _leaves):
            found += check(running, network)
    return found


def _jobs(cluster: Cluster) -> Iterator[_Running]:
    pods = cluster.pods
    members: dict[int, list[int]] = {}
    for row in np.flatnonzero(pods.active & (pods.job >= 0) & (pods.chips != 0)).tolist():
        members.setdefault(int(pods.job[row]), []).append(row)
    for number in sorted(members):
        rows = sorted(members[number], key=lambda row: (int(pods.rank[row]), row))
        ranks = [int(pods.rank[row]) for row in rows]
        known = min(ranks) >= 0 and len(set(ranks)) == len(ranks)
        job = _job(cluster, number, rows)
        yield _Running(job, select_policy(job), tuple(rows), tuple(ranks if known else range(len(rows))))


def _job(cluster: Cluster, number: int, rows: Sequence[int]) -> Job:
    """The job as its pods and its PodGroup tell of it; every pod is a role of its own."""
    pods, jobs = cluster.pods, cluster.jobs
    resource = cluster.resource_names[int(pods.resource[rows[0]])] if pods.resource[rows[0]] >= 0 else ""
    counts = [int(pods.chips[row]).bit_count() for row in rows]
    roles = tuple(Role(pods.names[row], 1, count, resource) for row, count in zip(rows, counts, strict=True))
    specs = (PodSpec(role.name, i, 0, i, role.npus) for i, role in enumerate(roles))
    accelerator = cluster.labels.get(int(pods.node[rows[0]]), ACCELERATOR_TYPE)
    owner = jobs.owners[number] if jobs.owners else ""
    return Job(
        name=owner or jobs.names[number],
        namespace=jobs.namespaces[number],
        kind="",
        roles=roles,
        pods=tuple(specs),
        labels=jobs.labels.row(number),
        annotations=jobs.annotations.row(number),
        selector={ACCELERATOR_TYPE: accelerator} if accelerator else {},
        resource=resource,
        npus=sum(counts),
        min_available=len(rows),
    )


def _breach(running: _Running, cluster: Cluster, kind: str, rows: Sequence[int], message: str) -> Breach:
    job, nodes = running.job, dict.fromkeys(cluster.names[int(cluster.pods.node[row])] for row in rows)
    names = tuple(cluster.pods.names[row] for row in rows)
    return Breach(kind, job.namespace, job.name, running.selection.policy, names, tuple(nodes), message)


def _chips(running: _Running, network: _Network) -> Iterator[Breach]:
    """The chips of each pod, taken for the only free ones, must be a choice that the policy could have made."""
    cluster, policy = network.cluster, running.selection.policy
    if policy not in WIRINGS or running.selection.module == "soft_share":
        return
    wiring = WIRINGS[policy]
    rule = import_module(f"ascendctl.engine.wired.{wiring.rule}")
    for row in running.rows:
        mask = int(cluster.pods.chips[row])
        ask = Ask(wiring, mask.bit_count(), len(running.rows) > 1)
        if not rule.fits(ask, np.array([mask], dtype=np.uint64))[0]:
            message = f"policy {policy} never gives a pod the chips {_listed(mask)}"
            yield _breach(running, cluster, "chips", [row], message)


def _superpods(running: _Running, network: _Network) -> Iterator[Breach]:
    cluster, job = network.cluster, running.job
    if running.selection.module in ("superpod", "rack") and not job.is_soft:
        yield from _blocks(running, cluster, "logical-superpod", "SuperPoDs", job.sp_block, cluster.superpod)


def _racks(running: _Running, network: _Network) -> Iterator[Breach]:
    cluster = network.cluster
    if running.selection.module == "rack" and not running.job.is_soft:
        # a rack id counts only inside its SuperPoD
        place = cluster.superpod.astype(np.int64) << 32 | cluster.rack
        yield from _blocks(running, cluster, "rack", "racks", running.job.ra_block, place)


def _blocks(
    running: _Running, cluster: Cluster, kind: str, units: str, npus: int, place: NDArray[np.int32] | NDArray[np.int64]
) -> Iterator[Breach]:
    """Blocks of pods, by annotation super-pod-rank or by rank, whose nodes differ in `place` [N]."""
    size = max(1, npus // max(role.npus for role in running.job.roles))
    blocks: dict[int, list[int]] = {}
    for row, rank in zip(running.rows, running.ranks, strict=True):
        told = parse_go_int(cluster.pods.annotations.get(row, SUPER_POD_RANK) or "")
        number = rank // size if kind == "rack" or told is None else told
        blocks.setdefault(number, []).append(row)
    for number, rows in sorted(blocks.items()):
        found = len({int(place[cluster.pods.node[row]]) for row in rows})
        if found > 1:
            yield _breach(running, cluster, kind, rows, f"block {number} lies in {found} {units}")


def _levels(running: _Running, network: _Network) -> Iterator[Breach]:
    if running.selection.module != "multilevel":
        return
    try:
        sizes = group_sizes(running.job.annotations.get(AFFINITY_CONFIG, ""))
    except ValueError:
        return
    cluster, nodes = network.cluster, network.cluster.pods.node
    tree = next((tree for tree in network.trees if tree.member[nodes[list(running.rows)]].all()), None)
    if tree is None:
        yield _breach(running, cluster, "level", running.rows, "its nodes belong to no common tree")
        return
    for level, size in enumerate(sizes[: len(tree.levels)], 1):
        groups: dict[int, list[int]] = {}
        for row, rank in zip(running.rows, running.ranks, strict=True):
            groups.setdefault(rank // max(1, size), []).append(row)
        for number, rows in sorted(groups.items()):
            # units of one name below different parents are different units
            units = len(np.unique(tree.units[level - 1 :, nodes[rows]], axis=1).T)
            if units > 1:
                message = f"group {number} of level{level} lies in {units} units of {tree.levels[level - 1].label}"
                yield _breach(running, cluster, "level", rows, message)


def _leaves(running: _Running, network: _Network) -> Iterator[Breach]:
    """A filler job stays below one leaf switch (chapter 23 §2), unless the leaves are no wider than the job."""
    cluster, count = network.cluster, len(running.rows)
    if cluster.leaves is None or running.job.tor_affinity != LARGE_MODEL:
        return
    if count >= LARGE_MODEL_PODS or count >= cluster.leaves.tor_count:
        return
    leaves = len(np.unique(network.leaf[cluster.pods.node[list(running.rows)]]))
    if leaves > 1:
        message = f"a job of fewer than {LARGE_MODEL_PODS} pods lies below {leaves} leaf switches"
        yield _breach(running, cluster, "leaf", running.rows, message)


def _health(running: _Running, network: _Network) -> Iterator[Breach]:
    cluster = network.cluster
    columns = cluster.resources.get(running.job.resource)
    for row in running.rows:
        node, held = int(cluster.pods.node[row]), int(cluster.pods.chips[row])
        if cluster.health[node] & (NODE_UNHEALTHY | PRE_SEPARATE):
            yield _breach(running, cluster, "node-health", [row], "its node is unhealthy or about to be taken out")
        broken = held & int(columns.unhealthy[node]) if columns is not None else 0
        if broken:
            message = f"it holds the unhealthy chips {_listed(broken)}"
            yield _breach(running, cluster, "chip-health", [row], message)


def _listed(mask: int) -> str:
    return ",".join(map(str, chip_ids(mask)))
