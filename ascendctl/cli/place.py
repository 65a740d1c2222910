"""`ascendctl place`."""

from __future__ import annotations

from typing import Any

import click

from ascendctl.cli import common

FORMATS = ("table", "wide", "json", "yaml")


@click.command("place", short_help="Say where a job would land.")
@click.argument("manifests", nargs=-1, metavar="[MANIFEST]...", type=click.Path())
@common.snapshot_option()
@common.output_option(FORMATS, "table")
@click.option(
    "--objective", type=click.Choice(["fragmentation", "bandwidth"]), default="fragmentation", show_default=True,
    help="What a multi-level placement saves first. The scheduler always keeps fragments few; bandwidth plans the job "
    "into as few and low units as it can.",
)  # fmt: skip
@click.option(
    "--explain", is_flag=True, help="Also: refused nodes by reason, best scores, and how the job was planned."
)
@common.quiet_option
@common.color_option
def command(
    manifests: tuple[str, ...],
    snapshots: common.Dump,
    outputs: list[tuple[str, str]],
    objective: str,
    explain: bool,
    quiet: bool,
    color: str,
) -> None:
    """Dry-run the placement of the jobs in MANIFEST (files, folders, globs, or - for stdin) on a cluster dump.

    Jobs are placed in the order given, and each sees what the earlier ones took. The NPU ids are the physical ones.
    Exit code 1 if a job finds no place or the scheduler would refuse it.

    \b
    Examples:
      ascendctl place job.yaml -s dump/
      ascendctl place job.yaml -s dump/ -o wide --explain
      kubectl get -o yaml acjob/train | ascendctl place - -s dump/ -o json
    """
    cluster = common.load_cluster(snapshots)
    jobs = common.load_manifests(manifests)
    results = place_all(jobs, cluster, objective)
    if not (quiet and all(r.outcome == "placed" for r in results)):
        common.emit(outputs, lambda name: render(results, name, explain, color))
    if any(r.outcome != "placed" for r in results):
        raise SystemExit(common.EXIT_FINDINGS)


def place_all(jobs: list[Any], cluster: Any, objective: str = "fragmentation") -> list[Any]:
    """Place jobs one after the other; each sees what the earlier ones took. `objective` as in `engine.api.place`."""
    from ascendctl.engine.api import place
    from ascendctl.engine.commit import commit
    from ascendctl.engine.result import Placement

    results: list[Any] = []
    for number, job in enumerate(jobs, 1):
        result = place(job, cluster, objective=objective)
        results.append(result)
        if isinstance(result, Placement) and number < len(jobs):
            cluster = commit(cluster, job, result)
    return results


def render(results: list[Any], name: str, explain: bool, color: str) -> str:
    """The results in one output format."""
    if name in ("table", "wide"):
        from ascendctl.report.placement import render as as_text
        from ascendctl.report.text import wants_color

        return "\n\n".join(as_text(r, name == "wide", explain, wants_color(color)) for r in results)
    from ascendctl.report.machine import as_document

    return as_document([r.to_dict() for r in results], name)
