"""Runs survive the process that writes them, and two processes share them."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from uuid import uuid4

import asyncpg
import orjson
import pytest
from structlog.testing import capture_logs

from bookgen.actors import supervisor as supervising
from bookgen.actors.messages import Generate, Pause, Resume, Stop, WriteNext
from bookgen.actors.supervisor import Supervisor
from bookgen.errors import Unavailable
from bookgen.models import RunStatus
from bookgen.store import notifications, processes, runs
from bookgen.store import notifications as listening
from bookgen.store.database import Database
from tests.chaos.pg_proxy import PgProxy

from .conftest import BeginRun, Model, Shelf, Start, crash, until

LISTENERS = "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND query LIKE 'LISTEN%'"


async def test_a_crashed_run_continues_at_the_next_unwritten_chapter(
    begun: BeginRun, start: Start, model: Model, shelf: Shelf
) -> None:
    first = await start()
    _, book = await begun(first)
    model.answer(book, 1, "The first text.")
    await model.wait_until_asked(book, 2)
    await crash(first, shelf)

    model.free = True
    await start()

    await shelf.until_status(book, "completed")
    assert (await shelf.texts(book))[0] == "The first text."
    assert [model.asked[book, n] for n in (1, 2, 3)] == [1, 2, 1]


async def test_a_finished_chapter_resets_the_crash_count(
    begun: BeginRun, start: Start, model: Model, shelf: Shelf
) -> None:
    first = await start()
    _, book = await begun(first)
    await crash(first, shelf)

    await start()
    await model.wait_until_asked(book, 1, times=2)
    assert (await shelf.run(book))["crash_count"] == 1
    model.answer(book, 1)

    await model.wait_until_asked(book, 2)
    assert (await shelf.run(book))["crash_count"] == 0


async def test_the_text_of_a_fenced_off_process_is_not_saved(
    begun: BeginRun, start: Start, model: Model, shelf: Shelf
) -> None:
    frozen = await start()
    _, book = await begun(frozen)
    await shelf.pool.execute("UPDATE process SET lease_until = now() - interval '1 second'")

    other = await start()
    await model.wait_until_asked(book, 1, times=2)
    await shelf.until("SELECT owner = $2 FROM run WHERE book_id = $1", book, other.resources.boot_id)
    model.free = True
    model.answer(book, 1)

    await shelf.until_status(book, "completed")
    assert (await shelf.run(book))["written"] == 3
    assert await shelf.value("SELECT count(*) FROM chapter_revision") == 0


async def test_a_run_without_a_call_in_flight_is_not_charged_for_a_crash(
    begun: BeginRun, start: Start, model: Model, shelf: Shelf
) -> None:
    process = await start()
    _, book = await begun(process)
    await shelf.pool.execute("UPDATE run SET call_started_at = NULL")
    await crash(process, shelf)

    await start()

    await model.wait_until_asked(book, 1, times=2)
    assert (await shelf.run(book))["crash_count"] == 0


async def test_a_drained_process_leaves_every_run_as_it_is_and_charges_none(
    begun: BeginRun, start: Start, model: Model, shelf: Shelf
) -> None:
    first = await start()
    _, book = await begun(first)

    await first.drain(0)

    run = await shelf.run(book)
    assert (run["status"], run["owner"], run["crash_count"]) == ("running", None, 0)
    await start()
    await model.wait_until_asked(book, 1, times=2)
    assert (await shelf.run(book))["crash_count"] == 0


async def killed(process: Supervisor, shelf: Shelf, start: Start) -> None:
    await crash(process, shelf)
    await start()


async def cut_short(process: Supervisor, _shelf: Shelf, _start: Start) -> None:
    await process.drain(0)


@pytest.mark.parametrize("ended", [killed, cut_short])
async def test_a_paused_run_is_not_written_by_the_next_process(
    begun: BeginRun, start: Start, shelf: Shelf, ended: Callable[[Supervisor, Shelf, Start], Awaitable[None]]
) -> None:
    process = await start()
    account, book = await begun(process)
    await process.ask(account, book, Pause())

    await ended(process, shelf, start)

    run = await shelf.run(book)
    assert (run["status"], run["owner"], run["call_started_at"]) == ("paused", None, None)
    assert await shelf.value("SELECT count(*) FROM chapter WHERE status = 'pending'") == 3


async def test_a_drain_that_completes_wastes_no_model_call(
    begun: BeginRun, start: Start, model: Model, shelf: Shelf
) -> None:
    first = await start()
    account, book = await begun(first)
    model.answer(book, 1)

    await first.drain(10)

    assert (await shelf.run(book))["done"] >= 1
    assert not model.cancelled
    with pytest.raises(Unavailable):
        await first.ask(account, book, Pause())


async def test_a_run_that_gets_its_turn_during_a_drain_is_left_to_another_process(
    start: Start, model: Model, shelf: Shelf
) -> None:
    first = await start()
    account = await shelf.account()
    last, waiting = [await shelf.book(account, chapters=1) for _ in range(2)]
    for book in (last, waiting):
        await first.ask(account, book, Generate())
    await model.wait_until_asked(last, 1)

    draining = asyncio.create_task(first.drain(10))
    await until(lambda: first.resources.draining)
    model.answer(last, 1)
    await draining

    assert (await shelf.run(last))["status"] == "completed"
    run = await shelf.run(waiting)
    assert (run["status"], run["owner"], run["call_no"]) == ("queued", None, 0)
    await start()
    await model.wait_until_asked(waiting, 1)


async def test_a_draining_process_takes_no_further_runs(start: Start, model: Model, shelf: Shelf) -> None:
    first, dying = await start(), await start()
    books = [await shelf.outlined(chapters=1) for _ in range(2)]
    for supervisor, book in zip((first, dying), books, strict=True):
        await supervisor.ask(*book, Generate())
        await model.wait_until_asked(book[1], 1)
    of_the_dead = dying.resources.boot_id

    draining = asyncio.create_task(first.drain(10))
    await until(lambda: first.resources.draining)
    await crash(dying, shelf)
    await first.sweep()

    assert (await shelf.run(books[1][1]))["owner"] == of_the_dead
    model.answer(books[0][1], 1)
    await draining


async def test_a_pause_reaches_the_process_that_owns_the_run(
    begun: BeginRun, start: Start, model: Model, shelf: Shelf
) -> None:
    owner, other = await start(), await start()
    account, book = await begun(owner)

    run = await other.ask(account, book, Pause())
    model.answer(book, 1)

    assert run.status is RunStatus.PAUSED
    await shelf.until("SELECT done = 1 AND call_started_at IS NULL FROM run WHERE book_id = $1", book)
    assert model.asked[book, 2] == 0


async def test_a_stop_in_one_process_cancels_the_call_in_the_other(begun: BeginRun, start: Start, model: Model) -> None:
    owner, other = await start(), await start()
    account, book = await begun(owner)

    await other.ask(account, book, Stop())

    await model.until(lambda: model.cancelled[book, 1] == 1)


async def test_the_call_of_a_stopped_run_is_not_used_by_the_next_run_if_the_notification_is_lost(
    begun: BeginRun, start: Start, model: Model, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Supervisor, "_notified", lambda *_: None)
    owner, other = await start(), await start()
    account, book = await begun(owner)
    await other.ask(account, book, Stop())

    await owner.ask(account, book, Generate())

    await model.wait_until_asked(book, 1, times=2)
    assert model.cancelled[book, 1] == 1


async def test_a_resume_in_another_process_does_not_repeat_the_call_in_flight(
    begun: BeginRun, start: Start, model: Model, shelf: Shelf
) -> None:
    owner, other = await start(), await start()
    account, book = await begun(owner, chapters=1)
    await other.ask(account, book, Pause())

    await other.ask(account, book, Resume())
    model.answer(book, 1)

    await shelf.until_status(book, "completed")
    assert model.asked[book, 1] == 1


async def test_a_paused_run_resumed_before_its_owners_death_is_noticed_continues_at_once(
    begun: BeginRun, start: Start, model: Model, shelf: Shelf
) -> None:
    owner, other = await start(), await start()
    account, book = await begun(owner)
    await owner.ask(account, book, Pause())
    await crash(owner, shelf)

    run = await other.ask(account, book, Resume())

    assert run.owner == other.resources.boot_id
    await model.wait_until_asked(book, 1, times=2)


async def test_the_owners_status_shows_at_once_what_another_process_did(begun: BeginRun, start: Start) -> None:
    owner, other = await start(), await start()
    account, book = await begun(owner)
    await owner.lease.renew()
    await owner.statuses.read(account, book)

    await other.ask(account, book, Pause())

    status = orjson.loads(await owner.statuses.read(account, book))
    assert status["generation_status"] == "paused"


async def test_a_notification_makes_the_owner_read_the_run_before_it_shows_the_status(
    begun: BeginRun, start: Start
) -> None:
    owner, other = await start(), await start()  # the first process does not know of the second yet
    account, book = await begun(owner)
    assert b'"running"' in await owner.statuses.read(account, book)

    await other.ask(account, book, Pause())

    async with asyncio.timeout(10):
        while b'"paused"' not in await owner.statuses.read(account, book):  # noqa: ASYNC110 (the signal is a body)
            await asyncio.sleep(0.01)


async def test_work_in_flight_under_an_older_epoch_is_dropped(
    begun: BeginRun, supervisor: Supervisor, model: Model, shelf: Shelf
) -> None:
    _, book = await begun()
    await shelf.pool.execute("UPDATE run SET epoch = epoch + 1")

    supervisor._notified(book)

    await model.wait_until_asked(book, 1, times=2)
    assert model.cancelled[book, 1] == 1


@pytest.mark.parametrize("error", [asyncpg.ConnectionDoesNotExistError("connection was closed"), ZeroDivisionError()])
async def test_the_listener_reconnects_after_any_error_during_its_start(
    database: Database, monkeypatch: pytest.MonkeyPatch, error: Exception
) -> None:
    add, tries, heard = asyncpg.Connection.add_listener, iter([True]), asyncio.Queue[int]()

    async def break_first(connection: asyncpg.Connection, *arguments: object) -> None:
        if next(tries, False):
            raise error
        await add(connection, *arguments)

    monkeypatch.setattr(asyncpg.Connection, "add_listener", break_first)
    monkeypatch.setattr(listening, "RECONNECT_SECONDS", 0.01)
    task = asyncio.create_task(listening.listen(database.direct_dsn, heard.put_nowait, lambda *_: None, nothing_missed))

    async with asyncio.timeout(10):
        while heard.empty():
            async with database.http.acquire() as connection:
                await notifications.notify(connection, 7)
            await asyncio.wait([task], timeout=0.01)

    assert heard.get_nowait() == 7
    task.cancel()


async def nothing_missed() -> None:
    pass


async def test_a_silently_dropped_connection_is_detected_and_replaced(
    database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, seconds in (("PROBE_SECONDS", 0.01), ("ANSWER_SECONDS", 0.5), ("RECONNECT_SECONDS", 0.01)):
        monkeypatch.setattr(listening, name, seconds)
    heard, listened = asyncio.Queue[int](), asyncio.Queue[bool]()

    async def listens() -> None:
        listened.put_nowait(True)

    async with asyncio.timeout(20), PgProxy(database.direct_dsn) as proxy:
        task = asyncio.create_task(listening.listen(proxy.dsn, heard.put_nowait, lambda *_: None, listens))
        await listened.get()
        with capture_logs() as logs:
            proxy.swallow()
            await until(lambda: any(line["event"] == "notifications_unreachable" for line in logs))
        proxy.open()
        await listened.get()
        async with database.http.acquire() as connection:
            await notifications.notify(connection, 7)

        assert await heard.get() == 7
        task.cancel()


async def test_a_process_that_joined_while_nobody_listened_is_counted_on_reconnect(
    start: Start, shelf: Shelf, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(supervising, "RENEW_SECONDS", 3600.0)
    monkeypatch.setattr(listening, "RECONNECT_SECONDS", 0.01)
    here = await start()
    await shelf.until(LISTENERS)

    await processes.register(shelf.pool, uuid4(), "another machine", 1, "", 600.0)
    await shelf.value(LISTENERS.replace("*", "pg_terminate_backend(pid)"))

    await until(lambda: here.resources.other_processes == 1)


async def test_a_message_about_a_replaced_run_is_ignored(start: Start, model: Model, shelf: Shelf) -> None:
    here, elsewhere = await start(), await start()
    account, book = await shelf.outlined()
    await here.ask(account, book, Generate())
    await model.wait_until_asked(book, 1)
    former = await runs.newest(shelf.pool, book)
    assert former
    await elsewhere.ask(account, book, Stop())
    await elsewhere.ask(account, book, Generate())
    await until(lambda: here.counts()["running"] == 0)

    with capture_logs() as logs:
        here.registry.tell((account, book), WriteNext(former))
        assert (await here.ask(account, book, Pause())).status is RunStatus.PAUSED

    assert "actor_crashed" not in [line["event"] for line in logs]
