"""The conditions under which a finished chapter is committed, and each one that refuses it."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import replace
from uuid import UUID, uuid4

import asyncpg
import pytest

from bookgen.models import Digest, Usage
from bookgen.store import ownership, runs
from bookgen.store.checkpoints import ChapterStart, Checkpoint, FinishedChapter, begin, commit
from bookgen.store.model_calls import LedgerEntry, PaidCall, Step

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


async def begun(pool: asyncpg.Pool, run_id: UUID, epoch: int = 1) -> ChapterStart | None:
    async with pool.acquire() as connection, connection.transaction():
        return await begin(connection, run_id, epoch)


async def committed(pool: asyncpg.Pool, row: FinishedChapter) -> Checkpoint | None:
    async with pool.acquire() as connection, connection.transaction():
        return await commit(connection, row)


@pytest.fixture
async def row(pool: asyncpg.Pool) -> FinishedChapter:
    """The first chapter of a run, begun by a process whose lease has expired, ready to be committed."""
    run_id = uuid4()
    await pool.execute(BOOK, run_id, OWNER)
    start = await begun(pool, run_id)
    assert start
    run = start.run
    chapter = await pool.fetchval("SELECT id FROM chapter WHERE chapter_number = $1", run.current_chapter)
    return FinishedChapter(run_id, run.epoch, run.call_no, chapter, 0, "Text.", 1, [], None)


Event = Callable[[asyncpg.Pool, UUID], Awaitable[object]]


async def taken_over(pool: asyncpg.Pool, _run_id: UUID) -> None:
    assert await ownership.claim(pool, OTHER, 10)


async def begun_again(pool: asyncpg.Pool, run_id: UUID) -> None:
    assert await begun(pool, run_id)


async def stopped(pool: asyncpg.Pool, run_id: UUID) -> None:
    await pool.execute("UPDATE run SET status = 'stopped' WHERE id = $1", run_id)


async def paused_and_its_call_forgotten(pool: asyncpg.Pool, run_id: UUID) -> None:
    await pool.execute("UPDATE run SET status = 'paused' WHERE id = $1", run_id)
    await ownership.clear_dead_calls(pool, OTHER)


async def given_the_turn_after_too_long_a_call(pool: asyncpg.Pool, run_id: UUID) -> None:
    await pool.execute("UPDATE run SET status = 'queued', updated_at = now() - interval '1 hour' WHERE id = $1", run_id)
    async with pool.acquire() as connection:
        account = await connection.fetchval("SELECT account_id FROM run")
        assert await runs.promote(connection, account, OTHER, 180.0)


async def handed_over(pool: asyncpg.Pool, _run_id: UUID) -> None:
    (run,) = [runs.run_of(row) for row in await pool.fetch("SELECT * FROM run")]
    await ownership.hand_over(pool, run)


async def deleted(pool: asyncpg.Pool, _run_id: UUID) -> None:
    await pool.execute("DELETE FROM book")


@pytest.mark.parametrize("status", ["queued", "running", "paused"])
async def test_a_chapter_of_an_active_run_is_committed_once(
    pool: asyncpg.Pool, row: FinishedChapter, status: str
) -> None:
    await pool.execute("UPDATE run SET status = $1", status)

    checkpoint = await committed(pool, row)
    assert checkpoint
    saved = checkpoint.run

    assert (saved.done, saved.written, saved.call_no) == (1, 1, row.call_no + 1)
    assert await committed(pool, row) is None
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
        handed_over,
        deleted,
    ],
)
async def test_no_chapter_is_committed_for_a_run_that_has_ended_or_moved(
    pool: asyncpg.Pool, row: FinishedChapter, event: Event
) -> None:
    await event(pool, row.run_id)
    before = await pool.fetchrow("SELECT * FROM run")

    assert await committed(pool, row) is None

    assert await pool.fetchrow("SELECT * FROM run") == before
    assert not any(await pool.fetch("SELECT FROM chapter WHERE content <> ''"))
    assert await pool.fetchval("SELECT count(*) FROM chapter_revision") == 0


@pytest.mark.parametrize("event", [taken_over, stopped, handed_over, deleted])
async def test_no_chapter_is_begun_for_a_run_that_has_ended_or_moved(
    pool: asyncpg.Pool, row: FinishedChapter, event: Event
) -> None:
    await event(pool, row.run_id)

    assert await begun(pool, row.run_id, row.epoch) is None


@pytest.mark.parametrize("event", [taken_over, stopped, handed_over, deleted])
async def test_a_picture_is_stored_only_while_the_process_owns_the_run(
    pool: asyncpg.Pool, row: FinishedChapter, event: Event
) -> None:
    run = runs.run_of(await pool.fetchrow("SELECT * FROM run"))
    async with pool.acquire() as connection:
        assert await runs.lock_as_ours(connection, run)
    await event(pool, row.run_id)

    async with pool.acquire() as connection:
        assert not await runs.lock_as_ours(connection, run)


async def test_a_chapter_and_its_ledger_row_are_committed_together_or_not_at_all(
    pool: asyncpg.Pool, row: FinishedChapter
) -> None:
    account, book = await pool.fetchrow("SELECT account_id, id FROM book")
    call = PaidCall("openai:x", Usage(calls=1, output_tokens=9), 7)
    paid = replace(
        row, step=Step("key", {"text": "Text."}, LedgerEntry(account, book, row.run_id, "chapter", 1, (call,)))
    )
    await pool.execute("ALTER TABLE model_call ADD CONSTRAINT refuse CHECK (cost_micros <> 7)")

    with pytest.raises(asyncpg.CheckViolationError):
        await committed(pool, paid)

    assert await pool.fetchval("SELECT max(content) FROM chapter") == ""
    await pool.execute("ALTER TABLE model_call DROP CONSTRAINT refuse")
    assert await committed(pool, paid)
    assert await pool.fetchval("SELECT cost_micros FROM model_call") == 7


async def test_the_digest_of_a_text_that_lost_to_an_edit_is_not_stored(
    pool: asyncpg.Pool, row: FinishedChapter
) -> None:
    await pool.execute("UPDATE chapter SET content = 'Mine.', content_version = 1 WHERE id = $1", row.chapter_id)
    late = replace(row, digest=Digest(1, "x", "", (), (), ()))

    assert await committed(pool, late)

    assert await pool.fetchval("SELECT count(*) FROM digest") == 0
    assert await pool.fetchval("SELECT content FROM chapter WHERE id = $1", row.chapter_id) == "Mine."
    assert await pool.fetchval("SELECT content FROM chapter_revision") == "Text."


async def test_draft_words_belong_to_the_announced_chapter(pool: asyncpg.Pool, row: FinishedChapter) -> None:
    await pool.execute("UPDATE run SET draft_words = 7")

    again = await begun(pool, row.run_id)
    await pool.execute("UPDATE chapter SET content = 'By its author.' WHERE id = $1", row.chapter_id)
    another = await begun(pool, row.run_id)

    assert again
    assert another
    assert (again.run.current_chapter, again.run.draft_words) == (1, 7)
    assert (another.run.current_chapter, another.run.draft_words) == (2, 0)


async def test_a_finished_chapter_resets_the_draft_words(pool: asyncpg.Pool, row: FinishedChapter) -> None:
    await pool.execute("UPDATE run SET draft_words = 7")

    checkpoint = await committed(pool, row)
    assert checkpoint
    saved = checkpoint.run

    assert (saved.current_chapter, saved.draft_words) == (2, 0)


async def test_chapters_added_while_a_checkpoint_waits_are_counted(pool: asyncpg.Pool, row: FinishedChapter) -> None:
    async with pool.acquire() as editor, editor.transaction():
        await editor.execute("SELECT FROM run FOR UPDATE")
        waiting = asyncio.create_task(committed(pool, row))
        await until_one_waits_for_a_lock(pool)
        await editor.execute(
            """INSERT INTO chapter (book_id, chapter_number, title, target_word_count)
               SELECT id, n, 'A chapter', 50 FROM book, generate_series(3, 4) AS n"""
        )

    checkpoint = await waiting

    assert checkpoint
    assert (checkpoint.run.done, checkpoint.run.total, checkpoint.run.current_chapter) == (1, 4, 2)


async def test_a_locked_chapter_delays_no_other_book(pool: asyncpg.Pool, row: FinishedChapter) -> None:
    other_run = uuid4()
    await pool.execute(BOOK.replace("'ada", "'bob"), other_run, OWNER)
    start = await begun(pool, other_run)
    assert start
    chapter = await pool.fetchval("SELECT min(id) FROM chapter WHERE book_id = $1", start.run.book_id)
    other = replace(row, run_id=other_run, call_no=start.run.call_no, chapter_id=chapter)
    async with pool.acquire() as reader, reader.transaction():
        await reader.execute("SELECT FROM chapter WHERE id = $1 FOR UPDATE", row.chapter_id)
        waiting = asyncio.create_task(committed(pool, row))
        await until_one_waits_for_a_lock(pool)

        assert await committed(pool, other)
        assert not waiting.done()
    assert await waiting


WAITS = "SELECT EXISTS (SELECT FROM pg_locks WHERE NOT granted)"


async def until_one_waits_for_a_lock(pool: asyncpg.Pool) -> None:
    while not await pool.fetchval(WAITS):  # noqa: ASYNC110 (PostgreSQL gives no signal of a wait)
        await asyncio.sleep(0.01)
