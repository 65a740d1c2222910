"""Switch affinity straight from the pseudo-code of chapter 23, in plain lists: what the planners are compared with.

A leaf is a list of usable positions; a server is (leaf, position). Results are servers in rank order, or a text.
"""

from __future__ import annotations

from collections.abc import Sequence

Server = tuple[int, int]
Groups = list[list[Server]]
Answer = str | list[Server]


def ranked(groups: Groups, slices: Sequence[Sequence[int]]) -> list[Server]:
    """§8.1: each group by slice id."""
    return [server for group in groups for server in sorted(group, key=lambda s: slices[s[0]][s[1]])]


def first(leaf: int, positions: Sequence[int], count: int) -> list[Server]:
    return [(leaf, p) for p in positions[:count]]


def version_one(
    leaves: Sequence[Sequence[int]], width: int, pods: int, kind: str, blocked: Sequence[bool]
) -> str | Groups:
    """§5.2."""
    usable = [[] if shut and pods > len(leaf) else list(leaf) for leaf, shut in zip(leaves, blocked, strict=True)]
    free = [len(leaf) for leaf in usable]
    order = sorted(range(len(usable)), key=lambda i: -free[i])
    full = sum(f == width for f in free)
    if pods < width:
        for i in reversed(order):
            if free[i] >= pods:
                return [first(i, usable[i], pods)]
        if kind == "filler":
            return "tor check failed not enough resource for job"
    failure = "taskRow and taskColumn is illegal"
    if width > 0:
        failure = "logicTor is illegal"
        rows, c = -(-pods // width), (pods - 1) % width
        if rows <= full:
            whole = [first(i, usable[i], width) for i in order[: rows - 1]]
            return [*whole, first(order[rows - 1], usable[order[rows - 1]], c + 1)]
        columns = [[(i, p) for i in order if p in usable[i]] for p in range(width)]
        columns.sort(key=lambda column: -len(column))
        if width <= 128 and len(columns[c]) >= rows and (rows == 1 or len(columns[width - 1]) >= rows - 1):
            table = [[column[k] for column in columns if len(column) > k] for k in range(len(columns[0]))]
            if rows == 1 and c != width - 1:
                return [next(row for row in reversed(table) if len(row) >= pods)[:pods]]
            return [*table[: rows - 1], table[rows - 1][: c + 1]]
    if kind != "normal":
        return failure
    groups: Groups = []
    for i in order:
        rest = pods - sum(map(len, groups))
        if rest and usable[i]:
            groups.append(first(i, usable[i], rest))
    return groups if sum(map(len, groups)) == pods else failure


def room(free: Sequence[int], limit: int) -> int:
    """cap_sh of §6.1."""
    return 0 if not free or limit <= 0 else sum(sorted(free, reverse=True)[:limit])


class Leaves:
    """Leaves with states, as §6 and §9.2 change them."""

    def __init__(self, leaves: Sequence[Sequence[int]], states: Sequence[tuple[int, int]]) -> None:
        self.usable = [list(leaf) for leaf in leaves]
        self.free = [len(leaf) for leaf in leaves]
        self.states = list(states)
        self.groups: Groups = []

    def of(self, state: tuple[int, int], direction: int, used: Sequence[bool] | None = None) -> list[int]:
        found = [i for i, s in enumerate(self.states) if s == state and not (used and used[i])]
        return sorted(found, key=lambda i: direction * self.free[i])

    def take(self, leaf: int, count: int, state: tuple[int, int] | None = None) -> None:
        self.groups.append(first(leaf, self.usable[leaf], count))
        if state is not None:
            self.states[leaf] = state

    def fill(self, order: Sequence[int], pods: int) -> tuple[int, int | None]:
        """Step 3."""
        for i in order:
            if not self.free[i]:
                continue
            if pods < self.free[i]:
                return pods, i
            self.take(i, self.free[i], (2, 0))
            pods -= self.free[i]
        return pods, None

    def reuse(self, shared: Sequence[int], rest: int, limit: int) -> None:
        """Step 4, shared leaves that are there."""
        if limit == 1:
            self.take(next(i for i in shared if self.free[i] >= rest), rest)
        elif len(shared) == 1:
            self.take(shared[0], rest)
        else:
            k = next(k for k in range(len(shared) - 1) if self.free[shared[k]] + self.free[shared[k + 1]] >= rest)
            here = min(rest, self.free[shared[k]])
            self.take(shared[k], self.free[shared[k]])  # all of them are listed, then sorted
            if rest > here:
                self.take(shared[k + 1], rest - here)


def version_two(
    leaves: Sequence[Sequence[int]],
    states: Sequence[tuple[int, int]],
    width: int,
    limit: int,
    pods: int,
    kind: str,
    protected: Sequence[bool],
) -> tuple[str | Groups, list[tuple[int, int]]]:
    """§6.1: groups or a text, and the states after it."""
    world, before = Leaves(leaves, states), list(states)
    if pods < width:
        for state in ((2, 0), (1, 1), (1, 0), (0, 0)):
            for i in world.of(state, 1):
                if world.free[i] >= pods:
                    world.take(i, pods)
                    return world.groups, before
        if kind == "filler":
            return "tor check failed not enough resource for fill job", before
    shared = world.of((1, 0), 1)
    if pods > sum(world.free[i] for i in world.of((0, 0), 1)) + room([world.free[i] for i in shared], limit):
        if kind != "normal":
            return "set tor failed by not enough nodes", before
        return overflow(world, pods, protected, before)
    rest, partial = world.fill(world.of((0, 0), -1), pods)
    if rest:
        if partial is None or rest <= room([world.free[i] for i in shared], limit):
            world.reuse(shared, rest, limit)
        else:
            world.take(partial, rest, (1, 0))
    return world.groups, world.states


def overflow(
    world: Leaves, pods: int, protected: Sequence[bool], before: list[tuple[int, int]]
) -> tuple[str | Groups, list[tuple[int, int]]]:
    later = [
        *world.of((1, 1), 1),
        *(i for i in world.of((1, 0), 1) if not protected[i]),
        *(i for i in world.of((2, 0), 1) if not protected[i]),
    ]
    rest = pods
    for i in world.of((0, 0), -1):
        if world.free[i]:
            world.take(i, world.free[i], (2, 0))
            rest -= world.free[i]
    for i in later:
        if rest and world.free[i]:
            count = min(rest, world.free[i])
            world.take(i, count, (1, 1))
            rest -= count
    return ("not enough node for normal job to schedule", before) if rest else (world.groups, world.states)


def single_layer(leaves: Sequence[Sequence[int]], width: int, pods: int) -> str | Groups:
    """§7."""
    if pods > width:
        return "job's task number is bigger than torCount"
    order = sorted(range(len(leaves)), key=lambda i: -len(leaves[i]))
    for i in reversed(order):
        if len(leaves[i]) >= pods:
            return [first(i, leaves[i], pods)]
    return "tor check failed not enough resource for job"


def restart_two(
    leaves: Sequence[Sequence[int]],
    states: Sequence[tuple[int, int]],
    bound: Sequence[int],
    limit: int,
    lost: int,
    kind: str,
    slices: Sequence[Sequence[int]],
) -> tuple[Answer, list[tuple[int, int]]]:
    """§9.2 for a recorded order of candidates: servers from best to worst, and the states after it. `bound` counts the
    remaining pods of each leaf; `leaves` hold what the predicate left over."""
    world, before, used = Leaves(leaves, states), list(states), [count > 0 for count in bound]
    mine = [i for i, there in enumerate(used) if there]
    add = limit - sum(states[i][0] == 1 for i in mine)
    if add < 0:
        return "shared tor num is over global shared tor num", before
    available = sum(world.free[i] for i in mine)
    if lost <= available:
        for i in mine:
            if states[i][0] == 0:
                shared = add > 0 and world.free[i] > bound[i] + 1
                world.states[i] = (1 if shared else 2, states[i][1])
                add -= shared
    else:
        if kind == "filler":
            return "not enough tor for fill job restart", before
        need, idle = lost - available, world.of((0, 0), 1, used)
        open_shared = [world.free[i] for i in world.of((1, 0), 1, used)]
        if sum(world.free[i] for i in idle) + room(open_shared, add) < need:
            return "not enough tor for job restart", before
        for i in mine:
            if states[i][0] == 0:
                world.states[i] = (2, states[i][1])
        rest, partial = world.fill(idle, need)
        if rest:
            if partial is None or rest <= room(open_shared, add):
                world.reuse(world.of((1, 0), 1, used), rest, add)
            else:
                world.take(partial, rest, (1 if add > 0 else 2, 0))
    listed = [(i, p, False) for i in mine for p in world.usable[i]]
    listed += [(i, p, True) for group in world.groups for i, p in group]
    listed.sort(key=lambda s: (world.states[s[0]][0] == 1, s[2], s[0], slices[s[0]][s[1]]))
    return [(i, p) for i, p, _ in listed], world.states
