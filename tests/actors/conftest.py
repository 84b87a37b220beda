"""A supervisor on a real database, with a model whose replies the test controls."""

from __future__ import annotations

import asyncio
import contextlib
import itertools
from collections import Counter, defaultdict
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from typing import Any
from uuid import UUID, uuid4

import asyncpg
import orjson
import pytest

from bookgen.actors import blurbs, reports
from bookgen.actors.messages import Generate
from bookgen.actors.resources import Products, Save, WriteChapter, Writing
from bookgen.actors.supervisor import Supervisor
from bookgen.billing.cost_caps import CostCaps
from bookgen.billing.quota import Quota
from bookgen.errors import UpstreamAIError
from bookgen.models import Book, Digest, SourceType, Usage
from bookgen.providers.text import CALL_SECONDS, HaltSwitch, Message, StopReason, TextModel, TextReply, TextRequest
from bookgen.services.spread_pictures import Painter
from bookgen.store import covers, media
from bookgen.store.database import Database
from bookgen.store.stored_files import NewFile
from bookgen.writing.material import ChapterDraft, Material, Outline, OutlineChapter
from bookgen.writing.passage import rewrite_passage
from bookgen.writing.refusal import ModelRefused
from bookgen.writing.steps import Steps
from bookgen.writing.structured import UnusableReply
from tests.chaos.pg_proxy import PgProxy

_names = itertools.count(1)
BLURB = 99  # used as a chapter number

# For a signal that does come. With three test processes on two busy cores, what takes 0.4 s has taken more than 10.
PATIENCE_SECONDS = 60.0
READERS = {
    "review": -1,
    "revision": -2,
    "comparison": -3,
}  # the chapter numbers that stand for the calls which read the whole book


class Model(TextModel):
    """A model whose replies the test controls.

    `free`: answer every call at once, except those in `kept`. `poison`: books whose replies never become a chapter; the
    work hangs, as if the process was killed at that moment. `given`: the material of each chapter, by book. `bound`:
    the reported time limit of a call in seconds. `latest`: the last request of each stage. A proofreader's calls count
    as calls of book 0, one per chapter; the other readers are in READERS.
    """

    name = "scripted"
    call_seconds = CALL_SECONDS

    def __init__(self) -> None:
        self.free = False
        self.kept: set[tuple[int, int]] = set()
        self.edits = '{"edits": []}'
        self.findings = '{"findings": []}'
        self.answers = '{"edits": [], "declined": []}'
        self.compares: Callable[[TextRequest], str] = lambda _: '{"verdicts": []}'
        self.bound: float | None = None
        self.poison: set[int] = set()
        self.stuck: Counter[int] = Counter()
        self.asked: Counter[tuple[int, int]] = Counter()
        self.latest: dict[str, TextRequest] = {}
        self.cancelled: Counter[tuple[int, int]] = Counter()
        self.given: defaultdict[int, list[Material]] = defaultdict(list)
        self.open = 0
        self.most_open = 0
        self._replies: dict[tuple[int, int], asyncio.Future[str]] = {}
        self._changed = asyncio.Event()

    async def complete(self, request: TextRequest) -> TextReply:
        read = {"proofreading": self.edits, "review": self.findings, "revision": self.answers}.get(request.stage)
        if request.stage == "comparison":
            read = self.compares(request)
        number = request.chapter_number or READERS.get(request.stage, 0)
        call = (0, number) if read else tuple(orjson.loads(request.messages[-1].text))
        self.asked[call] += 1
        self.latest[request.stage] = request
        if self.bound is not None and request.on_bound:
            request.on_bound(self.bound)
        usage, call_id = Usage(calls=1, input_tokens=10, output_tokens=20), uuid4()
        if request.budget:
            await request.budget.reserve(call_id, self.name, usage)
        self.open += 1
        self.most_open = max(self.most_open, self.open)
        self._tell()
        try:
            usual = read or f"Text of {call}."
            text = usual if self.free and call not in self.kept else await self._reply(call)
        except asyncio.CancelledError:
            self.cancelled[call] += 1
            raise
        finally:
            self.open -= 1
            self._tell()
        return TextReply(text, StopReason.END, usage, self.name, call_id=call_id)

    async def write_chapter(
        self,
        material: Material,
        number: int,
        steps: Steps,
        on_words: Callable[[int], None] | None = None,
        _on_digest: Callable[[Digest], None] | None = None,
    ) -> ChapterDraft:
        self.given[material.book.id].append(material)
        text = (await steps.reply(ask("chapter", material.book.id, number))).text
        if on_words:
            on_words(len(text.split()))
        if material.book.id in self.poison:
            self.stuck[material.book.id] += 1
            self._tell()
            await asyncio.Event().wait()
        return ChapterDraft(text, len(text.split()), self.digest(material.book.id, number), writer=self.name)

    def digest(self, book: int, number: int) -> Digest:
        return Digest(number, f"hash of {(book, number)}", "Summary.", ("A fact.",), (), ())

    async def wait_until_asked(self, book: int, chapter: int, times: int = 1) -> None:
        await self.until(lambda: self.asked[book, chapter] >= times)

    async def until(self, reached: Callable[[], bool]) -> None:
        async with asyncio.timeout(PATIENCE_SECONDS):
            while not reached():
                self._changed.clear()
                await self._changed.wait()

    def answer(self, book: int, chapter: int, text: str | None = None) -> None:
        self._future((book, chapter)).set_result(text or f"Text of {(book, chapter)}.")

    def fail(self, book: int, chapter: int, *, retryable: bool, error: Exception | None = None) -> None:
        upstream = UpstreamAIError("It failed.", stage="chapter", retryable=retryable, chapter_number=chapter)
        self._future((book, chapter)).set_exception(error or upstream)

    async def _reply(self, call: tuple[int, int]) -> str:
        try:
            return await asyncio.shield(self._future(call))
        finally:
            self._replies.pop(call, None)

    def _future(self, call: tuple[int, int]) -> asyncio.Future[str]:
        return self._replies.setdefault(call, asyncio.get_running_loop().create_future())

    def _tell(self) -> None:
        self._changed.set()


async def draft_outline(book: Book, steps: Steps) -> Outline:
    await steps.reply(ask("outline", book.id, 0))
    plans = tuple(OutlineChapter(f"New {n}", "Summary.", 500) for n in range(1, book.chapter_count + 1))
    return Outline({"people": []}, plans)


async def rework_chapters(
    material: Material, numbers: Sequence[int], instructions: str, steps: Steps
) -> dict[int, OutlineChapter]:
    await steps.reply(ask("rework", material.book.id, 0))
    return {number: OutlineChapter(f"Other {number}", instructions, 500) for number in numbers}


async def refuse_blurb(material: Material, steps: Steps) -> str:
    """Always refuses, for tests that need no blurbs."""
    raise ModelRefused("It refused.", stage="blurb", retryable=False)


async def note_nothing(material: Material, steps: Steps) -> AsyncIterator[Digest]:
    """Notes nothing, for tests that need no notes of the last chapter."""
    for digest in ():
        yield digest


async def draft_blurb(material: Material, steps: Steps) -> str:
    """Draft a blurb with a call for chapter BLURB. Raises UnusableReply if the reply is "Nonsense."."""
    reply = await steps.reply(ask("blurb", material.book.id, BLURB))
    if reply.text == "Nonsense.":
        raise UnusableReply("It was no blurb.", stage="blurb", retryable=True)
    return reply.text


def ask(stage: str, book: int, chapter: int) -> TextRequest:
    text = orjson.dumps([book, chapter]).decode()
    return TextRequest(stage, (), (Message("user", text),), 100, chapter_number=chapter or None)


class Studio:
    """The services of a production, under the test's control. `made` lists the requests in order."""

    def __init__(self) -> None:
        self.made: list[str] = []
        self.failures: dict[str, Exception] = {}
        self.held: dict[str, asyncio.Event] = {}
        self.products = Products(self._paint_cover, self._correct, self._make_files)

    def hold(self, what: str) -> asyncio.Event:
        """Make all later calls wait for the event."""
        return self.held.setdefault(what, asyncio.Event())

    async def until_asked(self, what: str, times: int = 1) -> None:
        await until(lambda: self.made.count(what) >= times)

    async def _make(self, what: str) -> None:
        self.made.append(what)
        if what in self.held:
            await self.held[what].wait()
        if failure := self.failures.pop(what, None):
            raise failure

    async def _paint_cover(self, account_id: int, book_id: int, run_id: UUID, halt: HaltSwitch) -> Save | None:
        await self._make("cover")

        async def keep(connection: asyncpg.Connection) -> None:
            if failure := self.failures.pop("keeping", None):
                raise failure
            drawing = NewFile(b"picture"), 16, 25, SourceType.DRAWN
            image, thumbnail = [await media.add(connection, book_id, *drawing) for _ in range(2)]
            drawn = {"style": "", "prompt": "", "width": 16, "height": 25, "design": None}
            cover = await covers.add(connection, book_id, image_key=image, thumbnail_key=thumbnail, **drawn)
            await covers.select(connection, book_id, cover.id)

        return keep

    async def _correct(self, account_id: int, run_id: UUID) -> None:
        await self._make("corrections")

    async def _make_files(self, account_id: int, book_id: int) -> None:
        await self._make("files")


async def until(reached: Callable[[], bool]) -> None:
    async with asyncio.timeout(PATIENCE_SECONDS):
        while not reached():  # noqa: ASYNC110 (the signal is the state of something)
            await asyncio.sleep(0.01)


@pytest.fixture
def model() -> Model:
    return Model()


# Defaults: no known price, no caps, no image model, and enough disk space.
WITHOUT_SERVICES: dict[str, Any] = {
    "price": lambda _model, _usage: None,
    "caps": CostCaps(),
    "painter": Painter(None, None, None),  # type: ignore[arg-type]  # never asked to paint
    "chapters_at_once": 64,
}


@contextlib.asynccontextmanager
async def supervising(
    database: Database, model: TextModel, write_chapter: WriteChapter, **settings: Any
) -> AsyncIterator[Supervisor]:
    """A started supervisor, which drains at the end without waiting for work in flight."""
    settings.setdefault("quota", Quota(billing=True))
    settings.setdefault("products", Studio().products)
    settings = {**WITHOUT_SERVICES, **settings}
    draft_blurb = settings.pop("draft_blurb", refuse_blurb)
    note_rest = settings.pop("note_rest", note_nothing)
    writing = Writing(draft_outline, rework_chapters, write_chapter, draft_blurb, rewrite_passage, note_rest)
    supervisor = Supervisor(database, writing=writing, model=model, **settings)
    listening, caught_up = supervisor._listening, asyncio.Event()

    async def caught() -> None:
        await listening()
        caught_up.set()

    supervisor._listening = caught  # type: ignore[method-assign]
    await supervisor.start()
    await caught_up.wait()  # so that it does not renew in the middle of a test
    try:
        yield supervisor
    finally:
        await supervisor.drain(0)


@pytest.fixture(autouse=True)
def frequent_looks(monkeypatch: pytest.MonkeyPatch) -> None:
    """What a dead process leaves is found soon."""
    for module in (blurbs, reports):
        monkeypatch.setattr(module, "LOOK_SECONDS", 0.2)


Start = Callable[..., Awaitable[Supervisor]]


@pytest.fixture
def started() -> list[Supervisor]:
    """The supervisors of the test in the order of their starts."""
    return []


@pytest.fixture
async def start(database: Database, model: Model, started: list[Supervisor]) -> AsyncIterator[Start]:
    """Starts supervisors on one database, like separate processes."""
    async with contextlib.AsyncExitStack() as running:

        async def start(**settings: Any) -> Supervisor:
            supervisor = await running.enter_async_context(
                supervising(database, model, model.write_chapter, **settings)
            )
            started.append(supervisor)
            return supervisor

        yield start


@pytest.fixture
async def supervisor(start: Start) -> Supervisor:
    return await start()


BeginRun = Callable[..., Awaitable[tuple[int, int]]]


@pytest.fixture
def begun(started: list[Supervisor], start: Start, model: Model, shelf: Shelf) -> BeginRun:
    """Starts a new account's book, on the given supervisor or the first one."""

    async def begun(supervisor: Supervisor | None = None, *, chapters: int = 3, plan: str = "pro") -> tuple[int, int]:
        """Returns the account and the book once the model has been asked for the first chapter."""
        account, book = await shelf.outlined(chapters, plan)
        supervisor = supervisor or (started[0] if started else await start())
        await supervisor.ask(account, book, Generate())
        await model.wait_until_asked(book, 1)
        return account, book

    return begun


async def crash(supervisor: Supervisor, shelf: Shelf) -> None:
    """Leave the supervisor as after `kill -9`: its rows stay and its lease expires."""
    boot_id = supervisor.resources.boot_id
    supervisor.resources.draining = True
    supervisor.lease._lost()
    await shelf.pool.execute("UPDATE process SET lease_until = now() - interval '1 second' WHERE boot_id = $1", boot_id)


async def on_connections(pool: asyncpg.Pool, sql: str, count: int = 5) -> None:
    """Run `sql` on this many of the pool's connections."""
    held = [await pool.acquire() for _ in range(5)]
    for connection in held[:count]:
        await connection.execute(sql)
    for connection in reversed(held):
        await pool.release(connection)


@pytest.fixture
async def proxy(dsn: str) -> AsyncIterator[PgProxy]:
    """A proxy to the database that can cut connections."""
    async with PgProxy(dsn) as proxy:
        yield proxy


class Shelf:
    """Accounts and books, inserted directly into the database."""

    def __init__(self, pool: asyncpg.Pool) -> None:
        self.pool = pool

    async def account(self, plan: str = "pro") -> int:
        name = f"writer{next(_names)}"
        account_id = await self.pool.fetchval(
            "INSERT INTO account (username, email) VALUES ($1, $1 || '@example.com') RETURNING id", name
        )
        await self.pool.execute(
            "UPDATE subscription SET plan_id = (SELECT id FROM plan WHERE slug = $2) WHERE account_id = $1",
            account_id,
            plan,
        )
        return int(account_id)

    async def book(self, account_id: int, chapters: int = 3) -> int:
        book_id = await self.pool.fetchval(
            """INSERT INTO book (account_id, title, chapter_count, target_word_count, trim_size, content_language,
                                 status)
               VALUES ($1, 'A book', greatest($2, 1), 1500, '6x9', 'en', 'outline') RETURNING id""",
            account_id,
            chapters,
        )
        await self.pool.execute(
            """INSERT INTO chapter (book_id, chapter_number, title, target_word_count)
               SELECT $1, n, 'Chapter ' || n, 500 FROM generate_series(1, $2::int) AS n""",
            book_id,
            chapters,
        )
        return int(book_id)

    async def outlined(self, chapters: int = 3, plan: str = "pro") -> tuple[int, int]:
        """A new account with a book that has an outline and no text."""
        account_id = await self.account(plan)
        return account_id, await self.book(account_id, chapters)

    async def texts(self, book_id: int) -> list[str]:
        rows = await self.pool.fetch("SELECT content FROM chapter WHERE book_id = $1 ORDER BY chapter_number", book_id)
        return [row["content"] for row in rows]

    async def statuses(self, book_id: int) -> list[str]:
        rows = await self.pool.fetch("SELECT status FROM chapter WHERE book_id = $1 ORDER BY chapter_number", book_id)
        return [row["status"] for row in rows]

    async def chapter_id(self, book_id: int, number: int) -> int:
        return int(
            await self.pool.fetchval(
                "SELECT id FROM chapter WHERE book_id = $1 AND chapter_number = $2", book_id, number
            )
        )

    async def run(self, book_id: int) -> asyncpg.Record:
        return await self.pool.fetchrow("SELECT * FROM run WHERE book_id = $1 ORDER BY queue_seq DESC LIMIT 1", book_id)

    async def value(self, sql: str, *arguments: object) -> Any:
        return await self.pool.fetchval(sql, *arguments)

    async def until(self, sql: str, *arguments: object) -> None:
        """Wait until the query returns true."""
        async with asyncio.timeout(PATIENCE_SECONDS):
            while not await self.pool.fetchval(sql, *arguments):  # noqa: ASYNC110 (the signal is a row)
                await asyncio.sleep(0.01)

    async def until_status(self, book_id: int, status: str) -> None:
        await self.until(
            "SELECT status = $2 FROM run WHERE book_id = $1 ORDER BY queue_seq DESC LIMIT 1", book_id, status
        )


@pytest.fixture
async def shelf(database: Database) -> Shelf:
    return Shelf(database.http)


@contextlib.asynccontextmanager
async def locked(dsn: str, account: int) -> AsyncIterator[None]:
    """Lock the account's slot, like a process that was cut off inside a transaction."""
    other = await asyncpg.connect(dsn)
    async with other.transaction():
        await other.execute("SELECT FROM account_slot WHERE account_id = $1 FOR UPDATE", account)
        yield
    await other.close()
