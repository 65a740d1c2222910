"""`ascendctl patch`."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

import click

from ascendctl.cli import common
from ascendctl.manifest.pin_modes import PIN_MODES

FORMATS = ("yaml", "diff")


@click.command("patch", short_help="Write a placement into the manifest.")
@click.argument("manifests", nargs=-1, metavar="[MANIFEST]...")
@common.snapshot_option()
@common.output_option(FORMATS, "yaml")
@click.option("-i", "--in-place", is_flag=True, help="Write back into the files instead of printing.")
@click.option(
    "--pin", type=click.Choice(PIN_MODES), default="auto", show_default=True,
    help="auto: what fits kind and policy; hostname: one node where a template has one, Volcano Jobs split into a task "
    "a rank, StatefulSets into a set a rank; set: a set of nodes a template; nodename: bare Pods past the scheduler, "
    "with their NPUs; annotate: only the plan record.",
)  # fmt: skip
@click.option(
    "--pods", is_flag=True,
    help="Expand each job into bare Pods and a PodGroup, every Pod pinned to its node with its rank.",
)  # fmt: skip
@click.option(
    "--placement", metavar="FILE", help="Write this placement (from `ascendctl place -o json`) instead of a fresh one."
)
@common.quiet_option
@common.color_option
def command(
    manifests: tuple[str, ...],
    snapshots: common.Dump,
    outputs: list[tuple[str, str]],
    in_place: bool,
    pin: str,
    pods: bool,
    placement: str | None,
    quiet: bool,
    color: str,
) -> None:
    """Place the jobs in MANIFEST (files, folders, globs, or - for stdin) on a cluster dump and write into the manifest
    where they land: node selectors or node affinity, ranks where the kind lets them be chosen, and a plan record in
    annotation ascendctl.io/plan. Comments, order and layout of everything else stay as they are.

    What is enforced and what stays a prediction is said on standard error. Jobs are placed in the order given, and each
    sees what the earlier ones took. The result is validated and placed again; nothing is written unless it lands where
    it should. Patching twice changes nothing.

    Exit code 1 if a job finds no place or the placement cannot be written (codes P-01 to P-12).

    \b
    Examples:
      ascendctl patch job.yaml -s dump/ > pinned.yaml
      ascendctl patch job.yaml -s dump/ -o diff
      ascendctl patch jobs/ -s dump/ -i
      ascendctl patch job.yaml -s dump/ --pods | kubectl create -f -
    """
    if in_place and (pods or outputs != [("yaml", "")]):
        raise click.UsageError("--in-place goes with neither --pods nor -o")
    from ascendctl.manifest.patch import patch_texts
    from ascendctl.manifest.patch_pins import PatchError

    files = _read(common.manifest_paths(manifests), in_place)
    cluster = common.load_cluster(snapshots)
    plans = _plans(placement) if placement else None
    try:
        patch = common.readable(lambda: patch_texts(files, cluster, pin, plans, pods=pods))
    except PatchError as error:
        _tell(error.notes, quiet=False, color=color)
        raise SystemExit(common.EXIT_FINDINGS) from None
    if not patch.placed:
        from ascendctl.engine.result import is_whole
        from ascendctl.report.placement import render
        from ascendctl.report.text import wants_color

        failed = [result for result in patch.results if not is_whole(result)]
        click.echo("\n\n".join(render(result, color=wants_color(color)) for result in failed), err=True)
        raise SystemExit(common.EXIT_FINDINGS)
    if not patch.found:
        raise common.no_jobs([name for name, _ in files])
    _tell(patch.notes, quiet, color)
    if in_place:
        common.write_files([(name, new.encode("utf-8")) for name, old, new in patch.files if old != new])
    else:
        made = [(file, _render(patch.files, name).encode("utf-8")) for name, file in outputs]
        common.write_files([(file, data) for file, data in made if file])
        for file, data in made:
            if not file:
                click.echo(data, nl=False)


def _read(paths: Sequence[str], in_place: bool) -> list[tuple[str, str]]:
    """(path, text) of every file."""
    from ascendctl.yamlio.inputs import expand_paths, read_bytes

    files = []
    for path in common.readable(lambda: expand_paths(paths)):
        data = common.readable(partial(read_bytes, path))
        if in_place and path == "-":
            raise click.UsageError("--in-place needs files, not standard input")
        if in_place and path.endswith(".gz"):
            raise click.UsageError(f"{path}: --in-place does not write compressed files")
        try:
            files.append((path, data.decode("utf-8")))
        except UnicodeDecodeError:
            raise common.Unreadable(f"{path}: not UTF-8; save the file as UTF-8") from None
    return files


def _plans(path: str) -> dict[tuple[str, str], dict[str, Any]]:
    """Placements by (namespace, job name)."""
    from ascendctl.cli.placements import read_placements

    found: dict[tuple[str, str], dict[str, Any]] = {}
    for document in read_placements(path):
        job = document.get("job") or {}
        found[str(job.get("namespace")), str(job.get("name"))] = document
    return found


def _tell(notes: Sequence[Any], quiet: bool, color: str) -> None:
    """Notes on standard error; `quiet` leaves out the infos."""
    from ascendctl.report.text import paint, printable, wants_color

    styles = {"error": "red", "warning": "yellow", "info": "cyan"}
    import sys

    colored = wants_color(color, sys.stderr)
    for note in dict.fromkeys(notes):
        if quiet and note.level == "info":
            continue
        level = paint(note.level, styles[note.level], colored)
        code = f" {note.code}" if note.code else ""
        click.echo(f"{level}{code}: {printable(note.title)}: {printable(note.message)}", err=True)


def _render(files: Sequence[tuple[str, str, str]], name: str) -> str:
    if name == "diff":
        return "".join(_diff(*file) for file in files)
    parts = [new for _, _, new in files]
    return parts[0] if len(parts) == 1 else "".join(_apart(part, i) for i, part in enumerate(parts))


def _apart(text: str, number: int) -> str:
    """One file of several in a stream: it ends its last line and starts with a document marker."""
    text = text if text.endswith("\n") else text + "\n"
    return text if number == 0 or text.startswith("---") else "---\n" + text.removeprefix("\ufeff")


def _diff(name: str, old: str, new: str) -> str:
    import difflib

    lines = difflib.unified_diff(old.splitlines(True), new.splitlines(True), f"a/{name}", f"b/{name}")
    return "".join(line if line.endswith("\n") else line + "\n\\ No newline at end of file\n" for line in lines)
