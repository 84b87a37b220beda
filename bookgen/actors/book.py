"""The actor of one book: its run, a chapter at a time, and every other model work on it."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from dataclasses import replace
from typing import Any, Protocol
from uuid import UUID, uuid4

import structlog

from bookgen.actors.actor import Actor, spawn
from bookgen.actors.faults import fault
from bookgen.actors.flight import ChapterInFlight
from bookgen.actors.health import TRANSIENT
from bookgen.actors.jobs import Jobs
from bookgen.actors.material import load_material
from bookgen.actors.messages import (
    Abandon,
    Advance,
    ChapterFailed,
    ChapterHalted,
    Command,
    DraftOutline,
    Generate,
    Message,
    Pause,
    Resume,
    ReworkChapters,
    RewriteChapter,
    RowChanged,
    Stop,
    TaskEnded,
    WriteNext,
)
from bookgen.actors.resources import Resources
from bookgen.actors.steps import StoredSteps, Work
from bookgen.actors.transaction import Committed, Transactions
from bookgen.errors import NotFound
from bookgen.models import Run, RunStatus
from bookgen.store import runs
from bookgen.store.checkpoints import Begun, Checkpoint, Saved
from bookgen.writing.material import ChapterDraft, Material

log = structlog.get_logger()

COMMAND_SECONDS = 4.0
RETRY_SECONDS = 0.25


class Office(Protocol):
    """What a book's actor needs of the process around it."""

    resources: Resources
    transactions: Transactions
    jobs: Jobs
    draining: bool

    @property
    def crowded(self) -> bool: ...

    async def begin_chapter(self, run: Run) -> Begun | None: ...

    async def checkpoint(self, row: Checkpoint) -> Saved | None: ...

    def begin(self, run: Run) -> None: ...

    def turn(self, run: Run) -> AbstractAsyncContextManager[None]: ...

    def landed(self, run: Run) -> None: ...

    def moved(self, committed: Committed) -> None: ...


class BookActor(Actor):
    """Writes one book, a chapter at a time.

    The actor never waits for the model. A chapter is written in a task whose end comes back as a message, so a
    pause is answered at once and every change of state happens here, in order. After each change `_follow` makes
    the task match the row: what is in the database decides, not how it came about.
    """

    __slots__ = (
        "_in_flight",
        "_office",
        "account_id",
        "book_id",
        "last_used",
        "status",
        "status_at",
        "version",
    )

    def __init__(
        self, office: Office, account_id: int, book_id: int, on_crash: Callable[[Actor, Exception], None]
    ) -> None:
        super().__init__(on_crash)
        self.account_id = account_id
        self.book_id = book_id
        self.status: bytes | None = None
        self.status_at = 0.0
        self.version = 0
        self.last_used = 0.0
        self._office = office
        self._in_flight: ChapterInFlight | None = None

    @property
    def writing(self) -> bool:
        return self._in_flight is not None

    @property
    def run_in_flight(self) -> UUID | None:
        return self._in_flight.run.id if self._in_flight else None

    def words_beyond(self, run: Run) -> int:
        """Words of the chapter in flight, which this row of its run does not count yet."""
        flight = self._in_flight
        same = flight and (flight.run.id, flight.run.epoch, flight.run.call_no) == (run.id, run.epoch, run.call_no)
        return flight.words if flight and same else 0

    def halt(self) -> None:
        """Makes no further model call; the one in flight may finish and its reply is kept."""
        if flight := self._in_flight:
            flight.steps.closed = True
            if flight.chapter is None and flight.task:
                flight.task.cancel()

    def cancel(self) -> None:
        """Drops what is in flight: its text, should it still come, finds no way in. Its cost is written down."""
        if (flight := self._in_flight) and flight.task:
            flight.task.cancel()
            if flight.task.done() and flight.steps.unstored:
                spawn(self._office.resources.health.through_outages(flight.steps.store_last))
        self._land()

    def lose(self) -> None:
        """Drops what is in flight without a trace: somebody else may have the run now."""
        if self._in_flight:
            self._in_flight.steps.unstored = None
        self.cancel()

    def _land(self) -> None:
        if flight := self._in_flight:
            self._in_flight = None
            self._office.landed(flight.run)

    async def receive(self, message: Message) -> Any:
        match message:
            case Generate() | Pause() | Resume() | Stop() | Abandon():
                return await self._steer(message)
            case DraftOutline() | ReworkChapters() | RewriteChapter():
                return await self._office.jobs.start(self.account_id, self.book_id, message)
            case _:
                return await self._despite_outages(message)

    async def _despite_outages(self, message: RowChanged | WriteNext | TaskEnded) -> None:
        """While the database is away the message waits outside the mailbox, and a finished text with it."""
        try:
            match message:
                case RowChanged():
                    self._follow(await runs.newest(self._office.resources.pool, self.book_id))
                case WriteNext(run=run):
                    await self._write_next(run)
                case TaskEnded(task=task):
                    await self._chapter_ended(task)
        except TRANSIENT as error:
            self._office.resources.health.saw(error)
            if self._in_flight:
                self._in_flight.material = None  # an outage is waited out with no more than the finished text
            if self._in_flight or not self._office.draining:
                asyncio.get_running_loop().call_later(RETRY_SECONDS, self.tell, message)
        else:
            self._office.resources.health.saw_success()

    async def _steer(self, command: Command) -> Run | None:
        op, transactions = uuid4(), self._office.transactions
        committed = await self._office.resources.health.through_outages(
            lambda: transactions.steer(self.account_id, self.book_id, command, op), seconds=COMMAND_SECONDS
        )
        self._moved(committed)
        return committed.run

    def _moved(self, committed: Committed) -> None:
        self.version += 1
        self.status = None
        self._office.moved(committed)
        self._follow(committed.run, announced=committed.announced, material=committed.material)

    def _follow(self, run: Run | None, *, announced: bool = False, material: Material | None = None) -> None:
        """Makes what this process does about the book equal to what its row says.

        `announced`: the commit that made this row has announced the next chapter. `material`: the book as it is then.
        """
        mine = run is not None and run.owner == self._office.resources.boot_id and run.status.active
        if self._in_flight and not (mine and run and self._in_flight.run.epoch == run.epoch):
            self.cancel()
        if run is None or not mine:
            return
        if run.status is not RunStatus.RUNNING or self._office.draining:
            self.halt()
        elif self._in_flight:
            self._in_flight.steps.closed = False
        elif announced:
            self._take_off(Begun(run, replay=False), material)
        else:
            self._office.begin(run)

    async def _write_next(self, run: Run) -> None:
        if self._in_flight or self._office.draining:
            return
        begun = await self._office.begin_chapter(run)
        if begun is None:
            await self._nothing_to_begin(run)
            return
        self.version += 1
        self.status = None
        self._take_off(begun)

    def _take_off(self, begun: Begun, material: Material | None = None) -> None:
        work = Work(self.account_id, self.book_id, begun.run.id, begun.run.id)
        chapter = begun.run.current_chapter
        steps = StoredSteps(self._office.resources, work, replay=begun.replay, chapter=chapter)
        flight = self._in_flight = ChapterInFlight(begun.run, steps)
        # A book that may wait long for its turn is read when it has it: memory is for those that write.
        flight.task = spawn(self._write(flight, None if self._office.crowded else material))
        flight.task.add_done_callback(lambda task: self.tell(TaskEnded(task)))

    async def _write(self, flight: ChapterInFlight, known: Material | None) -> ChapterDraft:
        """The one part of the work that takes minutes; runs beside the mailbox."""
        await fault("begin.after", self.book_id)
        async with self._office.turn(flight.run):
            material, writing = known or await self._read(), self._office.resources.writing
            number = flight.find_chapter(material)
            try:
                return await writing.write_chapter(material, number, flight.steps, flight.hear_of)
            except BaseException:
                await flight.steps.settle()
                raise

    async def _read(self) -> Material:
        resources = self._office.resources
        return await resources.health.through_outages(
            lambda: load_material(resources.pool, self.account_id, self.book_id)
        )

    async def _nothing_to_begin(self, run: Run) -> None:
        """No chapter is left, or the row has changed: the reducer says which."""
        op, transactions = uuid4(), self._office.transactions
        committed = await transactions.steer(self.account_id, self.book_id, Advance(), op)
        # A row that is another now was steered meanwhile, maybe by another process: it is looked at again.
        if committed.run and committed.run.status is RunStatus.RUNNING and committed.run == run:
            raise RuntimeError(f"run {run.id} has chapters left and none to begin")
        self._moved(committed)

    async def _chapter_ended(self, task: asyncio.Task[ChapterDraft]) -> None:
        flight = self._in_flight
        if flight is None or flight.task is not task:
            return
        committed = await self._commit(flight, flight.outcome())
        if self._in_flight is flight:
            self._land()
        self._moved(committed)

    async def _commit(
        self, flight: ChapterInFlight, outcome: ChapterDraft | ChapterFailed | ChapterHalted
    ) -> Committed:
        transactions = self._office.transactions
        if not isinstance(outcome, ChapterDraft):
            return await self._report(outcome)
        row = flight.checkpoint(outcome)
        await fault("checkpoint.before", self.book_id)
        if flight.last:
            committed = await transactions.finish(self.account_id, self.book_id, row)
        else:
            saved = await self._office.checkpoint(row)
            announced = saved is not None and saved.run.call_started_at is not None
            material = flight.material_after(outcome, saved.book_updated_at) if saved and announced else None
            committed = Committed(saved.run if saved else None, announced=announced, material=material)
        if committed.run is None:
            await flight.steps.store_last()
        await fault("checkpoint.after", self.book_id)
        run = committed.run or await runs.newest(self._office.resources.pool, self.book_id)
        committed = replace(committed, run=run)
        if run and run.status in (RunStatus.PAUSED, RunStatus.QUEUED):
            return replace(committed, promoted=committed.promoted or await transactions.promote(self.account_id))
        return committed

    async def _report(self, outcome: ChapterFailed | ChapterHalted) -> Committed:
        try:
            return await self._office.transactions.steer(self.account_id, self.book_id, outcome, uuid4())
        except NotFound:  # the book was deleted meanwhile
            return Committed(None)
