"""README.md: every console example is run, and prints what stands there; its two first commands are one line each.

`python -m tests.test_readme` writes the present output of the examples into README.md, for review.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from ascendctl.cli import COMMANDS

ROOT = Path(__file__).parent.parent
TEXT = (ROOT / "README.md").read_text(encoding="utf-8")

CONSOLE = re.findall(r"^```console\n(.*?)^```$", TEXT, re.MULTILINE | re.DOTALL)
EXAMPLES = [example for block in CONSOLE for example in re.split(r"^\$ ", block, flags=re.MULTILINE) if example]
PYTHON = re.findall(r"^```python\n(.*?)^```\n\n```text\n(.*?)^```$", TEXT, re.MULTILINE | re.DOTALL)


def environment() -> dict[str, str]:
    """The user's, without what would change the output."""
    found = {k: v for k, v in os.environ.items() if k not in ("ASCENDCTL_DEBUG", "FORCE_COLOR", "COLUMNS")}
    return found | {"PYTHONPATH": str(ROOT), "PYTHONIOENCODING": "utf-8"}


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """A folder with the samples, where examples may write files."""
    (tmp_path / "samples").symlink_to(ROOT / "samples")
    return tmp_path


def run(command: str, folder: Path) -> subprocess.CompletedProcess[str]:
    """Run a command line as a user's shell would, with the program of this checkout."""
    script = f'ascendctl() {{ "{sys.executable}" -m ascendctl "$@"; }}\n{command}\n'
    return subprocess.run(
        ["sh", "-c", script], cwd=folder, env=environment(), capture_output=True, encoding="utf-8", timeout=120
    )


@pytest.mark.parametrize("example", EXAMPLES, ids=[example.partition("\n")[0] for example in EXAMPLES])
def test_console(example: str, checkout: Path) -> None:
    command, _, expected = example.partition("\n")
    done = run(command, checkout)
    assert done.stdout == expected
    assert done.returncode in (0, 1)


@pytest.mark.parametrize(("code", "expected"), PYTHON)
def test_python(code: str, expected: str, checkout: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-c", code],
        cwd=checkout,
        env=environment(),
        capture_output=True,
        encoding="utf-8",
        timeout=120,
    )
    assert (done.stdout, done.stderr) == (expected, "")


@pytest.mark.parametrize("marker", ["main", "tests"])
def test_first_commands(marker: str) -> None:
    """One line each, from setting up to the end, in the block right after its marker."""
    block = re.search(rf"^<!-- {marker} -->\n```sh\n(.*)\n```$", TEXT, re.MULTILINE)
    assert block
    assert block[1].startswith("python3 -m venv .venv && .venv/bin/pip install -q -e ")


def test_main_command_is_shown() -> None:
    """What the first command runs after setting up is what its example runs."""
    main = re.search(r"^<!-- main -->\n```sh\n(.*)\n```$", TEXT, re.MULTILINE)
    assert main
    runs = [part for part in main[1].split(" && ") if part.startswith(".venv/bin/ascendctl ")]
    assert EXAMPLES[0].partition("\n")[0] == " && ".join(part.removeprefix(".venv/bin/") for part in runs)


def test_commands_and_links() -> None:
    """Commands exist, all of them are mentioned, and links lead somewhere."""
    named = set(re.findall(r"`ascendctl ([a-z]+)", TEXT))
    assert named <= set(COMMANDS)
    assert set(COMMANDS) <= set(re.findall(r"[a-z]+", TEXT))
    for target in re.findall(r"\]\(([^)#:]+)\)", TEXT):
        assert (ROOT / target).exists(), target


def test_every_sample_folder_is_listed() -> None:
    listed = set(re.findall(r"^\| \[([^]]+)\]\(samples/\1\) \|", TEXT, re.MULTILINE))
    assert listed == {path.name for path in (ROOT / "samples").iterdir() if path.is_dir()}


def rewrite() -> None:
    """Write what the console examples print now."""

    def fresh(match: re.Match[str]) -> str:
        commands = [line for line in match[1].splitlines() if line.startswith("$ ")]
        return "```console\n" + "".join(f"{line}\n{run(line[2:], ROOT).stdout}" for line in commands) + "```"

    text = re.sub(r"^```console\n(.*?)^```$", fresh, TEXT, flags=re.MULTILINE | re.DOTALL)
    (ROOT / "README.md").write_text(text, encoding="utf-8")


if __name__ == "__main__":
    rewrite()
