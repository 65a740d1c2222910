"""Sample manifests with fields replaced by what does not belong there: a finding, a refusal or a result, never an
exception that nobody announced."""

from __future__ import annotations

import copy
import json
from collections.abc import Iterator
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from ascendctl import load_jobs, load_snapshot
from ascendctl.engine.sequence import place_in_order
from ascendctl.manifest.document import job_document
from ascendctl.manifest.patch import patch_texts
from ascendctl.manifest.patch_pins import PatchError
from ascendctl.ranks.environment import as_text as environment
from ascendctl.ranks.metrics import network_metrics
from ascendctl.ranks.summary import job_summary
from ascendctl.ranks.table import RankTableError, rank_table
from ascendctl.report.machine import as_document, dump
from ascendctl.report.placement import render
from ascendctl.snapshot.cluster import Cluster
from ascendctl.validate.api import inspect
from ascendctl.validate.options import Options
from ascendctl.validate.reporters import render as render_report
from ascendctl.yamlio.errors import ReadError
from ascendctl.yamlio.read import read_documents

SAMPLES = Path(__file__).parents[2] / "samples"
MANIFESTS = [
    path
    for path in sorted(SAMPLES.glob("*/*.yaml"))
    if (path.parent / "dump").is_dir() and "{{" not in path.read_text("utf-8")
]
ODD: list[Any] = [
    None, True, False, 0, -1, 1, 3, 7, 8, 16, 65, 1000, 2**31, 2**63, 10**25, 1.5, 1e300, "", "0", "-1", "8", "1e3", "x", "1,2", "a=b",
    "\uff11\uff16", "\x00", "\x1b[31m", "\x9b", [], {}, [None], [1], ["x"], {"a": 1}, {"": ""}, "x" * 300, "9" * 20, '{"a":1}', "[1",
    "level1=4,level2=8", "chip2-node16-sp", "multilevel", "huawei.com/Ascend910", "chip8-node8-ra64-sp", "soft", "32", "large-model-schema",
]  # fmt: skip


@cache
def documents(path: Path) -> list[Any]:
    return [d.value for d in read_documents(path.read_text("utf-8"), path.name) if d.value]


@cache
def cluster(folder: Path) -> Cluster:
    return load_snapshot(folder / "dump")


def places(value: Any) -> Iterator[tuple[Any, Any]]:
    """(container, key) of everything inside a value."""
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, inner in items:
        yield value, key
        yield from places(inner)


@st.composite
def manifests(draw: st.DrawFn) -> tuple[str, Cluster]:
    path = draw(st.sampled_from(MANIFESTS))
    values = copy.deepcopy(documents(path))
    for _ in range(draw(st.integers(1, 3))):
        box, key = draw(st.sampled_from(list(places(draw(st.sampled_from(values))))))
        if isinstance(box, dict) and draw(st.integers(0, 9)) == 0:
            del box[key]
        else:
            box[key] = copy.deepcopy(draw(st.sampled_from(ODD)))
    return "\n---\n".join(map(json.dumps, values)), cluster(path.parent)


@settings(max_examples=100, deadline=None, phases=[Phase.generate], suppress_health_check=list(HealthCheck))
@given(manifests(), st.booleans())
def test_odd_fields(given: tuple[str, Cluster], with_snapshot: bool) -> None:
    text, where = given
    report = inspect(text, Options(snapshot=where if with_snapshot else None, verbose=True))
    for form in ("text", "json", "sarif", "junit", "github", "gitlab", "yaml"):
        render_report(report, form, False, False)
    try:
        jobs = load_jobs(text)
    except ReadError:
        return
    for form in ("json", "yaml"):
        as_document([job_document(job) for job in jobs], form)
    results, _ = place_in_order(jobs, where)
    for job, result in zip(jobs, results, strict=True):
        render(result, True, True, False)
        for form in ("json", "yaml"):
            dump(result.to_dict(), form)
        if result.outcome == "placed":
            environment(job, result)
            job_summary(job, result.pods, where)
            network_metrics(job, result, where, "")
            with suppress(RankTableError):
                rank_table(job, result.pods, where)
    for pods in (False, True):
        with suppress(PatchError, ReadError):
            patch_texts([("job.yaml", text)], where, pods=pods)


@pytest.mark.parametrize("amount", ["9" * 20, -(10**30)])
def test_amounts_beyond_all_bounds(amount: Any) -> None:
    for path in MANIFESTS:
        values = copy.deepcopy(documents(path))
        for box, key in [place for value in values for place in places(value)]:
            if str(key).startswith("huawei.com/") and isinstance(box[key], int):
                box[key] = amount
        jobs = load_jobs("\n---\n".join(map(json.dumps, values)))
        results, _ = place_in_order(jobs, cluster(path.parent))
        for form in ("json", "yaml"):
            as_document([job_document(job) for job in jobs], form)
            as_document([result.to_dict() for result in results], form)
