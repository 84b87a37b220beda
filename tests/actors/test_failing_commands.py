"""A failing command does not affect the chapter in flight."""

from __future__ import annotations

import asyncpg
import pytest

from bookgen.actors.messages import DraftOutline, Pause, Resume
from bookgen.actors.supervisor import Supervisor
from bookgen.errors import Unavailable

from .conftest import BeginRun, Model, Shelf, on_connections


async def test_an_outline_request_that_hits_a_lock_timeout_does_not_end_the_chapter_in_flight(
    begun: BeginRun, supervisor: Supervisor, model: Model, shelf: Shelf, dsn: str
) -> None:
    account, book = await begun()
    await on_connections(supervisor.resources.pool, "SET lock_timeout = '100ms'")
    other = await asyncpg.connect(dsn)
    async with other.transaction():
        await other.execute("SELECT FROM account_slot WHERE account_id = $1 FOR UPDATE", account)

        with pytest.raises(Unavailable):
            await supervisor.run_job(account, book, DraftOutline())

    await other.close()
    assert (supervisor.crashes.crashed_books, model.cancelled.total()) == (0, 0)
    model.free = True
    model.answer(book, 1)
    await shelf.until_status(book, "completed")
    assert model.asked[book, 1] == 1


async def test_a_column_added_by_a_newer_process_breaks_no_command_and_no_chapter(
    begun: BeginRun, supervisor: Supervisor, model: Model, shelf: Shelf
) -> None:
    pairs = [await begun(), await begun()]
    for pair in pairs:  # prepares every statement on this connection
        await supervisor.ask(*pair, Pause())
        await supervisor.ask(*pair, Resume())

    await shelf.pool.execute("ALTER TABLE run ADD COLUMN added integer")

    for pair in pairs:
        assert (await supervisor.ask(*pair, Pause())).status == "paused"
        await supervisor.ask(*pair, Resume())
    assert (supervisor.crashes.crashed_books, model.cancelled.total()) == (0, 0)
    assert supervisor.resources.health.up
    model.free = True
    for _, book in pairs:
        model.answer(book, 1)
        await shelf.until_status(book, "completed")
