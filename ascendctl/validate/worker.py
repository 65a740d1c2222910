"""Many files: in this process, or shared out to others that tell each other which objects they have."""

from __future__ import annotations

import gc
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias

from ascendctl.validate.companions import ObjectKey
from ascendctl.validate.finding import Finding
from ascendctl.validate.options import Options
from ascendctl.validate.report import Checked
from ascendctl.validate.run import Loaded, evaluate, load
from ascendctl.yamlio.errors import ReadError
from ascendctl.yamlio.inputs import read_bytes
from ascendctl.yamlio.read import MAX_TEXT

if TYPE_CHECKING:
    from multiprocessing.connection import Connection

Task: TypeAlias = tuple[str, str, Options]
"""(path, name in reports, options)."""

PARALLEL_FROM = 100
"""Files from which on starting other processes costs less than they save."""
_REPORT_EVERY = 20


@dataclass
class Outcome:
    """What a run over several files gives."""

    findings: list[Finding]
    files: list[Checked]
    unreadable: list[tuple[str, str]]


def run_serial(tasks: Sequence[Task], progress: Callable[[int], None] | None = None) -> Outcome:
    """All files in this process."""
    with _without_gc():
        loaded, unreadable = _load(tasks)
        outcome = _evaluate(loaded, _merge(one.index for one, _ in loaded), progress)
    outcome.unreadable = unreadable
    return outcome


@contextmanager
def _without_gc() -> Iterator[None]:
    """Reading and judging make many objects that stay, and no cycles; looking for cycles among them only costs time."""
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            gc.enable()


def _load(tasks: Iterable[Task]) -> tuple[list[tuple[Loaded, Options]], list[tuple[str, str]]]:
    loaded, unreadable = [], []
    for path, shown, options in tasks:
        try:
            loaded.append((load(shown, read_bytes(path, MAX_TEXT), options), options))
        except ReadError as error:
            unreadable.append((shown, error.message + (f" ({error.hint})" if error.hint else "")))
    return loaded, unreadable


def _merge(parts: Iterable[dict[ObjectKey, Any]]) -> dict[ObjectKey, Any]:
    """Objects of all files; of two with one name the earlier file's."""
    merged: dict[ObjectKey, Any] = {}
    for part in parts:
        for key, value in part.items():
            merged.setdefault(key, value)
    return merged


def _evaluate(
    loaded: Sequence[tuple[Loaded, Options]], others: dict[ObjectKey, Any], progress: Callable[[int], None] | None
) -> Outcome:
    outcome = Outcome([], [], [])
    for number, (one, options) in enumerate(loaded, 1):
        found, checked = evaluate(one, options, others)
        outcome.findings += found
        outcome.files.append(checked)
        if progress is not None and (number % _REPORT_EVERY == 0 or number == len(loaded)):
            progress(_REPORT_EVERY if number % _REPORT_EVERY == 0 else number % _REPORT_EVERY)
    return outcome


def run_parallel(tasks: Sequence[Task], count: int, progress: Callable[[int], None] | None = None) -> Outcome:
    """The files shared out to `count` processes. Each reads its part, says what objects it has, gets those of all, and
    judges its part; the result does not depend on the number."""
    import multiprocessing

    methods = multiprocessing.get_all_start_methods()
    context: Any = multiprocessing.get_context("fork" if "fork" in methods else "spawn")
    workers = []
    for number in range(count):
        ours, theirs = context.Pipe()
        process = context.Process(target=_work, args=(theirs, list(tasks[number::count])), daemon=True)
        process.start()
        theirs.close()
        workers.append((process, ours))
    try:
        merged = _merge_in_order([pipe.recv() for _, pipe in workers])
        for _, pipe in workers:
            pipe.send(merged)
        outcome = Outcome([], [], [])
        for _, pipe in workers:
            while isinstance(answer := pipe.recv(), int):
                if progress is not None:
                    progress(answer)
            outcome.findings += answer.findings
            outcome.files += answer.files
            outcome.unreadable += answer.unreadable
        return outcome
    finally:
        for process, pipe in workers:
            pipe.close()
            process.join(timeout=5)


def _merge_in_order(parts: Sequence[Sequence[tuple[int, dict[ObjectKey, Any]]]]) -> dict[ObjectKey, Any]:
    """Objects of all files in the order of the files, whoever read them."""
    count = len(parts)
    numbered = [(position * count + worker, found) for worker, part in enumerate(parts) for position, found in part]
    return _merge(found for _, found in sorted(numbered, key=lambda pair: pair[0]))


def _work(pipe: Connection, tasks: Sequence[Task]) -> None:
    gc.disable()
    loaded: list[tuple[Loaded, Options]] = []
    objects: list[tuple[int, dict[ObjectKey, Any]]] = []
    unreadable: list[tuple[str, str]] = []
    for position, task in enumerate(tasks):
        one, failed = _load([task])
        loaded += one
        unreadable += failed
        objects += [(position, found.index) for found, _ in one]
    pipe.send(objects)
    outcome = _evaluate(loaded, pipe.recv(), pipe.send)
    outcome.unreadable = unreadable
    pipe.send(outcome)
    pipe.close()
