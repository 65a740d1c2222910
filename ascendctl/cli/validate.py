"""`ascendctl validate`."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from typing import Any

import click

from ascendctl.cli import common

FORMATS = ("text", "table", "json", "yaml", "sarif", "junit", "github", "gitlab")


@click.command("validate", short_help="Check job manifests.")
@click.argument("paths", nargs=-1, metavar="[PATH]...", type=click.Path())
@common.snapshot_option(required=False)
@common.output_option(FORMATS, "text")
@click.option(
    "--product", default="", metavar="NAME", help="The product that the jobs are for (see `ascendctl products`)."
)
@click.option("--strict", "strict_run", is_flag=True, help="Warnings fail the run; unknown fields are errors.")
@click.option("--disable", multiple=True, metavar="RULE", help="Switch a rule off. Repeatable; commas separate too.")
@click.option("--volcano", default="1.15", show_default=True, metavar="VERSION", help="Volcano release of the cluster.")
@click.option(
    "--admission",
    type=click.Choice(["off", "on"]),
    default="off",
    show_default=True,
    help="Volcano's webhooks are installed.",
)
@click.option(
    "--gang",
    type=click.Choice(["on", "off"]),
    default="on",
    show_default=True,
    help="The operator's enableGangScheduling.",
)
@click.option("--super-pod-size", type=click.IntRange(0), metavar="NODES", help="The scheduler's super-pod-size.")
@click.option("--preset-vdev", type=click.Choice(["true", "false"]), help="The scheduler's presetVirtualDevice.")
@click.option(
    "--grace-over-time",
    type=click.IntRange(1),
    default=900,
    show_default=True,
    metavar="SECONDS",
    help="The scheduler's grace-over-time.",
)
@click.option("--resource-levels", metavar="FILE", help="The scheduler's resource-level-config, as JSON or YAML.")
@click.option(
    "--dialect",
    type=click.Choice(["mindcluster", "any"]),
    default="mindcluster",
    show_default=True,
    help="any: leave pods of other device plugins alone.",
)
@click.option(
    "--template-path",
    "template_paths",
    multiple=True,
    metavar="KIND:PATH",
    help="Where an unknown kind keeps its pod templates, as MyServing:spec.roles[*].template. Repeatable.",
)
@click.option("--fail-on-unknown", is_flag=True, help="Kinds that are not known are errors.")
@click.option("--skip", multiple=True, metavar="KIND", help="Pass over objects of a kind. Repeatable.")
@click.option("--allow-empty", is_flag=True, help="No file found is no error.")
@click.option("--no-config", is_flag=True, help="Ignore .ascendctl.yaml files.")
@click.option("--stdin-filename", default="", metavar="NAME", help="How reports call standard input.")
@click.option(
    "-j", "--jobs", type=click.IntRange(1), metavar="N", help="Processes to use. Default: as many as pay off."
)
@common.quiet_option
@common.verbose_option
@common.color_option
@click.pass_context
def command(
    ctx: click.Context,
    /,
    paths: tuple[str, ...],
    snapshots: common.Dump,
    outputs: list[tuple[str, str]],
    **given: Any,
) -> None:
    """Check the manifests in PATH: files, folders (recursive), globs, or - for standard input (the default when nothing
    is named and standard input is no terminal).

    Structure, conventions, and every rule of the product that a job is for; `ascendctl explain RULE` says more about
    one. With a snapshot also what depends on the cluster. A comment `# ascendctl: disable=RULE why` on the line, above
    it, or at the top of a document switches a rule off there; a file .ascendctl.yaml sets severities for a folder.

    Exit code 1 if there is an error (with --strict also a warning).

    \b
    Examples:
      ascendctl validate job.yaml
      ascendctl validate manifests/ --product a2 -o sarif=report.sarif -o text
      helm template chart | ascendctl validate - --stdin-filename chart
    """
    from ascendctl.cli.progress import counting
    from ascendctl.validate.api import inspect
    from ascendctl.validate.options import OptionError
    from ascendctl.validate.reporters import render

    if not paths and not sys.stdin.isatty():
        paths = ("-",)
    if not paths and not given["allow_empty"]:
        raise click.UsageError("name files, folders or globs, or - for standard input")
    options = common.readable(lambda: _options(snapshots, given))
    try:
        with counting("files checked") as progress:
            report = common.readable(
                lambda: inspect(
                    list(paths),
                    options,
                    stdin_filename=given["stdin_filename"],
                    workers=given["jobs"],
                    allow_empty=given["allow_empty"],
                    use_config=not given["no_config"],
                    progress=progress,
                )
            )
    except OptionError as error:
        raise click.UsageError(str(error)) from None
    from ascendctl.report.text import wants_color

    color = wants_color(given["color"])
    common.emit(outputs, lambda name: render(report, name, color, given["quiet"]))
    from ascendctl.report.text import printable

    for file, reason in report.unreadable:
        click.echo(f"error: {printable(file)}: {printable(reason)}", err=True)
    ctx.exit(report.exit_code)


def _options(snapshots: common.Dump, given: Mapping[str, Any]) -> Any:
    """The command line as validation options. Raises ReadError for a snapshot or levels file that cannot be read."""
    from ascendctl.validate.options import Options

    cluster, dumped = None, {}
    if snapshots:
        from ascendctl.validate.dumped import dumped_objects

        cluster = common.load_cluster(snapshots)
        dumped = dumped_objects(snapshots.paths)
    preset = given["preset_vdev"]
    return Options(
        volcano=given["volcano"],
        admission=given["admission"] == "on",
        gang=given["gang"] == "on",
        super_pod_size=given["super_pod_size"],
        preset_vdev=None if preset is None else preset == "true",
        grace_over_time=given["grace_over_time"],
        resource_levels=_levels(given["resource_levels"]),
        snapshot=cluster,
        dumped=dumped,
        product=given["product"],
        strict=given["strict_run"],
        verbose=given["verbose"],
        dialect=given["dialect"],
        template_paths=tuple(_template_path(text) for text in given["template_paths"]),
        fail_on_unknown=given["fail_on_unknown"],
        skip_kinds=frozenset(given["skip"]),
        disabled=frozenset(rule for text in given["disable"] for rule in text.split(",") if rule),
    )


def _template_path(text: str) -> tuple[str, str]:
    kind, colon, path = text.partition(":")
    if not (kind and colon and path):
        raise click.BadParameter(f"{text!r} is not KIND:PATH", param_hint="--template-path")
    return kind, path


def _levels(path: str | None) -> Any:
    """resource-level-config from a file: the JSON text itself, or YAML of the same shape."""
    if path is None:
        return None
    import json

    from ascendctl.topology.levels import parse_resource_levels
    from ascendctl.yamlio.errors import ReadError
    from ascendctl.yamlio.inputs import read_all

    documents = read_all([path])
    if len(documents) != 1:
        raise ReadError(path, "is not one document with the trees of resource-level-config")
    levels = parse_resource_levels(json.dumps(documents[0].value))
    errors = [problem for problem in levels.problems if problem.severity == "error"]
    if errors:
        raise ReadError(path, f"{errors[0].code}: {errors[0].message}")
    return levels.trees
