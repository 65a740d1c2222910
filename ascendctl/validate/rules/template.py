"""What rules look up in the pod templates behind a Job. No rules of its own."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from ascendctl.manifest.job import Job
from ascendctl.yamlio.document import FieldPath

VISIBLE_DEVICES = "ASCEND_VISIBLE_DEVICES"


def containers(job: Job, role: int) -> Iterator[tuple[FieldPath, Mapping[str, Any]]]:
    """(path, container) of the normal containers of a role; none for a job built in memory."""
    document, template = job.source.document, job.source.origins.get(("role", role))
    if document is None or template is None:
        return
    path: FieldPath = (*template, "spec", "containers")
    value = document.value
    for part in path:
        value = value.get(part) if isinstance(value, Mapping) else _item(value, part)
    for i, container in enumerate(value if isinstance(value, list) else ()):
        if isinstance(container, Mapping):
            yield (*path, i), container


def _item(value: Any, part: str | int) -> Any:
    return value[part] if isinstance(value, list) and isinstance(part, int) and part < len(value) else None


def visible_devices(job: Job, role: int) -> Iterator[FieldPath]:
    """Where the containers of a role set ASCEND_VISIBLE_DEVICES."""
    for path, container in containers(job, role):
        env = container.get("env")
        for i, entry in enumerate(env if isinstance(env, list) else ()):
            if isinstance(entry, Mapping) and entry.get("name") == VISIBLE_DEVICES:
                yield (*path, "env", i, "name")
