"""`bookgen serve`: the service, until it is told to stop."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace

from bookgen import app, config


def add_options(_: ArgumentParser) -> None:
    """It has none: all is in the settings."""


async def run(_: Namespace) -> int:
    await app.serve(config.load())
    return 0
