"""Whether the database can be reached, and how work waits until it can be again."""

from __future__ import annotations

import asyncio
import math
from collections.abc import Awaitable, Callable
from typing import TypeVar

import structlog

from bookgen.errors import Unavailable
from bookgen.store.outages import DISK_FULL, READ_ONLY, PoolExhausted, is_outage, sqlstate, through_outages

log = structlog.get_logger()

Result = TypeVar("Result")

# A server with a full disk, or one that was demoted, still answers what only reads: that is no sign of its being back,
# as long as what writes keeps failing. Seconds since it did last.
WRITE_FAILED_SECONDS = {DISK_FULL: 5.0, READ_ONLY: 1.0}
# A database that has answered within so many seconds is there, however long work of ours waits for a connection.
ANSWERED_SECONDS = 5.0


class Health:
    """A gate that is closed while the database is away. No model call starts behind a closed gate.

    `up_since`: when it was opened last, by the loop's clock.
    """

    def __init__(self) -> None:
        self._up = asyncio.Event()
        self._up.set()
        self.up_since = -math.inf
        self._writes_fail_until = 0.0
        self._answered_at = -ANSWERED_SECONDS

    @property
    def up(self) -> bool:
        return self._up.is_set()

    async def wait(self) -> None:
        await self._up.wait()

    def saw(self, error: Unavailable) -> None:
        """Closes the gate, unless the error is the effect of another transaction or of our own load."""
        now = asyncio.get_running_loop().time()
        loaded = isinstance(error, PoolExhausted) and now - self._answered_at < ANSWERED_SECONDS
        if is_outage(error) and not loaded and self.up:
            log.warning("database_lost", reason=str(error.__cause__ or error))
            self._up.clear()
        self._writes_fail_until = max(self._writes_fail_until, now + WRITE_FAILED_SECONDS.get(sqlstate(error), 0.0))

    def saw_success(self) -> None:
        self._answered_at = asyncio.get_running_loop().time()
        if not self.up and self._answered_at >= self._writes_fail_until:
            log.info("database_back")
            self._up.set()
            self.up_since = self._answered_at

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

        def failed(error: Unavailable) -> None:
            self.saw(error)
            in_vain()

        result = await through_outages(operation, seconds=seconds, failed=failed)
        self.saw_success()
        return result
