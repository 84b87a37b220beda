"""Opens the configured database, for the service and for the commands."""

from __future__ import annotations

import contextlib
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AbstractAsyncContextManager
from pathlib import Path

from bookgen.app.package_data import migrations
from bookgen.settings import Config, reveal
from bookgen.store.database import Database
from bookgen.store.migrate import migrate, require_migrated
from bookgen.store.outages import through_outages
from bookgen.store.postgres.embedded_or_external import PostgresAddress, running_postgres


@contextlib.asynccontextmanager
async def open_database(config: Config, *, create: bool = False) -> AsyncIterator[Database]:
    """A context with connection pools of the configured database, which is embedded or at BOOKGEN_DATABASE_URL.

    With `create`, as in the service, a missing embedded database is created and migrations are applied. Without it, as
    in commands, a missing database or migration raises an error: in a wrong folder, a command would otherwise use a
    new, empty database.
    """
    prepare: Callable[[str, Path], Awaitable[object]] = migrate if create else require_migrated
    async with postgres(config, create=create) as address:
        # Another process that started the embedded server may be stopping it right now; then ours starts it again.
        await through_outages(lambda: prepare(address.direct_dsn, migrations()), seconds=30)
        database = await through_outages(lambda: _open_pools(config, address), seconds=30)
        try:
            yield database
        finally:
            await database.close()


def postgres(config: Config, *, create: bool = True) -> AbstractAsyncContextManager[PostgresAddress]:
    """A context in which the configured PostgreSQL server runs. Yields the server's address.

    Without `create`, an embedded database is not moved from an older PostgreSQL version, and a missing database raises
    NoDatabase.
    """
    return running_postgres(
        reveal(config.database_url),
        config.data_dir,
        config.pg_bindir,
        old_bindir=config.pg_old_bindir,
        direct_url=reveal(config.database_direct_url),
        create=create,
    )


async def _open_pools(config: Config, address: PostgresAddress) -> Database:
    sizes = config.sizes
    return await Database.open(
        address.dsn,
        direct_dsn=address.direct_dsn,
        statement_cache=config.database_statement_cache == "on",
        http_connections=sizes.http_connections,
        run_connections=sizes.run_connections,
    )
