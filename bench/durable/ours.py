"""This project's own code: supervisor, actors and checkpoints, on a migrated database."""

from __future__ import annotations

import asyncio
import random
import statistics
import time
import tracemalloc
from collections import Counter
from collections.abc import AsyncIterator, Callable
from typing import Any
from uuid import uuid4

import asyncpg
from asyncpg import Record

from bench.durable import raw
from bookgen.actors.messages import Generate, Pause
from bookgen.actors.resources import Products, Writing
from bookgen.actors.status_cache import CachedStatus
from bookgen.actors.supervisor import Supervisor
from bookgen.billing.cost_caps import CostCaps
from bookgen.billing.quota import Quota
from bookgen.models import Digest, Usage
from bookgen.providers.text import Message, StopReason, TextModel, TextReply, TextRequest
from bookgen.store.checkpoints import FinishedChapter, commit
from bookgen.store.database import Database
from bookgen.writing.material import ChapterDraft, Material
from bookgen.writing.steps import Steps

STARTS_AT_ONCE = 32

MAKE_BOOKS = """
    WITH writer AS (
        INSERT INTO account (username, email)
        SELECT $1 || n, $1 || n || '@example.com' FROM generate_series(1, $2::int) AS n RETURNING id
    ), title AS (
        INSERT INTO book (account_id, title, chapter_count, target_word_count, trim_size, content_language, status)
        SELECT id, 'A book', least($3, 100), 1000, '6x9', 'en', 'outline' FROM writer RETURNING id, account_id
    ), chapters AS (
        INSERT INTO chapter (book_id, chapter_number, title, target_word_count)
        SELECT t.id, n, 'A chapter', 500 FROM title t, generate_series(1, $3::int) AS n
    )
    SELECT id, account_id FROM title
"""

MAKE_RUNNING = """
    INSERT INTO run (id, book_id, account_id, status, mode, total, owner, epoch, call_no, call_started_at)
    SELECT gen_random_uuid(), b.id, b.account_id, 'running', 'full', b.chapter_count, $2, 1, 1, now()
      FROM book b WHERE b.id = ANY($1::bigint[])
    RETURNING id, book_id
"""

UNFINISHED = "SELECT EXISTS (SELECT FROM run WHERE book_id = ANY($1::bigint[]) AND status <> 'completed')"

SECONDS_TAKEN = """
    SELECT book_id, extract(epoch FROM finished_at - started_at)::float AS seconds
      FROM run WHERE book_id = ANY($1::bigint[])
"""

CHAPTERS = "SELECT id FROM chapter WHERE book_id = $1 ORDER BY chapter_number"


class InstantModel(TextModel):
    """A model that answers after about `seconds` (±20 %); with None it never answers.

    `begun` counts the calls, `slept` sums the seconds per book.
    """

    name = "bench"

    def __init__(self, seconds: float | None, text: str = "Text.") -> None:
        self.seconds = seconds
        self.text = text
        self.begun = 0
        self.slept: Counter[int] = Counter()
        self._random = random.Random(1)

    async def complete(self, request: TextRequest) -> TextReply:
        self.begun += 1
        if self.seconds is None:
            await asyncio.Event().wait()
        else:
            seconds = self.seconds * self._random.uniform(0.8, 1.2)
            self.slept[int(request.messages[0].text.split()[0])] += seconds
            await asyncio.sleep(seconds)
        return TextReply(self.text, StopReason.END, Usage(calls=1), self.name)


async def write_chapter(
    material: Material, number: int, steps: Steps, _on_words: Callable[[int], None] | None = None, /
) -> ChapterDraft:
    text = (await steps.reply(_request(material.book.id, number))).text
    return ChapterDraft(text, 1, None)


def _request(book: int, chapter: int) -> TextRequest:
    return TextRequest("chapter", (), (Message("user", f"{book} {chapter}"),), 10, chapter_number=chapter)


async def _no_outline(*_: object) -> Any:
    raise AssertionError


async def _no_notes(*_: object) -> AsyncIterator[Digest]:
    for digest in ():
        yield digest


def supervisor(database: Database, model: InstantModel) -> Supervisor:
    writing = Writing(_no_outline, _no_outline, write_chapter, _no_outline, _no_outline, _no_notes)
    products = Products(_no_outline, _no_outline, _no_outline)
    quota = Quota(billing=False)
    return Supervisor(
        database,
        writing=writing,
        products=products,
        model=model,
        quota=quota,
        painter=None,  # type: ignore[arg-type]
        price=lambda _model, _usage: None,
        caps=CostCaps(),
        chapters_at_once=100_000,
        shortage=lambda: None,
    )


async def make_books(pool: asyncpg.Pool, count: int, chapters: int) -> list[tuple[int, int]]:
    """Create books as (account, book), each with its own account."""
    rows = await pool.fetch(MAKE_BOOKS, uuid4().hex[:12], count, chapters)
    return [(row["account_id"], row["id"]) for row in rows]


async def checkpoints(database: Database, text: str, tasks: int, seconds: float) -> float:
    """Chapters committed per second, with `tasks` books of 40 chapters at a time."""
    books = await make_books(database.runs, tasks * 100, 40)
    rows = await database.runs.fetch(MAKE_RUNNING, [book for _, book in books], uuid4())
    end = time.perf_counter() + seconds
    shares = [rows[share::tasks] for share in range(tasks)]
    done = await asyncio.gather(*(_write(database, share, text, end) for share in shares))
    await database.runs.execute("DELETE FROM account WHERE id = ANY($1::bigint[])", [account for account, _ in books])
    return sum(done) / seconds


async def _write(database: Database, runs: list[Record], text: str, end: float) -> int:
    written = 0
    for row in runs:
        chapters = await database.runs.fetch(CHAPTERS, row["book_id"])
        for call_no, chapter in enumerate(chapters, 1):
            if time.perf_counter() > end:
                return written
            finished = FinishedChapter(row["id"], 1, call_no, chapter["id"], 0, text, 1, [], None)
            async with database.runs.acquire() as connection, connection.transaction():
                assert await commit(connection, finished) is not None
            written += 1
    return written


async def start_and_ack(database: Database, count: int) -> tuple[list[float], list[float]]:
    """Seconds from the request of a run to its durable acceptance, and of one raw commit after each."""
    process = supervisor(database, InstantModel(None))
    await process.start()
    times, commits = [], []
    for account, book in await make_books(database.runs, count, 3):
        started = time.perf_counter()
        await process.ask(account, book, Generate())
        times.append(time.perf_counter() - started)
        commits += await raw.commits(database.runs, 1)
    await _end(database, process)
    return times, commits


async def starts_at_once(database: Database, count: int, tasks: int) -> list[float]:
    """Seconds from the request of a run to its durable acceptance, with `tasks` concurrent requests."""
    process = supervisor(database, InstantModel(None))
    await process.start()
    books, times = await make_books(database.runs, count, 3), []

    async def start(mine: list[tuple[int, int]]) -> None:
        for account, book in mine:
            started = time.perf_counter()
            await process.ask(account, book, Generate())
            times.append(time.perf_counter() - started)

    await asyncio.gather(*(start(books[share::tasks]) for share in range(tasks)))
    await _end(database, process)
    return times


async def pause_acks(database: Database, running: int, count: int) -> list[float]:
    """Seconds from the request of a pause to its durable answer, with `running` calls in flight."""
    model = InstantModel(None)
    process = supervisor(database, model)
    await process.start()
    books = await make_books(database.runs, running, 3)
    for account, book in books:
        await process.ask(account, book, Generate())
    while model.begun < running:
        await asyncio.sleep(0.01)
    times = []
    for account, book in books[:count]:
        started = time.perf_counter()
        await process.ask(account, book, Pause())
        times.append(time.perf_counter() - started)
    await _end(database, process)
    return times


async def recovery(database: Database, count: int) -> float:
    """Seconds from the start of a process until every interrupted run makes its model call again."""
    books = await make_books(database.runs, count, 3)
    await database.runs.execute(MAKE_RUNNING, [book for _, book in books], uuid4())
    model = InstantModel(None)
    process = supervisor(database, model)
    started = time.perf_counter()
    await process.start()
    while model.begun < count:
        await asyncio.sleep(0.002)
    took = time.perf_counter() - started
    await _end(database, process)
    return took


async def books_at_once(database: Database, count: int, chapters: int, call_seconds: float) -> tuple[float, float]:
    """The average time of a book divided by the time of its calls, and this process's share of a core."""
    model = InstantModel(call_seconds)
    process = supervisor(database, model)
    await process.start()
    books = await make_books(database.runs, count, chapters)
    started, used = time.perf_counter(), time.process_time()
    starting = asyncio.Semaphore(
        STARTS_AT_ONCE
    )  # more concurrent starts would exceed the time in which a start must be answered

    async def start(account: int, book: int) -> None:
        async with starting:
            await process.ask(account, book, Generate())

    await asyncio.gather(*(start(account, book) for account, book in books))
    ids = [book for _, book in books]
    while await database.http.fetchval(UNFINISHED, ids):
        await asyncio.sleep(0.05)
    share = (time.process_time() - used) / (time.perf_counter() - started)
    took = await database.http.fetch(SECONDS_TAKEN, ids)
    await _end(database, process)
    return statistics.mean(row["seconds"] / model.slept[row["book_id"]] for row in took), share


async def calls_alone(count: int, chapters: int, call_seconds: float) -> float:
    """The same measurement as `books_at_once` for the calls alone: it shows what the loop's timers add."""
    model = InstantModel(call_seconds)

    async def book(number: int) -> float:
        started = time.perf_counter()
        for chapter in range(chapters):
            await model.complete(_request(number, chapter))
        return (time.perf_counter() - started) / model.slept[number]

    return statistics.mean(await asyncio.gather(*map(book, range(count))))


def bytes_an_actor(database: Database, count: int) -> float:
    """Memory of an idle resident actor, including the cached status of a book of ten chapters."""
    process = supervisor(database, InstantModel(None))
    tracemalloc.start()
    for number in range(count):
        key = (number, number)
        process.registry.find_or_make(key)
        entry = CachedStatus(body=str(number).encode() + b"x" * 1700)
        process.statuses._cache.setdefault(number, {})[number] = entry
    size, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    return size / count


async def _end(database: Database, process: Supervisor) -> None:
    await process.drain(0)
    await database.runs.execute("DELETE FROM account")
