"""Candidates by SuperPoD and rack, the order in which they are visited, and taking one logical SuperPoD (chapter 21
§3.1, §6). Counts are nodes, node lists are int arrays of node indices in natural name order."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from ascendctl.manifest.job import Job
from ascendctl.snapshot.config import SchedulerConfig
from ascendctl.validate.rules.rack import block_nodes, rack_nodes, uses_ub_memory

RACKS_PER_UB_DOMAIN = 16

Nodes: TypeAlias = NDArray[np.int64]
Racks: TypeAlias = dict[int, Nodes]
"""Rack id -> free nodes; a rack without free nodes is not listed."""
Floor: TypeAlias = dict[int, Racks]
"""SuperPoD id -> its racks."""
Step: TypeAlias = tuple[str, Mapping[str, Any]]


@dataclass(frozen=True)
class Sizes:
    """The numbers of a job that planning needs (chapter 21 §0, §1).

    `pods` T; `npus` one pod's q; `job_npus` Q; `sp_npus` SB and `ra_npus` RB in NPUs; `block` B and `rack` R in nodes;
    `super_pod_size` Z in nodes; `soft` label super-pod-affinity; `ub_memory` annotation schedule_ubmemory.
    """

    pods: int
    npus: int
    job_npus: int
    sp_npus: int
    ra_npus: int
    block: int
    rack: int
    super_pod_size: int
    soft: bool = False
    ub_memory: bool = False

    @property
    def count(self) -> int:
        """K: logical SuperPoDs of the job."""
        return self.pods // self.block


def sizes_of(job: Job, config: SchedulerConfig) -> Sizes:
    """The sizes of a job that passed validation."""
    npus = next(role.npus for role in job.roles if role.is_npu)
    return Sizes(
        pods=job.npu_pod_count,
        npus=npus,
        job_npus=job.npus,
        sp_npus=job.sp_block,
        ra_npus=job.ra_block,
        block=block_nodes(job),
        rack=rack_nodes(job),
        super_pod_size=config.super_pod_size,
        soft=job.is_soft,
        ub_memory=uses_ub_memory(job),
    )


@dataclass(frozen=True)
class Refusal:
    """Why there is no plan: a code and message of chapter 21 §12, and what else the reader should know."""

    code: str
    message: str
    notes: tuple[str, ...] = ()


@dataclass
class Run:
    """One planning run. Strategies take nodes from `floor` and enter them in `blocks` (id -> nodes by position).

    `open` holds the ids still to place, ascending; `free` the free nodes of each SuperPoD when the run began, the sort
    key of all strategies; `network_bad` is bool[N]; `soft_ids` the ids that the soft part filled, in visiting order;
    `placed` the nodes of all blocks so far, kept ones included; `names` the node names for `steps`.
    """

    sizes: Sizes
    floor: Floor
    open: list[int]
    network_bad: NDArray[np.bool_]
    names: tuple[str, ...]
    blocks: dict[int, Nodes] = field(default_factory=dict)
    soft_ids: list[int] = field(default_factory=list)
    free: dict[int, int] = field(default_factory=dict)
    steps: list[Step] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.free = {superpod: free_nodes(racks) for superpod, racks in self.floor.items()}

    @property
    def placed(self) -> int:
        """Nodes of all blocks placed so far."""
        return sum(len(nodes) for nodes in self.blocks.values())

    def put(self, block: int, nodes: Nodes) -> None:
        """Enter a finished block."""
        self.blocks[block] = nodes
        self.open.remove(block)

    def say(self, text: str, **data: Any) -> None:
        """Add a step to the explanation."""
        self.steps.append((text, data))

    def name_list(self, nodes: Iterable[int]) -> list[str]:
        """Node names of node indices."""
        return [self.names[i] for i in nodes]


def group(nodes: Nodes, superpod: NDArray[np.int32], rack: NDArray[np.int32]) -> Floor:
    """Sort candidates (ascending node indices) into SuperPoDs and racks, ids ascending. `superpod` and `rack` are the
    ids of all nodes, int32[N]; a rack id counts only inside its SuperPoD."""
    floor: Floor = {}
    if len(nodes) == 0:
        return floor
    order = nodes[np.lexsort((rack[nodes], superpod[nodes]))].astype(np.int64)
    sp, ra = superpod[order], rack[order]
    heads = np.flatnonzero((np.diff(sp) != 0) | (np.diff(ra) != 0)) + 1
    parts = np.split(order, heads)
    starts = np.concatenate(([0], heads))
    for s, r, part in zip(sp[starts].tolist(), ra[starts].tolist(), parts, strict=True):
        floor.setdefault(s, {})[r] = part
    return floor


def without(racks: Racks, drop: NDArray[np.bool_]) -> Racks:
    """The racks without the nodes that a mask (bool[N]) names."""
    kept = {rack: nodes[~drop[nodes]] for rack, nodes in racks.items()}
    return {rack: nodes for rack, nodes in kept.items() if len(nodes)}


def free_nodes(racks: Racks) -> int:
    """Free nodes of all racks together."""
    return sum(len(nodes) for nodes in racks.values())


def whole_racks(racks: Racks, size: int) -> int:
    """Logical racks of `size` nodes that fit, none of them across two racks."""
    return sum(len(nodes) // size for nodes in racks.values())


def fewest_first(free: Mapping[int, int], least: int) -> list[int]:
    """SuperPoDs with at least `least` free nodes, fewest first, then by id (chapter 21 §6.1)."""
    return sorted((s for s, n in free.items() if n >= least), key=lambda s: (free[s], s))


def most_first(free: Mapping[int, int]) -> list[int]:
    """All SuperPoDs, most free nodes first, then by id (chapter 21 §6.1)."""
    return sorted((s for s, n in free.items() if n > 0), key=lambda s: (-free[s], s))


def smallest_racks(racks: Racks) -> list[int]:
    """Racks by number of free nodes, then by id (chapter 21 §6.2)."""
    return sorted(racks, key=lambda r: (len(racks[r]), r))


def take_block(racks: Racks, block: int, rack: int) -> Nodes:
    """Take `block` nodes out of `racks` (changed in place) as logical racks of `rack` nodes, smallest racks first
    (chapter 21 §6.4). The caller has made sure that enough whole logical racks are there."""
    need, taken = block // rack, []
    for r in smallest_racks(racks):
        if need == 0:
            break
        use = min(len(racks[r]) // rack, need)
        taken.append(racks[r][: use * rack])
        racks[r] = racks[r][use * rack :]
        if len(racks[r]) == 0:
            del racks[r]
        need -= use
    return np.concatenate(taken)
