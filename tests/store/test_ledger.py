"""The ledger of model calls: each call is recorded once, however often it is reported."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from uuid import UUID, uuid4

import asyncpg
import pytest

from bookgen.models import Usage
from bookgen.store import model_calls, steps
from bookgen.store.model_calls import LedgerEntry, PaidCall, Step

BOOK = """
    WITH writer AS (INSERT INTO account (username, email) VALUES ('ada', 'ada@example.com') RETURNING id)
    INSERT INTO book (account_id, title, chapter_count, target_word_count, trim_size, content_language)
    SELECT id, 'A book', 1, 100, '6x9', 'en' FROM writer RETURNING id, account_id
"""

ENTERED = "SELECT sum(cost_micros) FROM model_call"


@pytest.fixture
async def entry(pool: asyncpg.Pool) -> LedgerEntry:
    """Two calls, of 3 and 4 millionths."""
    row = await pool.fetchrow(BOOK)
    return LedgerEntry(row["account_id"], row["id"], None, "chapter", 1, (a_call(3), a_call(4)))


async def a_run(pool: asyncpg.Pool, entry: LedgerEntry, status: str) -> UUID:
    run_id = uuid4()
    await pool.execute(
        "INSERT INTO run (id, book_id, account_id, status, mode, total) VALUES ($1, $2, $3, $4, 'full', 1)",
        run_id,
        entry.book_id,
        entry.account_id,
        status,
    )
    return run_id


def a_call(cost: int) -> PaidCall:
    return PaidCall("a model", Usage(calls=1, input_tokens=10), cost)


async def test_a_charge_whose_response_was_lost_is_recorded_once(pool: asyncpg.Pool, entry: LedgerEntry) -> None:
    for _ in range(2):
        await model_calls.charge(pool, entry)

    assert await pool.fetchval(ENTERED) == 7


async def test_a_step_stored_twice_is_recorded_once(pool: asyncpg.Pool, entry: LedgerEntry) -> None:
    for _ in range(2):
        await steps.save(pool, Step("key", {"text": "It."}, entry))

    assert await pool.fetchval(ENTERED) == 7


async def test_two_paid_calls_for_one_step_are_both_recorded(pool: asyncpg.Pool, entry: LedgerEntry) -> None:
    again = LedgerEntry(entry.account_id, entry.book_id, None, "chapter", 1, (a_call(5),))
    await steps.save(pool, Step("key", {"text": "First."}, entry))

    await steps.save(pool, Step("key", {"text": "Second."}, again))

    assert await pool.fetchval(ENTERED) == 12
    assert await steps.find(pool, entry.book_id, "key") == {"text": "First."}


@pytest.mark.parametrize("status", ["stopped", "completed"])
async def test_a_reply_that_arrives_after_its_run_is_recorded_and_not_stored(
    pool: asyncpg.Pool, entry: LedgerEntry, status: str
) -> None:
    run_id = await a_run(pool, entry, status)

    await steps.save(pool, Step("key", {"text": "Late."}, replace(entry, run_id=run_id)))

    assert await pool.fetchval(ENTERED) == 7
    assert await steps.find(pool, entry.book_id, "key") is None


@pytest.mark.parametrize(("status", "lost"), [("stopped", 200), ("completed", 0), ("paused", 0)])
async def test_the_words_of_a_reply_that_arrives_after_a_stop_are_lost_once(
    pool: asyncpg.Pool, entry: LedgerEntry, status: str, lost: int
) -> None:
    step = Step("key", {"text": "Late."}, replace(entry, run_id=await a_run(pool, entry, status)), words=200)

    for _ in range(2):
        await steps.save(pool, step)

    assert await pool.fetchval("SELECT words_lost FROM run") == lost


async def test_a_reply_that_arrives_while_its_run_is_stopping_is_not_stored(
    pool: asyncpg.Pool, entry: LedgerEntry
) -> None:
    run_id = await a_run(pool, entry, "paused")
    async with pool.acquire() as connection, connection.transaction():
        await connection.execute("UPDATE run SET status = 'stopped' WHERE id = $1", run_id)
        step = Step("key", {"text": "Late."}, replace(entry, run_id=run_id), words=200)
        saving = asyncio.create_task(steps.save(pool, step))
        while not await pool.fetchval(WAITS):  # noqa: ASYNC110 (the signal is a row)
            await asyncio.sleep(0.01)

    await saving

    assert await pool.fetchval(ENTERED) == 7
    assert await steps.find(pool, entry.book_id, "key") is None
    assert await pool.fetchval("SELECT words_lost FROM run") == 200


WAITS = """
    SELECT EXISTS (SELECT FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock')
"""


@pytest.mark.parametrize("stored", [True, False], ids=["a reply", "a call in vain"])
async def test_a_charge_for_a_book_deleted_in_the_meantime_is_recorded(
    pool: asyncpg.Pool, entry: LedgerEntry, stored: bool
) -> None:
    await pool.execute("DELETE FROM book")

    if stored:
        await steps.save(pool, Step("key", {"text": "Late."}, entry))
    else:
        await model_calls.charge(pool, entry)

    assert await pool.fetchval(ENTERED) == 7
    assert await pool.fetchval("SELECT account_id FROM model_call LIMIT 1") == entry.account_id
    assert await pool.fetchval("SELECT count(*) FROM step") == 0


async def test_a_charge_waits_until_the_deletion_of_its_book_has_finished(
    pool: asyncpg.Pool, entry: LedgerEntry
) -> None:
    async with pool.acquire() as connection, connection.transaction():
        await connection.execute("DELETE FROM book")
        charging = [
            asyncio.create_task(model_calls.charge(pool, entry)),
            asyncio.create_task(steps.save(pool, Step("key", {"text": "Late."}, entry))),
        ]
        await asyncio.sleep(0.2)

    await asyncio.gather(*charging)

    assert await pool.fetchval(ENTERED) == 7
