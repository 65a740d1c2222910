"""How the program ends: exit codes and one line for every error, never a traceback; a closed pipe is no error."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from typing import Any

import click

INTERRUPTED = 130
FAILED = 2


class QuietOutput:
    """Standard output whose reader may go away (`| head`): the rest is thrown away, and the exit code stays that of the
    command. Characters that the terminal's encoding lacks are written as escapes."""

    def __init__(self, stream: Any) -> None:
        self._stream = stream
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="backslashreplace")

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)

    def write(self, text: str) -> int:
        """Write text; nothing happens once the reader is gone."""
        try:
            return int(self._stream.write(text))
        except BrokenPipeError:
            self._drop()
            return len(text)

    def flush(self) -> None:
        """Flush; nothing happens once the reader is gone."""
        try:
            self._stream.flush()
        except BrokenPipeError:
            self._drop()

    def _drop(self) -> None:
        """Lead what is still in the buffers into the void, so that the interpreter can flush it when it ends."""
        void = os.open(os.devnull, os.O_WRONLY)
        os.dup2(void, self._stream.fileno())
        os.close(void)


def guarded(action: Callable[[], Any]) -> int:
    """Run the command line and return its exit code; whatever goes wrong is one line on stderr."""
    try:
        code = action()
        sys.stdout.flush()
    except SystemExit as end:
        code = end.code
    except (click.exceptions.Abort, KeyboardInterrupt):
        return INTERRUPTED
    except click.ClickException as error:
        return _refused(error)
    except MemoryError:
        return _line("error: out of memory")
    except OSError as error:
        if isinstance(error, BrokenPipeError):
            return 0
        name = f"{error.filename}: " if error.filename else ""
        _trace(error)
        return _line(f"error: {name}{error.strerror or error}")
    except Exception as error:
        return _internal(error)
    return code if isinstance(code, int) else 0


def _refused(error: click.ClickException) -> int:
    """An error of the user's: click's own text, with control characters escaped."""
    from ascendctl.report.text import printable

    if error.message:
        vars(error)["message"] = "\n".join(printable(line) for line in error.message.split("\n"))
    error.show()
    return error.exit_code


def _internal(error: BaseException) -> int:
    _trace(error)
    hint = "" if _debugging() else "; set ASCENDCTL_DEBUG=1 to see the traceback, and report it"
    return _line(f"internal error: {type(error).__name__}: {error}{hint}")


def _trace(error: BaseException) -> None:
    if _debugging():
        import traceback

        traceback.print_exception(error)


def _debugging() -> bool:
    return os.environ.get("ASCENDCTL_DEBUG", "") not in ("", "0")


def _line(text: str) -> int:
    from ascendctl.report.text import printable

    click.echo(printable(text), err=True)
    return FAILED
