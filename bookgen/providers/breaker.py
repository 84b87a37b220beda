"""A circuit breaker: while a provider is down, it gets no calls except for a test call (a probe) now and then."""

from __future__ import annotations

import asyncio

THRESHOLD = 5
OPEN_SECONDS = 30.0
MAX_DOUBLINGS = 30


class CircuitBreaker:
    """Opens after `threshold` failures in a row. While it is open, only one call at a time is let through, as a probe.

    The first probe is possible after `open_seconds`. Each failed probe doubles the time until the next probe, up to
    `longest_open_seconds` (by default, the time stays the same). A successful probe closes the breaker.

    Callers wait in `admitted` before each try, so they do not use up their tries during an outage.
    """

    def __init__(
        self,
        threshold: int = THRESHOLD,
        open_seconds: float = OPEN_SECONDS,
        longest_open_seconds: float | None = None,
    ) -> None:
        self._threshold, self._open_seconds = threshold, open_seconds
        self._longest = open_seconds if longest_open_seconds is None else longest_open_seconds
        self._failures = 0
        self._opened_until: float | None = None
        self._probing = False
        self._changed = asyncio.Event()

    @property
    def closed(self) -> bool:
        return self._opened_until is None

    @property
    def probing(self) -> bool:
        """Whether a probe is in flight."""
        return self._probing

    async def admitted(self) -> bool:
        """Wait until the caller may make its call. Return whether this call is a probe."""
        while not self.closed:
            if self.take_probe():
                return True
            await self._wait()
        return False

    def record_success(self) -> None:
        self._failures, self._opened_until, self._probing = 0, None, False
        self._tell()

    def record_failure(self) -> None:
        self._failures += 1
        if self._probing or self._failures >= self._threshold:
            doubled = self._open_seconds * 2.0 ** min(self._failures - self._threshold, MAX_DOUBLINGS)
            self._opened_until = asyncio.get_running_loop().time() + max(
                self._open_seconds, min(doubled, self._longest)
            )
        self._probing = False
        self._tell()

    def let_go(self) -> None:
        """End the probe without a result, so that the next caller may probe at once."""
        self._probing = False
        self._tell()

    def take_probe(self) -> bool:
        """Let the caller make the probe if one is possible now. Return whether it may. Never waits."""
        if self._probing or self._seconds_left() > 0:
            return False
        self._probing = True
        return True

    def _seconds_left(self) -> float:
        return (self._opened_until or 0) - asyncio.get_running_loop().time()

    async def _wait(self) -> None:
        changed = self._changed
        try:
            async with asyncio.timeout(None if self._probing else max(self._seconds_left(), 0)):
                await changed.wait()
        except TimeoutError:
            return

    def _tell(self) -> None:
        self._changed.set()
        self._changed = asyncio.Event()
