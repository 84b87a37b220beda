"""The database is unreachable, slow or silent: no run fails and no finished text is lost."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

import pytest

from tests.chaos.pg_proxy import PgProxy
from tests.chaos.world import World


@pytest.fixture
async def proxy(dsn: str, world: World) -> AsyncIterator[PgProxy]:
    async with PgProxy(dsn) as proxy:
        world.dsn = proxy.dsn
        yield proxy
        for process in world.processes:
            await process.close()


async def test_a_finished_text_waits_for_the_database(world: World, proxy: PgProxy) -> None:
    process = await world.serve()
    author = await world.author()
    book = await world.book(author)
    world.model.configure(delay=1.0)
    await world.generate(process, author, book)
    await world.model.arrived(1)
    proxy.close()
    await world.model.until(lambda: world.model.requests[0].ended == "answered")
    code, body = await world.call(process, author, "GET", f"/books/{book}/generation-status/")
    assert (code, body["error"]["code"]) == (503, "SERVICE_UNAVAILABLE")
    assert len(world.model.requests) == 1

    proxy.open()

    await world.until_status(book, "completed")
    assert world.repeated_calls() == 0
    await world.check()


@pytest.mark.parametrize("verb", [pytest.param("pause", marks=pytest.mark.long), "stop"])
async def test_a_command_whose_commit_response_was_lost_is_answered_correctly(
    world: World, proxy: PgProxy, verb: str
) -> None:
    process = await world.serve()
    author = await world.author()
    book = await world.book(author)
    world.model.configure(delay=20)
    await world.generate(process, author, book)
    await world.model.arrived(1)
    proxy.cut_after_commit = 1

    code, body = await world.steer(process, author, book, verb)

    assert (code, body["generation_status"]) == (200, {"pause": "paused", "stop": "stopped"}[verb])
    assert proxy.cuts == 1


@pytest.mark.long
async def test_a_generate_request_whose_commit_response_was_lost_is_accepted_once(world: World, proxy: PgProxy) -> None:
    process = await world.serve()
    author = await world.author()
    book = await world.book(author)
    world.model.configure(delay=20)
    await world.generate(
        process, author, book
    )  # the first run of a book is accepted without a COMMIT that could be cut off
    await world.model.arrived(1)
    await world.steer(process, author, book, "stop")
    world.model.configure(delay=0.1)
    proxy.cut_after_commit = 1

    code, _ = await world.generate(process, author, book)

    assert (code, proxy.cuts) == (202, 1)
    assert await world.value("SELECT count(*) FROM run") == 2
    await world.until_status(book, "completed")
    await world.check()


@pytest.mark.long
async def test_a_last_chapter_whose_commit_response_was_lost_completes_its_run_once(
    world: World, proxy: PgProxy
) -> None:
    process = await world.serve()
    author = await world.author()
    first, second = await world.book(author, chapters=1), await world.book(author, chapters=1)
    world.model.configure(delay=1.0)
    for book in (first, second):
        await world.generate(process, author, book)
    await world.model.arrived(1)
    proxy.cut_after_commit = 1

    for book in (first, second):
        await world.until_status(book, "completed")

    assert proxy.cuts == 1
    assert await world.value("SELECT count(*) FROM consumption") == 2
    assert world.repeated_calls() == 0
    await world.check()


@pytest.mark.long
async def test_chapters_survive_connections_that_are_reset_again_and_again(world: World, proxy: PgProxy) -> None:
    process = await world.serve()
    authors = [await world.author() for _ in range(3)]
    books = [await world.book(author) for author in authors]
    for author, book in zip(authors, books, strict=True):
        await world.generate(process, author, book)

    for _ in range(10):
        await asyncio.sleep(0.3)
        proxy.close()
        proxy.open()

    for book in books:
        await world.until_status(book, "completed")
    assert world.repeated_calls() == 0
    await world.check()


@pytest.mark.long
async def test_a_slow_database_only_costs_time(world: World, proxy: PgProxy) -> None:
    process = await world.serve()
    author = await world.author()
    book = await world.book(author)
    proxy.delay = 0.5
    await world.generate(process, author, book)

    await world.until_status(book, "completed", seconds=90)

    assert "lease_lost" not in process.log
    assert world.repeated_calls() == 0
    await world.check()
