"""How many more jobs fit. Expected numbers: counted by hand on the nodes of `world.EIGHT`."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from ascendctl import load_jobs, load_snapshot
from ascendctl.engine.capacity import capacity
from tests.cli.world import EIGHT, dump, fleet, manifest, run
from tests.schemas.test_output import check


def job(npus: int, pods: int = 1, **more: Any) -> Any:
    annotations = {"huawei.com/schedule_policy": "chip2-node16"}
    roles = [{"name": "Worker", "replicas": pods, "npus": npus}]
    return fleet({}, job=EIGHT["job"] | {"annotations": annotations, "roles": roles, "selector": {}} | more)["job"]


def ask(tmp_path: Path, asked: Any, *options: str, code: int = 0) -> Any:
    path = manifest(tmp_path, EIGHT | {"job": asked})
    result = run("capacity", path, "-s", dump(tmp_path / "dump"), "-o", "json", *options)
    assert result.exit_code == code
    document = json.loads(result.stdout)
    check("capacity-report", document)
    return document


@pytest.mark.parametrize(
    ("npus", "pods", "fit"),
    [
        (16, 1, 4),  # n1, n5, n6, n10 are whole and healthy
        (16, 2, 2),
        (16, 3, 1),
        (8, 1, 10),  # one more half on n2 (14 free) and on n4 (die of chip 3 broken, 14 free)
        (2, 1, 46),  # 4 x 8 dies, and 7 each of n2 and n4
    ],
)
def test_counts(tmp_path: Path, npus: int, pods: int, fit: int) -> None:
    found = ask(tmp_path, job(npus, pods))
    assert (found["fit"], found["pods"], found["npus"]) == (fit, fit * pods, fit * pods * npus)
    assert not found["limited"] and found["end"]["code"]


def test_limit(tmp_path: Path) -> None:
    found = ask(tmp_path, job(16), "--limit", "3")
    assert (found["fit"], found["limited"], found["end"]) == (3, True, None)


def test_none_fits(tmp_path: Path) -> None:
    found = ask(tmp_path, job(16, 5), code=1)
    assert (found["fit"], found["nodes"], found["npus"]) == (0, 0, 0)
    assert found["end"]["code"] == "NodePredicateFailed"
    assert ask(tmp_path, job(3), code=1)["end"]["code"] == "InvalidResourceRequest"


def test_table(tmp_path: Path) -> None:
    path = manifest(tmp_path, EIGHT | {"job": job(16, 2)})
    result = run("capacity", path, "-s", dump(tmp_path / "dump"))
    line = result.stdout.splitlines()[1]
    assert line.startswith("AscendJob default/train") and line.split()[2:6] == ["2", "4", "4", "64"]


def test_copies_have_names_of_their_own_and_share_no_npu(tmp_path: Path) -> None:
    asked = load_jobs(manifest(tmp_path, EIGHT | {"job": job(8)}))[0]
    found = capacity(asked, load_snapshot(dump(tmp_path / "dump")), 100)
    names = [pod.name for placement in found.placements for pod in placement.pods]
    chips = [(pod.node, chip) for placement in found.placements for pod in placement.pods for chip in pod.npus]
    assert len(set(names)) == len(names) == 10
    assert len(set(chips)) == len(chips) == 80


def test_a_job_without_npus_is_placed_once(tmp_path: Path) -> None:
    found = ask(tmp_path, job(0), "--limit", "50")
    assert (found["fit"], found["limited"], found["npus"]) == (1, True, 0)
    table = run("capacity", manifest(tmp_path, EIGHT | {"job": job(0)}), "-s", dump(tmp_path / "dump")).stdout
    assert "1 or more" in table and "nothing that is modelled limits it" in table and "the limit was" not in table


def test_npus_that_pods_share_count_once() -> None:
    # an NPU has room for three pods of 30 per cent, and none is taken twice by the job itself
    folder = Path(__file__).parents[2] / "samples" / "soft-share"
    result = run("capacity", str(folder / "thirty-percent.yaml"), "-s", str(folder / "dump"), "-o", "json")
    found = json.loads(result.stdout)
    assert found["pods"] == found["fit"] and found["pods"] / 3 <= found["npus"] < found["pods"]
