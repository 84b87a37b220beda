"""Makes proofreading reports in the background: one of an account at a time, chapter by chapter, each call paid once.

A report belongs to the process that has claimed it; what is left by one that is gone is claimed by another, which goes
on at the first chapter that is not read and is answered from what was stored. One that is claimed again and again
without getting any further may be what ends the processes: it is given up.
"""

from __future__ import annotations

import asyncio
import contextlib
from uuid import UUID

import structlog

from bookgen.actors.actor import spawn
from bookgen.actors.reading import BookReading, ChapterReading
from bookgen.actors.resources import Resources
from bookgen.actors.steps import StepScope, StoredSteps
from bookgen.actors.work_in_flight import code_of
from bookgen.billing import failed_jobs
from bookgen.errors import BookgenError, NotFound, ProofreadingFailed, QuotaExceeded, Unavailable, UpstreamAIError
from bookgen.models import Allowance, ReportStatus
from bookgen.providers.text import CallsHalted
from bookgen.store import reports, subscriptions, suggestions
from bookgen.store.reports import ClaimedReport
from bookgen.writing.proofreading.reading import unreadable

log = structlog.get_logger()

LOOK_SECONDS = 5.0
MAX_CONCURRENT = 4  # in this process
MAX_CLAIMS = 10  # of a report of which no chapter is read
CRASHED = "An unexpected error stopped this report. Start another one."


class Reports:
    """The reports that this process makes."""

    def __init__(self, resources: Resources) -> None:
        self._resources = resources
        self._asked = asyncio.Event()
        self._steps: dict[int, StoredSteps] = {}
        self.tasks: set[asyncio.Task[None]] = set()

    def wake(self) -> None:
        """A report may be waiting."""
        self._asked.set()

    async def run(self) -> None:
        """Claims and makes reports until cancelled: at once when one is asked for, else every few seconds."""
        while True:
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(LOOK_SECONDS):
                    await self._asked.wait()
            self._asked.clear()
            try:
                await self._claim()
            except Unavailable as error:
                self._resources.health.saw(error)
            except Exception:
                log.exception("reports_not_claimed")

    def call_off(self, report_id: int) -> None:
        """Lets the call in flight for a report that is deleted finish; it asks for no other."""
        if steps := self._steps.get(report_id):
            steps.halt.set()

    def halt(self) -> None:
        """Lets calls in flight finish; no other is made. The process is `draining`: it claims no other report."""
        for steps in self._steps.values():
            steps.halt.set()

    async def _claim(self) -> None:
        while len(self.tasks) < MAX_CONCURRENT and self._resources.takes_runs:
            owner = self._resources.boot_id
            report = await reports.claim(self._resources.pool, owner, list(self._steps))
            if report is None:
                return
            if owner != self._resources.boot_id:  # claimed under a lease that was lost meanwhile
                await reports.leave(self._resources.pool, report, owner)
                continue
            scope = StepScope(report.account_id, report.book_id, report.task, report.task)
            steps = self._steps[report.id] = StoredSteps(self._resources, scope, replay=True)
            if self._resources.draining:  # since it was claimed
                steps.halt.set()
            task = spawn(self._make(report, owner, steps))
            self.tasks.add(task)
            task.add_done_callback(self._ended)

    def _ended(self, task: asyncio.Task[None]) -> None:
        self.tasks.discard(task)
        self.wake()

    async def _make(self, report: ClaimedReport, owner: UUID, steps: StoredSteps) -> None:
        try:
            if report.epoch > report.done + MAX_CLAIMS:
                raise RuntimeError("it was claimed again and again, and no chapter of it was read")
            try:
                read = await self._read(report, owner, steps)
            finally:
                await steps.settle()  # what is paid for is entered, whatever ends the reading
            if read:
                await self._complete(report, owner)
        except (CallsHalted, NotFound):
            pass  # handed to another process, or deleted
        except (UpstreamAIError, QuotaExceeded, ProofreadingFailed) as error:
            await self._fail(report, owner, error, paid=steps.paid)
        except Exception:
            log.exception("report_crashed", report_id=report.id, book_id=report.book_id)
            await self._fail(report, owner)
        await self._resources.health.through_outages(lambda: reports.forget_steps(self._resources.pool, report))
        self._steps.pop(report.id, None)  # one that could not be ended stays, or it would be claimed here again at once

    async def _read(self, report: ClaimedReport, owner: UUID, steps: StoredSteps) -> bool:
        """Whether every chapter was read and the report is still ours. UpstreamAIError too where the model has read
        nothing of any."""
        reading = await BookReading.begin(self._resources, report.account_id, report.book_id)
        unread = [*report.unread]
        for done, chapter_id in list(enumerate(report.chapter_ids, 1))[report.done :]:
            chapter = await reading.chapter(chapter_id, steps)
            if not await self._save(report, owner, done, chapter):
                return False
            unread += chapter.unread
        if sum(each.whole for each in unread) == len(report.chapter_ids):
            raise unreadable(unread)
        return True

    async def _save(self, report: ClaimedReport, owner: UUID, done: int, chapter: ChapterReading) -> bool:
        async def attempt() -> bool:
            async with self._resources.pool.acquire(timeout=2.0) as connection, connection.transaction():
                read = await reports.lock_owned(connection, report, owner)
                if read is not None and read < done:  # else it was committed before, and only the answer was lost
                    await reports.advance(connection, report, done, chapter.unread)
                    await suggestions.add(connection, report.id, chapter.rows)
                return read is not None

        return await self._resources.health.through_outages(attempt)

    async def _complete(self, report: ClaimedReport, owner: UUID) -> None:
        """One check of the allowance is counted in the transaction that completes the report."""

        async def attempt() -> None:
            async with self._resources.pool.acquire(timeout=2.0) as connection, connection.transaction():
                await subscriptions.lock(connection, report.account_id)
                if await reports.finish(connection, report, owner, ReportStatus.COMPLETED):
                    await self._resources.quota.spend(connection, report.account_id, Allowance.PROOFREADING_CHECKS)

        await self._resources.health.through_outages(attempt)

    async def _fail(
        self, report: ClaimedReport, owner: UUID, error: BookgenError | None = None, *, paid: bool = False
    ) -> None:
        """Without `error` it was nobody's but ours. What it has suggested by then stays. One that was `paid` for counts
        as other model work does that fails: as nothing, so many times a period."""
        failure = {
            "code": code_of(error) if error else "SERVER_ERROR",
            "message": str(error or CRASHED),
            "stage": getattr(error, "stage", None),
            "chapter_number": getattr(error, "chapter_number", None),
            "retryable": getattr(error, "retryable", not isinstance(error, QuotaExceeded)),
        }
        quota, counts = self._resources.quota, paid and isinstance(error, UpstreamAIError)

        async def attempt() -> None:
            async with self._resources.pool.acquire(timeout=2.0) as connection, connection.transaction():
                await subscriptions.lock(connection, report.account_id)
                ended = await reports.finish(connection, report, owner, ReportStatus.ERROR, failure)
                if ended and counts and not await failed_jobs.count_free(connection, quota, report.account_id):
                    with contextlib.suppress(QuotaExceeded):  # all is used up meanwhile
                        await quota.spend(connection, report.account_id, Allowance.PROOFREADING_CHECKS)

        await self._resources.health.through_outages(attempt)
