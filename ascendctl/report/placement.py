"""A placement for people: the pods by rank, or why there is no place; with the explanation where asked."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ascendctl.engine.result import Invalid, Placement, Trace, Unschedulable
from ascendctl.report.text import paint, printable, ranges, some, table
from ascendctl.wording import counted

NOT_MODELLED = (
    "Not modelled: queues and quotas, CPU and memory, reservations of other schedulers, admission webhooks, "
    "state newer than the dump."
)


def render(
    result: Placement | Unschedulable | Invalid, wide: bool = False, explain: bool = False, color: bool = False
) -> str:
    """The text that `ascendctl place -o table|wide` prints for one job."""
    lines = [headline(result, color)]
    if isinstance(result, Placement):
        lines.append(_pods(result, wide))
        if explain and result.blocks:
            rows = ((key, len(nodes), some(nodes, 8)) for key, nodes in result.blocks.items())
            lines += ["", table(rows, ("GROUP", "NODES", "NAMES"))]
    if explain or not isinstance(result, Placement):
        lines += rejections(result)
    return "\n".join(lines + explanation(result.trace, explain))


def headline(result: Placement | Unschedulable | Invalid, color: bool) -> str:
    """One line: the job, its policy and the verdict."""
    job = result.job
    head = f"{job.kind} {printable(job.namespace)}/{printable(job.name)}" + (f" [{job.policy}]" if job.policy else "")
    if isinstance(result, Placement):
        nodes = len({pod.node for pod in result.pods})
        npus = sum(len(pod.npus) for pod in result.pods)
        verdict = f"placed, {counted(len(result.pods), 'pod')} on {counted(nodes, 'node')}, {counted(npus, 'NPU')}"
        return f"{head}: {paint(verdict, 'green', color)}"
    word = "unschedulable" if isinstance(result, Unschedulable) else "invalid"
    return f"{head}: {paint(word, 'red', color)}, {printable(result.code)}: {printable(result.message)}"


def rejections(result: Placement | Unschedulable | Invalid) -> list[str]:
    """Refused nodes by reason, or the rules that refuse the job."""
    if isinstance(result, Invalid):
        return [f"  {rule}: {printable(message)}" for rule, message in result.rules]
    lines = []
    if result.rejected:
        rows = [(len(group.nodes), group.code, some(group.nodes), group.message) for group in result.rejected]
        lines += ["", table(rows, ("NODES", "REFUSED FOR", "EXAMPLES", "MEANING"))]
    return lines + (_advice(result) if isinstance(result, Unschedulable) else [])


def _advice(result: Unschedulable) -> list[str]:
    """What a job without place lacks, and what would make it fit."""
    lines = ["", *(printable(text) for text in result.supply)] if result.supply else []
    if result.remedies:
        lines += ["", "Each of these would make it fit:", *(f"  - {printable(text)}" for text in result.remedies)]
    return lines


def explanation(trace: Trace, explain: bool) -> list[str]:
    """Notes always; scores, the steps of the planning and what is not modelled where asked."""
    notes = [f"note: {printable(note)}" for note in trace.notes]
    if not explain:
        return notes
    lines = []
    if trace.scores:
        lines += ["", table(trace.scores, ("BEST NODES OF THE FIRST POD", "SCORE"))]
    if trace.steps:
        lines += ["", "Planning:"]
        for number, (text, data) in enumerate(trace.steps, 1):
            lines.append(f"  {number}. {printable(text)}" + (f"  [{printable(_pairs(data))}]" if data else ""))
    return [*lines, "", *notes, NOT_MODELLED]


def _pods(result: Placement, wide: bool) -> str:
    grouped = any(pod.group for pod in result.pods)
    headers = ["RANK", "POD", "NODE", "NPUS (PHYSICAL)"]
    headers += ["GROUP"] if grouped else []
    headers += ["ROLE", "ANNOTATIONS"] if wide else []
    rows = []
    for pod in result.pods:
        row: list[object] = [pod.rank, pod.name, pod.node, ranges(pod.npus) or "-"]
        row += [pod.group or "-"] if grouped else []
        row += [pod.role or "-", _pairs(_telling(pod.annotations))] if wide else []
        rows.append(row)
    return table(rows, headers)


def _telling(annotations: Mapping[str, str]) -> dict[str, str]:
    """Annotations without the lists of chip names, which the column of NPUs already gives."""
    return {k: v for k, v in annotations.items() if not k.startswith("huawei.com/") or "-core" in k}


def _pairs(values: Mapping[str, Any]) -> str:
    return " ".join(f"{key}={value}" for key, value in values.items()) or "-"
