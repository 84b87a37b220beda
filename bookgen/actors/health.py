"""Database outages: whether the database is reachable, and the model's replies that wait in memory in an outage."""

from __future__ import annotations

import asyncio
import math
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any, TypeVar

import structlog

from bookgen.actors.actor import spawn
from bookgen.errors import FilesUnavailable, Unavailable
from bookgen.store.outages import DISK_FULL, READ_ONLY, PoolExhausted, is_outage, sqlstate, through_outages

log = structlog.get_logger()

Result = TypeVar("Result")

# A server with a full disk, or a demoted one, still answers reads. So for this many seconds after a failed write, a
# successful read does not mean that the database is back.
WRITE_FAILED_SECONDS = {DISK_FULL: 5.0, READ_ONLY: 1.0}
# A database that has answered within this many seconds is reachable, even if our work waits for a connection.
ANSWERED_SECONDS = 5.0


class Health:
    """A gate that is closed while the database is unavailable. No model call starts while the gate is closed.

    `up_since`: the loop time at which the gate was last opened.
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
        """Close the gate if the error means that the database itself is unavailable.

        Conflicts with other transactions, too few connections under load, and errors of the file store do not close the
        gate.
        """
        if isinstance(error, FilesUnavailable):
            return
        now = asyncio.get_running_loop().time()
        loaded = isinstance(error, PoolExhausted) and now - self._answered_at < ANSWERED_SECONDS
        if is_outage(error) and not loaded and self.up:
            log.warning(
                "database_lost",
                reason=str(error.__cause__ or error),
                to_do="If PostgreSQL stays unavailable, start or repair it. Books in progress wait and continue by "
                "themselves.",
            )
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
        """Repeat an idempotent `operation` until it succeeds, or raise Unavailable after `seconds` (None: no limit).

        `in_vain` is called after each failed try.
        """

        def failed(error: Unavailable) -> None:
            self.saw(error)
            in_vain()

        result = await through_outages(operation, seconds=seconds, failed=failed)
        self.saw_success()
        return result


MAX_BYTES = 64 << 20


class Dropped(Exception):
    """A text was dropped: too many texts were waiting in memory for the database, and this text was the oldest."""


@dataclass(slots=True, eq=False)
class WaitingReply:
    size: int
    scope: asyncio.Timeout = field(default_factory=lambda: asyncio.timeout(None))


class Backlog:
    """The replies that wait in memory until the database can store them. Beyond `most_bytes`, old replies are dropped.

    The texts of finished chapters are not counted. They stay few, because no chapter is started during an outage.
    """

    def __init__(self, most_bytes: int = MAX_BYTES) -> None:
        self.dropped = 0
        self._most_bytes = most_bytes
        self._waiting: list[WaitingReply] = []

    @property
    def size(self) -> int:
        return sum(waiting.size for waiting in self._waiting)

    @asynccontextmanager
    async def entry(self, size: int) -> AsyncIterator[None]:
        """A context manager in whose block a reply of `size` bytes waits to be stored.

        If the reply is dropped, the block is cancelled and Dropped is raised.
        """
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
        """Drop the oldest replies until the others fit. Call it after each failed attempt to store a reply."""
        while self.size > self._most_bytes:
            oldest = self._waiting.pop(0)
            self.dropped += 1
            log.error(
                "text_dropped",
                bytes=oldest.size,
                waiting=len(self._waiting),
                what="While the database was unavailable, finished texts were kept in memory until there was no room "
                "for more. The oldest text was discarded, and the run that wrote it fails.",
                to_do="Once the database is back, run: bookgen runs resume --all --failed",
            )
            oldest.scope.reschedule(0)


class LedgerWrites:
    """Owns the tasks that write to the ledger of paid calls. These tasks finish even if their caller is cancelled.

    `tasks`: the tasks that have not finished yet.
    """

    def __init__(self) -> None:
        self.tasks: set[asyncio.Task[None]] = set()

    def begin(self, write: Coroutine[Any, Any, None]) -> asyncio.Task[None]:
        task = spawn(write)
        self.tasks.add(task)
        task.add_done_callback(self.tasks.discard)
        return task
