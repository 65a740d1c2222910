"""`python -m ascendctl` and the console script."""

from __future__ import annotations


def main() -> None:
    """Run the command line."""
    from ascendctl.cli import run

    run()


if __name__ == "__main__":
    main()
