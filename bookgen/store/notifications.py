"""Notifications between processes: a book's run has changed, or another process has come.

One may get lost, so nothing depends on them alone.
"""

from __future__ import annotations

import asyncpg

CHANNEL = "bookgen_run"
JOINED = 0  # in place of a book

BUSY = "bookgen_busy"  # a provider's limit was met

NOTIFY = "SELECT pg_notify($1, $2)"


async def notify(connection: asyncpg.Connection, book_id: int) -> None:
    """Tells all processes, once this transaction is committed, that the book's run has changed."""
    await connection.execute(NOTIFY, CHANNEL, str(book_id))


async def tell_of_joining(pool: asyncpg.Pool) -> None:
    """Tells all processes that another one has come, which may change any book."""
    await pool.execute(NOTIFY, CHANNEL, str(JOINED))


async def tell_of_busy(pool: asyncpg.Pool, model: str, seconds: float) -> None:
    """Tells all processes that the model's provider wants no call for so long."""
    await pool.execute(NOTIFY, BUSY, f"{seconds:.3f} {model}")


PROBE = "SELECT 1"


async def probe(connection: asyncpg.Connection, seconds: float) -> None:
    """TimeoutError when the server does not answer on the connection within so many seconds."""
    await connection.execute(PROBE, timeout=seconds)
