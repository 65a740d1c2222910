"""Nodes as dynamic vNPUs see them: what every chip has left (chapter 11.14.3 B)."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, fields
from typing import Final

import numpy as np
from numpy.typing import NDArray

from ascendctl.engine.vnpu_templates import CHIP_310P, CHIP_SIZES, TEMPLATES, template_key
from ascendctl.snapshot.cluster import Cluster
from ascendctl.wellknown import CHIP_NAME, NPU_CORE, REAL

KINDS: Final = (CHIP_310P, "Ascend910")
VIDEO_FREE, VIDEO_SHARED, VIDEO_TAKEN = 0, 1, 2
VIDEO_USE: Final = {"no": VIDEO_FREE, "null": VIDEO_SHARED, "yes": VIDEO_TAKEN}
"""dvpp of a vNPU -> what the video units of its chip are afterwards, unless they were used more before."""
TEMPLATE_NAMES: Final = tuple(sorted({name for table in TEMPLATES.values() for name in table}))
NONE, SEVERAL = -1, -2
Ints = NDArray[np.int64]
Flags = NDArray[np.bool_]


@dataclass(frozen=True)
class VirtualNodes:
    """N nodes, W chips a node.

    [N]: `key` index of `KEYS` (NONE = unknown kind), `chip_cores` and `chip_cpus` of one chip (0 = unknown),
    `total_cores` of the node, `valid`: the node can be cut; `pending`: the template (index of TEMPLATE_NAMES) whose cut
    is not confirmed, NONE or SEVERAL. [N, W]: `present`: the chip is modelled; free `cores` and `cpus`; `video`;
    `cut`: it carries vNPUs; `unstable`: a pod on it is not confirmed; `groups`: vGroups in use.
    """

    key: Ints
    chip_cores: Ints
    chip_cpus: Ints
    total_cores: Ints
    valid: Flags
    pending: Ints
    present: Flags
    cores: Ints
    cpus: Ints
    video: Ints
    cut: Flags
    unstable: Flags
    groups: Ints

    def at(self, node: int) -> VirtualNodes:
        """Views of the arrays at one node only."""
        return VirtualNodes(*(getattr(self, field.name)[node : node + 1] for field in fields(self)))


KEYS: Final = tuple(TEMPLATES)


def node_kinds(cluster: Cluster) -> Iterator[tuple[str, str, str]]:
    """(chip type, chip name, server type) of every node from its labels, "" where one is missing."""
    columns = ("accelerator", CHIP_NAME, "servertype")
    for accelerator, name, server in zip(*(cluster.labels.column(key).to_list() for key in columns), strict=True):
        yield (accelerator or "").partition("-")[2], name or "", server or ""


def key_of(chip_type: str, chip_name: str, server_type: str) -> str:
    """Template key of a node; "" if its chip type cannot be cut."""
    return template_key(chip_type, chip_name, server_type) if chip_type in KINDS else ""


def virtual_nodes(cluster: Cluster, gone: NDArray[np.bool_]) -> VirtualNodes:
    """The model of a snapshot. `gone` bool[M]: pods that no longer count; their chips are free again."""
    size, pods = cluster.size, cluster.pods
    kinds = list(node_kinds(cluster))
    cores = np.array([_cores_per_chip(server) for _, _, server in kinds], dtype=np.int64)
    key = np.array([KEYS.index(k) if (k := key_of(*kind)) in KEYS else NONE for kind in kinds], dtype=np.int64)
    total = np.maximum(_column(cluster, NPU_CORE, "capacity", -1), 0).astype(np.int64)
    listed, free, unhealthy = _lists(cluster, [kind for kind, _, _ in kinds])
    chips = np.where(cores > 0, total // np.maximum(cores, 1), 0)
    cpus = np.array([_cpus_per_chip(kind, int(c)) for kind, c in zip(kinds, cores, strict=True)], dtype=np.int64)
    named = np.array([bool(name) and kind in KINDS for kind, name, _ in kinds], dtype=np.bool_)
    valid = (total > 0) & named & listed & (cores > 0) & (chips >= 1) & (chips * cores == total) & (cpus > 0)
    width = max(int(np.bitwise_or.reduce(free | unhealthy, initial=0)).bit_length(), 1)
    held = [
        (row, text)
        for row in np.flatnonzero(pods.active & (pods.node >= 0)).tolist()
        if (text := pods.annotations.get(row, NPU_CORE)) and valid[pods.node[row]]
    ]
    cuts = [(row, *parse_cut(text)) for row, text in held]
    width = max([width, *(chip + 1 for _, on, _ in cuts for chip in on)])
    shape = (size, width)
    nodes = VirtualNodes(
        key, cores, cpus, total, valid, np.full(size, NONE, dtype=np.int64), np.zeros(shape, np.bool_),
        np.zeros(shape, np.int64), np.zeros(shape, np.int64), np.zeros(shape, np.int64), np.zeros(shape, np.bool_),
        np.zeros(shape, np.bool_), np.zeros(shape, np.int64),
    )  # fmt: skip
    bits = (free[:, None] >> np.arange(width, dtype=np.uint64)) & np.uint64(1) != 0
    nodes.present[:] = bits & valid[:, None]
    nodes.cores[:] = np.where(nodes.present, cores[:, None], 0)
    nodes.cpus[:] = np.where(nodes.present, cpus[:, None], 0)
    groups: dict[tuple[int, int], set[int]] = {}
    for row, on, template in cuts:
        node, confirmed = int(pods.node[row]), bool(pods.annotations.get(row, REAL))
        for chip in on:
            if int(unhealthy[node]) >> chip & 1:
                continue
            _add_chip(nodes, node, chip)
            if gone[row]:
                continue
            book(nodes, node, chip, template)
            nodes.unstable[node, chip] |= not confirmed
            number = (pods.annotations.get(row, REAL) or "").rpartition("_")[2]
            if template is not None and number.isascii() and number.isdigit():
                groups.setdefault((node, chip), set()).add(int(number))
        if template and template.startswith("vir") and not confirmed and not gone[row]:
            add_pending(nodes, node, template)
    for (node, chip), numbers in groups.items():
        nodes.groups[node, chip] = len(numbers)
    return nodes


def _column(cluster: Cluster, resource: str, name: str, absent: int) -> NDArray[np.int32]:
    columns = cluster.resources.get(resource)
    return np.full(cluster.size, absent, np.int32) if columns is None else getattr(columns, name)


def _lists(cluster: Cluster, types: list[str]) -> tuple[Flags, NDArray[np.uint64], NDArray[np.uint64]]:
    """For every node, of its own chip type: is there a free list; free chips; unhealthy chips."""
    listed = np.zeros(cluster.size, dtype=np.bool_)
    free, unhealthy = np.zeros(cluster.size, dtype=np.uint64), np.zeros(cluster.size, dtype=np.uint64)
    for kind in KINDS:
        columns = cluster.resources.get("huawei.com/" + kind)
        if columns is None:
            continue
        here = np.array([own == kind for own in types], dtype=np.bool_)
        listed |= here & (columns.list_length >= 0)
        free = np.where(here & ~columns.list_bad, columns.free, free)
        unhealthy = np.where(here, columns.unhealthy, unhealthy)
    return listed, free, unhealthy


def _cores_per_chip(server_type: str) -> int:
    """AI cores of a chip as the server type says, 0 if it does not."""
    parts = server_type.split("-")
    return int(parts[1]) if len(parts) > 1 and parts[1].isascii() and parts[1].isdigit() else 0


def _cpus_per_chip(kind: tuple[str, str, str], cores: int) -> int:
    return next((CHIP_SIZES[name, cores] for name in kind if (name, cores) in CHIP_SIZES), 0)


def parse_cut(text: str) -> tuple[tuple[int, ...], str | None]:
    """Chips and template of a pod's npu-core annotation; None = whole chips. No chips if it cannot be read."""
    parts = text.split(",")
    if any("-" not in part for part in parts):
        chips = [part for part in parts if part.isascii() and part.isdigit() and int(part) < 64]
        return tuple(int(part) for part in chips), None
    chip, _, template = text.partition("-")
    if "-" in template or not (chip.isascii() and chip.isdigit()) or int(chip) > 63:
        return (), None
    return (int(chip),), template


def _add_chip(nodes: VirtualNodes, node: int, chip: int) -> None:
    if not nodes.present[node, chip]:
        nodes.present[node, chip] = True
        nodes.cores[node, chip] = nodes.chip_cores[node]
        nodes.cpus[node, chip] = nodes.chip_cpus[node]


def book(nodes: VirtualNodes, node: int, chip: int, template: str | None, whole_shares_video: bool = False) -> None:
    """Count a pod on a chip: a template, or None for the whole chip. A template that the node does not know only marks
    the chip as cut. Whole chips leave the video units as they were, except for pods placed now."""
    if template is None:
        nodes.cores[node, chip] -= nodes.chip_cores[node]
        nodes.cpus[node, chip] -= nodes.chip_cpus[node]
        if whole_shares_video:
            nodes.video[node, chip] = max(int(nodes.video[node, chip]), VIDEO_SHARED)
        return
    nodes.cut[node, chip] = True
    known = TEMPLATES[KEYS[nodes.key[node]]].get(template) if nodes.key[node] != NONE else None
    if known is not None:
        nodes.cores[node, chip] -= known.cores
        nodes.cpus[node, chip] -= known.cpus
        nodes.video[node, chip] = max(int(nodes.video[node, chip]), VIDEO_USE[known.dvpp])


def add_pending(nodes: VirtualNodes, node: int, template: str) -> None:
    """Remember that a cut of the node is not confirmed yet. A template of unknown name counts as another one."""
    number = TEMPLATE_NAMES.index(template) if template in TEMPLATE_NAMES else SEVERAL
    before = int(nodes.pending[node])
    nodes.pending[node] = number if before in (NONE, number) else SEVERAL
