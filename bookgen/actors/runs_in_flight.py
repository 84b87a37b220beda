"""The work in flight in this process: chapters, and the other phases of productions (runs that make whole books).

A run is the writing of a book. A chapter is announced (its run's row says that it is being written), then written, then
committed. The process has a number of places for concurrent work; further work waits until a place is free.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine
from contextlib import asynccontextmanager
from dataclasses import replace
from functools import partial
from typing import Any, TypeVar
from uuid import UUID, uuid4

import structlog

from bookgen import metrics
from bookgen.actors.actor import now, spawn
from bookgen.actors.material import load_material, numbered
from bookgen.actors.pictures import Pictures
from bookgen.actors.resources import Resources
from bookgen.actors.steps import StepScope, StoredSteps
from bookgen.actors.work_in_flight import ChapterWork, PhaseResult, PhaseWork, WorkInFlight, Written
from bookgen.billing.storage import require_room
from bookgen.errors import Unavailable
from bookgen.fault_points import fault
from bookgen.models import Book, Chapter, Run
from bookgen.providers.text import CallsHalted, Outage
from bookgen.store import checkpoints, material, ownership, runs
from bookgen.store.checkpoints import ChapterStart, Checkpoint
from bookgen.writing.material import ChapterDraft, Material

log = structlog.get_logger()

W = TypeVar("W", bound=WorkInFlight[Any])

STALL_SECONDS = 900.0


class RunsInFlight:
    """Owns the work on the runs that this process is writing: their chapters and other phases.

    `by_run`: the work in flight, by the id of its run. `surplus`: the number of runs to hand over to other processes.
    `perform`: the function that does the work of a phase.
    """

    def __init__(
        self,
        resources: Resources,
        chapters_at_once: int,
        perform: Callable[[Run, StoredSteps], Awaitable[PhaseResult]],
    ) -> None:
        self.by_run: dict[UUID, WorkInFlight[Any]] = {}
        self.surplus = 0
        self._resources = resources
        self._pictures = Pictures(resources)
        self._perform_phase = perform
        self._chapters_at_once = chapters_at_once
        self._places = asyncio.Semaphore(chapters_at_once)

    @property
    def free_places(self) -> int:
        """How many more chapters can be started before all places for concurrent work are taken."""
        return max(0, self._chapters_at_once - len(self.by_run))

    async def begin(self, run: Run) -> ChapterStart | None:
        """Announce the run's next chapter. Returns None if no chapter is left or this process may not write the run."""
        resources = self._resources
        async with resources.pool.acquire() as connection, connection.transaction():
            return await checkpoints.begin(connection, run.id, run.epoch, resources.writer)

    def start(self, start: ChapterStart, known: Material | None = None) -> ChapterWork:
        """Start the work on the announced chapter as a task. `known`: the book, if it is already in memory."""
        run = start.run
        work = ChapterWork(run, self._steps(run, replay=start.replay, chapter=run.current_chapter))
        # The book is read when the work has its place: waiting may take long, and only active books may use memory.
        return self._spawn(work, self._write(work, None if self._places.locked() else known))

    def start_phase(self, run: Run) -> PhaseWork:
        """Start the announced work of the run's phase as a task."""
        work = PhaseWork(run, self._steps(run, replay=True))
        return self._spawn(work, self._perform(work))

    async def commit(self, work: ChapterWork, written: Written) -> Checkpoint | None:
        """Commit the chapter and announce the run's next chapter.

        Returns None if this process no longer has the run. In this case only the chapter's cost is recorded.
        """
        await fault("checkpoint.before", work.run.book_id)
        async with self._resources.pool.acquire() as connection, connection.transaction():
            checkpoint = await checkpoints.commit(connection, work.finished(written))
        if checkpoint:
            metrics.WORDS.inc(written.draft.word_count)
            work.steps.unstored = None
            await material.keep_digests(self._resources.pool, work.run.book_id, work.earlier)
        else:
            await work.steps.store_last()
        await fault("checkpoint.after", work.run.book_id)
        return checkpoint

    async def hand_over(self, run: Run) -> bool:
        """Leave the run to another process if this process has too many runs. Returns whether that was done."""
        if not self.surplus:
            return False
        self.surplus -= 1  # now, before the end of another chapter reads it
        await ownership.hand_over(self._resources.pool, run)
        return True

    def cancel(self, work: WorkInFlight[Any]) -> None:
        """Drop the work. If a reply still arrives, its cost is recorded, but no text is committed."""
        work.cancel()
        self._resources.ledger_writes.begin(self._count_dropped(work))
        self.end(work)

    async def _count_dropped(self, work: WorkInFlight[Any]) -> None:
        """Wait until dropped work has ended, store its last reply, and count the words that were lost.

        Words are lost if the work had already failed when it was dropped, because its paid calls brought no text. If
        the run was stopped, these words count as words of the run.
        """
        pool, health = self._resources.pool, self._resources.health
        await asyncio.wait([work.task])
        if work.steps.unstored:
            await health.through_outages(work.steps.store_last)
        if lost := work.words_of_its_failure():
            call_id = uuid4()
            await health.through_outages(lambda: runs.count_cut_off(pool, work.run.id, lost, call_id))

    def cancel_without_storing(self, work: WorkInFlight[Any]) -> None:
        """Drop the work and its unstored reply, since another process may have the run. Record the reply's cost."""
        if step := work.steps.unstored:
            work.steps.unstored = None
            work.steps.charge(step.entry)
        self.cancel(work)

    def end(self, work: WorkInFlight[Any]) -> None:
        """Forget work that has ended or was dropped."""
        if self.by_run.get(work.run.id) is work:
            del self.by_run[work.run.id]

    def give_up_stalled(self) -> None:
        """End all work that has made no progress for more than STALL_SECONDS.

        That time counts from the last reply or, during a model call with a time limit, from the end of that limit. The
        time of a database outage does not count.
        """
        late, up_since = now() - STALL_SECONDS, self._resources.health.up_since
        for work in self.by_run.values():
            if work.has_place and (idle_from := work.steps.idle_from) is not None and max(idle_from, up_since) < late:
                log.error(
                    "chapter_stalled",
                    run_id=str(work.run.id),
                    chapter_number=work.run.current_chapter,
                    to_do=f"The run has failed. Continue it with: bookgen runs resume {work.run.id}",
                )
                work.stall()

    def words_in_flight(self, run: Run) -> int:
        """Return how many words the run's unfinished chapter has so far; 0 if this process is not writing the run."""
        work = self.by_run.get(run.id)
        same = work and (work.run.epoch, work.run.call_no) == (run.epoch, run.call_no)
        return work.words if work and same else 0

    def outage_awaited(self, run: Run) -> Outage | None:
        """Return the outage that the run's model call is waiting for.

        None if the call is not waiting, or has been waiting only for a few seconds.
        """
        work = self.by_run.get(run.id)
        return work.steps.halt.long_wait_reason if work else None

    def awaits_picture(self, run: Run) -> bool:
        work = self.by_run.get(run.id)
        return work is not None and work.steps.awaits_picture

    def _steps(self, run: Run, *, replay: bool, chapter: int | None = None) -> StoredSteps:
        scope = StepScope(run.account_id, run.book_id, run.salt or run.id, run.id, run.epoch)
        return StoredSteps(self._resources, scope, replay=replay, chapter=chapter)

    def _spawn(self, work: W, task: Coroutine[Any, Any, Any]) -> W:
        self.by_run[work.run.id] = work
        work.task = spawn(task)
        if self._resources.draining:  # draining has started since the announcement
            work.halt()
        return work

    async def _write(self, work: ChapterWork, known: Material | None) -> Written:
        """Write the chapter. This takes minutes, so it runs as a task and not in the actor."""
        await fault("begin.after", work.run.book_id)
        async with self._place(work.run):
            given, began = known or await self._read(work.run), now()
            chapter = work.begin_writing(given)
            await self._require_allowed(work.run, given.book.target_word_count)
            if self._resources.quota.billing:
                work.steps.require_words = partial(self._require_words, work.run, given.book.target_word_count)
            write_chapter = self._resources.writing.write_chapter
            async with self._settling(work):
                number = chapter.chapter_number
                draft = await write_chapter(given, number, work.steps, work.hear_of, work.earlier.append)
                await self._illustrate(work, given.book, chapter, draft)
                metrics.CHAPTER_TIMES.observe(now() - began)
                return Written(chapter, draft)

    async def _require_allowed(self, run: Run, target_word_count: int) -> None:
        """Check, before any model call for a chapter, that the account may store and write more text.

        Raises PlanUpgradeRequired if the account has used all of its storage, and QuotaExceeded if the book's runs have
        written all the words that its allowance or credit pays for (`Hold`). Without billing, storage is checked only
        when a run starts.
        """
        pool, quota = self._resources.pool, self._resources.quota

        async def require() -> None:
            await require_room(pool, quota, await quota.standing(pool, run.account_id))

        if quota.billing:
            await self._resources.health.through_outages(require)
            await self._require_words(run, target_word_count)

    async def _require_words(self, run: Run, target_word_count: int) -> None:
        """Raise QuotaExceeded if the book's runs have written all the words that its allowance or credit pays for."""
        pool, quota = self._resources.pool, self._resources.quota

        async def require() -> None:
            standing = await quota.standing(pool, run.account_id)
            await quota.require_words_left(pool, standing, run.id, target_word_count)

        await self._resources.health.through_outages(require)

    @asynccontextmanager
    async def _settling(self, work: WorkInFlight[Any]) -> AsyncIterator[None]:
        """A context manager whose block does `work`.

        If the block fails or is cancelled, the last reply of the work is stored.
        """
        try:
            yield
        except BaseException:
            await work.steps.settle()
            raise

    async def _illustrate(self, work: ChapterWork, book: Book, chapter: Chapter, draft: ChapterDraft) -> None:
        """Make the chapter's picture if the draft describes a scene, as in a picture book.

        If the plan of the picture book was made together with this draft, store the plan first.
        """
        pool, health = self._resources.pool, self._resources.health
        if plan := draft.plan:
            await health.through_outages(
                lambda: material.store_plan(pool, book.id, plan.bible, numbered(plan.chapters))
            )
            book = replace(book, bible=plan.bible)
        if draft.scene:
            await self._pictures.make(work.run, work.steps, book, chapter, draft.scene)

    async def _perform(self, work: PhaseWork) -> PhaseResult:
        """Do the work of a phase that writes no chapter."""
        await fault(f"{work.run.phase}.begun", work.run.book_id)
        async with self._place(work.run):
            work.has_place = True
            async with self._settling(work):
                result = await self._perform_phase(work.run, work.steps)
        await fault(f"{work.run.phase}.made", work.run.book_id)
        return result

    @asynccontextmanager
    async def _place(self, run: Run) -> AsyncIterator[None]:
        """A context manager that waits for one of this process's places for concurrent work and holds it.

        An account writes one book at a time and so holds at most one place. Raises CallsHalted if this process has lost
        its lease (its right to write runs) since the work was announced.
        """
        async with self._places:
            if run.owner != self._resources.boot_id:
                raise CallsHalted("chapter", run.current_chapter)
            try:
                yield
            except Unavailable as error:  # outages are handled inside, so this is a bug, and waiting does not help
                raise RuntimeError(f"chapter {run.current_chapter} of run {run.id} failed") from error

    async def _read(self, run: Run) -> Material:
        resources = self._resources
        return await resources.health.through_outages(
            lambda: load_material(resources.pool, run.account_id, run.book_id)
        )
