"""From Kubernetes objects to the few fields that the scheduler plugin reads (chapter 30 §1, §5, §8.2).

Nodes and pods become columns as they come; the objects themselves are let go at once.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from ascendctl.snapshot.cluster import PLACE_BITS, place_text
from ascendctl.snapshot.columns import scalar_text
from ascendctl.snapshot.diagnostics import Findings
from ascendctl.snapshot.node_columns import LAST_APPLIED, NodeBuilder, as_dict, as_list
from ascendctl.snapshot.pod_columns import PodBuilder

MAX_NAME = 253
BATCH = 256
"""Nodes and pods that become columns together: so few that they are still in the processor's cache."""

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
_KNOWS_AGE = frozenset(("resourceVersion", "managedFields"))


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
    """A PodGroup. `owner` is the name of its first owner, "" = none."""

    labels: Mapping[str, str]
    annotations: Mapping[str, str]
    phase: str
    min_member: int
    owner: str


@dataclass
class _Batch:
    """Nodes or pods that wait to become columns."""

    objects: list[dict[str, Any]] = field(default_factory=list)
    metas: list[dict[str, Any]] = field(default_factory=list)
    places: list[int] = field(default_factory=list)


@dataclass
class Collected:
    """Everything kept of a dump. `sources` are file names, `skipped` counts objects by kind that nobody reads."""

    nodes: NodeBuilder = field(default_factory=NodeBuilder)
    pods: PodBuilder = field(default_factory=PodBuilder)
    maps: dict[tuple[str, str], RawMap] = field(default_factory=dict)
    groups: dict[tuple[str, str], RawGroup] = field(default_factory=dict)
    hypernodes: dict[str, Mapping[str, Any]] = field(default_factory=dict)
    sources: list[str] = field(default_factory=list)
    skipped: Counter[str] = field(default_factory=Counter)
    findings: Findings = field(default_factory=Findings)
    versions: dict[tuple[str, Hashable], Any] = field(default_factory=dict)
    node_batch: _Batch = field(default_factory=_Batch)
    pod_batch: _Batch = field(default_factory=_Batch)

    @property
    def read(self) -> dict[str, int]:
        """Objects that were kept, by kind; ConfigMaps that nobody reads are in `skipped`."""
        counts = {
            "ConfigMap": len(self.maps),
            "HyperNode": len(self.hypernodes),
            "Node": len(self.nodes.row_of),
            "Pod": len(self.pods.row_of),
            "PodGroup": len(self.groups),
        }
        return {kind: count for kind, count in counts.items() if count}

    def where(self, place: int) -> str:
        """Text of a place: file and number of the object in it."""
        return place_text(self.sources, place)


def collect(objects: Iterable[Any], source: str, into: Collected) -> None:
    """Take the objects of one source, lists flattened."""
    into.sources.append(source)
    place = len(into.sources) - 1 << PLACE_BITS
    for value in objects:
        place = _take(value, "", place, into)
        if len(into.node_batch.objects) + len(into.pod_batch.objects) >= BATCH:
            _flush(into)
    _flush(into)


def _flush(into: Collected) -> None:
    """Turn the waiting nodes and pods into columns."""
    nodes, pods = into.node_batch, into.pod_batch
    into.node_batch, into.pod_batch = _Batch(), _Batch()
    if nodes.objects and into.nodes.add(nodes.objects, nodes.metas, nodes.places):
        for meta, place in zip(nodes.metas, nodes.places, strict=True):
            _check_texts(meta, f"Node {meta['name']}", place, into)
    if pods.objects and into.pods.add(pods.objects, pods.metas, pods.places):
        for meta, place in zip(pods.metas, pods.places, strict=True):
            _check_texts(meta, f"Pod {meta.get('namespace')}/{meta['name']}", place, into)


def _take(value: Any, inherited: str, place: int, into: Collected) -> int:
    """Take one object or list; returns the place of the next object."""
    if type(value) is not dict:
        if isinstance(value, list):
            return _take_items(value, inherited, place, into)
        if value is not None:
            into.skipped["(no object)"] += 1
        return place + 1
    kind = value.get("kind") or inherited
    if kind in _READ_KINDS:
        meta = value.get("metadata")
        name = meta.get("name") if type(meta) is dict else None
        if type(name) is not str or not 0 < len(name) <= MAX_NAME:
            into.skipped[f"{kind} without a usable name"] += 1
        elif kind == "Node":
            _node(value, meta, name, place, into)  # type: ignore[arg-type]
        elif kind == "Pod":
            _pod(value, meta, name, place, into)  # type: ignore[arg-type]
        elif kind == "ConfigMap":
            _map(value, meta, name, place, into)  # type: ignore[arg-type]
        elif kind == "HyperNode":
            _hypernode(value, meta, name, place, into)  # type: ignore[arg-type]
        else:
            _group(value, meta, name, place, into)  # type: ignore[arg-type]
    elif type(kind) is str and kind.endswith("List") and isinstance(value.get("items", []), list | None):
        return _take_items(value.get("items") or (), kind[: -len("List")], place, into)
    else:
        into.skipped[kind if type(kind) is str and kind else "(no kind)"] += 1
    return place + 1


_READ_KINDS = ("Node", "Pod", "ConfigMap", "PodGroup", "HyperNode")


def _take_items(items: Sequence[Any], inherited: str, place: int, into: Collected) -> int:
    if _take_nodes(items, inherited, place, into):
        return place + len(items)
    for item in items:
        place = _take(item, inherited, place, into)
    return place


def _take_nodes(items: Sequence[Any], inherited: str, place: int, into: Collected) -> bool:
    """Take a list of nothing but Nodes that are all new, without a look at each; False if it is not so plain."""
    if not items or set(map(type, items)) != {dict}:
        return False
    if not all((item.get("kind") or inherited) == "Node" for item in items):
        return False
    metas = [item.get("metadata") for item in items]
    if set(map(type, metas)) != {dict}:
        return False
    names = [meta.get("name") for meta in metas]
    if set(map(type, names)) != {str} or not 0 < min(map(len, names)) <= max(map(len, names)) <= MAX_NAME:
        return False
    rows, batch = into.nodes.row_of, into.node_batch
    if len(set(names)) < len(names) or not rows.keys().isdisjoint(names):
        return False
    for name, meta in zip(names, metas, strict=True):
        if _KNOWS_AGE & meta.keys() and (version := _version(meta)) is not None:
            into.versions["Node", name] = version
    start = len(into.nodes) + len(batch.objects)
    rows.update(zip(names, range(start, start + len(names)), strict=True))
    batch.objects += items
    batch.metas += metas
    batch.places += range(place, place + len(items))
    return True


def _version(meta: Mapping[str, Any]) -> Any:
    """What tells copies of an object apart by age: its resourceVersion, else the time of the last change."""
    version = meta.get("resourceVersion")
    if version or "managedFields" not in meta:
        return version
    fields = as_list(meta["managedFields"])
    return max((str(entry["time"]) for entry in fields if type(entry) is dict and "time" in entry), default=None)


def _age(version: Any) -> tuple[int, str]:
    text = scalar_text(version)
    return (int(text), "") if text.isdecimal() and len(text) < 20 else (-1, text)


def _supersedes(
    kind: str, key: Hashable, repeated: bool, title: str, meta: Mapping[str, Any], place: int, into: Collected
) -> bool:
    """Note the version of an object; False if the dump has a newer copy of it already."""
    version = _version(meta)
    if repeated:
        into.findings.add("S306", "the object is in the dump more than once", title, source=into.where(place))
        if _age(version) < _age(into.versions.get((kind, key))):
            return False
    if version is not None:
        into.versions[kind, key] = version
    return True


def _check_texts(meta: Mapping[str, Any], title: str, place: int, into: Collected) -> None:
    """Tell of labels and annotations that are no texts, as only files written by hand have."""
    for field_name in ("labels", "annotations"):
        found = as_dict(meta.get(field_name))
        if found and set(map(type, found.values())) != {str}:
            odd = ", ".join(str(key) for key, item in found.items() if type(item) is not str)
            into.findings.add("S304", f"{odd} is no text", title, source=into.where(place))


def _node(value: dict[str, Any], meta: dict[str, Any], name: str, place: int, into: Collected) -> None:
    rows, batch = into.nodes.row_of, into.node_batch
    if (name in rows or _KNOWS_AGE & meta.keys()) and not _supersedes(
        "Node", name, name in rows, "Node " + name, meta, place, into
    ):
        return
    rows[name] = len(into.nodes) + len(batch.objects)
    batch.objects.append(value)
    batch.metas.append(meta)
    batch.places.append(place)


def _pod(value: dict[str, Any], meta: dict[str, Any], name: str, place: int, into: Collected) -> None:
    namespace = meta.get("namespace")
    if type(namespace) is not str or not namespace:
        namespace = "default"
        into.findings.add("S305", "metadata.namespace is missing", f"Pod default/{name}", source=into.where(place))
    rows, key, batch = into.pods.row_of, (namespace, name), into.pod_batch
    if (key in rows or _KNOWS_AGE & meta.keys()) and not _supersedes(
        "Pod", key, key in rows, f"Pod {namespace}/{name}", meta, place, into
    ):
        return
    rows[key] = len(into.pods) + len(batch.objects)
    batch.objects.append(value)
    batch.metas.append(meta)
    batch.places.append(place)


def _map(value: dict[str, Any], meta: dict[str, Any], name: str, place: int, into: Collected) -> None:
    if not name.startswith(_READ_PREFIXES):
        into.skipped["ConfigMap"] += 1
        return
    namespace = scalar_text(meta.get("namespace"))
    title, key = f"ConfigMap {namespace or '(no namespace)'}/{name}", (namespace, name)
    if not namespace:
        into.findings.add("S305", "metadata.namespace is missing", title, source=into.where(place))
    if not _supersedes("ConfigMap", key, key in into.maps, title, meta, place, into):
        return
    data = as_dict(value.get("data"))
    if odd := [key for key, text in data.items() if type(text) is not str]:
        into.findings.add("S304", f"data of {', '.join(map(str, odd))} is no text", title, source=into.where(place))
        data = {key: scalar_text(text) for key, text in data.items() if not isinstance(text, dict | list)}
    if value.get("binaryData"):
        into.findings.add("S304", "binaryData is ignored", title, source=into.where(place))
    into.maps[key] = RawMap(name, namespace, as_dict(meta.get("labels")), data, place)


def _hypernode(value: dict[str, Any], meta: dict[str, Any], name: str, place: int, into: Collected) -> None:
    """Kept as it is, but for metadata: `topology.hypernode` reads it where somebody asks for it."""
    if _supersedes("HyperNode", name, name in into.hypernodes, "HyperNode " + name, meta, place, into):
        version = value.get("apiVersion") or "topology.volcano.sh/v1alpha1"
        kept = {"apiVersion": version, "kind": "HyperNode", "metadata": {"name": name}, "spec": value.get("spec")}
        into.hypernodes[name] = kept


def _group(value: dict[str, Any], meta: dict[str, Any], name: str, place: int, into: Collected) -> None:
    key = scalar_text(meta.get("namespace")) or "default", name
    title = f"PodGroup {key[0]}/{name}"
    if not _supersedes("PodGroup", key, key in into.groups, title, meta, place, into):
        return
    _check_texts(meta, title, place, into)
    member = as_dict(value.get("spec")).get("minMember")
    owners = as_list(meta.get("ownerReferences"))
    owner = as_dict(owners[0]).get("name") if owners else None
    labels, annotations = (
        {k: scalar_text(v) for k, v in as_dict(meta.get(name)).items() if not isinstance(v, dict | list)}
        for name in ("labels", "annotations")
    )
    annotations.pop(LAST_APPLIED, None)
    into.groups[key] = RawGroup(
        labels,
        annotations,
        scalar_text(as_dict(value.get("status")).get("phase")),
        member if type(member) is int and 0 <= member < 1 << 31 else -1,
        owner if type(owner) is str else "",
    )
