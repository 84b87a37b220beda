"""`bookgen serve`: run the service until it is stopped by a signal."""

from __future__ import annotations

from argparse import SUPPRESS, ArgumentParser, Namespace

from bookgen import config
from bookgen.app.serve import serve

ALONE = "--alone"  # passed by commands that start a server for themselves


def add_options(parser: ArgumentParser) -> None:
    parser.add_argument(ALONE, action="store_true", help=SUPPRESS)


async def run(options: Namespace) -> int:
    await serve(config.load(), alone=options.alone)
    return 0
