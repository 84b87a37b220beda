"""Start a server and wait until it accepts connections."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator

from bookgen.errors import StartupError
from bookgen.store.postgres.postmaster import Postmaster

START_SECONDS = 300.0  # for a long crash recovery
CLAIM_SECONDS = 20.0  # the children of a killed server end much sooner
SPAWNS = 7
FIRST_REST_SECONDS, MAX_REST_SECONDS = 0.1, 5.0  # the pause before a server that has just ended is started again
PAUSE_SECONDS = 0.05


async def bring_up(server: Postmaster, rest: float = FIRST_REST_SECONDS) -> None:
    """Start the server unless it is running, and wait until it is ready. Raises StartupError if it does not start.

    The caller holds the lock of the data folder. If the server ends before it is ready, it is started again `rest`
    seconds after its last start; each time, the wait doubles.
    """
    spawned, began, rested = 0, time.monotonic(), 0.0
    async for _ in until(START_SECONDS, f"PostgreSQL did not start; see {server.log}"):
        if server.ready():
            return
        if server.starting():
            continue
        if spawned == SPAWNS:
            raise StartupError(f"PostgreSQL does not start: {server.last_words()}")
        if time.monotonic() < rested:
            continue
        if server.spawn():
            spawned += 1
            rested, rest = time.monotonic() + rest, min(rest * 2, MAX_REST_SECONDS)
        elif spawned == 0 and time.monotonic() - began > CLAIM_SECONDS:
            raise StartupError(
                f"another PostgreSQL, perhaps in another container, is running on {server.data}. "
                "Stop it, or give this process its own data folder."
            )


async def until(seconds: float, otherwise: str) -> AsyncIterator[None]:
    """Yield every PAUSE_SECONDS. After `seconds`, raise StartupError with the message `otherwise`."""
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        yield
        await asyncio.sleep(PAUSE_SECONDS)
    raise StartupError(otherwise)
