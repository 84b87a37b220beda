"""A transaction pooler in front of PostgreSQL: checks that it suits bookgen, and stores settings in the role."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from uuid import uuid4

import asyncpg
import structlog

from bookgen.errors import StartupError
from bookgen.store.connecting import connect
from bookgen.store.notifications import NOTIFY

log = structlog.get_logger()

ROUNDS = 4  # repeat the check: if others use the pooler too, the two clients may not share a session at once
HEARD_SECONDS = 15.0  # long enough for a busy server

LOCK = "SELECT pg_advisory_xact_lock(hashtextextended('bookgen role settings', 0))"

REMEMBERED = """
    SELECT coalesce((SELECT setconfig FROM pg_db_role_setting
                      WHERE setrole = current_user::regrole
                        AND setdatabase = (SELECT oid FROM pg_database WHERE datname = current_database())), '{}')
"""

REMEMBER = "SELECT format('ALTER ROLE CURRENT_USER IN DATABASE %I SET %I = %L', current_database(), $1::text, $2::text)"


async def remember(dsn: str, settings: Mapping[str, str]) -> None:
    """Store `settings` as the role's session defaults in this database, since a pooler accepts none from clients.

    Sessions that the pooler already has open keep their old settings until it closes them.
    """
    async with _client(dsn) as connection, connection.transaction():
        await connection.execute(LOCK)  # two concurrent ALTER ROLE statements would fail
        remembered = await connection.fetchval(REMEMBERED)
        missing = [name for name, value in settings.items() if f"{name}={value}" not in remembered]
        for name in missing:
            await connection.execute(await connection.fetchval(REMEMBER, name, settings[name]))
    if missing:
        log.warning(
            "pooler_has_old_sessions",
            what="The sessions that the pooler has open do not use the new settings of the database role yet.",
            settings=missing,
            to_do="Make the pooler reconnect, or wait an hour until it closes its old sessions.",
        )


async def require_prepared_statements(dsn: str) -> None:
    """Raise StartupError if clients that prepare statements with the same name interfere with each other."""
    try:
        async with _client(dsn) as one, _client(dsn) as other:
            for _ in range(ROUNDS):
                name = f"bookgen_{uuid4().hex}"
                first, second = await one.prepare("SELECT 1", name=name), await other.prepare("SELECT 2", name=name)
                kept = (await first.fetchval(), await second.fetchval()) == (1, 2)
                if not kept:
                    raise asyncpg.InvalidSQLStatementNameError(name)
    except (asyncpg.DuplicatePreparedStatementError, asyncpg.InvalidSQLStatementNameError) as error:
        raise StartupError(
            "BOOKGEN_DATABASE_URL: this pooler does not keep the prepared statements of its clients apart. Set "
            "BOOKGEN_DATABASE_STATEMENT_CACHE=off, or PgBouncer's max_prepared_statements (1.21 or newer)."
        ) from error


async def hears(listening_dsn: str, dsn: str) -> bool:
    """Whether a listener on `listening_dsn` receives a notification sent through `dsn`."""
    heard, channel = asyncio.Event(), f"bookgen_{uuid4().hex}"
    async with _client(listening_dsn) as listener, _client(dsn) as sender:
        await listener.add_listener(channel, lambda *_: heard.set())
        await sender.execute(NOTIFY, channel, "")
        try:
            async with asyncio.timeout(HEARD_SECONDS):
                await heard.wait()
        except TimeoutError:
            return False
        finally:
            listener.terminate()
    return True


@asynccontextmanager
async def _client(dsn: str) -> AsyncIterator[asyncpg.Connection]:
    connection = await connect(dsn, timeout=10, statement_cache_size=0)
    try:
        yield connection
    finally:
        await connection.close()
