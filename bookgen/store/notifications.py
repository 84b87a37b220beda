"""Notifications between processes: a book's run has changed, or another process has come.

One may get lost, so nothing depends on them alone.
"""

from __future__ import annotations

import asyncpg

CHANNEL = "bookgen_run"
JOINED = 0  # in place of a book

NOTIFY = "SELECT pg_notify($1, $2)"


async def notify(connection: asyncpg.Connection, book_id: int) -> None:
    """Tells all processes, once this transaction is committed, that the book's run has changed."""
    await connection.execute(NOTIFY, CHANNEL, str(book_id))


async def tell_of_joining(pool: asyncpg.Pool) -> None:
    """Tells all processes that another one has come, which may change any book."""
    await pool.execute(NOTIFY, CHANNEL, str(JOINED))
