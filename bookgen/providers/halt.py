"""Halting model calls, and the outage that a call waits for."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import UTC, datetime

TOLD_SECONDS = 5.0  # a shorter wait is not shown


@dataclass(frozen=True, slots=True)
class Outage:
    """A time in which runs wait for a provider that gives no answers. `since`: when it began, in UTC.

    `until`: when the runs give up, in UTC; None if they never do. `reason`: what the provider does, such as "is busy".
    `by_operator`: whether the wait lasts until the operator fixes something, such as the key.
    """

    since: datetime
    until: datetime | None
    reason: str
    by_operator: bool = False


class Halted(Exception):
    """Raised in a call that waits for a provider when a `Halt` is set."""


class Halt:
    """A switch: while it is set, no call begins and waiting calls give up. Calls in flight continue.

    `waits_for`: why the call has no answer yet, after its first failure or while it waits for its turn.
    """

    __slots__ = ("_set", "_waits", "waits_for")

    def __init__(self) -> None:
        self.waits_for: Outage | None = None
        self._set = asyncio.Event()
        self._waits: set[asyncio.Timeout] = set()

    def for_concurrent_calls(self) -> Halt:
        """A halt for concurrent calls. It is set and cleared together with this one, but has its own `waits_for`."""
        other = Halt()
        other._set, other._waits = self._set, self._waits
        return other

    @property
    def is_set(self) -> bool:
        return self._set.is_set()

    @property
    def waits_long_for(self) -> Outage | None:
        """`waits_for`, once that wait has lasted for TOLD_SECONDS; None before."""
        waits = self.waits_for
        return waits if waits and (datetime.now(UTC) - waits.since).total_seconds() >= TOLD_SECONDS else None

    def set(self) -> None:
        self._set.set()
        now = asyncio.get_running_loop().time() if self._waits else 0.0
        while self._waits:
            self._waits.pop().reschedule(now)

    def clear(self) -> None:
        self._set.clear()

    @asynccontextmanager
    async def waiting(self) -> AsyncIterator[None]:
        """Raise Halted if this halt is set before the block begins or while it runs."""
        if self._set.is_set():
            raise Halted
        wait = asyncio.timeout(None)
        try:
            async with wait:
                self._waits.add(wait)
                try:
                    yield
                finally:
                    self._waits.discard(wait)
        except TimeoutError:
            if wait.expired():
                raise Halted from None
            raise
