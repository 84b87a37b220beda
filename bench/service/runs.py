"""Runs of the service, started over HTTP and observed in its database, and their cost."""

from __future__ import annotations

import asyncio
import json
import statistics
import time
from collections import Counter
from dataclasses import dataclass

import aiohttp
import asyncpg

from bench.service import data
from bench.service.machine import cpu_seconds, family
from bench.service.model_process import ModelProcess
from bench.service.processes import ServerProcess
from bookgen.store import leaving

STARTS_AT_ONCE = 32
LOOK_SECONDS = 0.1
MAX_SECONDS = 900.0
LOST = "database_lost"

BOOKS = """
    WITH writer AS (
        INSERT INTO account (username, email, email_verified)
        SELECT $1 || n, $1 || n || '@example.org', true FROM generate_series(1, $2::int) n RETURNING id
    ), title AS (
        INSERT INTO book (account_id, title, genre, description, chapter_count, target_word_count, trim_size,
                          content_language, status)
        SELECT id, 'The Ledger of Winter', 'fantasy', 'A ledger is kept, and what is written in it comes true.', $3,
               $3 * $4::int, '6x9', 'en', 'outline'
          FROM writer RETURNING id, account_id
    ), chapters AS (
        INSERT INTO chapter (book_id, chapter_number, title, summary, target_word_count)
        SELECT t.id, n, 'The entry of day ' || n, 'On day ' || n || ' the keeper enters what nobody has seen.', $4
          FROM title t, generate_series(1, $3::int) n
    )
    SELECT id, account_id FROM title
"""
PROGRESS = """
    SELECT count(*) FILTER (WHERE status NOT IN ('queued', 'running', 'paused')) AS ended,
           count(*) FILTER (WHERE status IN ('error', 'stopped')) AS failed, coalesce(sum(done), 0)::int AS chapters,
           extract(epoch FROM max(finished_at))::float AS last, extract(epoch FROM clock_timestamp())::float AS now
      FROM run WHERE book_id = ANY($1::bigint[])
"""


@dataclass(frozen=True, slots=True)
class BookSizes:
    """The number of books, of chapters per book, and of words per chapter."""

    books: int
    chapters: int
    words: int


@dataclass(frozen=True, slots=True)
class WrittenBooks:
    """The result of writing some books. Times are in seconds; `server` and `database` are CPU time."""

    wall: float
    chapters: int
    calls: int
    failed: int
    server: float
    database: float
    starts: list[float]
    unavailable: int  # starts with response 503
    lost: int  # how often the connection to the database was lost

    @property
    def cpu(self) -> float:
        return self.server + self.database

    def start(self, share: float) -> float:
        """A quantile of the durations of starts, in seconds."""
        return statistics.quantiles(self.starts, n=1000, method="inclusive")[round(share * 1000) - 1]


@dataclass(frozen=True, slots=True)
class BookWriter:
    """Has a service write books, and watches its database."""

    server: ServerProcess
    model: ModelProcess
    database: asyncpg.Connection
    postmaster: int

    async def make(self, shape: BookSizes) -> list[tuple[int, int]]:
        """Create books with an outline and no text. Returns each with its account."""
        prefix = f"w{time.monotonic_ns()}-"
        rows = await self.database.fetch(BOOKS, prefix, shape.books, shape.chapters, shape.words)
        await self.database.execute(data.ANALYZE)
        return [(row["id"], row["account_id"]) for row in rows]

    async def write(self, shape: BookSizes) -> WrittenBooks:
        """Write the books until every run has ended, then delete them."""
        books = await self.make(shape)
        ids, before = [book for book, _ in books], await self.model.stats()
        began, server, database = time.time(), self._cpu(self.server.pid), self._cpu(self.postmaster)
        starts, unavailable = await start_all(self.server.port, books)
        while True:
            row = await self.database.fetchrow(PROGRESS, ids)
            if row["ended"] == len(ids):
                break
            if row["now"] - began > MAX_SECONDS:
                raise SystemExit(f"{len(ids) - row['ended']} books are not written after {MAX_SECONDS:.0f} s.")
            await asyncio.sleep(LOOK_SECONDS)
        written = WrittenBooks(
            wall=row["last"] - began,
            chapters=row["chapters"],
            calls=(await self.model.stats())["calls"] - before["calls"],
            failed=row["failed"],
            server=self._cpu(self.server.pid) - server,
            database=self._cpu(self.postmaster) - database,
            starts=starts,
            unavailable=unavailable,
            lost=warnings(self.server)[LOST],
        )
        for _, owner in books:  # as the service deletes them: one statement for all deadlocks with its own transactions
            async with self.database.transaction():
                await leaving.delete(self.database, owner)
        return written

    def _cpu(self, pid: int) -> float:
        return cpu_seconds(family(pid))


async def start_all(port: int, books: list[tuple[int, int]]) -> tuple[list[float], int]:
    """Start all runs. Returns the seconds of each start, and the number of 503 responses, which are retried."""
    todo, took, unavailable = list(reversed(books)), list[float](), 0

    async def start(session: aiohttp.ClientSession) -> None:
        nonlocal unavailable
        while todo:
            book, owner = todo.pop()
            url = f"http://127.0.0.1:{port}{data.PREFIX}/books/{book}/generate/"
            headers = {"Authorization": f"Bearer {data.token(owner)}"}
            while True:
                began = time.perf_counter()
                async with session.post(url, headers=headers) as answer:
                    body = await answer.text()
                if answer.status == 202:
                    took.append(time.perf_counter() - began)
                    break
                if answer.status != 503:
                    raise SystemExit(f"A start was answered {answer.status}: {body[:300]}")
                unavailable += 1
                await asyncio.sleep(1)

    async with aiohttp.ClientSession(connector=aiohttp.TCPConnector(limit=STARTS_AT_ONCE)) as session:
        await asyncio.gather(*(start(session) for _ in range(STARTS_AT_ONCE)))
    return took, unavailable


def warnings(server: ServerProcess) -> Counter[str]:
    """The number of the service's warnings, by event."""
    lines = [json.loads(line) for line in server.log.read_text().splitlines() if line.startswith("{")]
    return Counter(str(line["event"]) for line in lines if line["level"] not in ("info", "debug"))
