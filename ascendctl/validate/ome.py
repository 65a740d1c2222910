"""OME: an InferenceService over its runtime, which brings what the service leaves out (chapter 40 §1.1 K11)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ascendctl.manifest.kinds import dig
from ascendctl.validate.companions import Context
from ascendctl.validate.entry import Entry

RUNTIMES = ("ClusterServingRuntime", "ServingRuntime")
SERVICE = "InferenceService"
_PARTS = ("engine", "decoder", "router")


def is_service(entry: Entry) -> bool:
    """True for OME's InferenceService (KServe has a kind of that name too)."""
    return entry.kind_name == SERVICE and entry.api_version.partition("/")[0] == "ome.io"


def runtime_is_missing(entry: Entry, context: Context) -> bool:
    """True for an InferenceService whose runtime is not among the files of the run: what it lacks may stand there."""
    return is_service(entry) and runtime_of(entry, context) is None


def runtime_of(entry: Entry, context: Context) -> Mapping[str, Any] | None:
    """The runtime that a service names, if it is among the files of the run."""
    name = entry.get("spec", "runtime", "name")
    if not isinstance(name, str):
        return None
    for kind in RUNTIMES:
        found = context.find(kind, entry.namespace, name)
        if isinstance(found, Mapping) and found:
            return found
    return None


def merged(entry: Entry, context: Context) -> Entry:
    """A service with what its runtime says below it; any other object, and a service without runtime, as it is."""
    base = runtime_of(entry, context) if is_service(entry) else None
    if base is None:
        return entry
    spec = dict(entry.get("spec"))
    for part in _PARTS:
        lower = dig(base, ("spec", f"{part}Config"))
        if isinstance(spec.get(part), Mapping) and isinstance(lower, Mapping):
            spec[part] = _over(spec[part], lower)
    return entry.with_value({**entry.value, "spec": spec})


def inherited_volumes(entry: Entry, part: str, context: Context) -> list[str] | None:
    """Names of the volumes that the runtime gives the pods of one part of a service; None = not known."""
    base = runtime_of(entry, context)
    if base is None:
        return None
    config = dig(base, ("spec", f"{part}Config"))
    holders = [config, *(dig(config, (name,)) for name in ("leader", "worker"))]
    volumes = [v for holder in holders for v in dig(holder, ("volumes",)) or () if isinstance(v, Mapping)]
    return [volume["name"] for volume in volumes if isinstance(volume.get("name"), str)]


def _over(upper: Mapping[str, Any], lower: Mapping[str, Any]) -> dict[str, Any]:
    """Mappings merged at every depth, `upper` winning; lists are replaced as a whole."""
    result = dict(lower)
    for key, value in upper.items():
        below = result.get(key)
        result[key] = _over(value, below) if isinstance(value, Mapping) and isinstance(below, Mapping) else value
    return result
