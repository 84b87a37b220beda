"""GenerationStatus of the books of this process, kept encoded until it changes."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass
from random import uniform

import asyncpg

from bookgen.actors import status
from bookgen.actors.actor import now
from bookgen.actors.batches import Batches
from bookgen.actors.changes import Change, Changes
from bookgen.actors.chapters_in_flight import ChaptersInFlight
from bookgen.actors.registry import Key
from bookgen.actors.resources import Resources
from bookgen.errors import must_exist
from bookgen.models import Run, RunPhase, RunStatus
from bookgen.providers.text import Outage
from bookgen.store import progress
from bookgen.store.progress import RunProgress

FORGET_SECONDS = 60.0  # after the last time that it was asked for
# How often whoever waits for a change looks for one that was not told: in the outline or the queue, or by another
# process, which tells of commands but not of every chapter.
LOOK_SECONDS = 30.0
LOOK_SECONDS_AMONG_OTHERS = 1.0
MAX_READS = 64  # in one statement


@dataclass(slots=True, eq=False)
class Kept:
    """A status as it was read, and encoded with what no row tells. Nothing while it is being read."""

    report: RunProgress | None = None
    words: int = 0
    outage: Outage | None = None
    body: bytes = b""
    asked_at: float = 0.0


class Statuses:
    """The one place that keeps encoded statuses: of runs that this process alone writes or restarts, until they change.

    Three ways lead to a change, and each drops what is kept: the run moves on (`changed`), its owner asks for a change
    of anything in this process (`account_changed`), and another process comes, which may change what it likes.
    """

    def __init__(self, pool: asyncpg.Pool, resources: Resources, chapters: ChaptersInFlight) -> None:
        self._reads = Batches[Key, RunProgress](lambda keys: progress.of_books(pool, keys), lambda key: key, MAX_READS)
        self._resources = resources
        self._chapters = chapters
        self._kept: dict[int, dict[int, Kept]] = {}  # by account, then by book
        self.changes = Changes()

    async def read(self, account_id: int, book_id: int) -> bytes:
        """The body of GenerationStatus. NotFound when there is no such book or it never had a run."""
        return self.kept(account_id, book_id) or await self.read_anew(account_id, book_id)

    async def read_anew(self, account_id: int, book_id: int) -> bytes:
        """The same from the database, for an answer that belongs to a change which has just been made."""
        kept = self._kept.setdefault(account_id, {})[book_id] = Kept()
        try:
            found = must_exist(await self._reads.submit((account_id, book_id)))
            body = self._encoded(kept, found)
            if self._is_ours(found.run):
                kept.report = found  # of use only if nothing has changed since it was asked for
            return body
        finally:
            if not kept.report:
                self._drop(account_id, book_id, kept)

    def kept(self, account_id: int, book_id: int) -> bytes | None:
        """The body, if it is kept and still what the rows say."""
        kept = self._kept.get(account_id, {}).get(book_id)
        return self._encoded(kept, kept.report) if kept and kept.report and self._is_ours(kept.report.run) else None

    def _encoded(self, kept: Kept, report: RunProgress) -> bytes:
        """The body, encoded anew if more words have come or the model has gone or come back."""
        words, outage = self._chapters.words_in_flight(report.run), self._outage(report.run)
        if not kept.body or words != kept.words or outage != kept.outage:
            kept.words, kept.outage, kept.body = words, outage, status.encode(report, words, outage)
        kept.asked_at = now()
        return kept.body

    def _outage(self, run: Run) -> Outage | None:
        """That of the model which the run asks, if it asks one, or what else its call waits for."""
        if run.phase is RunPhase.COVER or self._chapters.awaits_picture(run):
            return self._resources.outage_of_pictures
        if run.phase not in status.BY_MODEL:
            return None
        return self._resources.outage or self._chapters.wait(run)

    async def read_other(
        self, account_id: int, book_id: int, is_known: Callable[[bytes], bool], seconds: float
    ) -> bytes | None:
        """The body as soon as it is one that is not known; None after so many seconds, or once a drain begins."""
        deadline = now() + seconds
        with self.changes.of(book_id) as changed:
            while True:
                changed.clear()
                if not is_known(body := await self.read(account_id, book_id)):
                    return body
                del body  # thousands may wait
                if not self._resources.draining:
                    await self._look_again(changed, deadline - now())
                if self._resources.draining or now() >= deadline:
                    return None

    async def _look_again(self, changed: Change, most: float) -> None:
        """Waits until a change is told of, or it is time to look for one that was not: for each at another moment."""
        seconds = LOOK_SECONDS_AMONG_OTHERS if self._resources.other_processes else LOOK_SECONDS
        timer = asyncio.get_running_loop().call_later(min(most, seconds * uniform(0.5, 1)), changed.set)
        try:
            await changed.wait()
        finally:
            timer.cancel()

    def changed(self, key: Key) -> None:
        """Drops what is kept of the book, and wakes those who wait for a change of it."""
        account_id, book_id = key
        self._drop(account_id, book_id, self._kept.get(account_id, {}).get(book_id))
        self.changes.tell(book_id)

    def book_changed(self, book_id: int) -> None:
        """The same for a book whose account is not known, as another process tells of it."""
        for account_id, books in list(self._kept.items()):
            self._drop(account_id, book_id, books.get(book_id))
        self.changes.tell(book_id)

    def account_changed(self, account_id: int) -> None:
        """Drops what is kept of every book of the account, which has asked for a change of something."""
        self._kept.pop(account_id, None)

    def forget_all(self) -> None:
        """Drops everything: another process may have changed any book."""
        self._kept.clear()

    def forget_old(self) -> None:
        """Drops what nobody has asked for lately."""
        oldest = now() - FORGET_SECONDS
        for account_id, books in list(self._kept.items()):
            for book_id, kept in list(books.items()):
                if kept.body and kept.asked_at < oldest:
                    self._drop(account_id, book_id, kept)

    def _drop(self, account_id: int, book_id: int, kept: Kept | None) -> None:
        """Forgets this very one, not what another reader has put in its place."""
        books = self._kept.get(account_id, {})
        if kept is not None and books.get(book_id) is kept:
            del books[book_id]
            if not books:
                del self._kept[account_id]

    def _is_ours(self, run: Run) -> bool:
        """Whether no other process changes it: this one writes it, or it has ended; and there is no other."""
        mine = run.owner == self._resources.boot_id and run.status is RunStatus.RUNNING
        return (mine or not run.status.active) and not self._resources.other_processes
