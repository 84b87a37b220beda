"""`bookgen migrate`: apply new migrations without starting the service. An embedded database must already exist."""

from __future__ import annotations

from argparse import Namespace

from bookgen import config
from bookgen.app.database import postgres
from bookgen.app.package_data import migrations
from bookgen.store.migrate import migrate


async def run(_: Namespace) -> int:
    async with postgres(config.load(), create=False) as address:
        applied = await migrate(address.direct_dsn, migrations())
    print("\n".join(f"applied {name}" for name in applied) or "nothing to apply")
    return 0
