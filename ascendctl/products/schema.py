"""JSON Schemas (2020-12) of the normalised Job: the general shape, and one a product, made from the catalogue.

They say of one document what a schema can say (chapter 40 §3.3); what compares fields is left to the rules. A job that
the scheduler refuses for its product because of a single value fails the product's schema. Every schema stands alone:
no reference leaves its file.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from ascendctl.engine.select import BY_ACCELERATOR, BY_ANNOTATION
from ascendctl.engine.vnpu_templates import STATIC_TYPES
from ascendctl.manifest.document import API_VERSION, KIND
from ascendctl.products.catalogue import CATALOGUE, Product
from ascendctl.report.text import ranges
from ascendctl.wellknown import A310P, A910, ACCELERATOR_TYPE, NPU, NPU_CORE, POLICY, RING

DIALECT = "https://json-schema.org/draft/2020-12/schema"
ID_BASE = "https://ascendctl.invalid/schemas/"
WHOLE = "^[1-9][0-9]*$"
FALLBACK = "module"
"""What the scheduler takes a job for that names nothing."""

_ABOUT = {
    POLICY: "Selects the scheduling policy.",
    "sp-block": "NPUs of one logical SuperPoD.",
    "ra-block": "NPUs of one logical rack.",
    "huawei.com/affinity-config": "Pods that stay together, level by level: level1=x,level2=y.",
    RING: "Chip family, for the rank table.",
    "tor-affinity": "Affinity to leaf switches.",
    "duo": "The pods run on Atlas 300I Duo cards.",
    "distributed": "Whether the NPUs of a pod are used together across cards.",
    "npu-310-strategy": "Schedule whole cards, or single chips.",
    "vnpu-level": "Which AI CPU variant of a vNPU template.",
    "vnpu-dvpp": "Whether the vNPU has video units.",
}
_QUOTA = "huawei.com/scheduler.softShareDev."
_TOR_VALUES = ["large-model-schema", "normal-schema", "null"]
_RA_BLOCKS = [str(1 << i) for i in range(7)]
_AFFINITY = r"^level[1-9][0-9]*=[1-9][0-9]*(,level[1-9][0-9]*=[1-9][0-9]*)*$"
_BLOCKS = ("sp-block", "ra-block", "huawei.com/affinity-config")
_MULTILEVEL = "multilevel"


def schema_files() -> dict[str, dict[str, Any]]:
    """Every schema that is made here, by its name below `schemas/`, without suffix."""
    files = {"output/job": job_schema()}
    files.update((f"products/{product.name}", product_schema(product)) for product in CATALOGUE)
    return files


def as_text(schema: Mapping[str, Any]) -> str:
    """A schema as it stands in its file."""
    return json.dumps(schema, indent=2, ensure_ascii=False) + "\n"


def write_all(folder: str | Path) -> None:
    """Write the files anew, below `schemas/` of a checkout: `python -m ascendctl.products.schema`."""
    for name, schema in schema_files().items():
        path = Path(folder, f"{name}.json")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(as_text(schema), encoding="utf-8")


def quantity(values: Iterable[int]) -> dict[str, Any]:
    """One of some counts, as a number or as text."""
    allowed = sorted(values)
    return {
        "oneOf": [
            {"type": "integer", "enum": allowed},
            {"type": "string", "pattern": f"^({'|'.join(map(str, allowed))})$"},
        ]
    }


def job_schema() -> dict[str, Any]:
    """The shape of every Job document."""
    count = {"oneOf": [{"type": "integer", "minimum": 0}, {"type": "string", "pattern": "^[0-9]+$"}]}
    return _schema(
        "output/job",
        "Job",
        "A workload as the scheduler plugin sees it, whatever its Kubernetes kind: attributes of PodGroup and pods "
        "merged, roles in rank order.",
        properties=_properties(
            {"type": "string", "pattern": "^(huawei\\.com/.+)?$"}, _texts("Merged labels."), _texts("Annotations."),
            _texts("Merged node selector."), count,
        ),
        examples=[_example(CATALOGUE[0])],
    )  # fmt: skip


def product_schema(product: Product) -> dict[str, Any]:
    """What a Job document may hold that is meant for one product."""
    single, several = product.single, product.distributed or product.single
    conditions = [_counts_by_pods("NpusOfTheOnlyPod", "NpusOfEachPod")]
    definitions = {
        "NpusOfTheOnlyPod": _npus(single, product.advised_single, "one pod with NPUs"),
        "NpusOfEachPod": _npus(several, product.advised_distributed, "several pods with NPUs"),
    }
    others = _other_counts(product)
    if others:
        conditions = [_unless(_policy_is(list(others)), conditions[0])]
    for policy, (one, each) in others.items():
        names = [f"NpusOfTheOnlyPod.{policy}", f"NpusOfEachPod.{policy}"]
        definitions |= {names[0]: _npus(one, None, "one pod"), names[1]: _npus(each, None, "several pods")}
        conditions.append({"if": _policy_is([policy]), "then": _counts_by_pods(*names)})
    chosen = _ways_to_select(product)
    if chosen:
        conditions.append({"anyOf": chosen})
    schema = _schema(
        f"products/{product.name}",
        f"Job for {product.title}",
        _describe(product),
        properties=_properties(
            _resource(product), _labels(product), _annotations(product), _selector(product),
            {"description": "NPUs of one pod, as a number or as text."},
        ),
        examples=[_example(product)],
    )  # fmt: skip
    return {**schema, "allOf": conditions, "$defs": definitions}


def _schema(
    name: str, title: str, description: str, properties: dict[str, Any], examples: list[dict[str, Any]]
) -> dict[str, Any]:
    return {
        "$schema": DIALECT,
        "$id": f"{ID_BASE}{name}.json",
        "title": title,
        "description": description,
        "type": "object",
        "additionalProperties": False,
        "required": ["apiVersion", "kind", "name", "resource", "npuPods", "annotations", "roles"],
        "properties": properties,
        "examples": examples,
    }


def _properties(
    resource: dict[str, Any],
    labels: dict[str, Any],
    annotations: dict[str, Any],
    selector: dict[str, Any],
    npus: dict[str, Any],
) -> dict[str, Any]:
    number = {"type": "integer", "minimum": 0}
    role = {
        "type": "object",
        "additionalProperties": False,
        "required": ["name", "replicas", "resource", "npus"],
        "properties": {
            "name": {"type": "string"},
            "replicas": number,
            "resource": {"anyOf": [resource, {"const": ""}], "description": '"" = the pods have no NPU.'},
            "npus": npus,
            "requests": {
                "type": "object",
                "additionalProperties": number,
                "description": "Every huawei.com/ resource that one pod asks for.",
            },
            "labels": _texts("Labels of the pod template."),
            "annotations": _texts("Annotations of the pod template."),
            "selector": _texts("Node selector of the pod template."),
        },
    }
    return {
        "apiVersion": {"const": API_VERSION},
        "kind": {"const": KIND},
        "name": {"type": "string"},
        "namespace": {"type": "string"},
        "workload": {"type": "string", "description": "The Kubernetes kind, such as AscendJob or vcjob."},
        "schedulerName": {"type": "string"},
        "queue": {"type": "string"},
        "minAvailable": {**number, "description": "Pods that must find a place together."},
        "resource": resource,
        "npus": {**number, "description": "NPUs that minAvailable pods ask for together."},
        "npuPods": {**number, "description": "Pods that ask for NPUs; more than one makes the job distributed."},
        "labels": labels,
        "annotations": annotations,
        "selector": selector,
        "roles": {"type": "array", "items": role, "description": "Replica types or tasks, in rank order."},
    }


def _texts(description: str, properties: Mapping[str, Any] | None = None) -> dict[str, Any]:
    known = {"properties": dict(properties)} if properties else {}
    return {"type": "object", "description": description, **known, "additionalProperties": {"type": "string"}}


def _describe(product: Product) -> str:
    parts = [
        f"{', '.join(product.models)}: {product.chips} NPUs a node at most.",
        f"Documented kinds: {', '.join(product.kinds)}.",
    ]
    return " ".join([*parts, product.note] if product.note else parts)


def _resource(product: Product) -> dict[str, Any]:
    if "<" in product.resource:
        names = [f"huawei.com/{name}" for name in STATIC_TYPES]
    else:
        names = [product.resource, *product.other_resources]
    return {"enum": names, "description": "The resource that the pods ask for."}


def _npus(legal: Iterable[int], advised: Iterable[int] | None, when: str) -> dict[str, Any]:
    """The roles of a job with legal counts."""
    note = f"; the vendor's tables list {ranges(sorted(advised))}" if advised is not None else ""
    return {
        "description": f"NPUs a pod of a job with {when}{note}.",
        "if": {"properties": {"resource": {"const": ""}}, "required": ["resource"]},
        "then": {"properties": {"npus": quantity([0])}},
        "else": {"properties": {"npus": quantity(legal)}},
    }


def _counts_by_pods(one: str, each: str) -> dict[str, Any]:
    def roles(name: str) -> dict[str, Any]:
        return {"properties": {"roles": {"items": {"$ref": f"#/$defs/{name}"}}}}

    return {
        "if": {"properties": {"npuPods": {"maximum": 1}}, "required": ["npuPods"]},
        "then": roles(one),
        "else": roles(each),
    }


def _unless(condition: dict[str, Any], then: dict[str, Any]) -> dict[str, Any]:
    return {"if": {"not": condition}, "then": then}


def _policy_is(values: list[str]) -> dict[str, Any]:
    return _has("annotations", POLICY, {"enum": values})


def _has(where: str, key: str, value: dict[str, Any]) -> dict[str, Any]:
    return {"required": [where], "properties": {where: {"required": [key], "properties": {key: value}}}}


def _other_counts(product: Product) -> dict[str, tuple[frozenset[int], frozenset[int]]]:
    """Counts of the product's further policies, where they differ: those of the product that has the policy first."""
    found = {}
    for policy in product.policies[1:]:
        own = (p for p in CATALOGUE if p.policies[:1] == (policy,) and p.resource == product.resource)
        other = next(own, product)
        if (other.single, other.distributed) != (product.single, product.distributed):
            found[policy] = other.single, other.distributed
    if product.multilevel:
        whole = frozenset({product.chips})
        found[_MULTILEVEL] = whole, whole
    return found


def _ways_to_select(product: Product) -> list[dict[str, Any]]:
    """What must be there so that the scheduler takes the policy of the product; nothing for the products that it takes
    by their resource alone."""
    if not product.policies or FALLBACK in product.accelerator_types:
        return []
    ways = [_has("annotations", POLICY, {})]
    if product.sp_block_unit and product.resource == A910:
        ways.append(_has("annotations", "sp-block", {}))
    runs = {BY_ANNOTATION[policy] for policy in product.policies}
    chosen = [kind for kind in product.accelerator_types if BY_ACCELERATOR.get(_card(kind)) in runs]
    if chosen and not product.selector_only_filters:
        ways.append(_has("selector", ACCELERATOR_TYPE, {"enum": chosen}))
    return ways


def _card(accelerator_type: str) -> str:
    """Every accelerator-type with `card` in it selects the same policy."""
    return "card" if "card" in accelerator_type else accelerator_type


def _named(key: str, value: dict[str, Any]) -> dict[str, Any]:
    return {"description": _ABOUT[key], **value} if key in _ABOUT else value


def _refused(key: str) -> dict[str, Any]:
    return {"not": {}, "description": f"{_ABOUT[key]} Not for this product."}


def _annotations(product: Product) -> dict[str, Any]:
    allowed = [*product.policies, *([_MULTILEVEL] if product.multilevel else [])]
    values: dict[str, dict[str, Any]] = {}
    if product.resource in (A910, NPU) and allowed:
        values[POLICY] = {"enum": allowed}
    if product.sp_block_unit:
        values["sp-block"] = {"type": "string", "pattern": WHOLE, "examples": [str(product.sp_block_unit)]}
    if product.ra_block:
        values["ra-block"] = {"enum": _RA_BLOCKS}
    if product.multilevel:
        values["huawei.com/affinity-config"] = {"type": "string", "pattern": _AFFINITY}
    known = {key: _named(key, value) for key, value in values.items()}
    return _texts("Annotations.", known | {key: _refused(key) for key in _BLOCKS if key not in known})


def _labels(product: Product) -> dict[str, Any]:
    values: dict[str, dict[str, Any]] = {}
    if product.ring_controller:
        values[RING] = {"enum": [product.ring_controller]}
    if product.tor_affinity:
        values["tor-affinity"] = {"enum": _TOR_VALUES}
    for key, words in product.labels:
        values[key] = _label(words)
    if product.resource == A310P and "duo" not in values:
        values["duo"] = {"not": {"const": "true"}}
    schema = _texts("Merged labels.", {key: _named(key, value) for key, value in values.items()})
    needed = [key for key, words in product.labels if "|" not in words or key.startswith(_QUOTA)]
    if product.resource == NPU_CORE:
        needed.append(RING)
    return {**schema, "required": needed} if needed else schema


def _label(words: str) -> dict[str, Any]:
    """The values of a label as the catalogue writes them: a | b, a range, or a unit."""
    low, dash, high = words.partition("-")
    if dash and low.isdigit() and high.isdigit():
        return {"type": "string", "pattern": f"^({'|'.join(str(n) for n in range(int(low), int(high) + 1))})$"}
    if words == "MB":
        return {"type": "string", "pattern": WHOLE}
    return {"enum": [word.strip() for word in words.split("|")]}


def _selector(product: Product) -> dict[str, Any]:
    types = list(product.accelerator_types)
    about = "Only filters nodes." if product.selector_only_filters else "Kind of server."
    known = {ACCELERATOR_TYPE: {"enum": types, "description": about}} if types else None
    return _texts("Merged node selector.", known)


def _example(product: Product) -> dict[str, Any]:
    """A job that fits: two pods with as many NPUs as they may have, one where the product takes a single pod only."""
    shared = any(key.startswith(_QUOTA) for key, _ in product.labels)
    pods = 2 if product.distributed and product.resource in (A910, NPU) and not shared else 1
    legal = product.advised_distributed or product.distributed if pods > 1 else product.advised_single or product.single
    npus = 1 if product.resource == NPU_CORE else max(count for count in legal if count <= max(product.chips, 1))
    resource = f"huawei.com/{STATIC_TYPES[0]}" if "<" in product.resource else product.resource
    labels = {RING: product.ring_controller} if product.ring_controller else {}
    labels |= {key: words.split("|")[0].strip() for key, words in product.labels}
    if shared:
        labels = {key: {"1-100": str(npus), "MB": "8192"}.get(words, labels[key]) for key, words in product.labels}
    annotations = {POLICY: product.policies[0]} if _ways_to_select(product) else {}
    if product.sp_block_unit:
        annotations["sp-block"] = str(npus * pods)
    selector = {ACCELERATOR_TYPE: product.accelerator_types[0]} if product.accelerator_types else {}
    kind = "AscendJob" if "AscendJob" in product.kinds else product.kinds[0]
    role = {"name": "worker", "replicas": pods, "resource": resource, "npus": npus, "requests": {resource: npus}}
    return {
        "apiVersion": API_VERSION,
        "kind": KIND,
        "name": f"example-{product.name}",
        "namespace": "default",
        "workload": kind,
        "schedulerName": "volcano",
        "queue": "default",
        "minAvailable": pods,
        "resource": resource,
        "npus": npus * pods,
        "npuPods": pods,
        "labels": labels,
        "annotations": annotations,
        "selector": selector,
        "roles": [role | {"labels": labels, "annotations": annotations, "selector": selector}],
    }


if __name__ == "__main__":
    write_all(Path(__file__).parents[2] / "schemas")
