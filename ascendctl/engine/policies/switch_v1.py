"""Switch affinity 1.0 for a whole job (chapter 23 §5): one leaf, whole leaves, logical leaves, greedy."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ascendctl.engine.policies.switch_leaves import Leaves, Plan, Servers, Step, descending, tie_note

NO_LEAF = "tor check failed not enough resource for job"
NO_LOGICAL_LEAF = "logicTor is illegal"
NO_WIDTH = "taskRow and taskColumn is illegal"

MAX_WIDTH = 128
"""Logical leaves exist up to this leaf width."""


def plan_v1(leaves: Leaves, width: int, pods: int, kind: str, blocked: NDArray[np.bool_]) -> Plan:
    """Plan `pods` pods of a job on leaves of `width` servers. `kind` is "normal", "filler" or "large"; `blocked`
    bool[L] are leaves that a crossing job keeps from jobs that do not fit into the leaf whole."""
    shut = blocked & (leaves.free < pods) & (leaves.free > 0)
    steps: list[Step] = [("leaf switches with usable nodes", {"leaves": leaves.table()})]
    if shut.any():
        text = (
            "leaf switches blocked: a job that runs across leaf switches uses them and they cannot hold the whole job"
        )
        steps.append((text, {"leaves": leaves.ips(np.flatnonzero(shut))}))
    leaves = leaves.without(shut)
    free = leaves.free
    order = descending(np.arange(len(free)), free)

    if pods < width:
        fits = order[free[order] >= pods]
        if fits.size:
            chosen = int(fits[-1])
            steps.append(_single(leaves, pods, chosen, fits))
            return Plan("single", (leaves.by_slice(leaves.first(chosen, pods)),), steps=tuple(steps),
                        notes=tie_note(order, free, [chosen]))  # fmt: skip
        steps.append((f"single: no leaf switch has {pods} usable nodes", {"most": int(free.max(initial=0))}))
        if kind == "filler":
            return Plan(code=NO_LEAF, steps=tuple(steps))

    if width <= 0:
        failure = NO_WIDTH
        steps.append((f"full: tor_count is {width}", {}))
    else:
        rows, last = -(-pods // width), (pods - 1) % width + 1
        full = int((free == width).sum())
        if rows <= full:
            taken = order[:rows]
            steps.append((f"full: {rows} of {full} completely free leaf switches", {"leaves": leaves.ips(taken)}))
            groups = [leaves.first(i) for i in taken[:-1]] + [leaves.first(int(taken[-1]), last)]
            return Plan("full", tuple(map(leaves.by_slice, groups)), steps=tuple(steps),
                        notes=(*_crossing(kind), *tie_note(order, free, taken)))  # fmt: skip
        steps.append((f"full: {rows} completely free leaf switches are needed, {full} there are", {}))
        found, step = _logical(leaves, order, width, rows, last)
        steps.append(step)
        if found:
            return Plan("logical", tuple(map(leaves.by_slice, found)), steps=tuple(steps),
                        notes=(*_crossing(kind), *tie_note(order, free, order[free[order] > 0])))  # fmt: skip
        failure = NO_LOGICAL_LEAF

    if kind != "normal":
        return Plan(code=failure, steps=tuple(steps))
    if int(free.sum()) < pods:
        steps.append((f"greedy: {int(free.sum())} usable nodes for {pods} pods", {}))
        return Plan(code=failure, steps=tuple(steps))
    return _greedy(leaves, order, pods, steps)


def _single(leaves: Leaves, pods: int, chosen: int, fits: NDArray[np.int64]) -> Step:
    text = f"single: {leaves.ip(chosen)} has the fewest usable nodes among the leaf switches that hold {pods} pods"
    others = {leaves.ip(i): int(leaves.free[i]) for i in fits[:-1]}
    return text, {"leaf": leaves.ip(chosen), "usable": int(leaves.free[chosen]), "not_taken": others}


def _logical(leaves: Leaves, order: NDArray[np.int64], width: int, rows: int, last: int) -> tuple[list[Servers], Step]:
    """Rows of the transposed array by position (§5.2 step 3), or none with the reason."""
    if width > MAX_WIDTH:
        return [], (f"logical: tor_count {width} is above {MAX_WIDTH}", {})
    columns = _columns(leaves, order, width)
    lengths = [len(column) for column in columns]
    data = {"columns": lengths}
    failed = "logical: tor check failed not enough resource by"
    if lengths[last - 1] < rows:
        slice_id = int(leaves.topology.server_slice[columns[last - 1][0]]) if lengths[last - 1] else -1
        text = f"{failed} netslice {slice_id} server num {lengths[last - 1]} is not enough for job require {rows}"
        return [], (text, data)
    if lengths[-1] < rows - 1:
        text = f"{failed} logicTor full tor num {lengths[-1]} is not enough for job require {rows - 1}"
        return [], (text, data)
    table = [np.array([c[k] for c in columns if len(c) > k], dtype=np.int64) for k in range(lengths[0])]
    if rows == 1 and last < width:
        k = max(i for i, row in enumerate(table) if len(row) >= last)
        return [table[k][:last]], (f"logical: row {k} of {len(table)}, nodes at {last} different positions", data)
    text = f"logical: {rows} rows of nodes at different positions, the last one with {last}"
    return [*table[: rows - 1], table[rows - 1][:last]], (text, data)


def _columns(leaves: Leaves, order: NDArray[np.int64], width: int) -> list[Servers]:
    """Usable servers by position below the leaf, in the order of the leaves; longest column first."""
    topology = leaves.topology
    servers = np.flatnonzero(leaves.usable & (topology.server_position < width))
    place = np.empty(len(order), dtype=np.int64)
    place[order] = np.arange(len(order))
    position = topology.server_position[servers]
    servers = servers[np.lexsort((place[topology.server_leaf[servers]], position))]
    lengths = np.bincount(position, minlength=width)
    columns = np.split(servers, np.cumsum(lengths)[:-1])
    return [columns[p] for p in np.argsort(-lengths, kind="stable")]


def _greedy(leaves: Leaves, order: NDArray[np.int64], pods: int, steps: list[Step]) -> Plan:
    groups: list[Servers] = []
    taken: dict[str, int] = {}
    rest = pods
    for i in order.tolist():
        if not rest:
            break
        servers = leaves.first(i, rest)
        groups.append(leaves.by_slice(servers))
        taken[leaves.ip(i)] = len(servers)
        rest -= len(servers)
    steps.append(("greedy: usable nodes leaf by leaf, the leaf switch with most of them first", {"taken": taken}))
    note = (
        "the documents call the last resort of a normal job random; the scheduler fills the leaf switches in order and "
        "leaves blocked ones out"
    )
    return Plan(
        "greedy", tuple(groups), steps=tuple(steps), notes=(note, *tie_note(order, leaves.free, order[: len(groups)]))
    )


def _crossing(kind: str) -> tuple[str, ...]:
    if kind != "filler":
        return ()
    return ("a job with fewer than 4 pods crosses leaf switches here, because a leaf is not wider than the job",)
