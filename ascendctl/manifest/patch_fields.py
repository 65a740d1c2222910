"""The fields that pin a pod template: node selector, node affinity, anti-affinity (chapter 50 §6.1, §6.5)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, TypeAlias

from ascendctl.manifest.kinds import dig
from ascendctl.manifest.patch_pins import Note, PatchError
from ascendctl.snapshot.cluster import Cluster
from ascendctl.wellknown import HOSTNAME, REQUIRED
from ascendctl.yamlio.document import FieldPath

Changes: TypeAlias = "list[tuple[FieldPath, Any]]"


class HostNames:
    """The values of label kubernetes.io/hostname, which need not be the nodes' names."""

    def __init__(self, cluster: Cluster) -> None:
        column = cluster.labels.column(HOSTNAME)
        values = column.to_list()
        seen: dict[str | None, int] = {}
        for value in values:
            seen[value] = seen.get(value, 0) + 1
        self._value = {
            name: value for name, value in zip(cluster.names, values, strict=True) if value and seen[value] == 1
        }
        self._shared = {value for value, count in seen.items() if count > 1}
        self._label = dict(zip(cluster.names, values, strict=True))

    def of(self, nodes: Sequence[str]) -> list[str] | None:
        """The values of some nodes; None unless every one has a value of its own."""
        found = [self._value.get(node) for node in nodes]
        return None if None in found else [value for value in found if value is not None]

    def why_not(self, nodes: Sequence[str]) -> str:
        """A sentence on the first node that cannot be named by its label."""
        node = next(node for node in nodes if node not in self._value)
        value = self._label.get(node)
        fault = f"shares {HOSTNAME}={value} with others" if value else f"has no label {HOSTNAME} in the snapshot"
        return f"node {node} {fault}: pinned by metadata.name"


def single_changes(value: Any, at: FieldPath, node: str, names: HostNames, title: str, notes: list[Note]) -> Changes:
    """Changes that leave the pods of the spec at path `at` one node; none where it is pinned there already.

    Raises PatchError (P-04, P-05) if the manifest names another node.
    """
    spec = dig(value, at)
    given = dig(spec, ("nodeName",))
    if given:
        if given != node:
            raise _elsewhere("P-05", f"nodeName {given}", node, title)
        return []
    hosts, selected = names.of([node]), dig(spec, ("nodeSelector", HOSTNAME))
    if hosts is None:
        if _matched_names(_terms(spec)) == [node]:
            return []
        notes.append(Note("info", "P-03", names.why_not([node]), title))
        return _by_name(spec, at, [node])
    if selected is not None:
        if selected != hosts[0]:
            raise _elsewhere("P-04", f"nodeSelector {HOSTNAME} {selected}", node, title)
        return []
    return [((*at, "nodeSelector", HOSTNAME), hosts[0])]


def set_changes(
    value: Any, at: FieldPath, nodes: Sequence[str], names: HostNames, title: str, notes: list[Note]
) -> Changes:
    """Changes that leave the pods of the spec at path `at` a set of nodes; existing terms stay and get the set on top.

    Raises PatchError (P-04, P-05) if the manifest names a node outside the set.
    """
    spec = dig(value, at)
    given, selected = dig(spec, ("nodeName",)), dig(spec, ("nodeSelector", HOSTNAME))
    hosts = names.of(nodes)
    if given:
        if given not in nodes:
            raise _elsewhere("P-05", f"nodeName {given}", ", ".join(nodes), title)
        return []
    if selected is not None and selected not in (nodes if hosts is None else hosts):
        raise _elsewhere("P-04", f"nodeSelector {HOSTNAME} {selected}", ", ".join(nodes), title)
    terms = _terms(spec)
    if hosts is None:
        if sorted(_matched_names(terms)) == sorted(nodes):
            return []
        notes.append(Note("info", "P-03", names.why_not(nodes), title))
        return _by_name(spec, at, nodes)
    expression = {"key": HOSTNAME, "operator": "In", "values": hosts}
    return _with_each(terms, at, [("matchExpressions", expression)])


def apart_changes(value: Any, at: FieldPath, labels: Mapping[str, str]) -> Changes:
    """Changes that add a required anti-affinity on the hostname against pods with these labels."""
    path: FieldPath = (*at, "affinity", "podAntiAffinity", REQUIRED)
    selector = {"matchExpressions": [{"key": key, "operator": "In", "values": [v]} for key, v in labels.items()]}
    item = {"topologyKey": HOSTNAME, "labelSelector": selector}
    existing = dig(value, path)
    if not isinstance(existing, list) or not existing:
        return [(path, [item])]
    return [] if item in existing else [((*path, len(existing)), item)]


def _elsewhere(code: str, what: str, nodes: str, title: str) -> PatchError:
    message = f"the manifest has {what}, the placement puts the pods on {nodes}"
    return PatchError([Note("error", code, message, title)])


def _terms(spec: Any) -> list[Mapping[str, Any]]:
    """Existing node selector terms; empty ones match nothing and count as they stand."""
    found = dig(spec, ("affinity", "nodeAffinity", REQUIRED, "nodeSelectorTerms"))
    return [term for term in found if isinstance(term, Mapping)] if isinstance(found, list) else []


def _matched_names(terms: Sequence[Mapping[str, Any]]) -> list[str]:
    """The node names that the terms leave by metadata.name, if every term names exactly one; else nothing."""
    names: set[str] = set()
    for term in terms:
        fields = term.get("matchFields")
        found = [
            field["values"][0]
            for field in (fields if isinstance(fields, list) else [])
            if isinstance(field, Mapping)
            and (field.get("key"), field.get("operator")) == ("metadata.name", "In")
            and isinstance(field.get("values"), list)
            and len(field["values"]) == 1
        ]
        if len(found) != 1:
            return []
        names.add(str(found[0]))
    return list(names)


def _by_name(spec: Any, at: FieldPath, nodes: Sequence[str]) -> Changes:
    """One term a node and existing term, for metadata.name takes exactly one value."""
    requirement = [("matchFields", {"key": "metadata.name", "operator": "In", "values": [node]}) for node in nodes]
    return _with_each(_terms(spec), at, requirement)


def _with_each(terms: Sequence[Mapping[str, Any]], at: FieldPath, requirements: Sequence[tuple[str, Any]]) -> Changes:
    """Every existing term ANDed with the first requirement, and copies of it with each further one."""
    path: FieldPath = (*at, "affinity", "nodeAffinity", REQUIRED, "nodeSelectorTerms")
    if not terms:
        return [(path, [{part: [wanted]} for part, wanted in requirements])]
    changes: Changes = []
    part, wanted = requirements[0]
    for i, term in enumerate(terms):
        existing = term.get(part)
        if not isinstance(existing, list) or not existing:
            changes.append(((*path, i, part), [wanted]))
        elif not any(_same(item, wanted) for item in existing):
            changes.append(((*path, i, part, len(existing)), wanted))
    further = [{**term, part: [*(term.get(part) or []), wanted]} for part, wanted in requirements[1:] for term in terms]
    return changes + [((*path, len(terms) + i), term) for i, term in enumerate(further)]


def _same(item: Any, wanted: Mapping[str, Any]) -> bool:
    """True if a requirement says the same, whatever the order of its values."""
    if not isinstance(item, Mapping) or not isinstance(item.get("values"), list):
        return False
    return {**item, "values": sorted(map(str, item["values"]))} == {**wanted, "values": sorted(wanted["values"])}
