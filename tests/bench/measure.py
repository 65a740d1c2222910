"""Fresh processes with their time and peak memory, and tables of the results."""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True)
class Run:
    """One process: wall and CPU seconds (user + system, its own children included), peak resident MiB, and what a
    `child` reported."""

    wall: float
    cpu: float
    peak: float
    answer: dict[str, Any]


def spawn(command: Sequence[str], env: Mapping[str, str], codes: Sequence[int] = (0,)) -> Run:
    """Run a command to its end in the folder PWD. Another exit code than these ends the benchmark. The peak is that of the kernel's accounting; this process must stay small, for a child
    begins with the memory of its parent."""
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as errors:
        started = time.perf_counter()
        process = subprocess.Popen(
            command, env=dict(env), cwd=env["PWD"], stdin=subprocess.DEVNULL, stdout=out, stderr=errors
        )
        _, status, usage = os.wait4(process.pid, 0)
        wall = time.perf_counter() - started
        process.returncode = os.waitstatus_to_exitcode(status)
        out.seek(0)
        errors.seek(0)
        text, complaint = out.read(1 << 20).decode("utf-8", "replace"), errors.read().decode("utf-8", "replace")
    if process.returncode not in codes:
        sys.exit(f"{' '.join(command)}: exit code {process.returncode}\n{complaint[-2000:]}")
    answer = json.loads(text) if text.startswith('{"measured":') else {}
    cpu, peak = usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024
    return Run(wall, cpu, peak, answer)


def python(*arguments: str) -> list[str]:
    return [sys.executable, *arguments]


def child(what: str, *arguments: str) -> list[str]:
    """Command line of a measurement inside a fresh process; see `child.py`."""
    return python("-m", "tests.bench.child", what, *arguments)


@dataclass
class Series:
    """The runs of one thing. Seconds are those that the child reported if it did, else the wall time of the process."""

    name: str
    runs: list[Run] = field(default_factory=list)

    @property
    def seconds(self) -> list[float]:
        return [run.answer.get("seconds", run.wall) for run in self.runs]

    @property
    def best(self) -> float:
        return min(self.seconds)

    @property
    def median(self) -> float:
        return statistics.median(self.seconds)

    @property
    def cpu(self) -> float:
        return min(float(run.answer.get("cpu", run.cpu)) for run in self.runs)

    @property
    def peak(self) -> float:
        return max(run.peak for run in self.runs)


def alternate(
    commands: Mapping[str, Sequence[str]],
    runs: int,
    env: Mapping[str, str],
    other: Mapping[str, Mapping[str, str]] = {},
) -> dict[str, Series]:
    """Run every command `runs` times, in turn, so that a busy moment meets all of them alike. `other`: environments of
    commands that do not have the common one."""
    series = {name: Series(name) for name in commands}
    for _ in range(runs):
        for name, command in commands.items():
            series[name].runs.append(spawn(command, other.get(name, env)))
    return series


def table(title: str, head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A Markdown table with aligned columns."""
    lines = [list(head), ["---"] * len(head), *[list(row) for row in rows]]
    widths = [max(len(line[i]) for line in lines) for i in range(len(head))]
    body = []
    for line in lines:
        cells = [
            cell.ljust(w) if i == 0 else cell.rjust(w) for i, (cell, w) in enumerate(zip(line, widths, strict=True))
        ]
        body.append("| " + " | ".join(cells) + " |")
    body[1] = "|" + "|".join("-" * (w + 2) if i == 0 else "-" * (w + 1) + ":" for i, w in enumerate(widths)) + "|"
    return f"### {title}\n\n" + "\n".join(body) + "\n"


def against(series: Mapping[str, Series], base: str, title: str, extra: Sequence[str] = ()) -> str:
    """The series side by side: fastest and median run, CPU time, and ratios of the fastest runs to the base."""
    rows = []
    for one in series.values():
        row = [one.name, seconds(one.best), seconds(one.median), seconds(one.cpu)]
        row += [f"{one.best / series[base].best:.2f}", f"{one.cpu / series[base].cpu:.2f}", f"{one.peak:,.0f}"]
        rows.append(row + [str(one.runs[-1].answer.get(key, "")) for key in extra])
    head = ["", "min", "median", "cpu", "ratio (min)", "ratio (cpu)", "peak MiB", *extra]
    return table(f"{title} (ratios to {base}, {len(series[base].runs)} runs)", head, rows)


def seconds(value: float) -> str:
    """A duration with a fitting unit."""
    return f"{value * 1000:.1f} ms" if value < 1 else f"{value:.2f} s"


def load_average() -> str:
    return " ".join(f"{value:.1f}" for value in os.getloadavg())
