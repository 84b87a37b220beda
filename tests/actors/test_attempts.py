"""Runs are retried with a back-off after a crash of their process, and quarantined after three crashes in a row."""

from __future__ import annotations

import asyncio
from uuid import uuid4

import orjson
import pytest

from bookgen.actors import recovery
from bookgen.actors.messages import Generate, Resume
from bookgen.actors.run_transitions import MAX_CRASHES
from bookgen.actors.supervisor import Supervisor
from bookgen.errors import Unavailable
from bookgen.store import ownership, processes, steps
from bookgen.store.model_calls import LedgerEntry, Step

from .conftest import BeginRun, Model, Shelf, Start, crash


@pytest.fixture(autouse=True)
def no_back_off(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(recovery, "BACK_OFF", (0.0, 0.0))


async def test_a_run_that_crashes_its_process_without_progress_is_quarantined(
    start: Start, model: Model, shelf: Shelf
) -> None:
    account, book = await shelf.outlined()
    model.free, model.poison = True, {book}
    process = await start()
    await process.ask(account, book, Generate())
    for times in (1, 2, 3):
        await model.until(lambda times=times: model.stuck[book] == times)
        assert (await shelf.run(book))["status"] == "running"
        await crash(process, shelf)
        process = await start()

    await shelf.until_status(book, "error")
    assert (await shelf.run(book))["failure"]["code"] == "quarantined"
    model.poison.clear()
    run = await process.ask(account, book, Resume())
    assert run.crash_count == MAX_CRASHES - 1
    await shelf.until_status(book, "completed")


async def test_a_quarantine_that_failed_in_a_database_outage_is_retried(
    begun: BeginRun, start: Start, model: Model, shelf: Shelf, monkeypatch: pytest.MonkeyPatch
) -> None:
    process = await start()
    account, book = await begun(process)
    await crash(process, shelf)
    process = await start()
    await model.wait_until_asked(book, 1, times=2)
    process.registry.find((account, book)).cancel()
    await shelf.pool.execute("UPDATE run SET owner = gen_random_uuid(), crash_count = $1", MAX_CRASHES)
    with monkeypatch.context() as away:
        away.setattr(process.transactions, "steer", unavailable)
        with pytest.raises(Unavailable):
            await process.sweep()

    await process.sweep()

    assert (await shelf.run(book))["failure"]["code"] == "quarantined"
    assert model.asked[book, 1] == 2


async def unavailable(*_: object) -> None:
    raise Unavailable


async def test_the_cached_status_of_a_run_shows_its_quarantine(
    begun: BeginRun, start: Start, model: Model, shelf: Shelf, monkeypatch: pytest.MonkeyPatch
) -> None:
    process = await start()
    account, book = await begun(process)
    process.registry.find((account, book)).cancel()
    await shelf.pool.execute("UPDATE run SET owner = gen_random_uuid(), crash_count = $1", MAX_CRASHES)
    with monkeypatch.context() as away:
        away.setattr(process.transactions, "steer", unavailable)
        with pytest.raises(Unavailable):
            await process.sweep()
    watched = await process.statuses.read(account, book)

    await process.sweep()

    seen = await process.statuses.read(account, book)
    assert [orjson.loads(each)["generation_status"] for each in (watched, seen)] == ["running", "error"]


async def test_no_crash_is_charged_once_a_process_has_announced_its_drain(
    supervisor: Supervisor, start: Start, begun: BeginRun, model: Model, shelf: Shelf
) -> None:
    _, book = await begun()
    before = supervisor.resources.boot_id
    draining = asyncio.create_task(supervisor.drain(60))
    await shelf.until("SELECT draining FROM process WHERE boot_id = $1", before)

    await crash(supervisor, shelf)
    await start()

    await model.wait_until_asked(book, 1, times=2)
    assert (await shelf.run(book))["crash_count"] == 0
    await draining


async def test_no_crash_is_charged_when_a_process_takes_a_run_over_from_its_own_earlier_lease(
    supervisor: Supervisor, begun: BeginRun, model: Model, shelf: Shelf
) -> None:
    _, book = await begun()
    for times in (2, 3, 4):
        before = supervisor.resources.boot_id
        supervisor.lease._lost()
        await shelf.until("SELECT draining FROM process WHERE boot_id = $1", before)
        await shelf.pool.execute("UPDATE process SET lease_until = now() WHERE boot_id = $1", before)

        await supervisor.sweep()

        await model.wait_until_asked(book, 1, times)
        assert (await shelf.run(book))["crash_count"] == 0


async def test_a_new_reply_resets_the_crash_count_and_a_repeated_one_does_not(
    begun: BeginRun, supervisor: Supervisor, shelf: Shelf
) -> None:
    account, book = await begun()
    await shelf.pool.execute("UPDATE run SET crash_count = 2")
    run_id = await shelf.value("SELECT id FROM run")
    step = Step("key", {"text": ""}, LedgerEntry(account, book, run_id, "chapter", 1, ()))

    await steps.save(shelf.pool, step)
    assert await shelf.value("SELECT crash_count FROM run") == 0

    await shelf.pool.execute("UPDATE run SET crash_count = 2")
    await steps.save(shelf.pool, step)
    assert await shelf.value("SELECT crash_count FROM run") == 2


async def test_a_run_waits_after_its_second_crash_and_is_not_charged_while_it_waits(
    start: Start, begun: BeginRun, model: Model, shelf: Shelf, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(recovery, "BACK_OFF", (600.0, 600.0))
    process = await start()
    _, book = await begun(process)
    for times in (2, 2, 2, 2):
        await crash(process, shelf)
        process = await start()
        await model.wait_until_asked(book, 1, times)
        await process.sweep()

    run = await shelf.run(book)
    assert (run["status"], run["crash_count"], run["call_started_at"]) == ("running", 2, None)
    assert model.asked[book, 1] == 2

    monkeypatch.setattr(recovery, "BACK_OFF", (0.0, 0.0))
    await crash(process, shelf)
    await start()
    await model.wait_until_asked(book, 1, times=3)


async def test_a_run_on_its_last_try_is_announced_only_when_a_slot_is_free(
    start: Start, begun: BeginRun, model: Model, shelf: Shelf
) -> None:
    process = await start()
    books = [book for _, book in [await begun(process) for _ in range(3)]]
    await shelf.pool.execute("UPDATE run SET crash_count = $1", MAX_CRASHES - 2)
    await crash(process, shelf)

    process = await start(chapters_at_once=1)
    await model.until(lambda: sum(model.asked[book, 1] for book in books) == 4)
    await process.sweep()
    await crash(process, shelf)
    await start()

    await shelf.until("SELECT count(*) FILTER (WHERE status = 'error') = 1 FROM run")
    assert await shelf.value("SELECT count(*) FROM run WHERE status = 'running'") == 2


async def test_every_run_that_was_worked_on_is_charged_and_the_first_in_the_queue_is_taken_first(
    supervisor: Supervisor, begun: BeginRun, shelf: Shelf
) -> None:
    for _ in range(5):
        await begun()
    await crash(supervisor, shelf)
    heir = uuid4()
    await processes.register(shelf.pool, heir, "here", 1, "1", 3600)

    taken = [run for rows in (3, 1, 1) for run in await ownership.claim(shelf.pool, heir, rows)]

    assert [run.crash_count for run in taken] == [1] * 5
    assert [run.queue_seq for run in taken] == sorted(run.queue_seq for run in taken)


async def test_a_book_that_kills_its_process_is_quarantined_and_one_that_makes_progress_is_not(
    start: Start, begun: BeginRun, model: Model, shelf: Shelf
) -> None:
    process = await start()
    (_, poison), (_, other) = await begun(process), await begun(process)
    model.poison = {poison}
    for deaths in range(MAX_CRASHES):
        await model.wait_until_asked(poison, 1, times=deaths + 1)
        if deaths == 1:
            model.answer(other, 1)
            await model.wait_until_asked(other, 2)
        model.answer(poison, 1)
        await model.until(lambda deaths=deaths: model.stuck[poison] == deaths + 1)
        await crash(process, shelf)
        process = await start()

    await shelf.until_status(poison, "error")
    run = await shelf.run(other)
    assert (run["status"], run["crash_count"], run["done"]) == ("running", 2, 1)
