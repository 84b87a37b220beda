"""`kill -9` at named fault points: nothing acknowledged is lost, and nothing is written or paid for twice."""

from __future__ import annotations

import contextlib

import aiohttp
import pytest

from tests.chaos.process import Process
from tests.chaos.world import Author, World


async def generate_until_killed(world: World, process: Process, author: Author, book: int) -> None:
    with contextlib.suppress(aiohttp.ClientError):
        await world.generate(process, author, book)
    await world.killed_by_fault(process)


@pytest.mark.long
async def test_nothing_exists_after_a_kill_before_the_commit(world: World) -> None:
    author = await world.author()
    book = await world.book(author)
    process = await world.serve("generate.before:kill")

    await generate_until_killed(world, process, author, book)

    assert await world.value("SELECT count(*) FROM run") == 0
    assert await world.value("SELECT count(*) FROM hold") == 0


async def test_a_run_continues_after_a_kill_between_its_commit_and_the_response(world: World) -> None:
    author = await world.author()
    book = await world.book(author)
    process = await world.serve("generate.after:kill")
    await generate_until_killed(world, process, author, book)

    again = await world.serve()

    code, body = await world.generate(again, author, book)
    assert (code, body["error"]["code"]) == (400, "GENERATION_IN_PROGRESS")
    await world.until_status(book, "completed")
    await world.check()


@pytest.mark.parametrize(
    "point",
    [
        pytest.param("begin.after", marks=pytest.mark.long),
        pytest.param("call.before", marks=pytest.mark.long),
        pytest.param("step.before", marks=pytest.mark.long),
        "step.after",
        pytest.param("checkpoint.before", marks=pytest.mark.long),
        pytest.param("checkpoint.after", marks=pytest.mark.long),
    ],
)
async def test_a_book_completes_after_a_kill_at_any_step_of_a_chapter(world: World, point: str) -> None:
    author = await world.author()
    book = await world.book(author)
    process = await world.serve(f"{point}:kill@2")
    await generate_until_killed(world, process, author, book)
    before = [text for text in await world.texts(book) if text]

    await world.serve()

    await world.until_status(book, "completed")
    assert (await world.texts(book))[: len(before)] == before
    await world.check()


@pytest.mark.parametrize("point", [pytest.param("advance.before", marks=pytest.mark.long), "advance.after"])
async def test_a_book_killed_at_its_last_chapter_is_paid_for_once(world: World, point: str) -> None:
    author = await world.author()
    first, second = await world.book(author, chapters=1), await world.book(author, chapters=1)
    process = await world.serve(f"{point}:kill")
    world.model.configure(delay=0.2)
    await world.generate(process, author, first)
    await world.generate(process, author, second)
    await world.killed_by_fault(process)

    await world.serve()

    for book in (first, second):
        await world.until_status(book, "completed")
    assert await world.value("SELECT count(*) FROM consumption") == 2
    await world.check()


@pytest.mark.long
@pytest.mark.parametrize(("verb", "state"), [("pause", "paused"), ("stop", "stopped")])
async def test_a_committed_command_survives_a_kill(world: World, verb: str, state: str) -> None:
    author = await world.author()
    book = await world.book(author)
    world.model.configure(delay=30)
    process = await world.serve(f"{verb}.after:kill")
    await world.generate(process, author, book)
    await world.model.arrived(1)
    with contextlib.suppress(aiohttp.ClientError):
        await world.steer(process, author, book, verb)
    await world.killed_by_fault(process)

    again = await world.serve()

    assert (await world.status(again, author, book))["generation_status"] == state
    assert len(world.model.requests) == 1
    await world.check()
