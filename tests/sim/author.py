"""An author who commands, edits and reads the books of an account, one request at a time, and remembers the answers.

Every answer must be true: it is checked in the database before the author goes on with that book.
"""

from __future__ import annotations

import asyncio
import random
from collections import Counter, defaultdict
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any

from bookgen.actors.messages import (
    Command,
    DraftOutline,
    Generate,
    Job,
    Pause,
    Resume,
    ReworkChapters,
    RewriteChapter,
    Stop,
)
from bookgen.billing.quota import Quota
from bookgen.errors import BookgenError, GenerationInProgress, Unavailable, UpstreamAIError
from bookgen.models import Run
from bookgen.services import editing
from bookgen.services.proofreading import Proofreading
from tests.sim.loop import SimulatedLoop
from tests.sim.postgres import Postgres
from tests.sim.process import ProcessEnded, SimulatedProcess

PATIENCE_SECONDS, IMPATIENCE_SECONDS, DOUBT_SECONDS = 30.0, 0.5, 60.0
COMMANDS: tuple[Command, ...] = (
    Generate(), Generate(), Generate(), Generate(automated=True, again=True), Pause(), Resume(), Resume(), Stop()
)  # fmt: skip
NEWEST = "SELECT id, status FROM run WHERE book_id = $1 ORDER BY queue_seq DESC LIMIT 1"
WRITING = "SELECT id, chapter_number FROM chapter WHERE book_id = $1 AND status = 'writing'"
CHAPTERS = "SELECT id, chapter_number FROM chapter WHERE book_id = $1 ORDER BY chapter_number"
JOB = "SELECT 1 FROM book_job WHERE book_id = $1"
ACTIVE = ("queued", "running", "paused")
# States that a run with this answer may have reached by itself.
STILL = {
    "Generate": {"queued", "running", "completed", "error"},
    "Resume": {"queued", "running", "completed", "error"},
    "Pause": {"paused", "completed", "error"},
    "Stop": {"stopped"},
}


@dataclass(frozen=True, slots=True)
class AuthorsWords:
    """The author's texts that were acknowledged as saved."""

    book: int
    chapter: int
    number: int
    text: str


class SimulatedAuthor:
    """`findings`: answers that were not true, and errors that no caller should see. `words`: the newest texts, by
    chapter. `edited`: books with a chapter or outline changed by hand or by a job. `cleared`: how often a chapter of a
    book was emptied, so that it is written again.
    """

    def __init__(
        self,
        account: int,
        books: list[int],
        loop: SimulatedLoop,
        postgres: Postgres,
        processes: Callable[[], list[SimulatedProcess]],
        chance: random.Random,
        trace: Callable[..., None],
        *,
        edits: float,
    ) -> None:
        self.findings: list[str] = []
        self.happened: Counter[str] = Counter()
        self.words: dict[int, AuthorsWords] = {}
        self.cleared: Counter[int] = Counter()
        self.edited: set[int] = set()
        self.books = books
        self._account = account
        self._loop = loop
        self._postgres = postgres
        self._processes = processes
        self._chance = chance
        self._trace = trace
        self._edits = edits
        self._promised: dict[int, tuple[str, str]] = {}
        self._loose: defaultdict[int, dict[asyncio.Future[Any], str]] = defaultdict(dict)  # the book of each request
        self._doubt: defaultdict[int, float] = defaultdict(float)
        self._in_doubt: set[int] = (
            set()
        )  # chapters that an unanswered save or outline may still change after a partition
        self._written = 0

    async def run(self, until: float, between: float) -> None:
        while self._loop.time() < until:
            await asyncio.sleep(self._chance.expovariate(1 / between))
            book = self._chance.choice(self.books)
            self.look(book)
            what = self._chance.random()
            if what < 1 - self._edits:
                await self.command(book, self._chance.choice(COMMANDS))
            elif what < 1 - self._edits / 2:
                await self._edit(book)
            elif what < 1 - self._edits / 8:
                await self._job(book)
            else:
                await self._report(book)

    def look(self, book: int) -> None:
        """Check whether the promised state of the book holds, unless a request may still be in flight."""
        self._loose[book] = {request: name for request, name in self._loose[book].items() if not request.done()}
        promise = self._promised.pop(book, None)
        if promise is None or self._loose[book]:
            return
        what, run_id = promise
        rows = self._postgres.rows(NEWEST, book)
        if not rows or rows[0][0] != run_id or rows[0][1] not in STILL[what]:
            self.findings.append(f"{what} of book {book} was answered with run {run_id}, but there is {rows}")

    async def command(self, book: int, command: Command) -> None:
        name = type(command).__name__
        before = self._postgres.rows(NEWEST, book)
        loose = bool(self._loose[book])
        run = await self._ask(book, name, lambda p: lambda: p.supervisor.ask(self._account, book, command))
        doubt = loose or self._loop.time() < self._doubt[book]
        state = before[0][1] if before else "none"
        self.happened[f"{name} when {state}"] += 1
        if name == "Generate" and state not in ACTIVE and isinstance(run, GenerationInProgress) and not doubt:
            self.findings.append(f"Generate of book {book}, whose run was {state}, was refused for its own run")
        if isinstance(run, Run):
            self.happened[f"{name} answered"] += 1
            if not doubt:
                self._promised[book] = (name, str(run.id))

    async def _job(self, book: int) -> None:
        chapters = self._postgres.rows(CHAPTERS, book)
        chapter, number = map(int, self._chance.choice(chapters))
        job: Job = self._chance.choice(
            (RewriteChapter(chapter, number), RewriteChapter(chapter, number), ReworkChapters((chapter,), "Other."),
             DraftOutline())
        )  # fmt: skip
        self._promised.pop(book, None)
        if not isinstance(job, RewriteChapter):  # a new outline empties the chapters it changes
            self.cleared[book] += len(chapters)
            self.words = {chapter: words for chapter, words in self.words.items() if words.book != book}
        name = type(job).__name__
        self.edited.add(book)
        patience = self._chance.choice((PATIENCE_SECONDS, IMPATIENCE_SECONDS))
        ask = self._ask(book, name, lambda p: lambda: p.supervisor.run_job(self._account, book, job), patience)
        answer = await ask
        self.happened[f"{name} done"] += answer is None
        if isinstance(answer, Unavailable | ProcessEnded) and not isinstance(job, RewriteChapter):
            self._in_doubt.update(int(chapter) for chapter, _ in chapters)
        over = answer is None or isinstance(answer, UpstreamAIError)
        if over and not self._loose[book] and self._loop.time() >= self._doubt[book] and self._postgres.rows(JOB, book):
            self.findings.append(f"{name} is over, and book {book} is still kept for it")

    async def _report(self, book: int) -> None:
        def start(process: SimulatedProcess) -> Callable[[], Awaitable[Any]]:
            async def ask() -> None:
                assert process.database is not None
                made = process.supervisor.reports
                corrections: Any = None  # applies suggestions, of which there are none
                service = Proofreading(process.database.http, process.quota, corrections, made.wake, made.call_off)
                await service.start(self._account, book, None)

            return ask

        if await self._ask(book, "report", start) is None:
            self.happened["report done"] += 1

    async def _edit(self, book: int) -> None:
        chapters = self._postgres.rows(WRITING, book) if self._chance.random() < 0.7 else []
        chapter, number = map(int, self._chance.choice(chapters or self._postgres.rows(CHAPTERS, book)))
        self._written += 1
        self.edited.add(book)
        text = self._chance.choice((f"Words {self._written} of author {self._account}.",) * 4 + ("",))

        def edit(process: SimulatedProcess) -> Callable[[], Awaitable[Any]]:
            async def save() -> bool:
                assert process.database is not None
                quota = Quota(billing=False)
                async with process.database.http.acquire() as connection:
                    await editing.save_chapter(connection, quota, self._account, chapter, {"content": text})
                return True

            return save

        self.words.pop(chapter, None)
        self._trace("author", self._account, "edits", chapter, text)
        self.cleared[book] += not text
        # An earlier rewrite has not read these words and must not replace them.
        surely = set(self._loose[book].values()) <= {RewriteChapter.__name__} and chapter not in self._in_doubt
        answer = await self._ask(book, "edit", edit)
        if isinstance(answer, Unavailable | ProcessEnded):
            self._in_doubt.add(chapter)
        if answer is True and surely:
            self.happened["edit done"] += 1
            self.words[chapter] = AuthorsWords(book, chapter, number, text)

    async def _ask(
        self,
        book: int,
        name: str,
        work: Callable[[SimulatedProcess], Callable[[], Awaitable[Any]]],
        patience: float = PATIENCE_SECONDS,
    ) -> Any:
        """The outcome of a request: its result, the error, or "loose" if it is unknown after this many seconds."""
        serving = [process for process in self._processes() if process.serving and not process.frozen]
        if not serving:
            return "nobody serves"
        process = self._chance.choice(serving)
        return await self._hear(book, name, process.request(work(process)), patience)

    async def _hear(self, book: int, name: str, request: asyncio.Future[Any], patience: float) -> Any:
        await asyncio.wait((request,), timeout=patience)
        if not request.done():
            self._loose[book][request] = name
            self._promised.pop(book, None)
            self._trace("author", self._account, name, "no answer")
            return "loose"
        error = request.exception()
        self._trace("author", self._account, name, type(error).__name__ if error else "answered")
        if error is None:
            return request.result()
        self._promised.pop(book, None)
        self.happened[f"{name} heard {type(error).__name__}"] += 1
        if isinstance(error, Unavailable | ProcessEnded):  # the request may still be carried out
            self._doubt[book] = self._loop.time() + DOUBT_SECONDS
        if not isinstance(error, BookgenError | ProcessEnded):
            self.findings.append(f"{name} of book {book} ended with {error!r}")
        return error
