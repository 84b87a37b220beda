"""Word from one process to the other that a run's row has changed. A hint may get lost; polling finds it too."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import asyncpg
import structlog

from bookgen.actors.health import TRANSIENT
from bookgen.store.runs import HINT_CHANNEL

log = structlog.get_logger()

RECONNECT_SECONDS = 1.0


async def listen(dsn: str, on_hint: Callable[[int], None]) -> None:
    """Calls `on_hint` with the book of every hint, on a connection of its own, until cancelled."""

    def heard(_connection: Any, _pid: int, _channel: str, payload: str) -> None:
        on_hint(int(payload))

    while True:
        try:
            connection = await asyncpg.connect(dsn, timeout=5.0)
            try:
                gone = asyncio.Event()
                connection.add_termination_listener(lambda _connection, gone=gone: gone.set())
                await connection.add_listener(HINT_CHANNEL, heard)
                await gone.wait()
            finally:
                connection.terminate()
        except (*TRANSIENT, asyncpg.PostgresError, asyncpg.InterfaceError, asyncpg.InternalClientError) as error:
            log.debug("hints_unreachable", reason=str(error))
        await asyncio.sleep(RECONNECT_SECONDS)
