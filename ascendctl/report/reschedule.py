"""A rescheduling for people: who stays, who moves, from where to where."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ascendctl.engine.result import Invalid, Placement, Unschedulable
from ascendctl.report.placement import explanation, headline, rejections
from ascendctl.report.text import paint, ranges, table


def render(
    result: Placement | Unschedulable | Invalid, before: Mapping[str, Any], explain: bool = False, color: bool = False
) -> str:
    """The text that `ascendctl reschedule -o table` prints; `before` is the PlacementResult document of the time
    before the fault."""
    lines = [headline(result, color)]
    if isinstance(result, Placement):
        former = {pod.get("rank"): pod for pod in before.get("pods", [])}
        rows, moved = [], 0
        for pod in result.pods:
            old = former.get(pod.rank, {})
            stays = old.get("node") == pod.node and sorted(old.get("npus") or []) == sorted(pod.npus) and not pod.moved
            moved += not stays
            word = "stays" if stays else "restarts" if old.get("node") == pod.node else "moves"
            rows.append(
                (pod.rank, pod.name, word, old.get("node", "-"), pod.node, ranges(pod.npus) or "-", pod.group or "-")
            )
        lines.append(table(rows, ("RANK", "POD", "WHAT", "FROM", "TO", "NPUS (PHYSICAL)", "GROUP")))
        lines.append(
            f"{len(rows) - moved} stay, " + paint(f"{moved} move or restart", "yellow" if moved else "green", color)
        )
    if explain or not isinstance(result, Placement):
        lines += rejections(result)
    return "\n".join(lines + explanation(result.trace, explain))
