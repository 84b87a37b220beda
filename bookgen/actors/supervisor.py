"""Finds or starts actors, keeps them alive, takes over runs of dead processes, drains at the end."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from uuid import uuid4

import structlog

from bookgen.actors import status
from bookgen.actors.actor import Actor, spawn
from bookgen.actors.book import BookActor
from bookgen.actors.committer import Committer
from bookgen.actors.health import TRANSIENT
from bookgen.actors.jobs import Jobs
from bookgen.actors.lease import RENEW_SECONDS, Lease
from bookgen.actors.messages import (
    Abandon,
    Command,
    DraftOutline,
    Failure,
    GiveUp,
    Job,
    ReworkChapters,
    RewriteChapter,
    RowChanged,
)
from bookgen.actors.resources import CostCaps, Quota, Resources, Writing, no_price
from bookgen.actors.restarts import Restarts
from bookgen.actors.transaction import Committed, Transactions
from bookgen.errors import NotFound, Unavailable
from bookgen.models import Run, RunStatus, Usage
from bookgen.providers.text import TextModel
from bookgen.store import material as store
from bookgen.store import processes, runs
from bookgen.store.database import Database
from bookgen.store.runs import Checkpoint

log = structlog.get_logger()

SWEEP_SECONDS = 5.0
CLAIM_ROWS = 1000
IDLE_SECONDS = 60.0
STATUS_SECONDS = 2.0


class Supervisor:
    """The actors of one process.

    Recovery is level-triggered: a sweep every few seconds makes what is so what should be, and the start of the
    process is only the first sweep.
    """

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
    ) -> None:
        self.resources = Resources(
            database.runs, quota, writing, model, price, caps or CostCaps(), call_seconds=call_seconds
        )
        self.transactions = Transactions(self.resources)
        self.jobs = Jobs(self.resources)
        self.draining = False
        self.restored = False
        self._reads = database.http
        self._lease = Lease(self.resources, self._lease_lost)
        self._committer = Committer(database.runs)
        self._restarts = Restarts()
        self._actors: dict[tuple[int, int], BookActor] = {}
        self._resting: set[tuple[int, int]] = set()
        self._loops: list[asyncio.Task[None]] = []

    # Life

    async def start(self) -> None:
        await self._lease.take()
        await self._sweep()
        self.restored = True
        self._loops = [
            spawn(self._every(RENEW_SECONDS, self._lease.renew)),
            spawn(self._every(SWEEP_SECONDS, self._sweep)),
        ]

    async def drain(self, seconds: float) -> None:
        """Lets calls in flight finish for at most `seconds`, then hands the runs back as they are."""
        self.draining = True
        for actor in self._actors.values():
            actor.halt()
        deadline = self._now() + seconds
        while self._busy() and self._now() < deadline:  # noqa: ASYNC110 (several kinds of work, once in a life)
            await asyncio.sleep(0.02)
        for loop in self._loops:
            loop.cancel()
        for actor in self._actors.values():
            actor.cancel()
        for task in list(self.jobs.tasks):
            task.cancel()
        try:
            async with asyncio.timeout(2.0):
                await runs.release(self.resources.pool, self.resources.boot_id)
                await self._lease.give_up()
        except TRANSIENT:
            log.warning("runs_not_released")
        self._actors.clear()

    def _busy(self) -> bool:
        return bool(self.jobs.tasks) or any(actor.writing or not actor.idle for actor in self._actors.values())

    # What callers ask for

    async def ask(self, account_id: int, book_id: int, command: Command) -> Run:
        """Steers the book's run; the answer is durable."""
        self._refuse_while_draining()
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
        report = await runs.report(self._reads, account_id, book_id)
        if report is None:
            raise NotFound
        body = status.encode(report)
        ours = report.run.owner == self.resources.boot_id and report.run.status is RunStatus.RUNNING
        if actor and ours and not self._lease.neighbours and actor.version == version:
            actor.status, actor.status_at = body, self._now()
        return body

    async def draft_outline(self, account_id: int, book_id: int) -> None:
        await self._do(account_id, book_id, DraftOutline())

    async def rework_chapters(
        self, account_id: int, book_id: int, chapter_ids: list[int], instructions: str = ""
    ) -> None:
        await self._do(account_id, book_id, ReworkChapters(tuple(chapter_ids), instructions))

    async def rewrite_chapter(self, account_id: int, chapter_id: int) -> None:
        place = await store.place_of(self._reads, account_id, chapter_id)
        if place is None:
            raise NotFound
        await self._do(account_id, place[0], RewriteChapter(chapter_id, place[1]))

    async def delete_book(self, account_id: int, book_id: int) -> None:
        """Ends the book's run and its call in flight, then deletes the book."""
        await self._actor(account_id, book_id).ask(Abandon())
        await self.transactions.delete_book(account_id, book_id)

    async def account_blocked(self, account_id: int) -> None:
        """Ends every active run of the account."""
        for book_id in await runs.active_books(self._reads, account_id):
            await self._actor(account_id, book_id).ask(Abandon())

    def counts(self) -> dict[str, int]:
        """How many actors are resident here, and how many of them write."""
        return {"resident": len(self._actors), "running": sum(actor.writing for actor in self._actors.values())}

    async def _do(self, account_id: int, book_id: int, job: Job) -> None:
        self._refuse_while_draining()
        task: asyncio.Task[None] = await self._actor(account_id, book_id).ask(job)
        await asyncio.shield(task)

    def _refuse_while_draining(self) -> None:
        if self.draining:
            raise Unavailable("The server is stopping. Try again in a moment.")

    # What actors need

    async def checkpoint(self, row: Checkpoint) -> Run | None:
        return await self._committer.checkpoint(row)

    def moved(self, committed: Committed) -> None:
        if committed.promoted:
            self._wake(committed.promoted)

    # Actors

    def _actor(self, account_id: int, book_id: int) -> BookActor:
        actor = self._actors.get((account_id, book_id))
        if actor is None:
            actor = BookActor(self, account_id, book_id, self._crashed)
            self._actors[account_id, book_id] = actor
        actor.last_used = self._now()
        return actor

    def _wake(self, run: Run) -> None:
        self._actor(run.account_id, run.book_id).tell(RowChanged())

    def _crashed(self, actor: Actor, error: Exception) -> None:
        assert isinstance(actor, BookActor)
        key = (actor.account_id, actor.book_id)
        log.error("actor_crashed", book_id=actor.book_id, exc_info=error)
        actor.cancel()
        if self._actors.get(key) is actor:
            del self._actors[key]
        self._restarts.crashed(actor.book_id, self._now())
        if self._restarts.spent(actor.book_id, self._now()):
            spawn(self._give_up(*key))
        else:
            self._resting.add(key)
            asyncio.get_running_loop().call_later(self._restarts.wait(actor.book_id), self._revive, key)

    def _revive(self, key: tuple[int, int]) -> None:
        self._resting.discard(key)
        if not self.draining:
            self._actor(*key).tell(RowChanged())

    async def _give_up(self, account_id: int, book_id: int) -> None:
        failure = Failure("internal", "Writing this book failed on an error of ours.", "chapter", None, True)
        op = uuid4()
        committed = await self.resources.health.through_outages(
            lambda: self.transactions.steer(account_id, book_id, GiveUp(failure), op)
        )
        self.moved(committed)

    def _lease_lost(self) -> None:
        for actor in self._actors.values():
            actor.cancel()
        self._actors.clear()

    # Convergence

    async def _every(self, seconds: float, work: Callable[[], object]) -> None:
        while True:
            await asyncio.sleep(seconds)
            try:
                await work()  # type: ignore[misc]
            except TRANSIENT as error:
                self.resources.health.saw(error)
            except Exception:
                log.exception("sweep_failed", work=getattr(work, "__name__", ""))

    async def _sweep(self) -> None:
        pool, boot_id = self.resources.pool, self.resources.boot_id
        await self._lease.bury_dead_neighbours()
        while claimed := await runs.claim(pool, boot_id, CLAIM_ROWS):
            for run in claimed:
                self._wake(run)
        for account_id in await runs.waiting_accounts(pool, self.resources.call_seconds):
            if promoted := await self.transactions.promote(account_id):
                self._wake(promoted)
        for run in await runs.owned(pool, boot_id):
            key = (run.account_id, run.book_id)
            actor = self._actors.get(key)
            if key in self._resting:
                continue
            if actor is None or (actor.idle and not actor.writing):
                self._wake(run)
        await processes.prune(pool)
        self._passivate()
        self.resources.health.saw_success()

    def _passivate(self) -> None:
        """Forgets actors that have nothing to do. Nothing is awaited between looking and forgetting."""
        before = self._now() - IDLE_SECONDS
        for key, actor in list(self._actors.items()):
            if actor.idle and not actor.writing and actor.last_used < before:
                del self._actors[key]

    def _now(self) -> float:
        return asyncio.get_running_loop().time()
