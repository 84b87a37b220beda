"""Authors who keep books in flight while processes and servers are killed, and remember every answer."""

from __future__ import annotations

import asyncio
import contextlib
import random
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable
from typing import TypeVar

import aiohttp

from bookgen.errors import Unavailable
from tests.chaos.calls import HeardCalls
from tests.chaos.process import Process
from tests.chaos.world import INVARIANTS, Author, World

T = TypeVar("T")

AHEAD = 3  # accepted books per author: one is written and the others wait, so that a slot is never empty
LOOK_SECONDS = 0.1

ACTIVE = "SELECT account_id, count(*) AS runs FROM run WHERE status IN ('queued', 'running', 'paused') GROUP BY 1"

# A book just paused or resumed is still in flight while its chapter is.
IN_FLIGHT = """
    SELECT book_id FROM run
     WHERE status = 'running' OR status IN ('queued', 'paused') AND call_started_at IS NOT NULL
    UNION SELECT book_id FROM blurb_draft WHERE owner IS NOT NULL
"""
BLURBS_LEFT = "SELECT count(*) FROM blurb_draft"
BLURB_ROWS = """
    SELECT d.*, b.status, p.lease_until, now() FROM blurb_draft d JOIN book b ON b.id = d.book_id
      LEFT JOIN process p ON p.boot_id = d.owner ORDER BY d.due_at
"""
FEWER_BLURBS_LEFT = "SELECT count(*) < $1 FROM blurb_draft"

TEXTS = "SELECT book_id, chapter_number, md5(content) AS text FROM chapter WHERE content <> ''"
NEW_TEXTS = f"{TEXTS} AND written_at > now() - interval '10 seconds'"

# What a client sees of a process that dies during the call, and what we see of a server that does.
CUT_OFF = (aiohttp.ClientError, TimeoutError, Unavailable)


class Traffic:
    """Every author has one book in flight until `finish`, and `AHEAD - 1` more in the queue.

    `promised` is the last answer about a book: "accepted", "paused" or "resumed". A book whose command was sent and not
    answered promises nothing until the next answer.
    """

    def __init__(
        self,
        world: World,
        dice: random.Random,
        authors: list[Author],
        chapters: int,
        *,
        hands: int = 1,
        ahead: int = AHEAD,
        rest: float = LOOK_SECONDS,
        blurb: str = "",
        calls: HeardCalls | None = None,
    ) -> None:
        """`hands`: commands at the same time. `ahead`: accepted books per author. `rest`: seconds between two rounds.

        `blurb`: what each book has, so that none is drafted. `calls`: checks the model calls.
        """
        self._world = world
        self._dice = dice
        self._authors = authors
        self._chapters = chapters
        self._hands = hands
        self._ahead = ahead
        self._rest = rest
        self._blurb = blurb
        self._calls = calls
        self._processes: list[Process] = []
        self._finishing = False
        self._round_ends = asyncio.Lock()
        self._owners: dict[int, Author] = {}
        self._unanswered: dict[int, Author] = {}
        self._texts: dict[tuple[int, int], str] = {}
        self._shown: dict[str, int] = {}
        self.steers = True  # whether authors pause, resume and poll, beside starting books
        self.promised: dict[int, str] = {}
        self.answers: Counter[str] = Counter()
        self.least_in_flight = len(authors)

    # What authors do

    def meet(self, *processes: Process) -> None:
        """Set the processes that commands go to."""
        self._processes = list(processes)

    async def run(self) -> None:
        """Run until `finish` was called and no run is active."""
        while True:
            await asyncio.sleep(self._rest)
            if not any(process.url for process in self._processes):
                continue
            with contextlib.suppress(*CUT_OFF):
                async with self._round_ends:
                    await self._round()
                if self._finishing and not await self._world.pool.fetch(ACTIVE) and not self._unanswered:
                    return

    def finish(self) -> None:
        """Start no more books, and resume the paused ones."""
        self._finishing = True

    async def start(self) -> None:
        """Have every author's books accepted."""
        while not await self._filled():
            await self._round()

    async def _filled(self) -> bool:
        active = {row["account_id"]: row["runs"] for row in await self._world.pool.fetch(ACTIVE)}
        return all(active.get(author.id, 0) >= self._ahead for author in self._authors)

    async def _round(self) -> None:
        await self._each(self._generate, list(self._unanswered))
        paused = await self._world.pool.fetch("SELECT book_id FROM run WHERE status = 'paused'")
        await self._each(self._resume, [row["book_id"] for row in paused])
        if self._finishing:
            return
        active = {row["account_id"]: row["runs"] for row in await self._world.pool.fetch(ACTIVE)}
        await self._each(self._begin, [author for author in self._authors if active.get(author.id, 0) < self._ahead])
        running = await self._world.pool.fetch("SELECT book_id FROM run WHERE status = 'running' ORDER BY 1")
        if self.steers and running:
            books = [row["book_id"] for row in running]
            few = min(self._hands, 1 + len(books) // 10)  # the others go on being written
            await self._each(self._pause, self._dice.sample(books, few))
            await self._each(self._poll, self._dice.sample(books, few))

    async def _each(self, work: Callable[[T], Awaitable[None]], items: Iterable[T]) -> None:
        """Do the work for each item, `hands` at a time. A call that is cut off has no answer; the others go on."""
        left = iter(items)

        async def hand() -> None:
            for item in left:
                with contextlib.suppress(*CUT_OFF):
                    await work(item)

        await asyncio.gather(*(hand() for _ in range(self._hands)))

    def _any_process(self) -> Process:
        """A process that has said where it listens. It may be dead. Raises Unavailable if there is none."""
        ready = [process for process in self._processes if process.url]
        if not ready:
            raise Unavailable("no process")
        return self._dice.choice(ready)

    async def _begin(self, author: Author) -> None:
        book = await self._world.book(author, self._chapters, blurb=self._blurb)
        self._owners[book] = author
        await self._generate(book)

    async def _generate(self, book: int) -> None:
        """Retry only after reading the status, like a client whose response was lost."""
        author, asked_before = self._owners[book], book in self._unanswered
        self._unanswered[book] = author  # also if there is no process: then the next round asks
        process = self._any_process()
        if asked_before:
            code, body = await self._world.call(process, author, "GET", f"/books/{book}/generation-status/")
        else:
            code, body = 404, {}
        if code == 404:
            code, body = await self._world.generate(process, author, book)
            self.answers["accepted"] += code == 202
        if code == 503:  # starting: the book stays unanswered and is requested again
            return
        assert code in (200, 202), (book, code, body)
        del self._unanswered[book]
        self.promised[book] = "accepted"

    async def _pause(self, book: int) -> None:
        await self._steer(book, "pause", "paused")

    async def _resume(self, book: int) -> None:
        await self._steer(book, "resume", "resumed")

    async def _steer(self, book: int, verb: str, state: str) -> None:
        process = self._any_process()
        self.promised.pop(book, None)
        code, body = await self._world.steer(process, self._owners[book], book, verb)
        match code:
            case 200:
                self.promised[book] = state
                self.answers[state] += 1
            case 409:  # it completed in the meantime
                self.promised[book] = "accepted"
            case 503:  # it may or may not have been done
                self.answers["answered 503"] += 1
            case _:
                raise AssertionError((book, verb, code, body))

    async def _poll(self, book: int) -> None:
        """A run's finished work never shrinks, whichever process is asked."""
        path = f"/books/{book}/generation-status/"
        code, status = await self._world.call(self._any_process(), self._owners[book], "GET", path)
        if code == 503:
            return
        assert code == 200, status
        run, done = status["task_id"], status["completed_chapters"]
        assert done >= self._shown.get(run, 0), f"book {book} went back from {self._shown[run]} to {done} chapters"
        self._shown[run] = done

    # What must hold

    @contextlib.asynccontextmanager
    async def at_rest(self) -> AsyncIterator[None]:
        """A context in which no command is on its way. Books are written on."""
        async with self._round_ends:
            yield

    async def after_kill(self) -> None:
        """The process is dead and nothing changes, so the database is complete."""
        self._processes = []
        await self._world.model.until(lambda: self._world.model.in_flight == 0)
        await self.compare()
        await self.note_hit()

    async def note_hit(self) -> None:
        """Note which books a fault hits: each may repeat a model call."""
        in_flight = {row["book_id"] for row in await self._world.pool.fetch(IN_FLIGHT)}
        self.least_in_flight = min(self.least_in_flight, len(in_flight))
        if self._calls:
            self._calls.hit |= in_flight

    async def compare(self) -> None:
        """Compare the database with every answer and every text seen. No command is on its way."""
        if self._calls:
            self._calls.count()
        await self._keep_promises()
        await self._compare_texts()
        await self._world.check_rows(INVARIANTS)

    async def watch(self) -> None:
        """Note every chapter as soon as another session can see it, until cancelled."""
        while True:
            with contextlib.suppress(Unavailable):
                new = await self._world.pool.fetch(NEW_TEXTS)
                self._texts |= {(row["book_id"], row["chapter_number"]): row["text"] for row in new}
            await asyncio.sleep(LOOK_SECONDS)

    async def at_the_end(self) -> None:
        while left := await self._world.value(BLURBS_LEFT):
            try:
                await self._world.until(FEWER_BLURBS_LEFT, left, seconds=120)
            except TimeoutError:
                rows = [dict(row) for row in await self._world.pool.fetch(BLURB_ROWS)]
                raise AssertionError(
                    f"no blurb for two minutes: {rows}\n{self._world.processes[-1].log[-4000:]}"
                ) from None
        await self.compare()
        await self._nothing_lost_or_doubled()

    async def _keep_promises(self) -> None:
        found = await self._world.pool.fetch("SELECT book_id, status, failure FROM run")
        rows = {row["book_id"]: row for row in found}
        status = {book: row["status"] for book, row in rows.items()}
        for book, what in self.promised.items():
            assert book in status, f"book {book} was accepted and is lost"
            assert status[book] != "error", f"book {book} failed: {rows[book]['failure']}"
            assert what != "paused" or status[book] in ("paused", "completed"), f"book {book}'s pause is lost"
            assert what != "resumed" or status[book] != "paused", f"book {book}'s resume is lost"

    async def _compare_texts(self) -> None:
        """Finished chapters stay byte for byte the same."""
        seen = dict(self._texts)  # before the rows are read, since `watch` notes more
        texts = {(row["book_id"], row["chapter_number"]): row["text"] for row in await self._world.pool.fetch(TEXTS)}
        changed = [place for place, text in seen.items() if texts.get(place) != text]
        assert not changed, f"finished chapters changed: {changed}"
        self._texts |= texts

    async def _nothing_lost_or_doubled(self) -> None:
        world, books = self._world, sorted(self._owners)
        done = "SELECT book_id, count(*), min(status), max(status) FROM run GROUP BY book_id ORDER BY book_id"
        ended = [tuple(row) for row in await world.pool.fetch(done)]
        assert ended == [(book, 1, "completed", "completed") for book in books]
        assert set(self._texts) == {(book, n) for book in books for n in range(1, self._chapters + 1)}
        charged = "SELECT r.book_id FROM consumption c JOIN run r ON r.id = c.run_id ORDER BY r.book_id"
        assert [row["book_id"] for row in await world.pool.fetch(charged)] == books
        if self._calls:
            await self._calls.check_paid()

    def figures(self) -> str:
        said = ", ".join(f"{times} {what}" for what, times in sorted(self.answers.items()))
        calls = f", {self._calls.figures()}" if self._calls else ""
        return (
            f"{self._world.kills} kills, {self.least_in_flight} or more books in flight at each, "
            f"{len(self._owners)} books, {len(self._texts)} chapters{calls}; "
            f"answered commands: {said}; lost commands 0, duplicate chapters 0, duplicate charges 0"
        )
