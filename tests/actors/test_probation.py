"""Runs that may have ended their process: suspected, handled one at a time, quarantined in the end."""

from __future__ import annotations

import asyncio
from uuid import UUID, uuid4

import orjson
import pytest

from bookgen.actors import probation
from bookgen.actors.decide import CRASHES_TO_QUARANTINE, CRASHES_TO_SUSPECT
from bookgen.actors.messages import Generate, Pause, Resume, Stop
from bookgen.actors.probation import Suspect
from bookgen.actors.supervisor import Supervisor
from bookgen.errors import Unavailable
from bookgen.store import processes, runs
from bookgen.store.database import DB

from .conftest import BeginRun, Model, Shelf, Start, crash, until


@pytest.fixture(autouse=True)
def no_back_off(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(probation, "BACK_OFF", (0.0,))


async def test_a_run_whose_crashes_bring_no_progress_is_quarantined(start: Start, model: Model, shelf: Shelf) -> None:
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
    assert run.crash_count == CRASHES_TO_SUSPECT
    await shelf.until_status(book, "completed")


async def test_a_quarantine_that_the_database_was_away_for_is_made_up_for(
    begun: BeginRun, start: Start, model: Model, shelf: Shelf, monkeypatch: pytest.MonkeyPatch
) -> None:
    process = await start()
    account, book = await begun(process)
    await crash(process, shelf)
    process = await start()
    await model.wait_until_asked(book, 1, times=2)
    process.registry.find((account, book)).cancel()
    await shelf.pool.execute("UPDATE run SET owner = gen_random_uuid(), crash_count = $1", CRASHES_TO_QUARANTINE)
    with monkeypatch.context() as away:
        away.setattr(process.transactions, "steer", unavailable)
        with pytest.raises(Unavailable):
            await process.sweep()

    await process.sweep()

    assert (await shelf.run(book))["failure"]["code"] == "quarantined"
    assert model.asked[book, 1] == 2


async def unavailable(*_: object) -> None:
    raise Unavailable


async def test_who_watched_a_run_that_is_quarantined_sees_its_end(
    begun: BeginRun, start: Start, model: Model, shelf: Shelf, monkeypatch: pytest.MonkeyPatch
) -> None:
    process = await start()
    account, book = await begun(process)
    process.registry.find((account, book)).cancel()
    await shelf.pool.execute("UPDATE run SET owner = gen_random_uuid(), crash_count = $1", CRASHES_TO_QUARANTINE)
    with monkeypatch.context() as away:
        away.setattr(process.transactions, "steer", unavailable)
        with pytest.raises(Unavailable):
            await process.sweep()
    watched = await process.statuses.read(account, book)

    await process.sweep()

    seen = await process.statuses.read(account, book)
    assert [orjson.loads(each)["generation_status"] for each in (watched, seen)] == ["running", "error"]


async def test_a_crash_while_a_suspect_is_handled_is_its_alone(start: Start, model: Model, shelf: Shelf) -> None:
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


async def test_a_suspect_that_is_handled_the_second_time_lets_the_process_live_first(
    start: Start, model: Model, shelf: Shelf, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(probation, "BACK_OFF", (0.0, 3600.0))
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


async def test_a_stopped_suspect_lets_the_next_in(start: Start, model: Model, shelf: Shelf) -> None:
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
    await until(lambda: bool(process.chapters.probation._waiting))
    assert not any(await shelf.texts(good[1]))

    await process.ask(*poison, Stop())

    await model.wait_until_asked(good[1], 2)


async def test_a_suspect_whose_last_chapter_is_written_lets_the_next_in(
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


NAMING_WAITS = """
    SELECT EXISTS (SELECT FROM pg_stat_activity
                    WHERE datname = current_database() AND wait_event_type = 'Lock' AND query LIKE '%SET probation%')
"""


async def test_a_suspects_reply_is_entered_where_its_lease_is_lost_before_it_may_go_on(
    begun: BeginRun, start: Start, model: Model, shelf: Shelf
) -> None:
    process = await start()
    account, book = await begun(process)
    await crash(process, shelf)
    await shelf.pool.execute("UPDATE run SET crash_count = $1", CRASHES_TO_SUSPECT)
    process = await start()
    await model.wait_until_asked(book, 1, times=2)
    async with shelf.pool.acquire() as other, other.transaction():
        await other.execute("SELECT FROM process FOR UPDATE")
        model.answer(book, 1)
        await shelf.until(NAMING_WAITS)

        process.registry.find((account, book)).lose()

    await shelf.until("SELECT count(*) = 1 FROM model_call WHERE book_id = $1", book)


async def test_no_suspect_is_named_under_a_lease_that_follows_the_one_under_which_it_was_handled(
    start: Start, shelf: Shelf, monkeypatch: pytest.MonkeyPatch
) -> None:
    process = await start()
    named, set_suspect = [], processes.set_suspect

    async def away_at_first(db: DB, boot_id: UUID, run_id: UUID | None) -> None:
        named.append(run_id)
        if len(named) == 1:
            process.lease._lost()
            raise Unavailable
        await set_suspect(db, boot_id, run_id)

    monkeypatch.setattr(processes, "set_suspect", away_at_first)
    suspect = Suspect(uuid4(), CRASHES_TO_SUSPECT)
    process.chapters.probation._handled = suspect
    await process.chapters.probation._write_name()

    assert named == [suspect.run_id, None]


async def test_suspects_that_wait_for_the_model_are_not_charged(start: Start, model: Model, shelf: Shelf) -> None:
    pairs = [(account, await shelf.book(account)) for account in [await shelf.account() for _ in range(2)]]
    process = await start()
    for account, book in pairs:
        await process.ask(account, book, Generate())
    for times in range(1, CRASHES_TO_QUARANTINE + 2):
        for _, book in pairs:
            await model.wait_until_asked(book, 1, times)
        await shelf.until("SELECT bool_and(probation IS NULL) FROM process")
        await crash(process, shelf)
        process = await start()

    for _, book in pairs:
        await model.wait_until_asked(book, 1, times=CRASHES_TO_QUARANTINE + 2)
        assert (await shelf.run(book))["status"] == "running"


async def test_whoever_is_alone_in_its_process_is_charged_for_a_crash_in_its_call(
    start: Start, model: Model, shelf: Shelf, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(probation, "BACK_OFF", (0.0, 600.0))  # which keeps nobody waiting who is alone
    account = await shelf.account()
    book, waiting = await shelf.book(account), await shelf.book(account)
    process = await start()
    for each in (book, waiting):
        await process.ask(account, each, Generate())
    for times in (1, 2, 3):
        await model.wait_until_asked(book, 1, times)
        await crash(process, shelf)
        process = await start()

    await shelf.until_status(book, "error")
    assert (await shelf.run(book))["failure"]["retryable"]
    await model.wait_until_asked(waiting, 1)


MAKING = {
    "an outline": "INSERT INTO book_job (book_id, owner, kind) VALUES ($1, $2, 'outline')",
    "a report": """INSERT INTO report (account_id, book_id, task, chapter_ids, owner, status)
                   SELECT account_id, id, gen_random_uuid(), '{}', $2, 'running' FROM book WHERE id = $1""",
}


@pytest.mark.parametrize("making", MAKING.values(), ids=MAKING)
async def test_nobody_is_alone_where_something_else_is_made_too(
    start: Start, model: Model, shelf: Shelf, making: str
) -> None:
    account = await shelf.account()
    book, other = await shelf.book(account), await shelf.book(account, chapters=0)
    process = await start()
    await process.ask(account, book, Generate())
    await model.wait_until_asked(book, 1)
    await shelf.pool.execute(making, other, process.resources.boot_id)
    await crash(process, shelf)

    await start()

    await model.wait_until_asked(book, 1, times=2)
    assert (await shelf.run(book))["crash_count"] == 1


async def test_nothing_after_a_process_said_that_it_drains_is_charged(
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


async def test_a_run_that_a_process_takes_from_its_own_earlier_lease_is_not_charged(
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


async def test_who_was_alone_is_judged_by_all_that_a_dead_process_had(
    supervisor: Supervisor, begun: BeginRun, shelf: Shelf
) -> None:
    for _ in range(5):
        await begun()
    await crash(supervisor, shelf)
    heir = uuid4()
    await processes.register(shelf.pool, heir, "here", 1, "1", 3600)

    charged = [
        run.crash_count for rows in (3, 1, 1) for run in await runs.claim(shelf.pool, heir, rows, CRASHES_TO_SUSPECT)
    ]

    assert charged == [1] * 5


async def test_suspects_that_wait_for_each_other_keep_no_innocent_from_its_place(
    start: Start, begun: BeginRun, model: Model, shelf: Shelf
) -> None:
    process = await start()
    suspects = [await begun(process) for _ in range(4)]
    await shelf.pool.execute("UPDATE run SET crash_count = $1", CRASHES_TO_SUSPECT)
    await crash(process, shelf)
    model.free, model.poison = True, {book for _, book in suspects}
    process = await start(chapters_at_once=2)
    await model.until(lambda: model.stuck.total() > 0)

    _, innocent = await begun(process, chapters=1)

    await shelf.until_status(innocent, "completed")
