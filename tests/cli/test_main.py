"""The program itself: versions, help, unknown commands."""

from __future__ import annotations

from ascendctl import __version__
from ascendctl.cli import COMMANDS, cli
from ascendctl.validate.catalogue import all_rules
from tests.cli.world import run


def test_version_tells_program_rules_schemas_and_plugin() -> None:
    first, second = run("--version").stdout.splitlines()
    assert first == f"ascendctl {__version__}"
    assert second.startswith(f"{len(all_rules())} rules") and len(all_rules()) >= 288
    for part in ("JSON Schema 2020-12", "ascendctl/v1", "5.0 to 26.1"):
        assert part in second


def test_help_lists_every_command_with_its_own_short_help() -> None:
    text = run("--help").stdout
    for name in COMMANDS:
        assert name in text
        found = cli.get_command(None, name)  # type: ignore[arg-type]
        assert found is not None and found.name == name


def test_unknown_command() -> None:
    result = run_wrong("plaice")
    assert result.exit_code == 2 and "No such command 'plaice'" in result.stderr


def run_wrong(*args: str):
    from click.testing import CliRunner

    return CliRunner().invoke(cli, list(args))
