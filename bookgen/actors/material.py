"""A book as writing wants it."""

from __future__ import annotations

import asyncpg

from bookgen.errors import NotFound
from bookgen.store import material as store
from bookgen.writing.material import Material


async def load_material(pool: asyncpg.Pool, account_id: int, book_id: int) -> Material:
    async with pool.acquire() as connection:
        book = await store.book(connection, account_id, book_id)
        chapters, digests = await store.chapters(connection, book_id)
    if book is None:
        raise NotFound
    return Material(book, chapters, digests)
