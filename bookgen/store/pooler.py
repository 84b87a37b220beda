"""A pooler of transactions before PostgreSQL: what it must keep, and what the role remembers in a session's place."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from uuid import uuid4

import asyncpg
import structlog

from bookgen.errors import StartupError
from bookgen.store.notifications import NOTIFY

log = structlog.get_logger()

ROUNDS = 4  # of one question: while others use the pooler too, two clients may not meet in one session at once
HEARD_SECONDS = 15.0  # a busy server may take its time

LOCK = "SELECT pg_advisory_xact_lock(hashtextextended('bookgen role settings', 0))"

REMEMBERED = """
    SELECT coalesce((SELECT setconfig FROM pg_db_role_setting
                      WHERE setrole = current_user::regrole
                        AND setdatabase = (SELECT oid FROM pg_database WHERE datname = current_database())), '{}')
"""

REMEMBER = "SELECT format('ALTER ROLE CURRENT_USER IN DATABASE %I SET %I = %L', current_database(), $1::text, $2::text)"


async def remember(dsn: str, settings: Mapping[str, str]) -> None:
    """Has the role of `dsn` begin its sessions in this database with `settings`: a pooler takes them from no client.

    A session that the pooler has open already goes on as it was until the pooler closes it.
    """
    async with _client(dsn) as connection, connection.transaction():
        await connection.execute(LOCK)  # two at once would be an error
        remembered = await connection.fetchval(REMEMBERED)
        missing = [name for name, value in settings.items() if f"{name}={value}" not in remembered]
        for name in missing:
            await connection.execute(await connection.fetchval(REMEMBER, name, settings[name]))
    if missing:
        log.warning(
            "pooler_has_old_sessions", without=missing, to_do="Have it reconnect, or wait for its hour to pass."
        )


async def require_prepared_statements(dsn: str) -> None:
    """StartupError when two clients that prepare statements of one name disturb each other."""
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
            "BOOKGEN_DATABASE_URL: its pooler keeps no client's prepared statements apart. Set "
            "BOOKGEN_DATABASE_STATEMENT_CACHE=off, or PgBouncer's max_prepared_statements (1.21 or newer)."
        ) from error


async def hears(listening_dsn: str, dsn: str) -> bool:
    """Whether who listens by the one DSN hears what is notified by the other."""
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
    connection = await asyncpg.connect(dsn, timeout=10, statement_cache_size=0)
    try:
        yield connection
    finally:
        await connection.close()
