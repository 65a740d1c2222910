"""Reading speed: a dump of 1,000 nodes with 16 chips each, as YAML and as JSON, and a manifest with positions."""

from __future__ import annotations

import json
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from ascendctl.yamlio.fast import load_objects
from ascendctl.yamlio.read import read_documents
from ascendctl.yamlio.write import to_yaml

CHIPS = json.dumps({f"Ascend910-{c}": {"IP": f"172.16.0.{c}", "SuperDeviceID": c} for c in range(16)})
NODES = [
    {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {
            "name": f"node-{i}",
            "labels": {
                "accelerator": "huawei-Ascend910",
                "host-arch": "huawei-arm",
                "kubernetes.io/hostname": f"node-{i}",
            },
            "annotations": {"baseDeviceInfos": CHIPS, "superPodID": str(i // 48), "serverIndex": str(i)},
        },
        "status": {
            "capacity": {"cpu": "192", "memory": "1584871020Ki", "huawei.com/Ascend910": "16"},
            "allocatable": {"cpu": "191", "memory": "1564871020Ki", "huawei.com/Ascend910": "16"},
            "conditions": [{"type": "Ready", "status": "True"}],
            "addresses": [{"type": "InternalIP", "address": f"10.0.{i // 250}.{i % 250}"}],
        },
    }
    for i in range(1000)
]


@pytest.mark.parametrize("dump", [to_yaml, partial(json.dumps, indent=4)], ids=["yaml", "json"])
def test_load_objects(benchmark: Any, dump: Callable[[Any], str]) -> None:
    data = dump({"apiVersion": "v1", "items": NODES, "kind": "List"}).encode()
    assert benchmark(lambda: sum(1 for _ in load_objects(data, "nodes"))) == 1000


def test_read_documents(benchmark: Any) -> None:
    text = (Path(__file__).parents[1] / "data" / "manifests" / "01-a2-acjob-two-nodes.yaml").read_text()
    (document,) = benchmark(read_documents, text)
    assert document.value["kind"] == "AscendJob"
