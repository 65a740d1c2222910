"""From Kubernetes objects to the few fields that the scheduler plugin reads (chapter 30 §1, §5, §8.2).

The objects themselves are let go as soon as they were looked at; what stays is one tuple an object.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, field
from itertools import chain
from typing import Any, Final, NamedTuple, TypeVar

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
_NOTHING: Final[dict[str, Any]] = {}
_PLACE_SHIFT = 40


class _Keep(dict[str, bool]):
    """Pod annotations that may matter: those without a domain and those of the domains above. Remembers its answers."""

    def __missing__(self, key: str) -> bool:
        domain, slash, _ = key.partition("/")
        keep = self[key] = not slash or domain in _POD_DOMAINS
        return keep


class _Offers(dict[tuple[str, ...], tuple[tuple[str, ...], bool]]):
    """Keys of a capacity map -> those of NPUs, and whether any is a scalar resource. Remembers its answers."""

    def __missing__(self, keys: tuple[str, ...]) -> tuple[tuple[str, ...], bool]:
        npu = tuple(key for key in keys if NPU_MARK in key)
        answer = self[keys] = npu, any(key not in ("cpu", "memory") for key in keys)
        return answer


_KEEP, _OFFERS = _Keep(), _Offers()


class RawNode(NamedTuple):
    """Fields of a Node object. `place` = where it stands, see `Collected.where`."""

    name: str
    labels: Mapping[str, str]
    annotations: Mapping[str, str]
    base_info: Any
    capacity: Mapping[str, Any]
    allocatable: Mapping[str, Any]
    scalars: bool
    ready: bool
    address: str
    cordoned: bool
    taints: Any
    place: int


class RawPod(NamedTuple):
    """Fields of a Pod object. `node` is "" for a pod that is not bound; requests in thousandths."""

    name: str
    namespace: str
    uid: str
    node: str
    phase: str
    terminating: bool
    labels: Mapping[str, str]
    annotations: Mapping[str, str]
    requests: Mapping[str, int]
    task_index: str
    place: int

    @property
    def title(self) -> str:
        """For diagnostics."""
        return f"Pod {self.namespace}/{self.name}"


class RawMap(NamedTuple):
    """A ConfigMap that somebody reads."""

    name: str
    namespace: str
    labels: Mapping[str, Any]
    data: Mapping[str, str]
    place: int

    @property
    def title(self) -> str:
        """For diagnostics."""
        return f"ConfigMap {self.namespace or '(no namespace)'}/{self.name}"


class RawGroup(NamedTuple):
    """A PodGroup."""

    name: str
    namespace: str
    labels: Mapping[str, str]
    annotations: Mapping[str, str]
    phase: str
    min_member: int
    owner: str


R = TypeVar("R", RawNode, RawPod, RawGroup)


@dataclass
class Collected:
    """Everything kept of a dump. `sources` are file names, `skipped` counts objects by kind that nobody reads."""

    nodes: dict[str, RawNode] = field(default_factory=dict)
    pods: dict[tuple[str, str], RawPod] = field(default_factory=dict)
    maps: dict[tuple[str, str], RawMap] = field(default_factory=dict)
    groups: dict[tuple[str, str], RawGroup] = field(default_factory=dict)
    sources: list[str] = field(default_factory=list)
    skipped: Counter[str] = field(default_factory=Counter)
    findings: Findings = field(default_factory=Findings)
    versions: dict[tuple[str, Any], Any] = field(default_factory=dict)

    def where(self, place: int) -> str:
        """Text of a place: file and number of the object in it."""
        file, number = place >> _PLACE_SHIFT, place & ((1 << _PLACE_SHIFT) - 1)
        return f"{self.sources[file]}#{number}" if self.sources[file] else ""


def collect(objects: Iterable[Any], source: str, into: Collected) -> None:
    """Take the objects of one source, lists flattened."""
    into.sources.append(source)
    place = len(into.sources) - 1 << _PLACE_SHIFT
    for value in objects:
        place = _take(value, "", place, into)


def _take(value: Any, inherited: str, place: int, into: Collected) -> int:
    """Take one object or list; returns the place of the next object."""
    if type(value) is not dict:
        if isinstance(value, list):
            for item in value:
                place = _take(item, inherited, place, into)
            return place
        if value is not None:
            into.skipped["(no object)"] += 1
        return place + 1
    kind = value.get("kind") or inherited
    take = _TAKERS.get(kind) if type(kind) is str else None
    if take is not None:
        meta = value.get("metadata")
        name = meta.get("name") if type(meta) is dict else None
        if type(name) is str and 0 < len(name) <= MAX_NAME:
            take(value, meta, name, place, into)
        else:
            into.skipped[f"{kind} without a usable name"] += 1
    elif type(kind) is str and kind.endswith("List") and isinstance(value.get("items", []), list | None):
        for item in value.get("items") or ():
            place = _take(item, kind[: -len("List")], place, into)
        return place
    else:
        into.skipped[kind if type(kind) is str and kind else "(no kind)"] += 1
    return place + 1


def _dict(value: Any) -> dict[str, Any]:
    return value if type(value) is dict else _NOTHING


def _list(value: Any) -> list[Any]:
    return value if type(value) is list else []


def _version(meta: Mapping[str, Any]) -> Any:
    """What tells copies of an object apart by age: its resourceVersion, else the time of the last change."""
    version = meta.get("resourceVersion")
    if version or "managedFields" not in meta:
        return version
    fields = _list(meta["managedFields"])
    return max((str(entry["time"]) for entry in fields if type(entry) is dict and "time" in entry), default=None)


def _age(version: Any) -> tuple[int, str]:
    text = scalar_text(version)
    return (int(text), "") if text.isdecimal() and len(text) < 20 else (-1, text)


def _is_older(key: tuple[str, Any], title: str, meta: Mapping[str, Any], place: int, into: Collected) -> bool:
    """Note the version of an object of which the dump has a copy already; True if that one is newer."""
    into.findings.add("S306", "the object is in the dump more than once", title, source=into.where(place))
    version = _version(meta)
    if _age(version) < _age(into.versions.get(key)):
        return True
    into.versions[key] = version
    return False


def _node(value: Mapping[str, Any], meta: dict[str, Any], name: str, place: int, into: Collected) -> None:
    if name not in into.nodes:
        if (version := _version(meta)) is not None:
            into.versions["Node", name] = version
    elif _is_older(("Node", name), "Node " + name, meta, place, into):
        return
    status, spec = _dict(value.get("status")), _dict(value.get("spec"))
    capacity, allocatable = _dict(status.get("capacity")), _dict(status.get("allocatable"))
    annotations = dict(_dict(meta.get("annotations")))
    base_info = annotations.pop(BASE_INFO, None)
    annotations.pop(LAST_APPLIED, None)
    offered, scalars = _OFFERS[tuple(capacity)]
    ready, _ = _OFFERS[tuple(allocatable)]
    into.nodes[name] = RawNode(
        name,
        _dict(meta.get("labels")),
        annotations,
        base_info,
        {key: capacity[key] for key in offered},
        {key: allocatable[key] for key in ready},
        scalars,
        _is_ready(status.get("conditions")),
        _internal_address(status.get("addresses")),
        spec.get("unschedulable") is True,
        spec.get("taints"),
        place,
    )


def _is_ready(conditions: Any) -> bool:
    """The first condition Ready decides."""
    for condition in _list(conditions):
        if type(condition) is dict and condition.get("type") == "Ready":
            return condition.get("status") in ("True", True)
    return False


def _internal_address(addresses: Any) -> str:
    for entry in _list(addresses):
        if type(entry) is dict and entry.get("type") == "InternalIP":
            return scalar_text(entry.get("address"))
    return ""


def _pod(value: Mapping[str, Any], meta: dict[str, Any], name: str, place: int, into: Collected) -> None:
    namespace = meta.get("namespace")
    if type(namespace) is not str or not namespace:
        namespace = "default"
        into.findings.add("S305", "metadata.namespace is missing", f"Pod default/{name}", source=into.where(place))
    key = namespace, name
    if key not in into.pods:
        if (version := _version(meta)) is not None:
            into.versions["Pod", key] = version
    elif _is_older(("Pod", key), f"Pod {namespace}/{name}", meta, place, into):
        return
    spec, status = _dict(value.get("spec")), _dict(value.get("status"))
    node, phase, uid = spec.get("nodeName"), status.get("phase"), meta.get("uid")
    into.pods[key] = RawPod(
        name,
        namespace,
        uid if type(uid) is str else "",
        node if type(node) is str else "",
        phase if type(phase) is str else "",
        meta.get("deletionTimestamp") is not None,
        _dict(meta.get("labels")),
        {k: v for k, v in _dict(meta.get("annotations")).items() if _KEEP[k]},
        pod_requests(spec),
        _task_index(spec.get("containers")),
        place,
    )


def _task_index(containers: Any) -> str:
    for container in _list(containers):
        for entry in _list(_dict(container).get("env")):
            if type(entry) is dict and entry.get("name") == "VC_TASK_INDEX":
                return scalar_text(entry.get("value"))
    return ""


def _map(value: Mapping[str, Any], meta: dict[str, Any], name: str, place: int, into: Collected) -> None:
    if not name.startswith(_READ_PREFIXES):
        return
    namespace = scalar_text(meta.get("namespace"))
    title, key = f"ConfigMap {namespace or '(no namespace)'}/{name}", (namespace, name)
    if not namespace:
        into.findings.add("S305", "metadata.namespace is missing", title, source=into.where(place))
    if key not in into.maps:
        into.versions["ConfigMap", key] = _version(meta)
    elif _is_older(("ConfigMap", key), title, meta, place, into):
        return
    data = _dict(value.get("data"))
    if odd := [key for key, text in data.items() if type(text) is not str]:
        into.findings.add("S304", f"data of {', '.join(map(str, odd))} is no text", title, source=into.where(place))
        data = {key: scalar_text(text) for key, text in data.items() if not isinstance(text, dict | list)}
    if value.get("binaryData"):
        into.findings.add("S304", "binaryData is ignored", title, source=into.where(place))
    into.maps[key] = RawMap(name, namespace, _dict(meta.get("labels")), data, place)


def _group(value: Mapping[str, Any], meta: dict[str, Any], name: str, place: int, into: Collected) -> None:
    key = scalar_text(meta.get("namespace")) or "default", name
    if key not in into.groups:
        into.versions["PodGroup", key] = _version(meta)
    elif _is_older(("PodGroup", key), f"PodGroup {key[0]}/{name}", meta, place, into):
        return
    member = _dict(value.get("spec")).get("minMember")
    owners = _list(meta.get("ownerReferences"))
    owner = _dict(owners[0]).get("name") if owners else None
    annotations = _dict(meta.get("annotations"))
    into.groups[key] = RawGroup(
        name,
        key[0],
        _dict(meta.get("labels")),
        {k: v for k, v in annotations.items() if k != LAST_APPLIED},
        scalar_text(_dict(value.get("status")).get("phase")),
        member if type(member) is int and 0 <= member < 1 << 31 else -1,
        owner if type(owner) is str else "",
    )


_Taker = Callable[[Mapping[str, Any], dict[str, Any], str, int, Collected], None]
_TAKERS: Final[dict[str, _Taker]] = {"Node": _node, "Pod": _pod, "ConfigMap": _map, "PodGroup": _group}


def make_texts(collected: Collected) -> None:
    """Turn labels and annotations that are no texts, as only files written by hand have, into texts."""
    for node in _with_odd_values(collected.nodes.values()):
        collected.nodes[node.name] = _with_texts(node, "Node " + node.name, collected.where(node.place), collected)
    for pod in _with_odd_values(collected.pods.values()):
        key = pod.namespace, pod.name
        collected.pods[key] = _with_texts(pod, pod.title, collected.where(pod.place), collected)
    for group in _with_odd_values(collected.groups.values()):
        key = group.namespace, group.name
        collected.groups[key] = _with_texts(group, f"PodGroup {key[0]}/{key[1]}", "", collected)


def _with_odd_values(rows: Collection[R]) -> list[R]:
    maps = chain((row.labels for row in rows), (row.annotations for row in rows))
    if set(map(type, chain.from_iterable(map(dict.values, maps)))) <= {str}:  # type: ignore[arg-type]
        return []
    return [row for row in rows if not set(map(type, chain(row.labels.values(), row.annotations.values()))) <= {str}]


def _with_texts(row: R, title: str, where: str, into: Collected) -> R:
    odd = [key for found in (row.labels, row.annotations) for key, item in found.items() if type(item) is not str]
    into.findings.add("S304", f"{', '.join(odd)} is no text", title, source=where)
    return row._replace(labels=_texts(row.labels), annotations=_texts(row.annotations))  # type: ignore[return-value]


def _texts(found: Mapping[str, Any]) -> dict[str, str]:
    return {key: scalar_text(item) for key, item in found.items() if not isinstance(item, dict | list)}
