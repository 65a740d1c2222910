"""`ascendctl explain`."""

from __future__ import annotations

import click

from ascendctl.cli import common

FORMATS = ("text", "json", "yaml")


@click.command("explain", short_help="Explain a rule, a diagnostic, a field, or a node of a dump.")
@click.argument("term", required=False)
@click.argument("names", nargs=-1, metavar="[NODE]...")
@click.option("--all", "every", is_flag=True, help="List all rules, a line each.")
@common.snapshot_option(required=False)
@common.output_option(FORMATS, "text")
def command(
    term: str | None,
    names: tuple[str, ...],
    every: bool,
    snapshots: common.Dump,
    outputs: list[tuple[str, str]],
) -> None:
    """Explain TERM: a rule of `validate` (SPB-06), a family of rules (SPB), a field (sp-block), a diagnostic of a
    snapshot (S321, ML-C03), a code of ranks, rank tables and patches (RK-01, RT-03, P-07), or a code for which `place`
    refuses a node (NPU_SHORTAGE) or a job (ML-P03). Without TERM: the families of rules.

    With `node NODE... -s DUMP`: what the scheduler sees of these nodes: chips, who holds them, faults, why no pod may
    come, and which object of the dump each fact came from.

    \b
    Examples:
      ascendctl explain SPB-06
      ascendctl explain node a2-01 -s dump/
    """
    from ascendctl.report.lookup import overview
    from ascendctl.report.machine import dump

    if term == "node":
        data, text = _nodes(names, snapshots)
    elif names or snapshots.paths:
        raise click.UsageError("only `explain node NODE... -s DUMP` takes more than a term")
    else:
        data, text = overview(every) if term is None else _known(term)
    common.emit(outputs, lambda name: text if name == "text" else dump(data, name))


def _nodes(names: tuple[str, ...], snapshots: common.Dump) -> tuple[object, str]:
    from difflib import get_close_matches

    from ascendctl.report.node import node_document, node_text

    if not names:
        raise click.UsageError("name the node: ascendctl explain node NODE -s DUMP")
    cluster = common.load_cluster(common.dump_of((), snapshots))
    for name in names:
        if name not in cluster.index:
            near = get_close_matches(name, cluster.names, 1)
            more = f"; did you mean {near[0]}?" if near else ""
            raise click.BadParameter(f"the dump has no node {name!r}{more}", param_hint="NODE")
    found = [node_document(cluster, name) for name in names]
    return found if len(found) > 1 else found[0], "\n\n".join(map(node_text, found))


def _known(term: str) -> tuple[object, str]:
    from ascendctl.report.lookup import look_up
    from ascendctl.validate.explain import suggest

    found = look_up(term)
    if found is None:
        near = suggest(term)
        more = f"; did you mean {near}?" if near else ""
        raise click.BadParameter(f"nothing is known of {term!r}{more}", param_hint="TERM")
    return found
