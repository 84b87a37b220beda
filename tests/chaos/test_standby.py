"""The synchronous standby hangs: nobody sees what it does not have, since a failover would lose it."""

from __future__ import annotations

import asyncio
import signal
from collections.abc import AsyncIterator

import pytest

from bookgen.errors import Unavailable
from bookgen.store.database import Pool, open_pool
from tests.chaos.replicated import NAME, ReplicatedPostgres, replicated_postgres

WAITS_FOR_IT = "SELECT count(*) = 1 FROM pg_stat_activity WHERE wait_event = 'SyncRep'"
SEEN = "SELECT count(*) FROM word"


@pytest.fixture
async def pair() -> AsyncIterator[ReplicatedPostgres]:
    """A pair whose standby hangs, and a table that it still has."""
    async with replicated_postgres() as pair:
        await pair.primary.value_of(NAME, "CREATE TABLE word (said text)")
        await pair.primary.value_of(NAME, f"ALTER TABLE word OWNER TO {NAME}")
        pair.standby.signal(signal.SIGSTOP)
        yield pair
        pair.standby.signal(signal.SIGCONT)


async def say(pool: Pool) -> None:
    async with pool.acquire() as connection, connection.transaction():
        await connection.execute("INSERT INTO word VALUES ('sent')")


async def seen(pair: ReplicatedPostgres) -> object:
    """How many words another session sees, after a request to cancel the first one would have arrived."""
    for _ in range(5):
        await pair.primary.value("SELECT 1")
    assert await pair.primary.value(WAITS_FOR_IT)
    return await pair.primary.value_of(NAME, SEEN)


async def test_a_commit_that_the_standby_does_not_confirm_in_time_is_not_seen(pair: ReplicatedPostgres) -> None:
    pool = await open_pool(pair.url, size=1, silence=2.0)

    with pytest.raises(Unavailable):
        await say(pool)

    assert await seen(pair) == 0
    pair.standby.signal(signal.SIGCONT)
    await pair.primary.until(f"SELECT NOT ({WAITS_FOR_IT})")
    assert await pair.primary.value_of(NAME, SEEN) == 1
    pool.terminate()


async def test_a_commit_whose_task_is_cancelled_is_not_seen_before_the_standby_has_it(pair: ReplicatedPostgres) -> None:
    pool = await open_pool(pair.url, size=1)

    saying = asyncio.create_task(say(pool))
    await pair.primary.until(WAITS_FOR_IT)
    saying.cancel()
    await asyncio.wait({saying})

    assert saying.cancelled()
    assert await seen(pair) == 0
    pool.terminate()
