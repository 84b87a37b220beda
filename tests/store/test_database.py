import asyncio
from pathlib import Path
from types import MappingProxyType

import asyncpg
import pytest

from bookgen.app.database import open_database
from bookgen.errors import Unavailable
from bookgen.store import database as database_module
from bookgen.store.database import Database, open_pool
from bookgen.store.outages import PoolExhausted
from tests.chaos.pg_proxy import PgProxy
from tests.composition import settings


async def test_jsonb_reads_and_writes_python_objects(pool: asyncpg.Pool) -> None:
    value = {"a": [1, 2.5, None, True], "ü": {"nested": "text"}}

    assert await pool.fetchval("SELECT $1::jsonb", value) == value
    assert await pool.fetchval("SELECT $1::jsonb", MappingProxyType(value)) == value
    assert await pool.fetchval("SELECT $1::jsonb -> 'a' ->> 0", value) == "1"


async def test_releasing_a_connection_sends_no_reset_query(pool: asyncpg.Pool) -> None:
    async with pool.acquire() as connection:
        assert connection.get_reset_query() == ""


async def test_sessions_have_bounded_statements_locks_and_idle_transactions(pool: asyncpg.Pool) -> None:
    settings = {name: await pool.fetchval(f"SHOW {name}") for name in ("statement_timeout", "lock_timeout")}

    assert settings == {"statement_timeout": "30s", "lock_timeout": "10s"}
    assert await pool.fetchval("SHOW idle_in_transaction_session_timeout") == "1min"


async def test_the_pools_are_as_large_as_the_settings_say(dsn: str, tmp_path: Path) -> None:
    chosen = settings(tmp_path, database_url=dsn, database_pool=3, http_pool=7)
    async with open_database(chosen) as database:
        assert (database.runs.get_max_size(), database.http.get_max_size()) == (3, 7)


async def test_an_exhausted_pool_raises_unavailable(dsn: str) -> None:
    pool = await open_pool(dsn, size=1, patience=0.05)
    async with pool.acquire():
        with pytest.raises(Unavailable):
            await pool.fetchval("SELECT 1")
    await pool.close()


async def test_a_connection_whose_transaction_failed_to_begin_can_be_used_again(
    dsn: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    pool = await open_pool(dsn, size=1)

    async def fail(*_: object) -> None:
        raise asyncpg.QueryCanceledError

    async with pool.acquire() as connection:
        with monkeypatch.context() as patched:
            patched.setattr(database_module.Connection, "execute", fail)
            with pytest.raises(asyncpg.QueryCanceledError):
                async with connection.transaction():
                    pass

    async with pool.acquire() as connection, connection.transaction():
        assert await connection.fetchval("SELECT 1") == 1
    await pool.close()


async def test_waiting_callers_get_connections_in_order_of_arrival_while_some_are_returned(
    dsn: str,
) -> None:
    """Each holds it for a while, and all together for much longer than the wait limit."""
    pool, served = await open_pool(dsn, size=1, patience=0.8), list[int]()

    async def use(number: int) -> None:
        async with pool.acquire() as connection:
            await connection.execute("SELECT pg_sleep(0.12)")
            served.append(number)

    await asyncio.gather(*(use(number) for number in range(10)))

    assert served == list(range(10))
    await pool.close()


async def test_a_new_caller_waits_behind_earlier_ones_for_a_connection(dsn: str) -> None:
    pool, served = await open_pool(dsn, size=1), list[str]()

    async def use(name: str) -> None:
        async with pool.acquire():
            served.append(name)

    async def use_after(moments: int, name: str) -> None:
        for _ in range(moments):
            await asyncio.sleep(0)
        await asyncio.create_task(use(name))

    for moments in range(10):
        held = await pool.acquire()
        await asyncio.gather(use_after(moments, "first"), pool.release(held), use_after(moments, "late"))

    assert served == ["first", "late"] * 10
    await pool.close()


async def test_waiting_for_a_connection_has_a_time_limit(dsn: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(database_module, "QUEUE_SECONDS", 0.2)
    pool = await open_pool(dsn, size=1, patience=0.1)

    async def use() -> None:
        async with pool.acquire() as connection:
            await connection.execute("SELECT pg_sleep(0.05)")

    ended = await asyncio.gather(*(use() for _ in range(10)), return_exceptions=True)

    assert {type(each) for each in ended} == {type(None), PoolExhausted}
    assert await pool.fetchval("SELECT 1") == 1
    await pool.close()


async def test_a_caller_that_gives_up_leaves_its_connection_to_others(dsn: str) -> None:
    pool = await open_pool(dsn, size=1)
    for moments in range(8):
        held = await pool.acquire()
        waiting = asyncio.create_task(pool.fetchval("SELECT 1"))
        await asyncio.sleep(0)
        await pool.release(held)
        for _ in range(moments):
            await asyncio.sleep(0)
        waiting.cancel()
        await asyncio.wait((waiting,))

        assert await pool.fetchval("SELECT 42") == 42
    await pool.close()


async def test_a_killed_session_raises_unavailable_and_the_pool_recovers(database: Database) -> None:
    async def lose_the_session() -> None:
        async with database.http.acquire() as connection, connection.transaction():
            pid = await connection.fetchval("SELECT pg_backend_pid()")
            await database.runs.execute("SELECT pg_terminate_backend($1)", pid)
            await connection.fetchval("SELECT 1")

    with pytest.raises(Unavailable):
        await lose_the_session()

    assert await database.http.fetchval("SELECT 1") == 1


async def test_a_connection_that_received_a_shutdown_message_is_not_used_again(dsn: str, pool: asyncpg.Pool) -> None:
    async with PgProxy(dsn) as proxy:
        proxy.half_open = True
        deaf = await open_pool(proxy.dsn, size=1)
        pid = await deaf.fetchval("SELECT pg_backend_pid()")
        await pool.execute("SELECT pg_terminate_backend($1)", pid)
        await proxy.last_words.wait()
        for _ in range(100):  # until the received data has been read
            await asyncio.sleep(0)

        with pytest.raises(Unavailable):
            await deaf.fetchval("SELECT 1")

        assert await deaf.fetchval("SELECT 1") == 1
        deaf.terminate()


async def test_a_silent_server_is_not_waited_for_and_the_pool_recovers(dsn: str) -> None:
    async def ask(pool: asyncpg.Pool) -> None:
        async with pool.acquire() as connection, connection.transaction():
            proxy.swallow()
            await connection.fetchval("SELECT 1")

    async with PgProxy(dsn) as proxy:
        pool = await open_pool(proxy.dsn, size=1, silence=0.2)

        with pytest.raises(Unavailable):
            async with asyncio.timeout(5):
                await ask(pool)

        proxy.open()
        assert await pool.fetchval("SELECT 1") == 1
        pool.terminate()


async def test_programming_errors_and_invalid_sql_are_raised_unchanged(pool: asyncpg.Pool) -> None:
    with pytest.raises(asyncpg.InterfaceError):
        await pool.fetchval("SELECT $1::int")
    with pytest.raises(asyncpg.UndefinedTableError):
        await pool.fetchval("SELECT * FROM nowhere")


async def test_closing_the_pool_terminates_connections_that_are_not_returned(dsn: str) -> None:
    database = await Database.open(dsn, http_connections=1, run_connections=1)
    connection = await database.http.acquire()

    await database.close(patience=0.05)

    with pytest.raises(asyncpg.InterfaceError):
        await connection.fetchval("SELECT 1")


async def test_opening_a_pool_to_an_unreachable_server_raises_unavailable() -> None:
    with pytest.raises(Unavailable):
        await open_pool("postgresql://nobody@127.0.0.1:1/nothing", size=1)


async def test_a_turn_given_to_a_cancelled_caller_passes_to_the_next(dsn: str) -> None:
    pool = await open_pool(dsn, size=1)

    async def use() -> None:
        async with pool.acquire():
            pass

    held = await pool.acquire()
    gone, next_one = asyncio.create_task(use()), asyncio.create_task(use())
    await asyncio.sleep(0)
    await pool.release(held)  # its turn has come and it has not noticed yet
    gone.cancel()
    await asyncio.wait_for(next_one, 5)
    assert gone.cancelled()

    held = await pool.acquire()
    waiting = asyncio.create_task(use())
    await asyncio.sleep(0)
    waiting.cancel()
    await asyncio.wait((waiting,))
    await pool.release(held)
    await asyncio.wait_for(use(), 5)
    await pool.close()


async def test_a_connection_returned_inside_a_transaction_is_closed_silently(dsn: str) -> None:
    pool, complaints = await open_pool(dsn, size=1), list[object]()
    asyncio.get_running_loop().set_exception_handler(lambda _loop, context: complaints.append(context))

    held = await pool.acquire()
    await held.execute("BEGIN")
    was = await held.fetchval("SELECT pg_backend_pid()")
    await pool.release(held)

    async with pool.acquire() as connection:
        assert not connection.is_in_transaction()
        assert await connection.fetchval("SELECT pg_backend_pid()") != was
    assert not complaints
    await pool.close()


async def test_a_cancelled_task_ends_as_cancelled_even_if_its_connection_cannot_be_returned(
    dsn: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def never_done(*_: object) -> None:
        raise TimeoutError

    pool, borrowed = await open_pool(dsn, size=1), asyncio.Event()

    async def work() -> None:
        async with pool.acquire() as connection:
            await connection.execute("BEGIN")
            borrowed.set()
            await asyncio.Event().wait()

    working = asyncio.create_task(work())
    await borrowed.wait()
    with monkeypatch.context() as patched:
        patched.setattr(asyncpg.pool.PoolConnectionHolder, "release", never_done)
        working.cancel()
        await asyncio.wait((working,))

    assert working.cancelled()
    pool.terminate()
