"""An outline on its way into the database, drafted by whoever writes the book."""

from __future__ import annotations

import asyncpg

from bookgen.actors.material import numbered
from bookgen.actors.resources import Deciding, Resources, Save
from bookgen.actors.steps import StoredSteps
from bookgen.billing import outlines
from bookgen.models import Allowance, Book
from bookgen.store import jobs
from bookgen.store import material as store


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
