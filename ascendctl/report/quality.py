"""Network quality of a placement for people (chapter 50 §7)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from ascendctl.ranks.groups import TIER_NAMES
from ascendctl.report.text import paint, printable, ranges, some, table
from ascendctl.wording import counted

_STYLES = {"OK": "green", "WARN": "yellow", "BAD": "red", "FAIL": "red"}


def render(metrics: Mapping[str, Any], color: bool = False) -> str:
    """The block that `ascendctl place --metrics` prints below the pods; "" without such metrics."""
    network = metrics.get("network")
    if not network:
        return ""
    rows = [*_cuts(network), *_leaves(network), *_fragment(metrics.get("fragment") or {})]
    text = "\nNetwork\n" + _indented(table(rows, ()))
    parallel = network.get("parallel")
    if parallel:
        text += "\n\nParallel groups\n" + _indented(_groups(parallel)) + "\n" + _indented(_verdict(parallel, color))
    return text


def _indented(text: str) -> str:
    return "\n".join("  " + line for line in text.splitlines())


def _cuts(network: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    visible, physical = network["visible"], network.get("physical")
    yield "HCCL sees", visible["grouping"]
    if physical:
        spread = ", ".join(f"{one['id']}: {one['servers']}" for one in physical["superPods"][:12])
        more = f", ... {len(physical['superPods'])} in all" if len(physical["superPods"]) > 12 else ""
        yield "Servers by SuperPoD", f"{spread}{more}; greatest common divisor {physical['commonDivisor']}"
    if physical and _reach(physical) != _reach(visible):
        yield "NHR-HCF on these", _reach(physical)
    if visible["superPods"]:
        yield "NHR-HCF on what HCCL sees", _reach(visible)
    if physical:
        yield "RoCE inside a SuperPoD", _split(network["roceInsideSuperPod"], visible["lostPairs"])
    if network.get("ubClaimedAcross"):
        claims = some([str(one) for one in network["ubClaimedAcross"]])
        yield "Wrong", f"logical SuperPoD {claims} spans SuperPoDs: HCCL would use UB that does not exist"
    if physical:
        yield "Ranks", _contiguity(network)


def _reach(one: Mapping[str, Any]) -> str:
    units = f"{counted(one['logicalSuperPods'], 'logical SuperPoD')} of {one['commonDivisor']}"
    return (
        f"{units}; UB reaches {one['ubPairs']} of {one['pairs']} pairs of servers "
        f"({one['ubReach']:.1%}), {one['ringCrossings']} crossings on the ring of ranks"
    )


def _split(split: Sequence[Mapping[str, Any]], lost: int) -> str:
    if not split:
        return "none" if lost <= 0 else f"{lost} pairs of servers"
    parts = []
    for one in split[:4]:
        runs = " | ".join(ranges(ranks) for ranks in one["ranks"][:6]) + (" | ..." if len(one["ranks"]) > 6 else "")
        parts.append(f"SuperPoD {one['superPod']}: ranks {runs}")
    more = f" (+{len(split) - 4} SuperPoDs)" if len(split) > 4 else ""
    return f"{lost} pairs of servers; {'; '.join(parts)}{more}"


def _contiguity(network: Mapping[str, Any]) -> str:
    if network["ranksContiguous"]:
        return "follow each other in every SuperPoD"
    broken = network.get("physical", {}).get("brokenSuperPods") or []
    where = f" in SuperPoD {some([str(one) for one in broken])}" if broken else ""
    order = network.get("contiguousOrder")
    better = f"; in the order {some([str(rank) for rank in order], 32)} they would" if order else ""
    return f"do not follow each other{where}{better}"


def _leaves(network: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    leaves = network.get("leaves")
    if leaves:
        shown = some([f"{printable(ip)}: {count}" for ip, count in leaves["switches"].items()], 8)
        unknown = f"; {leaves['unknown']} below no known switch" if leaves["unknown"] else ""
        yield "Servers by leaf switch", f"{shown}{unknown}"
        yield "Pairs below one leaf", f"{leaves['pairsBelowOneLeaf']} ({leaves['share']:.1%})"


def _fragment(found: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    if "before" in found and "after" in found:
        before, after = found["before"], found["after"]
        yield (
            "Article fragment score",
            f"{before['norm']:.4f} before, {after['norm']:.4f} after ({printable(found['of'])}; 1 = every touched "
            "unit is full)",
        )


def _groups(parallel: Mapping[str, Any]) -> str:
    rows = [
        (
            name,
            parallel["sizes"][name],
            sum(counts.values()),
            f"{parallel['worst'][name]} {TIER_NAMES[parallel['worst'][name]]}",
            ", ".join(f"{count} {tier}" for tier, count in counts.items()),
        )
        for name, counts in parallel["groups"].items()
    ]
    return table(rows, ("DIM", "SIZE", "GROUPS", "WORST LINK", "GROUPS BY LINK"))


def _verdict(parallel: Mapping[str, Any], color: bool) -> str:
    word = paint(parallel["verdict"], _STYLES[parallel["verdict"]], color)
    inferred = f"; dp {parallel['sizes'].get('dp', 1)} fills the job" if parallel["dpInferred"] else ""
    verdict = (
        f"{word}: {parallel['heavy']:.1%} of the tp, cp, ep groups and {parallel['light']:.1%} of the dp, pp groups "
        f"leave UB{inferred}"
    )
    return verdict + _sizing(parallel.get("spBlock") or {})


def _sizing(block: Mapping[str, int]) -> str:
    if not block:
        return ""
    text = f"\nsp-block {block['smallest']} is the smallest that keeps each tp, cp, ep group in one logical SuperPoD"
    best = block["recommended"]
    return text + (
        f"; {best} suits this job best" if best else "; no multiple of it divides the job and fits a SuperPoD"
    )
