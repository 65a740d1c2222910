"""Replacing files so that a reader, or a crash, sees the old content or the new one and nothing in between."""

from __future__ import annotations

import errno
import os
import secrets
import stat
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress

_Staged = tuple[str, str]
"""Target and temporary file."""


def write_together(files: Sequence[tuple[str | os.PathLike[str], bytes]]) -> None:
    """Write files, each with its data: temporary files in the same folders, fsync, rename, fsync of the folders. All
    temporary files are there before the first of them gets its name, so a missing folder or a full disk leaves every
    file as it was.

    An existing file keeps its mode and, where that is allowed, its owner; a new one gets the usual mode. A symbolic
    link stays and its target is replaced. Devices and pipes (/dev/stdout) are written directly. Raises OSError, also
    for a file without write permission, with the path that was given as its `filename`; the old content is then
    untouched and the temporary file gone. A killed process may leave a file `.<random>.ascendctl.tmp` behind.
    """
    staged: list[_Staged] = []
    try:
        for path, data in files:
            with _named(path):
                staged.append(_stage(path, data))
        for (path, data), (target, temporary) in zip(files, staged, strict=True):
            if not temporary:
                with _named(path), open(target, "wb") as file:
                    file.write(data)
        for (path, _), (target, temporary) in zip(files, staged, strict=True):
            if temporary:
                with _named(path):
                    os.replace(temporary, target)
    except BaseException:
        for _, temporary in staged:
            _remove(temporary)
        raise
    for folder in dict.fromkeys(os.path.dirname(target) for target, temporary in staged if temporary):
        _sync_folder(folder)


@contextmanager
def _named(path: str | os.PathLike[str]) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        error.filename = os.fspath(path)
        raise


def _stage(path: str | os.PathLike[str], data: bytes) -> _Staged:
    """The data in a temporary file beside its target; "" for a device or a pipe."""
    target = os.path.realpath(path)
    try:
        old = os.stat(target)
    except FileNotFoundError:
        old = None
    if old and stat.S_ISDIR(old.st_mode):
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), os.fspath(path))
    if old and not stat.S_ISREG(old.st_mode):
        return target, ""
    if old and not os.access(target, os.W_OK):
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), os.fspath(path))
    temporary = os.path.join(os.path.dirname(target), f".{secrets.token_hex(8)}.ascendctl.tmp")
    descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0), 0o666)
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(data)
            if old:
                if hasattr(os, "fchown"):
                    with suppress(PermissionError):
                        os.fchown(file.fileno(), old.st_uid, old.st_gid)
                os.chmod(temporary, stat.S_IMODE(old.st_mode))
            file.flush()
            os.fsync(file.fileno())
    except BaseException:
        _remove(temporary)
        raise
    return target, temporary


def _remove(temporary: str) -> None:
    with suppress(OSError):
        os.unlink(temporary)


def _sync_folder(folder: str) -> None:
    """Make the rename itself durable, where the system can open folders."""
    with suppress(OSError):
        descriptor = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
