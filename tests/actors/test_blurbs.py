"""Background blurbs: drafted once after a run, never over the author's, and never delaying a book."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

import pytest

from bookgen.actors.blurbs import MAX_TRIES, MAX_UNUSABLE_TRIES
from bookgen.actors.messages import Generate, Stop
from bookgen.actors.supervisor import Supervisor
from bookgen.billing.cost_caps import CostCaps
from bookgen.models import Digest
from bookgen.writing.fingerprint import content_hash
from bookgen.writing.material import Material
from bookgen.writing.steps import Steps

from .conftest import BLURB, Model, Shelf, Start, ask, crash, draft_blurb, refuse_blurb

BLURB_OF = "SELECT blurb FROM book WHERE id = $1"
CALLS = "SELECT count(*) FROM model_call WHERE book_id = $1 AND stage = 'blurb'"
NOTHING_LEFT = "SELECT NOT EXISTS (SELECT FROM blurb_draft) AND NOT EXISTS (SELECT FROM step)"
NEWEST_DIGEST = """
    SELECT d.summary FROM digest d JOIN chapter c ON c.id = d.chapter_id
     WHERE c.book_id = $1 ORDER BY d.created_at DESC LIMIT 1
"""
NOTE = 98  # used as a chapter number
DUE = "UPDATE blurb_draft SET due_at = now() WHERE owner IS NULL"


class Novelist:
    """An account with a book of one written chapter."""

    def __init__(self, shelf: Shelf, account: int, book: int) -> None:
        self.shelf, self.account, self.book = shelf, account, book

    @classmethod
    async def of(cls, shelf: Shelf) -> Novelist:
        return cls(shelf, *await shelf.outlined(1))

    async def write(self, supervisor: Supervisor) -> None:
        """Run the book to its end."""
        await supervisor.ask(self.account, self.book, Generate())
        await self.shelf.until_status(self.book, "completed")

    async def blurb(self) -> str:
        return str(await self.shelf.value(BLURB_OF, self.book))

    async def until_blurb(self, blurb: str) -> None:
        await self.shelf.until("SELECT blurb = $2 FROM book WHERE id = $1", self.book, blurb)


@pytest.fixture
async def author(shelf: Shelf) -> Novelist:
    return await Novelist.of(shelf)


@pytest.fixture
async def supervisor(start: Start, model: Model, author: Novelist) -> Supervisor:
    """A supervisor whose model answers every call except the one for the blurb."""
    model.free = True
    model.kept.add((author.book, BLURB))
    return await start(draft_blurb=draft_blurb)


async def test_a_blurb_is_drafted_after_the_run_and_recorded_in_the_books_ledger(
    supervisor: Supervisor, shelf: Shelf, author: Novelist, model: Model
) -> None:
    await author.write(supervisor)
    await model.wait_until_asked(author.book, BLURB)
    assert await author.blurb() == ""
    before = await shelf.value("SELECT updated_at FROM book WHERE id = $1", author.book)

    model.answer(author.book, BLURB, "A blurb.")
    await author.until_blurb("A blurb.")

    await shelf.until(NOTHING_LEFT)
    assert await shelf.value(CALLS, author.book) == 1
    assert await shelf.value("SELECT updated_at > $2 FROM book WHERE id = $1", author.book, before), "files are stale"
    assert await shelf.value("SELECT status FROM book WHERE id = $1", author.book) == "completed"


async def test_a_blurb_call_that_never_returns_does_not_hold_up_the_run_or_the_account(
    supervisor: Supervisor, shelf: Shelf, author: Novelist, model: Model
) -> None:
    await author.write(supervisor)
    await model.wait_until_asked(author.book, BLURB)

    assert (await shelf.run(author.book))["status"] == "completed"
    other = await shelf.book(author.account, 1)
    await supervisor.ask(author.account, other, Generate())
    await shelf.until_status(other, "completed")
    assert model.asked[author.book, BLURB] == 1
    assert await author.blurb() == ""


async def test_no_blurb_is_drafted_for_a_book_that_has_one(
    supervisor: Supervisor, shelf: Shelf, author: Novelist, model: Model
) -> None:
    await shelf.pool.execute("UPDATE book SET blurb = 'Mine.'")

    await author.write(supervisor)

    assert await shelf.value("SELECT count(*) FROM blurb_draft") == 0
    assert model.asked[author.book, BLURB] == 0
    assert await author.blurb() == "Mine."


async def test_a_blurb_that_the_author_writes_during_the_call_is_kept(
    supervisor: Supervisor, shelf: Shelf, author: Novelist, model: Model
) -> None:
    await author.write(supervisor)
    await model.wait_until_asked(author.book, BLURB)

    await shelf.pool.execute("UPDATE book SET blurb = 'Mine.'")
    model.answer(author.book, BLURB, "A blurb.")
    await shelf.until(NOTHING_LEFT)

    assert await author.blurb() == "Mine."
    assert await shelf.value(CALLS, author.book) == 1, "what was paid for is entered"


async def test_a_blurb_that_the_author_has_cleared_stays_empty(
    supervisor: Supervisor, shelf: Shelf, author: Novelist, model: Model
) -> None:
    model.kept.clear()
    await author.write(supervisor)
    await author.until_blurb(f"Text of {(author.book, BLURB)}.")
    await shelf.until(NOTHING_LEFT)

    await shelf.pool.execute("UPDATE book SET blurb = ''")
    other = await Novelist.of(shelf)
    await other.write(supervisor)
    await other.until_blurb(f"Text of {(other.book, BLURB)}.")

    assert await author.blurb() == ""


async def test_another_process_drafts_the_blurb_after_a_crash(
    start: Start, supervisor: Supervisor, shelf: Shelf, author: Novelist, model: Model
) -> None:
    await author.write(supervisor)
    await model.wait_until_asked(author.book, BLURB)

    await crash(supervisor, shelf)
    await start(draft_blurb=draft_blurb)
    await model.wait_until_asked(author.book, BLURB, 2)
    model.answer(author.book, BLURB, "A blurb.")
    await author.until_blurb("A blurb.")

    await shelf.until(NOTHING_LEFT)


async def test_a_reply_stored_before_the_crash_is_not_paid_for_again(
    start: Start, model: Model, shelf: Shelf, author: Novelist
) -> None:
    model.free = True
    held = asyncio.Event()

    async def draft_and_hang(material: Material, steps: Steps) -> str:
        await draft_blurb(material, steps)
        await steps.settle()  # type: ignore[attr-defined]
        held.set()
        await asyncio.Event().wait()
        raise AssertionError

    before = await start(draft_blurb=draft_and_hang)
    await author.write(before)
    await asyncio.wait_for(held.wait(), 10)

    await crash(before, shelf)
    await start(draft_blurb=draft_blurb)
    await author.until_blurb(f"Text of {(author.book, BLURB)}.")

    assert model.asked[author.book, BLURB] == 1
    assert await shelf.value(CALLS, author.book) == 1


async def test_the_last_chapter_is_noted_once_even_if_the_process_dies_before_the_blurb(
    start: Start, model: Model, shelf: Shelf, author: Novelist
) -> None:
    model.free = True
    model.kept.add((author.book, BLURB))

    async def note_last(material: Material, steps: Steps) -> AsyncIterator[Digest]:
        if material.digests[1].summary != "The note.":
            await steps.reply(ask("digest", material.book.id, NOTE))
            yield Digest(1, content_hash(material.chapters[0].content), "The note.")

    before = await start(draft_blurb=draft_blurb, note_rest=note_last)
    await author.write(before)
    await model.wait_until_asked(author.book, BLURB)
    assert await shelf.value(NEWEST_DIGEST, author.book) == "The note."

    await crash(before, shelf)
    await start(draft_blurb=draft_blurb, note_rest=note_last)
    await model.wait_until_asked(author.book, BLURB, 2)

    assert model.asked[author.book, NOTE] == 1
    assert await shelf.value("SELECT count(*) FROM model_call WHERE stage = 'digest'") == 1


async def test_a_process_that_drains_lets_the_call_finish(
    supervisor: Supervisor, shelf: Shelf, author: Novelist, model: Model
) -> None:
    await author.write(supervisor)
    await model.wait_until_asked(author.book, BLURB)
    supervisor.resources.draining = True
    supervisor.blurbs.halt()

    model.answer(author.book, BLURB, "A blurb.")
    await author.until_blurb("A blurb.")


async def test_a_process_that_stops_releases_a_blurb_without_counting_the_try(
    start: Start, supervisor: Supervisor, shelf: Shelf, author: Novelist, model: Model
) -> None:
    await author.write(supervisor)
    await model.wait_until_asked(author.book, BLURB)

    await supervisor.drain(0)
    assert tuple(await shelf.pool.fetchrow("SELECT owner, tries FROM blurb_draft")) == (None, 0)
    await start(draft_blurb=draft_blurb)
    await model.wait_until_asked(author.book, BLURB, 2)


async def test_an_unreachable_model_is_retried_later_for_a_limited_time(
    supervisor: Supervisor, shelf: Shelf, author: Novelist, model: Model
) -> None:
    await author.write(supervisor)
    for tries in range(1, MAX_TRIES + 1):
        await model.wait_until_asked(author.book, BLURB, tries)
        model.fail(author.book, BLURB, retryable=True)
        if tries < MAX_TRIES:
            await shelf.until("SELECT due_at > now() + interval '50 seconds' FROM blurb_draft WHERE owner IS NULL")
            await shelf.pool.execute(DUE)
            supervisor.resources.blurb_queued.set()

    await shelf.until(NOTHING_LEFT)
    assert model.asked[author.book, BLURB] == MAX_TRIES
    assert await author.blurb() == ""
    assert (await shelf.run(author.book))["status"] == "completed"


async def test_an_unusable_reply_is_dropped_and_requested_once_more(
    supervisor: Supervisor, shelf: Shelf, author: Novelist, model: Model
) -> None:
    await author.write(supervisor)
    for tries in range(1, MAX_UNUSABLE_TRIES + 1):
        await model.wait_until_asked(author.book, BLURB, tries)
        model.answer(author.book, BLURB, "Nonsense.")
        if tries < MAX_UNUSABLE_TRIES:
            await shelf.until("SELECT EXISTS (SELECT FROM blurb_draft WHERE owner IS NULL)")
            await shelf.pool.execute(DUE)
            supervisor.resources.blurb_queued.set()

    await shelf.until(NOTHING_LEFT)
    assert model.asked[author.book, BLURB] == MAX_UNUSABLE_TRIES
    assert await author.blurb() == ""
    assert await shelf.value(CALLS, author.book) == MAX_UNUSABLE_TRIES


async def test_a_refusal_by_the_model_is_not_retried(
    start: Start, model: Model, shelf: Shelf, author: Novelist
) -> None:
    model.free = True
    await author.write(await start(draft_blurb=refuse_blurb))

    await shelf.until(NOTHING_LEFT)

    assert await author.blurb() == ""


async def test_an_unexpected_error_ends_the_drafting(
    start: Start, model: Model, shelf: Shelf, author: Novelist
) -> None:
    async def broken(material: Material, steps: Steps) -> str:
        raise ZeroDivisionError

    model.free = True
    supervisor = await start(draft_blurb=broken)
    await author.write(supervisor)

    await shelf.until(NOTHING_LEFT)

    assert await author.blurb() == ""


async def test_a_blurb_that_kills_its_process_repeatedly_is_given_up(
    start: Start, model: Model, shelf: Shelf, author: Novelist
) -> None:
    await shelf.pool.execute("UPDATE book SET status = 'completed'")
    await shelf.pool.execute(
        "INSERT INTO blurb_draft (book_id, task, tries) VALUES ($1, gen_random_uuid(), $2)", author.book, MAX_TRIES
    )

    await start(draft_blurb=draft_blurb)
    await shelf.until(NOTHING_LEFT)

    assert model.asked[author.book, BLURB] == 0


async def test_a_rewritten_book_gets_a_blurb_for_its_new_text(
    supervisor: Supervisor, shelf: Shelf, author: Novelist, model: Model
) -> None:
    await author.write(supervisor)
    await model.wait_until_asked(author.book, BLURB)
    model.kept.add((author.book, 1))
    await supervisor.ask(author.account, author.book, Generate())
    await model.wait_until_asked(author.book, 1, 2)

    model.answer(author.book, BLURB, "Of the old text.")
    await shelf.until(NOTHING_LEFT)
    assert await author.blurb() == "", "the book is being written"

    model.answer(author.book, 1)
    await model.wait_until_asked(author.book, BLURB, 2)
    model.answer(author.book, BLURB, "Of the new text.")
    await author.until_blurb("Of the new text.")


async def test_a_blurb_for_the_old_text_is_dropped_if_the_new_text_is_finished_first(
    supervisor: Supervisor, shelf: Shelf, author: Novelist, model: Model
) -> None:
    await author.write(supervisor)
    await model.wait_until_asked(author.book, BLURB)
    await supervisor.ask(author.account, author.book, Generate())
    await shelf.until("SELECT count(*) = 2 FROM run WHERE status = 'completed'")

    model.answer(author.book, BLURB, "Of the old text.")
    await model.wait_until_asked(author.book, BLURB, 2)
    assert await author.blurb() == ""
    model.answer(author.book, BLURB, "Of the new text.")
    await author.until_blurb("Of the new text.")

    await shelf.until(NOTHING_LEFT)


async def test_a_stopped_run_gets_no_blurb(
    supervisor: Supervisor, shelf: Shelf, author: Novelist, model: Model
) -> None:
    model.kept.add((author.book, 1))
    await supervisor.ask(author.account, author.book, Generate())
    await model.wait_until_asked(author.book, 1)

    await supervisor.ask(author.account, author.book, Stop())

    assert await shelf.value("SELECT count(*) FROM blurb_draft") == 0


async def test_a_deleted_book_takes_its_blurb_with_it(
    supervisor: Supervisor, shelf: Shelf, author: Novelist, model: Model
) -> None:
    await author.write(supervisor)
    await model.wait_until_asked(author.book, BLURB)

    await supervisor.delete_book(author.account, author.book)
    model.answer(author.book, BLURB, "A blurb.")

    await shelf.until(NOTHING_LEFT)
    await shelf.until("SELECT count(*) = 1 FROM model_call WHERE stage = 'blurb' AND book_id IS NULL")


async def test_a_process_without_a_model_drafts_no_sample_blurb_for_a_real_book(
    supervisor: Supervisor, start: Start, shelf: Shelf, author: Novelist, model: Model
) -> None:
    await author.write(supervisor)
    await model.wait_until_asked(author.book, BLURB)
    await supervisor.drain(0)

    model.name = "offline"
    sampling = await start(draft_blurb=draft_blurb)
    sample = await Novelist.of(shelf)
    await sample.write(sampling)
    await sample.until_blurb(f"Text of {(sample.book, BLURB)}.")

    assert model.asked[author.book, BLURB] == 1
    assert await shelf.value("SELECT tries FROM blurb_draft WHERE book_id = $1", author.book) == 0


async def test_cost_caps_apply_to_blurbs(start: Start, model: Model, shelf: Shelf, author: Novelist) -> None:
    model.free = True
    supervisor = await start(draft_blurb=draft_blurb, caps=CostCaps(book=25), price=lambda model, usage: 20)

    await author.write(supervisor)
    await shelf.until("SELECT tries = 1 AND owner IS NULL FROM blurb_draft")

    assert await author.blurb() == ""
    assert await shelf.value(CALLS, author.book) == 0
