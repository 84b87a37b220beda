"""Listens for notifications of other processes that a run's row has changed. One may get lost; polling finds it too."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import asyncpg
import structlog

from bookgen.store.notifications import CHANNEL

log = structlog.get_logger()

RECONNECT_SECONDS = 1.0


async def listen(dsn: str, on_change: Callable[[int], None]) -> None:
    """Calls `on_change` with the book of every notification, on a connection of its own, until cancelled."""

    def heard(_connection: Any, _pid: int, _channel: str, payload: str) -> None:
        on_change(int(payload))

    while True:
        try:
            connection = await asyncpg.connect(dsn, timeout=5.0)
            try:
                gone = asyncio.Event()
                connection.add_termination_listener(lambda _connection, gone=gone: gone.set())
                await connection.add_listener(CHANNEL, heard)
                await gone.wait()
            finally:
                connection.terminate()
        except (OSError, asyncpg.PostgresError, asyncpg.InterfaceError, asyncpg.InternalClientError) as error:
            log.debug("notifications_unreachable", reason=str(error))
        await asyncio.sleep(RECONNECT_SECONDS)
