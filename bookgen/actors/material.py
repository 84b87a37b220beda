"""A book as writing wants it."""

from __future__ import annotations

import asyncio

import asyncpg

from bookgen.errors import NotFound
from bookgen.store import material as store
from bookgen.writing.material import Material


async def load_material(pool: asyncpg.Pool, account_id: int, book_id: int) -> Material:
    book, (chapters, digests) = await asyncio.gather(
        store.book(pool, account_id, book_id), store.chapters(pool, book_id)
    )
    if book is None:
        raise NotFound
    return Material(book, chapters, digests)
