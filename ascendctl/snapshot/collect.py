"""From Kubernetes objects to the few fields that the scheduler plugin reads (chapter 30 §1, §5, §8.2).

The objects themselves are let go as soon as they were looked at; what stays are plain lists, one entry an object.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from ascendctl.snapshot.columns import scalar_text
from ascendctl.snapshot.diagnostics import Findings
from ascendctl.snapshot.pod_requests import pod_requests

MAX_NAME = 253
BASE_INFO = "baseDeviceInfos"
LAST_APPLIED = "kubectl.kubernetes.io/last-applied-configuration"
NPU_MARK = "huawei.com/"

DEVICE_PREFIX = "mindx-dl-deviceinfo-"
NODE_PREFIX = "mindx-dl-nodeinfo-"
CLUSTER_DEVICE_PREFIX = "cluster-info-device-"
CLUSTER_NODE_PREFIX = "cluster-info-node-"
CLUSTER_SWITCH_PREFIX = "cluster-info-switch-"
SUPER_POD_PREFIX = "super-pod-"
LEAF_NAME = "basic-tor-node-cm"
_READ_PREFIXES = (
    DEVICE_PREFIX,
    NODE_PREFIX,
    CLUSTER_DEVICE_PREFIX,
    CLUSTER_NODE_PREFIX,
    CLUSTER_SWITCH_PREFIX,
    SUPER_POD_PREFIX,
    LEAF_NAME,
    "volcano-scheduler",
)
_POD_DOMAINS = frozenset(
    ("huawei.com", "ascend.kubectl.kubernetes.io", "hccl", "volcano.sh", "scheduling.k8s.io", "scheduling.volcano.sh")
)


class _Keep(dict[str, bool]):
    """Pod annotations that may matter: those without a domain and those of the domains above. Remembers its answers."""

    def __missing__(self, key: str) -> bool:
        domain, slash, _ = key.partition("/")
        keep = self[key] = not slash or domain in _POD_DOMAINS
        return keep


_KEEP = _Keep()


@dataclass
class RawNodes:
    """Fields of Node objects, one entry a node in the order of the dump."""

    names: list[str] = field(default_factory=list)
    labels: list[Mapping[str, str]] = field(default_factory=list)
    annotations: list[Mapping[str, str]] = field(default_factory=list)
    base_info: list[Any] = field(default_factory=list)
    capacity: list[Mapping[str, Any]] = field(default_factory=list)
    allocatable: list[Mapping[str, Any]] = field(default_factory=list)
    scalars: list[bool] = field(default_factory=list)
    ready: list[bool] = field(default_factory=list)
    address: list[str] = field(default_factory=list)
    cordoned: list[bool] = field(default_factory=list)
    taints: list[Any] = field(default_factory=list)
    places: list[tuple[int, int]] = field(default_factory=list)


@dataclass
class RawPods:
    """Fields of Pod objects, one entry a pod in the order of the dump. `node` is "" for a pod that is not bound."""

    names: list[str] = field(default_factory=list)
    namespaces: list[str] = field(default_factory=list)
    uids: list[str] = field(default_factory=list)
    node: list[str] = field(default_factory=list)
    phase: list[str] = field(default_factory=list)
    terminating: list[bool] = field(default_factory=list)
    labels: list[Mapping[str, str]] = field(default_factory=list)
    annotations: list[Mapping[str, str]] = field(default_factory=list)
    requests: list[Mapping[str, int]] = field(default_factory=list)
    task_index: list[str] = field(default_factory=list)
    places: list[tuple[int, int]] = field(default_factory=list)


@dataclass(frozen=True)
class RawMap:
    """A ConfigMap that somebody reads."""

    name: str
    namespace: str
    labels: Mapping[str, Any]
    data: Mapping[str, str]
    place: tuple[int, int]

    @property
    def title(self) -> str:
        """For diagnostics."""
        return f"ConfigMap {self.namespace or '(no namespace)'}/{self.name}"


@dataclass(frozen=True)
class RawGroup:
    """A PodGroup."""

    labels: Mapping[str, str]
    annotations: Mapping[str, str]
    phase: str
    min_member: int
    owner: str


@dataclass
class Collected:
    """Everything kept of a dump. `sources` are file names, `skipped` counts objects by kind that nobody reads."""

    nodes: RawNodes = field(default_factory=RawNodes)
    pods: RawPods = field(default_factory=RawPods)
    maps: dict[tuple[str, str], RawMap] = field(default_factory=dict)
    groups: dict[tuple[str, str], RawGroup] = field(default_factory=dict)
    sources: list[str] = field(default_factory=list)
    skipped: Counter[str] = field(default_factory=Counter)
    findings: Findings = field(default_factory=Findings)
    seen: dict[tuple[str, str, str], tuple[int, Any]] = field(default_factory=dict)
    dropped_nodes: set[int] = field(default_factory=set)
    dropped_pods: set[int] = field(default_factory=set)

    def where(self, place: tuple[int, int]) -> str:
        """Text of a place: file and number of the object in it."""
        name = self.sources[place[0]] if place[0] < len(self.sources) else ""
        return f"{name}#{place[1]}" if name else ""


def collect(objects: Iterable[Any], source: str, into: Collected) -> None:
    """Take the objects of one source, lists flattened."""
    into.sources.append(source)
    file, count = len(into.sources) - 1, 0
    for value in objects:
        count = _collect_one(value, "", (file, count), into)


def _collect_one(value: Any, inherited: str, place: tuple[int, int], into: Collected) -> int:
    """Take one object or list; returns the number of the next object."""
    file, count = place
    if type(value) is not dict:
        if isinstance(value, list):
            for item in value:
                count = _collect_one(item, inherited, (file, count), into)
            return count
        if value is not None:
            into.skipped["(no object)"] += 1
        return count + 1
    kind = value.get("kind") or inherited
    if kind == "Node":
        _node(value, (file, count), into)
    elif kind == "Pod":
        _pod(value, (file, count), into)
    elif kind == "ConfigMap":
        _map(value, (file, count), into)
    elif kind == "PodGroup":
        _group(value, (file, count), into)
    elif isinstance(kind, str) and kind.endswith("List") and isinstance(value.get("items", []), list | None):
        for item in value.get("items") or ():
            count = _collect_one(item, kind[: -len("List")], (file, count), into)
        return count
    else:
        into.skipped[kind if isinstance(kind, str) and kind else "(no kind)"] += 1
    return count + 1


def _dict(value: Any) -> dict[str, Any]:
    return value if type(value) is dict else {}


def _texts(value: Any, title: str, place: tuple[int, int], into: Collected) -> dict[str, str]:
    """Labels or annotations. Other values than texts, which only a file written by hand can have, become texts."""
    found = _dict(value)
    if not found or set(map(type, found.values())) == {str}:
        return found
    odd = [str(key) for key, item in found.items() if type(item) is not str]
    into.findings.add("S304", f"{', '.join(odd)} is no text", title, source=into.where(place))
    return {str(key): scalar_text(item) for key, item in found.items() if not isinstance(item, dict | list)}


def _list(value: Any) -> list[Any]:
    return value if type(value) is list else []


def _version(meta: Mapping[str, Any]) -> tuple[int, str]:
    """What makes one copy of an object newer than another."""
    version = meta.get("resourceVersion")
    if isinstance(version, str) and version.isdecimal() and len(version) < 20:
        return int(version), ""
    fields = meta.get("managedFields")
    times = [str(entry["time"]) for entry in _list(fields) if type(entry) is dict and "time" in entry]
    return -1, max(times, default="")


def _supersedes(
    kind: str, namespace: str, name: str, meta: Mapping[str, Any], place: tuple[int, int], row: int, into: Collected
) -> int | None:
    """Note an object. None: an older copy, leave it out; -1: the only one so far; else the row of the older copy."""
    key = (kind, namespace, name)
    version = _version(meta)
    earlier = into.seen.get(key)
    if earlier is None:
        into.seen[key] = (row, version)
        return -1
    title = f"{kind} {namespace}/{name}" if namespace else f"{kind} {name}"
    into.findings.add("S306", "the object is in the dump more than once", title, source=into.where(place))
    if version < earlier[1]:
        return None
    into.seen[key] = (row, version)
    return earlier[0]


def _head(value: Mapping[str, Any], kind: str, into: Collected) -> tuple[dict[str, Any], str, str] | None:
    """metadata, namespace and name; None for an object without a usable name."""
    meta = value.get("metadata")
    name = meta.get("name") if type(meta) is dict else None
    if type(name) is not str or not 0 < len(name) <= MAX_NAME:
        into.skipped[f"{kind} without a usable name"] += 1
        return None
    namespace = meta.get("namespace")  # type: ignore[union-attr]
    return meta, namespace if type(namespace) is str else "", name  # type: ignore[return-value]


def _node(value: Mapping[str, Any], place: tuple[int, int], into: Collected) -> None:
    head = _head(value, "Node", into)
    if head is None:
        return
    meta, _, name = head
    rows = into.nodes
    older = _supersedes("Node", "", name, meta, place, len(rows.names), into)
    if older is None:
        return
    if older >= 0:
        into.dropped_nodes.add(older)
    status, spec = _dict(value.get("status")), _dict(value.get("spec"))
    capacity, allocatable = _dict(status.get("capacity")), _dict(status.get("allocatable"))
    title = "Node " + name
    annotations = _texts(meta.get("annotations"), title, place, into)
    rows.names.append(name)
    rows.labels.append(_texts(meta.get("labels"), title, place, into))
    rows.annotations.append({k: v for k, v in annotations.items() if k != BASE_INFO and k != LAST_APPLIED})
    rows.base_info.append(annotations.get(BASE_INFO))
    rows.capacity.append({k: v for k, v in capacity.items() if NPU_MARK in k})
    rows.allocatable.append({k: v for k, v in allocatable.items() if NPU_MARK in k})
    rows.scalars.append(any(k != "cpu" and k != "memory" for k in capacity))
    rows.ready.append(_is_ready(status.get("conditions")))
    rows.address.append(_internal_address(status.get("addresses")))
    rows.cordoned.append(spec.get("unschedulable") is True)
    rows.taints.append(spec.get("taints"))
    rows.places.append(place)


def _is_ready(conditions: Any) -> bool:
    """The first condition Ready decides."""
    for condition in _list(conditions):
        if type(condition) is dict and condition.get("type") == "Ready":
            return bool(condition.get("status") == "True" or condition.get("status") is True)
    return False


def _internal_address(addresses: Any) -> str:
    for entry in _list(addresses):
        if type(entry) is dict and entry.get("type") == "InternalIP":
            return scalar_text(entry.get("address"))
    return ""


def _pod(value: Mapping[str, Any], place: tuple[int, int], into: Collected) -> None:
    head = _head(value, "Pod", into)
    if head is None:
        return
    meta, namespace, name = head
    if not namespace:
        namespace = "default"
        into.findings.add("S305", "metadata.namespace is missing", f"Pod default/{name}", source=into.where(place))
    rows = into.pods
    older = _supersedes("Pod", namespace, name, meta, place, len(rows.names), into)
    if older is None:
        return
    if older >= 0:
        into.dropped_pods.add(older)
    spec, status = _dict(value.get("spec")), _dict(value.get("status"))
    node, title = spec.get("nodeName"), f"Pod {namespace}/{name}"
    annotations = _texts(meta.get("annotations"), title, place, into)
    rows.names.append(name)
    rows.namespaces.append(namespace)
    rows.uids.append(scalar_text(meta.get("uid")))
    rows.node.append(node if type(node) is str else "")
    rows.phase.append(scalar_text(status.get("phase")))
    rows.terminating.append(meta.get("deletionTimestamp") is not None)
    rows.labels.append(_texts(meta.get("labels"), title, place, into))
    rows.annotations.append({k: v for k, v in annotations.items() if _KEEP[k]})
    rows.requests.append(pod_requests(spec))
    rows.task_index.append(_task_index(spec.get("containers")))
    rows.places.append(place)


def _task_index(containers: Any) -> str:
    for container in _list(containers):
        for entry in _list(_dict(container).get("env")):
            if type(entry) is dict and entry.get("name") == "VC_TASK_INDEX":
                return scalar_text(entry.get("value"))
    return ""


def _map(value: Mapping[str, Any], place: tuple[int, int], into: Collected) -> None:
    head = _head(value, "ConfigMap", into)
    if head is None or not head[2].startswith(_READ_PREFIXES):
        return
    meta, namespace, name = head
    title = f"ConfigMap {namespace or '(no namespace)'}/{name}"
    if not namespace:
        into.findings.add("S305", "metadata.namespace is missing", title, source=into.where(place))
    if _supersedes("ConfigMap", namespace, name, meta, place, 0, into) is None:
        return
    data = _dict(value.get("data"))
    if odd := [key for key, text in data.items() if type(text) is not str]:
        into.findings.add("S304", f"data of {', '.join(map(str, odd))} is no text", title, source=into.where(place))
    if value.get("binaryData"):
        into.findings.add("S304", "binaryData is ignored", title, source=into.where(place))
    texts = {key: scalar_text(text) for key, text in data.items() if not isinstance(text, dict | list)}
    into.maps[namespace, name] = RawMap(name, namespace, _dict(meta.get("labels")), texts, place)


def _group(value: Mapping[str, Any], place: tuple[int, int], into: Collected) -> None:
    head = _head(value, "PodGroup", into)
    if head is None:
        return
    meta, namespace, name = head
    if _supersedes("PodGroup", namespace or "default", name, meta, place, 0, into) is None:
        return
    member = _dict(value.get("spec")).get("minMember")
    owners = _list(meta.get("ownerReferences"))
    owner = _dict(owners[0]).get("name") if owners else None
    title = f"PodGroup {namespace or 'default'}/{name}"
    annotations = _texts(meta.get("annotations"), title, place, into)
    into.groups[namespace or "default", name] = RawGroup(
        _texts(meta.get("labels"), title, place, into),
        {k: v for k, v in annotations.items() if k != LAST_APPLIED},
        scalar_text(_dict(value.get("status")).get("phase")),
        member if type(member) is int and 0 <= member < 1 << 31 else -1,
        owner if type(owner) is str else "",
    )
