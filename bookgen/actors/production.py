"""What a production (a run that makes a whole book) does before and after the chapters.

Before: the outline. After: the editor's reading, proofreading, corrections, blurb, cover and files.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import TypeVar

import asyncpg
import structlog

from bookgen.actors import review
from bookgen.actors.blurbs import draft_blurb
from bookgen.actors.material import draft_outline, load_material
from bookgen.actors.reports import BookReading
from bookgen.actors.resources import Resources
from bookgen.actors.steps import StoredSteps
from bookgen.actors.work_in_flight import PhaseFailed, PhaseResult
from bookgen.errors import ProofreadingFailed, QuotaExceeded, RenderingFailed, RenderTimeout, UpstreamAIError
from bookgen.models import Allowance, BookStatus, ReportKind, RevisionMode, Run, RunPhase
from bookgen.providers.text import CallsHalted
from bookgen.store import blurbs, books, reports, suggestions
from bookgen.writing.refusal import ModelRefused
from bookgen.writing.structured import UnusableReply

log = structlog.get_logger()

MAX_WAITS = 60  # for a free worker; the pool sets the length of each wait
PROOFREAD_BY_RULES = (
    "Only the built-in rules proofread the book, because the model refused or its replies could not be used."
)
NOT_REVIEWED = "The editor's reading was skipped, because the model refused or its replies could not be used."
NOT_PROOFREAD = "The book was not proofread: your plan has no proofreading checks left this period."

Result = TypeVar("Result")


class Production:
    """Does the work of a production's phases. If a phase is repeated after a crash, it uses the stored results."""

    def __init__(self, resources: Resources) -> None:
        self._resources = resources

    async def perform(self, run: Run, steps: StoredSteps) -> PhaseResult:
        """Do the work of the run's phase. Raises CallsHalted if its calls are halted; other errors end the run."""
        match run.phase:
            case RunPhase.OUTLINE:
                return await self._outline(run, steps)
            case RunPhase.REVIEW:
                return await self._review(run, steps)
            case RunPhase.PROOFREADING:
                return await self._proofread(run, steps)
            case RunPhase.CORRECTIONS:
                return await self._correct(run)
            case RunPhase.BLURB:
                return await self._blurb(run, steps)
            case RunPhase.COVER:
                return await self._cover(run, steps)
            case RunPhase.FILES:
                return await self._files(run)
            case RunPhase.CHAPTERS:
                raise ValueError("the chapters are written one by one")

    async def _outline(self, run: Run, steps: StoredSteps) -> PhaseResult:
        resources = self._resources
        material = await resources.health.through_outages(
            lambda: load_material(resources.pool, run.account_id, run.book_id)
        )
        if material.chapters:
            return PhaseResult()
        chapters, save_outline = await draft_outline(resources, material.book, steps)
        await steps.settle()

        async def save(connection: asyncpg.Connection) -> None:
            await save_outline(connection)
            await books.set_status(connection, run.book_id, BookStatus.GENERATING)

        return PhaseResult(save, chapters)

    async def _review(self, run: Run, steps: StoredSteps) -> PhaseResult:
        """Have the model read the book as its editor and, if `RevisionMode` says so, answer the findings as its author.

        If the model refuses, its reply is unusable, or the book is too long, the production continues without a
        reading.
        """
        resources = self._resources
        if resources.revision is RevisionMode.OFF or not resources.can_read:
            return PhaseResult()
        if await self._has_report(run, ReportKind.REVIEW):
            return PhaseResult()
        try:
            edited = await review.edit_book(resources, run.account_id, run.book_id, steps, mode=resources.revision)
        except (ModelRefused, UnusableReply) as error:
            log.warning("book_not_reviewed", book_id=run.book_id, reason=str(error))
            return PhaseResult(remark=NOT_REVIEWED)
        except ProofreadingFailed as error:
            return PhaseResult(remark=str(error))

        async def save(connection: asyncpg.Connection) -> None:
            rows = await edited.save_texts(connection)
            report_id = await reports.add_of_run(
                connection, run.account_id, run.book_id, run.id, edited.chapter_ids, ReportKind.REVIEW
            )
            await suggestions.add(connection, report_id, rows)

        return PhaseResult(save, remark=_outcome(len(edited.unanswered)))

    async def _has_report(self, run: Run, kind: ReportKind) -> bool:
        """Whether the run already has a report of this kind, so that the phase has nothing to do.

        This happens if a chapter without text appears after the report, for example because the author adds one. The
        run then writes that chapter and goes through the later phases again.
        """
        pool, through_outages = self._resources.pool, self._resources.health.through_outages
        return await through_outages(lambda: reports.of_run(pool, run.id, kind)) is not None

    async def _proofread(self, run: Run, steps: StoredSteps) -> PhaseResult:
        """Make a proofreading report. The next phase applies the report's safe corrections.

        The author decides on the other corrections.
        """
        resources = self._resources
        if await self._has_report(run, ReportKind.PROOFREADING):
            return PhaseResult()
        try:
            await resources.health.through_outages(lambda: self._require_check(run))
        except QuotaExceeded:
            return PhaseResult(remark=NOT_PROOFREAD)
        try:
            reading = await BookReading.begin(resources, run.account_id, run.book_id, steps)
        except ProofreadingFailed as error:
            raise PhaseFailed(str(error)) from error
        read = [await reading.chapter(chapter_id, steps) for chapter_id in reading.chapter_ids]
        rows, unread = [row for each in read for row in each.rows], [each for one in read for each in one.unread]
        by_rules = bool(unread) and sum(each.whole for each in unread) == len(reading.chapter_ids)

        async def save(connection: asyncpg.Connection) -> None:
            if not by_rules:
                await resources.quota.spend(connection, run.account_id, Allowance.PROOFREADING_CHECKS)
            report_id = await reports.add_of_run(
                connection, run.account_id, run.book_id, run.id, reading.chapter_ids, ReportKind.PROOFREADING, unread
            )
            await suggestions.add(connection, report_id, rows)

        return PhaseResult(save, remark=PROOFREAD_BY_RULES if by_rules else "", remark_without=NOT_PROOFREAD)

    async def _require_check(self, run: Run) -> None:
        pool, quota = self._resources.pool, self._resources.quota
        in_flight = await reports.active(pool, run.account_id)
        standing = await quota.standing(pool, run.account_id)
        await quota.require(pool, standing, Allowance.PROOFREADING_CHECKS, in_flight=in_flight)

    async def _correct(self, run: Run) -> PhaseResult:
        products = self._resources.products
        await self._served(lambda: products.correct(run.account_id, run.id))
        return PhaseResult()

    async def _blurb(self, run: Run, steps: StoredSteps) -> PhaseResult:
        """Draft the blurb. If that fails, Blurbs tries again in the background after the run."""
        try:
            blurb = await draft_blurb(self._resources, run.account_id, run.book_id, steps)
        except CallsHalted:
            raise
        except UpstreamAIError as error:
            log.warning("blurb_not_drafted", book_id=run.book_id, reason=str(error))
            return PhaseResult()

        async def save(connection: asyncpg.Connection) -> None:
            await blurbs.fill_in(connection, run.book_id, blurb)

        return PhaseResult(save if blurb else None)

    async def _cover(self, run: Run, steps: StoredSteps) -> PhaseResult:
        products = self._resources.products
        save = await self._served(lambda: products.paint_cover(run.account_id, run.book_id, run.id, steps.halt))
        return PhaseResult(save)

    async def _files(self, run: Run) -> PhaseResult:
        products = self._resources.products
        await self._served(lambda: products.make_files(run.account_id, run.book_id))
        return PhaseResult()

    async def _served(self, service: Callable[[], Awaitable[Result]]) -> Result:
        """Call `service`, and repeat the call while the database is unavailable or all workers are busy.

        Raises PhaseFailed if rendering takes too long, or if the workers are still busy after MAX_WAITS tries.
        """
        busy = 0

        async def attempt() -> Result:
            nonlocal busy
            while True:
                try:
                    return await service()
                except RenderingFailed as error:
                    busy += 1
                    if isinstance(error, RenderTimeout) or busy >= MAX_WAITS:
                        raise PhaseFailed(str(error)) from error
                    await asyncio.sleep(error.retry_after)

        return await self._resources.health.through_outages(attempt)


def _outcome(findings: int) -> str:
    """Return a remark about an editor's reading, for the status of the finished book; empty without findings."""
    count = "one finding" if findings == 1 else f"{findings} findings"
    return f"The editor's reading listed {count}. The report says what was changed." if findings else ""
