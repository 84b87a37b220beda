"""An author's hand on the outline: titles, summaries, budgets, order; chapters added and removed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from bookgen.errors import Conflict, GenerationInProgress, InvalidInput, NotFound
from bookgen.models import Book, BookStatus, Chapter, Run, RunStatus
from bookgen.store import books, chapters, material, runs

if TYPE_CHECKING:
    from asyncpg import Connection

MAX_CHAPTERS = 100


@dataclass(frozen=True, slots=True)
class Place:
    """What stands at one place of the revised outline: a chapter that exists, or one to be made."""

    chapter: Chapter | None
    title: str
    summary: str
    target_word_count: int


async def revise(
    connection: Connection, account_id: int, book_id: int, entries: Sequence[Mapping[str, Any]], *, replace: bool
) -> None:
    """Persists the edits in one transaction; refuses them while a run is writing the book."""
    async with connection.transaction():
        state = await runs.lock_book(connection, account_id, book_id, call_seconds=0)
        if state is None:
            raise NotFound
        if state.job:
            raise Conflict(f"The book's {state.job} is being made. Try again when it is done.")
        if state.run and state.run.status in (RunStatus.QUEUED, RunStatus.RUNNING):
            raise GenerationInProgress
        existing = await chapters.lock_of_book(connection, book_id)
        book = await books.lock(connection, account_id, book_id)
        if book is None:
            raise NotFound
        places = plan(book, existing, entries, replace=replace)
        if state.run and state.run.status is RunStatus.PAUSED:
            _protect_written(existing, places, state.run)
        await material.call_off_job(connection, book_id)
        await _write(connection, book, places)


def plan(
    book: Book, existing: Sequence[Chapter], entries: Sequence[Mapping[str, Any]], *, replace: bool
) -> list[Place]:
    """The outline as it shall be, in order."""
    matches = [_match(existing, entry) for entry in entries]
    named = [chapter.id for chapter in matches if chapter]
    if len(named) != len(set(named)):
        raise InvalidInput(chapters=["Two entries name the same chapter."])
    of_chapter = {chapter.id: entry for chapter, entry in zip(matches, entries, strict=True) if chapter}
    added = [entry for chapter, entry in zip(matches, entries, strict=True) if chapter is None]
    count = len(entries) if replace else len(existing) + len(added)
    if count > MAX_CHAPTERS or (count == 0 and replace):
        raise InvalidInput(chapters=[f"An outline has 1 to {MAX_CHAPTERS} chapters."])
    budget = max(1, book.target_word_count // max(1, count))
    if replace:
        return [_place(chapter, entry, budget) for chapter, entry in zip(matches, entries, strict=True)]
    kept = [_place(chapter, of_chapter.get(chapter.id, {}), budget) for chapter in existing]
    return kept + [_place(None, entry, budget) for entry in added]


def _match(existing: Sequence[Chapter], entry: Mapping[str, Any]) -> Chapter | None:
    """By id, else by number."""
    by_id = next((chapter for chapter in existing if chapter.id == entry.get("id")), None)
    return by_id or next((c for c in existing if c.chapter_number == entry.get("chapter_number")), None)


def _place(chapter: Chapter | None, entry: Mapping[str, Any], budget: int) -> Place:
    if chapter is None and "title" not in entry:
        raise InvalidInput(chapters=["A new chapter needs a title."])
    return Place(
        chapter,
        entry.get("title", chapter.title if chapter else ""),
        entry.get("summary", chapter.summary if chapter else ""),
        entry.get("target_word_count", chapter.target_word_count if chapter else budget),
    )


def _protect_written(existing: Sequence[Chapter], places: Sequence[Place], run: Run) -> None:
    """A paused run's written chapters, and the one whose call is in flight, stay as they are."""
    left_alone = {
        place.chapter.id
        for number, place in enumerate(places, 1)
        if place.chapter and _same(place.chapter, place) and place.chapter.chapter_number == number
    }
    for chapter in existing:
        in_flight = run.call_started_at is not None and chapter.chapter_number == run.current_chapter
        if (chapter.content or in_flight) and chapter.id not in left_alone:
            raise Conflict(f"Chapter {chapter.chapter_number} is written already; only chapters to come can change.")


def _same(chapter: Chapter, place: Place) -> bool:
    return (chapter.title, chapter.summary, chapter.target_word_count) == (
        place.title,
        place.summary,
        place.target_word_count,
    )


# Two chapters may share a number between the statements of this transaction.
DEFER_NUMBERS = "SET CONSTRAINTS chapter_book_id_chapter_number_key DEFERRED"

RECOUNT_RUN = "UPDATE run SET total = $2 WHERE book_id = $1 AND status = 'paused'"


async def _write(connection: Connection, book: Book, places: Sequence[Place]) -> None:
    kept = {place.chapter.id: number for number, place in enumerate(places, 1) if place.chapter}
    await connection.execute(DEFER_NUMBERS)
    await chapters.delete_others(connection, book.id, list(kept))
    await chapters.renumber(connection, book.id, kept)
    for number, place in enumerate(places, 1):
        if place.chapter is None:
            await chapters.insert(connection, book.id, number, place.title, place.summary, place.target_word_count)
        elif not _same(place.chapter, place):
            await chapters.describe(connection, place.chapter.id, place.title, place.summary, place.target_word_count)
    if not places:
        return
    unwritten = any(place.chapter is None or not place.chapter.content for place in places)
    await books.save(connection, book, {"chapter_count": len(places), "status": _status(book.status, unwritten)})
    await connection.execute(RECOUNT_RUN, book.id, len(places))


def _status(status: BookStatus, unwritten: bool) -> BookStatus:
    if status is BookStatus.DRAFT or (status is BookStatus.COMPLETED and unwritten):
        return BookStatus.OUTLINE
    return status
