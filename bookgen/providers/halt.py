"""A switch that halts model calls, and the outages that calls wait for."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import UTC, datetime

TOLD_SECONDS = 5.0  # a shorter wait is not shown


@dataclass(frozen=True, slots=True)
class Outage:
    """A period in which a provider gives no answers. Runs (the writing of books) wait until it ends.

    `since`: when it began, in UTC. `until`: when the runs give up, in UTC; None if they never do. `reason`: completes a
    sentence that begins with "The model provider", such as "is busy". `by_operator`: whether the outage lasts until the
    operator fixes something, such as the key.
    """

    since: datetime
    until: datetime | None
    reason: str
    by_operator: bool = False


class Halted(Exception):
    """Raised in a call that waits for a provider when its `HaltSwitch` is set."""


class HaltSwitch:
    """While the switch is set, no call begins, and calls that wait for their provider give up.

    Calls in flight continue. `wait_reason`: why a call has no answer yet. The reason is given after the call's first
    failure, and while the call waits for its turn; otherwise it is None.
    """

    __slots__ = ("_set", "_waits", "wait_reason")

    def __init__(self) -> None:
        self.wait_reason: Outage | None = None
        self._set = asyncio.Event()
        self._waits: set[asyncio.Timeout] = set()

    def for_concurrent_calls(self) -> HaltSwitch:
        """Return a switch for another call, with its own `wait_reason`.

        The two switches are set and cleared together.
        """
        other = HaltSwitch()
        other._set, other._waits = self._set, self._waits
        return other

    @property
    def is_set(self) -> bool:
        return self._set.is_set()

    @property
    def long_wait_reason(self) -> Outage | None:
        """`wait_reason` if the call has already waited for TOLD_SECONDS; otherwise None."""
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
        """A context manager that raises Halted if this switch is set before its block begins or while it runs."""
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
