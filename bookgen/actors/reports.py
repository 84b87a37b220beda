"""Makes reports in the background: proofreading, chapter by chapter, and an editor's reading of the whole book.

Each model call is paid for once. A process makes one report of an account at a time. A report belongs to the process
that has claimed it.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any
from uuid import UUID

import structlog

from bookgen.actors import review
from bookgen.actors.actor import spawn
from bookgen.actors.material import note_rest
from bookgen.actors.resources import Resources
from bookgen.actors.review import suggestion_of
from bookgen.actors.steps import StepScope, StoredSteps
from bookgen.actors.work_in_flight import code_of
from bookgen.billing import failed_jobs
from bookgen.billing.checks import max_check_bytes
from bookgen.errors import (
    BookgenError,
    NotFound,
    ProofreadingFailed,
    QuotaExceeded,
    Unavailable,
    UpstreamAIError,
    must_exist,
)
from bookgen.models import Allowance, Book, Chapter, ReportKind, ReportStatus, Unread
from bookgen.providers.text import CallsHalted
from bookgen.store import books, chapters, facts, reports, subscriptions, suggestions
from bookgen.store.reports import ClaimedReport
from bookgen.store.suggestions import NewSuggestion
from bookgen.threads import compute
from bookgen.writing.facts import findings
from bookgen.writing.proofreading.reading import read_chapter, unreadable
from bookgen.writing.proofreading.survey import Survey, survey

log = structlog.get_logger()

LOOK_SECONDS = 5.0
MAX_CONCURRENT = 4  # in this process
MAX_CLAIMS = 10  # of a report, with no chapter read in between
CRASHED = "An unexpected error stopped this report. Start another one."


@dataclass(frozen=True, slots=True)
class ChapterReading:
    """The suggestions for a chapter, as rows.

    `unread`: one entry if the model has not read the whole chapter, otherwise empty.
    """

    rows: Sequence[NewSuggestion] = ()
    unread: Sequence[Unread] = ()


@dataclass(frozen=True, slots=True)
class BookReading:
    """A book that is being proofread, one chapter at a time.

    `flags`: findings of automatic checks, and contradicting facts. `seen`: what the rules and the spelling checker
    found in a survey of the whole book, before the model reads any chapter. `most`: the maximum number of bytes to read
    in all chapters together, because the author may lengthen the book during the reading; None: no limit. `taken`: the
    bytes of each chapter that was read, by chapter id.
    """

    resources: Resources
    book: Book
    chapter_ids: Sequence[int]
    flags: Sequence[Mapping[str, Any]]
    seen: Survey
    most: int | None
    taken: dict[int, int] = field(default_factory=dict)

    @classmethod
    async def begin(cls, resources: Resources, account_id: int, book_id: int, steps: StoredSteps) -> BookReading:
        """Prepare a book for proofreading: check all its chapters by rules and spelling, and load earlier findings.

        Afterwards `chapter` reads each of `chapter_ids`, the chapters with text. Raises NotFound if the book is gone,
        ProofreadingFailed if the survey fails or exceeds its limits, and CallsHalted after `steps.halt` is set.
        """
        await note_rest(resources, account_id, book_id, steps)
        through_outages, pool = resources.health.through_outages, resources.pool
        book = must_exist(await through_outages(lambda: books.find(pool, account_id, book_id)))
        has_text = await through_outages(lambda: chapters.have_text(pool, book_id))
        written = [chapter_id for chapter_id, has in has_text.items() if has]
        flags = await through_outages(lambda: chapters.findings(pool, book_id))
        noted = await through_outages(lambda: facts.of_book(pool, book_id))
        dismissed = await through_outages(lambda: suggestions.dismissed(pool, book_id))
        flags += await compute(findings.notes_of, book, noted, dismissed)
        plan = await through_outages(lambda: resources.quota.plan(pool, account_id))
        seen = await survey(book, _each(resources, account_id, written))
        return cls(resources, book, written, flags, seen, max_check_bytes(plan, book))

    async def chapter(self, chapter_id: int, steps: StoredSteps) -> ChapterReading:
        """Proofread the chapter as it is now. Returns no suggestions if it is gone or would exceed `most` bytes.

        The model's replies are stored before this function returns. Raises UpstreamAIError if a call fails, and
        CallsHalted after `steps.halt` is set.
        """
        chapter = await _load(self.resources, self.book.account_id, chapter_id)
        if chapter is None or not self._takes(chapter):
            return ChapterReading()
        flags = [flag for flag in self.flags if flag["chapter_number"] == chapter.chapter_number]
        found, unread = await read_chapter(self.book, chapter, self.seen, flags, steps)
        await steps.settle()
        return ChapterReading([suggestion_of(chapter, correction) for correction in found], [unread] if unread else [])

    def _takes(self, chapter: Chapter) -> bool:
        size = len(chapter.content.encode())
        if self.most is not None and sum(self.taken.values()) + size > self.most:
            return False
        self.taken[chapter.id] = size
        return True


async def _each(resources: Resources, account_id: int, chapter_ids: Sequence[int]) -> AsyncIterator[Chapter]:
    for chapter_id in chapter_ids:
        if chapter := await _load(resources, account_id, chapter_id):
            yield chapter


async def _load(resources: Resources, account_id: int, chapter_id: int) -> Chapter | None:
    return await resources.health.through_outages(lambda: chapters.find(resources.pool, account_id, chapter_id))


class Reports:
    """Makes reports in this process."""

    def __init__(self, resources: Resources) -> None:
        self._resources = resources
        self._asked = asyncio.Event()
        self._steps: dict[int, StoredSteps] = {}
        self.tasks: set[asyncio.Task[None]] = set()

    def wake(self) -> None:
        """Look for a waiting report at once."""
        self._asked.set()

    async def run(self) -> None:
        """Claim and make reports until cancelled: at once after `wake`, otherwise every few seconds."""
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
                log.exception(
                    "reports_not_claimed",
                    what="The service could not look for proofreading reports to make.",
                    to_do="The service tries again in 5 seconds. If this repeats, report the traceback as a bug.",
                )

    def call_off(self, report_id: int) -> None:
        """Stop the work on a deleted report. Its model call in flight may finish."""
        if steps := self._steps.get(report_id):
            steps.halt.set()

    def halt(self) -> None:
        """Make no further model call. Calls in flight may finish."""
        for steps in self._steps.values():
            steps.halt.set()

    async def _claim(self) -> None:
        while len(self.tasks) < MAX_CONCURRENT and self._resources.begins_work:
            owner = self._resources.boot_id
            report = await reports.claim(self._resources.pool, owner, list(self._steps))
            if report is None:
                return
            if owner != self._resources.boot_id:  # claimed under a lease that has been lost since
                await reports.leave(self._resources.pool, report, owner)
                continue
            scope = StepScope(report.account_id, report.book_id, report.task, report.task)
            steps = self._steps[report.id] = StoredSteps(self._resources, scope, replay=True)
            if self._resources.draining:  # draining has started since the claim
                steps.halt.set()
            task = spawn(self._make(report, owner, steps))
            self.tasks.add(task)
            task.add_done_callback(self._forget_task)

    def _forget_task(self, task: asyncio.Task[None]) -> None:
        self.tasks.discard(task)
        self.wake()

    async def _make(self, report: ClaimedReport, owner: UUID, steps: StoredSteps) -> None:
        try:
            if report.epoch > report.done + MAX_CLAIMS:
                raise RuntimeError(f"the report was claimed more than {MAX_CLAIMS} times without progress")
            try:
                made = self._review if report.kind is ReportKind.REVIEW else self._read
                read = await made(report, owner, steps)
            finally:
                await steps.settle()  # paid calls are recorded, however the reading ends
            if read:
                await self._complete(report, owner)
        except (CallsHalted, NotFound):
            pass  # handed to another process, or deleted
        except (UpstreamAIError, QuotaExceeded, ProofreadingFailed) as error:
            await self._fail(report, owner, error, paid=steps.paid)
        except Exception:
            log.exception(
                "report_crashed",
                report_id=report.id,
                book_id=report.book_id,
                to_do="The report has failed and does not count as a proofreading check. Report the traceback as a "
                "bug.",
            )
            await self._fail(report, owner)
        await self._resources.health.through_outages(lambda: reports.forget_steps(self._resources.pool, report))
        # Not reached if the report could not be ended: its entry keeps this process from claiming it again at once.
        self._steps.pop(report.id, None)

    async def _read(self, report: ClaimedReport, owner: UUID, steps: StoredSteps) -> bool:
        """Proofread every chapter. Returns whether the report still belongs to this process.

        Raises UpstreamAIError if a call fails, or if the model could read none of the chapters, not even in part.
        """
        reading = await BookReading.begin(self._resources, report.account_id, report.book_id, steps)
        unread = [*report.unread]
        for done, chapter_id in list(enumerate(report.chapter_ids, 1))[report.done :]:
            chapter = await reading.chapter(chapter_id, steps)
            if not await self._save(report, owner, done, chapter):
                return False
            unread += chapter.unread
        if sum(each.whole for each in unread) == len(report.chapter_ids):
            raise unreadable(unread)
        return True

    async def _review(self, report: ClaimedReport, owner: UUID, steps: StoredSteps) -> bool:
        """Have the model read the book as its editor. Returns whether the report still belongs to this process.

        Raises UpstreamAIError if the model fails, and ProofreadingFailed if the book is too long.
        """
        every = len(report.chapter_ids)
        if report.done == every:
            return True
        if not self._resources.can_read:
            unread = [Unread(number, whole=True, refused=False) for number in range(1, every + 1)]
            return await self._save(report, owner, every, ChapterReading(unread=unread))
        edited = await review.edit_book(self._resources, report.account_id, report.book_id, steps)
        return await self._save(report, owner, every, ChapterReading(edited.rows))

    async def _save(self, report: ClaimedReport, owner: UUID, done: int, chapter: ChapterReading) -> bool:
        async def attempt() -> bool:
            async with self._resources.pool.acquire(timeout=2.0) as connection, connection.transaction():
                read = await reports.lock_owned(connection, report, owner)
                if read is not None and read < done:  # otherwise an earlier try was committed, and only its answer lost
                    await reports.advance(connection, report, done, chapter.unread)
                    await suggestions.add(connection, report.id, chapter.rows)
                return read is not None

        return await self._resources.health.through_outages(attempt)

    async def _complete(self, report: ClaimedReport, owner: UUID) -> None:
        """Complete the report and, in the same transaction, use up one check of the account's allowance.

        If this process has no language model, an editor's reading is free, since nothing was read.
        """
        free = report.kind is ReportKind.REVIEW and not self._resources.can_read

        async def attempt() -> None:
            async with self._resources.pool.acquire(timeout=2.0) as connection, connection.transaction():
                await subscriptions.lock(connection, report.account_id)
                if await reports.finish(connection, report, owner, ReportStatus.COMPLETED) and not free:
                    await self._resources.quota.spend(connection, report.account_id, Allowance.PROOFREADING_CHECKS)

        await self._resources.health.through_outages(attempt)

    async def _fail(
        self, report: ClaimedReport, owner: UUID, error: BookgenError | None = None, *, paid: bool = False
    ) -> None:
        """End the report in error and keep its suggestions. Without `error`, the cause was a bug.

        `paid`: whether model calls were paid for. If so, the report uses up a check of the allowance, except for a bug
        and for the first few failures of a billing period.
        """
        failure = {
            "code": code_of(error) if error else "SERVER_ERROR",
            "message": str(error or CRASHED),
            "stage": getattr(error, "stage", None),
            "chapter_number": getattr(error, "chapter_number", None),
            "retryable": getattr(error, "retryable", not isinstance(error, QuotaExceeded)),
        }
        quota, counts = self._resources.quota, paid and error is not None

        async def attempt() -> None:
            async with self._resources.pool.acquire(timeout=2.0) as connection, connection.transaction():
                await subscriptions.lock(connection, report.account_id)
                ended = await reports.finish(connection, report, owner, ReportStatus.ERROR, failure)
                if ended and counts and not await failed_jobs.count_free(connection, quota, report.account_id):
                    with contextlib.suppress(QuotaExceeded):  # the allowance was used up in the meantime
                        await quota.spend(connection, report.account_id, Allowance.PROOFREADING_CHECKS)

        await self._resources.health.through_outages(attempt)
