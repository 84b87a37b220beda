"""Restart the actors of books that crash, with a back-off, and give up a run whose book keeps crashing."""

from __future__ import annotations

import asyncio
from collections import defaultdict, deque
from typing import Any
from uuid import uuid4

import structlog

from bookgen.actors.actor import Key, Registry, now, spawn
from bookgen.actors.chapters_in_flight import ChaptersInFlight
from bookgen.actors.messages import GiveUp, RowChanged, WriteNext
from bookgen.actors.resources import Resources
from bookgen.actors.status import Statuses
from bookgen.actors.transaction import Transactions

log = structlog.get_logger()

MAX_RESTARTS = 3
WINDOW_SECONDS = 60.0
SYSTEMIC_BOOKS = 20
FIRST_WAIT_SECONDS, MAX_WAIT_SECONDS = 1.0, 30.0


class Restarts:
    """Counts crashes by book over a sliding minute."""

    def __init__(self) -> None:
        self._crashes: defaultdict[int, deque[float]] = defaultdict(deque)

    def crashed(self, book_id: int, now: float) -> None:
        self._crashes[book_id].append(now)

    def spent(self, book_id: int, now: float) -> bool:
        """Whether the book has used up its restarts. Never true while `systemic` is."""
        self._forget(now)
        return len(self._crashes.get(book_id, ())) > MAX_RESTARTS and not self.systemic(now)

    def books(self, now: float) -> int:
        """How many books have crashed within the window."""
        self._forget(now)
        return len(self._crashes)

    def systemic(self, now: float) -> bool:
        return self.books(now) > SYSTEMIC_BOOKS

    def wait(self, book_id: int) -> float:
        """Seconds until the next start: 1, 2, 4 … 30."""
        crashes = len(self._crashes.get(book_id, ()))
        return min(FIRST_WAIT_SECONDS * 2.0 ** max(crashes - 1, 0), MAX_WAIT_SECONDS)

    def _forget(self, now: float) -> None:
        for book_id, times in list(self._crashes.items()):
            while times and times[0] < now - WINDOW_SECONDS:
                times.popleft()
            if not times:
                del self._crashes[book_id]


class Crashes:
    """Restarts crashed actors, with a back-off and a budget for each book."""

    def __init__(
        self,
        resources: Resources,
        transactions: Transactions,
        chapters: ChaptersInFlight,
        statuses: Statuses,
        registry: Registry[Any],
    ) -> None:
        self._resources = resources
        self._transactions = transactions
        self._chapters = chapters
        self._statuses = statuses
        self._registry = registry
        self._restarts = Restarts()
        self._backing_off: set[Key] = set()

    @property
    def books(self) -> int:
        """How many books have crashed within a minute."""
        return self._restarts.books(now())

    @property
    def systemic(self) -> bool:
        """Whether so many books crash that the cause is elsewhere."""
        return self._restarts.systemic(now())

    def backs_off(self, key: Key) -> bool:
        return key in self._backing_off

    def crashed(self, key: Key, error: Exception) -> None:
        _, book_id = key
        log.error("actor_crashed", book_id=book_id, exc_info=error)
        self._restarts.crashed(book_id, now())
        self._backing_off.add(key)
        if self._restarts.spent(book_id, now()):
            spawn(self._give_up(key))
        else:
            asyncio.get_running_loop().call_later(self._restarts.wait(book_id), self._restart, key)

    def _restart(self, key: Key) -> None:
        self._backing_off.discard(key)
        if not self._resources.draining:
            self._registry.tell(key, RowChanged())

    async def _give_up(self, key: Key) -> None:
        op, event = uuid4(), GiveUp(self._resources.boot_id)
        try:
            committed = await self._resources.health.through_outages(lambda: self._transactions.steer(*key, event, op))
            self._statuses.changed(key)
            if promoted := committed.promoted:
                self._registry.tell((promoted.account_id, promoted.book_id), WriteNext(promoted))
        finally:
            self._backing_off.discard(key)
