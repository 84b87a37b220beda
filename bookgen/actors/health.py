"""Whether the database can be reached, and how work waits until it can be again."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Awaitable, Callable
from typing import TypeVar

import asyncpg
import structlog

from bookgen.errors import Unavailable

log = structlog.get_logger()

Result = TypeVar("Result")

# What a second try may mend: the server away, its disk full, or two transactions that met.
TRANSIENT = (
    Unavailable,
    asyncpg.SerializationError,
    asyncpg.DeadlockDetectedError,
    asyncpg.LockNotAvailableError,
    asyncpg.DiskFullError,
    OSError,
    TimeoutError,
)
FIRST_WAIT, LONGEST_WAIT = 0.05, 2.0
# A full disk still answers what only reads: that is no sign of room, as long as what writes keeps failing.
FULL_SECONDS = 5.0


class Health:
    """A gate that is closed while the database is away. No model call starts behind a closed gate."""

    def __init__(self) -> None:
        self._up = asyncio.Event()
        self._up.set()
        self._full_until = 0.0

    @property
    def up(self) -> bool:
        return self._up.is_set()

    async def wait(self) -> None:
        await self._up.wait()

    def saw(self, error: Exception) -> None:
        if isinstance(error, Unavailable | OSError | asyncpg.DiskFullError) and self.up:
            log.warning("database_lost", reason=str(error))
            self._up.clear()
        if isinstance(error, asyncpg.DiskFullError):
            self._full_until = asyncio.get_running_loop().time() + FULL_SECONDS

    def saw_success(self) -> None:
        if not self.up and asyncio.get_running_loop().time() >= self._full_until:
            log.info("database_back")
            self._up.set()

    async def through_outages(
        self,
        operation: Callable[[], Awaitable[Result]],
        *,
        seconds: float | None = None,
        in_vain: Callable[[], None] = lambda: None,
    ) -> Result:
        """Repeats an idempotent `operation` until it is through, or for `seconds`; then raises Unavailable.

        `in_vain` is called after each try that was.
        """
        clock = asyncio.get_running_loop().time
        deadline = None if seconds is None else clock() + seconds
        wait = FIRST_WAIT
        while True:
            try:
                result = await operation()
            except TRANSIENT as error:
                self.saw(error)
                in_vain()
                if deadline is not None and clock() + wait > deadline:
                    raise error if isinstance(error, Unavailable) else Unavailable() from error
            else:
                self.saw_success()
                return result
            await asyncio.sleep(wait * (0.5 + random.random()))
            wait = min(wait * 2, LONGEST_WAIT)
