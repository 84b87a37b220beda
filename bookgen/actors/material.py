"""A book as writing needs it, and an outline on its way into the database."""

from __future__ import annotations

from collections.abc import Sequence

import asyncpg

from bookgen.actors.resources import Deciding, Resources, Save
from bookgen.actors.steps import StoredSteps
from bookgen.billing import outlines
from bookgen.errors import must_exist
from bookgen.models import Allowance, Book, Chapter
from bookgen.store import books, jobs
from bookgen.store import material as store
from bookgen.store.material import PlannedChapter
from bookgen.writing.material import Material, OutlineChapter


async def load_material(pool: asyncpg.Pool, account_id: int, book_id: int) -> Material:
    """Reads the book, its chapters and what they are summed up as. NotFound.

    Of a very long text the middle is left out, as `store.material.MAX_TEXT_CHARACTERS` says.
    """
    async with pool.acquire() as connection:
        book = must_exist(await books.find(connection, account_id, book_id))
        chapters, digests = await store.chapters(connection, book_id)
    return Material(book, chapters, digests)


def numbered(chapters: Sequence[OutlineChapter]) -> list[PlannedChapter]:
    """Chapters of an outline as they are stored."""
    return [planned(number, chapter) for number, chapter in enumerate(chapters, 1)]


def planned(number: int, chapter: OutlineChapter, seen: Chapter | None = None) -> PlannedChapter:
    return PlannedChapter(number, chapter.title, chapter.summary, chapter.target_word_count, seen)


async def drafted(resources: Resources, book: Book, steps: StoredSteps) -> tuple[int, Save]:
    """Drafts an outline: how many chapters it has, and what stores them as the book's only ones. UpstreamAIError."""
    outline = await resources.writing.draft_outline(book, steps)
    plans = numbered(outline.chapters)

    async def save(connection: asyncpg.Connection) -> None:
        await count_outline(resources, connection, book.account_id, book.id)
        await store.replace_outline(connection, book.id, outline.bible, plans)

    return len(plans), save


async def count_outline(resources: Deciding, connection: asyncpg.Connection, account_id: int, book_id: int) -> None:
    """An outline or a rework beyond the free ones of the book, or of the period, is an AI edit. QuotaExceeded."""
    quota = resources.quota
    had = await jobs.count_outline(connection, book_id) - 1
    if await outlines.is_free(connection, await quota.standing(connection, account_id), had):
        await outlines.count_free(connection, quota, account_id)
    else:
        await quota.spend(connection, account_id, Allowance.AI_EDITS)
