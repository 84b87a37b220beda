"""Jobs. A job is model work on a book outside a run: it drafts the outline, or rewrites chapters or a passage.

A book has one job at a time, and no job during a run (the writing of the book), across all processes: the job's row in
`book_job` is written under the same lock as the start of a run. A job continues to its end even if its caller no longer
waits.
"""

from __future__ import annotations

import asyncio
import contextlib
from dataclasses import replace
from uuid import UUID, uuid4

import asyncpg

from bookgen.actors.actor import spawn
from bookgen.actors.material import count_outline, draft_outline, load_material, numbered, planned
from bookgen.actors.messages import DraftOutline, Job, ReworkChapters, RewriteChapter, RewritePassage
from bookgen.actors.resources import Resources, Save
from bookgen.actors.review import suggestion_of
from bookgen.actors.steps import StepScope, StoredSteps
from bookgen.actors.transaction import Transactions
from bookgen.billing import edits, failed_jobs, outlines
from bookgen.errors import (
    Conflict,
    GenerationInProgress,
    NotFound,
    QuotaExceeded,
    Unavailable,
    UpstreamAIError,
    busy_with,
    foreign_chapters,
    must_exist,
)
from bookgen.models import SAMPLE_WRITER, Allowance, Digest, Rewrite
from bookgen.store import chapters, jobs, reports, suggestions
from bookgen.store import material as store
from bookgen.words import count_words
from bookgen.writing.material import Material
from bookgen.writing.passage import ChosenPassage

KINDS = {DraftOutline: "outline", ReworkChapters: "outline", RewriteChapter: "chapter", RewritePassage: "chapter"}


class Jobs:
    """Starts jobs and saves their results. `tasks`: the jobs in flight, each with the id of its book."""

    def __init__(self, resources: Resources, transactions: Transactions) -> None:
        self._resources = resources
        self._transactions = transactions
        self.tasks: dict[asyncio.Task[None], int] = {}

    async def start(self, account_id: int, book_id: int, job: Job) -> asyncio.Task[None]:
        """Reserve the book for `job`, start the job and return its task.

        Raises GenerationInProgress while a run is active, Conflict while another job is in flight, QuotaExceeded if no
        AI edit is left for the job, and Unavailable while this process has no lease, because other processes would not
        see that the book is reserved.
        """
        boot_id, taking = self._resources.boot_id, False
        try:
            async with self._transactions.locked(account_id, book_id) as (connection, state):
                if state.job:
                    raise busy_with(state.job)
                if state.run and state.run.status.active:
                    raise GenerationInProgress
                self._require_writer(job, state.writer)
                takes = await self._reserve_cost(connection, account_id, book_id, job)
                if not self._resources.has_lease or boot_id != self._resources.boot_id:
                    raise Unavailable
                taking = True
                await jobs.start(connection, book_id, boot_id, KINDS[type(job)], takes)
        except Unavailable:
            if taking:  # the job may be stored although the caller is gone, and nobody would work on it
                await self._end(book_id, boot_id)
            raise
        task = spawn(self._run(account_id, book_id, job, boot_id, takes))
        self.tasks[task] = book_id
        task.add_done_callback(self._forget_task)
        return task

    def _require_writer(self, job: Job, writer: str | None) -> None:
        """Raise Conflict if a real model wrote the book, but this server could only add sample text to it.

        A new outline is always allowed.
        """
        if writer and self._resources.model.name == SAMPLE_WRITER and not isinstance(job, DraftOutline):
            raise Conflict(
                f"This book was written by {writer}, but this server has no language model now and would write "
                "sample text. Try again when the operator has set the model's key."
            )

    def _forget_task(self, task: asyncio.Task[None]) -> None:
        """Forget an ended task, and mark its error as seen, so that asyncio does not log the error.

        The task's caller has received the error or has disconnected.
        """
        del self.tasks[task]
        if not task.cancelled():
            task.exception()

    async def forget_lost(self) -> None:
        """Delete this process's rows in `book_job` whose jobs are not in flight, so that their books are free again."""
        await jobs.forget_lost(self._resources.pool, self._resources.boot_id, list(self.tasks.values()))

    async def _reserve_cost(
        self, connection: asyncpg.Connection, account_id: int, book_id: int, job: Job
    ) -> Rewrite | None:
        """Raise QuotaExceeded if the account does not have enough AI edits left for the job.

        Returns the cost to reserve for rewriting a chapter or passage; None for other jobs. The caller holds the
        account's lock, so that two jobs never both use the last edit or the last free outline.
        """
        quota, free = self._resources.quota, outlines.FREE_OF_A_BOOK
        standing = await quota.standing(connection, account_id)
        drafts = await jobs.outlines_in_flight(connection, account_id, free)
        if not isinstance(job, RewriteChapter | RewritePassage):
            made = await jobs.outlines_made(connection, book_id)
            if await outlines.is_free(connection, standing, made, in_flight=drafts):
                return None
        reserved = await jobs.edits_in_flight(connection, account_id, free)
        beyond = await outlines.beyond_free(connection, standing, drafts)
        in_flight = Rewrite(reserved.edits + beyond, reserved.unpaid_words)
        if isinstance(job, RewriteChapter | RewritePassage):
            target = must_exist(await chapters.word_target(connection, book_id, job.chapter_id))
            words = job.words if isinstance(job, RewritePassage) else target
            return await edits.reserve(connection, quota, standing, book_id, words, in_flight)
        await quota.require(connection, standing, Allowance.AI_EDITS, in_flight=in_flight.edits)
        return None

    async def _run(self, account_id: int, book_id: int, job: Job, boot_id: UUID, takes: Rewrite | None) -> None:
        ended = False
        try:
            material = await load_material(self._resources.pool, account_id, book_id)
            steps = StoredSteps(self._resources, StepScope(account_id, book_id, uuid4()), replay=False)
            try:
                save = await self._work(material, job, steps, takes)
            except UpstreamAIError:
                await steps.settle()  # first, because the end of a job forgets its replies
                if steps.paid:
                    await self._end_failed(account_id, book_id, boot_id, KINDS[type(job)])
                    ended = True
                raise
            finally:
                await steps.settle()
            await self._save(account_id, book_id, boot_id, save)
        except BaseException:
            if not ended:  # otherwise the book may have a new job
                await asyncio.shield(spawn(self._end(book_id, boot_id)))
            raise

    async def _end_failed(self, account_id: int, book_id: int, boot_id: UUID, kind: str) -> None:
        """End a job that failed after paid calls, and count it against the account's allowance as if it had succeeded.

        The first few failed jobs of a billing period are not counted.
        """

        async def attempt() -> None:
            async with self._transactions.locked(account_id, book_id) as (connection, _):
                if not await failed_jobs.count_free(connection, self._resources.quota, account_id):
                    with contextlib.suppress(QuotaExceeded):  # concurrent work has used up the allowance
                        await self._transactions.count_job(connection, account_id, book_id, kind)
                if not await jobs.end(connection, book_id, boot_id):
                    raise NotFound  # an earlier attempt was committed, and only its answer was lost

        with contextlib.suppress(NotFound):  # or the job was counted when its book was deleted
            await self._resources.health.through_outages(attempt)

    async def _end(self, book_id: int, boot_id: UUID) -> None:
        pool = self._resources.pool
        await self._resources.health.through_outages(lambda: jobs.end(pool, book_id, boot_id))

    async def _work(self, material: Material, job: Job, steps: StoredSteps, takes: Rewrite | None) -> Save:
        match job:
            case DraftOutline():
                _, save = await draft_outline(self._resources, material.book, steps)
                return save
            case ReworkChapters():
                return await self._rework(material, job, steps)
            case RewriteChapter():
                return await self._rewrite(material, job, steps, must_exist(takes))
            case RewritePassage():
                return await self._rewrite_passage(material, job, steps, must_exist(takes))

    async def _rework(self, material: Material, job: ReworkChapters, steps: StoredSteps) -> Save:
        chosen = {c.chapter_number: c for c in material.chapters if c.id in set(job.chapter_ids)}
        if foreign := set(job.chapter_ids) - {chapter.id for chapter in chosen.values()}:
            raise foreign_chapters(foreign)
        reworked = await self._resources.writing.rework_chapters(material, list(chosen), job.instructions, steps)
        plans = [planned(number, chapter, chosen.get(number)) for number, chapter in reworked.items()]

        async def save(connection: asyncpg.Connection) -> None:
            await count_outline(self._resources, connection, material.book.account_id, material.book.id)
            await store.rework(connection, material.book.id, plans)

        return save

    async def _rewrite(self, material: Material, job: RewriteChapter, steps: StoredSteps, takes: Rewrite) -> Save:
        resources, book = self._resources, material.book
        chapter = must_exist(next((c for c in material.chapters if c.id == job.chapter_id), None))
        if not edits.covers(takes, chapter.target_word_count):
            raise Conflict(
                "The chapter's target word count was raised while this call waited. Repeat the call (POST "
                "/chapters/{id}/regenerate/)."
            )
        earlier: list[Digest] = []
        try:
            draft = await resources.writing.write_chapter(
                replace(material, wish=job.instructions), job.chapter_number, steps, lambda words: None, earlier.append
            )
        finally:
            if earlier:  # these digests are paid for, even if the chapter fails
                await resources.health.through_outages(lambda: store.keep_digests(resources.pool, book.id, earlier))

        async def save(connection: asyncpg.Connection) -> None:
            await edits.spend(connection, resources.quota, book.account_id, takes)
            await resources.quota.count_words(connection, book.account_id, draft.word_count)
            if draft.plan:
                await store.write_plan(connection, book.id, draft.plan.bible, numbered(draft.plan.chapters))
            seen, words = chapter.content_version, draft.word_count
            await store.rewrite(
                connection,
                chapter.id,
                seen,
                draft.content,
                words,
                draft.notes(),
                draft.digest,
                original=draft.original,
                original_words=draft.original_words,
                writer=draft.writer,
            )

        return save

    async def _rewrite_passage(
        self, material: Material, job: RewritePassage, steps: StoredSteps, takes: Rewrite
    ) -> Save:
        resources, book = self._resources, material.book
        chapter = must_exist(next((c for c in material.chapters if c.id == job.chapter_id), None))
        if chapter.content_version != job.content_version:
            raise Conflict(
                "This chapter has changed since the request began. Read it again (GET /chapters/{id}/), then send the "
                "passage with its new `start` and `end`."
            )
        passage = ChosenPassage(chapter, job.start, job.end, job.instructions)
        correction = await resources.writing.rewrite_passage(material, passage, steps)
        # A unique fingerprint: a request must not be dropped because a similar suggestion was dismissed before.
        suggestion = replace(suggestion_of(chapter, correction), fingerprint=job.report.hex)

        async def save(connection: asyncpg.Connection) -> None:
            await edits.spend(connection, resources.quota, book.account_id, takes)
            await resources.quota.count_words(connection, book.account_id, count_words(correction.replacement))
            report = await reports.add_of_passage(connection, book.account_id, book.id, job.report, chapter.id)
            await suggestions.add(connection, report, [suggestion])

        return save

    async def _save(self, account_id: int, book_id: int, boot_id: UUID, save: Save) -> None:
        """End the job and save its result. Raises Conflict if the book was reserved by someone else in the meantime."""
        tried = False

        async def attempt() -> None:
            nonlocal tried
            async with self._transactions.locked(account_id, book_id) as (connection, state):
                if await jobs.end(connection, book_id, boot_id):
                    tried = True
                    await save(connection)
                elif not tried or state.job or (state.run and state.run.status.active):
                    raise Conflict(
                        "Another process changed this book. Read it again (GET /books/{id}/), then repeat the call."
                    )
                # otherwise an earlier attempt was committed, and only its answer was lost

        await self._resources.health.through_outages(attempt)
