"""The product catalogue for people and for machines."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from ascendctl.products import Product
from ascendctl.report.text import ranges, table


def counts(values: Iterable[int] | None) -> str:
    """Legal counts: 1-8,10,12."""
    return ranges(sorted(values)) if values else "-"


def many(products: Iterable[Product]) -> str:
    """A line a product."""
    rows = [
        (
            p.name,
            p.title,
            p.resource.removeprefix("huawei.com/"),
            " ".join(p.policies) or "-",
            " ".join(p.accelerator_types) or "-",
            p.chips,
            counts(p.advised_single or p.single),
            counts(p.advised_distributed or p.distributed),
        )
        for p in products
    ]
    return table(rows, ("NAME", "PRODUCT", "RESOURCE", "POLICY", "ACCELERATOR-TYPE", "NPUS", "SINGLE", "DISTRIBUTED"))


def one(p: Product) -> str:
    """Everything about one product, a line a fact."""
    facts = [
        ("Name", p.name),
        ("Product", p.title),
        ("Models", ", ".join(p.models)),
        ("Resource", " or ".join((p.resource, *p.other_resources))),
        ("huawei.com/schedule_policy", " or ".join(p.policies) or "none"),
        ("Node selector accelerator-type", " or ".join(p.accelerator_types) or "none")
        if not p.selector_only_filters
        else (
            "Node selector accelerator-type",
            f"{' or '.join(p.accelerator_types)} (filters nodes, selects no policy)",
        ),
        ("Label ring-controller.atlas", p.ring_controller or "none"),
        *(("Label " + key, value) for key, value in p.labels),
        ("NPUs of a node", str(p.chips)),
        (
            "Wiring",
            f"{len(p.groups)} x {p.group_name} of {p.groups[0].bit_count()}" if p.groups else "none that counts",
        ),
        ("NPUs a pod, one NPU pod", _with_advice(p.single, p.advised_single)),
        ("NPUs a pod, several", _with_advice(p.distributed, p.advised_distributed)),
        ("Block annotations", _blocks(p)),
        ("Switch affinity", ", ".join(p.tor_affinity) or "no"),
        ("Kinds", ", ".join(p.kinds)),
        ("Frameworks", ", ".join(p.frameworks)),
        ("Source", f"chapter {p.chapter}"),
    ]
    if p.note:
        facts.append(("Note", p.note))
    return table(facts, ())


def _with_advice(code: frozenset[int], advised: frozenset[int] | None) -> str:
    return counts(code) + (f" (vendor tables: {counts(advised)})" if advised else "")


def _blocks(p: Product) -> str:
    blocks = [f"sp-block in multiples of {p.sp_block_unit}"] if p.sp_block_unit else []
    blocks += ["ra-block 1, 2, 4, 8, 16, 32 or 64"] if p.ra_block else []
    blocks += ["huawei.com/affinity-config with policy multilevel"] if p.multilevel else []
    return "; ".join(blocks) or "none"


def as_dict(p: Product) -> dict[str, Any]:
    """One product as plain data; groups as lists of chip ids."""
    return {
        "name": p.name,
        "title": p.title,
        "models": list(p.models),
        "resources": [p.resource, *p.other_resources],
        "schedulePolicies": list(p.policies),
        "acceleratorTypes": list(p.accelerator_types),
        "ringController": p.ring_controller,
        "labels": dict(p.labels),
        "npusPerNode": p.chips,
        "groupKind": p.group_name,
        "groups": [[i for i in range(group.bit_length()) if group >> i & 1] for group in p.groups],
        "single": sorted(p.single),
        "distributed": sorted(p.distributed),
        "advisedSingle": sorted(p.advised_single or p.single),
        "advisedDistributed": sorted(p.advised_distributed or p.distributed),
        "annotations": list(p.annotations),
        "torAffinity": list(p.tor_affinity),
        "kinds": list(p.kinds),
        "frameworks": list(p.frameworks),
        "chapter": p.chapter,
        "note": p.note,
    }
