"""Volcano HyperNode objects, read and checked (chapter 22 §7.1), and as a tree of node labels (§7.5)."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ascendctl.snapshot.cluster import Cluster
from ascendctl.snapshot.columns import StringColumn, StringTable, distinct
from ascendctl.snapshot.config import TreeLevel
from ascendctl.snapshot.selectors import requirements, selected_rows
from ascendctl.topology.levels import MAX_LEVELS, TREE_LABEL, LevelProblem

KIND, GROUP = "HyperNode", "topology.volcano.sh/"
ROOT = "<cluster-top-hypernode>"
TIER_LABEL = "hypernode.tier-"

MAX_NAME = 253
MAX_REPEATED, MAX_OPTIONAL = 4, 8
_DNS = re.compile(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*")
_ATOM = re.compile(r"\\.|\[\^?\]?(?:\\.|[^\]\\])*\]|\(\?[a-zA-Z-]*:|\(|\)|\{\d*,?\d*\}|.", re.DOTALL)
_BOUNDS = re.compile(r"\{(?:\d*,\d*|\d+)\}")


class HyperNodeError(ValueError):
    """The HyperNodes are no forest, so Volcano takes none of them, or there are none. `message` says which are at
    fault, `code` is ML-H01 (none that is valid), ML-H02, ML-H03, or "" (none at all)."""

    def __init__(self, message: str, code: str = "") -> None:
        super().__init__(f"{code}: {message}" if code in ("ML-H02", "ML-H03") else message)
        self.message = message
        self.code = code


@dataclass(frozen=True)
class Member:
    """One entry of spec.members; exactly one of `name`, `pattern`, `labels` (a label selector) is set."""

    kind: str
    name: str = ""
    pattern: str = ""
    labels: Mapping[str, Any] | None = None


@dataclass(frozen=True)
class HyperNode:
    """One object: a smaller tier is a faster network."""

    name: str
    tier: int
    tier_name: str
    members: tuple[Member, ...]


@dataclass(frozen=True)
class HyperNodes:
    """The forest. `nodes` maps each name, in name order, to the snapshot nodes that it lists itself (sorted indices);
    `parents` a HyperNode to the one that lists it; `problems` ML-H01, H04 to H07."""

    items: Mapping[str, HyperNode]
    nodes: Mapping[str, NDArray[np.int64]]
    parents: Mapping[str, str]
    problems: tuple[LevelProblem, ...] = ()

    @cached_property
    def children(self) -> Mapping[str, list[str]]:
        """HyperNode -> those that it lists; none for the lowest."""
        found: dict[str, list[str]] = {}
        for child, parent in self.parents.items():
            found.setdefault(parent, []).append(child)
        return found

    @property
    def tiers(self) -> tuple[int, ...]:
        """Distinct tiers, ascending: tier i of the list is level i+1."""
        return tuple(sorted({item.tier for item in self.items.values()}))

    def tier_of(self, tier_name: str) -> int | None:
        """The tier of a tier name, None if no HyperNode has it."""
        return next((item.tier for item in self.items.values() if item.tier_name == tier_name), None)

    def all_nodes(self, name: str) -> NDArray[np.int64]:
        """Sorted indices of the nodes below a HyperNode."""
        below = [name]
        for at in below:
            below += self.children.get(at, ())
        return distinct(np.concatenate([self.nodes[at] for at in below]))


def read_hypernodes(objects: Iterable[Mapping[str, Any]]) -> tuple[tuple[HyperNode, ...], tuple[LevelProblem, ...]]:
    """HyperNodes among some objects, in name order, and ML-H01 for those that the API server would refuse. Of two
    objects of one name the last counts."""
    found: dict[str, HyperNode] = {}
    problems: list[LevelProblem] = []
    for value in objects:
        if value.get("kind") != KIND or not str(value.get("apiVersion") or "").startswith(GROUP):
            continue
        meta = value.get("metadata")
        name = meta.get("name") if isinstance(meta, Mapping) else None
        try:
            item = _hypernode(name, value.get("spec"))
        except ValueError as error:
            problems.append(LevelProblem("ML-H01", "error", f"HyperNode {name}: {error}"))
        else:
            found[item.name] = item
    return tuple(found[name] for name in sorted(found)), tuple(problems)


def _hypernode(name: Any, spec: Any) -> HyperNode:
    if not isinstance(name, str) or not name or len(name) > MAX_NAME:
        raise ValueError("metadata.name is missing or too long")
    if not isinstance(spec, Mapping):
        raise ValueError("spec is missing")
    tier, tier_name, members = spec.get("tier"), spec.get("tierName", ""), spec.get("members")
    if isinstance(tier, bool) or not isinstance(tier, int) or tier < 0:
        raise ValueError("spec.tier must be a whole number from 0")
    if not isinstance(tier_name, str) or len(tier_name) > MAX_NAME:
        raise ValueError(f"spec.tierName must be a text of at most {MAX_NAME} characters")
    if not isinstance(members, Sequence) or isinstance(members, str) or not members:
        raise ValueError("member must have at least one member")
    return HyperNode(name, tier, tier_name, tuple(_member(entry, i) for i, entry in enumerate(members)))


def _member(entry: Any, number: int) -> Member:
    where = f"spec.members[{number}]"
    kind = entry.get("type") if isinstance(entry, Mapping) else None
    if kind not in ("Node", KIND):
        raise ValueError(f"{where}.type must be Node or HyperNode")
    selector = entry.get("selector")
    fields = selector if isinstance(selector, Mapping) else {}
    given = [key for key in ("exactMatch", "regexMatch", "labelMatch") if fields.get(key) is not None]
    if len(given) != 1 or not isinstance(fields[given[0]], Mapping):
        raise ValueError(f"{where}.selector needs exactly one of exactMatch, regexMatch, labelMatch")
    body = fields[given[0]]
    if given[0] == "labelMatch":
        return Member(kind, labels=body)
    text = body.get("name" if given[0] == "exactMatch" else "pattern")
    if not isinstance(text, str) or not text:
        raise ValueError(f"{where}.selector.{given[0]} is empty")
    if given[0] == "regexMatch":
        compile_pattern(text)
        return Member(kind, pattern=text)
    if len(text) > MAX_NAME or not _DNS.fullmatch(text):
        raise ValueError(f"{where}: {text!r} is no name of an object")
    return Member(kind, name=text)


def compile_pattern(pattern: str) -> re.Pattern[str]:
    """A regexMatch pattern. Raises ValueError for what Go's regexp does not know, and for patterns that could keep
    this program busy forever: repetitions of repetitions or of alternatives, or too many repetitions."""
    if re.search(r"\(\?(?:[=!#(]|<[=!])|\\[1-9]", pattern):
        raise ValueError(f"pattern {pattern!r} has look-around or back-references")
    branching = [False]  # whether the open group at each depth repeats or branches
    repeated, optional, just_closed = 0, 0, False
    for atom in _ATOM.findall(pattern):
        if atom.startswith("("):
            branching.append(False)
        elif atom == ")" and len(branching) > 1:
            just_closed = branching.pop()
            branching[-1] |= just_closed
            continue
        elif atom in ("*", "+", "?", "|") or _BOUNDS.fullmatch(atom):
            repeated += atom not in ("?", "|")
            optional += atom == "?"
            if (just_closed and atom != "|") or repeated > MAX_REPEATED or optional > MAX_OPTIONAL:
                raise ValueError(f"pattern {pattern!r} repeats too much to be tried here, list the names instead")
            branching[-1] = True
        just_closed = False
    try:
        return re.compile(pattern, re.ASCII)
    except (re.error, OverflowError) as error:
        raise ValueError(f"pattern {pattern!r} is no regular expression: {error}") from None


def resolve(items: Sequence[HyperNode], cluster: Cluster) -> HyperNodes:
    """Find the members. Raises HyperNodeError where Volcano drops the whole topology: two parents (ML-H02), a cycle
    (ML-H03)."""
    by_name = {item.name: item for item in items}
    nodes: dict[str, NDArray[np.int64]] = {}
    parents: dict[str, str] = {}
    problems: list[LevelProblem] = []
    for item in items:
        listed = np.zeros(cluster.size, dtype=np.bool_)
        for member in item.members:
            if member.kind == "Node":
                listed |= _matching(member, cluster, item.name, problems)
            elif member.name and member.name not in by_name:
                problems.append(_warning("ML-H05", f"HyperNode {item.name}: its member {member.name} does not exist"))
            elif member.name and parents.setdefault(member.name, item.name) != item.name:
                first = parents[member.name]
                text = f"HyperNode {member.name} already has a parent {first}, not also {item.name}"
                raise HyperNodeError(text, "ML-H02")
        nodes[item.name] = np.flatnonzero(listed)
    checked: set[str] = set()
    for name in by_name:
        path: dict[str, None] = {}
        at: str | None = name
        while at is not None and at not in checked:
            if at in path:
                raise HyperNodeError(f"cyclic dependency detected: {' -> '.join([*list(path)[:20], at])}", "ML-H03")
            path[at] = None
            at = parents.get(at)
        checked.update(path)
    for child, parent in sorted(parents.items()):
        tiers = by_name[child].tier, by_name[parent].tier
        if tiers[0] >= tiers[1]:
            text = f"HyperNode {child} has tier {tiers[0]}, not below tier {tiers[1]} of its parent {parent}"
            problems.append(_warning("ML-H04", text))
    return HyperNodes(by_name, nodes, parents, tuple(problems))


def _warning(code: str, text: str) -> LevelProblem:
    return LevelProblem(code, "warning", text)


def _matching(member: Member, cluster: Cluster, owner: str, problems: list[LevelProblem]) -> NDArray[np.bool_]:
    found = np.zeros(cluster.size, dtype=np.bool_)
    if member.name:
        if member.name in cluster.index:
            found[cluster.index[member.name]] = True
        else:
            problems.append(_warning("ML-H05", f"HyperNode {owner}: node {member.name} is not in the snapshot"))
    elif member.pattern:
        search = compile_pattern(member.pattern).search
        found[[i for i, name in enumerate(cluster.names) if search(name)]] = True
    elif requirements(member.labels):  # an empty selector matches no node here
        found = selected_rows(member.labels, cluster.labels.column, cluster.size)
    return found


def hypernode_cluster(cluster: Cluster, reserve: int = 0) -> tuple[Cluster, tuple[LevelProblem, ...]]:
    """The snapshot with the HyperNodes that it holds as its only tree; and all problems found on the way.

    Raises HyperNodeError if it holds no valid one, or if Volcano would take none of them.
    """
    items, refused = read_hypernodes(cluster.hypernodes)
    if not items:
        why = f": {refused[0].message}" if refused else ", export them: kubectl get hypernodes -o json"
        raise HyperNodeError(f"the snapshot holds no HyperNode{why}", "ML-H01" if refused else "")
    forest = resolve(items, cluster)
    found, problems = overlay(cluster, forest, reserve)
    return found, (*refused, *forest.problems, *problems)


def overlay(cluster: Cluster, forest: HyperNodes, reserve: int = 0) -> tuple[Cluster, tuple[LevelProblem, ...]]:
    """The snapshot with the HyperNodes as its only tree, one level a tier, `reserve` spare nodes per level-1 unit; and
    ML-H06, ML-H07. The tree's labels are of this program's making: `hypernode.tier-N`."""
    problems = _shared(forest, cluster)
    if len(forest.tiers) > MAX_LEVELS:
        text = f"the HyperNodes have {len(forest.tiers)} tiers, trees of more than {MAX_LEVELS} levels are not safe"
        problems.append(LevelProblem("ML-C09", "error", text))
    owner: list[str | None] = [None] * cluster.size
    for name in sorted(forest.items, key=lambda name: (forest.items[name].tier, name)):
        for node in forest.nodes[name].tolist():
            owner[node] = owner[node] or name
    offering = cluster.has_npus.tolist()  # nobody misses the control plane
    outside = [cluster.names[i] for i, own in enumerate(owner) if own is None and offering[i]]
    if outside:
        text = f"nodes in no HyperNode are left out: {len(outside)}, such as {outside[0]}"
        problems.append(_warning("ML-H07", text))
    chains = {name: _chain(forest, name) for name in set(owner) - {None} if name is not None}
    columns = dict(cluster.labels.columns)
    for tier in forest.tiers:
        units = [
            None if own is None else _unit(chains[own], tier) or node
            for node, own in zip(cluster.names, owner, strict=True)
        ]
        columns[TIER_LABEL + str(tier)] = _column(units)
    columns[TREE_LABEL] = _column([None if own is None else ROOT for own in owner])
    levels = tuple(
        TreeLevel(f"level{i}", TIER_LABEL + str(tier), reserve if i == 1 else 0)
        for i, tier in enumerate(forest.tiers, 1)
    )
    config = replace(cluster.config, resource_levels={ROOT: levels} if levels else {})
    return replace(cluster, labels=StringTable(cluster.size, columns), config=config), tuple(problems)


def _shared(forest: HyperNodes, cluster: Cluster) -> list[LevelProblem]:
    """ML-H06 for each tier."""
    problems = []
    for tier in forest.tiers:
        first: dict[int, str] = {}
        for name in (name for name, item in forest.items.items() if item.tier == tier):
            for node in forest.all_nodes(name).tolist():
                if first.setdefault(node, name) != name:
                    text = f"node {cluster.names[node]} is in {first[node]} and in {name}, both of tier {tier}"
                    problems.append(_warning("ML-H06", text))
                    break
    return problems


def _chain(forest: HyperNodes, name: str) -> list[HyperNode]:
    """A HyperNode and those around it, tiers ascending; one whose tier is not above the last is passed over."""
    chain = [forest.items[name]]
    above = forest.parents.get(name)
    while above is not None:
        if forest.items[above].tier > chain[-1].tier:
            chain.append(forest.items[above])
        above = forest.parents.get(above)
    return chain


def _unit(chain: Sequence[HyperNode], tier: int) -> str:
    """Unit of a tier: the HyperNode of that tier, else the nearest below it; "" = none, the node stands for itself."""
    return next((item.name for item in reversed(chain) if item.tier <= tier), "")


def _column(values: Sequence[str | None]) -> StringColumn:
    pool: dict[str, int] = {}
    codes = [-1 if value is None else pool.setdefault(value, len(pool)) for value in values]
    return StringColumn(np.array(codes, dtype=np.int32), tuple(pool))
