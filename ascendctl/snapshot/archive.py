"""Dumps as tar archives, as people send them: the files that a folder would give (chapter 30 §8.1)."""

from __future__ import annotations

import io
import posixpath
import tarfile
from collections.abc import Iterator

from ascendctl.yamlio.errors import ReadError
from ascendctl.yamlio.inputs import has_suffix, unpacked


def archived_files(data: bytes, name: str) -> Iterator[tuple[str, bytes]]:
    """Name and bytes of each .yaml, .yml or .json file in an archive, plain or gzip, in the order of the names. Links,
    devices, sparse and hidden files are left out; nothing is written to disk.

    Raises ReadError for a damaged archive, or one without such files.
    """
    try:
        with tarfile.open(fileobj=io.BytesIO(data), mode="r:") as archive:
            members = [one for one in archive if one.isreg() and not one.issparse() and _is_dump(one.name)]
            for member in sorted(members, key=lambda one: one.name):
                file, path = archive.extractfile(member), f"{name}/{member.name}"
                if file is not None:
                    yield path, unpacked(path, file.read())
    except (tarfile.TarError, OSError, EOFError, ValueError) as error:
        if isinstance(error, ReadError):
            raise
        raise ReadError(name, f"not readable as a tar archive: {error}", "make the archive again") from None
    if not members:
        raise ReadError(name, "the archive has no .yaml, .yml or .json file")


def _is_dump(path: str) -> bool:
    return has_suffix(path) and not any(part.startswith(".") for part in posixpath.normpath(path).split("/"))
