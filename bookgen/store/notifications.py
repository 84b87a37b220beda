"""Notifications between processes: a book's run has changed or waits, a process has joined, a provider is busy.

A notification may get lost, so nothing depends on them alone.
"""

from __future__ import annotations

import asyncpg

CHANNEL = "bookgen_run"
# Sent in place of a book id.
JOINED = 0
WAITING = -1  # a run waits for a process that takes it

BUSY = "bookgen_busy"  # a provider's rate limit was reached

NOTIFY = "SELECT pg_notify($1, $2)"


async def notify(connection: asyncpg.Connection, book_id: int) -> None:
    """Notify all processes, once this transaction commits, that the book's run has changed."""
    await connection.execute(NOTIFY, CHANNEL, str(book_id))


async def tell_of_waiting(connection: asyncpg.Connection) -> None:
    """Notify all processes, once this transaction commits, that a run waits for one of them to take it."""
    await connection.execute(NOTIFY, CHANNEL, str(WAITING))


async def tell_of_joining(pool: asyncpg.Pool) -> None:
    """Notify all processes that this one has joined and may change any book."""
    await pool.execute(NOTIFY, CHANNEL, str(JOINED))


async def tell_of_busy(pool: asyncpg.Pool, model: str, seconds: float) -> None:
    """Notify all processes that the model's provider wants no calls for this many seconds."""
    await pool.execute(NOTIFY, BUSY, f"{seconds:.3f} {model}")


PROBE = "SELECT 1"


async def probe(connection: asyncpg.Connection, seconds: float) -> None:
    """Check that the server answers on this connection. Raises TimeoutError after `seconds`."""
    await connection.execute(PROBE, timeout=seconds)
