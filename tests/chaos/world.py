"""Everything around the service (database, model provider, callers), and the invariants."""

from __future__ import annotations

import asyncio
import itertools
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from email.utils import parsedate_to_datetime
from pathlib import Path
from typing import Any

import aiohttp
import asyncpg
import orjson

from bookgen.accounts.tokens import Tokens, TokenType
from bookgen.errors import Unavailable
from bookgen.store.database import open_pool
from tests.canaries import CANARY
from tests.chaos.process import Process
from tests.fakes.model_script import Call
from tests.fakes.model_server import ModelServer

SECRET = f"a secret key {CANARY} that is long enough for every token of these tests"
GOOD_ANSWERS = ("", "wait", "hold")
UNLIMITED = "1000000/minute"
# A run survives two deaths in a row of the process that writes it. The third comes once the run has made progress.
WILL_SURVIVE = "SELECT NOT EXISTS (SELECT FROM run WHERE status = 'running' AND crash_count >= 2)"
_names = itertools.count(1)


@dataclass(frozen=True, slots=True)
class Author:
    id: int
    token: str


class World:
    """`kills` counts hard ends of a process, `stops` the stops of a book's run. Each may waste one model call of a
    book.
    """

    def __init__(self, pool: asyncpg.Pool, dsn: str, model: ModelServer, folder: Path) -> None:
        self.pool = pool
        self.dsn = dsn
        self.model = model
        self.folder = folder
        self.provider = "anthropic:claude-sonnet-4-5"
        self.processes: list[Process] = []
        self.kills = 0
        self.stops: Counter[int] = Counter()
        self._web = aiohttp.ClientSession(timeout=aiohttp.ClientTimeout(total=20))

    async def close(self) -> None:
        for process in self.processes:
            await process.close()
        await self._web.close()

    # Processes

    async def serve(
        self, faults: str = "", *, wait: bool = True, command: Sequence[str] = (), **settings: str
    ) -> Process:
        process = await Process.start(self.folder, self.settings(faults) | settings, wait=wait, command=command)
        self.processes.append(process)
        return process

    def settings(self, faults: str = "") -> dict[str, str]:
        rates = {f"BOOKGEN_RATE_{name}": UNLIMITED for name in ("READ", "WRITE", "EXPENSIVE", "PUBLIC", "AUTH")}
        return rates | {
            "BOOKGEN_DATABASE_URL": self.dsn,
            "BOOKGEN_DATA_DIR": str(self.folder / "data"),
            "BOOKGEN_PORT": "0",
            "BOOKGEN_SECRET_KEY": SECRET,
            "BOOKGEN_BILLING": "on",
            "BOOKGEN_MODEL": self.provider,
            "ANTHROPIC_API_KEY": f"key-{CANARY}",
            "ANTHROPIC_BASE_URL": self.model.anthropic_url,
            "OPENAI_API_KEY": f"key-{CANARY}",
            "OPENAI_BASE_URL": self.model.openai_url,
            "CHAOS_FAULTS": faults,
        }

    async def kill(self, process: Process) -> None:
        self.kills += 1
        await process.kill()

    async def killed_by_fault(self, process: Process) -> None:
        self.kills += 1
        code = await process.ended()
        assert code == -9, f"exit code {code}: {process.log}"

    # Authors and books

    async def author(self, plan: str = "pro") -> Author:
        name = f"author{next(_names)}"
        account = await self.pool.fetchval(
            "INSERT INTO account (username, email) VALUES ($1, $1 || '@example.com') RETURNING id", name
        )
        await self.pool.execute(
            "UPDATE subscription SET plan_id = (SELECT id FROM plan WHERE slug = $2) WHERE account_id = $1",
            account,
            plan,
        )
        return Author(account, Tokens(SECRET).sign(TokenType.ACCESS, account))

    async def book(self, author: Author, chapters: int = 3, words: int = 200, blurb: str = "") -> int:
        """A book with an outline. `words` is the budget of a chapter. With a `blurb` none is drafted."""
        book_id = await self.pool.fetchval(
            """INSERT INTO book (account_id, title, chapter_count, target_word_count, trim_size, content_language,
                                 status, blurb)
               VALUES ($1, '', $2, $3, '6x9', 'en', 'outline', $4) RETURNING id""",
            author.id,
            chapters,
            chapters * words,
            blurb,
        )
        await self.pool.execute("UPDATE book SET title = 'Book ' || id WHERE id = $1", book_id)
        await self.pool.execute(
            """INSERT INTO chapter (book_id, chapter_number, title, summary, target_word_count)
               SELECT $1, n, 'Chapter ' || n, $4 || ' happens in ' || n, $3 FROM generate_series(1, $2::int) AS n""",
            book_id,
            chapters,
            words,
            CANARY,
        )
        return int(book_id)

    # Calls

    async def call(
        self, process: Process, author: Author, method: str, path: str, body: Any = None
    ) -> tuple[int, dict[str, Any]]:
        headers = {"Authorization": f"Bearer {author.token}", "Content-Type": "application/json"}
        data = None if body is None else orjson.dumps(body)
        async with self._web.request(method, f"{process.url}/api/v1{path}", headers=headers, data=data) as answer:
            text = await answer.read()
        return answer.status, orjson.loads(text) if text else {}

    async def generate(self, process: Process, author: Author, book: int) -> tuple[int, dict[str, Any]]:
        return await self.call(process, author, "POST", f"/books/{book}/generate/")

    async def steer(self, process: Process, author: Author, book: int, verb: str) -> tuple[int, dict[str, Any]]:
        self.stops[book] += verb == "stop"
        return await self.call(process, author, "POST", f"/books/{book}/{verb}-generation/")

    async def status(self, process: Process, author: Author, book: int) -> dict[str, Any]:
        code, body = await self.call(process, author, "GET", f"/books/{book}/generation-status/")
        assert code == 200, body
        return body

    async def hang_up(self) -> None:
        """Close idle connections that are kept for further calls."""
        await self._web.close()
        self._web = aiohttp.ClientSession(timeout=aiohttp.ClientTimeout(total=20))

    async def clock_of(self, process: Process) -> datetime:
        """The wall clock of the process, from its responses."""
        async with self._web.get(f"{process.url}/healthz") as answer:
            return parsedate_to_datetime(answer.headers["Date"])

    async def metrics(self, process: Process) -> str:
        async with self._web.get(f"{process.url}/metrics") as answer:
            return await answer.text()

    async def readiness(self, process: Process) -> str:
        """The answer of `/readyz`."""
        async with self._web.get(f"{process.url}/readyz") as answer:
            body = await answer.json()
        return body["status"] if answer.status == 200 else body["error"]["message"]

    # Signals

    async def until(self, sql: str, *arguments: object, seconds: float = 60.0) -> None:
        """Wait until the query returns true."""
        async with asyncio.timeout(seconds):
            while not await self.pool.fetchval(sql, *arguments):  # noqa: ASYNC110 (the signal is a row)
                await asyncio.sleep(0.02)

    async def until_status(self, book: int, status: str, seconds: float = 60.0) -> None:
        newest = "SELECT status = $2 FROM run WHERE book_id = $1 ORDER BY queue_seq DESC LIMIT 1"
        try:
            await self.until(newest, book, status, seconds=seconds)
        except TimeoutError:
            run = await self.pool.fetchrow("SELECT * FROM run WHERE book_id = $1 ORDER BY queue_seq DESC LIMIT 1", book)
            raise AssertionError(f"not {status}: {run}\n{self.processes[-1].log[-4000:]}") from None

    async def until_done(self, book: int, chapters: int) -> None:
        await self.until("SELECT done >= $2 FROM run WHERE book_id = $1", book, chapters)

    async def texts(self, book: int) -> list[str]:
        rows = await self.pool.fetch("SELECT content FROM chapter WHERE book_id = $1 ORDER BY chapter_number", book)
        return [row["content"] for row in rows]

    async def value(self, sql: str, *arguments: object) -> Any:
        return await self.pool.fetchval(sql, *arguments)

    # Invariants

    def repeated_calls(self) -> int:
        """Model calls that repeat an earlier request. Calls that the provider refused don't count."""
        heard = [call for call in self.model.requests if call.fault != "status"]
        asked = Counter(orjson.dumps(call.body, option=orjson.OPT_SORT_KEYS) for call in heard)
        return sum(times - 1 for times in asked.values())

    def calls_about(self, book: int) -> list[Call]:
        return [call for call in self.model.requests if call.brief.get("title") == f"Book {book}"]

    async def check(self) -> None:
        """What holds after every scenario, once all runs have ended or rest."""
        await self.until(f"SELECT NOT EXISTS ({UNWRITTEN})")  # I8: every running run is being written within a minute
        await self.check_rows(INVARIANTS | AT_REST)
        await self._check_calls()
        if not await self.value("SELECT EXISTS (SELECT FROM run WHERE status IN ('running', 'paused'))"):
            async with asyncio.timeout(10):  # I11: nobody waits for work that is no longer wanted
                await self.model.until(lambda: self.model.in_flight == 0)

    async def _check_calls(self) -> None:
        """I7: a book wastes at most one call per kill, provider fault and stop; every other reply is used.

        Blurbs belong to no run; `test_blurbs.py` covers them. The last chapter is noted after the run too, before the
        blurb, so one digest of a book may be on its way into the ledger.
        """
        paid = """
            SELECT book_id, stage = 'digest' AS is_digest, count(*) AS calls FROM model_call
             WHERE stage <> 'blurb' AND output_tokens > 1  -- a call that broke off has told of one at most
             GROUP BY book_id, is_digest
        """
        kept = {(row["book_id"], row["is_digest"]): row["calls"] for row in await self.pool.fetch(paid)}
        for book in await self.pool.fetch("SELECT id FROM book"):
            ended = [call for call in self.calls_about(book["id"]) if call.ended and call.stage != "blurb"]
            wasted = 0
            for is_digest in (False, True):
                calls = [call for call in ended if (call.stage == "digest") is is_digest]
                different = {orjson.dumps(call.body, option=orjson.OPT_SORT_KEYS) for call in calls}
                lost = len(calls) - min(kept.get((book["id"], is_digest), 0), len(different))
                wasted += max(0, lost - is_digest)
            faults = sum(call.fault not in GOOD_ANSWERS for call in ended)
            allowed = self.kills + faults + self.stops[book["id"]]
            assert wasted <= allowed, f"book {book['id']}: {wasted} of {len(ended)} calls wasted, {allowed} allowed"

    async def check_rows(self, invariants: Mapping[str, str]) -> None:
        for what, sql in invariants.items():
            assert not await self.pool.fetch(sql), what


async def reopened(dsn: str) -> asyncpg.Pool:
    async with asyncio.timeout(60):
        while True:
            try:
                return await open_pool(dsn, size=3)
            except Unavailable:
                await asyncio.sleep(0.1)


# Conditions that hold in the database at any moment.
INVARIANTS = {
    "I2: a completed run has every chapter, once": """
        SELECT r.id FROM run r JOIN chapter c USING (book_id)
         WHERE r.status = 'completed' GROUP BY r.id
        HAVING count(*) FILTER (WHERE c.content = '') > 0 OR r.done <> r.total OR r.written > r.total""",
    "I2: no text was written over another": "SELECT * FROM chapter_revision WHERE origin = 'model'",
    "I3: as many consumptions as completed runs": """
        SELECT r.id FROM run r FULL JOIN consumption c ON c.run_id = r.id
         WHERE (r.status = 'completed') IS DISTINCT FROM (c.run_id IS NOT NULL)""",
    "I3: the period counts every book once": """
        SELECT u.account_id FROM usage_period u
         WHERE u.books_created <> (SELECT count(*) FROM consumption c WHERE c.account_id = u.account_id)""",
    "I4: a completed run holds nothing": """
        SELECT h.id FROM hold h JOIN run r ON r.id = h.run_id WHERE r.status = 'completed'""",
    "I4: an active run holds something": """
        SELECT r.id FROM run r
         WHERE r.status IN ('queued', 'running', 'paused')
           AND NOT EXISTS (SELECT FROM hold h WHERE h.book_id = r.book_id)""",
    "I4: what is used and held stays within the plan": """
        SELECT s.account_id FROM subscription s JOIN plan p ON p.id = s.plan_id
         WHERE (p.features ->> 'books_per_month')::int >= 0
           AND (p.features ->> 'books_per_month')::int
               < (SELECT coalesce(sum(books_created), 0) FROM usage_period u WHERE u.account_id = s.account_id)
               + (SELECT count(*) FROM hold h WHERE h.account_id = s.account_id AND h.source = 'subscription')""",
    "I5: one running run an account": """
        SELECT account_id FROM run WHERE status = 'running' GROUP BY account_id HAVING count(*) > 1""",
    "the book says what its run says": """
        SELECT b.id FROM book b JOIN LATERAL (
            SELECT status FROM run r WHERE r.book_id = b.id ORDER BY queue_seq DESC LIMIT 1) r ON true
         WHERE b.status <> CASE WHEN r.status = 'completed' THEN 'completed'
                                WHEN r.status IN ('stopped', 'error') THEN 'outline' ELSE 'generating' END""",
    "every stored reply was paid for": """
        SELECT s.key FROM step s WHERE s.run_id IS NOT NULL
           AND NOT EXISTS (SELECT FROM model_call m WHERE m.run_id = s.run_id AND m.stage = s.stage)""",
}

# Running runs that no process writes.
UNWRITTEN = """
    SELECT FROM run r
     WHERE r.status = 'running'
       AND (r.call_started_at IS NULL
            OR NOT EXISTS (SELECT FROM process p WHERE p.boot_id = r.owner AND p.lease_until > now()))
"""

# Conditions that hold only once everything has settled.
AT_REST = {
    "I11: no transaction is left open": """
        SELECT pid FROM pg_stat_activity
         WHERE datname = current_database() AND state LIKE 'idle in transaction%'
           AND state_change < now() - interval '5 seconds'""",
    "I6: nobody waits for a free slot": """
        SELECT q.id FROM run q
         WHERE q.status = 'queued' AND q.updated_at < now() - interval '20 seconds'
           AND NOT EXISTS (SELECT FROM run r
                            WHERE r.account_id = q.account_id AND r.status IN ('running', 'paused'))""",
}
