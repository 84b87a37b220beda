"""Turns of accounts: so many jobs of each at once, so that nobody's fill the queue."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, nullcontext

from bookgen.errors import RenderingFailed, RenderTimeout

AT_ONCE = 2
WAITING = 8
WAITING_SECONDS = 5  # after which one that finds no room may be asked for again
REMEMBERED_SECONDS = 600.0


class _Line:
    """The jobs of one account: those that run, and those that wait."""

    def __init__(self, at_once: int) -> None:
        self.turn = asyncio.Semaphore(at_once)
        self.inside = 0


class AccountTurns:
    """What an account does beyond `at_once` waits in a line of its own, in which there is room for `waiting`.

    All accounts of which a job took too long in the last REMEMBERED_SECONDS share one turn, so that files which can
    never be made leave the other workers to everybody else, however many accounts ask for them.
    """

    def __init__(
        self, at_once: int = AT_ONCE, waiting: int = WAITING, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._at_once, self._waiting, self._clock = at_once, waiting, clock
        self._lines: dict[int, _Line] = {}
        self._timed_out: dict[int, float] = {}
        self._shared = asyncio.Semaphore(1)

    @asynccontextmanager
    async def of(self, account_id: int) -> AsyncIterator[None]:
        """One of the account's turns, as long as the block lasts. RenderingFailed when too many wait already."""
        line = self._lines.setdefault(account_id, _Line(self._at_once))
        if line.inside >= self._at_once + self._waiting:
            raise RenderingFailed(
                "Too many of your exports are waiting. Try again in a moment.", retry_after=WAITING_SECONDS
            )
        line.inside += 1
        try:
            async with line.turn, self._shared if self._took_too_long(account_id) else nullcontext():
                yield
        except RenderTimeout:
            known = {each: at for each, at in self._timed_out.items() if self._took_too_long(each)}
            self._timed_out = known | {account_id: self._clock()}
            raise
        finally:
            line.inside -= 1
            if not line.inside:
                del self._lines[account_id]

    def _took_too_long(self, account_id: int) -> bool:
        at = self._timed_out.get(account_id)
        return at is not None and self._clock() - at < REMEMBERED_SECONDS
