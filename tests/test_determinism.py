"""The same input gives the same bytes: whatever the order of the objects, the hash seed, or how kernels run."""

from __future__ import annotations

import os
import random
import subprocess
import sys
from pathlib import Path

import orjson
import pytest

import ascendctl
from tests import cases
from tests.test_vectors import FOLDER

SAMPLED = (
    "intra-a3-node16", "intra-910a-x8", "intra-duo-chip", "intra-vnpu-dynamic", "intra-soft-share", "superpod",
    "superpod-infer", "rack", "multilevel", "switch-v1", "switch-v2",
)  # fmt: skip


def answer_bytes(case: cases.Case, seed: int, *, compiled: bool | None = None) -> bytes:
    cluster = ascendctl.load_snapshot(cases.objects(case, "clusterd", seed))
    job = ascendctl.load_jobs(cases.manifest(case))[0]
    return orjson.dumps(ascendctl.place(job, cluster, compiled=compiled).to_dict())


@pytest.mark.parametrize("family", SAMPLED)
def test_order_of_objects(family: str) -> None:
    for case in random.Random(family).sample(cases.load(FOLDER / f"{family}.jsonl.gz"), 6):
        assert answer_bytes(case, 1) == answer_bytes(case, 2) == answer_bytes(case, 3), case["id"]


@pytest.mark.parametrize("family", SAMPLED[:5])
def test_compiled_and_interpreted(family: str) -> None:
    for case in random.Random(family).sample(cases.load(FOLDER / f"{family}.jsonl.gz"), 6):
        assert answer_bytes(case, 0, compiled=True) == answer_bytes(case, 0, compiled=False), case["id"]


def test_hash_seed(tmp_path: Path) -> None:
    chosen = [
        cases.load(FOLDER / f"{family}.jsonl.gz")[3] for family in ("superpod", "rack", "multilevel", "switch-v2")
    ]
    manifests = []
    for number, case in enumerate(chosen):
        cases.dump(case, tmp_path / str(number), seed=number)
        manifests.append(tmp_path / str(number))
    outputs = set()
    for seed in ("0", "1", "12345"):
        text = b""
        for folder in manifests:
            command = [sys.executable, "-m", "ascendctl", "place", str(folder / "job.yaml"), "-o", "json"]
            for part in ("nodes", "configmaps", "pods"):
                command += ["-s", str(folder / f"{part}.yaml")]
            run = subprocess.run(command, capture_output=True, env={**os.environ, "PYTHONHASHSEED": seed}, check=False)
            assert run.returncode in (0, 1), run.stderr
            text += run.stdout
        outputs.add(text)
    assert len(outputs) == 1
