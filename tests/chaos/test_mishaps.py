"""Books that kill their process, a provider that refuses, a database server that is killed."""

from __future__ import annotations

import asyncio
import os
import signal
from pathlib import Path

import pytest

from bookgen.store.database import open_pool
from bookgen.store.postgres.embedded import EmbeddedPostgres
from tests.chaos.process import Process
from tests.chaos.world import World, reopened
from tests.fakes.model_script import fault


async def over(world: World, process: Process, poison: int) -> bool:
    """Whether the run ended before it killed the process once more."""
    ended = asyncio.ensure_future(world.until_status(poison, "error"))
    died = asyncio.ensure_future(process.ended(60))
    done, pending = await asyncio.wait({ended, died}, return_when=asyncio.FIRST_COMPLETED)
    for waiting in pending:
        waiting.cancel()
    await asyncio.gather(*pending, return_exceptions=True)
    return ended in done


@pytest.mark.long
@pytest.mark.timeout(300)
async def test_a_book_that_kills_its_process_is_quarantined_and_the_others_are_finished(world: World) -> None:
    """A book that was being written at all three deaths is quarantined too, and goes on once it is resumed."""
    authors = [await world.author() for _ in range(6)]
    books = [await world.book(author) for author in authors]
    poison = books[2]
    process = await world.serve(f"checkpoint.before#{poison}:kill")
    world.model.script(fault("hold", times=len(books)))  # no chapter is saved before all runs are accepted
    for author, book in zip(authors, books, strict=True):
        await world.generate(process, author, book)
    await world.model.arrived(1)
    world.model.forget_script()
    world.model.release()
    while not await over(world, process, poison):
        world.kills += 1
        process = await world.serve(f"checkpoint.before#{poison}:kill", wait=False)

    await process.until_ready()
    for author, book in zip(authors, books, strict=True):
        if book != poison:
            await world.until("SELECT status IN ('completed', 'error') FROM run WHERE book_id = $1", book)
            if await world.value("SELECT status FROM run WHERE book_id = $1", book) == "error":
                assert (await world.steer(process, author, book, "resume"))[0] == 200
            await world.until_status(book, "completed")
    await world.until_status(poison, "error")
    assert (await world.value("SELECT failure FROM run WHERE book_id = $1", poison))["code"] == "quarantined"
    await world.check()


@pytest.mark.long
@pytest.mark.timeout(300)
async def test_a_single_book_whose_call_kills_the_process_three_times_is_quarantined(world: World) -> None:
    process = await world.serve()
    author = await world.author()
    book = await world.book(author)
    world.model.configure(delay=60)
    await world.generate(process, author, book)
    for times in (1, 2, 3):
        await world.model.arrived(times)
        await world.kill(process)
        process = await world.serve()

    await world.until_status(book, "error")
    world.model.configure(delay=0)
    assert (await world.status(process, author, book))["failure"]["retryable"]
    assert (await world.steer(process, author, book, "resume"))[0] == 200
    await world.until_status(book, "completed")
    await world.check()


@pytest.mark.long
async def test_a_rate_limited_provider_fails_no_run_and_blocks_no_command(world: World) -> None:
    process = await world.serve()
    author = await world.author()
    book = await world.book(author)
    world.model.script(fault("status", status=429, retry_after=3))
    await world.generate(process, author, book)
    await world.model.arrived(1)

    async with asyncio.timeout(2):
        assert (await world.steer(process, author, book, "pause"))[0] == 200
        assert (await world.steer(process, author, book, "resume"))[0] == 200

    await world.until_status(book, "completed")
    await world.check()


@pytest.mark.long
@pytest.mark.timeout(300)
async def test_an_outage_of_the_provider_fails_no_book(world: World) -> None:
    process = await world.serve()
    authors = [await world.author() for _ in range(20)]
    books = [await world.book(author) for author in authors]
    world.model.script(fault("drop", times=10**6))
    for author, book in zip(authors, books, strict=True):
        await world.generate(process, author, book)
    await world.model.arrived(1)

    await asyncio.sleep(45)  # the breaker opens, tries once after half a minute, and stays open

    assert len(world.model.requests) < 60
    assert await world.value("SELECT bool_and(status = 'running') FROM run")
    world.model.forget_script()
    for book in books:
        await world.until_status(book, "completed", seconds=90)
    await world.check()


@pytest.mark.long
@pytest.mark.timeout(200)
async def test_a_killed_embedded_server_restarts_and_no_run_fails(world: World, tmp_path: Path) -> None:
    data = tmp_path / "data"
    process = await world.serve(BOOKGEN_DATABASE_URL="", BOOKGEN_DATA_DIR=str(data))
    visitor = EmbeddedPostgres(data)
    dsn = await visitor.start()
    await visitor.stop()  # it only joined; the service decides whether the server lives
    world.pool = await open_pool(dsn, size=3)
    author = await world.author()
    book = await world.book(author, chapters=4)
    world.model.configure(delay=0.5)
    await world.generate(process, author, book)
    await world.model.arrived(2)

    os.kill(int(next(data.glob("**/postmaster.pid")).read_text().splitlines()[0]), signal.SIGKILL)
    world.pool.terminate()

    world.pool = await reopened(dsn)
    await world.until_status(book, "completed", seconds=90)
    assert world.repeated_calls() == 0
    await world.check()
    world.pool.terminate()


@pytest.mark.long
@pytest.mark.timeout(200)
async def test_the_second_process_on_a_data_folder_survives_the_first(world: World, tmp_path: Path) -> None:
    data = tmp_path / "data"
    embedded = {"BOOKGEN_DATABASE_URL": "", "BOOKGEN_DATA_DIR": str(data)}
    first = await world.serve(**embedded)
    second = await world.serve(**embedded)
    visitor = EmbeddedPostgres(data)
    dsn = await visitor.start()
    await visitor.stop()
    world.pool = await open_pool(dsn, size=3)
    author = await world.author()
    book = await world.book(author)
    world.model.configure(delay=0.5)
    await world.generate(first, author, book)
    await world.model.arrived(1)
    world.pool.terminate()

    await world.kill(first)

    world.pool = await reopened(dsn)
    await world.until_status(book, "completed", seconds=90)
    assert (await world.status(second, author, book))["generation_status"] == "completed"
    await world.check()
    world.pool.terminate()
