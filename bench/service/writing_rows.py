"""Writing: the cost of a chapter and a call, many books at once, a kill; compared with DBOS and Celery."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import shutil
import signal
import statistics
import time
from collections.abc import AsyncIterator, Callable, Sequence
from pathlib import Path
from typing import Any, TypeAlias

import asyncpg

from bench.service import data
from bench.service.bench import Bench
from bench.service.model_process import ModelProcess, model_process
from bench.service.processes import ROOT, ServerProcess, service
from bench.service.runs import BookSizes, BookWriter, WrittenBooks, start_all
from bench.service.scorecard import Scorecard

LONG, SHORT, CALL = BookSizes(8, 4, 3_000), BookSizes(16, 4, 1_000), BookSizes(32, 6, 250)
QUICK = {LONG: BookSizes(4, 2, 3_000), SHORT: BookSizes(4, 2, 1_000), CALL: BookSizes(8, 3, 250)}
TOKEN = 5  # characters per event
PARTS = (1, 820, 2, 750, 3, 700, 4, 730)  # of a chapter of 3,000 words, as the service requests them: number, words
SETTLED = 0.2  # seconds between two checks of a recovery
MAX_SECONDS = 300.0
PeerWrote: TypeAlias = dict[str, float]  # `wall` and `cpu` in seconds, `chapters`


async def measure(bench: Bench, scores: Scorecard) -> None:
    folder = bench.folder / "writing"
    folder.mkdir()
    own = await bench.database("writing_ours")
    await data.migrate(own, folder)
    books, seconds = (50, 1.0) if bench.options.quick else (1_000, 10.0)
    rows = WritingRows(bench, scores, folder, own, await bench.database("writing_dbos"))
    await rows.costs()
    await rows.beside_peers()
    await rows.hundred_books()
    await rows.many_books(books, seconds)
    await rows.killed(books)


class WritingRows:
    """Runs the rows one after the other. `dsn` is that of the service's database, `dbos` that of DBOS."""

    def __init__(self, bench: Bench, scores: Scorecard, folder: Path, dsn: str, dbos: str) -> None:
        self._bench, self._scores, self._folder, self._dsn, self._dbos = bench, scores, folder, dsn, dbos

    async def costs(self) -> None:
        """CPU time of the service alone, to which the bars apply. PostgreSQL's is shown next to it."""
        print("\nCPU of writing, medians of the rounds; service + PostgreSQL")
        async with self._author(piece=TOKEN) as author:
            tokens = await self._rounds(author, LONG)
            self._show_cost("chapter of 3,000 words, small events", tokens, lambda each: each.chapters)
        async with self._author() as author:
            long, short, call = [await self._rounds(author, shape) for shape in (LONG, SHORT, CALL)]
        self._show_cost("chapter of 3,000 words, large events", long, lambda each: each.chapters)
        self._show_cost("chapter of 1,000 words, large events", short, lambda each: each.chapters)
        self._show_cost("call of 250 words", call, lambda each: each.calls)
        at_most = self._scores.at_most
        at_most("CPU of a chapter of 3,000 words, small events", _ms(tokens, lambda each: each.chapters), 100, "ms")
        at_most("CPU of a chapter of 3,000 words, large events", _ms(long, lambda each: each.chapters), 60, "ms")
        at_most("CPU of one call of 250 words", _ms(call, lambda each: each.calls), 6, "ms")

    async def beside_peers(self) -> None:
        """Chapters of 18 KB without model time, in turn. The peers make the same calls and check nothing."""
        shape = self._sized(LONG)
        pairs = list[tuple[WrittenBooks, dict[str, PeerWrote]]]()
        async with self._author() as author:
            for _ in range(self._bench.options.rounds):
                pairs.append((await author.write(shape), await self._peers(author.model, shape)))
        print("\nchapters of 18 KB, no model time")
        print(f"  ours {statistics.median(ours.chapters / ours.wall for ours, _ in pairs):.1f} chapters/s")
        rates = dict[str, float]()
        for name in pairs[0][1]:
            rates[name] = statistics.median(
                ours.chapters / ours.wall / (peers[name]["chapters"] / peers[name]["wall"]) for ours, peers in pairs
            )
            cost = statistics.median(
                peers[name]["cpu"] / peers[name]["chapters"] / (ours.server / ours.chapters) for ours, peers in pairs
            )
            print(f"  ours / {name}: chapters per second {rates[name]:.2f}; by CPU {cost:.2f}", flush=True)
        self._scores.at_least("chapters of 18 KB per second / DBOS", rates["DBOS"], 1)

    async def hundred_books(self) -> None:
        await self._many(BookSizes(100, 4, 1_000), 0.05)

    async def many_books(self, books: int, seconds: float) -> None:
        written, over = await self._many(BookSizes(books, 2, 1_000), seconds)
        self._scores.at_most(f"{books:,} books, calls of {seconds:.0f} s: wall / ideal", over, 1.15, "x")
        self._scores.at_most("  starts answered 503", written.unavailable, 0)
        self._scores.at_most("  database_lost", written.lost, 0)
        self._scores.at_most("  a start's p99", written.start(0.99), 0.5, "s")

    async def _many(self, shape: BookSizes, seconds: float) -> tuple[WrittenBooks, float]:
        """Write the books, and print the time divided by that of one book's calls in sequence."""
        async with self._author(ms=seconds * 1000) as author:
            written = await author.write(shape)
            peers = await self._peers(author.model, shape)
        over = written.wall / (seconds * written.calls / shape.books)
        print(
            f"\n{shape.books:,} books of {shape.chapters} chapters, calls of {seconds:g} s\n"
            f"  wall / ideal {over:.2f}, {_ms([written], lambda each: each.calls):.1f} ms of CPU a call, "
            f"starts p50 {written.start(0.5):.2f} s, p99 {written.start(0.99):.2f} s, {written.unavailable} x 503, "
            f"{written.lost} x database_lost, {written.failed} failed"
        )
        for name, told in peers.items():
            print(f"  {name}, one call a chapter: {told['wall'] / (seconds * shape.chapters):.2f}", flush=True)
        return written, over

    async def killed(self, books: int) -> None:
        """The time from exec until every interrupted run has its call in flight again."""
        async with model_process(ms=MAX_SECONDS * 1000) as model:
            async with self._service(model, books) as server:
                author = BookWriter(server, model, await asyncpg.connect(self._dsn), self._bench.postmaster)
                made = await author.make(BookSizes(books, 2, 1_000))
                await start_all(server.port, made)
                await _until(lambda: _in_flight(model, books))
                os.killpg(server.pid, signal.SIGKILL)
                await server.process.wait()
                await _until(lambda: _in_flight(model, 0))
            began = time.perf_counter()
            async with self._service(model, books) as server:
                ready = time.perf_counter() - began
                await _until(lambda: _in_flight(model, books))
                took = time.perf_counter() - began
            await author.database.execute(
                "DELETE FROM account WHERE id = ANY($1::bigint[])", [each for _, each in made]
            )
            await author.database.close()
            theirs = await self._dbos_recovery(model, books)
        print(f"\n{books:,} runs after kill -9, from exec to all calls in flight")
        print(f"  ours {took:.2f} s, ready after {ready:.2f} s; DBOS {theirs:.2f} s")
        self._scores.at_most(f"{books:,} runs after kill -9, all calls in flight", took, 6, "s")

    async def _dbos_recovery(self, model: ModelProcess, books: int) -> float:
        dsn = await self._bench.database("writing_dbos_killed")
        process = await self._dbos_process("write", dsn, model, BookSizes(books, 1, 250))
        await _until(lambda: _in_flight(model, books))
        process.kill()
        await process.wait()
        await _until(lambda: _in_flight(model, 0))
        began = time.perf_counter()
        process = await self._dbos_process("recover", dsn, model, BookSizes(books, 1, 250))
        await _until(lambda: _in_flight(model, books))
        took = time.perf_counter() - began
        process.kill()
        await process.wait()
        return took

    async def _dbos_process(
        self, what: str, dsn: str, model: ModelProcess, shape: BookSizes
    ) -> asyncio.subprocess.Process:
        return await self._peer("dbos_peer", what, dsn, *_asked(model, shape))

    async def _peers(self, model: ModelProcess, shape: BookSizes) -> dict[str, PeerWrote]:
        """Write the same books with each available peer. Without Redis, Celery is left out."""
        told = {"DBOS": await _told(await self._dbos_process("write", self._dbos, model, shape))}
        if shutil.which("redis-server"):
            told["Celery"] = await _told(await self._peer("celery_peer", *_asked(model, shape)))
        return told

    async def _peer(self, name: str, *arguments: str) -> asyncio.subprocess.Process:
        command = [str(self._bench.options.peers_python), "-m", f"bench.service.peers.{name}", *arguments]
        return await asyncio.create_subprocess_exec(*command, stdout=asyncio.subprocess.PIPE, cwd=ROOT)

    @contextlib.asynccontextmanager
    async def _author(self, **model: Any) -> AsyncIterator[BookWriter]:
        async with model_process(**model) as running, self._service(running, 1_000) as server:
            database = await asyncpg.connect(self._dsn)
            author = BookWriter(server, running, database, self._bench.postmaster)
            await author.write(BookSizes(2, 2, 250))  # warm-up: imports the SDK and prepares statements
            yield author
            await database.close()

    def _service(self, model: ModelProcess, at_once: int) -> contextlib.AbstractAsyncContextManager[ServerProcess]:
        bounds = {"BOOKGEN_CHAPTERS_AT_ONCE": str(at_once), "BOOKGEN_MODEL_CONCURRENCY": str(at_once)}
        more = {"BOOKGEN_LOG_FORMAT": "json", "BOOKGEN_MODEL_TIMEOUT": "3600", **bounds, **model.settings}
        return service(self._folder, self._dsn, **more)

    async def _rounds(self, author: BookWriter, shape: BookSizes) -> list[WrittenBooks]:
        return [await author.write(self._sized(shape)) for _ in range(self._bench.options.rounds)]

    def _sized(self, shape: BookSizes) -> BookSizes:
        return QUICK[shape] if self._bench.options.quick else shape

    def _show_cost(self, what: str, written: Sequence[WrittenBooks], of: Callable[[WrittenBooks], int]) -> None:
        database = statistics.median(each.database / of(each) for each in written) * 1000
        print(f"  {what:<44}{_ms(written, of):8.1f} +{database:6.1f} ms", flush=True)


def _asked(model: ModelProcess, shape: BookSizes) -> list[str]:
    """The arguments of a peer: the model server, the numbers of books and chapters, and the parts with their words."""
    parts = [*PARTS, 5, 200] if shape.words > 1_000 else [1, shape.words]
    return [f"http://127.0.0.1:{model.port}", str(shape.books), str(shape.chapters), json.dumps(parts)]


async def _told(process: asyncio.subprocess.Process) -> PeerWrote:
    output, _ = await process.communicate()
    told: PeerWrote = json.loads(output.splitlines()[-1])
    return told


def _ms(written: Sequence[WrittenBooks], of: Callable[[WrittenBooks], int]) -> float:
    """The service's CPU milliseconds per unit of `of`."""
    return statistics.median(each.server / of(each) for each in written) * 1000


async def _in_flight(model: ModelProcess, calls: int) -> bool:
    return bool((await model.stats())["in_flight"] == calls)


async def _until(condition: Callable[[], Any]) -> None:
    deadline = time.monotonic() + MAX_SECONDS
    while not await condition():
        if time.monotonic() > deadline:
            raise SystemExit("The calls do not start.")
        await asyncio.sleep(SETTLED)
