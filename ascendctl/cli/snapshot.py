"""`ascendctl snapshot`."""

from __future__ import annotations

import click

from ascendctl.cli import common

SHOW_FORMATS = ("table", "wide", "json", "yaml")
TEXT_FORMATS = ("text", "json", "yaml")


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
@common.output_option(TEXT_FORMATS, "text")
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


@command.command("commands", short_help="The kubectl lines that export a dump.")
@click.argument("folder", default="dump", metavar="[FOLDER]", type=click.Path())
@click.option(
    "--narrow", is_flag=True, help="Export only the ConfigMaps that are read, where rights or size forbid all of them."
)
@common.output_option(TEXT_FORMATS, "text")
def commands(folder: str, narrow: bool, outputs: list[tuple[str, str]]) -> None:
    """Print the kubectl lines that export what a snapshot needs into FOLDER (default: dump), for a shell: run them
    within a few seconds.

    \b
    Examples:
      ascendctl snapshot commands
      ascendctl snapshot commands monday | sh
    """
    from ascendctl.report.export import as_document, as_script
    from ascendctl.snapshot.commands import export_commands

    found = export_commands(folder, "narrow" if narrow else "wide")

    def render(form: str) -> str:
        if form == "text":
            return as_script(folder, found)
        from ascendctl.report.machine import dump as dump_value

        return dump_value(as_document(found), form)

    common.emit(outputs, render)


@command.command("diff", short_help="Nodes, chips and jobs that changed between two dumps.")
@click.argument("before", type=click.Path())
@click.argument("after", type=click.Path())
@common.snapshot_option(named=False)
@click.option("--labels/--no-labels", default=True, show_default=True, help="Compare node labels too.")
@click.option("--exit-code", is_flag=True, help="Exit with 1 if there is a difference.")
@common.output_option(TEXT_FORMATS, "text")
@common.quiet_option
@common.color_option
def diff(
    before: str,
    after: str,
    snapshots: common.Dump,
    labels: bool,
    exit_code: bool,
    outputs: list[tuple[str, str]],
    quiet: bool,
    color: str,
) -> None:
    """Say what changed between two dumps: nodes that came and went, chips that were taken, freed or broke, jobs that
    came, went or moved, scheduler parameters.

    \b
    Examples:
      ascendctl snapshot diff monday/ tuesday/
      ascendctl snapshot diff monday.snap tuesday/ -o json
    """
    from ascendctl.report import diff as report
    from ascendctl.snapshot.diff import diff as compare

    old, new = (common.load_cluster(common.dump_of([path], snapshots)) for path in (before, after))
    found = compare(old, new, labels)

    def render(form: str) -> str:
        if form == "text":
            from ascendctl.report.text import wants_color

            return report.as_text(found, wants_color(color))
        from ascendctl.report.machine import dump as dump_value

        return dump_value(report.as_document(found), form)

    if not (quiet and found.is_empty):
        common.emit(outputs, render)
    if exit_code and not found.is_empty:
        raise SystemExit(common.EXIT_FINDINGS)


@command.command("pack", short_help="Write a dump as one small file that opens at once.")
@click.argument("dump", nargs=-1, metavar="[DUMP]...", type=click.Path())
@common.snapshot_option(required=False)
@click.option("--to", "target", required=True, metavar="FILE", type=click.Path(), help="The file to write, *.snap.")
@common.quiet_option
def pack(dump: tuple[str, ...], snapshots: common.Dump, target: str, quiet: bool) -> None:
    """Pack a dump into FILE, which every command takes in place of the dump: it holds what the scheduler reads, with
    checksum and version, and opens at once. What decides how the dump is read (--profile, --cm-source, ...) is decided
    now.

    \b
    Examples:
      ascendctl snapshot pack dump/ --to cluster.snap
      ascendctl place job.yaml -s cluster.snap
    """
    from ascendctl.report.snapshot import pack_line
    from ascendctl.snapshot.pack import pack as packed

    cluster = common.load_cluster(common.dump_of(dump, snapshots))
    data = packed(cluster)
    common.write_files([(target, data)])
    if not quiet:
        click.echo(pack_line(cluster, target, len(data)))
