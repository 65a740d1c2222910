"""The JSON Schemas that ship with the program: where they are, and how they look for one Volcano release.

A field or a check that came with a later release carries `x-since`; `for_release` takes those out.
"""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path
from typing import Any

VOLCANO_RELEASES = ("1.9", "1.12", "1.15")

KIND_SCHEMAS = {
    ("mindxdl.gitee.com/v1", "AscendJob"): "ascendjob",
    ("batch.volcano.sh/v1alpha1", "Job"): "vcjob",
    ("scheduling.volcano.sh/v1beta1", "PodGroup"): "podgroup",
    ("scheduling.volcano.sh/v1beta1", "Queue"): "queue",
    ("topology.volcano.sh/v1alpha1", "HyperNode"): "hypernode",
    ("mindcluster.huawei.com/v1", "InferServiceSet"): "inferserviceset",
    ("mindcluster.huawei.com/v1", "InferService"): "inferservice",
    ("mindcluster.huawei.com/v1", "InstanceSet"): "instanceset",
    ("apps/v1", "Deployment"): "deployment",
    ("apps/v1", "StatefulSet"): "statefulset",
    ("batch/v1", "Job"): "batchjob",
    ("v1", "Pod"): "pod",
    ("v1", "ConfigMap"): "configmap",
}
"""(apiVersion, kind) -> file name under `kinds/`."""


@cache
def schema_folder() -> Path:
    """`ascendctl/schemas` in a wheel, `schemas` beside the package in a checkout."""
    inside = Path(__file__).parents[1] / "schemas"
    return inside if inside.is_dir() else Path(__file__).parents[2] / "schemas"


def names(group: str) -> list[str]:
    """Names of the schemas of a group: "kinds", "products" or "output"."""
    folder = schema_folder() / group
    return sorted(path.stem for path in folder.glob("*.json")) if folder.is_dir() else []


@cache
def load(name: str) -> dict[str, Any]:
    """A schema by group and name, such as "kinds/pod". Raises KeyError if there is none."""
    path = schema_folder() / f"{name}.json"
    try:
        text = path.read_bytes()
    except OSError:
        raise KeyError(name) from None
    schema: dict[str, Any] = json.loads(text)
    return schema


@cache
def for_release(name: str, volcano: str) -> dict[str, Any]:
    """A schema without the parts that a Volcano release does not know."""
    known = frozenset(VOLCANO_RELEASES[: VOLCANO_RELEASES.index(volcano) + 1])
    pruned: dict[str, Any] = _prune(load(name), known)
    return pruned


def _prune(node: Any, known: frozenset[str]) -> Any:
    if isinstance(node, dict):
        kept = {k: _prune(v, known) for k, v in node.items() if not _later(v, known)}
        return {k: v for k, v in kept.items() if not (k == "allOf" and v == [])}
    if isinstance(node, list):
        return [_prune(v, known) for v in node if not _later(v, known)]
    return node


def _later(node: Any, known: frozenset[str]) -> bool:
    return isinstance(node, dict) and "x-since" in node and node["x-since"] not in known


def follow(name: str, ref: str) -> tuple[str, str]:
    """A `$ref` that stands in schema `name` -> the schema and the pointer that it leads to."""
    file, _, pointer = ref.partition("#")
    if file:
        name = f"{name.rpartition('/')[0]}/{file.removesuffix('.json')}"
    return name, pointer


def at_pointer(schema: Any, pointer: str) -> Any:
    """The part of a schema that a pointer such as /$defs/Pod names."""
    for part in pointer.split("/")[1:]:
        schema = schema[part.replace("~1", "/").replace("~0", "~")]
    return schema
