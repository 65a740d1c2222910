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
    from ascendctl.report.machine import dump

    if term == "node":
        data, text = _nodes(names, snapshots)
    elif names or snapshots.paths:
        raise click.UsageError("only `explain node NODE... -s DUMP` takes more than a term")
    else:
        data, text = _overview(every) if term is None else _lookup(term)
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


def _overview(every: bool) -> tuple[object, str]:
    from ascendctl.report import explain as report
    from ascendctl.validate.catalogue import FAMILIES, all_rules
    from ascendctl.validate.explain import FamilyTopic, explain, rule_table

    if every:
        return [dict(row) for row in rule_table()], report.rules(all_rules())
    found = [topic for name in FAMILIES for topic in explain(name) if isinstance(topic, FamilyTopic)]
    return [topic.to_dict() for topic in found], report.families(found)


def _lookup(term: str) -> tuple[object, str]:
    from ascendctl.report import explain as report
    from ascendctl.validate.explain import explain, suggest

    topics = explain(term)
    if topics:
        data = [topic.to_dict() for topic in topics]
        return data if len(data) > 1 else data[0], "\n\n".join(report.topic(topic) for topic in topics)
    found = _diagnostic(term) or _output_code(term) or _refusal(term) or _as_rule(term)
    if found is None:
        near = suggest(term)
        raise click.BadParameter(
            f"nothing is known of {term!r}" + (f"; did you mean {near}?" if near else ""), param_hint="TERM"
        )
    return found


def _diagnostic(term: str) -> tuple[object, str] | None:
    from dataclasses import asdict

    from ascendctl.report import explain as report
    from ascendctl.snapshot.diagnostics import CODES

    code = CODES.get(term.upper())
    if code is None:
        return None
    text = report.code(term.upper(), code.severity, code.title, code.effect, code.remedy)
    return {"topic": "diagnostic", "code": term.upper(), **asdict(code)}, text


def _output_code(term: str) -> tuple[object, str] | None:
    from dataclasses import asdict

    from ascendctl.ranks.codes import OUTPUT_CODES
    from ascendctl.report import explain as report

    code = OUTPUT_CODES.get(term.upper())
    if code is None:
        return None
    text = report.output_code(term.upper(), code.severity, code.title, code.effect, code.remedy)
    return {"topic": "output", "code": term.upper(), **asdict(code)}, text


def _refusal(term: str) -> tuple[object, str] | None:
    from ascendctl.engine.codes import JOB_CODES, NODE_CODES
    from ascendctl.report import explain as report

    for codes, what in ((NODE_CODES, "node"), (JOB_CODES, "job")):
        code = next((code for code in codes if code and code.casefold() == term.casefold()), None)
        if code is not None:
            found = {"topic": "refusal", "code": code, "of": what, "meaning": codes[code]}
            return found, report.refusal(code, codes[code], what)
    return None


def _as_rule(term: str) -> tuple[object, str] | None:
    """A code that a chapter gives to what a rule finds, such as ML-J03."""
    from re import fullmatch, search

    from ascendctl.report import explain as report
    from ascendctl.validate.catalogue import all_rules
    from ascendctl.validate.explain import explain

    if not fullmatch(r"[A-Z]+-[A-Z]?[0-9]+", term.upper()):
        return None
    names = [rule.id for rule in all_rules() if search(rf"\b{term.upper()}\b", rule.source)]
    topics = [topic for name in names for topic in explain(name)]
    return ([topic.to_dict() for topic in topics], "\n\n".join(map(report.topic, topics))) if topics else None
