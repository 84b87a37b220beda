"""Notifications between processes: a book's run has changed. One may get lost, so nothing depends on them alone."""

from __future__ import annotations

import asyncpg

CHANNEL = "bookgen_run"

NOTIFY = "SELECT pg_notify($1, $2)"


async def notify(connection: asyncpg.Connection, book_id: int) -> None:
    """Tells all processes, once this transaction is committed, that the book's run has changed."""
    await connection.execute(NOTIFY, CHANNEL, str(book_id))
