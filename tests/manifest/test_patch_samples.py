"""Round trips of the samples: a patched manifest validates and lands where it did; packed dumps are the dumps."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from ascendctl import load_jobs, validate
from ascendctl.engine.result import Placement
from ascendctl.engine.sequence import place_in_order
from ascendctl.manifest.patch import patch_texts
from ascendctl.snapshot.load import load_snapshot
from ascendctl.snapshot.pack import pack, unpack
from tests.snapshot.test_pack import equal
from tests.test_samples import DUMPS, MANIFESTS, dump_of, shown, snapshot, texts

PLACED = [path for path in MANIFESTS if (lines := texts(path, "place")) and all(t.startswith("placed") for t in lines)]


def landed(text: str, manifest: Path) -> list[Any]:
    """Rank, node and NPUs of the pods with NPUs, job by job; pods without NPUs hold nothing."""
    jobs = load_jobs(text)
    results, _ = place_in_order(jobs, snapshot(dump_of(manifest)))
    found = []
    for job, result in zip(jobs, results, strict=True):
        assert isinstance(result, Placement), result
        pods = zip(job.pods, result.pods, strict=True)
        found.append(sorted((spec.rank, pod.node, pod.npus) for spec, pod in pods if spec.npus > 0))
    return found


def is_bare(manifest: Path) -> bool:
    return all(job.kind == "Pod" for job in load_jobs(str(manifest)))


CASES = [(path, pods) for path in PLACED for pods in (False, True) if not (pods and is_bare(path))]


@pytest.mark.parametrize(("manifest", "pods"), CASES, ids=[f"{shown(path)}{'-pods' * pods}" for path, pods in CASES])
def test_a_patched_sample_lands_where_it_did(manifest: Path, pods: bool) -> None:
    text = manifest.read_text(encoding="utf-8")
    (_, _, new) = patch_texts([(manifest.name, text)], snapshot(dump_of(manifest)), pods=pods).files[0]
    assert landed(new, manifest) == landed(text, manifest)
    broken = {f.rule for f in validate(new) if f.severity == "error"}
    assert broken <= {f.rule for f in validate(text) if f.severity == "error"}


@pytest.mark.parametrize("folder", DUMPS, ids=map(shown, DUMPS))
def test_a_packed_sample_is_the_dump(folder: Path) -> None:
    cluster = load_snapshot(str(folder))
    assert equal(unpack(pack(cluster)), cluster)
