"""Recovery of a multi-level job by chapter 22 §6.4, §6.5 and §8.7, word by word, on top of the plain search."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from tests.engine.policies.plain_search import build, search

Path = tuple[str, ...]


def recover(
    trees: Mapping[str, tuple[Mapping[str, Path], int]],
    sizes: tuple[int, ...],
    former: Sequence[str],
    free: set[str],
    releasable: set[str],
    lost: Sequence[int],
    limit: int,
) -> list[str] | None:
    """Nodes by rank. `trees`: by name, in order, (node -> units from the top level down, R). `former` nodes by rank;
    `free` candidates; `releasable` nodes that are candidates once the job gives them up."""
    gone = set(lost)
    while True:
        found = attempt(trees, sizes, former, free, releasable, gone)
        if found is not None:
            return found
        parts = largest(sizes, gone)
        levels = max(len(sizes) - depth for depth, _ in parts)
        wider = gone | {rank for depth, first in parts for rank in task(sizes, max(depth - 1, 0), first)}
        if levels > limit or wider == gone:
            return None
        gone = wider


def task(sizes: tuple[int, ...], depth: int, rank: int) -> range:
    first = rank - rank % sizes[depth]
    return range(first, first + sizes[depth])


def largest(sizes: tuple[int, ...], gone: set[int]) -> list[tuple[int, int]]:
    """(depth, first rank) of the largest fully lost tasks, by ascending rank."""
    left, found = set(gone), []
    for rank in sorted(gone):
        if rank in left:
            depth = next(d for d in range(len(sizes)) if set(task(sizes, d, rank)) <= left)
            left -= set(task(sizes, depth, rank))
            found.append((depth, task(sizes, depth, rank)[0]))
    return found


def attempt(
    trees: Mapping[str, tuple[Mapping[str, Path], int]],
    sizes: tuple[int, ...],
    former: Sequence[str],
    free: set[str],
    releasable: set[str],
    gone: set[int],
) -> list[str] | None:
    levels = len(sizes) - 2
    available = (free - set(former)) | {former[rank] for rank in gone if former[rank] in releasable}
    home, reserve = next((paths, r) for paths, r in trees.values() if former[0] in paths)
    trimmed = {node: path[len(path) - levels :] for node, path in home.items()}
    placed = list(former)
    for depth, first in largest(sizes, gone):
        if depth == 0:
            return order(best(trees, sizes, available), former, sizes[-2])
        above = {trimmed[former[rank]][: depth - 1] for rank in task(sizes, depth - 1, first)}
        assert len(above) == 1
        (unit,) = above
        below = [(*trimmed[n][depth - 1 :], n) for n in available if n in trimmed and trimmed[n][: depth - 1] == unit]
        part, _, _ = search(build(below), (sizes[depth], *sizes[depth:]), reserve)
        if part is None:
            return None
        placed[first : first + len(part)] = part
        available -= set(part)
    return order(placed, former, sizes[-2])


def best(
    trees: Mapping[str, tuple[Mapping[str, Path], int]], sizes: tuple[int, ...], available: set[str]
) -> list[str] | None:
    """The whole job on the tree with the smallest score, first name on ties (§4.7)."""
    levels, solved = len(sizes) - 2, []
    for paths, reserve in trees.values():
        if len(next(iter(paths.values()))) >= levels:
            below = [(*paths[node][len(paths[node]) - levels :], node) for node in available if node in paths]
            found, _, score = search(build(below), sizes, reserve)
            if found is not None:
                solved.append((score, found))
    return min(solved, key=lambda pair: pair[0])[1] if solved else None


def order(slots: list[str] | None, former: Sequence[str], size: int) -> list[str] | None:
    """§5.1 nos. 3 and 4."""
    if slots is None:
        return None
    result: list[str] = []
    for begin in range(0, len(slots), size):
        group, before = slots[begin : begin + size], former[begin : begin + size]
        new = iter(sorted(node for node in group if node not in before))
        result += [node if node in group else next(new) for node in before]
    return result
