"""The actor of one book. It steers the book's run, and starts all other model work on the book.

A run is the writing of a book. It has phases: the chapters and, in a production (a run that makes a whole book), what
comes before and after them, such as the outline and the cover. Before a process starts a chapter or a phase, it
announces this work: it marks it in the run's row as in progress.
"""

from __future__ import annotations

import asyncio
from typing import Any
from uuid import uuid4

from bookgen.actors.actor import Actor, Key, Registry
from bookgen.actors.jobs import Jobs
from bookgen.actors.messages import (
    Abandon,
    Advance,
    Command,
    DeleteBook,
    DraftOutline,
    Event,
    Generate,
    Message,
    Pause,
    Resume,
    ReworkChapters,
    RewriteChapter,
    RewritePassage,
    RowChanged,
    Stop,
    TaskEnded,
    WriteNext,
)
from bookgen.actors.recovery import Crashes
from bookgen.actors.resources import Resources, Save
from bookgen.actors.runs_in_flight import RunsInFlight
from bookgen.actors.status_cache import Statuses
from bookgen.actors.transaction import Committed, Transactions
from bookgen.actors.work_in_flight import FORESEEN, ChapterWork, PhaseResult, PhaseWork, WorkInFlight, Written
from bookgen.errors import QuotaExceeded, Unavailable
from bookgen.fault_points import fault
from bookgen.models import Run, RunPhase, RunStatus
from bookgen.store import checkpoints, ownership, runs
from bookgen.store.checkpoints import ChapterStart, Checkpoint
from bookgen.writing.material import Material

COMMAND_SECONDS = 4.0
RETRY_SECONDS = 0.25
ADVANCING = (RunStatus.RUNNING, RunStatus.PAUSED)


class BookActor(Actor):
    """Writes one book, a chapter at a time.

    The actor never waits for the model. A task writes the chapter, and a message tells the actor that the task has
    ended. So the actor answers a pause at once, and makes every change of state in order. After each change `_follow`
    makes the task match the run's row, because only the database decides what this process does.
    """

    __slots__ = (
        "_crashes",
        "_jobs",
        "_registry",
        "_resources",
        "_runs_in_flight",
        "_statuses",
        "_transactions",
        "_work_in_flight",
        "key",
    )

    def __init__(
        self,
        key: Key,
        resources: Resources,
        transactions: Transactions,
        runs_in_flight: RunsInFlight,
        jobs: Jobs,
        statuses: Statuses,
        registry: Registry[BookActor],
        crashes: Crashes,
    ) -> None:
        super().__init__()
        self.key = key
        self._resources = resources
        self._transactions = transactions
        self._runs_in_flight = runs_in_flight
        self._jobs = jobs
        self._statuses = statuses
        self._registry = registry
        self._crashes = crashes
        self._work_in_flight: ChapterWork | PhaseWork | None = None

    @property
    def book_id(self) -> int:
        return self.key[1]

    @property
    def writing(self) -> bool:
        return self._work_in_flight is not None

    @property
    def idle(self) -> bool:
        """Whether the actor is handling no message and has no work in flight."""
        return super().idle and not self.writing

    def halt(self) -> None:
        """Make no further model call. A call in flight may finish, and its reply is stored."""
        if self._work_in_flight:
            self._work_in_flight.halt()

    def cancel(self) -> None:
        """Cancel the work in flight. The model's last reply is still stored, since it was paid for."""
        if work := self._work_in_flight:
            self._work_in_flight = None
            self._runs_in_flight.cancel(work)

    def cancel_without_storing(self) -> None:
        """Cancel the work in flight without storing the model's last reply. Another process may have the run now."""
        if work := self._work_in_flight:
            self._work_in_flight = None
            self._runs_in_flight.cancel_without_storing(work)

    def crashed(self, error: Exception) -> None:
        self.cancel()
        self._registry.remove(self.key, self)
        self._crashes.crashed(self.key, error)

    async def receive(self, message: Message) -> Any:
        match message:
            case Generate() | Pause() | Resume() | Stop() | Abandon():
                return await self._steer(message)
            case DraftOutline() | ReworkChapters() | RewriteChapter() | RewritePassage():
                task = await self._jobs.start(*self.key, message)
                task.add_done_callback(lambda _: self._statuses.changed(self.key))
                return task
            case DeleteBook():
                return await self._delete()
            case _:
                return await self._despite_outages(message)

    async def _despite_outages(self, message: RowChanged | WriteNext | TaskEnded) -> None:
        """Handle a message. If the database is unavailable, send the message to this actor again after RETRY_SECONDS.

        A finished text is not lost in the meantime, because the task in the TaskEnded message holds it.
        """
        asked = True
        try:
            match message:
                case RowChanged():
                    await self._look()
                case WriteNext(run=run):
                    asked = await self._write_next(run)
                case TaskEnded(task=task):
                    asked = await self._save_ended_task(task)
        except Unavailable as error:
            self._resources.health.saw(error)
            if self._work_in_flight:
                self._work_in_flight.shrink()  # during an outage, only finished work stays in memory
            if self._work_in_flight or not self._resources.draining:
                asyncio.get_running_loop().call_later(RETRY_SECONDS, self.tell, message)
        else:
            if asked:
                self._resources.health.saw_success()

    async def _delete(self) -> None:
        await self._steer(Abandon())
        await self._transactions.delete_book(*self.key)

    async def _steer(self, command: Command) -> Run | None:
        op = uuid4()
        committed = await self._resources.health.through_outages(
            lambda: self._transactions.steer(*self.key, command, op), seconds=COMMAND_SECONDS
        )
        self._after_change(committed)
        return committed.run

    async def _report(self, event: Event, save: Save | None = None) -> Committed:
        return await self._transactions.steer(*self.key, event, uuid4(), save)

    def _after_change(
        self, committed: Committed, announced: ChapterStart | None = None, material: Material | None = None
    ) -> None:
        """Act on a committed change of the run: drop the cached status, and start or stop work as the run's row says.

        If the commit has started the account's next queued run, tell the actor of that book. `announced`: the next
        chapter, if the commit has announced one. `material`: the book after the commit, if known.
        """
        self._statuses.changed(self.key)
        if promoted := committed.promoted:
            self._registry.tell((promoted.account_id, promoted.book_id), WriteNext(promoted))
        self._follow(committed.run, announced, material)

    def _follow(self, run: Run | None, announced: ChapterStart | None = None, material: Material | None = None) -> None:
        """Start, continue, halt or cancel work in this process, as the run's row demands.

        `announced`: the chapter to start, if the row's change has announced one. `material`: the book, if known.
        """
        mine = run if run and run.owner == self._resources.boot_id and run.status.active else None
        work = self._work_in_flight
        if work and not (mine and (work.run.id, work.run.epoch) == (mine.id, mine.epoch)):
            self.cancel()
        if mine is None:
            return
        if mine.status is not RunStatus.RUNNING or self._resources.draining:
            self.halt()
        elif self._work_in_flight:
            self._work_in_flight.go_on()
        elif announced:
            self._watch(self._runs_in_flight.start(announced, material))
        else:
            self.tell(WriteNext(mine))

    async def _look(self) -> None:
        self._statuses.changed(self.key)
        self._follow(await runs.newest(self._resources.pool, self.book_id))

    async def _write_next(self, run: Run) -> bool:
        """Start the run's next chapter or phase. Returns whether the database was queried."""
        if self._work_in_flight or self._resources.draining:
            return False
        if not self._resources.may_write(run):  # the run waits for a process that has its model
            await ownership.hand_over(self._resources.pool, run)
            self._statuses.changed(self.key)
            return True
        if run.phase is not RunPhase.CHAPTERS:
            await self._begin_phase(run)
        elif not await self._begin_chapter(run):
            await self._nothing_to_begin(run)
        return True

    async def _begin_chapter(self, run: Run) -> bool:
        """Announce the next chapter in the run's row and start writing it. Returns False if none can be started."""
        begun = await self._runs_in_flight.begin(run)
        if begun is None:
            return False
        self._statuses.changed(self.key)
        self._watch(self._runs_in_flight.start(begun))
        return True

    async def _begin_phase(self, run: Run) -> None:
        begun = await checkpoints.begin_phase(self._resources.pool, run, self._resources.writer)
        if begun is None:
            await self._look()
            return
        self._statuses.changed(self.key)
        self._watch(self._runs_in_flight.start_phase(begun))

    def _watch(self, work: ChapterWork | PhaseWork) -> None:
        self._work_in_flight = work
        work.task.add_done_callback(lambda task: self.tell(TaskEnded(task)))

    async def _nothing_to_begin(self, run: Run) -> None:
        """Handle a run in which no chapter can be started: no chapter is left, or the run's row has changed.

        `decide` finds out which of the two is the case.
        """
        committed = await self._report(Advance())
        # If the row has changed, someone has steered the run in the meantime, so `_after_change` follows the new row.
        same = committed.run and committed.run.status is RunStatus.RUNNING and committed.run == run
        if same and not await self._begin_chapter(run):  # unless the author has just emptied a chapter
            raise RuntimeError(f"run {run.id} has chapters left but none that can be started")
        self._after_change(committed)

    async def _save_ended_task(self, task: asyncio.Task[Any]) -> bool:
        """Save the result of an ended task. Returns whether the database was queried.

        The result of a task whose work was dropped is not saved.
        """
        match self._work_in_flight:
            case ChapterWork() as work if work.task is task:
                await self._chapter_ended(work, task)
            case PhaseWork() as work if work.task is task:
                await self._phase_ended(work, task)
            case _:
                return False
        return True

    async def _chapter_ended(self, work: ChapterWork, task: asyncio.Task[Written]) -> None:
        outcome, announced, material = work.outcome(task), None, None
        if isinstance(outcome, Written):
            saved = await self._runs_in_flight.commit(work, outcome)
            committed = await self._after_commit(saved)
            if saved and saved.run.call_started_at and await self._runs_in_flight.hand_over(saved.run):
                committed = Committed(None)
            elif saved and saved.run.call_started_at:
                announced, material = ChapterStart(saved.run, replay=False), work.material_after(outcome, saved)
        else:
            committed = await self._report(outcome)
        self._end(work)
        self._after_change(committed, announced, material)

    async def _phase_ended(self, work: PhaseWork, task: asyncio.Task[PhaseResult]) -> None:
        outcome = work.outcome(task)
        if isinstance(outcome, PhaseResult):
            committed = await self._end_phase(work, outcome)
        else:
            committed = await self._report(outcome)
        self._end(work)
        self._after_change(committed)

    async def _end_phase(self, work: PhaseWork, result: PhaseResult) -> Committed:
        await fault(f"{work.run.phase}.ending", self.book_id)
        try:
            return await self._report(work.done(result), result.save)
        except QuotaExceeded as error:
            without = PhaseResult(remark=result.remark_without)
            return await self._report(work.done(without) if result.remark_without else work.failed(error))
        except FORESEEN as error:
            return await self._report(work.failed(error))

    def _end(self, work: WorkInFlight[Any]) -> None:
        if self._work_in_flight is work:
            self._work_in_flight = None
            self._runs_in_flight.end(work)

    async def _after_commit(self, saved: Checkpoint | None) -> Committed:
        """Decide what follows the commit of a chapter, and return the resulting run.

        If no chapter is left, end the phase of the chapters. This completes the run, unless a production has further
        phases. If the run was paused or queued in the meantime, start the account's next queued run. `saved`: None if
        the chapter was not accepted, because the run had changed.
        """
        run = saved.run if saved else await runs.newest(self._resources.pool, self.book_id)
        if run is None:
            return Committed(None)
        if run.owner == self._resources.boot_id and run.status in ADVANCING and run.done == run.total:
            return await self._report(Advance())
        if run.status in (RunStatus.PAUSED, RunStatus.QUEUED):
            return Committed(run, await self._transactions.promote(run.account_id))
        return Committed(run)
