"""Everything that the scheduler sees of one node, and where each fact came from (chapter 30 §9.5)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from ascendctl.engine.codes import NODE_CODES
from ascendctl.report.occupancy import STATE_KEYS, STATES, NodeChips, node_chips
from ascendctl.report.problems import problems
from ascendctl.report.snapshot import SOURCE_ROWS, facts, sources
from ascendctl.report.text import printable, ranges, table
from ascendctl.snapshot.chip_lists import CHIP_TYPES, chip_ids
from ascendctl.snapshot.cluster import (
    CARD_NETWORK_UNHEALTHY,
    CARD_UNHEALTHY,
    NODE_UNHEALTHY,
    PRE_SEPARATE,
    SUB_HEALTHY_CARD,
    SUB_HEALTHY_SWITCH,
    UNKNOWN_ACCELERATOR,
    Cluster,
)
from ascendctl.snapshot.health import faults

FLAGS = {
    NODE_UNHEALTHY: "node unhealthy",
    PRE_SEPARATE: "host PreSeparate",
    SUB_HEALTHY_CARD: "a card is sub-healthy",
    SUB_HEALTHY_SWITCH: "the on-board switch is sub-healthy",
    UNKNOWN_ACCELERATOR: "label accelerator names no kind of chip",
    CARD_UNHEALTHY: "a card is unhealthy",
    CARD_NETWORK_UNHEALTHY: "a card is network-unhealthy",
}
LIST_SOURCES = (
    "there is none",
    "as the device row has it",
    "computed by the scheduler: chips of the node, less what pods hold, less unhealthy and recovering ones",
    "an annotation of the Node object, as very old device plugins wrote it",
)


def node_document(cluster: Cluster, name: str) -> dict[str, Any]:
    """One node. Raises KeyError for a name that is not in the snapshot."""
    node = cluster.index[name]
    chips, numbers = node_chips(cluster), facts(cluster, node)
    columns, origin = cluster.resources.get(numbers.resource), cluster.provenance
    code = chips.why(node)
    bits = int(cluster.health[node])
    return {
        "topic": "node",
        "name": name,
        "address": cluster.addresses[node],
        "state": STATE_KEYS[chips.state[node]],
        "code": code,
        "meaning": NODE_CODES[code] if code else "",
        "cordoned": bool(cluster.unschedulable[node]),
        "flags": [text for bit, text in FLAGS.items() if bits & bit],
        "superpod": numbers.superpod,
        "rack": numbers.rack,
        "resource": numbers.resource,
        "capacity": numbers.capacity,
        "allocatable": numbers.allocatable,
        "idle": numbers.idle,
        "listLength": int(columns.list_length[node]) if columns and columns.list_length[node] >= 0 else None,
        "listSource": LIST_SOURCES[int(origin.list_source[node])] if origin else "",
        "updateTime": (int(origin.update_time[node]) or None) if origin else None,
        "npus": {key: list(chip_ids(mask)) for key, mask in _masks(chips, node).items()},
        "pods": list(_pods(cluster, node)),
        "faults": list(_faults(cluster, node)),
        "sources": sources(cluster, node),
        "problems": [one.to_dict() for one in problems(cluster) if one.node == name],
    }


def _masks(chips: NodeChips, node: int) -> Mapping[str, int]:
    total, free, used = int(chips.total[node]), int(chips.free[node]), int(chips.used[node])
    unhealthy, recovering = int(chips.unhealthy[node]), int(chips.recovering[node])
    return {
        "total": total,
        "free": free,
        "used": used,
        "unhealthy": unhealthy,
        "recovering": recovering,
        "networkUnhealthy": int(chips.network[node]),
        "withheld": total & ~(free | used | unhealthy | recovering),
    }


def _pods(cluster: Cluster, node: int) -> Iterator[dict[str, Any]]:
    """Pods on the node that have not finished and hold or request NPUs."""
    pods = cluster.pods
    for row in np.flatnonzero((pods.node == node) & pods.active & ((pods.chips != 0) | (pods.request > 0))).tolist():
        yield {
            "name": f"{pods.namespaces[row]}/{pods.names[row]}",
            "npus": list(chip_ids(int(pods.chips[row]))),
            "requests": int(pods.request[row]),
            "phase": pods.phase[row],
            "terminating": bool(pods.terminating[row]),
        }


def _faults(cluster: Cluster, node: int) -> Iterator[dict[str, Any]]:
    origin, kind = cluster.provenance, int(cluster.kind[node])
    text = origin.faults.get(node) if origin else None
    prefix = f"{CHIP_TYPES[kind]}-" if kind >= 0 else ""
    for one in faults(text or "") or ():
        yield {
            "npu": str(one.get("npu_name", "")).removeprefix(prefix),
            "type": str(one.get("fault_type", "")),
            "level": str(one.get("fault_handling") or one.get("fault_level") or ""),
            "codes": str(one.get("fault_code", "")),
        }


def node_text(document: Mapping[str, Any]) -> str:
    """The same for people."""
    lines = [f"Node {printable(document['name'])}", table([*_fact_rows(document), *_chip_rows(document)], ())]
    if document["pods"]:
        lines += ["", table(map(_pod_row, document["pods"]), ("POD", "NPUS", "REQUESTS", "PHASE"))]
    if document["faults"]:
        cells = [(one["npu"], one["type"], one["level"], one["codes"]) for one in document["faults"]]
        lines += ["", table(cells, ("NPU", "FAULT", "LEVEL", "CODES"))]
    lines += ["", table(_source_rows(document["sources"]), ("FACTS", "OBJECT", "IN THE DUMP", "SHA-256"))]
    for one in document["problems"]:
        lines += ["", printable(f"{one['severity']} {one['code']}: {one['title']}: {one['message']}")]
        lines += [f"  For scheduling: {one['effect']}.", f"  Remedy: {one['remedy']}."]
    return "\n".join(lines)


def _fact_rows(document: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    state, why = STATES[STATE_KEYS.index(document["state"])], "pods with NPUs may come"
    if document["code"]:
        why = f"refused: {document['code']}, {document['meaning']}"
    elif not document["resource"]:
        state, why = "without NPUs", "no pods with NPUs come"
    yield "State", f"{state}; {why}" + ("; cordoned" if document["cordoned"] else "")
    yield "Address", document["address"] or "none"
    words = {"capacity": "capacity", "allocatable": "allocatable", "idle": "idle", "listLength": "free list"}
    numbers = (f"{word} {'undefined' if document[key] is None else document[key]}" for key, word in words.items())
    yield "Numbers", f"{document['resource'] or 'no NPUs'}: {', '.join(numbers)}"
    yield "Free list", document["listSource"]
    units = {"superpod": "SuperPoD", "rack": "rack"}
    if groups := [f"{word} {document[key]}" for key, word in units.items() if document[key] is not None]:
        yield "In", ", ".join(groups)
    if document["flags"]:
        yield "Flags", "; ".join(document["flags"])


def _chip_rows(document: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """The chips by state; those that are broken with their faults."""
    always = ("total", "free", "used")
    by_chip = _by_chip(document["faults"])
    for key, ids in document["npus"].items():
        told = [f"{chip}: {by_chip[str(chip)]}" for chip in ids if str(chip) in by_chip]
        note = f"  ({'; '.join(told)})" if told and key not in always else ""
        if ids or key in always:
            title = "Net-unhealthy" if key == "networkUnhealthy" else key.capitalize()
            yield title, (ranges(ids) or "-") + note


def _by_chip(found: list[dict[str, Any]]) -> dict[str, str]:
    return {one["npu"]: " ".join(filter(None, (one["level"], one["codes"]))) for one in found}


def _pod_row(pod: Mapping[str, Any]) -> tuple[object, ...]:
    phase = pod["phase"] or "unknown"
    return pod["name"], ranges(pod["npus"]) or "-", pod["requests"], phase + (", terminating" * pod["terminating"])


def _source_rows(found: Mapping[str, Any] | None) -> Iterator[tuple[str, str, str, str]]:
    if found is None:
        return
    yield "node", "Node", found["node"] or "(in memory)", ""
    for (key, _), word in zip(SOURCE_ROWS, ("chips", "on-board switch", "host health"), strict=True):
        one = found[key]
        if one is None:
            yield word, "none", "", ""
        else:
            yield word, one["object"], one["source"] or "(in memory)", one["sha256"][:16]
