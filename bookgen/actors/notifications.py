"""Listens for notifications of other processes: a run's row has changed (polling finds lost ones), or a provider is
busy.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Awaitable, Callable
from typing import Any

import asyncpg
import structlog

from bookgen.store.notifications import BUSY, CHANNEL, probe
from bookgen.store.outages import is_passing

log = structlog.get_logger()

RECONNECT_SECONDS = 1.0
PROBE_SECONDS, ANSWER_SECONDS = 30.0, 5.0  # a firewall may forget a connection that is idle, and tell neither end


async def listen(
    dsn: str,
    on_change: Callable[[int], None],
    on_busy: Callable[[str, float], None],
    on_listening: Callable[[], Awaitable[None]],
) -> None:
    """Listen on a separate connection until cancelled.

    `on_change` receives the book of every change, `on_busy` the model and seconds of a busy provider. `on_listening` is
    called whenever listening (re)starts, to catch up on missed notifications.
    """

    def heard(_connection: Any, _pid: int, _channel: str, payload: str) -> None:
        on_change(int(payload))

    def heard_busy(_connection: Any, _pid: int, _channel: str, payload: str) -> None:
        seconds, _, model = payload.partition(" ")
        on_busy(model, float(seconds))

    while True:
        try:
            connection = await asyncpg.connect(dsn, timeout=5.0)
            try:
                gone = asyncio.Event()
                connection.add_termination_listener(lambda _connection, gone=gone: gone.set())
                await connection.add_listener(CHANNEL, heard)
                await connection.add_listener(BUSY, heard_busy)
                await on_listening()
                await _until_gone(connection, gone)
            finally:
                connection.terminate()
        except Exception as error:  # none ends it: nobody else would hear of another process, or of its commands
            if is_passing(error):
                log.debug("notifications_unreachable", reason=str(error))
            else:
                log.exception("listening_failed")
        await asyncio.sleep(RECONNECT_SECONDS)


async def _until_gone(connection: asyncpg.Connection, gone: asyncio.Event) -> None:
    """TimeoutError when the server does not answer on the connection any more."""
    while not gone.is_set():
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(PROBE_SECONDS):
                await gone.wait()
                return
        await probe(connection, ANSWER_SECONDS)
