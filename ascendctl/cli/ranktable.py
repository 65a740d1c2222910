"""`ascendctl ranktable`."""

from __future__ import annotations

from typing import Any

import click

from ascendctl.cli import common

FORMATS = ("hccl", "configmap", "summary")
VERSIONS = ("auto", "1.0", "1.2", "2.0")


@click.command("ranktable", short_help="Print the rank table of a placement.")
@click.argument("manifests", nargs=-1, metavar="[MANIFEST]...")
@common.snapshot_option()
@common.output_option(FORMATS, "hccl")
@click.option("--job", "wanted", metavar="[NAMESPACE/]NAME", help="Which job, where the manifests hold several.")
@click.option(
    "--version", type=click.Choice(VERSIONS), default="auto", show_default=True,
    help="Version of the table; auto = the one that Ascend Operator would write.",
)  # fmt: skip
@click.option(
    "--server-id", type=click.Choice(["auto", "host-ip"]), default="auto", show_default=True,
    help="auto = the node's address if every pod has a node of its own, else the pod's UID from the dump.",
)  # fmt: skip
@click.option(
    "--placement", metavar="FILE", help="Take this placement (from `ascendctl place -o json`) instead of a fresh one."
)
@click.option("--pretty", is_flag=True, help="Indent the JSON; without it the table is one line, as on the cluster.")
@common.quiet_option
def command(
    manifests: tuple[str, ...],
    snapshots: common.Dump,
    outputs: list[tuple[str, str]],
    wanted: str | None,
    version: str,
    server_id: str,
    placement: str | None,
    pretty: bool,
    quiet: bool,
) -> None:
    """Print the HCCL rank table (hccl.json) that the job in MANIFEST would get where it lands on the cluster dump.

    Formats: hccl is the file itself, configmap the ConfigMap rings-config-<job> that holds it, summary the ConfigMap
    job-summary-<job> of ClusterD. Addresses of the NPUs come from the nodes' baseDeviceInfos; a table that would hold
    something else than addresses is refused. Which version is written, and why, is said on standard error.

    Exit code 1 if the job finds no place or no table can be made.

    \b
    Examples:
      ascendctl ranktable job.yaml -s dump/ --pretty
      ascendctl ranktable job.yaml -s dump/ -o configmap > rings-config.yaml
      ascendctl ranktable job.yaml -s dump/ -o hccl=hccl.json -o configmap=cm.yaml
    """
    from ascendctl.ranks.table import RankTableError, rank_table
    from ascendctl.report.text import printable

    cluster = common.load_cluster(snapshots)
    jobs = common.load_manifests(manifests)
    job, pods = _placed(jobs, wanted, cluster, placement)
    try:
        table = rank_table(job, pods, cluster, version, server_id)
    except RankTableError as error:
        click.echo(f"error: {job.kind} {printable(job.key)}: {printable(str(error))}", err=True)
        raise SystemExit(common.EXIT_FINDINGS) from None
    if not quiet:
        click.echo(f"info: version {table.version}: {printable(table.reason)}", err=True)
        for note in table.notes + _summary_remarks(job, outputs):
            click.echo(f"warning: {printable(note)}", err=True)
    common.emit(outputs, lambda name: _render(job, pods, cluster, table, name, pretty))


def _placed(jobs: list[Any], wanted: str | None, cluster: Any, placement: str | None) -> tuple[Any, Any]:
    """The job that is asked for and its pods; jobs before it in the manifests take their places first."""
    index = _pick(jobs, wanted)
    job = jobs[index]
    if placement:
        from ascendctl.cli.placements import placement_of
        from ascendctl.engine.result import PlacedPod

        entries = placement_of(placement, job)["pods"]
        known = [entry for entry in entries if entry.get("node") in cluster.index]
        if len(known) < len(entries) or not entries:
            raise common.Unreadable(f"{placement}: names nodes that are not in the dump")
        return job, tuple(
            PlacedPod(
                entry["name"], str(entry.get("role")), entry["rank"], entry["node"],
                tuple(entry["npus"]), entry.get("annotations") or {}, str(entry.get("group", "")),
            )
            for entry in entries
        )  # fmt: skip
    from ascendctl.engine.result import Placement
    from ascendctl.engine.sequence import place_in_order

    result = place_in_order(jobs[: index + 1], cluster)[0][-1]
    if not isinstance(result, Placement):
        from ascendctl.report.placement import render

        click.echo(render(result), err=True)
        raise SystemExit(common.EXIT_FINDINGS)
    return job, result.pods


def _summary_remarks(job: Any, outputs: list[tuple[str, str]]) -> tuple[str, ...]:
    if all(name != "summary" for name, _ in outputs):
        return ()
    from ascendctl.ranks.summary import summary_remark

    return tuple(filter(None, (summary_remark(job),)))


def _pick(jobs: list[Any], wanted: str | None) -> int:
    found = [i for i, job in enumerate(jobs) if wanted in (None, job.name, job.key)]
    if len(found) == 1:
        return found[0]
    names = ", ".join(job.key for job in jobs)
    if not found:
        raise click.UsageError(f"no job {wanted}; there are {names}")
    raise click.UsageError(f"{len(found)} jobs: {names}; pick one with --job")


def _render(job: Any, pods: Any, cluster: Any, table: Any, name: str, pretty: bool) -> str:
    if name == "hccl":
        from ascendctl.ranks.server import dumps

        return dumps(table.document, pretty)
    from ascendctl.yamlio.write import to_yaml

    if name == "summary":
        from ascendctl.ranks.summary import job_summary

        return "---\n".join(to_yaml(part) for part in job_summary(job, pods, cluster))
    from ascendctl.ranks.configmap import rings_config

    return to_yaml(rings_config(job, table))
