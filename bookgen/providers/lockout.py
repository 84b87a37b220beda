"""Makes calls wait while a provider refuses this server's key or credit. One call at a time is tried again."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import UTC, datetime

import structlog

from bookgen.providers.attempt import CallFailed, FailureKind
from bookgen.providers.breaker import CircuitBreaker
from bookgen.providers.halt import Outage

log = structlog.get_logger(__name__)

POLL_SECONDS, MAX_POLL_SECONDS = 30.0, 300.0
MAX_DOUBLINGS = 10


class Lockout:
    """Makes calls wait while the provider refuses this server's key or credit.

    `refusal`: since when and why the provider refuses; None while it does not.
    """

    def __init__(
        self, model: str, poll_seconds: float = POLL_SECONDS, max_poll_seconds: float = MAX_POLL_SECONDS
    ) -> None:
        self.refusal: Outage | None = None
        self._model = model
        self._poll_seconds, self._max_poll_seconds = poll_seconds, max_poll_seconds
        self._breaker = CircuitBreaker(1, poll_seconds, max_poll_seconds)

    @asynccontextmanager
    async def admitted(self) -> AsyncIterator[None]:
        """A context manager for one call. It waits while the provider refuses all calls; its block makes the call.

        During the wait, one caller at a time is let through, to find out whether the provider accepts calls again.
        """
        probe = await self._breaker.admitted()
        try:
            yield
        finally:
            if probe:  # the call may have had no result
                self._breaker.let_go()

    async def back_off(self, failed: CallFailed, refusals: int) -> None:
        """Wait before the next try of a call that the provider refuses although it accepts other calls.

        `refusals`: how often the provider has refused this call in a row. The wait doubles each time. If the provider
        refuses all calls, return at once, because the next try will wait in `admitted`.
        """
        if not failed.refuses_all_calls:
            doubled = self._poll_seconds * 2.0 ** min(refusals - 1, MAX_DOUBLINGS)
            await asyncio.sleep(min(doubled, self._max_poll_seconds))

    def record_failure(self, failed: CallFailed) -> bool:
        """Record a failure that the provider reported. Return whether the provider was already refusing all calls."""
        known = self.refusal is not None
        if failed.refuses_all_calls:
            if self._breaker.closed or self._breaker.probing:  # other callers do not delay the next probe
                self._breaker.record_failure()
            self.refusal = self.refusal or Outage(datetime.now(UTC), None, str(failed), by_operator=True)
        elif failed.failure is not FailureKind.BUSY:
            self.record_success()
        return known

    def record_success(self) -> None:
        """Record that the provider processed a call, which means that it accepts the key."""
        if self.refusal is not None:
            log.info("model_accepts_calls_again", model=self._model, refused_since=self.refusal.since.isoformat())
        self.refusal = None
        self._breaker.record_success()
