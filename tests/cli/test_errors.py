"""Whatever goes wrong is one line on stderr and an exit code, never a traceback."""

from __future__ import annotations

import gzip
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.cli.world import EIGHT, dump, fleet, manifest, run


def ascendctl(*args: str | Path, stdin: bytes = b"", **env: str) -> subprocess.CompletedProcess[bytes]:
    return subprocess.run(
        [sys.executable, "-m", "ascendctl", *map(str, args)],
        input=stdin,
        capture_output=True,
        timeout=120,
        env={**os.environ, **env},
        check=False,
    )


def refused(result: subprocess.CompletedProcess[bytes], code: int = 2) -> str:
    """The one line that the program ended with."""
    text = result.stderr.decode()
    assert result.returncode == code, text
    assert "Traceback" not in text and result.stdout == b""
    return text


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("world")
    dump(folder / "dump")
    manifest(folder)
    return folder


GARBAGE = bytes(range(256)) * 8
BAD_DUMPS = {
    "missing.json": None,
    "garbage.json": GARBAGE,
    "garbage.yaml": GARBAGE,
    "cut.json.gz": gzip.compress(b'{"kind": "List", "items": []}' * 100)[:-20],
    "broken.json.gz": b"\x1f\x8b\x08\x00" + GARBAGE,
    "cut.json": b'{"kind": "List", "items": [{"kind": "Node"',
    "empty.json": b"",
    "list.json": b"[1, 2, 3]",
    "text.yaml": b"Error from server (Forbidden): nodes is forbidden\n",
    "table.yaml": b"NAME   STATUS   ROLES   AGE   VERSION\nn1     Ready    <none>  1d    v1.30\n",
    "deep.json": b"[" * 100_000,
    "deep.yaml": b"a: " + b"[" * 20_000,
    "bomb.yaml": b"a: &a [x,x,x,x,x,x,x,x,x]\n" + b"".join(
        b"%c: &%c [%s]\n" % (c + 1, c + 1, b",".join([b"*%c" % c] * 9)) for c in range(97, 110)
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", BAD_DUMPS)
@pytest.mark.parametrize("command", [("snapshot", "show"), ("topology", "show"), ("place",)])
def test_dumps_that_cannot_be_read(world: Path, tmp_path: Path, name: str, command: tuple[str, ...]) -> None:
    path, content = tmp_path / name, BAD_DUMPS[name]
    if content is not None:
        path.write_bytes(content)
    job = [world / "job.yaml"] if command == ("place",) else []
    result = run(*command, *job, "-s", path)  # an exception that is no error of click's fails here
    assert (result.exit_code, result.stdout) == (2, "")
    assert result.stderr.startswith("error: ") and name in result.stderr
    assert result.stderr.count("\n") == 1


def test_a_dump_that_cannot_be_read_in_a_process_of_its_own(tmp_path: Path) -> None:
    path = tmp_path / "cut.json.gz"
    path.write_bytes(BAD_DUMPS["cut.json.gz"] or b"")
    assert refused(ascendctl("snapshot", "show", path)) == (
        f"error: {path}: the gzip data is cut off (copy or export the file again)\n"
    )


def test_empty_folder(tmp_path: Path) -> None:
    assert "no .yaml, .yml or .json file found" in refused(ascendctl("snapshot", "show", tmp_path))


def test_manifest_without_a_job(world: Path, tmp_path: Path) -> None:
    path = tmp_path / "service.yaml"
    path.write_text("apiVersion: v1\nkind: Service\nmetadata: {name: s}\n", encoding="utf-8")
    assert "no job in it" in refused(ascendctl("place", path, "-s", world / "dump"))


def test_a_folder_where_a_file_must_stand(world: Path, tmp_path: Path) -> None:
    assert "is not a PlacementResult document" in refused(
        ascendctl("reschedule", world / "job.yaml", "-s", world / "dump", "--previous", world / "job.yaml")
    )
    text = refused(ascendctl("snapshot", "show", world / "dump", "-o", f"json={tmp_path}"))
    assert text.startswith(f"error: {tmp_path}: cannot be written")


@pytest.mark.parametrize("text", ["{}", "pods: 3", "pods: [1]", "pods: [{node: 7}]"])
def test_placements_that_are_none(world: Path, tmp_path: Path, text: str) -> None:
    path = tmp_path / "placement.yaml"
    path.write_text(f"kind: PlacementResult\noutcome: placed\n{text.strip('{}')}\n", encoding="utf-8")
    for command in (["topology", "show", "--placement"], ["reschedule", world / "job.yaml", "--previous"]):
        result = run(*command, path, "-s", world / "dump")
        assert (result.exit_code, result.stdout) == (2, "")
        assert "its pods are no list of pods with their nodes" in result.stderr


def test_standard_input_is_read_once(world: Path) -> None:
    for command in (["place", "-", "-s", "-"], ["reschedule", world / "job.yaml", "-s", "-", "--previous", "-"]):
        result = run(*command, stdin=(world / "dump" / "objects.json").read_text(encoding="utf-8"))
        assert result.exit_code == 2
        assert "standard input (-) cannot be both a cluster dump and a " in result.stderr


def test_unreadable_file(world: Path, tmp_path: Path) -> None:
    path = tmp_path / "secret.json"
    path.write_text("{}", encoding="utf-8")
    path.chmod(0)
    if os.access(path, os.R_OK):
        path = Path("/proc/self/mem")  # whoever runs this may read every file, but not this one
    assert f"error: {path}: cannot be read" in refused(ascendctl("snapshot", "show", path))


@pytest.mark.parametrize(
    ("args", "says"),
    [
        (["plase"], "No such command 'plase'"),
        (["place"], "Missing option '-s'"),
        (["place", "--sanpshot", "x"], "--snapshot"),
        (["snapshot", "show", "x", "-o", "xml"], "'xml' is not one of table, wide, json, yaml"),
        (["snapshot", "show", "x", "-o", "json", "-o", "table"], "two formats go to standard output"),
        (["validate", "x", "-o", "json=a", "-o", "text", "-o", "sarif=a"], "two formats go to a"),
        (["snapshot", "show", "x", "--by", "row"], "'row' is not one of"),
        (["snapshot", "show", "x", "--config", "reserve-nodes"], "is not KEY=VALUE"),
        (["snapshot", "show", "x", "--config", "reserve-nodes=x"], "'x' is not usable"),
        (["snapshot", "show", "x", "--profile", "9x"], "is no version of MindCluster"),
        (["products", "a9"], "no product 'a9'"),
    ],
)
def test_wrong_usage(args: list[str], says: str) -> None:
    result = run(*args)
    assert (result.exit_code, result.stdout) == (2, "")
    assert says in result.stderr and result.stderr.startswith("Usage: ")


def test_control_characters_are_escaped(tmp_path: Path) -> None:
    name = "x\x1b[31m\u202e.json"
    text = refused(ascendctl("snapshot", "show", tmp_path / name))
    assert "x\\x1b[31m\\u202e.json" in text
    assert "\\x1b[31m" in refused(ascendctl("pl\x1b[31mace"))
    odd = fleet({"n\x1b]0;owned\x07": {"superpod": 1}, "n\u202etxt": {"superpod": 1}})
    result = ascendctl("snapshot", "show", dump(tmp_path / "dump", odd), "--by", "node")
    assert result.returncode == 0
    assert b"\x1b" not in result.stdout and "\u202e".encode() not in result.stdout
    assert b"n\\x1b]0;owned\\x07" in result.stdout


def test_names_that_the_terminal_cannot_show(tmp_path: Path) -> None:
    folder = dump(tmp_path, fleet({"n\u00fc\u4e2d": {"superpod": 1}}))
    result = ascendctl("snapshot", "show", folder, PYTHONIOENCODING="latin-1")
    assert result.returncode == 0
    assert b"n\xfc\\u4e2d" in result.stdout


def test_closed_pipe(world: Path) -> None:
    command = [sys.executable, "-m", "ascendctl", "products", "-o", "json"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.stdout is not None and process.stderr is not None
        process.stdout.close()
        assert process.stderr.read() == b""
        assert process.wait(timeout=120) == 0


def test_closed_pipe_keeps_the_exit_code(world: Path, tmp_path: Path) -> None:
    case = EIGHT | {"job": EIGHT["job"] | {"roles": [{"name": "Worker", "replicas": 8, "npus": 16}]}}
    command = [sys.executable, "-m", "ascendctl", "place", str(manifest(tmp_path, case)), "-s", str(world / "dump")]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.stdout is not None and process.stderr is not None
        process.stdout.close()
        assert process.stderr.read() == b""
        assert process.wait(timeout=120) == 1


def test_full_disk() -> None:
    with open("/dev/full", "wb") as full:
        result = subprocess.run(
            [sys.executable, "-m", "ascendctl", "products"],
            stdout=full,
            stderr=subprocess.PIPE,
            timeout=120,
            check=False,
        )
    assert result.returncode == 2
    assert result.stderr == b"error: No space left on device\n"


def test_interrupted(world: Path) -> None:
    command = [sys.executable, "-m", "ascendctl", "snapshot", "show", "-"]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.stdin is not None and process.stderr is not None
        time.sleep(2)  # until it waits for its input
        process.send_signal(signal.SIGINT)
        assert b"Traceback" not in process.stderr.read()
        assert process.wait(timeout=120) == 130


BROKEN_COMMAND = """
import click, sys
import ascendctl.cli as c
import ascendctl.cli.products as p
def explode(**kw): raise ZeroDivisionError("oh\\x1b[31m")
p.command.callback = explode
c.run()
"""


def test_internal_error() -> None:
    def fail(**env: str) -> str:
        result = subprocess.run(
            [sys.executable, "-c", BROKEN_COMMAND, "products"],
            capture_output=True,
            timeout=120,
            env={**os.environ, **env},
            check=False,
        )
        assert result.returncode == 2 and result.stdout == b""
        return result.stderr.decode()

    line = fail()
    assert line == (
        "internal error: ZeroDivisionError: oh\\x1b[31m; set ASCENDCTL_DEBUG=1 to see the traceback, and report it\n"
    )
    assert "Traceback" in fail(ASCENDCTL_DEBUG="1")


@pytest.mark.parametrize(
    "more", [["-o", "yaml=missing/b"], ["--emit", "tor-share-cm=missing/b"]], ids=["output", "emit"]
)
def test_of_several_outputs_none_is_written_where_one_cannot_be(tmp_path: Path, more: list[str]) -> None:
    folder = Path(__file__).parents[2] / "samples" / "switch-v2"
    more = [text.replace("missing", str(tmp_path / "missing")) for text in more]
    command = ["place", folder / "filler-two.yaml", "-s", folder / "dump", "-o", f"json={tmp_path / 'a'}", *more]
    assert refused(ascendctl(*command)).endswith("missing/b: cannot be written: No such file or directory\n")
    assert os.listdir(tmp_path) == []


@pytest.mark.parametrize(
    ("manifest", "closed", "code", "says"),
    [
        ("job.yaml", ">&-", 0, b""),
        ("job.yaml", ">&- 2>&-", 0, b""),
        ("none.yaml", "2>&-", 2, b""),
        ("-", "<&-", 2, b"error: -: no job in it"),
    ],
)
def test_standard_streams_that_are_closed(world: Path, manifest: str, closed: str, code: int, says: bytes) -> None:
    script = f'"{sys.executable}" -m ascendctl place {manifest} -s dump {closed}'
    result = subprocess.run(["sh", "-c", script], cwd=world, capture_output=True, timeout=120, check=False)
    assert (result.returncode, result.stdout) == (code, b"")
    assert result.stderr.startswith(says) if says else result.stderr == b""
