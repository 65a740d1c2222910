"""`ascendctl capacity`."""

from __future__ import annotations

from typing import Any

import click

from ascendctl.cli import common

FORMATS = ("table", "json", "yaml")


@click.command("capacity", short_help="Say how many more jobs of a shape fit.")
@click.argument("manifests", nargs=-1, metavar="[MANIFEST]...", type=click.Path())
@common.snapshot_option()
@click.option(
    "--limit", type=click.IntRange(1), default=1000, show_default=True, help="Stop when so many copies have a place."
)
@common.output_option(FORMATS, "table")
def command(manifests: tuple[str, ...], snapshots: common.Dump, limit: int, outputs: list[tuple[str, str]]) -> None:
    """How many more jobs of the shape of MANIFEST (files, folders, globs, or - for stdin) a cluster takes.

    Copies of the job are placed one after the other, as `place` would, until one finds no place; each job of the
    manifests is asked for on its own. Of a job without NPUs one copy is placed, for nothing that is modelled limits
    it. Exit code 1 if not even one fits.

    \b
    Examples:
      ascendctl capacity job.yaml -s dump/
      ascendctl capacity small.yaml large.yaml -s dump/ -o json
    """
    from ascendctl.engine.capacity import capacity

    cluster = common.load_cluster(snapshots)
    jobs = common.load_manifests(manifests)
    found = [capacity(job, cluster, limit if job.npu_pod_count else 1) for job in jobs]
    documents = [_document(job, each) for job, each in zip(jobs, found, strict=True)]
    common.emit(outputs, lambda name: _render(documents, jobs, name))
    if any(not each.placements for each in found):
        raise SystemExit(common.EXIT_FINDINGS)


def _document(job: Any, found: Any) -> dict[str, Any]:
    from ascendctl.engine.result import API_VERSION

    pods = [pod for placement in found.placements for pod in placement.pods]
    columns = found.cluster.resources.get(job.resource)
    return {
        "apiVersion": API_VERSION,
        "kind": "CapacityReport",
        "job": {"name": job.name, "namespace": job.namespace, "kind": job.kind},
        "fit": len(found.placements),
        "limited": found.end is None,
        "pods": len(pods),
        "nodes": len({pod.node for pod in pods}),
        "npus": len({(pod.node, npu) for pod in pods for npu in pod.npus}),
        "free": int(columns.idle[columns.idle_defined & (columns.idle > 0)].sum()) if columns else 0,
        "end": None if found.end is None else {"code": found.end.code, "message": found.end.message},
    }


def _render(documents: list[dict[str, Any]], jobs: list[Any], name: str) -> str:
    if name != "table":
        from ascendctl.report.machine import as_document

        return as_document(documents, name)
    from ascendctl.report.text import table

    rows = []
    for found, asked in zip(documents, jobs, strict=True):
        job, end = found["job"], found["end"]
        fit = f"{found['fit']} or more" if found["limited"] else str(found["fit"])
        why = "the limit was reached" if asked.npu_pod_count else "no NPUs asked: nothing that is modelled limits it"
        why = why if end is None else f"{end['code']}: {end['message']}"
        title = f"{job['kind']} {job['namespace']}/{job['name']}"
        rows.append((title, fit, found["pods"], found["nodes"], found["npus"], found["free"], why))
    return table(rows, ("JOB", "FIT", "PODS", "NODES", "NPUS", "FREE AFTER", "THEN"))
