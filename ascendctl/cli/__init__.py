"""The command line. One module a command, imported only when it runs."""

from __future__ import annotations

import os
import sys
from importlib import import_module
from typing import TextIO, cast

import click

from ascendctl.cli.ending import QuietOutput, guarded
from ascendctl.version import __version__

COMMANDS = {
    "validate": "Check job manifests against the schemas and rules of their product.",
    "place": "Say where a job would land: nodes, NPU ids, ranks; or why nowhere.",
    "capacity": "Say how many more jobs of a shape fit.",
    "patch": "Write a placement into the manifest.",
    "reschedule": "After a fault: which pods move, and where.",
    "ranktable": "Print the rank table of a placement.",
    "audit": "Find running jobs that break affinity rules.",
    "verify": "Compare a later dump with the plan in a patched manifest.",
    "snapshot": "Show, check, pack and compare cluster dumps.",
    "topology": "Draw the network topology of a cluster.",
    "products": "List the products, their policies and legal counts.",
    "schema": "Print the JSON Schema of a kind or product.",
    "explain": "Explain a rule, a diagnostic or a field.",
    "warmup": "Compile the kernels into the cache, for images.",
}


class _LazyGroup(click.Group):
    """A group that imports a command's module only when that command runs, so that start-up stays fast."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in COMMANDS:
            return None
        command: click.Command = import_module(f"ascendctl.cli.{cmd_name}").command
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl(list(COMMANDS.items()))


@click.group(
    cls=_LazyGroup,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 120},
    epilog="Exit codes: 0 fine; 1 findings, or no place; 2 wrong usage or unreadable input.",
)
@click.option(
    "--version", is_flag=True, expose_value=False, is_eager=True, help="Show the versions and exit.",
    callback=lambda ctx, param, wanted: _print_versions(ctx) if wanted else None,
)  # fmt: skip
def cli() -> None:
    """Validate job manifests for Huawei Ascend NPU clusters, and dry-run where Volcano with MindCluster would place
    them, from exported YAML alone: the program never opens a network connection."""


def _print_versions(ctx: click.Context) -> None:
    """The program, how many rules it knows, the drafts and formats it speaks, the plugin versions it models."""
    from ascendctl.engine.result import API_VERSION
    from ascendctl.snapshot.profiles import PROFILES
    from ascendctl.validate.catalogue import all_rules

    click.echo(f"ascendctl {__version__}")
    click.echo(
        f"{len(all_rules())} rules; schemas: JSON Schema 2020-12; documents: {API_VERSION}; "
        f"scheduler plugin {next(iter(PROFILES))} to {next(reversed(PROFILES))}"
    )
    ctx.exit()


def run() -> None:
    """Entry point: run the command line and end the process with its exit code, never with a traceback."""
    # what was closed by whoever started the program is empty; in the order of the descriptors, for each gets the lowest
    sys.stdin = sys.stdin or os.fdopen(os.open(os.devnull, os.O_RDONLY))
    sys.stdout = sys.stdout or os.fdopen(os.open(os.devnull, os.O_WRONLY), "w")
    sys.stderr = sys.stderr or os.fdopen(os.open(os.devnull, os.O_WRONLY), "w")
    sys.stdout = cast(TextIO, QuietOutput(sys.stdout))
    sys.exit(guarded(lambda: cli.main(prog_name="ascendctl", standalone_mode=False)))
