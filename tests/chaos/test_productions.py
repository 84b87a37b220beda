"""`kill -9` in every phase of a production: it continues, repeats at most one call, and charges nothing twice."""

from __future__ import annotations

import contextlib
import random
from collections.abc import AsyncIterator

import aiohttp
import pytest

from bookgen.models import RunPhase
from bookgen.render.formats import FORMATS
from tests.chaos.process import Process
from tests.chaos.world import Author, World
from tests.fakes.image_server import ImageServer

POINTS = [
    *(f"{phase}.{moment}" for phase in RunPhase if phase != "chapters" for moment in ("begun", "made", "ending")),
    *(f"phasedone.{moment}@{time}" for moment in ("before", "after") for time in (1, 2, 3, 4)),
    "checkpoint.before",
    "checkpoint.after",
]
OWN_BY_USE = """
    WITH owned AS (
        INSERT INTO account_addon (account_id, addon_id, billing_type)
        SELECT $1, id, 'per_use' FROM addon WHERE slug = 'automated-production')
    INSERT INTO checkout (account_id, kind, slug, billing, amount_cents, status)
    VALUES ($1, 'addon', 'automated-production', 'per_use', 499, 'paid')
"""
IDEA = """
    INSERT INTO book (account_id, title, chapter_count, target_word_count, trim_size, content_language)
    VALUES ($1, '', 2, 400, '6x9', 'de') RETURNING id
"""
FAILURE = "SELECT failure ->> 'code' FROM run WHERE book_id = $1 AND status = 'error'"
# What a production leaves, once.
LEFT = """
    SELECT (SELECT count(*) FROM cover WHERE book_id = $1) AS covers,
           (SELECT count(*) FROM report WHERE book_id = $1) AS reports,
           (SELECT array_agg(kind ORDER BY kind) FROM export_file WHERE book_id = $1) AS files,
           (SELECT count(*) FROM addon_use WHERE book_id = $1 AND used_at IS NOT NULL) AS uses,
           (SELECT ai_images_generated FROM usage_period WHERE account_id = b.account_id) AS images,
           (SELECT proofreading_checks_used FROM usage_period WHERE account_id = b.account_id) AS checks,
           (SELECT books_created FROM usage_period WHERE account_id = b.account_id) AS books
      FROM book b WHERE b.id = $1
"""
ONCE = {"covers": 1, "reports": 2, "files": sorted(FORMATS), "uses": 1, "images": 1, "checks": 1, "books": 1}


@pytest.fixture
async def painter() -> AsyncIterator[ImageServer]:
    async with ImageServer() as server:
        yield server


async def serve(world: World, painter: ImageServer, faults: str = "", *, wait: bool = True) -> Process:
    settings = {"BOOKGEN_IMAGE_MODEL": "openai:gpt-image-2.5-flare", "BOOKGEN_MODEL_RETRIES": "1"}
    return await world.serve(faults, wait=wait, OPENAI_BASE_URL=painter.url, **settings)


async def an_idea(world: World) -> tuple[Author, int]:
    author = await world.author()
    await world.pool.execute(OWN_BY_USE, author.id)
    book = int(await world.value(IDEA, author.id))
    await world.pool.execute("UPDATE book SET title = 'Book ' || id WHERE id = $1", book)
    return author, book


async def produce(world: World, process: Process, author: Author, book: int) -> None:
    with contextlib.suppress(aiohttp.ClientError):
        await world.call(process, author, "POST", f"/books/{book}/produce/")


async def check(world: World, painter: ImageServer, book: int, images: int, calls: int, kills: int) -> None:
    """`images` and `calls`: repeated before this book; `kills`: since then."""
    assert dict(await world.pool.fetchrow(LEFT, book)) == ONCE
    repeated = (len(painter.requests) - images - 1) + (world.repeated_calls() - calls)
    assert repeated <= kills, f"{repeated} calls were repeated after {kills} kills"


@pytest.mark.parametrize("point", ["cover.made", pytest.param("phasedone.after@2", marks=pytest.mark.long)])
async def test_the_next_process_finishes_a_production_killed_in_any_phase(
    world: World, painter: ImageServer, point: str
) -> None:
    author, book = await an_idea(world)
    name, _, time = point.partition("@")
    process = await serve(world, painter, f"{name}:kill@{time or 1}")
    await produce(world, process, author, book)
    await world.killed_by_fault(process)

    await serve(world, painter)
    await world.until_status(book, "completed")

    await check(world, painter, book, images=0, calls=0, kills=1)
    await world.check()


@pytest.mark.long
@pytest.mark.timeout(7200)
async def test_productions_killed_repeatedly_at_any_point_finish_once(
    world: World, painter: ImageServer, dice: random.Random, kills: int
) -> None:
    killed = books = 0
    while killed < kills:
        author, book = await an_idea(world)
        images, calls, before = len(painter.requests), world.repeated_calls(), killed
        asked = False
        while await world.value("SELECT status FROM book WHERE id = $1", book) != "completed":
            name, _, time = dice.choice(POINTS).partition("@")
            fault = f"{name}:kill@{time or 1}" if killed < kills else ""
            process = await serve(world, painter, fault, wait=False)
            with contextlib.suppress(AssertionError):  # it may be killed while it takes the run over
                await process.until_ready()
            if not asked or not await world.value("SELECT count(*) FROM run WHERE book_id = $1", book):
                await produce(world, process, author, book)
                asked = True
            while not process.dead:
                with contextlib.suppress(TimeoutError):
                    await process.ended(0.2)
                if await world.value("SELECT status FROM book WHERE id = $1", book) == "completed":
                    break
                if failure := await world.value(FAILURE, book):
                    assert failure == "quarantined", process.log  # killed three times before it made progress
                    with contextlib.suppress(aiohttp.ClientError):
                        await world.steer(process, author, book, "resume")
            if process.dead:
                killed += 1
                world.kills += 1
            else:
                await process.stop()
        books += 1
        await check(world, painter, book, images, calls, killed - before)
    print(f"{killed} kills, {books} books, {len(painter.requests)} pictures")
