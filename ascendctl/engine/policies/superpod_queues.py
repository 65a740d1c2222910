"""Which SuperPoD gives how many nodes to which logical SuperPoD: the bucket table and its queues (chapter 20 §6).

Everything here works on counts: SuperPoD i (in ascending id) has `free[i]` candidate nodes. Nodes are picked later,
because which node of a SuperPoD is taken never changes a count.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class Shape:
    """What the queues know of a job and the cluster, in nodes: `size` of a logical SuperPoD (S), `reserve` to leave in
    a SuperPoD (R), `limit` nodes of a SuperPoD (Z). `soft` allows fragments; `atlas_850` selects the variant of
    chapter 20 §10."""

    size: int
    reserve: int
    limit: int
    soft: bool = False
    atlas_850: bool = False


@dataclass(frozen=True, slots=True)
class Block:
    """One visit that took nodes: `count` nodes of SuperPoD number `superpod` became logical SuperPoD `lsp`. `stage` is
    the queue (1a, 1b, 2, 3, mindie, infer), `before` the SuperPoD's nodes left until then, row and column its cell."""

    lsp: int
    superpod: int
    count: int
    stage: str
    before: int
    row: int = -1
    column: int = -1


@dataclass(frozen=True, slots=True)
class Buckets:
    """The table of chapter 20 §6.2. `cells`: (row, column) -> SuperPoD numbers in ascending order; cells are never
    recomputed. `whole` counts the logical SuperPoDs that fit if no reserve is kept (V). `oversized` is the first
    SuperPoD that does not fit the table, -1 if all do."""

    cells: dict[tuple[int, int], list[int]]
    whole: int
    oversized: int = -1


@dataclass(slots=True)
class _Run:
    """The queues at work: nodes left by SuperPoD, blocks taken, ids to hand out (lowest first)."""

    left: list[int]
    size: int
    ids: list[int]
    next_id: int = 0
    blocks: list[Block] = field(default_factory=list)

    @property
    def missing(self) -> int:
        return len(self.ids) - self.next_id

    def take(self, superpod: int, lsp: int, stage: str, cell: tuple[int, int]) -> int:
        before = self.left[superpod]
        count = min(self.size, before)
        self.left[superpod] = before - count
        self.blocks.append(Block(lsp, superpod, count, stage, before, *cell))
        return count

    def take_next(self, superpod: int, stage: str, cell: tuple[int, int]) -> None:
        self.take(superpod, self.ids[self.next_id], stage, cell)
        self.next_id += 1


def cell_of(free: int, shape: Shape) -> tuple[int, int]:
    """Row and column of a SuperPoD with `free` candidate nodes."""
    above = free - shape.reserve
    return (above % shape.size, above // shape.size) if above >= 0 else (free % shape.size, 0)


def classify(free: Sequence[int], shape: Shape) -> Buckets:
    """File every SuperPoD into its cell. A hard job leaves out those with fewer than S nodes."""
    cells: dict[tuple[int, int], list[int]] = {}
    whole = 0
    columns = shape.limit // shape.size + 1
    for superpod, count in enumerate(free):
        if count < shape.size and not shape.soft:
            continue
        whole += count // shape.size
        cell = cell_of(count, shape)
        if cell[1] >= columns or (shape.atlas_850 and count > shape.limit):
            return Buckets(cells, whole, superpod)
        cells.setdefault(cell, []).append(superpod)
    return Buckets(cells, whole)


def run_queues(
    free: Sequence[int], buckets: Buckets, shape: Shape, unready: Sequence[int], known: Collection[int], need: int
) -> list[Block]:
    """The blocks in the order taken.

    `unready`: ids still to place, ascending; `known`: all ids of the job (ready ones too), new ones start at their
    number; `need`: nodes still missing. The result may cover fewer nodes: the caller checks (chapter 20 §6.7).
    """
    cells = {cell: list(members) for cell, members in buckets.cells.items()}
    run = _Run(list(free), shape.size, list(unready))
    _keep_reserve(run, cells, shape)
    _eat_reserve(run, cells)
    need -= sum(block.count for block in run.blocks)
    if unready or not shape.atlas_850:
        _fragments(run, cells, shape, known, need)
    return run.blocks


def _keep_reserve(run: _Run, cells: dict[tuple[int, int], list[int]], shape: Shape) -> None:
    """Queue 1: SuperPoDs that keep R nodes; first those that can be used up (1a), then one that is larger (1b)."""

    def drain(cell: tuple[int, int], stage: str) -> None:
        for superpod in cells[cell]:
            while run.missing > 0 and run.left[superpod] - shape.reserve >= shape.size:
                run.take_next(superpod, stage, cell)

    for cell in sorted(cell for cell in cells if cell[1] >= 1):
        if cell[1] <= run.missing:  # read live: one block less excludes a column of the same row
            drain(cell, "1a")
    first = run.missing + 1
    for cell in sorted((cell for cell in cells if cell[1] >= first), key=lambda cell: (cell[1], cell[0])):
        drain(cell, "1b")


def _eat_reserve(run: _Run, cells: dict[tuple[int, int], list[int]]) -> None:
    """Queue 2: one block from each SuperPoD that still has S nodes, highest row of the original table first."""
    for cell in sorted(cells, key=lambda cell: (-cell[0], cell[1])):
        if run.missing == 0:
            return
        cells[cell].sort(key=lambda superpod: -run.left[superpod])
        for superpod in cells[cell]:
            if run.missing > 0 and run.left[superpod] >= run.size:
                run.take_next(superpod, "2", cell)


def _fragments(
    run: _Run, cells: dict[tuple[int, int], list[int]], shape: Shape, known: Collection[int], need: int
) -> None:
    """Queue 3: up to S nodes from each SuperPoD; rows from R on descending, then the rows below R ascending."""
    used = set(known)
    fresh = len(used)

    def next_id() -> int:
        nonlocal fresh
        if run.missing > 0:
            run.next_id += 1
            return run.ids[run.next_id - 1]
        while fresh in used:
            fresh += 1
        used.add(fresh)
        return fresh

    reserve = shape.reserve
    for cell in sorted(
        cells, key=lambda cell: (cell[0] < reserve, cell[0] if cell[0] < reserve else -cell[0], cell[1])
    ):
        if need <= 0:
            return
        cells[cell].sort(key=lambda superpod: -run.left[superpod])
        for superpod in cells[cell]:
            if need <= 0 or run.left[superpod] == 0:
                break
            lsp = next_id()
            if shape.atlas_850 and not shape.soft and run.left[superpod] < shape.size:
                continue  # Atlas 850 refuses the fragment, but the id is spent
            need -= run.take(superpod, lsp, "3", cell)
