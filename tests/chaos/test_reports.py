"""`kill -9` at any moment of a proofreading report: it completes once, and a kill repeats at most one call."""

from __future__ import annotations

import asyncio
import contextlib
import os
import random

import aiohttp
import pytest

from tests.chaos.process import Process
from tests.chaos.world import Author, World

KILLS = int(os.environ.get("REPORT_KILLS", "2"))  # 100 for the long run
CALL_SECONDS = 0.5
CHAPTERS = 5
LANGUAGE = "UPDATE book SET content_language = 'de' WHERE id = $1"
# Every chapter has one mistake for the rules, different in each book.
WRITTEN = """
    UPDATE chapter SET status = 'completed', word_count = 40,
           content = 'Buch ' || $1 || ', Kapitel ' || chapter_number || E'.\n\nDie Lampe und und das Licht gingen aus.'
     WHERE book_id = $1::bigint
"""
STATUS = "SELECT status FROM report WHERE book_id = $1"
COMPLETED = "SELECT status = 'completed' FROM report WHERE book_id = $1"
SUGGESTED = """
    SELECT c.chapter_number, s.original_text, s.suggested_text FROM suggestion s JOIN chapter c ON c.id = s.chapter_id
     WHERE c.book_id = $1 ORDER BY c.chapter_number
"""
CHECKS = "SELECT coalesce(sum(proofreading_checks_used), 0) FROM usage_period WHERE account_id = $1"


async def written_book(world: World, author: Author) -> int:
    book = await world.book(author, CHAPTERS)
    await world.pool.execute(LANGUAGE, book)
    await world.pool.execute(WRITTEN, book)
    return book


async def ask(world: World, process: Process, author: Author, book: int) -> None:
    """Request a report, unless an earlier request was received."""
    if await world.value(STATUS, book) is None:
        with contextlib.suppress(aiohttp.ClientError):
            await world.call(process, author, "POST", "/proofreading-reports/", {"book": book})


async def complete(world: World, process: Process, author: Author, book: int) -> None:
    await process.until_ready()
    await ask(world, process, author, book)
    await world.until(COMPLETED, book)


async def until_its_moment(world: World, process: Process, author: Author, book: int, dice: random.Random) -> None:
    """Wait for the moment of the kill: at the start, with the report claimed, or with a call in flight; or for
    completion.
    """
    calls = len(world.model.requests) + dice.randint(1, CHAPTERS)
    moment, later = dice.choice(("starting", "asked", "calling")), dice.uniform(0.0, CALL_SECONDS)
    if moment == "starting":
        await asyncio.sleep(later)
        return
    making = asyncio.create_task(complete(world, process, author, book))
    ended = asyncio.create_task(world.model.arrived(calls) if moment == "calling" else world.until(STATUS, book))
    await asyncio.wait((making, ended), return_when=asyncio.FIRST_COMPLETED)
    await asyncio.sleep(later)
    for task in (making, ended):
        task.cancel()
    await asyncio.gather(making, ended, return_exceptions=True)


@pytest.mark.timeout(120 + 20 * KILLS)
async def test_a_report_killed_at_any_moment_completes_once(world: World, dice: random.Random) -> None:
    await world.pool.execute("""UPDATE plan SET features = features || '{"proofreading_checks_per_month": 100000}'""")
    world.model.configure(delay=CALL_SECONDS)
    author, books, in_flight = await world.author(), 0, 0
    while world.kills < KILLS:
        book = await written_book(world, author)
        books += 1
        repeated, kills = world.repeated_calls(), world.kills
        while await world.value(STATUS, book) != "completed":
            process = await world.serve(wait=False)
            if world.kills < KILLS:
                await until_its_moment(world, process, author, book, dice)
                in_flight += world.model.in_flight
                await world.kill(process)
            else:
                await complete(world, process, author, book)
                await process.stop()

        found = [tuple(row) for row in await world.pool.fetch(SUGGESTED, book)]
        assert found == [(number, "und und", "und") for number in range(1, CHAPTERS + 1)]
        assert await world.value(CHECKS, author.id) == books
        assert world.repeated_calls() - repeated <= world.kills - kills
        assert len(world.model.requests) == books * CHAPTERS + world.repeated_calls()
    await world.check()
    print(f"{world.kills} kills, {in_flight} with a call in flight; {books} reports, {world.repeated_calls()} repeated")
