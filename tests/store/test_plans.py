"""The queries of a run stay cheap even if the planner's statistics show no runs yet."""

from __future__ import annotations

from collections.abc import AsyncIterator
from uuid import UUID, uuid4

import asyncpg
import pytest

from bookgen.store import checkpoints, ownership
from bookgen.store.checkpoints import FinishedChapter

OWNER, RUNS, BATCH = UUID(int=1), 2000, 64

RESTORED = """
    WITH writer AS (
        INSERT INTO account (username, email) SELECT n, n FROM generate_series(1, $1::int) AS n RETURNING id
    ), title AS (
        INSERT INTO book (account_id, title, chapter_count, target_word_count, trim_size, content_language, status)
        SELECT id, 'A book', 1, 1000, '6x9', 'en', 'generating' FROM writer RETURNING id, account_id
    ), chapters AS (
        INSERT INTO chapter (book_id, chapter_number, title, target_word_count)
        SELECT id, n, 'A chapter', 500 FROM title, generate_series(1, 3) AS n
    )
    INSERT INTO run (id, book_id, account_id, status, mode, total, owner, epoch)
    SELECT gen_random_uuid(), id, account_id, 'running', 'full', 3, $2, 1 FROM title
"""

A_RUN = "SELECT id FROM run LIMIT 1"

FIRST_CHAPTER = """
    SELECT c.id FROM chapter c JOIN run r ON r.book_id = c.book_id WHERE r.id = $1 ORDER BY c.chapter_number LIMIT 1
"""

CHAPTERS_READ = "SELECT seq_tup_read + idx_tup_fetch FROM pg_stat_xact_user_tables WHERE relname = 'chapter'"
RUNS_READ = "SELECT seq_tup_read + idx_tup_fetch FROM pg_stat_xact_user_tables WHERE relname = 'run'"


@pytest.fixture(params=["no page", "a page"])
async def restored(pool: asyncpg.Pool, request: pytest.FixtureRequest) -> AsyncIterator[asyncpg.Connection]:
    """A connection, in a transaction, to a database that was empty when it was last analyzed.

    At that time its tables had no page, or one page that a snapshot kept from being truncated. With that page the
    planner believes that they are still empty, whatever their size.
    """
    async with pool.acquire() as connection, pool.acquire() as other:
        await connection.execute("VACUUM")
        await connection.execute(RESTORED, 10, OWNER)
        async with other.transaction(isolation="repeatable_read"):
            if request.param == "a page":
                await other.fetchval("SELECT count(*) FROM run")
            await connection.execute("DELETE FROM account")
            await connection.execute("VACUUM ANALYZE")
        pages = await connection.fetchval("SELECT relpages FROM pg_class WHERE oid = 'run'::regclass")
        assert bool(pages) == (request.param == "a page")
        await connection.execute(RESTORED, RUNS, OWNER)
        async with connection.transaction():
            yield connection


async def test_announcing_a_chapter_reads_only_its_own_run(restored: asyncpg.Connection) -> None:
    run_id = await restored.fetchval(A_RUN)
    before = await restored.fetchval(RUNS_READ)
    assert await checkpoints.begin(restored, run_id, 1)
    assert await restored.fetchval(RUNS_READ) - before <= 4


async def test_a_checkpoint_reads_only_its_own_run(restored: asyncpg.Connection) -> None:
    run_id = await restored.fetchval(A_RUN)
    await restored.execute("UPDATE run SET call_no = 1 WHERE id = $1", run_id)
    chapter = await restored.fetchval(FIRST_CHAPTER, run_id)
    before, chapters_before = await restored.fetchval(RUNS_READ), await restored.fetchval(CHAPTERS_READ)
    assert await checkpoints.commit(restored, FinishedChapter(run_id, 1, 1, chapter, 0, "Text.", 1, [], None))
    assert await restored.fetchval(RUNS_READ) - before <= 10
    assert await restored.fetchval(CHAPTERS_READ) - chapters_before <= 20


async def test_claiming_runs_reads_each_run_a_few_times_only(restored: asyncpg.Connection) -> None:
    before = await restored.fetchval(RUNS_READ)
    assert len(await ownership.claim(restored, uuid4(), BATCH)) == BATCH
    assert await restored.fetchval(RUNS_READ) - before <= 4 * RUNS
