"""`ascendctl products`."""

from __future__ import annotations

import click

from ascendctl.cli import common

FORMATS = ("table", "json", "yaml")


def _complete(ctx: click.Context, param: click.Parameter, text: str) -> list[str]:
    from ascendctl.products import CATALOGUE

    return [product.name for product in CATALOGUE if product.name.startswith(text)]


@click.command("products", short_help="List the products.")
@click.argument("name", required=False, shell_complete=_complete)
@common.output_option(FORMATS, "table")
def command(name: str | None, outputs: list[tuple[str, str]]) -> None:
    """List the products with their resource, policy, selector and legal NPU counts; with NAME, everything about one.

    NAME is an alias of the first column, as `validate --product` takes it.
    """
    from ascendctl.products import CATALOGUE, find_product
    from ascendctl.report import products as report
    from ascendctl.report.machine import dump

    if name is None:
        chosen = list(CATALOGUE)
    else:
        product = find_product(name)
        if product is None:
            known = ", ".join(p.name for p in CATALOGUE)
            raise click.BadParameter(f"no product {name!r}; known: {known}", param_hint="NAME")
        chosen = [product]

    def render(form: str) -> str:
        if form == "table":
            return report.one(chosen[0]) if name else report.many(chosen)
        documents = [report.as_dict(product) for product in chosen]
        return dump(documents[0] if name else documents, form)

    common.emit(outputs, render)
