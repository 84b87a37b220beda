"""One schedule: a few processes, their authors and their faults, all from one seed, and its result."""

from __future__ import annotations

import asyncio
import gc
import hashlib
import os
import random
import sys
import warnings
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any
from unittest import mock

from bookgen.actors.messages import Resume
from bookgen.actors.resources import Products
from tests.sim.author import SimulatedAuthor
from tests.sim.environment import Machine, at_every_fault_point, simulated
from tests.sim.loop import SimulatedLoop, Standstill
from tests.sim.nemesis import Nemesis, PlannedFault, plan
from tests.sim.network import Network
from tests.sim.oracles import judge
from tests.sim.postgres import EPOCH, Postgres
from tests.sim.process import SimulatedProcess
from tests.sim.provider import ModelCall, ScriptedProvider

FORGOTTEN_TOGETHER = 50  # schedules, because some leak a megabyte
PATIENCE_SECONDS, LOOK_SECONDS = 1200.0, 1.0  # after the last fault, until everything is written
LATE_SECONDS = 3.0  # in which usage is recorded
BAD_NEWS = ("error", "critical", "exception")
EXPECTED_NEWS = ("run_quarantined",)
ACTIVE = """
    SELECT 1 FROM run WHERE status IN ('queued', 'running')
     UNION ALL SELECT 1 FROM book_job JOIN process ON boot_id = owner
     UNION ALL SELECT 1 FROM report WHERE status IN ('pending', 'running')
"""
RESTING = """
    SELECT status, extract(epoch FROM updated_at) FROM run WHERE id = $1 AND status IN ('paused', 'stopped')
"""
RENEWED_SECONDS = 6.0  # in which a process has renewed its lease
ON_THE_WAY_SECONDS = 1.0  # that a response takes at most
HEARD_SECONDS = 2.0  # in which a process learns what another was told
# The other runs of the account that may continue.
OTHERS = """
    SELECT o.id FROM run r JOIN run o ON o.account_id = r.account_id AND o.id <> r.id
     WHERE r.id = $1 AND o.status IN ('queued', 'running', 'paused')
"""
ADD_ACCOUNT = """
    INSERT INTO account (id, username, email) OVERRIDING SYSTEM VALUE
    VALUES ($1::bigint, 'author' || $1::bigint, 'author' || $1::bigint || '@example.com')
"""
SUBSCRIBE = "UPDATE subscription SET plan_id = (SELECT id FROM plan WHERE slug = 'pro') WHERE account_id = $1"
ADD_PRODUCTIONS = """
    INSERT INTO account_addon (account_id, addon_id, billing_type, current_period_end)
    SELECT $1, id, 'monthly', '2100-01-01' FROM addon WHERE slug = 'automated-production'
"""
ADD_BOOK = """
    INSERT INTO book (id, account_id, title, chapter_count, target_word_count, trim_size, content_language, status)
    OVERRIDING SYSTEM VALUE VALUES ($1, $2, 'A book', $3, 1500, '6x9', 'en', 'outline')
"""
ADD_CHAPTERS = """
    INSERT INTO chapter (book_id, chapter_number, title, target_word_count)
    SELECT $1::bigint, n, 'Chapter ' || n, 500 FROM generate_series(1, $2::int) AS n
"""
# Runs that wait although no run of their account is running.
WAITING = """
    SELECT q.id FROM run q
     WHERE q.status = 'queued'
       AND NOT EXISTS (SELECT FROM run r WHERE r.account_id = q.account_id AND r.status = 'running')
"""
# Runs at rest that seem to have a call in flight.
BELIEVED = "SELECT id FROM run WHERE status IN ('queued', 'paused') AND call_started_at IS NOT NULL"
SLOT_SECONDS = 120.0  # until the slot of a dead process, or of a long last call, is free again
REST_SECONDS = 6.0
PAUSED = "SELECT book_id FROM run WHERE status = 'paused'"


@dataclass(frozen=True, slots=True)
class ScheduleSize:
    """The size of a schedule, from which its seed draws. `seconds`: duration of authors and faults; `between`: average
    time between two actions of an author; `lasting`: duration of a fault.
    """

    seconds: float
    between: float
    processes: tuple[int, ...]
    accounts: tuple[int, ...]
    chapters: tuple[int, ...]
    pace: tuple[float, ...]
    lasting: tuple[float, ...]


LONG = ScheduleSize(75.0, 6.0, (3,), (2, 3, 4, 6), (2, 3, 4), (0.3, 1.0, 1.5), (0.5, 4.0, 12.0, 25.0, 45.0))
# A sixth of the size: nothing waits for long except for leases to expire.
SHORT = ScheduleSize(8.0, 1.0, (1, 2, 2), (1,), (1, 2), (0.1, 0.3, 1.0), (0.5, 0.5, 4.0, 40.0))


@dataclass
class ScheduleVerdict:
    """The result of a schedule. `trace`: a hash of everything that happened, in order."""

    seed: int
    faults: list[PlannedFault]
    findings: list[str]
    trace: str
    virtual_seconds: float
    statements: int
    steps: int
    calls: int
    completed: int
    happened: Counter[str] = field(default_factory=Counter)
    lines: list[str] = field(default_factory=list)


class Schedule:
    """`faults`: only these faults of the plan, by number; None for all. `tell`: record events as lines."""

    def __init__(
        self, dsn: str, postgres: Postgres, seed: int, size: ScheduleSize, *, faults: Sequence[int] | None, tell: bool
    ) -> None:
        self.seed = seed
        self.size = size
        self.loop = SimulatedLoop(self._chance("loop"))
        self.postgres = postgres
        self.processes: list[SimulatedProcess] = []
        self.authors: list[SimulatedAuthor] = []
        self.lines: list[str] = []
        self._dsn = dsn
        self._tell = tell
        self._hash = hashlib.sha256()
        self._bad_news: list[str] = []
        shape = self._chance("shape")
        self._machine = Machine(shared=shape.random() < 0.3)
        self._edits = shape.choice((0.0, 0.2, 0.4))
        self._accounts = shape.choice(size.accounts)
        self._chapters = shape.choice(size.chapters)
        failing = shape.choice((0.0, 0.0, 0.03, 0.1))
        pace = shape.choice(size.pace)
        self.provider = ScriptedProvider(
            self.loop, self._chance("model"), self.trace, self._asked, failing=failing, pace=pace
        )
        drawn = plan(self._chance("faults"), size.seconds, size.lasting)
        self.faults = drawn if faults is None else [drawn[number] for number in faults if number < len(drawn)]

    def _chance(self, of: str) -> random.Random:
        return random.Random(f"{self.seed} {of}")

    def run(self) -> ScheduleVerdict:
        pid = lambda: self.loop.current.pid if isinstance(self.loop.current, SimulatedProcess) else os_pid  # noqa: E731
        os_pid, before = os.getpid(), self.postgres.statements
        asyncio.set_event_loop(self.loop)
        with simulated(self.loop, str(self.seed), self._machine, pid, self._hear), self.provider.reading():
            try:
                findings = self.loop.run_until_complete(self._live())
            except Standstill as error:
                findings = [str(error)]
            finally:
                self._clear()
        happened = self.nemesis.happened + sum((author.happened for author in self.authors), Counter())
        completed = self.postgres.rows("SELECT count(*) FROM run WHERE status = 'completed'")[0][0]
        return ScheduleVerdict(
            self.seed, self.faults, findings + self._bad_news + self.loop.complaints, self._hash.hexdigest()[:16],
            self.loop.time(), self.postgres.statements - before, self.loop.steps, len(self.provider.calls),
            int(completed or 0), happened, self.lines,
        )  # fmt: skip

    async def _live(self) -> list[str]:
        books = self._stock()
        self.nemesis = Nemesis(
            self.loop, self.faults, lambda: self.processes, self._boot_later, self._ended, list(books),
            self._chance("nemesis"), self.trace,
        )  # fmt: skip
        network = Network(self.loop, self.postgres, self.nemesis, self._chance("network"), self.trace)
        self.nemesis.network = network
        for account, owned in books.items():
            chance = self._chance(f"author {account}")
            self.authors.append(
                SimulatedAuthor(account, owned, self.loop, self.postgres, lambda: self.processes, chance, self.trace,
                       edits=self._edits)
            )  # fmt: skip
        with at_every_fault_point(self.nemesis.point):
            boots = self._chance("boot")
            apart = boots.uniform(0.0, boots.choice((2.0, 2.0, self.size.seconds)))
            for number in range(boots.choice(self.size.processes)):
                self._boot_later(number * apart)
            nemesis = self.loop.create_task(self.nemesis.run())
            authors = (author.run(self.size.seconds, self.size.between) for author in self.authors)
            await asyncio.gather(nemesis, *authors)
            self.nemesis.calm()
            await asyncio.sleep(max(0.0, self.nemesis.over_at - self.loop.time()))
            await self._finish()
            for author in self.authors:
                for book in author.books:
                    author.look(book)
        return judge(self.postgres, self.provider, self.authors, self.nemesis, self.processes)

    async def _finish(self) -> None:
        """Let everything finish: first without the paused runs, which stay paused for a while, then with them."""
        if self.postgres.rows(PAUSED):
            await asyncio.sleep(REST_SECONDS)
        for _ in range(int(SLOT_SECONDS / LOOK_SECONDS)):
            self._require_rest()
            waiting, believed = self.postgres.rows(WAITING), self.postgres.rows(BELIEVED)
            if not waiting and not believed:
                break
            await asyncio.sleep(LOOK_SECONDS)
        else:
            self._bad_news += [f"a run waits for a slot that nobody uses: {waiting}"] * bool(waiting)
            self._bad_news += [f"a call is believed in that nobody makes: {believed}"] * bool(believed)
        for _ in range(int(PATIENCE_SECONDS / LOOK_SECONDS)):
            paused = {int(row[0] or 0) for row in self.postgres.rows(PAUSED)}
            for author in self.authors:
                for book in paused.intersection(author.books):
                    await author.command(book, Resume())
            await asyncio.sleep(LOOK_SECONDS)
            self._require_rest()
            if not paused and not self.postgres.rows(ACTIVE) and not self._calls_in_flight:
                break
        await asyncio.sleep(LATE_SECONDS)

    @property
    def _calls_in_flight(self) -> bool:
        """Whether anyone waits for the model, including a cancelled job that has not noticed it yet."""
        return any(call.outcome is None and not call.process.dead for call in self.provider.calls)

    def _stock(self) -> dict[int, list[int]]:
        """Insert accounts and the books of each."""
        books: dict[int, list[int]] = {}
        for account in range(1, self._accounts + 1):
            self.postgres.rows(ADD_ACCOUNT, account)
            self.postgres.rows(SUBSCRIBE, account)
            self.postgres.rows(ADD_PRODUCTIONS, account)
            books[account] = [account * 10 + number for number in range(1 + account % 3)]
            for book in books[account]:
                self.postgres.rows(ADD_BOOK, book, account, self._chapters)
                self.postgres.rows(ADD_CHAPTERS, book, self._chapters)
        return books

    # Processes

    def _boot_later(self, seconds: float) -> None:
        with self.loop.acting_as(self.loop.world):
            self.loop.call_later(seconds, self._boot)

    def _boot(self) -> None:
        async def paint_cover(*_: Any) -> None:
            return None

        async def nothing(*_: Any) -> None:
            pass

        number = len(self.processes) + 1
        process = SimulatedProcess(
            f"p{number}", 1000 + number, self.loop, self._dsn, self.provider, self.provider.writing,
            Products(paint_cover, nothing, nothing),
        )  # fmt: skip
        self.processes.append(process)
        self._machine.living.add(process.pid)
        self.trace(process.name, "boots")
        process.boot()

    def _ended(self, process: SimulatedProcess) -> None:
        self._machine.living.discard(process.pid)

    # What is heard

    def trace(self, *what: object) -> None:
        line = f"{self.loop.time():.4f} {' | '.join(map(str, what))}"
        self._hash.update(line.encode())
        if self._tell:
            self.lines.append(line)

    def _asked(self, call: ModelCall) -> None:
        """While nothing has gone wrong, an account has at most one call in flight."""
        self._require_rest(call)
        if isinstance(call.process, SimulatedProcess) and call.process.overdue:
            self._bad_news.append(f"call {call.number} of book {call.book} is made under a lease that has run out")
        if not self.nemesis.quiet:
            return
        others = {row[0] for row in self.postgres.rows(OTHERS, call.run)} if call.run else set()
        for other in self.provider.calls:
            if other.outcome is None and other.run in others:
                self._bad_news.append(f"calls {other.number} and {call.number} are of two runs of one account")

    def _require_rest(self, made: ModelCall | None = None) -> None:
        """Once everyone knows, no call is made for a paused run, and no call of a stopped run continues."""
        if not self.nemesis.settled:
            return
        for call in self.provider.calls:
            if call.outcome is not None or not call.run or call.process.dead or call.process.frozen:
                continue
            for status, since in self.postgres.rows(RESTING, call.run):
                told = EPOCH + self.loop.time() - float(since or 0)
                if told > HEARD_SECONDS and (call is made or status == "stopped"):
                    self._bad_news.append(f"call {call.number} of book {call.book} goes on, whose run is {status}")

    def _hear(self, entry: dict[str, Any]) -> None:
        owner = self.loop.current
        self.trace(owner.name, "log", {key: str(value)[:100] for key, value in entry.items()})
        if entry["level"] in BAD_NEWS and entry["event"] not in EXPECTED_NEWS:
            error = entry.get("exc_info")
            self._bad_news.append(f"{owner.name} logged {entry['event']}: {error!r}" if error else f"{entry}")
        if entry["event"] == "lease_lost" and self.nemesis.over_for(RENEWED_SECONDS):
            self._bad_news.append(f"{owner.name} lost its lease, with the database there for {RENEWED_SECONDS:.0f} s")
        if entry["event"] == "database_back" and self.nemesis.away_for(owner, ON_THE_WAY_SECONDS):
            self._bad_news.append(f"{owner.name} says that the database is back, to which it has no way")

    def _clear(self) -> None:
        """Leave nothing to the next schedule, in memory or at the server."""
        for process in self.processes:
            process.kill()
        for link in list(self.nemesis.network.links if self.nemesis.network else ()):
            link.drop(heard=True)
        for task in asyncio.all_tasks(self.loop):
            task._log_destroy_pending = False  # type: ignore[attr-defined]
        self.loop.world.ready.clear()


def run_schedule(
    dsn: str,
    postgres: Postgres,
    seed: int,
    size: ScheduleSize = LONG,
    *,
    faults: Sequence[int] | None = None,
    tell: bool = False,
) -> ScheduleVerdict:
    """Run the schedule of `seed` on the database `dsn` that `postgres` serves."""
    ignore = lambda _: None  # noqa: E731 (a mock would keep its arguments)
    with mock.patch.object(sys, "unraisablehook", ignore), warnings.catch_warnings():
        warnings.simplefilter("ignore")  # left behind by a killed process
        gc.disable()
        gc.freeze()  # existing objects stay: only what the schedule creates is checked
        postgres.restore()
        schedule = Schedule(dsn, postgres, seed, size, faults=faults, tell=tell)
        try:
            return schedule.run()
        finally:
            gc.enable()
            asyncio.set_event_loop(None)
            del schedule
            if seed % FORGOTTEN_TOGETHER == 0:
                gc.unfreeze()  # objects frozen while still referenced are checked too
            gc.collect()
