"""Writes of one account at once: few, so that those which wait for each other leave the connections to others."""

from __future__ import annotations

import asyncio
from weakref import WeakValueDictionary

AT_ONCE = 3


class Writes:
    """A line for each account. Who waits in it holds no connection to the database."""

    def __init__(self) -> None:
        self._lines: WeakValueDictionary[int, asyncio.Semaphore] = WeakValueDictionary()

    def turn(self, account_id: int) -> asyncio.Semaphore:
        """What is held while one of the account's writes is carried out."""
        return self._lines.setdefault(account_id, asyncio.Semaphore(AT_ONCE))
