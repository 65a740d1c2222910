"""Bare Pods that share an explicit PodGroup are one job (chapter 50 §3.2, chapter 40 §1.10)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from ascendctl.manifest.attributes import Origins, text_map
from ascendctl.manifest.job import Job, PodSpec, Source, parse_go_int
from ascendctl.manifest.kinds import POD, POD_GROUP, dig, kind_of, templates
from ascendctl.manifest.roles import role_of
from ascendctl.names import natural_key
from ascendctl.wellknown import GROUP_NAME, RANK
from ascendctl.yamlio.document import Document


def gangs(documents: Sequence[Document]) -> list[tuple[Document, list[Document]]]:
    """Every PodGroup of a run that two or more of its bare Pods name, with these Pods in their order."""
    groups = {_key(d, ("metadata", "name")): d for d in documents if kind_of(d.value) is POD_GROUP}
    members: dict[tuple[str, str], list[Document]] = {}
    for document in documents if groups else ():
        key = _key(document, ("metadata", "annotations", GROUP_NAME))
        if key in groups and kind_of(document.value) is POD:
            members.setdefault(key, []).append(document)
    return [(groups[key], pods) for key, pods in members.items() if len(pods) > 1]


def _key(document: Document, path: tuple[str, ...]) -> tuple[str, str]:
    name, namespace = dig(document.value, path), dig(document.value, ("metadata", "namespace"))
    return (
        namespace if isinstance(namespace, str) and namespace else "default",
        name if isinstance(name, str) else "",
    )


def gang_job(group: Document, members: Sequence[Document]) -> Job:
    """The job of a PodGroup and its Pods, a role a Pod, in rank order. `Source.document` is the PodGroup,
    `Source.parts` are the documents of the roles."""
    from ascendctl.manifest.load import assemble

    namespace, name = _key(group, ("metadata", "name"))
    ranks = _ranks(members)
    order = sorted(range(len(members)), key=lambda i: (ranks[i], i))
    parts = [members[i] for i in order]
    origins: Origins = {}
    roles = []
    for i, document in enumerate(parts):
        part = replace(next(templates(document, POD)), role=_key(document, ("metadata", "name"))[1])
        roles.append(role_of(document, POD, part, i, origins))
    pods = tuple(PodSpec(role.name, i, 0, ranks[order[i]], role.npus) for i, role in enumerate(roles))
    base: dict[str, Mapping[str, str]] = {
        what: text_map(group, ("metadata", what + "s")) for what in ("label", "annotation")
    }
    job = assemble(parts[0], POD, name, namespace, roles, pods, base, origins, group)
    queue = dig(group.value, ("spec", "queue"))
    source = Source(group.file, group, job.source.origins, tuple(parts))
    return replace(job, queue=queue if isinstance(queue, str) and queue else job.queue, source=source)


def _ranks(members: Sequence[Document]) -> list[int]:
    """Preset ranks; the other Pods take the smallest unused numbers in natural name order."""
    preset = [parse_go_int(text_map(document, ("metadata", "annotations")).get(RANK, "")) for document in members]
    names = [natural_key(_key(document, ("metadata", "name"))[1]) for document in members]
    used, free = {rank for rank in preset if rank is not None}, 0
    ranks = [0 if rank is None else rank for rank in preset]
    for i in sorted((i for i, rank in enumerate(preset) if rank is None), key=lambda i: names[i]):
        while free in used:
            free += 1
        ranks[i] = free
        used.add(free)
    return ranks
