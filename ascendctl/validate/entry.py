"""One object of a file as the rules see it: its kind, its name, its pod templates."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

from ascendctl.manifest.attributes import text_map
from ascendctl.manifest.kinds import Kind, dig, kind_of, kind_title, templates
from ascendctl.manifest.roles import NPU_PREFIX
from ascendctl.yamlio.document import Document, FieldPath

KNOWN = "known"  # a kind of the kind table, judged in full
CARRIER = "carrier"  # a wrapper of chapter 40 §1.1 K11-K13: its pod templates are judged
COMPANION = "companion"  # counted, else left alone
HALF = "half"  # unknown kind with pod templates: pod-level rules only
UNKNOWN = "unknown"


@dataclass(frozen=True)
class PodView:
    """A pod template: `path` leads to it, `meta` to its metadata, `spec` to its pod spec (they need not exist).

    `body` is the pod spec. `containers` and `init_containers` are (path, container) pairs, items that are no mappings
    left out. `replicas` counts its pods.
    """

    role: str
    path: FieldPath
    meta: FieldPath
    spec: FieldPath
    body: Mapping[str, Any]
    labels: Mapping[str, str]
    annotations: Mapping[str, str]
    containers: tuple[tuple[FieldPath, Mapping[str, Any]], ...]
    init_containers: tuple[tuple[FieldPath, Mapping[str, Any]], ...] = ()
    replicas: int = 1

    @cached_property
    def npus(self) -> tuple[tuple[FieldPath, str, Any], ...]:
        """(path, resource, quantity) of every huawei.com/ resource in requests and limits of normal containers."""
        return tuple(npu_quantities(self.containers))

    @cached_property
    def resources(self) -> dict[str, None]:
        """Names of the huawei.com/ resources that the pod asks for, in order."""
        return dict.fromkeys(name for _, name, _ in self.npus)

    @property
    def scheduler(self) -> str:
        """schedulerName of the pod spec, "" if absent."""
        value = self.body.get("schedulerName")
        return value if isinstance(value, str) else ""


@dataclass(frozen=True)
class Entry:
    """One object. `document` holds the object alone: for an item of a List, paths start at the item, and `root` leads
    from the document of the file to it. `case` is one of the constants above; `kind` is None beside KNOWN workloads.
    `line` is where the object starts."""

    document: Document
    root: FieldPath
    api_version: str
    kind_name: str
    case: str
    line: int
    documents: int = 1
    found_templates: tuple[FieldPath, ...] = field(default=())

    @property
    def value(self) -> Any:
        """The object."""
        return self.document.value

    @cached_property
    def kind(self) -> Kind | None:
        """The row of the kind table."""
        return kind_of(self.value) if self.case == KNOWN else None

    @cached_property
    def title(self) -> str:
        """The kind as people say it: vcjob for the Job of Volcano."""
        return kind_title(self.kind) if self.kind is not None else self.kind_name

    @property
    def name(self) -> str:
        """metadata.name, else generateName, else ""."""
        for key in ("name", "generateName"):
            value = dig(self.value, ("metadata", key))
            if isinstance(value, str) and value:
                return value
        return ""

    @cached_property
    def namespace(self) -> str:
        """metadata.namespace; "default" if absent."""
        value = dig(self.value, ("metadata", "namespace"))
        return value if isinstance(value, str) and value else "default"

    @property
    def labels(self) -> Mapping[str, str]:
        """metadata.labels as texts."""
        return text_map(self.document, ("metadata", "labels"))

    @property
    def annotations(self) -> Mapping[str, str]:
        """metadata.annotations as texts."""
        return text_map(self.document, ("metadata", "annotations"))

    @property
    def object(self) -> str:
        """How a finding names the object: "AscendJob default/train"."""
        return f"{self.kind_name} {self.namespace}/{self.name}" if self.name else self.kind_name

    @cached_property
    def pods(self) -> tuple[PodView, ...]:
        """Pod templates in rank order of the roles."""
        if self.case == CARRIER:
            from ascendctl.validate.carriers import carrier_pods

            return tuple(carrier_pods(self))
        if self.case == HALF:
            return tuple(
                pod_view(self.document, str(i), path, path if path[-1:] != ("spec",) else path[:-1], path)
                for i, path in enumerate(self.found_templates)
            )
        if self.kind is None:
            return ()
        return tuple(
            pod_view(self.document, t.role, t.path, (*t.path, "metadata"), (*t.path, "spec"), t.replicas)
            for t in templates(self.document, self.kind)
        )

    def get(self, *path: str | int) -> Any:
        """The value at a path, None where anything on the way is missing."""
        return dig(self.value, path)

    def with_value(self, value: Any) -> Entry:
        """The same entry with other content."""
        return replace(self, document=replace(self.document, value=value))


def pod_view(
    document: Document, role: str, path: FieldPath, meta: FieldPath, spec: FieldPath, replicas: int = 1
) -> PodView:
    """A pod template at given paths. For a found pod spec, `meta` may be the template: metadata is looked up in it."""
    if meta == path or meta == path[:-1]:
        meta = (*meta, "metadata")
    body = dig(document.value, spec)
    body = body if isinstance(body, Mapping) else {}
    return PodView(
        role, path, meta, spec, body, text_map(document, (*meta, "labels")), text_map(document, (*meta, "annotations")),
        tuple(mappings(body.get("containers"), (*spec, "containers"))),
        tuple(mappings(body.get("initContainers"), (*spec, "initContainers"))), replicas,
    )  # fmt: skip


def mappings(items: Any, path: FieldPath) -> Iterator[tuple[FieldPath, Mapping[str, Any]]]:
    """(path, item) of the items of a list that are mappings."""
    if isinstance(items, list):
        for i, item in enumerate(items):
            if isinstance(item, dict):
                yield (*path, i), item


def npu_quantities(
    containers: tuple[tuple[FieldPath, Mapping[str, Any]], ...],
) -> Iterator[tuple[FieldPath, str, Any]]:
    """(path, resource, quantity) of every huawei.com/ resource, requests before limits."""
    for path, container in containers:
        for part in ("requests", "limits"):
            given = dig(container, ("resources", part))
            if isinstance(given, dict):
                for name, quantity in given.items():
                    if NPU_PREFIX in name:
                        yield (*path, "resources", part, name), name, quantity
