"""Caches encoded statuses until they change, and wakes the tasks that wait for a change."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from random import uniform
from typing import Protocol

import asyncpg

from bookgen.actors.actor import Key, now
from bookgen.actors.resources import Resources
from bookgen.actors.status import BY_MODEL, encode
from bookgen.errors import NeverGenerated
from bookgen.models import Run, RunPhase, RunStatus
from bookgen.providers.text import Outage
from bookgen.store import progress
from bookgen.store.progress import RunProgress

FORGET_SECONDS = 60.0  # how long a cached status is kept after the last request for it
# How often a waiting task polls for changes that have no notification: in the outline, in the queue, and by another
# process, which sends notifications of commands but not of finished chapters.
LOOK_SECONDS = 30.0
LOOK_SECONDS_AMONG_OTHERS = 1.0


class Change:
    """An event for a single waiting task. It takes less memory than asyncio.Event; thousands may wait."""

    __slots__ = ("_is_set", "_told")

    def __init__(self) -> None:
        self._is_set = False
        self._told: asyncio.Future[None] | None = None

    def set(self) -> None:
        self._is_set = True
        if self._told is not None and not self._told.done():
            self._told.set_result(None)

    def clear(self) -> None:
        self._is_set = False

    async def wait(self) -> None:
        if self._is_set:
            return
        self._told = asyncio.get_running_loop().create_future()
        try:
            await self._told
        finally:
            self._told = None


class Changes:
    """Wakes the tasks that wait for a change of a book."""

    def __init__(self) -> None:
        self._waiting: dict[int, set[Change]] = {}

    @contextlib.contextmanager
    def of(self, book_id: int) -> Iterator[Change]:
        """A context manager that yields an event, which is set at every change of the book."""
        changed = Change()
        others = self._waiting.setdefault(book_id, set())
        others.add(changed)
        try:
            yield changed
        finally:
            others.remove(changed)
            if not others:
                del self._waiting[book_id]

    def tell(self, book_id: int) -> None:
        for changed in self._waiting.get(book_id, ()):
            changed.set()

    def tell_all(self) -> None:
        for book_id in self._waiting:
            self.tell(book_id)

    def __len__(self) -> int:
        """The number of waiting tasks."""
        return sum(map(len, self._waiting.values()))


@dataclass(slots=True, eq=False)
class CachedStatus:
    """A cached status. `body` is its JSON, made from `report` (read from the database), `words` and `outage`."""

    report: RunProgress | None = None
    words: int = 0
    outage: Outage | None = None
    body: bytes = b""
    asked_at: float = 0.0


class CallsInFlight(Protocol):
    """What the status of a run needs to know about the run's work in this process.

    `words_in_flight`: the words of the unfinished chapter so far. `outage_awaited`: the outage that the run's model
    call is waiting for, if the wait is already long. `awaits_picture`: whether the work waits for the image model.
    """

    def words_in_flight(self, run: Run) -> int: ...

    def outage_awaited(self, run: Run) -> Outage | None: ...

    def awaits_picture(self, run: Run) -> bool: ...


class Statuses:
    """Caches the statuses of runs, encoded as JSON, while no other process can change the run (`_is_cacheable`).

    Three events drop a cached status: the run advances (`changed`), the owner changes anything through this process
    (`account_changed`), or another process appears, which may change any run.
    """

    def __init__(self, pool: asyncpg.Pool, resources: Resources, calls: CallsInFlight) -> None:
        self._pool = pool
        self._resources = resources
        self._calls = calls
        self._cache: dict[int, dict[int, CachedStatus]] = {}  # by account, then by book
        self.changes = Changes()

    async def read(self, account_id: int, book_id: int) -> bytes:
        """Return the JSON of the book's GenerationStatus, from the cache if possible.

        Raises NeverGenerated if the book has no run.
        """
        return self.cached(account_id, book_id) or await self.read_anew(account_id, book_id)

    async def read_anew(self, account_id: int, book_id: int) -> bytes:
        """Like `read`, but always from the database, for the response to a request that changed the run."""
        entry = self._cache.setdefault(account_id, {})[book_id] = CachedStatus()
        try:
            found = await progress.of_book(self._pool, account_id, book_id)
            if found is None:
                raise NeverGenerated
            body = self._encoded(entry, found)
            if self._is_cacheable(found.run) and not found.unattended:
                entry.report = found  # without effect if the status was dropped from the cache meanwhile
            return body
        finally:
            if not entry.report:
                self._drop(account_id, book_id, entry)

    def cached(self, account_id: int, book_id: int) -> bytes | None:
        """Return the cached JSON; None if there is none, or if another process may have changed the run since."""
        entry = self._cache.get(account_id, {}).get(book_id)
        if entry and entry.report and self._is_cacheable(entry.report.run):
            return self._encoded(entry, entry.report)
        return None

    def _encoded(self, entry: CachedStatus, report: RunProgress) -> bytes:
        """Return the JSON of a cached status. It is made again if the number of words or the outage has changed."""
        words, outage = self._calls.words_in_flight(report.run), self._outage(report.run)
        if not entry.body or words != entry.words or outage != entry.outage:
            entry.words, entry.outage, entry.body = words, outage, encode(report, words, outage, self._resources.model)
        entry.asked_at = now()
        return entry.body

    def _outage(self, run: Run) -> Outage | None:
        """Return the outage that the run waits for: of the image model or of the text model; None if there is none."""
        if run.phase is RunPhase.COVER or self._calls.awaits_picture(run):
            return self._resources.outage_of_pictures
        if run.phase not in BY_MODEL:
            return None
        return self._resources.outage or self._calls.outage_awaited(run)

    async def read_other(
        self, account_id: int, book_id: int, is_known: Callable[[bytes], bool], seconds: float
    ) -> bytes | None:
        """Wait for a status that the caller does not know yet, and return its JSON.

        `is_known` says whether the caller knows a status. Returns None after `seconds`, or when the server begins to
        stop.
        """
        deadline = now() + seconds
        with self.changes.of(book_id) as changed:
            while True:
                changed.clear()
                if not is_known(body := await self.read(account_id, book_id)):
                    return body
                del body  # free it during the wait: there may be thousands of waiters
                if not self._resources.draining:
                    await self._wait_for_change(changed, deadline - now())
                if self._resources.draining or now() >= deadline:
                    return None

    async def _wait_for_change(self, changed: Change, most: float) -> None:
        """Wait for a change, or until it is time to poll the database; at most `most` seconds.

        The time to poll is random, so that the waiting tasks do not all query the database at once.
        """
        seconds = LOOK_SECONDS_AMONG_OTHERS if self._resources.other_processes else LOOK_SECONDS
        timer = asyncio.get_running_loop().call_later(min(most, seconds * uniform(0.5, 1)), changed.set)
        try:
            await changed.wait()
        finally:
            timer.cancel()

    def changed(self, key: Key) -> None:
        """Drop the book's cached status, and wake the tasks that wait for a change of the book."""
        account_id, book_id = key
        self._drop(account_id, book_id, self._cache.get(account_id, {}).get(book_id))
        self.changes.tell(book_id)

    def book_changed(self, book_id: int) -> None:
        """Like `changed`, for a book whose account is unknown. Notifications from other processes have no account."""
        for account_id, books in list(self._cache.items()):
            self._drop(account_id, book_id, books.get(book_id))
        self.changes.tell(book_id)

    def account_changed(self, account_id: int) -> None:
        """Drop the cached statuses of the account's books, after a request of the account has changed something."""
        self._cache.pop(account_id, None)

    def forget_all(self) -> None:
        """Drop all cached statuses, since another process may have changed any book."""
        self._cache.clear()

    def forget_old(self) -> None:
        """Drop statuses that nobody has requested lately."""
        oldest = now() - FORGET_SECONDS
        for account_id, books in list(self._cache.items()):
            for book_id, entry in list(books.items()):
                if entry.body and entry.asked_at < oldest:
                    self._drop(account_id, book_id, entry)

    def _drop(self, account_id: int, book_id: int, entry: CachedStatus | None) -> None:
        """Remove `entry` from the cache, unless it was replaced by a newer entry."""
        books = self._cache.get(account_id, {})
        if entry is not None and books.get(book_id) is entry:
            del books[book_id]
            if not books:
                del self._cache[account_id]

    def _is_cacheable(self, run: Run) -> bool:
        """Whether the run's status may be cached, because no other process can change the run.

        This is so if no other process is alive and the run has either ended or is being written by this process.
        """
        mine = run.owner == self._resources.boot_id and run.status is RunStatus.RUNNING
        return (mine or not run.status.active) and not self._resources.other_processes
