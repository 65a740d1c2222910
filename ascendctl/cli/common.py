"""What all commands share: options, output targets, errors as exit codes."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from typing import Any, TypeVar

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


def snapshot_option(required: bool = True) -> Callable[[F], F]:
    """-s/--snapshot, repeatable."""
    return click.option(
        "-s", "--snapshot", "snapshots", multiple=True, required=required, metavar="PATH",
        help="Cluster dump: file, folder, glob, packed snapshot or - for stdin. Repeatable: all parts are one cluster.",
    )  # fmt: skip


def output_option(formats: Sequence[str], default: str) -> Callable[[F], F]:
    """-o/--output FORMAT[=FILE], repeatable."""
    return click.option(
        "-o", "--output", "outputs", multiple=True, default=(default,), show_default=True, metavar="FORMAT[=FILE]",
        callback=lambda ctx, param, values: [_target(value, formats) for value in values],
        help=f"One of {', '.join(formats)}; with =FILE into a file. Repeatable.",
    )  # fmt: skip


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


def emit(outputs: Sequence[tuple[str, str]], render: Callable[[str], str]) -> None:
    """Write every wanted format: files first (atomically), then standard output."""
    for name, file in outputs:
        text = render(name)
        if file:
            from ascendctl.yamlio.atomic import write_atomic

            try:
                write_atomic(file, (text.rstrip("\n") + "\n").encode())
            except OSError as error:
                raise Unreadable(f"{file}: cannot be written: {error.strerror or error}") from None
        elif text:
            click.echo(text.rstrip("\n"))


def load_cluster(snapshots: Sequence[str]) -> Any:
    """The cluster of some -s options; unreadable input ends the program with exit code 2."""
    from ascendctl.snapshot.load import load_snapshot

    return readable(lambda: load_snapshot(list(snapshots)))


def readable(action: Callable[[], Any]) -> Any:
    """Run a reader; its ReadError becomes one line on stderr and exit code 2."""
    from ascendctl.yamlio.errors import ReadError

    try:
        return action()
    except ReadError as error:
        raise Unreadable(str(error)) from None


def load_manifests(paths: Sequence[str]) -> list[Any]:
    """All jobs of some manifests; none at all is an error."""
    from ascendctl.manifest.load import load_jobs

    if not paths and not sys.stdin.isatty():
        paths = ["-"]
    if not paths:
        raise click.UsageError("name a manifest, or - for standard input")
    jobs: list[Any] = readable(lambda: load_jobs(list(paths)))
    if not jobs:
        raise Unreadable(
            f"{', '.join(paths)}: no job in it (AscendJob, vcjob, Deployment, StatefulSet, Job, Pod, InferService...); "
            "`ascendctl validate` says more"
        )
    return jobs
