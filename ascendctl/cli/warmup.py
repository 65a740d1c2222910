"""`ascendctl warmup`."""

from __future__ import annotations

import click


@click.command("warmup", short_help="Compile the kernels into the cache.")
def command() -> None:
    """Compile all kernels into the on-disk cache, so that large placements start fast; for container images.

    Small jobs never need it: they run uncompiled. The cache is the folder of NUMBA_CACHE_DIR, else one beside the
    package, else one in the user's cache folder.
    """
    from ascendctl.engine.jit import warm_all

    for name in warm_all():
        click.echo(f"compiled {name}")
