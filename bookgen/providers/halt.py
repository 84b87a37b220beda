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
    """Raised in a call that waits for a provider when its `HaltSwitch` is set."""


class HaltSwitch:
    """A switch: while it is set, no call begins and waiting calls give up. Calls in flight continue.

    `wait_reason`: why the call has no answer yet, after its first failure or while it waits for its turn.
    """

    __slots__ = ("_set", "_waits", "wait_reason")

    def __init__(self) -> None:
        self.wait_reason: Outage | None = None
        self._set = asyncio.Event()
        self._waits: set[asyncio.Timeout] = set()

    def for_concurrent_calls(self) -> HaltSwitch:
        """A switch for another call. It is set and cleared together with this one, but has its own `wait_reason`."""
        other = HaltSwitch()
        other._set, other._waits = self._set, self._waits
        return other

    @property
    def is_set(self) -> bool:
        return self._set.is_set()

    @property
    def long_wait_reason(self) -> Outage | None:
        """`wait_reason`, once that wait has lasted for TOLD_SECONDS; None before."""
        waits = self.wait_reason
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
        """Raise Halted if this switch is set before the block begins or while it runs."""
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
