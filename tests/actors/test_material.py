"""The material of a chapter: the current book, loaded again only after someone else changed it."""

from __future__ import annotations

import tracemalloc
from dataclasses import replace

import pytest

from bookgen.actors.material import load_material
from bookgen.actors.messages import Generate
from bookgen.actors.supervisor import Supervisor
from bookgen.billing.quota import Quota
from bookgen.models import Digest
from bookgen.services import editing
from bookgen.store import books
from bookgen.store.material import MAX_TEXT_CHARACTERS, keep_digests
from bookgen.writing.continuity import stored_digest
from bookgen.writing.fingerprint import content_hash
from bookgen.writing.material import Material

from .conftest import BeginRun, Model, Shelf, Start, until

WAITS_FOR_A_LOCK = """
    SELECT EXISTS (SELECT FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock')
"""


async def test_a_book_that_nobody_edits_is_loaded_once_and_its_chapters_are_added_as_they_are_written(
    supervisor: Supervisor, model: Model, shelf: Shelf
) -> None:
    model.free = True
    account, book = await shelf.outlined(chapters=3)
    await supervisor.ask(account, book, Generate())
    await shelf.until_status(book, "completed")

    first, second, third = model.given[book]
    assert first.book is second.book is third.book
    assert _texts(second) == [f"Text of {(book, 1)}.", "", ""]
    assert _texts(third) == [f"Text of {(book, 1)}.", f"Text of {(book, 2)}.", ""]
    assert third.digests == {number: model.digest(book, number) for number in (1, 2)}
    stored = await load_material(shelf.pool, account, book)
    assert stored.digests.items() >= third.digests.items()
    ours, theirs = third.chapters[1], stored.chapters[1]
    assert replace(ours, updated_at=theirs.updated_at, written_at=theirs.written_at) == theirs


@pytest.mark.parametrize("change", ["text", "summary", "description"])
async def test_an_edit_during_a_call_is_in_the_material_of_the_next_call(
    supervisor: Supervisor, model: Model, shelf: Shelf, change: str
) -> None:
    account, book = await shelf.outlined(chapters=3)
    await supervisor.ask(account, book, Generate())
    model.answer(book, 1)
    await model.wait_until_asked(book, 2)

    async with shelf.pool.acquire() as connection:
        if change == "description":
            found = await books.find(connection, account, book)
            assert found
            await books.save(connection, found, {"description": "Mine."})
        else:
            changes = {"content": "Mine."} if change == "text" else {"summary": "Mine."}
            number = 1 if change == "text" else 3
            chapter = await shelf.chapter_id(book, number)
            await editing.save_chapter(connection, Quota(billing=True), account, chapter, changes)
    model.answer(book, 2)
    await model.wait_until_asked(book, 3)

    material = model.given[book][2]
    seen = {
        "text": material.chapters[0].content,
        "summary": material.chapters[2].summary,
        "description": material.book.description,
    }
    assert seen[change] == "Mine."
    assert material.chapters[1].content == f"Text of {(book, 2)}."


async def test_a_book_that_waits_for_a_slot_is_loaded_when_it_gets_one(
    start: Start, model: Model, shelf: Shelf
) -> None:
    supervisor = await start(chapters_at_once=1)
    ours = [(account, await shelf.book(account, chapters=2)) for account in [await shelf.account() for _ in "ab"]]
    (_, first), (_, second) = ours
    for account, book in ours:
        await supervisor.ask(account, book, Generate())
        await model.wait_until_asked(first, 1)  # before the second could take the only place
    await until(lambda: supervisor.counts()["running"] == 2)
    model.answer(first, 1)
    await model.wait_until_asked(second, 1)
    await shelf.until("SELECT current_chapter = 2 FROM run WHERE book_id = $1", first)  # and waits for a slot

    await shelf.pool.execute("UPDATE chapter SET summary = 'Mine.' WHERE book_id = $1", first)
    model.free = True
    model.answer(second, 1)
    await shelf.until_status(first, "completed")

    assert model.given[first][1].chapters[1].summary == "Mine."


async def test_an_edit_that_holds_up_a_checkpoint_is_in_the_material_of_the_next_chapter(
    begun: BeginRun, model: Model, shelf: Shelf
) -> None:
    account, book = await begun(chapters=3)

    chapter = await shelf.chapter_id(book, 1)
    async with shelf.pool.acquire() as connection, connection.transaction():
        await editing.save_chapter(connection, Quota(billing=True), account, chapter, {"content": "Mine."})
        model.answer(book, 1)
        await shelf.until(WAITS_FOR_A_LOCK)
    await model.wait_until_asked(book, 2)

    assert _texts(model.given[book][1]) == ["Mine.", "", ""]


async def test_writing_a_book_of_very_long_chapters_needs_little_memory(shelf: Shelf) -> None:
    """Ten chapters of a million characters each, pasted in by the author."""
    account, book = await shelf.outlined(chapters=10)
    await shelf.pool.execute(
        """UPDATE chapter SET content = 'It began in ' || chapter_number || '. ' || repeat('Слово за словом. ', 58800)
                                        || 'It ended.' WHERE book_id = $1""",
        book,
    )
    await load_material(shelf.pool, account, book)  # memory that a connection allocates on first use is not counted

    tracemalloc.start()
    try:
        material = await load_material(shelf.pool, account, book)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()

    assert (
        peak < 10 * 5 * MAX_TEXT_CHARACTERS
    )  # two bytes per character, and what is in transit; complete, they are 20 MB
    text = material.chapters[6].content
    assert text.startswith("It began in 7. Слово")
    assert text.endswith("словом. It ended.")
    assert MAX_TEXT_CHARACTERS < len(text) < MAX_TEXT_CHARACTERS + 10


async def test_the_digest_of_a_very_long_text_is_valid_until_the_text_changes(shelf: Shelf) -> None:
    account, book = await shelf.outlined(chapters=1)
    chapter = await shelf.chapter_id(book, 1)
    text = "Слово за словом. " * (MAX_TEXT_CHARACTERS // 10)
    await shelf.pool.execute("UPDATE chapter SET content = $2 WHERE id = $1", chapter, text)
    of_the_whole = Digest(1, content_hash(text), "What its writer noted.", (), (), ())
    await keep_digests(shelf.pool, book, [of_the_whole])

    material = await load_material(shelf.pool, account, book)
    assert _summaries(material) == ["What its writer noted."]

    await shelf.pool.execute("UPDATE chapter SET content = 'New. ' || content WHERE id = $1", chapter)
    material = await load_material(shelf.pool, account, book)
    assert _summaries(material) == [None]

    of_the_ends = Digest(1, content_hash(material.chapters[0].content), "What was noted later.", (), (), ())
    await keep_digests(shelf.pool, book, [of_the_ends])
    material = await load_material(shelf.pool, account, book)
    assert _summaries(material) == ["What was noted later."]


async def test_a_very_long_text_is_cut_when_it_is_loaded_for_the_next_chapter(begun: BeginRun, model: Model) -> None:
    _, book = await begun(chapters=2)

    model.answer(book, 1, "Word for word. " * (MAX_TEXT_CHARACTERS // 10))
    await model.wait_until_asked(book, 2)

    assert len(model.given[book][1].chapters[0].content) < MAX_TEXT_CHARACTERS + 10


def _summaries(material: Material) -> list[str | None]:
    """The digests of the current texts."""
    digests = [stored_digest(material, chapter) for chapter in material.chapters]
    return [digest and digest.summary for digest in digests]


def _texts(material: Material) -> list[str]:
    return [chapter.content for chapter in material.chapters]
