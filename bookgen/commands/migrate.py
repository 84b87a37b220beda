"""`bookgen migrate`: the database as this version needs it, without serving."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace

from bookgen import config
from bookgen.app import migrations
from bookgen.config import reveal
from bookgen.store.migrate import migrate
from bookgen.store.postgres.server import running_postgres


def add_options(_: ArgumentParser) -> None:
    """It has none: all is in the settings."""


async def run(_: Namespace) -> int:
    settings = config.load()
    async with running_postgres(reveal(settings.database_url), settings.data_dir, settings.pg_bindir) as dsn:
        applied = await migrate(dsn, migrations())
    print("\n".join(f"applied {name}" for name in applied) or "nothing to apply")
    return 0
