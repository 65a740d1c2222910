"""`ascendctl audit`."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

import click

from ascendctl.cli import common

FORMATS = ("table", "json", "yaml")


@click.command("audit", short_help="Find running jobs that break affinity rules.")
@common.snapshot_option()
@common.output_option(FORMATS, "table")
@common.quiet_option
def command(snapshots: common.Dump, outputs: list[tuple[str, str]], quiet: bool) -> None:
    """Which running jobs of a cluster dump break the affinity rules of their own policy?

    A job may have been placed by hand or by another scheduler, or before labels of nodes changed. Named are chips that
    the policy would never give together, logical SuperPoDs, racks and levels that are spread, small jobs below
    several leaf switches, and pods on unhealthy nodes or chips. Jobs whose super-pod-affinity is soft may be spread.
    Exit code 1 if anything is found.

    \b
    Examples:
      ascendctl audit -s dump/
      ascendctl audit -s dump/ -o json
    """
    from ascendctl.engine.audit import audit

    cluster = common.load_cluster(snapshots)
    found = audit(cluster)
    if found or not quiet:
        common.emit(outputs, lambda name: _render(found, name))
    if found:
        raise SystemExit(common.EXIT_FINDINGS)


def _render(found: list[Any], name: str) -> str:
    if name != "table":
        from ascendctl.engine.result import API_VERSION
        from ascendctl.report.machine import dump

        return dump(
            {"apiVersion": API_VERSION, "kind": "AuditReport", "breaches": [asdict(one) for one in found]}, name
        )
    if not found:
        return "all running jobs keep the affinity of their policies"
    from ascendctl.report.text import some, table

    rows = [
        (f"{one.namespace}/{one.job}", one.policy or "-", one.kind, some(one.pods), some(one.nodes), one.message)
        for one in found
    ]
    return table(rows, ("JOB", "POLICY", "WHAT", "PODS", "NODES", "WHY"))
