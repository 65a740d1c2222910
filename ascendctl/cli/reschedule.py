"""`ascendctl reschedule`."""

from __future__ import annotations

from typing import Any

import click

from ascendctl.cli import common

FORMATS = ("table", "json", "yaml")


@click.command("reschedule", short_help="After a fault: which pods move, and where.")
@click.argument("manifest", type=click.Path())
@common.snapshot_option()
@click.option(
    "--previous", required=True, metavar="FILE", type=click.Path(),
    help="The placement before the fault, as `ascendctl place -o json` printed it; - for standard input.",
)  # fmt: skip
@click.option("--faulty", multiple=True, metavar="NODE", help="A node that broke. Repeatable; commas separate too.")
@click.option(
    "--kind", type=click.Choice(["auto", "job", "pod", "lsp"]),
    help="Whose pods were deleted: all of the job, those on faulty nodes, or those of a logical SuperPoD that has one. "
    "Default: what FILE says, else auto: the levels in their order until one works.",
)  # fmt: skip
@click.option(
    "--pending-sessions", type=click.IntRange(0), help="Scheduling sessions that the recovery has waited for."
)
@click.option(
    "--max-escalation", metavar="LEVELS", callback=lambda ctx, param, value: _escalation(value),
    help="Multi-level jobs: which healthy pods may move too: 0 none, 1 those in the level1 group of a lost pod, 2 in "
    "its level2 group..., job = all. Default: what FILE says; with kind auto, as far as needed.",
)  # fmt: skip
@common.output_option(FORMATS, "table")
@click.option("--explain", is_flag=True, help="Also: refused nodes by reason, and each stage of the recovery.")
@common.color_option
def command(
    manifest: str,
    snapshots: common.Dump,
    previous: str,
    faulty: tuple[str, ...],
    kind: str | None,
    pending_sessions: int | None,
    max_escalation: int | str | None,
    outputs: list[tuple[str, str]],
    explain: bool,
    color: str,
) -> None:
    """Say which pods of the job in MANIFEST stay, which move, where and why, after nodes or chips broke.

    The snapshot is the cluster at the moment of the fault. Without --faulty, the nodes of `fault.nodes` in FILE count.

    \b
    Example:
      ascendctl place job.yaml -s before/ -o json=placement.json
      ascendctl reschedule job.yaml -s after/ --previous placement.json --faulty node-7
    """
    from ascendctl.cli.placements import placement_of
    from ascendctl.engine.api import reschedule
    from ascendctl.engine.fault import FaultError
    from ascendctl.report.text import printable

    cluster = common.load_cluster(snapshots)
    jobs = common.load_manifests([manifest])
    if len(jobs) > 1:
        raise click.UsageError(f"{manifest} holds {len(jobs)} jobs; a rescheduling is about one")
    before = placement_of(previous, jobs[0])
    fault = dict(before.get("fault") or {})
    given = {"kind": kind, "pending_sessions": pending_sessions, "max_escalation": max_escalation}
    fault.update({key: value for key, value in given.items() if value is not None})
    fault.setdefault("kind", "auto")
    before = {**before, "fault": fault}
    nodes = [name for text in faulty for name in text.split(",") if name] or list(fault.get("nodes") or [])
    known = {*cluster.names, *(pod["node"] for pod in before["pods"])}
    if unknown := [name for name in nodes if name not in known]:
        raise click.UsageError(f"--faulty: no node {unknown[0]}, neither in the dump nor in the placement")
    try:
        result = reschedule(jobs[0], cluster, before, nodes)
    except FaultError as error:
        raise common.Unreadable(f"{previous}: {error}") from None
    common.emit(outputs, lambda name: _render(result, before, name, explain, color))
    again = sorted({pod.node for pod in getattr(result, "pods", ()) if pod.node in nodes}, key=nodes.index)
    if again:
        click.echo(
            f"note: in the dump {', '.join(map(printable, again))} works, so pods return there; take the dump while "
            "the node is down",
            err=True,
        )
    if result.outcome != "placed":
        raise SystemExit(common.EXIT_FINDINGS)


def _escalation(value: str | None) -> int | str | None:
    if value is None or value == "job":
        return value
    if not (value.isascii() and value.isdigit() and len(value) < 4):
        raise click.BadParameter(f"{value!r} is neither a number of levels nor job")
    return int(value)


def _render(result: Any, before: dict[str, Any], name: str, explain: bool, color: str) -> str:
    if name == "table":
        from ascendctl.report.reschedule import render
        from ascendctl.report.text import wants_color

        return render(result, before, explain, wants_color(color))
    from ascendctl.report.machine import as_document

    return as_document([result.to_dict()], name)
