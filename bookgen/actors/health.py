"""How work waits while the database is away: whether it can be reached, and what waits in memory until it is back."""

from __future__ import annotations

import asyncio
import math
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any, TypeVar

import structlog

from bookgen.actors.actor import spawn
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


MAX_BYTES = 64 << 20


class Dropped(Exception):
    """The text was the oldest that waited, and there was no room for all."""


@dataclass(slots=True, eq=False)
class WaitingReply:
    size: int
    scope: asyncio.Timeout = field(default_factory=lambda: asyncio.timeout(None))


class Backlog:
    """Everything that waits for the database. Beyond `most_bytes` the oldest is dropped, and its keeper told.

    Finished chapters need no counting: what they are made of is stored but for the last reply, and none is begun while
    the database is away.
    """

    def __init__(self, most_bytes: int = MAX_BYTES) -> None:
        self.dropped = 0
        self._most_bytes = most_bytes
        self._waiting: list[WaitingReply] = []

    @property
    def size(self) -> int:
        return sum(waiting.size for waiting in self._waiting)

    @asynccontextmanager
    async def keeping(self, size: int) -> AsyncIterator[None]:
        """While `size` bytes wait. Raises Dropped in the middle of the waiting."""
        waiting = WaitingReply(size)
        self._waiting.append(waiting)
        try:
            async with waiting.scope:
                yield
        except TimeoutError:
            if waiting.scope.expired():
                raise Dropped from None
            raise
        finally:
            if waiting in self._waiting:
                self._waiting.remove(waiting)

    def make_room(self) -> None:
        """Drops the oldest as long as too much waits. To be called whenever the database was tried in vain."""
        while self.size > self._most_bytes:
            oldest = self._waiting.pop(0)
            self.dropped += 1
            log.error("text_dropped", bytes=oldest.size, waiting=len(self._waiting))
            oldest.scope.reschedule(0)


class LedgerWrites:
    """Owns the tasks that enter what model calls have used. `tasks`: those that are not done yet."""

    def __init__(self) -> None:
        self.tasks: set[asyncio.Task[None]] = set()

    def begin(self, write: Coroutine[Any, Any, None]) -> asyncio.Task[None]:
        task = spawn(write)
        self.tasks.add(task)
        task.add_done_callback(self.tasks.discard)
        return task
