"""What all commands share: options, output targets, errors as exit codes."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import wraps
from typing import Any, TypeVar, cast

import click

F = TypeVar("F", bound=Callable[..., Any])

EXIT_FINDINGS = 1
EXIT_UNREADABLE = 2


class Unreadable(click.ClickException):
    """Input that cannot be read: one line, exit code 2."""

    exit_code = EXIT_UNREADABLE

    def show(self, file: Any = None) -> None:
        """Print `error: ...` on stderr."""
        from ascendctl.report.text import printable

        click.echo(f"error: {printable(self.message)}", err=True)


@dataclass(frozen=True)
class Dump:
    """What the snapshot options of a command line say. `loading` are arguments of `snapshot.profiles.LoadOptions`,
    `fields` of `snapshot.config.SchedulerConfig`; `topology_csv` is a file with node labels, "" = none. False if no
    path is given."""

    paths: tuple[str, ...]
    loading: Mapping[str, Any] = field(default_factory=dict)
    fields: Mapping[str, Any] = field(default_factory=dict)
    topology_csv: str = ""

    def __bool__(self) -> bool:
        return bool(self.paths)


VARIANTS = {
    "a3-no-early-stop": {"a3_early_stop": False},
    "whole-npus-on-shared-nodes": {"whole_npus_on_shared_nodes": True},
    "restart-fewest-slice": {"restart_fewest_slice": True},
    "restart-any-leaf": {"restart_any_leaf": True},
}
"""Where the placement may depart from its default, as fields of `snapshot.config.SchedulerConfig`."""
_LOADING = ("cm_source", "profile", "check_codes", "link_down", "translate_device_ids", "params")


def snapshot_option(required: bool = True, named: bool = True) -> Callable[[F], F]:
    """-s/--snapshot, repeatable, and how to read what it names. The command gets them as one argument `snapshots`: a
    `Dump`. `named` False leaves -s itself out."""

    def decorate(function: F) -> F:
        @wraps(function)
        def command(*args: Any, **given: Any) -> Any:
            paths, csv = given.pop("snapshots", ()), given.pop("topology_csv")
            loading = {key: given.pop(key) for key in _LOADING} | {"strict": given.pop("strict_dump")}
            fields = {field: value for name in given.pop("variants") for field, value in VARIANTS[name].items()}
            given["snapshots"] = Dump(paths, loading, fields, csv)
            return function(*args, **given)

        first, *others = _dump_options(required)
        own = command.__dict__.setdefault("__click_params__", [])
        own[:0] = reversed(others)  # click lists them from the end: those that are seldom needed come last
        own += [first] if named else []
        return cast(F, command)

    return decorate


def _dump_options(required: bool) -> list[click.Option]:
    return [
        click.Option(
            ["-s", "--snapshot", "snapshots"], multiple=True, required=required, metavar="PATH", type=click.Path(),
            help="Cluster dump: file, folder, tar archive, glob, packed snapshot or - for stdin. Repeatable: all parts "
            "are one cluster.",
        ),
        click.Option(
            ["--topology-csv"], default="", metavar="FILE", type=click.Path(),
            help="Node labels to lay over the dump; the header is nodeName,<label key>,...",
        ),
        click.Option(
            ["--config", "params"], multiple=True, metavar="KEY=VALUE", callback=_parameters,
            help="Scheduler parameter (init-params) in place of that of the dump, such as reserve-nodes=4; =@FILE "
            "takes the value from a file, such as resource-level-config=@levels.json. Repeatable.",
        ),
        click.Option(
            ["--variant", "variants"], multiple=True, type=click.Choice(list(VARIANTS)),
            help="Depart from the default. a3-no-early-stop: A3 nodes behind the first exact fit keep their true "
            "score; whole-npus-on-shared-nodes: nodes with soft sharing too; restart-fewest-slice (switch affinity "
            "1.0), restart-any-leaf (single layer): where lost pods restart. Repeatable.",
        ),
        click.Option(
            ["--profile"], default="26.1", show_default=True, metavar="VERSION", callback=_version,
            help="Version of MindCluster whose scheduler plugin reads the dump.",
        ),
        click.Option(
            ["--cm-source"], type=click.Choice(["auto", "clusterd", "device"]), default="auto", show_default=True,
            help="Which ConfigMaps hold the device data; auto = the configured ones, else those that are there.",
        ),
        click.Option(
            ["--check-code", "check_codes"], type=click.Choice(["warn", "strict", "off"]), default="warn",
            show_default=True,
            help="What a wrong or absent CheckCode does: a warning; strict = the row does not count, as for plugins up "
            "to 6.0; off = nobody looks.",
        ),
        click.Option(
            ["--strict-dump"], is_flag=True,
            help="Forgive nothing in the dump that the scheduler would not.",
        ),
        click.Option(
            ["--link-down"], type=click.Choice(["ignore", "apply"]), default="ignore", show_default=True,
            callback=lambda ctx, param, value: value == "apply",
            help="Whether chips with a link that is down count as network-unhealthy.",
        ),
        click.Option(
            ["--translate-device-ids"], is_flag=True,
            help="Read DeviceIDs in pods of Ascend950 nodes as the chips they mean.",
        ),
    ]  # fmt: skip


def _version(ctx: click.Context, param: click.Parameter, value: str) -> str:
    from ascendctl.snapshot.profiles import profile_of

    try:
        return profile_of(value).name
    except ValueError as error:
        raise click.BadParameter(str(error)) from None


def _parameters(ctx: click.Context, param: click.Parameter, values: Sequence[str]) -> dict[str, str]:
    """--config options as init-params."""
    if not values:
        return {}
    from ascendctl.snapshot.config_load import PARAMETERS, config_from_params
    from ascendctl.snapshot.diagnostics import CODES

    given: dict[str, str] = {}
    for text in values:
        key, equals, value = text.partition("=")
        if not equals or key not in PARAMETERS:
            raise click.BadParameter(f"{text!r} is not KEY=VALUE; the keys are {', '.join(PARAMETERS)}")
        given[key] = _file_text(value[1:]) if value.startswith("@") else value
    problems: list[str] = []

    def note(code: str, text: str) -> None:
        # a replaced value (S339) is a warning in a dump, but who types it here wants another one
        if code == "S339" or CODES[code].severity == "error":
            problems.append(text)

    config_from_params(given, note)
    if problems:
        raise click.BadParameter("; ".join(problems))
    return given


def _file_text(path: str) -> str:
    """The text of a file, or of standard input for -."""
    from ascendctl.yamlio.inputs import read_bytes

    claim_stdin([path], "a scheduler parameter")
    data: bytes = readable(lambda: read_bytes(path))
    return data.decode("utf-8", "replace").strip()


def output_option(formats: Sequence[str], default: str) -> Callable[[F], F]:
    """-o/--output FORMAT[=FILE], repeatable."""
    return click.option(
        "-o", "--output", "outputs", multiple=True, default=(default,), show_default=True, metavar="FORMAT[=FILE]",
        callback=lambda ctx, param, values: _targets(values, formats),
        shell_complete=lambda ctx, param, text: [name for name in formats if name.startswith(text)],
        help=f"One of {', '.join(formats)}; with =FILE into a file. Repeatable.",
    )  # fmt: skip


def _targets(values: Sequence[str], formats: Sequence[str]) -> list[tuple[str, str]]:
    """(format, file) of every output, "" = standard output, which takes one format as each file does."""
    targets = list(dict.fromkeys(_target(value, formats) for value in values))
    files = [file for _, file in targets]
    for name, file in targets:
        if files.count(file) > 1:
            where = file or "standard output"
            raise click.BadParameter(f"two formats go to {where}: give one a file of its own, such as {name}=FILE")
    return targets


def _target(value: str, formats: Sequence[str]) -> tuple[str, str]:
    name, _, file = value.partition("=")
    if name not in formats:
        raise click.BadParameter(f"{name!r} is not one of {', '.join(formats)}")
    return name, file


quiet_option = click.option("-q", "--quiet", is_flag=True, help="Print nothing when all is well.")
verbose_option = click.option("-v", "--verbose", is_flag=True, help="Print more: infos, notes.")
color_option = click.option(
    "--color", type=click.Choice(["auto", "always", "never"]), default="auto", show_default=True,
    help="Colours; auto = on a terminal unless NO_COLOR is set.",
)  # fmt: skip


def emit(
    outputs: Sequence[tuple[str, str]], render: Callable[[str], str], more: Sequence[tuple[str, str]] = ()
) -> None:
    """Write every wanted format: all are made first, then files are replaced atomically and without colours, all of
    them or none, then comes standard output. `render` alone decides on colours. `more` are texts behind these, each
    with its file ("" = standard output)."""
    made = [*((file, render(name)) for name, file in outputs), *more]
    write_files([(file, (click.unstyle(text).rstrip("\n") + "\n").encode()) for file, text in made if file])
    for file, text in made:
        if text and not file:
            click.echo(text.rstrip("\n"), color=True)


def write_files(files: Sequence[tuple[str, bytes]]) -> None:
    """Replace files, each with its data, all or none of them; one that cannot be written ends the program with exit
    code 2."""
    from ascendctl.yamlio.atomic import write_together

    try:
        write_together(files)
    except OSError as error:
        raise Unreadable(f"{error.filename}: cannot be written: {error.strerror or error}") from None


def dump_of(paths: Sequence[str], given: Dump) -> Dump:
    """The dump of a command that takes its parts as arguments too; none at all is an error, a pipe counts as -."""
    paths = (*given.paths, *paths)
    if not paths and not sys.stdin.isatty():
        paths = ("-",)
    if not paths:
        raise click.UsageError("name a cluster dump: a file, a folder, or - for standard input")
    return replace(given, paths=tuple(paths))


def load_cluster(dump: Dump) -> Any:
    """The cluster of the snapshot options; unreadable input ends the program with exit code 2."""
    from ascendctl.cli.progress import counting
    from ascendctl.snapshot.load import load_snapshot
    from ascendctl.snapshot.profiles import LoadOptions

    claim_stdin(dump.paths, "a cluster dump")
    with counting("objects of the dump read") as progress:
        options = LoadOptions(**dump.loading)
        cluster = readable(lambda: load_snapshot(list(dump.paths), options=options, progress=progress))
    if dump.fields:
        cluster = replace(cluster, config=replace(cluster.config, **dump.fields))
    return _with_labels(cluster, dump.topology_csv) if dump.topology_csv else cluster


def _with_labels(cluster: Any, file: str) -> Any:
    """The cluster with the node labels of a CSV file."""
    from ascendctl.report.text import printable, some
    from ascendctl.topology.csv_labels import overlay, read_labels
    from ascendctl.yamlio.errors import ReadError
    from ascendctl.yamlio.inputs import read_bytes

    def read() -> Any:
        try:
            return read_labels(read_bytes(file).decode("utf-8"), file)
        except UnicodeDecodeError:
            raise ReadError(file, "is no UTF-8 text") from None

    cluster, unknown = overlay(cluster, readable(read))
    if unknown:
        click.echo(f"note: {printable(file)}: {len(unknown)} nodes are not in the dump: {some(unknown)}", err=True)
    return cluster


def claim_stdin(paths: Sequence[str], what: str) -> None:
    """Standard input can be read once: a second use in one command is an error."""
    context = click.get_current_context(silent=True)
    if "-" not in paths or context is None:
        return
    first = context.meta.setdefault("ascendctl.stdin", what)
    if first is not what or list(paths).count("-") > 1:
        raise click.UsageError(f"standard input (-) cannot be both {first} and {what}")


def readable(action: Callable[[], Any]) -> Any:
    """Run a reader; its ReadError becomes one line on stderr and exit code 2."""
    from ascendctl.yamlio.errors import ReadError

    try:
        return action()
    except ReadError as error:
        raise Unreadable(str(error)) from None


def manifest_paths(paths: Sequence[str]) -> list[str]:
    """The manifests named on the command line; a pipe counts as -, none at all is an error."""
    if not paths and not sys.stdin.isatty():
        paths = ["-"]
    if not paths:
        raise click.UsageError("name a manifest, or - for standard input")
    claim_stdin(paths, "a manifest")
    return list(paths)


def no_jobs(paths: Sequence[str]) -> Unreadable:
    """The error for manifests without any job."""
    from ascendctl.manifest.load import MAX_PODS

    return Unreadable(
        f"{', '.join(paths)}: no job in it (AscendJob, vcjob, Deployment, StatefulSet, Job, Pod, InferService..., "
        f"of at most {MAX_PODS} pods); `ascendctl validate` says more"
    )


def load_manifests(paths: Sequence[str]) -> list[Any]:
    """All jobs of some manifests; none at all is an error."""
    from ascendctl.manifest.load import load_jobs

    found = manifest_paths(paths)
    jobs: list[Any] = readable(lambda: load_jobs(found))
    if not jobs:
        raise no_jobs(found)
    return jobs
