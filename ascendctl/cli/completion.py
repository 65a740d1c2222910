"""The completion scripts of `completions/`: click's own, for bash, zsh and fish."""

from __future__ import annotations

from importlib.metadata import version
from pathlib import Path

from click.shell_completion import ShellComplete, get_completion_class

from ascendctl.cli import cli

SHELLS = ("bash", "zsh", "fish")
PROGRAM, VARIABLE = "ascendctl", "_ASCENDCTL_COMPLETE"


def script(shell: str) -> str:
    """The script that a shell loads. Raises KeyError for another shell."""
    found = get_completion_class(shell)
    if found is None:
        raise KeyError(shell)
    # not found.source: that of bash asks the bash of this machine for its version
    text = ShellComplete.source(found(cli, {}, PROGRAM, VARIABLE)).strip()
    return f"{text}\n\n# {maker()}\n"


def maker() -> str:
    """What the last line of a script says: which click wrote it, for others write it otherwise."""
    return f"made by click {'.'.join(version('click').split('.')[:2])}: python -m ascendctl.cli.completion"


def write_all(folder: Path) -> None:
    """Write the scripts anew, in `completions/` of a checkout: `python -m ascendctl.cli.completion`."""
    for shell in SHELLS:
        (folder / f"{PROGRAM}.{shell}").write_text(script(shell), encoding="utf-8")


if __name__ == "__main__":
    write_all(Path(__file__).parents[2] / "completions")
