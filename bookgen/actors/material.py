"""Loads a book with its chapters and digests for writing, and stores drafted outlines.

A digest says what later chapters must know about a chapter.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

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
    """Read the book, its chapters and their digests. Raises NotFound if the account has no such book.

    The middle of a very long text is left out (`store.material.MAX_TEXT_CHARACTERS`).
    """
    async with pool.acquire() as connection:
        book = must_exist(await books.find(connection, account_id, book_id))
        chapters, digests = await store.chapters(connection, book_id)
    return Material(book, chapters, digests)


async def note_rest(resources: Resources, account_id: int, book_id: int, steps: StoredSteps) -> None:
    """Have the model make the digests of chapters that have no up-to-date one, such as the last chapter's.

    Each digest is stored at once. If a digest fails, its chapter stays without one until the next call of this
    function. Raises NotFound if the book is gone, and CallsHalted after `steps.halt` is set.
    """
    through_outages = resources.health.through_outages
    material = await through_outages(lambda: load_material(resources.pool, account_id, book_id))
    async for digest in resources.writing.note_rest(material, steps):
        await steps.settle()
        await through_outages(partial(store.keep_digests, resources.pool, book_id, [digest]))


def numbered(chapters: Sequence[OutlineChapter]) -> list[PlannedChapter]:
    """Return the chapters of an outline as rows to store."""
    return [planned(number, chapter) for number, chapter in enumerate(chapters, 1)]


def planned(number: int, chapter: OutlineChapter, seen: Chapter | None = None) -> PlannedChapter:
    return PlannedChapter(number, chapter.title, chapter.summary, chapter.target_word_count, seen, chapter.plan)


async def draft_outline(resources: Resources, book: Book, steps: StoredSteps) -> tuple[int, Save]:
    """Draft an outline. Returns the number of its chapters and a function that stores them.

    Raises UpstreamAIError if the model fails. The returned function counts the outline (`count_outline`), and raises
    QuotaExceeded if the outline is not free and no AI edit is left for it.
    """
    outline = await resources.writing.draft_outline(book, steps)
    plans = numbered(outline.chapters)

    async def save(connection: asyncpg.Connection) -> None:
        await count_outline(resources, connection, book.account_id, book.id)
        await store.replace_outline(connection, book.id, outline.bible, plans)

    return len(plans), save


async def count_outline(resources: Deciding, connection: asyncpg.Connection, account_id: int, book_id: int) -> None:
    """Count an outline that was drafted or reworked. The first few are free; each later one costs an AI edit.

    Raises QuotaExceeded if the outline is not free and the account has no AI edit left.
    """
    quota = resources.quota
    had = await jobs.count_outline(connection, book_id) - 1
    if await outlines.is_free(connection, await quota.standing(connection, account_id), had):
        await outlines.count_free(connection, quota, account_id)
    else:
        await quota.spend(connection, account_id, Allowance.AI_EDITS)
