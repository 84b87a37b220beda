"""The model calls of the books of a scenario: which were repeated, and whether each reply is paid for once."""

from __future__ import annotations

import hashlib
from collections import Counter, defaultdict
from typing import Any

import orjson

from tests.chaos.world import World

SUMMED_UP = "SELECT c.book_id, c.chapter_number FROM chapter c JOIN digest d ON d.chapter_id = c.id"


class HeardCalls:
    """A book may repeat one call after a fault that hit it in flight (`hit`). No other book may repeat any.

    `forgets`: drop the bodies of calls that have been counted, which `World.check` needs and long runs cannot keep.
    `counts_only`: any book may repeat calls, since a process that a busy machine delays loses its lease.
    """

    def __init__(self, world: World, *, forgets: bool = False, counts_only: bool = False) -> None:
        self._world = world
        self._counts_only = counts_only
        self._forgets = forgets
        self._heard = 0
        self._asked: defaultdict[int, Counter[bytes]] = defaultdict(Counter)
        # The requests for each chapter's digest that were seen.
        self._sums: defaultdict[tuple[int, int], set[bytes]] = defaultdict(set)
        self.hit: set[int] = set()
        self.repeated = 0

    def count(self) -> None:
        """Look at the calls since the last time."""
        for call in self._world.model.requests[self._heard :]:
            book, asked = _book(call.brief), _fingerprint(call.body)
            if asked in self._asked[book]:
                assert self._counts_only or book in self.hit, f"book {book} repeated a call that no kill had cut off"
                self.hit.discard(book)
                self.repeated += 1
            self._asked[book][asked] += 1
            if call.stage == "digest":
                self._sums[book, call.brief["chapter_number"]].add(asked)
            if self._forgets and call.ended:
                call.body, call.headers, call.reply = {}, {}, ""
        self._heard = len(self._world.model.requests)

    async def check_paid(self) -> None:
        """Every reply was either stored and paid for once or requested again in the same words, except digests.

        If a kill cuts off a digest and the book is paused before it is requested again, it is later requested in other
        words if it is needed, which it never is for the last chapter.
        """
        paid = "SELECT book_id, count(*) AS calls FROM model_call GROUP BY book_id"
        calls = {row["book_id"]: row["calls"] for row in await self._world.pool.fetch(paid)}
        summed_up = {tuple(row) for row in await self._world.pool.fetch(SUMMED_UP)}
        for book, asked in self._asked.items():
            kept = len(asked) - sum(
                len(words) - ((book, number) in summed_up) for (of, number), words in self._sums.items() if of == book
            )
            assert kept <= calls[book] <= len(asked), f"book {book}: {calls[book]} of {len(asked)} calls are paid"

    def figures(self) -> str:
        return f"{sum(asked.total() for asked in self._asked.values())} model calls, {self.repeated} repeated"


def _book(brief: dict[str, Any]) -> int:
    return int(str(brief["title"]).removeprefix("Book "))


def _fingerprint(body: dict[str, Any]) -> bytes:
    return hashlib.sha256(orjson.dumps(body, option=orjson.OPT_SORT_KEYS)).digest()
