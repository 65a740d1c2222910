"""`ascendctl patch` on the command line (chapter 50 §6)."""

from __future__ import annotations

import gzip
import json
import os
import stat
import subprocess
from pathlib import Path
from typing import Any

import pytest

from tests.cli.world import run, write
from tests.ranks.world import acjob, objects, vcjob

NODES = {name: {"labels": {"accelerator-type": "module-910b-8"}} for name in ("n1", "n2", "n3")}
TWO = acjob({"Master": (1, 8), "Worker": (1, 8)})


@pytest.fixture
def dump(tmp_path: Path) -> Path:
    return write(tmp_path / "dump", objects(NODES))


@pytest.fixture
def job(tmp_path: Path) -> Path:
    path = tmp_path / "job.yaml"
    path.write_text(TWO, encoding="utf-8")
    return path


def test_prints_the_patched_manifest_and_says_what_holds(job: Path, dump: Path) -> None:
    result = run("patch", job, "-s", dump)
    assert result.exit_code == 0
    assert "kubernetes.io/hostname: h-n1" in result.stdout
    assert result.stderr == "info: AscendJob default/demo: enforced: the node of each pod, NPU ids\n"
    assert job.read_text(encoding="utf-8") == TWO
    assert run("patch", job, "-s", dump, "-q").stderr == ""


def test_output_is_exact(job: Path, dump: Path) -> None:
    job.write_bytes(TWO.replace("\n", "\r\n").removesuffix("\r\n").encode())
    result = run("patch", job, "-s", dump, "-q")
    assert result.stdout_bytes.count(b"\r\n") == result.stdout_bytes.count(b"\n")
    assert not result.stdout_bytes.endswith(b"\n")


def test_in_place_keeps_mode_and_is_done_once(job: Path, dump: Path) -> None:
    job.chmod(0o640)
    assert run("patch", job, "-s", dump, "-i", "-q").exit_code == 0
    first = job.read_bytes()
    assert b"h-n2" in first
    assert stat.S_IMODE(os.stat(job).st_mode) == 0o640
    assert run("patch", job, "-s", dump, "-i", "-q").exit_code == 0
    assert job.read_bytes() == first
    assert sorted(os.listdir(job.parent)) == ["dump", "job.yaml"]


def test_diff_is_what_patch_takes(job: Path, dump: Path, tmp_path: Path) -> None:
    result = run("patch", job, "-s", dump, "-o", "diff", "-q")
    assert result.stdout.startswith(f"--- a/{job}\n+++ b/{job}\n@@ ")
    (tmp_path / "change.diff").write_text(result.stdout, encoding="utf-8")
    subprocess.run(["patch", "-s", str(job), str(tmp_path / "change.diff")], check=True, timeout=30)
    assert job.read_text(encoding="utf-8") == run("patch", job, "-s", dump, "-q").stdout
    assert run("patch", job, "-s", dump, "-o", "diff", "-q").stdout == ""


def test_several_formats_and_files(job: Path, dump: Path, tmp_path: Path) -> None:
    new, change = tmp_path / "new.yaml", tmp_path / "x.diff"
    assert run("patch", job, "-s", dump, "-o", f"yaml={new}", "-o", f"diff={change}").stdout == ""
    assert "h-n1" in new.read_text(encoding="utf-8")
    assert change.read_text(encoding="utf-8").startswith("--- a/")


def test_folders_and_standard_input(tmp_path: Path, dump: Path) -> None:
    folder = tmp_path / "jobs"
    folder.mkdir()
    for name in ("a", "b"):
        (folder / f"{name}.yaml").write_text(acjob({"Master": (1, 8)}, name=name), encoding="utf-8")
    result = run("patch", folder, "-s", dump, "-q")
    assert result.stdout.count("kind: AscendJob") == 2
    assert "\n---\n" in result.stdout
    assert "h-n1" in result.stdout and "h-n2" in result.stdout  # the second job sees the first
    assert run("patch", "-", "-s", dump, "-q", stdin=TWO).stdout == run("patch", "-s", dump, "-q", stdin=TWO).stdout


def test_nothing_is_written_unless_all_is_well(tmp_path: Path, dump: Path) -> None:
    paths = [tmp_path / f"{name}.yaml" for name in ("a", "b")]
    for path in paths:
        path.write_text(acjob({"Master": (1, 8), "Worker": (1, 8)}, name=path.stem), encoding="utf-8")
    before = [path.read_bytes() for path in paths]
    result = run("patch", *paths, "-s", dump, "-i")
    assert result.exit_code == 1
    assert "b" in result.stderr and "JobEnqueueFailed" in result.stderr
    assert [path.read_bytes() for path in paths] == before


def test_refusals_name_their_code(tmp_path: Path) -> None:
    nodes = {f"{s}{i}": {"superpod": i % 2, "labels": {"accelerator-type": "module-a3-16-super-pod"}} for s in "ab" for i in range(2)}  # fmt: skip
    folder = write(tmp_path / "dump", objects(nodes, chips=16))
    path = tmp_path / "job.yaml"
    path.write_text(
        acjob(
            {"Master": (1, 16), "Worker": (3, 16)}, selector="module-a3-16-super-pod", policy="chip2-node16-sp",
            annotations='sp-block: "32"',
        ),
        encoding="utf-8",
    )  # fmt: skip
    result = run("patch", path, "-s", folder, "--pin", "hostname")
    assert (result.exit_code, result.stdout) == (1, "")
    assert result.stderr.startswith("error P-07: AscendJob default/demo: ")


def test_a_placement_of_ones_own(job: Path, dump: Path, tmp_path: Path) -> None:
    file = tmp_path / "placement.json"
    assert run("place", job, "-s", dump, "-o", f"json={file}").exit_code == 0
    document = json.loads(file.read_text(encoding="utf-8"))
    document["pods"][1]["node"] = "n3"
    file.write_text(json.dumps(document), encoding="utf-8")
    assert "h-n3" in run("patch", job, "-s", dump, "--placement", file, "-q").stdout
    document["pods"][1]["node"] = "n9"
    file.write_text(json.dumps(document), encoding="utf-8")
    assert "error P-02" in run("patch", job, "-s", dump, "--placement", file).stderr
    file.write_text("{}", encoding="utf-8")
    result = run("patch", job, "-s", dump, "--placement", file)
    assert result.exit_code == 2 and "ascendctl place JOB" in result.stderr


def test_pods(job: Path, dump: Path) -> None:
    result = run("patch", job, "-s", dump, "--pods")
    assert result.stdout.count("kind: Pod\n") == 2
    assert "nobody restarts them" in result.stderr


@pytest.mark.parametrize(
    ("args", "text"),
    [
        (["-i", "--pods"], "--in-place goes with neither"),
        (["-i", "-o", "diff"], "--in-place goes with neither"),
        (["--pin", "elsewhere"], "'elsewhere' is not one of"),
    ],
)
def test_usage(job: Path, dump: Path, args: list[str], text: str) -> None:
    result = run("patch", job, "-s", dump, *args)
    assert result.exit_code == 2
    assert text in result.stderr


def test_in_place_needs_plain_files(job: Path, dump: Path, tmp_path: Path) -> None:
    packed = tmp_path / "job.yaml.gz"
    packed.write_bytes(gzip.compress(TWO.encode()))
    result = run("patch", packed, "-s", dump, "-i")
    assert result.exit_code == 2 and "compressed" in result.stderr
    assert run("patch", packed, "-s", dump, "-q").exit_code == 0
    result = run("patch", "-", "-s", dump, "-i", stdin=TWO)
    assert result.exit_code == 2 and "standard input" in result.stderr


@pytest.mark.parametrize(
    ("data", "text"),
    [
        (b"a: [\n", "not readable"),
        (b"\xff\xfe\x00", "not UTF-8"),
        (b"kind: Service\napiVersion: v1\n", "no job in it"),
        (b"", "no job in it"),
    ],
)
def test_unreadable_input(tmp_path: Path, dump: Path, data: bytes, text: str) -> None:
    path = tmp_path / "x.yaml"
    path.write_bytes(data)
    result = run("patch", path, "-s", dump)
    assert (result.exit_code, result.stdout) == (2, "")
    assert text in result.stderr
    assert result.stderr.startswith("error: ")


def test_control_characters_do_not_reach_the_terminal(tmp_path: Path, dump: Path) -> None:
    path = tmp_path / "job.yaml"
    path.write_text(vcjob({"w": (2, 8)}).replace("name: demo-vc", 'name: "x\\e[31m"'), encoding="utf-8")
    assert "\x1b" not in run("patch", path, "-s", dump).stderr


def test_help() -> None:
    result = run("patch", "--help")
    assert result.exit_code == 0
    for word in ("--in-place", "--pin", "--pods", "Exit code", "Examples"):
        assert word in result.stdout


def pods_of(text: str) -> Any:
    return text.count("hccl/rankIndex")


def test_volcano_jobs_carry_ranks(tmp_path: Path, dump: Path) -> None:
    path = tmp_path / "job.yaml"
    path.write_text(vcjob({"w": (3, 8)}), encoding="utf-8")
    result = run("patch", path, "-s", dump)
    assert pods_of(result.stdout) == 3
    assert "tasks were split" in result.stderr
