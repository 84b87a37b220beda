"""Makes `python -m bookgen` the same as the program `bookgen`."""

import sys

from bookgen.commands.cli import main as run


def main() -> None:
    sys.exit(run())


if __name__ == "__main__":
    main()
