"""Limits how many requests of one account run at once, to leave connections and memory for other accounts."""

from __future__ import annotations

import asyncio
from weakref import WeakValueDictionary

from bookgen.rate_limits import LimitClass

AT_ONCE = 2


class RequestLines:
    """Semaphores of each account: one for its reads, one for its writes, and one for the count of expensive requests.

    Each lets AT_ONCE requests run. The third is only held while a request is counted in the database. A request that
    waits for a semaphore holds no database connection.
    """

    def __init__(self) -> None:
        self._lines: WeakValueDictionary[tuple[int, LimitClass], asyncio.Semaphore] = WeakValueDictionary()

    def turn(self, account_id: int, limit: LimitClass) -> asyncio.Semaphore:
        """The semaphore to hold while one of the account's requests of that class runs."""
        return self._lines.setdefault((account_id, limit), asyncio.Semaphore(AT_ONCE))
