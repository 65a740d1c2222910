"""A normalised Job as plain data; `schemas/output/job.json` documents the shape."""

from __future__ import annotations

from typing import Any

from ascendctl.manifest.job import Job, Role

API_VERSION, KIND = "ascendctl/v1", "Job"


def job_document(job: Job) -> dict[str, Any]:
    """The Job document: what the scheduler plugin knows of a workload, roles in rank order, attributes merged (chapter
    40 §1.9, §1.10). It holds only values of JSON types, keys of maps in text order."""
    return {
        "apiVersion": API_VERSION,
        "kind": KIND,
        "name": job.name,
        "namespace": job.namespace,
        "workload": job.kind,
        "schedulerName": job.scheduler_name,
        "queue": job.queue,
        "minAvailable": job.min_available,
        "resource": job.resource,
        "npus": job.npus,
        "npuPods": job.npu_pod_count,
        "labels": dict(sorted(job.labels.items())),
        "annotations": dict(sorted(job.annotations.items())),
        "selector": dict(sorted(job.selector.items())),
        "roles": [_role(role) for role in job.roles],
    }


def _role(role: Role) -> dict[str, Any]:
    return {
        "name": role.name,
        "replicas": role.replicas,
        "resource": role.resource,
        "npus": role.npus,
        "requests": dict(sorted(role.requests.items())),
        "labels": dict(sorted(role.labels.items())),
        "annotations": dict(sorted(role.annotations.items())),
        "selector": dict(sorted(role.selector.items())),
    }
