"""`ascendctl verify`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import click

from ascendctl.cli import common

FORMATS = ("table", "json", "yaml")


@click.command("verify", short_help="Compare a later dump with the plan in a patched manifest.")
@click.argument("manifests", nargs=-1, metavar="[MANIFEST]...")
@common.snapshot_option()
@click.option(
    "--ranktable", metavar="FILE", help="Also check this rank table of the job: hccl.json, or the ConfigMap with it."
)
@common.output_option(FORMATS, "table")
@common.quiet_option
@common.color_option
def command(
    manifests: tuple[str, ...],
    snapshots: common.Dump,
    ranktable: str | None,
    outputs: list[tuple[str, str]],
    quiet: bool,
    color: str,
) -> None:
    """Compare the plan record that `ascendctl patch` wrote into MANIFEST with a dump taken once the job runs: does
    every rank stand on its planned node, with its planned NPUs?

    Another node, or no pod of a rank, is an error; other NPUs are a warning, for the device plugin has the last word on
    them. Exit code 1 if there is an error.

    \b
    Examples:
      ascendctl verify pinned.yaml -s later/
      ascendctl verify pinned.yaml -s later/ --ranktable hccl.json -o json
    """
    from ascendctl.ranks.verify import PlanError, as_document, compare, plan_of

    cluster = common.load_cluster(snapshots)
    jobs = common.load_manifests(manifests)
    if ranktable and len(jobs) > 1:
        raise click.UsageError(f"--ranktable belongs to one job, the manifests hold {len(jobs)}")
    try:
        checked = [(job, compare(job, plan_of(job.source.document, job), cluster)) for job in jobs]
    except PlanError as error:
        raise common.Unreadable(str(error)) from None
    documents = [dict(as_document(job, checks)) for job, checks in checked]
    remarks = _table_remarks(ranktable, jobs[0], cluster) if ranktable else []
    if ranktable:
        documents[0]["rankTable"] = [{"code": d.code, "level": d.level, "message": d.message} for d in remarks]
    failed = any(d.level == "error" for d in remarks) or any(
        check.level == "error" for _, checks in checked for check in checks
    )
    if failed or not quiet:
        common.emit(outputs, lambda name: _render(checked, documents, remarks, name, color))
    if failed:
        raise SystemExit(common.EXIT_FINDINGS)


def _table_remarks(path: str, job: Any, cluster: Any) -> list[Any]:
    from ascendctl.engine.select import select_policy
    from ascendctl.ranks.table_check import check_table
    from ascendctl.ranks.version import table_block, table_version

    table = common.readable(lambda: _read_table(path))
    pairs = zip(cluster.addresses, cluster.superpod.tolist(), strict=True)
    superpods = {address: superpod for address, superpod in pairs if address and superpod >= 0}
    single_cards = select_policy(job).policy in ("chip1-node8", "chip1-node16")
    return check_table(table, table_version(job)[0], table_block(job), single_cards, superpods)


def _read_table(path: str) -> Any:
    """The rank table of a file. Raises ReadError if it is no JSON."""
    import orjson

    from ascendctl.yamlio.errors import ReadError
    from ascendctl.yamlio.inputs import read_all, read_bytes

    data = read_bytes(path)
    try:
        return orjson.loads(data)
    except ValueError:
        pass
    documents = read_all([path])
    maps = [d.value for d in documents if isinstance(d.value.get("data"), dict) and "hccl.json" in d.value["data"]]
    if len(maps) != 1:
        raise ReadError(path, "is neither a rank table nor a ConfigMap with one", "name hccl.json or its ConfigMap")
    try:
        return orjson.loads(maps[0]["data"]["hccl.json"])
    except (ValueError, TypeError) as error:
        raise ReadError(path, f"hccl.json in it is no JSON: {error}") from None


def _render(
    checked: Sequence[tuple[Any, Sequence[Any]]],
    documents: Sequence[Any],
    remarks: Sequence[Any],
    name: str,
    color: str,
) -> str:
    if name != "table":
        from ascendctl.report.machine import as_document

        return as_document(list(documents), name)
    from ascendctl.report.text import paint, printable, ranges, table, wants_color

    colored, texts = wants_color(color), []
    styles = {"error": "red", "warning": "yellow", "info": "green"}
    for job, checks in checked:
        bad = sum(check.level != "info" for check in checks)
        verdict = "as planned" if not bad else f"{bad} of {len(checks)} ranks differ"
        worst = next((level for level in styles if any(c.level == level for c in checks)), "info")
        rows = [
            (
                check.planned.rank,
                check.pod or "-",
                check.planned.node,
                check.node or "-",
                "-" if check.planned.npus is None else ranges(sorted(check.planned.npus)) or "-",
                ranges(check.npus) or "-",
                check.status,
            )
            for check in checks
        ]
        head = f"{job.kind} {printable(job.namespace)}/{printable(job.name)}: {paint(verdict, styles[worst], colored)}"
        headers = ("RANK", "POD", "PLANNED NODE", "NODE", "PLANNED NPUS", "NPUS", "STATUS")
        texts.append(head + "\n" + table(rows, headers))
    lines = [f"{paint(d.level, styles[d.level], colored)} {d.code}: {printable(d.message)}" for d in remarks]
    return "\n\n".join(texts + (["\n".join(lines)] if lines else []))
