"""Dumps and runs for tests of the command line."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from click.testing import CliRunner

from ascendctl.cli import cli
from tests import cases

RACK, GROUP = "example.com/rack", "example.com/group"


def fleet(nodes: Mapping[str, Mapping[str, Any]], **case: Any) -> cases.Case:
    """A cluster of A3 nodes of 16 NPUs; `nodes` as in the cases, by name."""
    common = {"resource": "huawei.com/Ascend910", "chips": 16}
    job = {
        "kind": "AscendJob",
        "name": "train",
        "namespace": "default",
        "labels": {},
        "annotations": {"huawei.com/schedule_policy": "chip2-node16-sp", "sp-block": "32"},
        "selector": {"accelerator-type": "module-a3-16-super-pod"},
        "roles": [{"name": "Master", "replicas": 1, "npus": 16}, {"name": "Worker", "replicas": 1, "npus": 16}],
    }
    whole = {"id": "test/0", "params": {"super-pod-size": 8}, "leaves": None, "running": [], "job": job}
    return whole | {"nodes": [{"name": name, **common, **node} for name, node in nodes.items()]} | case


EIGHT = fleet(
    {
        "n1": {"superpod": 1},
        "n2": {"superpod": 1, "used": "0x3"},
        "n3": {"superpod": 1, "used": "0xffff"},
        "n4": {"superpod": 1, "unhealthy": "0x8"},
        "n5": {"superpod": 2},
        "n6": {"superpod": 2},
        "n7": {"superpod": 2, "status": "UnHealthy"},
        "n10": {"superpod": 2},
    }
)
"""Two SuperPoDs: one with a free, a partly used, a busy node and one with a bad chip; one with three free nodes and an
unhealthy one."""


def write(folder: Path, objects: Iterable[Any]) -> Path:
    """Objects as one List in a folder of their own."""
    folder.mkdir(parents=True, exist_ok=True)
    document = {"apiVersion": "v1", "kind": "List", "items": list(objects)}
    (folder / "objects.json").write_text(json.dumps(document), encoding="utf-8")
    return folder


def dump(folder: Path, case: cases.Case = EIGHT, mode: str = "clusterd") -> Path:
    """The objects of a case in a folder."""
    return write(folder, cases.objects(case, mode))


def manifest(folder: Path, case: cases.Case = EIGHT) -> Path:
    """The job of a case in a file."""
    path = folder / "job.yaml"
    path.write_text(cases.manifest(case), encoding="utf-8")
    return path


def run(*args: str | Path, stdin: str | None = None) -> Any:
    """Run a command in this process; the result has exit_code, stdout, stderr."""
    return CliRunner().invoke(cli, [str(arg) for arg in args], input=stdin, catch_exceptions=False)
