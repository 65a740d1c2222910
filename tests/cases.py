"""Recorded placement cases -> real inputs of the product, and big made-up clusters.

A case (`vectors/*.jsonl.gz`, schema in `vectors/README.md`) says in an abstract way what a cluster looks like, which job
arrives and what the reference scheduler does. `objects` and `manifest` write it down as people have it, `previous`
gives the earlier placement of a rescheduling case, `compare` holds a result document against the recorded one,
`synthetic` makes large clusters, `dump` writes a case as files. The same arguments always give the same bytes.
"""

from __future__ import annotations

import functools
import gzip
import hashlib
import itertools
import json
import random
import re
import uuid
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple, TextIO

Case = dict[str, Any]
Obj = dict[str, Any]

NOW = 1_788_000_000  # seconds; UpdateTime of every row. The scheduler never compares it with the clock.
SHARD = 800 * 1024  # bytes of one cluster-info-* object
SOFT = ("code:", "group:", "order:", "annotation:")
H = "huawei.com/"
CORE, REAL, POLICY = H + "npu-core", H + "AscendReal", H + "schedule_policy"
SOFT_NODE, SOFT_QUOTA = H + "scheduler.chip1softsharedev.enable", H + "scheduler.softShareDev.aicoreQuota"
CHIP_NAME = "node.kubernetes.io/npu.chip.name"
KINDS = {kind.lower(): kind for kind in ("Ascend910", "npu", "Ascend310", "Ascend310P")}  # chip types


# ---------------------------------------------------------------------------------------------- reading cases
def load(path: str | Path) -> list[Case]:
    """The cases of one .jsonl.gz file, or of all of them in a folder."""
    path, cases = Path(path), []
    for file in sorted(path.glob("*.jsonl.gz")) if path.is_dir() else [path]:
        for number, line in enumerate(gzip.decompress(file.read_bytes()).decode("utf-8").splitlines(), 1):
            try:
                cases += [json.loads(line)] if line.strip() else []
            except ValueError as error:
                raise ValueError(f"{file}:{number}: {error}") from None
    return cases


def mask(value: str | int | None) -> int:
    """A chip mask as the cases write it: "0x3f", 63 or nothing."""
    return value if isinstance(value, int) else int(value, 16) if value else 0


def ids(bits: int) -> list[int]:
    return [i for i in range(bits.bit_length()) if bits >> i & 1]


@dataclass(frozen=True)
class Node:
    """One node of a case: masks parsed, defaults filled in."""

    index: int
    name: str
    ip: str
    resource: str  # what pods request here: huawei.com/Ascend910, huawei.com/npu, huawei.com/Ascend310P-2c ...
    kind: str  # chip type, the prefix of chip names: Ascend910, npu ...
    chips: int
    used: int
    unhealthy: int
    net: int | None  # None: the node has no -NetworkUnhealthy key
    superpod: int  # < 0: none
    rack: int | None  # None: this product writes no RackID
    status: str
    sub_healthy: bool
    labels: dict[str, str]
    annotations: dict[str, str | None]
    a3: bool
    whole: bool  # False: the node offers static vNPUs
    unit: int  # devices per chip in the eyes of the kubelet: 1, 100 (soft sharing) or AI cores (npu-core)
    shift: int  # DeviceID minus chip id: pod annotations of an Ascend950 node name DeviceIDs

    def names(self, bits: int, shift: int = 0) -> str:
        return ",".join(sorted(f"{self.kind}-{i + shift}" for i in ids(bits)))


def _by_cores(case: Case) -> bool:
    """True if the case is about dynamic vNPUs: nodes offer AI cores, not chips."""
    asked = (r.get("resource") == CORE for r in case["job"]["roles"])
    return any(asked) or any(CORE in (p.get("annotations") or {}) for p in case.get("running") or [])


def node(case: Case, index: int) -> Node:
    raw = case["nodes"][index]
    kind, dash, template = (raw.get("resource") or H + "Ascend910").removeprefix(H).partition("-")
    kind = KINDS.get(kind.lower(), kind)  # a job may misspell the name, a node does not
    labels = {"accelerator": "huawei-" + kind, "host-arch": "huawei-arm"} | (
        {CHIP_NAME: "Ascend950PR"} if kind == "npu" else {}
    )
    labels |= (case["job"].get("selector") or {}) | (raw.get("labels") or {})
    labels = {k: v for k, v in labels.items() if v is not None}
    superpod, rack, net = raw.get("superpod"), raw.get("rack"), raw.get("net_unhealthy", 0)
    a3 = kind == "Ascend910" and ("a3" in labels.get("accelerator-type", "") or superpod is not None)
    unit = 100 if labels.get(SOFT_NODE) == "true" else 1
    if _by_cores(case):
        cores = labels.get("servertype", "").split("-")[1:2]
        unit = int(cores[0]) if cores and cores[0].isdigit() else 8
    return Node(
        index,
        raw["name"],
        raw.get("ip") or f"10.{64 + (index >> 16)}.{index >> 8 & 255}.{index & 255}",
        H + kind + dash + template,
        kind,
        raw["chips"],
        mask(raw.get("used")),
        mask(raw.get("unhealthy")),
        None if net is None else mask(net),
        superpod if superpod is not None else -1 if kind == "npu" or a3 else -2,
        rack if rack is not None else -1 if kind == "npu" else None,
        raw.get("status") or "Healthy",
        bool(raw.get("sub_healthy")),
        labels,
        raw.get("annotations") or {},
        a3,
        not dash,
        unit,
        8 if labels.get(CHIP_NAME, "").startswith("Ascend950") else 0,
    )


# ---------------------------------------------------------------------------------------------- Node, ConfigMap
def go_json(value: Any) -> str:
    """Compact JSON with the escapes of Go's encoder, which the check codes are computed on."""
    text = json.dumps(value, separators=(",", ":"), ensure_ascii=False)
    for char in "&<>\u2028\u2029":
        text = text.replace(char, f"\\u{ord(char):04x}") if char in text else text
    return text


def check_code(payload: Obj) -> str:
    return hashlib.sha256(go_json(payload).encode()).hexdigest()


def _meta(name: str, namespace: str | None = None, **more: Any) -> Obj:
    return {k: v for k, v in ({"name": name, "namespace": namespace} | more).items() if v}


def _configmap(name: str, namespace: str, data: dict[str, str], consumer: str = "") -> Obj:
    labels = {consumer: "true"} if consumer else None
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": _meta(name, namespace, labels=labels), "data": data}


def node_object(n: Node, by_cores: bool) -> Obj:
    base = {
        f"{n.kind}-{i}": ({"DeviceID": i + n.shift} if n.shift else {})
        | {
            "IP": f"172.{16 + (n.index >> 10)}.{n.index >> 2 & 255}.{(n.index << 6 & 255) + i}",
            "SuperDeviceID": n.index << 8 | i if n.superpod >= 0 else 0,
        }
        for i in range(n.chips if n.whole else 0)
    }
    annotations = {
        "baseDeviceInfos": go_json(base) if n.chips else None,
        "superPodID": str(n.superpod),
        "serverIndex": str(n.index),
        "serverType": "npu" if n.kind == "npu" else "A3" if n.a3 else "",
        "rackID": None if n.rack is None else str(n.rack),
    } | n.annotations
    capacity = {"cpu": "192", "memory": "1584871020Ki", "pods": "110"}
    allocatable = {"cpu": "191", "memory": "1564871020Ki", "pods": "110"}
    if n.chips:
        resource = CORE if by_cores else n.resource
        capacity[resource] = str(n.unit * n.chips)
        allocatable[resource] = str(n.unit * (n.chips - n.unhealthy.bit_count()))
    meta = {"name": n.name, "labels": n.labels, "annotations": {k: v for k, v in annotations.items() if v is not None}}
    status = {
        "capacity": capacity,
        "allocatable": allocatable,
        "conditions": [{"type": "Ready", "status": "True"}],
        "addresses": [{"type": "InternalIP", "address": n.ip}, {"type": "Hostname", "address": n.name}],
    }
    return {"apiVersion": "v1", "kind": "Node", "metadata": meta, "status": status}


def _sub_chip(n: Node) -> int | None:
    """The chip that shows the node's sub-health; None: the on-board switch does (always if no chip can)."""
    healthy = ids((1 << n.chips) - 1 & ~n.unhealthy)
    by_switch = n.kind == "Ascend310" or not healthy or not n.whole or (n.a3 and n.index % 2)
    return healthy[0] if n.sub_healthy and not by_switch else None


def device_list(n: Node, mode: str) -> dict[str, str]:
    """`DeviceList` of the node's device row, as the device plugin or ClusterD writes it for the product."""
    found = [(i, "CardUnhealthy", "RestartNPU", "40F84E00") for i in ids(n.unhealthy)]
    found += [(i, "CardNetworkUnhealthy", "PreSeparateNPU", "81078603") for i in ids(n.net or 0)]
    if (sub := _sub_chip(n)) is not None:
        found.append((sub, "CardUnhealthy", "SubHealthFault", "81AD8605"))
    faults = [
        {
            "fault_type": kind,
            "npu_name": f"{n.kind}-{chip}",
            "large_model_fault_level": level,
            "fault_level": level,
            "fault_handling": level,
            "fault_code": code,
            "fault_time_and_level_map": {code: {"fault_time": (NOW - 3600) * 1000, "fault_level": level}},
        }
        for chip, kind, level, code in found
    ]
    key, free = H + n.kind, (1 << n.chips) - 1 & ~(n.used | n.unhealthy)
    rows = {
        key: n.names(free) if n.whole else "",
        key + "-Unhealthy": n.names(n.unhealthy) if n.whole else "",
        key + "-Fault": go_json(faults),
    }
    if mode == "clusterd" or n.kind in ("Ascend910", "npu"):
        rows |= {key + "-Recovering": "", key + "-NetworkUnhealthy": ""}
    if n.kind == "Ascend310":  # the device plugin writes the faults of 310 chips under the name of the 310P
        rows[H + "Ascend310P-Fault"] = rows[key + "-Fault"] if mode == "clusterd" else rows.pop(key + "-Fault")
    if n.net:
        rows[key + "-NetworkUnhealthy"] = n.names(n.net)
    elif n.net is None:
        rows.pop(key + "-NetworkUnhealthy", None)
    return dict(sorted(rows.items()))


def _switch(n: Node) -> Obj | None:
    """Row of the on-board switch; None if the product has no such row."""
    row: Obj = {"FaultCode": None, "FaultLevel": "", "UpdateTime": 0, "NodeStatus": "", "FaultTimeAndLevelMap": None}
    if n.sub_healthy and _sub_chip(n) is None:
        code = "[0x00f10509,132332,npu,na]"
        row |= {"FaultCode": [code], "FaultLevel": "SubHealthFault", "UpdateTime": NOW, "NodeStatus": "SubHealthy"}
    return row if n.a3 or n.kind == "npu" or row["NodeStatus"] else None


def _host(n: Node) -> Obj:
    level = "PreSeparateFault" if n.status == "PreSeparate" else "SeparateFault"
    fault = {"DeviceType": "CPU", "DeviceId": 1, "FaultCode": ["00000011"], "FaultLevel": level}
    return {"FaultDevList": [fault], "NodeStatus": n.status}


def _device_rows(nodes: Iterable[Node]) -> Iterator[Obj]:
    for n in nodes:
        if n.chips:
            info = {"DeviceList": device_list(n, "device"), "UpdateTime": NOW}
            row = {
                "DeviceInfo": info,
                "SuperPodID": n.superpod,
                "ServerIndex": n.index if n.superpod >= 0 else -2,
                "CheckCode": check_code(info),
            } | ({} if n.rack is None else {"RackID": n.rack})
            data = {"DeviceInfoCfg": go_json(row)} | ({"SwitchInfoCfg": go_json(_switch(n))} if _switch(n) else {})
            data |= {"ManuallySeparateNPU": "", "UpgradeFaultReason": "{}"}
            yield _configmap("mindx-dl-deviceinfo-" + n.name, "kube-system", data, "mx-consumer-cim")
        if n.status != "Healthy":
            row = {"NodeInfo": _host(n), "CheckCode": check_code(_host(n))}
            data = {"NodeInfo": go_json(row), "updateTime": "2026-08-29T10:39:12Z"}
            yield _configmap("mindx-dl-nodeinfo-" + n.name, "mindx-dl", data, "mx-consumer-cim")


def _aggregate(name: str, text: str) -> Obj:
    return _configmap(name, "mindx-dl", {name: text}, "mx-consumer-volcano")


def _shards(prefix: str, rows: Iterable[tuple[str, Obj]]) -> Iterator[Obj]:
    part: list[str] = []
    size = count = 0
    for text in itertools.chain((go_json(key) + ":" + go_json(row) for key, row in rows), [""]):
        length = len(text.encode()) + 1
        if part and (not text or size + length > SHARD):
            yield _aggregate(f"{prefix}{count}", "{" + ",".join(part) + "}")
            part, size, count = [], 0, count + 1
        part.append(text)
        size += length
    yield _aggregate(f"{prefix}{count}", "")  # a surplus shard: ClusterD empties such objects instead of deleting them


def _clusterd_rows(nodes: Iterable[Node]) -> Iterator[Obj]:
    switches, hosts = [], {}

    def devices() -> Iterator[tuple[str, Obj]]:
        for n in nodes:
            if (switch := _switch(n)) and switch["NodeStatus"]:
                name = f"mindx-dl-switchinfo-{n.name}"
                switches.append((name, switch | {"CmName": name}))
            if n.status != "Healthy":
                name = f"mindx-dl-nodeinfo-{n.name}"
                hosts[name] = _host(n) | {"CmName": name, "UpdateTime": NOW * 1000}
            if n.chips:
                name = f"mindx-dl-deviceinfo-{n.name}"
                yield (
                    name,
                    {
                        "DeviceList": device_list(n, "clusterd"),
                        "UpdateTime": NOW,
                        "CmName": name,
                        "SuperPodID": n.superpod,
                        "RackID": n.rack or 0,
                        "ServerIndex": n.index if n.superpod >= 0 else -2,
                    },
                )

    yield from _shards("cluster-info-device-", devices())
    yield from _shards("cluster-info-switch-", switches)
    yield _aggregate("cluster-info-node-cm", go_json(hosts) if hosts else "")


def _cluster_wide(case: Case, mode: str) -> Iterator[Obj]:
    given = {k: v for k, v in (case.get("params") or {}).items() if v is not None}
    arguments = {k: v if isinstance(v, str) else go_json(v) for k, v in given.items()}
    arguments["useClusterInfoManager"] = "true" if mode == "clusterd" else "false"
    plugins = ("priority", "gang", "volcano-npu"), ("predicates", "nodeorder")
    conf = {
        "actions": "enqueue, allocate, backfill",
        "tiers": [{"plugins": [{"name": p} for p in tier]} for tier in plugins],
        "configurations": [{"name": "init-params", "arguments": arguments}],
    }
    yield _configmap("volcano-scheduler-configmap", "volcano-system", {"volcano-scheduler.conf": to_yaml(conf)})
    if leaves := case.get("leaves"):
        level = {} if leaves.get("tor_level") is None else {"tor_level": leaves["tor_level"]}
        yield _configmap("basic-tor-node-cm", "kube-system", {"tor_info": go_json(leaves["tor_info"])} | level)


# ---------------------------------------------------------------------------------------------- Pod
def _pod(name: str, namespace: str, n: Node, requests: dict[str, int], annotations: Obj, labels: Obj) -> Obj:
    quantities = {k: str(v) for k, v in requests.items() if v}
    resources = {"resources": {"limits": quantities, "requests": dict(quantities)}} if quantities else {}
    meta = _meta(
        name,
        namespace,
        uid=str(uuid.uuid5(uuid.NAMESPACE_DNS, f"{namespace}/{name}")),
        labels=labels,
        annotations={k: str(v) for k, v in annotations.items() if v is not None},
    )
    containers = [{"name": "ascend", "image": "registry.local/train:1"} | resources]
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": meta,
        "status": {"phase": "Running"},
        "spec": {"nodeName": n.name, "schedulerName": "volcano", "containers": containers},
    }


def _holding(n: Node, bits: int, mounted: bool = True) -> Obj:
    """Annotations of a pod that holds these chips."""
    if not bits or not n.whole:
        return {}
    held = {H + n.kind: n.names(bits, n.shift), "predicate-time": str(2**64 - 1) if mounted else f"{NOW - 5}000000000"}
    return held | ({REAL: n.names(bits)} if mounted else {})


def _request(n: Node, bits: int, annotations: Obj) -> dict[str, int]:
    """What a running pod requests: chips, a percentage (soft sharing) or AI cores (vNPU)."""
    if cut := annotations.get(CORE):
        template = re.fullmatch(r"\d+-vir0*(\d+).*", cut)
        return {CORE: int(template[1]) if template else n.unit * len(cut.split(","))}
    return {n.resource: int(annotations[SOFT_QUOTA]) if SOFT_QUOTA in annotations else bits.bit_count()}


def _owner(entry: Obj, job: Obj) -> tuple[str, str]:
    """Namespace and name of a running job: "ns/name", or "name" in the namespace of the case's job."""
    namespace, _, name = entry["job"].rpartition("/")
    return namespace or job.get("namespace") or "default", name


def _block(case: Case, entry: Obj) -> Obj:
    """Annotations of a placed pod of the job: the case's, and the logical SuperPoD it belongs to."""
    block: Obj = {}
    if entry.get("superpod_rank") is not None:
        home = next((n.get("superpod") for n in case["nodes"] if n["name"] == entry["node"]), None)
        block = {"super-pod-rank": entry["superpod_rank"], "super-pod-id": home}
    return {k: str(v) for k, v in (block | (entry.get("annotations") or {})).items() if v is not None}


def _own_pods(case: Case) -> list[Obj]:
    """The job's own pods that exist when a fault is handled, as entries of `running`. If the chips of all earlier pods
    are still "used", nothing has been deleted yet; else the survivors of the fault's kind are left."""
    job, fault = case["job"], case["job"].get("fault")
    if not fault or any(_owner(r, job)[1] == job["name"] for r in case.get("running") or []):
        return []
    used = {n["name"]: mask(n.get("used")) for n in case["nodes"]}
    alive, gone = fault["previous"], set(fault["faulty"])
    if any(not mask(p.get("chips")) or mask(p["chips"]) & ~used.get(p["node"], 0) for p in alive):
        blocks = {p.get("superpod_rank") for p in alive if p["node"] in gone} if fault["kind"] == "lsp" else set()
        alive = [
            p
            for p in alive
            if fault["kind"] != "job" and p["node"] not in gone and p.get("superpod_rank") not in blocks
        ]
    names = pods(case)
    return [
        p
        | {
            "job": job["name"],
            "name": names[p["rank"]][0],
            "labels": job.get("labels"),
            "annotations": {"volcano.sh/task-spec": names[p["rank"]][1]} | _block(case, p),
        }
        for p in alive
        if p["node"] in used
    ]


def _pod_objects(case: Case, nodes: Iterable[Node]) -> Iterator[Obj]:
    by_cores = _by_cores(case)
    by_node: dict[str, list[Obj]] = {}
    for entry in [*(case.get("running") or []), *_own_pods(case)]:
        by_node.setdefault(entry["node"], []).append(entry)
    for n in nodes:
        held = 0
        for entry in by_node.get(n.name, []):
            (namespace, job), bits, given = (
                _owner(entry, case["job"]),
                mask(entry.get("chips")),
                entry.get("annotations") or {},
            )
            held |= bits
            special = CORE in given or SOFT_QUOTA in given  # the case says itself what such a pod carries
            carried = {"hccl/rankIndex": entry.get("rank"), "scheduling.k8s.io/group-name": job}
            carried |= {} if special else _holding(n, bits)
            name = entry.get("name") or re.sub(r"[^a-z0-9]+", "-", f"{job}-worker-{entry.get('rank', 0)}".lower())
            yield _pod(name, namespace, n, _request(n, bits, given), carried | given, entry.get("labels") or {})
        rest = ids(n.used & ~held)
        half = len(rest) // 2 if len(rest) > 3 and n.index % 3 == 0 else 0
        for number, part in enumerate(p for p in (rest[:half], rest[half:]) if p):
            name = f"filler-{n.index}-{number}"
            carried = _holding(n, sum(1 << i for i in part), mounted=n.shift > 0 or number == 0)
            # a filler must not make its leaf switch look as if jobs of another type used it
            labels = {"tor-affinity": "normal-schema"} if case.get("leaves") else {}
            yield _pod(
                name,
                "other",
                n,
                {n.resource: 0 if by_cores else len(part) * n.unit},
                carried | {"scheduling.k8s.io/group-name": name},
                labels,
            )


# ---------------------------------------------------------------------------------------------- objects, dump
def _streams(case: Case, mode: str, seed: int) -> dict[str, Iterator[Obj]]:
    """Lazy streams of objects by file name, nodes in shuffled order."""
    if mode not in ("clusterd", "device"):
        raise ValueError(f"mode must be clusterd or device, not {mode!r}")
    order = list(range(len(case["nodes"])))
    random.Random(seed).shuffle(order)

    def nodes() -> Iterator[Node]:
        return (node(case, i) for i in order)

    rows = _clusterd_rows(nodes()) if mode == "clusterd" else _device_rows(nodes())
    parts = [_cluster_wide(case, mode), rows] if seed % 2 else [rows, _cluster_wide(case, mode)]
    by_cores = _by_cores(case)
    return {
        "nodes": (node_object(n, by_cores) for n in nodes()),
        "configmaps": itertools.chain(*parts),
        "pods": _pod_objects(case, nodes()),
    }


def objects(case: Case, mode: str = "clusterd", seed: int = 0) -> list[Obj]:
    """All Kubernetes objects of a case, in an order given by the seed."""
    result = list(itertools.chain(*_streams(case, mode, seed).values()))
    random.Random(seed).shuffle(result)
    return result


def dump(case: Case, folder: str | Path, fmt: str = "yaml", mode: str = "clusterd", seed: int = 0) -> list[Path]:
    """Write nodes, configmaps and pods as `kubectl get -o yaml|json` does, job.yaml, and previous.json for a fault
    case. Objects are streamed, so a large cluster needs little memory."""
    if fmt not in ("yaml", "json"):
        raise ValueError(f"fmt must be yaml or json, not {fmt!r}")
    folder, written = Path(folder), []
    folder.mkdir(parents=True, exist_ok=True)
    for name, items in _streams(case, mode, seed).items():
        written.append(folder / f"{name}.{fmt}")
        with open(written[-1], "w", encoding="utf-8", newline="\n") as out:
            _write_list(out, items, fmt)
    before = previous(case)
    texts = {"job.yaml": manifest(case)} | ({"previous.json": json.dumps(before, indent=1) + "\n"} if before else {})
    for name, text in texts.items():
        written.append(folder / name)
        written[-1].write_text(text, encoding="utf-8", newline="\n")
    return written


def _write_list(out: TextIO, items: Iterable[Obj], fmt: str) -> None:
    count, as_json = 0, fmt == "json"
    out.write('{"apiVersion":"v1","items":[\n' if as_json else "apiVersion: v1\n")
    for count, item in enumerate(items, 1):
        if as_json:
            out.write((",\n" if count > 1 else "") + json.dumps(item, ensure_ascii=False))
        else:
            out.write(("items:\n" if count == 1 else "") + "- " + to_yaml(item, 2)[2:])
    end = 'kind: List\nmetadata:\n  resourceVersion: ""\n'
    out.write(
        '\n],"kind":"List","metadata":{"resourceVersion":""}}\n' if as_json else end if count else "items: []\n" + end
    )


# ---------------------------------------------------------------------------------------------- YAML
_PLAIN = re.compile(r"[A-Za-z_/](?:[ ,:]?[A-Za-z0-9_./=@+-])*")  # cannot be read as anything but text
_WORDS = {"true", "false", "yes", "no", "on", "off", "y", "n", "null"}
_ODD = re.compile("[\x00-\x09\x0b-\x1f\x7f-\x9f\u2028\u2029\ufeff\ufffe\uffff]")


@functools.lru_cache(maxsize=1 << 14)
def _quoted(text: str) -> str:
    """A text on one line: plain, or quoted the way kubectl quotes it."""
    if _PLAIN.fullmatch(text) and text.lower() not in _WORDS:
        return text
    if _ODD.search(text) or "\n" in text:
        return _ODD.sub(lambda odd: f"\\u{ord(odd[0]):04x}", json.dumps(text, ensure_ascii=False))
    return f'"{text}"' if re.fullmatch(r"[-+.:\w]*", text) else "'" + text.replace("'", "''") + "'"


def _scalar(value: Any, indent: int) -> str:
    if not isinstance(value, str):
        return json.dumps(value)  # a number, a boolean, null, or an empty list or mapping
    if "\n" not in value or value[0] in "\n " or _ODD.search(value):
        return _quoted(value) if len(value) < 100 else _quoted.__wrapped__(value)
    chomp = "-" if value[-1] != "\n" else "+" if value[-2] == "\n" else ""
    lines = value.removesuffix("\n").split("\n")
    return f"|{chomp}\n" + "\n".join(" " * indent + line if line else "" for line in lines)


def to_yaml(value: Any, indent: int = 0) -> str:
    """Block style as kubectl writes it. Values: mappings with text keys, lists, text, numbers, booleans, null."""
    lines, pad = [], " " * indent
    if isinstance(value, dict):
        for key, item in value.items():
            if item and isinstance(item, (dict, list)):
                lines.append(f"{pad}{_quoted(key)}:\n{to_yaml(item, indent + 2 * isinstance(item, dict))}")
            else:
                lines.append(f"{pad}{_quoted(key)}: {_scalar(item, indent + 2)}\n")
    else:
        for item in value:
            nested = item and isinstance(item, (dict, list))
            lines.append(
                f"{pad}- " + (to_yaml(item, indent + 2)[indent + 2 :] if nested else _scalar(item, indent + 2) + "\n")
            )
    return "".join(lines)


# ---------------------------------------------------------------------------------------------- manifest
LEADERS = {"pytorch": "Master", "mindspore": "Scheduler", "tensorflow": "Chief"}
PER_POD = ("vnpu-level", "vnpu-dvpp", H + "skip-ascend-plugin")  # read from each pod, also where the job has the rest


def _framework(job: Obj) -> str:
    first = job["roles"][0]["name"].capitalize()
    return (job.get("labels") or {}).get("framework") or next(
        (f for f, leader in LEADERS.items() if leader == first), "pytorch"
    )


def _layout(case: Case) -> list[Obj]:
    """The roles as the manifest writes them, ranks unchanged. An AscendJob needs one leader pod: if the case has only
    workers, the first pod becomes the leader; equal roles after it become one."""
    job = case["job"]
    default = case["nodes"][0].get("resource") if case["nodes"] else None
    roles = [{"resource": default or H + "Ascend910"} | r for r in job["roles"]]
    if job["kind"] != "AscendJob":
        return [r | {"name": r["name"].lower()} for r in roles]
    leader, first = LEADERS.get(_framework(job), "Master"), roles[0]
    if first["name"].capitalize() != leader:
        workers = [first | {"name": "Worker", "replicas": first["replicas"] - 1}, *roles[1:]]
        if len({(r["npus"], r["resource"]) for r in workers}) == 1:
            workers = [workers[0] | {"replicas": sum(r["replicas"] for r in workers)}]
        roles = [first | {"name": leader, "replicas": 1}, *workers]
    return [r | {"name": r["name"].capitalize()} for r in roles if r["replicas"]]


def pods(case: Case) -> list[tuple[str, str]]:
    """Name and role of every pod of the job, in rank order."""
    job, plain = case["job"], case["job"]["kind"] in ("StatefulSet", "Job", "Pod")
    return [
        (f"{job['name']}-{i}" if plain else f"{job['name']}-{role['name'].lower()}-{i}", role["name"].lower())
        for role in _layout(case)
        for i in range(role["replicas"])
    ]


def _template(job: Obj, role: Obj, labels: Obj, annotations: Obj, **spec: Any) -> Obj:
    container: Obj = {
        "name": "ascend",
        "image": "registry.local/train/pytorch:2.6",
        "command": ["/bin/bash", "-c", "bash /job/run.sh"],
    }
    spec |= {"nodeSelector": dict(job["selector"])} if job.get("selector") else {}
    if job.get("pod_affinity"):
        term = {"topologyKey": "kubernetes.io/hostname", "labelSelector": {"matchLabels": job["pod_affinity"]}}
        preferred = [{"weight": 100, "podAffinityTerm": term}]
        spec["affinity"] = {"podAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": preferred}}
    spec["containers"] = [container]
    if role["npus"]:
        if role["resource"].removeprefix(H) in KINDS.values() and SOFT_QUOTA not in (job.get("labels") or {}):
            source = {"fieldRef": {"fieldPath": f"metadata.annotations['{role['resource']}']"}}
            container["env"] = [{"name": "ASCEND_VISIBLE_DEVICES", "valueFrom": source}]
        container["resources"] = {k: {role["resource"]: role["npus"]} for k in ("requests", "limits")}
        if role["npus"] > 1 and job["kind"] in ("AscendJob", "vcjob"):
            container["volumeMounts"] = [{"name": "dshm", "mountPath": "/dev/shm"}]
            spec["volumes"] = [{"name": "dshm", "emptyDir": {"medium": "Memory"}}]
    meta = {k: v for k, v in (("labels", labels), ("annotations", annotations)) if v}
    return ({"metadata": meta} if meta else {}) | {"spec": spec}


def manifest(case: Case) -> str:
    """The job's manifest. AscendJob and vcjob carry labels and annotations on the job, other kinds on the pod template."""
    job, layout, kind = case["job"], _layout(case), case["job"]["kind"]
    labels, annotations = dict(job.get("labels") or {}), dict(job.get("annotations") or {})
    total = sum(r["replicas"] for r in layout)
    if kind in ("AscendJob", "vcjob"):
        on_pod = [{k: v for k, v in given.items() if k in PER_POD} for given in (labels, annotations)]
        if kind == "AscendJob":
            labels = {"framework": _framework(job)} | labels
            specs = {
                r["name"]: {"replicas": r["replicas"], "restartPolicy": "Never", "template": _template(job, r, *on_pod)}
                for r in layout
            }
            head = {"apiVersion": "mindxdl.gitee.com/v1", "kind": "AscendJob"}
            spec: Obj = {
                "schedulerName": "volcano",
                "replicaSpecs": specs,
                "runPolicy": {"schedulingPolicy": {"minAvailable": total, "queue": "default"}},
            }
        else:
            tasks = [
                {
                    "name": r["name"],
                    "replicas": r["replicas"],
                    "template": _template(job, r, *on_pod, restartPolicy="Never"),
                }
                for r in layout
            ]
            head = {"apiVersion": "batch.volcano.sh/v1alpha1", "kind": "Job"}
            spec = {
                "minAvailable": total,
                "schedulerName": "volcano",
                "queue": "default",
                "maxRetry": 3,
                "plugins": {"env": [], "svc": []},
                "tasks": tasks,
            }
        meta = _meta(job["name"], job.get("namespace"), labels=labels, annotations=annotations)
        return to_yaml(head | {"metadata": meta, "spec": spec})
    if kind not in ("Deployment", "StatefulSet", "Job", "Pod") or len(layout) != 1:
        raise ValueError(f"{case.get('id')}: cannot write {len(layout)} role(s) as kind {kind}")
    app = {"app": labels.get("app", job["name"])}
    template = _template(job, layout[0], app | labels, annotations, schedulerName="volcano")
    head, meta = {"apiVersion": "apps/v1", "kind": kind}, _meta(job["name"], job.get("namespace"), labels=app)
    spec = {"replicas": total, "selector": {"matchLabels": app}, "template": template}
    if kind == "Pod":
        head, meta, spec = {"apiVersion": "v1", "kind": kind}, meta | template["metadata"], template["spec"]
    elif kind == "Job":
        template["spec"]["restartPolicy"] = "Never"
        head, spec = (
            {"apiVersion": "batch/v1", "kind": kind},
            {"parallelism": total, "completions": total, "template": template},
        )
    elif kind == "StatefulSet":
        spec |= {"serviceName": job["name"], "podManagementPolicy": "Parallel"}
    return to_yaml(head | {"metadata": meta, "spec": spec})


# ---------------------------------------------------------------------------------------------- previous, compare
def faulty(case: Case) -> list[str]:
    return list((case["job"].get("fault") or {}).get("faulty") or [])


def previous(case: Case) -> Obj | None:
    """The placement before the fault, as a PlacementResult document; None if this is no fault case."""
    job, fault = case["job"], case["job"].get("fault")
    if not fault:
        return None
    names = pods(case)
    blocks: dict[str, list[str]] = {}
    entries = sorted(fault["previous"], key=lambda p: p["rank"])
    for entry in entries:
        if entry.get("superpod_rank") is not None:
            blocks.setdefault(str(entry["superpod_rank"]), []).append(entry["node"])
    return {
        "apiVersion": "ascendctl/v1",
        "kind": "PlacementResult",
        "outcome": "placed",
        "code": "",
        "message": "",
        "job": {"name": job["name"], "namespace": job.get("namespace") or "default", "kind": job["kind"]},
        "pods": [
            {
                "name": names[p["rank"]][0],
                "role": names[p["rank"]][1],
                "rank": p["rank"],
                "node": p["node"],
                "npus": ids(mask(p.get("chips"))),
                "annotations": _block(case, p),
            }
            for p in entries
        ],
        "blocks": blocks,
        "fault": {"nodes": faulty(case)} | {k: v for k, v in fault.items() if k not in ("previous", "faulty")},
    }


def compare(case: Case, result: Obj) -> list[str]:
    """Differences between what the case expects and a PlacementResult document."""
    expect, differences = case["expect"], []
    code, blocks = result.get("code") or None, result.get("blocks") or {}
    if result.get("outcome") != expect["outcome"]:
        differences.append(
            f"outcome: expected {expect['outcome']} {expect.get('code') or ''}, got {result.get('outcome')} "
            f"{code or ''} {result.get('message') or ''}".rstrip()
        )
    elif expect["outcome"] == "placed":
        found = result.get("pods") or []
        # ranks repeat if the leader has no chips (the operator counts the workers from 0): then positions count
        unique = len({p["rank"] for p in found}) == len(found)
        got = {p["rank"] if unique else i: p for i, p in enumerate(found)}
        want = {p["rank"]: p for p in expect.get("pods") or []}
        for rank in sorted(want.keys() | got.keys()):
            differences += _compare_pod(f"rank {rank}", want.get(rank), got.get(rank))
    if expect["outcome"] != "placed" and expect.get("code") and expect["code"] != code:
        differences.append(f"code: expected {expect['code']}, got {code}")
    rejected = (result.get("nodes") or {}).get("rejected") or []
    codes = {name: entry.get("code") for entry in rejected for name in entry.get("nodes") or []}
    differences += [
        f"code: node {name}: expected {wanted}, got {codes.get(name)}"
        for name, wanted in sorted((expect.get("nodes") or {}).items())
        if codes.get(name) != wanted
    ]
    differences += [
        f"group: {group}: expected {members}, got {blocks.get(group)}"
        for group, members in sorted((expect.get("groups") or {}).items())
        if blocks.get(group) != members
    ]
    return differences


def _compare_pod(rank: str, want: Obj | None, got: Obj | None) -> list[str]:
    if want is None or got is None:
        return [f"{rank}: {'not expected' if want is None else 'missing'}"]
    if want["node"] != got.get("node"):
        return [f"{rank}: expected node {want['node']}, got {got.get('node')}"]
    chips, npus, lines = want.get("chips"), got.get("npus") or [], []
    if chips is not None and ids(mask(chips)) != sorted(npus):
        lines.append(f"{rank} on {want['node']}: expected chips {ids(mask(chips))}, got {npus}")
    elif want.get("order") and want["order"] != npus:
        lines.append(f"order: {rank}: expected {want['order']}, got {npus}")
    for key, value in (want.get("annotations") or {}).items():
        if (given := (got.get("annotations") or {}).get(key)) != value:
            lines.append(f"{'' if key == CORE else 'annotation: '}{rank}: expected {key}={value}, got {given}")
    return lines


# ---------------------------------------------------------------------------------------------- synthetic clusters
class Product(NamedTuple):
    chips: int
    npus: int  # of each pod of the job
    pods: int
    block: int  # the number of pods is a multiple of this
    selector: str
    annotations: dict[str, str]
    superpod: int = 0  # nodes per super pod
    rack: int = 0
    leaf: int = 0
    resource: str = H + "Ascend910"


PRODUCTS = {
    "a800-9000": Product(8, 4, 32, 1, "module", {}),
    "910b-8": Product(8, 8, 64, 1, "module-910b-8", {POLICY: "chip8-node8"}),
    "a3-superpod": Product(
        16, 16, 64, 16, "module-a3-16-super-pod", {POLICY: "chip2-node16-sp", "sp-block": "256"}, 48
    ),
    "950-rack": Product(
        8,
        8,
        64,
        16,
        "950-SuperPod-Atlas-8",
        {POLICY: "chip8-node8-ra64-sp", "sp-block": "128", "ra-block": "32"},
        128,
        8,
        0,
        H + "npu",
    ),
    "multilevel": Product(
        16,
        16,
        64,
        32,
        "module-a3-16-super-pod",
        {POLICY: "multilevel", H + "affinity-config": "level1=8,level2=32"},
        256,
        16,
    ),
    "tor": Product(8, 8, 64, 4, "module-910b-8", {POLICY: "chip8-node8"}, leaf=16),
}


def synthetic(n_nodes: int, product: str, seed: int = 0, busy: float = 0.3, broken: float = 0.01) -> Case:
    """A cluster of n_nodes and a job that fits. A share `busy` of the nodes has used chips, a share `broken` each an
    unhealthy or a network-unhealthy chip; the first nodes, two per pod, are left alone. Has no "expect"."""
    p, rng, tree = PRODUCTS[product], random.Random(seed), product == "multilevel"
    count, full = min(p.pods, n_nodes // 2 // p.block * p.block), (1 << p.chips) - 1
    if count < 1:
        raise ValueError(f"{product} needs at least {2 * p.block} nodes")
    nodes: list[Obj] = []
    for i in range(n_nodes):
        item: Obj = {
            "name": f"node-{i}",
            "ip": f"10.{i >> 16}.{i >> 8 & 255}.{i & 255}",
            "resource": p.resource,
            "chips": p.chips,
        }
        if p.superpod:
            item["superpod"] = i // p.superpod
        if tree:
            item["labels"] = {
                H + "topotree.rackid": f"rack-{i // p.rack}",
                H + "topotree.superpodid": f"{i // p.superpod}",
            }
        elif p.rack:
            item["rack"] = i % p.superpod // p.rack
        if i >= 2 * count:
            used = 0 if rng.random() >= busy else full if rng.random() < 0.5 else rng.randrange(1, full)
            unhealthy = 1 << rng.randrange(p.chips) & ~used if rng.random() < broken else 0
            net = 1 << rng.randrange(p.chips) if rng.random() < broken else 0
            item |= {k: hex(v) for k, v in (("used", used), ("unhealthy", unhealthy), ("net_unhealthy", net)) if v}
        nodes.append(item)
    params: Obj = {"super-pod-size": str(p.superpod)} if p.superpod else {}
    if tree:
        params = {
            "resource-level-config": {
                "default": {
                    "level1": {"label": H + "topotree.rackid", "reservedNode": 1},
                    "level2": {"label": H + "topotree.superpodid"},
                }
            }
        }
    leaves = None
    if p.leaf:
        groups = [nodes[i : i + p.leaf] for i in range(0, n_nodes, p.leaf)]
        tors = [
            {
                "tor_id": t,
                "tor_ip": f"10.250.{t >> 8}.{t & 255}",
                "server": [{"server_ip": n["ip"], "npu_count": p.chips, "slice_id": k} for k, n in enumerate(group)],
            }
            for t, group in enumerate(groups)
        ]
        leaves = {"tor_level": None, "tor_info": {"version": "1.0", "tor_count": p.leaf, "server_list": tors}}
    job = {
        "kind": "AscendJob",
        "name": "bench",
        "namespace": "default",
        "selector": {"accelerator-type": p.selector},
        "labels": {"tor-affinity": "large-model-schema"} if p.leaf else {},
        "annotations": dict(p.annotations),
        "roles": [{"name": "worker", "replicas": count, "npus": p.npus}],
    }
    return {
        "id": f"synthetic/{product}-{n_nodes}",
        "params": params,
        "nodes": nodes,
        "leaves": leaves,
        "running": [],
        "job": job,
    }


def answer(api: Any, case: Case, mode: str = "clusterd", seed: int = 0) -> Obj:
    """What a product says, as a PlacementResult document. `api` is a module like ascendctl."""
    cluster = api.load_snapshot(objects(case, mode, seed))
    job, before = next(iter(api.load_jobs(manifest(case)))), previous(case)
    result = api.place(job, cluster) if before is None else api.reschedule(job, cluster, before, faulty(case))
    document: Obj = result.to_dict()
    return document
