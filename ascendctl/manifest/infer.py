"""Jobs of the infer-operator kinds: every instance of a role is a job of its own (chapter 40 §1.6, §1.10)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from ascendctl.manifest.attributes import Origins, text_map
from ascendctl.manifest.job import Job
from ascendctl.manifest.kinds import (
    DEPLOYMENT,
    INFER_SERVICE_SET,
    INSTANCE_SET,
    STATEFUL_SET,
    Kind,
    Template,
    count_of,
    dig,
    kind_title,
)
from ascendctl.manifest.pods import expand
from ascendctl.manifest.roles import role_of
from ascendctl.wellknown import POLICY, SERVICE
from ascendctl.yamlio.document import Document, FieldPath

GANG_LABEL = "infer.huawei.com/gang-schedule"


def infer_jobs(document: Document, kind: Kind, parts: Sequence[Template], expand_instances: bool) -> list[Job]:
    """One job an instance, services first, then roles, then instances; one a role if `expand_instances` is False."""
    from ascendctl.manifest.load import assemble

    name, namespace = dig(document.value, ("metadata", "name")), dig(document.value, ("metadata", "namespace"))
    name = name if isinstance(name, str) else ""
    namespace = namespace if isinstance(namespace, str) and namespace else "default"
    jobs = []
    for service, part, job_name in _instances(document, kind, parts, name, expand_instances):
        origins: Origins = {}
        role_path: FieldPath = part.path[:-2]  # the role or InstanceSet spec that holds the workload's "spec.template"
        workload = _workload(document, role_path)
        role = role_of(document, workload, part, 0, origins)
        meta: FieldPath = ("metadata",) if kind is INSTANCE_SET else (*role_path, "metadata")
        on_role = {what: text_map(document, (*meta, what + "s")) for what in ("label", "annotation")}
        gang = on_role["label"].get(GANG_LABEL) == "true"
        policy = on_role["annotation"].get(POLICY, role.annotations.get(POLICY, ""))
        if policy.endswith("-sp") and SERVICE not in on_role["label"] and SERVICE not in role.labels:
            role = replace(role, labels={**role.labels, SERVICE: service})
        base: dict[str, dict[str, str]] = {"label": {}, "annotation": {}}
        if gang:
            base = {
                "label": {k: v for k, v in on_role["label"].items() if k != SERVICE},
                "annotation": on_role["annotation"],
            }
            origins.update({(what, k): (*meta, what + "s", k) for what, found in base.items() for k in found})
        pods = expand(document, workload, job_name, [role], [part])
        jobs.append(
            replace(
                assemble(
                    document, workload, job_name, namespace, [role], pods, base, origins,
                    gang=role.replicas if gang else 1, owner_kind="PodGroup" if gang else None,
                ),
                kind=kind_title(kind),
            )
        )  # fmt: skip
    return jobs


def _workload(document: Document, role_path: FieldPath) -> Kind:
    """The kind that the operator creates for an instance."""
    return STATEFUL_SET if dig(document.value, (*role_path, "workload", "kind")) == "StatefulSet" else DEPLOYMENT


def _instances(
    document: Document, kind: Kind, parts: Sequence[Template], name: str, expand_instances: bool
) -> Iterator[tuple[str, Template, str]]:
    """(service name, template, workload name) of every instance."""
    services = count_of(dig(document.value, ("spec", "replicas")), 1) if kind is INFER_SERVICE_SET else 1
    for s in range(services if expand_instances else min(services, 1)):
        service = f"{name}-{s}" if kind is INFER_SERVICE_SET else name
        for part in parts:
            copies = part.instances // max(services, 1)
            for i in range(copies if expand_instances else min(copies, 1)):
                title = f"{service}-{i}" if kind is INSTANCE_SET else f"{service}-{part.role}-{i}"
                yield service, part, title
