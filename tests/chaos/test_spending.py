"""`kill -9` during paid calls: the cap holds by the provider's own bill, and no call is recorded twice."""

from __future__ import annotations

import asyncio
import os
import random
from collections.abc import AsyncIterator
from pathlib import Path

import asyncpg
import pytest

from tests.chaos.process import Process
from tests.chaos.world import Author, World
from tests.http.spending import TEXT_MODEL, BillingModels

AUTHORS, CHAPTERS, WORDS = 6, 4, 400
CAP = 1_500_000
KILLS = int(os.environ.get("CHAOS_KILLS", "2"))
SPENT = """
    SELECT (SELECT coalesce(sum(cost_micros), 0) FROM model_call)::bigint AS entered,
           (SELECT coalesce(sum(cost_micros), 0) FROM cost_reservation
             WHERE created_at >= date_trunc('day', now()))::bigint AS reserved
"""


UNDER_WAY = "SELECT EXISTS (SELECT FROM run WHERE status IN ('queued', 'running'))"
# A finished book that is being rewritten keeps its draft, which is claimed only after the book is finished again.
NO_BLURBS = """
    SELECT NOT EXISTS (SELECT FROM blurb_draft d JOIN book b ON b.id = d.book_id
                        WHERE b.status = 'completed' AND (d.owner IS NOT NULL OR d.due_at <= now()))
"""


@pytest.fixture
async def provider() -> AsyncIterator[BillingModels]:
    async with BillingModels() as provider:
        yield provider


@pytest.fixture
async def paid(pool: asyncpg.Pool, dsn: str, tmp_path: Path, provider: BillingModels) -> AsyncIterator[World]:
    """A world whose model costs money."""
    world = World(pool, dsn, provider, tmp_path)
    world.provider = TEXT_MODEL
    await pool.execute("""UPDATE plan SET features = features || '{"books_per_month": 100000}'""")
    yield world
    await world.close()


@pytest.mark.timeout(3600)
async def test_kills_during_calls_exceed_no_cap_and_record_no_call_twice(
    paid: World, provider: BillingModels, dice: random.Random
) -> None:
    authors = [await paid.author() for _ in range(AUTHORS)]
    books = [await paid.book(author, CHAPTERS, WORDS) for author in authors]
    provider.configure(delay=0.3, chunk_delay=0.02)
    for _ in range(KILLS):
        process = await served(paid, authors, books)
        await kill_in_mid_call(paid, process, provider, dice)
        await check(paid, provider)
    process = await served(paid, authors, books)
    await paid.until(UNDER_WAY.replace("EXISTS", "NOT EXISTS"), seconds=300)
    await paid.until(NO_BLURBS, seconds=300)

    left = await check(paid, provider)
    unseen = await paid.value("SELECT count(*) FROM cost_reservation")
    assert 0 < unseen <= KILLS * AUTHORS  # the call of each book that was in flight
    await paid.pool.execute("UPDATE cost_reservation SET created_at = created_at - interval '3 days'")
    assert (await paid.pool.fetchrow(SPENT))["reserved"] == 0
    await paid.until("SELECT NOT EXISTS (SELECT FROM cost_reservation)")
    print(f"{KILLS} kills, {unseen} calls whose end nobody saw: {provider.billed / 1e6:.2f} billed of {CAP / 1e6:.2f}, "
          f"{left / 1e6:.2f} set aside until the end of the day.")  # fmt: skip


async def served(paid: World, authors: list[Author], books: list[int]) -> Process:
    """A process that is asked to write every book from its current state."""
    process = await paid.serve(BOOKGEN_DAILY_COST_CAP=f"{CAP / 1e6:.2f}")
    await asyncio.gather(*(paid.generate(process, author, book) for author, book in zip(authors, books, strict=True)))
    return process


async def kill_in_mid_call(paid: World, process: Process, provider: BillingModels, dice: random.Random) -> None:
    """Kill after a few more calls, or when no more calls come because the cap is reached."""
    wanted = len(provider.requests) + dice.randint(1, 12)
    async with asyncio.timeout(120):
        while len(provider.requests) < wanted and await paid.value(UNDER_WAY):  # noqa: ASYNC110 (signals: a call, a row)
            await asyncio.sleep(0.01)
    await paid.kill(process)


async def check(paid: World, provider: BillingModels) -> int:
    """The amount reserved. Every recorded cost was billed, every bill is recorded or reserved, and the sum is within
    the cap.
    """
    row = await paid.pool.fetchrow(SPENT)
    assert row["entered"] <= provider.billed <= row["entered"] + row["reserved"] <= CAP
    return int(row["reserved"])
