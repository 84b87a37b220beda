"""How many calls are made at once: a fixed number, or as many as the server turns out to serve."""

from __future__ import annotations

import asyncio
import math
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass

# How long no extra call is allowed once the server proved to be full. The pause doubles each time, since an extra call
# is slow: it has to wait for others to end.
FIRST_PAUSE_SECONDS, MAX_PAUSE_SECONDS = 60.0, 3600.0


@dataclass(eq=False, slots=True)
class Slot:
    """A call in flight. `beyond`: whether it is one call more than the server has been seen to serve at once."""

    slots: Slots
    beyond: bool
    began: float
    first_word: float | None = None

    def answered(self) -> None:
        """Record that the first word of the reply has arrived."""
        if self.first_word is None:
            self.first_word = _now()
            self.slots.saw(self)


class Slots:
    """Limits the calls in flight to `most` or, if `learns`, to as many as the server has been seen to serve at once.

    A learned limit starts at one call. Normally it allows one call more than the server has been seen to serve at once.
    If this extra call has to wait until the reply to another call has ended, the server is full, and no extra call is
    allowed for a while.
    """

    def __init__(self, most: int, *, learns: bool) -> None:
        self._most, self._shown = most, 0 if learns else most
        self._processes = 1
        self._in_use = self._replying = 0  # calls, and those whose reply has begun
        self._last_reply = (-math.inf, -math.inf)  # the times of its first word and its end
        self._full_until, self._pause = 0.0, FIRST_PAUSE_SECONDS
        self._freed = asyncio.Event()

    @property
    def limit(self) -> int:
        """How many calls may be made at once now."""
        full = _now() < self._full_until
        return min(max(self._shown + (not full), 1), max(self._most // self._processes, 1))

    def allow(self, calls: int) -> None:
        """Replace the configured number of concurrent calls, which all processes share."""
        if calls != self._most:
            self._most = self._shown = calls
            self._freed.set()

    def share(self, processes: int) -> None:
        """Use only this process's share of the maximum. Each process measures for itself what a server can handle."""
        self._processes = processes
        self._freed.set()

    @asynccontextmanager
    async def taken(self) -> AsyncIterator[Slot]:
        while self._in_use >= self.limit:
            self._freed.clear()
            await self._freed.wait()
        slot = Slot(self, self._in_use >= self._shown, _now())
        self._in_use += 1
        try:
            yield slot
        finally:
            self._in_use -= 1
            if slot.first_word is not None:
                self._replying -= 1
                self._last_reply = slot.first_word, _now()
            self._freed.set()

    def saw(self, slot: Slot) -> None:
        """Learn how many calls the server serves at once. Called when the first word of a call's reply arrives."""
        self._replying += 1
        if self._replying > self._shown:
            self._shown, self._pause = self._replying, FIRST_PAUSE_SECONDS
        elif slot.beyond and self._in_use <= self._shown and self._had_to_wait(slot):
            self._full_until = _now() + self._pause
            self._pause = min(2 * self._pause, MAX_PAUSE_SECONDS)
        self._freed.set()

    def _had_to_wait(self, slot: Slot) -> bool:
        """Whether the server seems to have finished another reply before it began to answer this call.

        This is assumed if the reply that ended last took more than half of the time that this call waited for its first
        word. Two short calls that start together may look like this by chance.
        """
        first_word, ended = self._last_reply
        return 2 * (ended - max(first_word, slot.began)) > _now() - slot.began


def _now() -> float:
    return asyncio.get_running_loop().time()
