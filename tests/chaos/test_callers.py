"""Callers that disconnect, that come all at once, and that find every connection in use."""

from __future__ import annotations

import asyncio
from collections import Counter
from urllib.parse import urlsplit

import pytest

from bookgen.actors.actor import MAX_WAITING
from tests.chaos.world import World


@pytest.mark.long
async def test_a_generate_request_whose_caller_disconnects_is_accepted(world: World) -> None:
    process = await world.serve()
    author = await world.author()
    book = await world.book(author)
    address = urlsplit(process.url)
    async with world.pool.acquire() as connection, connection.transaction():
        await connection.execute("SELECT FROM account_slot WHERE account_id = $1 FOR UPDATE", author.id)
        _, caller = await asyncio.open_connection(address.hostname, address.port)
        caller.write(
            f"POST /api/v1/books/{book}/generate/ HTTP/1.1\r\nHost: localhost\r\nContent-Length: 0\r\n"
            f"Authorization: Bearer {author.token}\r\n\r\n".encode()
        )
        await caller.drain()
        await world.until("SELECT EXISTS (SELECT FROM pg_stat_activity WHERE wait_event_type = 'Lock')")

        caller.transport.abort()

    await world.until("SELECT EXISTS (SELECT FROM run)")
    await world.until_status(book, "completed")
    await world.check()


@pytest.mark.long
async def test_commands_beyond_the_mailbox_size_wait_and_are_all_answered(world: World) -> None:
    process = await world.serve("pause.before:sleep=2")
    author = await world.author()
    book = await world.book(author)
    world.model.configure(delay=30)
    await world.generate(process, author, book)
    await world.model.arrived(1)

    answers = await asyncio.gather(*(world.steer(process, author, book, "pause") for _ in range(MAX_WAITING + 20)))

    assert Counter(code for code, _ in answers) == {200: MAX_WAITING + 20}
    assert (await world.status(process, author, book))["generation_status"] == "paused"
    await world.check()
