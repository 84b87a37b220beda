"""`bookgen serve`: the service, until it is told to stop."""

from __future__ import annotations

from argparse import Namespace

from bookgen import app, config


async def run(_: Namespace) -> int:
    await app.serve(config.load())
    return 0
