"""Limits how many requests of one account run at once, so that connections and memory remain for other accounts."""

from __future__ import annotations

import asyncio
from weakref import WeakValueDictionary

from bookgen.rate_limits import LimitClass

AT_ONCE = 2


class RequestSemaphores:
    """The semaphores of each account, one for each class of rate limit. Each lets AT_ONCE requests run at once.

    The semaphores for reads and writes are held while a request is handled. Other classes have their rate limit in the
    database; their semaphores are held only while a request is counted there. A waiting request holds no database
    connection.
    """

    def __init__(self) -> None:
        self._semaphores: WeakValueDictionary[tuple[int, LimitClass], asyncio.Semaphore] = WeakValueDictionary()

    def semaphore_of(self, account_id: int, limit: LimitClass) -> asyncio.Semaphore:
        """The semaphore that limits how many of the account's requests in the class `limit` run at once."""
        return self._semaphores.setdefault((account_id, limit), asyncio.Semaphore(AT_ONCE))
