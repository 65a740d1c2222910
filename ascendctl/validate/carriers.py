"""Pod templates of the wrappers OME, LeaderWorkerSet and StormService, and of kinds named by --template-path (chapter
40 §1.1 K11-K13, §1.12)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from ascendctl.manifest.attributes import text_map
from ascendctl.manifest.kinds import count_of, dig
from ascendctl.validate.entry import Entry, PodView, mappings, pod_view
from ascendctl.validate.ome import is_service
from ascendctl.yamlio.document import FieldPath

_OME_PARTS = ("engine", "decoder", "router", "engineConfig", "decoderConfig")
_LWS = ("spec", "leaderWorkerTemplate")


def carrier_pods(entry: Entry) -> Iterator[PodView]:
    """The pod templates of a wrapper, in rank order of their roles."""
    if entry.found_templates:
        for i, path in enumerate(entry.found_templates):
            yield pod_view(entry.document, str(i), path, (*path, "metadata"), (*path, "spec"))
    elif entry.kind_name == "LeaderWorkerSet":
        yield from _leader_worker(entry)
    elif entry.kind_name == "StormService":
        roles: FieldPath = ("spec", "template", "spec", "roles")
        for path, role in mappings(entry.get(*roles), roles):
            if isinstance(role.get("template"), Mapping):
                at = (*path, "template")
                copies = count_of(role.get("replicas"), 1)
                yield pod_view(entry.document, _name(role), at, (*at, "metadata"), (*at, "spec"), copies)
    else:
        for part in _OME_PARTS:
            yield from _ome(entry, part)


def _name(role: Mapping[str, Any]) -> str:
    name = role.get("name")
    return name if isinstance(name, str) else ""


def _leader_worker(entry: Entry) -> Iterator[PodView]:
    size = count_of(entry.get(*_LWS, "size"), 1)
    leader = isinstance(entry.get(*_LWS, "leaderTemplate"), Mapping)
    for part, copies in (("leaderTemplate", 1), ("workerTemplate", size - 1 if leader else size)):
        at = (*_LWS, part)
        if isinstance(entry.get(*at), Mapping):
            role = part.removesuffix("Template")
            yield pod_view(entry.document, role, at, (*at, "metadata"), (*at, "spec"), copies)


def _ome(entry: Entry, part: str) -> Iterator[PodView]:
    """One part of an OME object: a runner of its own, or a leader and workers with a runner each. A service may leave
    the runner to its runtime."""
    at: FieldPath = ("spec", part)
    config = entry.get(*at)
    if not isinstance(config, Mapping):
        return
    bare = is_service(entry) and not any(isinstance(config.get(name), Mapping) for name in ("leader", "worker"))
    if isinstance(config.get("runner"), Mapping) or bare:
        yield _runner(entry, part, at, at, count_of(config.get("minReplicas"), 1))
    for name in ("leader", "worker"):
        if isinstance(dig(config, (name, "runner")), Mapping):
            copies = count_of(dig(config, (name, "size")), 1) if name == "worker" else 1
            yield _runner(entry, f"{part}-{name}", (*at, name), at, copies)


def _runner(entry: Entry, role: str, at: FieldPath, meta: FieldPath, replicas: int) -> PodView:
    body = entry.get(*at)
    runner = (*at, "runner")
    own = entry.get(*runner)
    containers = tuple(mappings(body.get("containers"), (*at, "containers")))
    if isinstance(own, Mapping):
        containers = ((runner, own), *containers)
    return PodView(
        role, at, meta, at, body, text_map(entry.document, (*meta, "labels")),
        text_map(entry.document, (*meta, "annotations")), containers,
        tuple(mappings(body.get("initContainers"), (*at, "initContainers"))), replicas,
    )  # fmt: skip
