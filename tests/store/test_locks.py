"""The lock order: read from each statement here, and from the transactions of every test by `tests/locks.py`."""

from __future__ import annotations

import asyncio
from uuid import uuid4

import asyncpg
import pytest

from bookgen.models import Digest, ReportStatus
from bookgen.store import material, reports
from bookgen.store.reports import ClaimedReport
from tests.locks import in_order, locked
from tests.store.test_queries import QUERIES


def test_the_locks_of_a_statement_are_read_from_its_text() -> None:
    assert locked("SELECT FROM book b JOIN chapter c ON true FOR KEY SHARE OF b") == ("book",)
    assert locked("WITH a AS (SELECT FROM run FOR UPDATE) UPDATE chapter AS c SET x = 1") == ("run", "chapter")
    assert locked("INSERT INTO usage_period AS u (a) VALUES (1) ON CONFLICT (a) DO UPDATE SET a = 2") == (
        "subscription",
    )
    assert locked("SELECT FROM report c JOIN book b ON true FOR UPDATE OF b, c SKIP LOCKED") == ()


def test_a_first_lock_on_a_lower_table_after_a_higher_one_is_out_of_order() -> None:
    assert in_order(("run", "book", "chapter", "run"))
    assert not in_order(("chapter", "book"))
    assert not in_order(("report", "subscription"))


@pytest.mark.parametrize("query", QUERIES)
def test_a_statement_takes_its_locks_in_order(query: str) -> None:
    assert in_order(locked(query)), locked(query)


A_REPORT = """
    WITH author AS (
        INSERT INTO account (username, email) VALUES ('ada', 'ada@example.com')
        RETURNING id
    ), written AS (
        INSERT INTO book (account_id, title, genre, target_audience, description, chapter_count, target_word_count,
                          trim_size, content_language)
        SELECT id, 'A Book', '', '', '', 1, 100, '6x9', 'en' FROM author
        RETURNING id, account_id
    )
    INSERT INTO report (account_id, book_id, task, chapter_ids, status, owner, epoch)
    SELECT account_id, id, gen_random_uuid(), '{}', 'running', $1, 1 FROM written
    RETURNING id, account_id, book_id, task, kind, chapter_ids, done, unread, epoch
"""
WAITS = """
    SELECT EXISTS (SELECT FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock')
"""


async def test_deleting_a_book_waits_for_a_report_to_finish_and_never_the_other_way_round(
    pool: asyncpg.Pool,
) -> None:
    owner = uuid4()
    report = ClaimedReport(**await pool.fetchrow(A_REPORT, owner))

    async def delete() -> None:
        async with pool.acquire() as connection, connection.transaction():
            await material.delete_book(connection, report.account_id, report.book_id)

    async with pool.acquire() as connection, connection.transaction():
        assert await reports.finish(connection, report, owner, ReportStatus.COMPLETED)
        deletion = asyncio.create_task(delete())
        while not await pool.fetchval(WAITS):  # noqa: ASYNC110 (the signal is a row)
            await asyncio.sleep(0.01)
        await connection.execute("SELECT FROM book FOR KEY SHARE")  # as whatever is inserted for the book does

    await deletion
    assert not await pool.fetchval("SELECT EXISTS (SELECT FROM report)")


A_CHAPTER = """
    INSERT INTO chapter (book_id, chapter_number, title, target_word_count) VALUES ($1, 1, 'A Chapter', 100)
    RETURNING id
"""


async def test_storing_a_digest_waits_for_a_save_of_its_chapter_and_never_the_other_way_round(
    pool: asyncpg.Pool,
) -> None:
    book_id = (await pool.fetchrow(A_REPORT, uuid4()))["book_id"]
    chapter_id, digest = await pool.fetchval(A_CHAPTER, book_id), Digest(1, "hash", "She crosses the sound.")

    async with pool.acquire() as connection, connection.transaction():
        await connection.execute("SELECT FROM chapter WHERE id = $1 FOR UPDATE", chapter_id)
        keeping = asyncio.create_task(material.keep_digests(pool, book_id, [digest]))
        while not await pool.fetchval(WAITS):  # noqa: ASYNC110 (the signal is a row)
            await asyncio.sleep(0.01)
        await material.save_digest(connection, chapter_id, digest)

    await keeping
    assert await pool.fetchval("SELECT count(*) FROM digest") == 1
