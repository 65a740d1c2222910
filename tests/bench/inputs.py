"""What is measured: clusters with a job each, dumps of them, copies of the samples' manifests, one schema for all kinds.

`python -m tests.bench.inputs NAME NODES PODS FOLDER FORMAT...` writes a dump in a process of its own.
"""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path
from typing import Any

from tests import cases

ROOT = Path(__file__).parents[2]
TREES, FANOUT = 3, (("rack", 16), ("row", 64), ("hall", 512), ("site", 2048))
"""The multi-level cluster: so many trees, and the nodes in a unit of each level."""
CLUSTERS = ("910b-8", "a3-superpod", "950-rack", "trees", "leaf-1.0", "leaf-2.0")


def cluster(name: str, nodes: int, pods: int) -> cases.Case:
    """A made-up cluster, 30 % of its nodes busy, and a job of so many pods that take a whole node each."""
    kind, _, variant = name.partition("-")
    if name == "trees":
        case = _trees(nodes, pods)
    elif kind == "leaf":
        case = cases.synthetic(nodes, "tor")
        case["params"]["nslb-version"] = variant
    else:
        case = cases.synthetic(nodes, name)
    case["job"]["roles"][0]["replicas"] = pods
    return case


def _trees(nodes: int, pods: int) -> cases.Case:
    """Trees of four levels side by side; a job in groups of 8 and 32 nodes, as far as its pods go."""
    case = cases.synthetic(nodes, "multilevel")
    levels = {
        f"level{i}": {"label": f"net.example/{name}"} | ({"reservedNode": 1} if i == 1 else {})
        for i, (name, _) in enumerate(FANOUT, 1)
    }
    case["params"]["resource-level-config"] = {f"tree{t}": levels for t in range(TREES)}
    for i, node in enumerate(case["nodes"]):
        tree = i * TREES // nodes
        node["labels"] = {"huawei.com/topotree": f"tree{tree}"}
        node["labels"] |= {f"net.example/{name}": f"{name}-{tree}-{i // size}" for name, size in FANOUT}
    groups = "level1=8,level2=32" if pods % 32 == 0 else "level1=1"
    case["job"]["annotations"]["huawei.com/affinity-config"] = groups
    return case


def write_dump(name: str, nodes: int, pods: int, folder: Path, formats: list[str]) -> None:
    """The cluster's dump in ClusterD mode, as `kubectl get` writes it: `folder/json`, `folder/yaml`; `folder/job.yaml`."""
    case = cluster(name, nodes, pods)
    for form in formats:
        cases.dump(case, folder / form, form)
        (folder / form / "job.yaml").replace(folder / "job.yaml")


def copy_manifests(folder: Path, count: int) -> list[Path]:
    """`count` files, copies of the samples' manifests in turn, one document each, every copy with names of its own."""
    texts = []
    for path in sorted((ROOT / "samples").glob("*/*.yaml")):
        parts = re.split(r"(?m)^---\s*\n", path.read_text(encoding="utf-8"))
        texts += [(path, part) for part in parts if re.search(r"(?m)^kind:", part)]
    written = []
    for number in range(count):
        path, text = texts[number % len(texts)]
        copy = number // len(texts)
        target = folder / path.parent.name / f"{path.stem}-{number}.yaml"
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(re.sub(r"(?m)^(  name: [a-z0-9.-]+)$", rf"\1-{copy}", text, count=1), encoding="utf-8")
        written.append(target)
    return written


def write_schema(target: Path) -> None:
    """One schema that picks, by apiVersion and kind, one of `schemas/kinds`, all of which it holds."""
    kinds = {path.name: json.loads(path.read_bytes()) for path in sorted((ROOT / "schemas" / "kinds").glob("*.json"))}
    choices: list[dict[str, Any]] = []
    for schema in kinds.values():
        head = {key: schema.get("properties", {}).get(key) for key in ("apiVersion", "kind")}
        if all(head.values()):
            condition = {"type": "object", "required": list(head), "properties": head}
            choices.append({"if": condition, "then": {"$ref": schema["$id"]}})
    draft = "https://json-schema.org/draft/2020-12/schema"
    target.write_text(json.dumps({"$schema": draft, "allOf": choices, "$defs": kinds}), encoding="utf-8")


if __name__ == "__main__":
    _, cluster_name, node_count, pod_count, place, *wanted = sys.argv
    write_dump(cluster_name, int(node_count), int(pod_count), Path(place), wanted)
