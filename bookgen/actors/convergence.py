"""Makes what is so what should be, again and again: orphans taken over, turns given, lost wake-ups repaired."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Protocol
from uuid import UUID, uuid4

import structlog

from bookgen.actors.decide import CRASHES_TO_QUARANTINE, CRASHES_TO_SUSPECT
from bookgen.actors.health import TRANSIENT
from bookgen.actors.lease import Lease
from bookgen.actors.messages import Advance, ChapterHalted, Event
from bookgen.actors.resources import Resources
from bookgen.actors.transaction import Committed, Transactions
from bookgen.models import Run
from bookgen.store import ownership, processes, runs

log = structlog.get_logger()

CLAIM_ROWS = 1000


class Roster(Protocol):
    """The actors of this process, as convergence sees them."""

    def begin(self, run: Run) -> None: ...

    def moved(self, committed: Committed) -> None: ...

    def busy_with(self, run: Run) -> bool: ...

    def in_flight(self) -> dict[UUID, Callable[[], None]]:
        """The runs being written here, each with a way to make its actor look at its row."""
        ...

    def passivate(self) -> None: ...


class Convergence:
    """Level-triggered: no step depends on having seen an event. The start of the process is the first sweep."""

    def __init__(self, resources: Resources, transactions: Transactions, lease: Lease, roster: Roster) -> None:
        self._resources = resources
        self._transactions = transactions
        self._lease = lease
        self._roster = roster

    async def sweep(self) -> None:
        await self._lease.bury_dead_neighbours()
        await self._take_over()
        await self._give_turns()
        await self._start_what_stands_still()
        await self._settle_what_nobody_finishes()
        await self.look_after_flights()
        await processes.prune(self._resources.pool)
        self._roster.passivate()

    async def look_after_flights(self) -> bool:
        """What is written here must still be ours and running: another process may have steered it.

        Whether there was anything to ask the database about.
        """
        flights = self._roster.in_flight()
        if not flights:
            return False
        ours = await ownership.still_running(self._resources.pool, list(flights), self._resources.boot_id)
        for run_id, look in flights.items():
            if run_id not in ours:
                look()
        return True

    async def _take_over(self) -> None:
        pool = self._resources.pool
        while claimed := await ownership.claim(pool, self._resources.boot_id, CLAIM_ROWS, CRASHES_TO_SUSPECT):
            log.info("runs_taken_over", runs=len(claimed))
            for run in claimed:
                await self._begin(run)
            await asyncio.sleep(0)
        await ownership.forget_calls(pool, self._resources.boot_id)

    async def _begin(self, run: Run) -> None:
        if run.crash_count < CRASHES_TO_QUARANTINE:
            self._roster.begin(run)
            return
        log.error("run_quarantined", run_id=str(run.id), book_id=run.book_id)
        await self._tell(run, Advance())

    async def _tell(self, run: Run, event: Event) -> None:
        self._roster.moved(await self._transactions.steer(run.account_id, run.book_id, event, uuid4()))

    async def _give_turns(self) -> None:
        pool, seconds = self._resources.pool, self._resources.call_seconds
        for account_id in await runs.waiting_accounts(pool, seconds):
            if promoted := await self._transactions.promote(account_id):
                self._roster.begin(promoted)

    async def _start_what_stands_still(self) -> None:
        for run in await ownership.owned(self._resources.pool, self._resources.boot_id):
            if not self._roster.busy_with(run):
                await self._begin(run)

    async def _settle_what_nobody_finishes(self) -> None:
        for run in await ownership.said_to_finish(self._resources.pool, self._resources.boot_id):
            if not self._roster.busy_with(run):
                await self._tell(run, ChapterHalted(run.epoch, run.call_no))


async def every(seconds: float, work: Callable[[], Awaitable[bool | None]], resources: Resources) -> None:
    """Repeats `work` until cancelled; no failure ends it. False says that the database was not asked."""
    while True:
        await asyncio.sleep(seconds)
        try:
            asked = await work()
        except TRANSIENT as error:
            resources.health.saw(error)
        except Exception:
            log.exception("convergence_failed")
        else:
            if asked is not False:
                resources.health.saw_success()
