"""Texts that wait in memory during a database outage are limited, and a dropped text is reported."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

import pytest

from bookgen.actors.health import Backlog, Dropped
from bookgen.actors.messages import Generate, Resume
from bookgen.actors.supervisor import Supervisor
from bookgen.store.database import Database
from bookgen.writing.material import ChapterDraft, Material
from bookgen.writing.steps import Steps
from tests.chaos.pg_proxy import PgProxy

from .conftest import Model, Shelf, ask, supervising, until

TEXT = "A long text. " * 1000


@pytest.fixture
async def supervisor(proxy: PgProxy, model: Model) -> AsyncIterator[Supervisor]:
    database = await Database.open(proxy.dsn, http_connections=2, run_connections=5)

    async def write_chapter(material: Material, number: int, steps: Steps, *_told: object) -> ChapterDraft:
        draft = await model.write_chapter(material, number, steps)
        await steps.reply(ask("digest", material.book.id, number + 100))
        return draft

    async with supervising(database, model, write_chapter) as supervisor:
        yield supervisor
    await database.close(patience=1.0)


async def test_in_a_long_outage_the_oldest_text_is_dropped_and_its_run_says_so(
    supervisor: Supervisor, proxy: PgProxy, model: Model, shelf: Shelf
) -> None:
    pairs = [(account, await shelf.book(account, 1)) for account in [await shelf.account() for _ in range(3)]]
    oldest, *others = pairs
    backlog = supervisor.resources.backlog = Backlog(most_bytes=len(TEXT) * 5 // 2)
    for account, book in pairs:
        await supervisor.ask(account, book, Generate())
        await model.wait_until_asked(book, 1)
    proxy.close()
    for count, (_, book) in enumerate(pairs, 1):
        model.answer(book, 1, TEXT)
        await until(lambda count=count: backlog.size >= len(TEXT) * min(count, 2))
    await until(lambda: backlog.dropped == 1)

    model.free = True
    proxy.open()

    for _, book in others:
        await shelf.until_status(book, "completed")
        assert model.asked[book, 1] == 1
    await shelf.until_status(oldest[1], "error")
    failure = (await shelf.run(oldest[1]))["failure"]
    assert (failure["code"], failure["retryable"], failure["chapter_number"]) == ("SERVICE_UNAVAILABLE", True, 1)
    assert await shelf.value("SELECT count(*) FROM model_call WHERE book_id = $1", oldest[1]) == 1
    assert backlog.size == 0
    await supervisor.ask(*oldest, Resume())
    await shelf.until_status(oldest[1], "completed")


async def test_texts_within_the_limit_are_kept_however_often_the_database_is_tried() -> None:
    backlog = Backlog(most_bytes=10)

    async with backlog.entry(4), backlog.entry(6):
        backlog.make_room()
        assert backlog.size == 10

    assert backlog.size == 0


async def test_a_text_larger_than_the_limit_is_dropped_itself() -> None:
    backlog = Backlog(most_bytes=10)

    async def wait() -> None:
        async with backlog.entry(11):
            backlog.make_room()
            await asyncio.Event().wait()

    with pytest.raises(Dropped):
        await wait()


async def test_a_timeout_inside_the_block_is_not_reported_as_a_drop() -> None:
    with pytest.raises(TimeoutError):
        async with Backlog().entry(1), asyncio.timeout(0.01):
            await asyncio.Event().wait()
