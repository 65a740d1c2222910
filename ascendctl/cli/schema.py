"""`ascendctl schema`."""

from __future__ import annotations

from typing import Any

import click

from ascendctl.cli import common

FORMATS = ("json", "yaml")


def _complete(ctx: click.Context, param: click.Parameter, text: str) -> list[str]:
    from ascendctl.report.schemas import all_schemas

    return [name for _, name, _ in all_schemas() if name.startswith(text)]


@click.command("schema", short_help="Print the JSON Schema of a kind or product.")
@click.argument("name", required=False, metavar="[KIND|PRODUCT]", shell_complete=_complete)
@click.option(
    "--job", "manifests", multiple=True, metavar="MANIFEST", type=click.Path(),
    help="Print the normalised jobs of a manifest instead: what the schemas of products describe. Repeatable.",
)  # fmt: skip
@common.output_option(FORMATS, "json")
def command(name: str | None, manifests: tuple[str, ...], outputs: list[tuple[str, str]]) -> None:
    """Print the JSON Schema (2020-12) of a kind, of a product's jobs, or of what a command prints; without a name, list
    all of them.

    What is printed stands alone: no reference leads to another file, so that editors and other tools can use it without
    a network. KIND is a Kubernetes kind or kubectl's short name, PRODUCT the first column of `ascendctl products`.

    \b
    Examples:
      ascendctl schema AscendJob > ascendjob.schema.json
      ascendctl schema a3-pod
      ascendctl schema placement-result
      ascendctl schema --job job.yaml
    """
    from ascendctl.report import schemas

    if manifests:
        from ascendctl.manifest.document import job_document
        from ascendctl.report.machine import as_document

        jobs = [job_document(job) for job in common.load_manifests(manifests)]
        common.emit(outputs, lambda form: as_document(jobs, form))
        return
    if name is None:
        from ascendctl.report.text import table

        click.echo(table(((n, group, title) for group, n, title in schemas.all_schemas()), ("NAME", "GROUP", "TITLE")))
        return
    found = schemas.find_schema(name)
    if found is None:
        raise click.BadParameter(_unknown(name), param_hint="KIND|PRODUCT")
    from ascendctl.report.machine import dump

    document: dict[str, Any] = schemas.bundle(found)
    common.emit(outputs, lambda form: dump(document, form))


def _unknown(name: str) -> str:
    from ascendctl.report.schemas import all_schemas
    from ascendctl.validate.nearest import nearest

    near = nearest(name.lower(), [known for _, known, _ in all_schemas()])
    return f"no schema {name!r}" + (f"; did you mean {near}?" if near else "; `ascendctl schema` lists them")
