"""`ascendctl snapshot`."""

from __future__ import annotations

import click

from ascendctl.cli import common

SHOW_FORMATS = ("table", "wide", "json", "yaml")
LINT_FORMATS = ("text", "json", "yaml")


@click.group("snapshot", short_help="Show, check, pack and compare cluster dumps.")
def command() -> None:
    """Cluster dumps: the ConfigMaps, Nodes and Pods that `ascendctl snapshot commands` says how to export."""


@command.command("show", short_help="Nodes with free, used and bad chips; totals; problems.")
@click.argument("dump", nargs=-1, metavar="[DUMP]...", type=click.Path())
@common.snapshot_option(required=False)
@click.option(
    "--by", type=click.Choice(["node", "superpod", "rack", "leaf"]), default="node", show_default=True,
    help="A line a node, or a map with a row a SuperPoD, rack or leaf switch and a letter a node.",
)  # fmt: skip
@click.option("--node", "globs", multiple=True, metavar="GLOB", help="Only nodes whose names match. Repeatable.")
@click.option(
    "--only-problems", is_flag=True, help="Only nodes that take no pod, have a bad chip, a problem, or are sub-healthy."
)
@common.output_option(SHOW_FORMATS, "table")
@common.color_option
def show(
    dump: tuple[str, ...],
    snapshots: common.Dump,
    by: str,
    globs: tuple[str, ...],
    only_problems: bool,
    outputs: list[tuple[str, str]],
    color: str,
) -> None:
    """Show what the scheduler would see of a cluster: the chips of each node, how full the cluster is, and what is
    wrong with the dump.

    FREE are the chips that the scheduler may give to a pod, BAD those that are unhealthy, recovering or
    network-unhealthy; ids are the physical ones. A node is broken if the scheduler refuses it (WHY says why) or a chip
    of it is unhealthy.

    \b
    Examples:
      ascendctl snapshot show dump/
      ascendctl snapshot show dump/ --by superpod
      ascendctl snapshot show dump/ --only-problems -o wide
      ascendctl snapshot show -s nodes.json -s configmaps.json -o json
    """
    from ascendctl.report.snapshot import as_document, examine

    cluster = common.load_cluster(common.dump_of(dump, snapshots))
    shown = examine(cluster, by, globs, only_problems)

    def render(form: str) -> str:
        if form in ("table", "wide"):
            from ascendctl.report.snapshot_text import as_text
            from ascendctl.report.text import wants_color

            return as_text(shown, form == "wide", wants_color(color))
        from ascendctl.report.machine import dump as dump_value

        return dump_value(as_document(shown), form)

    common.emit(outputs, render)


@command.command("lint", short_help="What is wrong with a dump, what it means, how to mend it.")
@click.argument("dump", nargs=-1, metavar="[DUMP]...", type=click.Path())
@common.snapshot_option(required=False)
@click.option("--strict", is_flag=True, help="Warnings fail the run too.")
@common.output_option(LINT_FORMATS, "text")
@common.quiet_option
@common.color_option
def lint(
    dump: tuple[str, ...],
    snapshots: common.Dump,
    strict: bool,
    outputs: list[tuple[str, str]],
    quiet: bool,
    color: str,
) -> None:
    """Check a cluster dump: data that the scheduler cannot use or that contradict each other, what that means for
    scheduling, and how to mend it. Exit code 1 if there are errors.

    \b
    Examples:
      ascendctl snapshot lint dump/
      ascendctl snapshot lint dump/ --strict -o json=lint.json
    """
    from ascendctl.engine.result import API_VERSION
    from ascendctl.report import problems as report

    cluster = common.load_cluster(common.dump_of(dump, snapshots))
    found = report.problems(cluster)

    def render(form: str) -> str:
        if form == "text":
            from ascendctl.report.text import wants_color

            return report.listing(found, wants_color(color))
        from ascendctl.report.machine import dump as dump_value

        return dump_value(report.lint_document(found, API_VERSION), form)

    if found or not quiet:
        common.emit(outputs, render)
    if report.has_errors(found, strict):
        raise SystemExit(common.EXIT_FINDINGS)
