"""Offline toolkit for Huawei Ascend NPU clusters.

The public API below is loaded on first use, so that `import ascendctl` stays cheap:

    load_snapshot(source, config=None) -> Cluster
    load_jobs(source) -> list[Job]
    place(job, cluster) -> Placement | Unschedulable | Invalid
    reschedule(job, cluster, previous, faulty) -> Placement | Unschedulable | Invalid
    validate(source, ...) -> list[Finding]
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from ascendctl.version import __version__

if TYPE_CHECKING:
    from ascendctl.engine.api import place, reschedule
    from ascendctl.engine.result import Invalid, Placement, Unschedulable
    from ascendctl.manifest.job import Job
    from ascendctl.manifest.load import load_jobs
    from ascendctl.snapshot.cluster import Cluster
    from ascendctl.snapshot.config import SchedulerConfig
    from ascendctl.snapshot.load import load_snapshot
    from ascendctl.validate.api import validate
    from ascendctl.validate.finding import Finding

_HOMES = {
    "load_snapshot": "ascendctl.snapshot.load",
    "load_jobs": "ascendctl.manifest.load",
    "place": "ascendctl.engine.api",
    "reschedule": "ascendctl.engine.api",
    "validate": "ascendctl.validate.api",
    "Cluster": "ascendctl.snapshot.cluster",
    "SchedulerConfig": "ascendctl.snapshot.config",
    "Job": "ascendctl.manifest.job",
    "Placement": "ascendctl.engine.result",
    "Unschedulable": "ascendctl.engine.result",
    "Invalid": "ascendctl.engine.result",
    "Finding": "ascendctl.validate.finding",
}

__all__ = [
    "Cluster",
    "Finding",
    "Invalid",
    "Job",
    "Placement",
    "SchedulerConfig",
    "Unschedulable",
    "__version__",
    "load_jobs",
    "load_snapshot",
    "place",
    "reschedule",
    "validate",
]


def __getattr__(name: str) -> Any:
    if name in _HOMES:
        return getattr(import_module(_HOMES[name]), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
