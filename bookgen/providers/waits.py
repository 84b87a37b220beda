"""How long the calls of a provider wait: before the next try, while it is busy, and in total."""

from __future__ import annotations

import asyncio
import random
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class RetryRules:
    """When and how often to retry; times in seconds.

    `patience`: how long a call waits for a provider that is busy or cannot be reached. `outage`: how long a call of a
    run (the writing of a book) waits for such a provider; 0: as long as `patience`.
    """

    tries: int = 4  # that a call has; one that ends in a 429 does not count
    first_delay: float = 2  # after the first failure; it doubles with each further one
    busy_delay: float = 10  # after a 429 that does not say how long to wait
    longest_wait: float = 120  # that a provider can ask for
    patience: float = 900
    outage: float = 0  # unless it is 0, failures to reach the provider do not count as tries in a run
    longest_delay: float = 30

    def delay(self, failures: int) -> float:
        """Return the seconds to wait after `failures` failures.

        By default these are 2, 4, 8 …, plus a random part of up to 25 %.
        """
        return min(self.first_delay * 2.0 ** (failures - 1), self.longest_delay) * random.uniform(1, 1.25)


class BusyGate:
    """Closed while a provider asks for a pause. A single 429 closes it for all calls of the provider."""

    def __init__(self) -> None:
        self._until = 0.0

    def shut(self, seconds: float) -> None:
        self._until = max(self._until, asyncio.get_running_loop().time() + seconds)

    @property
    def is_open(self) -> bool:
        return self._until <= asyncio.get_running_loop().time()

    async def opened(self) -> None:
        while (left := self._until - asyncio.get_running_loop().time()) > 0:  # noqa: ASYNC110 (only the clock opens it)
            await asyncio.sleep(left)


class OutOfPatience(Exception):
    """Raised when a call has waited for its provider for as long as it may."""


class Patience:
    """How many seconds a call may still wait for its provider.

    A try that does not count towards the limit of tries uses up this time, too.
    """

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds

    def spend(self, seconds: float) -> None:
        self._seconds -= seconds

    @asynccontextmanager
    async def waiting(self) -> AsyncIterator[None]:
        started = asyncio.get_running_loop().time()
        try:
            if self._seconds <= 0:
                raise TimeoutError
            async with asyncio.timeout(self._seconds):
                yield
        except TimeoutError:
            raise OutOfPatience("has been busy or unavailable for too long") from None
        finally:
            self.spend(asyncio.get_running_loop().time() - started)
