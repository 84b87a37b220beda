"""What becomes of a book whose actor has crashed: it rests and is tried again, or its run is given up."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import TypeAlias
from uuid import uuid4

import structlog

from bookgen.actors.actor import spawn
from bookgen.actors.messages import Failure, GiveUp
from bookgen.actors.resources import Resources
from bookgen.actors.restarts import Restarts
from bookgen.actors.transaction import Committed, Transactions

log = structlog.get_logger()

Key: TypeAlias = tuple[int, int]  # account and book

FAILURE = Failure("internal", "Writing this book failed on an error of ours.", "chapter", None, retryable=True)


class Crashes:
    """`revive` gives a book that has rested an actor again; `moved` hears what a given up run has left."""

    def __init__(
        self,
        resources: Resources,
        transactions: Transactions,
        revive: Callable[[Key], None],
        moved: Callable[[Committed], None],
    ) -> None:
        self._resources = resources
        self._transactions = transactions
        self._revive = revive
        self._moved = moved
        self._restarts = Restarts()
        self._resting: set[Key] = set()

    @property
    def books(self) -> int:
        """How many books have crashed within a minute."""
        return self._restarts.books(_now())

    @property
    def systemic(self) -> bool:
        """So many books crash that it is not the books."""
        return self._restarts.systemic(_now())

    def rests(self, key: Key) -> bool:
        return key in self._resting

    def crashed(self, key: Key, error: Exception) -> None:
        _, book_id = key
        log.error("actor_crashed", book_id=book_id, exc_info=error)
        self._restarts.crashed(book_id, _now())
        self._resting.add(key)
        if self._restarts.spent(book_id, _now()):
            spawn(self._give_up(key))
        else:
            asyncio.get_running_loop().call_later(self._restarts.wait(book_id), self._end_rest, key)

    def _end_rest(self, key: Key) -> None:
        self._resting.discard(key)
        self._revive(key)

    async def _give_up(self, key: Key) -> None:
        op = uuid4()
        try:
            committed = await self._resources.health.through_outages(
                lambda: self._transactions.steer(*key, GiveUp(FAILURE), op)
            )
            self._moved(committed)
        finally:
            self._resting.discard(key)


def _now() -> float:
    return asyncio.get_running_loop().time()
