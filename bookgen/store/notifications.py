"""Notifications between processes: a book's run has changed or waits, a process has joined, a provider is busy.

Notifications may get lost, so nothing depends on them alone.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Awaitable, Callable
from typing import Any

import asyncpg
import structlog

from bookgen.store.connecting import connect
from bookgen.store.outages import is_transient

log = structlog.get_logger()

CHANNEL = "bookgen_run"
# Sent in place of a book id.
JOINED = 0
WAITING = -1  # a run waits for a process that takes it

BUSY = "bookgen_busy"  # a provider's rate limit was reached

RECONNECT_SECONDS = 1.0
PROBE_SECONDS, ANSWER_SECONDS = 30.0, 5.0  # a firewall may drop an idle connection without notifying either end

NOTIFY = "SELECT pg_notify($1, $2)"


async def notify(connection: asyncpg.Connection, book_id: int) -> None:
    """Notify all processes, once this transaction commits, that the book's run has changed."""
    await connection.execute(NOTIFY, CHANNEL, str(book_id))


async def notify_waiting(connection: asyncpg.Connection) -> None:
    """Notify all processes, once this transaction commits, that a run waits for one of them to take it."""
    await connection.execute(NOTIFY, CHANNEL, str(WAITING))


async def notify_joined(pool: asyncpg.Pool) -> None:
    """Notify all processes that this one has joined.

    They then drop their cached statuses, because the new process may change any book.
    """
    await pool.execute(NOTIFY, CHANNEL, str(JOINED))


async def notify_busy(pool: asyncpg.Pool, model: str, seconds: float) -> None:
    """Notify all processes that the model's provider must not be called for this many seconds."""
    await pool.execute(NOTIFY, BUSY, f"{seconds:.3f} {model}")


async def listen(
    dsn: str,
    on_change: Callable[[int], None],
    on_busy: Callable[[str, float], None],
    on_listening: Callable[[], Awaitable[None]],
) -> None:
    """Listen for notifications on a separate connection until cancelled. Reconnects if the connection is lost.

    `on_change` receives the id of a book whose run has changed; JOINED when a process has joined; or WAITING when a run
    waits to be taken. `on_busy` receives a model, and for how many seconds its provider must not be called.
    `on_listening` is called each time listening starts, because notifications may have been missed before.
    """

    def heard(_connection: Any, _pid: int, _channel: str, payload: str) -> None:
        on_change(int(payload))

    def heard_busy(_connection: Any, _pid: int, _channel: str, payload: str) -> None:
        seconds, _, model = payload.partition(" ")
        on_busy(model, float(seconds))

    while True:
        try:
            connection = await connect(dsn, timeout=5.0)
            try:
                gone = asyncio.Event()
                connection.add_termination_listener(lambda _connection, gone=gone: gone.set())
                await connection.add_listener(CHANNEL, heard)
                await connection.add_listener(BUSY, heard_busy)
                await on_listening()
                await _until_gone(connection, gone)
            finally:
                connection.terminate()
        except Exception as error:  # no error may end the loop: this process would miss all notifications of the others
            if is_transient(error):
                log.debug("notifications_unreachable", reason=str(error))
            else:
                log.exception(
                    "listening_failed",
                    what="This process does not receive the database's notifications for a moment.",
                    to_do="The process listens again in a second. If this repeats, report the traceback as a bug.",
                )
        await asyncio.sleep(RECONNECT_SECONDS)


async def _until_gone(connection: asyncpg.Connection, gone: asyncio.Event) -> None:
    """Wait until the connection is lost. Raises TimeoutError if the server no longer answers on it."""
    while not gone.is_set():
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(PROBE_SECONDS):
                await gone.wait()
                return
        await probe(connection, ANSWER_SECONDS)


PROBE = "SELECT 1"


async def probe(connection: asyncpg.Connection, seconds: float) -> None:
    """Check that the server answers on this connection. Raises TimeoutError after `seconds`."""
    await connection.execute(PROBE, timeout=seconds)
