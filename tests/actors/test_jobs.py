"""Model work outside a run: outlines, reworks and rewritten chapters."""

from __future__ import annotations

import asyncio
import gc
from collections.abc import AsyncIterator
from uuid import UUID

import asyncpg
import pytest

from bookgen.actors.messages import DraftOutline, Generate, ReworkChapters, RewriteChapter
from bookgen.actors.supervisor import Supervisor
from bookgen.billing.quota import Quota
from bookgen.errors import (
    Conflict,
    GenerationInProgress,
    InvalidInput,
    NotFound,
    QuotaExceeded,
    Unavailable,
    UpstreamAIError,
)
from bookgen.models import Allowance, Usage
from bookgen.providers.text import Spent
from bookgen.services import editing
from bookgen.store import jobs, revisions
from bookgen.store.database import DB, Database
from tests.chaos.pg_proxy import PgProxy

from .conftest import Model, Shelf, Start, supervising, until

EDITS_USED = "SELECT ai_edits_used FROM usage_period WHERE account_id = $1"


async def test_a_drafted_outline_becomes_the_chapters_of_the_book(
    supervisor: Supervisor, model: Model, shelf: Shelf
) -> None:
    account, book = await shelf.outlined(chapters=0)
    model.free = True

    await supervisor.run_job(account, book, DraftOutline())

    assert await shelf.value("SELECT array_agg(title) FROM chapter WHERE book_id = $1", book) == ["New 1"]
    assert await shelf.value("SELECT bible FROM book WHERE id = $1", book) == {"people": []}
    assert await shelf.value("SELECT status FROM book WHERE id = $1", book) == "outline"
    assert await shelf.value("SELECT count(*) FROM model_call WHERE book_id = $1", book) == 1
    assert await shelf.value("SELECT count(*) FROM step") == 0


async def test_a_new_outline_keeps_former_texts_as_revisions(
    supervisor: Supervisor, model: Model, shelf: Shelf
) -> None:
    account, book = await shelf.outlined(chapters=1)
    await shelf.pool.execute("UPDATE chapter SET content = 'Old.'")
    model.free = True

    await supervisor.run_job(account, book, DraftOutline())

    assert await shelf.texts(book) == [""]
    assert await shelf.value("SELECT content FROM chapter_revision") == "Old."


async def test_an_outline_is_saved_even_if_its_caller_has_disconnected(
    supervisor: Supervisor, model: Model, shelf: Shelf
) -> None:
    account, book = await shelf.outlined(chapters=0)
    call = asyncio.create_task(supervisor.run_job(account, book, DraftOutline()))
    await model.wait_until_asked(book, 0)

    call.cancel()
    model.answer(book, 0)

    await shelf.until("SELECT count(*) = 1 FROM chapter WHERE book_id = $1", book)


async def test_a_failed_outline_whose_caller_has_disconnected_leaves_no_unhandled_exception(
    supervisor: Supervisor, model: Model, shelf: Shelf
) -> None:
    told: list[object] = []
    asyncio.get_running_loop().set_exception_handler(lambda _loop, context: told.append(context))
    account, book = await shelf.outlined(chapters=0)
    job = await supervisor.registry.find_or_make((account, book)).ask(DraftOutline())
    await model.wait_until_asked(book, 0)

    model.fail(book, 0, retryable=False)
    await asyncio.wait((job,))
    await asyncio.sleep(0)
    del job
    gc.collect()

    assert told == []


async def test_no_run_starts_while_an_outline_is_drafted(supervisor: Supervisor, model: Model, shelf: Shelf) -> None:
    account, book = await shelf.outlined()
    call = asyncio.create_task(supervisor.run_job(account, book, DraftOutline()))
    await model.wait_until_asked(book, 0)

    with pytest.raises(Conflict):
        await supervisor.ask(account, book, Generate())

    model.answer(book, 0)
    await call
    await supervisor.ask(account, book, Generate())


async def test_no_outline_is_drafted_while_a_run_is_active(supervisor: Supervisor, shelf: Shelf) -> None:
    account, book = await shelf.outlined()
    await supervisor.ask(account, book, Generate())

    with pytest.raises(GenerationInProgress):
        await supervisor.run_job(account, book, DraftOutline())


async def test_the_texts_of_reworked_chapters_become_revisions(
    supervisor: Supervisor, model: Model, shelf: Shelf
) -> None:
    account, book = await shelf.outlined()
    await shelf.pool.execute("UPDATE chapter SET content = 'Old.' WHERE book_id = $1", book)
    model.free = True

    await supervisor.run_job(account, book, ReworkChapters((await shelf.chapter_id(book, 2),), "Darker."))

    assert await shelf.texts(book) == ["Old.", "", "Old."]
    assert await shelf.value("SELECT summary FROM chapter WHERE book_id = $1 AND chapter_number = 2", book) == "Darker."


async def test_chapters_of_another_book_cannot_be_reworked(supervisor: Supervisor, model: Model, shelf: Shelf) -> None:
    account = await shelf.account()
    book, other = await shelf.book(account), await shelf.book(account)

    with pytest.raises(InvalidInput):
        await supervisor.run_job(account, book, ReworkChapters((await shelf.chapter_id(other, 1),), ""))


async def test_the_former_text_of_a_rewritten_chapter_becomes_a_revision(
    supervisor: Supervisor, model: Model, shelf: Shelf
) -> None:
    account, book = await shelf.outlined()
    await shelf.pool.execute("UPDATE chapter SET content = 'Old.' WHERE chapter_number = 2")
    call = asyncio.create_task(supervisor.run_job(account, book, RewriteChapter(await shelf.chapter_id(book, 2), 2)))
    await model.wait_until_asked(book, 2)

    model.answer(book, 2, "New.")
    await call

    assert await shelf.texts(book) == ["", "New.", ""]
    assert await shelf.value("SELECT content FROM chapter_revision WHERE origin = 'regenerate'") == "Old."
    assert await shelf.value("SELECT words_generated FROM usage_period WHERE account_id = $1", account) == 1


async def test_an_edit_made_during_a_rewrite_wins_and_the_models_text_becomes_a_revision(
    supervisor: Supervisor, model: Model, shelf: Shelf
) -> None:
    account, book = await shelf.outlined()
    chapter = await shelf.chapter_id(book, 2)
    await shelf.pool.execute("UPDATE chapter SET content = 'Old.' WHERE id = $1", chapter)
    call = asyncio.create_task(supervisor.run_job(account, book, RewriteChapter(chapter, 2)))
    await model.wait_until_asked(book, 2)

    async with shelf.pool.acquire() as connection:
        await editing.save_chapter(connection, Quota(billing=True), account, chapter, {"content": "Mine."})
    model.answer(book, 2, "New.")
    await call

    assert await shelf.texts(book) == ["", "Mine.", ""]
    kept = await shelf.pool.fetch("SELECT origin, content FROM chapter_revision ORDER BY id")
    assert [tuple(row) for row in kept] == [("editor", "Old."), ("model", "New.")]
    assert await shelf.value("SELECT count(*) FROM digest WHERE chapter_id = $1", chapter) == 0


async def test_edits_made_while_chapters_are_reworked_are_kept(
    supervisor: Supervisor, model: Model, shelf: Shelf
) -> None:
    account, book = await shelf.outlined()
    first, second = [await shelf.chapter_id(book, number) for number in (1, 2)]
    await shelf.pool.execute("UPDATE chapter SET content = 'Old.' WHERE book_id = $1", book)
    call = asyncio.create_task(supervisor.run_job(account, book, ReworkChapters((first, second), "Darker.")))
    await model.wait_until_asked(book, 0)

    async with shelf.pool.acquire() as connection:
        for chapter, changes in ((first, {"title": "Mine"}), (second, {"content": "Mine."})):
            await editing.save_chapter(connection, Quota(billing=True), account, chapter, changes)
    model.answer(book, 0)
    await call

    outlined = await shelf.pool.fetch("SELECT title, summary FROM chapter WHERE book_id = $1 ORDER BY id", book)
    assert [tuple(row) for row in outlined[:2]] == [("Mine", "Darker."), ("Other 2", "Darker.")]
    assert await shelf.texts(book) == ["", "Mine.", "Old."]
    (lost,) = await shelf.pool.fetch("SELECT chapter_id, title, summary FROM chapter_revision WHERE origin = 'model'")
    assert tuple(lost) == (first, "Other 1", "Darker.")


async def test_a_title_and_a_summary_that_lost_to_the_authors_edit_can_be_restored(
    supervisor: Supervisor, model: Model, shelf: Shelf
) -> None:
    account, book = await shelf.outlined()
    chapter = await shelf.chapter_id(book, 1)
    call = asyncio.create_task(supervisor.run_job(account, book, ReworkChapters((chapter,), "Darker.")))
    await model.wait_until_asked(book, 0)
    async with shelf.pool.acquire() as connection:
        mine = {"summary": "Mine.", "content": "My text."}
        await editing.save_chapter(connection, Quota(billing=True), account, chapter, mine)
    model.answer(book, 0)
    await call

    (kept,) = await revisions.of_chapter(shelf.pool, account, chapter)
    async with shelf.pool.acquire() as connection:
        saved = await editing.restore_revision(connection, Quota(billing=True), account, chapter, kept.id)

    restored = saved.chapter
    assert (restored.title, restored.summary, restored.content) == ("Other 1", "Darker.", "My text.")


async def test_a_chapter_of_another_account_is_not_rewritten(supervisor: Supervisor, shelf: Shelf) -> None:
    book = await shelf.book(await shelf.account())

    with pytest.raises(NotFound):
        await supervisor.run_job(await shelf.account(), book, RewriteChapter(await shelf.chapter_id(book, 1), 1))


async def test_the_caller_of_an_outline_is_told_when_the_server_stops(
    supervisor: Supervisor, model: Model, shelf: Shelf
) -> None:
    account, book = await shelf.outlined()
    call = asyncio.create_task(supervisor.run_job(account, book, DraftOutline()))
    await model.wait_until_asked(book, 0)

    await supervisor.drain(0)

    with pytest.raises(Unavailable, match="stopping"):
        await call


async def test_a_failed_job_leaves_the_book_free(supervisor: Supervisor, model: Model, shelf: Shelf) -> None:
    account, book = await shelf.outlined()
    call = asyncio.create_task(supervisor.run_job(account, book, DraftOutline()))
    await model.wait_until_asked(book, 0)
    model.fail(book, 0, retryable=True)

    with pytest.raises(UpstreamAIError):
        await call

    await supervisor.ask(account, book, Generate())


async def test_a_job_begun_right_after_another_one_keeps_the_book(
    supervisor: Supervisor, model: Model, shelf: Shelf, monkeypatch: pytest.MonkeyPatch
) -> None:
    account, book = await shelf.outlined(chapters=0)
    late, end = asyncio.Event(), jobs.end

    async def end_late(db: DB, book_id: int, owner: UUID) -> bool:
        if isinstance(db, asyncpg.Pool):  # not inside the transaction that saves the result of the job
            await late.wait()
        return await end(db, book_id, owner)

    monkeypatch.setattr(jobs, "end", end_late)
    first = asyncio.create_task(supervisor.run_job(account, book, DraftOutline()))
    await model.wait_until_asked(book, 0)
    model.answer(book, 0)
    await shelf.until("SELECT count(*) = 0 FROM book_job WHERE book_id = $1", book)

    second = asyncio.create_task(supervisor.run_job(account, book, DraftOutline()))
    await model.wait_until_asked(book, 0, times=2)
    late.set()
    await first

    with pytest.raises(Conflict):
        await supervisor.ask(account, book, Generate())
    model.answer(book, 0)
    await second


async def asleep(supervisor: Supervisor, shelf: Shelf) -> None:
    """Let the lease of a process expire, so that others consider it dead while its work continues."""
    boot_id = supervisor.resources.boot_id
    await shelf.pool.execute("UPDATE process SET lease_until = now() - interval '1 second' WHERE boot_id = $1", boot_id)


async def test_the_outline_of_a_suspended_process_does_not_replace_a_later_run(
    start: Start, model: Model, shelf: Shelf
) -> None:
    sleeper, other = await start(), await start()
    account, book = await shelf.outlined()
    call = asyncio.create_task(sleeper.run_job(account, book, DraftOutline()))
    await model.wait_until_asked(book, 0)
    await asleep(sleeper, shelf)
    await other.ask(account, book, Generate())
    await model.wait_until_asked(book, 1)
    model.answer(book, 1, "The run's.")
    await model.wait_until_asked(book, 2)

    model.answer(book, 0)

    with pytest.raises(Conflict):
        await call
    assert await shelf.texts(book) == ["The run's.", "", ""]


async def test_the_outline_of_a_suspended_process_does_not_replace_the_authors_outline(
    start: Start, model: Model, shelf: Shelf
) -> None:
    sleeper = await start()
    account, book = await shelf.outlined()
    call = asyncio.create_task(sleeper.run_job(account, book, DraftOutline()))
    await model.wait_until_asked(book, 0)
    await asleep(sleeper, shelf)
    async with shelf.pool.acquire() as connection:
        await editing.revise_outline(connection, Quota(billing=True), account, book, [{"title": "Mine"}], replace=True)

    model.answer(book, 0)

    with pytest.raises(Conflict):
        await call
    assert await shelf.value("SELECT array_agg(title) FROM chapter WHERE book_id = $1", book) == ["Mine"]


@pytest.fixture
async def behind_proxy(proxy: PgProxy, model: Model) -> AsyncIterator[Supervisor]:
    database = await Database.open(proxy.dsn, http_connections=2, run_connections=5)
    async with supervising(database, model, model.write_chapter) as supervisor:
        yield supervisor
    await database.close(patience=1.0)


async def test_a_job_does_not_delay_a_stop_during_a_database_outage(
    behind_proxy: Supervisor, proxy: PgProxy, model: Model, shelf: Shelf
) -> None:
    account, book = await shelf.outlined(chapters=0)
    call = asyncio.create_task(behind_proxy.run_job(account, book, DraftOutline()))
    await model.wait_until_asked(book, 0)
    proxy.close()

    async with asyncio.timeout(10):
        await behind_proxy.drain(0)

    proxy.open()
    with pytest.raises(Unavailable):
        await call


async def test_a_job_whose_start_failed_leaves_the_book_free(
    behind_proxy: Supervisor, proxy: PgProxy, model: Model, shelf: Shelf
) -> None:
    account, book = await shelf.outlined(chapters=0)
    model.free = True
    proxy.cut_after_commit = 1
    with pytest.raises(Unavailable):
        await behind_proxy.run_job(account, book, DraftOutline())
    assert proxy.cuts == 1

    await behind_proxy.run_job(account, book, DraftOutline())

    assert await shelf.value("SELECT array_agg(title) FROM chapter WHERE book_id = $1", book) == ["New 1"]


async def test_an_outline_whose_commit_response_was_lost_is_answered_correctly(
    behind_proxy: Supervisor, proxy: PgProxy, model: Model, shelf: Shelf
) -> None:
    account, book = await shelf.outlined(chapters=0)
    call = asyncio.create_task(behind_proxy.run_job(account, book, DraftOutline()))
    await model.wait_until_asked(book, 0)
    proxy.cut_after_commit = 1

    model.answer(book, 0)
    await call

    assert proxy.cuts == 1
    assert await shelf.value("SELECT array_agg(title) FROM chapter WHERE book_id = $1", book) == ["New 1"]


async def test_a_failed_job_whose_commit_response_was_lost_is_counted_once(
    behind_proxy: Supervisor, proxy: PgProxy, model: Model, shelf: Shelf
) -> None:
    account, book = await shelf.outlined(chapters=0)
    call = asyncio.create_task(behind_proxy.run_job(account, book, DraftOutline()))
    await model.wait_until_asked(book, 0)
    proxy.cut_after_commit = 1

    spent = (Spent("test:model", Usage(calls=1, input_tokens=10)),)
    model.fail(book, 0, retryable=False, error=UpstreamAIError("Cut.", stage="outline", retryable=False, spent=spent))
    with pytest.raises(UpstreamAIError, match="Cut"):
        await call

    assert proxy.cuts == 1
    assert await shelf.value("SELECT failed_jobs FROM usage_period") == 1
    assert await shelf.value("SELECT count(*) FROM book_job") == 0


async def test_an_edit_is_charged_when_its_text_is_saved_and_not_when_it_fails(
    supervisor: Supervisor, model: Model, shelf: Shelf
) -> None:
    account, book = await shelf.outlined(plan="free")
    chapter = await shelf.chapter_id(book, 2)
    failing = asyncio.create_task(supervisor.run_job(account, book, RewriteChapter(chapter, 2)))
    await model.wait_until_asked(book, 2)
    model.fail(book, 2, retryable=False)
    with pytest.raises(UpstreamAIError):
        await failing
    assert await shelf.value(EDITS_USED, account) is None

    model.free = True
    await supervisor.run_job(account, book, RewriteChapter(chapter, 2))

    assert await shelf.value(EDITS_USED, account) == 1


async def test_outlines_and_reworks_beyond_the_third_of_a_book_count_as_edits(
    supervisor: Supervisor, model: Model, shelf: Shelf
) -> None:
    account = await shelf.account("free")
    book = await shelf.book(account)
    model.free = True

    for made in range(4):
        assert not await shelf.value(EDITS_USED, account), made
        await supervisor.run_job(account, book, DraftOutline())
    await supervisor.run_job(account, book, ReworkChapters((await shelf.chapter_id(book, 1),), ""))
    assert await shelf.value(EDITS_USED, account) == 2
    await shelf.pool.execute("UPDATE usage_period SET ai_edits_used = 5 WHERE account_id = $1", account)

    with pytest.raises(QuotaExceeded):
        await supervisor.run_job(account, book, DraftOutline())
    await supervisor.run_job(account, await shelf.book(account), DraftOutline())

    assert await shelf.value(EDITS_USED, account) == 5


async def test_free_outlines_are_limited_across_drafts_and_then_count_as_edits(
    supervisor: Supervisor, model: Model, shelf: Shelf
) -> None:
    account = await shelf.account("free")
    model.free = True
    for _ in range(5):
        book = await shelf.book(account)
        for _ in range(3):
            await supervisor.run_job(account, book, DraftOutline())
        await shelf.pool.execute("DELETE FROM book WHERE id = $1", book)
    assert not await shelf.value(EDITS_USED, account)

    for _ in range(5):
        await supervisor.run_job(account, await shelf.book(account), DraftOutline())
    with pytest.raises(QuotaExceeded):
        await supervisor.run_job(account, await shelf.book(account), DraftOutline())

    assert await shelf.value(EDITS_USED, account) == 5
    hosted = await shelf.account("self-hosted")
    await shelf.pool.execute("INSERT INTO usage_period SELECT $1, period_start, period_end FROM usage_period", hosted)
    await shelf.pool.execute("UPDATE usage_period SET free_outlines = 1000 WHERE account_id = $1", hosted)
    await supervisor.run_job(hosted, await shelf.book(hosted), DraftOutline())


async def test_a_job_row_restored_by_a_failover_does_not_block_the_book(
    supervisor: Supervisor, model: Model, shelf: Shelf
) -> None:
    (account, book), (_, other) = await shelf.outlined(), await shelf.outlined()
    drafting = asyncio.create_task(supervisor.run_job(account, book, DraftOutline()))
    await model.wait_until_asked(book, 0)
    await shelf.pool.execute("INSERT INTO book_job SELECT $1, owner, kind FROM book_job", other)
    await shelf.pool.execute("UPDATE book_job SET started_at = started_at - interval '1 hour'")

    await supervisor.sweep()

    assert await shelf.value("SELECT array_agg(book_id) FROM book_job") == [book]
    model.free = True
    model.answer(book, 0)
    await drafting


async def test_a_run_cancels_the_job_of_a_process_that_seems_dead(
    supervisor: Supervisor, model: Model, shelf: Shelf
) -> None:
    account, book = await shelf.outlined()
    drafting = asyncio.create_task(supervisor.run_job(account, book, DraftOutline()))
    await model.wait_until_asked(book, 0)
    await shelf.pool.execute("UPDATE process SET lease_until = now() - interval '1 minute'")

    await supervisor.ask(account, book, Generate())

    model.answer(book, 0)
    with pytest.raises(Conflict, match="Another process"):
        await drafting
    assert not await shelf.value("SELECT count(*) FROM book_job")


async def test_edits_of_unpaid_books_are_limited_in_words_whatever_the_number_of_books(
    supervisor: Supervisor, model: Model, shelf: Shelf
) -> None:
    account = await shelf.account("free")
    first, second, third = [await shelf.book(account, chapters=1) for _ in range(3)]
    jobs = {book: RewriteChapter(await shelf.chapter_id(book, 1), 1) for book in (first, second, third)}
    await shelf.pool.execute("UPDATE chapter SET target_word_count = 5000")
    model.free = True

    await supervisor.run_job(account, first, jobs[first])
    model.free = False
    at_once = [asyncio.create_task(supervisor.run_job(account, book, jobs[book])) for book in (first, second, third)]
    await until(lambda: sum(call.done() for call in at_once) == 2)
    (written,) = {first, second, third} - {book for book, call in zip(jobs, at_once, strict=True) if call.done()}
    await model.wait_until_asked(written, 1)
    model.answer(written, 1)
    ended = await asyncio.gather(*at_once, return_exceptions=True)

    refused = [each for each in ended if isinstance(each, QuotaExceeded)]
    assert len(refused) == 2
    assert {name: refused[0].details[name] for name in ("quota_type", "limit", "used", "remaining")} == {
        "quota_type": "unpaid_words",
        "limit": 10_000,
        "used": 5_000,
        "remaining": 0,
    }
    assert await shelf.value(EDITS_USED, account) == 2
    model.free, asked = True, model.asked[second, 1]
    with pytest.raises(QuotaExceeded, match="10,000 words"):
        await supervisor.run_job(account, second, jobs[second])
    assert model.asked[second, 1] == asked

    await supervisor.ask(account, first, Generate())
    await shelf.until("SELECT status = 'completed' FROM run WHERE book_id = $1", first)
    await supervisor.run_job(account, first, jobs[first])

    assert await shelf.value(EDITS_USED, account) == 3


async def test_rewriting_a_long_chapter_counts_as_several_edits(
    supervisor: Supervisor, model: Model, shelf: Shelf
) -> None:
    account = await shelf.account("free")
    book = await shelf.book(account, chapters=1)
    job = RewriteChapter(await shelf.chapter_id(book, 1), 1)
    model.free = True
    await supervisor.ask(account, book, Generate())
    await shelf.until("SELECT status = 'completed' FROM run WHERE book_id = $1", book)

    await shelf.pool.execute("UPDATE chapter SET target_word_count = 15001")
    await supervisor.run_job(account, book, job)
    with pytest.raises(QuotaExceeded) as refused:
        await supervisor.run_job(account, book, job)

    assert (refused.value.details["used"], refused.value.details["remaining"]) == (4, 1)
    assert await shelf.value(EDITS_USED, account) == 4
    await shelf.pool.execute("UPDATE chapter SET target_word_count = 5000")
    await supervisor.run_job(account, book, job)
    assert await shelf.value(EDITS_USED, account) == 5


@pytest.mark.parametrize(
    ("failed", "paid", "counted"),
    [(0, True, (1, 0)), (10, True, (10, 1)), (10, False, (10, 0))],
    ids=["one of the first", "one too many", "one that cost nothing"],
)
async def test_paid_work_that_keeps_failing_is_charged_in_the_end(
    supervisor: Supervisor, model: Model, shelf: Shelf, failed: int, paid: bool, counted: tuple[int, int]
) -> None:
    account = await shelf.account("free")
    book = await shelf.book(account)
    await supervisor.resources.quota.count_words(shelf.pool, account, 0)
    await shelf.pool.execute("UPDATE usage_period SET failed_jobs = $2 WHERE account_id = $1", account, failed)
    call = asyncio.create_task(supervisor.run_job(account, book, RewriteChapter(await shelf.chapter_id(book, 1), 1)))
    await model.wait_until_asked(book, 1)

    spent = (Spent("model", Usage(calls=1, input_tokens=10)),) if paid else ()
    refused = UpstreamAIError("I can't write this.", stage="chapter", retryable=False, spent=spent)
    model.fail(book, 1, retryable=False, error=refused)

    with pytest.raises(UpstreamAIError):
        await call
    failures = "SELECT (failed_jobs, ai_edits_used) FROM usage_period WHERE account_id = $1"
    assert await shelf.value(failures, account) == counted


async def test_two_jobs_cannot_use_the_last_edit(supervisor: Supervisor, model: Model, shelf: Shelf) -> None:
    account = await shelf.account("free")
    first, second, third = [await shelf.book(account) for _ in range(3)]
    async with shelf.pool.acquire() as connection, connection.transaction():
        await supervisor.resources.quota.spend(connection, account, Allowance.AI_EDITS)
        await connection.execute("UPDATE usage_period SET ai_edits_used = 4 WHERE account_id = $1", account)
    killed = "INSERT INTO book_job (book_id, owner, kind) VALUES ($1, gen_random_uuid(), 'chapter')"
    await shelf.pool.execute(killed, third)

    call = asyncio.create_task(supervisor.run_job(account, first, RewriteChapter(await shelf.chapter_id(first, 1), 1)))
    await model.wait_until_asked(first, 1)
    with pytest.raises(QuotaExceeded) as refused:
        await supervisor.run_job(account, second, RewriteChapter(await shelf.chapter_id(second, 1), 1))
    model.answer(first, 1)
    await call

    assert (refused.value.details["used"], refused.value.details["remaining"]) == (4, 0)
    assert await shelf.value(EDITS_USED, account) == 5


async def test_an_edit_leaves_an_outline_in_flight_the_edit_that_it_will_cost(
    supervisor: Supervisor, model: Model, shelf: Shelf
) -> None:
    account = await shelf.account("free")
    first, second, third, edited = [await shelf.book(account) for _ in range(4)]
    async with shelf.pool.acquire() as connection, connection.transaction():
        await supervisor.resources.quota.spend(connection, account, Allowance.AI_EDITS)
    used = "UPDATE usage_period SET (free_outlines, ai_edits_used) = ($2, 4) WHERE account_id = $1"
    await shelf.pool.execute(used, account, 15 - 1)

    drafts = [asyncio.create_task(supervisor.run_job(account, book, DraftOutline())) for book in (first, second)]
    for book in (first, second):
        await model.wait_until_asked(book, 0)
    for job in (DraftOutline(), RewriteChapter(await shelf.chapter_id(edited, 1), 1)):
        with pytest.raises(QuotaExceeded):
            await supervisor.run_job(account, third if isinstance(job, DraftOutline) else edited, job)
    model.answer(first, 0)
    model.answer(second, 0)
    await asyncio.gather(*drafts)

    assert await shelf.value(COUNTED, account) == (15, 5)


COUNTED = "SELECT (free_outlines, ai_edits_used) FROM usage_period WHERE account_id = $1"


@pytest.mark.parametrize(
    ("made", "used", "rewrites", "counted"),
    [(0, 0, False, (1, 0)), (3, 0, False, (0, 1)), (0, 0, True, (0, 1)), (3, 5, False, (0, 5))],
    ids=["a free outline", "an outline beyond the free ones", "a chapter", "nothing is left by then"],
)
async def test_work_for_a_book_deleted_in_the_meantime_is_charged(
    supervisor: Supervisor, model: Model, shelf: Shelf, made: int, used: int, rewrites: bool, counted: tuple[int, int]
) -> None:
    account = await shelf.account("free")
    book = await shelf.book(account)
    await shelf.pool.execute("UPDATE book SET outlines_made = $2 WHERE id = $1", book, made)
    job = RewriteChapter(await shelf.chapter_id(book, 1), 1) if rewrites else DraftOutline()
    call = asyncio.create_task(supervisor.run_job(account, book, job))
    await model.wait_until_asked(book, int(rewrites))
    if used:
        await supervisor.resources.quota.spend(shelf.pool, account, Allowance.AI_EDITS, used)

    await supervisor.delete_book(account, book)
    model.answer(book, int(rewrites))

    with pytest.raises(NotFound):
        await call
    assert await shelf.value(COUNTED, account) == counted
    assert not await shelf.value("SELECT count(*) FROM book WHERE id = $1", book)
