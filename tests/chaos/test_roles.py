"""A web process and an actors process on one database: requests to one, books written by the other."""

from __future__ import annotations

import asyncio

from tests.chaos.world import World


async def test_a_book_started_at_a_web_process_survives_a_kill_of_its_actors_process(world: World) -> None:
    web = await world.serve(BOOKGEN_ROLE="web")
    author = await world.author()
    book = await world.book(author)
    world.model.configure(delay=0.3)

    code, _ = await world.generate(web, author, book)

    assert code == 202
    assert "no process of this server writes books now" in (await world.status(web, author, book))["status_message"]
    assert "bookgen_processes_taking_work 0.0" in await world.metrics(web)
    assert not world.model.requests

    first = await world.serve(BOOKGEN_ROLE="actors")
    await world.until_done(book, 1)
    await world.kill(first)
    second = await world.serve(BOOKGEN_ROLE="actors")

    await world.until_status(book, "completed")
    assert (await world.status(web, author, book))["generation_status"] == "completed"
    assert await world.readiness(second) == "ready"
    assert (await world.call(second, author, "GET", "/books/"))[0] == 404
    assert "bookgen_processes_taking_work 1.0" in await world.metrics(second)
    await world.check()

    await world.pool.execute("UPDATE account SET tokens_valid_from = now() + interval '1 minute'")
    async with asyncio.timeout(10):  # five, plus what a busy machine takes for a call
        while (await world.call(web, author, "GET", "/books/"))[0] != 401:  # noqa: ASYNC110 (the signal is an answer)
            await asyncio.sleep(0.1)
