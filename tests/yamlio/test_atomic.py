"""Files are replaced whole or not at all, even when the writer is killed."""

from __future__ import annotations

import os
import random
import signal
import stat
import subprocess
import sys
import time
from pathlib import Path

import pytest

from ascendctl.yamlio.atomic import write_together

WRITER = """
import sys
from ascendctl.yamlio.atomic import write_together
path, number = sys.argv[1], 0
print("ready", flush=True)
while True:
    number += 1
    write_together([(path, bytes([number % 256]) * 300_000)])
"""


def test_a_killed_writer_leaves_a_whole_file(tmp_path: Path) -> None:
    target = tmp_path / "job.yaml"
    target.write_bytes(b"\0" * 300_000)
    rng = random.Random(5)
    versions = set()
    for _ in range(12):
        process = subprocess.Popen([sys.executable, "-c", WRITER, str(target)], stdout=subprocess.PIPE)
        assert process.stdout is not None and process.stdout.readline() == b"ready\n"
        time.sleep(rng.uniform(0.002, 0.08))
        process.send_signal(signal.SIGKILL)
        process.wait()
        process.stdout.close()
        data = target.read_bytes()
        assert len(data) == 300_000 and len(set(data)) == 1
        versions.add(data[0])
    assert versions != {0}
    leftovers = [p.name for p in tmp_path.iterdir() if p != target]
    assert all(name.endswith(".ascendctl.tmp") and name.startswith(".") for name in leftovers)


@pytest.mark.parametrize("mode", [0o600, 0o640, 0o644, 0o755])
def test_mode_is_kept(tmp_path: Path, mode: int) -> None:
    target = tmp_path / "a"
    target.write_bytes(b"old")
    target.chmod(mode)
    write_together([(target, b"new")])
    assert target.read_bytes() == b"new" and stat.S_IMODE(target.stat().st_mode) == mode
    assert os.listdir(tmp_path) == ["a"]


def test_a_new_file_has_the_usual_mode(tmp_path: Path) -> None:
    write_together([(tmp_path / "a", b"x")])
    (tmp_path / "b").write_bytes(b"x")
    assert (tmp_path / "a").stat().st_mode == (tmp_path / "b").stat().st_mode


def test_links_are_followed(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    target, link, second = tmp_path / "real" / "a.yaml", tmp_path / "link", tmp_path / "second"
    target.write_bytes(b"old")
    link.symlink_to("real/a.yaml")
    second.symlink_to(link)
    write_together([(second, b"new")])
    assert target.read_bytes() == b"new" and second.is_symlink() and link.is_symlink()
    dangling = tmp_path / "dangling"
    dangling.symlink_to("real/b.yaml")
    write_together([(dangling, b"x")])
    assert (tmp_path / "real" / "b.yaml").read_bytes() == b"x" and dangling.is_symlink()


def test_devices_are_written_directly() -> None:
    write_together([("/dev/null", b"x")])
    assert stat.S_ISCHR(os.stat("/dev/null").st_mode)


def test_failures_leave_the_old_content(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    target = tmp_path / "a"
    target.write_bytes(b"old")

    def fail(*_: object) -> None:
        raise OSError(28, "No space left on device")

    for name in ("fsync", "replace"):
        with monkeypatch.context() as patch:
            patch.setattr(os, name, fail)
            with pytest.raises(OSError, match="space"):
                write_together([(target, b"new")])
        assert target.read_bytes() == b"old" and os.listdir(tmp_path) == ["a"]


def test_impossible_targets(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(OSError):
        write_together([(tmp_path / "none" / "a", b"x")])
    with pytest.raises(OSError):
        write_together([(tmp_path, b"x")])
    target = tmp_path / "a"
    target.write_bytes(b"old")
    monkeypatch.setattr(os, "access", lambda *_: False)
    with pytest.raises(PermissionError):
        write_together([(target, b"new")])
    assert target.read_bytes() == b"old"


@pytest.mark.parametrize("wrong", ["missing/b", "folder"])
def test_of_several_files_all_are_written_or_none(tmp_path: Path, wrong: str) -> None:
    (tmp_path / "folder").mkdir()
    (tmp_path / "a").write_bytes(b"old")
    with pytest.raises(OSError) as caught:
        write_together([(tmp_path / "a", b"new"), (tmp_path / "c", b"new"), (tmp_path / wrong, b"new")])
    assert caught.value.filename == str(tmp_path / wrong)
    assert (tmp_path / "a").read_bytes() == b"old" and sorted(os.listdir(tmp_path)) == ["a", "folder"]
    write_together([(tmp_path / "a", b"new"), (tmp_path / "c", b"too")])
    assert (tmp_path / "a").read_bytes() + (tmp_path / "c").read_bytes() == b"newtoo"
