"""The search of chapter 22 §4.2 to §4.6 word by word, on linked vertices: slow, the yardstick for the real one."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field


@dataclass
class Vertex:
    """One vertex with the state of §4.2; `children` ascend by name."""

    name: str
    depth: int
    parent: Vertex | None = None
    children: list[Vertex] = field(default_factory=list)
    reserved: bool = False
    short: bool = False
    cap: int = 1
    frag: int = 0
    visited: bool = False
    buf: list[list[str]] = field(default_factory=list)

    def seen(self) -> list[Vertex]:
        return [c for c in self.children if not c.reserved and not c.short]


def build(paths: Iterable[tuple[str, ...]]) -> Vertex:
    """A tree from (top unit, ..., level1 unit, node) paths, all of one length."""
    root = Vertex("", 0)
    for path in sorted(paths):
        at = root
        for part in path:
            if not at.children or at.children[-1].name != part:
                at.children.append(Vertex(part, at.depth + 1, at))
            at = at.children[-1]
    return root


def search(root: Vertex, sizes: tuple[int, ...], reserve: int) -> tuple[list[str] | None, int, int]:
    """(nodes by slot or None, phase, root score)."""
    last = len(sizes) - 1

    def ratio(v: Vertex) -> int:
        return sizes[v.depth] // sizes[v.depth + 1]

    def init(v: Vertex) -> None:
        if v.depth == last:
            return
        for c in v.children:
            init(c)
        if v.depth == last - 1 and reserve:
            for c in v.children[max(0, len(v.children) - reserve) :]:
                c.reserved = True
            v.short = len(v.children) < reserve
        total = sum(c.cap for c in v.seen())
        v.cap = total // ratio(v)
        v.frag = total % ratio(v) * sizes[v.depth + 1] + 10 * sum(c.frag for c in v.seen())

    def emit(v: Vertex) -> list[str] | None:
        task = [v.name]
        while True:
            p = v.parent
            assert p is not None
            p.buf.append(task)
            if len(p.buf) < ratio(p):
                return None
            task = [name for part in p.buf for name in part]
            p.buf = []
            if p is root:
                return task
            v = p

    def walk(v: Vertex, quota: int) -> list[str] | None:
        if v.depth == last:
            v.visited = True
            return emit(v)
        need, later = quota * ratio(v), []
        for c in sorted((c for c in v.seen() if c.cap > 0), key=lambda c: (c.frag, c.cap, c.name)):
            if c.cap > need:
                later.append(c)
                continue
            done = walk(c, c.cap)
            if done is not None:
                return done
            need -= c.cap
            if need == 0:
                return None
        if later:
            return walk(min(later, key=lambda c: (c.cap, c.frag, c.name)), need)
        return None

    def level1(v: Vertex) -> list[Vertex]:
        return [v] if v.depth == last - 1 else [u for c in v.children for u in level1(c)]

    init(root)
    done = walk(root, 1)
    if done is not None:
        return done, 1, root.frag
    lanes: list[list[list[Vertex]]] = [[] for _ in range(reserve + 1)]
    for p in level1(root):
        left = [c for c in p.children if not c.visited]
        spares, others = [c for c in left if c.reserved], [c for c in left if not c.reserved]
        for j, spare in zip(range(len(spares), 0, -1), spares, strict=True):
            lanes[j].append([*others, spare] if j == len(spares) else [spare])
        if not spares:
            lanes[0].append(others)
    for lane in reversed(lanes):
        for group in lane:
            for node in group:
                node.visited = True
                done = emit(node)
                if done is not None:
                    return done, 2, root.frag
    return None, 2, root.frag
