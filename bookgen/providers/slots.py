"""How many calls go out at once: a fixed number, or as many as a server shows that it serves."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass

SECONDS_UNTIL_TRIED_AGAIN = 3600.0


@dataclass(eq=False, slots=True)
class Slot:
    """A call on its way. `beyond`: it is one more than the server has shown to serve at once."""

    slots: Slots
    beyond: bool
    ended: int  # calls that had ended when it began
    streams: bool = False

    def answered(self) -> None:
        """Notes that the first word of the reply is here."""
        self.streams = True
        self.slots.saw(self)


class Slots:
    """`learns`: begins with one and tries one more whenever a call waits, until one had to wait for others to end."""

    def __init__(self, most: int, *, learns: bool) -> None:
        self._most, self._shown = most, 0 if learns else most
        self._processes = 1
        self._in_use: set[Slot] = set()
        self._ended = 0
        self._full_until = 0.0
        self._freed = asyncio.Event()

    @property
    def limit(self) -> int:
        """The calls that may go out at once now."""
        full = asyncio.get_running_loop().time() < self._full_until
        return min(max(self._shown + (not full), 1), max(self._most // self._processes, 1))

    def allow(self, calls: int) -> None:
        """Takes another number for that which was set."""
        if calls != self._most:
            self._most = self._shown = calls
            self._freed.set()

    def share(self, processes: int) -> None:
        """Leaves each of so many processes its part of the most; what a server serves, each finds out for itself."""
        self._processes = processes
        self._freed.set()

    @asynccontextmanager
    async def taken(self) -> AsyncIterator[Slot]:
        while len(self._in_use) >= self.limit:
            self._freed.clear()
            await self._freed.wait()
        slot = Slot(self, len(self._in_use) >= self._shown, self._ended)
        self._in_use.add(slot)
        try:
            yield slot
        finally:
            self._in_use.discard(slot)
            self._ended += 1
            self._freed.set()

    def saw(self, slot: Slot) -> None:
        """Learns from a first word: with it, so many replies stream at once."""
        self._shown = max(self._shown, sum(each.streams for each in self._in_use))
        if slot.beyond and self._ended > slot.ended and len(self._in_use) <= self._shown:
            self._full_until = asyncio.get_running_loop().time() + SECONDS_UNTIL_TRIED_AGAIN
        self._freed.set()
