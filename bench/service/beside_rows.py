"""Polls during other work of the service: how much later they are answered, and the event loop lag."""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import statistics
import urllib.request
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

import aiohttp
import asyncpg
from argon2 import PasswordHasher
from prometheus_client.parser import text_string_to_metric_families

from bench.service import data
from bench.service.bench import Bench
from bench.service.http_rows import until_resident
from bench.service.model_process import model_process
from bench.service.processes import ServerProcess, service
from bench.service.runs import BookSizes, BookWriter, start_all
from bench.service.scorecard import Scorecard
from bench.service.slices import LoadGenerator

POLLERS = 16
MIN_SECONDS = 4.0  # of a slice: the lag is sampled twenty times per second
CALL_MS = 1_000
WRITTEN = BookSizes(20, 40, 800)  # chapters of two calls each, ten per second
LONG_BOOK = 100_000  # words
LOG_INS_AT_ONCE = 4
PASSWORD = "a password of the bench, by which nobody else comes in"
SILENT = "The Book Number"  # in the titles of the polled books; calls for them are never answered
LAG = "bookgen_event_loop_lag_seconds"
QUIET, WRITING, RENDERING, SIGNING_IN = "quiet", "10 chapters per second are written", "a PDF renders", "a log-in storm"

DONE = "SELECT coalesce(sum(done), 0)::int FROM run WHERE book_id = ANY($1::bigint[])"

Work = Callable[[], contextlib.AbstractAsyncContextManager[Callable[[], Awaitable[int]]]]


@dataclass
class Beside:
    """The results of one row's slices.

    `lags`: by bound in seconds, how often the loop was at most that late (cumulative).
    """

    p99s: list[float] = field(default_factory=list)
    rates: list[float] = field(default_factory=list)
    done: int = 0  # of the other work
    seconds: float = 0.0
    lags: Counter[float] = field(default_factory=Counter)


async def measure(bench: Bench, scores: Scorecard) -> None:
    folder = bench.folder / "beside"
    folder.mkdir()
    own, theirs = await bench.database("beside_ours"), await bench.database("beside_peers")
    await data.migrate(own, folder)
    polled = min(bench.options.polled, 100)
    requests = await data.seed(own, theirs, folder, polled)
    at_once = str(polled + WRITTEN.books)
    async with contextlib.AsyncExitStack() as closing:
        model = await closing.enter_async_context(model_process(ms=CALL_MS, silent=SILENT))
        more = {"BOOKGEN_CHAPTERS_AT_ONCE": at_once, "BOOKGEN_MODEL_CONCURRENCY": at_once, **model.settings}
        server = await closing.enter_async_context(service(folder, own, BOOKGEN_MODEL_TIMEOUT="3600", **more))
        load = await closing.enter_async_context(LoadGenerator.running(bench.postmaster))
        database = await asyncpg.connect(own)
        closing.push_async_callback(database.close)
        session = await closing.enter_async_context(aiohttp.ClientSession(f"http://127.0.0.1:{server.port}"))
        await until_resident(own)
        book, owner = await data.long_book(own, LONG_BOOK)
        names = itertools.cycle(await data.with_password(own, PasswordHasher(2, 19_456, 1).hash(PASSWORD), 20))
        author = BookWriter(server, model, database, bench.postmaster)
        works: Mapping[str, Work] = {
            QUIET: _nothing,
            WRITING: partial(_writing, author),
            RENDERING: partial(_again_and_again, partial(_render, session, book, owner, itertools.count()), 1),
            SIGNING_IN: partial(_again_and_again, partial(_log_in, session, names), LOG_INS_AT_ONCE),
        }
        rows = {name: Beside() for name in works}
        for _ in range(bench.options.rounds):
            for name, work in works.items():
                await _slice(rows[name], work, load, server, requests.resident, max(bench.options.seconds, MIN_SECONDS))
    _show(rows, scores)


async def _slice(
    row: Beside, work: Work, load: LoadGenerator, server: ServerProcess, requests: Path, seconds: float
) -> None:
    async with work() as done:
        before, lags = await done(), await _lags(server)
        seen = await load.slice(server, requests, POLLERS, seconds=seconds)
        if seen.bad:
            raise SystemExit(f"{seen.bad} polls were refused.")
        row.done += await done() - before
        row.lags += await _lags(server) - lags
    row.p99s.append(seen.p99)
    row.rates.append(seen.rate)
    row.seconds += seconds


@contextlib.asynccontextmanager
async def _nothing() -> AsyncIterator[Callable[[], Awaitable[int]]]:
    async def done() -> int:
        return 0

    yield done


@contextlib.asynccontextmanager
async def _writing(author: BookWriter) -> AsyncIterator[Callable[[], Awaitable[int]]]:
    """Write books that each always have a chapter in flight. At the end they are deleted through the service."""
    made = await author.make(WRITTEN)
    ids = [book for book, _ in made]

    async def done() -> int:
        return int(await author.database.fetchval(DONE, ids))

    await start_all(author.server.port, made)
    while not await done():
        await asyncio.sleep(0.1)
    yield done
    async with aiohttp.ClientSession(f"http://127.0.0.1:{author.server.port}") as session:
        for book, owner in made:
            async with session.delete(f"{data.PREFIX}/books/{book}/", headers=_bearer(owner)) as answer:
                answer.raise_for_status()


@contextlib.asynccontextmanager
async def _again_and_again(
    work: Callable[[], Awaitable[None]], at_once: int
) -> AsyncIterator[Callable[[], Awaitable[int]]]:
    """Run this many at once, and start each again as soon as it is done."""
    counted = itertools.count()
    ended = 0

    async def repeat() -> None:
        nonlocal ended
        while True:
            await work()
            ended = next(counted) + 1

    async def done() -> int:
        return ended

    async with asyncio.TaskGroup() as group:
        tasks = [group.create_task(repeat()) for _ in range(at_once)]
        yield done
        for task in tasks:
            task.cancel()


async def _render(session: aiohttp.ClientSession, book: int, owner: int, numbers: itertools.count[int]) -> None:
    """Export the book with a new dedication, because an existing file would come from the cache."""
    settings = {"settings": {"dedication": f"To reader {next(numbers)}"}}
    async with session.post(f"{data.PREFIX}/books/{book}/export_pdf/", json=settings, headers=_bearer(owner)) as answer:
        answer.raise_for_status()
        await answer.read()


async def _log_in(session: aiohttp.ClientSession, names: itertools.cycle[str]) -> None:
    body = {"username": next(names), "password": PASSWORD}
    async with session.post(f"{data.PREFIX}/auth/login/", json=body) as answer:
        answer.raise_for_status()


def _bearer(account: int) -> dict[str, str]:
    return {"Authorization": f"Bearer {data.token(account)}"}


async def _lags(server: ServerProcess) -> Counter[float]:
    """By bound in seconds: how often the loop was at most that late, from the service's own metrics (cumulative)."""
    text = await asyncio.to_thread(_read, f"http://127.0.0.1:{server.port}/metrics")
    found = next(each for each in text_string_to_metric_families(text) if each.name == LAG)
    return Counter(
        {float(each.labels["le"]): int(each.value) for each in found.samples if each.name.endswith("_bucket")}
    )


def _read(url: str) -> str:
    with urllib.request.urlopen(url) as answer:
        return str(answer.read().decode())


def quantile(lags: Mapping[float, int], share: float) -> float:
    """The quantile as Prometheus estimates it: by linear interpolation within the bucket."""
    rank, below, counted = share * max(lags.values(), default=0), 0.0, 0
    for bound, count in sorted(lags.items()):
        if count >= rank and count > counted:
            return below if bound == float("inf") else below + (bound - below) * (rank - counted) / (count - counted)
        below, counted = bound, count
    return below


def _show(rows: Mapping[str, Beside], scores: Scorecard) -> None:
    print(f"\npolls during other work; {POLLERS} connections, medians of the rounds")
    print(f"  {'':<36}{'polls/s':>9}{'p99 ms':>8}{'/ quiet':>9}{'lag p99 ms':>12}{'done/s':>8}")
    quiet = rows[QUIET].p99s
    for name, row in rows.items():
        times = statistics.median(mine / other for mine, other in zip(row.p99s, quiet, strict=True))
        rate, p99, lag = statistics.median(row.rates), statistics.median(row.p99s), quantile(row.lags, 0.99)
        print(
            f"  {name:<36}{rate:9,.0f}{p99 * 1e3:8.2f}{times:9.2f}{lag * 1e3:12.1f}{row.done / row.seconds:8.1f}",
            flush=True,
        )
        if name != QUIET:
            scores.at_most(f"polls while {name}: p99 / the quiet one", times, 3, "x")
            scores.at_most("  the loop's lag, p99", lag * 1e3, 20, "ms")
