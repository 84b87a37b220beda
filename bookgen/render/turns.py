"""Turns of accounts: so many jobs of each at once, so that nobody's fill the queue."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from bookgen.errors import RenderingFailed

AT_ONCE = 2
WAITING = 8


class _Line:
    """The jobs of one account: those that run, and those that wait."""

    def __init__(self, at_once: int) -> None:
        self.turn = asyncio.Semaphore(at_once)
        self.inside = 0


class AccountTurns:
    """What an account does beyond `at_once` waits in a line of its own, in which there is room for `waiting`."""

    def __init__(self, at_once: int = AT_ONCE, waiting: int = WAITING) -> None:
        self._at_once, self._waiting = at_once, waiting
        self._lines: dict[int, _Line] = {}

    @asynccontextmanager
    async def of(self, account_id: int) -> AsyncIterator[None]:
        """One of the account's turns, as long as the block lasts. RenderingFailed when too many wait already."""
        line = self._lines.setdefault(account_id, _Line(self._at_once))
        if line.inside >= self._at_once + self._waiting:
            raise RenderingFailed("Too many of your files wait to be made. Try again in a moment.", retry_after=5)
        line.inside += 1
        try:
            async with line.turn:
                yield
        finally:
            line.inside -= 1
            if not line.inside:
                del self._lines[account_id]
