"""`kill -9` while a children's book is made: a kill repeats at most one picture, and nothing is charged twice."""

from __future__ import annotations

import asyncio
import random
from collections.abc import AsyncIterator

import pytest

from tests.chaos.world import World
from tests.fakes.image_server import ImageServer

SPREADS = 4
PICTURES = SPREADS + 1  # plus the character sheet
BOOK = {"title": "Pip", "age_range": "3-5", "page_count": 2 * SPREADS, "characters": ["Pip the mouse"]}


@pytest.fixture
async def server() -> AsyncIterator[ImageServer]:
    async with ImageServer() as server:
        yield server


def settings(server: ImageServer) -> dict[str, str]:
    return {
        "BOOKGEN_MODEL": "offline",
        "BOOKGEN_BILLING": "off",
        "BOOKGEN_IMAGE_MODEL": "openai:gpt-image-2.5-flare",
        "OPENAI_BASE_URL": server.url,
    }


async def check(world: World, book: int, server: ImageServer) -> None:
    await world.until_status(book, "completed")
    pictures = """SELECT array_agg(n ORDER BY n) FROM (
                      SELECT count(i.id) AS n FROM chapter c LEFT JOIN illustration i ON i.chapter_id = c.id
                       WHERE c.book_id = $1 GROUP BY c.id) AS each"""
    assert await world.value(pictures, book) == [1] * SPREADS
    assert await world.value("SELECT sum(ai_images_generated) FROM usage_period") == SPREADS
    assert await world.value("SELECT count(*) FROM media") == PICTURES
    paid = "SELECT sum(images) FROM model_call WHERE book_id = $1 AND stage = 'illustration'"
    assert await world.value(paid, book) == PICTURES
    assert PICTURES <= len(server.requests) <= PICTURES + world.kills
    assert await world.value("SELECT count(*) FROM consumption") == 1
    assert await world.value("SELECT count(*) FROM chapter_revision") == 0


@pytest.mark.long
@pytest.mark.parametrize("point", ["picture.before", "picture.store", "picture.after", "checkpoint.before"])
@pytest.mark.parametrize("nth", [1, 3])
async def test_a_book_killed_at_a_picture_completes_with_one_picture_a_spread(
    world: World, server: ImageServer, point: str, nth: int
) -> None:
    author = await world.author()
    process = await world.serve(f"{point}:kill@{nth}", **settings(server))
    _, book = await world.call(process, author, "POST", "/books/childrens/", BOOK)
    await world.generate(process, author, book["id"])
    await world.killed_by_fault(process)

    await world.serve(**settings(server))

    await check(world, book["id"], server)


@pytest.mark.long
@pytest.mark.timeout(7200)
async def test_each_random_kill_repeats_at_most_one_picture(
    world: World, server: ImageServer, dice: random.Random, kills: int
) -> None:
    author = await world.author()
    process = await world.serve(**settings(server))
    made: list[int] = []
    while world.kills < kills:
        before, asked = world.kills, len(server.requests)
        await world.pool.execute("TRUNCATE media, usage_period, consumption, chapter_revision CASCADE")
        _, body = await world.call(process, author, "POST", "/books/childrens/", BOOK)
        book = body["id"]
        made.append(book)
        await world.generate(process, author, book)
        while world.kills - before < PICTURES and world.kills < kills:
            await asyncio.sleep(dice.uniform(0.0, 1.5))
            if await world.value("SELECT status = 'completed' FROM run WHERE book_id = $1", book):
                break
            await world.kill(process)
            process = await world.serve(**settings(server))
            if await world.value("SELECT failure ->> 'code' = 'quarantined' FROM run WHERE book_id = $1", book):
                await world.steer(process, author, book, "resume")  # killed three times before a spread was finished
        await world.until_status(book, "completed")
        assert len(server.requests) - asked <= PICTURES + world.kills - before
        assert await world.value("SELECT sum(ai_images_generated) FROM usage_period") == SPREADS
        paid = "SELECT sum(images) FROM model_call WHERE book_id = $1 AND stage = 'illustration'"
        assert await world.value(paid, book) == PICTURES
        await world.pool.execute("DELETE FROM book WHERE id = $1", book)
    print(f"{len(made)} books, {world.kills} kills, {len(server.requests)} calls for {PICTURES * len(made)} pictures")
