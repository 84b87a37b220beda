"""Reads a password for a command from a prompt or standard input, so that no process list shows the password."""

from __future__ import annotations

import asyncio
import getpass
import sys
from argparse import ArgumentParser

ASK = "-"


def add_option(parser: ArgumentParser, meaning: str) -> None:
    parser.add_argument(
        "--password", metavar="P", nargs="?", const=ASK,
        help=f"{meaning}; without P or with -: prompt, or read standard input",
    )  # fmt: skip


async def read(password: str | None) -> str | None:
    """Return `password` or, if it is `ASK`, read a password from a prompt or standard input."""
    return await asyncio.to_thread(_prompt) if password == ASK else password


def _prompt() -> str:
    return getpass.getpass() if sys.stdin.isatty() else sys.stdin.readline().rstrip("\n")
