"""Requests of one account at once: few, so that those which wait leave connections and memory to others."""

from __future__ import annotations

import asyncio
from weakref import WeakValueDictionary

from bookgen.limits import LimitClass

AT_ONCE = 2


class RequestLines:
    """A line for an account's reads, one for its writes, and one to the bucket of what is expensive.

    Who waits in it holds no connection to the database.
    """

    def __init__(self) -> None:
        self._lines: WeakValueDictionary[tuple[int, LimitClass], asyncio.Semaphore] = WeakValueDictionary()

    def turn(self, account_id: int, limit: LimitClass) -> asyncio.Semaphore:
        """What is held while one of the account's requests of that class is carried out."""
        return self._lines.setdefault((account_id, limit), asyncio.Semaphore(AT_ONCE))
