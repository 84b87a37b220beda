"""Rewriting chapters of many drafts at once: their words are reserved before a call is made."""

from __future__ import annotations

import asyncio

import pytest

from bookgen.actors.messages import RewriteChapter
from bookgen.actors.supervisor import Supervisor
from bookgen.errors import QuotaExceeded, UpstreamAIError

from .conftest import Model, Shelf, until

USED = "SELECT (ai_edits_used, unpaid_words) FROM usage_period WHERE account_id = $1"


async def drafts(shelf: Shelf, account: int, count: int, words: int) -> list[tuple[int, RewriteChapter]]:
    books = [await shelf.book(account, chapters=1) for _ in range(count)]
    await shelf.pool.execute("UPDATE chapter SET target_word_count = $1", words)
    return [(book, RewriteChapter(await shelf.chapter_id(book, 1), 1)) for book in books]


async def test_twenty_concurrent_drafts_stay_within_the_limit_on_unpaid_words(
    supervisor: Supervisor, model: Model, shelf: Shelf
) -> None:
    account = await shelf.account("starter")  # 30,000 words of unpaid books
    jobs = await drafts(shelf, account, 20, 15_000)

    calls = [asyncio.create_task(supervisor.run_job(account, *job)) for job in jobs]
    await until(lambda: sum(call.done() for call in calls) == 18)
    asked = [book for book, _ in jobs if (book, 1) in model.asked]
    for book in asked:
        model.answer(book, 1)
    outcomes = await asyncio.gather(*calls, return_exceptions=True)

    assert len(asked) == 2
    assert [type(each) for each in outcomes if each] == [QuotaExceeded] * 18
    assert await shelf.value(USED, account) == (6, 30_000)


async def test_a_plan_without_a_limit_on_books_has_none_on_unpaid_words(
    supervisor: Supervisor, model: Model, shelf: Shelf
) -> None:
    await shelf.pool.execute(
        """UPDATE plan SET features = features || '{"books_per_month": -1}' WHERE slug = 'starter'"""
    )
    account = await shelf.account("starter")
    jobs = await drafts(shelf, account, 3, 15_000)

    calls = [asyncio.create_task(supervisor.run_job(account, *job)) for job in jobs]
    for book, _ in jobs:
        await model.wait_until_asked(book, 1)
        model.answer(book, 1)
    await asyncio.gather(*calls)

    assert await shelf.value(USED, account) == (9, 0)


async def test_edits_in_flight_are_charged_by_their_words(supervisor: Supervisor, model: Model, shelf: Shelf) -> None:
    account = await shelf.account("free")  # 5 edits, of 5,000 words each
    (first, one), (second, other) = await drafts(shelf, account, 2, 9_000)
    await shelf.pool.execute(
        """UPDATE plan SET features = features || '{"max_word_count_per_book": 200000}' WHERE slug = 'free'"""
    )
    await shelf.pool.execute("UPDATE chapter SET target_word_count = 20000 WHERE book_id = $1", second)

    call = asyncio.create_task(supervisor.run_job(account, first, one))
    await model.wait_until_asked(first, 1)
    with pytest.raises(QuotaExceeded) as refused:
        await supervisor.run_job(account, second, other)
    model.answer(first, 1)
    await call

    assert refused.value.details["remaining"] == 3
    assert (second, 1) not in model.asked


async def test_a_failed_edit_gives_its_reservation_back(supervisor: Supervisor, model: Model, shelf: Shelf) -> None:
    account = await shelf.account("free")
    ((book, job),) = await drafts(shelf, account, 1, 10_000)
    call = asyncio.create_task(supervisor.run_job(account, book, job))
    await model.wait_until_asked(book, 1)
    model.fail(book, 1, retryable=False)
    with pytest.raises(UpstreamAIError):
        await call

    model.free = True
    await supervisor.run_job(account, book, job)

    assert await shelf.value(USED, account) == (2, 10_000)


async def test_rewriting_a_draft_is_charged_by_its_words_even_if_the_draft_is_deleted(
    supervisor: Supervisor, model: Model, shelf: Shelf
) -> None:
    account = await shelf.account("free")
    ((book, job),) = await drafts(shelf, account, 1, 10_000)
    call = asyncio.create_task(supervisor.run_job(account, book, job))
    await model.wait_until_asked(book, 1)

    await supervisor.delete_book(account, book)
    model.answer(book, 1)
    await asyncio.gather(call, return_exceptions=True)

    assert await shelf.value(USED, account) == (2, 10_000)


async def test_a_rewrite_is_charged_for_the_words_reserved_at_its_start(
    supervisor: Supervisor, model: Model, shelf: Shelf
) -> None:
    account = await shelf.account("free")
    ((book, job),) = await drafts(shelf, account, 1, 5_000)
    call = asyncio.create_task(supervisor.run_job(account, book, job))
    await model.wait_until_asked(book, 1)
    await shelf.pool.execute("UPDATE chapter SET target_word_count = 20000")
    model.answer(book, 1)
    await call

    assert await shelf.value(USED, account) == (1, 5_000)
