"""The same job with another number of pods."""

from __future__ import annotations

import copy
from dataclasses import replace

from ascendctl.manifest.job import Job
from ascendctl.manifest.kinds import dig
from ascendctl.wellknown import MIN_AVAILABLE
from ascendctl.yamlio.plan import apply_change


def with_replicas(job: Job, role: int, replicas: int) -> Job | None:
    """The job that the manifest would give with so many replicas of a role (index of Job.roles), the gang no larger
    than the pods; None where the manifest says no such number, or one for several jobs."""
    from ascendctl.manifest.load import document_jobs

    document, at = job.source.document, job.source.origins.get(("role", role, "replicas"))
    if document is None or not at or job.source.parts or dig(document.value, at) is None:
        return None
    value = copy.deepcopy(document.value)
    apply_change(value, at, replicas)
    pods = len(job.pods) - job.roles[role].replicas + replicas
    gang = job.source.origins.get(("min_available",))
    if gang and job.min_available > pods and dig(value, gang) is not None:
        apply_change(value, gang, str(pods) if MIN_AVAILABLE in gang else pods)
    found = document_jobs(replace(document, value=value))
    return found[0] if len(found) == 1 and len(found[0].pods) == pods else None
