"""The life of an account's books twice: in memory over the pure reducer, and in the real database."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from typing import Any, Protocol
from uuid import UUID, uuid4

from bookgen.actors.messages import (
    Advance,
    Command,
    Event,
    Generate,
    PhaseDone,
    RunFailure,
    WorkFailed,
    WorkHalted,
)
from bookgen.actors.resources import LeaseState, Products, Resources, Writing
from bookgen.actors.run_transitions import MAX_CRASHES, Decision, Effect, decide
from bookgen.actors.transaction import Transactions
from bookgen.billing.cost_caps import CostCaps
from bookgen.billing.quota import Quota
from bookgen.errors import BookgenError, BookQuotaExceeded, Conflict
from bookgen.models import BookKind, Run, RunMode, RunPhase, RunStatus
from bookgen.providers.offline import OfflineModel
from bookgen.store import checkpoints, ownership, processes, runs
from bookgen.store.book_state import BookState
from bookgen.store.checkpoints import FinishedChapter

from .conftest import Shelf

CHAPTERS = 2
BOOKS_A_PERIOD = 5  # the limit of the plan "starter"
NOW = datetime(2026, 1, 1, tzinfo=UTC)


@dataclass(frozen=True)
class View:
    """What an owner can see of a book. Both implementations must show the same."""

    status: str | None
    mode: str | None
    done: int
    phase: str | None
    in_flight: bool
    written: tuple[bool, ...]
    held: bool


@dataclass(frozen=True)
class Flight:
    """Work in flight on a chapter or a phase, with the identifiers that its commit is checked against."""

    book: int
    run_id: UUID
    epoch: int
    call_no: int
    chapter: int
    seen: int
    phase: RunPhase = RunPhase.CHAPTERS

    def is_of(self, run: Run | None) -> bool:
        """Whether this work belongs to the run. Every run counts epochs and calls from one."""
        return run is not None and (run.id, run.epoch) == (self.run_id, self.epoch)


class Life(Protocol):
    async def command(self, book: int, command: Command) -> str: ...
    async def begin(self, book: int) -> None: ...
    async def end(self, book: int, how: str) -> None: ...
    async def late(self, number: int) -> None: ...
    async def edit(self, book: int, chapter: int) -> None: ...
    async def crash(self) -> None: ...
    async def view(self, book: int) -> View: ...
    async def used(self) -> int: ...


def outcome(flight: Flight, how: str) -> WorkFailed | WorkHalted:
    if how == "halted":
        return WorkHalted(flight.run_id, flight.epoch, flight.call_no)
    failure = RunFailure("UPSTREAM_AI_ERROR", "It failed.", "chapter", flight.chapter, retryable=how == "failed")
    return WorkFailed(flight.run_id, flight.epoch, flight.call_no, failure)


@dataclass
class Shelved:
    """A book in memory."""

    texts: list[str] = field(default_factory=lambda: [""] * CHAPTERS)
    versions: list[int] = field(default_factory=lambda: [0] * CHAPTERS)
    rewrite: dict[int, UUID] = field(default_factory=dict)
    run: Run | None = None
    wrote: bool = False
    held: bool = False

    @property
    def todo(self) -> list[int]:
        run_id = self.run.id if self.run else None
        return [n for n in range(CHAPTERS) if not self.texts[n] or (n in self.rewrite and self.rewrite[n] == run_id)]


class LifeInMemory:
    """The same transactions over plain objects, in the same order."""

    def __init__(self, books: int) -> None:
        self.books = {number: Shelved() for number in range(books)}
        self.flights: dict[int, Flight] = {}
        self.lost: list[Flight] = []
        self.consumed: list[UUID] = []
        self.starts: list[tuple[int, int]] = []
        self._seq = 0
        self._me = uuid4()

    async def command(self, book: int, command: Command) -> str:
        try:
            self._apply(book, command)
        except BookgenError as error:
            return type(error).__name__
        if isinstance(command, Generate):
            await self.begin(book)
        return str(self._book_status(book))

    async def begin(self, book: int) -> None:
        shelved = self.books[book]
        run = shelved.run
        if book in self.flights or run is None or run.status is not RunStatus.RUNNING:
            return
        if run.phase is not RunPhase.CHAPTERS:
            shelved.run = run = replace(run, call_no=run.call_no + 1, call_started_at=NOW)
            self.flights[book] = Flight(book, run.id, run.epoch, run.call_no, 0, 0, run.phase)
            return
        if not shelved.todo:
            self._apply(book, Advance())
            return
        self._announce(book, replace(run, call_no=run.call_no + 1))

    def _announce(self, book: int, run: Run) -> None:
        shelved = self.books[book]
        chapter = shelved.todo[0]
        shelved.run = replace(run, call_started_at=NOW, done=CHAPTERS - len(shelved.todo))
        self.flights[book] = Flight(book, run.id, run.epoch, run.call_no, chapter, shelved.versions[chapter])

    async def end(self, book: int, how: str) -> None:
        if flight := self.flights.pop(book, None):
            self._arrive(flight, how)

    async def late(self, number: int) -> None:
        if self.lost:
            self._arrive(self.lost[number % len(self.lost)], "written")

    async def edit(self, book: int, chapter: int) -> None:
        self.books[book].texts[chapter] = "Mine."
        self.books[book].versions[chapter] += 1

    async def crash(self) -> None:
        self.lost += self.flights.values()
        self.flights.clear()
        self._me = uuid4()
        for book, shelved in self.books.items():
            run = shelved.run
            if run is None:
                continue
            if run.status is RunStatus.RUNNING:
                charged = int(run.call_started_at is not None)
                shelved.run = replace(
                    run, epoch=run.epoch + 1, crash_count=run.crash_count + charged, call_started_at=None
                )
                if shelved.run.crash_count >= MAX_CRASHES:
                    self._apply(book, Advance())
            elif run.status.active and run.call_started_at:
                shelved.run = replace(run, epoch=run.epoch + 1, call_started_at=None)
        self._promote()

    async def view(self, book: int) -> View:
        shelved = self.books[book]
        run = shelved.run
        return View(
            run and run.status,
            run and run.mode,
            run.done if run else 0,
            run and run.phase,
            bool(run and run.call_started_at),
            tuple(bool(text) for text in shelved.texts),
            shelved.held,
        )

    async def used(self) -> int:
        return len(self.consumed)

    def _book_status(self, book: int) -> RunStatus | None:
        run = self.books[book].run
        return run.status if run else None

    def _arrive(self, flight: Flight, how: str) -> None:
        shelved = self.books[flight.book]
        before = shelved.run
        if before is None or not flight.is_of(before) or before.call_no != flight.call_no or not before.status.active:
            return
        if how != "written":
            self._apply(flight.book, outcome(flight, how))
            self._promote()
            return
        if flight.phase is not RunPhase.CHAPTERS:
            self._apply(flight.book, PhaseDone(flight.run_id, flight.epoch, flight.call_no, flight.phase))
            self._promote()
            return
        if shelved.versions[flight.chapter] == flight.seen:
            shelved.texts[flight.chapter] = "Text."
            shelved.versions[flight.chapter] += 1
        shelved.rewrite.pop(flight.chapter, None)
        shelved.wrote = True
        done = CHAPTERS - len(shelved.todo)
        shelved.run = replace(before, done=done, call_no=before.call_no + 1, call_started_at=None, crash_count=0)
        if not shelved.todo:
            self._apply(flight.book, Advance())
        if shelved.todo and shelved.run.status is RunStatus.RUNNING:
            self._announce(flight.book, shelved.run)
        self._promote()

    def _apply(self, book: int, message: Command | Event) -> None:
        shelved = self.books[book]
        before = shelved.run
        decision = decide(self._state(book), message, self._fresh())
        if decision.run is None or (decision.run == before and not decision.effects):
            return
        self._take_hold(shelved, decision)
        run = decision.run
        starts = run.status is RunStatus.RUNNING and not (before and before.status is RunStatus.RUNNING)
        if starts and not run.call_started_at:
            run = replace(run, epoch=run.epoch + 1)
        if starts and not run.call_started_at and book in self.flights:
            self.lost.append(self.flights.pop(book))
        if not run.status.active and book in self.flights:
            self.lost.append(self.flights.pop(book))
        if Effect.INSERT in decision.effects or Effect.TO_TAIL in decision.effects:
            self._seq += 1
            run = replace(run, queue_seq=self._seq)
        shelved.run = run
        if Effect.REWRITE in decision.effects:
            shelved.rewrite = dict.fromkeys(range(CHAPTERS), run.id)
        if Effect.CONSUME in decision.effects:
            self.consumed.append(run.id)
            shelved.held = shelved.wrote = False
        if Effect.RELEASE in decision.effects and not shelved.wrote:
            shelved.held = False
        if Effect.PROMOTE in decision.effects:
            self._promote()

    def _take_hold(self, shelved: Shelved, decision: Decision) -> None:
        if Effect.REFUSE_FINISHED in decision.effects:
            raise Conflict
        if Effect.HOLD in decision.effects and not shelved.held:
            if len(self.consumed) + sum(other.held for other in self.books.values()) >= BOOKS_A_PERIOD:
                raise BookQuotaExceeded
            shelved.held = True

    def _promote(self) -> None:
        everybody = [shelved.run for shelved in self.books.values() if shelved.run]
        if any(run.status is RunStatus.RUNNING or (run.status.active and run.call_started_at) for run in everybody):
            return
        waiting = [(s.run.queue_seq, book) for book, s in self.books.items() if s.run and s.run.status == "queued"]
        if waiting:
            seq, book = min(waiting)
            self.starts.append((seq, book))
            run = self.books[book].run
            assert run is not None
            self.books[book].run = replace(run, status=RunStatus.RUNNING, epoch=run.epoch + 1)

    def _state(self, book: int) -> BookState:
        shelved = self.books[book]
        others = [s.run for number, s in self.books.items() if number != book and s.run]
        busy = any(
            run.status in (RunStatus.RUNNING, RunStatus.QUEUED) or (run.status.active and run.call_started_at)
            for run in others
        )
        written = sum(bool(text) for text in shelved.texts)
        return BookState(
            target_word_count=100, kind=BookKind.PROSE, run=shelved.run, chapters=CHAPTERS, written=written,
            todo=len(shelved.todo), wrote=written > 0, slot_free=not busy, owner_alive=True, job=None, job_row=False,
        )  # fmt: skip

    def _fresh(self) -> Run:
        fields: dict[str, Any] = dict.fromkeys(Run.__dataclass_fields__, 0)
        absent = ("owner", "current_chapter", "failure", "last_op", "finished_at", "call_started_at")
        begun = {
            "id": uuid4(),
            "status": RunStatus.QUEUED,
            "mode": RunMode.FULL,
            "phase": RunPhase.CHAPTERS,
            "remark": "",
        }
        return Run(**fields | dict.fromkeys(absent) | begun)


class RealLife:
    """The real transactions on a real database."""

    def __init__(self, shelf: Shelf, account: int, books: dict[int, int]) -> None:
        async def never(*_: object) -> Any:
            raise AssertionError

        self._shelf = shelf
        self._account = account
        self._books = books
        self._resources = Resources(
            shelf.pool,
            shelf.pool,
            Quota(billing=True),
            Writing(never, never, never, never, never, never),  # type: ignore[arg-type]
            Products(never, never, never),  # type: ignore[arg-type]
            model=OfflineModel(),
            price=never,  # type: ignore[arg-type]
            caps=CostCaps(),
            painter=None,  # type: ignore[arg-type]
            lease_state=LeaseState.HELD,
        )
        self._transactions = Transactions(self._resources)
        self.flights: dict[int, Flight] = {}
        self.lost: list[Flight] = []

    async def register(self) -> None:
        await processes.register(self._shelf.pool, self._resources.boot_id, "life", 1, "1", 3600)

    async def command(self, book: int, command: Command) -> str:
        try:
            committed = await self._transactions.steer(self._account, self._books[book], command, uuid4())
        except BookgenError as error:
            return type(error).__name__
        run = committed.run
        if book in self.flights and not (run and run.status.active and self.flights[book].is_of(run)):
            self.lost.append(self.flights.pop(book))
        if isinstance(command, Generate):
            await self.begin(book)
        return str(run and run.status)

    async def begin(self, book: int) -> None:
        run = await self._run(book)
        if book in self.flights or run is None or run.status is not RunStatus.RUNNING:
            return
        if run.phase is not RunPhase.CHAPTERS:
            announced = await checkpoints.begin_phase(self._shelf.pool, run)
            assert announced is not None
            self.flights[book] = Flight(book, announced.id, announced.epoch, announced.call_no, 0, 0, announced.phase)
            return
        async with self._shelf.pool.acquire() as connection, connection.transaction():
            begun = await checkpoints.begin(connection, run.id, run.epoch)
        if begun is None:
            await self._transactions.steer(self._account, self._books[book], Advance(), uuid4())
            return
        await self._started(book, begun.run)

    async def _started(self, book: int, run: Run) -> None:
        number = run.current_chapter or 0
        seen = await self._shelf.value(
            "SELECT content_version FROM chapter WHERE book_id = $1 AND chapter_number = $2", self._books[book], number
        )
        self.flights[book] = Flight(book, run.id, run.epoch, run.call_no, number - 1, seen)

    async def end(self, book: int, how: str) -> None:
        if flight := self.flights.pop(book, None):
            await self._arrive(flight, how)

    async def late(self, number: int) -> None:
        if self.lost:
            await self._arrive(self.lost[number % len(self.lost)], "written")

    async def edit(self, book: int, chapter: int) -> None:
        await self._shelf.pool.execute(
            """UPDATE chapter SET content = 'Mine.', content_version = content_version + 1
                WHERE book_id = $1 AND chapter_number = $2""",
            self._books[book],
            chapter + 1,
        )

    async def crash(self) -> None:
        self.lost += self.flights.values()
        self.flights.clear()
        pool = self._shelf.pool
        await processes.expire(pool, self._resources.boot_id)
        self._resources.boot_id = uuid4()
        await self.register()
        for run in await ownership.claim(pool, self._resources.boot_id, 1000):
            if run.account_id == self._account and run.crash_count >= MAX_CRASHES:
                await self._transactions.steer(self._account, run.book_id, Advance(), uuid4())
        await ownership.clear_dead_calls(pool, self._resources.boot_id)
        await self._transactions.promote(self._account)

    async def view(self, book: int) -> View:
        run = await self._run(book)
        texts = await self._shelf.texts(self._books[book])
        held = await self._shelf.value("SELECT count(*) FROM hold WHERE book_id = $1", self._books[book])
        return View(
            run and run.status,
            run and run.mode,
            run.done if run else 0,
            run and run.phase,
            bool(run and run.call_started_at),
            tuple(bool(text) for text in texts),
            bool(held),
        )

    async def used(self) -> int:
        return int(await self._shelf.value("SELECT count(*) FROM consumption WHERE account_id = $1", self._account))

    async def _run(self, book: int) -> Run | None:
        return await runs.newest(self._shelf.pool, self._books[book])

    async def _arrive(self, flight: Flight, how: str) -> None:
        book_id = self._books[flight.book]
        if how != "written":
            await self._transactions.steer(self._account, book_id, outcome(flight, how), uuid4())
            await self._transactions.promote(self._account)
            return
        if flight.phase is not RunPhase.CHAPTERS:
            done = PhaseDone(flight.run_id, flight.epoch, flight.call_no, flight.phase)
            await self._transactions.steer(self._account, book_id, done, uuid4())
            await self._transactions.promote(self._account)
            return
        chapter = await self._shelf.chapter_id(book_id, flight.chapter + 1)
        finished = FinishedChapter(
            flight.run_id, flight.epoch, flight.call_no, chapter, flight.seen, "Text.", 1, [], None
        )
        async with self._shelf.pool.acquire() as connection, connection.transaction():
            saved = await checkpoints.commit(connection, finished)
        if saved and saved.run.done == saved.run.total:
            await self._transactions.steer(self._account, book_id, Advance(), uuid4())
        if saved and saved.run.status is RunStatus.RUNNING and saved.run.call_started_at:
            await self._started(flight.book, saved.run)
        await self._transactions.promote(self._account)
