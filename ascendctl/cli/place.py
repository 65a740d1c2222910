"""`ascendctl place`."""

from __future__ import annotations

from functools import partial
from typing import Any

import click

from ascendctl.cli import common

FORMATS = ("table", "wide", "json", "yaml", "env", "annotations")
EMITTED = ("tor-share-cm",)


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
    "--hypernodes", is_flag=True,
    help="Place multi-level jobs, and jobs with networkTopology, on the HyperNode objects of the dump.",
)  # fmt: skip
@click.option(
    "--spare-nodes", type=click.IntRange(0), default=0, show_default=True,
    help="With --hypernodes: nodes to keep free in each HyperNode of the lowest tier.",
)  # fmt: skip
@click.option(
    "--explain", is_flag=True, help="Also: refused nodes by reason, best scores, and how the job was planned."
)
@click.option(
    "--metrics", is_flag=True,
    help="Also: how well the network carries the job: what HCCL sends over UB and what falls to RoCE, whether ranks "
    "are contiguous, fragment score before and after.",
)  # fmt: skip
@click.option(
    "--parallel", default="", metavar="SIZES",
    help="Parallel sizes of the job, such as tp=8,ep=2,pp=4: also the slowest link in each parallel group. dp takes "
    "what is left; order=tp:dp:pp changes the order (innermost first), experts=nested makes ep part of dp.",
)  # fmt: skip
@click.option(
    "--emit", multiple=True, metavar="NAME[=FILE]", callback=lambda ctx, param, values: [_emitted(v) for v in values],
    help="Also print (or write) what the scheduler would publish: tor-share-cm, the states of the leaf switches.",
)  # fmt: skip
@common.quiet_option
@common.color_option
def command(
    manifests: tuple[str, ...],
    snapshots: common.Dump,
    outputs: list[tuple[str, str]],
    objective: str,
    hypernodes: bool,
    spare_nodes: int,
    explain: bool,
    metrics: bool,
    parallel: str,
    emit: list[tuple[str, str]],
    quiet: bool,
    color: str,
) -> None:
    """Dry-run the placement of the jobs in MANIFEST (files, folders, globs, or - for stdin) on a cluster dump.

    Jobs are placed in the order given, and each sees what the earlier ones took. The NPU ids are the physical ones.
    Format env prints the environment variables of each pod, annotations what scheduler, device plugin and controllers
    write on it. Exit code 1 if a job finds no place, if the scheduler would refuse it, or if it would bind a pod
    without the NPUs that it asks for.

    \b
    Examples:
      ascendctl place job.yaml -s dump/
      ascendctl place job.yaml -s dump/ -o wide --explain
      ascendctl place job.yaml -s dump/ --parallel tp=8,ep=2,pp=4
      kubectl get -o yaml acjob/train | ascendctl place - -s dump/ -o json
    """
    from ascendctl.engine.result import is_whole
    from ascendctl.engine.sequence import place_in_order, place_one

    cluster = common.load_cluster(snapshots)
    jobs = common.load_manifests(manifests)
    measured = metrics or bool(parallel)
    if any(not file for _, file in emit) and any(not file and name in ("json", "yaml") for name, file in outputs):
        raise click.UsageError("--emit beside a machine format needs a file: --emit tor-share-cm=FILE")
    spare = spare_nodes if hypernodes else None
    again = partial(place_one, objective=objective, hypernodes=spare)
    finish = partial(_finished, again=again, remarks=measured or explain, measured=measured, parallel=parallel)
    try:
        results, before = place_in_order(jobs, cluster, objective=objective, hypernodes=spare, finish=finish)
    except _topology_errors(hypernodes) as error:
        raise common.Unreadable(str(error)) from None
    maps = [(file, _tor_share(before, results[-1])) for _, file in emit]
    well = all(map(is_whole, results))
    wanted = [] if quiet and well else outputs
    common.emit(wanted, lambda name: render(jobs, results, cluster, name, explain, color), maps)
    if not well:
        raise SystemExit(common.EXIT_FINDINGS)


def _topology_errors(hypernodes: bool) -> tuple[type[Exception], ...]:
    """What placing on HyperNodes raises where they, or what a job asks of them, make no tree."""
    if not hypernodes:
        return ()
    from ascendctl.topology.hypernode import HyperNodeError
    from ascendctl.topology.hypernode_jobs import TopologyError

    return HyperNodeError, TopologyError


def _emitted(value: str) -> tuple[str, str]:
    name, _, file = value.partition("=")
    if name not in EMITTED:
        raise click.BadParameter(f"{name!r} is not {' or '.join(EMITTED)}")
    return name, file


def _finished(job: Any, result: Any, cluster: Any, again: Any, remarks: bool, measured: bool, parallel: str) -> Any:
    """A placement with all remarks on its ranks among its notes and, if `measured`, network quality among its metrics;
    a job without place with what it lacks and what would make it fit."""
    from dataclasses import replace

    if result.outcome == "unschedulable":
        from ascendctl.engine.remedy import remedies, supply

        return replace(result, supply=supply(job, cluster), remedies=remedies(job, cluster, result, again))
    if result.outcome != "placed" or not remarks:
        return result
    from ascendctl.ranks.order import diagnose

    notes = tuple(str(d) for d in diagnose(job, result, cluster) if d.level == "info")
    trace = replace(result.trace, notes=(*result.trace.notes, *notes))
    found = _measurements(job, result, cluster, parallel) if measured else {}
    return replace(result, metrics={**result.metrics, **found}, trace=trace)


def _measurements(job: Any, placement: Any, cluster: Any, parallel: str) -> dict[str, Any]:
    from ascendctl.ranks.groups import ParallelError
    from ascendctl.ranks.metrics import network_metrics

    try:
        return network_metrics(job, placement, cluster, parallel)
    except ParallelError as error:
        raise click.UsageError(f"--parallel: {job.key}: {error}") from None


def _tor_share(cluster: Any, last: Any) -> str:
    """ConfigMap tor-share-cm as the scheduler would write it at the end of the session that places the last job: leaf
    states with that job, names of jobs as the session found them (chapter 23 §1.3)."""
    from ascendctl.topology.tor_share import tor_share
    from ascendctl.yamlio.write import to_yaml

    found = tor_share(cluster, last.metrics.get("leaf_states") if last.outcome == "placed" else None)
    if found is None:
        raise common.Unreadable(
            "tor-share-cm: the scheduler writes none: it needs basic-tor-node-cm and nslb-version 2.0 in the dump"
        )
    return to_yaml(found)


def _quality(result: Any, color: bool) -> str:
    """The block on network quality, below a placement that was measured."""
    if result.outcome != "placed" or "network" not in result.metrics:
        return ""
    from ascendctl.report.quality import render as quality

    return "\n" + quality(result.metrics, color)


def render(jobs: list[Any], results: list[Any], cluster: Any, name: str, explain: bool, color: str) -> str:
    """The results in one output format."""
    from ascendctl.report.text import wants_color

    if name in ("table", "wide"):
        from ascendctl.report.placement import render as as_text

        colored = wants_color(color)
        return "\n\n".join(as_text(r, name == "wide", explain, colored) + _quality(r, colored) for r in results)
    landed = [pair for pair in zip(jobs, results, strict=True) if pair[1].outcome == "placed"]
    if name == "env":
        from ascendctl.ranks.environment import as_text as environment

        return "\n\n".join(environment(job, result) for job, result in landed)
    if name == "annotations":
        from ascendctl.ranks.annotations import as_text as annotations

        return "\n\n".join(annotations(job, result, cluster) for job, result in landed)
    from ascendctl.report.machine import as_document

    return as_document([r.to_dict() for r in results], name)
