"""Replacing files so that a reader, or a crash, sees the old content or the new one and nothing in between."""

from __future__ import annotations

import os
import secrets
import stat
from contextlib import suppress


def write_atomic(path: str | os.PathLike[str], data: bytes) -> None:
    """Write `data` to `path`: a temporary file in the same folder, fsync, rename, fsync of the folder.

    An existing file keeps its mode and, where that is allowed, its owner; a new one gets the usual mode. A symbolic
    link stays and its target is replaced. Devices and pipes (/dev/stdout) are written directly. Raises OSError, also
    for a file without write permission; the old content is then untouched and the temporary file gone. A killed
    process may leave a file `.<random>.ascendctl.tmp` behind.
    """
    target = os.path.realpath(path)
    try:
        old = os.stat(target)
    except FileNotFoundError:
        old = None
    if old and not stat.S_ISREG(old.st_mode):
        with open(target, "wb") as file:
            file.write(data)
        return
    if old and not os.access(target, os.W_OK):
        raise PermissionError(13, "Permission denied", os.fspath(path))
    folder = os.path.dirname(target)
    temporary = os.path.join(folder, f".{secrets.token_hex(8)}.ascendctl.tmp")
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
        os.replace(temporary, target)
    except BaseException:
        with suppress(OSError):
            os.unlink(temporary)
        raise
    _sync_folder(folder)


def _sync_folder(folder: str) -> None:
    """Make the rename itself durable, where the system can open folders."""
    with suppress(OSError):
        descriptor = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
