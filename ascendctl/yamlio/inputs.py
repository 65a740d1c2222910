"""Finding inputs as people name them: files, folders, globs, "-" for stdin; plain or gzip."""

from __future__ import annotations

import glob
import os
import sys
import zlib
from collections.abc import Iterable, Iterator, Sequence

from ascendctl.yamlio.document import Document
from ascendctl.yamlio.errors import ReadError

SUFFIXES = (".yaml", ".yml", ".json")
MAX_BYTES = 4 << 30
"""Bytes of one input, unpacked. A dump of 100,000 nodes has some 2 GB; more is a mistake or an attack."""
_MAGIC = b"\x1f\x8b"
_CHUNK = 1 << 20


def expand_paths(sources: Iterable[str | os.PathLike[str]]) -> list[str]:
    """The files that paths, folders (recursive, hidden folders skipped) and globs name, each once, in a stable order.

    Raises ReadError for a path that does not exist, a folder or glob without any file.
    """
    files: dict[str, None] = {}
    for source in sources:
        text = os.fspath(source)
        if text == "-" or os.path.isfile(text):
            found = [text]
        elif os.path.isdir(text):
            found = list(_walk(text))
        elif os.path.exists(text):  # a pipe, as <(kubectl ...) gives
            found = [text]
        else:
            found = [path for path in sorted(glob.glob(text, recursive=True)) if os.path.isfile(path)]
            if not found and not glob.has_magic(text):
                raise ReadError(text, "no such file or folder")
        if not found:
            raise ReadError(text, "no .yaml, .yml or .json file found", "name the files, or a folder that holds them")
        files.update(dict.fromkeys(found))
    return list(files)


def _walk(folder: str) -> Iterator[str]:
    for root, folders, names in os.walk(folder):
        folders[:] = sorted(name for name in folders if not name.startswith("."))
        for name in sorted(names):
            if not name.startswith(".") and has_suffix(name):
                yield os.path.join(root, name)


def has_suffix(name: str) -> bool:
    """True for the name of a YAML or JSON file, gzip or not."""
    return name.removesuffix(".gz").endswith(SUFFIXES)


def read_bytes(path: str | os.PathLike[str], limit: int = MAX_BYTES) -> bytes:
    """The bytes of a file or of stdin ("-"), unpacked if they are gzip. Raises ReadError if they cannot be read, are
    cut off, or unpack to more than `limit`."""
    name = os.fspath(path)
    try:
        if name == "-":
            data = sys.stdin.buffer.read(limit + 1)
        else:
            with open(name, "rb") as file:
                data = file.read(limit + 1)
    except OSError as error:
        raise ReadError(name, f"cannot be read: {error.strerror or error}") from None
    data = unpacked(name, data, limit)
    if len(data) > limit:
        raise ReadError(name, f"larger than {limit >> 20} MiB", "split the dump into several files")
    return data


def unpacked(name: str, data: bytes, limit: int = MAX_BYTES) -> bytes:
    """The bytes themselves, or what they hold if they are gzip. Raises ReadError as `read_bytes`."""
    if not data.startswith(_MAGIC):
        return data
    parts, size, rest = [], 0, data
    try:
        while rest.startswith(_MAGIC):  # a gzip file may hold several members
            stream = zlib.decompressobj(wbits=31)
            chunk = stream.decompress(rest, _CHUNK)
            while True:
                size += len(chunk)
                if size > limit:
                    raise ReadError(
                        name, f"unpacks to more than {limit >> 20} MiB", "split the dump into several files"
                    )
                parts.append(chunk)
                if stream.eof or not (chunk or stream.unconsumed_tail):
                    break
                chunk = stream.decompress(stream.unconsumed_tail, _CHUNK)
            if not stream.eof:
                raise ReadError(name, "the gzip data is cut off", "copy or export the file again")
            rest = stream.unused_data
    except zlib.error as error:
        raise ReadError(name, f"not readable as gzip: {error}") from None
    return b"".join(parts)


def is_text(source: object) -> bool:
    """True for YAML text given in place of a path: anything with a line break or an opening brace."""
    return isinstance(source, str) and ("\n" in source or source.lstrip().startswith("{"))


def read_all(source: str | os.PathLike[str] | Sequence[str | os.PathLike[str]]) -> list[Document]:
    """Documents of a path, several paths, "-", or YAML text. Raises ReadError for the first text that is unreadable."""
    from ascendctl.yamlio.read import read_documents

    if isinstance(source, str) and is_text(source):
        documents = read_documents(source, "<text>")
    else:
        paths = [source] if isinstance(source, str | os.PathLike) else source
        documents = [d for path in expand_paths(paths) for d in read_documents(read_bytes(path), path)]
    for document in documents:
        for problem in document.problems:
            if problem.fatal:
                raise ReadError(document.file, problem.message, problem.hint, problem.line, problem.column)
    return documents
