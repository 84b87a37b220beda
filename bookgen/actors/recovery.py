"""Restarts what has stopped unintentionally: the runs of dead processes, and the actors of books that crash.

A run is the writing of a book; the process that writes it owns it. A sweep compares this process's work with the runs
in the database. The first sweep, when a process starts, takes over the runs of dead processes. Later sweeps do so too,
and find runs whose notification was lost.

A crashed actor starts again after a back-off. If a book keeps crashing, its run is ended in error.
"""

from __future__ import annotations

import asyncio
import random
from collections import defaultdict, deque
from collections.abc import Awaitable, Callable
from typing import Any
from uuid import UUID, uuid4

import structlog

from bookgen import metrics
from bookgen.actors.actor import Key, Registry, now, spawn
from bookgen.actors.messages import Advance, Event, GiveUp, RowChanged, WorkHalted, WriteNext
from bookgen.actors.resources import Resources
from bookgen.actors.run_transitions import MAX_CRASHES
from bookgen.actors.runs_in_flight import RunsInFlight
from bookgen.actors.status_cache import Statuses
from bookgen.actors.transaction import Transactions
from bookgen.errors import Unavailable
from bookgen.models import Run, RunStatus
from bookgen.store import ownership, slots
from bookgen.store.outages import is_outage

log = structlog.get_logger()

CLAIM_ROWS = 1000
# The shortest and the longest time in seconds until a run is tried again after its process has died twice. The time is
# random, so that the runs of a process do not restart together with the run that kills it.
BACK_OFF = (5.0, 30.0)
# Crashes of one book's actors in a sliding window. If more than SYSTEMIC_BOOKS books crash, no book is to blame.
MAX_RESTARTS = 3
WINDOW_SECONDS = 60.0
SYSTEMIC_BOOKS = 20
FIRST_WAIT_SECONDS, MAX_WAIT_SECONDS = 1.0, 30.0


class Restarts:
    """Counts the crashes of each book in a sliding minute."""

    def __init__(self) -> None:
        self._crashes: defaultdict[int, deque[float]] = defaultdict(deque)

    def crashed(self, book_id: int, now: float) -> None:
        self._crashes[book_id].append(now)

    def is_exhausted(self, book_id: int, now: float) -> bool:
        """Whether the book has used up its restarts.

        Always False while crashes are `systemic`: so many books crash that no single book is the cause.
        """
        self._forget(now)
        return len(self._crashes.get(book_id, ())) > MAX_RESTARTS and not self.systemic(now)

    def crashed_books(self, now: float) -> int:
        """Return how many books have crashed within the last minute."""
        self._forget(now)
        return len(self._crashes)

    def systemic(self, now: float) -> bool:
        return self.crashed_books(now) > SYSTEMIC_BOOKS

    def restart_delay(self, book_id: int) -> float:
        """Seconds until the book's crashed actor starts again: 1, 2, 4 … 30."""
        crashes = len(self._crashes.get(book_id, ()))
        return min(FIRST_WAIT_SECONDS * 2.0 ** max(crashes - 1, 0), MAX_WAIT_SECONDS)

    def _forget(self, now: float) -> None:
        for book_id, times in list(self._crashes.items()):
            while times and times[0] < now - WINDOW_SECONDS:
                times.popleft()
            if not times:
                del self._crashes[book_id]


class Crashes:
    """Restarts crashed actors, with a back-off and a limit of restarts for each book."""

    def __init__(
        self,
        resources: Resources,
        transactions: Transactions,
        statuses: Statuses,
        registry: Registry[Any],
    ) -> None:
        self._resources = resources
        self._transactions = transactions
        self._statuses = statuses
        self._registry = registry
        self._restarts = Restarts()
        self._backing_off: set[Key] = set()

    @property
    def crashed_books(self) -> int:
        """How many books have crashed within the last minute."""
        return self._restarts.crashed_books(now())

    @property
    def systemic(self) -> bool:
        """Whether so many books crash that no single book is the cause."""
        return self._restarts.systemic(now())

    def backs_off(self, key: Key) -> bool:
        return key in self._backing_off

    def crashed(self, key: Key, error: Exception) -> None:
        _, book_id = key
        log.error(
            "actor_crashed",
            book_id=book_id,
            exc_info=error,
            what="An unexpected error interrupted the work on this book.",
            to_do="The work restarts by itself, up to three times a minute; after that, the run fails. Report the "
            "traceback as a bug.",
        )
        self._restarts.crashed(book_id, now())
        self._backing_off.add(key)
        if self._restarts.is_exhausted(book_id, now()):
            spawn(self._give_up(key))
        else:
            asyncio.get_running_loop().call_later(self._restarts.restart_delay(book_id), self._restart, key)

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


class Recovery:
    """Makes this process write the runs that it owns in the database, even if it has missed notifications."""

    def __init__(
        self,
        resources: Resources,
        transactions: Transactions,
        runs_in_flight: RunsInFlight,
        statuses: Statuses,
        registry: Registry[Any],
        crashes: Crashes,
    ) -> None:
        self._resources = resources
        self._transactions = transactions
        self._runs_in_flight = runs_in_flight
        self._statuses = statuses
        self._registry = registry
        self._crashes = crashes
        self._waiting: dict[str, int] = {}
        self._refusing: set[str] = set()
        self._retry_at: dict[UUID, float] = {}  # loop time at which a run in back-off may be retried

    async def sweep(self, *, takes_over: bool) -> None:
        """Take over, start and continue the runs that this process should write.

        `takes_over`: whether to take over the runs of processes whose leases have expired.
        """
        await self._take_over(takes_over)
        await self._promote()
        await self._continue_idle_runs()
        await self.check_runs_in_flight()
        await self._log_waiting_runs()
        self._update_refusal_metric()

    async def check_runs_in_flight(self) -> bool:
        """Have the actors stop work on runs that this process no longer owns or that are no longer running.

        Returns whether the database was queried.
        """
        works = dict(self._runs_in_flight.by_run)
        if not works:
            return False
        ours = await ownership.still_running(self._resources.pool, list(works), self._resources.boot_id)
        for run_id, work in works.items():
            if run_id not in ours:
                self._registry.tell(_key(work.run), RowChanged())
        return True

    async def _take_over(self, takes_over: bool) -> None:
        """Claim runs that no process writes, up to this process's even share of the runs.

        If this process has more than its share, set how many runs to hand over. `takes_over`: False: claim no runs.
        """
        pool, boot_id = self._resources.pool, self._resources.boot_id
        balance = await ownership.balance(pool, boot_id)
        room, self._runs_in_flight.surplus = balance.room, balance.surplus
        if not (takes_over and balance.alive):
            return
        while room and (claimed := await ownership.claim(pool, boot_id, min(room, CLAIM_ROWS))):
            log.info("runs_taken_over", runs=len(claimed))
            room -= len(claimed)
            for run in claimed:
                if not is_at_risk(run):
                    await self._begin(run)
            await asyncio.sleep(0)
        await ownership.clear_dead_calls(pool, boot_id)
        await ownership.disown_unwritable(pool)

    async def _log_waiting_runs(self) -> None:
        """For each model that this process does not have, log once how many runs wait for a process that has it."""
        resources = self._resources
        waiting = {} if resources.may_replace_writer else await ownership.waiting(resources.pool, resources.boot_id)
        for writer in waiting.keys() - self._waiting.keys():
            log.warning(
                "runs_wait_for_their_model",
                model=writer,
                runs=waiting[writer],
                here=resources.model.name,
                to_do=f"Set the key for {writer}, or set BOOKGEN_MODEL to the model that should continue these runs.",
            )
        for writer in waiting.keys() | self._waiting.keys():
            metrics.WAITING_RUNS.labels(writer).set(waiting.get(writer, 0))
        self._waiting = waiting

    def _update_refusal_metric(self) -> None:
        """Update the metric that shows which models' providers refuse this server's key or credit."""
        refusing = set(self._resources.model.refusals)
        for model in refusing | self._refusing | {self._resources.model.name}:
            metrics.MODEL_REFUSES.labels(model).set(model in refusing)
        self._refusing = refusing

    async def _promote(self) -> None:
        pool, seconds = self._resources.pool, self._resources.call_seconds
        for account_id in await slots.accounts_with_a_free_slot(pool, seconds):
            self._write(await self._transactions.promote_unless_locked(account_id))

    async def _continue_idle_runs(self) -> None:
        """Continue the runs that this process owns but is not working on."""
        owned = await ownership.owned(self._resources.pool, self._resources.boot_id)
        self._retry_at = {run.id: self._retry_at[run.id] for run in owned if run.id in self._retry_at}
        places = self._runs_in_flight.free_places
        for run in owned:
            if self._is_busy_with(run):
                continue
            if run.status is not RunStatus.RUNNING:
                await self._report(run, WorkHalted(run.id, run.epoch, run.call_no))
            elif not is_at_risk(run):
                await self._begin(run)
            elif places and not self._backs_off(run):
                places -= 1  # without a place it would only wait, and a death meanwhile would count against it
                await self._begin(run)

    async def _begin(self, run: Run) -> None:
        if run.crash_count < MAX_CRASHES:
            self._write(run)
            return
        log.error(
            "run_quarantined",
            run_id=str(run.id),
            book_id=run.book_id,
            what=f"The process died {MAX_CRASHES} times in a row while it wrote this book, so the run has failed.",
            to_do=f"Find the cause in the log, then run: bookgen runs resume {run.id}",
        )
        await self._report(run, Advance())

    def _backs_off(self, run: Run) -> bool:
        """Whether a run at risk must still wait before it is continued. Such a run fails if its process dies once more.

        The first call sets the time at which the run may continue.
        """
        if run.id not in self._retry_at:
            self._retry_at[run.id] = now() + random.uniform(*BACK_OFF)
            log.warning(
                "run_backs_off",
                run_id=str(run.id),
                book_id=run.book_id,
                deaths=run.crash_count,
                what="Processes died while they wrote this book, so the run waits before its last try.",
                to_do="Find in the log why the processes died. If one more dies, the run fails.",
            )
        return now() < self._retry_at[run.id]

    async def _report(self, run: Run, event: Event) -> None:
        try:
            committed = await self._transactions.steer(run.account_id, run.book_id, event, uuid4())
        except Unavailable as error:
            if is_outage(error):
                raise
            log.warning(
                "run_not_updated",
                run_id=str(run.id),
                reason=str(error.__cause__),
                to_do="The service tries to update the run again within seconds.",
            )
        else:
            self._statuses.changed(_key(run))
            self._write(committed.promoted)

    def _write(self, run: Run | None) -> None:
        """Tell the actor of the run's book to continue the run. None: do nothing."""
        if run:
            self._registry.tell(_key(run), WriteNext(run))

    def _is_busy_with(self, run: Run) -> bool:
        """Whether this process must not continue the run now.

        The reason is that it works on the run already, waits after a crash, or is about to end.
        """
        actor = self._registry.find(_key(run))
        return self._resources.draining or self._crashes.backs_off(_key(run)) or not (actor is None or actor.idle)


def is_at_risk(run: Run) -> bool:
    """Whether the run fails if the process that writes it dies once more."""
    return run.crash_count == MAX_CRASHES - 1


def _key(run: Run) -> Key:
    return run.account_id, run.book_id


async def every(
    seconds: float, work: Callable[[], Awaitable[bool | None]], resources: Resources, *, again: float | None = None
) -> None:
    """Repeat `work` until cancelled; no failure ends the loop. `work` returns False if it did not query the database.

    `again`: how many seconds to wait instead of `seconds` after the database was unavailable; None: `seconds` as usual.
    """
    wait = seconds
    while True:
        await asyncio.sleep(wait)
        wait = seconds
        try:
            asked = await work()
        except Unavailable as error:
            resources.health.saw(error)
            wait = again or seconds
        except Exception:
            log.exception(
                "periodic_work_failed",
                work=work.__qualname__,
                to_do="The service will repeat the work named in `work`. If this error comes back, report the "
                "traceback as a bug.",
            )
        else:
            if asked is not False:
                resources.health.saw_success()
