"""`python -m ascendctl` and the console script."""

from __future__ import annotations

import sys


def main() -> None:
    """Run the command line."""
    try:
        from ascendctl.cli import run

        run()
    except KeyboardInterrupt:  # before the command line could take care of it
        sys.exit(130)


if __name__ == "__main__":
    main()
