"""`ascendctl topology`."""

from __future__ import annotations

import click

from ascendctl.cli import common

FORMATS = ("text", "json", "yaml", "svg", "html", "csv")
SOURCES = ("auto", "levels", "hypernodes", "superpods", "leaves")


@click.group("topology", short_help="Draw the network topology of a cluster.")
def command() -> None:
    """The network above the nodes: SuperPoDs and racks, leaf switches, levels of resource-level-config, HyperNodes."""


@command.command("show", short_help="Draw the trees with counts and free nodes.")
@click.argument("dump", nargs=-1, metavar="[DUMP]...", type=click.Path())
@common.snapshot_option(required=False)
@click.option(
    "--by", type=click.Choice(SOURCES), default="auto", show_default=True,
    help="Where the tree comes from: resource-level-config, HyperNode objects, the SuperPoD and rack ids of the device "
    "data, or basic-tor-node-cm; auto = all that the dump has.",
)  # fmt: skip
@click.option("--tree", "trees", multiple=True, metavar="NAME", help="Only the tree of this name. Repeatable.")
@click.option(
    "--levels", default="", metavar="LABEL,...", help="Make a tree of these node labels, the lowest level first."
)
@click.option(
    "--placement",
    metavar="FILE",
    type=click.Path(),
    help="Mark the nodes of a placement with its ranks (`place -o json`); - for stdin.",
)
@click.option("--nodes/--no-nodes", default=None, help="List the nodes in text; default: up to 256 nodes.")
@common.output_option(FORMATS, "text")
@common.color_option
def show(
    dump: tuple[str, ...],
    snapshots: common.Dump,
    by: str,
    trees: tuple[str, ...],
    levels: str,
    placement: str | None,
    nodes: bool | None,
    outputs: list[tuple[str, str]],
    color: str,
) -> None:
    """Draw the topology trees of a cluster dump: units of each level, how many nodes they have and how many are free.

    svg draws all trees as one image, html a page with them; csv writes the node labels of all configured levels, in
    the layout that --topology-csv reads.

    \b
    Examples:
      ascendctl topology show dump/
      ascendctl topology show dump/ --by leaves
      ascendctl topology show dump/ --levels rack,row --topology-csv labels.csv
      ascendctl topology show dump/ --placement placement.json -o html=topology.html
    """
    from ascendctl.report import networks as report
    from ascendctl.topology.networks import NoNetwork, networks

    cluster = common.load_cluster(common.dump_of(dump, snapshots))
    marks = _marks(placement) if placement else {}
    labels = [label for label in levels.split(",") if label]
    try:
        wanted = {form for form, _ in outputs} - {"csv"}
        found = networks(cluster, by, labels) if wanted else []
    except NoNetwork as error:
        raise common.Unreadable(str(error)) from None
    if trees:
        known = [network.tree.name for network in found]
        found = [network for network in found if network.tree.name in trees]
        if missing := [name for name in trees if name not in known]:
            raise click.BadParameter(f"no tree {missing[0]!r}; there are: {', '.join(known)}", param_hint="--tree")
    shown = report.views(found, cluster, marks)

    def render(form: str) -> str:
        if form == "csv":
            from ascendctl.topology.csv_labels import write_labels

            return write_labels(cluster, labels)
        if form in ("json", "yaml"):
            from ascendctl.report.machine import dump as dump_value

            return dump_value(report.as_document(found, shown, cluster), form)
        if form == "text":
            from ascendctl.report.text import wants_color

            return report.as_lines(shown, nodes, wants_color(color))
        return report.drawing(shown, form)

    common.emit(outputs, render)


def _marks(path: str) -> dict[str, str]:
    """Node -> ranks of the pods that placements put there."""
    from ascendctl.cli.placements import read_placements

    marks: dict[str, list[int]] = {}
    for pod in (pod for document in read_placements(path) for pod in document["pods"]):
        marks.setdefault(pod["node"], []).append(pod["rank"])
    return {node: ",".join(map(str, ranks)) for node, ranks in marks.items()}
