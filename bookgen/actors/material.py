"""A book as writing wants it."""

from __future__ import annotations

from collections.abc import Sequence

import asyncpg

from bookgen.errors import must_exist
from bookgen.models import Chapter
from bookgen.store import books
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
