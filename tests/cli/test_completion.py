from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from ascendctl.cli.completion import SHELLS, maker, script

FOLDER = Path(__file__).parents[2] / "completions"


@pytest.mark.parametrize("shell", SHELLS)
def test_scripts_are_current(shell: str) -> None:
    kept, made = (FOLDER / f"ascendctl.{shell}").read_text(encoding="utf-8"), script(shell)
    if maker() in kept:
        assert kept == made, "write them anew: python -m ascendctl.cli.completion"
    else:  # written by another click, whose scripts ask the program in the same way
        variable = f"_ASCENDCTL_COMPLETE={shell}_complete"
        assert variable in kept and variable in made


@pytest.mark.parametrize("shell", SHELLS)
def test_shells_can_read_their_scripts(shell: str) -> None:
    program = shutil.which(shell)
    if program is not None:
        subprocess.run([program, "-n", FOLDER / f"ascendctl.{shell}"], check=True, timeout=60)


def complete(words: str) -> list[str]:
    env = {
        **os.environ,
        "_ASCENDCTL_COMPLETE": "bash_complete",
        "COMP_WORDS": words,
        "COMP_CWORD": str(len(words.split(" ")) - 1),
    }
    program = "from ascendctl.cli import cli; cli.main(prog_name='ascendctl')"
    result = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, env=env, timeout=120, check=False
    )
    assert result.stderr == ""
    return result.stdout.split()


@pytest.mark.parametrize(
    ("words", "answers"),
    [
        ("ascendctl snap", ["plain,snapshot"]),
        ("ascendctl snapshot s", ["plain,show"]),
        ("ascendctl snapshot show --only", ["plain,--only-problems"]),
        ("ascendctl snapshot show -o js", ["plain,json"]),
        ("ascendctl snapshot show --by l", ["plain,leaf"]),
        ("ascendctl schema a3-p", ["plain,a3-pod"]),
        ("ascendctl place job", ["file,job"]),
        ("ascendctl place -s dum", ["file,dum"]),
    ],
)
def test_answers(words: str, answers: list[str]) -> None:
    assert complete(words) == answers
