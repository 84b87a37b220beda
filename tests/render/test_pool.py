"""Render workers: limited in memory and time, replaced when they die, and never blocking the event loop."""

from __future__ import annotations

import asyncio
import gc
import os
import pickle
import signal
import subprocess
import sys
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass, replace
from pathlib import Path

import pytest
import uvloop

from bench.render import corpus
from bookgen import processes
from bookgen.errors import InvalidInput, RenderingFailed, RenderTimeout
from bookgen.processes import STEPS_BACK
from bookgen.render.job import Job
from bookgen.render.pool import RenderPool
from bookgen.render.settings import ExportSettings
from tests.canaries import CANARY
from tests.programs import EXECUTE
from tests.render.test_hostile import CASES, table

BOOK, CHAPTERS = corpus.book(corpus.Corpus("pool", chapters=2, words=2_000))


def job(kind: str = "epub", **changes: object) -> Job:
    return Job(kind, BOOK, CHAPTERS, "A. Author", ExportSettings(**changes), watermark=False)  # type: ignore[arg-type]


@pytest.fixture(autouse=True)
def executed(monkeypatch: pytest.MonkeyPatch) -> None:
    """Workers start as in the service, and are not forked as in other tests."""
    monkeypatch.setattr(processes, "start", EXECUTE)


@pytest.fixture(scope="module")
async def pool() -> AsyncIterator[RenderPool]:
    pool = RenderPool(workers=1, waiting=1)
    yield pool
    await pool.close()


@dataclass(frozen=True)
class Broken:
    """An invalid job that makes the worker raise, as a bug would."""


@dataclass(frozen=True)
class Vast:
    """A job that uses all available memory."""

    @property
    def book(self) -> bytes:
        return bytes(1 << 40)


async def test_a_worker_renders_one_job_after_the_other(pool: RenderPool) -> None:
    first, second = await pool.run(job()), await pool.run(job())

    assert first == second
    assert first.startswith(b"PK")


def test_a_worker_whose_parent_has_ended_exits_silently() -> None:
    reader, writer = os.pipe()
    os.close(reader)

    worker = subprocess.run(
        [sys.executable, "-m", "bookgen.render.worker"], stdin=subprocess.DEVNULL, stdout=writer, stderr=subprocess.PIPE
    )

    os.close(writer)
    assert (worker.returncode, worker.stderr) == (0, b"")


async def test_a_full_queue_refuses_at_once(pool: RenderPool) -> None:
    async with pool._turns:
        waiting = [asyncio.ensure_future(pool.run(job())) for _ in range(2)]
        await queued(pool, 2)

        with pytest.raises(RenderingFailed) as refused:
            await pool.run(job())

    assert refused.value.retry_after == 5
    assert len(await asyncio.gather(*waiting)) == 2


async def test_the_queue_is_limited_by_the_size_of_its_jobs() -> None:
    size = len(pickle.dumps(job(), pickle.HIGHEST_PROTOCOL))
    pool = RenderPool(workers=1, waiting_bytes=2 * size)
    try:
        async with pool._turns:
            waiting = [asyncio.ensure_future(pool.run(job())) for _ in range(2)]
            await queued(pool, 2)

            with pytest.raises(RenderingFailed, match="Too many exports are waiting"):
                await pool.run(job())

        assert len(await asyncio.gather(*waiting)) == 2
        assert (pool._queued, pool._queued_bytes) == (0, 0)
    finally:
        await pool.close()


async def queued(pool: RenderPool, jobs: int) -> None:
    async with asyncio.timeout(10):
        while pool._queued < jobs:  # noqa: ASYNC110 (the signal is the state of the pool)
            await asyncio.sleep(0.001)


async def test_a_job_that_times_out_fails_and_its_worker_is_replaced() -> None:
    pool = RenderPool(workers=1)
    try:
        await pool.run(job())
        pool._timeout = 0.001
        with pytest.raises(RenderingFailed):
            await pool.run(job("pdf"))
        pool._timeout = 60
        assert (await pool.run(job())).startswith(b"PK")
    finally:
        await pool.close()


async def test_cancelling_a_job_ends_its_worker_and_frees_its_place(pool: RenderPool) -> None:
    await pool.run(job())
    (worker,) = pool._idle
    called_off = asyncio.create_task(pool.run(job("pdf")))
    async with asyncio.timeout(10):
        while worker not in pool._busy:  # noqa: ASYNC110 (the signal is the state of the pool)
            await asyncio.sleep(0.001)

    called_off.cancel()
    await asyncio.wait((called_off,))

    with pytest.raises(ProcessLookupError):
        os.kill(worker.pid, 0)
    assert (pool._queued, pool._queued_bytes, len(pool._busy)) == (0, 0, 0)
    assert (await pool.run(job())).startswith(b"PK")


async def test_a_worker_that_dies_fails_its_job_alone(pool: RenderPool) -> None:
    await pool.run(job())
    (worker,) = pool._idle
    os.kill(worker.pid, signal.SIGSTOP)  # so that it is still at work when it dies
    failing = asyncio.create_task(pool.run(job()))
    while worker not in pool._busy:  # noqa: ASYNC110 (the pool does not signal it)
        await asyncio.sleep(0)
    os.kill(worker.pid, signal.SIGKILL)

    with pytest.raises(RenderingFailed):
        await failing

    assert (await pool.run(job())).startswith(b"PK")


@pytest.mark.parametrize("loop", [asyncio.new_event_loop, uvloop.new_event_loop])
def test_a_worker_that_dies_between_two_jobs_is_replaced(loop: Callable[[], asyncio.AbstractEventLoop]) -> None:
    async def made() -> bytes:
        pool = RenderPool(workers=1)
        await pool.run(job())
        (worker,) = pool._idle
        os.kill(worker.pid, signal.SIGKILL)
        await worker._process.wait()
        try:
            return bytes(await pool.run(job()))
        finally:
            await pool.close()

    with asyncio.Runner(loop_factory=loop) as runner:
        assert runner.run(made()).startswith(b"PK")


async def test_an_exception_in_a_worker_fails_the_job_and_keeps_the_worker(pool: RenderPool) -> None:
    with pytest.raises(RuntimeError, match="the renderer failed"):
        await pool.run(Broken())

    assert (await pool.run(job())).startswith(b"PK")


async def test_a_job_that_exceeds_the_memory_limit_fails_and_its_worker_is_replaced(pool: RenderPool) -> None:
    await pool.run(job())
    (before,) = pool._idle

    with pytest.raises(RenderTimeout, match="memory"):
        await pool.run(Vast())

    assert (await pool.run(job())).startswith(b"PK")
    (after,) = pool._idle
    assert after.pid != before.pid


async def test_a_workers_refusal_is_raised_to_the_caller(pool: RenderPool) -> None:
    chapters = [replace(CHAPTERS[0], content="\U00012000")]

    with pytest.raises(InvalidInput):
        await pool.run(Job("pdf", BOOK, chapters, "A", ExportSettings(), watermark=False))


async def test_rendering_a_long_book_does_not_block_the_event_loop(pool: RenderPool) -> None:
    book, chapters = corpus.book(corpus.NOVEL)
    made, spent = await watched(pool.run(Job("pdf", book, chapters, "A", ExportSettings(), watermark=False)))

    assert made.startswith(b"%PDF")
    assert spent < 0.05


@pytest.mark.parametrize("kind", ["pdf", "docx", "epub", "pages"])
async def test_rendering_hostile_text_does_not_block_the_event_loop(kind: str, pool: RenderPool) -> None:
    # The pages of five thousand rows are the largest answer of a worker.
    texts = [*CASES.values(), table(5_000 if kind == "pages" else 1_000), ""]
    title = ("<b>An uncommonly long title</b> that goes on " * 8)[:300]
    chapters = [
        replace(CHAPTERS[0], id=number, chapter_number=number, title=title, content=text)
        for number, text in enumerate(texts, 1)
    ]
    made, spent = await watched(
        pool.run(Job(kind, replace(BOOK, title=title), chapters, "A", ExportSettings(), watermark=True))
    )

    assert len(made) > (2_000_000 if kind == "pages" else 20_000)
    assert spent < 0.05


async def watched(rendering: Awaitable[bytes]) -> tuple[bytes, float]:
    """The result of rendering, and the longest time that the event loop was blocked."""
    rendering = asyncio.ensure_future(rendering)
    spent = 0.0
    gc.disable()  # objects left by other tests are not the loop's work
    try:
        while not rendering.done():
            started = time.thread_time()  # CPU time of the loop, whatever else runs on the machine
            await asyncio.sleep(0)
            spent = max(spent, time.thread_time() - started)
            await asyncio.wait([rendering], timeout=0.002)
    finally:
        gc.enable()
    return await rendering, spent


async def test_closing_the_pool_leaves_no_process() -> None:
    pool = RenderPool(workers=1)
    await pool.run(job())
    (worker,) = pool._idle

    await pool.close()

    with pytest.raises(ProcessLookupError):
        os.kill(worker.pid, 0)


async def test_a_worker_inherits_no_secret(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("BOOKGEN_SECRET_KEY", CANARY)
    monkeypatch.setenv("ANTHROPIC_API_KEY", CANARY)
    monkeypatch.setenv("DATABASE_URL", f"postgresql://bookgen:{CANARY}@localhost/books")

    pool = RenderPool(workers=1)
    await pool.run(job())

    (worker,) = pool._idle
    inherited = Path(f"/proc/{worker.pid}/environ").read_text()
    await pool.close()
    assert "PYTHONPATH=" in inherited
    assert CANARY not in inherited
    assert "BOOKGEN" not in inherited


async def test_a_worker_has_a_lower_priority_than_the_service_even_with_autogroups(pool: RenderPool) -> None:
    await pool.run(job())

    (worker,) = pool._idle
    assert os.getpriority(os.PRIO_PROCESS, worker.pid) == os.getpriority(os.PRIO_PROCESS, 0) + STEPS_BACK
    share = Path(f"/proc/{worker.pid}/autogroup")
    assert not os.access(share, os.W_OK) or share.read_text().split()[1:] == ["nice", str(STEPS_BACK)]


async def test_a_worker_that_cannot_start_fails_the_job_only() -> None:
    pool = RenderPool(workers=1, memory=30 * 1024**2)

    with pytest.raises(RenderingFailed):
        await pool.run(len)
    await pool.close()
