"""Replies that are paid for and wait in memory for the database to come back: bounded, so that an outage ends well."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

import structlog

log = structlog.get_logger()

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
