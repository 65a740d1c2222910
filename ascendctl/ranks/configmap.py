"""The ConfigMap that carries a rank table to the pods (chapter 50 §4.2)."""

from __future__ import annotations

from typing import Any

from ascendctl.manifest.job import Job
from ascendctl.ranks.server import dumps
from ascendctl.ranks.table import RankTable
from ascendctl.ranks.version import object_labels
from ascendctl.wellknown import RING

DEFAULT_RING = "ascend-910"


def rings_config(job: Job, table: RankTable) -> dict[str, Any]:
    """ConfigMap rings-config-<job>, with the table as if it were the first one."""
    return {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {
            "name": f"rings-config-{job.name}",
            "namespace": job.namespace,
            "labels": {RING: object_labels(job).get(RING, DEFAULT_RING)},
        },
        "data": {"hccl.json": dumps(table.document), "version": "0"},
    }
