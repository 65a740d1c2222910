from __future__ import annotations

import io
from pathlib import Path

import pytest

from ascendctl import load_snapshot
from ascendctl.cli import progress
from tests import cases
from tests.cli.world import EIGHT, dump


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_nobody_watches(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stderr", io.StringIO())
    with progress.counting("reading") as more:
        assert more is None


def test_a_counter_after_the_first_second_that_leaves_nothing_behind(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = [0.0]
    terminal = Terminal()
    monkeypatch.setattr("sys.stderr", terminal)
    monkeypatch.setattr(progress.time, "monotonic", lambda: clock[0])
    with progress.counting("objects") as more:
        assert more is not None
        for clock[0] in (0.5, 0.9, 1.2, 1.25, 1.5):
            more(1000)
    assert terminal.getvalue() == "\robjects: 3,000\robjects: 5,000\r" + " " * 14 + "\r"


def test_short_work_shows_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    terminal = Terminal()
    monkeypatch.setattr("sys.stderr", terminal)
    with progress.counting("objects") as more:
        assert more is not None
        more(5)
    assert terminal.getvalue() == ""


def test_bar() -> None:
    assert progress.line("files", 5, 10, 10) == "files: [#####     ] 5/10"
    assert progress.line("files", 12, 10, 4) == "files: [####] 12/10"


def test_a_load_tells_how_many_objects_it_read(tmp_path: Path) -> None:
    told: list[int] = []
    cluster = load_snapshot(str(dump(tmp_path)), progress=told.append)
    assert sum(told) == len(cases.objects(EIGHT)) == sum(cluster.read.values())
