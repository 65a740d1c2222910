"""Manifests -> Jobs (chapter 40 §1.9, §1.10, §1.5)."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence

from ascendctl.manifest.attributes import Origins, merge, merge_annotations, text_map
from ascendctl.manifest.job import Job, PodSpec, Role, Source, parse_go_int
from ascendctl.manifest.kinds import (
    ASCEND_JOB,
    INFER_SERVICE,
    INFER_SERVICE_SET,
    INSTANCE_SET,
    POD,
    POD_GROUP,
    VC_JOB,
    Kind,
    Template,
    dig,
    kind_of,
    kind_title,
    templates,
)
from ascendctl.manifest.lists import flat
from ascendctl.manifest.pods import expand
from ascendctl.manifest.quantity import whole
from ascendctl.manifest.roles import NPU_PREFIX, role_of
from ascendctl.wellknown import GROUP_NAME, MIN_AVAILABLE
from ascendctl.yamlio.document import Document, FieldPath

INFER_KINDS = (INFER_SERVICE_SET, INFER_SERVICE, INSTANCE_SET)
GROUP_MIN_MEMBER = "scheduling.volcano.sh/group-min-member"
MAX_PODS = 1_000_000
"""A job of more pods is refused: no cluster has room for it, and expanding it would only burn memory."""


def load_jobs(source: str | os.PathLike[str] | Sequence[str | os.PathLike[str]]) -> list[Job]:
    """All jobs of a manifest: a path, several paths, "-" for stdin, or YAML text (anything with a line break).

    Raises `yamlio.errors.ReadError` if the text cannot be read. Objects that are no workloads are passed over.
    """
    from ascendctl.yamlio.inputs import read_all

    return jobs_of(read_all(source))


def jobs_of(documents: Iterable[Document]) -> list[Job]:
    """Jobs of some documents, Lists included, in their order; PodGroups among them lend their attributes to the pods
    that name them, and bare Pods of one PodGroup are one job, where the first of them stands."""
    from ascendctl.manifest.gang import gang_job, gangs

    known = flat(documents)
    first: dict[int, Job] = {}
    others: set[int] = set()
    for group, members in gangs(known):
        first[id(members[0])] = gang_job(group, members)
        others |= {id(member) for member in members[1:]}
    jobs: list[Job] = []
    for document in known:
        if id(document) in first:
            jobs.append(first[id(document)])
        elif id(document) not in others:
            jobs += document_jobs(document, known)
    return jobs


def document_jobs(document: Document, siblings: Sequence[Document] = (), expand_instances: bool = True) -> list[Job]:
    """The jobs of one document: none if it is no workload or has no pod template, one for most kinds, one an instance
    for infer services (`expand_instances` False: one a role)."""
    kind = kind_of(document.value)
    if kind is None or kind is POD_GROUP:
        return []
    parts = list(templates(document, kind))
    if not parts or sum(part.replicas * part.instances for part in parts) > MAX_PODS:
        return []
    if kind in INFER_KINDS:
        from ascendctl.manifest.infer import infer_jobs

        return infer_jobs(document, kind, parts, expand_instances)
    return [_job(document, kind, parts, siblings)]


def _name(document: Document) -> tuple[str, str]:
    name = dig(document.value, ("metadata", "name")) or dig(document.value, ("metadata", "generateName"))
    namespace = dig(document.value, ("metadata", "namespace"))
    return (
        name if isinstance(name, str) else "",
        namespace if isinstance(namespace, str) and namespace else "default",
    )


def _job(document: Document, kind: Kind, parts: Sequence[Template], siblings: Sequence[Document]) -> Job:
    name, namespace = _name(document)
    origins: Origins = {}
    roles = [role_of(document, kind, part, i, origins) for i, part in enumerate(parts)]
    pods = expand(document, kind, name, roles, parts)
    group = _explicit_group(roles, namespace, siblings)
    base: dict[str, dict[str, str]] = {"label": {}, "annotation": {}}
    if group is not None:
        base = {what: text_map(group, ("metadata", what + "s")) for what in base}
    elif kind in (ASCEND_JOB, VC_JOB):
        for what in base:
            base[what] = text_map(document, ("metadata", what + "s"))
            origins.update({(what, key): ("metadata", what + "s", key) for key in base[what]})
    elif kind is not POD:
        inherited = text_map(document, ("metadata", "annotations"))
        base["annotation"] = {key: value for key, value in inherited.items() if key.startswith("volcano.sh/")}
        origins.update({("annotation", key): ("metadata", "annotations", key) for key in base["annotation"]})
    return assemble(document, kind, name, namespace, roles, pods, base, origins, group)


def assemble(
    document: Document,
    kind: Kind,
    name: str,
    namespace: str,
    roles: Sequence[Role],
    pods: tuple[PodSpec, ...],
    base: Mapping[str, Mapping[str, str]],
    origins: Origins,
    group: Document | None = None,
    gang: int | None = None,
    owner_kind: str | None = None,
) -> Job:
    """Merge PodGroup attributes (`base`) and those of the pods, work out the gang size and the NPU total.

    `gang` is the PodGroup's minMember where the caller knows it; otherwise it follows from the kind.
    """
    labels = merge(base["label"], [role.labels for role in roles])
    annotations = merge_annotations(base["annotation"], [role.annotations for role in roles])
    selector = merge({}, [role.selector for role in roles])
    for what, merged in (("label", labels), ("annotation", annotations), ("selector", selector)):
        for key in merged:
            found = next((o for i in range(len(roles)) if (o := origins.get(("role", i, what, key)))), None)
            if (what, key) not in origins and found:
                origins[what, key] = found
    owner = kind.owner_kind if owner_kind is None else owner_kind
    member = gang if gang is not None else _min_member(document, kind, len(pods), group)
    resource, total = _minimum(document, kind, roles, pods, member, group)
    total, available = _scaled(owner, annotations, member, total, len(pods))
    if kind.gang:
        origins["min_available",] = kind.gang
    elif ("annotation", MIN_AVAILABLE) in origins:
        origins["min_available",] = origins["annotation", MIN_AVAILABLE]
    return Job(
        name=name,
        namespace=namespace,
        kind=kind_title(kind),
        roles=tuple(roles),
        pods=pods,
        labels=labels,
        annotations=annotations,
        selector=selector,
        resource=resource,
        npus=total,
        min_available=available,
        owner_kind=owner,
        scheduler_name=_text(document, kind.scheduler, "volcano" if kind in (ASCEND_JOB, VC_JOB) else ""),
        queue=_text(document, kind.queue, annotations.get("scheduling.volcano.sh/queue-name", "default")),
        source=Source(document.file, document, origins),
    )


def _text(document: Document, path: FieldPath, default: str) -> str:
    value = dig(document.value, path) if path else None
    return value if isinstance(value, str) and value else default


def _explicit_group(roles: Sequence[Role], namespace: str, siblings: Sequence[Document]) -> Document | None:
    """The PodGroup of the same run that the pods name, if any."""
    wanted = {role.annotations[GROUP_NAME] for role in roles if GROUP_NAME in role.annotations}
    if not wanted:
        return None
    return next(
        (d for d in siblings if kind_of(d.value) is POD_GROUP and _name(d) in {(n, namespace) for n in wanted}), None
    )


def _min_member(document: Document, kind: Kind, pods: int, group: Document | None) -> int:
    """minMember of the PodGroup (chapter 40 §1.1, §1.5)."""
    if group is not None:
        return whole(dig(group.value, ("spec", "minMember"))) or 0
    if kind in (ASCEND_JOB, VC_JOB):
        given = whole(dig(document.value, kind.gang))
        return pods if given is None else given
    inherited = text_map(document, ("metadata", "annotations")).get(GROUP_MIN_MEMBER) if kind is not POD else None
    return (parse_go_int(inherited) or 1) if inherited is not None else 1


def _minimum(
    document: Document,
    kind: Kind,
    roles: Sequence[Role],
    pods: Sequence[PodSpec],
    member: int,
    group: Document | None,
) -> tuple[str, int]:
    """NPU resource and total of the PodGroup's minResources (chapter 40 §1.10)."""
    given = dig(group.value, ("spec", "minResources")) if group is not None else None
    if kind is ASCEND_JOB and group is None:
        given = dig(document.value, ("spec", "runPolicy", "schedulingPolicy", "minResources"))
    if isinstance(given, Mapping):
        found = next(((k, whole(v) or 0) for k, v in given.items() if isinstance(k, str) and NPU_PREFIX in k), None)
        if found:
            return found
    resource = next((role.resource for role in roles if role.resource), "")
    return resource, sum(roles[p.role].requests.get(resource, 0) for p in pods[:member])


def _scaled(owner: str, annotations: Mapping[str, str], member: int, total: int, pods: int) -> tuple[int, int]:
    """NPU total J and the plugin's minAvailable after the owner's scaling (chapter 10 §3)."""
    given = annotations.get(MIN_AVAILABLE)
    if owner == "ReplicaSet" and given is None:
        return total * pods, pods
    if given is not None and member == 1:
        times = parse_go_int(given)
        times = 1 if times is None else times
        return total * times, times
    return total, member
