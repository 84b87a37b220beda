"""What lets a finished chapter in, and everything that shuts it out: each alone."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from uuid import UUID, uuid4

import asyncpg
import pytest

from bookgen.store import runs
from bookgen.store.runs import Begin, Checkpoint

OWNER, OTHER = uuid4(), uuid4()

BOOK = """
    WITH writer AS (INSERT INTO account (username, email) VALUES ('ada', 'ada@example.com') RETURNING id), about AS (
        INSERT INTO book (account_id, title, chapter_count, target_word_count, trim_size, content_language)
        SELECT id, 'A book', 2, 100, '6x9', 'en' FROM writer RETURNING id, account_id
    ), outline AS (
        INSERT INTO chapter (book_id, chapter_number, title, target_word_count)
        SELECT id, n, 'A chapter', 50 FROM about, generate_series(1, 2) AS n)
    INSERT INTO run (id, book_id, account_id, status, mode, total, owner, epoch)
    SELECT $1, id, account_id, 'running', 'full', 2, $2, 1 FROM about
"""


@pytest.fixture
async def row(pool: asyncpg.Pool) -> Checkpoint:
    """The first chapter of a run, begun by a process whose lease has run out, on its way into the database."""
    run_id = uuid4()
    await pool.execute(BOOK, run_id, OWNER)
    begun = (await runs.begin(pool, [Begin(run_id, 1)]))[run_id].run
    chapter = await pool.fetchval("SELECT id FROM chapter WHERE chapter_number = $1", begun.current_chapter)
    return Checkpoint(run_id, begun.epoch, begun.call_no, chapter, 0, "Text.", 1, [], None)


Event = Callable[[asyncpg.Pool, UUID], Awaitable[object]]


async def taken_over(pool: asyncpg.Pool, _run_id: UUID) -> None:
    assert await runs.claim(pool, OTHER, 10, 2)


async def begun_again(pool: asyncpg.Pool, run_id: UUID) -> None:
    assert await runs.begin(pool, [Begin(run_id, 1)])


async def stopped(pool: asyncpg.Pool, run_id: UUID) -> None:
    await pool.execute("UPDATE run SET status = 'stopped' WHERE id = $1", run_id)


async def paused_and_its_call_forgotten(pool: asyncpg.Pool, run_id: UUID) -> None:
    await pool.execute("UPDATE run SET status = 'paused' WHERE id = $1", run_id)
    await runs.forget_calls(pool, OTHER)


async def given_the_turn_after_too_long_a_call(pool: asyncpg.Pool, run_id: UUID) -> None:
    await pool.execute("UPDATE run SET status = 'queued', updated_at = now() - interval '1 hour' WHERE id = $1", run_id)
    async with pool.acquire() as connection:
        account = await connection.fetchval("SELECT account_id FROM run")
        assert await runs.promote(connection, account, OTHER, 180.0)


async def deleted(pool: asyncpg.Pool, _run_id: UUID) -> None:
    await pool.execute("DELETE FROM book")


@pytest.mark.parametrize("status", ["queued", "running", "paused"])
async def test_a_chapter_of_an_active_run_is_let_in_once(pool: asyncpg.Pool, row: Checkpoint, status: str) -> None:
    await pool.execute("UPDATE run SET status = $1", status)

    saved = (await runs.checkpoint(pool, [row]))[row.run_id].run

    assert (saved.done, saved.written, saved.call_no) == (1, 1, row.call_no + 1)
    assert await runs.checkpoint(pool, [row]) == {}
    assert await pool.fetchval("SELECT array_agg(content ORDER BY chapter_number) FROM chapter") == ["Text.", ""]
    assert await pool.fetchval("SELECT count(*) FROM chapter_revision") == 0


@pytest.mark.parametrize(
    "event",
    [
        taken_over,
        begun_again,
        stopped,
        paused_and_its_call_forgotten,
        given_the_turn_after_too_long_a_call,
        deleted,
    ],
)
async def test_a_chapter_is_shut_out_once_its_run_was(pool: asyncpg.Pool, row: Checkpoint, event: Event) -> None:
    await event(pool, row.run_id)
    before = await pool.fetchrow("SELECT * FROM run")

    assert await runs.checkpoint(pool, [row]) == {}

    assert await pool.fetchrow("SELECT * FROM run") == before
    assert not any(await pool.fetch("SELECT FROM chapter WHERE content <> ''"))
    assert await pool.fetchval("SELECT count(*) FROM chapter_revision") == 0


@pytest.mark.parametrize("event", [taken_over, stopped, deleted])
async def test_no_chapter_is_begun_of_a_run_that_was(pool: asyncpg.Pool, row: Checkpoint, event: Event) -> None:
    await event(pool, row.run_id)

    assert await runs.begin(pool, [Begin(row.run_id, row.epoch)]) == {}


async def test_the_digest_of_a_text_that_lost_to_its_author_is_not_kept(pool: asyncpg.Pool, row: Checkpoint) -> None:
    await pool.execute("UPDATE chapter SET content = 'Mine.', content_version = 1 WHERE id = $1", row.chapter_id)
    digest = {"content_hash": "x", "summary": "", "facts": [], "threads_opened": [], "threads_closed": []}
    late = Checkpoint(row.run_id, row.epoch, row.call_no, row.chapter_id, row.seen, "Text.", 1, [], digest=digest)

    assert await runs.checkpoint(pool, [late])

    assert await pool.fetchval("SELECT count(*) FROM digest") == 0
    assert await pool.fetchval("SELECT content FROM chapter WHERE id = $1", row.chapter_id) == "Mine."
    assert await pool.fetchval("SELECT content FROM chapter_revision") == "Text."


async def test_words_of_a_draft_are_those_of_the_chapter_that_is_announced(pool: asyncpg.Pool, row: Checkpoint) -> None:
    await pool.execute("UPDATE run SET draft_words = 7")

    again = (await runs.begin(pool, [Begin(row.run_id, 1)]))[row.run_id].run
    await pool.execute("UPDATE chapter SET content = 'By its author.' WHERE id = $1", row.chapter_id)
    another = (await runs.begin(pool, [Begin(row.run_id, 1)]))[row.run_id].run

    assert (again.current_chapter, again.draft_words) == (1, 7)
    assert (another.current_chapter, another.draft_words) == (2, 0)


async def test_a_finished_chapter_leaves_no_words_of_its_draft(pool: asyncpg.Pool, row: Checkpoint) -> None:
    await pool.execute("UPDATE run SET draft_words = 7")

    saved = (await runs.checkpoint(pool, [row]))[row.run_id].run

    assert (saved.current_chapter, saved.draft_words) == (2, 0)
