"""Two `bookgen serve` on one database: either one answers, a dead or frozen one loses its runs, nothing is doubled."""

from __future__ import annotations

import asyncio
import signal

import pytest

from tests.chaos.pg_proxy import PgProxy
from tests.chaos.world import World
from tests.pgbouncer import pgbouncer


async def test_commands_reach_the_owner_from_any_process(world: World) -> None:
    owner, other = await asyncio.gather(world.serve(), world.serve())
    author = await world.author()
    book = await world.book(author)
    world.model.script()
    world.model.configure(delay=30)
    await world.generate(owner, author, book)
    call = await world.model.arrived(1)

    code, body = await world.steer(other, author, book, "stop")

    assert (code, body["generation_status"]) == (200, "stopped")
    async with asyncio.timeout(2):
        await world.model.until(lambda: call.ended == "left")
    await world.check()


@pytest.mark.long
@pytest.mark.checker("pgbouncer")
async def test_two_processes_work_behind_a_transaction_pooler_with_a_direct_url(world: World, dsn: str) -> None:
    async with PgProxy(dsn) as proxy, pgbouncer(proxy.dsn) as pooled:
        settings = {
            "BOOKGEN_DATABASE_URL": pooled,
            "BOOKGEN_DATABASE_DIRECT_URL": proxy.dsn,
            "BOOKGEN_DATABASE_STATEMENT_CACHE": "off",
        }
        owner, other = await asyncio.gather(world.serve(**settings), world.serve(**settings))
        author = await world.author()
        written, stopped = await world.book(author), await world.book(author)
        await world.generate(owner, author, written)
        await world.until_status(written, "completed")
        await world.until("SELECT NOT EXISTS (SELECT FROM blurb_draft)")
        world.model.configure(delay=30)
        await world.generate(owner, author, stopped)
        await world.model.until(lambda: world.model.in_flight == 1)
        call = world.model.requests[-1]

        code, body = await world.steer(other, author, stopped, "stop")

        assert (code, body["generation_status"]) == (200, "stopped")
        async with asyncio.timeout(2):
            await world.model.until(lambda: call.ended == "left")
        await world.check()
        assert [await process.stop() for process in (owner, other)] == [0, 0]


async def test_another_process_continues_the_runs_of_a_killed_one(world: World) -> None:
    owner, other = await asyncio.gather(world.serve(), world.serve())
    authors = [await world.author() for _ in range(4)]
    books = [await world.book(author) for author in authors]
    world.model.configure(delay=0.3)
    for author, book in zip(authors, books, strict=True):
        await world.generate(owner, author, book)
    await world.model.arrived(3)

    await world.kill(owner)

    for book in books:
        await world.until_status(book, "completed", seconds=45)
    assert other.pid
    await world.check()


@pytest.mark.long
@pytest.mark.timeout(200)
async def test_a_frozen_process_writes_nothing_after_it_wakes(world: World) -> None:
    other = await world.serve()
    owner = await world.serve()  # it knows of the other from its start
    author = await world.author()
    book = await world.book(author)
    world.model.configure(delay=0.5)
    await world.generate(owner, author, book)
    await world.model.arrived(1)

    owner.freeze()
    world.kills += 1
    await world.until("SELECT epoch > 1 FROM run WHERE book_id = $1", book, seconds=45)
    owner.wake()

    await world.until_status(book, "completed")
    assert other.pid
    await world.check()


@pytest.mark.long
@pytest.mark.timeout(200)
async def test_a_process_that_cannot_renew_its_lease_stops_before_another_takes_over(world: World, dsn: str) -> None:
    async with PgProxy(dsn) as proxy:
        other = await world.serve()
        owner = await world.serve(BOOKGEN_DATABASE_URL=proxy.dsn)  # it knows of the other from its start
        author = await world.author()
        book = await world.book(author)
        world.model.configure(delay=60)
        await world.generate(owner, author, book)
        call = await world.model.arrived(1)

        proxy.swallow()
        world.kills += 1

        async with asyncio.timeout(30):
            await world.model.until(lambda: call.ended == "left")
        assert len(world.model.requests) == 1  # it stopped while its lease still kept all others away
        assert "lease_lost" in owner.log
        world.model.configure(delay=0.1)
        await world.until_status(book, "completed")
        proxy.open()
        assert (await world.status(other, author, book))["generation_status"] == "completed"
        await world.check()
        await owner.close()


@pytest.mark.long
async def test_a_stop_signal_changes_no_run_and_wastes_no_call(world: World) -> None:
    process = await world.serve()
    author = await world.author()
    book = await world.book(author, chapters=4)
    world.model.configure(delay=0.5)
    await world.generate(process, author, book)
    await world.model.arrived(2)

    assert await process.stop() == 0

    run = await world.pool.fetchrow("SELECT status, owner, crash_count FROM run")
    assert (run["status"], run["owner"], run["crash_count"]) == ("running", None, 0)
    await world.serve()
    await world.until_status(book, "completed")
    assert world.repeated_calls() == 0
    await world.check()


@pytest.mark.long
async def test_a_second_stop_signal_ends_the_process_at_once(world: World) -> None:
    process = await world.serve()
    author = await world.author()
    book = await world.book(author)
    world.model.configure(delay=30)
    await world.generate(process, author, book)
    await world.model.arrived(1)
    process.signal(15)
    await process.said("draining")

    process.signal(15)

    await process.ended(seconds=5)
    run = await world.pool.fetchrow("SELECT status, owner FROM run")
    assert (run["status"], run["owner"]) == ("running", None)


AT_START = {
    "registered": "SELECT EXISTS (SELECT FROM process WHERE pid = $1)",
    "taken over": "SELECT count(*) = 4 FROM run r JOIN process p ON p.boot_id = r.owner WHERE p.pid = $1",
}


@pytest.mark.long
@pytest.mark.parametrize("moment", AT_START)
async def test_a_stop_signal_during_a_start_changes_no_run(world: World, moment: str) -> None:
    first = await world.serve()
    books = {book: author for author in [await world.author() for _ in range(4)] for book in [await world.book(author)]}
    world.model.configure(delay=0.5)
    for book, author in books.items():
        await world.generate(first, author, book)
    await world.model.arrived(len(books))
    await world.kill(first)

    second = await world.serve(wait=False)
    await world.until(AT_START[moment], second.pid)
    code = await second.stop(seconds=30)

    assert code in (0, -signal.SIGTERM)
    world.kills += code != 0
    assert await world.value("SELECT array_agg(DISTINCT status) FROM run") == ["running"]
    assert await world.value("SELECT max(crash_count) FROM run") <= world.kills
    await world.serve()
    for book in books:
        await world.until_status(book, "completed")
    await world.check()


async def test_kills_after_a_stop_signal_quarantine_no_book(world: World) -> None:
    """As when a container is given less time to stop than a call in flight takes."""
    author = await world.author()
    book = await world.book(author)
    world.model.configure(delay=120)
    process = await world.serve()
    await world.generate(process, author, book)
    for deploy in (1, 2, 3):
        await world.model.arrived(deploy)
        process.signal(signal.SIGTERM)
        await world.until(
            "SELECT p.draining FROM process p JOIN run r ON r.owner = p.boot_id WHERE r.book_id = $1", book
        )
        await world.kill(process)
        process = await world.serve()

    await world.model.arrived(4)
    run = await world.pool.fetchrow("SELECT status, crash_count FROM run WHERE book_id = $1", book)
    assert tuple(run) == ("running", 0)
