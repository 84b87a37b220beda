"""The supervisor of one process: it starts its actors, finds them for callers, and drains them at the end.

A run is the writing of a book, and a job is other model work on a book. To drain is to let the model calls in flight
finish without starting others.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable, Collection

import structlog

from bookgen.actors.actor import Key, Registry, now, spawn
from bookgen.actors.blurbs import Blurbs
from bookgen.actors.book import BookActor
from bookgen.actors.jobs import Jobs
from bookgen.actors.lease import RENEW_AGAIN_SECONDS, RENEW_SECONDS, Lease, ProviderLimits
from bookgen.actors.messages import Abandon, Command, DeleteBook, Job, RowChanged
from bookgen.actors.production import Production
from bookgen.actors.recovery import Crashes, Recovery, every
from bookgen.actors.reports import Reports
from bookgen.actors.resources import LeaseState, PaintsSpreads, Products, Resources, Writing
from bookgen.actors.runs_in_flight import RunsInFlight
from bookgen.actors.status_cache import Statuses
from bookgen.actors.transaction import Transactions
from bookgen.billing.cost_caps import CostCaps
from bookgen.billing.quota import Quota
from bookgen.errors import NotFound, Unavailable
from bookgen.files.keeping import Files
from bookgen.models import ProcessRole, RevisionMode, Run, Usage
from bookgen.providers.text import TextModel
from bookgen.store import backups, blurbs, books, ownership, processes, reports, reservations, retention, slots
from bookgen.store.database import Database
from bookgen.store.notifications import JOINED, WAITING, listen
from bookgen.store.overview import add_past_usage
from bookgen.writing.window import WINDOW

log = structlog.get_logger()

SWEEP_SECONDS = 5.0
LOOK_SECONDS = 1.0
PRUNE_SECONDS = 60.0
IDLE_SECONDS = 60.0
RELEASE_SECONDS = 2.0
STOPPING = "The server is starting or stopping. Try again in a moment."


class Supervisor:
    """Starts, finds and drains the actors of one process."""

    def __init__(
        self,
        database: Database,
        *,
        writing: Writing,
        products: Products,
        model: TextModel,
        quota: Quota,
        painter: PaintsSpreads,
        price: Callable[[str, Usage], int | None],
        caps: CostCaps,
        chapters_at_once: int,
        names_model: bool = False,
        revision: RevisionMode = RevisionMode.OFF,
        context_tokens: int = WINDOW,
        role: ProcessRole = ProcessRole.BOTH,
        files: Files | None = None,
    ) -> None:
        parts = (quota, writing, products, model, price, caps, painter, names_model, revision, context_tokens, role)
        self.resources = Resources(database.runs, database.lease, *parts, files or Files())
        self.transactions = Transactions(self.resources)
        self.runs_in_flight = RunsInFlight(self.resources, chapters_at_once, Production(self.resources).perform)
        self.jobs = Jobs(self.resources, self.transactions)
        self.reports = Reports(self.resources)
        self.blurbs = Blurbs(self.resources)
        self.statuses = Statuses(database.http, self.resources, self.runs_in_flight)
        self.registry = Registry(self._make_actor)
        self.crashes = Crashes(self.resources, self.transactions, self.statuses, self.registry)
        self.limits = ProviderLimits(self.resources)
        self.lease = Lease(self.resources, self.limits, self._drop_work)
        self.recovery = Recovery(
            self.resources, self.transactions, self.runs_in_flight, self.statuses, self.registry, self.crashes
        )
        self.restored = False
        self._database = database
        self._sweeping, self._run_waits = asyncio.Lock(), asyncio.Event()
        self._loops: list[asyncio.Task[None]] = []

    # Start

    async def start(self) -> None:
        """Take a lease (the right to write runs) and take over runs that no process writes. Then keep doing both.

        A process that takes no runs has a lease too, because the books of its jobs are reserved under this lease.
        """
        health = self.resources.health
        await self.resources.find_writer()
        await health.through_outages(self.lease.take_and_renew)
        # First, because the rest may take long in an outage and needs the lease.
        self._loops.append(spawn(every(RENEW_SECONDS, self.lease.renew, self.resources, again=RENEW_AGAIN_SECONDS)))
        await health.through_outages(self._restore)
        self.restored = True
        self._loops += [
            spawn(every(SWEEP_SECONDS, self.sweep, self.resources)),
            spawn(listen(self._database.direct_dsn, self._notified, self.limits.heard, self._listening)),
        ]
        if self.resources.writes_runs:
            self._loops += [
                spawn(every(0, self._sweep_when_a_run_waits, self.resources)),
                spawn(every(LOOK_SECONDS, self._look, self.resources)),
                spawn(every(PRUNE_SECONDS, self._prune, self.resources)),
                spawn(self.reports.run()),
                spawn(self.blurbs.run()),
            ]
        if self.resources.writer is None:  # the model's server was unreachable
            self._loops.append(spawn(every(SWEEP_SECONDS, self.lease.tell_writer, self.resources)))

    async def _restore(self) -> None:
        if not await self.sweep():
            raise Unavailable(STOPPING)

    async def sweep(self) -> bool:
        """Do the periodic work. Without a lease, do nothing: other processes would take back the claimed runs.

        Returns whether the database was queried.
        """
        async with self._sweeping:
            return await self._sweep()

    async def _sweep(self) -> bool:
        if not self.resources.has_lease:
            return False
        self.runs_in_flight.give_up_stalled()
        await self.lease.expire_dead_processes()
        if self.resources.writes_runs and not await self._awaits_operator():
            await self.recovery.sweep(takes_over=self.lease.trusts_expiry)
        await self.jobs.forget_lost()
        self.registry.passivate(unused_since=now() - IDLE_SECONDS)
        self.statuses.forget_old()
        return True

    async def _sweep_when_a_run_waits(self) -> bool:
        """Wait until a process that writes no runs itself leaves a run to the others, and then sweep at once."""
        await self._run_waits.wait()
        self._run_waits.clear()
        return await self.sweep()

    async def _awaits_operator(self) -> bool:
        """Whether the database is a restored copy whose runs wait until the operator lets them continue.

        Only a database that was a restored copy at the start is checked again. The database of a running process never
        becomes one, because a backup is restored into an empty database.
        """
        if self.restored and not self.resources.awaits_operator:
            return False
        made_at = await backups.waiting_copy(self.resources.pool)
        if made_at and not self.resources.awaits_operator:
            log.warning(
                "runs_wait_for_operator",
                what=f"This database was restored from a backup of {made_at:%Y-%m-%d %H:%M} UTC. No book is written "
                "until you continue the runs that the backup contained.",
                to_do="To continue the runs, run: bookgen runs resume --all",
            )
        elif self.resources.awaits_operator and not made_at:
            log.info("runs_continue", what="An operator has allowed the runs of the restored backup to continue.")
        self.resources.awaits_operator = made_at is not None
        return self.resources.awaits_operator

    async def _prune(self) -> None:
        if self.lease.may_prune:
            await processes.prune(self.resources.pool, self.resources.boot_id)
        await reservations.prune(self.resources.pool)
        await retention.delete_old_rows(self.resources.pool)
        await add_past_usage(self.resources.pool)

    async def _look(self) -> bool:
        return self.resources.other_processes > 0 and await self.recovery.check_runs_in_flight()

    def _notified(self, book_id: int) -> None:
        if book_id == JOINED:
            self.limits.count_others(self.resources.other_processes + 1)  # until the next renewal counts them
            self.statuses.forget_all()
            return
        if book_id == WAITING:
            self._run_waits.set()
            return
        for actor in self.registry:
            if actor.book_id == book_id:
                actor.tell(RowChanged())
        self.statuses.book_changed(book_id)

    async def _listening(self) -> None:
        """Count the other processes and drop cached statuses, because earlier notifications were missed.

        Called after the connection for notifications was opened.
        """
        self.statuses.forget_all()
        await self.resources.health.through_outages(self.lease.renew)

    def _make_actor(self, key: Key) -> BookActor:
        return BookActor(
            key,
            self.resources,
            self.transactions,
            self.runs_in_flight,
            self.jobs,
            self.statuses,
            self.registry,
            self.crashes,
        )

    @property
    def unready(self) -> str | None:
        """Why no work should be sent to this process; None if it is ready."""
        if self.resources.draining:
            return "The server is stopping."
        if not self.restored:
            return "The server is starting and has not loaded the books in progress yet."
        if not self.resources.health.up:
            return "The database cannot be reached."
        if self.crashes.systemic:
            return "Many books are failing at once, so one book alone is not the cause. See the server's log."
        return None

    def counts(self) -> dict[str, int]:
        """The number of actors in memory, and of runs that are being written."""
        return {"resident": len(self.registry), "running": len(self.runs_in_flight.by_run)}

    # Find

    async def ask(self, account_id: int, book_id: int, command: Command) -> Run:
        """Send a command to the book's actor and return the run as committed.

        Raises NotFound if the account has no such book, and Unavailable if the process or the database is not ready.
        """
        self._refuse_unless_open()
        run = await self.registry.find_or_make((account_id, book_id)).ask(command)
        if not isinstance(run, Run):
            raise NotFound
        return run

    async def run_job(self, account_id: int, book_id: int, job: Job) -> None:
        """Do model work on the book outside a run, and wait until its result is saved."""
        self._refuse_unless_open()
        task: asyncio.Task[None] = await self.registry.find_or_make((account_id, book_id)).ask(job)
        try:
            await asyncio.shield(task)
        except asyncio.CancelledError:
            if task.cancelled():  # the drain has cancelled it, not the caller
                raise Unavailable(STOPPING) from None
            raise

    async def delete_book(self, account_id: int, book_id: int) -> None:
        """End the book's run, cancel its call in flight, and delete the book."""
        await self.registry.find_or_make((account_id, book_id)).ask(DeleteBook())

    async def delete_books(self, account_id: int) -> None:
        """Delete every book of the account. Runs are ended, and calls in flight are cancelled."""
        for book in await books.titles(self._database.http, account_id):
            with contextlib.suppress(NotFound):  # a concurrent request has deleted it
                await self.delete_book(account_id, book["id"])

    async def end_runs(self, account_id: int) -> None:
        """End every active run of the account."""
        for book_id in await slots.books_with_a_run(self._database.http, account_id):
            await self.registry.find_or_make((account_id, book_id)).ask(Abandon())

    def _refuse_unless_open(self) -> None:
        if self.resources.draining or self.resources.lease_state is LeaseState.NONE:
            raise Unavailable(STOPPING)

    # Drain

    async def drain(self, seconds: float) -> None:
        """Let calls in flight finish for at most `seconds`, then release the runs.

        Other processes can then continue the runs.
        """
        self.resources.draining = True
        self.reports.halt()
        self.blurbs.halt()
        resources = self.resources
        self._loops.append(
            spawn(resources.health.through_outages(lambda: processes.drain(resources.pool, resources.boot_id)))
        )
        self.statuses.changes.tell_all()
        for actor in self.registry:
            actor.halt()
        deadline = now() + seconds
        try:
            while self._busy() and now() < deadline:  # noqa: ASYNC110 (several kinds of work, once per process)
                await asyncio.sleep(0.02)
        finally:
            await self._let_go()

    def _drop_work(self) -> None:
        """Drop all work in flight."""
        for actor in self.registry:
            actor.cancel_without_storing()

    def _busy(self) -> bool:
        return bool(self.jobs.tasks or self.reports.tasks or self.blurbs.tasks) or not all(
            actor.idle for actor in self.registry
        )

    async def _let_go(self) -> None:
        cut: list[asyncio.Task[None]] = [*self._loops, *self.jobs.tasks, *self.reports.tasks, *self.blurbs.tasks]
        for task in cut:
            task.cancel()
        self._drop_work()
        self.registry.clear()
        # The next process does not repeat the calls whose replies are stored by then.
        await _finished(self.resources.ledger_writes.tasks)
        try:
            async with asyncio.timeout(RELEASE_SECONDS):
                await ownership.release(self.resources.pool, self.resources.boot_id)
                await reports.release(self.resources.pool, self.resources.boot_id)
                await blurbs.release(self.resources.pool, self.resources.boot_id)
                await self.lease.give_up()
        except (Unavailable, TimeoutError) as error:
            log.warning(
                "runs_not_released",
                reason=str(error),
                what="This process is stopping and could not hand over its runs. The runs continue when this process's "
                "lease has expired.",
            )
        cut += self.resources.ledger_writes.tasks  # including those of the tasks cancelled above
        for task in await _finished(cut):  # a job waits for an unreachable database
            task.cancel()


async def _finished(tasks: Collection[asyncio.Task[None]]) -> set[asyncio.Task[None]]:
    """Wait a short time until the tasks have finished. Returns the tasks that have not."""
    return (await asyncio.wait(set(tasks), timeout=RELEASE_SECONDS))[1] if tasks else set()
