"""GenerationStatus of the books of this process, kept encoded while it can't have changed."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass

import asyncpg

from bookgen.actors import status
from bookgen.actors.chapters_in_flight import ChaptersInFlight
from bookgen.actors.registry import Key
from bookgen.actors.resources import Resources
from bookgen.errors import NotFound
from bookgen.models import Run, RunStatus
from bookgen.store import progress

KEEP_SECONDS = 2.0


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

    async def read(self, account_id: int, book_id: int) -> bytes:
        """The body of GenerationStatus. NotFound when there is no such book or it never had a run."""
        key, now = (account_id, book_id), asyncio.get_running_loop().time()
        if (kept := self._kept.get(key)) and now < kept.until:
            return kept.body
        kept = self._kept[key] = Kept()
        try:
            found = await progress.of_book(self._pool, account_id, book_id)
            if found is None:
                raise NotFound
            body = status.encode(found, self._chapters.words_in_flight(found.run))
            if self._kept.get(key) is kept and self._is_ours(found.run):  # and nothing has changed since it was asked
                kept.body, kept.until = body, asyncio.get_running_loop().time() + KEEP_SECONDS
            return body
        finally:
            if self._kept.get(key) is kept and not kept.body:
                del self._kept[key]

    def changed(self, key: Key) -> None:
        """What is kept of the book is not true any more."""
        self._kept.pop(key, None)

    def forget_old(self) -> None:
        now = asyncio.get_running_loop().time()
        for key, kept in list(self._kept.items()):
            if kept.body and kept.until <= now:
                del self._kept[key]

    def _is_ours(self, run: Run) -> bool:
        mine = run.owner == self._resources.boot_id and run.status is RunStatus.RUNNING
        return mine and not self._resources.other_processes
