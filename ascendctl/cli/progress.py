"""A counter on stderr for what can take long: on a terminal only, from the first second on, gone when it is over."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

FIRST, EVERY = 1.0, 0.1
"""Seconds until the counter appears, and between two updates."""


@contextmanager
def counting(what: str, total: int = 0) -> Iterator[Callable[[int], None] | None]:
    """A function that takes how much more is done, to be called while the block runs; None where nobody watches.
    `total` 0 = unknown: then there is no bar."""
    if not sys.stderr.isatty():
        yield None
        return
    start = last = time.monotonic()
    done, width = 0, 0

    def more(count: int) -> None:
        nonlocal done, last, width
        done += count
        now = time.monotonic()
        if now - start < FIRST or now - last < EVERY:
            return
        last = now
        text = line(what, done, total)
        sys.stderr.write("\r" + text.ljust(width))
        sys.stderr.flush()
        width = len(text)

    try:
        yield more
    finally:
        if width:
            sys.stderr.write("\r" + " " * width + "\r")
            sys.stderr.flush()


def line(what: str, done: int, total: int, size: int = 30) -> str:
    """The counter, with a bar if the total is known."""
    if not total:
        return f"{what}: {done:,}"
    filled = min(size, size * done // total)
    return f"{what}: [{'#' * filled}{' ' * (size - filled)}] {done:,}/{total:,}"
