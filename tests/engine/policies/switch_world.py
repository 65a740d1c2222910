"""Leaf topologies in the notation of chapter 23 §13, written down as recorded cases are.

`L2{1,2,3}` is a leaf whose candidate positions are 1, 2, 3; `L2/3{..}` one with three servers. A prefix `I: E: S: U:`
is the leaf state, "normal@L1.0,L2.0 [2/0]" a running job with one pod on each node and the state that they carry.
Node Lk.p of the chapter is node "lk-p", tor_ip of leaf Lk is "Lk".
"""

from __future__ import annotations

import re
from typing import Any

import ascendctl
from tests import cases

LABELS = {"normal": "normal-schema", "large": "large-model-schema", "filler": "large-model-schema"}
STATES = {"I": (0, 0), "E": (2, 0), "S": (1, 0), "U": (1, 1)}
FULL = "0xff"
OUTSIDE = "spare-1"


def node(name: str) -> str:
    """Lk.p -> node name."""
    return name.lower().replace(".", "-")


def expand(nodes: str) -> list[str]:
    """ "L1.0-2 L2.0" -> node names."""
    found = []
    for item in nodes.split():
        leaf, _, positions = item.partition(".")
        first, _, last = positions.partition("-")
        found += [node(f"{leaf}.{p}") for p in range(int(first), int(last or first) + 1)]
    return found


def case(
    width: int,
    leaves: str,
    job: str,
    others: tuple[str, ...] = (),
    *,
    version: str = "1.0",
    limit: int = 2,
    level: str | None = None,
    slices: dict[str, list[int]] | None = None,
    npus: int = 8,
    master: int | None = None,
) -> dict[str, Any]:
    """A case with that cluster and job ("large 6"); `slices` gives slice ids by leaf where they are not the positions,
    `master` the NPUs of a leader pod that comes on top."""
    nodes: dict[str, dict[str, Any]] = {}
    servers = []
    for prefix, number, size, free in re.findall(r"(?:([IESU]):)?L(\d+)(?:/(\d+))?\{([\d,]*)\}", leaves):
        candidates = {int(p) for p in free.split(",") if p}
        leaf, group = f"L{number}", []
        for p in range(int(size or width)):
            name, ip = node(f"{leaf}.{p}"), f"10.{number}.0.{p + 1}"
            nodes[name] = {"name": name, "ip": ip, "resource": "huawei.com/Ascend910", "chips": 8}
            nodes[name] |= {} if p in candidates else {"status": "UnHealthy"}
            slice_id = (slices or {}).get(leaf, range(64))[p]
            group.append({"server_ip": ip, "npu_count": 8, "slice_id": slice_id})
        entry = {"tor_id": int(number), "tor_ip": leaf, "server": group}
        if prefix:
            entry |= dict(zip(("IsSharedTor", "IsHealthy"), STATES[prefix], strict=True))
        servers.append(entry)
    running = []
    for i, other in enumerate(others):
        kind, where, shared, healthy = re.fullmatch(r"(\w+)@([^ ]+)(?: \[(\d)/(\d)\])?", other).groups()  # type: ignore[union-attr]
        marks = {} if shared is None else {"isSharedTor": shared, "isHealthy": healthy}
        for rank, place in enumerate(where.split(",")):
            nodes[node(place)] |= {"used": FULL, "status": "Healthy"}
            labels = {"tor-affinity": LABELS[kind]} if kind in LABELS else {}
            running.append({"job": f"r{i}", "rank": rank, "node": node(place), "chips": FULL, "labels": labels,
                            "annotations": marks})  # fmt: skip
    kind, count = job.split()
    roles = [{"name": "Worker", "replicas": int(count), "npus": npus}]
    if master is not None:
        roles.insert(0, {"name": "Master", "replicas": 1, "npus": master})
    return {
        "id": "example",
        "params": {"nslb-version": version, "shared-tor-num": limit},
        "nodes": list(nodes.values()),
        "leaves": {"tor_level": level, "tor_info": {"version": "1.0", "tor_count": width, "server_list": servers}},
        "running": running,
        "job": {
            "kind": "AscendJob",
            "name": "train",
            "namespace": "default",
            "labels": {"tor-affinity": LABELS[kind]},
            "annotations": {"huawei.com/schedule_policy": "chip8-node8"},
            "selector": {},
            "roles": roles,
        },
    }


def lose(
    example: dict[str, Any],
    bound: dict[int, str],
    lost: dict[int, str],
    marks: dict[str, str] | None = None,
    broken: bool = True,
) -> dict[str, Any]:
    """Turn a case into a rescheduling case: `bound` ranks stay on their nodes, `lost` ranks ran on the given nodes
    ("" = a node outside the file). `marks` are "state/health" by leaf of the bound pods. The nodes of lost pods are
    broken, unless they are candidates or `broken` is False."""
    nodes = {n["name"]: n for n in example["nodes"]}
    nodes[OUTSIDE] = {"name": OUTSIDE, "ip": "10.0.99.1", "resource": "huawei.com/Ascend910", "chips": 8}
    if broken:
        nodes[OUTSIDE]["status"] = "UnHealthy"
    previous = []
    for rank, place in sorted((bound | lost).items()):
        name = node(place) if place else OUTSIDE
        entry: dict[str, Any] = {"rank": rank, "node": name, "chips": FULL}
        mark = (marks or {}).get(place.partition(".")[0])
        if mark and rank in bound:
            state, health = mark.split("/")
            entry["annotations"] = {"isSharedTor": state, "isHealthy": health}
            entry["annotations"] |= {"sharedTorIp": place.partition(".")[0]} if state == "1" else {}
        previous.append(entry)
        if rank in bound:
            nodes[name] |= {"used": FULL, "status": "Healthy"}
    example["nodes"] = list(nodes.values())
    faulty = [node(place) if place else OUTSIDE for place in lost.values()]
    example["job"]["fault"] = {"previous": previous, "faulty": list(dict.fromkeys(faulty)), "kind": "pod"}
    return example


def answer(example: dict[str, Any], mode: str = "clusterd", seed: int = 0) -> dict[str, Any]:
    """The result document of a case."""
    return cases.answer(ascendctl, example, mode, seed)


def nodes_of(result: dict[str, Any]) -> list[str]:
    """Nodes by rank."""
    return [pod["node"] for pod in result["pods"]]


def marks_of(result: dict[str, Any]) -> dict[str, str]:
    """What 2.0 annotates by leaf, "isSharedTor/isHealthy"; every pod of a leaf must say the same."""
    found: dict[str, set[str]] = {}
    for pod in result["pods"]:
        marks = pod["annotations"]
        found.setdefault(pod["group"], set()).add(f"{marks.get('isSharedTor')}/{marks.get('isHealthy')}")
        assert marks.get("sharedTorIp") == (pod["group"] if marks.get("isSharedTor") == "1" else None)
    return {leaf: "|".join(sorted(values)) for leaf, values in found.items()}


def states_of(result: dict[str, Any]) -> dict[str, str]:
    """Leaf states after the placement as letters."""
    letters = {pair: letter for letter, pair in STATES.items()}
    states = result["metrics"]["leaf_states"]
    return {leaf: letters[s["IsSharedTor"], s["IsHealthy"]] for leaf, s in states.items()}


def codes_of(result: dict[str, Any]) -> dict[str, str]:
    """Refused nodes and their codes."""
    return {name: entry["code"] for entry in result["nodes"]["rejected"] for name in entry["nodes"]}
