"""A web process serves requests and leaves the writing to other processes."""

from __future__ import annotations

import asyncio

import orjson
import pytest

from bookgen.actors import supervisor as supervising
from bookgen.actors.messages import DraftOutline, Generate, Pause, Resume, Stop
from bookgen.models import ProcessRole, RunStatus
from bookgen.store import metric_figures, ownership

from .conftest import Model, Shelf, Start, crash

WEB, ACTORS = ProcessRole.WEB, ProcessRole.ACTORS


@pytest.fixture(autouse=True)
def no_sweep_comes_by_itself(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(supervising, "SWEEP_SECONDS", 3600)


async def test_a_web_process_accepts_a_run_and_says_that_no_process_writes_books(start: Start, shelf: Shelf) -> None:
    web = await start(role=WEB)
    account, book = await shelf.outlined()

    run = await web.ask(account, book, Generate())

    await web.sweep()
    status = orjson.loads(await web.statuses.read(account, book))
    assert (run.status, (await shelf.run(book))["owner"]) == (RunStatus.RUNNING, None)
    assert status["status_message"].startswith("Waiting: no process of this server writes books now.")
    assert status["estimated_seconds_remaining"] is None
    read = await metric_figures.read(shelf.pool)
    assert (read.processes, read.taking_work) == (1, 0)


async def test_a_book_started_at_a_web_process_is_claimed_by_another_at_once(
    start: Start, model: Model, shelf: Shelf
) -> None:
    web, actors = await start(role=WEB), await start(role=ACTORS)
    account, book = await shelf.outlined()
    model.free = True

    await web.ask(account, book, Generate())

    await shelf.until_status(book, "completed")
    assert (await shelf.run(book))["owner"] == actors.resources.boot_id


async def test_commands_at_a_web_process_reach_the_process_that_owns_the_run(
    start: Start, model: Model, shelf: Shelf
) -> None:
    web, actors = await start(role=WEB), await start(role=ACTORS)
    account, book = await shelf.outlined()
    await web.ask(account, book, Generate())
    await model.wait_until_asked(book, 1)

    assert (await web.ask(account, book, Pause())).status is RunStatus.PAUSED
    model.answer(book, 1)
    await shelf.until("SELECT done = 1 AND call_started_at IS NULL FROM run WHERE book_id = $1", book)
    await web.ask(account, book, Resume())
    await model.wait_until_asked(book, 2)
    await web.ask(account, book, Stop())

    await model.until(lambda: not actors.runs_in_flight.by_run)
    assert (await shelf.run(book))["status"] == "stopped"


async def nothing(*, takes_over: bool) -> None:
    """A sweep that claims no run."""


async def test_a_run_between_two_owners_is_not_shown_as_waiting_for_its_model(
    start: Start, shelf: Shelf, monkeypatch: pytest.MonkeyPatch
) -> None:
    web, actors = await start(role=WEB), await start(role=ACTORS)
    account, book = await shelf.outlined()
    monkeypatch.setattr(actors.recovery, "sweep", nothing)
    await web.ask(account, book, Generate())
    await shelf.pool.execute("UPDATE run SET writer = $1", actors.resources.writer)

    there = orjson.loads(await web.statuses.read(account, book))["status_message"]
    await shelf.pool.execute("UPDATE run SET writer = 'anthropic:another'")
    await shelf.pool.execute("UPDATE process SET any_writer = false")
    absent = orjson.loads(await web.statuses.read(account, book))["status_message"]

    assert there == "Writing. 0 of 3 chapters finished."
    assert absent.startswith("This book is being written by anthropic:another, which is not set up")


async def test_the_next_book_starts_when_a_web_process_stops_the_first(
    start: Start, model: Model, shelf: Shelf
) -> None:
    web, _ = await start(role=WEB), await start(role=ACTORS)
    account, first = await shelf.outlined()
    second = await shelf.book(account)
    await web.ask(account, first, Generate())
    await model.wait_until_asked(first, 1)
    await web.ask(account, second, Generate())

    await web.ask(account, first, Stop())

    await model.wait_until_asked(second, 1)


async def test_the_run_of_a_dead_actors_process_waits_for_another_actors_process(
    start: Start, model: Model, shelf: Shelf
) -> None:
    web, actors = await start(role=WEB), await start(role=ACTORS)
    account, book = await shelf.outlined()
    await web.ask(account, book, Generate())
    await model.wait_until_asked(book, 1)
    await crash(actors, shelf)

    await web.sweep()

    assert (await shelf.run(book))["owner"] != web.resources.boot_id
    await start(role=ACTORS)
    await model.wait_until_asked(book, 1, times=2)


async def test_a_web_process_makes_the_model_calls_of_its_own_requests(
    start: Start, model: Model, shelf: Shelf
) -> None:
    web = await start(role=WEB)
    account, book = await shelf.outlined(chapters=0)
    call = asyncio.create_task(web.run_job(account, book, DraftOutline()))
    await model.wait_until_asked(book, 0)
    await (await start(role=ACTORS)).sweep()

    model.answer(book, 0)
    await call

    assert await shelf.value("SELECT array_agg(title) FROM chapter WHERE book_id = $1", book) == ["New 1"]


async def test_web_processes_take_no_share_of_the_runs(start: Start, model: Model, shelf: Shelf) -> None:
    actors = await start(role=ACTORS)
    for _ in range(4):
        account, book = await shelf.outlined()
        await actors.ask(account, book, Generate())
        await model.wait_until_asked(book, 1)

    await start(role=WEB)

    balance = await ownership.balance(shelf.pool, actors.resources.boot_id)
    assert (balance.room, balance.surplus) == (0, 0)
    await crash(actors, shelf)
    heir = await start(role=ACTORS)
    assert (await ownership.balance(shelf.pool, heir.resources.boot_id)).room == 0
    assert len(await ownership.owned(shelf.pool, heir.resources.boot_id)) == 4
