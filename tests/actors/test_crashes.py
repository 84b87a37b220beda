"""Errors, outages and limits around the actors of one process."""

from __future__ import annotations

import asyncio
from typing import Any
from unittest.mock import AsyncMock
from uuid import uuid4

import orjson
import pytest
from structlog.testing import capture_logs

from bookgen import metrics
from bookgen.actors import recovery
from bookgen.actors import supervisor as supervising
from bookgen.actors.health import Health
from bookgen.actors.messages import Generate, GiveUp, Pause, Resume, Stop, WriteNext
from bookgen.actors.recovery import Restarts
from bookgen.actors.steps import StepScope, StoredSteps
from bookgen.actors.supervisor import Supervisor
from bookgen.actors.transaction import Committed
from bookgen.billing.cost_caps import CostCaps
from bookgen.errors import GenerationInProgress, Unavailable, UpstreamAIError
from bookgen.models import RunStatus
from bookgen.store.checkpoints import Checkpoint
from bookgen.store.database import Database
from bookgen.store.outages import PoolExhausted
from bookgen.writing.material import ChapterDraft, Material

from .conftest import BeginRun, Model, Shelf, Start, ask, until


async def test_an_error_in_one_book_ends_its_run_and_no_other(
    supervisor: Supervisor, model: Model, shelf: Shelf, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(recovery, "FIRST_WAIT_SECONDS", 0.01)
    broken, good = [(account, await shelf.book(account)) for account in [await shelf.account() for _ in range(2)]]
    for account, book in (broken, good):
        await supervisor.ask(account, book, Generate())
    for times in (1, 2, 3, 4):
        await model.wait_until_asked(broken[1], 1, times)
        model.fail(broken[1], 1, retryable=False, error=ZeroDivisionError())

    await shelf.until_status(broken[1], "error")

    assert (await shelf.run(broken[1]))["failure"]["code"] == "internal"
    model.free = True
    model.answer(good[1], 1)
    await shelf.until_status(good[1], "completed")
    await supervisor.ask(*broken, Resume())
    await shelf.until_status(broken[1], "completed")


async def test_an_error_that_looks_like_an_outage_also_ends_its_run(
    supervisor: Supervisor, model: Model, shelf: Shelf, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(recovery, "FIRST_WAIT_SECONDS", 0.01)
    account, book = await shelf.outlined()
    await supervisor.ask(account, book, Generate())
    for times in (1, 2, 3, 4):
        await model.wait_until_asked(book, 1, times)
        model.fail(book, 1, retryable=False, error=TimeoutError())

    await shelf.until_status(book, "error")

    assert (await shelf.run(book))["failure"]["code"] == "internal"
    assert supervisor.resources.health.up


async def test_a_crashed_actor_does_not_give_up_a_run_that_another_process_owns(
    begun: BeginRun, supervisor: Supervisor, shelf: Shelf
) -> None:
    account, book = await begun()

    await supervisor.transactions.steer(account, book, GiveUp(uuid4()), uuid4())

    assert (await shelf.run(book))["status"] == "running"
    await supervisor.transactions.steer(account, book, GiveUp(supervisor.resources.boot_id), uuid4())
    assert (await shelf.run(book))["status"] == "error"


async def test_a_message_about_a_deleted_book_is_ignored(supervisor: Supervisor, model: Model, shelf: Shelf) -> None:
    account, book = await shelf.outlined(chapters=1)
    run = await supervisor.ask(account, book, Generate())
    await model.wait_until_asked(book, 1)
    await shelf.pool.execute("DELETE FROM book WHERE id = $1", book)

    model.answer(book, 1)  # the last chapter
    await until(lambda: not supervisor.registry.find((account, book)).writing)
    supervisor.registry.tell((account, book), WriteNext(run))
    await until(lambda: supervisor.registry.find((account, book)).idle)

    assert supervisor.crashes.crashed_books == 0


async def test_a_run_whose_call_crashed_after_a_pause_is_shown_as_paused(
    supervisor: Supervisor, model: Model, shelf: Shelf, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(recovery, "FIRST_WAIT_SECONDS", 0.01)
    account = await shelf.account()
    book, waiting = await shelf.book(account), await shelf.book(account)
    for each in (book, waiting):
        await supervisor.ask(account, each, Generate())
    await model.wait_until_asked(book, 1)
    await supervisor.ask(account, book, Pause())
    model.fail(book, 1, retryable=False, error=ZeroDivisionError())
    await until(lambda: supervisor.crashes.crashed_books == 1 and not supervisor.crashes.backs_off((account, book)))
    await until(lambda: supervisor.registry.find((account, book)).idle)

    await supervisor.sweep()

    status = orjson.loads(await supervisor.statuses.read(account, book))
    assert status["status_message"] == "Paused. 0 of 3 chapters finished."
    await model.wait_until_asked(waiting, 1)


def test_crashes_of_many_books_are_charged_to_none_of_them() -> None:
    counted = Restarts()
    for book in range(recovery.SYSTEMIC_BOOKS + 1):
        for second in range(5):
            counted.crashed(book, float(second))

    assert counted.systemic(5.0)
    assert not counted.is_exhausted(0, 5.0)
    assert not counted.systemic(100.0)


async def test_a_process_in_which_many_books_crash_reports_not_ready(supervisor: Supervisor) -> None:
    assert supervisor.unready is None

    for book in range(recovery.SYSTEMIC_BOOKS + 1):
        supervisor.crashes.crashed((1, book), RuntimeError())

    assert "Many books are failing" in str(supervisor.unready)


async def test_concurrent_generate_commands_for_one_book_start_one_run(supervisor: Supervisor, shelf: Shelf) -> None:
    account, book = await shelf.outlined()

    answers = await asyncio.gather(
        *(supervisor.ask(account, book, Generate()) for _ in range(30)), return_exceptions=True
    )

    refused = [answer for answer in answers if isinstance(answer, GenerationInProgress)]
    assert len(answers) - len(refused) == 1


async def test_a_generate_command_whose_commit_response_was_lost_is_answered_correctly(
    supervisor: Supervisor, shelf: Shelf, monkeypatch: pytest.MonkeyPatch
) -> None:
    account, book = await shelf.outlined()
    steer, cuts = supervisor.transactions.steer, iter([True])

    async def cut(*arguments: Any) -> Committed:
        committed = await steer(*arguments)
        if next(cuts, False):
            raise Unavailable
        return committed

    monkeypatch.setattr(supervisor.transactions, "steer", cut)

    run = await supervisor.ask(account, book, Generate())

    assert next(cuts, False) is False
    assert run.id == (await shelf.run(book))["id"]
    assert await shelf.value("SELECT count(*) FROM run") == 1


async def test_a_chapter_whose_commit_response_was_lost_is_written_and_paid_for_once(
    supervisor: Supervisor, model: Model, shelf: Shelf, monkeypatch: pytest.MonkeyPatch
) -> None:
    account = await shelf.account()
    book, waiting = await shelf.book(account, chapters=2), await shelf.book(account, chapters=1)
    runs_in_flight, cuts = supervisor.runs_in_flight, iter([True])
    commit = runs_in_flight.commit

    async def cut(*arguments: Any) -> Checkpoint | None:
        checkpoint = await commit(*arguments)
        if next(cuts, False):
            raise Unavailable
        return checkpoint

    monkeypatch.setattr(runs_in_flight, "commit", cut)
    model.free = True
    for each in (book, waiting):
        await supervisor.ask(account, each, Generate())

    for each in (book, waiting):
        await shelf.until_status(each, "completed")

    assert next(cuts, False) is False
    assert [model.asked[book, 1], model.asked[book, 2]] == [1, 1]
    assert await shelf.value("SELECT count(*) FROM chapter_revision") == 0
    assert await shelf.value("SELECT count(*) FROM model_call WHERE book_id = $1", book) == 2


async def test_many_books_of_one_account_are_queued(start: Start, model: Model, shelf: Shelf) -> None:
    first, second = await start(), await start()
    account = await shelf.account()
    await shelf.pool.execute(
        """UPDATE subscription SET plan_id = (SELECT id FROM plan WHERE slug = 'self-hosted') WHERE account_id = $1""",
        account,
    )
    books = [await shelf.book(account, chapters=1) for _ in range(20)]

    runs = await asyncio.gather(
        *((first if n % 2 else second).ask(account, book, Generate()) for n, book in enumerate(books))
    )

    assert sum(run.status is RunStatus.RUNNING for run in runs) == 1
    model.free = True
    for book in books:
        if model.asked[book, 1] and not await shelf.value("SELECT done FROM run WHERE book_id = $1", book):
            model.answer(book, 1)
    await shelf.until("SELECT count(*) = 20 FROM run WHERE status = 'completed'")
    assert model.most_open == 1


async def test_commands_are_handled_while_reads_hold_every_connection(
    supervisor: Supervisor, database: Database, shelf: Shelf
) -> None:
    account, book = await shelf.outlined()
    held = [await database.http.acquire() for _ in range(5)]

    run = await supervisor.ask(account, book, Generate())

    assert run.status is RunStatus.RUNNING
    for connection in held:
        await database.http.release(connection)


async def test_a_run_that_reaches_a_cost_cap_ends_with_the_reason(start: Start, model: Model, shelf: Shelf) -> None:
    supervisor = await start(price=lambda _model, _usage: 2_000_000, caps=CostCaps(book=3_000_000))
    account, book = await shelf.outlined()
    model.free = True

    await supervisor.ask(account, book, Generate())

    await shelf.until_status(book, "error")
    run = await shelf.run(book)
    assert (run["done"], run["failure"]["code"]) == (1, "COST_CAP_REACHED")
    assert run["failure"]["message"] == (
        "The cost cap of this book (BOOKGEN_BOOK_COST_CAP) is reached: 2.00 of 3.00 USD spent, and the next call may "
        "cost up to 2.00."
    )


async def test_the_accounts_daily_cap_counts_all_its_books(start: Start, model: Model, shelf: Shelf) -> None:
    supervisor = await start(price=lambda _model, _usage: 2_000_000, caps=CostCaps(account_day=7_000_000))
    account = await shelf.account()
    model.free = True
    for expected in ("completed", "error"):
        book = await shelf.book(account, chapters=2)
        await supervisor.ask(account, book, Generate())
        await shelf.until_status(book, expected)


async def test_the_servers_daily_cap_counts_every_account_and_is_logged(
    start: Start, model: Model, shelf: Shelf
) -> None:
    supervisor = await start(price=lambda _model, _usage: 2_000_000, caps=CostCaps(day=7_000_000))
    model.free = True
    reached = metrics.COST_CAPS_REACHED.labels("day")
    before = reached._value.get()

    with capture_logs() as logs:
        for expected in ("completed", "error"):
            account, book = await shelf.outlined(chapters=2)
            await supervisor.ask(account, book, Generate())
            await shelf.until_status(book, expected)

    failure = (await shelf.run(book))["failure"]
    assert failure["message"] == (
        "Today's cost cap of this server (BOOKGEN_DAILY_COST_CAP) is reached: 6.00 of 7.00 USD spent, and the next "
        "call may cost up to 2.00."
    )
    assert reached._value.get() == before + 1
    assert [(line["cap"], line["account_id"]) for line in logs if line["event"] == "cost_cap_reached"] == [
        ("day", account)
    ]


async def test_runs_stopped_during_their_calls_count_towards_the_daily_cap(
    start: Start, model: Model, shelf: Shelf
) -> None:
    supervisor = await start(price=lambda _model, _usage: 2_000_000, caps=CostCaps(account_day=5_000_000))
    account, book = await shelf.outlined()
    for times in (1, 2):
        await supervisor.ask(account, book, Generate())
        await model.wait_until_asked(book, 1, times)
        await supervisor.ask(account, book, Stop())

    await supervisor.ask(account, book, Generate())

    await shelf.until_status(book, "error")
    assert (await shelf.run(book))["failure"]["message"] == (
        "Today's cost cap of this account (BOOKGEN_ACCOUNT_DAILY_COST_CAP) is reached: 0.00 of 5.00 USD spent, 4.00 "
        "reserved for calls in progress, and the next call may cost up to 2.00."
    )
    assert model.asked[book, 1] == 3
    assert await shelf.value("SELECT count(*) FROM model_call") == 0


async def test_usage_without_a_known_price_is_not_counted_as_free(
    supervisor: Supervisor, model: Model, shelf: Shelf
) -> None:
    account, book = await shelf.outlined(chapters=1)
    model.free = True

    await supervisor.ask(account, book, Generate())

    await shelf.until_status(book, "completed")
    assert await shelf.value("SELECT cost_micros FROM model_call") is None


async def test_a_row_that_the_database_refuses_fails_its_own_book_only(
    supervisor: Supervisor, model: Model, shelf: Shelf
) -> None:
    pairs = [(account, await shelf.book(account, chapters=2)) for account in [await shelf.account() for _ in range(3)]]
    bad = pairs[0][1]
    await shelf.pool.execute(f"ALTER TABLE chapter ADD CONSTRAINT refuse CHECK (book_id <> {bad} OR content = '')")
    model.free = True
    for account, book in pairs:
        await supervisor.ask(account, book, Generate())

    for _, book in pairs[1:]:
        await shelf.until_status(book, "completed")

    assert (await shelf.texts(bad)) == ["", ""]


async def test_a_busy_pool_is_not_an_outage_while_the_database_answers(
    begun: BeginRun, supervisor: Supervisor, shelf: Shelf
) -> None:
    account, book = await begun()
    pool = supervisor.resources.pool
    held = [await pool.acquire() for _ in range(5)]

    with pytest.raises(Unavailable, match="busy"):
        await supervisor.ask(account, book, Pause())
    up = supervisor.resources.health.up
    for connection in held:
        await pool.release(connection)

    assert up
    assert (await supervisor.ask(account, book, Pause())).status is RunStatus.PAUSED


async def test_an_exhausted_pool_is_an_outage_when_no_query_succeeds() -> None:
    health = Health()

    health.saw(PoolExhausted())

    assert not health.up


async def test_an_outage_does_not_end_because_nothing_was_asked_of_the_database(
    start: Start, model: Model, shelf: Shelf, monkeypatch: pytest.MonkeyPatch
) -> None:
    look, looks = Supervisor._look, []

    async def counted(supervisor: Supervisor) -> bool:
        looks.append(await look(supervisor))
        return looks[-1]

    monkeypatch.setattr(Supervisor, "_look", counted)
    monkeypatch.setattr(supervising, "LOOK_SECONDS", 0.001)
    supervisor = await start()
    health = supervisor.resources.health
    steps = StoredSteps(supervisor.resources, StepScope(1, 1, uuid4()), replay=False)
    health.saw(Unavailable())
    before = len(looks)
    call = asyncio.create_task(steps.reply(ask("chapter", 1, 1)))

    await until(lambda: len(looks) > before + 2)

    assert not health.up
    assert not model.asked
    health.saw_success()
    await model.wait_until_asked(1, 1)
    call.cancel()


async def test_an_outage_does_not_end_because_dropped_work_has_ended(
    begun: BeginRun, supervisor: Supervisor, model: Model, monkeypatch: pytest.MonkeyPatch
) -> None:
    account, book = await begun()
    actor, health = supervisor.registry.find((account, book)), supervisor.resources.health
    assert actor
    health.saw(Unavailable())

    with monkeypatch.context() as away:
        away.setattr("bookgen.store.runs.count_cut_off", AsyncMock(side_effect=Unavailable()))
        actor.cancel_without_storing()
        await until(lambda: model.cancelled[book, 1] == 1 and actor.idle)

        assert not health.up
    health.saw_success()


async def test_a_command_during_an_outage_is_refused_and_can_be_repeated(shelf: Shelf) -> None:
    async def away() -> None:
        raise Unavailable

    health = Health()

    with pytest.raises(Unavailable):
        await health.through_outages(away, seconds=0.2)

    assert not health.up


async def test_a_stored_reply_is_not_paid_for_again(start: Start, model: Model, shelf: Shelf) -> None:
    supervisor = await start()
    account, book = await shelf.outlined(chapters=1)
    model.free, model.poison = True, {book}
    await supervisor.ask(account, book, Generate())
    await model.until(lambda: model.stuck[book] == 1)
    await supervisor.ask(account, book, Pause())
    model.poison.clear()
    supervisor.registry.find((account, book)).cancel()
    await shelf.until("SELECT EXISTS (SELECT FROM step)")
    await shelf.pool.execute("UPDATE run SET call_started_at = NULL")

    await supervisor.ask(account, book, Resume())

    await shelf.until_status(book, "completed")
    assert model.asked[book, 1] == 1


async def test_the_stored_replies_of_an_unusable_chapter_are_not_replayed(
    start: Start, model: Model, shelf: Shelf, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_chapter = model.write_chapter

    async def refuse_first(material: Material, number: int, *others: Any) -> ChapterDraft:
        draft = await write_chapter(material, number, *others)
        if model.asked[material.book.id, number] == 1:
            raise UpstreamAIError("Nothing can be made of it.", stage="chapter", retryable=True, chapter_number=number)
        return draft

    monkeypatch.setattr(model, "write_chapter", refuse_first)
    supervisor = await start()
    account, book = await shelf.outlined(chapters=1)
    model.free = True
    await supervisor.ask(account, book, Generate())
    await shelf.until_status(book, "error")

    await supervisor.ask(account, book, Resume())

    await shelf.until_status(book, "completed")
    assert model.asked[book, 1] == await shelf.value("SELECT count(*) FROM model_call") == 2


async def test_the_replies_of_a_stopped_run_are_deleted(
    begun: BeginRun, supervisor: Supervisor, model: Model, shelf: Shelf
) -> None:
    account, book = await begun()
    model.answer(book, 1)
    await model.wait_until_asked(book, 2)

    await supervisor.ask(account, book, Stop())

    assert await shelf.value("SELECT count(*) FROM step") == 0


@pytest.mark.parametrize("command", [Stop(), Generate()])
async def test_the_replies_of_a_failed_run_are_deleted_once_it_is_given_up(
    begun: BeginRun, supervisor: Supervisor, model: Model, shelf: Shelf, command: Stop | Generate
) -> None:
    account, book = await begun()
    model.answer(book, 1)
    await model.wait_until_asked(book, 2)
    model.fail(book, 2, retryable=True)
    await shelf.until_status(book, "error")
    assert await shelf.value("SELECT count(*) FROM step") == 1

    await supervisor.ask(account, book, command)

    assert await shelf.value("SELECT count(*) FROM step") == 0


async def test_a_process_without_runs_has_no_tasks_and_no_connections_in_use(
    supervisor: Supervisor, database: Database, model: Model, shelf: Shelf
) -> None:
    idle = set(asyncio.all_tasks())
    pairs = [(account, await shelf.book(account)) for account in [await shelf.account() for _ in range(3)]]
    for account, book in pairs:
        await supervisor.ask(account, book, Generate())
        await model.wait_until_asked(book, 1)
    model.free = True
    await supervisor.ask(*pairs[0], Stop())
    for _, book in pairs[1:]:
        model.answer(book, 1)
        await shelf.until_status(book, "completed")

    async with asyncio.timeout(5):
        while left := {task for task in asyncio.all_tasks() - idle if not task.done()}:
            await asyncio.wait(left, return_when=asyncio.FIRST_COMPLETED)

    pools = (database.runs, database.http)
    await until(
        lambda: all(pool.get_size() == pool.get_idle_size() for pool in pools)
    )  # the search for blurbs may be running
