"""Behind a real PgBouncer in transaction mode: what works, and what a start reports if it cannot."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from bookgen.commands import check
from bookgen.errors import StartupError
from bookgen.store import book_state, notifications, pooler
from bookgen.store import notifications as listening
from bookgen.store.database import Database
from bookgen.store.migrate import migrate
from bookgen.store.postgres.embedded_or_external import running_postgres
from tests.chaos.pg_proxy import PgProxy
from tests.composition import settings
from tests.databases import SQL, command
from tests.pgbouncer import pgbouncer, reconnect

pytestmark = pytest.mark.checker("pgbouncer")

IGNORING = "ignore_startup_parameters = " + ", ".join(
    ("statement_timeout", "lock_timeout", "idle_in_transaction_session_timeout", "plan_cache_mode")
)

KEPT = "SELECT count(*) FROM pg_prepared_statements WHERE statement = 'SELECT 42'"


@pytest.fixture
async def direct(dsn: str) -> AsyncIterator[str]:
    """A connection to the database by TCP, as the pooler uses it."""
    async with PgProxy(dsn) as proxy:
        yield proxy.dsn


@pytest.fixture
async def pooled(direct: str) -> AsyncIterator[str]:
    async with pgbouncer(direct) as pooled:
        yield pooled


@pytest.fixture
async def behind(pooled: str, direct: str) -> AsyncIterator[Database]:
    database = await Database.open(pooled, direct_dsn=direct, statement_cache=False)
    yield database
    await database.close(patience=1.0)


async def test_commands_of_many_accounts_run_through_a_pooler(behind: Database) -> None:
    async def lock(account_id: int) -> None:
        async with behind.runs.acquire() as connection, connection.transaction():
            await book_state.lock(connection, account_id, account_id, 180.0)
            await notifications.notify(connection, account_id)

    await asyncio.gather(*(lock(number) for number in range(150)))


async def test_behind_a_pooler_the_limits_of_a_session_are_set_on_the_role(behind: Database, pooled: str) -> None:
    await reconnect(pooled)

    bounds = [await behind.http.fetchval(f"SHOW {name}") for name in ("statement_timeout", "lock_timeout")]

    assert bounds == ["30s", "10s"]
    assert await behind.runs.fetchval("SHOW idle_in_transaction_session_timeout") == "1min"


async def nothing_missed() -> None:
    pass


async def test_the_lease_and_the_notifications_bypass_the_pooler(behind: Database) -> None:
    heard: asyncio.Queue[int] = asyncio.Queue()
    listener = asyncio.create_task(
        listening.listen(behind.direct_dsn, heard.put_nowait, lambda *_: None, nothing_missed)
    )
    try:
        async with asyncio.timeout(10):
            while heard.empty():  # until it listens
                async with behind.runs.acquire() as connection, connection.transaction():
                    await notifications.notify(connection, 7)
                await asyncio.sleep(0.02)
    finally:
        listener.cancel()

    assert heard.get_nowait() == 7
    pids = {await behind.lease.fetchval("SELECT pg_backend_pid()") for _ in range(2)}
    async with behind.lease.acquire() as connection:
        assert pids == {connection.get_server_pid()}  # a pooler returns its own process id


async def test_migrations_ignore_the_limits_set_on_the_role(behind: Database, tmp_path: Path) -> None:
    """Migrations may take any time, and wait for another process that migrates."""
    name = behind.direct_dsn.rpartition("/")[2].partition("?")[0]
    await command(behind.direct_dsn, f"ALTER ROLE CURRENT_USER IN DATABASE {name} SET statement_timeout = '20ms'")
    await command(behind.direct_dsn, f"ALTER ROLE CURRENT_USER IN DATABASE {name} SET lock_timeout = '20ms'")
    for file in SQL.glob("*.sql"):
        (tmp_path / file.name).write_text(file.read_text())
    (tmp_path / "9000_slow.sql").write_text("SELECT pg_sleep(0.1)")

    applied = await asyncio.gather(*(migrate(behind.direct_dsn, tmp_path) for _ in range(2)))

    assert sorted(applied) == [[], ["9000_slow.sql"]]
    await command(behind.direct_dsn, "DELETE FROM schema_migration WHERE version = 9000")


@pytest.mark.parametrize("more", ["", IGNORING], ids=["refuses settings", "ignores settings"])
async def test_a_start_with_only_a_pooler_names_the_setting_for_the_direct_url(
    direct: str, tmp_path: Path, more: str
) -> None:
    async with pgbouncer(direct, more) as pooled:
        with pytest.raises(StartupError, match=r"BOOKGEN_DATABASE_URL: .* Set BOOKGEN_DATABASE_DIRECT_URL"):
            await start(pooled, None, tmp_path)


async def test_a_direct_url_that_leads_through_the_pooler_is_refused(pooled: str, tmp_path: Path) -> None:
    with pytest.raises(StartupError, match="BOOKGEN_DATABASE_DIRECT_URL: "):
        await start(pooled, pooled, tmp_path)


async def test_a_direct_url_to_another_database_is_refused(
    pooled: str, direct: str, empty_dsn: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pooler, "HEARD_SECONDS", 0.5)
    async with PgProxy(empty_dsn) as other:
        with pytest.raises(StartupError, match=r"BOOKGEN_DATABASE_DIRECT_URL: .* must lead to the same database"):
            await start(pooled, other.dsn, tmp_path)


async def test_a_pooler_without_prepared_statements_is_reported_with_the_setting_for_it(
    pooled: str, direct: str
) -> None:
    with pytest.raises(StartupError, match="BOOKGEN_DATABASE_STATEMENT_CACHE=off"):
        await Database.open(pooled, direct_dsn=direct)


async def test_prepared_statements_are_used_if_every_client_has_its_own_session(direct: str) -> None:
    async with pgbouncer(direct, "pool_mode = session") as pooled:
        database = await Database.open(pooled, direct_dsn=direct, http_connections=1, run_connections=1)
        async with database.http.acquire() as connection:
            assert [await connection.fetchval("SELECT 42") for _ in range(2)] == [42, 42]
            kept = await connection.fetchval(
                "SELECT count(*) FROM pg_prepared_statements WHERE statement = 'SELECT 42'"
            )
        await database.close(patience=1.0)

    assert kept == 1


async def test_check_says_what_a_pooler_lacks_and_which_setting_fixes_it(
    pooled: str, direct: str, tmp_path: Path
) -> None:
    past_it = {"database_url": pooled, "database_direct_url": direct}

    with pytest.raises(StartupError, match="Set BOOKGEN_DATABASE_DIRECT_URL"):
        await check.database(settings(tmp_path, database_url=pooled))
    with pytest.raises(StartupError, match="BOOKGEN_DATABASE_STATEMENT_CACHE=off"):
        await check.database(settings(tmp_path, **past_it))
    pooled = "at BOOKGEN_DATABASE_URL (a pooler) and BOOKGEN_DATABASE_DIRECT_URL, up to 3 of its 197 connections"
    assert pooled in await check.database(settings(tmp_path, **past_it, database_statement_cache="off"))


async def start(url: str, direct_url: str | None, folder: Path) -> None:
    async with contextlib.AsyncExitStack() as closing:
        await closing.enter_async_context(running_postgres(url, folder, direct_url=direct_url))
