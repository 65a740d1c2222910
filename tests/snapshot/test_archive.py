"""Dumps as tar archives (chapter 30 §8.1)."""

from __future__ import annotations

import gzip
import io
import json
import tarfile
from pathlib import Path

import pytest

from ascendctl.snapshot.load import load_snapshot
from ascendctl.yamlio.errors import ReadError
from tests.snapshot import objects as o


def archive(files: dict[str, bytes], *more: tarfile.TarInfo) -> bytes:
    target = io.BytesIO()
    with tarfile.open(fileobj=target, mode="w") as made:
        for one in more:
            made.addfile(one)
        for name, data in files.items():
            entry = tarfile.TarInfo(name)
            entry.size = len(data)
            made.addfile(entry, io.BytesIO(data))
    return target.getvalue()


def listed(*items: dict[str, object]) -> bytes:
    return json.dumps({"apiVersion": "v1", "kind": "List", "items": items}).encode()


FILES = {
    "./dump/nodes.json": listed(o.node("n1"), o.node("n2")),
    "./dump/maps.json.gz": gzip.compress(listed(o.DEVICE_MODE, o.device_map(o.device_list(o.names(range(8)))))),
    "./dump/notes.txt": b"nothing",
    "./dump/.hidden.json": b"{broken",
}


@pytest.mark.parametrize("compress", [False, True])
def test_an_archive_is_read_like_its_folder(tmp_path: Path, compress: bool) -> None:
    link = tarfile.TarInfo("./dump/link.json")
    link.type, link.linkname = tarfile.SYMTYPE, "/etc/passwd"
    data = archive(FILES, link)
    path = tmp_path / "dump.tgz"
    path.write_bytes(gzip.compress(data) if compress else data)
    cluster = load_snapshot(str(path))
    assert (cluster.names, cluster.read) == (("n1", "n2"), {"ConfigMap": 2, "Node": 2})
    found = cluster.provenance
    assert found is not None
    assert found.files == (f"{path}/./dump/maps.json.gz", f"{path}/./dump/nodes.json")
    assert cluster.resources["huawei.com/Ascend910"].free.tolist() == [0xFF, 0]


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (archive(FILES)[:700], "not readable as a tar archive"),
        (archive({"notes.txt": b"x"}), "no .yaml, .yml or .json file"),
        (archive({"a.json": b"{broken"}), "a.json"),
    ],
)
def test_archives_that_cannot_be_read(tmp_path: Path, data: bytes, message: str) -> None:
    path = tmp_path / "dump.tar"
    path.write_bytes(data)
    with pytest.raises(ReadError, match=message):
        load_snapshot(str(path))
