"""GenerationStatus of the books of this process, kept encoded while it can't have changed."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass
from random import uniform

import asyncpg

from bookgen.actors import status
from bookgen.actors.changes import Changes
from bookgen.actors.chapters_in_flight import ChaptersInFlight
from bookgen.actors.registry import Key
from bookgen.actors.resources import Resources
from bookgen.errors import NotFound
from bookgen.models import Run, RunStatus
from bookgen.store import progress

KEEP_SECONDS = 2.0
# How often whoever waits for a change looks for one that was not told: in the outline or the queue, or by another
# process, which tells of commands but not of every chapter.
LOOK_SECONDS = 30.0
LOOK_SECONDS_AMONG_OTHERS = 1.0


@dataclass(slots=True, eq=False)
class Kept:
    """An encoded status. Empty while it is being read."""

    body: bytes = b""
    until: float = 0.0


class Statuses:
    """The one place that keeps encoded statuses: of runs that this process alone writes, until they change."""

    def __init__(self, pool: asyncpg.Pool, resources: Resources, chapters: ChaptersInFlight) -> None:
        self._pool = pool
        self._resources = resources
        self._chapters = chapters
        self._kept: dict[Key, Kept] = {}
        self.changes = Changes()

    async def read(self, account_id: int, book_id: int) -> bytes:
        """The body of GenerationStatus. NotFound when there is no such book or it never had a run."""
        key, now = (account_id, book_id), _now()
        if (kept := self._kept.get(key)) and now < kept.until:
            return kept.body
        kept = self._kept[key] = Kept()
        try:
            found = await progress.of_book(self._pool, account_id, book_id)
            if found is None:
                raise NotFound
            body = status.encode(found, self._chapters.words_in_flight(found.run), self._resources.outage)
            if self._kept.get(key) is kept and self._is_ours(found.run):  # and nothing has changed since it was asked
                kept.body, kept.until = body, _now() + KEEP_SECONDS
            return body
        finally:
            if self._kept.get(key) is kept and not kept.body:
                del self._kept[key]

    async def read_other(
        self, account_id: int, book_id: int, is_known: Callable[[bytes], bool], seconds: float
    ) -> bytes | None:
        """The body as soon as it is not known; None if it stays so for that many seconds or a drain begins."""
        deadline = _now() + seconds
        with self.changes.of(book_id) as changed:
            while True:
                changed.clear()
                if not is_known(body := await self.read(account_id, book_id)):
                    return body
                del body  # thousands may wait
                if not self._chapters.draining:
                    await self._look_again(changed, deadline - _now())
                if self._chapters.draining or _now() >= deadline:
                    return None

    async def _look_again(self, changed: asyncio.Event, most: float) -> None:
        """Waits until a change is told of, or it is time to look for one that was not; not for all at one moment."""
        seconds = LOOK_SECONDS_AMONG_OTHERS if self._resources.other_processes else LOOK_SECONDS
        timer = asyncio.get_running_loop().call_later(min(most, seconds * uniform(0.5, 1)), changed.set)
        try:
            await changed.wait()
        finally:
            timer.cancel()

    def changed(self, key: Key) -> None:
        """What is kept of the book is not true any more."""
        self._kept.pop(key, None)
        self.changes.tell(key[1])

    def forget_old(self) -> None:
        now = _now()
        for key, kept in list(self._kept.items()):
            if kept.body and kept.until <= now:
                del self._kept[key]

    def _is_ours(self, run: Run) -> bool:
        mine = run.owner == self._resources.boot_id and run.status is RunStatus.RUNNING
        return mine and not self._resources.other_processes


def _now() -> float:
    return asyncio.get_running_loop().time()
