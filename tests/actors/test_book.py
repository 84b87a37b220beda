"""A book's run and its owner's commands."""

from __future__ import annotations

import asyncio
from typing import Any

import orjson
import pytest

from bookgen.actors import supervisor as supervising
from bookgen.actors.messages import Generate, Pause, Resume, Stop
from bookgen.actors.supervisor import Supervisor
from bookgen.billing import failed_jobs
from bookgen.billing.quota import Quota
from bookgen.errors import BookQuotaExceeded, Conflict, GenerationInProgress, NoOutline, NotFound, UpstreamAIError
from bookgen.models import Run, RunMode, RunStatus, Usage
from bookgen.providers.text import Spent, TextReply, TextRequest
from bookgen.services import editing
from bookgen.store import progress
from bookgen.store.checkpoints import ChapterStart

from .conftest import BeginRun, Model, Shelf, Start, until

PAID_STEP = """
    INSERT INTO model_call (account_id, book_id, run_id, stage, model, cost_micros)
    SELECT account_id, book_id, id, 'chapter', 'a model', $2 FROM run WHERE book_id = $1
"""


async def test_a_run_writes_every_chapter_and_completes(supervisor: Supervisor, model: Model, shelf: Shelf) -> None:
    account, book = await shelf.outlined()
    model.free = True

    run = await supervisor.ask(account, book, Generate())

    assert (run.status, run.mode, run.total) == (RunStatus.RUNNING, RunMode.FULL, 3)
    await shelf.until_status(book, "completed")
    assert await shelf.texts(book) == [f"Text of ({book}, {n})." for n in (1, 2, 3)]
    assert await shelf.value("SELECT status FROM book WHERE id = $1", book) == "completed"
    assert await shelf.value("SELECT books_created FROM usage_period WHERE account_id = $1", account) == 1
    assert await shelf.value("SELECT count(*) FROM model_call WHERE book_id = $1", book) == 3


async def test_a_run_whose_chapters_keep_being_emptied_ends_in_an_error_and_leaves_other_books_alone(
    begun: BeginRun, supervisor: Supervisor, model: Model, shelf: Shelf
) -> None:
    account, book = await begun(chapters=2, plan="free")
    await shelf.pool.execute("UPDATE book SET target_word_count = 2 WHERE id = $1", book)
    await shelf.pool.execute("UPDATE chapter SET target_word_count = 1 WHERE book_id = $1", book)
    change = "UPDATE plan SET features = features || $1 WHERE slug = 'free'"
    await shelf.pool.execute(change, {"max_word_count_per_book": 2})
    first = await shelf.chapter_id(book, 1)
    model.answer(book, 1)  # four words, then four more
    await model.wait_until_asked(book, 2)
    async with shelf.pool.acquire() as connection:
        await editing.save_chapter(connection, Quota(billing=True), account, first, {"content": ""})
    model.answer(book, 2)

    await shelf.until_status(book, "error")

    failure = (await shelf.run(book))["failure"]
    assert (failure["code"], failure["chapter_number"], failure["retryable"]) == ("QUOTA_EXCEEDED", 1, True)
    with pytest.raises(BookQuotaExceeded):
        await supervisor.ask(account, book, Resume())
    await shelf.pool.execute(change, {"books_per_month": 2})
    model.free = True
    await supervisor.ask(account, book, Resume())
    await shelf.until_status(book, "completed")


async def test_a_reply_that_never_becomes_a_chapter_is_recorded_as_paid(
    supervisor: Supervisor, model: Model, shelf: Shelf
) -> None:
    account, book = await shelf.outlined()
    model.poison = {book}
    await supervisor.ask(account, book, Generate())
    model.answer(book, 1)
    await model.until(lambda: model.stuck[book] == 1)

    await supervisor.ask(account, book, Stop())

    await shelf.until("SELECT count(*) = 1 FROM model_call WHERE book_id = $1", book)


async def test_a_reply_whose_chapter_arrives_too_late_is_recorded_as_paid(
    begun: BeginRun, model: Model, shelf: Shelf
) -> None:
    _, book = await begun()
    await shelf.pool.execute("UPDATE run SET epoch = epoch + 1, owner = gen_random_uuid() WHERE book_id = $1", book)

    model.answer(book, 1)

    await shelf.until("SELECT count(*) = 1 FROM model_call WHERE book_id = $1", book)
    assert await shelf.texts(book) == ["", "", ""]


async def test_another_accounts_book_is_not_found(supervisor: Supervisor, shelf: Shelf) -> None:
    book = await shelf.book(await shelf.account())
    stranger = await shelf.account()

    with pytest.raises(NotFound):
        await supervisor.ask(stranger, book, Generate())


async def test_a_book_without_chapters_has_no_outline(supervisor: Supervisor, shelf: Shelf) -> None:
    account, book = await shelf.outlined(chapters=0)

    with pytest.raises(NoOutline):
        await supervisor.ask(account, book, Generate())


async def test_a_second_generate_is_refused_while_a_run_is_active(
    supervisor: Supervisor, model: Model, shelf: Shelf
) -> None:
    account, book = await shelf.outlined()
    await supervisor.ask(account, book, Generate())

    with pytest.raises(GenerationInProgress):
        await supervisor.ask(account, book, Generate())


async def test_a_pause_is_answered_while_a_chapter_is_in_flight(begun: BeginRun, supervisor: Supervisor) -> None:
    account, book = await begun()

    run = await supervisor.ask(account, book, Pause())

    assert run.status is RunStatus.PAUSED
    status = orjson.loads(await supervisor.statuses.read(account, book))
    assert status["status_message"] == "Paused; finishing chapter 1."


async def test_the_call_in_flight_at_a_pause_is_kept_and_no_other_is_made(
    begun: BeginRun, supervisor: Supervisor, model: Model, shelf: Shelf
) -> None:
    account, book = await begun()
    await supervisor.ask(account, book, Pause())

    model.answer(book, 1)

    await shelf.until("SELECT done = 1 AND call_started_at IS NULL FROM run WHERE book_id = $1", book)
    assert (await shelf.texts(book))[0]
    assert model.asked[book, 2] == 0


async def test_a_pause_in_the_last_chapter_still_completes_the_run(
    begun: BeginRun, supervisor: Supervisor, model: Model, shelf: Shelf
) -> None:
    account, book = await begun(chapters=1)
    await supervisor.ask(account, book, Pause())

    model.answer(book, 1)

    await shelf.until_status(book, "completed")


@pytest.mark.parametrize("hand", ["removes", "writes"])
async def test_a_paused_run_completes_if_its_author_leaves_nothing_to_write(
    supervisor: Supervisor, model: Model, shelf: Shelf, hand: str
) -> None:
    account = await shelf.account()
    book, waiting = await shelf.book(account), await shelf.book(account)
    for each in (book, waiting):
        await supervisor.ask(account, each, Generate())
    await model.wait_until_asked(book, 1)
    await supervisor.ask(account, book, Pause())
    async with shelf.pool.acquire() as connection:
        if hand == "removes":
            await editing.revise_outline(
                connection, Quota(billing=True), account, book, [{"chapter_number": 1}], replace=True
            )
        else:
            for number in (2, 3):
                chapter = await shelf.chapter_id(book, number)
                await editing.save_chapter(connection, Quota(billing=True), account, chapter, {"content": "Mine."})

    model.answer(book, 1)

    await shelf.until_status(book, "completed")
    assert await shelf.value("SELECT count(*) FROM consumption WHERE account_id = $1", account) == 1
    await model.wait_until_asked(waiting, 1)


async def test_a_resumed_run_continues_where_it_stopped(
    begun: BeginRun, supervisor: Supervisor, model: Model, shelf: Shelf
) -> None:
    account, book = await begun()
    await supervisor.ask(account, book, Pause())
    model.answer(book, 1)
    await shelf.until("SELECT call_started_at IS NULL FROM run WHERE book_id = $1", book)

    model.free = True
    await supervisor.ask(account, book, Resume())

    await shelf.until_status(book, "completed")
    assert model.asked[book, 1] == 1


async def test_the_status_counts_the_words_of_the_chapter_in_flight(
    begun: BeginRun, supervisor: Supervisor, model: Model, shelf: Shelf
) -> None:
    account, book = await begun()
    model.answer(book, 1, "One two three.")
    await model.wait_until_asked(book, 2)
    model.poison = {book}
    model.answer(book, 2, "Four five.")
    await model.until(lambda: model.stuck[book] == 1)

    status = orjson.loads(await supervisor.statuses.read(account, book))

    assert (status["completed_chapters"], status["words_written"]) == (1, 5)
    assert await shelf.value("SELECT words_written FROM run") == 3


async def test_statuses_read_together_each_belong_to_their_own_book(begun: BeginRun, supervisor: Supervisor) -> None:
    books = [await begun() for _ in range(5)]
    (one, _), (_, other) = books[:2]
    supervisor.statuses.forget_all()
    keys = [*books, (one, other)]

    bodies = await asyncio.gather(*(supervisor.statuses.read(*key) for key in keys), return_exceptions=True)

    runs = [await supervisor.ask(*key, Pause()) for key in books]
    assert [orjson.loads(body)["task_id"] for body in bodies[:-1] if isinstance(body, bytes)] == [
        str(run.id) for run in runs
    ]
    assert isinstance(bodies[-1], NotFound)


async def test_a_status_read_before_a_command_is_not_cached_after_it(
    begun: BeginRun, supervisor: Supervisor, monkeypatch: pytest.MonkeyPatch
) -> None:
    account, book = await begun()
    of_book = progress.of_book

    async def overtaken(*arguments: Any) -> progress.RunProgress | None:
        found = await of_book(*arguments)
        monkeypatch.setattr(progress, "of_book", of_book)
        await supervisor.ask(account, book, Pause())
        return found

    monkeypatch.setattr(progress, "of_book", overtaken)
    await supervisor.statuses.read(account, book)

    assert orjson.loads(await supervisor.statuses.read(account, book))["generation_status"] == "paused"


async def test_a_cached_status_is_dropped_when_a_lost_commit_is_noticed(
    begun: BeginRun, supervisor: Supervisor, shelf: Shelf
) -> None:
    account, book = await begun()
    await supervisor.statuses.read(account, book)
    await shelf.pool.execute("UPDATE run SET status = 'stopped', call_started_at = NULL, finished_at = now()")

    await supervisor.sweep()
    await until(lambda: not supervisor.runs_in_flight.by_run)

    assert orjson.loads(await supervisor.statuses.read(account, book))["generation_status"] == "stopped"


async def test_a_stop_cancels_the_call_and_keeps_the_finished_chapters(
    begun: BeginRun, supervisor: Supervisor, model: Model, shelf: Shelf
) -> None:
    account, book = await begun()
    model.answer(book, 1)
    await model.wait_until_asked(book, 2)

    run = await supervisor.ask(account, book, Stop())

    assert run.status is RunStatus.STOPPED
    await model.until(lambda: model.cancelled[book, 2] == 1)
    assert [bool(text) for text in await shelf.texts(book)] == [True, False, False]
    assert await shelf.statuses(book) == ["completed", "pending", "pending"]
    assert await shelf.value("SELECT status FROM book WHERE id = $1", book) == "outline"


async def test_generating_again_right_after_a_stop_writes_the_chapter_again(
    begun: BeginRun, supervisor: Supervisor, model: Model
) -> None:
    account, book = await begun()

    _, run = await asyncio.gather(supervisor.ask(account, book, Stop()), supervisor.ask(account, book, Generate()))

    assert run.status is RunStatus.RUNNING
    await model.wait_until_asked(book, 1, times=2)


async def test_the_late_end_of_a_cancelled_call_is_not_mistaken_for_the_end_of_the_next(
    begun: BeginRun, supervisor: Supervisor, model: Model, shelf: Shelf, monkeypatch: pytest.MonkeyPatch
) -> None:
    complete, let_go = model.complete, asyncio.Event()

    async def lingering(request: TextRequest) -> TextReply:
        try:
            return await complete(request)
        except asyncio.CancelledError:
            await let_go.wait()
            raise

    monkeypatch.setattr(model, "complete", lingering)
    account, book = await begun()
    await supervisor.ask(account, book, Stop())
    await supervisor.ask(account, book, Generate())
    await model.wait_until_asked(book, 1, times=2)

    let_go.set()
    await supervisor.ask(account, book, Pause())
    model.answer(book, 1)

    await shelf.until("SELECT done = 1 FROM run WHERE status = 'paused'")
    assert supervisor.crashes.crashed_books == 0


async def test_generating_after_a_stop_writes_the_missing_chapters(
    begun: BeginRun, supervisor: Supervisor, model: Model, shelf: Shelf
) -> None:
    account, book = await begun()
    model.answer(book, 1, "The first text.")
    await model.wait_until_asked(book, 2)
    await supervisor.ask(account, book, Stop())

    model.free = True
    run = await supervisor.ask(account, book, Generate())

    assert (run.mode, run.done) == (RunMode.CONTINUE, 1)
    await shelf.until_status(book, "completed")
    assert (await shelf.texts(book))[0] == "The first text."


async def test_generating_a_completed_book_replaces_its_texts_and_keeps_them_as_revisions(
    supervisor: Supervisor, model: Model, shelf: Shelf
) -> None:
    account, book = await shelf.outlined()
    model.free = True
    await supervisor.ask(account, book, Generate())
    await shelf.until_status(book, "completed")

    model.free = False
    run = await supervisor.ask(account, book, Generate())
    for chapter in (1, 2, 3):
        await model.wait_until_asked(book, chapter, times=2)
        model.answer(book, chapter, f"Again {chapter}.")
    await shelf.until_status(book, "completed")

    assert run.mode is RunMode.FULL
    assert await shelf.texts(book) == ["Again 1.", "Again 2.", "Again 3."]
    assert await shelf.value("SELECT count(*) FROM chapter_revision") == 3
    assert await shelf.value("SELECT books_created FROM usage_period WHERE account_id = $1", account) == 2


async def test_a_failure_ends_the_run_and_resume_retries_the_chapter(
    begun: BeginRun, supervisor: Supervisor, model: Model, shelf: Shelf
) -> None:
    account, book = await begun()
    model.fail(book, 1, retryable=True)
    await shelf.until_status(book, "error")

    status = orjson.loads(await supervisor.statuses.read(account, book))
    assert status["failure"] == {
        "code": "UPSTREAM_AI_ERROR",
        "message": "It failed.",
        "stage": "chapter",
        "chapter_number": 1,
        "retryable": True,
    }
    assert await shelf.statuses(book) == ["error", "pending", "pending"]
    model.free = True
    await supervisor.ask(account, book, Resume())
    await shelf.until_status(book, "completed")
    assert await shelf.statuses(book) == ["completed"] * 3


async def test_resuming_retries_even_a_failure_that_is_not_retryable(
    begun: BeginRun, supervisor: Supervisor, model: Model, shelf: Shelf
) -> None:
    account, book = await begun()
    model.fail(book, 1, retryable=False)
    await shelf.until_status(book, "error")

    await supervisor.ask(account, book, Resume())

    await model.wait_until_asked(book, 1, times=2)


async def test_the_usage_of_a_failed_call_is_in_the_ledger(begun: BeginRun, model: Model, shelf: Shelf) -> None:
    _, book = await begun()
    spent = (Spent("first", Usage(calls=1, input_tokens=300)), Spent("second", Usage(calls=1, input_tokens=20)))
    model.fail(book, 1, retryable=True, error=UpstreamAIError("Cut.", stage="chapter", retryable=True, spent=spent))

    await shelf.until_status(book, "error")

    used = "SELECT array_agg((model, input_tokens)::text ORDER BY model) FROM model_call WHERE book_id = $1"
    assert await shelf.value(used, book) == ["(first,300)", "(second,20)"]


async def test_the_books_of_one_account_are_written_in_the_order_accepted(
    supervisor: Supervisor, model: Model, shelf: Shelf
) -> None:
    account = await shelf.account()
    first, second, third = [await shelf.book(account, chapters=1) for _ in range(3)]
    for book in (first, second, third):
        await supervisor.ask(account, book, Generate())

    status = orjson.loads(await supervisor.statuses.read(account, third))
    assert status["generation_status"] == "running"
    assert status["status_message"] == "Waiting for another book of this account. Place 2 in the queue."
    await model.wait_until_asked(first, 1)
    model.answer(first, 1)
    await model.wait_until_asked(second, 1)
    assert model.asked[third, 1] == 0
    await supervisor.ask(account, second, Stop())
    await model.wait_until_asked(third, 1)


async def test_a_resumed_run_goes_to_the_end_of_the_queue(supervisor: Supervisor, model: Model, shelf: Shelf) -> None:
    account = await shelf.account()
    paused, going, waiting = [await shelf.book(account, chapters=2) for _ in range(3)]
    for book in (paused, going, waiting):
        await supervisor.ask(account, book, Generate())
    await model.wait_until_asked(paused, 1)
    await supervisor.ask(account, paused, Pause())
    model.answer(paused, 1)
    await model.wait_until_asked(going, 1)

    run = await supervisor.ask(account, paused, Resume())

    assert run.status is RunStatus.QUEUED
    await supervisor.ask(account, going, Stop())
    await model.wait_until_asked(waiting, 1)
    assert model.asked[paused, 2] == 0


@pytest.mark.parametrize("how", ["completed", "failed", "paused", "stopped", "deleted"])
async def test_the_next_run_starts_when_a_turn_is_freed_without_waiting_for_a_sweep(
    start: Start, model: Model, shelf: Shelf, monkeypatch: pytest.MonkeyPatch, how: str
) -> None:
    monkeypatch.setattr(supervising, "SWEEP_SECONDS", 3600.0)
    supervisor = await start()
    account = await shelf.account()
    book, waiting = await shelf.book(account, chapters=1 + (how == "paused")), await shelf.book(account)
    for each in (book, waiting):
        await supervisor.ask(account, each, Generate())
    await model.wait_until_asked(book, 1)

    match how:
        case "completed":
            model.answer(book, 1)
        case "failed":
            model.fail(book, 1, retryable=True)
        case "paused":
            await supervisor.ask(account, book, Pause())
            model.answer(book, 1)
        case "stopped":
            await supervisor.ask(account, book, Stop())
        case "deleted":
            await supervisor.delete_book(account, book)

    await model.wait_until_asked(waiting, 1)


async def words_generated(shelf: Shelf, account: int) -> int:
    return int(
        await shelf.value("SELECT coalesce(sum(words_generated), 0) FROM usage_period WHERE account_id = $1", account)
    )


async def test_the_words_of_a_stopped_run_are_charged_once_however_it_continues(
    begun: BeginRun, supervisor: Supervisor, model: Model, shelf: Shelf
) -> None:
    account, book = await begun()
    model.answer(book, 1)
    await model.wait_until_asked(book, 2)

    await supervisor.ask(account, book, Stop())

    assert await words_generated(shelf, account) == 4
    model.free = True
    await supervisor.ask(account, book, Generate())
    await shelf.until_status(book, "completed")
    assert await words_generated(shelf, account) == 12


async def test_the_words_of_a_failed_run_are_charged_once_when_it_is_resumed(
    begun: BeginRun, supervisor: Supervisor, model: Model, shelf: Shelf
) -> None:
    account, book = await begun()
    model.answer(book, 1)
    await model.wait_until_asked(book, 2)
    model.fail(book, 2, retryable=True)
    await shelf.until_status(book, "error")
    assert await words_generated(shelf, account) == 4

    model.free = True
    await supervisor.ask(account, book, Resume())
    await shelf.until_status(book, "completed")

    assert await words_generated(shelf, account) == 12


async def test_writing_a_book_again_charges_its_words_again(supervisor: Supervisor, model: Model, shelf: Shelf) -> None:
    account, book = await shelf.outlined(chapters=1)
    model.free = True
    for times in (1, 2):
        await supervisor.ask(account, book, Generate())
        await shelf.until_status(book, "completed")
        assert await words_generated(shelf, account) == 4 * times


async def test_an_edit_made_during_the_call_wins_over_the_models_text(
    begun: BeginRun, model: Model, shelf: Shelf
) -> None:
    _, book = await begun(chapters=1)

    await shelf.pool.execute(
        "UPDATE chapter SET content = 'Mine.', content_version = content_version + 1 WHERE book_id = $1", book
    )
    model.answer(book, 1, "The model's.")

    await shelf.until_status(book, "completed")
    assert await shelf.texts(book) == ["Mine."]
    assert await shelf.value("SELECT content FROM chapter_revision") == "The model's."


async def test_a_chapter_that_its_author_writes_before_its_turn_is_not_generated(
    start: Start, model: Model, shelf: Shelf
) -> None:
    supervisor = await start(chapters_at_once=1)
    first, second = [
        (account, await shelf.book(account, chapters=2)) for account in [await shelf.account() for _ in "ab"]
    ]
    await supervisor.ask(*first, Generate())
    await model.wait_until_asked(first[1], 1)
    await supervisor.ask(*second, Generate())

    await shelf.pool.execute(
        """UPDATE chapter SET content = 'Mine.', content_version = content_version + 1
            WHERE book_id = $1 AND chapter_number = 1""",
        second[1],
    )
    model.free = True
    model.answer(first[1], 1)

    await shelf.until_status(second[1], "completed")
    assert await shelf.texts(second[1]) == ["Mine.", f"Text of {(second[1], 2)}."]
    assert model.asked[second[1], 1] == 0


async def test_a_chapter_and_the_announcement_of_the_next_are_committed_together(
    supervisor: Supervisor, model: Model, shelf: Shelf
) -> None:
    account, book = await shelf.outlined(chapters=2)
    await supervisor.ask(account, book, Generate())

    model.answer(book, 1)
    await model.wait_until_asked(book, 2)

    row = await shelf.run(book)
    assert (row["current_chapter"], row["call_no"], row["done"]) == (2, 2, 1)
    assert await shelf.statuses(book) == ["completed", "writing"]


async def test_two_books_never_use_the_same_allowance(supervisor: Supervisor, shelf: Shelf) -> None:
    account = await shelf.account("free")
    first, second = await shelf.book(account), await shelf.book(account)
    await supervisor.ask(account, first, Generate())

    with pytest.raises(BookQuotaExceeded):
        await supervisor.ask(account, second, Generate())

    await supervisor.ask(account, first, Stop())
    await supervisor.ask(account, second, Generate())


async def test_a_run_stopped_after_a_finished_chapter_keeps_its_hold(
    supervisor: Supervisor, model: Model, shelf: Shelf
) -> None:
    account = await shelf.account("free")
    first, second = await shelf.book(account), await shelf.book(account)
    await supervisor.ask(account, first, Generate())
    await model.wait_until_asked(first, 1)
    model.answer(first, 1)
    await model.wait_until_asked(first, 2)

    await supervisor.ask(account, first, Stop())

    with pytest.raises(BookQuotaExceeded):
        await supervisor.ask(account, second, Generate())
    await supervisor.ask(account, first, Generate())


@pytest.mark.parametrize("cost", [1_000, None])
async def test_a_run_stopped_before_its_first_chapter_keeps_its_hold_if_a_call_was_paid(
    supervisor: Supervisor, model: Model, shelf: Shelf, cost: int | None
) -> None:
    account = await shelf.account("free")
    first, second = await shelf.book(account), await shelf.book(account)
    await supervisor.ask(account, first, Generate())
    await model.wait_until_asked(first, 1)
    await shelf.pool.execute(PAID_STEP, first, cost)

    await supervisor.ask(account, first, Stop())

    with pytest.raises(BookQuotaExceeded):
        await supervisor.ask(account, second, Generate())


async def test_a_run_whose_calls_were_free_gives_its_hold_back(
    supervisor: Supervisor, model: Model, shelf: Shelf
) -> None:
    account = await shelf.account("free")
    first, second = await shelf.book(account), await shelf.book(account)
    await supervisor.ask(account, first, Generate())
    await model.wait_until_asked(first, 1)
    await shelf.pool.execute(PAID_STEP, first, 0)

    await supervisor.ask(account, first, Stop())

    await supervisor.ask(account, second, Generate())


async def test_a_run_stopped_before_its_first_chapter_gives_its_hold_back_even_after_an_earlier_run(
    begun: BeginRun, supervisor: Supervisor, model: Model, shelf: Shelf
) -> None:
    account, book = await begun(chapters=1)
    model.answer(book, 1)
    await shelf.until_status(book, "completed")
    await supervisor.ask(account, book, Generate())
    assert await shelf.value("SELECT count(*) FROM hold") == 1

    await supervisor.ask(account, book, Stop())

    assert await shelf.value("SELECT count(*) FROM hold") == 0


@pytest.mark.parametrize("deletes", [False, True])
async def test_a_run_stopped_during_its_first_call_keeps_its_hold_once_the_free_failures_are_used_up(
    supervisor: Supervisor, model: Model, shelf: Shelf, deletes: bool
) -> None:
    """The call is not in the ledger. Otherwise the first calls of any number of drafts would be free."""
    account = await shelf.account("free")
    for _ in range(failed_jobs.FREE_A_PERIOD):
        book = await shelf.book(account)
        await supervisor.ask(account, book, Generate())
        await model.wait_until_asked(book, 1)
        await supervisor.ask(account, book, Stop())
    first, second = await shelf.book(account), await shelf.book(account)
    await supervisor.ask(account, first, Generate())
    await model.wait_until_asked(first, 1)

    if deletes:
        await supervisor.delete_book(account, first)
    else:
        await supervisor.ask(account, first, Stop())

    with pytest.raises(BookQuotaExceeded):
        await supervisor.ask(account, second, Generate())


async def test_deleting_a_book_cancels_its_call(supervisor: Supervisor, model: Model, shelf: Shelf) -> None:
    account, book = await shelf.outlined()
    waiting = await shelf.book(account)
    await supervisor.ask(account, book, Generate())
    await supervisor.ask(account, waiting, Generate())
    await model.wait_until_asked(book, 1)

    await supervisor.delete_book(account, book)

    await model.until(lambda: model.cancelled[book, 1] == 1)
    assert await shelf.value("SELECT count(*) FROM run WHERE book_id = $1", book) == 0
    await model.wait_until_asked(waiting, 1)


async def test_a_book_whose_run_starts_during_its_deletion_is_not_deleted(
    supervisor: Supervisor, model: Model, shelf: Shelf
) -> None:
    account, book = await shelf.outlined()
    await supervisor.ask(account, book, Generate())

    with pytest.raises(Conflict):
        await supervisor.transactions.delete_book(account, book)

    await model.wait_until_asked(book, 1)


async def test_blocking_an_account_ends_all_its_runs(supervisor: Supervisor, model: Model, shelf: Shelf) -> None:
    account = await shelf.account()
    books = [await shelf.book(account) for _ in range(2)]
    for book in books:
        await supervisor.ask(account, book, Generate())
    await model.wait_until_asked(books[0], 1)

    await supervisor.end_runs(account)

    await model.until(lambda: model.cancelled[books[0], 1] == 1)
    assert await shelf.value("SELECT count(*) FROM run WHERE status = 'stopped'") == 2


async def test_a_chapter_emptied_just_before_the_run_ends_is_written(
    start: Start, model: Model, shelf: Shelf, monkeypatch: pytest.MonkeyPatch
) -> None:
    process = await start()
    account, book = await shelf.outlined(chapters=1)
    begin, tried = process.runs_in_flight.begin, list[Run]()

    async def write(text: str) -> None:
        sql = "UPDATE chapter SET content = $2, content_version = content_version + 1 WHERE book_id = $1"
        await shelf.pool.execute(sql, book, text)

    async def begin_between_two_edits(run: Run) -> ChapterStart | None:
        tried.append(run)
        if len(tried) > 1:
            return await begin(run)
        await write("Mine.")
        begun = await begin(run)
        await write("")
        return begun

    monkeypatch.setattr(process.runs_in_flight, "begin", begin_between_two_edits)
    crashes = list[Exception]()
    monkeypatch.setattr(process.crashes, "crashed", lambda _key, error: crashes.append(error))

    await process.ask(account, book, Generate())
    await until(lambda: model.asked[book, 1] == 1 or bool(crashes))
    model.answer(book, 1)

    assert not crashes
    await shelf.until_status(book, "completed")
