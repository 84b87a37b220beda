"""Limits how many render jobs each account runs at once, so that no account fills the queue."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, nullcontext

from bookgen.errors import RenderingFailed, RenderTimeout

AT_ONCE = 2
WAITING = 8
WAITING_SECONDS = 5  # the retry_after of a job that finds no room
REMEMBERED_SECONDS = 600.0


class _Line:
    """The running and waiting jobs of one account."""

    def __init__(self, at_once: int) -> None:
        self.turn = asyncio.Semaphore(at_once)
        self.inside = 0


class AccountTurns:
    """Limits each account to `at_once` running jobs: each job needs a turn. Up to `waiting` more jobs wait for a turn.

    Accounts that had a job time out in the last REMEMBERED_SECONDS also share a lock: only one job of all these
    accounts runs at a time. So jobs that take too long occupy at most one worker.
    """

    def __init__(
        self, at_once: int = AT_ONCE, waiting: int = WAITING, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._at_once, self._waiting, self._clock = at_once, waiting, clock
        self._lines: dict[int, _Line] = {}
        self._timed_out: dict[int, float] = {}
        self._shared = asyncio.Semaphore(1)

    @asynccontextmanager
    async def turn(self, account_id: int) -> AsyncIterator[None]:
        """A context that holds one of the account's turns.

        Raises RenderingFailed if too many of the account's jobs are waiting.
        """
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
