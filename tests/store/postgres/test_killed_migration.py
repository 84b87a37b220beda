"""The database server is killed while an older database is being migrated."""

from __future__ import annotations

import asyncio
import os
import signal
from pathlib import Path

import asyncpg

from bookgen.store.migrate import migrate, pending
from bookgen.store.postgres.embedded import EmbeddedPostgres
from tests.databases import SQL
from tests.store.postgres.servers import query
from tests.store.test_released_schemas import OF_ADA, SCHEMAS

BLOCKED = "SELECT EXISTS (SELECT FROM pg_locks WHERE relation = 'book'::regclass AND NOT granted)"


async def test_a_migration_whose_server_is_killed_is_finished_by_the_next(tmp_path: Path) -> None:
    server, other = EmbeddedPostgres(tmp_path / "data"), EmbeddedPostgres(tmp_path / "data")
    await server.start()
    loading = await asyncpg.connect(server.superuser_dsn)
    await loading.execute((SCHEMAS / "0.3.0.sql").read_text())
    await loading.close()
    await server.stop()
    dsn = await server.start()  # which makes the service the owner of the tables
    try:
        reader = await asyncpg.connect(server.superuser_dsn)
        before = await reader.fetch(OF_ADA)
        await reader.execute("BEGIN; LOCK TABLE book IN ACCESS SHARE MODE")
        migrating = asyncio.ensure_future(migrate(dsn, SQL))
        async with asyncio.timeout(60):
            while not await query(server.superuser_dsn, BLOCKED):  # noqa: ASYNC110 (the signal is a row)
                await asyncio.sleep(0.01)

        (killed,) = (int(each.read_text().split()[0]) for each in (tmp_path / "data").glob("pg*/postmaster.pid"))
        os.kill(killed, signal.SIGKILL)

        outcome = (await asyncio.gather(migrating, return_exceptions=True))[0]
        assert isinstance(outcome, Exception)
        dsn = await other.start()  # which waits until it runs again
        left = await pending(dsn, SQL)
        assert left
        assert await migrate(dsn, SQL) == left
        again = await asyncpg.connect(server.superuser_dsn)
        assert await again.fetch(OF_ADA) == before
        await again.close()
    finally:
        await other.stop()
        await server.stop()
