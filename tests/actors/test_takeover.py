"""Runs outlive the process that wrote them."""

from __future__ import annotations

import asyncio
import uuid
from collections.abc import Awaitable, Callable
from typing import Any

import asyncpg
import orjson
import pytest

from bookgen.actors import hints, lease, probation
from bookgen.actors import supervisor as supervising
from bookgen.actors.decide import CRASHES_TO_QUARANTINE, CRASHES_TO_SUSPECT
from bookgen.actors.messages import Generate, Pause, Resume, Stop
from bookgen.actors.supervisor import Supervisor
from bookgen.actors.transaction import Committed
from bookgen.errors import Unavailable
from bookgen.models import Run, RunStatus
from bookgen.store import ownership, runs
from bookgen.store.checkpoints import Begun
from bookgen.store.database import Database

from .conftest import Model, Shelf, Start, until


@pytest.fixture(autouse=True)
def no_rests(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(probation, "RESTS", (0.0,))


async def crash(supervisor: Supervisor, shelf: Shelf) -> None:
    """What is left of a process after kill -9: its rows, and a lease that runs out."""
    boot_id = supervisor.resources.boot_id
    supervisor._lease._lost()
    supervisor.draining = True
    await shelf.pool.execute("UPDATE process SET lease_until = now() - interval '1 second' WHERE boot_id = $1", boot_id)


async def test_a_crashed_run_goes_on_at_the_next_unwritten_chapter(start: Start, model: Model, shelf: Shelf) -> None:
    first = await start()
    account = await shelf.account()
    book = await shelf.book(account)
    await first.ask(account, book, Generate())
    await model.wait_until_asked(book, 1)
    model.answer(book, 1, "The first text.")
    await model.wait_until_asked(book, 2)
    await crash(first, shelf)

    model.free = True
    await start()

    await shelf.until_status(book, "completed")
    assert (await shelf.texts(book))[0] == "The first text."
    assert [model.asked[book, n] for n in (1, 2, 3)] == [1, 2, 1]


async def test_a_crash_is_counted_and_forgiven_with_the_next_chapter(start: Start, model: Model, shelf: Shelf) -> None:
    first = await start()
    account = await shelf.account()
    book = await shelf.book(account)
    await first.ask(account, book, Generate())
    await model.wait_until_asked(book, 1)
    await crash(first, shelf)

    await start()
    await model.wait_until_asked(book, 1, times=2)
    assert (await shelf.run(book))["crash_count"] == 1
    model.answer(book, 1)

    await model.wait_until_asked(book, 2)
    assert (await shelf.run(book))["crash_count"] == 0


async def test_the_text_of_a_fenced_process_is_not_written(start: Start, model: Model, shelf: Shelf) -> None:
    frozen = await start()
    account = await shelf.account()
    book = await shelf.book(account)
    await frozen.ask(account, book, Generate())
    await model.wait_until_asked(book, 1)
    await shelf.pool.execute("UPDATE process SET lease_until = now() - interval '1 second'")

    other = await start()
    await model.wait_until_asked(book, 1, times=2)
    await shelf.until("SELECT owner = $2 FROM run WHERE book_id = $1", book, other.resources.boot_id)
    model.free = True
    model.answer(book, 1)

    await shelf.until_status(book, "completed")
    assert (await shelf.run(book))["written"] == 3
    assert await shelf.value("SELECT count(*) FROM chapter_revision") == 0


async def test_a_run_whose_crashes_bring_no_progress_is_quarantined(start: Start, model: Model, shelf: Shelf) -> None:
    account = await shelf.account()
    book = await shelf.book(account)
    model.free, model.poison = True, {book}
    process = await start()
    await process.ask(account, book, Generate())
    for times in range(1, CRASHES_TO_QUARANTINE + 1):
        await model.until(lambda times=times: model.stuck[book] == times)
        await crash(process, shelf)
        process = await start()

    await shelf.until_status(book, "error")
    assert (await shelf.run(book))["failure"]["code"] == "quarantined"
    model.poison.clear()
    run = await process.ask(account, book, Resume())
    assert run.crash_count == CRASHES_TO_SUSPECT
    await shelf.until_status(book, "completed")


async def test_a_quarantine_that_the_database_was_away_for_is_made_up_for(
    start: Start, model: Model, shelf: Shelf, monkeypatch: pytest.MonkeyPatch
) -> None:
    account = await shelf.account()
    book = await shelf.book(account)
    process = await start()
    await process.ask(account, book, Generate())
    await model.wait_until_asked(book, 1)
    await crash(process, shelf)
    process = await start()
    await model.wait_until_asked(book, 1, times=2)
    process._actors[account, book].cancel()
    await shelf.pool.execute("UPDATE run SET owner = gen_random_uuid(), crash_count = $1", CRASHES_TO_QUARANTINE)
    with monkeypatch.context() as away:
        away.setattr(process.transactions, "steer", unavailable)
        with pytest.raises(Unavailable):
            await process._convergence.sweep()

    await process._convergence.sweep()

    assert (await shelf.run(book))["failure"]["code"] == "quarantined"
    assert model.asked[book, 1] == 2


async def unavailable(*_: object) -> None:
    raise Unavailable


async def test_a_crash_during_a_trial_is_charged_to_the_suspect_alone(start: Start, model: Model, shelf: Shelf) -> None:
    poison, good = [(account, await shelf.book(account)) for account in [await shelf.account() for _ in range(2)]]
    model.poison = {poison[1]}
    process = await start()
    for account, book in (poison, good):
        await process.ask(account, book, Generate())
        await model.wait_until_asked(book, 1)
    model.answer(poison[1], 1)
    await model.until(lambda: model.stuck[poison[1]] == 1)
    await shelf.pool.execute("UPDATE run SET crash_count = 1 WHERE book_id = $1", poison[1])
    await crash(process, shelf)
    for times in range(2, CRASHES_TO_QUARANTINE):
        process = await start()
        await model.wait_until_asked(poison[1], 1, times)
        model.answer(poison[1], 1)
        await model.until(lambda times=times: model.stuck[poison[1]] == times)
        await crash(process, shelf)

    await start()

    await shelf.until_status(poison[1], "error")
    assert (await shelf.run(good[1]))["crash_count"] == 1


async def test_a_run_that_was_not_begun_is_not_charged(start: Start, model: Model, shelf: Shelf) -> None:
    account = await shelf.account()
    book = await shelf.book(account)
    process = await start()
    await process.ask(account, book, Generate())
    await model.wait_until_asked(book, 1)
    await shelf.pool.execute("UPDATE run SET call_started_at = NULL")
    await crash(process, shelf)

    await start()

    await model.wait_until_asked(book, 1, times=2)
    assert (await shelf.run(book))["crash_count"] == 0


async def test_suspects_do_not_wait_for_each_others_model_calls(start: Start, model: Model, shelf: Shelf) -> None:
    pairs = [(account, await shelf.book(account)) for account in [await shelf.account() for _ in range(3)]]
    process = await start()
    for account, book in pairs:
        await process.ask(account, book, Generate())
        await model.wait_until_asked(book, 1)
    await shelf.pool.execute("UPDATE run SET crash_count = $1", CRASHES_TO_SUSPECT)
    await crash(process, shelf)

    process = await start()

    for _, book in pairs:
        await model.wait_until_asked(book, 1, times=2)
    assert await shelf.value("SELECT count(*) FROM run WHERE crash_count = $1", CRASHES_TO_SUSPECT) == len(pairs)
    await shelf.until("SELECT probation IS NULL FROM process WHERE boot_id = $1", process.resources.boot_id)


async def test_a_run_on_its_second_trial_lets_the_process_live_first(
    start: Start, model: Model, shelf: Shelf, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(probation, "RESTS", (0.0, 3600.0))
    convict, suspect = [(account, await shelf.book(account)) for account in [await shelf.account() for _ in range(2)]]
    process = await start()
    for account, book in (convict, suspect):
        await process.ask(account, book, Generate())
        await model.wait_until_asked(book, 1)
    await shelf.pool.execute("UPDATE run SET crash_count = $1", CRASHES_TO_SUSPECT)
    await shelf.pool.execute("UPDATE run SET crash_count = crash_count + 1 WHERE book_id = $1", convict[1])
    await crash(process, shelf)

    process = await start(chapters_at_once=1)
    await model.wait_until_asked(suspect[1], 1, times=2)

    assert model.asked[convict[1], 1] == 1
    await process.ask(*convict, Pause())
    await shelf.until("SELECT call_started_at IS NULL FROM run WHERE book_id = $1", convict[1])


async def test_a_stopped_suspect_gives_the_lane_to_the_next(start: Start, model: Model, shelf: Shelf) -> None:
    poison, good = [(account, await shelf.book(account)) for account in [await shelf.account() for _ in range(2)]]
    process = await start()
    for account, book in (poison, good):
        await process.ask(account, book, Generate())
        await model.wait_until_asked(book, 1)
    await shelf.pool.execute("UPDATE run SET crash_count = $1", CRASHES_TO_SUSPECT)
    await crash(process, shelf)
    process, model.poison = await start(), {poison[1]}
    await model.wait_until_asked(poison[1], 1, times=2)
    model.answer(poison[1], 1)
    await model.until(lambda: model.stuck[poison[1]] == 1)
    await model.wait_until_asked(good[1], 1, times=2)
    model.answer(good[1], 1)
    await until(lambda: bool(process._probation._waiting))
    assert not any(await shelf.texts(good[1]))

    await process.ask(*poison, Stop())

    await model.wait_until_asked(good[1], 2)


async def test_a_suspect_whose_last_chapter_is_written_gives_the_lane_to_the_next(
    start: Start, model: Model, shelf: Shelf
) -> None:
    suspects = [
        (account, await shelf.book(account, chapters=1)) for account in [await shelf.account() for _ in range(2)]
    ]
    process = await start()
    for account, book in suspects:
        await process.ask(account, book, Generate())
        await model.wait_until_asked(book, 1)
    await shelf.pool.execute("UPDATE run SET crash_count = $1", CRASHES_TO_SUSPECT)
    await crash(process, shelf)
    await start()

    for _, book in suspects:
        await model.wait_until_asked(book, 1, times=2)
        model.answer(book, 1)

        await shelf.until_status(book, "completed")


async def test_a_suspect_that_waits_for_the_model_is_not_charged(start: Start, model: Model, shelf: Shelf) -> None:
    account = await shelf.account()
    book = await shelf.book(account)
    process = await start()
    await process.ask(account, book, Generate())
    for times in range(1, CRASHES_TO_QUARANTINE + 2):
        await model.wait_until_asked(book, 1, times)
        await shelf.until("SELECT bool_and(probation IS NULL) FROM process")
        await crash(process, shelf)
        process = await start()

    await model.wait_until_asked(book, 1, times=CRASHES_TO_QUARANTINE + 2)
    assert (await shelf.run(book))["status"] == "running"


async def test_a_drained_process_changes_no_run_and_charges_none(start: Start, model: Model, shelf: Shelf) -> None:
    first = await start()
    account = await shelf.account()
    book = await shelf.book(account)
    await first.ask(account, book, Generate())
    await model.wait_until_asked(book, 1)

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
async def test_no_chapter_of_a_paused_run_is_written_once_its_process_ended(
    start: Start, model: Model, shelf: Shelf, ended: Callable[[Supervisor, Shelf, Start], Awaitable[None]]
) -> None:
    process = await start()
    account = await shelf.account()
    book = await shelf.book(account)
    await process.ask(account, book, Generate())
    await model.wait_until_asked(book, 1)
    await process.ask(account, book, Pause())

    await ended(process, shelf, start)

    run = await shelf.run(book)
    assert (run["status"], run["owner"], run["call_started_at"]) == ("paused", None, None)
    assert await shelf.value("SELECT count(*) FROM chapter WHERE status = 'pending'") == 3


async def test_a_full_drain_wastes_no_model_call(start: Start, model: Model, shelf: Shelf) -> None:
    first = await start()
    account = await shelf.account()
    book = await shelf.book(account)
    await first.ask(account, book, Generate())
    await model.wait_until_asked(book, 1)
    model.answer(book, 1)

    await first.drain(10)

    assert (await shelf.run(book))["done"] >= 1
    assert not model.cancelled
    with pytest.raises(Unavailable):
        await first.ask(account, book, Pause())


async def test_a_pause_reaches_the_process_that_writes(start: Start, model: Model, shelf: Shelf) -> None:
    owner, other = await start(), await start()
    account = await shelf.account()
    book = await shelf.book(account)
    await owner.ask(account, book, Generate())
    await model.wait_until_asked(book, 1)

    run = await other.ask(account, book, Pause())
    model.answer(book, 1)

    assert run.status is RunStatus.PAUSED
    await shelf.until("SELECT done = 1 AND call_started_at IS NULL FROM run WHERE book_id = $1", book)
    assert model.asked[book, 2] == 0


async def test_a_stop_in_one_process_cancels_the_call_in_the_other(start: Start, model: Model, shelf: Shelf) -> None:
    owner, other = await start(), await start()
    account = await shelf.account()
    book = await shelf.book(account)
    await owner.ask(account, book, Generate())
    await model.wait_until_asked(book, 1)

    await other.ask(account, book, Stop())

    await model.until(lambda: model.cancelled[book, 1] == 1)


async def test_a_resume_elsewhere_does_not_repeat_the_call_in_flight(start: Start, model: Model, shelf: Shelf) -> None:
    owner, other = await start(), await start()
    account = await shelf.account()
    book = await shelf.book(account, chapters=1)
    await owner.ask(account, book, Generate())
    await model.wait_until_asked(book, 1)
    await other.ask(account, book, Pause())

    await other.ask(account, book, Resume())
    model.answer(book, 1)

    await shelf.until_status(book, "completed")
    assert model.asked[book, 1] == 1


async def test_a_paused_run_resumed_before_its_dead_process_is_noticed_goes_on_at_once(
    start: Start, model: Model, shelf: Shelf
) -> None:
    owner, other = await start(), await start()
    account = await shelf.account()
    book = await shelf.book(account)
    await owner.ask(account, book, Generate())
    await model.wait_until_asked(book, 1)
    await owner.ask(account, book, Pause())
    await crash(owner, shelf)

    run = await other.ask(account, book, Resume())

    assert run.owner == other.resources.boot_id
    await model.wait_until_asked(book, 1, times=2)


async def test_the_owner_shows_at_once_what_another_process_did(start: Start, model: Model, shelf: Shelf) -> None:
    owner, other = await start(), await start()
    account = await shelf.account()
    book = await shelf.book(account)
    await owner.ask(account, book, Generate())
    await model.wait_until_asked(book, 1)
    await owner._lease.renew()
    await owner.generation_status(account, book)

    await other.ask(account, book, Pause())

    status = orjson.loads(await owner.generation_status(account, book))
    assert status["generation_status"] == "paused"


async def test_a_chapter_begun_under_a_lease_that_is_lost_is_not_asked_for(
    start: Start, model: Model, shelf: Shelf, monkeypatch: pytest.MonkeyPatch
) -> None:
    process, _ = await start(), await start()
    account = await shelf.account()
    book = await shelf.book(account)
    run = await process.ask(account, book, Generate())
    await model.wait_until_asked(book, 1)
    actor = process._actors[account, book]
    actor.cancel()
    begin_chapter, begun, go_on = process.begin_chapter, asyncio.Event(), asyncio.Event()

    async def late(run: Run) -> Begun | None:
        announced = await begin_chapter(run)
        begun.set()
        await go_on.wait()
        return announced

    monkeypatch.setattr(process, "begin_chapter", late)
    process.begin(run)
    await begun.wait()

    process._lease._lost()
    go_on.set()
    await until(lambda: actor.idle and not actor.writing)

    assert model.asked[book, 1] == 1
    assert (await shelf.run(book))["status"] == "running"


async def test_a_command_that_outlives_its_lease_has_its_run_written_once(
    start: Start, model: Model, shelf: Shelf, monkeypatch: pytest.MonkeyPatch
) -> None:
    process = await start()
    account = await shelf.account()
    book = await shelf.book(account)
    steer, tries = process.transactions.steer, iter([True])

    async def lose_the_lease_first(*arguments: Any) -> Committed:
        if next(tries, False):
            process._lease._lost()
            raise Unavailable
        return await steer(*arguments)

    monkeypatch.setattr(process.transactions, "steer", lose_the_lease_first)

    run = await process.ask(account, book, Generate())

    assert run.owner == process.resources.boot_id
    assert process.busy_with(run)  # or the next sweep would begin it a second time
    await model.wait_until_asked(book, 1)


async def test_word_from_another_process_makes_the_owner_look_before_it_shows_the_status(
    start: Start, model: Model, shelf: Shelf, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(supervising, "STATUS_SECONDS", 3600.0)
    owner, other = await start(), await start()  # of which the first does not know yet
    account = await shelf.account()
    book = await shelf.book(account)
    await owner.ask(account, book, Generate())
    await model.wait_until_asked(book, 1)
    assert b'"running"' in await owner.generation_status(account, book)

    await other.ask(account, book, Pause())

    async with asyncio.timeout(10):
        while b'"paused"' not in await owner.generation_status(account, book):  # noqa: ASYNC110 (the signal is a body)
            await asyncio.sleep(0.01)


async def test_without_a_lease_no_command_is_taken(start: Start, shelf: Shelf) -> None:
    process = await start()
    account = await shelf.account()
    book = await shelf.book(account)
    process._lease._lost()

    with pytest.raises(Unavailable):
        await process.ask(account, book, Generate())

    await until(lambda: process._lease.held)
    await process.ask(account, book, Generate())


async def test_a_lease_that_ran_out_cancels_what_is_in_flight(start: Start, model: Model, shelf: Shelf) -> None:
    owner, _ = await start(), await start()
    account = await shelf.account()
    book = await shelf.book(account)
    await owner.ask(account, book, Generate())
    await model.wait_until_asked(book, 1)
    await owner._lease.renew()
    before = owner.resources.boot_id

    owner._lease._ran_out()

    await model.until(lambda: model.cancelled[book, 1] == 1)
    assert owner.resources.boot_id != before


async def test_a_lease_that_is_not_known_any_more_is_lost(start: Start, model: Model, shelf: Shelf) -> None:
    owner = await start()
    account = await shelf.account()
    book = await shelf.book(account)
    await owner.ask(account, book, Generate())
    await model.wait_until_asked(book, 1)
    before = owner.resources.boot_id
    await shelf.pool.execute("DELETE FROM process")

    await owner._lease.renew()

    await model.until(lambda: model.cancelled[book, 1] == 1)
    assert owner.resources.boot_id != before
    assert await shelf.value("SELECT boot_id FROM process") == owner.resources.boot_id


async def test_what_is_in_flight_under_an_older_epoch_is_dropped(
    supervisor: Supervisor, model: Model, shelf: Shelf
) -> None:
    account = await shelf.account()
    book = await shelf.book(account)
    await supervisor.ask(account, book, Generate())
    await model.wait_until_asked(book, 1)
    await shelf.pool.execute("UPDATE run SET epoch = epoch + 1")

    supervisor._hinted(book)

    await model.wait_until_asked(book, 1, times=2)
    assert model.cancelled[book, 1] == 1


async def test_alone_a_process_goes_on_when_its_lease_runs_out(start: Start, model: Model, shelf: Shelf) -> None:
    owner = await start()
    account = await shelf.account()
    book = await shelf.book(account)
    await owner.ask(account, book, Generate())
    await model.wait_until_asked(book, 1)

    owner._lease._ran_out()
    model.answer(book, 1)

    await model.wait_until_asked(book, 2)
    assert not model.cancelled


async def test_the_answer_to_a_renewal_of_a_lost_lease_does_not_shorten_the_next(
    start: Start, shelf: Shelf, monkeypatch: pytest.MonkeyPatch
) -> None:
    process, _ = await start(), await start()
    its_lease, before = process._lease, process.resources.boot_id
    monkeypatch.setattr(lease, "FENCE_SECONDS", 0.2)
    await its_lease.renew()
    monkeypatch.setattr(lease, "FENCE_SECONDS", 20.0)
    async with shelf.pool.acquire() as connection, connection.transaction():
        await connection.execute("SELECT FROM process WHERE boot_id = $1 FOR UPDATE", before)
        late = asyncio.create_task(its_lease.renew())
        await until(lambda: its_lease.held and process.resources.boot_id != before)
        held = process.resources.boot_id
        monkeypatch.setattr(lease, "FENCE_SECONDS", 0.0)

    await late
    for _ in range(3):
        await asyncio.sleep(0)

    assert process.resources.boot_id == held


async def test_a_lease_that_is_taken_twice_at_once_is_one(start: Start, shelf: Shelf) -> None:
    process = await start()

    process._lease._lost()  # which takes another one
    await asyncio.gather(process._lease.take(), process._lease.take())

    assert process._lease.held
    assert await shelf.value("SELECT count(*) FROM process") == 2


async def test_word_is_listened_for_again_when_the_connection_broke_before_it_could(
    database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    add, tries, heard = asyncpg.Connection.add_listener, iter([True]), asyncio.Queue[int]()

    async def break_first(connection: asyncpg.Connection, *arguments: object) -> None:
        if next(tries, False):
            raise asyncpg.ConnectionDoesNotExistError("connection was closed in the middle of operation")
        await add(connection, *arguments)

    monkeypatch.setattr(asyncpg.Connection, "add_listener", break_first)
    monkeypatch.setattr(hints, "RECONNECT_SECONDS", 0.01)
    listening = asyncio.create_task(hints.listen(database.dsn, heard.put_nowait))

    async with asyncio.timeout(10):
        while heard.empty():
            async with database.http.acquire() as connection:
                await runs.hint(connection, 7)
            await asyncio.wait([listening], timeout=0.01)

    assert heard.get_nowait() == 7
    listening.cancel()


async def test_a_process_late_with_its_lease_takes_no_run_from_itself(start: Start, model: Model, shelf: Shelf) -> None:
    supervisor = await start()
    account = await shelf.account()
    book = await shelf.book(account)
    await supervisor.ask(account, book, Generate())
    await model.wait_until_asked(book, 1)
    boot_id = supervisor.resources.boot_id
    await shelf.pool.execute("UPDATE process SET lease_until = now() - interval '1 second' WHERE boot_id = $1", boot_id)

    assert await ownership.claim(shelf.pool, boot_id, 10, 2) == []

    assert len(await ownership.claim(shelf.pool, uuid.uuid4(), 10, 2)) == 1


async def test_a_dead_process_of_this_machine_needs_no_waiting(start: Start, model: Model, shelf: Shelf) -> None:
    account = await shelf.account()
    book = await shelf.book(account)
    gone = uuid.uuid4()
    await shelf.pool.execute(
        "INSERT INTO process (boot_id, host, pid, pid_started, lease_until) VALUES ($1, $2, $3, '1', 'infinity')",
        gone,
        lease.this_host(),
        2**22 - 1,
    )
    await shelf.pool.execute(
        """INSERT INTO run (id, book_id, account_id, status, mode, total, owner, epoch)
           VALUES (gen_random_uuid(), $1, $2, 'running', 'full', 3, $3, 1)""",
        book,
        account,
        gone,
    )

    await start()

    await model.wait_until_asked(book, 1)
