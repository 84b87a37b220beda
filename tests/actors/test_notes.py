"""While earlier chapters are in view, each is noted during the next one, and the note is stored with it."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import AsyncIterator
from functools import partial

import pytest

from bookgen.actors.messages import Generate, RewriteChapter
from bookgen.actors.steps import ConcurrentSteps
from bookgen.actors.supervisor import Supervisor
from bookgen.billing.quota import Quota
from bookgen.providers.offline import OfflineModel
from bookgen.providers.text import TextReply, TextRequest
from bookgen.services import editing
from bookgen.store.database import Database
from bookgen.writing import notes
from bookgen.writing.chapter import write_chapter

from .conftest import Shelf, supervising

SUMMED_UP = """
    SELECT array_agg(c.chapter_number ORDER BY c.chapter_number) FROM chapter c
     WHERE c.book_id = $1
       AND EXISTS (SELECT FROM digest d WHERE d.chapter_id = c.id
                      AND d.content_hash = encode(sha256(convert_to(c.content, 'UTF8')), 'hex'))
"""
PAID_TWICE = """
    SELECT count(*) FROM (SELECT FROM model_call WHERE book_id = $1 AND stage = 'digest' GROUP BY chapter_number
                          HAVING count(*) > 1) AS twice
"""


class HeldNotes(OfflineModel):
    """Answers like the offline model. Chapter 2 waits for `let_go`, notes wait for `answers_notes`."""

    def __init__(self) -> None:
        super().__init__()
        self.asked: Counter[tuple[str, int | None]] = Counter()
        self.waits, self.let_go, self.answers_notes = asyncio.Event(), asyncio.Event(), asyncio.Event()
        self.answers_notes.set()

    async def complete(self, request: TextRequest) -> TextReply:
        self.asked[request.stage, request.chapter_number] += 1
        if request.stage == "digest":
            await self.answers_notes.wait()
        elif request.chapter_number == 2:
            self.waits.set()
            await self.let_go.wait()
        return await super().complete(request)


@pytest.fixture
def model() -> HeldNotes:
    return HeldNotes()


@pytest.fixture
async def writer(database: Database, model: HeldNotes) -> AsyncIterator[Supervisor]:
    async with supervising(database, model, partial(write_chapter, context_tokens=200_000)) as supervisor:
        yield supervisor


async def test_every_chapter_except_the_last_is_noted_once(writer: Supervisor, model: HeldNotes, shelf: Shelf) -> None:
    account, book = await shelf.outlined(chapters=4)
    model.let_go.set()

    await writer.ask(account, book, Generate())
    await shelf.until_status(book, "completed")

    assert await shelf.value(SUMMED_UP, book) == [1, 2, 3]
    assert {asked: times for asked, times in model.asked.items() if asked[0] == "digest"} == {
        ("digest", number): 1 for number in (1, 2, 3)
    }
    assert await shelf.value(PAID_TWICE, book) == 0


async def test_a_chapter_is_written_while_the_note_of_the_previous_one_is_pending(
    writer: Supervisor, model: HeldNotes, shelf: Shelf, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(notes, "SECONDS", 0.5)  # long enough to make the call
    account, book = await shelf.outlined(chapters=3)
    model.let_go.set()
    model.answers_notes.clear()

    await writer.ask(account, book, Generate())
    await shelf.until_status(book, "completed")

    assert all(await shelf.texts(book))
    assert model.asked["digest", 1] >= 1
    assert await shelf.value(SUMMED_UP, book) is None


async def test_a_chapter_that_its_author_edits_is_noted_again(
    writer: Supervisor, model: HeldNotes, shelf: Shelf
) -> None:
    account, book = await shelf.outlined(chapters=4)
    await writer.ask(account, book, Generate())
    await model.waits.wait()
    async with shelf.pool.acquire() as connection:
        text = {"content": "The author's own beginning. It is short."}
        await editing.save_chapter(connection, Quota(billing=True), account, await shelf.chapter_id(book, 1), text)

    model.let_go.set()
    await shelf.until_status(book, "completed")

    assert await shelf.value(SUMMED_UP, book) == [1, 2, 3]
    assert model.asked["digest", 1] == 2


async def test_a_rewritten_chapter_is_noted_at_once(writer: Supervisor, model: HeldNotes, shelf: Shelf) -> None:
    account, book = await shelf.outlined(chapters=3)
    model.let_go.set()
    await writer.ask(account, book, Generate())
    await shelf.until_status(book, "completed")

    await writer.run_job(account, book, RewriteChapter(await shelf.chapter_id(book, 2), 2))

    assert await shelf.value(SUMMED_UP, book) == [1, 2]


async def test_a_note_that_arrives_too_late_to_be_stored_is_recorded_as_paid(
    writer: Supervisor, model: HeldNotes, shelf: Shelf, monkeypatch: pytest.MonkeyPatch
) -> None:
    storing = asyncio.Event()

    async def hang(self: ConcurrentSteps) -> None:
        storing.set()
        await asyncio.Event().wait()

    monkeypatch.setattr(notes, "SECONDS", 0.5)
    monkeypatch.setattr(ConcurrentSteps, "store_last", hang)
    account, book = await shelf.outlined(chapters=2)
    model.let_go.set()

    await writer.ask(account, book, Generate())
    await shelf.until_status(book, "completed")

    assert storing.is_set()
    await shelf.until("SELECT count(*) = 1 FROM model_call WHERE book_id = $1 AND stage = 'digest'", book)
