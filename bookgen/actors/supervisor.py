"""Finds or starts actors, restarts those that crash, drains them at the end."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Callable, Sequence
from dataclasses import replace
from uuid import UUID, uuid4

import structlog

from bookgen.actors import status
from bookgen.actors.actor import Actor, spawn
from bookgen.actors.book import BookActor
from bookgen.actors.convergence import Convergence, every
from bookgen.actors.crashes import Crashes, Key
from bookgen.actors.decide import CRASHES_TO_SUSPECT
from bookgen.actors.group_commit import GroupCommit
from bookgen.actors.health import TRANSIENT
from bookgen.actors.hints import listen
from bookgen.actors.jobs import Jobs
from bookgen.actors.lease import RENEW_SECONDS, Lease
from bookgen.actors.messages import (
    Abandon,
    Advance,
    Command,
    DraftOutline,
    Generate,
    Job,
    ReworkChapters,
    RewriteChapter,
    RowChanged,
    WriteNext,
)
from bookgen.actors.probation import Probation
from bookgen.actors.resources import CostCaps, Quota, Resources, Writing, no_price
from bookgen.actors.transaction import Committed, Transactions
from bookgen.errors import NotFound, Unavailable
from bookgen.models import Run, RunStatus, Usage
from bookgen.providers.text import CallsHalted, TextModel
from bookgen.store import checkpoints, ownership, processes, runs
from bookgen.store import material as store
from bookgen.store.checkpoints import Begin, Begun, Checkpoint, Saved
from bookgen.store.database import Database

log = structlog.get_logger()

SWEEP_SECONDS = 5.0
LOOK_SECONDS = 1.0
IDLE_SECONDS = 60.0
STATUS_SECONDS = 2.0
RELEASE_SECONDS = 2.0
SHORTAGE_SECONDS = 60  # somebody has to make room first
BEGINS_AT_ONCE, CHECKPOINTS_AT_ONCE = 64, 16  # in one transaction


class Supervisor:
    """The actors of one process, by account and book."""

    def __init__(
        self,
        database: Database,
        *,
        writing: Writing,
        model: TextModel,
        quota: Quota,
        price: Callable[[str, Usage], int | None] = no_price,
        caps: CostCaps | None = None,
        call_seconds: float = 180.0,
        chapters_at_once: int = 64,
        shortage: Callable[[], str | None] = lambda: None,
    ) -> None:
        self.resources = Resources(
            database.runs, quota, writing, model, price, caps or CostCaps(), call_seconds=call_seconds
        )
        self.transactions = Transactions(self.resources)
        self.jobs = Jobs(self.resources)
        self.draining = False
        self.restored = False
        self._database = database
        self._shortage = shortage
        self._turns = asyncio.Semaphore(chapters_at_once)
        self._lease = Lease(self.resources, self._lease_lost)
        pool = database.runs
        self._begins = GroupCommit[Begin, Begun](lambda rows: checkpoints.begin(pool, rows), BEGINS_AT_ONCE)
        self._checkpoints = GroupCommit[Checkpoint, Saved](
            lambda rows: checkpoints.save(pool, rows), CHECKPOINTS_AT_ONCE
        )
        self.crashes = Crashes(self.resources, self.transactions, self._revive, self.moved)
        self._probation = Probation(self._name_trial)
        self.resources.waiting_for_model = self._probation.waiting_for_model
        self._convergence = Convergence(self.resources, self.transactions, self._lease, self)
        self._actors: dict[Key, BookActor] = {}
        self._loops: list[asyncio.Task[None]] = []

    # Life

    async def start(self) -> None:
        """Takes a lease, takes over what nobody writes any more, and keeps doing so."""
        await self._lease.take()
        await self._lease.renew()  # tells of the neighbours
        await self._convergence.sweep()
        self.restored = True
        self._loops = [
            spawn(every(RENEW_SECONDS, self._lease.renew, self.resources)),
            spawn(every(SWEEP_SECONDS, self._convergence.sweep, self.resources)),
            spawn(every(LOOK_SECONDS, self._look_with_neighbours, self.resources)),
            spawn(listen(self._database.dsn, self._hinted)),
        ]

    @property
    def unready(self) -> str | None:
        """Why no work should be sent here; None when it may."""
        if self.draining:
            return "The server is stopping."
        if not self.restored:
            return "The runs are still being restored."
        if not self.resources.health.up:
            return "The database is away."
        if self.crashes.systemic:
            return "So many books fail at once that something bigger must be wrong."
        return self._shortage()

    async def drain(self, seconds: float) -> None:
        """Lets calls in flight finish for at most `seconds`, then hands the runs back as they are."""
        self.draining = True
        for actor in self._actors.values():
            actor.halt()
        deadline = self._now() + seconds
        try:
            while self._busy() and self._now() < deadline:  # noqa: ASYNC110 (several kinds of work, once in a life)
                await asyncio.sleep(0.02)
        finally:
            await self._let_go()

    async def _let_go(self) -> None:
        cut: list[asyncio.Task[None]] = [*self._loops, *self.jobs.tasks]
        for task in cut:
            task.cancel()
        self._probation.clear()
        for actor in self._actors.values():
            actor.lose()
        self._actors.clear()
        try:
            async with asyncio.timeout(RELEASE_SECONDS):
                await ownership.release(self.resources.pool, self.resources.boot_id)
                await self._lease.give_up()
        except TRANSIENT as error:
            log.warning("runs_not_released", reason=str(error))
        with contextlib.suppress(TimeoutError):  # the end of a job waits for a database that is away
            async with asyncio.timeout(RELEASE_SECONDS):
                await asyncio.gather(*cut, return_exceptions=True)

    def _busy(self) -> bool:
        return bool(self.jobs.tasks) or any(actor.writing or not actor.idle for actor in self._actors.values())

    # What callers ask for

    async def ask(self, account_id: int, book_id: int, command: Command) -> Run:
        """Steers the book's run; the answer is durable."""
        self._refuse_unless_open()
        if isinstance(command, Generate) and (reason := self._shortage()):
            raise Unavailable(reason, retry_after=SHORTAGE_SECONDS)
        run = await self._actor(account_id, book_id).ask(command)
        if not isinstance(run, Run):
            raise NotFound
        return run

    async def generation_status(self, account_id: int, book_id: int) -> bytes:
        """The body of GenerationStatus. NotFound when there is no such book or it never had a run."""
        actor = self._actors.get((account_id, book_id))
        if actor and actor.status is not None and self._now() - actor.status_at < STATUS_SECONDS:
            return actor.status
        version = actor.version if actor else None
        report = await runs.report(self._database.http, account_id, book_id)
        if report is None:
            raise NotFound
        body = status.encode(report, actor.words_beyond(report.run) if actor else 0)
        ours = report.run.owner == self.resources.boot_id and report.run.status is RunStatus.RUNNING
        if actor and ours and not self._lease.neighbours and actor.version == version:
            actor.status, actor.status_at = body, self._now()
        return body

    async def draft_outline(self, account_id: int, book_id: int) -> None:
        await self._do(account_id, book_id, DraftOutline())

    async def rework_chapters(
        self, account_id: int, book_id: int, chapter_ids: Sequence[int], instructions: str = ""
    ) -> None:
        await self._do(account_id, book_id, ReworkChapters(tuple(chapter_ids), instructions))

    async def rewrite_chapter(self, account_id: int, chapter_id: int) -> None:
        place = await store.place_of(self._database.http, account_id, chapter_id)
        if place is None:
            raise NotFound
        book_id, number = place
        await self._do(account_id, book_id, RewriteChapter(chapter_id, number))

    async def delete_book(self, account_id: int, book_id: int) -> None:
        """Ends the book's run and its call in flight, then deletes the book."""
        await self._actor(account_id, book_id).ask(Abandon())
        await self.transactions.delete_book(account_id, book_id)

    async def account_blocked(self, account_id: int) -> None:
        """Ends every active run of the account."""
        for book_id in await runs.active_books(self._database.http, account_id):
            await self._actor(account_id, book_id).ask(Abandon())

    def counts(self) -> dict[str, int]:
        """How many actors are resident here, and how many of them write."""
        return {"resident": len(self._actors), "running": sum(actor.writing for actor in self._actors.values())}

    async def _do(self, account_id: int, book_id: int, job: Job) -> None:
        self._refuse_unless_open()
        task: asyncio.Task[None] = await self._actor(account_id, book_id).ask(job)
        await asyncio.shield(task)

    def _refuse_unless_open(self) -> None:
        if self.draining or not self._lease.held:
            raise Unavailable("The server is starting or stopping. Try again in a moment.")

    # What actors need

    @property
    def crowded(self) -> bool:
        """Whether a chapter that begins now has to wait for its turn."""
        return self._turns.locked()

    async def begin_chapter(self, run: Run) -> Begun | None:
        """Announces the run's next chapter. None: nothing is left, or the run is not ours to write."""
        return await self._begins.commit(Begin(run.id, run.epoch))

    async def checkpoint(self, row: Checkpoint) -> Saved | None:
        """Commits a chapter and announces the next one. None: it was fenced off."""
        saved = await self._checkpoints.commit(row)
        if saved and saved.run.status is RunStatus.PAUSED and saved.run.done == saved.run.total:
            return replace(saved, run=await self._complete(saved.run))
        return saved

    async def _complete(self, run: Run) -> Run:
        """The author's hand made the chapter of a paused run its last one, while it was being written."""
        committed = await self.transactions.steer(run.account_id, run.book_id, Advance(), uuid4())
        self.moved(committed)
        return committed.run or run

    @contextlib.asynccontextmanager
    async def turn(self, run: Run) -> AsyncIterator[None]:
        """One of the chapters that are written at the same time; an account has one at most, so turns are fair.

        CallsHalted when the lease under which the chapter was begun is lost.
        """
        if run.crash_count >= CRASHES_TO_SUSPECT and self.counts()["running"] > 1:
            await self._probation.rest(run)
        async with self._turns, self._probation.trial(run):
            if run.owner != self.resources.boot_id:
                raise CallsHalted("chapter", run.current_chapter)
            try:
                yield
            except TRANSIENT as error:  # outages are waited out inside: this is a bug, which no waiting mends
                raise RuntimeError(f"chapter {run.current_chapter} of run {run.id} failed") from error

    def begin(self, run: Run) -> None:
        """Lets the run's actor write its next chapter."""
        self._actor(run.account_id, run.book_id).tell(WriteNext(run))

    def landed(self, run: Run) -> None:
        self._probation.over(run.id)

    def moved(self, committed: Committed) -> None:
        if committed.promoted:
            self.begin(committed.promoted)

    async def _name_trial(self, run_id: UUID | None) -> None:
        resources = self.resources
        await resources.health.through_outages(
            lambda: processes.set_probation(resources.pool, resources.boot_id, run_id)
        )

    # What convergence needs

    def busy_with(self, run: Run) -> bool:
        key = (run.account_id, run.book_id)
        actor = self._actors.get(key)
        at_work = actor is not None and (actor.writing or not actor.idle)
        return self.draining or self.crashes.rests(key) or at_work

    def in_flight(self) -> dict[UUID, Callable[[], None]]:
        return {
            actor.run_in_flight: lambda actor=actor: actor.tell(RowChanged())  # type: ignore[misc]
            for actor in self._actors.values()
            if actor.run_in_flight
        }

    def passivate(self) -> None:
        """Forgets actors that have nothing to do. Nothing is awaited between looking and forgetting."""
        before = self._now() - IDLE_SECONDS
        for key, actor in list(self._actors.items()):
            if actor.idle and not actor.writing and actor.last_used < before:
                del self._actors[key]

    async def _look_with_neighbours(self) -> bool:
        return self._lease.neighbours > 0 and await self._convergence.look_after_flights()

    def _hinted(self, book_id: int) -> None:
        for actor in self._actors.values():
            if actor.book_id == book_id:
                actor.status, actor.version = None, actor.version + 1
                actor.tell(RowChanged())

    # Actors

    def _actor(self, account_id: int, book_id: int) -> BookActor:
        actor = self._actors.get((account_id, book_id))
        if actor is None:
            actor = BookActor(self, account_id, book_id, self._crashed)
            self._actors[account_id, book_id] = actor
        actor.last_used = self._now()
        return actor

    def _crashed(self, actor: Actor, error: Exception) -> None:
        assert isinstance(actor, BookActor)
        key = (actor.account_id, actor.book_id)
        actor.cancel()
        if self._actors.get(key) is actor:
            del self._actors[key]
        self.crashes.crashed(key, error)

    def _revive(self, key: Key) -> None:
        if not self.draining:
            self._actor(*key).tell(RowChanged())

    def _lease_lost(self) -> None:
        """Somebody else may write our runs now: nothing that is in flight here may find a way into the database.

        The actors stay, since a command that one of them is about to carry out is carried out under the next lease.
        """
        for actor in self._actors.values():
            actor.lose()
        self._probation.clear()
        if not self.draining:
            spawn(self.resources.health.through_outages(self._lease.take))

    def _now(self) -> float:
        return asyncio.get_running_loop().time()
